//! What the gate promises, on both databases.

mod anything;
mod deadlines;
mod deciding;
mod escalating;
mod feeds;
mod kinds;
mod notes;
mod open;
mod outage;
mod policy;
mod races;
mod reads;
mod rules;
mod sessions;
mod standing;
mod waiting;
mod whatif;

use std::{fmt::Debug, future::Future, time::Duration};

use placet_core::{Refusal, Request};
use placet_gate::GateError;

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

/// The pointer to the field that does not fit.
#[track_caller]
pub(crate) fn pointer<T: Debug>(result: Result<T, GateError>) -> String {
    match refusal(result) {
        Refusal::Invalid(invalid) => invalid.pointer,
        other => panic!("expected a field that does not fit, not {other:?}"),
    }
}

/// What happens soon; a test that waits longer has failed.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), future).await.expect("it happens soon")
}
