//! The slow, obvious model: it keeps the whole story of a request and computes everything from it each time.
//!
//! Only events are kept, and who existed at the time. There is no state to update.

use std::rc::Rc;

use placet_core::{
    Actor, Auth, Body, DecisionWord, Digest, Effect, Escalation, KeyId, Kind, Needs, ProposalContent,
    ReportStatus, Risk, Ruling, State, Submit, Time,
};
use serde_json::{Map, Value};

use crate::world::World;

/// Everything that happened to one request.
#[derive(Debug, Clone)]
pub(crate) struct Story {
    pub(crate) agent: String,
    pub(crate) asked: Rc<Submit>,
    pub(crate) asked_at: Time,
    pub(crate) log: Vec<Rc<Entry>>,
}

/// One thing that happened, when, and who existed then.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) at: Time,
    pub(crate) world: Rc<World>,
    pub(crate) deed: Deed,
}

#[derive(Debug, Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "few of them exist at a time, and a box would hide fields from patterns"
)]
pub(crate) enum Deed {
    Vote(Ballot),
    Claim {
        permit: Digest,
        claimant: Option<Digest>,
    },
    Report {
        status: ReportStatus,
        result: Option<String>,
        note: Option<String>,
    },
    Resolve {
        by: String,
        status: ReportStatus,
        reason: String,
    },
    Cancel,
    Revoke,
    Reassign {
        to: Vec<String>,
    },
    /// The deadline for deciding has passed and somebody noticed: somebody else is asked.
    Escalate,
    /// The deadline that was running has passed and somebody noticed.
    Deadline,
}

#[derive(Debug, Clone)]
pub(crate) struct Ballot {
    pub(crate) by: String,
    pub(crate) word: DecisionWord,
    pub(crate) saw: Digest,
    pub(crate) brings: Option<(ProposalContent, Digest)>,
    pub(crate) ruling: Option<Box<Ruling>>,
    pub(crate) auth: Auth,
    pub(crate) key: Option<KeyId>,
    pub(crate) reason: Option<String>,
    pub(crate) view: Option<Digest>,
    pub(crate) display: Option<Digest>,
}

/// How the question was settled.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) word: DecisionWord,
    pub(crate) by: Vec<String>,
    pub(crate) digest: Digest,
    pub(crate) at: Time,
    pub(crate) reason: Option<String>,
    pub(crate) content: Option<ProposalContent>,
}

impl Story {
    pub(crate) fn begin(asked: Submit, agent: &Actor, at: Time) -> Self {
        Self { agent: agent.name.clone(), asked: Rc::new(asked), asked_at: at, log: Vec::new() }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.asked.content.body.kind()
    }

    /// Only an action has a permit, and only if it was not made without one.
    pub(crate) fn has_permit(&self) -> bool {
        self.kind() == Kind::Action && self.asked.terms.permit
    }

    /// The story as it was after so many entries.
    pub(crate) fn until(&self, entries: usize) -> Self {
        let (agent, asked) = (self.agent.clone(), self.asked.clone());
        Self { agent, asked, asked_at: self.asked_at, log: self.log[..entries].to_vec() }
    }

    fn happened(&self, what: impl Fn(&Deed) -> bool) -> Option<&Entry> {
        self.log.iter().map(Rc::as_ref).find(|entry| what(&entry.deed))
    }

    /// The one decision: of policy when it gave one, else of the first vote that settled it.
    pub(crate) fn decision(&self) -> Option<Outcome> {
        let by_policy = |word| Outcome {
            word,
            by: Vec::new(),
            digest: self.asked.digest,
            at: self.asked_at,
            reason: None,
            content: None,
        };
        match self.asked.verdict.effect {
            Effect::Deny => Some(by_policy(DecisionWord::Deny)),
            Effect::Allow if self.kind() != Kind::Input => Some(by_policy(DecisionWord::Approve)),
            Effect::Allow | Effect::Hold => (0..self.log.len()).find_map(|index| self.settled_by(index)),
        }
    }

    /// How often somebody else was asked because nobody decided in time.
    pub(crate) fn escalations(&self) -> usize {
        self.log.iter().filter(|entry| matches!(entry.deed, Deed::Escalate)).count()
    }

    /// What a passed deadline does: while there are more people to ask, the request stays open.
    pub(crate) fn deadline_passed(&self) -> Deed {
        let left = self.escalations() < self.asked.escalation.len();
        if left && self.state() == State::Pending { Deed::Escalate } else { Deed::Deadline }
    }

    /// Whose yes is needed after these entries, by going through them one by one.
    pub(crate) fn needs_after(&self, entries: &[Rc<Entry>]) -> Needs {
        let mut needs = self.asked.needs.clone();
        let mut chain: Vec<Escalation> = self.asked.escalation.clone();
        for entry in entries {
            match &entry.deed {
                Deed::Escalate => {
                    let next = chain.remove(0).needs;
                    needs = Needs {
                        any: next.any,
                        four_eyes: next.four_eyes || needs.four_eyes,
                        step_up: next.step_up.or(needs.step_up),
                    };
                }
                Deed::Vote(Ballot { brings: Some(_), ruling: Some(ruling), .. }) => {
                    let raised = needs.raised(&ruling.needs);
                    if raised != needs {
                        needs = raised;
                        for next in &mut chain {
                            next.needs = next.needs.raised(&ruling.needs);
                        }
                    }
                }
                _ => {}
            }
        }
        needs
    }

    /// Whose yes was needed before, each time that somebody else was asked.
    pub(crate) fn needs_before(&self) -> Vec<Needs> {
        let escalated = |index: &usize| matches!(self.log[*index].deed, Deed::Escalate);
        (0..self.log.len()).filter(escalated).map(|index| self.needs_after(&self.log[..index])).collect()
    }

    /// Whose yes is needed.
    pub(crate) fn needs(&self) -> Needs {
        self.needs_after(&self.log)
    }

    /// The risk: what was computed at first, raised by every replacement that was put on the table.
    pub(crate) fn risk(&self) -> Risk {
        let raised = self.log.iter().filter_map(|entry| match &entry.deed {
            Deed::Vote(Ballot { brings: Some(_), ruling: Some(ruling), .. }) => Some(ruling.risk),
            _ => None,
        });
        raised.fold(self.asked.risk, Risk::max)
    }

    /// The words that both the agent and policy offer.
    pub(crate) fn offered(&self) -> Vec<DecisionWord> {
        let policy = self.asked.decisions.as_ref();
        let mut words = self.asked.terms.allowed.clone();
        words.retain(|word| *word == DecisionWord::Deny || policy.is_none_or(|words| words.contains(word)));
        words
    }

    fn claimed(&self) -> Option<&Entry> {
        self.happened(|deed| matches!(deed, Deed::Claim { .. }))
    }

    /// The permit and the claimant of the one claim.
    pub(crate) fn held(&self) -> Option<(Time, Digest, Option<Digest>)> {
        self.claimed().and_then(|entry| match &entry.deed {
            Deed::Claim { permit, claimant } => Some((entry.at, *permit, *claimant)),
            _ => None,
        })
    }

    /// The outcome: status, result, when, resolved by, note.
    #[expect(clippy::type_complexity, reason = "five plain facts, compared one by one")]
    pub(crate) fn outcome(
        &self,
    ) -> Option<(ReportStatus, Option<String>, Time, Option<String>, Option<String>)> {
        self.log.iter().find_map(|entry| match &entry.deed {
            Deed::Report { status, result, note } => {
                Some((*status, result.clone(), entry.at, None, note.clone()))
            }
            Deed::Resolve { by, status, reason } => {
                Some((*status, None, entry.at, Some(by.clone()), Some(reason.clone())))
            }
            _ => None,
        })
    }

    /// Where it stands: read off what happened, the latest stage of life first.
    pub(crate) fn state(&self) -> State {
        let ran_out = self.happened(|deed| matches!(deed, Deed::Deadline)).is_some();
        if let Some((status, ..)) = self.outcome() {
            return match status {
                ReportStatus::Succeeded => State::Succeeded,
                ReportStatus::Failed => State::Failed,
            };
        }
        if self.claimed().is_some() {
            return if ran_out { State::Unknown } else { State::Claimed };
        }
        if self.happened(|deed| matches!(deed, Deed::Cancel)).is_some() {
            return State::Cancelled;
        }
        if self.happened(|deed| matches!(deed, Deed::Revoke)).is_some() {
            return State::Revoked;
        }
        match self.decision().map(|decision| decision.word) {
            None if ran_out => State::Expired,
            None => State::Pending,
            Some(DecisionWord::Deny) => State::Denied,
            Some(DecisionWord::Respond) => State::Answered,
            Some(DecisionWord::Approve | DecisionWord::Edit) if ran_out => State::Lapsed,
            Some(DecisionWord::Approve | DecisionWord::Edit) => State::Approved,
        }
    }

    /// Everybody who is asked has their time, counted from the end of the time before.
    pub(crate) fn expires_at(&self) -> Time {
        let windows = self.asked.escalation.iter().take(self.escalations()).map(|next| next.expires_in);
        windows.fold(self.asked_at.plus(self.asked.terms.expires_in), Time::plus)
    }

    /// Claiming is bounded from the approval on, where there is something to claim.
    pub(crate) fn claim_by(&self) -> Option<Time> {
        let decision = self.decision()?;
        let yes = matches!(decision.word, DecisionWord::Approve | DecisionWord::Edit);
        (yes && self.has_permit()).then(|| decision.at.plus(self.asked.claim_window))
    }

    /// Reporting is bounded from the claim on.
    pub(crate) fn report_by(&self) -> Option<Time> {
        self.claimed().map(|entry| entry.at.plus(self.asked.report_window))
    }

    /// The deadline that is running.
    pub(crate) fn deadline(&self) -> Option<Time> {
        match self.state() {
            State::Pending => Some(self.expires_at()),
            State::Approved => self.claim_by(),
            State::Claimed => self.report_by(),
            _ => None,
        }
    }

    pub(crate) fn overdue(&self, now: Time) -> bool {
        self.deadline().is_some_and(|deadline| now >= deadline)
    }

    /// What a reader sees now: as if somebody had just noticed the deadline.
    pub(crate) fn seen(&self, now: Time) -> State {
        let mut noticed = self.clone();
        while noticed.overdue(now) {
            let deed = noticed.deadline_passed();
            noticed.happen(now, &Rc::new(World::new()), deed);
        }
        noticed.state()
    }

    /// Whether no arrow of the picture leads on from here.
    pub(crate) fn is_final(&self) -> bool {
        match self.state() {
            State::Pending | State::Claimed | State::Unknown => false,
            State::Approved => !self.has_permit(),
            _ => true,
        }
    }

    /// Writes down what happened.
    pub(crate) fn happen(&mut self, at: Time, world: &Rc<World>, deed: Deed) {
        self.log.push(Rc::new(Entry { at, world: world.clone(), deed }));
    }

    /// One more with every entry.
    pub(crate) fn version(&self) -> u32 {
        1 + u32::try_from(self.log.len()).expect("short stories")
    }

    /// The version at which state, who is asked, or what is on the table, last changed.
    pub(crate) fn changed_at(&self) -> u32 {
        let looks = |entries: usize| {
            let then = self.until(entries);
            (then.state(), then.escalations(), then.latest_replacement().map(|(index, _)| index))
        };
        let last = (1..=self.log.len()).rev().find(|entries| looks(*entries) != looks(entries - 1));
        1 + u32::try_from(last.unwrap_or(0)).expect("short stories")
    }

    /// Who was asked by name: the last reassignment says.
    pub(crate) fn asked_by_name(&self) -> Vec<String> {
        let named = |entry: &Rc<Entry>| match &entry.deed {
            Deed::Reassign { to } => Some(to.clone()),
            _ => None,
        };
        self.log.iter().rev().find_map(named).unwrap_or_default()
    }

    /// What would run: the approved replacement whole, else what was asked.
    pub(crate) fn arguments(&self) -> Option<Map<String, Value>> {
        let replaced =
            self.decision().and_then(|decision| decision.content).and_then(|content| content.arguments);
        let Body::Action(action) = &self.asked.content.body else { return replaced };
        Some(replaced.unwrap_or_else(|| action.arguments.clone()))
    }
}
