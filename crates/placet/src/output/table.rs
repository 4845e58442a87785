//! Tables with aligned columns, whatever the characters, cut to the width of the terminal.

use anstyle::Style;
use ratatui::text::Span;

use super::{DIM, paint};

/// The number of terminal columns of a text.
pub(crate) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// A table with headings. The last column takes what is left of `total` and is cut there.
pub(crate) fn table(headings: &[&str], rows: &[Vec<(String, Style)>], total: usize) -> Vec<String> {
    let last = headings.len().saturating_sub(1);
    let widths: Vec<usize> = headings
        .iter()
        .enumerate()
        .map(|(column, heading)| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|(text, _)| width(text)).chain([width(heading)]).max().unwrap_or(0)
        })
        .collect();
    let before: usize = widths.iter().take(last).map(|width| width + 2).sum();
    let room = total.saturating_sub(before).max(20);
    let cell = |column: usize, text: &str, style: Style| {
        if column == last {
            return paint(style, &cut(text, room));
        }
        let gap = widths.get(column).map_or(0, |wide| wide.saturating_sub(width(text)) + 2);
        format!("{}{}", paint(style, text), " ".repeat(gap))
    };
    let mut lines =
        vec![headings.iter().enumerate().map(|(column, heading)| cell(column, heading, DIM)).collect()];
    for row in rows {
        lines
            .push(row.iter().enumerate().map(|(column, (text, style))| cell(column, text, *style)).collect());
    }
    lines
}

/// The text, or its beginning with a mark that it was cut.
fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for character in text.chars() {
        let wide = width(character.encode_utf8(&mut [0; 4]));
        if used + wide + 1 > room {
            break;
        }
        used += wide;
        out.push(character);
    }
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_the_last_is_cut() {
        let plain = Style::new();
        let row = |id: &str, text: &str| vec![(id.to_owned(), plain), (text.to_owned(), plain)];
        let lines = table(&["ID", "WHAT"], &[row("漢字", "short"), row("a", &"x".repeat(40))], 30);
        let text = anstream::adapter::strip_str(&lines.join("\n")).to_string();
        insta::assert_snapshot!(text, @r"
        ID    WHAT
        漢字  short
        a     xxxxxxxxxxxxxxxxxxxxxxx…
        ");
    }
}
