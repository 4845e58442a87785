//! The time that rules over deadlines. It never runs back: what has expired stays expired when a clock is set back.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use placet_core::Time;

use crate::sabotage::planted;

/// Where the time comes from.
pub trait Clock: Send + Sync + 'static {
    /// What the wall clock says. It may be set.
    fn now(&self) -> Time;

    /// How long this clock has run. It cannot be set.
    fn monotonic(&self) -> Duration;

    /// What the clock of a database says that has one. Tests override it to move time there too.
    fn over_database(&self, database: Time) -> Time {
        database
    }
}

/// The machine's clocks.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// Begins to count.
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else is given")]
    pub fn new() -> Self {
        Self { started: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else is given")]
    fn now(&self) -> Time {
        // A clock before 1970 says 1970. The newest entry of the ledger is later, and rules.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time::from_micros(0).plus(since)
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }
}

/// How far a clock may lag behind the ledger before nothing is approved by it: more than two machines that keep their
/// clocks in step ever differ by.
pub const ABSORBED: Duration = Duration::from_secs(2);

/// What time it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Now. Never before the newest entry of the ledger.
    pub now: Time,
    /// By how much the clock lags behind the ledger, where that is more than can be absorbed.
    pub behind: Option<Duration>,
}

/// The one time of a store and its gate: the greater of the clock, and of the newest entry's time plus the monotonic time
/// since that entry was seen.
pub struct Timeline {
    clock: Arc<dyn Clock>,
    floor: Mutex<Option<Floor>>,
    // Whether the log says that the clock is behind.
    said: AtomicBool,
}

/// When the newest entry was made, and when it was seen here.
#[derive(Debug, Clone, Copy)]
struct Floor {
    at: Time,
    seen: Duration,
}

impl fmt::Debug for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeline").finish_non_exhaustive()
    }
}

impl Timeline {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, floor: Mutex::default(), said: AtomicBool::default() }
    }

    /// Now.
    pub fn now(&self) -> Time {
        self.read().now
    }

    /// Now, and whether the clock can be relied on.
    pub fn read(&self) -> Reading {
        let clock = self.clock.now();
        self.judge(clock, clock)
    }

    /// Now, on a database whose own clock rules. This machine's clock must not be behind either.
    pub(crate) fn over_database(&self, database: Time) -> Reading {
        let database = self.clock.over_database(database);
        self.judge(database, database.min(self.clock.now()))
    }

    fn judge(&self, now: Time, slowest: Time) -> Reading {
        let Some(floor) = self.floor().filter(|_| !planted("time-runs-back")) else {
            return Reading { now, behind: None };
        };
        let behind = Some(floor.since(slowest)).filter(|behind| *behind > ABSORBED);
        if self.said.swap(behind.is_some(), Ordering::Relaxed) != behind.is_some() {
            if let Some(behind) = behind {
                tracing::error!(
                    code = "clock_behind",
                    ?behind,
                    "the clock is behind the ledger: nothing is approved or claimed until it is right again"
                );
            } else {
                tracing::info!("the clock is right again");
            }
        }
        Reading { now: now.max(floor), behind }
    }

    fn floor(&self) -> Option<Time> {
        // Held for a comparison; a panic leaves a plain value behind.
        let floor = *self.floor.lock().unwrap_or_else(PoisonError::into_inner);
        floor.map(|floor| floor.at.plus(self.clock.monotonic().saturating_sub(floor.seen)))
    }

    /// The ledger has an entry of this time.
    pub(crate) fn saw(&self, at: Time) {
        let seen = self.clock.monotonic();
        let mut floor = self.floor.lock().unwrap_or_else(PoisonError::into_inner);
        let known = floor.map(|floor| floor.at.plus(seen.saturating_sub(floor.seen)));
        if known.is_none_or(|known| at > known) {
            *floor = Some(Floor { at, seen });
        }
    }
}
