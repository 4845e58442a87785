//! What stands below the card: a replacement, what was decided, and why it waits.

use placet_core::{Effect, Needs, Record, State, StepDecision, Time, show};
use serde_json::{Map, Value};

use super::{Sheet, Tone, flatten, headline};
use crate::output::{
    lineage,
    text::{compact, span, until},
};

fn replaced(
    out: &mut Sheet,
    arguments: Option<&Map<String, Value>>,
    answer: Option<&Value>,
    steps: Option<&[StepDecision]>,
) {
    if let Some(arguments) = arguments {
        let mut lines = Vec::new();
        flatten("", arguments, &mut lines);
        for (pointer, text) in lines {
            out.add(&pointer, text, Tone::Warn);
        }
    }
    if let Some(answer) = answer {
        out.add("answer", compact(answer), Tone::Warn);
    }
    for step in steps.into_iter().flatten() {
        let arguments = step
            .arguments
            .as_ref()
            .map(|arguments| format!(" with {}", compact(&Value::Object(arguments.clone()))));
        out.add(
            &format!("step {}", show(&step.id)),
            format!("{}{}", step.decision, arguments.unwrap_or_default()),
            Tone::Warn,
        );
    }
}

pub(super) fn proposal(out: &mut Sheet, record: &Record) {
    let Some(proposal) = record.proposal.as_ref().filter(|_| record.state == State::Pending) else { return };
    out.heading(&format!("{} proposes this instead: a vote now is a vote on it", show(&proposal.by)));
    replaced(out, proposal.arguments.as_ref(), proposal.answer.as_ref(), proposal.steps.as_deref());
}

pub(super) fn outcome(out: &mut Sheet, record: &Record) {
    if record.state == State::Pending {
        return;
    }
    let tone = match record.state {
        State::Approved | State::Answered | State::Succeeded => Tone::Good,
        State::Denied | State::Failed | State::Revoked => Tone::Bad,
        _ => Tone::Warn,
    };
    out.heading("Decided");
    out.add("state", headline(record), tone);
    if let Some(decision) = &record.decision {
        replaced(out, decision.arguments.as_ref(), decision.answer.as_ref(), decision.steps.as_deref());
    }
    if let Some(why) = lineage::lost(record) {
        let via = lineage::via(record).unwrap_or_default();
        out.add(
            "outcome",
            format!("upstream lost: {via} lost the task ({why}); no tool reported anything"),
            tone,
        );
    } else if let Some(outcome) = &record.outcome {
        let note = outcome.note.as_deref().map(|note| format!(": {}", show(note))).unwrap_or_default();
        let by = outcome
            .resolved_by
            .as_deref()
            .map(|by| format!(" (resolved by {})", show(by)))
            .unwrap_or_default();
        out.add("outcome", format!("{}{by}{note}", record.state), tone);
    }
}

pub(super) fn why(out: &mut Sheet, record: &Record, now: Time) {
    out.heading(match (record.state, record.verdict.effect) {
        (State::Pending, _) => "Why it waits",
        (_, Effect::Allow) => "Why it passed",
        (_, Effect::Hold) => "Why it was held",
        (_, Effect::Deny) => "Why it was denied",
    });
    let tone = if record.risk >= placet_core::Risk::High { Tone::Bad } else { Tone::Plain };
    out.add("risk", record.risk.as_str(), tone);
    rules(out, record);
    if record.verdict.effect == Effect::Hold {
        out.add("needs", needs(&record.needs), Tone::Plain);
    }
    for vote in &record.votes {
        out.add("vote", format!("{} by {}", vote.vote, show(&vote.by)), Tone::Plain);
    }
    out.add("asked", format!("{} ago", span(now.since(record.created_at))), Tone::Plain);
    match record.state {
        State::Pending => out.add("decide within", until(record.expires_at, now), Tone::Warn),
        State::Approved if record.claimable => {
            if let Some(by) = record.claim_by {
                out.add("claim within", until(by, now), Tone::Warn);
            }
        }
        State::Claimed => {
            if let Some(by) = record.report_by {
                out.add("report within", until(by, now), Tone::Warn);
            }
        }
        _ => {}
    }
}

/// The rules that matched, each with its reason. The deciding one is named even without a reason.
fn rules(out: &mut Sheet, record: &Record) {
    let of_rule = |reason: &str| {
        let (name, why) = reason.strip_prefix("rule `")?.split_once('`')?;
        Some((name.to_owned(), format!("{name}{why}")))
    };
    let reasons = &record.verdict.reasons;
    if !reasons.iter().filter_map(|reason| of_rule(reason)).any(|(name, _)| name == record.verdict.rule) {
        out.add("rule", show(&record.verdict.rule), Tone::Plain);
    }
    for reason in reasons {
        match of_rule(reason) {
            Some((_, text)) => out.add("rule", show(&text), Tone::Plain),
            None => out.add("because", show(reason), Tone::Plain),
        }
    }
}

/// The needs, in words.
pub(crate) fn needs(needs: &Needs) -> String {
    let alternatives = needs.any.iter().map(|alternative| {
        let seats = alternative.all.iter().map(|seat| {
            let people = if seat.people == 1 {
                "one reviewer".to_owned()
            } else {
                format!("{} reviewers", seat.people)
            };
            seat.team.as_ref().map_or(people.clone(), |team| format!("{people} of {}", show(team)))
        });
        seats.collect::<Vec<_>>().join(" and ")
    });
    let mut text = alternatives.collect::<Vec<_>>().join(", or ");
    if needs.four_eyes {
        text.push_str("; nobody who stands behind it (four eyes)");
    }
    if let Some(step_up) = &needs.step_up {
        text.extend(["; with step-up `", &show(step_up), "`"]);
    }
    text
}
