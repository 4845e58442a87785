//! A clock that stands still until a test moves it, on either database.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use placet_core::Time;
use placet_store::{Clock, SystemClock};

/// Begins at the real time and then stands still.
#[derive(Debug)]
pub struct FakeClock {
    micros: AtomicI64,
    // What nobody can set.
    monotonic: AtomicI64,
    // Added with every reading, so that two readings tell two transactions apart.
    tick: AtomicI64,
}

impl FakeClock {
    /// A clock that stands still.
    pub fn new() -> Self {
        Self {
            micros: AtomicI64::new(SystemClock::new().now().micros()),
            monotonic: AtomicI64::new(0),
            tick: AtomicI64::new(0),
        }
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        self.monotonic.fetch_add(micros(by), Ordering::SeqCst);
        self.micros.fetch_add(micros(by), Ordering::SeqCst);
    }

    /// Sets the clock forward, like an operator. No time passes.
    pub fn set_forward(&self, by: Duration) {
        self.micros.fetch_add(micros(by), Ordering::SeqCst);
    }

    /// Sets it back.
    pub fn set_back(&self, by: Duration) {
        self.micros.fetch_sub(micros(by), Ordering::SeqCst);
    }

    /// From now on every reading is one microsecond later than the last, so equal times mean one transaction.
    pub fn tick(&self) {
        self.tick.store(1, Ordering::SeqCst);
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).expect("tests move the clock by less than an age")
}

impl Default for FakeClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Time {
        let tick = self.tick.load(Ordering::SeqCst);
        Time::from_micros(self.micros.fetch_add(tick, Ordering::SeqCst) + tick)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.monotonic.load(Ordering::SeqCst).unsigned_abs())
    }

    fn over_database(&self, _database: Time) -> Time {
        self.now()
    }
}
