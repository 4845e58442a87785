//! Figures for the plots.

use axum::{extract::State as AxumState, response::Response};
use http::StatusCode;
use placet_core::Time;
use placet_gate::{Attention, Decisions, Depth, Figures, ReviewerFigures, Speed};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    State,
    call::{Caller, Params},
    problem::Problem,
    v1::{json, refuse},
};

/// Which time to look at.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StatsParams {
    /// 7 unless told.
    #[param(minimum = 1, maximum = 90)]
    days: Option<u32>,
}

/// Figures about requests that were made in a stretch of time. All names in it can be shown as they are.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StatsRecord {
    /// From when on: later than asked for when there is too much to look at.
    #[schema(value_type = String, format = DateTime)]
    from: Time,
    #[schema(value_type = String, format = DateTime)]
    to: Time,
    now: NowRecord,
    /// What waited, at up to 200 moments.
    depth: Vec<DepthRecord>,
    time_to_decision: TimesRecord,
    decisions: DecisionsRecord,
    decided_by: DecidedByRecord,
    /// Arrivals: seven days, Monday first, of 24 hours each, UTC.
    #[schema(value_type = Vec<Vec<u64>>)]
    heat: Vec<[u64; 24]>,
    /// What each reviewer did, the busiest first: only the caller, unless the operator set `insights.people`.
    reviewers: Vec<ReviewerRecord>,
    attention: AttentionRecord,
}

/// How often people were asked. `passed`, `confined`, `remembered`, `refused` and `asked` together are `calls`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AttentionRecord {
    /// All requests: calls, plans, questions and confirmations.
    calls: u64,
    /// Passed by policy, free.
    passed: u64,
    /// Passed by policy, to run confined.
    confined: u64,
    /// Passed by a standing approval or by trust.
    remembered: u64,
    /// Refused by policy.
    refused: u64,
    /// Prompts: requests that waited for a person.
    asked: u64,
    /// `asked` of a hundred `calls`; null without a call.
    #[schema(required = true)]
    asked_percent: Option<f64>,
    /// How long agents were at work: the gaps between calls of one session, of each at most ten minutes.
    active_seconds: f64,
    /// `asked` for each hour of that; null below a minute of activity.
    #[schema(required = true)]
    prompts_per_active_hour: Option<f64>,
}

impl From<Attention> for AttentionRecord {
    fn from(attention: Attention) -> Self {
        Self {
            asked_percent: attention.asked_percent(),
            prompts_per_active_hour: attention.prompts_per_active_hour(),
            calls: attention.calls,
            passed: attention.passed,
            confined: attention.confined,
            remembered: attention.remembered,
            refused: attention.refused,
            asked: attention.asked,
            active_seconds: attention.active_seconds,
        }
    }
}

/// What waits now.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NowRecord {
    pending: u64,
    oldest_age_seconds: f64,
    by_risk: ByRisk,
}

/// Counts by risk.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ByRisk {
    low: u64,
    medium: u64,
    high: u64,
    critical: u64,
}

/// What waited at one moment.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DepthRecord {
    #[schema(value_type = String, format = DateTime)]
    at: Time,
    pending: u64,
    oldest_age_seconds: f64,
}

/// How long people took, in seconds; the twenty with most decisions.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TimesRecord {
    overall: OverallRecord,
    by_tool: Vec<SpeedRecord>,
    by_agent: Vec<SpeedRecord>,
    /// Only the caller, unless the operator set `insights.people`.
    by_reviewer: Vec<SpeedRecord>,
}

/// How long people took over all, in seconds.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OverallRecord {
    count: u64,
    /// Half of the decisions took at most this long.
    p50: f64,
    /// Nine of ten took at most this long.
    p90: f64,
}

/// How long people took, in seconds.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SpeedRecord {
    name: String,
    count: u64,
    /// Half of the decisions took at most this long.
    p50: f64,
    /// Nine of ten took at most this long.
    p90: f64,
}

/// How requests that waited for people ended.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DecisionsRecord {
    by_kind: Vec<EndsRecord>,
    by_tool: Vec<EndsRecord>,
}

/// How requests of one kind or tool ended.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EndsRecord {
    name: String,
    approve: u64,
    edit: u64,
    deny: u64,
    respond: u64,
    expired: u64,
    cancelled: u64,
}

/// Who or what decided.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DecidedByRecord {
    /// Policy, without a person.
    policy: u64,
    /// A standing approval.
    grant: u64,
    person: u64,
    /// Nobody in time.
    expiry: u64,
    /// Taken back by the agent before anybody decided.
    cancelled: u64,
}

/// What one reviewer did.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReviewerRecord {
    name: String,
    /// Decisions they took part in.
    decisions: u64,
    /// How many of them were a no.
    denied: u64,
    median_seconds: f64,
}

fn speed(speed: Speed) -> SpeedRecord {
    SpeedRecord { name: speed.name, count: speed.count, p50: speed.p50, p90: speed.p90 }
}

fn ends(ends: Decisions) -> EndsRecord {
    let Decisions { name, approve, edit, deny, respond, expired, cancelled } = ends;
    EndsRecord { name, approve, edit, deny, respond, expired, cancelled }
}

impl From<Figures> for StatsRecord {
    fn from(figures: Figures) -> Self {
        let [low, medium, high, critical] = figures.now.by_risk;
        let speeds = |list: Vec<Speed>| list.into_iter().map(speed).collect();
        let all_ends = |list: Vec<Decisions>| list.into_iter().map(ends).collect();
        let moment =
            |Depth { at, pending, oldest_age_seconds }| DepthRecord { at, pending, oldest_age_seconds };
        let overall = figures.speeds.overall;
        Self {
            from: figures.from,
            to: figures.to,
            now: NowRecord {
                pending: figures.now.pending,
                oldest_age_seconds: figures.now.oldest_age_seconds,
                by_risk: ByRisk { low, medium, high, critical },
            },
            depth: figures.depth.into_iter().map(moment).collect(),
            time_to_decision: TimesRecord {
                overall: OverallRecord { count: overall.count, p50: overall.p50, p90: overall.p90 },
                by_tool: speeds(figures.speeds.by_tool),
                by_agent: speeds(figures.speeds.by_agent),
                by_reviewer: speeds(figures.speeds.by_reviewer),
            },
            decisions: DecisionsRecord {
                by_kind: all_ends(figures.by_kind),
                by_tool: all_ends(figures.by_tool),
            },
            decided_by: DecidedByRecord {
                policy: figures.deciders.policy,
                grant: figures.deciders.grant,
                person: figures.deciders.person,
                expiry: figures.deciders.expiry,
                cancelled: figures.deciders.cancelled,
            },
            heat: figures.heat,
            reviewers: figures.reviewers.into_iter().map(reviewer).collect(),
            attention: figures.attention.into(),
        }
    }
}

fn reviewer(reviewer: ReviewerFigures) -> ReviewerRecord {
    let ReviewerFigures { name, decisions, denied, median_seconds } = reviewer;
    ReviewerRecord { name, decisions, denied, median_seconds }
}

/// Figures for the plots.
#[utoipa::path(get, path = "/v1/stats", operation_id = "get_stats", tag = "requests", params(StatsParams), responses(
    (status = 200, description = "about requests made in the last so many days", body = StatsRecord),
))]
pub(crate) async fn stats(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
    Params(params): Params<StatsParams>,
) -> Result<Response, Problem> {
    let days = params.days.unwrap_or(7);
    if !(1..=90).contains(&days) {
        return Err(Problem::unprocessable("invalid_query", "", "`days` must be 1 to 90"));
    }
    let figures = state.gate.figures(&actor, days).await.map_err(|error| refuse(&state, error))?;
    Ok(json(StatusCode::OK, &StatsRecord::from(figures)))
}
