//! The command `placet run`.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;

/// Run a command confined.
#[derive(Debug, Clone, Args)]
#[command(
    override_usage = "placet run [OPTIONS] -- COMMAND [ARG]...",
    after_help = "\
The command writes in the workspace and in private temporary folders. It reads programs, libraries and listed toolchains.
It has a loopback of its own and no other network. Secrets are hidden, and what agents, editors and git obey stays as it is.

Exit codes:
  as the command's own, 128 and the number for a signal
  124  a limit ended it
  125  nothing was run, or what the command left could not be put right: standard error says which
  126, 127  the command cannot be started, or is not there

If what a command of an agent left could not be put right, no other one begins in that folder. `--records` shows what changed,
and `--clear` ends this.

Examples:
  placet run -- cargo test
  placet run --ask -- npm install
  placet run --clear"
)]
pub(crate) struct RunArgs {
    /// What the command may do, as JSON or base64url; without it, the current folder is the workspace
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Ask a person to let the command run without confinement
    #[arg(long, conflicts_with = "profile")]
    pub(crate) ask: bool,
    /// The folder of the marks that hooks leave
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) marks: Option<PathBuf>,
    /// Take this mark, and run nothing: it shows that an agent runs the command it gets
    #[arg(long, value_name = "MARK", hide = true, conflicts_with_all = ["profile", "ask"])]
    pub(crate) prove: Option<String>,
    /// Print the profile, and run nothing
    #[arg(long)]
    pub(crate) print_profile: bool,
    /// Show what runs left that keeps others from beginning
    #[arg(long, conflicts_with_all = ["profile", "ask", "print_profile", "prove", "command"])]
    pub(crate) records: bool,
    /// Keep what a run left, or put back what was there before, so that others begin again; all records without a name
    #[arg(long, value_name = "RECORD", num_args = 0..=1, default_missing_value = "")]
    #[arg(conflicts_with_all = ["records", "profile", "ask", "print_profile", "prove", "command"])]
    pub(crate) clear: Option<String>,
    /// With `--clear`: keep what is there now, without a question
    #[arg(long, requires = "clear", conflicts_with = "restore")]
    pub(crate) keep: bool,
    /// With `--clear`: put back what was there before, without a question
    #[arg(long, requires = "clear")]
    pub(crate) restore: bool,
    /// The command and its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    #[arg(required_unless_present_any = ["print_profile", "prove", "records", "clear"])]
    pub(crate) command: Vec<OsString>,
}
