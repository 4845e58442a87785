//! Liveness, readiness with the durability level, and metrics.

use axum::{
    Extension,
    extract::State as AxumState,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    State,
    call::is_local,
    guard::Peer,
    problem::{Problem, ProblemDocument},
    v1::json,
};

/// Whether the process is alive.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    status: &'static str,
    version: &'static str,
}

/// Alive.
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, description = "alive", body = Health)))]
pub(crate) async fn healthz() -> Response {
    json(StatusCode::OK, &Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

/// Whether calls can be answered, and what an answer is worth.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Readiness {
    ready: bool,
    /// `sqlite` or `postgres`.
    database: &'static str,
    /// What an acknowledged decision survives.
    durability: String,
    /// The last ledger entry.
    #[schema(required = true)]
    seq: Option<u64>,
    #[schema(required = true)]
    epoch: Option<String>,
    /// One word for why not, where there is one: `history_lost` or `clock_behind`.
    #[schema(required = true)]
    code: Option<&'static str>,
    /// Why not, when not.
    #[schema(required = true)]
    reason: Option<String>,
    /// What the operator should mend although calls are answered.
    warnings: Vec<String>,
}

/// Ready to serve.
#[utoipa::path(get, path = "/readyz", tag = "health", responses(
    (status = 200, description = "ready", body = Readiness),
    (status = 503, description = "closing, stopped, or the database cannot be reached", body = Readiness),
))]
pub(crate) async fn readyz(
    AxumState(state): AxumState<State>,
    headers: HeaderMap,
    peer: Option<Extension<Peer>>,
) -> Result<Response, Problem> {
    open_to(&state, &headers, peer)?;
    let store = state.gate.store();
    store.look_at_files();
    let durability = store.durability();
    let head = store.head().await;
    let reason = if state.closing.is_cancelled() {
        Some("closing".to_owned())
    } else {
        store.stopped().or_else(|| head.as_ref().err().map(ToString::to_string))
    };
    let reason = match reason {
        None => state.gate.policy_problem().await,
        reason => reason,
    };
    let (code, reason) = match (store.lost(), reason, store.time().read().behind) {
        (Some(why), ..) => (Some("history_lost"), Some(history_lost(&why))),
        (None, None, Some(behind)) => (Some("clock_behind"), Some(clock_behind(behind))),
        (None, reason, _) => (None, reason),
    };
    let (epoch, seq) = head.ok().unzip();
    let ready = Readiness {
        ready: reason.is_none(),
        database: durability.database,
        durability: durability.level.clone(),
        seq,
        epoch,
        code,
        reason,
        warnings: state.warnings(),
    };
    Ok(json(if ready.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, &ready))
}

fn history_lost(why: &str) -> String {
    format!(
        "history_lost: {why}. Nothing is written and no permit is given. Stop every node, then look at `placet recover \
         --dry-run`"
    )
}

fn clock_behind(behind: std::time::Duration) -> String {
    format!(
        "clock_behind: the clock is {} s behind the newest entry of the ledger. Reading and denying work, approving and \
         claiming do not. Set the clock right; if it is right, stop the server and run `placet recover --clock`",
        behind.as_secs()
    )
}

/// Figures for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "health", responses(
    (status = 200, description = "Prometheus text", body = String, content_type = "text/plain"),
    (status = 404, description = "this process records none", body = ProblemDocument),
))]
pub(crate) async fn metrics(
    AxumState(state): AxumState<State>,
    headers: HeaderMap,
    peer: Option<Extension<Peer>>,
) -> Result<Response, Problem> {
    open_to(&state, &headers, peer)?;
    let Some(handle) = &state.metrics else { return Err(Problem::not_found()) };
    metrics::gauge!("placet_waiters").set(state.gate.waiting() as f64);
    metrics::gauge!("placet_writer_queue").set(state.gate.store().queued() as f64);
    metrics::gauge!("placet_unsent_bytes").set(state.unsent() as f64);
    let text = handle.render();
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4"))], text)
        .into_response())
}

/// Figures are for this machine, unless the operator says otherwise.
fn open_to(state: &State, headers: &HeaderMap, peer: Option<Extension<Peer>>) -> Result<(), Problem> {
    let local = is_local(headers, peer.map(|Extension(peer)| peer));
    if local || state.settings.public_health {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "forbidden",
        "only for this machine: set `server.public_health` to open it",
    ))
}
