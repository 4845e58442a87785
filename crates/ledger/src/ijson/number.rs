//! Numbers: integers that every reader holds exactly, and doubles.

use serde_json::Number;

use super::error::{Fault, Trace};
use super::parser::{Parsed, Parser};

/// 2^53−1: the largest integer whose neighbours are doubles too.
pub(crate) const MAX_SAFE_INTEGER: u64 = 9_007_199_254_740_991;

/// RFC 8785 writes doubles from here on with an exponent, and smaller integral ones digit by digit.
const FIRST_WITH_EXPONENT: f64 = 1e21;

/// What a double is in canonical form: `Ok(Some)` an integer, `Ok(None)` a number with a fraction or an
/// exponent (or, not being finite, nothing at all).
///
/// A double is refused if RFC 8785 would write it as an integer beyond ±(2^53−1), `1e20` for one: its
/// canonical form would be a document that the reader refuses. Larger ones such as `1e30` are accepted;
/// they keep their exponent in every form and no reader takes them for an exact integer.
pub(crate) fn safe_integer(double: f64) -> Result<Option<i64>, Unsafe> {
    let size = double.abs();
    if double.fract() != 0.0 || size >= FIRST_WITH_EXPONENT {
        Ok(None)
    } else if size <= MAX_SAFE_INTEGER as f64 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "integral and within ±(2^53−1): exact; −0 becomes 0"
        )]
        Ok(Some(double as i64))
    } else {
        Err(Unsafe)
    }
}

/// An integer beyond ±(2^53−1), where two readers may see two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unsafe;

impl Parser<'_> {
    /// Reads a number whose first byte is a minus sign or a digit.
    pub(super) fn number(&mut self) -> Parsed<Number> {
        let start = self.at;
        let negative = self.eat(b'-');
        let magnitude = self.integer_part()?;
        if !matches!(self.peek(), Some(b'.' | b'e' | b'E')) {
            return match i64::try_from(magnitude) {
                // `-0` is 0, as RFC 8785 writes it.
                Ok(integer) if magnitude <= MAX_SAFE_INTEGER => {
                    Ok(Number::from(if negative { -integer } else { integer }))
                }
                _ => Err(Trace::new(Fault::IntegerRange, start)),
            };
        }
        if self.eat(b'.') {
            self.digits("a digit after the decimal point")?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _sign = self.eat(b'+') || self.eat(b'-');
            self.digits("a digit in the exponent")?;
        }
        // The standard library rounds correctly, to even, and flushes what is too small to zero, as
        // every reader of doubles does. What is too large becomes infinite, for which there is no `Number`.
        let out_of_range = || Trace::new(Fault::NumberRange, start);
        let token = self.text.get(start..self.at).unwrap_or_default();
        let double: f64 = token.parse().map_err(|_| out_of_range())?;
        match safe_integer(double) {
            Ok(Some(integer)) => Ok(Number::from(integer)),
            Ok(None) => Number::from_f64(double).ok_or_else(out_of_range),
            Err(Unsafe) => Err(Trace::new(Fault::IntegerRange, start)),
        }
    }

    /// The digits before a decimal point, as a number that stops growing when it is far too large.
    fn integer_part(&mut self) -> Parsed<u64> {
        if self.eat(b'0') {
            return match self.peek() {
                Some(b'0'..=b'9') => Err(self.expected("no digit after a leading zero")),
                _ => Ok(0),
            };
        }
        let mut magnitude = 0_u64;
        let first_at = self.at;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            magnitude = magnitude.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        if self.at == first_at {
            return Err(self.expected("a digit after the minus sign"));
        }
        Ok(magnitude)
    }

    /// At least one digit.
    fn digits(&mut self, expected: &'static str) -> Parsed<()> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.expected(expected));
        }
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        Ok(())
    }
}
