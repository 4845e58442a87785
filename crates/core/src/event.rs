//! Events of a request: each is one ledger entry and one new version.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Body, Content, DecisionWord, Digest, Door, Escalation, GrantId, Kind, Needs, ProposalContent,
    ReportStatus, Risk, State, Time, TrustTerms, UnverifiedReviewer, Verdict, Vote, door::REST,
};

/// What happened: metadata and digests only, safe to keep for ever.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Event {
    /// An agent asked.
    #[serde(rename = "request.created")]
    Created(Box<Created>),
    /// Somebody voted, and more votes are needed.
    #[serde(rename = "request.voted")]
    Voted {
        /// The vote.
        vote: Vote,
        /// The replacement it put on the table, which voids earlier votes.
        proposal: Option<ProposalMeta>,
    },
    /// The deciding vote.
    #[serde(rename = "request.decided")]
    Decided {
        /// The vote.
        vote: Vote,
        /// The replacement that this vote proposed and decided at once.
        proposal: Option<ProposalMeta>,
        /// What was decided.
        decision: DecisionWord,
        /// By whom.
        by: Vec<String>,
        /// On what exactly.
        digest: Digest,
        /// Where that leads.
        state: State,
        /// Deadline for claiming.
        claim_by: Option<Time>,
    },
    /// The permit was taken.
    #[serde(rename = "request.claimed")]
    Claimed {
        /// SHA-256 of the permit.
        permit: Digest,
        /// SHA-256 of the claimant's secret.
        claimant: Option<Digest>,
        /// Deadline for reporting.
        report_by: Time,
    },
    /// The executor reported the result.
    #[serde(rename = "request.reported")]
    Reported {
        /// The result.
        status: ReportStatus,
        /// The executor's digest of the result.
        result_digest: Option<String>,
    },
    /// The owner withdrew it.
    #[serde(rename = "request.cancelled")]
    Cancelled {},
    /// A reviewer took the approval back.
    #[serde(rename = "request.revoked")]
    Revoked {},
    /// Other people are asked.
    #[serde(rename = "request.reassigned")]
    Reassigned {
        /// Who.
        to: Vec<String>,
    },
    /// No decision in time, so other people are asked.
    #[serde(rename = "request.escalated")]
    Escalated {
        /// The needs from here on.
        needs: Needs,
        /// The new deadline for deciding.
        expires_at: Time,
        /// The needs before. A deny from those people still counts. Absent in entries of version 0.2.0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Box<Needs>>,
    },
    /// Nobody decided in time.
    #[serde(rename = "request.expired")]
    Expired {},
    /// Nobody claimed in time.
    #[serde(rename = "request.lapsed")]
    Lapsed {},
    /// No report in time, or a restore lost the connection to the executor.
    #[serde(rename = "request.unknown")]
    Unknown {},
    /// A reviewer settled an unknown outcome.
    #[serde(rename = "request.resolved")]
    Resolved {
        /// The result.
        status: ReportStatus,
    },
}

/// An agent asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Created {
    /// What is asked for.
    pub kind: Kind,
    /// Who asks.
    pub agent: String,
    /// The agent's session.
    pub session: String,
    /// The tool of an action.
    pub tool: Option<String>,
    /// The pause it belongs to.
    pub group: Option<String>,
    /// The person behind the agent.
    pub on_behalf_of: Option<String>,
    /// Computed risk.
    pub risk: Risk,
    /// What policy said.
    pub verdict: Verdict,
    /// Whose yes is needed.
    pub needs: Needs,
    /// The decisions on offer.
    pub allowed: Vec<DecisionWord>,
    /// Whether approval gives a permit.
    pub permit: bool,
    /// Digest of what the agent asked.
    pub digest: Digest,
    /// The time that went into the digest.
    pub created_at: Time,
    /// Deadline for deciding.
    pub expires_at: Time,
    /// Time for claiming.
    pub claim_window: Duration,
    /// Time for reporting.
    pub report_window: Duration,
    /// Pending, or approved or denied by policy.
    pub state: State,
    /// Deadline for claiming, when policy approved.
    pub claim_by: Option<Time>,
    /// The door it came by.
    #[serde(default = "plain", skip_serializing_if = "is_plain")]
    pub source: String,
    /// The risk that the agent stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<Risk>,
    /// Who is asked next, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalation: Vec<Escalation>,
    /// What its approval teaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<TrustTerms>,
    /// The grant that let it through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantId>,
    /// The person who gave the grant. Version 0.2 did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted_by: Option<String>,
}

/// The door whose name is left out.
pub(crate) fn plain() -> String {
    REST.to_owned()
}

pub(crate) fn is_plain(source: &str) -> bool {
    Door::named(source).is_plain()
}

/// The verdict on replacement arguments: the request's own policy and the one in force, joined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ruling {
    /// Allow, hold or deny; the policy named is the one in force.
    pub verdict: Verdict,
    /// Computed risk.
    pub risk: Risk,
    /// Whose yes is needed for it.
    pub needs: Needs,
}

/// A proposed replacement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProposalMeta {
    /// Its author.
    pub by: String,
    /// `edit`, `respond`, or `approve` with step decisions.
    pub word: DecisionWord,
    /// Digest of the request with the replacement in place.
    pub digest: Digest,
    /// What policy says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ruling: Option<Box<Ruling>>,
}

/// The erasable part of an event: arguments, context, answers, reasons, notes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Payload {
    /// The kind's own fields, with the event that created the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// Where the call comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Map<String, Value>>,
    /// The agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The salt of the digests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// A replacement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<ProposalContent>,
    /// A reviewer's reason, or why something was withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// An executor's note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The reviewer that the client of a door without keys names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<UnverifiedReviewer>,
}

/// The payload of an event: the content of a new request (shared, never copied), or anything written later.
#[derive(Debug, Clone, PartialEq)]
pub enum EventPayload {
    /// Nothing.
    Nothing,
    /// The content of a new request.
    Content(Arc<Content>),
    /// Anything written later.
    Later(Box<Payload>),
}

impl EventPayload {
    /// Reads a stored payload back. That of a new request has everything: without its nonce no digest would fit.
    pub fn from_payload(kind: Kind, payload: Payload) -> Result<Self, serde_json::Error> {
        let missing = |field: &str| {
            <serde_json::Error as serde::de::Error>::custom(format!("a stored request has no `{field}`"))
        };
        Ok(match payload {
            Payload { body: Some(body), context, summary, nonce, .. } => Self::Content(Arc::new(Content {
                body: Body::from_value(kind, body)?,
                context: context.ok_or_else(|| missing("context"))?,
                summary,
                nonce: nonce.ok_or_else(|| missing("nonce"))?,
            })),
            later => Self::Later(Box::new(later)),
        })
    }

    pub(crate) fn later(payload: Payload) -> Self {
        if payload == Payload::default() { Self::Nothing } else { Self::Later(Box::new(payload)) }
    }

    pub(crate) fn claimed(&self) -> Option<UnverifiedReviewer> {
        match self {
            Self::Later(payload) => payload.claimed.clone(),
            _ => None,
        }
    }

    pub(crate) fn reason(&self) -> Option<String> {
        match self {
            Self::Later(payload) => payload.reason.clone(),
            _ => None,
        }
    }
}

impl Serialize for EventPayload {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields<'a> {
            body: &'a Body,
            context: &'a Map<String, Value>,
            nonce: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            summary: Option<&'a str>,
        }
        match self {
            Self::Nothing => Payload::default().serialize(serializer),
            Self::Later(payload) => payload.serialize(serializer),
            Self::Content(content) => Fields {
                body: &content.body,
                context: &content.context,
                nonce: &content.nonce,
                summary: content.summary.as_deref(),
            }
            .serialize(serializer),
        }
    }
}

impl Event {
    /// The name on the wire: `request.created` and so on.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Created(_) => "request.created",
            Self::Voted { .. } => "request.voted",
            Self::Decided { .. } => "request.decided",
            Self::Claimed { .. } => "request.claimed",
            Self::Reported { .. } => "request.reported",
            Self::Cancelled {} => "request.cancelled",
            Self::Revoked {} => "request.revoked",
            Self::Reassigned { .. } => "request.reassigned",
            Self::Escalated { .. } => "request.escalated",
            Self::Expired {} => "request.expired",
            Self::Lapsed {} => "request.lapsed",
            Self::Unknown {} => "request.unknown",
            Self::Resolved { .. } => "request.resolved",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stored_request_without_its_nonce_or_its_context_is_an_error() {
        let whole = json!({"body": {"tool": "t", "arguments": {}}, "context": {}, "nonce": "n"});
        let read = |payload: Value| {
            EventPayload::from_payload(Kind::Action, serde_json::from_value(payload).unwrap())
        };
        assert!(read(whole.clone()).is_ok());
        for field in ["nonce", "context"] {
            let mut less = whole.clone();
            less.as_object_mut().unwrap().remove(field);
            assert!(read(less).unwrap_err().to_string().contains(field));
        }
    }
}
