//! Notifications of other nodes' commits. They are only a hint to look at the database.

use std::{future::poll_fn, pin::pin, time::Duration};

use tokio::{sync::watch, time::timeout};
use tokio_postgres::{AsyncMessage, Config, NoTls};
use tokio_util::sync::CancellationToken;

use super::{NODES, config, session::CONNECT};
use crate::{StoreError, follow::Hint};

/// Pauses between attempts to connect: short at first, so that a restart of the database is hardly noticed.
const GAPS: [Duration; 4] =
    [Duration::from_millis(100), Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(3)];

/// Raises the hint with every notification, until cancelled. Notifications sent while no connection listens are lost, so the
/// hint is raised after every new connection too.
pub(crate) async fn listen(url: String, mark: u32, hint: watch::Sender<Hint>, cancel: CancellationToken) {
    let config = match config(&url) {
        Ok(config) => config,
        Err(error) => return tracing::error!(%error, "other nodes' commits are found by looking only"),
    };
    let mut attempts = 0;
    loop {
        let heard = cancel.run_until_cancelled(hear(&config, mark, &hint, &mut attempts)).await;
        let Some(Err(error)) = heard else { return };
        let gap = GAPS.get(attempts).copied().unwrap_or(GAPS[GAPS.len() - 1]);
        tracing::warn!(%error, "not listening for other nodes; trying again in {gap:?}");
        attempts += 1;
        if cancel.run_until_cancelled(tokio::time::sleep(gap)).await.is_none() {
            return;
        }
    }
}

/// Listens on one connection until it ends.
async fn hear(
    config: &Config,
    mark: u32,
    hint: &watch::Sender<Hint>,
    attempts: &mut usize,
) -> Result<std::convert::Infallible, StoreError> {
    let late = |_| StoreError::Unavailable(format!("no connection within {} s", CONNECT.as_secs()));
    let (client, mut connection) = timeout(CONNECT, config.connect(NoTls)).await.map_err(late)??;
    // The lock says that this node is here, for as long as the connection lives. Nothing waits for it.
    let here = format!("SELECT pg_advisory_lock_shared({NODES}, {mark}); LISTEN placet");
    let mut listening = pin!(client.batch_execute(&here));
    let mut heard = false;
    loop {
        tokio::select! {
            done = &mut listening, if !heard => {
                done?;
                heard = true;
                *attempts = 0;
                hint.send_modify(|hint| hint.connections += 1);
            }
            message = poll_fn(|context| connection.poll_message(context)) => match message {
                Some(Ok(AsyncMessage::Notification(said))) => {
                    // The payload is the number of the last entry, and of the last event if there are new ones;
                    // anything else means: look.
                    let mut numbers = said.payload().split(' ').map(|number| number.parse().unwrap_or(u64::MAX >> 1));
                    let (upto, events) = (numbers.next().unwrap_or(u64::MAX >> 1), numbers.next().unwrap_or(0));
                    hint.send_modify(|hint| {
                        hint.upto = hint.upto.max(upto);
                        hint.events = hint.events.max(events);
                    });
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
                None => return Err(StoreError::Unavailable("the database closed the connection".to_owned())),
            },
        }
    }
}
