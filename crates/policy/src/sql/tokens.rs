//! The words and signs of SQL, where all databases agree on them.

use placet_core::visible;

/// Longest text that is read.
const LONGEST: usize = 10_000;

#[derive(Debug, PartialEq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    Name(&'a str),
    Text(&'a str),
    Sign(char),
}

impl Token<'_> {
    pub(super) fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(text) if text.eq_ignore_ascii_case(word))
    }

    pub(super) fn among(&self, words: &[&'static str]) -> Option<&'static str> {
        words.iter().copied().find(|word| self.is(word))
    }
}

/// The tokens, or nothing where databases would not agree on them.
pub(super) fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    // A carriage return alone ends a comment for some databases and not for others; so may any odd line end.
    let lone = text.replace("\r\n", "\n");
    if text.len() > LONGEST || lone.chars().any(|c| !visible(c) && !matches!(c, '\n' | '\t')) {
        return None;
    }
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            c if c.is_ascii_whitespace() => (None, 1),
            '-' if rest.starts_with("--") => {
                // Some databases want a blank after the two signs.
                rest.get(2..)
                    .and_then(|after| after.chars().next())
                    .is_none_or(|c| c.is_ascii_whitespace())
                    .then_some(())?;
                (None, rest.find('\n').unwrap_or(rest.len()))
            }
            '/' if rest.starts_with("/*") => {
                let end = rest.get(2..)?.find("*/")?.checked_add(2)?;
                let inside = rest.get(2..end)?;
                // Some databases run what is inside, others nest.
                if inside.starts_with(['!', '+', 'M']) || inside.contains("/*") {
                    return None;
                }
                (None, end.checked_add(2)?)
            }
            '\'' | '"' | '`' => {
                let (inside, length) = quoted(rest, first)?;
                (Some(if first == '\'' { Token::Text(inside) } else { Token::Name(inside) }), length)
            }
            '#' | '$' | '\\' | '[' | ']' => return None,
            c if c.is_alphanumeric() || c == '_' => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                (Some(Token::Word(rest.get(..end)?)), end)
            }
            c => (Some(Token::Sign(c)), c.len_utf8()),
        };
        out.extend(token);
        rest = rest.get(length..)?;
    }
    Some(out)
}

/// What stands in quotes, and its length with them. A doubled quote is one; a backslash means something to some only.
fn quoted(text: &str, quote: char) -> Option<(&str, usize)> {
    let body = text.get(1..)?;
    let mut from = 0;
    loop {
        let end = from + body.get(from..)?.find(quote)?;
        let inside = body.get(..end)?;
        if inside.contains('\\') {
            return None;
        }
        if body.get(end + 1..).is_some_and(|after| after.starts_with(quote)) {
            from = end + 2;
            continue;
        }
        return Some((inside, end + 2));
    }
}
