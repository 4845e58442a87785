//! Two builds of the same program, measured in turns. On a noisy machine only the ratio of neighbours is meaningful.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::closed::{self, Pace, Workload};
use super::delivery;
use super::fill;
use super::parked::{self, Protocol};
use super::rows::Part;
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
    Wake { waiters: usize },
    Respond { workers: usize, each: usize },
    Memory { protocol: Protocol, parked: usize },
}

impl Measure {
    const ALL: [Self; 9] = [
        Self::Creates { clients: 1 },
        Self::Creates { clients: 64 },
        Self::Cycles { clients: 64 },
        Self::Decide { decisions: 300 },
        Self::Wake { waiters: 100 },
        Self::Respond { workers: 1, each: 100 },
        Self::Respond { workers: 16, each: 20 },
        Self::Memory { protocol: Protocol::Http1, parked: 2_000 },
        Self::Memory { protocol: Protocol::Http2, parked: 4_000 },
    ];

    /// The part of the table that has the same figure.
    fn part(self) -> Part {
        match self {
            Self::Creates { .. } => Part::Creates,
            Self::Cycles { .. } => Part::Cycles,
            Self::Decide { .. } => Part::Decide,
            Self::Wake { .. } => Part::Wake,
            Self::Respond { .. } => Part::Doors,
            Self::Memory { .. } => Part::Memory,
        }
    }

    fn name(self) -> String {
        match self {
            Self::Creates { clients } => format!("durable creates, {clients} clients"),
            Self::Cycles { clients } => format!("whole cycles, {clients} clients"),
            Self::Decide { .. } => "decision acknowledged, one by one, p50".to_owned(),
            Self::Wake { .. } => "sent to answered, 1 waiter, p50".to_owned(),
            Self::Respond { workers, .. } => format!("respond to agent, {workers} at a time, p50"),
            Self::Memory { protocol: Protocol::Http1, parked } => {
                format!("memory per parked waiter, HTTP/1.1, {parked} parked")
            }
            Self::Memory { protocol: Protocol::Http2, parked } => {
                format!("memory per parked waiter, HTTP/2, {parked} parked")
            }
        }
    }

    /// The unit of its figures.
    fn unit(self) -> &'static str {
        match self {
            Self::Creates { .. } | Self::Cycles { .. } => "/s",
            Self::Decide { .. } | Self::Wake { .. } | Self::Respond { .. } => "ms",
            Self::Memory { .. } => "KiB",
        }
    }

    async fn of(self, bin: &Path, dir: &Path, pace: Pace) -> Result<f64> {
        let subject = match self {
            Self::Respond { .. } => Subject::open(bin, dir)?,
            _ => Subject::start(bin, dir)?,
        };
        let target = subject.target();
        let targets = [target.clone()];
        Ok(match self {
            Self::Creates { clients } => {
                closed::run(&targets, clients, Workload::Create { keyed: false }, pace).await?.per_second
            }
            Self::Cycles { clients } => {
                closed::run(&targets, clients, Workload::Cycle, pace).await?.per_second
            }
            Self::Decide { decisions } => wake::acknowledgements(target, decisions).await?.p50(),
            Self::Wake { waiters } => wake::one_by_one(target, 1, waiters).await?.sent_to_answered.p50(),
            Self::Respond { workers, each } => {
                let times = delivery::run(target.addr, workers, each).await?;
                if times.lost > 0 {
                    bail!("{} answers never reached their agent", times.lost);
                }
                times.delivered.p50()
            }
            Self::Memory { protocol, parked } => {
                let held = fill::create(target, parked).await?;
                parked::bytes_per_waiter(target, &held, protocol).await? / 1024.0
            }
        })
    }
}

/// One row: the new build beside the old one.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Row {
    /// What was measured.
    pub what: String,
    /// The unit of both figures.
    pub unit: &'static str,
    /// How many pairs.
    pub pairs: usize,
    /// The median of the old build.
    pub old: f64,
    /// The median of the new build.
    pub new: f64,
    /// The median of the ratios of neighbours. Above 1 the new build is better: faster, or smaller.
    pub ratio: f64,
    /// The 95 % interval of that median.
    pub low: f64,
    /// Its other end.
    pub high: f64,
}

/// Measures both in turns. The order changes with every pair. Without `parts`, everything that can be compared.
pub async fn compare(
    old: &Path,
    new: &Path,
    dir: &Path,
    pace: Pace,
    pairs: usize,
    parts: &[Part],
) -> Result<Vec<Row>> {
    if pairs < FEWEST {
        bail!("--pairs must be at least {FEWEST}: fewer have no 95 % interval");
    }
    let chosen = |measure: &Measure| parts.is_empty() || parts.contains(&measure.part());
    let measures: Vec<Measure> = Measure::ALL.into_iter().filter(chosen).collect();
    if measures.is_empty() {
        bail!("`--against` compares creates, cycles, decide, wake, doors and memory: name one of these");
    }
    let bins: [PathBuf; 2] = [old.canonicalize()?, new.canonicalize()?];
    let mut found: Vec<[Vec<f64>; 2]> = vec![[Vec::new(), Vec::new()]; measures.len()];
    for pair in 0..pairs {
        say(format!("pair {} of {pairs}", pair + 1));
        for (measure, values) in measures.iter().zip(&mut found) {
            for turn in 0..2 {
                let which = (pair + turn) % 2;
                values[which].push(measure.of(&bins[which], dir, pace).await?);
            }
        }
    }
    Ok(measures.iter().zip(found).map(|(measure, [old, new])| row(*measure, &old, &new)).collect())
}

fn row(measure: Measure, old: &[f64], new: &[f64]) -> Row {
    // Fewer milliseconds and less memory are better.
    let better = |(old, new): (&f64, &f64)| if measure.unit() == "/s" { new / old } else { old / new };
    let ratios = sorted(old.iter().zip(new).map(better));
    let (low, high) = interval(&ratios);
    Row {
        what: measure.name(),
        unit: measure.unit(),
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
    let head =
        "| | unit | old | new | times better | 95 % |\n| --- | --- | ---: | ---: | ---: | --- |\n".to_owned();
    let line = |row: &Row| {
        let Row { what, unit, old, new, ratio, low, high, .. } = row;
        let digits = if *unit == "/s" { 0 } else { 2 };
        format!(
            "| {what} | {unit} | {old:.digits$} | {new:.digits$} | {ratio:.3} | {low:.3} to {high:.3} |\n"
        )
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
        let (old, new) = ([1.0, 10.0, 100.0, 1.0, 10.0, 100.0], [2.0, 20.0, 200.0, 2.0, 20.0, 200.0]);
        let row = row(Measure::Creates { clients: 1 }, &old, &new);
        assert_eq!((row.ratio, row.low, row.high), (2.0, 2.0, 2.0));
    }

    #[test]
    fn fewer_milliseconds_are_better() {
        let row = row(Measure::Decide { decisions: 1 }, &[1.0; 6], &[2.0; 6]);
        assert_eq!((row.ratio, row.old, row.new), (0.5, 1.0, 2.0));
    }
}
