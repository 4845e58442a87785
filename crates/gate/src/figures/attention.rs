//! How often people were asked: shares of the calls, and prompts per hour in which an agent worked.

use std::{collections::HashMap, time::Duration};

use placet_core::{Effect, Time};
use placet_store::CountedRequest;

/// How often people were asked. Every request is in one of five parts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Attention {
    /// All requests: calls, plans, questions and confirmations.
    pub calls: u64,
    /// Passed by policy, free.
    pub passed: u64,
    /// Passed by policy, to run confined.
    pub confined: u64,
    /// Passed by a grant or by trust.
    pub remembered: u64,
    /// Refused by policy.
    pub refused: u64,
    /// Waited for a person: the prompts.
    pub asked: u64,
    /// How long agents were at work: the gaps between calls of one session, of each at most ten minutes.
    pub active_seconds: f64,
}

impl Attention {
    /// The share of calls that waited for a person, in percent. None without calls.
    pub fn asked_percent(&self) -> Option<f64> {
        (self.calls > 0).then(|| 100.0 * self.asked as f64 / self.calls as f64)
    }

    /// Prompts per active hour. None below a minute of activity, where a rate has no meaning.
    pub fn prompts_per_active_hour(&self) -> Option<f64> {
        (self.active_seconds >= 60.0).then(|| self.asked as f64 * 3_600.0 / self.active_seconds)
    }

    /// Counts one request.
    pub(crate) fn count(&mut self, effect: Effect, confined: bool, stood: bool) {
        self.calls += 1;
        *match effect {
            Effect::Hold => &mut self.asked,
            Effect::Deny => &mut self.refused,
            Effect::Allow if stood => &mut self.remembered,
            Effect::Allow if confined => &mut self.confined,
            Effect::Allow => &mut self.passed,
        } += 1;
    }
}

/// The most that a longer gap counts. In the rest the agent did not work.
const GAP: Duration = Duration::from_mins(10);

/// How long sessions were active. Fed with calls in the order of time, either way; it remembers as many sessions as it is
/// fed calls.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    seen: HashMap<(String, String), Time>,
    active: Duration,
}

impl Activity {
    pub(crate) fn add(&mut self, agent: &str, session: &str, at: Time) {
        if let Some(last) = self.seen.insert((agent.to_owned(), session.to_owned()), at) {
            let gap = Duration::from_micros(last.micros().abs_diff(at.micros()));
            self.active = self.active.saturating_add(gap.min(GAP));
        }
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.active.as_secs_f64()
    }
}

/// What was counted so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: Attention,
    activity: Activity,
}

impl Tally {
    pub(super) fn add(&mut self, request: &CountedRequest) {
        let stood = request.grant.is_some() || request.trust.is_some();
        self.counts.count(request.verdict.effect, request.verdict.confine.is_some(), stood);
        self.activity.add(&request.agent, &request.session, request.created_at);
    }

    pub(super) fn finish(self) -> Attention {
        Attention { active_seconds: self.activity.seconds(), ..self.counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active(calls: &[(&str, &str, i64)]) -> u64 {
        let mut activity = Activity::default();
        for (agent, session, second) in calls {
            activity.add(agent, session, Time::from_micros(second * 1_000_000));
        }
        activity.active.as_secs()
    }

    #[test]
    fn gaps_are_active_time_and_of_longer_ones_only_ten_minutes() {
        assert_eq!(active(&[("a", "s", 0), ("a", "s", 600)]), 600);
        assert_eq!(active(&[("a", "s", 0), ("a", "s", 5_000)]), 600);
        assert_eq!(active(&[("a", "s", 0), ("a", "s", 9), ("a", "s", 1_000), ("a", "s", 1_001)]), 610);
        // Requests are read newest first.
        assert_eq!(active(&[("a", "s", 30), ("a", "s", 10), ("a", "s", 0)]), 30);
    }

    #[test]
    fn sessions_are_active_each_for_themselves_and_two_agents_share_none() {
        assert_eq!(active(&[("a", "s", 0), ("a", "t", 5), ("a", "s", 10), ("a", "t", 15)]), 20);
        assert_eq!(active(&[("a", "s", 0), ("b", "s", 5)]), 0);
    }

    #[test]
    fn every_request_is_in_one_part_and_shares_need_something_to_share() {
        let mut counts = Attention::default();
        assert_eq!((counts.asked_percent(), counts.prompts_per_active_hour()), (None, None));
        for (effect, confined, stood) in [
            (Effect::Allow, false, false),
            (Effect::Allow, true, false),
            (Effect::Allow, false, true),
            // Calls that trust may let pass later wait until it does.
            (Effect::Hold, false, true),
            (Effect::Deny, false, false),
        ] {
            counts.count(effect, confined, stood);
        }
        let parts = [counts.passed, counts.confined, counts.remembered, counts.asked, counts.refused];
        assert_eq!((counts.calls, parts), (5, [1; 5]));
        counts.active_seconds = 59.9;
        assert_eq!(counts.prompts_per_active_hour(), None);
        counts.active_seconds = 1_800.0;
        assert_eq!((counts.asked_percent(), counts.prompts_per_active_hour()), (Some(20.0), Some(2.0)));
    }
}
