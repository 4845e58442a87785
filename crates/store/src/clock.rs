//! The time that rules over deadlines: wall and monotonic clock together, so that setting the clock back saves nobody.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use placet_core::Time;

/// Where the time comes from.
pub trait Clock: Send + Sync + 'static {
    /// Now, for deadlines on a database without a clock of its own.
    fn now(&self) -> Time;

    /// Now, on a database whose own clock rules. Tests override it to move time there too.
    fn over_database(&self, database: Time) -> Time {
        database
    }
}

/// The machine's clocks: a deadline has passed as soon as either of them says so.
#[derive(Debug)]
pub struct SystemClock {
    wall: Time,
    monotonic: Instant,
}

impl SystemClock {
    /// Remembers where both clocks stand.
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else is given")]
    pub fn new() -> Self {
        Self { wall: wall(), monotonic: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Time {
        // Set forward, the wall clock wins; set back, the monotonic one does.
        wall().max(self.wall.plus(self.monotonic.elapsed()))
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else is given")]
fn wall() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_micros(0).plus(since)
}
