//! One call of an agent as a request to the gate, with a key that makes repeated asking safe.

use data_encoding::HEXLOWER;
use placet_core::{Create, DecisionWord, Kind};
use placet_ledger::canonical;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::{Edits, Event};

/// A call that an agent wants to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The hook that asks. It sets the dialect of the answer.
    pub event: Event,
    /// The agent's session.
    pub session: String,
    /// The tool, as the agent names it.
    pub tool: String,
    /// What it is called with.
    pub input: Map<String, Value>,
    /// The agent's id of this call, the same if the agent asks again.
    pub call_id: Option<String>,
    /// The turn it belongs to, where there is no id.
    pub turn: Option<String>,
    /// How the agent treats calls without an answer, if it says so.
    pub permission_mode: Option<String>,
    /// Where the call comes from. Part of the request, so it holds only what stays the same when the call is asked
    /// for again.
    pub context: Map<String, Value>,
}

/// Options of the installed hook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// How long deciding may take, such as `540s`.
    pub expires_in: Option<String>,
    /// The person on whose behalf the agent works.
    pub on_behalf_of: Option<String>,
    /// This agent was seen to run what it is handed. Otherwise it may drop edited arguments and run its own.
    pub edits: bool,
}

/// A call as a request.
#[derive(Debug, Clone)]
pub struct CallRequest<'a> {
    call: &'a Call,
    options: &'a Options,
}

/// The longest session name a request takes.
const SESSION: usize = 200;

impl Call {
    /// Adds the options of the installed hook.
    pub fn asking<'a>(&'a self, options: &'a Options) -> CallRequest<'a> {
        CallRequest { call: self, options }
    }

    /// The session as requests name it.
    pub fn session_name(&self) -> String {
        session_name(&self.session)
    }

    /// Equal for all calls of this tool with these arguments.
    pub fn same(&self) -> String {
        same(&self.tool, &self.input)
    }

    /// The group of calls that can wait at the same time: one session, one sub-agent and, if known, one turn. An
    /// agent waits for its calls, so those that wait at once were made at once.
    pub fn group(&self) -> String {
        let subagent = self.context.get("agent_id").and_then(Value::as_str).unwrap_or_default();
        // Claude Code asks for a deferred call again in a later turn. It must be the same request.
        let turn = self.turn.as_deref().filter(|_| self.event != Event::ClaudePreToolUse);
        let parts = [self.event.agent().as_str(), &self.session, subagent, turn.unwrap_or_default()];
        let name: String = hash(&parts.map(str::as_bytes)).chars().take(32).collect();
        format!("hook-{name}")
    }
}

/// The session as requests name it: itself, or its hash when it is too long.
pub(crate) fn session_name(session: &str) -> String {
    if session.len() <= SESSION {
        session.to_owned()
    } else {
        format!("sha256:{}", hash(&[session.as_bytes()]))
    }
}

/// Equal for all calls of one tool with one set of arguments.
pub(crate) fn same(tool: &str, input: &Map<String, Value>) -> String {
    // Strictly read input always has a canonical form. If it had none, no two calls would count as equal.
    let input = canonical(input).unwrap_or_default();
    hash(&[tool.as_bytes(), &input])
}

impl crate::FinishedCall {
    /// Equal for all calls of this tool with these arguments.
    pub fn same(&self) -> String {
        same(&self.tool, &self.input)
    }
}

/// Each part with its length in front, so that no two lists of parts share a hash.
fn hash(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    HEXLOWER.encode(&digest.finalize())
}

impl CallRequest<'_> {
    /// The body of the create call.
    pub fn create(&self) -> Create {
        let Self { call, options } = self;
        let mut create = Create::new(Kind::Action, call.session_name());
        create.tool = Some(call.tool.clone());
        create.arguments = Some(call.input.clone());
        create.context = Some(self.context());
        create.expires_in.clone_from(&options.expires_in);
        create.on_behalf_of.clone_from(&options.on_behalf_of);
        create.group = Some(call.group());
        // What the agent cannot take, or was not seen to take, is not offered to reviewers.
        let edits = options.edits && call.event.edits() != Edits::Never;
        create.allowed = Some(if edits {
            vec![DecisionWord::Approve, DecisionWord::Edit, DecisionWord::Deny]
        } else {
            vec![DecisionWord::Approve, DecisionWord::Deny]
        });
        create
    }

    /// Where the call comes from.
    pub(crate) fn context(&self) -> Map<String, Value> {
        let mut context = self.call.context.clone();
        context.insert("agent".to_owned(), json!(self.call.event.agent().as_str()));
        context.insert("hook".to_owned(), json!(self.call.event.as_str()));
        if let Some(id) = &self.call.call_id {
            context.insert("call_id".to_owned(), json!(id));
        }
        context
    }

    /// The idempotency key. With a call id it is the same however often the agent asks. Without one, equal calls are
    /// told apart by their number.
    pub fn key(&self, occurrence: u32) -> String {
        let Self { call, .. } = self;
        let (agent, event) = (call.event.agent().as_str(), call.event.as_str());
        let occurrence = occurrence.to_be_bytes();
        let hash = match &call.call_id {
            Some(id) => {
                hash(&[b"id", agent.as_bytes(), event.as_bytes(), call.session.as_bytes(), id.as_bytes()])
            }
            None => hash(&[
                b"same",
                agent.as_bytes(),
                event.as_bytes(),
                call.session.as_bytes(),
                call.turn.as_deref().unwrap_or_default().as_bytes(),
                call.same().as_bytes(),
                &occurrence,
            ]),
        };
        format!("hook-{hash}")
    }
}
