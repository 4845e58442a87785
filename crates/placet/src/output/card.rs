//! The card of a request as lines for terminals, the same everywhere: `show`, `approve`, the inbox and its screen.

use placet_core::{Card, LineKind, Outline, OutlineLine, Record, RecordCard, counted};

use placet_store::planted;

use super::{
    describe::{Line, Shape, Tone},
    text::safe,
};

/// The whole card of a request. Lists and streams have only a line of it.
pub(crate) fn of(record: &Record) -> Option<&Card> {
    record.view.as_ref().and_then(RecordCard::whole)
}

/// What would happen, in one sentence of the server's.
pub(crate) fn sentence(record: &Record) -> Option<&str> {
    record.view.as_ref().map(RecordCard::sentence).filter(|sentence| !sentence.is_empty())
}

/// The card as lines, and the number of leaves that a terminal cannot draw.
pub(crate) fn lines(card: &Card, record: &Record) -> (Vec<Line>, u32) {
    let drawn = |pointer: &str| {
        let fields = &record.display.as_ref()?.fields;
        fields.iter().find(|field| field.pointer == pointer).map(|field| field.text.clone())
    };
    let mut outline = card.outline(&drawn);
    if planted("terminal-drops-a-value") {
        let last = outline.lines.iter().rposition(|line| line.leaves > 0);
        outline.lines.truncate(last.unwrap_or_default());
    }
    let mut lines = drawn_as_lines(&outline);
    if outline.undrawn > 0 {
        let values = counted(u64::from(outline.undrawn), "value is", "values are");
        lines.push(Line::sentence(
            format!("{values} not shown here: look at {}", safe(&record.url)),
            Tone::Warn,
        ));
    }
    (lines, outline.undrawn)
}

/// Why a card that a terminal drew cannot be approved there.
pub(crate) fn refused(record: &Record) -> Option<String> {
    let card = of(record)?;
    let (_, undrawn) = lines(card, record);
    let (many, where_not) = match (card.hidden, undrawn) {
        (0, 0) => return None,
        (0, undrawn) => (undrawn, "in a terminal"),
        (hidden, _) => (hidden, "on its card"),
    };
    let values = counted(u64::from(many), "value", "values");
    Some(format!("{values} of it cannot be shown {where_not}"))
}

fn drawn_as_lines(outline: &Outline) -> Vec<Line> {
    let line = |line: &OutlineLine| {
        let (label, text) = (safe(&line.label), safe(&line.text));
        let (shape, tone) = match line.kind {
            LineKind::Sentence => (Shape::Sentence, Tone::Strong),
            LineKind::Heading => (Shape::Sentence, Tone::Heading),
            LineKind::Flag => {
                let at = if label.is_empty() { String::new() } else { format!(" ({label})") };
                let text = format!("{text}{at}");
                return Line { label: "careful".to_owned(), text, tone: Tone::Warn, shape: Shape::Labelled };
            }
            LineKind::Warning => {
                return Line { label: "careful".to_owned(), text, tone: Tone::Warn, shape: Shape::Labelled };
            }
            LineKind::Fact | LineKind::Value => (Shape::Labelled, Tone::Plain),
            LineKind::Place => (Shape::Indented, Tone::Dim),
            LineKind::Note => {
                return Line { label, text: format!("({text})"), tone: Tone::Dim, shape: Shape::Indented };
            }
            LineKind::Row => (Shape::Row, Tone::Plain),
            LineKind::Added => (Shape::Row, Tone::Good),
            LineKind::Removed => (Shape::Row, Tone::Bad),
        };
        Line { label, text, tone, shape }
    };
    outline.lines.iter().map(line).collect()
}
