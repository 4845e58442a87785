//! Freezes: what is frozen is not allowed, approved or claimed until an admin lifts the freeze.

use serde::{Deserialize, Serialize};

use crate::{
    AdminRefusal, Directory, Effect, FreezeId, Refusal, Time, Verdict, valid_name, valid_tool, visible,
};

/// A freeze: what is stopped, by whom and why. Without agent and tool it stops everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Freeze {
    /// Its identifier.
    pub id: FreezeId,
    /// Only calls of this agent.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub agent: Option<String>,
    /// Only calls of this tool.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub tool: Option<String>,
    /// Who said stop.
    pub by: String,
    /// Why.
    pub reason: String,
    /// When.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Time,
}

/// Most freezes at a time.
const MOST: usize = 1_000;
/// Longest reason, in bytes.
const REASON: usize = 1_000;

impl Freeze {
    fn covers(&self, agent: &str, tool: Option<&str>) -> bool {
        self.agent.as_deref().is_none_or(|frozen| frozen == agent)
            && self.tool.as_deref().is_none_or(|frozen| Some(frozen) == tool)
    }

    /// What is stopped, in words.
    pub fn covered(&self) -> String {
        match (&self.agent, &self.tool) {
            (None, None) => "everything".to_owned(),
            (Some(agent), None) => format!("the agent `{agent}`"),
            (None, Some(tool)) => format!("the tool `{tool}`"),
            (Some(agent), Some(tool)) => format!("the tool `{tool}` of the agent `{agent}`"),
        }
    }

    /// The refusal of a command that is frozen.
    pub(crate) fn refusal(&self) -> Refusal {
        Refusal::Frozen { covered: self.covered(), by: self.by.clone(), reason: self.reason.clone() }
    }

    /// A request that policy would allow is held instead, with this reason.
    pub(crate) fn holds(&self, verdict: Verdict) -> Verdict {
        let reason = format!("`{}` froze {}: {}", self.by, self.covered(), self.reason);
        Verdict {
            effect: Effect::Hold,
            confine: None,
            rule: format!("freeze:{}", self.id),
            policy: verdict.policy,
            reasons: std::iter::once(reason).chain(verdict.reasons).collect(),
        }
    }
}

impl Directory {
    /// The freeze that stops this agent's calls of this tool, if one does.
    pub fn frozen(&self, agent: &str, tool: Option<&str>) -> Option<&Freeze> {
        self.freezes.values().map(|freeze| &**freeze).find(|freeze| freeze.covers(agent, tool))
    }

    pub(crate) fn may_freeze(&self, freeze: &Freeze) -> Result<(), AdminRefusal> {
        let reason = freeze.reason.trim();
        let reads = reason.chars().all(|character| character == ' ' || visible(character));
        if reason.is_empty() || reason.len() > REASON || !reads {
            return Err(AdminRefusal::BadReason(REASON));
        }
        // A freeze that no call can match would stop nothing.
        if freeze.agent.as_deref().is_some_and(|agent| !valid_name(agent)) {
            return Err(AdminRefusal::BadName { field: "agent" });
        }
        if freeze.tool.as_deref().is_some_and(|tool| !valid_tool(tool)) {
            return Err(AdminRefusal::BadTool);
        }
        if self.freezes.len() >= MOST {
            return Err(AdminRefusal::TooManyFreezes(MOST));
        }
        Ok(())
    }
}
