//! Deliveries to channels: written in the transaction of the change they tell of, leased, retried, given up in the end.

use std::{sync::Arc, time::Duration};

use placet_core::{AnswerBack, OutboxId, Request, RequestId, State, Time};

use serde_json::Value;

use crate::{rows::OutboxRow, tail::News};

/// A delivery that was leased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Which one.
    pub id: OutboxId,
    /// The ledger entry it tells of.
    pub seq: u64,
    /// The request.
    pub request: RequestId,
    /// Where it goes.
    pub channel: String,
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

/// How long to wait after so many attempts: at most five seconds at first, then a minute.
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
/// How long whoever wrote a delivery has for its first attempt before others may try.
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
            id: outbox_id(news, u16::MAX),
            seq: news.seq,
            request: request.id,
            channel: back.channel().to_owned(),
            attempts: 0,
        })
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

/// Unique without randomness: the entry's number and the channel's place.
fn outbox_id(news: &News, place: u16) -> OutboxId {
    let mut unique = [0_u8; 10];
    unique[..8].copy_from_slice(&news.seq.to_be_bytes());
    unique[8..].copy_from_slice(&place.to_be_bytes());
    OutboxId::new(news.at.millis(), unique)
}

/// The deliveries of one piece of news.
pub(crate) fn deliveries(news: &News, settings: &OutboxSettings) -> Vec<OutboxRow> {
    let Some(request) = &news.request else { return Vec::new() };
    let give_up_at = match (request.state, request.deadline()) {
        (State::Pending, Some(deadline)) => deadline,
        _ => news.at.plus(FINAL_NEWS),
    };
    let row = |id, channel, give_up_at, lease| OutboxRow {
        id,
        seq: news.seq,
        request: request.id,
        channel,
        next_at: news.at,
        give_up_at,
        lease,
    };
    let told = settings.channels.iter().zip(0_u16..);
    let told = told.map(|(channel, place)| row(outbox_id(news, place), channel.clone(), give_up_at, None));
    let answer = Delivery::of_answer(news).map(|delivery| {
        let lease = Some((settings.owner.clone(), news.at.plus(FIRST_ATTEMPT)));
        let late = if delivery.channel == AnswerBack::Resume.channel() {
            give_up_at
        } else {
            request.expires_at.plus(LATE)
        };
        row(delivery.id, delivery.channel, late, lease)
    });
    told.chain(answer).collect()
}

/// What an attempt makes of a waiting delivery: its state, and when to try again.
pub(crate) fn after(
    result: &AttemptResult,
    attempts: u32,
    give_up_at: Time,
    now: Time,
) -> (&'static str, Time, Option<&str>) {
    match result {
        AttemptResult::Delivered => ("delivered", now, None),
        AttemptResult::Refused(why) => ("dead", now, Some(why)),
        AttemptResult::Failed(why) => {
            let next = now.plus(gap(attempts));
            if next > give_up_at { ("dead", now, Some(why)) } else { ("waiting", next, Some(why)) }
        }
    }
}
