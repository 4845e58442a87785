//! The model's counting of votes: who may say what, what counts, and when it is enough.

use placet_core::{
    Auth, Body, Decide, DecisionWord, Digest, Effect, Input, InputType, Needs, ProposalContent, Seat,
    StepDecision,
};
use serde_json::Value;

use crate::{
    model::{Ballot, Deed, Outcome, Story},
    world::World,
};

impl Story {
    fn ballots(&self) -> impl DoubleEndedIterator<Item = (usize, &Ballot)> {
        self.log.iter().enumerate().filter_map(|(index, entry)| match &entry.deed {
            Deed::Vote(ballot) => Some((index, ballot)),
            _ => None,
        })
    }

    /// The replacement that was put on the table last.
    pub(crate) fn latest_replacement(&self) -> Option<(usize, &Ballot)> {
        self.ballots().rev().find(|(_, ballot)| ballot.brings.is_some())
    }

    /// What a vote is about now.
    pub(crate) fn digest_on_the_table(&self) -> Digest {
        match self.latest_replacement() {
            Some((_, Ballot { brings: Some((_, digest)), .. })) => *digest,
            _ => self.asked.digest,
        }
    }

    /// The votes that are not void: since the latest replacement, the last of each person, in order.
    pub(crate) fn live_votes(&self) -> Vec<(usize, &Ballot)> {
        let since = self.latest_replacement().map_or(0, |(index, _)| index);
        self.ballots()
            .filter(|(index, _)| *index >= since)
            .filter(|(index, ballot)| {
                !self.ballots().any(|(later, other)| later > *index && other.by == ballot.by)
            })
            .collect()
    }

    /// The people whose yes counts after the entry `index`, by what was true then.
    pub(crate) fn counted(&self, index: usize) -> Vec<String> {
        let world = &self.log[index].world;
        let then = self.until(index + 1);
        let needs = self.needs_after(&self.log[..=index]);
        let mut people: Vec<String> = then
            .live_votes()
            .into_iter()
            .filter(|(_, ballot)| ballot.word != DecisionWord::Deny)
            .filter(|(_, ballot)| match needs.step_up.as_deref() {
                None => true,
                Some("code") => ballot.auth == Auth::Code,
                Some(_) => false,
            })
            .filter(|(_, ballot)| !ballot.key.is_some_and(|key| world.is_revoked(key)))
            .map(|(_, ballot)| ballot.by.clone())
            .filter(|name| eligible(&needs, name, world))
            .filter(|name| !(needs.four_eyes && then.barred(name, world)))
            .collect();
        people.sort();
        people
    }

    /// Four eyes: the owner, the person it is done for, and the author of what is on the table.
    fn barred(&self, name: &str, world: &World) -> bool {
        self.stands_behind(name, world)
            || self.latest_replacement().is_some_and(|(_, ballot)| ballot.by == name)
    }

    fn stands_behind(&self, name: &str, world: &World) -> bool {
        world.owner(&self.agent) == Some(name) || self.asked.terms.on_behalf_of.as_deref() == Some(name)
    }

    fn enough(&self, needs: &Needs, people: &[String], world: &World) -> bool {
        let least = if needs.four_eyes && world.owner(&self.agent).is_none() { 2 } else { 1 };
        let filled = |seats: &[Seat]| {
            let each: Vec<&Seat> = seats.iter().flat_map(|seat| vec![seat; seat.people as usize]).collect();
            !each.is_empty() && seat_all(&each, people, world)
        };
        people.len() >= least && needs.any.iter().any(|alternative| filled(&alternative.all))
    }

    /// The decision that the vote at `index` brought about, if it did.
    pub(crate) fn settled_by(&self, index: usize) -> Option<Outcome> {
        let entry = &self.log[index];
        let Deed::Vote(ballot) = &entry.deed else { return None };
        let then = self.until(index + 1);
        let outcome = |word, by, digest, content| Outcome {
            word,
            by,
            digest,
            at: entry.at,
            reason: ballot.reason.clone(),
            content,
        };
        if ballot.word == DecisionWord::Deny {
            return Some(outcome(DecisionWord::Deny, vec![ballot.by.clone()], ballot.saw, None));
        }
        let people = self.counted(index);
        if !self.enough(&self.needs_after(&self.log[..=index]), &people, &entry.world) {
            return None;
        }
        Some(match then.latest_replacement() {
            Some((_, Ballot { word, brings: Some((content, digest)), .. })) => {
                outcome(*word, people, *digest, Some(content.clone()))
            }
            _ => outcome(DecisionWord::Approve, people, self.asked.digest, None),
        })
    }

    /// What is wrong with a vote on a pending request, if anything.
    pub(crate) fn objection(
        &self,
        vote: &Decide,
        by: &str,
        code_given: bool,
        world: &World,
    ) -> Option<&'static str> {
        let needs = self.needs();
        if vote.digest != self.digest_on_the_table() {
            return Some("stale_digest");
        }
        if vote.version < self.changed_at() || vote.version > self.version() {
            return Some("stale_version");
        }
        if !self.fits(vote) {
            return Some("invalid");
        }
        // People who were asked first can still deny.
        let was_asked = || self.needs_before().iter().any(|needs| eligible(needs, by, world));
        let may_deny = || vote.word == DecisionWord::Deny && was_asked();
        if !eligible(&needs, by, world) && !may_deny() {
            return Some("not_eligible");
        }
        if vote.word == DecisionWord::Deny {
            return None;
        }
        // A vote with a replacement starts a new digest. A vote without one is about the current one.
        let barred =
            if vote.proposal.is_some() { self.stands_behind(by, world) } else { self.barred(by, world) };
        if needs.four_eyes && barred {
            return Some("self_approval");
        }
        match needs.step_up.as_deref() {
            Some("code") if code_given => {}
            Some(_) => return Some("step_up_required"),
            None => {}
        }
        // Policy has a word in what is to run instead.
        let (content, ruling) = (&vote.proposal.as_ref()?.0, vote.ruling.as_ref());
        let edits = content.steps.iter().flatten().any(|step| step.decision == DecisionWord::Edit);
        let outdated =
            ruling.is_some_and(|ruling| world.policy.is_some_and(|now| ruling.verdict.policy != now));
        if outdated || (ruling.is_none() && (edits || content.arguments.is_some())) {
            return Some("policy_changed");
        }
        ruling.filter(|ruling| ruling.verdict.effect == Effect::Deny).map(|_| "policy_denied")
    }

    /// Whether the word is offered and carries what belongs to it, and nothing else.
    fn fits(&self, vote: &Decide) -> bool {
        let offered = self.offered().contains(&vote.word);
        let on_the_table = self.latest_replacement().is_some();
        let content = vote.proposal.as_ref().map(|(content, _)| content);
        match (vote.word, &self.asked.content.body, content) {
            (DecisionWord::Deny, _, None) => true,
            (DecisionWord::Approve, _, None) => offered || on_the_table,
            (
                DecisionWord::Edit,
                Body::Action(_),
                Some(ProposalContent { arguments: Some(_), answer: None, steps: None }),
            ) => offered,
            (
                DecisionWord::Approve | DecisionWord::Edit,
                Body::Plan(plan),
                Some(ProposalContent { arguments: None, answer: None, steps: Some(steps) }),
            ) => {
                let proposed: Vec<&str> = plan.steps.iter().map(|step| step.id.as_str()).collect();
                let edits = steps.iter().any(|step| step.decision == DecisionWord::Edit);
                let may_edit = self.offered().contains(&DecisionWord::Edit);
                offered && (may_edit || !edits) && steps_fit(&proposed, plan.can_modify, steps)
            }
            (
                DecisionWord::Respond,
                body,
                Some(ProposalContent { arguments: None, answer: Some(answer), steps: None }),
            ) => offered && answer_fits(body, answer),
            _ => false,
        }
    }
}

/// A reviewer who fits at least one seat of one alternative.
fn eligible(needs: &Needs, name: &str, world: &World) -> bool {
    world.reviews(name) && needs.any.iter().any(|all| all.all.iter().any(|seat| sits(name, seat, world)))
}

fn sits(name: &str, seat: &Seat, world: &World) -> bool {
    let Some(human) = world.human(name) else { return false };
    seat.team.as_ref().is_none_or(|team| human.teams.contains(team.as_str()))
}

/// Tries every way of giving each seat to a different person.
fn seat_all(seats: &[&Seat], people: &[String], world: &World) -> bool {
    let Some((seat, rest)) = seats.split_first() else { return true };
    people.iter().filter(|name| sits(name, seat, world)).any(|name| {
        let others: Vec<String> = people.iter().filter(|other| *other != name).cloned().collect();
        seat_all(rest, &others, world)
    })
}

/// Every step once; another order and edits only where the plan can be modified; at least one yes.
fn steps_fit(proposed: &[&str], can_modify: bool, steps: &[StepDecision]) -> bool {
    let given: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
    let sorted = |list: &[&str]| {
        let mut list: Vec<String> = list.iter().map(|id| (*id).to_owned()).collect();
        list.sort();
        list
    };
    let each = steps.iter().all(|step| match step.decision {
        DecisionWord::Approve | DecisionWord::Deny => step.arguments.is_none(),
        DecisionWord::Edit => can_modify && step.arguments.is_some(),
        DecisionWord::Respond => false,
    });
    sorted(&given) == sorted(proposed)
        && (can_modify || given == proposed)
        && each
        && steps.iter().any(|step| step.decision != DecisionWord::Deny)
}

/// The three types the random questions use; the others have tests of their own.
fn answer_fits(body: &Body, answer: &Value) -> bool {
    let Body::Input(Input { input, required, .. }) = body else { return true };
    match (input.kind, answer) {
        (_, Value::Null) => !required,
        (InputType::Text, Value::String(text)) => !(*required && text.is_empty()),
        (InputType::Number, Value::Number(number)) => {
            number.as_i64().is_some_and(|number| (1..=10).contains(&number))
        }
        (InputType::Choice, Value::String(text)) => ["red", "blue"].contains(&text.as_str()),
        _ => false,
    }
}
