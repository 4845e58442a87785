//! Lengths of time as people write them: `90s`, `5m`, `1h30m`, `7d`.

use std::{fmt::Write as _, time::Duration};

use serde::Serializer;

/// The shortest a policy may set.
pub(crate) const SHORTEST: Duration = Duration::from_secs(1);
/// The longest a policy may set.
pub(crate) const LONGEST: Duration = Duration::from_hours(30 * 24);

const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// Reads whole numbers with units, each unit once and from large to small.
pub(crate) fn read(text: &str) -> Option<Duration> {
    let mut units = UNITS.iter();
    let mut total: u64 = 0;
    let mut number: Option<u64> = None;
    for letter in text.chars() {
        if let Some(digit) = letter.to_digit(10) {
            number = Some(number.unwrap_or(0).checked_mul(10)?.checked_add(u64::from(digit))?);
        } else {
            let (_, seconds) = units.by_ref().find(|(unit, _)| *unit == letter)?;
            total = total.checked_add(number.take()?.checked_mul(*seconds)?)?;
        }
    }
    let whole = number.is_none() && !text.is_empty();
    whole.then(|| Duration::from_secs(total))
}

/// Writes what [`read`] reads.
pub(crate) fn write(duration: Duration) -> String {
    let mut left = duration.as_secs();
    let mut text = String::new();
    for (unit, seconds) in UNITS {
        let count = left.checked_div(seconds).unwrap_or(0);
        left = left.checked_rem(seconds).unwrap_or(0);
        if count > 0 {
            let _ = write!(text, "{count}{unit}");
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

pub(crate) fn one<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&write(*duration))
}

#[expect(clippy::ref_option, reason = "the shape serde calls it with")]
pub(crate) fn option<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => one(duration, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_read_and_written_back_the_same() {
        for text in ["1s", "90s", "5m", "1h30m", "7d", "1d2h3m4s"] {
            let duration = read(text).unwrap();
            assert_eq!(read(&write(duration)), Some(duration), "{text}");
        }
        assert_eq!(read("1h30m"), Some(Duration::from_mins(90)));
        assert_eq!(write(Duration::from_secs(90)), "1m30s");
    }

    #[test]
    fn anything_else_is_no_length_of_time() {
        for text in
            ["", "5", "m", "5 m", "-5m", "5m1h", "5m5m", "1.5h", "5M", "99999999999999999999d", "PT5M", "５m"]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
