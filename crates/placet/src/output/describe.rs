//! A request in full, for people: first what would happen and why it waits, last the agent's own words, marked as
//! such.

mod decided;
#[cfg(test)]
mod tests;

pub(crate) use decided::needs;
use decided::{outcome, proposal, why};
use placet_core::{
    Card, DecisionWord, DisplayField, InputType, Kind, LineKind, OutlineLine, Record, State, Time, counted,
    show, text_lines,
};
use serde_json::{Map, Value};

use super::{
    card, lineage,
    text::{compact, safe},
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

/// The place of a line on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// At the margin: a sentence or a heading of ours.
    Sentence,
    /// A little to the right.
    Indented,
    /// Behind its label.
    Labelled,
    /// Behind a mark: one line of a text that an agent wrote.
    Row,
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
    /// Where it stands.
    pub(crate) shape: Shape,
}

impl Line {
    /// A sentence of ours.
    pub(crate) fn sentence(text: impl Into<String>, tone: Tone) -> Self {
        Self { label: String::new(), text: text.into(), tone, shape: Shape::Sentence }
    }

    /// A value behind its label.
    pub(crate) fn labelled(label: &str, text: impl Into<String>, tone: Tone) -> Self {
        Self { label: label.to_owned(), text: text.into(), tone, shape: Shape::Labelled }
    }
}

/// One sentence made from the facts: who would do what.
pub(crate) fn effect(record: &Record) -> String {
    let agent = show(&record.agent);
    match record.kind {
        Kind::Action => format!("{agent} wants to run {}", show(record.tool.as_deref().unwrap_or("?"))),
        Kind::Plan => {
            let steps = record.steps.as_ref().map_or(0, Vec::len);
            let steps = counted(u64::try_from(steps).unwrap_or(u64::MAX), "step", "steps");
            format!("{agent} proposes a plan of {steps}")
        }
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
    match card::of(record) {
        Some(card) => carded(&mut out, record, card),
        None => uncarded(&mut out, record),
    }
    for warning in lineage::noted(record) {
        out.add("careful", warning, Tone::Warn);
    }
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
    if card::of(record).is_none() {
        for (pointer, text) in fields(record, "/context") {
            if !lineage::told(record, &pointer) {
                out.add(&format!("context/{pointer}"), text, Tone::Plain);
            }
        }
    }
    if let Some(summary) = &record.summary {
        out.heading("The agent says (untrusted)");
        let shape = |line: OutlineLine| match line.kind {
            LineKind::Note => {
                Line { shape: Shape::Indented, ..Line::sentence(format!("({})", line.text), Tone::Dim) }
            }
            _ => Line { shape: Shape::Row, ..Line::sentence(line.text, Tone::Dim) },
        };
        out.0.extend(text_lines(&show(summary)).into_iter().map(shape));
    }
    out.0
}

/// What a yes would run, as the server's card says it. With a replacement on the table, what was asked before is history.
fn carded(out: &mut Sheet, record: &Record, card: &Card) {
    let proposal = record.proposal.as_ref().filter(|_| record.state == State::Pending);
    if let Some(proposal) = proposal {
        let by = show(&proposal.by);
        out.heading(&format!("{by} put this in place of what was asked: a yes is a yes to this"));
    }
    out.0.extend(card::lines(card, record).0);
    answer(out, record);
    if proposal.is_some() {
        out.heading("What was asked before it was replaced (history)");
        own(out, record);
    }
}

/// The same from the record alone, for servers that make no card.
fn uncarded(out: &mut Sheet, record: &Record) {
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
    own(out, record);
    proposal(out, record);
}

#[derive(Default)]
struct Sheet(Vec<Line>);

impl Sheet {
    fn add(&mut self, label: &str, text: impl Into<String>, tone: Tone) {
        self.0.push(match label {
            "" => Line::sentence(text, tone),
            label => Line::labelled(label, text, tone),
        });
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
            answer(out, record);
        }
        Kind::Input => {
            out.optional("question", record.question.as_deref());
            answer(out, record);
            for (index, option) in
                record.input.iter().flat_map(|input| input.options.iter().flatten()).enumerate()
            {
                out.add(&format!("option {}", index + 1), show(option), Tone::Plain);
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

/// What can be said to it, beside yes and no.
fn answer(out: &mut Sheet, record: &Record) {
    if record.kind == Kind::Plan {
        let order = if record.can_modify == Some(true) {
            "steps may be edited and reordered"
        } else {
            "steps are approved or denied as they are"
        };
        out.add("", order, Tone::Dim);
    }
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
