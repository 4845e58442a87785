//! The page of one request: drawn whole by the server, the target of every link in a message. Looking never decides;
//! the forms stand below everything there is to see.

use std::sync::Arc;

use jiff::fmt::strtime;
use maud::{Markup, html};
use placet_core::{
    AllOf, Body, Card, Decision, DecisionWord, Directory, Display, Input, InputType, Needs, Refusal, Request,
    Risk, Role, State as Life, Time, counted, show,
};

use super::{card::DrawnCard, html::layout};

/// The person who looks, signed in.
#[derive(Debug, Clone)]
pub(super) struct Viewer {
    pub(super) name: String,
    pub(super) directory: Arc<Directory>,
}

impl Viewer {
    fn is_reviewer(&self) -> bool {
        self.directory.person(&self.name, Role::Reviewer).is_some()
    }

    /// Why a yes of theirs would be refused, in words for them.
    fn refused_yes(&self, request: &Request, word: DecisionWord) -> Option<String> {
        Some(match request.refused_yes(&self.name, word, &self.directory)? {
            Refusal::NotOwner(agent) => {
                // With four eyes the owner cannot approve either.
                let owner = self.directory.owner(&agent).filter(|_| !request.needs.four_eyes);
                let who = owner.map(|owner| format!("{owner}, who owns {agent}, or an admin"));
                format!("Only {} can approve this. You can deny it.", who.as_deref().unwrap_or("an admin"))
            }
            Refusal::SelfApproval => {
                "You own, ordered or edited this, so somebody else must approve it. You can deny it."
                    .to_owned()
            }
            Refusal::NotEligible => {
                "Other people or teams are asked: your approval does not count.".to_owned()
            }
            other => format!("It cannot be approved: {other}."),
        })
    }
}

/// What came of the form they sent.
#[derive(Debug, Clone)]
pub(super) struct Notice(pub(super) String);

/// A request as somebody may see it.
#[derive(Debug)]
pub(super) struct Sight<'a> {
    pub(super) request: &'a Request,
    /// What a yes would run, as every place draws it.
    pub(super) card: Option<&'a Card>,
    /// Every value that was written, for what the card leaves to history.
    pub(super) display: Option<&'a Display>,
    pub(super) now: Time,
}

impl Sight<'_> {
    /// The exact text to show for a value.
    fn text(&self, pointer: &str) -> Option<&str> {
        let fields = &self.display?.fields;
        fields.iter().find(|field| field.pointer == pointer).map(|field| field.text.as_str())
    }

    fn effect(&self) -> &str {
        self.card.map_or("A request whose content was erased", |card| card.sentence.as_str())
    }
}

/// The whole page.
pub(super) fn draw(sight: &Sight<'_>, viewer: &Viewer, notice: Option<&Notice>) -> Markup {
    let request = sight.request;
    let state = request.state_at(sight.now);
    let effect = sight.effect();
    let look = |pointer: &str| sight.text(pointer).map(str::to_owned);
    let card = sight.card.map(|card| super::card::draw(card, &look));
    let body = html! {
        @if let Some(Notice(text)) = notice { div.note.bad role="alert" { (text) } }
        p {
            span.badge { (state.as_str()) }
            span class=(format!("badge risk-{}", request.risk.as_str())) { (request.risk.as_str()) " risk" }
            span.badge { (request.kind.as_str()) }
        }
        h1.exact { (effect) }
        @if let Some(card) = &card { (card.flags) }
        (deadline(request, state, sight.now))
        (why(request))
        @if let Some(proposal) = &request.proposal {
            h2 { "Exactly what a yes would run" }
            p { strong { (proposal.by) } " put this in the place of what was asked. An approval is an approval of this." }
        } @else {
            h2 { "Exactly what was asked" }
        }
        @match &card {
            Some(card) => (card.content),
            None => section { p { "The content was erased." } },
        }
        p { "Digest " code { (request.current_digest()) } }
        @if request.proposal.is_some() {
            h2 { "What was asked before it was replaced" }
            section { (history(sight)) }
        }
        (words(sight))
        (votes(request))
        @if state == Life::Pending { (forms(sight, viewer, card.as_ref())) }
        p { a href=(dashboard(request)) { "Open in the dashboard" } " · signed in as " (viewer.name) }
    };
    layout(effect, &body)
}

fn deadline(request: &Request, state: Life, now: Time) -> Markup {
    html! {
        p {
            @match state {
                Life::Pending => { "Asked by " strong { (request.agent) } (through(request)) ". Decide before " (clock(request.expires_at)) ", in " (span(request.expires_at.since(now))) "." }
                _ => { "Asked by " strong { (request.agent) } (through(request)) " at " (clock(request.created_at)) "." }
            }
            @if let Some(decision) = &request.decision {
                " Decided: " strong { (decision.word.as_str()) } " by " (decided_by(request, decision)) " at " (clock(decision.at)) "."
            }
            @if is_lost(request) { " The agent lost its task: no tool reported anything." }
        }
    }
}

/// Who decided: people, the standing approval of one, or policy.
fn decided_by(request: &Request, decision: &Decision) -> String {
    match request.granted() {
        Some(grant) => grant.whose(),
        None if decision.by.is_empty() => "policy".to_owned(),
        None => decision.by.join(", "),
    }
}

/// The agent behind Placet that was called, or the desk. The door says so, whatever the context claims.
fn through(request: &Request) -> Markup {
    let origin = request.door().origin();
    html! {
        @if origin.as_ref().is_some_and(|origin| origin.desk) { " at the approval desk, over A2A" }
        @if let Some(agent) = origin.as_ref().and_then(|origin| origin.agent.as_deref()) {
            " through " strong.exact { (show(agent)) } " over A2A"
        }
    }
}

/// Whether `failed` says that the agent behind the proxy could not be told.
fn is_lost(request: &Request) -> bool {
    let agent = request.door().agent_behind();
    let note = request.outcome.as_ref().and_then(|outcome| outcome.note.as_deref());
    agent.zip(note).is_some_and(|(agent, note)| note.starts_with(&format!("{agent}: upstream_lost: ")))
}

fn why(request: &Request) -> Markup {
    html! {
        h2 { "Why it waits for a person" }
        section {
            ul { @for reason in &request.verdict.reasons { li.exact { (reason) } } }
            p { "Needed: " (needs(&request.needs)) }
        }
    }
}

/// Whose yes is needed, in words.
fn needs(needs: &Needs) -> String {
    let seat = |team: Option<&str>, people: u32| match (people, team) {
        (1, None) => "one person".to_owned(),
        (1, Some(team)) => format!("one of {team}"),
        (people, None) => format!("{people} people"),
        (people, Some(team)) => format!("{people} of {team}"),
    };
    let all = |all: &AllOf| {
        let seats = all.all.iter().map(|need| seat(need.team.as_deref(), need.people));
        seats.collect::<Vec<_>>().join(" and ")
    };
    let mut words = needs.any.iter().map(all).collect::<Vec<_>>().join(", or ");
    if needs.four_eyes {
        words.push_str("; nobody who owns, ordered or edited it");
    }
    if needs.step_up.is_some() {
        words.push_str("; with a proof of presence");
    }
    words
}

/// What the agent wrote before somebody put something in its place. A yes runs none of it.
fn history(sight: &Sight<'_>) -> Markup {
    let was = |pointer: &str| pointer != "/summary" && !is_replacement(pointer);
    let fields = sight.display.map(|display| display.fields.as_slice()).unwrap_or_default();
    html! {
        p.soft { "A yes does not run this." }
        dl {
            @for field in fields.iter().filter(|field| was(&field.pointer)) {
                dt.exact { (field.place()) }
                dd.exact { (field.text) }
            }
        }
        p { "Digest " code { (sight.request.digest) } }
    }
}

fn is_replacement(pointer: &str) -> bool {
    pointer == "/proposal" || pointer.starts_with("/proposal/")
}

fn words(sight: &Sight<'_>) -> Markup {
    html! {
        @if let Some(summary) = sight.text("/summary") {
            h2 { "What the agent says about it" }
            section.untrusted {
                p { strong { "Not checked by anybody." } " An agent can write anything here; go by what stands above." }
                p.exact { (summary) }
            }
        }
    }
}

fn votes(request: &Request) -> Markup {
    html! {
        @if !request.votes.is_empty() {
            h2 { "Votes" }
            section {
                dl {
                    @for vote in &request.votes {
                        dt { (vote.by) }
                        dd { (vote.vote.as_str()) " at " (clock(vote.at)) }
                    }
                }
            }
        }
    }
}

fn forms(sight: &Sight<'_>, viewer: &Viewer, card: Option<&DrawnCard>) -> Markup {
    let request = sight.request;
    if !viewer.is_reviewer() {
        return html! { div.note.warn { "You can look, and not decide: you are not a reviewer." } };
    }
    // Content that was erased or is not all here can only be denied, and a page without scripts shows no code.
    let whole = card.is_some_and(|card| card.refused.is_none());
    let can = whole && request.needs.step_up.is_none();
    let offers = |word| can && request.allowed.contains(&word) && viewer.refused_yes(request, word).is_none();
    let mut offered = request.allowed.iter().filter(|word| **word != DecisionWord::Deny);
    let refused = offered.find_map(|word| viewer.refused_yes(request, *word));
    html! {
        h2 { "Your decision" }
        section {
            form method="post" action=(format!("/r/{}/decision", request.id)) {
                input type="hidden" name="digest" value=(request.current_digest());
                input type="hidden" name="version" value=(request.version);
                @if let Some(card) = sight.card { input type="hidden" name="view" value=(card.digest); }
                @if offers(DecisionWord::Respond) { (answer(sight)) }
                label for="reason" { "Reason" }
                textarea #reason name="reason" maxlength="8000" {}
                @match &refused {
                    Some(reason) => { div.note.warn { (reason) } }
                    None => { (step_up(request)) (elsewhere(request, card)) }
                }
                (super::decide::who_fields(&viewer.name))
                @if offers(DecisionWord::Approve) {
                    button.yes type="submit" name="decision" value="approve" { (label(sight, "/confirm_label", "Approve")) }
                }
                @if offers(DecisionWord::Respond) {
                    button.yes type="submit" name="decision" value="respond" { "Send the answer" }
                }
                button.no type="submit" name="decision" value="deny" { (label(sight, "/cancel_label", "Deny")) }
            }
        }
    }
}

/// What to do where a part of the card is not on this page.
fn elsewhere(request: &Request, card: Option<&DrawnCard>) -> Markup {
    html! {
        @if let Some(why) = card.and_then(|card| card.refused.as_deref()) {
            div.note.warn { (why) " " a href=(dashboard(request)) { "Open the dashboard" } "." }
        }
    }
}

/// The request in the dashboard.
fn dashboard(request: &Request) -> String {
    format!("/queue?r={}", request.id)
}

/// The word on a button: the agent's own for a confirmation, always behind ours.
fn label(sight: &Sight<'_>, pointer: &str, ours: &str) -> String {
    match sight.text(pointer) {
        Some(theirs) => format!("{ours}: “{theirs}”"),
        None => ours.to_owned(),
    }
}

/// A code can be copied by a program; only a browser that proves its calls shows one.
fn step_up(request: &Request) -> Markup {
    html! {
        @if request.needs.step_up.is_some() {
            div.note.warn {
                "This is " (Risk::Critical.as_str()) ". Here you can deny it; to approve it, "
                a href=(dashboard(request)) { "open the dashboard" } "."
            }
        }
    }
}

/// Where the answer to a question goes. Options travel as their numbers, so that nothing an agent wrote is read back.
fn answer(sight: &Sight<'_>) -> Markup {
    let Some(input) = question(sight.request) else { return html! {} };
    let options = input.input.options.as_deref().unwrap_or_default();
    let shown = |index: usize| sight.text(&format!("/input/options/{index}")).unwrap_or("").to_owned();
    html! {
        @match input.input.kind {
            InputType::Text => {
                label for="answer" { "Answer" }
                textarea #answer name="answer" maxlength="16384" {}
            }
            InputType::Number => {
                label for="answer" { "Answer" }
                input #answer name="answer" inputmode="decimal" autocomplete="off";
            }
            InputType::Date => {
                label for="answer" { "Answer" }
                input #answer name="answer" type="date";
            }
            InputType::Choice => {
                fieldset { legend { "Answer" } @for index in 0..options.len() {
                    label.option { input type="radio" name="answer" value=(index); span.exact { (shown(index)) } }
                } }
            }
            InputType::MultiChoice => {
                fieldset { legend { "Answer" } @for index in 0..options.len() {
                    label.option { input type="checkbox" name="answer" value=(index); span.exact { (shown(index)) } }
                } }
            }
            InputType::File => { div.note.warn { "A file is sent from the dashboard." } }
        }
    }
}

/// What an `input` asks.
pub(super) fn question(request: &Request) -> Option<&Input> {
    match &request.content.as_ref()?.body {
        Body::Input(input) => Some(input),
        _ => None,
    }
}

fn clock(time: Time) -> String {
    let text = time.to_string();
    let read: Result<jiff::Timestamp, _> = text.parse();
    read.ok().and_then(|at| strtime::format("%Y-%m-%d %H:%M:%S UTC", at).ok()).unwrap_or(text)
}

/// A span of time in words: `59 seconds`, `2 m 5 s`, `1 h 51 m`, `2 d 3 h`.
fn span(left: std::time::Duration) -> String {
    let seconds = left.as_secs();
    let two = |one: u64, unit: &str, rest: u64, smaller: &str| match rest {
        0 => format!("{one} {unit}"),
        rest => format!("{one} {unit} {rest} {smaller}"),
    };
    match seconds {
        0..=119 => counted(seconds, "second", "seconds"),
        120..=3_599 => two(seconds / 60, "m", seconds % 60, "s"),
        3_600..=86_399 => two(seconds / 3_600, "h", seconds % 3_600 / 60, "m"),
        _ => two(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_span_of_time_is_said_with_two_units_and_not_rounded_up() {
        let texts = [0, 1, 119, 125, 3_600, 6_660, 7_199, 10_799, 90_000]
            .map(|seconds| span(Duration::from_secs(seconds)));
        assert_eq!(
            texts,
            [
                "0 seconds",
                "1 second",
                "119 seconds",
                "2 m 5 s",
                "1 h",
                "1 h 51 m",
                "1 h 59 m",
                "2 h 59 m",
                "1 d 1 h"
            ]
        );
    }
}
