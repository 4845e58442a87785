//! Strings: the plain run, the escapes, the surrogate pairs.

use super::error::Fault;
use super::parser::{Parsed, Parser};

/// How many bytes at the front stand for themselves in a JSON string: everything but the double quote,
/// the backslash and the control characters below U+0020.
///
/// Most text is plain, and both the reader and the writer of canonical bytes spend most of their time
/// here, so eight bytes are looked at together.
pub(crate) fn plain_prefix(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    let mut plain = 0;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word);
        // Subtracting borrows into the top bit of a byte that is smaller; `!word` leaves out the bytes
        // whose top bit was set before. A borrow can only spread upwards from a real hit, so the lowest
        // flag is always right.
        let control = word.wrapping_sub(ONES * 0x20);
        let quote = (word ^ (ONES * 0x22)).wrapping_sub(ONES);
        let backslash = (word ^ (ONES * 0x5C)).wrapping_sub(ONES);
        let hits = (control | quote | backslash) & !word & TOPS;
        if hits != 0 {
            return plain + hits.trailing_zeros() as usize / 8;
        }
        plain += 8;
    }
    plain + rest.iter().take_while(|&&byte| byte >= 0x20 && byte != b'"' && byte != b'\\').count()
}

impl<'a> Parser<'a> {
    /// Reads the rest of a string whose opening quote has been passed.
    pub(super) fn string(&mut self) -> Parsed<String> {
        let mut whole = String::new();
        loop {
            let run = self.plain_run()?;
            if self.eat(b'"') {
                // Without escapes this is the one allocation, of the exact size.
                whole.push_str(run);
                return Ok(whole);
            }
            if !self.eat(b'\\') {
                return Err(self.expected("an escape instead of a control character"));
            }
            whole.push_str(run);
            whole.push(self.escape()?);
        }
    }

    /// The text from here to the next byte that needs a closer look.
    fn plain_run(&mut self) -> Parsed<&'a str> {
        let start = self.at;
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        self.at += plain_prefix(rest);
        // A run ends at an ASCII byte or at the end, so the cut cannot miss; were it to, nothing is
        // accepted.
        match self.text.get(start..self.at) {
            Some(run) => Ok(run),
            None => Err(self.fault(Fault::NotUtf8)),
        }
    }

    /// The character an escape stands for; the backslash has been passed.
    fn escape(&mut self) -> Parsed<char> {
        let backslash_at = self.at - 1;
        let plain = match self.peek() {
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape(backslash_at);
            }
            Some(same @ (b'"' | b'\\' | b'/')) => char::from(same),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return Err(self.expected("one of `\"\\/bfnrtu` after a backslash")),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode_escape(&mut self, backslash_at: usize) -> Parsed<char> {
        let first = self.four_hex()?;
        if let Some(character) = char::from_u32(first) {
            return Ok(character);
        }
        // `first` is a surrogate: only a high one with a low one right behind it is a character.
        if (0xD800..0xDC00).contains(&first) {
            if self.peek().is_none() {
                return Err(self.fault(Fault::Truncated));
            }
            if self.eat(b'\\') {
                if self.peek().is_none() {
                    return Err(self.fault(Fault::Truncated));
                }
                if self.eat(b'u') {
                    let second = self.four_hex()?;
                    if (0xDC00..0xE000).contains(&second) {
                        let scalar = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                        if let Some(character) = char::from_u32(scalar) {
                            return Ok(character);
                        }
                    }
                }
            }
        }
        self.at = backslash_at;
        Err(self.fault(Fault::LoneSurrogate))
    }

    fn four_hex(&mut self) -> Parsed<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return Err(self.expected("four hexadecimal digits after `\\u`"));
            };
            unit = unit << 4 | digit;
            self.at += 1;
        }
        Ok(unit)
    }
}
