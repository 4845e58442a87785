//! Grants: given with a decision, listed, revoked.

use std::collections::BTreeMap;

use placet_core::{Grant, GrantId, Needs, Record, RequestId, Risk, Time, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Client, Decide, Error, http::Call};

/// What a person wants to be remembered with an approval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Remember {
    scope: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<BTreeMap<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uses: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<&'static str>,
}

impl Remember {
    fn new(scope: &'static str) -> Self {
        Self { scope, arguments: None, expires_in: None, uses: None, within: None }
    }

    /// This very call: equal arguments.
    pub fn exact() -> Self {
        Self::new("exact")
    }

    /// Any call of this tool in this session.
    pub fn session() -> Self {
        Self::new("session")
    }

    /// Calls whose arguments match: paths and matchers, as in `args` of a rule that allows.
    pub fn pattern(arguments: BTreeMap<String, Value>) -> Self {
        Self { arguments: Some(arguments), ..Self::new("pattern") }
    }

    /// Commands of this form: the same words, other files of the agent's folder. In this session alone, or in every one.
    pub fn template(session_alone: bool) -> Self {
        let within = if session_alone { "session" } else { "project" };
        Self { within: Some(within), ..Self::new("template") }
    }

    /// For so long, such as `8h`.
    #[must_use]
    pub fn expires_in(mut self, duration: impl Into<String>) -> Self {
        self.expires_in = Some(duration.into());
        self
    }

    /// So often.
    #[must_use]
    pub fn uses(mut self, uses: u32) -> Self {
        self.uses = Some(uses);
        self
    }
}

/// A grant as people see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantInfo {
    /// What was given.
    #[serde(flatten)]
    pub grant: Grant,
    /// How often it was used.
    pub used: u32,
    /// What it covers, in words.
    pub covers: String,
}

/// A grant that is no longer valid, although no person revoked it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedGrant {
    /// The grant, how often it was used, and what it covered.
    #[serde(flatten)]
    pub info: GrantInfo,
    /// When it ended.
    pub ended_at: Time,
    /// Why.
    pub why: String,
}

/// What the upgrade from version 0.2 ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedAtUpgrade {
    /// Grants on commands, the newest first.
    #[serde(default)]
    pub items: Vec<EndedGrant>,
    /// Kinds of calls whose approvals were counted for trust.
    #[serde(default)]
    pub trust: u64,
}

/// Grants, and those that an upgrade ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grants {
    /// The valid grants.
    pub items: Vec<GrantInfo>,
    /// The grants that an upgrade ended. Servers before version 0.3 leave this out.
    #[serde(default)]
    pub ended_at_upgrade: EndedAtUpgrade,
}

/// The verdict of policy on a replacement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ruling {
    /// Allow, hold or deny, and why.
    pub verdict: Verdict,
    /// Computed risk.
    pub risk: Risk,
    /// Whose yes is needed.
    pub needs: Needs,
}

/// What a decision would do. Nothing is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preview {
    /// The request after it.
    pub record: Record,
    /// Whether this vote would decide.
    pub decides: bool,
    /// The verdict of policy on the replacement.
    #[serde(default)]
    pub ruling: Option<Ruling>,
    /// Whether the needs or the risk would be higher than now.
    pub stricter: bool,
    /// Whose votes would be void.
    #[serde(default)]
    pub voided: Vec<String>,
    /// The grant that would come with it.
    #[serde(default)]
    pub grant: Option<Grant>,
    /// What the grant would cover, in words.
    #[serde(default)]
    pub covers: Option<String>,
    /// For a remembered command: the calls that it would have let pass.
    #[serde(default)]
    pub would: Option<GrantPreview>,
}

/// The calls among the newest ones that a grant would have let pass.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantPreview {
    /// Calls that were looked at.
    pub looked_at: u64,
    /// Calls that waited and would have passed.
    pub covered: u64,
    /// Calls among them that a person denied.
    pub denied: u64,
    /// Examples, as the agent wrote them.
    #[serde(default)]
    pub examples: Vec<String>,
}

impl Client {
    /// Grants: a reviewer's own; all of them for an admin or auditor.
    pub async fn grants(&self) -> Result<Vec<GrantInfo>, Error> {
        Ok(self.all_grants().await?.items)
    }

    /// The same, with those that an upgrade ended.
    pub async fn all_grants(&self) -> Result<Grants, Error> {
        self.send(&Call::get(self.at("/v1/grants"))).await
    }

    /// Revokes a grant, at once and everywhere.
    pub async fn revoke_grant(&self, id: GrantId) -> Result<(), Error> {
        let call = Call::delete(self.at(&format!("/v1/grants/{id}")));
        self.send::<Value>(&call).await.map(drop)
    }

    /// What a decision would do, without doing it: whether it decides, what an edit would need, and which votes it
    /// voids.
    pub async fn preview(&self, id: RequestId, decide: &Decide) -> Result<Preview, Error> {
        let call = Call::post(self.at(&format!("/v1/requests/{id}/decision")), decide, None)?
            .query("dry_run", "true");
        self.send(&call).await
    }
}
