//! Creates and cycles per second, and the time until a decision is acknowledged.

use anyhow::Result;

use super::Bench;
use crate::baseline::bare::{Bare, Mode};
use crate::baseline::sqlite;
use crate::load::closed::{self, Rate, Workload};
use crate::load::figures::{Latencies, Spread};
use crate::load::wake;
use crate::node::say;
use crate::report::{Goal, Report, Row};

const CLIENTS: [usize; 3] = [1, 16, 64];

pub(super) async fn creates(bench: &Bench, report: &mut Report) {
    for clients in CLIENTS {
        let what = format!("durable creates, {}", word(clients));
        report.take("creates", &what, creates_with(bench, clients, &what).await);
    }
}

async fn creates_with(bench: &Bench, clients: usize, what: &str) -> Result<Vec<Row>> {
    let pace = bench.sizes.pace;
    let (mut bare, mut raw, mut rates, mut keyed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..bench.rounds {
        bench.round(round, what);
        let server = Bare::start(Mode::Post)?;
        bare.push(
            closed::run(&[server.target().clone()], clients, Workload::Create { keyed: false }, pace).await?,
        );
        drop(server);

        let folder = tempfile::tempdir_in(&bench.dir)?;
        // As many per commit as the clients can fill at most.
        raw.push(sqlite::run(folder.path(), u32::try_from(clients)?, pace.measure)?.per_second);
        drop(folder);

        let subject = bench.subject()?;
        rates.push(
            closed::run(&[subject.target().clone()], clients, Workload::Create { keyed: false }, pace)
                .await?,
        );
        if clients == 64 {
            let subject = bench.subject()?;
            keyed.push(
                closed::run(&[subject.target().clone()], clients, Workload::Create { keyed: true }, pace)
                    .await?,
            );
        }
    }
    let (bare, bare_note) = (per_second(&bare), remark(&bare));
    let goal = if clients == 64 { Goal::ShareOfBaseline(0.2) } else { Goal::None };
    let aim = if clients == 64 { "aim 35 %; " } else { "" };
    let mut rows = vec![
        Row::new("creates", what, "/s", &per_second(&rates))
            .against("/s bare server", &bare)
            .goal(goal)
            .note(format!("{aim}{}; bare: {bare_note}", remark(&rates))),
    ];
    let (name, goal) = match clients {
        1 => ("/s raw single commits", Goal::ShareOfBaseline(0.4)),
        16 => ("/s raw commits of 16", Goal::None),
        _ => ("/s raw commits of 64", Goal::None),
    };
    rows.push(
        Row::new("creates", format!("{what}, beside raw commits"), "/s", &per_second(&rates))
            .against(name, &raw)
            .goal(goal),
    );
    if !keyed.is_empty() {
        rows.push(
            Row::new("creates", format!("{what}, with idempotency keys"), "/s", &per_second(&keyed))
                .against("/s bare server", &bare)
                .note(remark(&keyed)),
        );
    }
    Ok(rows)
}

pub(super) async fn cycles(bench: &Bench, report: &mut Report) {
    for clients in CLIENTS {
        let what = format!("whole cycles, {}", word(clients));
        report.take("cycles", &what, cycles_with(bench, clients, &what).await);
    }
}

async fn cycles_with(bench: &Bench, clients: usize, what: &str) -> Result<Vec<Row>> {
    let (mut bare, mut rates) = (Vec::new(), Vec::new());
    for round in 0..bench.rounds {
        bench.round(round, what);
        let server = Bare::start(Mode::Poll)?;
        bare.push(closed::run(&[server.target().clone()], clients, Workload::Cycle, bench.sizes.pace).await?);
        drop(server);
        let subject = bench.subject()?;
        rates.push(
            closed::run(&[subject.target().clone()], clients, Workload::Cycle, bench.sizes.pace).await?,
        );
    }
    let goal = if clients == 64 { Goal::ShareOfBaseline(0.2) } else { Goal::None };
    Ok(vec![
        Row::new("cycles", what, "/s", &per_second(&rates))
            .against("/s bare long poll", &per_second(&bare))
            .goal(goal)
            .note(format!("{}; bare: {}", remark(&rates), remark(&bare))),
    ])
}

pub(super) async fn decide(bench: &Bench, report: &mut Report) {
    report.take("decide", "decision acknowledged", decide_rows(bench).await);
}

async fn decide_rows(bench: &Bench) -> Result<Vec<Row>> {
    let (mut acknowledged, mut raw, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..bench.rounds {
        bench.round(round, "decision acknowledged");
        let folder = tempfile::tempdir_in(&bench.dir)?;
        raw.push(sqlite::run(folder.path(), 1, bench.sizes.pace.measure / 2)?.latency);
        drop(folder);
        let server = Bare::start(Mode::Poll)?;
        bare.push(wake::acknowledgements(server.target(), bench.sizes.decisions).await?);
        drop(server);
        let subject = bench.subject()?;
        acknowledged.push(wake::acknowledgements(subject.target(), bench.sizes.decisions).await?);
    }
    say("decision acknowledged: done");
    let p50 = |rounds: &[Latencies]| rounds.iter().map(Latencies::p50).collect::<Vec<f64>>();
    let p99 = |rounds: &[Latencies]| rounds.iter().map(Latencies::p99).collect::<Vec<f64>>();
    let bare_p50 = Spread::of(p50(&bare)).map_or(f64::NAN, |spread| spread.median);
    Ok(vec![
        Row::new("decide", "decision acknowledged, one by one, p50", "ms", &p50(&acknowledged))
            .against("ms raw single commit", &p50(&raw))
            .goal(Goal::TimesBaseline(2.0))
            .note(format!(
                "{} decisions a round; the same call on the bare server {bare_p50:.3} ms",
                bench.sizes.decisions
            )),
        Row::new("decide", "decision acknowledged, one by one, p99", "ms", &p99(&acknowledged))
            .against("ms raw single commit", &p99(&raw)),
    ])
}

fn word(clients: usize) -> String {
    if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") }
}

pub(super) fn per_second(rates: &[Rate]) -> Vec<f64> {
    rates.iter().map(|rate| rate.per_second).collect()
}

/// Latency and processor time of the last round.
pub(super) fn remark(rates: &[Rate]) -> String {
    rates.last().map_or_else(String::new, |rate| {
        format!(
            "p50 {:.2} ms, p99 {:.2} ms, processor time each: server {:.0} us, client {:.0} us",
            rate.latency.p50(),
            rate.latency.p99(),
            rate.server_cpu_us,
            rate.client_cpu_us
        )
    })
}
