//! The words of a condition: names, numbers, texts and signs, each with its place.

use super::Refused;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    Int(i64),
    /// The one whole number that is only valid after a minus sign.
    IntMinAbs,
    Double(f64),
    Text(String),
    Sign(&'static str),
    End,
}

const SIGNS: [&str; 26] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "+", "-", "*", "/", "%", "?", ":", ".", ",", "(", ")",
    "[", "]", "{", "}", "=", "&",
];

pub(super) fn refused(at: usize, message: impl Into<String>, fix: impl Into<String>) -> Refused {
    Refused { at, message: message.into(), fix: fix.into() }
}

/// Every token with the offset it starts at; the last one is `End`.
pub(super) fn tokens(source: &str) -> Result<Vec<(usize, Token)>, Refused> {
    let mut tokens = Vec::new();
    let mut rest = source;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        let at = source.len().saturating_sub(rest.len());
        let Some(first) = rest.chars().next() else {
            tokens.push((at, Token::End));
            return Ok(tokens);
        };
        let raw = first == 'r' && rest.chars().nth(1).is_some_and(|next| next == '\'' || next == '"');
        let (token, after) = if first == '\'' || first == '"' {
            text(rest, at, false)?
        } else if raw {
            text(rest.strip_prefix('r').unwrap_or(rest), at, true)?
        } else if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (name, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            if after.starts_with(['\'', '"']) {
                return Err(refused(
                    at,
                    format!("`{name}` before a text has no meaning here"),
                    "write the text as `'…'`, or `r'…'` to keep backslashes",
                ));
            }
            (Token::Name(name.to_owned()), after)
        } else if first.is_ascii_digit() {
            number(rest, at)?
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Token::Sign(sign), rest.strip_prefix(sign).unwrap_or(rest))
        } else {
            return Err(refused(
                at,
                format!("`{}` has no meaning in a condition", first.escape_debug()),
                "remove it, or put it in quotes",
            ));
        };
        tokens.push((at, token));
        rest = after;
    }
}

fn number(rest: &str, at: usize) -> Result<(Token, &str), Refused> {
    let bytes = rest.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let is = |index: usize, wanted: &[u8]| bytes.get(index).is_some_and(|byte| wanted.contains(byte));
    let whole = digits(0);
    let mut end = whole;
    let mut double = false;
    if is(end, b".") && digits(end.saturating_add(1)) > 0 {
        double = true;
        end = end.saturating_add(1).saturating_add(digits(end.saturating_add(1)));
    }
    if is(end, b"eE") {
        let sign = usize::from(is(end.saturating_add(1), b"+-"));
        let exponent = digits(end.saturating_add(1).saturating_add(sign));
        if exponent > 0 {
            double = true;
            end = end.saturating_add(1).saturating_add(sign).saturating_add(exponent);
        }
    }
    let (text, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let bad = || refused(at, format!("`{text}` is not a number that fits"), "use a number within ±(2^53-1)");
    if after.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_') {
        return Err(refused(
            at,
            "a number is followed by a letter",
            "write decimal numbers such as `10` or `10.5`",
        ));
    }
    let token = if double {
        Token::Double(text.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(bad)?)
    } else if text == "9223372036854775808" {
        Token::IntMinAbs
    } else {
        Token::Int(text.parse().map_err(|_| bad())?)
    };
    Ok((token, after))
}

fn text(rest: &str, at: usize, raw: bool) -> Result<(Token, &str), Refused> {
    let open = || refused(at, "a text is not closed", "end it with the quote it began with");
    let mut letters = rest.chars();
    let quote = letters.next().ok_or_else(open)?;
    let triple = letters.as_str().chars().take(2).filter(|letter| *letter == quote).count() == 2;
    if triple {
        return Err(refused(at, "texts in three quotes are not supported", "use one quote"));
    }
    let mut out = String::new();
    loop {
        match letters.next().ok_or_else(open)? {
            letter if letter == quote => return Ok((Token::Text(out), letters.as_str())),
            '\n' | '\r' => return Err(open()),
            '\\' if !raw => {
                let escape = letters.next().ok_or_else(open)?;
                let mut code = |digits: usize| {
                    let mut number = 0_u32;
                    for _ in 0..digits {
                        let digit = letters.next().and_then(|letter| letter.to_digit(16))?;
                        number = number.checked_mul(16)?.checked_add(digit)?;
                    }
                    char::from_u32(number)
                };
                let letter = match escape {
                    'n' => Some('\n'),
                    't' => Some('\t'),
                    'r' => Some('\r'),
                    '\\' | '\'' | '"' | '`' | '?' => Some(escape),
                    'x' | 'X' => code(2),
                    'u' => code(4),
                    'U' => code(8),
                    _ => None,
                };
                out.push(letter.ok_or_else(|| {
                    refused(
                        at,
                        format!("`\\{}` is not an escape", escape.escape_debug()),
                        "write `\\\\` for a backslash, or `r'…'` for a text with many",
                    )
                })?);
            }
            letter => out.push(letter),
        }
    }
}
