//! Parts of sentences: values drawn safely, cut to a length, and counted.

use placet_core::show;

/// Longest sentence, in characters.
pub(crate) const LONGEST: usize = 200;

/// The text drawn safely, at most this many characters, with an ellipsis where it was cut.
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

/// The same, in quotes if it could be mistaken for part of the sentence.
pub(super) fn value(text: &str, most: usize) -> String {
    let drawn = clip(text, most);
    if super::say::is_plain(&drawn) { drawn } else { quoted(&drawn) }
}

/// Drawn text in quotes.
pub(super) fn quoted(drawn: &str) -> String {
    format!("\"{}\"", drawn.replace('"', "\\\""))
}

/// Several values, as many as fit: `a, b and 3 more`.
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

/// Drawn texts, as many as fit, and how many are left.
pub(super) fn join(texts: &[String], between: &str, room: usize) -> String {
    let mut out = String::new();
    for (index, text) in texts.iter().enumerate() {
        if index > 0 && out.chars().count().saturating_add(text.chars().count()) > room {
            return format!("{out} and {} more", texts.len().saturating_sub(index));
        }
        if index > 0 {
            out.push_str(between);
        }
        out.push_str(text);
    }
    out
}

/// `1 file`, `2 files`.
pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// A finished sentence: it begins with a capital letter, and is cut if it is too long.
pub(super) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let text: String =
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect();
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST.saturating_sub(1)).chain(['…']).collect()
}

/// The text drawn safely, cut in its middle, because the end of a path or command is as important as its beginning.
pub(super) fn middle(text: &str, most: usize) -> String {
    // The two ends of a very long text are enough.
    let ends = most.saturating_mul(2);
    let whole = text.chars().count() <= ends;
    let mut head: Vec<String> = Vec::new();
    let piece = |character: char| show(character.encode_utf8(&mut [0; 4]));
    if whole {
        let drawn = show(text);
        if drawn.chars().count() <= most {
            return drawn;
        }
    }
    let room = |share: usize| most.saturating_sub(1).saturating_mul(share) / 5;
    let mut used = 0_usize;
    for character in text.chars() {
        let next = piece(character);
        used = used.saturating_add(next.chars().count());
        if used > room(3) {
            break;
        }
        head.push(next);
    }
    let mut tail: Vec<String> = Vec::new();
    used = 0;
    for character in text.chars().rev() {
        let next = piece(character);
        used = used.saturating_add(next.chars().count());
        if used > room(2) {
            break;
        }
        tail.push(next);
    }
    tail.reverse();
    format!("{}…{}", head.concat(), tail.concat())
}

/// Names of arguments for the beginning of a sentence, with the true number of those left out.
pub(super) fn names(keys: &[&str]) -> String {
    let drawn: Vec<String> = keys.iter().map(|key| clip(key, 28)).collect();
    list(drawn.iter().map(String::as_str), 60)
}

/// Digits in groups of three, everything else unchanged: `1250.00` is `1,250.00`.
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
        for odd in ["", "a, b", "x and y", " x", "a  b", "(all)", "and 3 more", "x to"] {
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
    fn a_sentence_is_never_too_long_and_its_middle_is_what_is_left_out() {
        let long = sentence(&"x".repeat(500));
        assert_eq!(long.chars().count(), LONGEST);
        assert_eq!(middle("/srv/very/long/way/to/the/file.txt", 16), "/srv/very…le.txt");
        assert_eq!(middle("short", 16), "short");
        assert_eq!(middle("ab\u{202e}cd", 6), "ab…cd");
    }
}
