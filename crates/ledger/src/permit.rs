//! Checks that a claimed permit is for this very call. Every program does this before it runs anything.

use placet_core::{Action, Body, DecisionWord, Digest, Kind, Record, State};
use serde_json::{Map, Value};

use crate::{
    canonical::{CanonicalError, canonical_string},
    digests::Parts,
};

/// The call that a program wants to run.
#[derive(Debug, Clone, Copy)]
pub struct IntendedCall<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its arguments.
    pub arguments: &'a Map<String, Value>,
}

/// The answer to a claim.
#[derive(Debug, Clone, Copy)]
pub struct ClaimAnswer<'a> {
    /// The permit.
    pub permit: &'a str,
    /// What to run.
    pub arguments: &'a Map<String, Value>,
    /// The digest of what was approved, if the answer has one.
    pub digest: Option<Digest>,
    /// Whether the call will run confined.
    pub confined: bool,
}

/// Why a permit must not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PermitMismatch {
    /// There is no permit.
    #[error("it was not claimed here")]
    NoPermit,
    /// Its state is not one in which anything may run.
    #[error("it is {0}, which is not a yes")]
    NotApproved(State),
    /// Another kind of request, or another tool.
    #[error("it is about another tool")]
    OtherTool,
    /// The record asks for other arguments than this program.
    #[error("it is about other arguments")]
    OtherArguments,
    /// An approval without a decision.
    #[error("it has no decision")]
    NoDecision,
    /// A decision that lets nothing run.
    #[error("it was decided with `{0}`")]
    NotInFavour(DecisionWord),
    /// The claim returned other arguments than the decision approved.
    #[error("its permit is for other arguments than those approved")]
    OtherPermit,
    /// It was allowed confined and would run free, or the reverse.
    #[error("it would not run as it was allowed: confined, or free")]
    Confined,
    /// A digest does not fit what it stands for.
    #[error("its digest does not fit what it says")]
    WrongDigest,
}

impl From<CanonicalError> for PermitMismatch {
    /// A body without a canonical form has no digest.
    fn from(_: CanonicalError) -> Self {
        Self::WrongDigest
    }
}

/// Checks that a permit is for the call (if it is known), the approval and the digest. Returns whether an edit
/// changed the arguments. Digests are computed here, from the record itself.
pub fn check_permit(
    record: &Record,
    wanted: Option<&IntendedCall<'_>>,
    granted: &ClaimAnswer<'_>,
) -> Result<bool, PermitMismatch> {
    if granted.permit.is_empty() {
        return Err(PermitMismatch::NoPermit);
    }
    if record.verdict.confine.is_some() != granted.confined {
        return Err(PermitMismatch::Confined);
    }
    if !matches!(record.state, State::Approved | State::Claimed) {
        return Err(PermitMismatch::NotApproved(record.state));
    }
    let tool =
        record.tool.as_deref().filter(|_| record.kind == Kind::Action).ok_or(PermitMismatch::OtherTool)?;
    let proposed = record.arguments.as_ref().ok_or(PermitMismatch::OtherArguments)?;
    if let Some(wanted) = wanted {
        if wanted.tool != tool {
            return Err(PermitMismatch::OtherTool);
        }
        if !equal(wanted.arguments, proposed)? {
            return Err(PermitMismatch::OtherArguments);
        }
    }
    let decision = record.decision.as_ref().ok_or(PermitMismatch::NoDecision)?;
    let approved = match (decision.decision, &decision.arguments) {
        (DecisionWord::Approve, None) => proposed,
        (DecisionWord::Edit, Some(edited)) => edited,
        (DecisionWord::Approve | DecisionWord::Edit, _) => return Err(PermitMismatch::OtherPermit),
        (word @ (DecisionWord::Deny | DecisionWord::Respond), _) => {
            return Err(PermitMismatch::NotInFavour(word));
        }
    };
    if !equal(approved, granted.arguments)? {
        return Err(PermitMismatch::OtherPermit);
    }
    let digest = action_digest(record, approved)?;
    let fits = digest == decision.digest
        && granted.digest.is_none_or(|granted| granted == digest)
        && action_digest(record, proposed)? == record.digest;
    if !fits {
        return Err(PermitMismatch::WrongDigest);
    }
    Ok(!equal(approved, proposed)?)
}

/// Equal as the bytes that are hashed: `1.0` and `1` are the same number.
fn equal(one: &Map<String, Value>, other: &Map<String, Value>) -> Result<bool, CanonicalError> {
    Ok(one == other || canonical_string(one)? == canonical_string(other)?)
}

/// The digest of the action on this record with these arguments, computed from what the record says.
pub fn action_digest(record: &Record, arguments: &Map<String, Value>) -> Result<Digest, CanonicalError> {
    let body = Body::Action(Action {
        tool: record.tool.clone().unwrap_or_default(),
        arguments: arguments.clone(),
        arguments_schema: record.arguments_schema.clone(),
    });
    let empty = Map::new();
    let parts = Parts {
        id: record.id,
        agent: &record.agent,
        session: &record.session,
        body: &body,
        context: record.context.as_ref().unwrap_or(&empty),
        summary: None,
        on_behalf_of: record.on_behalf_of.as_deref(),
        created_at: record.created_at,
        nonce: record.nonce.as_deref().unwrap_or_default(),
    };
    Ok(parts.canonical()?.digest)
}
