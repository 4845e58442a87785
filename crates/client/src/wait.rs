//! Waits for people with long polls that survive restarts and dropped connections, until a deadline or an outage ends
//! them.

use std::time::Duration;

use placet_core::{Record, RequestId, State};
use tokio::time::{Instant, sleep, timeout};

use crate::{Client, Error, retry::Outage};

/// The length of one long poll: shorter than the timeouts of proxies, long enough to be cheap.
pub(crate) const POLL: Duration = Duration::from_secs(25);

/// An answer without news that comes sooner than this means the server did not wait.
const HASTE: Duration = Duration::from_millis(250);

/// How much later than the deadline an answer may arrive.
const GRACE: Duration = Duration::from_secs(5);

/// Whether the request will not change by itself: final, or `unknown` and in need of a person.
pub fn settled(record: &Record) -> bool {
    match record.state {
        State::Pending | State::Claimed => false,
        State::Approved => !record.claimable,
        _ => true,
    }
}

impl Client {
    /// Waits until the request is no longer pending. Fails with [`Error::Timeout`] at the caller's deadline, and with
    /// [`Error::Unreachable`] when the server was away for longer than the outage budget. Neither is a decision.
    pub async fn wait_decided(&self, id: RequestId, within: Option<Duration>) -> Result<Record, Error> {
        self.wait_until(id, within, |record| record.state != State::Pending).await
    }

    /// Waits until the request cannot change by itself.
    pub async fn wait_settled(&self, id: RequestId, within: Option<Duration>) -> Result<Record, Error> {
        self.wait_until(id, within, settled).await
    }

    async fn wait_until(
        &self,
        id: RequestId,
        within: Option<Duration>,
        done: impl Fn(&Record) -> bool,
    ) -> Result<Record, Error> {
        let deadline = within.map(|within| Instant::now() + within);
        let left = || deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let (mut outage, mut version, mut state) = (Outage::default(), None, State::Pending);
        // The first read does not wait: the request may be decided already, and the answer has the version to wait
        // beyond.
        let mut wait = None;
        loop {
            let began = Instant::now();
            let call = self.get_call(id, wait, version);
            // A slow answer must not outlast the caller's deadline.
            let patience = left().map_or(Duration::MAX, |left| left + GRACE);
            let Ok(answered) = timeout(patience, self.attempt::<Record>(&call)).await else {
                return Err(Error::Timeout { id, state: state.as_str() });
            };
            let pause = match answered {
                Ok(record) if record.id != id => return Err(self.protocol("it is about another request")),
                Ok(record) if done(&record) => return Ok(record),
                Ok(record) => {
                    outage.over();
                    let unchanged = wait.is_some() && version == Some(record.version);
                    (version, state) = (Some(record.version), record.state);
                    // A server (or a proxy) that does not hold the call must not be polled in a hot loop.
                    if unchanged && began.elapsed() < HASTE { HASTE } else { Duration::ZERO }
                }
                Err(failure) => self.after(failure, &mut outage)?,
            };
            let left = left();
            if left.is_some_and(|left| left <= pause) {
                return Err(Error::Timeout { id, state: state.as_str() });
            }
            sleep(pause).await;
            wait = Some(left.map_or(POLL, |left| left.saturating_sub(pause).min(POLL)));
        }
    }
}
