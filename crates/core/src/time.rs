//! Points in time as microseconds since 1970, written as RFC 3339 text on the wire.

use std::{fmt, str::FromStr, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A point in time, in microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(i64);

impl Time {
    /// From microseconds since 1970.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Milliseconds since 1970, never negative.
    pub fn millis(self) -> u64 {
        u64::try_from(self.0.div_euclid(1000)).unwrap_or(0)
    }

    /// This long after. Saturates at the end of time instead of wrapping.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)))
    }

    /// How long from `earlier` to this; zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        static PRINTER: jiff::fmt::temporal::DateTimePrinter =
            jiff::fmt::temporal::DateTimePrinter::new().precision(Some(6));
        let stamp = Timestamp::from_microsecond(self.0).unwrap_or(Timestamp::MAX);
        PRINTER.print_timestamp(&stamp, jiff::fmt::StdFmtWrite(f)).map_err(|_| fmt::Error)
    }
}

impl FromStr for Time {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, jiff::Error> {
        Ok(Self(text.parse::<Timestamp>()?.as_microsecond()))
    }
}

impl Serialize for Time {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_has_six_digits_and_a_zone_and_comes_back() {
        let time = Time::from_micros(1_794_700_000_100_000);
        assert_eq!(time.to_string(), "2026-11-14T23:46:40.100000Z");
        assert_eq!(time.to_string().parse::<Time>().unwrap(), time);
    }

    #[test]
    fn adding_saturates() {
        assert_eq!(Time::from_micros(i64::MAX).plus(Duration::from_secs(1)).micros(), i64::MAX);
    }
}
