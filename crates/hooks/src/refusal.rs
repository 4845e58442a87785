//! The reason why a call may not run, in one sentence for the agent.

use placet_core::{Record, State};

use crate::Answer;

/// The sentence for a request that allows no run.
pub fn refusal(record: &Record) -> Answer {
    let decision = record.decision.as_ref();
    let by = decision.map(|decision| decision.by.join(", ")).filter(|by| !by.is_empty());
    let reason = decision.and_then(|decision| decision.reason.clone()).filter(|reason| !reason.is_empty());
    let because = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    match record.state {
        State::Denied => match by {
            Some(by) => Answer::Deny(format!("Placet: denied by {by}{because}")),
            None => Answer::Deny(format!("Placet: denied by policy{}", because_of(record, &because))),
        },
        State::Expired => Answer::Block("Placet: nobody decided in time, so it was not run".to_owned()),
        State::Cancelled => Answer::Block("Placet: the request was withdrawn, so it was not run".to_owned()),
        State::Revoked => Answer::Deny("Placet: the approval was taken back, so it was not run".to_owned()),
        State::Lapsed => {
            Answer::Block("Placet: the approval was not used in time, so it was not run".to_owned())
        }
        State::Claimed | State::Succeeded | State::Failed | State::Unknown => Answer::Block(format!(
            "Placet: the approval of this call ({}) has been used already; an approval is for one run",
            record.id
        )),
        State::Pending | State::Approved | State::Answered => Answer::Block(format!(
            "Placet: {} is {}, which is not a permit to run it",
            record.id, record.state
        )),
    }
}

/// The reason of policy, if the decision has none.
fn because_of(record: &Record, because: &str) -> String {
    if !because.is_empty() {
        return because.to_owned();
    }
    match record.verdict.reasons.first() {
        Some(reason) => format!(": {reason}"),
        None if record.verdict.rule.is_empty() => String::new(),
        None => format!(": rule {}", record.verdict.rule),
    }
}
