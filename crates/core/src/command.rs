//! The commands that change a request; everything they need beyond the stored state travels inside.

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
    /// The role of the key used; in a session, the one of the person's roles that is used.
    pub role: Role,
    /// The key used; none in a session, for the development agent and for Placet itself.
    pub key: Option<KeyId>,
    /// The session it comes from, if it does.
    pub session: Option<SessionId>,
    /// How the principal proved who it is.
    pub auth: Auth,
}

/// How a principal proved who it is; ordered by strength.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Auth {
    /// Not at all: development on this machine.
    Open,
    /// A bearer token.
    Token,
    /// A session in the dashboard, or a password that was said with the call.
    Session,
    /// A session whose browser proved the call with a key that it cannot give away.
    Bound,
    /// A bearer token or session, and the short code bound to the digest.
    Code,
}

/// The one person as whom anybody on this machine decides through the doors that never had keys, where the operator opened
/// them. Nobody can have a key, a link, a password or a team under this name.
pub const OPEN_REVIEWER: &str = "open-reviewer";

impl Actor {
    /// Whoever decides without any proof of who it is.
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
    /// Take the permit.
    Claim(Claim),
    /// Say what became of it.
    Report(Report),
    /// Withdraw, as the agent that asked.
    Cancel(Cancel),
    /// Take an unclaimed approval back, as a reviewer.
    Revoke(Revoke),
    /// Change who is asked.
    Reassign(Reassign),
    /// Settle an unknown outcome, as a reviewer.
    Resolve(Resolve),
    /// Let a passed deadline take effect.
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
    /// The same, in the canonical text that is stored; made once, beside the digest.
    pub stored: Arc<str>,
    /// Its digest.
    pub digest: Digest,
    /// The time that went into the digest.
    pub created_at: Time,
    /// Through which door it came: `rest` and so on.
    pub source: String,
    /// What policy said.
    pub verdict: Verdict,
    /// Computed risk, already raised by what the agent claims.
    pub risk: Risk,
    /// Whose yes is needed.
    pub needs: Needs,
    /// Who is asked next, and after them, when nobody decides in time.
    pub escalation: Vec<Escalation>,
    /// Which decisions policy offers, if it says.
    pub decisions: Option<Vec<DecisionWord>>,
    /// Standing yeses that cover this call. Whether one still counts is looked up in the transaction.
    pub grants: Vec<GrantId>,
    /// Trust that policy lets be earned.
    pub trust: Option<TrustOffer>,
    /// How long claiming may take.
    pub claim_window: Duration,
    /// How long reporting may take.
    pub report_window: Duration,
    /// How many pending requests the agent may have.
    pub pending_cap: u64,
    /// The folders of the agent that it was judged with, where they count.
    pub roots: Vec<String>,
    /// What the agent's reports came to when it was judged.
    pub covered: Covered,
    /// The weak key it came with: an open request under it that asks for the same is answered in place of a new one.
    pub weak: Option<WeakKey>,
}

/// A key by which a program that forgot what it asked finds it again, as hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeakKey {
    /// SHA-256 of principal, path and key, apart from those of idempotency keys.
    pub scope: [u8; 32],
    /// SHA-256 of all that is asked for: what asks for anything else is another request.
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
    /// What policy says of replacement arguments; an edit without it is refused.
    pub ruling: Option<Box<Ruling>>,
    /// A standing yes to be given with this one.
    pub remember: Option<Box<NewGrant>>,
    /// What the client of a door said beside it.
    pub claimed: Option<Claimed>,
    /// Digest of the text that was shown.
    pub display: Option<Digest>,
}

/// What the client of a door without keys said about a decision: text that somebody typed, never who it was.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Claimed {
    /// Who it says decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    /// Whom it says was asked instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalated_to: Option<String>,
}

impl Claimed {
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

/// Take the permit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Of which request.
    pub id: RequestId,
    /// SHA-256 of the permit to give out.
    pub permit: Digest,
    /// SHA-256 of the claimant's secret.
    pub claimant: Option<Digest>,
    /// Whether whoever claims can run it confined.
    pub confines: bool,
}

/// Say what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Of which request.
    pub id: RequestId,
    /// SHA-256 of the permit held.
    pub permit: Digest,
    /// What became of it.
    pub status: ReportStatus,
    /// The executor's digest of the result.
    pub result_digest: Option<String>,
    /// In the executor's words.
    pub note: Option<String>,
    /// It was allowed confined, and nothing shows that it ran so.
    pub unconfined: bool,
}

/// What became of an executed action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ReportStatus {
    /// It worked.
    Succeeded,
    /// It did not.
    Failed,
}

/// Withdraw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancel {
    /// Which request.
    pub id: RequestId,
    /// Why.
    pub reason: Option<String>,
}

/// Take an approval back.
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

/// Settle an unknown outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolve {
    /// Which request.
    pub id: RequestId,
    /// What became of it.
    pub status: ReportStatus,
    /// How the reviewer knows.
    pub reason: String,
}

/// Let a passed deadline take effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expire {
    /// Which request.
    pub id: RequestId,
}

impl Command {
    /// The request it speaks of.
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
