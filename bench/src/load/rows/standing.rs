//! The cost of a large history: restarts with many pending requests, and lists with a long history.

use anyhow::{Context as _, Result};
use tokio::time::Instant;

use super::Bench;
use crate::load::figures::Spread;
use crate::load::fill;
use crate::load::list;
use crate::load::subject::Subject;
use crate::node::say;
use crate::report::{Goal, Report, Row};

pub(super) async fn restart(bench: &Bench, report: &mut Report) {
    let what = format!("ready after SIGKILL with {} pending", bench.sizes.pending);
    report.take("restart", &what, restart_row(bench, &what).await.map(|row| vec![row]));
}

async fn restart_row(bench: &Bench, what: &str) -> Result<Row> {
    let mut empty = bench.subject()?;
    let mut full = bench.subject()?;
    say(format!("{what}: filling"));
    fill::create(full.target(), bench.sizes.pending).await?;
    let (mut base, mut figures, mut lists) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..bench.rounds {
        bench.round(round, what);
        base.push(empty.restart()?.as_secs_f64() * 1e3);
        figures.push(full.restart()?.as_secs_f64() * 1e3);
        // Ready must mean that it works: the queue can be read.
        let begun = Instant::now();
        list::pending(full.target(), 1).await?;
        lists.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    Ok(Row::new("restart", what, "ms", &figures)
        .against("ms with none pending", &base)
        .goal(Goal::AtMost(1000.0))
        .note(format!(
            "from starting the process to /readyz 200; {} MB of data, in the page cache; the first six lists of pending then took {:.1} ms",
            full.data_bytes() / 1_000_000,
            Spread::of(lists).map_or(f64::NAN, |spread| spread.median)
        )))
}

pub(super) async fn listing(bench: &Bench, report: &mut Report) {
    let what = format!("lists at {} requests of history", bench.sizes.history);
    report.take("listing", &what, listing_rows(bench).await);
}

/// A server with `history` denied requests and then the short history's number of pending ones.
async fn with_history(bench: &Bench, history: usize) -> Result<Subject> {
    // Denied in slices, so that the queue never holds the whole history.
    const SLICE: usize = 50_000;
    let subject = bench.subject()?;
    let begun = Instant::now();
    let mut left = history;
    while left > 0 {
        let slice = left.min(SLICE);
        let held = fill::create(subject.target(), slice).await?;
        fill::deny(subject.target(), held).await.context("cannot make history")?;
        left -= slice;
        say(format!("history: {} of {history} after {} s", history - left, begun.elapsed().as_secs()));
    }
    fill::create(subject.target(), bench.sizes.short_history).await?;
    Ok(subject)
}

async fn listing_rows(bench: &Bench) -> Result<Vec<Row>> {
    let sizes = bench.sizes;
    let short = with_history(bench, sizes.short_history).await?;
    let long = with_history(bench, sizes.history).await?;
    let walks = sizes.lists.div_ceil(10);
    let pages = sizes.short_history / 100;
    let mut figures: [(Vec<f64>, Vec<f64>); 3] = Default::default();
    for round in 0..bench.rounds {
        bench.round(round, "lists");
        for (subject, at_short) in [(&short, true), (&long, false)] {
            let target = subject.target();
            let taken = [
                list::pending(target, sizes.lists).await?.p50(),
                list::pages(target, "&state=denied", pages, walks).await?.p50(),
                list::pages(target, "", pages, walks).await?.p50(),
            ];
            for (figure, (at, beside)) in taken.into_iter().zip(&mut figures) {
                if at_short {
                    beside.push(figure);
                } else {
                    at.push(figure);
                }
            }
        }
    }
    let [first, denied, all] = figures;
    let row = |what: String, (long, short): (Vec<f64>, Vec<f64>)| {
        Row::new("listing", what, "ms", &long)
            .against("ms at the short history", &short)
            .goal(Goal::TimesBaseline(3.0))
    };
    let (history, brief) = (sizes.history, sizes.short_history);
    Ok(vec![
        row(format!("first 50 of {brief} pending, {history} of history, p50"), first).note(format!(
            "history made over HTTP (creates, then batch denials); {} MB of data against {} MB",
            long.data_bytes() / 1_000_000,
            short.data_bytes() / 1_000_000
        )),
        row(format!("{pages} pages of 100 denied, {history} of history, p50"), denied),
        row(format!("{pages} pages of 100 of any state, {history} of history, p50"), all),
    ])
}
