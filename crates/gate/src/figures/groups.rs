//! Counts and times by kind, tool, agent and reviewer.

use std::collections::HashMap;

use placet_core::{DecisionWord, State, show};
use placet_store::CountedRequest;

use super::is_no;

/// How people decided one kind or tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decisions {
    /// The kind or tool.
    pub name: String,
    /// Yes.
    pub approve: u64,
    /// Yes, with other arguments.
    pub edit: u64,
    /// No.
    pub deny: u64,
    /// An answer.
    pub respond: u64,
    /// Nobody in time.
    pub expired: u64,
    /// Taken back by the agent.
    pub cancelled: u64,
}

/// How long people took, in seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Speed {
    /// Whose requests or decisions.
    pub name: String,
    /// How many decisions.
    pub count: u64,
    /// The median.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
}

/// How long people took, from several sides.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Speeds {
    /// All together.
    pub overall: Speed,
    /// By tool, those with most decisions first.
    pub by_tool: Vec<Speed>,
    /// By agent.
    pub by_agent: Vec<Speed>,
    /// By reviewer.
    pub by_reviewer: Vec<Speed>,
}

/// What one reviewer did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReviewerFigures {
    /// Who.
    pub name: String,
    /// How many decisions they took part in.
    pub decisions: u64,
    /// How many of them were a deny.
    pub denied: u64,
    /// The median time, in seconds.
    pub median_seconds: f64,
}

/// The length of each list.
const TOP: usize = 20;
/// The number of distinct names. Further names count together under a dash.
const NAMES: usize = 10_000;

type Times = HashMap<String, Vec<f64>>;

/// What was counted so far.
#[derive(Debug, Default)]
pub(super) struct Groups {
    kinds: HashMap<String, Decisions>,
    tools: HashMap<String, Decisions>,
    overall: Vec<f64>,
    tool_times: Times,
    agent_times: Times,
    reviewer_times: Times,
    denied: HashMap<String, u64>,
    /// The one person of these figures. Everybody without it.
    only: Option<String>,
}

impl Groups {
    /// Figures about this person alone, or about everybody.
    pub(super) fn of(only: Option<String>) -> Self {
        Self { only, ..Self::default() }
    }

    /// Adds a request that was held.
    pub(super) fn add(&mut self, request: &CountedRequest) {
        let count = |decisions: &mut Decisions| {
            let field = match (&request.decision, request.state) {
                (Some(decision), _) => match decision.word {
                    DecisionWord::Approve => &mut decisions.approve,
                    DecisionWord::Edit => &mut decisions.edit,
                    DecisionWord::Deny => &mut decisions.deny,
                    DecisionWord::Respond => &mut decisions.respond,
                },
                (None, State::Expired) => &mut decisions.expired,
                (None, State::Cancelled) => &mut decisions.cancelled,
                _ => return,
            };
            *field += 1;
        };
        count(slot(&mut self.kinds, request.kind.as_str()));
        if let Some(tool) = &request.tool {
            count(slot(&mut self.tools, tool));
        }
        let Some(decision) = request.decision.as_ref().filter(|decision| !decision.by.is_empty()) else {
            return;
        };
        let seconds = decision.at.since(request.created_at).as_secs_f64();
        self.overall.push(seconds);
        if let Some(tool) = &request.tool {
            slot(&mut self.tool_times, tool).push(seconds);
        }
        slot(&mut self.agent_times, &request.agent).push(seconds);
        let told = |name: &&String| self.only.as_ref().is_none_or(|only| only == *name);
        for name in decision.by.iter().filter(told) {
            slot(&mut self.reviewer_times, name).push(seconds);
            if is_no(decision.word) {
                *slot(&mut self.denied, name) += 1;
            }
        }
    }

    /// By kind and by tool, those with most decisions first.
    pub(super) fn decisions(&self) -> (Vec<Decisions>, Vec<Decisions>) {
        (most(&self.kinds), most(&self.tools))
    }

    pub(super) fn speeds(&self) -> Speeds {
        Speeds {
            overall: speed("", &self.overall),
            by_tool: fastest(&self.tool_times),
            by_agent: fastest(&self.agent_times),
            by_reviewer: fastest(&self.reviewer_times),
        }
    }

    pub(super) fn reviewers(&self) -> Vec<ReviewerFigures> {
        let speeds = fastest(&self.reviewer_times);
        let denied = |shown: &str| {
            self.denied.iter().find(|(name, _)| show(name) == shown).map_or(0, |(_, denied)| *denied)
        };
        speeds
            .into_iter()
            .map(|speed| ReviewerFigures {
                denied: denied(&speed.name),
                name: speed.name,
                decisions: speed.count,
                median_seconds: speed.p50,
            })
            .collect()
    }
}

/// The slot of a name. One shared slot when there are too many names.
fn slot<'a, T: Default>(slots: &'a mut HashMap<String, T>, name: &str) -> &'a mut T {
    let name = if slots.len() < NAMES || slots.contains_key(name) { name } else { "—" };
    slots.entry(name.to_owned()).or_default()
}

fn most(slots: &HashMap<String, Decisions>) -> Vec<Decisions> {
    let total =
        |one: &Decisions| one.approve + one.edit + one.deny + one.respond + one.expired + one.cancelled;
    let mut all: Vec<Decisions> = slots
        .iter()
        .filter(|(_, one)| total(one) > 0)
        .map(|(name, one)| Decisions { name: show(name), ..one.clone() })
        .collect();
    all.sort_by(|a, b| total(b).cmp(&total(a)).then_with(|| a.name.cmp(&b.name)));
    all.truncate(TOP);
    all
}

fn fastest(times: &Times) -> Vec<Speed> {
    let mut all: Vec<(&String, &Vec<f64>)> = times.iter().collect();
    all.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.0.cmp(b.0)));
    all.truncate(TOP);
    all.into_iter().map(|(name, times)| speed(name, times)).collect()
}

fn speed(name: &str, times: &[f64]) -> Speed {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    Speed { name: show(name), count: times.len() as u64, p50: at(&times, 50), p90: at(&times, 90) }
}

/// The percentile: the smallest value that at least this many of a hundred do not exceed.
fn at(sorted: &[f64], percent: usize) -> f64 {
    let rank = sorted.len().saturating_mul(percent).div_ceil(100).saturating_sub(1);
    sorted.get(rank).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let times: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!((at(&times, 50), at(&times, 90)), (5.0, 9.0));
        assert_eq!((at(&[7.0], 50), at(&[7.0], 90), at(&[], 50)), (7.0, 7.0, 0.0));
    }

    #[test]
    fn names_beyond_the_bound_count_together() {
        let mut slots: HashMap<String, u64> = HashMap::new();
        for n in 0..NAMES + 50 {
            *slot(&mut slots, &n.to_string()) += 1;
        }
        assert_eq!((slots.len(), slots["—"]), (NAMES + 1, 50));
    }
}
