//! The commands of an agent, or of a person in its place.

use std::time::Duration;

use clap::Args;
use placet_core::{Kind, Risk};

use super::{duration, kind};

/// Ask for approval.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  placet request --tool delete_files --args '{\"files\":[\"report.md\"]}'
  placet request --tool pay --args @payment.json --risk high --wait 2m --claim
  placet request --kind input --body @question.json
  placet request --kind confirmation --body '{\"message\":\"Go live?\"}'

A question in a file:
  {\"question\": \"Which region?\",
   \"input\": {\"type\": \"choice\", \"options\": [\"eu\", \"us\"]}}

Only run what comes back: after an edit the arguments are not the ones you sent.
Exit codes: 0 approved or answered, 3 denied, 4 expired, 5 cancelled, revoked or lapsed, 6 still pending.
With --claim, 0 means that this call holds the permit, and only then are arguments printed. 7 means that there
is none to hold: the request was answered, or its permit was claimed before.")]
pub(crate) struct RequestArgs {
    /// The kind: action, plan, input or confirmation
    #[arg(long, value_parser = kind, default_value = "action", value_name = "KIND")]
    pub(crate) kind: Kind,
    /// The tool to run (action)
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Its arguments: a JSON object, @FILE, or - for standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// The fields of the other kinds: a JSON object, @FILE, or - for standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true, conflicts_with = "args")]
    pub(crate) body: Option<String>,
    /// The session of the request [default: shell]
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Your own words; shown as untrusted text
    #[arg(long, value_name = "TEXT")]
    pub(crate) summary: Option<String>,
    /// Your opinion of the risk: low, medium, high or critical; may raise the risk, never lower it
    #[arg(long, value_name = "RISK")]
    pub(crate) risk: Option<Risk>,
    /// Where the call comes from: a JSON object, @FILE, or -
    #[arg(long, value_name = "JSON")]
    pub(crate) context: Option<String>,
    /// How long deciding may take, such as 5m
    #[arg(long, value_name = "DURATION")]
    pub(crate) expires_in: Option<String>,
    /// The person on whose behalf this is done
    #[arg(long, value_name = "PERSON")]
    pub(crate) on_behalf_of: Option<String>,
    /// The pause this belongs to
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Option<String>,
    /// The same key gives the same request, however often it is sent
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// How long to wait for the decision; 0s to return at once [default: until it is decided or expires]
    #[arg(long, value_parser = duration, value_name = "DURATION")]
    pub(crate) wait: Option<Duration>,
    /// Once approved, claim the permit and print it with the arguments to run
    #[arg(long)]
    pub(crate) claim: bool,
    /// Cancel the request when interrupted, instead of leaving it pending
    #[arg(long)]
    pub(crate) cancel_on_interrupt: bool,
}

/// Withdraw a request.
#[derive(Debug, Clone, Args)]
pub(crate) struct CancelArgs {
    /// The whole id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}
