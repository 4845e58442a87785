//! Does this need a person, which and how many: pure functions over plain data, decided in microseconds.
//!
//! A policy file is read whole by [`Policy::parse`] and asked about one [`Call`] after another by [`Policy::evaluate`].
//! Deny beats hold beats allow, whatever the order of the rules; what cannot be evaluated is never allowed; and what an
//! agent merely claims about a call can only make the [`Outcome`] stricter.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::unreachable
    )
)]

mod acts;
mod call;
mod compare;
mod condition;
mod cosmetic;
mod durations;
mod evaluate;
mod explain;
mod files;
mod glob;
mod grant;
mod import;
mod index;
mod keys;
mod literal;
mod lookalike;
mod matcher;
mod needs;
mod outcome;
mod path;
mod pattern;
mod people;
mod place;
mod policy;
mod presets;
mod problem;
mod read;
mod reference;
mod rule;
pub mod shell;
pub mod sql;
mod template;
mod trust;
mod wild;
mod words;
mod work;

pub use acts::{beyond_reading, open_text};
pub use call::{Call, Claims};
pub use compare::{Change, Comparison, Example, Recorded, Report};
pub use explain::{Explanation, MatchResult, RuleResult, StepResult};
pub use grant::{CompiledScope, Folder, GrantScope, describe, grant_matches};
pub use import::{ImportError, Imported, Note, agentkit, deepagents, kagent};
pub use literal::{LiteralCall, literal_rule};
pub use matcher::host_of;
pub use outcome::{Outcome, Trust};
pub use people::{Finding, Severity};
pub use place::{Named, Place, WORKSPACE, named};
pub use policy::Policy;
pub use presets::{DEFAULT, names, preset, preset_as_named};
pub use problem::{PolicyErrors, Problem};
pub use reference::reference;
pub use template::{NotLike, Template};
pub use trust::{is_shell_tool, trust_material};

/// The name that stands in a verdict when no rule spoke.
pub const DEFAULT_RULE: &str = "default";

/// The name that stands in a verdict when a call does more than the rule that allows it says.
pub const CONTRADICTION: &str = "contradiction";
