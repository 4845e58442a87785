//! The deadline timer: sleeps until the nearest deadline and lets it take effect. Only a tidier; every command checks
//! deadlines itself.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use placet_core::{Actor, Command, Expire, Time};
use placet_store::{CommandUnit, StoreError};
use tokio::sync::Notify;

use crate::{gate::Inner, sessions};

/// How many deadlines take effect in one transaction.
const AT_ONCE: u32 = 256;
/// Longest sleep: the wall clock may be set, and another node may have added a deadline.
const LONGEST: Duration = Duration::from_secs(1);
/// How long to wait when a deadline has passed by our clock and not by the database's.
const AHEAD: Duration = Duration::from_millis(250);
/// How often old answers are forgotten and old notes deleted.
const PRUNE_EVERY: Duration = Duration::from_mins(10);
/// How often sessions whose time is up are ended.
const SESSIONS_EVERY: Duration = Duration::from_secs(30);
/// How long answers are kept after their request is final.
const KEEP_ANSWERS: Duration = Duration::from_hours(7 * 24);

/// The nearest deadline that is known, and the bell that says it came nearer.
#[derive(Debug, Default)]
pub(crate) struct Timer {
    nearest: Mutex<Option<Time>>,
    // Rung only when a new deadline is nearer than the known one.
    bell: Notify,
}

impl Timer {
    /// A deadline has been set.
    pub(crate) fn expect(&self, deadline: Time) {
        let mut nearest = self.nearest.lock().unwrap_or_else(PoisonError::into_inner);
        if nearest.is_none_or(|known| deadline < known) {
            *nearest = Some(deadline);
            drop(nearest);
            self.bell.notify_one();
        }
    }

    fn nearest(&self) -> Option<Time> {
        *self.nearest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long to sleep: until the nearest deadline, but never for long.
    fn pause(&self, now: Time) -> Duration {
        self.nearest().map_or(LONGEST, |deadline| deadline.since(now).min(LONGEST))
    }

    fn set(&self, deadline: Option<Time>) {
        *self.nearest.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
    }
}

/// Runs until the gate closes.
pub(crate) async fn run(inner: Arc<Inner>) {
    // How far the events had come when old ones were last deleted.
    let mut events = 0;
    let (mut pruned, mut ended) = (tokio::time::Instant::now(), tokio::time::Instant::now());
    loop {
        if let Err(error) = sweep(&inner).await {
            // Nothing is decided wrongly meanwhile: commands and reads check deadlines themselves.
            tracing::warn!(%error, "deadlines could not be tidied up; trying again");
        }
        if ended.elapsed() >= SESSIONS_EVERY {
            ended = tokio::time::Instant::now();
            if let Err(error) = sessions::sweep(&inner).await {
                // They do not work all the same: every use looks at the time.
                tracing::warn!(%error, "old sessions could not be ended; trying again");
            }
        }
        prune_events(&inner, &mut events, pruned.elapsed() >= PRUNE_EVERY).await;
        if pruned.elapsed() >= PRUNE_EVERY {
            pruned = tokio::time::Instant::now();
            let before = Time::from_micros(
                inner
                    .store
                    .time()
                    .now()
                    .micros()
                    .saturating_sub(i64::try_from(KEEP_ANSWERS.as_micros()).unwrap_or(i64::MAX)),
            );
            if let Err(error) = inner.store.prune(before).await {
                tracing::warn!(%error, "old answers could not be forgotten");
            }
            if let Err(error) = crate::notes::prune(&inner.store).await {
                tracing::warn!(%error, "old notes could not be deleted; trying again");
            }
        }
        tokio::select! {
            () = tokio::time::sleep(inner.timer.pause(inner.store.time().now())) => {}
            () = inner.timer.bell.notified() => {}
            () = inner.cancel.cancelled() => return,
        }
    }
}

/// Deletes old events when enough new ones came, or when it is time to look.
async fn prune_events(inner: &Inner, upto: &mut u64, anyway: bool) {
    let retention = inner.settings.events;
    let result = async {
        let last = inner.store.last_event().await?;
        if anyway || last.saturating_sub(*upto) >= (retention.keep / 10).clamp(1, 10_000) {
            *upto = last;
            crate::events::prune(&inner.store, retention, inner.store.time().now()).await?;
        }
        Ok::<_, StoreError>(())
    };
    if let Err(error) = result.await {
        tracing::warn!(%error, "old events could not be deleted; trying again");
    }
}

/// Lets every passed deadline take effect, and looks up the next one. Returns how many there were.
pub(crate) async fn sweep(inner: &Inner) -> Result<usize, StoreError> {
    let mut done = 0;
    loop {
        let due = inner.store.due(inner.store.time().now(), AT_ONCE).await?;
        if due.is_empty() {
            inner.timer.set(inner.store.next_deadline().await?);
            return Ok(done);
        }
        let mut ended = 0;
        for chunk in due.chunks(AT_ONCE as usize) {
            let commands = chunk.iter().map(|id| (Command::Expire(Expire { id: *id }), None)).collect();
            let unit = CommandUnit { actor: Actor::system(), commands, atomic: false };
            let outcomes = inner.store.commands(unit).await?;
            ended += outcomes.iter().filter(|outcome| outcome.changed).count();
        }
        done += ended;
        if ended == 0 {
            // Our clock runs ahead of the database's, which rules: nothing is due there yet. Look again a little later.
            inner.timer.set(Some(inner.store.time().now().plus(AHEAD)));
            return Ok(done);
        }
    }
}

#[cfg(test)]
mod tests {
    use placet_core::{Actor, Auth, Role, State};
    use placet_store::{Clock, Store};
    use placet_testkit::{Backend, FakeClock, Place, block_on, until};

    use super::*;
    use crate::{Gate, Settings, SystemEntropy};

    /// Ten minutes ahead of the database.
    struct Ahead(FakeClock);

    impl Clock for Ahead {
        fn now(&self) -> Time {
            self.0.now().plus(Duration::from_mins(10))
        }

        fn monotonic(&self) -> Duration {
            self.0.monotonic()
        }

        fn over_database(&self, _database: Time) -> Time {
            self.0.now()
        }
    }

    #[test]
    fn a_deadline_that_has_passed_by_our_clock_alone_is_looked_at_again_after_a_pause() {
        block_on(async {
            let (place, ahead) = (Place::new(Backend::Postgres).await, Arc::new(Ahead(FakeClock::new())));
            let store = Arc::new(Store::open(place.options(ahead)).await.unwrap());
            let gate = Gate::start(store, Arc::new(SystemEntropy), Settings::default()).await.unwrap();
            let bot = Actor {
                name: "local".to_owned(),
                role: Role::Agent,
                key: None,
                session: None,
                auth: Auth::Open,
            };
            let body = serde_json::json!({"kind": "action", "session": "s", "tool": "t", "arguments": {}});
            let create = serde_json::from_value(body).unwrap();
            let request = gate.submit(&bot, create, None).await.unwrap().request;
            assert_eq!(sweep(&gate).await.unwrap(), 0);
            assert_eq!(gate.get(&bot, request.id).await.unwrap().state, State::Pending);
            // Without it the timer would spin.
            until("the pause", async || gate.timer.pause(gate.now()) == AHEAD).await;
            gate.close().await;
        });
    }
}
