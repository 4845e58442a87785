//! Writes a record: from a request, without copying what the agent wrote, or from a record that was read.

use std::{borrow::Cow, ops::ControlFlow};

use serde::Serialize;
use serde_json::{Map, Value};

use super::{ClaimRecord, DecisionRecord, OutcomeRecord, ProposalRecord, Record, VoteRecord};
use crate::{
    Body, DecisionWord, Digest, Directory, Display, GrantUsed, InputSpec, Kind, Needs, Origin, RecordCard,
    Request, RequestId, Risk, State, Step, Time, Together, Verdict, Vote, display,
};

/// A borrowed record: the same JSON as [`Record`] without copying what the agent wrote.
///
/// This is the only place that writes the JSON. [`Record`] goes through it, so the two cannot differ.
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
    own: KindFields<'a>,
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
    /// The card; for reviewers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<Cow<'a, RecordCard>>,
    /// The exact text to show; for reviewers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display: Option<Display>,
    /// Requests that wait together with it. For reviewers who read this one record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
    /// The permit, when it was claimed in the same call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permit: Option<String>,
}

/// The fields of one kind. Those of an action are on every record.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum KindFields<'a> {
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
    /// The same, without votes that are void.
    pub fn view_in(&self, now: Time, directory: &Directory) -> RecordView<'_> {
        let counts = |vote: &&Vote| self.state != State::Pending || directory.stands(vote);
        let votes = self.votes.iter().filter(counts).map(VoteRecord::of).collect();
        RecordView { votes, ..self.view(now) }
    }

    /// The record at this moment: a passed deadline counts even if the timer has not run yet.
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
            view: None,
            display: None,
            together: None,
            permit: None,
        }
    }

    /// The grant that let it through, if one did.
    pub fn granted(&self) -> Option<GrantUsed> {
        self.grant.map(|id| GrantUsed { id, by: self.granted_by.clone() })
    }

    /// Every value the agent wrote, safe to show.
    pub fn display_fields(&self) -> Vec<crate::DisplayField> {
        display::fields(self)
    }

    /// Visits the same values in the same order, without drawing them, until the visitor stops.
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
            view: self.view.as_ref().map(Cow::Borrowed),
            display: self.display.clone(),
            together: self.together.clone(),
            permit: self.permit.clone(),
        }
    }

    /// The fields of this kind, null where empty. None of them after erasure.
    fn own(&self) -> KindFields<'_> {
        if let (Some(title), Some(steps), Some(can_modify)) = (&self.title, &self.steps, self.can_modify) {
            return KindFields::Plan {
                title,
                steps,
                can_modify,
                estimated_duration: self.estimated_duration.as_deref(),
            };
        }
        if let (Some(question), Some(input), Some(required)) = (&self.question, &self.input, self.required) {
            return KindFields::Input { question, input, required, default: self.default.as_ref() };
        }
        match (&self.message, &self.confirm_label, &self.cancel_label) {
            (Some(message), Some(confirm_label), Some(cancel_label)) => KindFields::Confirmation {
                message,
                details: self.details.as_deref(),
                confirm_label,
                cancel_label,
            },
            _ => KindFields::None {},
        }
    }
}

fn own(body: Option<&Body>) -> KindFields<'_> {
    match body {
        None | Some(Body::Action(_)) => KindFields::None {},
        Some(Body::Plan(plan)) => KindFields::Plan {
            title: &plan.title,
            steps: &plan.steps,
            can_modify: plan.can_modify,
            estimated_duration: plan.estimated_duration.as_deref(),
        },
        Some(Body::Input(input)) => KindFields::Input {
            question: &input.question,
            input: &input.input,
            required: input.required,
            default: input.default.as_ref(),
        },
        Some(Body::Confirmation(confirmation)) => KindFields::Confirmation {
            message: &confirmation.message,
            details: confirmation.details.as_deref(),
            confirm_label: &confirmation.confirm_label,
            cancel_label: &confirmation.cancel_label,
        },
    }
}
