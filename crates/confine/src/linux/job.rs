//! What the outer process tells the stage, and what it hears back.

use std::{ffi::OsString, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::{plan::Plan, profile::Limits};

/// One run, as the stage reads it from a sealed file in memory.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) plan: Plan,
    pub(crate) cwd: PathBuf,
    pub(crate) limits: Limits,
    pub(crate) argv: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) umask: u32,
}

/// Whether a layer is left out, for tests that must notice. In a release there is no way to.
#[cfg(feature = "sabotage")]
pub(crate) fn leaves_out(layer: &str) -> bool {
    std::env::var(SABOTAGE).is_ok_and(|name| name.strip_prefix("confine-without-") == Some(layer))
}

#[cfg(not(feature = "sabotage"))]
pub(crate) const fn leaves_out(_layer: &str) -> bool {
    false
}

/// Names the layer. The stages start without the environment, except for this.
#[cfg(feature = "sabotage")]
pub(crate) const SABOTAGE: &str = "PLACET_SABOTAGE";

/// What the first process of the namespaces says at the end, as one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// Nothing was run.
    Failed(String),
    /// The command ran, and how it ended is not known.
    Lost(String),
    /// The command could not be started: 126 or 127, and why.
    Unstartable(u8, String),
    /// The command ended by itself: its exit code, and whether something inside tried to reach the network.
    Ended { code: u8, network: bool },
    /// A limit ended it.
    Limit(String),
}
