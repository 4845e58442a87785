//! The runner on Linux. `outer` stays outside; `stage` enters the namespaces and becomes their first process.

mod aside;
mod calls;
mod child;
mod cleanup;
mod deadline;
mod doctor;
mod files;
mod heir;
mod input;
mod job;
mod links;
mod loopback;
mod outer;
mod records;
mod register;
mod rights;
mod root;
mod sealed;
mod stage;
mod watch;

pub use aside::tidy_removed;
pub use cleanup::{Change, FileState};
pub use doctor::{Probe, probe};
pub use outer::{failed, run};
pub use records::{LeftRun, left_runs};
pub use stage::{STAGE, stage};
