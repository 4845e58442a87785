//! What policy says of one call, and how two sayings become one that is at least as strict as both.

use std::{collections::BTreeSet, fmt, time::Duration};

use placet_core::{Confine, DecisionWord, Effect, Escalation, Needs, Risk};
use serde::{Serialize, Serializer};

use crate::{durations, needs};

/// What policy says of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Allow, hold or deny.
    pub effect: Effect,
    /// Of a call that is allowed: it may run only so confined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confine: Option<Confine>,
    /// The first rule, in the order of the file, that said so; `default` when no rule spoke.
    pub rule: String,
    /// Every rule that holds the call: trust and remembered commands are bound to all of them.
    #[serde(skip)]
    pub rules: BTreeSet<String>,
    /// Of a call that is allowed: every rule that allows it says that it only reads.
    #[serde(skip)]
    pub reads_only: bool,
    /// Why, for people. Of very many rules only some are named.
    pub reasons: Vec<String>,
    /// Computed risk.
    pub risk: Risk,
    /// Whose yes is needed. Of a call that is allowed: whose it would be if somebody had to say it.
    pub needs: Needs,
    /// Time for deciding, if policy sets one.
    #[serde(serialize_with = "durations::option")]
    pub expires_in: Option<Duration>,
    /// Who is asked next, one after the other, when nobody decided in time. Empty: expiry is a no.
    #[serde(serialize_with = "escalations")]
    pub escalation: Vec<Escalation>,
    /// Time for claiming, if policy sets one.
    #[serde(serialize_with = "durations::option")]
    pub claim_window: Option<Duration>,
    /// Which decisions are offered, if policy says; `deny` always is.
    pub decisions: Option<Vec<DecisionWord>>,
    /// How many requests of one agent may wait at once, if policy says.
    pub pending_cap: Option<u64>,
    /// After how many approvals of the same thing nobody is asked any more.
    pub trust: Option<Trust>,
}

/// After so many human approvals of the same thing nobody is asked any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trust {
    /// How many.
    pub after: u32,
    /// JSON pointers whose values make it the same thing; the whole arguments when `None`.
    pub template: Option<Vec<String>>,
}

impl Outcome {
    /// Whether this one asks for anything that the other does not.
    pub fn stricter_than(&self, other: &Self) -> bool {
        // Joined with itself the other is in normal form, so that only demands are compared and not their spelling.
        let before = other.clone().join(other.clone());
        let unnamed = |outcome: Self| Self {
            rule: String::new(),
            rules: BTreeSet::new(),
            reads_only: false,
            reasons: Vec::new(),
            ..outcome
        };
        unnamed(other.clone().join(self.clone())) != unnamed(before)
    }

    /// The strictest of both, field by field. What a looser side says about waiting does not count when it does
    /// not make anybody wait: an allowed call has no deadline to shorten.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        let risk = self.risk.max(other.risk);
        let claim_window = least(self.claim_window, other.claim_window);
        let (mut main, side) = match self.effect.cmp(&other.effect) {
            std::cmp::Ordering::Greater => (self, other),
            // Two of one effect: which of them names the rule must not depend on who comes first.
            std::cmp::Ordering::Equal if self.rank() <= other.rank() => (self, other),
            std::cmp::Ordering::Less | std::cmp::Ordering::Equal => (other, self),
        };
        main.risk = risk;
        main.claim_window = claim_window;
        main.reads_only |= side.reads_only;
        main.confine = match main.effect {
            Effect::Allow => main.confine.max(side.confine),
            Effect::Hold | Effect::Deny => None,
        };
        if main.effect == side.effect {
            main.needs = main.needs.join(&side.needs);
            main.expires_in = least(main.expires_in, side.expires_in);
            main.pending_cap = least(main.pending_cap, side.pending_cap);
            main.decisions = both_decisions(main.decisions.as_deref(), side.decisions.as_deref());
            main.escalation = both_escalations(&main.escalation, &side.escalation);
            main.trust = both_trust(main.trust, side.trust);
            main.rules.extend(side.rules);
            for reason in side.reasons {
                if !main.reasons.contains(&reason) {
                    main.reasons.push(reason);
                }
            }
        } else {
            main.needs = main.needs.normal();
            main.decisions = main.decisions.as_deref().map(sorted);
        }
        if main.risk == Risk::Critical {
            needs::step_up(&mut main.needs);
            main.escalation.iter_mut().for_each(|next| needs::step_up(&mut next.needs));
        }
        main
    }

    /// Rules win over `default`, then the alphabet decides.
    fn rank(&self) -> (bool, &str, &[String]) {
        (self.rule == crate::DEFAULT_RULE, &self.rule, &self.reasons)
    }
}

/// The smaller of two limits, where no limit is the largest.
pub(crate) fn least<T: Ord>(left: Option<T>, right: Option<T>) -> Option<T> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (left, right) => left.or(right),
    }
}

/// What both sides offer. `deny` always is.
pub(crate) fn both_decisions(
    left: Option<&[DecisionWord]>,
    right: Option<&[DecisionWord]>,
) -> Option<Vec<DecisionWord>> {
    match (left, right) {
        (Some(left), Some(right)) => Some(
            sorted(left)
                .into_iter()
                .filter(|word| *word == DecisionWord::Deny || right.contains(word))
                .collect(),
        ),
        (one, other) => one.or(other).map(sorted),
    }
}

/// In the order of the words, each once, `deny` among them.
fn sorted(words: &[DecisionWord]) -> Vec<DecisionWord> {
    DecisionWord::ALL
        .iter()
        .copied()
        .filter(|word| *word == DecisionWord::Deny || words.contains(word))
        .collect()
}

/// Step by step; where one side would let the request expire, it expires.
fn both_escalations(left: &[Escalation], right: &[Escalation]) -> Vec<Escalation> {
    left.iter()
        .zip(right)
        .map(|(left, right)| Escalation {
            needs: left.needs.join(&right.needs),
            expires_in: left.expires_in.min(right.expires_in),
        })
        .collect()
}

/// Trust is offered only where both offer it about the same thing.
pub(crate) fn both_trust(left: Option<Trust>, right: Option<Trust>) -> Option<Trust> {
    let (left, right) = (left?, right?);
    (left.template == right.template)
        .then(|| Trust { after: left.after.max(right.after), template: left.template })
}

fn escalations<S: Serializer>(list: &[Escalation], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct EscalationView<'a> {
        needs: &'a Needs,
        #[serde(serialize_with = "durations::one")]
        expires_in: Duration,
    }
    serializer.collect_seq(
        list.iter().map(|next| EscalationView { needs: &next.needs, expires_in: next.expires_in }),
    )
}

impl fmt::Display for Outcome {
    /// One line for people: the effect, the rule, the risk.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let confined = if self.confine.is_some() { ", confined," } else { "" };
        write!(f, "{}{confined} by rule `{}` (risk {})", self.effect, self.rule, self.risk)
    }
}
