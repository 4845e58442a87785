//! The live stream: events with the current record, resumed after a lost connection, without repetitions.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use placet_core::{Record, RequestId};
use reqwest::header::ACCEPT;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::{
    Client, Error,
    http::{Failure, accepted, again, read, root_cause},
    retry::Outage,
    sse::{Message, Reader},
};

/// The server sends heartbeats far more often. After this time the connection counts as lost.
const SILENCE: Duration = Duration::from_mins(1);
/// How many requests' versions are remembered, to leave out repeated events.
const REMEMBERED: usize = 10_000;

/// One change of one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The cursor of this event.
    pub id: String,
    /// What happened, such as `request.decided`.
    pub name: String,
    /// The request as it is now, which may be newer than this event.
    pub record: Record,
}

/// What a stream gives out.
#[derive(Debug)]
pub enum StreamItem {
    /// Connected, for the first time or again.
    Connected,
    /// Something changed.
    Event(Box<Event>),
    /// The cursor is too old or from another epoch. List again, then continue from here.
    Reset,
    /// The connection was lost. It is retried automatically.
    Lost {
        /// Why.
        reason: String,
    },
}

/// A stream that reconnects automatically. Poll it from one place: dropping a pending `next` drops a connection
/// attempt.
#[derive(Debug)]
pub struct EventStream {
    client: Client,
    cursor: Option<String>,
    connection: Option<(reqwest::Response, Reader)>,
    ready: VecDeque<StreamItem>,
    outage: Outage,
    pause: Option<Duration>,
    seen: SeenEvents,
}

impl Client {
    /// Listens, from the cursor a list gave (`Page::seq`) or an earlier event's id, or from now on.
    pub fn stream(&self, after: Option<String>) -> EventStream {
        EventStream {
            client: self.clone(),
            cursor: after,
            connection: None,
            ready: VecDeque::new(),
            outage: Outage::default(),
            pause: None,
            seen: SeenEvents::default(),
        }
    }
}

impl EventStream {
    /// The next event. Fails only when the server refuses, or its answer is not valid.
    pub async fn next(&mut self) -> Result<StreamItem, Error> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Ok(item);
            }
            let Some((response, reader)) = &mut self.connection else {
                if let Some(pause) = self.pause.take() {
                    sleep(pause).await;
                }
                return self.connect().await;
            };
            match timeout(SILENCE, response.chunk()).await {
                Ok(Ok(Some(bytes))) => {
                    self.outage.over();
                    let messages =
                        reader.feed(&bytes).map_err(|_| self.client.protocol("an event is too large"))?;
                    for message in messages {
                        self.take(message)?;
                    }
                }
                Ok(Ok(None)) => return Ok(self.lost("the server closed the stream".to_owned(), None)),
                Ok(Err(error)) => return Ok(self.lost(root_cause(&error), None)),
                Err(_) => return Ok(self.lost("the server sent nothing for too long".to_owned(), None)),
            }
        }
    }

    /// The position to resume from in another stream.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    async fn connect(&mut self) -> Result<StreamItem, Error> {
        let mut request =
            self.client.http.get(self.client.at("/v1/stream")).header(ACCEPT, "text/event-stream");
        if let Some(cursor) = &self.cursor {
            request = request.header("Last-Event-ID", cursor);
        }
        let sent = timeout(SILENCE, request.send()).await;
        let answered = match sent {
            Ok(Ok(response)) => accepted(response, &self.client).await,
            Ok(Err(error)) => Err(again(&error)),
            Err(_) => return Ok(self.lost("it did not answer in time".to_owned(), None)),
        };
        match answered {
            Ok(response) => {
                self.connection = Some((response, Reader::default()));
                Ok(StreamItem::Connected)
            }
            Err(Failure::Final(error)) => Err(error),
            Err(Failure::Again { reason, after, .. }) => Ok(self.lost(reason, after)),
        }
    }

    fn lost(&mut self, reason: String, after: Option<Duration>) -> StreamItem {
        self.connection = None;
        // A stream has no outage budget. The reader sees that it is lost, and may stop.
        self.pause = self.outage.pause(Duration::MAX, after);
        StreamItem::Lost { reason }
    }

    fn take(&mut self, message: Message) -> Result<(), Error> {
        if let Some(id) = &message.id {
            self.cursor = Some(id.clone());
        }
        if message.event == "reset" {
            self.seen = SeenEvents::default();
            self.ready.push_back(StreamItem::Reset);
        } else if message.event.starts_with("request.") {
            let record = record(&message.data).map_err(|reason| self.client.protocol(reason))?;
            let id = message.id.unwrap_or_default();
            if self.seen.is_news(&id, &record) {
                let event = Event { id, name: message.event, record };
                self.ready.push_back(StreamItem::Event(Box::new(event)));
            }
        }
        Ok(())
    }
}

/// The record of an event: the data itself, or its field `record`.
fn record(data: &str) -> Result<Record, String> {
    let value: Value = read(data.as_bytes())?;
    let record = match value {
        Value::Object(mut fields) if fields.get("record").is_some_and(Value::is_object) => {
            fields.remove("record").unwrap_or_default()
        }
        other => other,
    };
    serde_json::from_value(record).map_err(|error| error.to_string())
}

/// Events that were returned before: the last event and the highest version of each of the newest requests.
#[derive(Debug, Default)]
struct SeenEvents {
    versions: HashMap<RequestId, (u32, String)>,
    order: VecDeque<RequestId>,
}

impl SeenEvents {
    /// Whether this is neither a repetition nor older than an event that was returned before.
    fn is_news(&mut self, event: &str, record: &Record) -> bool {
        if let Some((version, last)) = self.versions.get_mut(&record.id) {
            if record.version < *version || (record.version == *version && last == event) {
                return false;
            }
            *version = record.version;
            event.clone_into(last);
            return true;
        }
        self.versions.insert(record.id, (record.version, event.to_owned()));
        self.order.push_back(record.id);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.versions.remove(&oldest);
        }
        true
    }
}
