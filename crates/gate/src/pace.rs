//! How fast one person approves. It warns only that person, and never blocks.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use placet_core::{Actor, Auth, DecisionWord, Request, RequestId, Role, State, Time};

use crate::{Gate, GateError};

/// How fast a person decided recently.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pace {
    /// Yeses within the window.
    pub approvals: u64,
    /// The votes among them that came within [`Pace::QUICK`] after the request was opened, or after the decision
    /// before.
    pub quick: u64,
    /// Noes within the window.
    pub denials: u64,
    /// Whether that is faster than a person can read.
    pub warned: bool,
}

impl Pace {
    /// How far back it looks.
    pub const WINDOW: Duration = Duration::from_mins(10);
    /// An approval that is faster than this was hardly read.
    pub const QUICK: Duration = Duration::from_secs(3);
    /// This many of them, without one deny, cause a warning.
    pub const MOST: u64 = 20;
}

/// The number of votes and of opened requests that are kept per person.
const VOTES: usize = 500;
const OPENED: usize = 200;
/// The number of people that are kept. Beyond it, inactive people are dropped.
const PEOPLE: usize = 10_000;

/// Recent votes, as this node saw them. They are lost with the process, so a warning may come late.
#[derive(Debug, Default)]
// A std mutex: held to push a few values, never across an await.
pub(crate) struct Paces(Mutex<HashMap<String, Recent>>);

#[derive(Debug, Default)]
struct Recent {
    votes: VecDeque<Vote>,
    opened: VecDeque<(RequestId, Time)>,
}

#[derive(Debug, Clone, Copy)]
struct Vote {
    id: RequestId,
    at: Time,
    word: DecisionWord,
    quick: bool,
}

impl Paces {
    /// Notes that a person opened a request. The first time counts.
    fn opened(&self, name: &str, id: RequestId, at: Time) {
        self.with(name, at, |recent| {
            if recent.opened.iter().all(|(known, _)| *known != id) {
                recent.opened.push_back((id, at));
                if recent.opened.len() > OPENED {
                    recent.opened.pop_front();
                }
            }
        });
    }

    /// Notes the votes of a changed request, each once.
    pub(crate) fn heard(&self, name: &str, request: &Request, at: Time) {
        if !["request.voted", "request.decided"].contains(&name) {
            return;
        }
        // A vote without a key belongs to no person.
        for vote in request.votes.iter().filter(|vote| vote.auth != Auth::Open) {
            // An older vote of the same request was noted when it was cast.
            if at.since(vote.at) < Pace::WINDOW {
                self.with(&vote.by, at, |recent| recent.add(request.id, vote.at, vote.vote));
            }
        }
    }

    fn with(&self, name: &str, at: Time, change: impl FnOnce(&mut Recent)) {
        let mut people = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if people.len() >= PEOPLE && !people.contains_key(name) {
            people.retain(|_, recent| at.since(recent.last()) < Pace::WINDOW);
            if people.len() >= PEOPLE {
                return;
            }
        }
        change(people.entry(name.to_owned()).or_default());
    }

    fn of(&self, name: &str, now: Time) -> Pace {
        let people = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        people.get(name).map_or_else(Pace::default, |recent| recent.pace(now))
    }
}

impl Recent {
    fn last(&self) -> Time {
        let vote = self.votes.back().map(|vote| vote.at);
        let opened = self.opened.back().map(|(_, at)| *at);
        vote.max(opened).unwrap_or_default()
    }

    fn add(&mut self, id: RequestId, at: Time, word: DecisionWord) {
        if self.votes.iter().any(|known| known.id == id && known.at == at) {
            return;
        }
        let opened = self.opened.iter().find(|(known, _)| *known == id).map(|(_, at)| *at);
        let before = opened.or_else(|| self.votes.back().map(|vote| vote.at));
        let quick = before.is_some_and(|before| at.since(before) < Pace::QUICK);
        self.votes.push_back(Vote { id, at, word, quick });
        if self.votes.len() > VOTES {
            self.votes.pop_front();
        }
    }

    fn pace(&self, now: Time) -> Pace {
        let mut pace = Pace::default();
        for vote in self.votes.iter().filter(|vote| now.since(vote.at) < Pace::WINDOW) {
            match vote.word {
                DecisionWord::Approve => {
                    pace.approvals += 1;
                    pace.quick += u64::from(vote.quick);
                }
                DecisionWord::Deny => pace.denials += 1,
                // A person who writes a reason has read the request.
                DecisionWord::Edit | DecisionWord::Respond => {}
            }
        }
        pace.warned = pace.denials == 0 && pace.quick >= Pace::MOST;
        pace
    }
}

impl Gate {
    /// How fast this person decided recently. Only this person is told.
    pub fn pace(&self, actor: &Actor) -> Result<Pace, GateError> {
        let actor = &*self.acting(actor, &[Role::Reviewer])?;
        Ok(self.paces.of(&actor.name, self.now()))
    }

    /// Notes that a reviewer opened a pending request, to tell a quick approval from a slow one.
    pub fn opened(&self, actor: &Actor, request: &Request) {
        if actor.role == Role::Reviewer && request.state == State::Pending {
            self.paces.opened(&actor.name, request.id, self.now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u64) -> RequestId {
        RequestId::new(n, [0; 10])
    }

    fn second(n: u64) -> Time {
        Time::from_micros(1_000_000_000_000 + i64::try_from(n).unwrap() * 1_000_000)
    }

    #[test]
    fn twenty_quick_yeses_without_a_no_are_a_warning() {
        let mut recent = Recent::default();
        for n in 0..20 {
            recent.add(id(n), second(n * 2), DecisionWord::Approve);
        }
        // Before the first vote there is nothing to measure from.
        assert_eq!(recent.pace(second(40)), Pace { approvals: 20, quick: 19, denials: 0, warned: false });
        recent.add(id(20), second(40), DecisionWord::Approve);
        assert!(recent.pace(second(40)).warned);
        // Told twice, it counts once.
        recent.add(id(20), second(40), DecisionWord::Approve);
        assert_eq!(recent.pace(second(40)).approvals, 21);
        recent.add(id(21), second(41), DecisionWord::Deny);
        assert!(!recent.pace(second(41)).warned);
    }

    #[test]
    fn what_was_open_for_three_seconds_was_read_however_soon_after_the_last_it_came() {
        let mut recent = Recent::default();
        for n in 0..30 {
            recent.opened.push_back((id(n), second(0)));
            recent.add(id(n), second(3 + n), DecisionWord::Approve);
        }
        assert_eq!((recent.pace(second(40)).approvals, recent.pace(second(40)).quick), (30, 0));
    }

    #[test]
    fn a_warning_ends_with_its_ten_minutes() {
        let mut recent = Recent::default();
        for n in 0..21 {
            recent.add(id(n), second(n), DecisionWord::Approve);
        }
        assert!(recent.pace(second(20)).warned);
        assert!(!recent.pace(second(602)).warned);
        assert_eq!(recent.pace(second(700)), Pace::default());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let paces = Paces::default();
        for n in 0..u64::try_from(OPENED + 10).unwrap() {
            paces.opened("ann", id(n), second(n));
        }
        let mut recent = Recent::default();
        for n in 0..u64::try_from(VOTES + 10).unwrap() {
            recent.add(id(n), second(n), DecisionWord::Approve);
        }
        for n in 0..PEOPLE + 10 {
            paces.opened(&n.to_string(), id(1), second(1));
        }
        let people = paces.0.lock().unwrap();
        assert_eq!((people["ann"].opened.len(), recent.votes.len(), people.len()), (OPENED, VOTES, PEOPLE));
    }
}
