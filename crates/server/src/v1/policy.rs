//! The policy in force: read, checked, put, and tried against what is on record before it is put.

use axum::{
    body::Body,
    extract::{FromRequest, FromRequestParts, State as AxumState},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use placet_core::{Actor, Create, Record, RequestId, Time};
use placet_gate::{CallExplanation, CheckedPolicy, PolicyPut, PolicyVersion, PolicyView, Shadow};
use placet_ledger::ijson::{self, Limits};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json as value};
use tokio::sync::mpsc;
use utoipa::{IntoParams, ToSchema};

use crate::{
    State,
    call::{Call, Caller, Id, Params, media_type, read, typed},
    problem::{Problem, ProblemDocument},
    v1::{json, refuse, view},
};

/// A policy to look at.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Candidate {
    /// Its text, TOML.
    #[schema(max_length = 1_048_576)]
    policy: String,
}

impl From<String> for Candidate {
    fn from(policy: String) -> Self {
        Self { policy }
    }
}

/// A policy to put in force.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyBody {
    /// Its text, TOML.
    #[schema(max_length = 1_048_576)]
    policy: String,
    /// The hash it was made from. Without it, whatever is in force is replaced.
    #[serde(default)]
    expected: Option<String>,
    /// Where it comes from, for the record.
    #[serde(default)]
    #[schema(max_length = 200)]
    source: Option<String>,
}

impl From<String> for PolicyBody {
    fn from(policy: String) -> Self {
        Self { policy, expected: None, source: None }
    }
}

/// A caller and a policy: as JSON, or as the TOML itself.
pub(crate) struct PolicyCall<B = Candidate> {
    actor: Actor,
    body: B,
    /// What `If-Match` says.
    expected: Option<String>,
}

/// A policy has at most 1 MiB; written as JSON, line ends and quotes take two bytes each.
const LIMITS: Limits = Limits { bytes: 3 * 1024 * 1024, depth: 64, nodes: 100 };

impl<B: DeserializeOwned + From<String>> FromRequest<State> for PolicyCall<B> {
    type Rejection = Problem;

    async fn from_request(request: Request<Body>, state: &State) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let Caller(actor) = Caller::from_request_parts(&mut parts, state).await?;
        let toml = is_toml(&parts.headers);
        if !toml {
            media_type(&parts.headers)?;
        }
        let bytes = read(body, &LIMITS, state).await?;
        let body = if toml {
            let policy = String::from_utf8(bytes.into())
                .map_err(|_| Problem::unprocessable("invalid", "", "the policy is not UTF-8"))?;
            policy.into()
        } else {
            typed(ijson::parse(&bytes, &LIMITS)?)?
        };
        Ok(Self { actor, body, expected: if_match(&parts.headers)? })
    }
}

fn is_toml(headers: &HeaderMap) -> bool {
    let essence = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    essence.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case("application/toml")
}

/// `If-Match: "sha256:…"` means the same as `expected`.
fn if_match(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let hash = value
        .to_str()
        .ok()
        .map(|value| value.trim().trim_matches('"'))
        .filter(|hash| hash.starts_with("sha256:"));
    hash.map(|hash| Some(hash.to_owned())).ok_or_else(|| {
        Problem::unprocessable("invalid", "", "`If-Match` must be the hash of a policy, such as \"sha256:…\"")
    })
}

/// One policy.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PolicyRecord {
    /// Names the text.
    hash: String,
    /// The name written in it.
    #[schema(required = true)]
    name: Option<String>,
    /// Where it came from; `built-in` when nobody put it.
    source: String,
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    at: Option<Time>,
    #[schema(required = true)]
    by: Option<String>,
    /// The text, TOML.
    text: String,
    /// What is allowed but probably not meant, each with `line`, `column`, `rule`, `message` and `fix`.
    #[schema(value_type = Vec<Object>)]
    warnings: Value,
    /// What the people who exist cannot meet, or could meet too easily: `severity`, `rule`, `message` and `fix`.
    #[schema(value_type = Vec<Object>)]
    findings: Value,
    /// Why it cannot be used; everything waits for two people then.
    #[schema(required = true)]
    broken: Option<String>,
    /// With the policy in force: every policy that was put, the newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    versions: Option<Vec<VersionRecord>>,
}

/// A policy that was put.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct VersionRecord {
    hash: String,
    source: String,
    #[schema(value_type = String, format = DateTime)]
    at: Time,
    by: String,
    /// Whether it is in force.
    active: bool,
}

/// A policy that was put or looked at.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CheckedRecord {
    hash: String,
    /// check: the name written in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// put: whether anything changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<bool>,
    /// What is allowed but probably not meant.
    #[schema(value_type = Vec<Object>)]
    warnings: Value,
    /// What the people who exist cannot meet, or could meet too easily.
    #[schema(value_type = Vec<Object>)]
    findings: Value,
}

fn plain<T: Serialize>(items: &T) -> Value {
    serde_json::to_value(items).unwrap_or_default()
}

fn policy_record(policy: PolicyView, versions: Option<Vec<PolicyVersion>>) -> PolicyRecord {
    let active = policy.hash.clone();
    let versions = versions.map(|versions| {
        let mut seen_active = false;
        let record = |put: PolicyVersion| {
            // The same text may have been put several times; the newest is the one in force.
            let active = !seen_active && put.hash == active;
            seen_active |= active;
            VersionRecord { hash: put.hash, source: put.source, at: put.at, by: put.by, active }
        };
        versions.into_iter().map(record).collect()
    });
    PolicyRecord {
        hash: policy.hash,
        name: policy.name,
        source: policy.source,
        at: policy.at,
        by: policy.by,
        text: policy.text.to_string(),
        warnings: plain(&policy.warnings),
        findings: plain(&policy.findings),
        broken: policy.broken,
        versions,
    }
}

/// The policy in force, and every version that was.
#[utoipa::path(get, path = "/v1/policy", operation_id = "get_policy", tag = "policy", responses(
    (status = 200, description = "the policy in force; its hash is also the `ETag`", body = PolicyRecord),
))]
pub(crate) async fn get(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
) -> Result<Response, Problem> {
    let policy = state.gate.policy(&actor).await.map_err(|error| refuse(&state, error))?;
    let versions = state.gate.versions(&actor).await.map_err(|error| refuse(&state, error))?;
    let tag = HeaderValue::from_str(&format!("\"{}\"", policy.hash)).ok();
    let mut response = json(StatusCode::OK, &policy_record(policy, Some(versions)));
    if let Some(tag) = tag {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

/// One version by its hash.
#[utoipa::path(get, path = "/v1/policy/{hash}", operation_id = "get_policy_version", tag = "policy", params(("hash" = String, Path)), responses(
    (status = 200, description = "the policy", body = PolicyRecord),
    (status = 404, description = "no policy with that hash was ever put", body = ProblemDocument),
))]
pub(crate) async fn version(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
    hash: Id<String>,
) -> Result<Response, Problem> {
    let policy =
        state.gate.policy_version(&actor, &hash.get()?).await.map_err(|error| refuse(&state, error))?;
    Ok(json(StatusCode::OK, &policy_record(policy, None)))
}

/// Put another policy in force. It is read as a whole before; requests that are pending keep theirs.
#[utoipa::path(put, path = "/v1/policy", operation_id = "put_policy", tag = "policy", request_body(description = "JSON, or the TOML itself as `application/toml`; `If-Match` means the same as `expected`", content((PolicyBody = "application/json"), (String = "application/toml"))), responses(
    (status = 200, description = "in force", body = CheckedRecord),
    (status = 409, description = "stale_policy: somebody put another one meanwhile", body = ProblemDocument),
    (status = 422, description = "bad_policy, with all its `problems`; the old policy stays in force", body = ProblemDocument),
))]
pub(crate) async fn put(
    AxumState(state): AxumState<State>,
    call: PolicyCall<PolicyBody>,
) -> Result<Response, Problem> {
    let PolicyBody { policy, expected, source } = call.body;
    let expected = call.expected.or(expected);
    let source = source.as_deref().unwrap_or("api");
    let put = state.gate.put_policy(&call.actor, &policy, source, expected.as_deref()).await;
    let PolicyPut { hash, changed, warnings, findings } = put.map_err(|error| refuse(&state, error))?;
    let (warnings, findings) = (plain(&warnings), plain(&findings));
    Ok(json(StatusCode::OK, &CheckedRecord { hash, name: None, changed: Some(changed), warnings, findings }))
}

/// Look at a policy without putting it.
#[utoipa::path(post, path = "/v1/policy/check", operation_id = "check_policy", tag = "policy", request_body(description = "JSON, or the TOML itself as `application/toml`", content((Candidate = "application/json"), (String = "application/toml"))), responses(
    (status = 200, description = "it could be put", body = CheckedRecord),
    (status = 422, description = "bad_policy, with all its `problems`", body = ProblemDocument),
))]
pub(crate) async fn check(AxumState(state): AxumState<State>, call: PolicyCall) -> Result<Response, Problem> {
    let checked = state.gate.check_policy(&call.actor, &call.body.policy).await;
    let CheckedPolicy { hash, name, warnings, findings } = checked.map_err(|error| refuse(&state, error))?;
    let (warnings, findings) = (plain(&warnings), plain(&findings));
    Ok(json(StatusCode::OK, &CheckedRecord { hash, name, changed: None, warnings, findings }))
}

/// How a simulation answers.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SimulateParams {
    /// Answer with a line of JSON every so often, and the report in the last one.
    progress: Option<bool>,
}

/// What a candidate would have done with everything on record. Nothing changes.
#[utoipa::path(post, path = "/v1/policy/simulate", operation_id = "simulate_policy", tag = "policy", params(SimulateParams), request_body(description = "JSON, or the TOML itself as `application/toml`", content((Candidate = "application/json"), (String = "application/toml"))), responses(
    (status = 200, description = "the report: what a person denied and it would allow first, then every change of verdict with counts and examples, prompts saved and added, and the minutes of people. With `progress`, lines of `{done, of, requests}` and then `{report}`", content((Object = "application/json"), (String = "application/x-ndjson"))),
    (status = 422, description = "bad_policy, with all its `problems`", body = ProblemDocument),
    (status = 503, description = "another simulation is running", body = ProblemDocument),
))]
pub(crate) async fn simulate(
    AxumState(state): AxumState<State>,
    params: Result<Params<SimulateParams>, Problem>,
    call: PolicyCall,
) -> Result<Response, Problem> {
    let Params(params) = params?;
    let Ok(turn) = state.simulations.clone().try_acquire_owned() else {
        let detail = "another simulation is running: try again when it is done";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail).retry_after(5));
    };
    let PolicyCall { actor, body, .. } = call;
    if params.progress != Some(true) {
        let report = state.gate.simulate(&actor, &body.policy, |_| {}).await;
        drop(turn);
        return Ok(json(StatusCode::OK, &report.map_err(|error| refuse(&state, error))?));
    }
    // Checked before the answer begins, so that a bad policy has a status of its own.
    state.gate.check_policy(&actor, &body.policy).await.map_err(|error| refuse(&state, error))?;
    // One line on its way: progress that nobody reads is skipped, never queued.
    let (lines, mut told) = mpsc::channel::<Value>(1);
    state.tasks.spawn({
        let state = state.clone();
        async move {
            let said = lines.clone();
            let simulated = state.gate.simulate(&actor, &body.policy, move |at| {
                let _ = said.try_send(value!({"done": at.done, "of": at.of, "requests": at.requests}));
            });
            let last = tokio::select! {
                report = simulated => match report {
                    Ok(report) => value!({"report": report}),
                    Err(error) => value!({"problem": refuse(&state, error).document()}),
                },
                // The reader went away: nobody needs the rest.
                () = lines.closed() => return,
            };
            let _ = lines.send(last).await;
            drop(turn);
        }
    });
    let lines = futures_util::stream::poll_fn(move |cx| told.poll_recv(cx)).map(|line| {
        let mut line = line.to_string();
        line.push('\n');
        Ok::<_, std::convert::Infallible>(Bytes::from(line))
    });
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"))];
    Ok((kind, Body::from_stream(lines)).into_response())
}

/// What to explain: a request on record, or one that nobody made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainBody {
    /// A request on record.
    #[serde(default)]
    id: Option<String>,
    /// A request that nobody made: the body of a create call.
    #[serde(default)]
    request: Option<Box<Create>>,
    /// Who would make it.
    #[serde(default)]
    agent: Option<String>,
}

/// What policy says and why.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ExplainRecord {
    /// The request on record.
    #[schema(required = true, value_type = Option<Record>)]
    request: Option<Value>,
    /// By the policy in force; then, if it was another, by the one the request came under.
    explained: Vec<ExplainedRecord>,
}

/// What one policy says.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ExplainedRecord {
    /// Its hash.
    policy: String,
    /// What it says.
    #[schema(value_type = Object)]
    outcome: Value,
    /// Every rule: whether it matched, and which part of it said so.
    #[schema(required = true, value_type = Option<Object>)]
    explanation: Option<Value>,
}

impl From<CallExplanation> for ExplainedRecord {
    fn from(explained: CallExplanation) -> Self {
        Self {
            policy: explained.policy,
            outcome: plain(&explained.outcome),
            explanation: explained.explanation.as_ref().map(plain),
        }
    }
}

/// Which rules match and why.
#[utoipa::path(post, path = "/v1/policy/explain", operation_id = "explain_policy", tag = "policy", request_body = ExplainBody, responses(
    (status = 200, description = "what policy says and why", body = ExplainRecord),
    (status = 404, description = "no such request", body = ProblemDocument),
    (status = 422, description = "neither an id nor a request", body = ProblemDocument),
))]
pub(crate) async fn explain(
    AxumState(state): AxumState<State>,
    call: Call<ExplainBody>,
) -> Result<Response, Problem> {
    let Call { actor, body, .. } = call;
    let record = match (body.id, body.request) {
        (Some(id), None) => {
            let id: RequestId = id.parse().map_err(|_| Problem::not_found())?;
            let explained = state.gate.explain(&actor, id).await;
            let (request, explained) = explained.map_err(|error| refuse(&state, error))?;
            let request = plain(&view(&state, &actor, &request));
            ExplainRecord {
                request: Some(request),
                explained: explained.into_iter().map(ExplainedRecord::from).collect(),
            }
        }
        (None, Some(create)) => {
            let agent = body.agent.as_deref().unwrap_or("nobody");
            let explained = state.gate.explain_create(&actor, agent, "rest", *create).await;
            let explained = explained.map_err(|error| refuse(&state, error))?;
            ExplainRecord { request: None, explained: vec![explained.into()] }
        }
        _ => return Err(Problem::unprocessable("invalid", "/id", "send either `id` or `request`")),
    };
    Ok(json(StatusCode::OK, &record))
}

/// A candidate that is evaluated live, without effect.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ShadowRecord {
    hash: String,
    #[schema(value_type = String, format = DateTime)]
    since: Time,
    by: String,
    /// What it would have done since, as in a simulation.
    #[schema(value_type = Object)]
    report: Value,
}

/// The candidate of this node, and what it would have done since it was set.
#[utoipa::path(get, path = "/v1/policy/shadow", operation_id = "get_shadow_policy", tag = "policy", responses(
    (status = 200, description = "the candidate", body = ShadowRecord),
    (status = 404, description = "there is none", body = ProblemDocument),
))]
pub(crate) async fn shadow(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
) -> Result<Response, Problem> {
    let shadow = state.gate.shadow(&actor).map_err(|error| refuse(&state, error))?;
    let Some(Shadow { hash, since, by, report }) = shadow else { return Err(Problem::not_found()) };
    Ok(json(StatusCode::OK, &ShadowRecord { hash, since, by, report: plain(&report) }))
}

/// Evaluate a candidate beside the policy in force, on this node, without effect.
#[utoipa::path(put, path = "/v1/policy/shadow", operation_id = "put_shadow_policy", tag = "policy", request_body(description = "JSON, or the TOML itself as `application/toml`", content((Candidate = "application/json"), (String = "application/toml"))), responses(
    (status = 204, description = "set"),
    (status = 422, description = "bad_policy, with all its `problems`", body = ProblemDocument),
))]
pub(crate) async fn put_shadow(
    AxumState(state): AxumState<State>,
    call: PolicyCall,
) -> Result<Response, Problem> {
    let set = state.gate.set_shadow(&call.actor, Some(&call.body.policy)).await;
    set.map_err(|error| refuse(&state, error))?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Evaluate no candidate any more.
#[utoipa::path(delete, path = "/v1/policy/shadow", operation_id = "remove_shadow_policy", tag = "policy", responses((status = 204, description = "gone")))]
pub(crate) async fn remove_shadow(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
) -> Result<Response, Problem> {
    state.gate.set_shadow(&actor, None).await.map_err(|error| refuse(&state, error))?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
