//! How often people are asked: figures, one's own pace, summaries of sessions, and suggested rules.

use placet_core::{GrantId, RequestId, Time};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Client, Error, http::Call};

/// How often people were asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Attention {
    /// All requests.
    pub calls: u64,
    /// Passed by policy, free.
    pub passed: u64,
    /// Passed by policy, confined.
    pub confined: u64,
    /// Passed by a grant or by trust.
    pub remembered: u64,
    /// Refused by policy.
    pub refused: u64,
    /// Waited for a person.
    pub asked: u64,
    /// `asked` in percent of `calls`.
    #[serde(default)]
    pub asked_percent: Option<f64>,
    /// How long agents were at work.
    pub active_seconds: f64,
    /// `asked` for each of those hours.
    #[serde(default)]
    pub prompts_per_active_hour: Option<f64>,
}

/// Figures about the last days.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// From when on.
    pub from: Time,
    /// Until when.
    pub to: Time,
    /// How often people were asked.
    pub attention: Attention,
    /// The other figures, as the server sends them.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// How fast the caller decided recently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// Whether it is faster than a person can read.
    pub warned: bool,
    /// With a warning: what was seen, and what to do.
    #[serde(default)]
    pub text: Option<String>,
}

/// What happened in one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// Whose session.
    pub agent: String,
    /// Its name.
    pub session: String,
    /// When its first request was made.
    pub from: Time,
    /// When its last one was.
    pub to: Time,
    /// Whether all of its requests were counted.
    pub whole: bool,
    /// How often people were asked.
    pub attention: Attention,
    /// What was asked, remembered, confined, refused and passed.
    pub lines: Vec<SummaryLine>,
    /// Grants that let requests through.
    pub grants: Vec<SummaryGrant>,
}

/// Requests of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryLine {
    /// `asked`, `remembered`, `confined`, `refused` or `passed`.
    pub part: String,
    /// The tool.
    pub tool: String,
    /// What one of them does.
    #[serde(default)]
    pub effect: Option<String>,
    /// How many.
    pub count: u64,
    /// How many people approved.
    pub approved: u64,
    /// How many they denied.
    pub denied: u64,
    /// The newest of them.
    pub request: RequestId,
}

/// A grant that let requests through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryGrant {
    /// Which.
    pub id: GrantId,
    /// Who gave it.
    #[serde(default)]
    pub by: Option<String>,
    /// For which tool.
    pub tool: String,
    /// How many requests.
    pub count: u64,
    /// Whether it still stands.
    pub stands: bool,
}

/// Rules that history suggests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Suggestions {
    /// The hash of the policy in force.
    pub policy: String,
    /// The rules.
    pub items: Vec<Suggestion>,
    /// All of them as TOML.
    pub text: String,
    /// What the policy with these rules would have done.
    pub report: Value,
    /// Calls that were approved as often and have no suggestion, by reason.
    #[serde(default)]
    pub left_out: Map<String, Value>,
}

/// One rule that is suggested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestion {
    /// Its name.
    pub rule: String,
    /// The rule, TOML.
    pub text: String,
    /// Who asked.
    pub agent: String,
    /// The tool.
    pub tool: String,
    /// What the call does.
    pub effect: String,
    /// How often people approved it.
    pub approvals: u64,
    /// How many prompts the rule would have saved.
    pub saved: u64,
    /// When it was approved last.
    pub last_at: Time,
    /// The last request that was approved.
    pub request: RequestId,
}

impl Client {
    /// Figures about the last so many days.
    pub async fn stats(&self, days: u32) -> Result<Stats, Error> {
        self.send(&Call::get(self.at("/v1/stats")).query("days", &days.to_string())).await
    }

    /// How fast the caller decided recently.
    pub async fn pace(&self) -> Result<Pace, Error> {
        self.send(&Call::get(self.at("/v1/me/pace"))).await
    }

    /// What happened in a session: the named one, or the one with the newest request.
    pub async fn session_summary(
        &self,
        session: Option<&str>,
        agent: Option<&str>,
    ) -> Result<SessionSummary, Error> {
        let mut call = Call::get(self.at("/v1/summary"));
        for (name, value) in [("session", session), ("agent", agent)] {
            if let Some(value) = value {
                call = call.query(name, value);
            }
        }
        self.send(&call).await
    }

    /// Suggests rules for calls that people approved at least this often.
    pub async fn suggest_policy(&self, least: u64, agent: Option<&str>) -> Result<Suggestions, Error> {
        let mut call =
            Call::get(self.at("/v1/policy/suggestions")).query("least", &least.to_string()).without_end();
        if let Some(agent) = agent {
            call = call.query("agent", agent);
        }
        self.send(&call).await
    }
}
