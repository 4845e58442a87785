//! The only way to a yes: an approved and claimed request that is about exactly this call.

use placet_core::{Digest, GrantUsed, Record};
use placet_ledger::{Granted, Wanted, check_permit};
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
    grant: Option<GrantUsed>,
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
        let wanted = Wanted { tool: &call.tool, arguments: &call.input };
        let granted = Granted { permit: permit.unwrap_or_default(), arguments: claimed, digest };
        let edited = check_permit(record, Some(&wanted), &granted)
            .map_err(|unfit| format!("{} cannot be run: {unfit}", record.id))?;
        let decision = record.decision.as_ref();
        let by = decision.map(|decision| decision.by.clone()).unwrap_or_default();
        let grant = decision.and_then(|decision| decision.grant.clone());
        Ok(Self { arguments: claimed.clone(), edited, by, grant })
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
        if let Some(grant) = &self.grant {
            return format!("Placet: {how} by {}", grant.whose());
        }
        if self.by.is_empty() {
            return format!("Placet: {how} by policy");
        }
        format!("Placet: {how} by {}", self.by.join(", "))
    }
}
