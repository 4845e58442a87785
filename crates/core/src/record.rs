//! The record: what every read, stream and door sees of a request.

use std::{borrow::Cow, ops::ControlFlow};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Auth, Body, Claimed, DecisionWord, Digest, Directory, Display, GrantUsed, InputSpec, Kind, Needs, Origin,
    ReportStatus, Request, RequestId, Risk, State, Step, StepDecision, Time, Together, Verdict, Vote,
    display,
};

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
    /// The door it came in by, where that is not REST: `a2a` for the desk, `a2a/NAMESPACE/AGENT` for an agent behind the
    /// proxy. The server says it, so it is true also where the context is only claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What that door is, where it is more than a name.
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
    /// What became of it.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub outcome: Option<OutcomeRecord>,
    /// The page of this request.
    pub url: String,
    /// Equal on requests that ask for the same call; for reviewers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same: Option<String>,
    /// The exact text to show; for reviewers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<Display>,
    /// What waits together with it, while at least two do; for reviewers who read this one record.
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
    /// What a vote on it must carry.
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
    /// By whom; empty when policy or a standing approval decided.
    pub by: Vec<String>,
    /// The standing approval that let it pass.
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
    /// What the client of a door without keys said about it: untrusted text, never who it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<Claimed>,
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

/// What became of it.
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
    /// The reviewer who settled it, if the executor never did.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub resolved_by: Option<String>,
}

/// A borrowed record: the same JSON as [`Record`] without copying what the agent wrote.
///
/// This is the only place where the shape is written: a [`Record`] is written through it, so the two cannot differ.
#[derive(Debug, Clone, Serialize)]
pub struct RecordView<'a> {
    id: RequestId,
    version: u32,
    kind: Kind,
    state: State,
    agent: &'a str,
    session: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Cow<'a, Origin>>,
    tool: Option<&'a str>,
    arguments: Option<&'a Map<String, Value>>,
    arguments_schema: Option<&'a Value>,
    #[serde(flatten)]
    own: Own<'a>,
    context: Option<&'a Map<String, Value>>,
    summary: Option<&'a str>,
    on_behalf_of: Option<&'a str>,
    group: Option<&'a str>,
    nonce: Option<&'a str>,
    digest: Digest,
    risk: Risk,
    allowed: &'a [DecisionWord],
    claimable: bool,
    verdict: &'a Verdict,
    needs: &'a Needs,
    votes: Cow<'a, [VoteRecord]>,
    proposal: Option<Cow<'a, ProposalRecord>>,
    asked: &'a [String],
    decision: Option<Cow<'a, DecisionRecord>>,
    created_at: Time,
    expires_at: Time,
    claim_by: Option<Time>,
    report_by: Option<Time>,
    claim: Option<Cow<'a, ClaimRecord>>,
    outcome: Option<Cow<'a, OutcomeRecord>>,
    url: Cow<'a, str>,
    /// Equal on requests that ask for the same call; for reviewers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same: Option<String>,
    /// The exact text to show; for reviewers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display: Option<Display>,
    /// What waits together with it; for reviewers who read this one record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
    /// The permit, when it was claimed in the same call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permit: Option<String>,
}

/// The fields that only one kind has. An action's stand on every record.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum Own<'a> {
    None {},
    Plan { title: &'a str, steps: &'a [Step], can_modify: bool, estimated_duration: Option<&'a str> },
    Input { question: &'a str, input: &'a InputSpec, required: bool, default: Option<&'a Value> },
    Confirmation { message: &'a str, details: Option<&'a str>, confirm_label: &'a str, cancel_label: &'a str },
}

impl VoteRecord {
    fn of(vote: &Vote) -> Self {
        Self { by: vote.by.clone(), vote: vote.vote, digest: vote.digest, at: vote.at, auth: vote.auth }
    }
}

impl Request {
    /// The same, without the votes that count no more because of who cast them how.
    pub fn view_in(&self, now: Time, directory: &Directory) -> RecordView<'_> {
        let counts = |vote: &&Vote| self.state != State::Pending || directory.stands(vote);
        let votes = self.votes.iter().filter(counts).map(VoteRecord::of).collect();
        RecordView { votes, ..self.view(now) }
    }

    /// The record as it stands at this moment: a passed deadline counts, whether or not the timer came by.
    pub fn view(&self, now: Time) -> RecordView<'_> {
        let content = self.content.as_deref();
        let (needs, expires_at) = self.asked_at(now);
        let action = match content.map(|content| &content.body) {
            Some(Body::Action(action)) => Some(action),
            _ => None,
        };
        RecordView {
            id: self.id,
            version: self.version,
            kind: self.kind,
            state: self.state_at(now),
            agent: &self.agent,
            session: &self.session,
            source: self.door().written(),
            origin: self.door().origin().map(Cow::Owned),
            tool: self.tool.as_deref(),
            arguments: action.map(|action| &action.arguments),
            arguments_schema: action.and_then(|action| action.arguments_schema.as_ref()),
            own: own(content.map(|content| &content.body)),
            context: content.map(|content| &content.context),
            summary: content.and_then(|content| content.summary.as_deref()),
            on_behalf_of: self.on_behalf_of.as_deref(),
            group: self.group.as_deref(),
            nonce: content.map(|content| content.nonce.as_str()),
            digest: self.digest,
            risk: self.risk,
            allowed: &self.allowed,
            claimable: self.permit,
            verdict: &self.verdict,
            needs,
            votes: self.votes.iter().map(VoteRecord::of).collect(),
            proposal: self.proposal.as_ref().map(|proposal| {
                let content = proposal.content.as_deref().cloned().unwrap_or_default();
                Cow::Owned(ProposalRecord {
                    by: proposal.by.clone(),
                    decision: proposal.word,
                    digest: proposal.digest,
                    at: proposal.at,
                    arguments: content.arguments,
                    answer: content.answer,
                    steps: content.steps,
                })
            }),
            asked: &self.asked,
            decision: self.decision.as_ref().map(|decision| {
                let content = decision.content.as_deref().cloned().unwrap_or_default();
                Cow::Owned(DecisionRecord {
                    decision: decision.word,
                    by: decision.by.clone(),
                    grant: self.granted(),
                    reason: decision.reason.clone(),
                    arguments: content.arguments,
                    digest: decision.digest,
                    answer: content.answer,
                    steps: content.steps,
                    at: decision.at,
                    claimed: decision.claimed.clone(),
                })
            }),
            created_at: self.created_at,
            expires_at,
            claim_by: self.claim_by,
            report_by: self.report_by,
            claim: self
                .claim
                .as_ref()
                .map(|claim| Cow::Owned(ClaimRecord { by: self.agent.clone(), at: claim.at })),
            outcome: self.outcome.as_ref().map(|outcome| {
                Cow::Owned(OutcomeRecord {
                    status: outcome.status,
                    result_digest: outcome.result_digest.clone(),
                    note: outcome.note.clone(),
                    at: outcome.at,
                    resolved_by: outcome.resolved_by.clone(),
                })
            }),
            url: format!("/r/{}", self.id).into(),
            same: None,
            display: None,
            together: None,
            permit: None,
        }
    }

    /// The standing yes that let it through, if one did.
    pub fn granted(&self) -> Option<GrantUsed> {
        self.grant.map(|id| GrantUsed { id, by: self.granted_by.clone() })
    }

    /// Every value the agent wrote, safe to show.
    pub fn display_fields(&self) -> Vec<crate::DisplayField> {
        display::fields(self)
    }

    /// Leads a visitor along the same values in the same order, without drawing them, until it breaks off.
    pub fn visit<'a>(
        &'a self,
        visit: &mut dyn FnMut(&[crate::Segment<'a>], crate::Leaf<'a>) -> ControlFlow<()>,
    ) {
        let _ = display::walk(self, visit);
    }
}

impl Serialize for Record {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.view().serialize(serializer)
    }
}

impl Record {
    fn view(&self) -> RecordView<'_> {
        RecordView {
            id: self.id,
            version: self.version,
            kind: self.kind,
            state: self.state,
            agent: &self.agent,
            session: &self.session,
            source: self.source.as_deref(),
            origin: self.origin.as_ref().map(Cow::Borrowed),
            tool: self.tool.as_deref(),
            arguments: self.arguments.as_ref(),
            arguments_schema: self.arguments_schema.as_ref(),
            own: self.own(),
            context: self.context.as_ref(),
            summary: self.summary.as_deref(),
            on_behalf_of: self.on_behalf_of.as_deref(),
            group: self.group.as_deref(),
            nonce: self.nonce.as_deref(),
            digest: self.digest,
            risk: self.risk,
            allowed: &self.allowed,
            claimable: self.claimable,
            verdict: &self.verdict,
            needs: &self.needs,
            votes: Cow::Borrowed(&self.votes),
            proposal: self.proposal.as_ref().map(Cow::Borrowed),
            asked: &self.asked,
            decision: self.decision.as_ref().map(Cow::Borrowed),
            created_at: self.created_at,
            expires_at: self.expires_at,
            claim_by: self.claim_by,
            report_by: self.report_by,
            claim: self.claim.as_ref().map(Cow::Borrowed),
            outcome: self.outcome.as_ref().map(Cow::Borrowed),
            url: Cow::Borrowed(&self.url),
            same: self.same.clone(),
            display: self.display.clone(),
            together: self.together.clone(),
            permit: self.permit.clone(),
        }
    }

    /// The fields of this kind, null where empty; none of them once the content was erased.
    fn own(&self) -> Own<'_> {
        if let (Some(title), Some(steps), Some(can_modify)) = (&self.title, &self.steps, self.can_modify) {
            return Own::Plan {
                title,
                steps,
                can_modify,
                estimated_duration: self.estimated_duration.as_deref(),
            };
        }
        if let (Some(question), Some(input), Some(required)) = (&self.question, &self.input, self.required) {
            return Own::Input { question, input, required, default: self.default.as_ref() };
        }
        match (&self.message, &self.confirm_label, &self.cancel_label) {
            (Some(message), Some(confirm_label), Some(cancel_label)) => {
                Own::Confirmation { message, details: self.details.as_deref(), confirm_label, cancel_label }
            }
            _ => Own::None {},
        }
    }
}

fn own(body: Option<&Body>) -> Own<'_> {
    match body {
        None | Some(Body::Action(_)) => Own::None {},
        Some(Body::Plan(plan)) => Own::Plan {
            title: &plan.title,
            steps: &plan.steps,
            can_modify: plan.can_modify,
            estimated_duration: plan.estimated_duration.as_deref(),
        },
        Some(Body::Input(input)) => Own::Input {
            question: &input.question,
            input: &input.input,
            required: input.required,
            default: input.default.as_ref(),
        },
        Some(Body::Confirmation(confirmation)) => Own::Confirmation {
            message: &confirmation.message,
            details: confirmation.details.as_deref(),
            confirm_label: &confirmation.confirm_label,
            cancel_label: &confirmation.cancel_label,
        },
    }
}
