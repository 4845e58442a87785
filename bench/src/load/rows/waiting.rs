//! The cost of waiting: the time from the decision to the waiter's answer, and the memory until then.

use anyhow::Result;

use super::Bench;
use crate::baseline::bare::{Bare, Mode};
use crate::load::figures::Latencies;
use crate::load::fill;
use crate::load::parked::{Protocol, bytes_per_waiter};
use crate::load::target::Target;
use crate::load::wake::{self, Wakes};
use crate::node::say;
use crate::report::{Goal, Report, Row};

/// One way of deciding waiters.
#[derive(Clone, Copy)]
enum Manner {
    /// This many parked, decided one after another.
    OneByOne(usize),
    /// This many parked, all decided at the same instant.
    AtOnce(usize),
}

pub(super) async fn wake(bench: &Bench, report: &mut Report) {
    let sizes = bench.sizes;
    for manner in [
        Manner::OneByOne(1),
        Manner::OneByOne(sizes.waiters),
        Manner::AtOnce(sizes.waiters),
        Manner::OneByOne(sizes.crowd),
    ] {
        let what = match manner {
            Manner::OneByOne(1) => "1 waiter".to_owned(),
            Manner::OneByOne(parked) => format!("{parked} waiters one by one"),
            Manner::AtOnce(parked) => format!("{parked} waiters at once"),
        };
        report.take("wake", &what, wake_rows(bench, manner, &what).await);
    }
}

async fn wake_rows(bench: &Bench, manner: Manner, what: &str) -> Result<Vec<Row>> {
    let (mut bare, mut wakes) = (Vec::new(), Vec::new());
    for round in 0..bench.rounds {
        bench.round(round, &format!("decided to answered, {what}"));
        let server = Bare::start(Mode::Poll)?;
        bare.push(wakes_of(server.target(), manner, bench).await?);
        drop(server);
        let subject = bench.subject()?;
        wakes.push(wakes_of(subject.target(), manner, bench).await?);
    }
    let acknowledged = |wakes: &Wakes| wakes.acknowledged_to_answered.clone();
    let sent = |wakes: &Wakes| wakes.sent_to_answered.clone();
    let (p50, p99, p50_sent, p99_sent) = match manner {
        Manner::OneByOne(parked) if parked == bench.sizes.crowd => {
            (Goal::None, Goal::AtMost(10.0), Goal::None, Goal::None)
        }
        Manner::OneByOne(_) => (Goal::AtMost(1.0), Goal::AtMost(5.0), Goal::None, Goal::None),
        // In a burst most waiters are answered before the reviewer, so only the sending time gives an honest bound.
        Manner::AtOnce(_) => (Goal::AtMost(15.0), Goal::None, Goal::AtMost(15.0), Goal::None),
    };
    let row = |words: &str, of: &dyn Fn(&Wakes) -> Latencies, percent: usize, goal: Goal| {
        let figures = |rounds: &[Wakes]| -> Vec<f64> {
            rounds.iter().map(|wakes| of(wakes).percentile_ms(percent)).collect()
        };
        Row::new("wake", format!("{words}, {what}, p{percent}"), "ms", &figures(&wakes))
            .against("ms bare long poll", &figures(&bare))
            .goal(goal)
    };
    Ok(vec![
        row("acknowledged to answered", &acknowledged, 50, p50),
        row("acknowledged to answered", &acknowledged, 99, p99),
        row("sent to answered", &sent, 50, p50_sent),
        row("sent to answered", &sent, 99, p99_sent),
    ])
}

async fn wakes_of(target: &Target, manner: Manner, bench: &Bench) -> Result<Wakes> {
    match manner {
        Manner::OneByOne(1) => wake::one_by_one(target, 1, bench.sizes.waiters).await,
        Manner::OneByOne(parked) => wake::one_by_one(target, parked, parked).await,
        Manner::AtOnce(parked) => wake::at_once(target, parked).await,
    }
}

pub(super) async fn memory(bench: &Bench, report: &mut Report) {
    for (protocol, name, count, most) in [
        (Protocol::Http1, "HTTP/1.1", bench.sizes.parked_http1, 24.0),
        (Protocol::Http2, "HTTP/2", bench.sizes.parked_http2, 4.0),
    ] {
        let what = format!("memory per parked waiter, {name}, {count} parked");
        let rows = memory_row(bench, protocol, count, &what).await;
        report.take("memory", &what, rows.map(|row| vec![row.goal(Goal::AtMost(most))]));
    }
}

async fn memory_row(bench: &Bench, protocol: Protocol, count: usize, what: &str) -> Result<Row> {
    let (mut bare, mut figures) = (Vec::new(), Vec::new());
    for round in 0..bench.rounds {
        bench.round(round, what);
        let server = Bare::start(Mode::Poll)?;
        let held = fill::create(server.target(), count).await?;
        bare.push(bytes_per_waiter(server.target(), &held, protocol).await? / 1024.0);
        drop(server);

        let mut subject = bench.subject()?;
        let held = fill::create(subject.target(), count).await?;
        // A fresh process: waiters must not use memory that filling left behind.
        let took = subject.restart()?;
        say(format!("{what}: restarted in {} ms", took.as_millis()));
        figures.push(bytes_per_waiter(subject.target(), &held, protocol).await? / 1024.0);
    }
    Ok(Row::new("memory", what, "KiB", &figures).against("KiB bare long poll", &bare))
}
