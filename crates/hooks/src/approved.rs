//! The only way to a yes: an approved and claimed request that is about exactly this call.

use placet_core::{DecisionWord, Digest, Kind, Record, State};
use serde_json::{Map, Value};

use crate::Call;

/// Proof that a call may run, with the arguments to run it with.
///
/// INVARIANT: made only by [`Approved::check`], from a record that is claimed and asks for this very call.
#[derive(Debug, Clone, PartialEq)]
pub struct Approved {
    arguments: Map<String, Value>,
    edited: bool,
    by: Vec<String>,
}

impl Approved {
    /// Checks that `record` asked for `call`, was approved, and was claimed with these arguments; `permit` is what the claim
    /// gave. The sentence in the error says what did not fit.
    pub fn check(
        call: &Call,
        record: &Record,
        permit: Option<&str>,
        claimed: &Map<String, Value>,
        digest: Option<Digest>,
    ) -> Result<Self, String> {
        if permit.is_none_or(str::is_empty) {
            return Err(format!("{} was not claimed here", record.id));
        }
        if !matches!(record.state, State::Approved | State::Claimed) {
            return Err(format!("{} is {}, which is not a yes", record.id, record.state));
        }
        if record.kind != Kind::Action || record.tool.as_deref() != Some(call.tool.as_str()) {
            return Err(format!("{} is about another tool", record.id));
        }
        if record.arguments.as_ref() != Some(&call.input) {
            return Err(format!("{} is about other arguments", record.id));
        }
        let Some(decision) = &record.decision else {
            return Err(format!("{} has no decision", record.id));
        };
        let edited = match decision.decision {
            DecisionWord::Approve => false,
            DecisionWord::Edit => true,
            DecisionWord::Deny | DecisionWord::Respond => {
                return Err(format!("{} was decided with `{}`", record.id, decision.decision));
            }
        };
        let approved = decision.arguments.as_ref().or(record.arguments.as_ref());
        if approved != Some(claimed) || (!edited && claimed != &call.input) {
            return Err(format!("the permit of {} is for other arguments than those approved", record.id));
        }
        if digest.is_some_and(|digest| digest != decision.digest) {
            return Err(format!("the permit of {} is for something else than what was approved", record.id));
        }
        // An edit that changes nothing needs no replacing.
        let edited = edited && claimed != &call.input;
        Ok(Self { arguments: claimed.clone(), edited, by: decision.by.clone() })
    }

    /// What to run it with.
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// Whether that differs from what the agent asked for.
    pub fn edited(&self) -> bool {
        self.edited
    }

    /// One line for the agent's own display.
    pub fn reason(&self) -> String {
        let how = if self.edited { "approved with changes" } else { "approved" };
        if self.by.is_empty() {
            return format!("Placet: {how} by policy");
        }
        format!("Placet: {how} by {}", self.by.join(", "))
    }
}
