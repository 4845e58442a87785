//! The two lists of the original, which had no end. Here they show the newest, and say so in the documentation.

use axum::{
    extract::{Query, State as AxumState},
    response::Response,
};
use http::StatusCode;
use placet_core::{Actor, Role, State as Life};
use placet_gate::Filter;
use serde::Deserialize;

use super::{
    SOURCE,
    detail::{Refused, field},
    record::{Approval, View, agent_name, status},
};
use crate::{State, doors::open::Decider, problem::Problem, v1};

/// Most requests on a list.
const MOST: usize = 500;
/// How many are read at a time, and how often, to find them.
const PAGE: u32 = 500;
const PAGES: usize = 10;
/// How far back in the ledger a list looks.
const LOOK_BACK: u64 = 200_000;

/// Which requests the audit list shows.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Wanted {
    agent_name: Option<String>,
    decision: Option<String>,
}

/// What waits for a reviewer.
pub(super) async fn pending(
    AxumState(state): AxumState<State>,
    who: Result<Decider, Problem>,
) -> Result<Response, Refused> {
    let Decider(actor) = who?;
    let wanted = Wanted { decision: Some("pending".to_owned()), ..Wanted::default() };
    newest(&state, &actor, &wanted).await
}

/// Everything that was asked.
pub(super) async fn audit(
    AxumState(state): AxumState<State>,
    who: Result<Decider, Problem>,
    wanted: Result<Query<Wanted>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, Refused> {
    let Decider(actor) = who?;
    let Ok(Query(mut wanted)) = wanted else {
        return Err(Refused::Fields(vec![field("value_error", "", "the query does not fit")]));
    };
    // An empty filter is none, as in the original.
    let some = |text: &mut Option<String>| *text = text.take().filter(|text| !text.is_empty());
    some(&mut wanted.agent_name);
    some(&mut wanted.decision);
    newest(&state, &actor, &wanted).await
}

async fn newest(state: &State, actor: &Actor, wanted: &Wanted) -> Result<Response, Refused> {
    if actor.role == Role::Agent {
        let detail = "the lists need a reviewer's key: send `Authorization: Bearer plk_reviewer_…`";
        return Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", detail).into());
    }
    let refuse = |error| v1::refuse(state, error);
    let (_, head) = state.gate.store().head().await.map_err(|error| refuse(error.into()))?;
    let mut filter = Filter {
        source: Some(SOURCE.to_owned()),
        newest: true,
        not_before: Some(head.saturating_sub(LOOK_BACK)),
        state: match wanted.decision.as_deref() {
            Some("pending") => Some(Life::Pending),
            Some("approved") => Some(Life::Approved),
            _ => None,
        },
        ..Filter::default()
    };
    let now = state.gate.now();
    let mut found = Vec::new();
    for _ in 0..PAGES {
        let listed = state.gate.list(actor, &filter, PAGE).await.map_err(refuse)?;
        found.extend(listed.items.into_iter().filter(|request| {
            wanted.decision.as_deref().is_none_or(|decision| status(request, now) == decision)
                && wanted.agent_name.as_deref().is_none_or(|name| agent_name(request) == Some(name))
        }));
        filter.after = listed.next;
        if found.len() >= MOST || filter.after.is_none() {
            break;
        }
    }
    found.truncate(MOST);
    let list: Vec<_> = found.iter().map(|request| Approval::of(request, View::Reviewer, now)).collect();
    Ok(v1::json(StatusCode::OK, &list))
}
