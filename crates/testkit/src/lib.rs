//! Shared by the tests of every crate: storage, a clock and random values that tests control, actors, and the real
//! server on a free port, inside the test or as a process. The product never depends on it.
//!
//! ```text
//! both! {
//!     async fn a_decision_wakes_the_agent(kit) {
//!         let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
//!         let request = kit.ask(&bot).await;
//!         kit.approve(&ann, &request).await.unwrap();
//!     }
//! }
//! ```
//! makes two tests, `a_decision_wakes_the_agent::sqlite` and `::postgres`; each ends with the checks of [`Kit::finish`].

mod clock;
mod commands;
mod contract;
pub mod drawn;
mod earlier;
mod entropy;
mod http;
mod kit;
mod place;
mod program;
mod replicas;
mod run;
mod server;
mod signer;
mod twins;
mod wait;

pub use clock::FakeClock;
pub use commands::{idempotency, one, submit, unit, weak_key};
pub use earlier::{OUTBOX_OF_0_2, lay_out_version_0_2};
pub use entropy::SeededEntropy;
pub use http::{Answer, Http, Lines};
pub use kit::{BOOTSTRAP, HOLD_EVERYTHING, Kit, Setup};
pub use place::{Backend, Place, WriterLock};
pub use program::{Program, command_line, printed_json};
pub use replicas::{Front, Replica};
pub use run::block_on;
pub use server::Server;
pub use signer::{Signer, said};
pub use twins::each_is_caught;
pub use wait::{found, soon, until};
