//! The record: what every read, stream and door sees of a request.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Auth, DecisionWord, Digest, Display, GrantUsed, InputSpec, Kind, Needs, Origin, RecordCard, ReportStatus,
    RequestId, Risk, State, Step, StepDecision, Time, Together, UnverifiedReviewer, Verdict,
};

mod view;

pub use view::RecordView;

/// A request as the wire shows it. Every field the agent set is there, null when empty.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Record {
    /// Its identifier.
    #[cfg_attr(feature = "openapi", schema(example = "req_0698d3r3kvtg0i8s0c1g60o30c"))]
    pub id: RequestId,
    /// One more with every ledger entry about it.
    pub version: u32,
    /// What is asked for.
    pub kind: Kind,
    /// Where it stands.
    pub state: State,
    /// Who asks.
    pub agent: String,
    /// The agent's session.
    pub session: String,
    /// The door it came by, unless it is REST: `a2a` for the desk, `a2a/NAMESPACE/AGENT` for an agent behind the
    /// proxy. The server sets it, so it is true even where the context is only stated by the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What the door adds to its name, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// action: the tool.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub tool: Option<String>,
    /// action: what was proposed. What will run is `decision.arguments` after an edit, and what `claim` returns.
    #[cfg_attr(feature = "openapi", schema(required = true, value_type = Option<Object>))]
    pub arguments: Option<Map<String, Value>>,
    /// action: JSON Schema that replacement arguments must fit.
    #[cfg_attr(feature = "openapi", schema(required = true, value_type = Value))]
    pub arguments_schema: Option<Value>,
    /// plan: what it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// plan: the steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<Step>>,
    /// plan: whether reviewers may edit and reorder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub can_modify: Option<bool>,
    /// plan: the agent's estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_duration: Option<String>,
    /// input: the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// input: the type of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<InputSpec>,
    /// input: whether an empty answer is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// input: a suggestion for the reviewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Value))]
    pub default: Option<Value>,
    /// confirmation: what is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// confirmation: more about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// confirmation: the word on the yes button.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_label: Option<String>,
    /// confirmation: the word on the no button.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_label: Option<String>,
    /// Where the call comes from.
    #[cfg_attr(feature = "openapi", schema(required = true, value_type = Option<Object>))]
    pub context: Option<Map<String, Value>>,
    /// The agent's words: untrusted.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub summary: Option<String>,
    /// The person behind the agent.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub on_behalf_of: Option<String>,
    /// The pause it belongs to.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub group: Option<String>,
    /// The salt of the digest.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub nonce: Option<String>,
    /// Digest of what the agent asked.
    pub digest: Digest,
    /// Computed risk.
    pub risk: Risk,
    /// Which decisions are offered.
    pub allowed: Vec<DecisionWord>,
    /// Whether approval gives a permit to claim; without one `approved` is final.
    pub claimable: bool,
    /// What policy said.
    pub verdict: Verdict,
    /// Whose yes is needed.
    pub needs: Needs,
    /// Live votes, one per person.
    pub votes: Vec<VoteRecord>,
    /// A replacement that is being voted on: vote on its digest.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub proposal: Option<ProposalRecord>,
    /// Who was asked by name.
    pub asked: Vec<String>,
    /// The outcome.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub decision: Option<DecisionRecord>,
    /// When it was made.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Time,
    /// Deciding must happen before this.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub expires_at: Time,
    /// Claiming must happen before this.
    #[cfg_attr(feature = "openapi", schema(required = true, value_type = Option<String>, format = DateTime))]
    pub claim_by: Option<Time>,
    /// Reporting should happen before this.
    #[cfg_attr(feature = "openapi", schema(required = true, value_type = Option<String>, format = DateTime))]
    pub report_by: Option<Time>,
    /// The claim.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub claim: Option<ClaimRecord>,
    /// The result.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub outcome: Option<OutcomeRecord>,
    /// The page of this request.
    pub url: String,
    /// Equal on requests that ask for the same call; for reviewers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same: Option<String>,
    /// The card, for reviewers: whole where this one request is read, one line of it in lists and streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<RecordCard>,
    /// The exact text to show; for reviewers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<Display>,
    /// Requests that wait together with it, if there are at least two. For reviewers who read this one record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
    /// The permit, when it was claimed in the same call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permit: Option<String>,
}

/// One reviewer's word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VoteRecord {
    /// Who.
    pub by: String,
    /// What they said.
    pub vote: DecisionWord,
    /// About what.
    pub digest: Digest,
    /// When.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Time,
    /// How they proved who they are.
    pub auth: Auth,
}

/// A replacement that is being voted on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProposalRecord {
    /// Its author.
    pub by: String,
    /// `edit`, `respond`, or `approve` with step decisions.
    pub decision: DecisionWord,
    /// The needs for a vote on it.
    pub digest: Digest,
    /// When.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Time,
    /// Whole replacement arguments.
    #[cfg_attr(feature = "openapi", schema(required = true, value_type = Option<Object>))]
    pub arguments: Option<Map<String, Value>>,
    /// The answer.
    #[cfg_attr(feature = "openapi", schema(required = true, value_type = Value))]
    pub answer: Option<Value>,
    /// Step decisions in order.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub steps: Option<Vec<StepDecision>>,
}

/// The outcome of the votes, or of policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DecisionRecord {
    /// What was decided.
    pub decision: DecisionWord,
    /// By whom; empty when policy or a grant decided.
    pub by: Vec<String>,
    /// The grant that let it pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantUsed>,
    /// Why.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub reason: Option<String>,
    /// The arguments that will run, after an edit.
    #[cfg_attr(feature = "openapi", schema(required = true, value_type = Option<Object>))]
    pub arguments: Option<Map<String, Value>>,
    /// On what exactly.
    pub digest: Digest,
    /// The answer.
    #[cfg_attr(feature = "openapi", schema(required = true, value_type = Value))]
    pub answer: Option<Value>,
    /// Step decisions in the order approved.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub steps: Option<Vec<StepDecision>>,
    /// When.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Time,
    /// The reviewer that the client of a door without keys names: untrusted text, no proof of identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<UnverifiedReviewer>,
}

/// The claim of the permit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClaimRecord {
    /// By which agent.
    pub by: String,
    /// When.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Time,
}

/// The result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OutcomeRecord {
    /// Succeeded or failed.
    pub status: ReportStatus,
    /// The executor's digest of the result.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub result_digest: Option<String>,
    /// What the executor or the reviewer wrote.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub note: Option<String>,
    /// When.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Time,
    /// The reviewer who resolved it, if the executor did not report.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub resolved_by: Option<String>,
}
