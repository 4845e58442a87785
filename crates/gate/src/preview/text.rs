//! Pieces of sentences: values drawn safely, cut to a length, and counted.

use placet_core::show;

/// Longest sentence, in characters.
pub(crate) const LONGEST: usize = 200;

/// The text drawn safely, at most this many characters; what was cut is an ellipsis.
pub(super) fn clip(text: &str, most: usize) -> String {
    // Nearly always it fits.
    if text.len() <= most.saturating_mul(4) {
        let drawn = show(text);
        if drawn.chars().count() <= most {
            return drawn;
        }
    }
    let mut pieces: Vec<(String, usize)> = Vec::new();
    let mut total = 0_usize;
    let mut cut = false;
    for character in text.chars() {
        let piece = show(character.encode_utf8(&mut [0; 4]));
        let length = piece.chars().count();
        total = total.saturating_add(length);
        pieces.push((piece, length));
        if total > most {
            cut = true;
            break;
        }
    }
    while cut && total.saturating_add(1) > most {
        let Some((_, length)) = pieces.pop() else { break };
        total = total.saturating_sub(length);
    }
    let mut out: String = pieces.into_iter().map(|(piece, _)| piece).collect();
    if cut {
        out.push('…');
    }
    out
}

/// The same, in quotes where it could be mistaken for part of the sentence.
pub(super) fn value(text: &str, most: usize) -> String {
    let drawn = clip(text, most);
    let plain = !drawn.is_empty()
        && drawn.trim() == drawn
        && !drawn.contains("  ")
        && !drawn.contains([',', ';', '"', '(', ')', '[', ']'])
        && [": ", " and ", " or ", " with ", " to ", " without "].iter().all(|word| !drawn.contains(word));
    if plain { drawn } else { quoted(&drawn) }
}

/// Drawn text in quotes.
pub(super) fn quoted(drawn: &str) -> String {
    format!("\"{}\"", drawn.replace('"', "\\\""))
}

/// Several values, as many as there is room for: `a, b and 3 more`.
pub(super) fn list<'a>(values: impl ExactSizeIterator<Item = &'a str>, room: usize) -> String {
    let total = values.len();
    let mut out = String::new();
    for (index, text) in values.enumerate() {
        let drawn = value(text, 60);
        let length = out.chars().count().saturating_add(drawn.chars().count());
        if index > 0 && length.saturating_add(2) > room {
            return format!("{out} and {} more", total.saturating_sub(index));
        }
        if index > 0 {
            out.push_str(", ");
        }
        out.push_str(&drawn);
    }
    out
}

/// `1 file`, `2 files`.
pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// A finished sentence: cut where it is too long, but never without saying that there are more arguments.
pub(super) fn sentence(mut text: String, more: usize) -> String {
    let more = match more {
        0 => String::new(),
        more => format!(", with {}", count(more, "more argument", "more arguments")),
    };
    let room = LONGEST.saturating_sub(more.chars().count());
    if text.chars().count() > room {
        text = text.chars().take(room.saturating_sub(1)).collect();
        text.push('…');
    }
    text.push_str(&more);
    text
}

/// Digits in groups of three, everything else as it is: `1250.00` is `1,250.00`.
pub(super) fn grouped(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (whole, rest) = digits.find('.').map_or((digits, ""), |at| digits.split_at(at));
    let plain = !whole.is_empty()
        && whole.bytes().all(|byte| byte.is_ascii_digit())
        && rest.bytes().skip(1).all(|byte| byte.is_ascii_digit());
    if !plain {
        return clip(number, 40);
    }
    let mut out = sign.to_owned();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && whole.len().saturating_sub(index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_never_splits_an_escape_and_says_that_it_cut() {
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("abcd", 3), "ab…");
        assert_eq!(clip("a\u{202e}b", 5), "a…");
        assert_eq!(clip("a\u{202e}b", 10), "a\\u{202e}b");
        assert_eq!(clip("", 3), "");
    }

    #[test]
    fn a_value_that_could_be_read_as_part_of_the_sentence_stands_in_quotes() {
        assert_eq!(value("report.md", 60), "report.md");
        assert_eq!(value("ACME GmbH", 60), "ACME GmbH");
        for odd in ["", "a, b", "x and y", " x", "a  b", "(all)"] {
            assert_eq!(value(odd, 60), format!("\"{odd}\""));
        }
    }

    #[test]
    fn digits_are_grouped_and_nothing_else_is_touched() {
        for (from, to) in [
            ("1250.00", "1,250.00"),
            ("999", "999"),
            ("-1000000", "-1,000,000"),
            ("1e21", "1e21"),
            ("12.5.0", "12.5.0"),
            ("1250", "1,250"),
        ] {
            assert_eq!(grouped(from), to);
        }
    }

    #[test]
    fn a_sentence_is_never_too_long_and_never_hides_that_there_is_more() {
        let long = sentence("x".repeat(500), 3);
        assert_eq!(long.chars().count(), LONGEST);
        assert!(long.ends_with("…, with 3 more arguments"), "{long}");
    }
}
