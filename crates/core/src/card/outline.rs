//! A card as lines of text: for terminals, messages and every other place that has no boxes.
//!
//! Text of agents always stands behind a mark of ours, and one line of text never has two lines of theirs. So nothing
//! that an agent wrote can pass for a line of ours, and padding is counted instead of drawn.

mod sections;
#[cfg(test)]
mod tests;

use super::{Card, CardSection};

/// The lines of a card, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outline {
    /// What to draw, all of it.
    pub lines: Vec<OutlineLine>,
    /// How many leaves of the card text cannot show, such as pictures. Their names and sizes are in the lines.
    pub undrawn: u32,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineLine {
    /// What it is. It decides how the line is marked.
    pub kind: LineKind,
    /// What stands before the text: a word of ours, a pointer, or the numbers of a line of a change.
    pub label: String,
    /// The text, drawn by [`crate::show`].
    pub text: String,
    /// How many leaves can be read whole once this line was read.
    pub leaves: u32,
}

/// What a line of an outline is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// What will happen, in one sentence.
    Sentence,
    /// What to look at twice. The label is the pointer, or empty for the whole request.
    Flag,
    /// The title of a part.
    Heading,
    /// A value under a name of ours.
    Fact,
    /// A value under a name that an agent chose, such as a pointer.
    Value,
    /// A pointer or name of an agent that has a line for itself. Its value follows in rows.
    Place,
    /// One line of a text, as it stands there.
    Row,
    /// One line of a change that comes.
    Added,
    /// One line of a change that goes.
    Removed,
    /// A note of ours about the lines around it.
    Note,
    /// A warning of ours.
    Warning,
}

impl LineKind {
    /// Whether the line is part of a text that an agent wrote, and needs a mark at its beginning.
    #[must_use]
    pub const fn is_row(self) -> bool {
        matches!(self, Self::Row | Self::Added | Self::Removed)
    }
}

impl Card {
    /// All of it as lines. `look` finds the drawn value of a leaf, for types of section that this reader does not know.
    #[must_use]
    pub fn outline(&self, look: &dyn Fn(&str) -> Option<String>) -> Outline {
        let mut sheet = Sheet::default();
        sheet.named(LineKind::Sentence, "", &self.sentence);
        if self.hidden > 0 {
            let values = counted(u64::from(self.hidden), "value is", "values are");
            sheet.add(LineKind::Warning, "", format!("{values} not on this card: it cannot be approved."));
        }
        for flag in &self.flagged {
            sheet.named(LineKind::Flag, &flag.pointer, &flag.why);
        }
        for section in &self.sections {
            sheet.section(section, look);
        }
        if !self.rest.is_empty() {
            // Without sections it is not "else": it is everything there is.
            let title = if self.sections.is_empty() { "Everything" } else { "Everything else" };
            sheet.add(LineKind::Heading, "", title);
            for field in &self.rest {
                sheet.value(&field.place(), &field.text);
                sheet.read(1);
            }
        }
        sheet.0
    }

    /// How many leaves it has.
    #[must_use]
    pub fn leaves(&self) -> u32 {
        let sections: usize = self.sections.iter().map(|section| section.pointers.len()).sum();
        u32::try_from(sections.saturating_add(self.rest.len())).unwrap_or(u32::MAX)
    }
}

/// A drawn text as lines, with its line ends. Lines alike are counted, and so are long runs of spaces.
#[must_use]
pub fn text_lines(text: &str) -> Vec<OutlineLine> {
    let mut sheet = Sheet::default();
    sheet.text(text);
    sheet.0.lines
}

impl Outline {
    /// As plain text of at most so many lines and bytes, and the number of leaves that are not in it. Nothing is cut
    /// within a line: a line that does not fit is left out with all that follow.
    #[must_use]
    pub fn plain(&self, lines: usize, bytes: usize) -> (String, u32) {
        let mut out = String::new();
        let mut left = self.undrawn;
        let mut full = false;
        for (at, line) in self.lines.iter().enumerate() {
            let text = line.plain();
            full |= at >= lines || out.len().saturating_add(text.len()).saturating_add(1) > bytes;
            if full {
                left = left.saturating_add(line.leaves);
                continue;
            }
            if at > 0 {
                out.push('\n');
            }
            out.push_str(&text);
        }
        (out, left)
    }
}

impl OutlineLine {
    /// The line with its mark, as plain text.
    #[must_use]
    pub fn plain(&self) -> String {
        let Self { kind, label, text, .. } = self;
        match kind {
            LineKind::Sentence => text.clone(),
            LineKind::Flag if label.is_empty() => format!("! {text}"),
            LineKind::Flag => format!("! {text} ({label})"),
            LineKind::Warning => format!("! {text}"),
            LineKind::Heading => format!("# {text}"),
            LineKind::Fact | LineKind::Value => format!("  {label}: {text}"),
            LineKind::Place => format!("  {text}:"),
            LineKind::Note => format!("  ({text})"),
            LineKind::Row | LineKind::Added | LineKind::Removed => format!("  {label}| {text}"),
        }
    }
}

/// Longest run of spaces that is drawn. Longer ones are counted.
const SPACES: usize = 40;
/// Longest pointer that stands before its value.
const BESIDE: usize = 32;
/// Longest run of lines alike that is drawn.
const ALIKE: usize = 3;

/// An outline that is being written.
#[derive(Debug, Default)]
struct Sheet(Outline);

impl Sheet {
    fn add(&mut self, kind: LineKind, label: &str, text: impl Into<String>) {
        let text = text.into();
        self.0.lines.push(OutlineLine { kind, label: label.to_owned(), text, leaves: 0 });
    }

    /// So many leaves can be read whole now.
    fn read(&mut self, leaves: u32) {
        if let Some(last) = self.0.lines.last_mut() {
            last.leaves = last.leaves.saturating_add(leaves);
        }
    }

    /// One line. Where it has a long run of spaces, the rest goes into rows.
    fn named(&mut self, kind: LineKind, label: &str, text: &str) {
        for (at, piece) in pieces(text).into_iter().enumerate() {
            match piece {
                Piece::Text(text) if at == 0 => self.add(kind, label, text),
                Piece::Text(text) => self.add(LineKind::Row, "", text),
                Piece::Spaces(many) => {
                    if at == 0 {
                        self.add(kind, label, "");
                    }
                    self.add(LineKind::Note, "", counted_spaces(many));
                }
            }
        }
    }

    /// A value under a name of ours.
    fn fact(&mut self, label: &str, text: &str) {
        self.named(LineKind::Fact, label, text);
    }

    /// The same, if there is one.
    fn optional(&mut self, label: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.fact(label, text);
        }
    }

    /// A value under a name that an agent chose. A name that is long or has spaces could pass for a name with a value,
    /// so it stands alone.
    fn value(&mut self, name: &str, text: &str) {
        if name.chars().count() <= BESIDE && !name.contains(' ') && !name.is_empty() {
            self.named(LineKind::Value, name, text);
            return;
        }
        self.named(LineKind::Place, "", name);
        for piece in pieces(text) {
            match piece {
                Piece::Text(text) => self.add(LineKind::Row, "", text),
                Piece::Spaces(many) => self.add(LineKind::Note, "", counted_spaces(many)),
            }
        }
    }

    /// A text with its line ends. Lines alike are counted, so that nothing is pushed out of sight.
    fn text(&mut self, text: &str) {
        let rows = rows(text);
        let mut rest = rows.as_slice();
        while let Some((first, after)) = rest.split_first() {
            let more = after.iter().take_while(|row| *row == first).count();
            let blank = |row: &&String| row.chars().all(|character| character == ' ');
            let blanks = if blank(&first) { after.iter().take_while(blank).count() } else { 0 };
            self.row(first);
            let skip = if more >= ALIKE {
                let lines = counted(number(more), "more line", "more lines");
                self.add(LineKind::Note, "", format!("{lines} exactly like this one"));
                more
            } else if blanks >= ALIKE {
                let lines = counted(number(blanks), "more line", "more lines");
                self.add(LineKind::Note, "", format!("{lines} of nothing but spaces"));
                blanks
            } else {
                0
            };
            rest = after.get(skip..).unwrap_or_default();
        }
    }

    fn row(&mut self, text: &str) {
        self.named(LineKind::Row, "", text);
    }
}

/// A part of a line.
enum Piece {
    Text(String),
    Spaces(usize),
}

/// A line in pieces: long runs of spaces are counted. Never empty.
fn pieces(text: &str) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut piece = String::new();
    let mut spaces = 0_usize;
    for character in text.chars().map(Some).chain([None]) {
        if character == Some(' ') {
            spaces = spaces.saturating_add(1);
            continue;
        }
        if spaces > SPACES {
            if !piece.is_empty() {
                out.push(Piece::Text(std::mem::take(&mut piece)));
            }
            out.push(Piece::Spaces(spaces));
        } else {
            piece.extend(std::iter::repeat_n(' ', spaces));
        }
        spaces = 0;
        piece.extend(character);
    }
    if !piece.is_empty() || out.is_empty() {
        out.push(Piece::Text(piece));
    }
    out
}

/// A drawn text at its line ends. `\\n` is a line end, `\\\\` one backslash.
fn rows(text: &str) -> Vec<String> {
    let mut rows = Vec::new();
    let mut row = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            row.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => rows.push(std::mem::take(&mut row)),
            Some(other) => row.extend(['\\', other]),
            None => row.push('\\'),
        }
    }
    rows.push(row);
    rows
}

fn number(of: usize) -> u64 {
    u64::try_from(of).unwrap_or(u64::MAX)
}

fn counted_spaces(many: usize) -> String {
    format!("{} here", counted(number(many), "space", "spaces"))
}

/// A number with its noun: `1 value`, `2,997 values`.
#[must_use]
pub fn counted(many: u64, one: &str, several: &str) -> String {
    let digits = many.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        let behind = digits.len().saturating_sub(at);
        if at > 0 && behind.checked_rem(3) == Some(0) {
            text.push(',');
        }
        text.push(digit);
    }
    format!("{text} {}", if many == 1 { one } else { several })
}
