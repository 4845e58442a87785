//! A request in full, for people: first what would happen and why it waits, last the agent's own words, marked as
//! such.

use placet_core::{
    DecisionWord, DisplayField, Effect, InputType, Kind, Needs, Record, State, StepDecision, Time, show,
};
use serde_json::{Map, Value};

use super::{
    lineage,
    text::{compact, safe, span, until},
    together,
};

/// The meaning of a line. Terminals and screens choose the colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// The sentence on top.
    Strong,
    /// A heading.
    Heading,
    /// A fact.
    Plain,
    /// Less important.
    Dim,
    /// Yes.
    Good,
    /// No, or dangerous.
    Bad,
    /// Careful.
    Warn,
}

/// One line: a label and a text, both safe to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// The label. Empty for a sentence.
    pub(crate) label: String,
    /// What it says.
    pub(crate) text: String,
    /// How it is meant.
    pub(crate) tone: Tone,
}

/// One sentence made from the facts: who would do what.
pub(crate) fn effect(record: &Record) -> String {
    let agent = show(&record.agent);
    match record.kind {
        Kind::Action => format!("{agent} wants to run {}", show(record.tool.as_deref().unwrap_or("?"))),
        Kind::Plan => format!("{agent} proposes a plan of {} steps", record.steps.iter().flatten().count()),
        Kind::Input => format!("{agent} asks a question"),
        Kind::Confirmation => format!("{agent} asks for a yes or no"),
    }
}

/// What happened to it, in one line: state, who and why.
pub(crate) fn headline(record: &Record) -> String {
    let Some(decision) = &record.decision else {
        return record.state.to_string();
    };
    let mut said = match decision.decision {
        DecisionWord::Approve => "approved",
        DecisionWord::Edit => "approved with changes",
        DecisionWord::Deny => "denied",
        DecisionWord::Respond => "answered",
    }
    .to_owned();
    match (decision.by.as_slice(), &decision.grant) {
        ([], Some(grant)) => said.extend([" by ", &show(&grant.whose())]),
        ([], None) => {
            said.push_str(" by policy");
            // The first reason decided. The detail has the whole list.
            if let Some(reason) = record.verdict.reasons.first() {
                said.extend([": ", &show(reason)]);
            }
        }
        (people, _) => said.extend([" by ", &show(&people.join(", "))]),
    }
    if let Some(reason) = &decision.reason {
        said.extend([": ", &show(reason)]);
    }
    match record.state {
        State::Approved | State::Denied | State::Answered => said,
        later => format!("{later} ({said})"),
    }
}

/// Everything a reviewer should see, in a fixed order.
pub(crate) fn describe(record: &Record, now: Time) -> Vec<Line> {
    let mut out = Sheet::default();
    out.add("", effect(record), Tone::Strong);
    if let Some(display) = record.display.as_ref().filter(|display| !display.effect.is_empty()) {
        out.add("does", safe(&display.effect), Tone::Strong);
        for warning in &display.warnings {
            let at = if warning.pointer.is_empty() {
                String::new()
            } else {
                format!(" ({})", safe(&warning.pointer))
            };
            out.add("careful", format!("{}{at}", safe(&warning.text)), Tone::Warn);
        }
    }
    own(&mut out, record);
    for warning in lineage::noted(record) {
        out.add("careful", warning, Tone::Warn);
    }
    proposal(&mut out, record);
    outcome(&mut out, record);
    why(&mut out, record, now);
    out.0.extend(together::listed(record));
    if let Some(step_up) = record.needs.step_up.as_deref().filter(|_| record.state == State::Pending) {
        let said = format!("{}: approved in a browser only, at {}", show(step_up), record.url);
        out.add("step-up", said, Tone::Warn);
    }
    out.heading("Facts");
    out.add("id", record.id.to_string(), Tone::Plain);
    out.add("version", record.version.to_string(), Tone::Plain);
    out.add("digest", record.digest.to_string(), Tone::Plain);
    out.add("session", show(&record.session), Tone::Plain);
    if let Some(line) = lineage::lineage(record) {
        out.add("over A2A", line, Tone::Plain);
    }
    out.optional("on behalf of", record.on_behalf_of.as_deref());
    out.optional("group", record.group.as_deref());
    for (pointer, text) in fields(record, "/context") {
        if lineage::told(record, &pointer) {
            continue;
        }
        out.add(&format!("context/{pointer}"), text, Tone::Plain);
    }
    if let Some(summary) = &record.summary {
        out.heading("The agent says (untrusted)");
        out.add("", show(summary), Tone::Dim);
    }
    out.0
}

#[derive(Default)]
struct Sheet(Vec<Line>);

impl Sheet {
    fn add(&mut self, label: &str, text: impl Into<String>, tone: Tone) {
        self.0.push(Line { label: label.to_owned(), text: text.into(), tone });
    }

    fn heading(&mut self, text: &str) {
        self.add("", text, Tone::Heading);
    }

    fn optional(&mut self, label: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.add(label, show(text), Tone::Plain);
        }
    }
}

/// The values below a pointer, each with the rest of its pointer, as the server drew them, or drawn here by the same
/// rule.
pub(super) fn fields(record: &Record, below: &str) -> Vec<(String, String)> {
    if let Some(display) = &record.display {
        let below = |field: &DisplayField| {
            // An empty object is at the pointer itself, everything else below it.
            field.pointer.strip_prefix(below)?.strip_prefix('/')?;
            let place = field.place();
            Some((safe(place.strip_prefix(below)?.strip_prefix('/')?), safe(&field.text)))
        };
        return display.fields.iter().filter_map(below).collect();
    }
    let object = match below {
        "/context" => record.context.as_ref(),
        _ => record.arguments.as_ref(),
    };
    let mut out = Vec::new();
    if let Some(object) = object {
        flatten("", object, &mut out);
    }
    out
}

fn flatten(pointer: &str, object: &Map<String, Value>, out: &mut Vec<(String, String)>) {
    for (key, value) in object {
        let key = show(&key.replace('~', "~0").replace('/', "~1"));
        let here = if pointer.is_empty() { key } else { format!("{pointer}/{key}") };
        match value {
            Value::Object(inner) if !inner.is_empty() => flatten(&here, inner, out),
            Value::Array(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    match item {
                        Value::Object(inner) if !inner.is_empty() => {
                            flatten(&format!("{here}/{index}"), inner, out);
                        }
                        item => out.push((format!("{here}/{index}"), literal(item))),
                    }
                }
            }
            value => out.push((here, literal(value))),
        }
    }
}

/// A value as its own literal.
pub(crate) fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{}\"", show(text).replace('"', "\\\"")),
        other => compact(other),
    }
}

/// The kind's own fields.
fn own(out: &mut Sheet, record: &Record) {
    match record.kind {
        Kind::Action => {
            let arguments = fields(record, "/arguments");
            if arguments.is_empty() {
                let none =
                    if record.arguments.is_some() { "no arguments" } else { "the arguments were erased" };
                out.add("", none, Tone::Dim);
            }
            for (pointer, text) in arguments {
                out.add(&pointer, text, Tone::Plain);
            }
        }
        Kind::Plan => {
            out.optional("title", record.title.as_deref());
            for (index, step) in record.steps.iter().flatten().enumerate() {
                let optional = if step.optional == Some(true) { " (optional)" } else { "" };
                let text = format!(
                    "[{}] {}{optional}: {}",
                    show(&step.id),
                    show(&step.action),
                    show(&step.description)
                );
                out.add(&format!("step {}", index + 1), text, Tone::Plain);
                if let Some(arguments) = &step.arguments {
                    out.add("", format!("  {}", compact(&Value::Object(arguments.clone()))), Tone::Plain);
                }
            }
            let order = if record.can_modify == Some(true) {
                "steps may be edited and reordered"
            } else {
                "steps are approved or denied as they are"
            };
            out.add("", order, Tone::Dim);
        }
        Kind::Input => {
            out.optional("question", record.question.as_deref());
            if let Some(input) = &record.input {
                let bounds = match (&input.min, &input.max) {
                    (None, None) => String::new(),
                    (min, max) => {
                        let text = |bound: &Option<serde_json::Number>| {
                            bound.as_ref().map_or_else(|| "…".to_owned(), ToString::to_string)
                        };
                        format!(", {} to {}", text(min), text(max))
                    }
                };
                let needed = if record.required == Some(false) { ", may be left empty" } else { "" };
                out.add("answer", format!("{}{bounds}{needed}", type_name(input.kind)), Tone::Plain);
                for (index, option) in input.options.iter().flatten().enumerate() {
                    out.add(&format!("option {}", index + 1), show(option), Tone::Plain);
                }
            }
            if let Some(default) = &record.default {
                out.add("suggested", compact(default), Tone::Dim);
            }
        }
        Kind::Confirmation => {
            out.optional("message", record.message.as_deref());
            out.optional("details", record.details.as_deref());
            out.optional("yes means", record.confirm_label.as_deref());
            out.optional("no means", record.cancel_label.as_deref());
        }
    }
}

fn type_name(kind: InputType) -> &'static str {
    match kind {
        InputType::Text => "text",
        InputType::Number => "number",
        InputType::Choice => "one of the options",
        InputType::MultiChoice => "any of the options",
        InputType::Date => "date, YYYY-MM-DD",
        InputType::File => "file",
    }
}

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

fn proposal(out: &mut Sheet, record: &Record) {
    let Some(proposal) = record.proposal.as_ref().filter(|_| record.state == State::Pending) else { return };
    out.heading(&format!("{} proposes this instead: a vote now is a vote on it", show(&proposal.by)));
    replaced(out, proposal.arguments.as_ref(), proposal.answer.as_ref(), proposal.steps.as_deref());
}

fn outcome(out: &mut Sheet, record: &Record) {
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

fn why(out: &mut Sheet, record: &Record, now: Time) {
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

#[cfg(test)]
mod tests;
