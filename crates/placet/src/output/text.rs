//! Short texts: ids that can be typed, time spans, and a request in one line made from its arguments.

use std::{fmt::Write, time::Duration};

use placet_core::{Kind, ProposalRecord, Record, RequestId, State, StepDecision, Time, counted, show};
use serde_json::{Map, Value};

use super::card;

/// Text that should be safe to print. It is drawn again if it is not.
pub(crate) fn safe(text: &str) -> String {
    let plain = |c: char| c == '\\' || !show(c.encode_utf8(&mut [0; 4])).starts_with('\\');
    if text.chars().all(plain) { text.to_owned() } else { show(text) }
}

/// The end of an id: ids begin with the time, so neighbours differ at the end.
pub(crate) fn short(id: RequestId) -> String {
    let text = id.to_string();
    text.get(text.len().saturating_sub(7)..).unwrap_or_default().to_owned()
}

/// A span of time, roughly.
pub(crate) fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// The time until a deadline. `0s` once it has passed.
pub(crate) fn until(deadline: Time, now: Time) -> String {
    span(deadline.since(now))
}

/// A request in one line: what it would do, never the agent's words. First what limits it, then the server's sentence.
/// Nothing is approved from it.
pub(crate) fn oneline(record: &Record) -> String {
    let pending = record.state == State::Pending;
    let Some(sentence) = card::sentence(record).filter(|_| pending) else { return effect_and_values(record) };
    let mut line = String::new();
    if let Some(proposal) = &record.proposal {
        line.extend(["[replaced by ", &show(&proposal.by), "] "]);
    }
    let drawn = record.display.as_ref().map_or(0, |display| display.warnings.len());
    let flags = card::of(record).map_or(drawn, |card| card.flagged.len());
    if flags > 0 {
        let flags = counted(u64::try_from(flags).unwrap_or(u64::MAX), "warning", "warnings");
        line.extend(["[", &flags, "] "]);
    }
    line + &safe(sentence)
}

/// The same from servers that make no card.
fn effect_and_values(record: &Record) -> String {
    let told = record.display.as_ref().filter(|display| !display.effect.is_empty());
    let Some(display) = told.filter(|_| record.state == State::Pending && record.kind == Kind::Action) else {
        return values(record);
    };
    let careful = match display.warnings.len() {
        0 => String::new(),
        1 => "[1 warning] ".to_owned(),
        more => format!("[{more} warnings] "),
    };
    format!("{careful}{} · {}", safe(&display.effect), values(record))
}

/// The values in one line.
fn values(record: &Record) -> String {
    if let Some(proposal) = record.proposal.as_ref().filter(|_| record.state == State::Pending) {
        return replaced(proposal);
    }
    let text = |text: &Option<String>| text.as_deref().map(show).unwrap_or_default();
    match record.kind {
        Kind::Action => record.arguments.as_ref().map_or_else(|| "(erased)".to_owned(), pairs),
        Kind::Plan => {
            let steps = record.steps.iter().flatten().map(|step| show(&step.action));
            format!("{}: {}", text(&record.title), steps.collect::<Vec<_>>().join(", "))
        }
        Kind::Input => text(&record.question),
        Kind::Confirmation => text(&record.message),
    }
}

/// What an approval would run if there is a proposal.
fn replaced(proposal: &ProposalRecord) -> String {
    let by = show(&proposal.by);
    if let Some(arguments) = &proposal.arguments {
        return format!("[edited by {by}] {}", pairs(arguments));
    }
    if let Some(steps) = &proposal.steps {
        let step = |step: &StepDecision| format!("{} {}", step.decision, show(&step.id));
        return format!("[steps by {by}] {}", steps.iter().map(step).collect::<Vec<_>>().join(", "));
    }
    format!("[answer by {by}] {}", proposal.answer.as_ref().map(compact).unwrap_or_default())
}

/// Arguments as `key=value`, in order.
fn pairs(arguments: &Map<String, Value>) -> String {
    let mut out = String::new();
    for (key, value) in arguments {
        let gap = if out.is_empty() { "" } else { " " };
        let _ = write!(out, "{gap}{}={}", word(key), compact(value));
    }
    if out.is_empty() { "(no arguments)".to_owned() } else { out }
}

/// Text in quotes, unless it is a plain word, so that nothing looks like a second argument.
fn word(text: &str) -> String {
    let shown = show(text);
    let plain = |c: char| !c.is_whitespace() && !"\"\\=,:[]{}".contains(c);
    if !shown.is_empty() && shown.chars().all(plain) {
        return shown;
    }
    format!("\"{}\"", shown.replace('"', "\\\""))
}

/// A value without unnecessary quotes.
pub(crate) fn compact(value: &Value) -> String {
    match value {
        Value::String(text) => word(text),
        Value::Array(items) => format!("[{}]", items.iter().map(compact).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let inner = fields.iter().map(|(key, value)| format!("{}: {}", word(key), compact(value)));
            format!("{{{}}}", inner.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::output::sample;

    #[test]
    fn spans_are_short() {
        let texts: Vec<String> =
            [5, 65, 3_700, 90_000].map(|seconds| span(Duration::from_secs(seconds))).into();
        assert_eq!(texts, ["5s", "1m05s", "1h01m", "1d01h"]);
    }

    #[test]
    fn a_request_in_one_line_is_what_it_would_do() {
        assert_eq!(oneline(&sample::action()), "files=[report.md, \"a b.txt\"] force=true");
        assert_eq!(oneline(&sample::plan()), "Clean the archive: list, delete, report");
        assert_eq!(oneline(&sample::input(json!({"type":"text"}))), "Which one?");
        let mut replaced = sample::action();
        replaced.proposal = serde_json::from_value(json!({"by": "bob", "decision": "edit", "digest": replaced.digest,
            "at": replaced.created_at, "arguments": {"to": "Mallory", "amount": 9999}, "answer": null, "steps": null}))
        .unwrap();
        assert_eq!(oneline(&replaced), "[edited by bob] amount=9999 to=Mallory", "what a yes would run");
        replaced.state = State::Denied;
        assert_eq!(oneline(&replaced), "files=[report.md, \"a b.txt\"] force=true");
    }

    #[test]
    fn with_a_card_the_line_is_its_sentence_behind_what_limits_it() {
        let mut record = sample::shown("x");
        assert_eq!(oneline(&record), "[1 warning] Delete 2 files: report.md, a b.txt");
        let line = placet_core::CardLine { sentence: "Run x\u{1b}".to_owned(), hidden: 3 };
        record.view = Some(placet_core::RecordCard::Line(line));
        record.proposal =
            serde_json::from_value(json!({"by": "bob", "decision": "edit", "digest": record.digest,
            "at": record.created_at, "arguments": {}, "answer": null, "steps": null}))
            .unwrap();
        assert_eq!(oneline(&record), "[replaced by bob] Run x\\u{001b}");
    }

    #[test]
    fn hostile_arguments_cannot_imitate_or_hide() {
        let mut record = sample::action();
        record.arguments = json!({"to": "ann\u{202e}", "x=1 y\u{1b}[2J": "a\nb=1"}).as_object().cloned();
        assert_eq!(oneline(&record), r#"to="ann\u{202e}" "x=1 y\u{001b}[2J"="a\nb=1""#);
    }
}
