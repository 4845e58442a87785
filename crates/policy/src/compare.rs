//! What a candidate policy would have done: fed with recorded requests one by one, merged across threads, told at the end.

use std::collections::BTreeMap;

use placet_core::{Confine, DecisionWord, Effect, Risk};
use serde::Serialize;

use crate::Outcome;

/// So many examples of each kind are kept; everything is counted.
const EXAMPLES: usize = 10;
/// So many of the requests that a person denied and the candidate would allow are named.
const DENIED: usize = 100;

/// What is on record about one request.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    /// Its identifier.
    pub id: &'a str,
    /// Who asked.
    pub agent: &'a str,
    /// The tool of an action.
    pub tool: Option<&'a str>,
    /// What policy said then.
    pub effect: Effect,
    /// How it had to be confined.
    pub confine: Option<Confine>,
    /// The rule that said it.
    pub rule: &'a str,
    /// The risk it was given.
    pub risk: Risk,
    /// What a person decided, if one did.
    pub decision: Option<DecisionWord>,
    /// How long the person took, in seconds.
    pub seconds: Option<f64>,
}

/// One request that would be judged differently.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Example {
    /// Its identifier.
    pub id: String,
    /// Who asked.
    pub agent: String,
    /// The tool of an action.
    pub tool: Option<String>,
    /// The rule that decided then.
    pub before: String,
    /// The rule that would decide now.
    pub after: String,
}

/// Requests whose effect would change in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The effect then.
    pub from: Effect,
    /// How it had to be confined then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_confine: Option<Confine>,
    /// The effect now.
    pub to: Effect,
    /// How it has to be confined now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_confine: Option<Confine>,
    /// How many.
    pub count: u64,
    /// Some of them.
    pub examples: Vec<Example>,
}

/// The report, most important first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Requests a person denied that the candidate would allow.
    pub denied_now_allowed: Vec<Example>,
    /// How many of those there are in all.
    pub denied_now_allowed_count: u64,
    /// Changes of effect.
    pub changes: Vec<Change>,
    /// How many requests were looked at.
    pub total: u64,
    /// How many keep their effect.
    pub unchanged: u64,
    /// How many keep their effect and get another risk.
    pub risk_changed: u64,
    /// How many keep their effect and get it from another rule.
    pub rule_changed: u64,
    /// How many held requests nobody would be asked about any more.
    pub prompts_saved: u64,
    /// How many requests would be held that were not.
    pub prompts_added: u64,
    /// Half of the decisions on record took no longer than this, in seconds.
    pub median_decision_seconds: Option<f64>,
    /// What the saved prompts would have saved, in minutes of people's time; negative when it costs more.
    pub human_minutes_saved: Option<f64>,
}

/// An effect, and how what is allowed has to be confined.
type ComparedVerdict = (Effect, Option<Confine>);

/// Counts, fed one request at a time.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    total: u64,
    unchanged: u64,
    risk_changed: u64,
    rule_changed: u64,
    changes: BTreeMap<(ComparedVerdict, ComparedVerdict), (u64, Vec<Example>)>,
    denied: (u64, Vec<Example>),
    times: Times,
}

impl Comparison {
    /// Nothing compared yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Compares what is on record with what the candidate says.
    pub fn add(&mut self, before: &Recorded<'_>, after: &Outcome) {
        self.total = self.total.saturating_add(1);
        if let Some(seconds) = before.seconds.filter(|_| before.decision.is_some()) {
            self.times.add(seconds);
        }
        let (then, now) = ((before.effect, before.confine), (after.effect, after.confine));
        if then == now {
            self.unchanged = self.unchanged.saturating_add(1);
            self.risk_changed = self.risk_changed.saturating_add(u64::from(before.risk != after.risk));
            self.rule_changed = self.rule_changed.saturating_add(u64::from(before.rule != after.rule));
            return;
        }
        let example = || Example {
            id: before.id.to_owned(),
            agent: before.agent.to_owned(),
            tool: before.tool.map(str::to_owned),
            before: before.rule.to_owned(),
            after: after.rule.clone(),
        };
        let (count, examples) = self.changes.entry((then, now)).or_default();
        *count = count.saturating_add(1);
        if examples.len() < EXAMPLES {
            examples.push(example());
        }
        if before.decision.is_some_and(|word| !word.is_yes()) && after.effect == Effect::Allow {
            self.denied.0 = self.denied.0.saturating_add(1);
            if self.denied.1.len() < DENIED {
                self.denied.1.push(example());
            }
        }
    }

    /// Takes in what another thread counted.
    pub fn merge(&mut self, other: Self) {
        self.total = self.total.saturating_add(other.total);
        self.unchanged = self.unchanged.saturating_add(other.unchanged);
        self.risk_changed = self.risk_changed.saturating_add(other.risk_changed);
        self.rule_changed = self.rule_changed.saturating_add(other.rule_changed);
        for (key, (count, examples)) in other.changes {
            let (sum, list) = self.changes.entry(key).or_default();
            *sum = sum.saturating_add(count);
            take_in(list, examples, EXAMPLES);
        }
        self.denied.0 = self.denied.0.saturating_add(other.denied.0);
        take_in(&mut self.denied.1, other.denied.1, DENIED);
        self.times.merge(&other.times);
    }

    /// What came of it.
    pub fn report(&self) -> Report {
        let held = |from: bool| {
            self.changes
                .iter()
                .filter(
                    |(((before, _), (after, _)), _)| {
                        if from { *before == Effect::Hold } else { *after == Effect::Hold }
                    },
                )
                .fold(0_u64, |sum, (_, (count, _))| sum.saturating_add(*count))
        };
        let (prompts_saved, prompts_added) = (held(true), held(false));
        let median = self.times.median();
        let mut denied_now_allowed = self.denied.1.clone();
        denied_now_allowed.sort();
        Report {
            denied_now_allowed,
            denied_now_allowed_count: self.denied.0,
            changes: self
                .changes
                .iter()
                .map(|(((from, from_confine), (to, to_confine)), (count, examples))| Change {
                    from: *from,
                    from_confine: *from_confine,
                    to: *to,
                    to_confine: *to_confine,
                    count: *count,
                    examples: examples.clone(),
                })
                .collect(),
            total: self.total,
            unchanged: self.unchanged,
            risk_changed: self.risk_changed,
            rule_changed: self.rule_changed,
            prompts_saved,
            prompts_added,
            median_decision_seconds: median,
            human_minutes_saved: median
                .map(|seconds| (prompts_saved as f64 - prompts_added as f64) * seconds / 60.0),
        }
    }
}

/// The first ones by identifier, so that the order in which threads end does not show.
fn take_in(list: &mut Vec<Example>, more: Vec<Example>, most: usize) {
    list.extend(more);
    list.sort();
    list.truncate(most);
}

/// Times in buckets a fifth apart: enough for a median, and the same size for a thousand and a million.
#[derive(Debug, Clone, Default)]
struct Times {
    buckets: BTreeMap<u8, u64>,
    count: u64,
}

/// Each bucket ends so many times later than the one before.
const STEP: f64 = 1.2;
/// Where the first bucket ends, in seconds.
const FIRST: f64 = 0.1;

impl Times {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to 0..=255 right before"
    )]
    fn add(&mut self, seconds: f64) {
        if seconds.is_finite() && seconds >= 0.0 {
            let bucket = (seconds.max(FIRST) / FIRST).log(STEP).ceil().clamp(0.0, 255.0) as u8;
            let count = self.buckets.entry(bucket).or_default();
            *count = count.saturating_add(1);
            self.count = self.count.saturating_add(1);
        }
    }

    fn merge(&mut self, other: &Self) {
        for (bucket, count) in &other.buckets {
            let sum = self.buckets.entry(*bucket).or_default();
            *sum = sum.saturating_add(*count);
        }
        self.count = self.count.saturating_add(other.count);
    }

    /// The middle of the bucket in which the middle one lies.
    fn median(&self) -> Option<f64> {
        let mut left = self.count.checked_add(1)? / 2;
        for (bucket, count) in &self.buckets {
            if *count >= left {
                let seconds = FIRST * STEP.powf(f64::from(*bucket) - 0.5);
                return Some((seconds * 10.0).round() / 10.0);
            }
            left = left.saturating_sub(*count);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use placet_core::Needs;

    fn outcome(effect: Effect, rule: &str) -> Outcome {
        Outcome {
            effect,
            confine: None,
            rule: rule.to_owned(),
            rules: std::collections::BTreeSet::new(),
            reads_only: false,
            reasons: Vec::new(),
            risk: Risk::Low,
            needs: Needs::default(),
            expires_in: None,
            escalation: Vec::new(),
            claim_window: None,
            decisions: None,
            pending_cap: None,
            trust: None,
        }
    }

    fn recorded(id: &str, effect: Effect, decision: Option<DecisionWord>, seconds: f64) -> Recorded<'_> {
        Recorded {
            id,
            agent: "a",
            tool: Some("t"),
            effect,
            confine: None,
            rule: "old",
            risk: Risk::Low,
            decision,
            seconds: Some(seconds),
        }
    }

    #[test]
    fn what_a_person_denied_and_would_now_pass_is_named_first() {
        let mut comparison = Comparison::new();
        comparison.add(
            &recorded("1", Effect::Hold, Some(DecisionWord::Approve), 60.0),
            &outcome(Effect::Allow, "new"),
        );
        comparison.add(
            &recorded("2", Effect::Hold, Some(DecisionWord::Deny), 60.0),
            &outcome(Effect::Allow, "new"),
        );
        comparison.add(&recorded("3", Effect::Allow, None, 0.0), &outcome(Effect::Hold, "new"));
        comparison.add(&recorded("4", Effect::Hold, None, 0.0), &outcome(Effect::Hold, "old"));
        let report = comparison.report();
        assert_eq!(
            report.denied_now_allowed.iter().map(|example| example.id.as_str()).collect::<Vec<_>>(),
            ["2"]
        );
        assert_eq!(
            (report.total, report.unchanged, report.prompts_saved, report.prompts_added),
            (4, 1, 2, 1)
        );
        let text = serde_json::to_string(&report).unwrap();
        assert!(text.starts_with("{\"denied_now_allowed\""), "{text}");
        assert_eq!(report.changes.len(), 2);
        assert_eq!(
            (report.changes[1].from, report.changes[1].to, report.changes[1].count),
            (Effect::Hold, Effect::Allow, 2)
        );
    }

    #[test]
    fn the_median_of_past_decisions_estimates_minutes() {
        let mut comparison = Comparison::new();
        for _ in 0..100 {
            comparison.add(
                &recorded("1", Effect::Hold, Some(DecisionWord::Approve), 60.0),
                &outcome(Effect::Allow, "new"),
            );
        }
        comparison.add(
            &recorded("2", Effect::Hold, Some(DecisionWord::Approve), 86_400.0),
            &outcome(Effect::Hold, "new"),
        );
        let report = comparison.report();
        let median = report.median_decision_seconds.unwrap();
        assert!((50.0..72.0).contains(&median), "{median}");
        assert!((80.0..120.0).contains(&report.human_minutes_saved.unwrap()));
        assert_eq!(Comparison::new().report().human_minutes_saved, None);
    }

    #[test]
    fn merging_is_the_same_as_feeding_one() {
        let ids: Vec<String> = (0..50).map(|id| format!("{id:03}")).collect();
        let feed = |part: &[String]| {
            let mut comparison = Comparison::new();
            for id in part {
                comparison.add(
                    &recorded(id, Effect::Hold, Some(DecisionWord::Deny), 5.0),
                    &outcome(Effect::Allow, "new"),
                );
            }
            comparison
        };
        let whole = feed(&ids);
        let (left, right) = ids.split_at(20);
        for (first, second) in [(left, right), (right, left)] {
            let mut merged = feed(first);
            merged.merge(feed(second));
            assert_eq!(merged.report().denied_now_allowed, whole.report().denied_now_allowed);
            assert_eq!(merged.report(), {
                let mut again = Comparison::new();
                again.merge(whole.clone());
                again.report()
            });
        }
        assert_eq!(whole.report().changes[0].examples.len(), EXAMPLES);
        assert_eq!(whole.report().denied_now_allowed_count, 50);
    }

    #[test]
    fn a_hundred_denied_requests_are_named_and_all_are_counted() {
        let ids: Vec<String> = (0..=DENIED).map(|id| format!("{id:03}")).collect();
        let mut comparison = Comparison::new();
        for id in &ids {
            comparison.add(
                &recorded(id, Effect::Hold, Some(DecisionWord::Deny), 5.0),
                &outcome(Effect::Allow, "new"),
            );
        }
        let report = comparison.report();
        assert_eq!((report.denied_now_allowed.len(), report.denied_now_allowed_count), (DENIED, 101));
        assert_eq!(report.changes[0].examples.len(), EXAMPLES);
    }

    #[test]
    fn prompts_that_are_added_cost_what_prompts_that_are_saved_save() {
        let decided = Some(DecisionWord::Approve);
        let minutes = |saved: u32, added: u32| {
            let mut comparison = Comparison::new();
            for _ in 0..saved {
                comparison.add(&recorded("1", Effect::Hold, decided, 60.0), &outcome(Effect::Deny, "new"));
            }
            for _ in 0..added {
                comparison.add(&recorded("2", Effect::Allow, decided, 60.0), &outcome(Effect::Hold, "new"));
            }
            let report = comparison.report();
            assert_eq!((report.prompts_saved, report.prompts_added), (saved.into(), added.into()));
            report.human_minutes_saved.unwrap()
        };
        assert!(minutes(3, 1) > 1.5 && minutes(3, 1) < 2.5);
        assert!(minutes(1, 3) < -1.5 && minutes(1, 3) > -2.5);
        assert!(minutes(2, 2).abs() < 0.01);
    }

    #[test]
    fn the_median_is_the_middle_of_the_times_people_took() {
        let median = |times: &[f64]| {
            let mut comparison = Comparison::new();
            for seconds in times {
                let decided = Some(DecisionWord::Approve);
                comparison
                    .add(&recorded("1", Effect::Hold, decided, *seconds), &outcome(Effect::Hold, "old"));
            }
            comparison.report().median_decision_seconds
        };
        let about = |times: &[f64], wanted: f64| {
            let is = median(times).unwrap();
            assert!((wanted / 1.25..=wanted * 1.25).contains(&is), "{times:?}: {is}");
        };
        about(&[1.0, 1.0, 1.0, 1000.0, 1000.0, 1000.0, 1000.0], 1000.0);
        about(&[1.0, 1.0, 1.0, 1.0, 1000.0, 1000.0, 1000.0], 1.0);
        about(&[1.0, 1.0, 30.0, 1000.0, 1000.0], 30.0);
        about(&[2.0, 2.0], 2.0);
        about(&[0.0, 0.0, 0.1], 0.1);
        assert_eq!(median(&[-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]), None, "these are no times");
        assert_eq!(median(&[]), None);
    }
}
