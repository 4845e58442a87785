//! Why a command was refused: values with stable codes, never storage errors.

use crate::GrantId;

/// A field that does not fit, named by a JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Invalid {
    /// JSON pointer to the field, empty for the whole body.
    pub pointer: String,
    /// What is wrong and how to correct it.
    pub message: String,
}

impl Invalid {
    /// A field that does not fit.
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }
}

/// Why a command was refused. The request is left as it is, or has just expired.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such request for this caller. A request of another principal looks the same.
    #[error("no such request")]
    NotFound,
    /// The decision, the edit or the answer does not fit the request.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The caller's key was revoked, or its role does not allow this.
    #[error("the key was revoked or does not have the role this needs")]
    Unauthorized,
    /// Somebody decided before.
    #[error("the request is already decided")]
    AlreadyDecided,
    /// The deadline for deciding has passed.
    #[error("the request expired before it was decided")]
    Expired,
    /// The agent withdrew it.
    #[error("the request was cancelled")]
    Cancelled,
    /// A reviewer took the approval back.
    #[error("the approval was revoked")]
    Revoked,
    /// The digest is not the current one of the request.
    #[error("the digest is not the current one of the request: read the request again, then decide")]
    StaleDigest,
    /// Digest, needs or state changed since that version.
    #[error("the request has changed since that version: read it again, then decide")]
    StaleVersion,
    /// What was shown is not what a yes would run.
    #[error("what was shown is not what a yes would run: read the request again, then decide")]
    StaleDisplay,
    /// Four eyes: this person owns the agent, ordered the action or wrote the edit.
    #[error(
        "four eyes are needed: the owner of the agent, the person it acts for and the author of the edit cannot approve"
    )]
    SelfApproval,
    /// The decision needs a stronger proof of presence.
    #[error("approving this needs the step-up `{0}`")]
    StepUpRequired(String),
    /// This person's vote does not count here.
    #[error("this person's vote does not count here: the request asks for other people or teams")]
    NotEligible,
    /// Approving would open a folder to this agent, which only its owner and admins may do.
    #[error(
        "approving would open a folder to `{0}`, which only the agent's owner and admins may do: nothing was opened"
    )]
    NotOwner(String),
    /// The permit is held by another claimant.
    #[error("the permit is already claimed")]
    AlreadyClaimed,
    /// There is nothing to claim, revoke or cancel.
    #[error("the request is not approved, or its approval has no permit")]
    NotApproved,
    /// The deadline for claiming has passed.
    #[error("the approval was not claimed in time")]
    Lapsed,
    /// The claimant cannot run it as it was allowed.
    #[error(
        "it was allowed confined, which only the hook program of an agent that is marked for it can do: ask again"
    )]
    Unconfined,
    /// The permit is another one than the claimed one.
    #[error("that is not the permit of this request")]
    WrongPermit,
    /// Nothing is claimed, so there is nothing to report.
    #[error("the request is not claimed")]
    NotClaimed,
    /// Another outcome was reported before.
    #[error("another outcome is already on record")]
    AlreadyReported,
    /// Only an unknown outcome can be resolved.
    #[error("only a request whose outcome is unknown can be resolved")]
    NotUnknown,
    /// Policy denies what an edit would run.
    #[error("the policy denies that edit, by the rule `{rule}`: {}", reasons.join("; "))]
    PolicyDenied {
        /// By which rule.
        rule: String,
        /// Why.
        reasons: Vec<String>,
    },
    /// Somebody pressed the stop switch.
    #[error("{covered} is frozen, by `{by}`: {reason}. An admin can lift it")]
    Frozen {
        /// What is stopped, in words.
        covered: String,
        /// Who said stop.
        by: String,
        /// Why.
        reason: String,
    },
    /// While the clock is behind the ledger, deadlines cannot be judged.
    #[error(
        "the server's clock is behind its ledger, so nothing is approved or claimed until the clock is corrected"
    )]
    ClockBehind,
    /// The policy in force has changed since the request was judged. The gate judges again.
    #[error("the policy has just changed: try again")]
    PolicyChanged,
    /// Another command of the same atomic unit was refused.
    #[error("not applied: another decision of the same atomic batch was refused")]
    NotApplied,
    /// Too late to revoke the approval. The grant that was given with it stays in force.
    #[error("{refusal}; the grant {grant} that was given with it stays: revoke that as well")]
    GrantStays {
        /// Why it is too late.
        refusal: Box<Self>,
        /// What stays.
        grant: GrantId,
    },
    /// The agent has as many pending requests as it may have.
    #[error("the agent has {0} pending requests, which is its limit: wait for decisions or cancel some")]
    PendingCap(u64),
}

impl Refusal {
    /// The stable code of the problem document.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Invalid(_) => "invalid",
            Self::Unauthorized => "unauthorized",
            Self::AlreadyDecided => "already_decided",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Revoked => "revoked",
            Self::StaleDigest => "stale_digest",
            Self::StaleVersion => "stale_version",
            Self::StaleDisplay => "stale_display",
            Self::SelfApproval => "self_approval",
            Self::StepUpRequired(_) => "step_up_required",
            Self::NotEligible => "not_eligible",
            Self::NotOwner(_) => "not_owner",
            Self::AlreadyClaimed => "already_claimed",
            Self::NotApproved => "not_approved",
            Self::Lapsed => "lapsed",
            Self::Unconfined => "unconfined",
            Self::WrongPermit => "wrong_permit",
            Self::NotClaimed => "not_claimed",
            Self::AlreadyReported => "already_reported",
            Self::NotUnknown => "not_unknown",
            Self::PolicyDenied { .. } => "policy_denied",
            Self::Frozen { .. } => "frozen",
            Self::ClockBehind => "clock_behind",
            Self::PolicyChanged => "policy_changed",
            Self::NotApplied => "not_applied",
            Self::GrantStays { refusal, .. } => refusal.code(),
            Self::PendingCap(_) => "pending_cap",
        }
    }
}
