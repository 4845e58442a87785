//! A request as the original's clients know it.

use placet_core::{Actor, Auth, DecisionWord, OPEN_REVIEWER, Request, Role, State as Life, Time};
use serde::Serialize;
use serde_json::{Map, Value};

/// Who reads it. The words are the same, but what an agent reads is what it then does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// The agent, or whoever may be the agent.
    Agent,
    /// A reviewer, who is told what was decided.
    Reviewer,
}

impl View {
    /// By id, without a key, comes the decorator that will act on what it reads.
    pub(super) fn of(actor: &Actor) -> Self {
        if actor.role == Role::Agent || actor.auth == Auth::Open { Self::Agent } else { Self::Reviewer }
    }
}

/// The record of the original, field by field.
#[derive(Debug, Serialize)]
pub(super) struct Approval<'a> {
    id: String,
    session_id: &'a str,
    invocation_id: Option<&'a Value>,
    function_call_id: Option<&'a Value>,
    app_name: &'a str,
    user_id: &'a str,
    agent_name: &'a str,
    tool_name: &'a str,
    message: &'a str,
    payload: Map<String, Value>,
    response_schema: Map<String, Value>,
    risk_level: &'a str,
    status: &'static str,
    created_at: String,
    decided_at: Option<String>,
    decided_by: Option<String>,
    decision_notes: Option<String>,
    escalated_to: Option<String>,
}

impl<'a> Approval<'a> {
    /// The request as it stands at this moment.
    pub(super) fn of(request: &'a Request, view: View, now: Time) -> Self {
        let content = request.content.as_deref();
        let context = content.map(|content| &content.context);
        let field = |name: &str| context.and_then(|context| context.get(name));
        let text = |name: &str| field(name).and_then(Value::as_str).unwrap_or_default();
        let schema = field("response_schema").and_then(Value::as_object);
        let told = told(request, view, now);
        let arguments = content.and_then(|content| content.body.arguments());
        let arguments = if told.status == "approved" { request.effective_arguments() } else { arguments };
        Self {
            id: request.group.clone().unwrap_or_else(|| request.id.to_string()),
            session_id: &request.session,
            invocation_id: field("invocation_id"),
            function_call_id: field("call_id"),
            app_name: text("app_name"),
            user_id: text("user_id"),
            agent_name: text("agent_name"),
            tool_name: request.tool.as_deref().unwrap_or_default(),
            message: content.and_then(|content| content.summary.as_deref()).unwrap_or_default(),
            payload: arguments.cloned().unwrap_or_default(),
            response_schema: schema.cloned().unwrap_or_default(),
            risk_level: field("risk_level").and_then(Value::as_str).unwrap_or("medium"),
            status: told.status,
            created_at: naive(request.created_at),
            decided_at: request.decision.as_ref().map(|decision| naive(decision.at)),
            decided_by: decided_by(request),
            decision_notes: told.notes,
            escalated_to: told.escalated_to,
        }
    }
}

/// The status of a request for reviewers, for filters.
pub(super) fn status(request: &Request, now: Time) -> &'static str {
    told(request, View::Reviewer, now).status
}

/// The name that an agent gave itself.
pub(super) fn agent_name(request: &Request) -> Option<&str> {
    request.content.as_ref()?.context.get("agent_name")?.as_str()
}

struct ShownDecision {
    status: &'static str,
    notes: Option<String>,
    escalated_to: Option<String>,
}

/// Fail closed: whatever is not an approval of what the reader would run is something else.
fn told(request: &Request, view: View, now: Time) -> ShownDecision {
    let decision = request.decision.as_ref();
    let reason = decision.and_then(|decision| decision.reason.clone());
    let plain = |status| ShownDecision { status, notes: reason.clone(), escalated_to: None };
    match (request.state_at(now), decision) {
        // Others are asked, and the agent goes on waiting for them.
        (Life::Pending, _) if !request.asked.is_empty() => ShownDecision {
            status: if view == View::Agent { "pending" } else { "escalated" },
            escalated_to: Some(request.asked.join(", ")),
            ..plain("")
        },
        (Life::Pending, _) => plain("pending"),
        (Life::Approved, Some(decision)) if decision.by.is_empty() => {
            ShownDecision { notes: Some(request.verdict.reasons.join("; ")), ..plain("approved") }
        }
        (Life::Approved, Some(decision)) if decision.word == DecisionWord::Edit && view == View::Agent => {
            if takes_edits(request) {
                plain("approved")
            } else {
                instead(request, reason.as_deref())
            }
        }
        (Life::Approved, _) => plain("approved"),
        (Life::Denied, Some(decision)) if decision.by.is_empty() => {
            ShownDecision { notes: Some(request.verdict.reasons.join("; ")), ..plain("rejected") }
        }
        (Life::Denied, Some(decision)) => {
            match decision.claimed.as_ref().and_then(|claimed| claimed.escalated_to.clone()) {
                Some(to) => {
                    ShownDecision { escalated_to: Some(to).filter(|to| !to.is_empty()), ..plain("escalated") }
                }
                None => plain("rejected"),
            }
        }
        (Life::Expired, _) => {
            ShownDecision { notes: Some("Nobody decided in time.".to_owned()), ..plain("expired") }
        }
        _ => plain("rejected"),
    }
}

fn takes_edits(request: &Request) -> bool {
    let context = request.content.as_ref().map(|content| &content.context);
    context.and_then(|context| context.get("accepts_edits")) == Some(&Value::Bool(true))
}

/// The decorator runs what it asked with, whatever was approved. So it must not run, and its model is told what to ask for.
fn instead(request: &Request, reason: Option<&str>) -> ShownDecision {
    let arguments = request.effective_arguments().cloned().map(Value::Object).unwrap_or_default();
    let mut notes = format!(
        "A reviewer said yes to this with other arguments, and this client would have run the ones it asked with. Ask again with {arguments}."
    );
    if let Some(reason) = reason {
        notes.push_str(" Reviewer's notes: ");
        notes.push_str(reason);
    }
    ShownDecision { status: "rejected", notes: Some(notes), escalated_to: None }
}

/// Who decided. A name that a client without a key gave is a name that somebody typed.
fn decided_by(request: &Request) -> Option<String> {
    let decision = request.decision.as_ref()?;
    if let Some(grant) = request.granted().filter(|_| decision.by.is_empty()) {
        return Some(grant.whose());
    }
    if decision.by.is_empty() {
        return Some(format!("policy rule {}", request.verdict.rule));
    }
    let claimed = decision.claimed.as_ref().and_then(|claimed| claimed.reviewer.as_deref());
    let name = |name: &String| match claimed {
        Some(claimed) if name == OPEN_REVIEWER => format!("{name} (said to be {claimed})"),
        _ => name.clone(),
    };
    Some(decision.by.iter().map(name).collect::<Vec<_>>().join(", "))
}

/// A time as the original writes it: in UTC, without saying so.
fn naive(time: Time) -> String {
    time.to_string().trim_end_matches('Z').to_owned()
}
