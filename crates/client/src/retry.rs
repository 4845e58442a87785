//! Pauses between attempts: doubling, capped, with jitter so that clients do not all come back at once.

use std::time::Duration;

use tokio::time::Instant;

use crate::secret::fraction;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// One outage, from its first failure.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    began: Option<Instant>,
    attempts: u32,
}

impl Outage {
    /// The server answered: the outage is over.
    pub(crate) fn over(&mut self) {
        *self = Self::default();
    }

    /// The outage began no later than this, unless it had begun before.
    pub(crate) fn since(&mut self, at: Instant) {
        self.began.get_or_insert_with(|| at.min(Instant::now()));
    }

    /// How long it has lasted.
    pub(crate) fn lasted(&self) -> Duration {
        self.began.map_or(Duration::ZERO, |began| began.elapsed())
    }

    /// Counts one more failure. Returns the pause before the next attempt, or none when the budget is used up.
    pub(crate) fn pause(&mut self, budget: Duration, asked: Option<Duration>) -> Option<Duration> {
        self.pause_at(Instant::now(), budget, asked)
    }

    fn pause_at(&mut self, now: Instant, budget: Duration, asked: Option<Duration>) -> Option<Duration> {
        let lasted = now.saturating_duration_since(*self.began.get_or_insert(now));
        let doubled = FIRST.saturating_mul(2_u32.saturating_pow(self.attempts)).min(LONGEST);
        self.attempts = self.attempts.saturating_add(1);
        // Between half and all of the pause, and never before the server's own `Retry-After`.
        let jittered = doubled.mul_f64(0.5 + fraction() / 2.0);
        let pause = jittered.max(asked.unwrap_or_default());
        (lasted.saturating_add(pause) <= budget).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_cap_and_end_with_the_budget() {
        let mut outage = Outage::default();
        let (start, budget) = (Instant::now(), Duration::from_secs(30));
        let mut now = start;
        let mut pauses = Vec::new();
        while let Some(pause) = outage.pause_at(now, budget, None) {
            now += pause;
            pauses.push(pause);
        }
        assert!(pauses[0] >= FIRST / 2 && pauses[0] <= FIRST);
        assert!(pauses.iter().all(|pause| *pause <= LONGEST));
        let lasted = now - start;
        assert!(lasted > Duration::from_secs(24) && lasted <= budget, "{lasted:?}");
    }

    #[test]
    fn an_attempt_that_took_the_whole_budget_is_the_last() {
        let (start, budget) = (Instant::now(), Duration::from_secs(30));
        let mut outage = Outage::default();
        outage.since(start);
        assert_eq!(outage.pause_at(start + budget, budget, None), None);
        // A call that the server was asked to hold is not late yet.
        let mut outage = Outage::default();
        outage.since(start + budget);
        assert!(outage.pause(budget, None).is_some());
    }

    #[test]
    fn a_budget_of_nothing_gives_no_second_attempt() {
        assert_eq!(Outage::default().pause(Duration::ZERO, None), None);
    }

    #[test]
    fn the_server_may_ask_for_a_longer_pause() {
        let asked = Some(Duration::from_secs(7));
        assert_eq!(Outage::default().pause(Duration::from_secs(30), asked), asked);
        assert_eq!(Outage::default().pause(Duration::from_secs(5), asked), None);
    }
}
