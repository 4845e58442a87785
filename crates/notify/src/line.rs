//! A connection that is made while its answer is being committed, so that the answer need not wait for it.
//!
//! INVARIANT: nothing is sent that was not committed. A line knows no answer but the one that comes out of the commit, so one
//! that was opened for an answer that lost carries the answer that won, or nothing.

use std::{pin::pin, sync::Arc, time::Duration};

use placet_core::Request;
use placet_egress::{Connection, EgressError};
use placet_gate::{AttemptResult, Delivery, Due, UpcomingAnswer};
use serde_json::Value;
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    time::{sleep, timeout},
};

use crate::callbacks::{Callbacks, result};

/// How long a line waits for its answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// How long a line that has sent its answer waits for the delivery. Longer than a lease: without news the outbox brings it.
const SENT: Duration = Duration::from_mins(1);

/// Connects, sends the answer when there is one, and says how that went. Without an answer it closes. `told` brings the
/// delivery, from the ledger; `ahead` is given back when nothing is speculative any more.
pub(crate) async fn hold(
    callbacks: Callbacks,
    coming: UpcomingAnswer,
    mut told: oneshot::Receiver<Due>,
    ahead: OwnedSemaphorePermit,
) -> Option<(Delivery, AttemptResult)> {
    let UpcomingAnswer { event, request: asked, mut answered } = coming;
    let url = Delivery::address(&asked).and_then(Value::as_str)?;
    let mut connecting = pin!(callbacks.sockets.connect(url));
    let mut connected = None;
    let answer = {
        let mut answer = pin!(committed(&mut answered, &mut told, callbacks.patience));
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => break answer,
                connection = &mut connecting, if connected.is_none() => connected = Some(connection),
            }
        }
    };
    // Given back before anything is sent: when the other side sees the line end, its room is free.
    drop(ahead);
    let Some((request, due)) = answer else {
        closed(connected).await;
        return None;
    };
    let connection = match connected {
        Some(connection) => connection,
        None => connecting.await,
    };
    let outcome = match (callbacks.text(&request, &event), connection) {
        (Err(why), connection) => {
            closed(Some(connection)).await;
            why
        }
        (Ok(_), Err(error)) => result(Err(error)),
        (Ok((_, text)), Ok(connection)) => result(connection.send_text(&text).await),
    };
    // The ledger's word of what was just committed is a moment behind the commit.
    let due = match due {
        Some(due) => due,
        None => match timeout(SENT, told).await {
            Ok(Ok(due)) => due,
            // Another node took it, or the server stops. It stays in the outbox, and is sent once more.
            _ => return None,
        },
    };
    Some((due.delivery, outcome))
}

/// The request with its answer, from whoever knows first: the one who gave it, or the ledger, which also has the delivery.
/// Nothing if this one did not answer, and the ledger has not said that somebody else did.
async fn committed(
    answered: &mut oneshot::Receiver<Arc<Request>>,
    told: &mut oneshot::Receiver<Due>,
    patience: Duration,
) -> Option<(Arc<Request>, Option<Due>)> {
    let from_ledger = |due: Due| due.request.clone().map(|request| (request, Some(due)));
    tokio::select! {
        biased;
        request = answered => if let Ok(request) = request {
            return Some((request, None));
        },
        due = &mut *told => return due.ok().and_then(from_ledger),
        () = sleep(patience) => {}
    }
    // From here on the worker does without this line; what it said before that counts.
    told.close();
    told.try_recv().ok().and_then(from_ledger)
}

async fn closed(connection: Option<Result<Connection, EgressError>>) {
    if let Some(Ok(connection)) = connection {
        connection.close().await;
    }
}
