//! Closed loops: every client sends its next call as soon as the last one is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::conn::Conn;
use super::figures::Latencies;
use super::process;
use super::target::Target;
use super::wire::{self, Create, HeldRequest};

/// How long one loop runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Not counted: connections, caches and allocators fill.
    pub warm_up: Duration,
    /// Counted.
    pub measure: Duration,
}

impl Pace {
    /// The pace for another try, when a machine was too slow to answer anything in time: four times as long, until
    /// that is a minute.
    pub fn slower(self) -> Option<Self> {
        let measure = self.measure * 4;
        (measure <= Duration::from_mins(1)).then_some(Self { measure, ..self })
    }
}

/// What one loop reached.
#[derive(Debug, Clone)]
pub struct Rate {
    /// Calls (or cycles) answered a second.
    pub per_second: f64,
    /// How long each took.
    pub latency: Latencies,
    /// Processor time of all servers per call, in microseconds.
    pub server_cpu_us: f64,
    /// Processor time of this client per call, in microseconds.
    pub client_cpu_us: f64,
}

/// Counts upwards for the whole run, so that no two bodies are alike.
static COUNTER: AtomicU64 = AtomicU64::new(1);

/// The next number of the run.
pub fn next_number() -> u64 {
    COUNTER.fetch_add(1, Ordering::Relaxed)
}

/// The calls that clients repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// One create.
    Create {
        /// With an idempotency key.
        keyed: bool,
    },
    /// Create, long poll, approve on the reviewer's connection, the long poll answered.
    Cycle,
}

/// Runs `clients` clients, spread evenly over the targets. Runs longer if no call was answered.
pub async fn run(targets: &[Target], clients: usize, work: Workload, mut pace: Pace) -> Result<Rate> {
    loop {
        if let Some(rate) = window(targets, clients, work, pace).await? {
            return Ok(rate);
        }
        pace = pace
            .slower()
            .with_context(|| format!("not one call was answered in {} ms", pace.measure.as_millis()))?;
    }
}

/// One window of `pace`. `None` if no call was answered in it.
async fn window(targets: &[Target], clients: usize, work: Workload, pace: Pace) -> Result<Option<Rate>> {
    let begin = Instant::now() + pace.warm_up;
    let window = Window { begin, end: begin + pace.measure };
    let mut tasks = JoinSet::new();
    for target in targets.iter().cycle().take(clients) {
        let target = Arc::new(target.clone());
        match work {
            Workload::Create { keyed } => tasks.spawn(create_loop(target, window, keyed)),
            Workload::Cycle => tasks.spawn(cycle_loop(target, window)),
        };
    }
    let whole = pace.warm_up + pace.measure;
    tokio::time::sleep(pace.warm_up).await;
    let before = cpu(targets)?;
    tokio::time::sleep(pace.measure).await;
    let after = cpu(targets)?;

    let mut recorded = Vec::new();
    let drain = async {
        while let Some(done) = tasks.join_next().await {
            recorded.append(&mut done??);
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(whole + Duration::from_secs(30), drain)
        .await
        .context("a client was still waiting for its answer 30 s after the end")??;
    let count = recorded.len() as f64;
    Ok((!recorded.is_empty()).then(|| Rate {
        per_second: count / pace.measure.as_secs_f64(),
        latency: Latencies::new(recorded),
        server_cpu_us: (after.servers - before.servers) * 1e6 / count,
        client_cpu_us: (after.client - before.client) * 1e6 / count,
    }))
}

/// Only calls that are answered inside it count.
#[derive(Debug, Clone, Copy)]
struct Window {
    begin: Instant,
    end: Instant,
}

struct Cpu {
    servers: f64,
    client: f64,
}

fn cpu(targets: &[Target]) -> Result<Cpu> {
    let mut servers = 0.0;
    for target in targets {
        servers += process::cpu_seconds(target.pid)?;
    }
    Ok(Cpu { servers, client: process::cpu_seconds(std::process::id())? })
}

async fn create_loop(target: Arc<Target>, window: Window, keyed: bool) -> Result<Vec<Duration>> {
    let mut conn = Conn::open(target.addr).await?;
    let mut create = Create::new(target.addr, &target.agent, keyed);
    let mut recorded = Vec::new();
    let mut sent = Instant::now();
    loop {
        conn.call(create.fill(next_number())).await?.expect(201, "create")?;
        let answered = Instant::now();
        if answered >= window.end {
            return Ok(recorded);
        }
        if answered >= window.begin {
            recorded.push(answered - sent);
        }
        sent = answered;
    }
}

async fn cycle_loop(target: Arc<Target>, window: Window) -> Result<Vec<Duration>> {
    let mut agent = Conn::open(target.addr).await?;
    let mut reviewer = Conn::open(target.addr).await?;
    let mut create = Create::new(target.addr, &target.agent, false);
    let mut recorded = Vec::new();
    let mut sent = Instant::now();
    loop {
        let answer = agent.call(create.fill(next_number())).await?;
        answer.expect(201, "create")?;
        let held = HeldRequest::read(answer.body)?;
        // The wait is sent before the decision, so the server has to park it.
        agent.send(&wire::get(target.addr, &wire::wait_path(&held.id), &target.agent)).await?;
        reviewer.call(&wire::approve(target.addr, &target.reviewer, &held)).await?.expect(200, "decision")?;
        let waited = agent.receive().await?;
        waited.expect(200, "wait")?;
        if wire::is_pending(waited.body) {
            bail!("the wait on {} ended although it was decided", held.id);
        }
        let answered = Instant::now();
        if answered >= window.end {
            return Ok(recorded);
        }
        if answered >= window.begin {
            recorded.push(answered - sent);
        }
        sent = answered;
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::load::posts;

    const PACE: Pace = Pace { warm_up: Duration::ZERO, measure: Duration::from_millis(50) };

    /// A server that answers three times slower than [`PACE`] measures.
    #[expect(clippy::disallowed_methods, reason = "a peer that lives as long as its test")]
    async fn slow(answer: &'static [u8]) -> Target {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut buffer = [0; 8192];
                    while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {
                        tokio::time::sleep(PACE.measure * 3).await;
                        stream.write_all(answer).await.unwrap();
                    }
                });
            }
        });
        Target { addr, agent: "a".into(), reviewer: "r".into(), pid: std::process::id() }
    }

    #[tokio::test]
    async fn a_machine_too_slow_for_the_window_is_measured_for_longer() {
        let target = slow(b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}").await;
        let posted = posts::run(target.addr, "/", "{}", 201, 2, PACE).await.unwrap();
        assert!(posted.per_second > 0.0 && posted.latency.p50() >= 150.0, "{posted:?}");
        let rate = run(&[target], 2, Workload::Create { keyed: false }, PACE).await.unwrap();
        assert!(rate.per_second > 0.0 && rate.latency.p50() >= 150.0, "{rate:?}");
    }

    #[tokio::test]
    async fn a_server_that_answers_otherwise_is_not_waited_for() {
        let target = slow(b"HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n").await;
        let error = posts::run(target.addr, "/", "{}", 201, 1, PACE).await.unwrap_err().to_string();
        assert!(error.starts_with("not one call was answered with 201 in"), "{error}");
        assert!(!error.contains(" in 51200 ms"), "tried to the end although it was told otherwise: {error}");
    }
}
