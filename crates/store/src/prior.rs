//! Standing approvals and trust inside a batch: the loaded rows, and the changes to write.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use placet_core::{Command, DecisionWord, Event, GrantId, OPEN_REVIEWER, ReportStatus, Request, State, Time};

use crate::{
    StoreError,
    keyed::{same_call, trust_key_of},
    policies::{GrantEnding, GrantRow, TrustChange, TrustRow},
    sabotage::planted,
};

/// Standing approvals and trust as a batch has read and changed them.
#[derive(Clone, Default)]
pub(crate) struct PriorApprovals {
    used: HashMap<GrantId, u32>,
    newly_used: BTreeMap<GrantId, u32>,
    given: Vec<Arc<GrantRow>>,
    ended: Vec<GrantEnding>,
    // Only what some new request claims is loaded; changes need not know what there was.
    trust: HashMap<[u8; 32], TrustRow>,
    // In the order in which they happened.
    trust_changes: Vec<([u8; 32], TrustChange)>,
}

/// What is to be written: uses, new ones, those that ended, and changes of trust.
type Finished = (Vec<(GrantId, u32)>, Vec<Arc<GrantRow>>, Vec<GrantEnding>, Vec<([u8; 32], TrustChange)>);

impl PriorApprovals {
    pub(crate) fn new(used: HashMap<GrantId, u32>, trust: HashMap<[u8; 32], TrustRow>) -> Self {
        Self { used, trust, ..Self::default() }
    }

    /// What a new request may claim: how many approvals there were of the same, and how often its grants were used.
    pub(crate) fn claims(&self, command: &Command, now: Time) -> (u32, Vec<(GrantId, u32)>) {
        let Command::Submit(submit) = command else { return (0, Vec::new()) };
        let trust = submit.trust.as_ref().and_then(|offer| self.trust.get(&offer.key));
        // One that was given in this batch has no row yet, and no use.
        let used = |id: &GrantId| (*id, self.used.get(id).copied().unwrap_or(0));
        (trust.map_or(0, |row| row.standing(now)), submit.grants.iter().map(used).collect())
    }

    /// Counts what a change teaches: a use of a standing approval, one more approval of the same, a run that failed, or a no that
    /// ends trust. `was` is the state before it, `seq` its entry.
    pub(crate) fn learn(
        &mut self,
        request: &Request,
        event: &Event,
        (was, seq): (Option<State>, u64),
        now: Time,
        secret: &[u8],
    ) -> Result<(), StoreError> {
        let change = match event {
            Event::Created(created) => {
                if let Some(id) = created.grant {
                    let used = self.used.entry(id).or_default();
                    *used = used.saturating_add(1);
                    self.newly_used.insert(id, *used);
                }
                return Ok(());
            }
            Event::Decided { decision: DecisionWord::Approve, state: State::Approved, .. }
                if taught(request) =>
            {
                let asked = if planted("batch-earns-trust") { u64::MAX } else { request.seq };
                TrustChange::Approved { asked, seq }
            }
            Event::Decided { decision: DecisionWord::Deny, .. } | Event::Revoked {} => TrustChange::Reset,
            Event::Unknown {} if taught(request) => TrustChange::Failed,
            // Out of `unknown` it was taken away before.
            Event::Reported { status: ReportStatus::Failed, .. }
                if was == Some(State::Claimed) && taught(request) =>
            {
                TrustChange::Failed
            }
            _ => return Ok(()),
        };
        let Some(key) = trust_key_of(secret, request)? else { return Ok(()) };
        self.trust_changes.push((key, change));
        // A no is to the call, wherever the agent says that it would run.
        let touched = |known: &[u8; 32]| match change {
            TrustChange::Reset => same_call(known, &key),
            _ => *known == key,
        };
        for (_, row) in self.trust.iter_mut().filter(|(known, _)| touched(known)) {
            *row = row.after(change, now);
        }
        Ok(())
    }

    /// Takes over what an event ended and gave.
    pub(crate) fn changed(&mut self, ended: Vec<GrantEnding>, given: Vec<GrantRow>) {
        self.ended.extend(ended);
        self.given.extend(given.into_iter().map(Arc::new));
    }

    /// What is to be written. Where all trust ends there is nothing left to change about it.
    pub(crate) fn finish(self, no_trust: bool) -> Finished {
        let Self { newly_used, given, ended, trust_changes, .. } = self;
        let used = newly_used.into_iter().collect();
        let trust = if no_trust { Vec::new() } else { trust_changes };
        (used, given, ended, trust)
    }
}

/// Whether the approval of this request is one that counts: by people, as it was asked. An edit says that something was wrong
/// with it, and nobody in particular teaches nothing.
fn taught(request: &Request) -> bool {
    request.decision.as_ref().is_some_and(|decision| {
        decision.word == DecisionWord::Approve
            && !decision.by.is_empty()
            && !decision.by.iter().any(|name| name == OPEN_REVIEWER)
    })
}
