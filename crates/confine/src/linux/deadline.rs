//! How long a run may take.

use std::time::{Duration, Instant};

use rustix::event::Timespec;

/// After the time is over, the command has this long to end by itself.
const GRACE: Duration = Duration::from_secs(2);

/// The end of the time, then two more: for a process that does not heed the signal, and for one that cannot be ended.
pub(crate) struct Deadline {
    start: Instant,
    seconds: u64,
}

impl Deadline {
    #[expect(clippy::disallowed_methods, reason = "a real time limit of a real process")]
    pub(crate) fn new(seconds: u64) -> Self {
        Self { start: Instant::now(), seconds }
    }

    /// How many of the three ends are over.
    pub(crate) fn passed(&self) -> Option<u64> {
        let over = self.start.elapsed().checked_sub(Duration::from_secs(self.seconds))?;
        Some(over.as_secs() / GRACE.as_secs())
    }

    pub(crate) fn left(&self) -> Timespec {
        let mut end = Duration::from_secs(self.seconds);
        let gone = self.start.elapsed();
        while end <= gone {
            end += GRACE;
        }
        Timespec::try_from(end.saturating_sub(gone)).unwrap_or(Timespec { tv_sec: 3600, tv_nsec: 0 })
    }
}
