//! The commands about agents: their folders, their mark and their reports.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Place;

/// Agents.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// List agents with their owners and folders
    List,
    /// Open folders to an agent, so that rules with `under = "@workspace"` can allow its calls there
    Roots(AgentRootsArgs),
    /// Let an agent's hook program run calls confined, where policy allows it
    Confine(AgentConfineArgs),
    /// Show or forget the reports about what Placet sees of an agent's programs
    Coverage(AgentCoverageArgs),
}

/// The reports of an agent.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Adapters report it when an agent starts: which tools ask, which the program left out, and what runs where Placet does not
see it. It is the agent's own report, unproven. A rule with `coverage = [\"partial\", \"unknown\"]` can hold or deny its calls.

Examples:
  placet agent coverage desk            what it can do, part by part
  placet agent coverage desk --forget   its programs have changed: start again")]
pub(crate) struct AgentCoverageArgs {
    /// Which agent
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Forget all its reports (needs an admin key)
    #[arg(long)]
    pub(crate) forget: bool,
}

/// The mark of an agent.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
A rule with `confine = \"workspace\"` allows calls that then run in `placet run`: they change the workspace and nothing else,
and have no network. Only the hook program of an agent that is marked here can do that; all other calls of such a rule wait
for a person. Only an admin's key or the owner of the data can set the mark, never an agent's key.

Examples:
  placet agent confine claude                           set the mark
  placet agent confine claude --off                     remove it
  placet agent confine claude --data /var/lib/placet    as the owner of the data folder")]
pub(crate) struct AgentConfineArgs {
    /// Which agent
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Remove the mark
    #[arg(long)]
    pub(crate) off: bool,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// The folders of an agent.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
In policy, `@workspace` means these folders. Only an admin's key or the owner of the data can open
one, never an agent's key. Home folders and parts of the system are refused: name projects.

Examples:
  placet agent roots claude                           which folders are open
  placet agent roots claude ~/src/app                 this one, and no other
  placet agent roots claude --add ~/src/lib           this one as well
  placet agent roots claude --clear                   none
  placet agent roots claude . --data /var/lib/placet   as the owner of the data folder")]
pub(crate) struct AgentRootsArgs {
    /// Which agent
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Folders; links are followed
    #[arg(value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    /// Keep those that are open
    #[arg(long, requires = "folders")]
    pub(crate) add: bool,
    /// Close all of them
    #[arg(long, conflicts_with = "folders")]
    pub(crate) clear: bool,
    #[command(flatten)]
    pub(crate) place: Place,
}

impl AgentRootsArgs {
    /// The folders with links resolved.
    pub(crate) fn folders(&self) -> anyhow::Result<Vec<String>> {
        let whole = |folder: &PathBuf| {
            let whole = std::fs::canonicalize(folder)
                .map_err(|error| crate::exit::usage(format!("{}: {error}", folder.display())))?;
            if !whole.is_dir() {
                return Err(crate::exit::usage(format!("{} is not a folder", folder.display())));
            }
            if std::env::var_os("HOME").is_some_and(|home| std::path::Path::new(&home) == whole) {
                return Err(crate::exit::usage(format!(
                    "{} is your home folder: name one project",
                    folder.display()
                )));
            }
            let whole = whole.into_os_string().into_string();
            whole.map_err(|_| crate::exit::usage(format!("{} is not UTF-8", folder.display())))
        };
        self.folders.iter().map(whole).collect()
    }
}
