//! Puts lines into rows of a screen. A line that is too long goes on in the next row, behind a mark of ours, so that
//! no padding can move a text to the beginning of a row.

use super::{
    describe::{Line, Shape, Tone},
    width,
};

/// One row of a screen: what stands before the text, and the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScreenRow {
    /// Spaces, labels and marks. Always ours, or a label that was drawn.
    pub(crate) margin: String,
    /// The text.
    pub(crate) text: String,
    /// How it is meant.
    pub(crate) tone: Tone,
}

/// Widest label that the labels beside it are aligned to.
const ALIGNED: usize = 32;
/// The mark of a row that goes on with the line before.
const GOES_ON: &str = "┆ ";
/// The mark of a row of a text.
const ROW: &str = "│ ";

/// The rows of these lines on a screen that is so wide. Without a width nothing is broken.
pub(crate) fn rows(lines: &[Line], columns: Option<usize>) -> Vec<ScreenRow> {
    let mut out = Vec::new();
    for part in lines.chunk_by(|_, next| next.tone != Tone::Heading) {
        let labels = part.iter().filter(|line| line.shape == Shape::Labelled);
        let widest = labels.map(|line| width(&line.label)).filter(|wide| *wide <= ALIGNED).max().unwrap_or(0);
        for line in part {
            if line.tone == Tone::Heading {
                out.push(ScreenRow { margin: String::new(), text: String::new(), tone: Tone::Plain });
            }
            line_rows(line, widest, columns, &mut out);
        }
    }
    out
}

fn line_rows(line: &Line, widest: usize, columns: Option<usize>, out: &mut Vec<ScreenRow>) {
    let mut margin = match line.shape {
        Shape::Sentence => String::new(),
        Shape::Indented => "  ".to_owned(),
        Shape::Row => format!("  {}{ROW}", line.label),
        Shape::Labelled => {
            let gap = widest.saturating_sub(width(&line.label));
            format!("  {}{}  ", line.label, " ".repeat(gap))
        }
    };
    let mut tone = line.tone;
    if let Some(columns) = columns.filter(|columns| width(&margin) > columns / 2) {
        // The label leaves no room beside it.
        let label = std::mem::take(&mut margin);
        broken("  ", label.trim(), "  ", Some(columns), Tone::Dim, out);
        margin = format!("    {ROW}");
        tone = line.tone;
    }
    let indent = width(&margin);
    broken(&margin, &line.text, &" ".repeat(indent.saturating_sub(2)), columns, tone, out);
}

/// A text behind a margin, and its further rows behind an indent and a mark.
fn broken(
    margin: &str,
    text: &str,
    indent: &str,
    columns: Option<usize>,
    tone: Tone,
    out: &mut Vec<ScreenRow>,
) {
    let further = format!("{indent}{GOES_ON}");
    let room = columns
        .map(|columns| (columns.saturating_sub(width(margin)), columns.saturating_sub(width(&further))));
    for (at, piece) in pieces(text, room).into_iter().enumerate() {
        let margin = if at == 0 { margin.to_owned() } else { further.clone() };
        out.push(ScreenRow { margin, text: piece, tone });
    }
}

/// A text in pieces that fit: the room of the first row and that of each further one.
fn pieces(text: &str, room: Option<(usize, usize)>) -> Vec<String> {
    let Some((first, further)) = room else { return vec![text.to_owned()] };
    let mut pieces = vec![String::new()];
    let (mut used, mut room) = (0, first.max(2));
    for character in text.chars() {
        let wide = width(character.encode_utf8(&mut [0; 4]));
        if used + wide > room {
            pieces.push(String::new());
            (used, room) = (0, further.max(2));
        }
        used += wide;
        if let Some(last) = pieces.last_mut() {
            last.push(character);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(label: &str, text: &str, shape: Shape) -> Line {
        Line { label: label.to_owned(), text: text.to_owned(), tone: Tone::Plain, shape }
    }

    fn screen(lines: &[Line], columns: usize) -> Vec<String> {
        rows(lines, Some(columns)).iter().map(|row| format!("{}{}", row.margin, row.text)).collect()
    }

    #[test]
    fn no_row_begins_with_text_of_an_agent_and_none_is_too_wide() {
        let text = format!("{}Why it waits", "x ".repeat(30));
        for shape in [Shape::Sentence, Shape::Indented, Shape::Row, Shape::Labelled] {
            for label in ["", "/arguments/a", "/arguments/a/label/that/is/longer/than/the/screen"] {
                for row in screen(&[line(label, &text, shape)], 30).iter().skip(1) {
                    assert!(row.trim_start().starts_with(['┆', '│', '/']), "{shape:?} {label}: {row}");
                    assert!(width(row) <= 30, "{row}");
                }
            }
        }
    }

    #[test]
    fn the_whole_text_is_in_the_rows() {
        let text = "漢字 and more, 123 abc".repeat(9);
        let drawn = rows(&[line("/a", &text, Shape::Labelled)], Some(20));
        assert_eq!(drawn.iter().map(|row| row.text.as_str()).collect::<String>(), text);
        assert!(drawn.len() > 9);
    }

    #[test]
    fn labels_of_one_part_are_aligned() {
        let lines = [line("a", "1", Shape::Labelled), line("bcd", "2", Shape::Labelled)];
        assert_eq!(screen(&lines, 40), ["  a    1", "  bcd  2"]);
    }
}
