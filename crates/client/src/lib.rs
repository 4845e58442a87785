//! The Rust client of Placet: ask, wait, claim, report, decide and listen, failing closed everywhere.
//!
//! ```no_run
//! use placet_client::{Client, Gated};
//! use placet_core::{Create, Kind};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let placet = Client::from_env()?;
//! let mut create = Create::new(Kind::Action, "nightly-cleanup");
//! create.tool = Some("delete_files".to_owned());
//! create.arguments = serde_json::json!({"files": ["report.md"]}).as_object().cloned();
//! // Runs only after a person said yes, with exactly the arguments they said yes to, once.
//! let gated = placet
//!     .run_gated(create, |arguments| async move { Ok::<_, std::io::Error>(arguments.len()) })
//!     .await?;
//! match gated {
//!     Gated::Ran { value, .. } => println!("done: {value}"),
//!     Gated::Refused(record) => println!("not done: {}", record.state),
//!     Gated::Unreached { error, .. } => println!("not done: {error}"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! No path turns an error into an approval. An unreachable server, a timeout, an answer that does not parse and a
//! word that this version does not know all mean *not approved*. [`OnOutage`] says how an agent learns of it. Every
//! call that matters carries an idempotency key, so a lost answer can be asked for again.

mod admin;
mod agent;
mod attention;
mod checked;
mod client;
mod error;
mod gated;
mod grants;
mod http;
mod outage;
mod policy;
mod retry;
mod review;
mod secret;
mod simulate;
mod sse;
mod stream;
mod wait;

pub use admin::{AgentInfo, CoverageReport, Health, KeyInfo, LedgerItem, LedgerPage, NewKey, SignInLink};
pub use agent::{ClaimedPermit, CreateOptions, Report};
pub use attention::{
    Attention, Pace, SessionSummary, Stats, Suggestion, Suggestions, SummaryGrant, SummaryLine,
};
pub use client::{Client, DEFAULT_URL};
pub use error::{Error, Problem};
pub use gated::{Gated, RunError};
pub use grants::{EndedAtUpgrade, EndedGrant, GrantInfo, GrantPreview, Grants, Preview, Remember, Ruling};
pub use outage::{AskOutcome, OnOutage};
pub use policy::{
    CallExplanation, CheckedPolicy, ExplainAnswer, Explanation, PolicyFinding, PolicyInfo, PolicyOutcome,
    PolicyProblem, PolicyPut, PolicyVersion, RuleResult, StepResult,
};
pub use review::{BatchItem, BatchResult, Decide, ListQuery, Page};
pub use secret::{Claimant, Permit};
pub use simulate::{Change, Example, Shadow, Simulation, SimulationProgress};
pub use stream::{Event, EventStream, StreamItem};
pub use wait::settled;
