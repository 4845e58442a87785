//! What a reviewer sends, and the vote it becomes.

use std::sync::Arc;

use http::StatusCode;
use placet_core::DecisionWord;
use placet_core::{Actor, Directory, Request, Role, UnverifiedReviewer};
use placet_gate::Decision;
use serde_json::{Map, Value};

use super::detail::{Refused, field};
use crate::{State, problem::Problem, v1};

/// The words of the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Approved,
    Rejected,
    Escalated,
}

/// A decision as it was sent.
#[derive(Debug)]
pub(super) struct VoteBody {
    word: Word,
    /// Who the client says decided.
    reviewer: String,
    notes: Option<String>,
    /// Other arguments; none where it was left out or empty.
    payload: Option<Map<String, Value>>,
    escalate_to: Option<String>,
}

impl VoteBody {
    pub(super) fn read(body: Value) -> Result<Self, Refused> {
        let Value::Object(mut body) = body else {
            return Err(Refused::Fields(vec![field("dict_type", "", "Input should be a valid dictionary")]));
        };
        let mut wrong = Vec::new();
        let word = match body.remove("decision") {
            None => Err(field("missing", "decision", "Field required")),
            Some(word) => match word.as_str() {
                Some("approved") => Ok(Word::Approved),
                Some("rejected") => Ok(Word::Rejected),
                Some("escalated") => Ok(Word::Escalated),
                _ => Err(field(
                    "literal_error",
                    "decision",
                    "Input should be 'approved', 'rejected' or 'escalated'",
                )),
            },
        };
        let word = word.map_err(|problem| wrong.push(problem)).ok();
        let reviewer = match body.remove("reviewer_id") {
            Some(Value::String(name)) if name.len() <= UnverifiedReviewer::MOST => Some(name),
            None => {
                wrong.push(field("missing", "reviewer_id", "Field required"));
                None
            }
            Some(_) => {
                wrong.push(field("string_type", "reviewer_id", "Input should be text of at most 200 bytes"));
                None
            }
        };
        let mut optional = |name: &str, most: usize| match body.remove(name) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text.len() <= most => Some(text),
            Some(_) => {
                let message = format!("Input should be text of at most {most} bytes");
                wrong.push(field("string_type", name, &message));
                None
            }
        };
        let (notes, escalate_to) =
            (optional("notes", 8_192), optional("escalate_to", UnverifiedReviewer::MOST));
        let payload = match body.remove("payload") {
            None => None,
            Some(Value::Object(map)) => Some(map).filter(|map| !map.is_empty()),
            Some(_) => {
                wrong.push(field("dict_type", "payload", "Input should be a valid dictionary"));
                None
            }
        };
        if payload.is_some() && word.is_some_and(|word| word != Word::Approved) {
            wrong.push(field("value_error", "payload", "Other arguments go with 'approved' alone"));
        }
        match (word, reviewer) {
            (Some(word), Some(reviewer)) if wrong.is_empty() => {
                Ok(Self { word, reviewer, notes, payload, escalate_to })
            }
            _ => Err(Refused::Fields(wrong)),
        }
    }
}

/// Casts the vote. These clients send no digest of what they saw, so they can only say yes to what was asked in the first
/// place: once somebody has put other arguments on the table, a yes from here is refused.
pub(super) async fn cast(
    state: &State,
    actor: &Actor,
    request: &Request,
    said: VoteBody,
) -> Result<Arc<Request>, Problem> {
    if said.word == Word::Approved && request.proposal.is_some() {
        let detail = "Somebody proposed other arguments meanwhile, and these pages cannot show them: decide it on Placet's own page.";
        return Err(Problem::new(StatusCode::CONFLICT, "stale_digest", detail));
    }
    if said.word == Word::Escalated
        && let Some(to) = known(state, said.escalate_to.as_deref())
    {
        let reassigned = state.gate.reassign(actor, request.id, vec![to], said.notes, None).await;
        return reassigned.map_err(|error| v1::refuse(state, error));
    }
    let asked = request.content.as_ref().and_then(|content| content.body.arguments());
    let arguments = said.payload.filter(|payload| asked != Some(payload));
    let word = match said.word {
        Word::Approved if arguments.is_some() => DecisionWord::Edit,
        Word::Approved => DecisionWord::Approve,
        // Nobody here can be asked instead, so this call is over; its agent hears that somebody else must look at it.
        Word::Rejected | Word::Escalated => DecisionWord::Deny,
    };
    let escalated_to = (said.word == Word::Escalated).then(|| said.escalate_to.unwrap_or_default());
    let decision = Decision {
        reason: said.notes,
        arguments,
        claimed: Some(UnverifiedReviewer { reviewer: Some(said.reviewer), escalated_to }),
        ..Decision::on(request, word)
    };
    state.gate.decide(actor, decision).await.map_err(|error| v1::refuse(state, error))
}

/// The reviewer or team of this name, as a reassignment wants it.
fn known(state: &State, name: Option<&str>) -> Option<String> {
    let name = name?;
    let directory: Arc<Directory> = state.gate.store().directory();
    let team = name.strip_prefix("team:");
    let known = match team {
        Some(team) => directory
            .people
            .values()
            .any(|person| person.roles.contains(&Role::Reviewer) && person.teams.contains(team)),
        None => directory.person(name, Role::Reviewer).is_some(),
    };
    known.then(|| name.to_owned())
}
