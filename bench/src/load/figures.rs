//! Percentiles of one round, and the median with its range over several rounds.

use std::time::Duration;

use serde::Serialize;

/// Sorted latencies of one round.
#[derive(Debug, Clone, Default)]
pub struct Latencies(Vec<Duration>);

impl Latencies {
    /// Sorts what was recorded.
    pub fn new(mut recorded: Vec<Duration>) -> Self {
        recorded.sort_unstable();
        Self(recorded)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The nearest-rank percentile in milliseconds; with fewer than 100 values p99 is the maximum.
    pub fn percentile_ms(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).map_or(f64::NAN, |value| value.as_secs_f64() * 1e3)
    }

    /// The median in milliseconds.
    pub fn p50(&self) -> f64 {
        self.percentile_ms(50)
    }

    /// The 99th percentile in milliseconds.
    pub fn p99(&self) -> f64 {
        self.percentile_ms(99)
    }
}

/// Median and range of the same figure over the rounds.
#[derive(Debug, Clone, Copy, Serialize, PartialEq)]
pub struct Spread {
    /// The middle round, or the mean of the middle two.
    pub median: f64,
    /// The lowest round.
    pub low: f64,
    /// The highest round.
    pub high: f64,
    /// How many rounds there were.
    pub rounds: usize,
}

impl Spread {
    /// `None` without a finite figure: a row is then not measured, never zero.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut figures: Vec<f64> = figures.into_iter().filter(|figure| figure.is_finite()).collect();
        figures.sort_unstable_by(f64::total_cmp);
        let middle = figures.len() / 2;
        let median = if figures.len().is_multiple_of(2) {
            f64::midpoint(*figures.get(middle.checked_sub(1)?)?, *figures.get(middle)?)
        } else {
            *figures.get(middle)?
        };
        Some(Self { median, low: *figures.first()?, high: *figures.last()?, rounds: figures.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        let latencies = Latencies::new((1..=200).rev().map(Duration::from_millis).collect());
        assert!((latencies.p50() - 100.0).abs() < 1e-9);
        assert!((latencies.p99() - 198.0).abs() < 1e-9);
        assert!(Latencies::default().p50().is_nan());
    }

    #[test]
    fn a_spread_is_median_and_range_and_needs_a_figure() {
        let spread = Spread::of([3.0, 1.0, 2.0]).unwrap();
        assert_eq!((spread.median, spread.low, spread.high, spread.rounds), (2.0, 1.0, 3.0, 3));
        assert!((Spread::of([4.0, 1.0]).unwrap().median - 2.5).abs() < 1e-9);
        assert_eq!(Spread::of([f64::NAN]), None);
    }
}
