//! Runs one command confined: it writes in the workspace, reads programs and libraries, and reaches nothing else.
//!
//! Namespaces are the first layer, Landlock and seccomp the second. If a layer cannot be had, nothing runs.

#[cfg(unix)]
mod names;
mod profile;
mod seatbelt;
mod words;

#[cfg(target_os = "linux")]
mod git;
#[cfg(target_os = "linux")]
mod kept;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod protected;
#[cfg(target_os = "linux")]
mod scan;
#[cfg(target_os = "linux")]
mod walk;

pub use profile::{Limits, Profile, VERSION};
pub use seatbelt::seatbelt;
pub use words::Problem;

#[cfg(target_os = "linux")]
pub use kept::{remove_kept, tidy_kept};
#[cfg(target_os = "linux")]
pub use linux::{
    Change, FileState, LeftRun, Probe, STAGE, failed, left_runs, probe, run, stage, tidy_removed,
};

/// The runner itself failed, or a layer cannot be had: nothing was run, or its end is unknown.
pub const FAILED: u8 = 125;
/// The run went over a limit and was ended.
pub const LIMIT: u8 = 124;
