//! Two builds of the same program, measured in turns. On a noisy machine only the ratio of neighbours is meaningful.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::closed::{self, Pace, Workload};
use super::subject::Subject;
use super::wake;
use crate::node::say;

/// Fewer pairs than this give no useful interval.
pub const FEWEST: usize = 6;

/// What is measured of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Creates { clients: usize },
    Cycles { clients: usize },
    Decide { decisions: usize },
}

impl Measure {
    const ALL: [Self; 4] = [
        Self::Creates { clients: 1 },
        Self::Creates { clients: 64 },
        Self::Cycles { clients: 64 },
        Self::Decide { decisions: 300 },
    ];

    fn name(self) -> String {
        match self {
            Self::Creates { clients } => format!("durable creates, {clients} clients"),
            Self::Cycles { clients } => format!("whole cycles, {clients} clients"),
            Self::Decide { .. } => "decisions acknowledged, one by one (1 / p50)".to_owned(),
        }
    }

    /// How many per second. In every row more is better.
    async fn of(self, bin: &Path, dir: &Path, pace: Pace) -> Result<f64> {
        let subject = Subject::start(bin, dir)?;
        let targets = [subject.target().clone()];
        Ok(match self {
            Self::Creates { clients } => {
                closed::run(&targets, clients, Workload::Create { keyed: false }, pace).await?.per_second
            }
            Self::Cycles { clients } => {
                closed::run(&targets, clients, Workload::Cycle, pace).await?.per_second
            }
            Self::Decide { decisions } => {
                1_000.0 / wake::acknowledgements(subject.target(), decisions).await?.p50()
            }
        })
    }
}

/// One row: the new build's figure relative to the old one's.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Row {
    /// What was measured.
    pub what: String,
    /// How many pairs.
    pub pairs: usize,
    /// The median of old and new, in calls per second.
    pub old: f64,
    /// The same of the new build.
    pub new: f64,
    /// The median of the ratios new to old. Above 1 the new one is faster.
    pub ratio: f64,
    /// The 95 % interval of that median.
    pub low: f64,
    /// Its other end.
    pub high: f64,
}

/// Measures both in turns. The order changes with every pair.
pub async fn compare(old: &Path, new: &Path, dir: &Path, pace: Pace, pairs: usize) -> Result<Vec<Row>> {
    if pairs < FEWEST {
        bail!("--pairs must be at least {FEWEST}: fewer have no 95 % interval");
    }
    let bins: [PathBuf; 2] = [old.canonicalize()?, new.canonicalize()?];
    let mut found: Vec<[Vec<f64>; 2]> = vec![[Vec::new(), Vec::new()]; Measure::ALL.len()];
    for pair in 0..pairs {
        say(format!("pair {} of {pairs}", pair + 1));
        for (measure, values) in Measure::ALL.iter().zip(&mut found) {
            for turn in 0..2 {
                let which = (pair + turn) % 2;
                values[which].push(measure.of(&bins[which], dir, pace).await?);
            }
        }
    }
    Ok(Measure::ALL.iter().zip(found).map(|(measure, [old, new])| row(measure.name(), &old, &new)).collect())
}

fn row(what: String, old: &[f64], new: &[f64]) -> Row {
    let ratios = sorted(old.iter().zip(new).map(|(old, new)| new / old));
    let (low, high) = interval(&ratios);
    Row {
        what,
        pairs: ratios.len(),
        old: median(&sorted(old.iter().copied())),
        new: median(&sorted(new.iter().copied())),
        ratio: median(&ratios),
        low,
        high,
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

/// The 95 % interval of the median, by ranks, without an assumption about the distribution.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank, not below one")]
fn interval(sorted: &[f64]) -> (f64, f64) {
    let count = sorted.len() as f64;
    let rank = (count / 2.0 - 0.98 * count.sqrt()).floor().max(1.0) as usize;
    (sorted[rank - 1], sorted[sorted.len() - rank])
}

/// The rows as a table.
pub fn table(rows: &[Row]) -> String {
    let head = "| | old /s | new /s | new : old | 95 % |\n| --- | --- | --- | --- | --- |\n".to_owned();
    let line = |row: &Row| {
        let Row { what, old, new, ratio, low, high, .. } = row;
        format!("| {what} | {old:.0} | {new:.0} | {ratio:.3} | {low:.3} to {high:.3} |\n")
    };
    std::iter::once(head).chain(rows.iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_middle_ranks() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(interval(&values), (5.0, 16.0));
        assert_eq!((median(&values), median(&values[1..])), (10.5, 11.0));
        let six: Vec<f64> = (1..=6).map(f64::from).collect();
        assert_eq!(interval(&six), (1.0, 6.0));
    }

    #[test]
    fn a_ratio_is_of_neighbours_not_of_medians() {
        let row =
            row("x".to_owned(), &[1.0, 10.0, 100.0, 1.0, 10.0, 100.0], &[2.0, 20.0, 200.0, 2.0, 20.0, 200.0]);
        assert_eq!((row.ratio, row.low, row.high), (2.0, 2.0, 2.0));
    }
}
