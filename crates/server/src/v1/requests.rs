//! Asking, reading, listing.

use std::sync::Arc;

use axum::{
    extract::State as AxumState,
    http::{HeaderMap, HeaderValue},
    response::{IntoResponse, Response},
};
use http::StatusCode;
use placet_core::{
    Actor, Create, HOOK_PROGRAM, Record, Refusal, Request, RequestId, Risk, Row, State as Life, Time, WeakKey,
};
use placet_gate::{Filter, GateError, Order, Until, WaitState, planted};
use placet_ledger::canonical_string;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::{IntoParams, ToSchema};

use crate::{
    State,
    call::{Call, Caller, Id, Params, check_claimant, duration, scope},
    later::later,
    problem::{Problem, ProblemDocument},
    v1::{json, record, refuse, view},
};

/// How a create call waits.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CreateParams {
    /// Wait for a decision this long, such as `25s`.
    wait: Option<String>,
    /// If it is approved by then, claim it in the same call and add `permit`.
    claim: Option<bool>,
}

/// Ask. The answer is the request's record, once it is durable.
#[utoipa::path(post, path = "/v1/requests", operation_id = "create_request", tag = "requests", params(CreateParams, ("Placet-Claimant" = Option<String>, Header, description = "With `claim`: a random secret of 16 to 256 bytes, kept in memory. With it, a lost answer can be asked for again"), ("Placet-Weak-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters: an open request of this agent with the same weak key and the same body (but for summary, group and those fields of context that do not say whose call it is: `user`, `tenant`, `app`, `cwd`, `lineage` and `turn` do) is answered with in place of a new one, and remembers the idempotency key"), ("Placet-Door" = Option<String>, Header, description = "`hook-program` from `placet hook`, which resolved `context.cwd` and `context.paths`; nothing else may say so")), request_body = Create, responses(
    (status = 201, description = "a new request", body = Record),
    (status = 200, description = "made before with this idempotency key, or still open under this weak key: the record as it stands", body = Record),
    (status = 409, description = "the idempotency key was used with another body", body = ProblemDocument),
    (status = 423, description = "frozen: somebody stopped this agent or this tool", body = ProblemDocument),
    (status = 422, description = "the body does not fit", body = ProblemDocument),
    (status = 429, description = "over the agent's pending cap, or too fast", body = ProblemDocument),
))]
pub(crate) async fn create(
    AxumState(state): AxumState<State>,
    params: Result<Params<CreateParams>, Problem>,
    headers: HeaderMap,
    call: Call<Create>,
) -> Result<Response, Problem> {
    // Looked at only now: what is wrong with a query is not discussed with strangers.
    let Params(params) = params?;
    let wait = params.wait.as_deref().map(|wait| duration(wait, state.settings.wait_max)).transpose()?;
    let claimant = headers.get("placet-claimant").map(|value| value.to_str().map(str::to_owned)).transpose();
    let claimant = claimant
        .map_err(|_| Problem::unprocessable("invalid", "", "`Placet-Claimant` must be visible ASCII"))?;
    check_claimant(claimant.as_deref(), "")?;
    let Call { actor, body, idempotency } = call;
    let weak = weak_key(&headers, &actor, &body)?;
    let source = door(&headers)?;
    drop(headers);
    let submitted = state
        .gate
        .submit_or_find(source, &actor, body, idempotency, weak)
        .await
        .map_err(|error| refuse(&state, error))?;
    let status = if submitted.replayed { StatusCode::OK } else { StatusCode::CREATED };
    let request = submitted.request;
    let claim = (params.claim == Some(true)).then_some(Claiming { claimant, source });
    let Some(wait) = wait.filter(|_| request.state == Life::Pending) else {
        return created(&state, &actor, status, request, claim).await;
    };
    let id = request.id;
    // Not held while parked.
    drop(request);
    match state.gate.park(&actor, id, Until::Decided, wait).await {
        Ok(WaitState::Parked(parked)) => Ok(later(async move {
            let woken = parked.await;
            let rest = async {
                let waiting = state.gate.settle(&actor, woken).await;
                let request =
                    waited(&state, &actor, id, waiting).await.map_err(|error| refuse(&state, error))?;
                created(&state, &actor, status, request, claim).await
            };
            // In a box of its own, made only now: a parked call holds as little as possible.
            Box::pin(rest).await.unwrap_or_else(IntoResponse::into_response)
        })),
        waiting => {
            let request = match waited(&state, &actor, id, waiting).await {
                // It was made: its record must not be lost because there is no seat to wait in.
                Err(GateError::TooManyWaits) => state.gate.get(&actor, id).await,
                waited => waited,
            };
            let request = request.map_err(|error| refuse(&state, error))?;
            created(&state, &actor, status, request, claim).await
        }
    }
}

/// Who speaks: the hook program says so, and that the folder and the paths of the call are resolved. Whoever has the agent's
/// key could say it too, and could as well run the call without asking.
pub(super) fn door(headers: &HeaderMap) -> Result<&'static str, Problem> {
    match headers.get("placet-door").map(HeaderValue::as_bytes) {
        None => Ok("rest"),
        Some(door) if door == HOOK_PROGRAM.as_bytes() => Ok(HOOK_PROGRAM),
        Some(_) => {
            let detail = format!("`Placet-Door` is `{HOOK_PROGRAM}` or absent");
            Err(Problem::unprocessable("invalid", "", detail))
        }
    }
}

/// The weak key of a create call: bound to who asks, for whom, and to every word of the body that weighs in its judgement.
fn weak_key(headers: &HeaderMap, actor: &Actor, create: &Create) -> Result<Option<WeakKey>, Problem> {
    let Some(key) = headers.get("placet-weak-key") else { return Ok(None) };
    let visible =
        |key: &&str| (1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    let Some(key) = key.to_str().ok().filter(visible) else {
        let wrong = "`Placet-Weak-Key` must be 1 to 255 visible ASCII characters";
        return Err(Problem::unprocessable("invalid", "", wrong));
    };
    let mut same = create.same();
    if planted("whose-call-is-forgotten") {
        same.context = None;
    }
    let same =
        canonical_string(&same).map_err(|error| Problem::unprocessable("invalid", "", error.to_string()))?;
    // More parts than an idempotency key has, so that neither can stand in for the other. What is asked for is one of them:
    // under one key each of two users finds their own again.
    let scope = scope(&["weak", &actor.name, "/v1/requests", key, &same]);
    Ok(Some(WeakKey { scope, same: Sha256::digest(&same).into() }))
}

/// A create call that wants the permit as well.
struct Claiming {
    claimant: Option<String>,
    source: &'static str,
}

/// The answer to a create call, once there is nothing more to wait for.
async fn created(
    state: &State,
    actor: &Actor,
    status: StatusCode,
    mut request: Arc<Request>,
    claim: Option<Claiming>,
) -> Result<Response, Problem> {
    let Some(Claiming { claimant, source }) = claim else {
        return Ok(record(state, actor, status, &request));
    };
    let claimable = match request.state_at(state.gate.now()) {
        Life::Approved => true,
        // The answer with the permit may have been lost: its claimant gets it again, and nobody else.
        Life::Claimed | Life::Unknown => claimant.is_some(),
        _ => false,
    };
    if claimable && request.permit {
        match state.gate.claim_through(source, actor, request.id, claimant.as_deref(), None).await {
            Ok(claimed) => {
                let mut view = view(state, actor, &claimed.request);
                view.permit = Some(claimed.permit);
                return Ok(json(status, &view));
            }
            // Somebody was quicker, or time ran out: the record says so, and there is no permit.
            Err(GateError::Refused { refusal, request: Some(now) }) if refusal != Refusal::Unauthorized => {
                request = now;
            }
            Err(error) => return Err(refuse(state, error)),
        }
    }
    Ok(record(state, actor, status, &request))
}

/// Sees a wait to its end.
async fn waited(
    state: &State,
    actor: &Actor,
    id: RequestId,
    mut waiting: Result<WaitState, GateError>,
) -> Result<Arc<Request>, GateError> {
    let waited = loop {
        match waiting {
            Ok(WaitState::Over(waited)) => break Ok(waited.request),
            Ok(WaitState::Parked(parked)) => waiting = state.gate.settle(actor, parked.await).await,
            Err(error) => break Err(error),
        }
    };
    // The key may have been revoked between the check at the door and the wait.
    if !state.gate.still_works(actor) {
        return Err(GateError::KeyRevoked);
    }
    match waited {
        // The server is closing: the record as it stands, and the client asks again elsewhere or later.
        Err(GateError::Closing) => state.gate.get(actor, id).await,
        waited => waited,
    }
}

/// How a read waits.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct GetParams {
    /// Wait this long, such as `25s`.
    wait: Option<String>,
    /// Answer when the version is not this one; without it, when the request is no longer pending.
    version: Option<u32>,
}

/// One request: at once, or when it changed, or when the wait ends.
#[utoipa::path(get, path = "/v1/requests/{id}", operation_id = "get_request", tag = "requests", params(("id" = inline(RequestId), Path), GetParams), responses(
    (status = 200, description = "the record", body = Record),
    (status = 404, description = "unknown, foreign or malformed", body = ProblemDocument),
))]
pub(crate) async fn get(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
    id: Id<RequestId>,
    Params(params): Params<GetParams>,
) -> Result<Response, Problem> {
    let id = id.get()?;
    let until = params.version.map_or(Until::Decided, Until::NotVersion);
    let Some(wait) = params.wait.as_deref() else {
        let request = state.gate.get(&actor, id).await.map_err(|error| refuse(&state, error))?;
        return detail(&state, &actor, &request).await;
    };
    let wait = duration(wait, state.settings.wait_max)?;
    match state.gate.park(&actor, id, until, wait).await {
        Ok(WaitState::Parked(parked)) => Ok(later(async move {
            let woken = parked.await;
            let rest = async {
                let waiting = state.gate.settle(&actor, woken).await;
                read(&state, &actor, id, waiting).await
            };
            // In a box of its own, made only now: a parked call holds as little as possible.
            Box::pin(rest).await.unwrap_or_else(IntoResponse::into_response)
        })),
        waiting => read(&state, &actor, id, waiting).await,
    }
}

/// The answer to a read that waits.
async fn read(
    state: &State,
    actor: &Actor,
    id: RequestId,
    waiting: Result<WaitState, GateError>,
) -> Result<Response, Problem> {
    let request = waited(state, actor, id, waiting).await.map_err(|error| refuse(state, error))?;
    detail(state, actor, &request).await
}

/// The record for whoever looks at this one request: a reviewer is shown what waits with it, and a person's own browser the
/// step-up code as well.
async fn detail(state: &State, actor: &Actor, request: &Request) -> Result<Response, Problem> {
    state.gate.opened(actor, request);
    let together = state.gate.together(actor, request).await.map_err(|error| refuse(state, error))?;
    let mut view = view(state, actor, request);
    view.together = together;
    if let Some(display) = view.display.as_mut() {
        display.code = state.gate.step_up_code(actor, request);
    }
    Ok(json(StatusCode::OK, &view))
}

/// How much of each request a list or a stream tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum View {
    /// The whole record.
    #[default]
    Record,
    /// One line.
    Row,
}

/// Which requests to list; everything given must match.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListParams {
    pub(crate) state: Option<Life>,
    pub(crate) agent: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) risk: Option<Risk>,
    pub(crate) group: Option<String>,
    /// Text in id, agent, tool, session or group.
    #[param(max_length = 200)]
    pub(crate) q: Option<String>,
    /// Made at this time or later, such as `2026-11-15T00:00:00Z`.
    pub(crate) since: Option<String>,
    /// Made before this time.
    pub(crate) until: Option<String>,
    /// Decided by this person, alone or with others.
    pub(crate) by: Option<String>,
    /// From `next_cursor` of the page before.
    pub(crate) cursor: Option<String>,
    /// 50 unless told. Of records, at most 500.
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<u32>,
    /// `row` for one line of each instead of the record.
    #[param(inline)]
    pub(crate) view: Option<View>,
}

impl ListParams {
    /// What the store is asked for.
    pub(crate) fn filter(self) -> Result<Filter, Problem> {
        if self.q.as_ref().is_some_and(|q| q.len() > 200) {
            return Err(Problem::unprocessable("invalid_query", "", "`q` is longer than 200 bytes"));
        }
        let time = |name: &str, text: Option<String>| {
            let time = text.map(|text| text.parse::<Time>()).transpose();
            time.map_err(|_| {
                let detail = format!("`{name}` must be a time such as `2026-11-15T00:00:00Z`");
                Problem::unprocessable("invalid_query", "", detail)
            })
        };
        Ok(Filter {
            state: self.state,
            agent: self.agent,
            tool: self.tool,
            session: self.session,
            risk: self.risk,
            group: self.group,
            q: self.q,
            since: time("since", self.since)?,
            until: time("until", self.until)?,
            by: self.by,
            after: self.cursor.as_deref().map(cursor).transpose()?,
            ..Filter::default()
        })
    }
}

/// A page of records, or of lines.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ListPage {
    /// Without `view`.
    Records(Page),
    /// With `view=row`.
    Rows(RowPage),
}

/// A page of records.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Page {
    /// Newest first; pending ones by nearest deadline.
    #[schema(value_type = Vec<Record>)]
    items: Vec<serde_json::Value>,
    /// For the next page; null at the end.
    #[schema(required = true)]
    next_cursor: Option<String>,
    /// The last ledger entry this page has seen.
    seq: u64,
    /// The same as an event id: a stream from here misses nothing.
    event_id: String,
}

/// A page of lines.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RowPage {
    /// Newest first; pending ones by nearest deadline.
    items: Vec<Row>,
    /// For the next page; null at the end.
    #[schema(required = true)]
    next_cursor: Option<String>,
    /// The last ledger entry this page has seen.
    seq: u64,
    /// The same as an event id: a stream from here misses nothing.
    event_id: String,
}

/// List requests.
#[utoipa::path(get, path = "/v1/requests", operation_id = "list_requests", tag = "requests", params(ListParams), responses(
    (status = 200, description = "a page of records, or with `view=row` of lines", body = ListPage),
    (status = 403, description = "agents read their own requests by id", body = ProblemDocument),
))]
pub(crate) async fn list(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
    Params(params): Params<ListParams>,
) -> Result<Response, Problem> {
    let (limit, view) = (params.limit.unwrap_or(50), params.view.unwrap_or_default());
    let most = if view == View::Row { 1000 } else { 500 };
    if !(1..=most).contains(&limit) {
        let detail = format!("`limit` must be 1 to {most}");
        return Err(Problem::unprocessable("invalid_query", "", detail));
    }
    let filter = params.filter()?;
    let listed = state.gate.list(&actor, &filter, limit).await.map_err(|error| refuse(&state, error))?;
    let (seq, event_id) = (listed.seq, format!("{}.{}", listed.epoch, listed.seq));
    let next_cursor = listed.next.map(|next| match next.deadline {
        Some(deadline) => format!("p{}.{}", deadline.micros(), next.seq),
        None => format!("s{}", next.seq),
    });
    let page = if view == View::Row {
        let items = listed.items.iter().map(|request| state.gate.row(&actor, request)).collect();
        ListPage::Rows(RowPage { items, next_cursor, seq, event_id })
    } else {
        let items: Result<Vec<_>, _> = listed
            .items
            .iter()
            .map(|request| serde_json::to_value(super::listed(&state, &actor, request)))
            .collect();
        let items = items.map_err(|error| {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string())
        })?;
        ListPage::Records(Page { items, next_cursor, seq, event_id })
    };
    Ok(json(StatusCode::OK, &page))
}

fn cursor(text: &str) -> Result<Order, Problem> {
    let parsed = match (text.strip_prefix('p'), text.strip_prefix('s')) {
        (Some(rest), _) => rest.split_once('.').and_then(|(deadline, seq)| {
            Some(Order { deadline: Some(Time::from_micros(deadline.parse().ok()?)), seq: seq.parse().ok()? })
        }),
        (None, Some(seq)) => seq.parse().ok().map(|seq| Order { deadline: None, seq }),
        _ => None,
    };
    parsed.ok_or_else(|| {
        Problem::unprocessable("invalid_query", "", "`cursor` must be a `next_cursor` from the page before")
    })
}
