//! Figures for the plots: how much waits and how long, who decides what, and how fast.

mod attention;
mod groups;
mod waits;

use std::{sync::Arc, time::Duration};

pub(crate) use attention::Activity;
pub use attention::Attention;
use attention::Tally;
use groups::Groups;
pub use groups::{Decisions, ReviewerFigures, Speed, Speeds};
use placet_core::{Actor, DecisionWord, Effect, Risk, Role, State, Time};
use placet_store::{Figure, StoreError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
pub use waits::Depth;
use waits::WaitSpans;

use crate::{Gate, GateError, policies::off_thread};

/// Figures about one period.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// The start of the period. Later than asked for if there is too much to read.
    pub from: Time,
    /// Until when.
    pub to: Time,
    /// What waits now.
    pub now: PendingNow,
    /// What waited over time.
    pub depth: Vec<Depth>,
    /// How long people took.
    pub speeds: Speeds,
    /// How people decided, by kind and by tool.
    pub by_kind: Vec<Decisions>,
    /// The same by tool.
    pub by_tool: Vec<Decisions>,
    /// Who or what decided.
    pub deciders: Deciders,
    /// Arrivals by weekday, Monday first, and hour, UTC.
    pub heat: Vec<[u64; 24]>,
    /// What each reviewer did.
    pub reviewers: Vec<ReviewerFigures>,
    /// How often people were asked.
    pub attention: Attention,
}

/// What waits now.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PendingNow {
    /// How many.
    pub pending: u64,
    /// How long the oldest has waited, in seconds.
    pub oldest_age_seconds: f64,
    /// Low, medium, high, critical.
    pub by_risk: [u64; 4],
}

/// Who or what decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deciders {
    /// Policy, without a person.
    pub policy: u64,
    /// A grant.
    pub grant: u64,
    /// People.
    pub person: u64,
    /// Nobody in time.
    pub expiry: u64,
    /// The agent took it back.
    pub cancelled: u64,
}

/// Most requests that are read, and how many at a time.
const MOST: usize = 100_000;
const PAGE: u32 = 2_000;
/// The timeout for a turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// One computation at a time, because each may read much.
#[derive(Debug)]
pub(crate) struct FiguresTurn(Arc<Semaphore>);

impl Default for FiguresTurn {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl FiguresTurn {
    /// WaitSpans for a turn, up to a timeout.
    pub(crate) async fn take(&self) -> Result<OwnedSemaphorePermit, GateError> {
        let turn = tokio::time::timeout(PATIENCE, self.0.clone().acquire_owned());
        Ok(turn.await.ok().and_then(Result::ok).ok_or(StoreError::Busy)?)
    }
}

impl Gate {
    /// Figures about this many last days.
    pub async fn figures(&self, actor: &Actor, days: u32) -> Result<Figures, GateError> {
        let actor = &*self.acting(actor, &[Role::Reviewer, Role::Auditor])?;
        let _turn = self.figures_turn.take().await?;
        let to = self.now();
        let span = Duration::from_hours(24).saturating_mul(days);
        let asked = Time::from_micros(to.micros().saturating_sub(micros(span)));
        let first = self.store.figures_from(asked).await?;
        let (_, head) = self.store.head().await?;
        let mut before = head.saturating_add(1);
        let mut looked_at = 0;
        let only = (!self.settings.people_figures).then(|| actor.name.clone());
        let mut counted = Counting::new(asked, to, only);
        loop {
            let page = self.store.figures(first, before, PAGE).await?;
            let Some(last) = page.last().map(|figure| figure.seq) else { break };
            before = last;
            let full = page.len() == PAGE as usize;
            looked_at += page.len();
            if looked_at >= MOST {
                let oldest = page.iter().map(|figure| figure.request.created_at).min();
                counted.from = counted.from.max(oldest.unwrap_or(asked));
            }
            counted = off_thread(move || {
                for figure in &page {
                    counted.add(figure);
                }
                counted
            })
            .await?;
            if !full || looked_at >= MOST {
                break;
            }
            if self.cancel.is_cancelled() {
                return Err(GateError::Closing);
            }
        }
        let waiting = self.store.waiting(to).await?;
        let mut now = PendingNow::default();
        for part in &waiting {
            now.pending += part.count;
            now.oldest_age_seconds = now.oldest_age_seconds.max(to.since(part.oldest).as_secs_f64());
            let place = Risk::ALL.iter().position(|risk| *risk == part.risk).unwrap_or(0);
            if let Some(count) = now.by_risk.get_mut(place) {
                *count += part.count;
            }
        }
        off_thread(move || counted.finish(now)).await
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

/// What was counted so far.
struct Counting {
    from: Time,
    to: Time,
    waits: WaitSpans,
    groups: Groups,
    deciders: Deciders,
    heat: Vec<[u64; 24]>,
    attention: Tally,
}

impl Counting {
    fn new(from: Time, to: Time, only: Option<String>) -> Self {
        Self {
            from,
            to,
            waits: WaitSpans::default(),
            groups: Groups::of(only),
            deciders: Deciders::default(),
            heat: vec![[0; 24]; 7],
            attention: Tally::default(),
        }
    }

    fn add(&mut self, figure: &Figure) {
        let request = &figure.request;
        let held = request.verdict.effect == Effect::Hold && request.grant.is_none();
        if held {
            self.waits.add(request.created_at, waited_until(figure, self.to));
        }
        // Made before the period; it only waited into it.
        if request.created_at < self.from {
            return;
        }
        self.attention.add(request);
        if let Some(count) = hour(request.created_at, &mut self.heat) {
            *count += 1;
        }
        match (&request.decision, request.state) {
            _ if request.grant.is_some() => self.deciders.grant += 1,
            (Some(decision), _) if decision.by.is_empty() => self.deciders.policy += 1,
            (Some(_), _) => self.deciders.person += 1,
            (None, State::Expired) => self.deciders.expiry += 1,
            (None, State::Cancelled) => self.deciders.cancelled += 1,
            _ => {}
        }
        if held {
            self.groups.add(request);
        }
    }

    fn finish(self, now: PendingNow) -> Figures {
        let (by_kind, by_tool) = self.groups.decisions();
        Figures {
            depth: self.waits.depth(self.from, self.to),
            speeds: self.groups.speeds(),
            reviewers: self.groups.reviewers(),
            by_kind,
            by_tool,
            deciders: self.deciders,
            heat: self.heat,
            attention: self.attention.finish(),
            now,
            from: self.from,
            to: self.to,
        }
    }
}

/// The time until which a held request waited. In the future if it still waits.
fn waited_until(figure: &Figure, now: Time) -> Time {
    let request = &figure.request;
    match (&request.decision, request.state) {
        (Some(decision), _) => decision.at,
        // Even if the timer has not run yet.
        (None, State::Pending) if request.expires_at > now => Time::from_micros(i64::MAX),
        (None, State::Pending) => request.expires_at,
        (None, _) => figure.changed_at,
    }
}

/// The count for the weekday and hour of a time. The first day of 1970 was a Thursday.
fn hour(time: Time, heat: &mut [[u64; 24]]) -> Option<&mut u64> {
    let hours = time.micros().div_euclid(3_600_000_000);
    let weekday = usize::try_from(hours.div_euclid(24).saturating_add(3).rem_euclid(7)).ok()?;
    heat.get_mut(weekday)?.get_mut(usize::try_from(hours.rem_euclid(24)).ok()?)
}

/// Whether a decision is a deny.
fn is_no(word: DecisionWord) -> bool {
    word == DecisionWord::Deny
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_counted_by_weekday_and_hour_in_utc() {
        let mut heat = vec![[0; 24]; 7];
        // A Sunday, shortly before midnight.
        let time: Time = "2026-11-15T23:59:59Z".parse().unwrap();
        *hour(time, &mut heat).unwrap() += 1;
        let next: Time = "2026-11-16T00:00:00Z".parse().unwrap();
        *hour(next, &mut heat).unwrap() += 1;
        assert_eq!((heat[6][23], heat[0][0]), (1, 1));
    }
}
