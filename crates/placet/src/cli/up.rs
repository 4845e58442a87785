//! The command `placet up`.

use std::path::PathBuf;

use clap::Args;
use placet_server::ListenAddress;

/// Start Placet for one person.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The data is in a folder of your own: $XDG_DATA_HOME/placet, which is usually ~/.local/share/placet.
A second `placet up` finds the server that runs, and opens it.

Examples:
  placet up                      start it, and open the dashboard signed in
  placet up --no-browser         print the sign-in link only
  placet up --at-login           run it in the background, now and at every login
  placet up --not-at-login       end that; the data stays
  sudo placet up --own-user      run it as the user `placet`, whose files your agents cannot read")]
pub(crate) struct UpArgs {
    /// Print the sign-in link, and open no browser
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Run in the background, now and at every login, as a service of yours
    #[arg(long, conflicts_with = "not_at_login")]
    pub(crate) at_login: bool,
    /// Stop that service and remove it; the data stays
    #[arg(long)]
    pub(crate) not_at_login: bool,
    /// Run as a system service under the user `placet`; needs root, and otherwise says what to run
    #[arg(long, conflicts_with_all = ["at_login", "data", "state", "person"])]
    pub(crate) own_user: bool,
    /// Where to listen; a loopback address means both, 127.0.0.1 and [::1] [default: 127.0.0.1:4000]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<ListenAddress>,
    /// Another folder for the data
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Folder outside the database that remembers acknowledged entries [default: the XDG state folder]
    #[arg(long, value_name = "DIR", env = "PLACET_STATE")]
    pub(crate) state: Option<PathBuf>,
    /// The policy of a new data folder: preset:NAME or a file. Later the dashboard changes it
    #[arg(long, value_name = "FILE|preset:NAME", default_value = "preset:coding-agent")]
    pub(crate) policy: String,
    /// Who is signed in
    #[arg(long = "as", value_name = "PERSON", default_value = "admin")]
    pub(crate) person: String,
    /// Started by a service: print no link, and open nothing
    #[arg(long, hide = true, conflicts_with_all = ["at_login", "not_at_login", "own_user"])]
    pub(crate) service: bool,
    /// Write the files of `--own-user` below this folder, for tests and packages
    #[arg(long, value_name = "DIR", hide = true, requires = "own_user")]
    pub(crate) root: Option<PathBuf>,
    /// Set from the global option.
    #[arg(skip)]
    pub(crate) json: bool,
}
