//! The input of the figures: the counted fields of each request, without its texts.

use placet_core::{Confine, DecisionWord, Effect, GrantId, Kind, Risk, State, Time};
use serde::{Deserialize, de::IgnoredAny};

use crate::{Store, StoreError, read::earlier};

/// The counted fields of one request, and when they last changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The entry that created it.
    pub seq: u64,
    /// When something last happened to it.
    pub changed_at: Time,
    /// The rest.
    pub request: CountedRequest,
}

/// The part of a stored request that is counted.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CountedRequest {
    /// Where it stands.
    pub state: State,
    /// What is asked for.
    pub kind: Kind,
    /// Who asks.
    pub agent: String,
    /// The agent's session.
    pub session: String,
    /// The tool of an action.
    pub tool: Option<String>,
    /// Computed risk.
    pub risk: Risk,
    /// What policy said.
    pub verdict: VerdictWord,
    /// The outcome.
    pub decision: Option<CountedDecision>,
    /// The standing approval that let it through.
    #[serde(default)]
    pub grant: Option<GrantId>,
    /// What its approval teaches; of a call that passed, that trust let it through.
    #[serde(default)]
    pub trust: Option<IgnoredAny>,
    /// When it was made.
    pub created_at: Time,
    /// Deciding must happen before this.
    pub expires_at: Time,
}

/// What policy said, in one word.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct VerdictWord {
    /// Allow, hold or deny.
    pub effect: Effect,
    /// Of a call that is allowed: it may run only so confined.
    #[serde(default)]
    pub confine: Option<Confine>,
}

/// The outcome, without what was written.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CountedDecision {
    /// What was decided.
    pub word: DecisionWord,
    /// By whom; empty when policy decided.
    pub by: Vec<String>,
    /// When.
    pub at: Time,
}

/// How many wait, of one risk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// The risk.
    pub risk: Risk,
    /// How many.
    pub count: u64,
    /// When the oldest of them was made.
    pub oldest: Time,
}

/// A stored row.
pub(crate) fn figure(seq: u64, changed_at: i64, meta: &str) -> Result<Figure, StoreError> {
    Ok(Figure { seq, changed_at: Time::from_micros(changed_at), request: serde_json::from_str(meta)? })
}

/// How long before the time asked for a request may have been made whose waiting reaches into it.
const LEAD: std::time::Duration = std::time::Duration::from_hours(24);

impl Store {
    /// The entry from which on requests matter for figures since this time, those that still waited then included.
    pub async fn figures_from(&self, since: Time) -> Result<u64, StoreError> {
        self.readers().first_since(earlier(since, LEAD)).await
    }

    /// Requests from one entry on and before another, the newest first.
    pub async fn figures(&self, from: u64, before: u64, limit: u32) -> Result<Vec<Figure>, StoreError> {
        self.readers().figures(from, before, limit).await
    }

    /// How many wait now, by risk.
    pub async fn waiting(&self, now: Time) -> Result<Vec<Waiting>, StoreError> {
        self.readers().waiting(now).await
    }
}
