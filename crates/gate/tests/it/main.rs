//! The promises of the gate, on both databases.

mod anything;
mod attention;
mod clocks;
mod confine;
mod coverage;
mod deadlines;
mod deciding;
mod escalating;
mod failover;
mod feeds;
mod freezing;
mod histories;
mod kinds;
mod notes;
mod open;
mod opening;
mod outage;
mod policy;
mod races;
mod readers;
mod reads;
mod rules;
mod sessions;
mod standing;
mod stolen;
mod templates;
mod together;
mod twins;
mod upgrading;
mod viewing;
mod waiting;
mod whatif;
mod workspace;

use std::{fmt::Debug, time::Duration};

use placet_core::{Actor, Refusal, Request, RequestId};
use placet_gate::{Gate, GateError, ParkedWait, Until, WaitResult, WaitState};

/// Why a call was refused.
#[track_caller]
pub(crate) fn refusal<T: Debug>(result: Result<T, GateError>) -> Refusal {
    match result {
        Err(GateError::Refused { refusal, .. }) => refusal,
        other => panic!("expected a refusal, not {other:?}"),
    }
}

/// The record that came with a refusal.
#[track_caller]
pub(crate) fn record<T: Debug>(result: Result<T, GateError>) -> std::sync::Arc<Request> {
    match result {
        Err(GateError::Refused { request: Some(request), .. }) => request,
        other => panic!("expected a refusal with its record, not {other:?}"),
    }
}

/// The pointer to the invalid field.
#[track_caller]
pub(crate) fn pointer<T: Debug>(result: Result<T, GateError>) -> String {
    match refusal(result) {
        Refusal::Invalid(invalid) => invalid.pointer,
        other => panic!("expected a field that does not fit, not {other:?}"),
    }
}

/// Begins a wait that is parked when this returns, so every later event wakes it.
pub(crate) async fn parked(
    gate: &Gate,
    actor: &Actor,
    id: RequestId,
    until: Until,
    at_most: Duration,
) -> ParkedWait {
    match gate.park(actor, id, until, at_most).await.unwrap() {
        WaitState::Parked(parked) => parked,
        WaitState::Over(waited) => panic!("nothing is to be waited for: {waited:?}"),
    }
}

/// The end of a parked wait.
pub(crate) async fn outcome(
    gate: &Gate,
    actor: &Actor,
    mut parked: ParkedWait,
) -> Result<WaitResult, GateError> {
    loop {
        match gate.settle(actor, parked.await).await? {
            WaitState::Over(waited) => return Ok(waited),
            WaitState::Parked(again) => parked = again,
        }
    }
}
