//! The requests of one task of the desk, as the task.

use std::sync::Arc;

use placet_a2a::{
    Artifact, Message, Part, Role, Status, Task, TaskState,
    desk::{Dialect, KAGENT, OWN},
};
use placet_core::{Body, DecisionWord, Request, State as Life, Time};
use serde_json::{Map, Value, json};

use super::{
    settings::{Desk, Pause},
    told::{Cards, told},
};

/// Where a request of the desk comes from: written into its context, so that digests cover it and people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lineage {
    /// The agent whose task it is: `placet` and `desk` for the desk's own.
    pub(super) namespace: String,
    pub(super) agent: String,
    /// The task it belongs to.
    pub(super) task: String,
    /// The conversation.
    pub(super) context: String,
    /// The message that asked.
    pub(super) message: String,
    /// In which language, by its name.
    pub(super) dialect: String,
    /// Which of the task's items it is, from 0, and of how many.
    pub(super) item: usize,
    pub(super) items: usize,
    /// What the asker calls it.
    pub(super) id: Option<String>,
}

/// The field of a request's context that holds it.
pub(super) const FIELD: &str = "a2a";

impl Lineage {
    pub(super) fn write(&self) -> Value {
        json!({
            "namespace": self.namespace, "agent": self.agent, "context": self.context, "task": self.task,
            "message": self.message, "dialect": self.dialect, "item": self.item, "items": self.items,
            "id": self.id,
        })
    }

    pub(super) fn of(request: &Request) -> Option<Self> {
        let words = request.content.as_ref()?.context.get(FIELD)?.as_object()?;
        let text = |name: &str| words.get(name).and_then(Value::as_str).map(str::to_owned);
        let count = |name: &str| usize::try_from(words.get(name)?.as_u64()?).ok();
        Some(Self {
            namespace: text("namespace")?,
            agent: text("agent")?,
            task: text("task")?,
            context: text("context")?,
            message: text("message")?,
            dialect: text("dialect")?,
            item: count("item")?,
            items: count("items")?,
            id: text("id"),
        })
    }

    /// The language of the desk that it was asked in.
    fn dialect(&self) -> Option<Dialect> {
        Dialect::of_name(&self.dialect)
    }
}

/// The task these requests are the items of. All must be of one task; nothing if they are of none.
pub(super) fn task(requests: &[Arc<Request>], desk: Desk, cards: Cards<'_>, now: Time) -> Option<Task> {
    let mut items: Vec<(Lineage, &Request)> =
        requests.iter().filter_map(|request| Some((Lineage::of(request)?, &**request))).collect();
    items.sort_by_key(|(lineage, request)| (lineage.item, request.id));
    // Asked twice in a race, the first one counts: both have the same idempotency key, so there is only one.
    items.dedup_by_key(|(lineage, _)| lineage.item);
    let (first, _) = items.first()?;
    let state = state(&items, desk, now);
    let changed = items.iter().map(|(_, request)| changed(request)).max()?;
    let generation = items.iter().map(|(_, request)| u64::from(request.version)).sum();
    let message = Message {
        id: format!("{}-{generation}", first.task),
        context: Some(first.context.clone()),
        task: Some(first.task.clone()),
        role: Role::Agent,
        parts: said(&items, state, cards, now),
        metadata: pause(&items, state, now),
        extensions: extensions(first.dialect(), state),
        reference_tasks: Vec::new(),
    };
    let artifacts = if state.is_terminal() {
        items.iter().map(|(lineage, request)| artifact(lineage, request, now)).collect()
    } else {
        Vec::new()
    };
    Some(Task {
        id: first.task.clone(),
        context: first.context.clone(),
        status: Status { state, message: Some(message), at: Some(changed.to_string()) },
        artifacts,
        history: Vec::new(),
        metadata: Map::from_iter([("placet".to_owned(), json!({"generation": generation}))]),
        generation,
    })
}

/// What a yes is: nothing else is one.
fn is_yes(state: Life) -> bool {
    matches!(
        state,
        Life::Approved | Life::Answered | Life::Claimed | Life::Succeeded | Life::Failed | Life::Unknown
    )
}

fn state(items: &[(Lineage, &Request)], desk: Desk, now: Time) -> TaskState {
    let wanted = items.first().map_or(0, |(lineage, _)| lineage.items);
    let states = || items.iter().map(|(_, request)| request.state_at(now));
    if states().all(|state| state == Life::Cancelled) {
        TaskState::Canceled
    } else if items.len() < wanted {
        // The rest is being asked, by the same call or by its repetition.
        TaskState::Working
    } else if states().any(|state| state == Life::Pending) {
        match desk.pause {
            Pause::InputRequired => TaskState::InputRequired,
            Pause::AuthRequired => TaskState::AuthRequired,
            Pause::Working => TaskState::Working,
        }
    } else if desk.completed_always || states().all(is_yes) {
        TaskState::Completed
    } else {
        TaskState::Rejected
    }
}

fn changed(request: &Request) -> Time {
    let decided = request.decision.as_ref().map(|decision| decision.at);
    decided.unwrap_or(request.created_at).max(request.created_at)
}

/// The word of an item for whoever asked: `approve`, `reject`, `answer`, `expired`, `cancelled`, or nothing yet.
fn word(request: &Request, now: Time) -> Option<&'static str> {
    match request.state_at(now) {
        Life::Pending => None,
        Life::Answered => Some("answer"),
        Life::Expired | Life::Lapsed => Some("expired"),
        Life::Cancelled => Some("cancelled"),
        state if is_yes(state) => Some("approve"),
        _ => Some("reject"),
    }
}

/// What the status says: a sentence for people, the card of each request that waits, and where to look.
fn said(items: &[(Lineage, &Request)], state: TaskState, cards: Cards<'_>, now: Time) -> Vec<Part> {
    if state.is_terminal() {
        return vec![Part::text(verdict(items, now))];
    }
    let mut text = match items.len() {
        1 => "Waiting for a person to decide.".to_owned(),
        count => format!("Waiting for people to decide {count} things."),
    };
    let cards = told(items.iter().map(|(_, request)| *request), cards, now);
    if !cards.is_empty() {
        text.extend(["\n\n", &cards]);
    }
    let mut parts = vec![Part::text(text)];
    parts.extend(items.iter().map(|(lineage, request)| {
        Part::data(json!({
            "type": "approval_pending",
            "approval_id": request.id,
            "id": lineage.id,
            "digest": request.current_digest(),
            "version": request.version,
            "expires_at": request.expires_at,
            "url": format!("/r/{}", request.id),
            "decision": word(request, now),
        }))
    }));
    parts
}

/// One line that begins with the word that matters.
fn verdict(items: &[(Lineage, &Request)], now: Time) -> String {
    let lines = items.iter().map(|(_, request)| {
        let decision = request.decision.as_ref();
        let by = decision.map(|decision| decision.by.join(", ")).filter(|by| !by.is_empty());
        let granted = request.granted().map(|grant| grant.whose());
        let by = by.or(granted).map_or_else(|| " by policy".to_owned(), |by| format!(" by {by}"));
        let reason = decision.and_then(|decision| decision.reason.as_deref());
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        match word(request, now) {
            Some("approve") if decision.is_some_and(|decision| decision.word == DecisionWord::Edit) => {
                format!("APPROVED with other arguments{by}{reason}")
            }
            Some("approve") => format!("APPROVED{by}{reason}"),
            Some("answer") => format!("ANSWERED{by}{reason}"),
            Some("expired") => "REJECTED: nobody decided in time".to_owned(),
            Some("cancelled") => "REJECTED: it was withdrawn".to_owned(),
            _ => format!("REJECTED{by}{reason}"),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// For callers of kagent, the pause in the words of its extension: they draw the card from it.
fn pause(items: &[(Lineage, &Request)], state: TaskState, now: Time) -> Map<String, Value> {
    let kagent = items.iter().all(|(lineage, _)| lineage.dialect() == Some(Dialect::Kagent));
    if !kagent || !state.is_interrupted() {
        return Map::new();
    }
    let calls: Vec<Value> = items
        .iter()
        .filter(|(_, request)| request.state_at(now) == Life::Pending)
        .filter_map(|(lineage, request)| {
            let Body::Action(action) = &request.content.as_ref()?.body else { return None };
            let call = request.content.as_ref()?.context.get("call_id");
            Some(json!({"id": lineage.id, "call_id": call, "name": action.tool, "args": action.arguments}))
        })
        .collect();
    if calls.is_empty() {
        return Map::new();
    }
    Map::from_iter([(
        KAGENT.to_owned(),
        json!({"type": "tool_approval_request", "hint": "", "tools": calls}),
    )])
}

fn extensions(dialect: Option<Dialect>, state: TaskState) -> Vec<String> {
    match dialect {
        Some(Dialect::Kagent) if state.is_interrupted() => vec![KAGENT.to_owned()],
        Some(Dialect::Own) => vec![OWN.to_owned()],
        _ => Vec::new(),
    }
}

/// What became of one item.
fn artifact(lineage: &Lineage, request: &Request, now: Time) -> Artifact {
    let decision = request.decision.as_ref();
    let content = decision.and_then(|decision| decision.content.as_ref());
    let word = word(request, now);
    let yes = matches!(word, Some("approve"));
    let told = json!({
        "type": "approval_response",
        "approval_id": request.id,
        "id": lineage.id,
        "decision": word,
        "approved": yes || word == Some("answer"),
        "edited": yes && decision.is_some_and(|decision| decision.word == DecisionWord::Edit),
        "decided_by": decision.map(|decision| &decision.by),
        "decided_at": decision.map(|decision| decision.at),
        "reason": decision.and_then(|decision| decision.reason.as_deref()),
        // What may run, and nothing where nothing may.
        "args": yes.then(|| request.effective_arguments()).flatten(),
        "answer": content.and_then(|content| content.answer.as_ref()),
        "steps": content.and_then(|content| content.steps.as_ref()),
        "digest": decision.map_or_else(|| request.current_digest(), |decision| decision.digest),
    });
    let mut metadata = Map::new();
    match lineage.dialect() {
        Some(Dialect::Kagent) => {
            let approval = json!({
                "id": lineage.id, "approved": yes,
                "rejection_reason": decision.and_then(|decision| decision.reason.as_deref()),
            });
            metadata.insert(
                KAGENT.to_owned(),
                json!({"type": "tool_approval_response", "approvals": [approval]}),
            );
        }
        Some(Dialect::Agentstack) => {
            let word = if yes { "approve" } else { "reject" };
            metadata.insert(placet_a2a::desk::AGENTSTACK.to_owned(), json!({"decision": word}));
        }
        Some(Dialect::Digested) => {
            let context = request.content.as_ref().map(|content| &content.context);
            let word = if yes { "approve" } else { "deny" };
            metadata.insert(
                placet_a2a::desk::DIGESTED_KEY.to_owned(),
                json!({
                    "requestId": lineage.id, "decision": word,
                    "digest": context.and_then(|context| context.get("digest")),
                    "comment": decision.and_then(|decision| decision.reason.as_deref()),
                }),
            );
        }
        Some(Dialect::Own | Dialect::AgentKit) | None => {}
    }
    let name =
        if lineage.items == 1 { "decision".to_owned() } else { format!("decision-{}", lineage.item + 1) };
    Artifact {
        id: name.clone(),
        name: Some(name),
        description: None,
        parts: vec![Part::text(verdict(&[(lineage.clone(), request)], now)), Part::data(told)],
        metadata,
        extensions: Vec::new(),
    }
}
