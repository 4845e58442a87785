//! The only source of an allow: an approved and claimed request about exactly this call.

use placet_core::{Digest, GrantUsed, Record};
use placet_ledger::{ClaimAnswer, IntendedCall, check_permit};
use serde_json::{Map, Value};

use crate::Call;

/// Proof that a call may run, with the arguments to run it with.
///
/// INVARIANT: made only by [`ApprovedCall::check`], from a record that is claimed and asks for this very call.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovedCall {
    arguments: Map<String, Value>,
    edited: bool,
    by: Vec<String>,
    grant: Option<GrantUsed>,
    /// Arguments that the agent gets in place of these.
    handed: Option<Map<String, Value>>,
    confined: bool,
}

impl ApprovedCall {
    /// Checks that `record` asked for `call`, was approved, and was claimed with these arguments. `permit` comes from
    /// the claim. The error says what did not fit.
    pub fn check(
        call: &Call,
        record: &Record,
        permit: Option<&str>,
        claimed: &Map<String, Value>,
        digest: Option<Digest>,
    ) -> Result<Self, String> {
        Self::checked(call, record, permit, claimed, digest, false)
    }

    /// The same for a call that was allowed confined. The agent gets `handed`, which runs it confined.
    pub fn check_confined(
        call: &Call,
        record: &Record,
        permit: Option<&str>,
        claimed: &Map<String, Value>,
        digest: Option<Digest>,
        handed: Map<String, Value>,
    ) -> Result<Self, String> {
        let approved = Self::checked(call, record, permit, claimed, digest, true)?;
        Ok(approved.handing(handed))
    }

    fn checked(
        call: &Call,
        record: &Record,
        permit: Option<&str>,
        claimed: &Map<String, Value>,
        digest: Option<Digest>,
        confined: bool,
    ) -> Result<Self, String> {
        let wanted = IntendedCall { tool: &call.tool, arguments: &call.input };
        let granted =
            ClaimAnswer { permit: permit.unwrap_or_default(), arguments: claimed, digest, confined };
        let edited = check_permit(record, Some(&wanted), &granted)
            .map_err(|unfit| format!("{} cannot be run: {unfit}", record.id))?;
        let decision = record.decision.as_ref();
        let by = decision.map(|decision| decision.by.clone()).unwrap_or_default();
        let grant = decision.and_then(|decision| decision.grant.clone());
        Ok(Self { arguments: claimed.clone(), edited, by, grant, handed: None, confined })
    }

    /// The same, with other arguments for the agent that do the same.
    #[must_use]
    pub fn handing(self, handed: Map<String, Value>) -> Self {
        Self { handed: Some(handed), ..self }
    }

    /// The arguments for the agent, if they differ from its own.
    pub fn handed(&self) -> Option<&Map<String, Value>> {
        self.handed.as_ref().or_else(|| self.edited.then_some(&self.arguments))
    }

    /// What to run it with.
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// Whether the approved arguments differ from the agent's own.
    pub fn edited(&self) -> bool {
        self.edited
    }

    /// One line for the agent's own display.
    pub fn reason(&self) -> String {
        let how = match (self.edited, self.confined) {
            (true, _) => "approved with changes",
            (false, true) => "approved, confined to the workspace,",
            (false, false) => "approved",
        };
        if let Some(grant) = &self.grant {
            return format!("Placet: {how} by {}", grant.whose());
        }
        if self.by.is_empty() {
            return format!("Placet: {how} by policy");
        }
        format!("Placet: {how} by {}", self.by.join(", "))
    }
}
