//! Deliveries to channels: written in the transaction of the change they tell of, leased, retried, given up in the end.

use std::time::Duration;

use placet_core::{OutboxId, RequestId, State, Time};

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

/// The deliveries of one piece of news.
pub(crate) fn deliveries(news: &News, channels: &[String]) -> Vec<OutboxRow> {
    let Some(request) = &news.request else { return Vec::new() };
    let give_up_at = match (request.state, request.deadline()) {
        (State::Pending, Some(deadline)) => deadline,
        _ => news.at.plus(FINAL_NEWS),
    };
    channels
        .iter()
        .zip(0_u16..)
        .map(|(channel, index)| {
            // Unique without randomness: the entry's number and the channel's place.
            let mut unique = [0_u8; 10];
            unique[..8].copy_from_slice(&news.seq.to_be_bytes());
            unique[8..].copy_from_slice(&index.to_be_bytes());
            OutboxRow {
                id: OutboxId::new(news.at.millis(), unique),
                seq: news.seq,
                request: request.id,
                channel: channel.clone(),
                next_at: news.at,
                give_up_at,
            }
        })
        .collect()
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
