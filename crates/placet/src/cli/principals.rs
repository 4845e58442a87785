//! The commands about keys and people, and the stop switch.

use clap::{Args, Subcommand};
use placet_core::Role;

use super::Place;

/// Keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key and print it once
    New(KeyNewArgs),
    /// List keys, without their secrets (needs an admin key)
    List,
    /// Make a key stop working, at once and everywhere (needs an admin key)
    ///
    /// Votes on pending requests and grants that were given with the key become void, because somebody else may have
    /// used it.
    Revoke {
        /// The key's id, as `placet key list` shows it
        id: String,
        /// The key was rotated, not stolen: votes and grants given with it stay valid
        #[arg(long)]
        keep_votes: bool,
    },
}

/// Make a key.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  placet key new --role reviewer --name ann
  placet key new --role agent --name bot --owner ann --data /var/lib/placet")]
pub(crate) struct KeyNewArgs {
    /// The role: agent, reviewer, admin or auditor
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Role,
    /// The principal's name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    /// The person who owns an agent
    #[arg(long, value_name = "PERSON")]
    pub(crate) owner: Option<String>,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Set from the global option.
    #[arg(skip)]
    pub(crate) json: bool,
}

/// People.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
A person appears with their first key. Policies name teams, as in `team = \"finance\"`.

Examples:
  placet person list
  placet person set ann --role reviewer --team finance
  placet person set root --role admin,auditor
  placet person link ann                              with an admin's PLACET_TOKEN
  placet person link ann --data /var/lib/placet       as the owner of the data folder
  placet person password ann --data /var/lib/placet   asks for it twice, without showing it
  pass show placet/ann | placet person password ann   or reads one line of standard input")]
pub(crate) enum PersonCommand {
    /// List people with their roles and teams
    List,
    /// Set all roles and teams of a person; others are removed
    Set {
        /// Who
        #[arg(value_name = "NAME")]
        name: String,
        /// reviewer, admin or auditor; may be repeated
        #[arg(long = "role", value_name = "ROLE", required = true, value_delimiter = ',')]
        roles: Vec<Role>,
        /// A team; may be repeated
        #[arg(long = "team", value_name = "TEAM", value_delimiter = ',')]
        teams: Vec<String>,
    },
    /// Make a one-time sign-in link for a browser, valid for 15 minutes
    Link(PersonPlaceArgs),
    /// Set a person's password, as the owner of the data; all their sessions end
    #[command(long_about = "\
Set a person's password, as the owner of the data; all their sessions end.

The password is asked for on the terminal, or is one line of standard input; it is never an argument, where everybody on
the machine could read it. It has 12 to 1024 bytes. Nobody else can set it: people change their own in the dashboard, and
administrators hand out links.")]
    Password(PersonPlaceArgs),
    /// Remove a person; their keys and sessions stop at once
    Remove {
        /// Who
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// A person, and the database.
#[derive(Debug, Clone, Args)]
pub(crate) struct PersonPlaceArgs {
    /// Who
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// Stop.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  placet freeze                                             what is frozen
  placet freeze --all --reason 'something is wrong with the payments'
  placet freeze --agent billing-bot --reason 'it repeats itself'
  placet freeze --tool payments.transfer --reason 'bank holiday'
  placet unfreeze frz_...

Pending requests stay and can be read and denied. Reviewers and admins can freeze. Only an admin can lift a freeze.")]
pub(crate) struct FreezeArgs {
    /// Calls of this agent
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    pub(crate) agent: Option<String>,
    /// Calls of this tool
    #[arg(long, value_name = "TOOL", conflicts_with = "all")]
    pub(crate) tool: Option<String>,
    /// Everything
    #[arg(long)]
    pub(crate) all: bool,
    /// The reason; everybody can read it
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}
