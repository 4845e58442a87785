//! The commands of a reviewer.

use std::time::Duration;

use clap::{Args, ValueEnum};
use placet_core::{ReportStatus, Risk, State};

use super::duration;

/// List what is waiting.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  placet inbox                     what is pending, the nearest deadline first
  placet inbox --watch             live: j/k move, a approve, d deny, e edit, r respond, ? help
  placet inbox --state denied --agent billing-bot --limit 20")]
pub(crate) struct InboxArgs {
    /// Keep watching, and decide with one key
    #[arg(long, short)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) filters: Filters,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub(crate) limit: u32,
    /// Continue after the page with this cursor
    #[arg(long, value_name = "CURSOR", conflicts_with = "watch")]
    pub(crate) cursor: Option<String>,
}

/// Which requests.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Filters {
    /// In this state, or `all` [default: pending]
    #[arg(long, value_name = "STATE", value_parser = state)]
    pub(crate) state: Option<StateFilter>,
    /// By this agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// For this tool
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// In this session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Of this risk
    #[arg(long, value_name = "RISK")]
    pub(crate) risk: Option<Risk>,
    /// Of this group
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Option<String>,
    /// Containing this text
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) query: Option<String>,
}

/// One state, or all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateFilter {
    /// Whatever the state.
    All,
    /// This one.
    Only(State),
}

fn state(text: &str) -> Result<StateFilter, String> {
    if text == "all" {
        return Ok(StateFilter::All);
    }
    text.parse().map(StateFilter::Only)
}

/// Show one request.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShowArgs {
    /// Its id, or the beginning or end of it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

/// Say yes.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  placet approve 0c1g60o
  placet approve 0c1g60o --yes --reason 'checked with finance'
  placet approve 0c1g60o --only fetch,report          a plan: these steps, the others denied
  placet approve 0c1g60o --steps @steps.json          a plan: each step by its own decision
  placet approve 0c1g60o --same                       and all others that ask for the same call
  placet approve --group pause-17                     all items of one pause, or none: each is shown first
  placet approve 0c1g60o --remember exact --for 8h    the same call passes by itself for 8 hours
  placet approve 0c1g60o --remember template --within session
  placet approve 0c1g60o --remember pattern --match 'path={\"under\":\"/srv/app\"}'

Steps in a file:
  [{\"id\": \"fetch\", \"decision\": \"approve\"}, {\"id\": \"purge\", \"decision\": \"deny\"}]")]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    pub(crate) which: RequestChoice,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// For a plan: a decision for every step, in the order approved, as a JSON list or @FILE
    #[arg(long, value_name = "JSON", conflicts_with_all = ["only", "group"])]
    pub(crate) steps: Option<String>,
    /// For a plan: approve these steps, in this order, and deny the others
    #[arg(long, value_name = "IDS", value_delimiter = ',', conflicts_with = "group")]
    pub(crate) only: Option<Vec<String>>,
    #[command(flatten)]
    pub(crate) remember: RememberArgs,
    /// Also approve every other pending request with the same call
    #[arg(long, conflicts_with_all = ["steps", "only", "remember", "dry_run", "group"])]
    pub(crate) same: bool,
    /// Show what it would do, and do nothing
    #[arg(long, conflicts_with = "group")]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// One request, or all of a pause.
#[derive(Debug, Clone, Args)]
pub(crate) struct RequestChoice {
    /// Its id, or the beginning or end of it
    #[arg(value_name = "ID", required_unless_present = "group", conflicts_with = "group")]
    id: Option<String>,
    /// Instead of one request: every pending request of this group, which is one pause of one agent
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Option<String>,
}

impl RequestChoice {
    /// The id as typed. If it is missing, the group is there.
    pub(crate) fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }
}

/// A yes that stands.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RememberArgs {
    /// Also give a grant: `exact` (this very call), `template` (commands of this form), `session` (this tool in this
    /// session) or `pattern` (calls that match)
    #[arg(long, value_name = "SCOPE", hide_possible_values = true, conflicts_with = "group")]
    pub(crate) remember: Option<RememberScope>,
    /// How often the grant counts [default: 20]
    #[arg(long, value_name = "N", requires = "remember", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) uses: Option<u32>,
    /// How long the grant lasts, such as 8h [default: 8h]
    #[arg(long = "for", value_name = "DURATION", requires = "remember", value_parser = duration)]
    pub(crate) lasts: Option<Duration>,
    /// pattern: what an argument must be, such as 'amount={"max":100}' or 'to="acme"'; may be repeated
    #[arg(long = "match", value_name = "PATH=JSON", requires = "remember")]
    pub(crate) matching: Vec<String>,
    /// template: in this `session` alone, or in every session of the `project`, which is the agent's folder
    #[arg(long, value_name = "WHERE", requires = "remember", hide_possible_values = true)]
    pub(crate) within: Option<RememberWithin>,
}

/// Where a remembered command counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RememberWithin {
    /// In this session.
    Session,
    /// In every session, in the same folder of the agent.
    Project,
}

/// How far a grant reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RememberScope {
    /// This very call: equal arguments.
    Exact,
    /// Any call of this tool in this session.
    Session,
    /// Calls whose arguments match.
    Pattern,
    /// Commands of this form: the same words, other files.
    Template,
}

/// Approve with other arguments.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The replacement is whole, never merged, and cannot change the tool.

Examples:
  placet edit 0c1g60o --args '{\"files\":[\"draft.md\"]}'
  placet edit 0c1g60o --args @new.json --yes
  placet edit 0c1g60o --args @new.json --dry-run      says whether it would be enough, and what it would void
  placet edit 0c1g60o                                 opens $EDITOR")]
pub(crate) struct EditArgs {
    /// Its id, or the beginning or end of it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The whole new arguments: a JSON object, @FILE, or - for standard input; without it $EDITOR opens
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Show what it would do, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// Say no.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  placet deny 0c1g60o --reason 'not on a Sunday'
  placet deny --group pause-17 --reason 'ask again with fewer'")]
pub(crate) struct DenyArgs {
    #[command(flatten)]
    pub(crate) which: RequestChoice,
    /// Why: the agent is told
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// Answer a question.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The value is read by the type of the question:
  text          placet answer 0c1g60o 'use the blue one'
  number        placet answer 0c1g60o 42.5
  choice        placet answer 0c1g60o eu              or the number of the option
  multi_choice  placet answer 0c1g60o eu,us           or several values
  date          placet answer 0c1g60o 2026-11-15
  file          placet answer 0c1g60o @invoice.pdf
  confirmation  placet answer 0c1g60o yes             or its label")]
pub(crate) struct AnswerArgs {
    /// Its id, or the beginning or end of it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The answer
    #[arg(value_name = "VALUE", required_unless_present = "nothing", allow_hyphen_values = true)]
    pub(crate) values: Vec<String>,
    /// Answer with nothing, if the question allows it
    #[arg(long, conflicts_with = "values")]
    pub(crate) nothing: bool,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// Take an approval back.
#[derive(Debug, Clone, Args)]
pub(crate) struct RevokeArgs {
    /// Its id, or the beginning or end of it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// Ask other people.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReassignArgs {
    /// Its id, or the beginning or end of it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// People by name, or team:NAME
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required = true)]
    pub(crate) to: Vec<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// Settle an outcome.
#[derive(Debug, Clone, Args)]
pub(crate) struct ResolveArgs {
    /// Its id, or the beginning or end of it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The outcome: succeeded or failed
    #[arg(long, value_name = "STATUS", hide_possible_values = true)]
    pub(crate) status: Resolution,
    /// How you know
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
}

/// The outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Resolution {
    /// It worked.
    Succeeded,
    /// It did not.
    Failed,
}

impl From<Resolution> for ReportStatus {
    fn from(resolution: Resolution) -> Self {
        match resolution {
            Resolution::Succeeded => Self::Succeeded,
            Resolution::Failed => Self::Failed,
        }
    }
}
