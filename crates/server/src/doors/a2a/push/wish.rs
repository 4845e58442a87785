//! What is kept of a wish: where to post, how far the receiver knows the task, and what it is still to be told.

use std::time::Duration;

use placet_a2a::{PushConfig, Version};
use placet_core::Time;
use placet_gate::{Gate, NewNote, Note};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::KIND;

/// How long a node has to post before another may: longer than one message may take.
const LEASE: Duration = Duration::from_secs(15);
/// How long a state of a task is tried to be told.
const GIVE_UP: Duration = Duration::from_hours(24);
/// How long a wish is kept after its task last changed, and after the end of the task was told.
const KEEP: Duration = Duration::from_hours(60 * 24);
const KEEP_ENDED: Duration = Duration::from_hours(24);

/// A wish.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Wish {
    version: String,
    task: String,
    id: String,
    pub(super) url: String,
    pub(super) token: Option<String>,
    pub(super) scheme: Option<String>,
    pub(super) credentials: Option<String>,
    /// The generation of the task that the receiver has taken.
    pub(super) told: u64,
    /// Whether that was its end: nothing comes after it.
    pub(super) ended: bool,
    /// What is not told any more although nobody took it.
    given_up: Option<GivenUp>,
    /// What it is to be told next: always the newest.
    pub(super) pending: Option<Pending>,
    lease: Option<Lease>,
}

/// A state of the task that is not told yet.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) generation: u64,
    pub(super) ended: bool,
    /// The task as it then was, in the words of its version.
    pub(super) task: Value,
    since: i64,
    attempts: u32,
    next: i64,
}

/// A state of the task that was tried for too long, or that the receiver does not want.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct GivenUp {
    generation: u64,
    ended: bool,
}

/// Who is posting, and until when nobody else does.
#[derive(Clone, Serialize, Deserialize)]
struct Lease {
    by: String,
    until: i64,
}

/// How an attempt went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    /// The receiver took it.
    Taken,
    /// It did not, and may later.
    Failed,
    /// It never will, or must not be asked.
    Refused,
}

// It holds secrets: neither they nor the address, which may have one in it, are printed.
impl std::fmt::Debug for Wish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wish").field("task", &self.task).field("told", &self.told).finish_non_exhaustive()
    }
}

impl Wish {
    pub(super) fn new(
        version: Version,
        task: &str,
        id: &str,
        config: &PushConfig,
        told: u64,
        ended: bool,
    ) -> Self {
        Self {
            version: version.as_str().to_owned(),
            task: task.to_owned(),
            id: id.to_owned(),
            url: config.url.clone(),
            token: config.token.clone(),
            scheme: config.scheme.clone(),
            credentials: config.credentials.clone(),
            told,
            ended,
            given_up: None,
            pending: None,
            lease: None,
        }
    }

    pub(super) fn of(note: &Note) -> Option<Self> {
        serde_json::from_str(&note.body).ok()
    }

    /// As it is stored, under its task. It is open while something is to be told.
    pub(super) fn note(&self, gate: &Gate, task: &str, owner: &str) -> NewNote {
        let keep = if self.is_over() { KEEP_ENDED } else { KEEP };
        NewNote {
            kind: KIND,
            key: super::name(task, &self.id),
            owner: owner.to_owned(),
            scope: task.to_owned(),
            open: self.pending.is_some(),
            keep_until: gate.now().plus(keep),
            body: serde_json::to_string(self).unwrap_or_default().into(),
        }
    }

    pub(super) fn version(&self) -> Version {
        if self.version == Version::V03.as_str() { Version::V03 } else { Version::V10 }
    }

    /// As it is told back to its owner.
    pub(super) fn shown(&self, version: Version) -> Value {
        version.push_config(&self.task, &self.id, &self.url, self.scheme.as_deref())
    }

    /// Whether a state of the task is news: newer than what was told or is about to be, and not after the end.
    pub(super) fn is_news(&self, generation: u64) -> bool {
        let pending = self.pending.as_ref().map_or(0, |pending| pending.generation);
        let given_up = self.given_up.map_or(0, |given_up| given_up.generation);
        !self.is_over() && generation > self.told.max(pending).max(given_up)
    }

    /// Whether the end of the task was told, or given up.
    pub(super) fn is_over(&self) -> bool {
        self.ended || self.given_up.is_some_and(|given_up| given_up.ended)
    }

    /// Has this state told next, in place of an older one.
    pub(super) fn expect(&mut self, generation: u64, ended: bool, task: Value, now: Time) {
        self.pending =
            Some(Pending { generation, ended, task, since: now.micros(), attempts: 0, next: now.micros() });
    }

    /// Takes what is to be told for this node, if it is due and nobody else has it. On a database that only one server
    /// uses at a time, whoever else had it is gone.
    pub(super) fn lease(&mut self, by: &str, alone: bool, now: Time) -> bool {
        let due = self.pending.as_ref().is_some_and(|pending| pending.next <= now.micros());
        let free =
            self.lease.as_ref().is_none_or(|lease| lease.until <= now.micros() || (alone && lease.by != by));
        if due && free {
            self.lease = Some(Lease { by: by.to_owned(), until: now.plus(LEASE).micros() });
        }
        due && free
    }

    /// What follows from an attempt of this node to tell a generation, and whether it is given up. A newer state stays to
    /// be told.
    pub(super) fn attempted(
        &mut self,
        by: &str,
        generation: u64,
        ended: bool,
        attempt: Attempt,
        now: Time,
    ) -> bool {
        // Another node may have taken over.
        self.lease = self.lease.take().filter(|lease| lease.by != by);
        if attempt == Attempt::Taken && generation > self.told {
            self.told = generation;
            self.ended = ended;
        }
        let Some(pending) = &mut self.pending else { return false };
        let given_up = match attempt {
            Attempt::Taken => false,
            Attempt::Refused => pending.generation <= generation,
            Attempt::Failed => {
                pending.attempts = pending.attempts.saturating_add(1);
                pending.next = now.plus(gap(pending.attempts)).micros();
                now.since(Time::from_micros(pending.since)) >= GIVE_UP
            }
        };
        if given_up {
            self.given_up = Some(GivenUp { generation: pending.generation, ended: pending.ended });
        }
        if given_up || self.ended || pending.generation <= self.told {
            self.pending = None;
        }
        given_up && attempt == Attempt::Failed
    }
}

/// How long to wait after so many attempts: a receiver that restarts is told soon, one that is gone is left alone more and
/// more.
fn gap(attempts: u32) -> Duration {
    match attempts {
        0..=3 => Duration::from_secs(u64::from(attempts.max(1))),
        4..=24 => Duration::from_secs(5),
        more => Duration::from_secs(5 << (more - 24).min(6)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_micros(1_760_000_000_000_000).plus(Duration::from_secs(seconds))
    }

    fn wish(told: u64) -> Wish {
        let params = json!({"taskId": "t", "url": "http://localhost:1/?k=hush", "token": "hush", "authentication": {"scheme": "Bearer", "credentials": "hush"}});
        let config = placet_a2a::SetPush::read(Version::V10, &params).unwrap().config;
        Wish::new(Version::V10, "t", "c", &config, told, false)
    }

    #[test]
    fn only_newer_states_are_news_and_nothing_is_after_the_end() {
        let mut wish = wish(3);
        assert!(!wish.is_news(3) && wish.is_news(4));
        wish.expect(5, false, json!(5), at(0));
        assert!(!wish.is_news(4) && !wish.is_news(5) && wish.is_news(6));
        wish.attempted("a", 5, false, Attempt::Taken, at(0));
        assert_eq!((wish.told, wish.pending.is_none()), (5, true));
        wish.expect(6, true, json!(6), at(0));
        wish.attempted("a", 6, true, Attempt::Taken, at(0));
        assert!(!wish.is_news(7));
    }

    #[test]
    fn an_older_state_that_was_taken_leaves_the_newer_one_to_be_told() {
        let mut wish = wish(0);
        wish.expect(1, false, json!(1), at(0));
        assert!(wish.lease("a", false, at(0)));
        // While it is posted, the task ends.
        wish.expect(2, true, json!(2), at(0));
        assert!(!wish.lease("b", false, at(14)), "the first node may still be posting");
        wish.attempted("a", 1, false, Attempt::Taken, at(1));
        assert_eq!((wish.told, wish.ended, wish.pending.as_ref().unwrap().generation), (1, false, 2));
        assert!(wish.lease("b", false, at(1)));
        // The late word of an attempt that was given up as lost takes nothing back.
        wish.attempted("b", 2, true, Attempt::Taken, at(2));
        wish.attempted("a", 1, false, Attempt::Taken, at(3));
        assert_eq!((wish.told, wish.ended), (2, true));
    }

    #[test]
    fn a_lease_ends_and_one_of_a_server_that_is_gone_does_not_count() {
        let mut wish = wish(0);
        wish.expect(1, false, json!(1), at(0));
        assert!(wish.lease("a", false, at(0)));
        assert!(!wish.lease("b", false, at(1)) && !wish.lease("a", true, at(1)));
        assert!(wish.clone().lease("b", true, at(1)));
        assert!(wish.lease("b", false, at(15)));
    }

    #[test]
    fn a_receiver_that_is_away_is_tried_often_at_first_and_given_up_after_a_day() {
        let mut wish = wish(0);
        wish.expect(1, true, json!(1), at(0));
        let (mut now, mut gaps, mut gave_up) = (0, Vec::new(), false);
        while !gave_up {
            assert!(wish.lease("a", false, at(now)), "after {now} s");
            gave_up = wish.attempted("a", 1, true, Attempt::Failed, at(now));
            let next = wish.pending.as_ref().map_or(at(now).micros(), |pending| pending.next);
            let gap = Time::from_micros(next).since(at(now)).as_secs();
            gaps.push(gap);
            now += gap;
        }
        assert!(gaps.iter().take(24).all(|gap| *gap <= 5), "{gaps:?}");
        assert!(gaps.iter().all(|gap| *gap <= 320) && (86_400..86_800).contains(&now), "{now}");
        assert!(
            wish.pending.is_none() && !wish.ended && wish.is_over(),
            "its task has ended, and nobody took that"
        );
        assert!(!wish.is_news(1) && !wish.is_news(2), "also after a restart");
    }

    #[test]
    fn an_address_that_must_not_be_called_is_not_tried_again() {
        let mut wish = wish(0);
        wish.expect(1, false, json!(1), at(0));
        wish.attempted("a", 1, false, Attempt::Refused, at(0));
        assert!(wish.pending.is_none() && wish.told == 0 && !wish.is_news(1) && wish.is_news(2));
    }

    #[test]
    fn secrets_are_not_printed() {
        assert!(!format!("{:?}", wish(0)).contains("hush"));
    }
}
