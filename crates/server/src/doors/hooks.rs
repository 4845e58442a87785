//! The HTTP hook of Claude Code: the same translation as `placet hook claude-code`, spoken over HTTP.
//!
//! Claude Code lets a call through when its HTTP hook answers with an error or not at all. So every call that arrives here
//! is answered with 200 and a decision, whatever went wrong; what never arrives cannot be answered, which is why the
//! command hook is the one to use.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{FromRequestParts as _, State as AxumState},
    response::Response,
    routing::post,
};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use placet_core::{Actor, Record, ReportStatus, RequestId, State as Life, door};
use placet_gate::{GateError, Idempotency, Until};
use placet_hooks::{
    Agent, Answer, ApprovedCall, Call, FinishedCall, HookMessage, LARGEST, Mode, Options, Output, blocked,
    read, render,
};
use placet_ledger::canonical;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    State,
    call::{Caller, Params},
    later::later,
    problem::Problem,
};

/// How long a person may take: less than Claude Code's own patience with hooks.
const WAIT: Duration = Duration::from_mins(9);
/// The longest that can be asked for; the hook's `timeout` in Claude Code must be longer.
const LONGEST: Duration = Duration::from_hours(12);
/// How many permits are remembered until their call has run.
const REMEMBERED: usize = 10_000;
const AGENT: Agent = Agent::ClaudeCode;

/// How the hook waits, and what a failure means.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct HookParams {
    /// How long a person may take, such as `9m`. Must be less than the `timeout` of the hook.
    wait: Option<String>,
    /// `gate`, or `relay` for PermissionRequest: then no decision leaves it to the person at the terminal.
    mode: Option<String>,
}

/// The door's one address.
pub(crate) fn routes() -> Router<State> {
    Router::new().route("/v1/hooks/claude-code", post(claude_code))
}

/// Answers a hook of Claude Code: PreToolUse or PermissionRequest, and what follows a call.
async fn claude_code(AxumState(state): AxumState<State>, request: Request<Body>) -> Response {
    let (mut parts, body) = request.into_parts();
    let refused =
        |mode, problem: &Problem| said(&blocked(AGENT, None, mode, &format!("Placet: {}", problem.detail())));
    let params = Params::<HookParams>::from_request_parts(&mut parts, &state).await;
    let (mode, wait) = match params.and_then(|Params(params)| params.read()) {
        Ok(read) => read,
        Err(problem) => return refused(Mode::Gate, &problem),
    };
    let Caller(actor) = match Caller::from_request_parts(&mut parts, &state).await {
        Ok(caller) => caller,
        Err(problem) => return refused(mode, &problem),
    };
    let bytes = match body_of(body, &state).await {
        Ok(bytes) => bytes,
        Err(reason) => return said(&blocked(AGENT, None, mode, &format!("Placet: {reason}"))),
    };
    match read(AGENT, None, &bytes) {
        Err(fault) => said(&blocked(AGENT, None, mode, &format!("Placet: {fault}"))),
        Ok(HookMessage::Asks(call)) => later(async move {
            let asking = Asking { state: &state, actor: &actor, call: &call, mode, wait };
            said(&render(&call, mode, &asking.answer().await))
        }),
        Ok(HookMessage::Ran(ran)) => {
            reported(&state, &actor, &ran).await;
            said(&Output::default())
        }
        Ok(HookMessage::Stopped { session, .. }) => {
            state.hooks.answered(&actor, &session, None);
            said(&Output::default())
        }
    }
}

impl HookParams {
    fn read(&self) -> Result<(Mode, Duration), Problem> {
        let mode = match self.mode.as_deref() {
            None | Some("gate") => Mode::Gate,
            Some("relay") => Mode::Relay,
            Some(_) => {
                return Err(Problem::unprocessable("invalid_query", "", "`mode` is `gate` or `relay`"));
            }
        };
        let wait = self.wait.as_deref().map_or(Ok(WAIT), |text| crate::call::duration(text, LONGEST))?;
        Ok((mode, wait))
    }
}

/// What the hook's output means over HTTP: the JSON is all there is.
fn said(output: &Output) -> Response {
    let answer: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|_| serde_json::json!({}));
    crate::v1::json(StatusCode::OK, &answer)
}

async fn body_of(body: Body, state: &State) -> Result<Vec<u8>, &'static str> {
    let collected = Limited::new(body, LARGEST).collect();
    match tokio::time::timeout(state.settings.body_timeout, collected).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes().to_vec()),
        Ok(Err(_)) => Err("the body is too large, or ended before it was complete"),
        Err(_) => Err("the body took too long to arrive"),
    }
}

/// One call that waits for its answer.
struct Asking<'a> {
    state: &'a State,
    actor: &'a Actor,
    call: &'a Call,
    mode: Mode,
    wait: Duration,
}

impl Asking<'_> {
    async fn answer(&self) -> Answer {
        if self.mode == Mode::Relay && !self.call.event.is_prompt() {
            return Answer::Block("Placet: `mode=relay` is for PermissionRequest".to_owned());
        }
        match self.decided().await {
            Ok(answer) => answer,
            Err(reason) if self.mode == Mode::Relay => Answer::Pass(Some(format!("Placet: {reason}"))),
            Err(reason) => Answer::Block(format!("Placet: {reason}. Nothing was run")),
        }
    }

    async fn decided(&self) -> Result<Answer, String> {
        let (state, actor, call) = (self.state, self.actor, self.call);
        // Over HTTP nothing shows which version of the agent calls, and whether it runs edited arguments.
        let expires_in = Some(format!("{}s", self.wait.as_secs().max(1)));
        let options = Options { expires_in, on_behalf_of: None, edits: false };
        let asking = call.asking(&options);
        let create = asking.create();
        // Without an id, equal calls cannot be told from a call that is asked for again: each one is asked for.
        let key = call.call_id.is_some().then(|| asking.key(0));
        let body = canonical(&create).map_err(|error| error.to_string())?;
        let idempotency = key.map(|key| {
            let mut scope = Sha256::new();
            for part in [actor.name.as_str(), "/v1/hooks/claude-code", &key] {
                scope.update((part.len() as u64).to_be_bytes());
                scope.update(part);
            }
            Idempotency { scope: scope.finalize().into(), body: Sha256::digest(&body).into() }
        });
        let deadline = Instant::now() + self.wait;
        let elsewhere = state.hooks.asking(actor, call);
        let refused = |error: GateError| Problem::gate(error, state.gate.now()).detail().to_owned();
        let submitted =
            state.gate.submit_from(door::HOOK, actor, create, idempotency).await.map_err(refused)?;
        let mut request = submitted.request;
        while request.state_at(state.gate.now()) == Life::Pending {
            let left = deadline.saturating_duration_since(Instant::now()).min(state.settings.wait_max);
            if left.is_zero() {
                // Nobody will hear of a decision that comes later.
                let _ = state
                    .gate
                    .cancel(actor, request.id, Some("nobody decided in time".to_owned()), None)
                    .await;
                return Err("nobody decided in time".to_owned());
            }
            request = tokio::select! {
                waited = state.gate.wait(actor, request.id, Until::Decided, left) => {
                    waited.map_err(refused)?.request
                }
                () = elsewhere.token.cancelled(), if self.mode == Mode::Relay => {
                    let reason = "answered at the terminal".to_owned();
                    let _ = state.gate.cancel(actor, request.id, Some(reason), None).await;
                    return Ok(Answer::Pass(None));
                }
            };
        }
        if self.mode == Mode::Relay && request.state_at(state.gate.now()) == Life::Cancelled {
            return Ok(Answer::Pass(None));
        }
        if request.state_at(state.gate.now()) != Life::Approved {
            let record = self.record(&request)?;
            return Ok(placet_hooks::refusal(&record));
        }
        let claimed = state.gate.claim(actor, request.id, None, None).await.map_err(refused)?;
        let (record, none) = (self.record(&claimed.request)?, serde_json::Map::new());
        let arguments = claimed.request.effective_arguments().unwrap_or(&none);
        let digest = claimed.request.effective_digest();
        let approved = ApprovedCall::check(call, &record, Some(&claimed.permit), arguments, Some(digest))?;
        state.hooks.remember(actor, call, claimed.request.id, claimed.permit);
        Ok(Answer::Allow(approved))
    }

    fn record(&self, request: &placet_core::Request) -> Result<Record, String> {
        let view =
            serde_json::to_value(request.view(self.state.gate.now())).map_err(|error| error.to_string())?;
        serde_json::from_value(view).map_err(|error| error.to_string())
    }
}

/// What this node knows between two calls of one hook: permits of calls that are running, until they are reported, and
/// questions that are being asked at a terminal as well. Lost with the process: outcomes are then `unknown`, and a question
/// that was answered elsewhere expires.
#[derive(Debug, Default)]
pub(crate) struct Running(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    permits: HashMap<(String, String, String), (RequestId, String)>,
    order: VecDeque<(String, String, String)>,
    asked: Vec<OpenQuestion>,
}

/// One question that is open.
#[derive(Debug, Clone)]
struct OpenQuestion {
    agent: String,
    session: String,
    same: String,
    subagent: bool,
    token: CancellationToken,
}

/// Keeps a question on the list as long as somebody waits for its answer.
struct Elsewhere<'a> {
    running: &'a Running,
    token: CancellationToken,
}

impl Drop for Elsewhere<'_> {
    fn drop(&mut self) {
        // Cancelled tokens leave the list; nobody listens to this one any more.
        self.token.cancel();
        self.running.lock().asked.retain(|asked| !asked.token.is_cancelled());
    }
}

impl Running {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn asking(&self, actor: &Actor, call: &Call) -> Elsewhere<'_> {
        let token = CancellationToken::new();
        self.lock().asked.push(OpenQuestion {
            agent: actor.name.clone(),
            session: call.session.clone(),
            same: call.same(),
            subagent: call.context.contains_key("agent_id"),
            token: token.clone(),
        });
        Elsewhere { running: self, token }
    }

    /// The person at the terminal was quicker: with one call, or, when the turn is over, with all of the main agent's.
    fn answered(&self, actor: &Actor, session: &str, ran: Option<&FinishedCall>) {
        let same = ran.map(FinishedCall::same);
        for asked in &self.lock().asked {
            let this = same.as_ref().map_or(!asked.subagent, |same| asked.same == *same);
            if this && asked.agent == actor.name && asked.session == session {
                asked.token.cancel();
            }
        }
    }

    fn remember(&self, actor: &Actor, call: &Call, id: RequestId, permit: String) {
        let Some(call_id) = &call.call_id else { return };
        let key = (actor.name.clone(), call.session.clone(), call_id.clone());
        let mut inner = self.lock();
        if inner.order.len() >= REMEMBERED
            && let Some(oldest) = inner.order.pop_front()
        {
            inner.permits.remove(&oldest);
        }
        inner.order.push_back(key.clone());
        inner.permits.insert(key, (id, permit));
    }

    fn take(&self, actor: &Actor, ran: &FinishedCall) -> Option<(RequestId, String)> {
        let key = (actor.name.clone(), ran.session.clone(), ran.call_id.clone()?);
        self.lock().permits.remove(&key)
    }
}

/// Says what became of a call, if its permit is remembered.
async fn reported(state: &State, actor: &Actor, ran: &FinishedCall) {
    state.hooks.answered(actor, &ran.session, Some(ran));
    let Some((id, permit)) = state.hooks.take(actor, ran) else { return };
    let status = if ran.worked { ReportStatus::Succeeded } else { ReportStatus::Failed };
    if let Err(error) = state.gate.report(actor, id, &permit, status, None, None, None).await {
        tracing::warn!(%error, request = %id, "the outcome of a hook's call was not reported");
    }
}
