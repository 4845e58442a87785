//! How much waited at each moment, and how long the oldest had waited.

use placet_core::Time;

/// How much waited at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Depth {
    /// When.
    pub at: Time,
    /// How many.
    pub pending: u64,
    /// How long the oldest had waited, in seconds.
    pub oldest_age_seconds: f64,
}

/// Most moments that are computed.
const POINTS: i64 = 200;

/// The start and the end of each wait.
#[derive(Debug, Default)]
pub(super) struct WaitSpans {
    spans: Vec<(Time, Time)>,
}

impl WaitSpans {
    pub(super) fn add(&mut self, from: Time, until: Time) {
        self.spans.push((from, until));
    }

    /// The waiting requests at up to 200 evenly spaced moments, the first and the last included.
    pub(super) fn depth(mut self, from: Time, to: Time) -> Vec<Depth> {
        self.spans.sort_unstable();
        let mut ends: Vec<Time> = self.spans.iter().map(|(_, until)| *until).collect();
        ends.sort_unstable();
        let (mut begun, mut ended, mut oldest) = (0, 0, 0);
        let span = to.micros().saturating_sub(from.micros()).max(0);
        let step = |index: i64| {
            i64::try_from(i128::from(span) * i128::from(index) / i128::from(POINTS - 1)).unwrap_or(0)
        };
        (0..POINTS)
            .map(|index| {
                let at = Time::from_micros(from.micros().saturating_add(step(index)));
                // All three only move forward, because waits that ended stay ended.
                while self.spans.get(begun).is_some_and(|(start, _)| *start <= at) {
                    begun += 1;
                }
                while ends.get(ended).is_some_and(|end| *end <= at) {
                    ended += 1;
                }
                while self.spans.get(oldest).is_some_and(|(_, until)| *until <= at) {
                    oldest += 1;
                }
                let first = self.spans.get(oldest).filter(|(start, _)| *start <= at);
                Depth {
                    at,
                    pending: begun.saturating_sub(ended) as u64,
                    oldest_age_seconds: first.map_or(0.0, |(start, _)| at.since(*start).as_secs_f64()),
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_counts_what_waits_then_and_knows_the_oldest() {
        let second = |second: i64| Time::from_micros(second * 1_000_000);
        let mut waits = WaitSpans::default();
        let spans = [(0, 50), (10, 20), (15, i64::MAX / 1_000_000), (-100, 5), (60, 60), (-9, 120)];
        for (from, until) in spans {
            waits.add(second(from), second(until));
        }
        let depth = waits.depth(second(0), second(199));
        assert_eq!(depth.len(), 200);
        for point in depth {
            // The slow, obvious way.
            let open: Vec<i64> = spans
                .iter()
                .filter(|(from, until)| second(*from) <= point.at && second(*until) > point.at)
                .map(|(from, _)| *from)
                .collect();
            let age = open.iter().min().map_or(0.0, |from| point.at.since(second(*from)).as_secs_f64());
            assert_eq!((point.pending, point.oldest_age_seconds), (open.len() as u64, age), "{}", point.at);
        }
    }
}
