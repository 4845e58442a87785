//! Why a run did not happen, in sentences.

use std::path::PathBuf;

/// Why nothing was run. The sentence says which layer is missing.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The profile cannot be followed.
    #[error("the profile is not valid: {0}")]
    Profile(String),
    /// A path could not be looked at.
    #[error("cannot look at {}: {error}", path.display())]
    Look {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The workspace is too large or changed meanwhile.
    #[error("cannot check the workspace: {0}")]
    Workspace(String),
    /// A layer of the confinement cannot be had.
    #[error("cannot confine the command: {0}")]
    Layer(String),
    /// What a stage said.
    #[error("{0}")]
    Stage(String),
    /// After the run: what the command left could not be looked through.
    #[error(
        "{count} places that the command may have changed could not be looked through or put right, see above"
    )]
    Left {
        /// How many.
        count: usize,
        /// The first of them, in sentences.
        told: Vec<String>,
    },
    /// The command ran, and how it ended is not known.
    #[error("{0}")]
    Lost(String),
    /// This system is not supported.
    #[error("confinement is not available on this system")]
    Unsupported,
}

/// Adds what was being done to an error of the system.
pub(crate) trait Doing<T> {
    fn doing(self, what: impl std::fmt::Display) -> Result<T, Problem>;
}

impl<T, E: std::fmt::Display> Doing<T> for Result<T, E> {
    fn doing(self, what: impl std::fmt::Display) -> Result<T, Problem> {
        self.map_err(|error| Problem::Layer(format!("{what}: {error}")))
    }
}
