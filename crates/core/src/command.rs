//! The commands that change a request. A command carries everything it needs beyond the stored state.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    Content, Covered, DecisionWord, Digest, Escalation, GrantId, KeyId, Needs, NewGrant, ProposalContent,
    RequestId, Risk, Role, Ruling, SessionId, Terms, Time, TrustOffer, Verdict,
};

/// Who gives a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The principal.
    pub name: String,
    /// The role of the key. In a session, the role of the person that is used.
    pub role: Role,
    /// The key. None in a session, for the development agent and for Placet itself.
    pub key: Option<KeyId>,
    /// The session, if there is one.
    pub session: Option<SessionId>,
    /// How the principal proved who it is.
    pub auth: Auth,
}

/// How a principal proved who it is; ordered by strength.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Auth {
    /// Without proof: development on this machine.
    Open,
    /// A bearer token.
    Token,
    /// A session in the dashboard, or a password sent with the call.
    Session,
    /// A session whose browser signed the call with a key that it cannot export.
    Bound,
    /// A bearer token or session, and the short code bound to the digest.
    Code,
}

/// The one person as which callers without keys decide, where the operator opened such doors. This name can have no
/// key, link, password or team.
pub const OPEN_REVIEWER: &str = "open-reviewer";

impl Actor {
    /// The reviewer without any proof of identity.
    pub fn open_reviewer() -> Self {
        Self {
            name: OPEN_REVIEWER.to_owned(),
            role: Role::Reviewer,
            key: None,
            session: None,
            auth: Auth::Open,
        }
    }

    /// Placet itself: timers, restore, consequences of a revoked key.
    pub fn system() -> Self {
        Self { name: "placet".to_owned(), role: Role::Admin, key: None, session: None, auth: Auth::Token }
    }
}

/// A command about one request.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Ask.
    Submit(Box<Submit>),
    /// Vote.
    Decide(Box<Decide>),
    /// Claim the permit.
    Claim(Claim),
    /// Report the result.
    Report(Report),
    /// Cancel, as the agent that asked.
    Cancel(Cancel),
    /// Revoke an unclaimed approval, as a reviewer.
    Revoke(Revoke),
    /// Change who is asked.
    Reassign(Reassign),
    /// Resolve an unknown outcome, as a reviewer.
    Resolve(Resolve),
    /// Record that a deadline has passed.
    Expire(Expire),
}

/// Ask.
#[derive(Debug, Clone, PartialEq)]
pub struct Submit {
    /// The new request's identifier.
    pub id: RequestId,
    /// The terms on which it is asked.
    pub terms: Terms,
    /// What the agent wrote, shared with the record.
    pub content: Arc<Content>,
    /// The same as stored canonical text, made once together with the digest.
    pub stored: Arc<str>,
    /// Its digest.
    pub digest: Digest,
    /// The time that is part of the digest.
    pub created_at: Time,
    /// The door it came by: `rest` and so on.
    pub source: String,
    /// What policy said.
    pub verdict: Verdict,
    /// Computed risk, raised by what the agent says.
    pub risk: Risk,
    /// Whose yes is needed.
    pub needs: Needs,
    /// Who is asked next, in order, when no decision is made in time.
    pub escalation: Vec<Escalation>,
    /// The decisions that policy offers, if it limits them.
    pub decisions: Option<Vec<DecisionWord>>,
    /// Grants that cover this call. The transaction checks whether one is still valid.
    pub grants: Vec<GrantId>,
    /// Trust that policy offers for this call.
    pub trust: Option<TrustOffer>,
    /// How long claiming may take.
    pub claim_window: Duration,
    /// How long reporting may take.
    pub report_window: Duration,
    /// How many pending requests the agent may have.
    pub pending_cap: u64,
    /// The agent's folders at the time of the verdict, where they count.
    pub roots: Vec<String>,
    /// The agent's coverage at the time of the verdict.
    pub covered: Covered,
    /// The weak key of the request. An open request with the same key and content is the answer instead of a new one.
    pub weak: Option<WeakKey>,
}

/// A key by which a restarted program finds its request again, as hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeakKey {
    /// SHA-256 of principal, path and key, in a name space of its own.
    pub scope: [u8; 32],
    /// SHA-256 of the content. Different content makes a different request.
    pub same: [u8; 32],
}

/// Vote.
#[derive(Debug, Clone, PartialEq)]
pub struct Decide {
    /// On which request.
    pub id: RequestId,
    /// What the reviewer says.
    pub word: DecisionWord,
    /// The digest the reviewer saw.
    pub digest: Digest,
    /// The version the reviewer saw.
    pub version: u32,
    /// Why.
    pub reason: Option<String>,
    /// Replacement arguments, answer, or step decisions, with the digest they give.
    pub proposal: Option<(ProposalContent, Digest)>,
    /// The verdict of policy on replacement arguments. An edit without it is refused.
    pub ruling: Option<Box<Ruling>>,
    /// A grant to be given with this one.
    pub remember: Option<Box<NewGrant>>,
    /// The reviewer that the client of a door names.
    pub claimed: Option<UnverifiedReviewer>,
    /// Digest of the card that was shown.
    pub view: Option<Digest>,
    /// Digest of the text that was shown, from clients of earlier versions.
    pub display: Option<Digest>,
    /// Whether that is what the digest of the vote stands for.
    pub viewed: Viewed,
}

/// Whether a person saw what a yes would run. The gate finds it out for the digest that the vote carries, so it holds
/// wherever that digest is the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Viewed {
    /// The caller does not say, and need not.
    #[default]
    Unsaid,
    /// The caller must say, and does not.
    Missing,
    /// Something else was shown.
    Stale,
    /// Exactly this was shown.
    Current,
}

/// The reviewer that the client of a door without keys names. Text that somebody typed, no proof of identity.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Claimed))]
pub struct UnverifiedReviewer {
    /// Who it says decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    /// The person it says was asked instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalated_to: Option<String>,
}

impl UnverifiedReviewer {
    /// Longest text of each, in bytes.
    pub const MOST: usize = 200;
}

/// What a reviewer adds to prove presence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StepUp {
    /// The short code shown on the detail view.
    pub code: String,
}

/// Claim the permit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Of which request.
    pub id: RequestId,
    /// SHA-256 of the permit to give out.
    pub permit: Digest,
    /// SHA-256 of the claimant's secret.
    pub claimant: Option<Digest>,
    /// Whether the claimant can run it confined.
    pub confines: bool,
}

/// Report the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Of which request.
    pub id: RequestId,
    /// SHA-256 of the permit held.
    pub permit: Digest,
    /// The result.
    pub status: ReportStatus,
    /// The executor's digest of the result.
    pub result_digest: Option<String>,
    /// In the executor's words.
    pub note: Option<String>,
    /// It was allowed confined, and there is no proof that it ran confined.
    pub unconfined: bool,
}

/// The result of an executed action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ReportStatus {
    /// It worked.
    Succeeded,
    /// It did not.
    Failed,
}

/// Cancel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancel {
    /// Which request.
    pub id: RequestId,
    /// Why.
    pub reason: Option<String>,
}

/// Revoke an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revoke {
    /// Which request.
    pub id: RequestId,
    /// Why.
    pub reason: Option<String>,
}

/// Change who is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reassign {
    /// Which request.
    pub id: RequestId,
    /// Names of people, or `team:NAME`.
    pub to: Vec<String>,
    /// Why.
    pub reason: Option<String>,
}

/// Resolve an unknown outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolve {
    /// Which request.
    pub id: RequestId,
    /// The result.
    pub status: ReportStatus,
    /// How the reviewer knows.
    pub reason: String,
}

/// Record that a deadline has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expire {
    /// Which request.
    pub id: RequestId,
}

impl Command {
    /// The request that it is about.
    pub fn request(&self) -> RequestId {
        match self {
            Self::Submit(command) => command.id,
            Self::Decide(command) => command.id,
            Self::Claim(command) => command.id,
            Self::Report(command) => command.id,
            Self::Cancel(command) => command.id,
            Self::Revoke(command) => command.id,
            Self::Reassign(command) => command.id,
            Self::Resolve(command) => command.id,
            Self::Expire(command) => command.id,
        }
    }
}
