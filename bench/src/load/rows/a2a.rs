//! An agent behind the proxy: the extra cost of a call, and many tasks that wait.

use std::time::Duration;

use anyhow::{Result, bail};

use super::Bench;
use crate::baseline::bare::{Bare, Mode};
use crate::load::closed::Pace;
use crate::load::paused;
use crate::load::posts::{self, PostRate};
use crate::load::subject::Subject;
use crate::report::{Goal, Report, Row};

const PATH: &str = "/a2a/bench/bare";

const SEND: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","#,
    r#""role":"user","parts":[{"kind":"text","text":"How many pods are running in the namespace shop?"}]}}}"#
);
const GET: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"task-1"}}"#;

pub(super) async fn a2a(bench: &Bench, report: &mut Report) {
    for (what, body) in [("message/send", SEND), ("tasks/get", GET)] {
        for clients in [1, 16] {
            report.take("a2a", what, overhead(bench, what, body, clients).await);
        }
    }
    report.take("a2a", "paused tasks", held(bench).await);
}

fn subject(bench: &Bench, agent: &Bare) -> Result<Subject> {
    Subject::fronting(&bench.bin, &bench.dir, agent.target().addr)
}

/// The extra time of a call through the proxy, at the median.
async fn overhead(bench: &Bench, method: &str, body: &str, clients: usize) -> Result<Vec<Row>> {
    let what = format!("A2A {method} behind the proxy, {clients} at a time: added");
    let (mut direct, mut through, mut added) = (Vec::new(), Vec::new(), Vec::new());
    let mut last: Option<PostRate> = None;
    for round in 0..bench.rounds {
        bench.round(round, &what);
        let agent = Bare::start(Mode::Agent)?;
        let subject = subject(bench, &agent)?;
        let addr = subject.target().addr;
        // The task in question belongs to the caller.
        let one = Pace { warm_up: Duration::ZERO, measure: Duration::from_millis(50) };
        posts::run(addr, PATH, SEND, 200, 1, one).await?;
        let bare = posts::run(agent.target().addr, "/", body, 200, clients, bench.sizes.pace).await?;
        let proxied = posts::run(addr, PATH, body, 200, clients, bench.sizes.pace).await?;
        if proxied.failed > 0 {
            bail!("{} calls were answered otherwise", proxied.failed);
        }
        direct.push(bare.latency.p50());
        through.push(proxied.latency.p50());
        added.push(proxied.latency.p50() - bare.latency.p50());
        last = Some(proxied);
    }
    let goal = if clients == 1 { Goal::AtMost(1.0) } else { Goal::None };
    let note = last.map_or_else(String::new, |last| {
        format!(
            "through: p50 {:.2} ms, p99 {:.2} ms, {:.0}/s",
            last.latency.p50(),
            last.latency.p99(),
            last.per_second
        )
    });
    let row = Row::new("a2a", &what, "ms", &added).against("ms direct", &direct);
    Ok(vec![row.goal(goal).note(note)])
}

async fn held(bench: &Bench) -> Result<Vec<Row>> {
    let count = bench.sizes.waiters * 5;
    let (mut ended, mut kib, mut took) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..bench.rounds {
        bench.round(round, "A2A, paused tasks with open streams");
        let agent = Bare::start(Mode::Agent)?;
        let subject = subject(bench, &agent)?;
        let paused = paused::run(subject.target(), PATH, count).await?;
        if paused.held != count {
            bail!("only {} of {count} streams were open", paused.held);
        }
        ended.push(paused.ended as f64);
        kib.push(paused.kib);
        took.push(paused.took.as_secs_f64() * 1000.0);
    }
    let all =
        Row::new("a2a", format!("A2A, {count} paused tasks with open streams: resumed and told"), "", &ended);
    Ok(vec![
        all.goal(Goal::AtLeast(count as f64)),
        Row::new("a2a", "A2A, memory of one paused task with its stream", "KiB", &kib),
        Row::new("a2a", format!("A2A, first yes to the end of the last of {count} streams"), "ms", &took),
    ])
}
