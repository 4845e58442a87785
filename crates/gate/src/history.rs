//! The history of a request in sentences, and how people decided similar calls.

use std::collections::BTreeSet;

use placet_core::{
    Actor, Auth, DecisionWord, Effect, Event, Kind, ReportStatus, Request, RequestId, Role, State, Time,
    UnverifiedReviewer, show,
};
use placet_ledger::{Data, Entry};
use placet_store::{Filter, StoreError};
use serde_json::{Map, Value};

use crate::{Gate, GateError, likeness::template, preview};

/// The history of a request and of similar calls.
#[derive(Debug, Clone)]
pub struct History {
    /// All events, in order.
    pub entries: Vec<HistoryEntry>,
    /// The last decisions of people on calls that are alike, the newest first.
    pub similar: Vec<SimilarDecision>,
}

/// One event. Every text in it can be shown as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    /// Its number in the ledger.
    pub seq: u64,
    /// When.
    pub at: Time,
    /// Who did it.
    pub by: String,
    /// In which role.
    pub role: Role,
    /// The name of the event.
    pub kind: &'static str,
    /// What happened, in a sentence.
    pub text: String,
}

/// A decision on a call like this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimilarDecision {
    /// The request.
    pub id: RequestId,
    /// When it was decided.
    pub at: Time,
    /// Who asked.
    pub agent: String,
    /// What was decided on, in a sentence: what ran or would have run. It can be shown as it is.
    pub sentence: String,
    /// What was decided.
    pub decision: DecisionWord,
    /// By whom.
    pub by: Vec<String>,
    /// Its state now.
    pub state: State,
    /// Whether it was the same call: the same agent, tool and arguments, as they were decided on.
    pub exact: bool,
}

/// Most entries that are shown. A request has few; repeated votes could make more.
const ENTRIES: u32 = 500;
/// The number of decisions shown, and the limits of requests and ledger entries that are read for them.
const TOLD: usize = 5;
const LOOKED_AT: u32 = 200;
const LOOK_BACK: u64 = 50_000;

impl Gate {
    /// The history of a request, and how people decided similar calls.
    pub async fn history(&self, actor: &Actor, id: RequestId) -> Result<History, GateError> {
        let actor = &*self.acting(actor, &[Role::Reviewer, Role::Auditor])?;
        let request = self.get(actor, id).await?;
        let rows = self.store.entries_of(request.seq, ENTRIES).await?;
        let entries = rows
            .iter()
            .map(|row| {
                let entry: Entry = serde_json::from_str(&row.text).map_err(StoreError::from)?;
                Ok(happened(&request, &entry))
            })
            .collect::<Result<_, GateError>>()?;
        Ok(History { entries, similar: self.similar(actor, &request).await? })
    }

    async fn similar(&self, actor: &Actor, request: &Request) -> Result<Vec<SimilarDecision>, GateError> {
        let Some(now) = Call::of(request) else { return Ok(Vec::new()) };
        let (_, head) = self.store.head().await?;
        let filter = Filter {
            tool: Some(now.tool.to_owned()),
            decided: true,
            not_before: Some(head.saturating_sub(LOOK_BACK)),
            ..Filter::default()
        };
        let listed = self.list(actor, &filter, LOOKED_AT).await?;
        let own = now.template();
        let like = listed.items.iter().filter(|other| other.id != request.id).filter_map(|other| {
            let decision = other.decision.as_ref().filter(|decision| !decision.by.is_empty())?;
            let decided = Call::of(other)?;
            let asked = Call { arguments: other.content.as_ref()?.body.arguments()?, ..decided };
            let same = now.arguments == decided.arguments;
            // What people changed is a precedent too: the sentence says what they made of it.
            let is_like = |call: &Call<'_>| own.is_some() && call.template() == own;
            (same || is_like(&decided) || is_like(&asked)).then(|| SimilarDecision {
                id: other.id,
                at: decision.at,
                agent: show(&other.agent),
                sentence: preview::effect(other),
                decision: decision.word,
                by: decision.by.iter().map(|name| show(name)).collect(),
                state: other.state_at(self.now()),
                exact: other.agent == request.agent && same,
            })
        });
        Ok(like.take(TOLD).collect())
    }
}

/// A call that was decided, or that a yes would run now.
#[derive(Clone, Copy)]
struct Call<'a> {
    tool: &'a str,
    arguments: &'a Map<String, Value>,
    cwd: Option<&'a str>,
}

impl<'a> Call<'a> {
    fn of(request: &'a Request) -> Option<Self> {
        let content = request.content.as_deref()?;
        let arguments = match (&request.decision, &request.proposal) {
            (None, Some(proposal)) => proposal.content.as_ref()?.arguments.as_ref()?,
            _ => request.effective_arguments()?,
        };
        let cwd = content.context.get("cwd").and_then(Value::as_str);
        Some(Self { tool: request.tool.as_deref()?, arguments, cwd })
    }

    /// What alike calls have in common. None if only the same call is like it.
    fn template(&self) -> Option<BTreeSet<String>> {
        template(self.tool, self.arguments, self.cwd)
    }
}

fn happened(request: &Request, entry: &Entry) -> HistoryEntry {
    let by = show(&entry.by.name);
    let text = match &entry.data {
        Data::Request(event) => said(request, entry, event, &by),
        // Not about a request: shown by its name instead of being left out.
        Data::Admin(event) => format!("{by}: {}.", event.name()),
    };
    HistoryEntry { seq: entry.seq, at: entry.at, by, role: entry.by.role, kind: entry.data.name(), text }
}

/// The event in a sentence.
fn said(request: &Request, entry: &Entry, event: &Event, by: &str) -> String {
    let decision = request.decision.as_ref().filter(|decision| Some(decision.version) == entry.version);
    let outcome = request.outcome.as_ref().filter(|outcome| Some(outcome.version) == entry.version);
    let with = |text: String, words: Option<&str>| match words.filter(|words| !words.is_empty()) {
        Some(words) => format!("{text}: {}", show(words)),
        None => format!("{text}."),
    };
    let became = |status: &ReportStatus| match status {
        ReportStatus::Succeeded => "succeeded",
        ReportStatus::Failed => "failed",
    };
    match event {
        Event::Created(created) => {
            let asked = match (&created.kind, &created.tool) {
                (Kind::Action, Some(tool)) => format!("{by} asked to run {}", show(tool)),
                (Kind::Action, None) => format!("{by} asked to act"),
                (Kind::Plan, _) => format!("{by} asked to carry out a plan"),
                (Kind::Input, _) => format!("{by} asked a question"),
                (Kind::Confirmation, _) => format!("{by} asked for a yes or no"),
            };
            let rule = show(&created.verdict.rule);
            match (&created.grant, created.verdict.effect) {
                (Some(grant), _) => {
                    let whose = created.granted_by.as_deref().map(|by| format!(" of {}", show(by)));
                    format!("{asked}; the grant {grant}{} let it through.", whose.unwrap_or_default())
                }
                (None, Effect::Allow) if created.verdict.confine.is_some() => {
                    format!("{asked}; rule {rule} allowed it, confined to the workspace.")
                }
                (None, Effect::Allow) => format!("{asked}; rule {rule} allowed it."),
                (None, Effect::Deny) => format!("{asked}; rule {rule} refused it."),
                (None, Effect::Hold) => format!("{asked}; rule {rule} holds it for a person."),
            }
        }
        Event::Voted { vote, proposal: Some(proposal) } => {
            let what =
                if proposal.word == DecisionWord::Edit { "other arguments" } else { "another version" };
            format!(
                "{} put {what} on the table; earlier votes are void, and more are needed.",
                show(&vote.by)
            )
        }
        Event::Voted { vote, proposal: None } => {
            format!("{} voted {}; more votes are needed.", show(&vote.by), vote.vote)
        }
        Event::Decided { vote, decision: word, by: all, .. } => {
            let who = match (vote.auth, decision.and_then(|decision| decision.claimed.as_ref())) {
                (Auth::Open, Some(UnverifiedReviewer { reviewer: Some(name), .. })) => {
                    format!("{} (without a key; said to be {})", show(&vote.by), show(name))
                }
                (Auth::Open, _) => format!("{} (without a key)", show(&vote.by)),
                _ => show(&vote.by),
            };
            let others: Vec<String> =
                all.iter().filter(|name| **name != vote.by).map(|name| show(name)).collect();
            let together =
                if others.is_empty() { String::new() } else { format!(", with {}", others.join(", ")) };
            let text = match word {
                DecisionWord::Approve => format!("{who} approved it{together}"),
                DecisionWord::Edit => format!("{who} approved it with other arguments{together}"),
                DecisionWord::Deny => format!("{who} denied it"),
                DecisionWord::Respond => format!("{who} answered it{together}"),
            };
            with(text, decision.and_then(|decision| decision.reason.as_deref()))
        }
        Event::Claimed { .. } => format!("{by} took the permit and is running it."),
        Event::Reported { status, .. } => {
            let note = outcome.and_then(|outcome| outcome.note.as_deref());
            with(format!("{by} reported that it {}", became(status)), note)
        }
        Event::Cancelled {} => format!("{by} withdrew it."),
        Event::Revoked {} => format!("{by} took the approval back before it was used."),
        Event::Reassigned { to } => {
            let names: Vec<String> = to.iter().map(|name| show(name)).collect();
            format!("{by} asked {} to look at it.", names.join(", "))
        }
        Event::Escalated { expires_at, .. } => {
            format!("Nobody decided in time; others are asked until {expires_at}.")
        }
        Event::Expired {} => "Nobody decided in time.".to_owned(),
        Event::Lapsed {} => "The permit was not used in time.".to_owned(),
        Event::Unknown {} => "No report came in time, so the outcome is unknown.".to_owned(),
        Event::Resolved { status } => {
            let note = outcome.and_then(|outcome| outcome.note.as_deref());
            with(format!("{by} settled that it {}", became(status)), note)
        }
    }
}
