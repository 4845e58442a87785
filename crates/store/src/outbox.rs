//! Deliveries to channels: written in the transaction of the change they tell of, leased, retried, given up in the end.
//!
//! A channel has one row for each subject. News raises `wanted`; a delivery says how the subject is now, and then sets `told`.
//! INVARIANT: both only grow, and a row has one lease at a time. So nothing older follows something newer.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use placet_core::{AnswerBack, Request, RequestId, State, Time};
use serde_json::Value;

use crate::{rows::OutboxRow, tail::News};

/// A delivery that was leased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Where it goes.
    pub channel: String,
    /// What it tells of: a request by its id, or a note by its key.
    pub subject: String,
    /// The newest news of the subject when it was leased. News is numbered by its entry, or by what the subject counts itself.
    pub wanted: u64,
    /// What is sent, where it cannot be read again.
    pub body: Option<Arc<str>>,
    /// How often it was tried before.
    pub attempts: u32,
}

/// Channels by their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Channels {
    /// These.
    These(Vec<String>),
    /// All others.
    Others(Vec<String>),
}

impl Channels {
    /// The names, and whether they are meant or all others are.
    pub(crate) fn names(&self) -> (&[String], bool) {
        match self {
            Self::These(names) => (names, true),
            Self::Others(names) => (names, false),
        }
    }
}

/// How a delivery went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptResult {
    /// It arrived.
    Delivered,
    /// It did not, and is worth trying again.
    Failed(String),
    /// It never will.
    Refused(String),
}

/// How long to wait after so many attempts: at most five seconds for about two minutes, then a minute.
pub(crate) fn gap(attempts: u32) -> Duration {
    Duration::from_secs(match attempts {
        0 | 1 => 1,
        2 => 2,
        3..=24 => 5,
        _ => 60,
    })
}

/// How long news about something final is worth telling.
const FINAL_NEWS: Duration = Duration::from_hours(24);

/// Where in the context of a request it says where the answer goes, at doors that call back.
pub const ANSWER_TO: &str = "answer_to";

/// How long after the deadline an answer is still worth calling back with: the agent's clock began a little later.
const LATE: Duration = Duration::from_secs(5);
/// How long the node that wrote a delivery has for its first attempt. Then other nodes may lease it.
const FIRST_ATTEMPT: Duration = Duration::from_secs(5);

/// Which deliveries a change makes, and for which node.
#[derive(Debug, Clone, Default)]
pub(crate) struct OutboxSettings {
    /// Channels that are told of every change of a request.
    pub(crate) channels: Arc<[String]>,
    /// The name under which this node takes deliveries.
    pub(crate) owner: Arc<str>,
}

impl Delivery {
    /// The delivery of the answer that this news is, if its agent waits for one. The node that wrote the news has
    /// it from the start, and need not lease it.
    pub fn of_answer(news: &News) -> Option<Self> {
        let request = news.request.as_ref()?;
        let back = request.door().answers_back()?;
        let due = match back {
            AnswerBack::Callback => Self::answers(request),
            AnswerBack::Resume => is_over_for_its_agent(request),
        };
        if !due {
            return None;
        }
        Some(Self {
            channel: back.channel().to_owned(),
            subject: request.id.to_string(),
            wanted: news.seq,
            body: None,
            attempts: 0,
        })
    }

    /// The request that it tells of, if it tells of one.
    pub fn request(&self) -> Option<RequestId> {
        self.subject.parse().ok()
    }

    /// Whether the last thing that happened to this request was its answer, and its agent waits for a call.
    pub fn answers(request: &Request) -> bool {
        let decided = matches!(request.state, State::Approved | State::Denied | State::Answered);
        let now = request.decision.as_ref().is_some_and(|decision| decision.version == request.version);
        request.is_final() && decided && now && Self::address(request).is_some()
    }

    /// Where the agent of this request waits for a call, as it said.
    pub fn address(request: &Request) -> Option<&Value> {
        let called = request.door().answers_back() == Some(AnswerBack::Callback);
        let content = request.content.as_ref().filter(|_| called)?;
        content.context.get(ANSWER_TO)
    }
}

/// Whether an agent that has paused may be waiting for what was just said about its request: it was decided, or can no longer be, and
/// nobody has used it.
fn is_over_for_its_agent(request: &Request) -> bool {
    matches!(
        request.state,
        State::Approved
            | State::Denied
            | State::Answered
            | State::Expired
            | State::Cancelled
            | State::Revoked
            | State::Lapsed
    )
}

/// News for all who follow something. Followers are notes: their kind is the channel that tells them, their scope is what they
/// follow, and each has a row of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raise {
    /// Which channel tells them.
    pub channel: &'static str,
    /// What they follow.
    pub scope: String,
    /// The number of the news. Rows that have heard of it, or of something newer, stay as they are.
    pub wanted: u64,
    /// What is sent, where it cannot be read again.
    pub body: Option<Arc<str>>,
}

impl Raise {
    pub(crate) fn give_up_at(now: Time) -> Time {
        now.plus(FINAL_NEWS)
    }
}

/// Writes rows of the outbox: a new row, or a higher `wanted` in the one that is there. A row that is being delivered stays with the
/// node that has it, so that two nodes do not send at once.
macro_rules! raising {
    ($insert:literal) => {
        concat!(
            $insert,
            " ON CONFLICT (channel, subject) DO UPDATE SET wanted = excluded.wanted, body = excluded.body, state = 'waiting',
                  attempts = 0, next_at = excluded.next_at, give_up_at = excluded.give_up_at, last_error = NULL,
                  lease_owner = CASE WHEN outbox.lease_until > excluded.next_at
                      THEN outbox.lease_owner ELSE excluded.lease_owner END,
                  lease_until = CASE WHEN outbox.lease_until > excluded.next_at
                      THEN outbox.lease_until ELSE excluded.lease_until END
              WHERE excluded.wanted > outbox.wanted"
        )
    };
}
pub(crate) use raising;

/// What a batch writes to the outbox.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// By channel and subject.
    pub(crate) rows: BTreeMap<(String, String), OutboxRow>,
    pub(crate) raises: Vec<Raise>,
}

impl Outbox {
    /// Adds what follows from one piece of news. News comes in order.
    pub(crate) fn push(&mut self, news: &News, settings: &OutboxSettings) {
        let Some(request) = &news.request else { return };
        for row in rows(news, request, settings) {
            self.rows.insert((row.channel.clone(), row.subject.clone()), row);
        }
        if let Some((channel, scope)) = request.followed() {
            self.raises.push(Raise { channel, scope, wanted: news.seq, body: None });
        }
    }
}

/// Who is told of one piece of news.
fn rows(news: &News, request: &Request, settings: &OutboxSettings) -> Vec<OutboxRow> {
    let give_up_at = match (request.state, request.deadline()) {
        (State::Pending, Some(deadline)) => deadline,
        _ => news.at.plus(FINAL_NEWS),
    };
    let row = |channel, give_up_at, lease| OutboxRow {
        channel,
        subject: request.id.to_string(),
        wanted: news.seq,
        next_at: news.at,
        give_up_at,
        lease,
    };
    let every = settings.channels.iter().map(|channel| row(channel.clone(), give_up_at, None));
    let answer = Delivery::of_answer(news).map(|delivery| {
        let lease = Some((settings.owner.clone(), news.at.plus(FIRST_ATTEMPT)));
        let late = if delivery.channel == AnswerBack::Resume.channel() {
            give_up_at
        } else {
            request.expires_at.plus(LATE)
        };
        row(delivery.channel, late, lease)
    });
    every.chain(answer).collect()
}

/// A row that is being delivered, as its attempt ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitingRow {
    pub(crate) wanted: u64,
    pub(crate) told: u64,
    pub(crate) attempts: u32,
    pub(crate) give_up_at: Time,
}

/// The same row after the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AttemptedRow<'a> {
    pub(crate) state: &'static str,
    pub(crate) told: u64,
    pub(crate) attempts: u32,
    pub(crate) next_at: Time,
    pub(crate) error: Option<&'a str>,
}

impl WaitingRow {
    /// What an attempt to tell `level` makes of it. What was raised meanwhile is still to be told.
    pub(crate) fn after(self, level: u64, result: &AttemptResult, now: Time) -> AttemptedRow<'_> {
        let attempts = self.attempts.saturating_add(1);
        let (told, over, error) = match result {
            AttemptResult::Delivered => (self.told.max(level), "delivered", None),
            AttemptResult::Refused(why) => (self.told, "dead", Some(&**why)),
            AttemptResult::Failed(why) => {
                let next_at = now.plus(gap(attempts));
                let state = if next_at > self.give_up_at { "dead" } else { "waiting" };
                return AttemptedRow { state, told: self.told, attempts, next_at, error: Some(why) };
            }
        };
        // What is newer was not attempted yet.
        let (state, attempts) = if self.wanted > level { ("waiting", 0) } else { (over, attempts) };
        AttemptedRow { state, told, attempts, next_at: now, error }
    }
}
