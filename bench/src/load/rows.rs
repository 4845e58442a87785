//! The rows of the table. In each round baseline and subject are measured in turns.

mod a2a;
mod doors;
mod policy;
mod postgres;
mod standing;
mod throughput;
mod waiting;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use super::closed::Pace;
use super::subject::Subject;
use crate::node::say;
use crate::report::Report;

/// One part of the run, by its name for `--only`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Part {
    /// Durable creates a second.
    Creates,
    /// Whole cycles a second.
    Cycles,
    /// The time until a decision is acknowledged.
    Decide,
    /// The time from a decision to the waiter's answer.
    Wake,
    /// Memory of a parked waiter.
    Memory,
    /// Restart with many pending requests.
    Restart,
    /// Lists with a short and a long history.
    Listing,
    /// Evaluating, replaying and simulating policies.
    Policy,
    /// Creates on Postgres with one and two nodes.
    Postgres,
    /// The doors for clients of other gateways.
    Doors,
    /// Agents behind the A2A proxy.
    A2a,
}

impl Part {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 11] = [
        Self::Creates,
        Self::Cycles,
        Self::Decide,
        Self::Wake,
        Self::Memory,
        Self::Restart,
        Self::Listing,
        Self::Policy,
        Self::Postgres,
        Self::Doors,
        Self::A2a,
    ];
}

/// How much of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// How long each loop runs.
    pub pace: Pace,
    /// Decisions acknowledged one by one.
    pub decisions: usize,
    /// Waiters woken in the small wake rows.
    pub waiters: usize,
    /// Waiters parked in the large one.
    pub crowd: usize,
    /// Waiters parked for the memory of one, HTTP/1.1.
    pub parked_http1: usize,
    /// The same, HTTP/2.
    pub parked_http2: usize,
    /// Pending requests at a restart.
    pub pending: usize,
    /// Requests of history in the long one.
    pub history: usize,
    /// Requests of history in the short one, and pending ones in both.
    pub short_history: usize,
    /// Lists read.
    pub lists: usize,
    /// Evaluations of a policy.
    pub evaluations: usize,
    /// Requests on record for a simulation.
    pub simulated: usize,
}

impl Sizes {
    /// The sizes of the table.
    pub fn full(seconds: u64, history: usize) -> Self {
        Self {
            pace: Pace { warm_up: Duration::from_millis(500), measure: Duration::from_secs(seconds) },
            decisions: 1_000,
            waiters: 200,
            crowd: 10_000,
            parked_http1: 5_000,
            parked_http2: 20_000,
            pending: 100_000,
            history,
            short_history: 1_000,
            lists: 300,
            evaluations: 200_000,
            simulated: 50_000,
        }
    }

    /// Just enough to see that every row can be measured. The figures have no meaning.
    pub fn short() -> Self {
        Self {
            pace: Pace { warm_up: Duration::from_millis(50), measure: Duration::from_millis(250) },
            decisions: 50,
            waiters: 20,
            crowd: 300,
            parked_http1: 200,
            parked_http2: 300,
            pending: 500,
            history: 2_000,
            short_history: 1_000,
            lists: 10,
            evaluations: 1_000,
            simulated: 200,
        }
    }
}

/// One run of the benchmark.
#[derive(Debug)]
pub struct Bench {
    /// The `placet` binary.
    pub bin: PathBuf,
    /// Where data folders go: on the disk that is measured.
    pub dir: PathBuf,
    /// How often everything is repeated.
    pub rounds: usize,
    /// How much of everything.
    pub sizes: Sizes,
    /// A Postgres cluster for the databases.
    pub postgres: Option<String>,
    /// Servers of other projects to compare the doors with.
    pub peers: Peers,
}

/// Servers of other projects, if they are running.
#[derive(Debug, Clone, Copy, Default)]
pub struct Peers {
    /// The observability server.
    pub events: Option<SocketAddr>,
    /// The community gateway.
    pub approvals: Option<SocketAddr>,
}

impl Bench {
    /// Measures one part. What takes longer than half an hour is left out.
    pub async fn run(&self, part: Part, report: &mut Report) {
        const LIMIT: Duration = Duration::from_mins(30);
        if tokio::time::timeout(LIMIT, self.measure(part, report)).await.is_err() {
            let what = format!("the rest of {part:?}").to_lowercase();
            report.take("unfinished", &what, Err(anyhow::anyhow!("not finished within 30 minutes")));
        }
    }

    async fn measure(&self, part: Part, report: &mut Report) {
        match part {
            Part::Creates => throughput::creates(self, report).await,
            Part::Cycles => throughput::cycles(self, report).await,
            Part::Decide => throughput::decide(self, report).await,
            Part::Wake => waiting::wake(self, report).await,
            Part::Memory => waiting::memory(self, report).await,
            Part::Restart => standing::restart(self, report).await,
            Part::Listing => standing::listing(self, report).await,
            Part::Policy => policy::policy(self, report).await,
            Part::Postgres => postgres::creates(self, report).await,
            Part::Doors => doors::doors(self, report).await,
            Part::A2a => a2a::a2a(self, report).await,
        }
    }

    fn subject(&self) -> Result<Subject> {
        Subject::start(&self.bin, &self.dir)
    }

    fn round(&self, round: usize, what: &str) {
        say(format!("{what}: round {} of {}", round + 1, self.rounds));
    }
}
