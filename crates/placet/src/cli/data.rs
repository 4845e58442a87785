//! The commands on the data itself: where it is, verification, backup, restore and recovery.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Where the database is.
#[derive(Debug, Clone, Args)]
pub(crate) struct Place {
    /// Folder of the embedded database
    #[arg(long, value_name = "DIR", conflicts_with = "database")]
    pub(crate) data: Option<PathBuf>,
    /// A Postgres database instead
    #[arg(long, value_name = "URL", env = "PLACET_DATABASE", hide_env_values = true)]
    pub(crate) database: Option<String>,
}

impl Place {
    /// Whether one was named, on the command line or in the environment.
    pub(crate) fn is_named(&self) -> bool {
        self.data.is_some() || self.database.is_some()
    }
}

/// The ledger.
#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    /// Check every link of the ledger and name the first bad entry
    Verify(LedgerVerifyArgs),
}

/// Check the ledger.
#[derive(Debug, Clone, Args)]
pub(crate) struct LedgerVerifyArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    /// An exported ledger or a backup
    #[arg(value_name = "FILE", conflicts_with_all = ["data", "database"])]
    pub(crate) file: Option<PathBuf>,
    /// Set from the global option.
    #[arg(skip)]
    pub(crate) json: bool,
}

/// Back up.
#[derive(Debug, Clone, Args)]
pub(crate) struct BackupArgs {
    /// Where to write the copy
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Set from the global option.
    #[arg(skip)]
    pub(crate) json: bool,
}

/// Restore.
#[derive(Debug, Clone, Args)]
pub(crate) struct RestoreArgs {
    /// The backup
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Revoke every key of the backup, and print a new admin key
    #[arg(long)]
    pub(crate) revoke_keys: bool,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Folder outside the database that remembers acknowledged entries, as given to the server
    #[arg(long, value_name = "DIR", env = "PLACET_STATE")]
    pub(crate) state: Option<PathBuf>,
    /// Set from the global option.
    #[arg(skip)]
    pub(crate) json: bool,
}

/// Recover.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  placet recover --dry-run --data /var/lib/placet          what is missing, and which requests are affected
  placet recover --database postgres://placet@db/placet    begin a new epoch
  placet recover --clock                                   the clock is right, and the ledger was ahead of it

Stop every server first. In the new epoch pending requests are cancelled, and what was approved or claimed is unknown: \
it may have been executed. Resolve those with `placet resolve`.")]
pub(crate) struct RecoverArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Show what is missing and what would be done; change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Accept a ledger that is ahead of this machine's clock
    #[arg(long, conflicts_with = "force")]
    pub(crate) clock: bool,
    /// Begin a new epoch even if nothing is known to be missing, or nothing is remembered here
    #[arg(long)]
    pub(crate) force: bool,
    /// Folder outside the database that remembers acknowledged entries, as given to the server
    #[arg(long, value_name = "DIR", env = "PLACET_STATE")]
    pub(crate) state: Option<PathBuf>,
    /// Set from the global option.
    #[arg(skip)]
    pub(crate) json: bool,
}
