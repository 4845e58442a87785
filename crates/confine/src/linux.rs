//! The runner on Linux. `outer` stays outside; `stage` enters the namespaces and becomes their first process.

mod calls;
mod child;
mod cleanup;
mod deadline;
mod doctor;
mod files;
mod heir;
mod input;
mod job;
mod loopback;
mod outer;
mod register;
mod rights;
mod root;
mod sealed;
mod stage;
mod watch;

pub use doctor::{Probe, probe};
pub use outer::{failed, run};
pub use stage::{STAGE, stage};
