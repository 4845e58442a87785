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

/// Shortest word that is shortened, such as a long path.
const WORD: usize = 24;

/// The text, or less of its middle: first of its longest words, such as paths, then of all. What happens stands at the
/// beginning, and what it happens to often at the end.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    loop {
        let over = (words.iter().map(|word| width(word) + 1).sum::<usize>()).saturating_sub(room + 1);
        let longest = words.iter_mut().max_by_key(|word| width(word)).filter(|word| width(word) > WORD);
        match longest {
            Some(word) if over > 0 => {
                let target = width(word).saturating_sub(over).max(WORD);
                *word = middle(word, target);
            }
            _ => return middle(&words.join(" "), room),
        }
    }
}

/// The text without its middle, if it is too wide.
fn middle(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let room = room.saturating_sub(1);
    let head = taken(text.chars(), room / 2);
    let tail: String = taken(text.chars().rev(), room - room / 2).chars().rev().collect();
    format!("{head}…{tail}")
}

/// As many characters as fit.
fn taken(characters: impl Iterator<Item = char>, room: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for character in characters {
        used += width(character.encode_utf8(&mut [0; 4]));
        if used > room {
            break;
        }
        out.push(character);
    }
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
        a     xxxxxxxxxxx…xxxxxxxxxxxx
        ");
    }

    #[test]
    fn a_sentence_is_cut_in_its_middle_and_long_paths_first() {
        let text = "Move /home/ann/a/very/long/folder/name/old.txt to /srv/prod/another/long/folder/new.txt";
        assert_eq!(cut(text, 60), "Move /home/ann/a…name/old.txt to /srv/prod/ano…older/new.txt");
        assert_eq!(cut(text, 200), text);
        let many = "Delete a, b, c, d, e, f, g, h, i, j, k, l, m and /etc/passwd";
        assert_eq!(cut(many, 40), "Delete a, b, c, d, …l, m and /etc/passwd");
        for room in 1..90 {
            assert!(width(&cut(text, room)) <= room.max(1), "{room}");
        }
    }
}
