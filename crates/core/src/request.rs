//! A request: metadata that lives as long as the ledger, and content that can be erased.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Auth, Body, Confine, DecisionWord, Digest, Effect, Escalation, GrantId, KeyId, Kind, Needs, ReportStatus,
    RequestId, Risk, SessionId, State, StepDecision, Time, TrustTerms, UnverifiedReviewer,
    event::{is_plain, plain},
};

/// A request. Fields marked `skip` come from the payloads table and may have been erased.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Its identifier.
    pub id: RequestId,
    /// The ledger entry that created it.
    pub seq: u64,
    /// One more with every ledger entry about it.
    pub version: u32,
    /// The version at which digest, needs or state last changed: decisions on older ones are stale.
    pub material: u32,
    /// Where it stands.
    pub state: State,
    /// What is asked for.
    pub kind: Kind,
    /// The agent that asks: the principal, whichever of its keys was used.
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
    /// Which decisions are offered.
    pub allowed: Vec<DecisionWord>,
    /// Whether approval gives a permit to claim.
    pub permit: bool,
    /// Digest of what the agent asked.
    pub digest: Digest,
    /// Live votes, one per person.
    pub votes: Vec<Vote>,
    /// A replacement that is being voted on.
    pub proposal: Option<Proposal>,
    /// The outcome, once there is one.
    pub decision: Option<Decision>,
    /// The people or teams that were asked by name, after a reassignment.
    pub asked: Vec<String>,
    /// When it was made.
    pub created_at: Time,
    /// Deciding must happen before this.
    pub expires_at: Time,
    /// How long claiming may take after approval.
    pub claim_window: Duration,
    /// How long reporting may take after the claim.
    pub report_window: Duration,
    /// Claiming must happen before this.
    pub claim_by: Option<Time>,
    /// Reporting should happen before this.
    pub report_by: Option<Time>,
    /// The claim, once there is one.
    pub claim: Option<ClaimState>,
    /// The result.
    pub outcome: Option<OutcomeState>,
    /// The door it came by.
    #[serde(default = "plain", skip_serializing_if = "is_plain")]
    pub source: String,
    /// The risk that the agent stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<Risk>,
    /// Who is asked next, in order. Four eyes and step-up never get weaker along the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalation: Vec<Escalation>,
    /// Who was asked before and did not decide in time. They can still deny.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Needs>,
    /// What its approval teaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<TrustTerms>,
    /// The grant that let it through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantId>,
    /// The person who gave the grant. Version 0.2 did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted_by: Option<String>,
    /// What the agent wrote. `None` once erased.
    #[serde(skip)]
    pub content: Option<Arc<Content>>,
}

/// What the agent wrote, as it was hashed.
#[derive(Debug, Clone, PartialEq)]
pub struct Content {
    /// The kind's own fields.
    pub body: Body,
    /// Where the call comes from.
    pub context: Map<String, Value>,
    /// The agent's words.
    pub summary: Option<String>,
    /// Salts the digest, so that erased content cannot be guessed back.
    pub nonce: String,
}

/// The verdict of policy, at once and without a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Verdict {
    /// Allow, hold or deny.
    pub effect: Effect,
    /// If the call is allowed: how it must be confined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confine: Option<Confine>,
    /// The rule that decided.
    pub rule: String,
    /// The policy's version, by hash.
    pub policy: String,
    /// Why, for people.
    pub reasons: Vec<String>,
}

/// One reviewer's vote on the digest they saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Vote {
    /// Who.
    pub by: String,
    /// What they said.
    pub vote: DecisionWord,
    /// About what.
    pub digest: Digest,
    /// When.
    pub at: Time,
    /// How the reviewer proved who they are.
    pub auth: Auth,
    /// Digest of the card that was shown to them, when the page said so. Absent in votes of version 0.2.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<Digest>,
    /// Digest of the text that was shown to them, when a page of an earlier version said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<Digest>,
    /// The key it was cast with. Absent in votes of version 0.2.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyId>,
    /// The session it was cast in. Absent in votes of version 0.2.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
}

/// A replacement that is being voted on: arguments, an answer, or step decisions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// Its author, who with four eyes cannot approve it.
    pub by: String,
    /// What it was: `edit`, `respond`, or `approve` with step decisions.
    pub word: DecisionWord,
    /// Digest of the request with the replacement in place.
    pub digest: Digest,
    /// When.
    pub at: Time,
    /// The version whose payload holds the content.
    pub version: u32,
    /// The replacement itself. `None` once erased.
    #[serde(skip)]
    pub content: Option<Arc<ProposalContent>>,
}

/// The replacement itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProposalContent {
    /// Whole replacement arguments of an action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// The answer to a question. `Some(Null)` is the answer "nothing".
    #[serde(default, skip_serializing_if = "Option::is_none", with = "some_value")]
    pub answer: Option<Value>,
    /// Step decisions in the order approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<StepDecision>>,
}

/// Keeps `Some(null)` apart from an absent field: an optional question may be answered with nothing.
mod some_value {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    #[expect(clippy::ref_option, reason = "the signature that serde calls")]
    pub(super) fn serialize<S: Serializer>(value: &Option<Value>, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
        Value::deserialize(deserializer).map(Some)
    }
}

/// The outcome when enough votes are in, or when policy decided alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// What was decided.
    pub word: DecisionWord,
    /// By whom; empty when policy decided.
    pub by: Vec<String>,
    /// What exactly was decided on.
    pub digest: Digest,
    /// When.
    pub at: Time,
    /// The version of the deciding entry, whose payload holds the reason.
    pub version: u32,
    /// The version whose payload holds the replacement, if one was approved.
    pub content_version: Option<u32>,
    /// The approved replacement, if there was one.
    #[serde(skip)]
    pub content: Option<Arc<ProposalContent>>,
    /// The deciding reviewer's reason.
    #[serde(skip)]
    pub reason: Option<String>,
    /// The reviewer that the client of a door without keys names.
    #[serde(skip)]
    pub claimed: Option<UnverifiedReviewer>,
}

/// The claim of the permit: secrets only as hashes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimState {
    /// When.
    pub at: Time,
    /// SHA-256 of the permit.
    pub permit: Digest,
    /// SHA-256 of the claimant's secret, if it sent one.
    pub claimant: Option<Digest>,
}

/// The result of an executed action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutcomeState {
    /// Succeeded or failed.
    pub status: ReportStatus,
    /// The executor's digest of the result.
    pub result_digest: Option<String>,
    /// When it was reported.
    pub at: Time,
    /// The reviewer who resolved an unknown outcome, if one did.
    pub resolved_by: Option<String>,
    /// The version whose payload holds the note.
    pub version: u32,
    /// What the executor or the reviewer wrote.
    #[serde(skip)]
    pub note: Option<String>,
}

impl Request {
    /// The digest that a vote must carry now: the proposal's if there is one, else the request's.
    pub fn current_digest(&self) -> Digest {
        self.proposal.as_ref().map_or(self.digest, |proposal| proposal.digest)
    }

    /// The next deadline that matters in this state.
    pub fn deadline(&self) -> Option<Time> {
        match self.state {
            State::Pending => Some(self.expires_at),
            State::Approved if self.permit => self.claim_by,
            State::Claimed => self.report_by,
            _ => None,
        }
    }

    /// The state after the next deadline, if it has passed. Pending again if more people are asked.
    pub fn overdue(&self, now: Time) -> Option<State> {
        self.deadline().filter(|deadline| now >= *deadline)?;
        match self.state {
            State::Pending if !self.escalation.is_empty() => Some(State::Pending),
            State::Pending => Some(State::Expired),
            State::Approved => Some(State::Lapsed),
            State::Claimed => Some(State::Unknown),
            _ => None,
        }
    }

    /// The state a reader sees: never `pending` past its deadline, even if the timer has not run yet.
    pub fn state_at(&self, now: Time) -> State {
        match self.state {
            State::Pending if now >= self.asked_at(now).1 => State::Expired,
            State::Pending => State::Pending,
            state => self.overdue(now).unwrap_or(state),
        }
    }

    /// Whose yes is needed now, and until when. Each escalation step counts from the deadline before it, even if the
    /// timer has not run yet.
    pub fn asked_at(&self, now: Time) -> (&Needs, Time) {
        let mut standing = (&self.needs, self.expires_at);
        if self.state == State::Pending {
            for next in &self.escalation {
                if now < standing.1 {
                    break;
                }
                standing = (&next.needs, standing.1.plus(next.expires_in));
            }
        }
        standing
    }

    /// Whether it still waits for a decision or a claim, so that the same create can be answered with it. Without a
    /// permit, nothing would tell whether the approval was used.
    pub fn is_open(&self, now: Time) -> bool {
        match self.state_at(now) {
            State::Pending => true,
            State::Approved => self.permit,
            _ => false,
        }
    }

    /// Whether nothing can change any more.
    pub fn is_final(&self) -> bool {
        match self.state {
            State::Pending | State::Claimed | State::Unknown => false,
            State::Approved => !self.permit,
            _ => true,
        }
    }

    /// The arguments that will run: the approved replacement, or what was proposed. `None` once erased.
    pub fn effective_arguments(&self) -> Option<&Map<String, Value>> {
        match &self.decision {
            // If the replacement was erased, the original must not run in its place.
            Some(Decision { word: DecisionWord::Edit, content, .. }) => content.as_ref()?.arguments.as_ref(),
            _ => self.content.as_ref()?.body.arguments(),
        }
    }

    /// The digest of what will run.
    pub fn effective_digest(&self) -> Digest {
        self.decision.as_ref().map_or(self.digest, |decision| decision.digest)
    }
}
