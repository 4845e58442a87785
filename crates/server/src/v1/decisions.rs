//! Deciding: one request, or many at once.

use axum::{extract::State as AxumState, response::Response};
use http::StatusCode;
use placet_core::{Actor, DecisionWord, Digest, Record, RequestId, StepDecision, StepUp};
use placet_gate::{Decision, Idempotency, Remember};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use utoipa::{
    IntoParams, PartialSchema, ToSchema,
    openapi::{Ref, RefOr, Schema},
};

use crate::{
    State,
    call::{Call, Id, Params},
    problem::{Problem, ProblemDocument},
    v1::{json, refuse, view},
};

/// What a reviewer says, on the digest and version they saw.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Decide {
    decision: DecisionWord,
    /// Of the record they saw: `proposal.digest` if there is a proposal, else `digest`.
    digest: Digest,
    /// Of the record they saw.
    version: u32,
    #[serde(default)]
    #[schema(max_length = 8192)]
    reason: Option<String>,
    /// edit: whole replacement arguments.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    arguments: Option<Map<String, Value>>,
    /// respond: the answer.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Value)]
    answer: Option<Value>,
    /// plan: a decision for every step, in the order approved.
    #[serde(default)]
    #[schema(max_items = 200)]
    steps: Option<Vec<StepDecision>>,
    /// A standing approval.
    #[serde(default)]
    #[schema(value_type = Option<RememberBody>)]
    remember: Option<Remember>,
    /// A proof of presence, where one is needed.
    #[serde(default)]
    step_up: Option<StepUp>,
    /// `view.digest` of the record that was shown. A yes from a sign-in session must carry it; programs with a key may leave
    /// it out. If a yes carries another digest than that of the view as it is now, the answer is 409 `stale_display`. With
    /// `edit` it is the view that the person saw.
    #[serde(default)]
    view: Option<Digest>,
    /// `display.digest` of what was shown. For clients of earlier versions, in the place of `view`.
    #[serde(default)]
    #[schema(deprecated)]
    display: Option<Digest>,
}

/// What is remembered with a yes.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes what the gate reads")]
pub(crate) struct RememberBody {
    #[schema(inline)]
    scope: RememberedScope,
    /// pattern: 1 to 16 paths of up to 200 bytes and their matchers, as in `args` of a rule that allows; together up to 8192
    /// bytes. Other arguments may be anything.
    arguments: Option<Map<String, Value>>,
    /// For how long, such as `8h`, which it is unless told.
    expires_in: Option<String>,
    /// How often; 20 times unless told.
    #[schema(minimum = 1)]
    uses: Option<u32>,
    /// template: where it counts; it has to be said.
    #[schema(inline)]
    within: Option<RememberedWithin>,
}

/// Where a remembered command counts.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "describes what the gate reads")]
pub(crate) enum RememberedWithin {
    /// In the session of the request.
    Session,
    /// In every session, in the same folder of the agent.
    Project,
}

/// How far a standing approval reaches.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "describes what the gate reads")]
pub(crate) enum RememberedScope {
    /// This very call: equal arguments.
    Exact,
    /// Calls whose arguments match.
    Pattern,
    /// Any call of this tool in this session.
    Session,
    /// Commands of this form: the same words and flags, and other files of the agent's folder in the place of those that are
    /// named. Only for commands that came by the hook program.
    Template,
}

/// Keeps an answer of `null` apart from no answer.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Decide {
    fn on(self, id: RequestId, idempotency: Option<Idempotency>) -> Decision {
        Decision {
            id,
            word: self.decision,
            digest: self.digest,
            version: self.version,
            reason: self.reason,
            arguments: self.arguments,
            answer: self.answer,
            steps: self.steps,
            remember: self.remember,
            step_up: self.step_up,
            view: self.view,
            display: self.display,
            by_door: false,
            claimed: None,
            idempotency,
        }
    }
}

/// Whether a decision counts.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DecideParams {
    /// Say what the decision would do, and do nothing.
    dry_run: Option<bool>,
}

/// Vote on a held request.
#[utoipa::path(post, path = "/v1/requests/{id}/decision", operation_id = "decide_request", tag = "decisions", params(("id" = inline(RequestId), Path), DecideParams), request_body = Decide, responses(
    (status = 200, description = "the record after the vote; with `dry_run`, what would happen", body = Record),
    (status = 403, description = "self_approval, step_up_required, not_eligible, not_owner, or not a reviewer", body = ProblemDocument),
    (status = 404, description = "unknown or malformed", body = ProblemDocument),
    (status = 409, description = "already_decided, expired, cancelled, stale_digest, stale_version or stale_display, with the record", body = ProblemDocument),
    (status = 423, description = "frozen: somebody stopped this agent or this tool", body = ProblemDocument),
    (status = 422, description = "wrong answer or edit", body = ProblemDocument),
))]
pub(crate) async fn decide(
    AxumState(state): AxumState<State>,
    id: Id<RequestId>,
    params: Result<Params<DecideParams>, Problem>,
    call: Call<Decide>,
) -> Result<Response, Problem> {
    // Looked at only now: what is wrong with a query is not discussed with strangers.
    let Params(params) = params?;
    let decision = call.body.on(id.get()?, call.idempotency);
    if params.dry_run == Some(true) {
        return preview(&state, &call.actor, decision).await;
    }
    let request = state.gate.decide(&call.actor, decision).await.map_err(|error| refuse(&state, error))?;
    // Without `display`: whoever decides has just been shown it.
    Ok(json(StatusCode::OK, &state.gate.view(&request)))
}

/// What a decision would do. Nothing was written.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PreviewRecord {
    /// The request as it would stand.
    #[schema(value_type = Record)]
    record: Value,
    /// Whether this vote would be the last one that is needed.
    decides: bool,
    /// What policy says of the replacement: `verdict`, `risk` and `needs`.
    #[schema(value_type = Option<Object>)]
    ruling: Option<placet_core::Ruling>,
    /// Whether more would be needed, or the risk be higher, than now.
    stricter: bool,
    /// Whose votes would be void.
    voided: Vec<String>,
    /// The standing approval that would come with it.
    grant: Option<placet_core::Grant>,
    /// What that would cover, in words.
    covers: Option<String>,
    /// template: what it would have let pass among the newest calls of the agent with this tool.
    would: Option<WouldHave>,
}

/// What a standing approval would have let pass.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WouldHave {
    /// Calls that were looked at, at most 200.
    looked_at: u64,
    /// Those that waited and would have passed.
    covered: u64,
    /// Those among them that a person denied.
    denied: u64,
    /// Up to three of them, as the agent wrote them.
    examples: Vec<String>,
}

impl From<placet_gate::GrantPreview> for WouldHave {
    fn from(would: placet_gate::GrantPreview) -> Self {
        let placet_gate::GrantPreview { looked_at, covered, denied, examples } = would;
        Self { looked_at, covered, denied, examples }
    }
}

async fn preview(state: &State, actor: &Actor, decision: Decision) -> Result<Response, Problem> {
    let preview = state.gate.preview(actor, decision).await.map_err(|error| refuse(state, error))?;
    let (grant, covers) = preview.grant.unzip();
    let record = PreviewRecord {
        record: serde_json::to_value(view(state, actor, &preview.request)).unwrap_or_default(),
        decides: preview.decides,
        ruling: preview.ruling,
        stricter: preview.stricter,
        voided: preview.voided,
        grant,
        covers,
        would: preview.would.map(Into::into),
    };
    Ok(json(StatusCode::OK, &record))
}

/// How a batch is applied.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct BatchParams {
    /// All or none.
    atomic: Option<bool>,
}

/// One decision of a batch: a decision, and the request it is about. Items are read one by one, so that errors name the item.
pub(crate) struct BatchItem;

impl PartialSchema for BatchItem {
    /// A decision with one more field. Both as parts of a whole would fit nothing: neither takes the fields of the other.
    fn schema() -> RefOr<Schema> {
        let RefOr::T(Schema::Object(mut item)) = Decide::schema() else { return Decide::schema() };
        item.description = Some("A decision, and the request it is about.".to_owned());
        item.properties.insert("id".to_owned(), Ref::from_schema_name("RequestId").into());
        item.required.push("id".to_owned());
        Schema::Object(item).into()
    }
}

impl ToSchema for BatchItem {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push(("RequestId".to_owned(), RequestId::schema()));
        Decide::schemas(schemas);
    }
}

/// Decisions on several requests, each at most once.
#[derive(ToSchema)]
#[schema(min_items = 1, max_items = 200)]
pub(crate) struct Batch(#[expect(dead_code, reason = "describes the body")] Vec<BatchItem>);

/// How one decision of a batch came out.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BatchResult {
    /// The request.
    id: String,
    /// As if it had been sent alone.
    status: u16,
    /// The record after the vote.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Record>)]
    record: Option<Value>,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<ProblemDocument>,
    /// Its code.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
}

/// How a batch came out.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BatchResults {
    /// One per decision, in order.
    results: Vec<BatchResult>,
    /// Whether anything was applied; with `atomic`, whether everything was.
    applied: bool,
}

/// Most decisions in one batch.
const MOST: usize = 200;

/// Vote on several requests in one transaction.
#[utoipa::path(post, path = "/v1/decisions", operation_id = "decide_requests", tag = "decisions", params(BatchParams), request_body = Batch, responses(
    (status = 200, description = "one result per decision", body = BatchResults),
    (status = 409, description = "atomic, and at least one was refused: none was applied", body = BatchResults),
    (status = 422, description = "the body does not fit", body = ProblemDocument),
))]
pub(crate) async fn decide_many(
    AxumState(state): AxumState<State>,
    params: Result<Params<BatchParams>, Problem>,
    call: Call<Vec<Value>>,
) -> Result<Response, Problem> {
    // Looked at only now: what is wrong with a query is not discussed with strangers.
    let Params(params) = params?;
    if !(1..=MOST).contains(&call.body.len()) {
        return Err(Problem::unprocessable("invalid", "", format!("a batch has 1 to {MOST} decisions")));
    }
    let atomic = params.atomic == Some(true);
    let mut ids = Vec::with_capacity(call.body.len());
    let mut decisions = Vec::with_capacity(call.body.len());
    for (index, item) in call.body.into_iter().enumerate() {
        let (id, decision) = item_of(item, index, call.idempotency)?;
        if ids.contains(&id) {
            return Err(Problem::unprocessable(
                "invalid",
                format!("/{index}/id"),
                "the request is decided twice in one batch",
            ));
        }
        ids.push(id);
        decisions.push(decision);
    }
    // A malformed id is an unknown one, and only that item is refused for it.
    let mut known: Vec<Decision> = decisions.into_iter().flatten().collect();
    if atomic && known.len() < ids.len() {
        known.clear();
    }
    // Asked even with nothing left to decide: the gate is who knows whether this caller may decide at all.
    let outcomes =
        state.gate.decide_many(&call.actor, known, atomic).await.map_err(|error| refuse(&state, error))?;
    let results = results(&state, &call.actor, &ids, outcomes, atomic);
    let failed = results.iter().any(|result| result.status != 200);
    let applied = if atomic { !failed } else { results.iter().any(|result| result.status == 200) };
    let status = if atomic && failed { StatusCode::CONFLICT } else { StatusCode::OK };
    Ok(json(status, &BatchResults { results, applied }))
}

/// One item: its id as it was written, and its decision if the id is one.
fn item_of(
    item: Value,
    index: usize,
    idempotency: Option<Idempotency>,
) -> Result<(String, Option<Decision>), Problem> {
    let Value::Object(mut fields) = item else {
        return Err(Problem::unprocessable("invalid", format!("/{index}"), "expected an object"));
    };
    let Some(Value::String(id)) = fields.remove("id") else {
        return Err(Problem::unprocessable("invalid", format!("/{index}/id"), "missing field `id`"));
    };
    let decide: Decide =
        crate::call::typed(Value::Object(fields)).map_err(|problem| problem.under(&format!("/{index}")))?;
    // Each item has a key of its own, so that a replayed batch answers item by item.
    let idempotency = idempotency.map(|whole| {
        let mut scope = Sha256::new();
        scope.update(whole.scope);
        scope.update(id.as_bytes());
        Idempotency { scope: scope.finalize().into(), body: whole.body }
    });
    let decision = id.parse().ok().map(|parsed| decide.on(parsed, idempotency));
    Ok((id, decision))
}

fn results(
    state: &State,
    actor: &Actor,
    ids: &[String],
    outcomes: Vec<placet_gate::Outcome>,
    atomic: bool,
) -> Vec<BatchResult> {
    let refused_together =
        atomic && (outcomes.is_empty() || outcomes.iter().any(|outcome| outcome.answer.is_err()));
    let mut outcomes = outcomes.into_iter();
    ids.iter()
        .map(|id| {
            let outcome = if id.parse::<RequestId>().is_ok() { outcomes.next() } else { None };
            let problem = match &outcome {
                _ if id.parse::<RequestId>().is_err() => Some(Problem::not_found()),
                Some(outcome) => match &outcome.answer {
                    Err(refusal) => {
                        Some(Problem::refusal(refusal, outcome.request.clone(), state.gate.now()))
                    }
                    Ok(()) if refused_together => Some(not_applied()),
                    Ok(()) => None,
                },
                None => Some(not_applied()),
            };
            match problem {
                Some(problem) => BatchResult {
                    id: id.clone(),
                    status: problem.status().as_u16(),
                    record: None,
                    code: Some(problem.code().to_owned()),
                    problem: Some(problem.document()),
                },
                None => BatchResult {
                    id: id.clone(),
                    status: 200,
                    record: outcome.and_then(|outcome| {
                        serde_json::to_value(view(state, actor, outcome.request.as_deref()?)).ok()
                    }),
                    problem: None,
                    code: None,
                },
            }
        })
        .collect()
}

fn not_applied() -> Problem {
    Problem::new(
        StatusCode::CONFLICT,
        "not_applied",
        "not applied: another decision of the same atomic batch was refused",
    )
}
