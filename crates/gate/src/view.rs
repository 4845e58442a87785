//! The card: one typed view of a request, which every place draws and a yes is made from.
//!
//! Pure functions of the stored request. The view is of what a yes would run: of the replacement on the table, if there
//! is one, and after the decision of what was decided. Typed sections come from the recognised calls and from the shape
//! of the values.
//!
//! INVARIANT: sections and `rest` together have each leaf exactly once. A leaf belongs to a section only if the section
//! holds the text of its whole value, once per leaf; all others are in `rest`.

mod bytes;
mod call;
mod diff;
mod flags;
mod shapes;
mod subject;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use placet_core::{
    Body, Card, CardLine, CardSection, DisplayField, Request, SectionBody, Segment, pointer, show,
};
use placet_ledger::view_digest;
use placet_store::planted;
use serde_json::Value;
use subject::Subject;

use crate::preview;

/// The card of a request. None if it cannot be hashed, and then nothing can be approved from it.
pub(crate) fn card(request: &Request) -> Option<Card> {
    let subject = Subject::of(request);
    let mut leaves = subject.leaves(request);
    if planted("view-drops-a-pointer") {
        leaves.pop();
    }
    let flagged = flags::flagged(request, &subject, &leaves);
    let mut parts = Parts::new(&leaves);
    if !subject.erased {
        draw(request, &subject, &mut parts);
    }
    let (sections, open) = (parts.sections, parts.open);
    let rest: Vec<DisplayField> = leaves.into_iter().filter(|leaf| open.contains(&leaf.pointer)).collect();
    let sentence = preview::effect(request);
    let digest = view_digest(&sentence, &sections, &rest).ok()?;
    Some(Card { sentence, digest, sections, rest, flagged, hidden: u32::from(subject.erased) })
}

/// The card of a line of a list.
pub(crate) fn line(request: &Request, sentence: String) -> CardLine {
    let subject = Subject::of(request);
    let leaves = subject.count(request).saturating_add(usize::from(subject.erased));
    CardLine { sentence, hidden: u32::try_from(leaves).unwrap_or(u32::MAX) }
}

/// The sections so far, and the leaves that none of them has.
struct Parts {
    sections: Vec<CardSection>,
    open: HashSet<String>,
    /// The step of a plan that the next sections belong to.
    step: Option<u32>,
}

impl Parts {
    fn new(leaves: &[DisplayField]) -> Self {
        let open = leaves.iter().map(|leaf| leaf.pointer.clone()).collect();
        Self { sections: Vec::new(), open, step: None }
    }

    /// Adds a section that holds the values at these pointers.
    fn add(&mut self, title: Option<&str>, body: SectionBody, mut pointers: Vec<String>) {
        pointers.retain(|pointer| self.open.remove(pointer));
        let title = title.map(str::to_owned);
        self.sections.push(CardSection { body, title, step: self.step, pointers });
    }

    /// Adds a text, if all of it can be read and no section has it. Otherwise it stays among the rest, in quotes.
    fn text(&mut self, title: &str, text: &str, pointer: String) {
        let text = show(text);
        if self.open.contains(&pointer) && is_readable(&text) {
            self.add(Some(title), SectionBody::Text { text }, vec![pointer]);
        }
    }
}

/// Whether all of a drawn text is visible without quotes. Spaces at an end are not.
fn is_readable(drawn: &str) -> bool {
    !drawn.is_empty() && !drawn.starts_with(' ') && !drawn.ends_with(' ') && !drawn.contains(" \\n")
}

fn draw(request: &Request, subject: &Subject<'_>, parts: &mut Parts) {
    let Some(content) = request.content.as_deref() else { return };
    let cwd = content.context.get("cwd").and_then(Value::as_str);
    match &content.body {
        Body::Action(action) => {
            let (arguments, at) = subject.arguments(&action.arguments);
            call::draw(&action.tool, arguments, cwd, &at, parts);
        }
        Body::Plan(plan) => {
            parts.text("Plan", &plan.title, "/title".to_owned());
            for (number, step) in (1..).zip(subject.steps(plan)) {
                parts.step = Some(number);
                call::step(&step, cwd, parts);
            }
            parts.step = None;
        }
        Body::Input(input) => {
            parts.text("Question", &input.question, "/question".to_owned());
            if let Some(Value::String(text)) = &input.default
                && shapes::is_long(text)
            {
                parts.text("Suggested answer", text, "/default".to_owned());
            }
        }
        Body::Confirmation(confirmation) => {
            parts.text("Message", &confirmation.message, "/message".to_owned());
            if let Some(details) = &confirmation.details {
                parts.text("Details", details, "/details".to_owned());
            }
        }
    }
    if let Some(answer) = subject.answer() {
        let at = format!("/{}", subject.at);
        match answer {
            Value::String(text) => parts.text("Answer", text, format!("{at}/answer")),
            answer => shapes::draw(&[Segment::Key("answer")], answer, &at, parts),
        }
    }
}

/// The path below a pointer, as a pointer.
fn below(at: &str, way: &[Segment<'_>]) -> String {
    format!("{at}{}", pointer(way))
}
