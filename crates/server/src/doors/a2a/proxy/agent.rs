//! One agent behind us: calling it, and reading what it answers without believing more than that.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use placet_a2a::{Fault, Operation, Version, desk};
use placet_egress::{Answer, EgressError, Http, Rules, Target};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::Instant,
};

use super::{address, card::Card, kept::TaskRecord, settings::Upstream};

/// Largest answer, and largest event of a stream.
const LARGEST: usize = 4 * 1024 * 1024;
/// How many messages may be on their way to one agent.
const AT_ONCE: usize = 512;
/// How long a card is believed, and how long a missing one is not asked for again.
const CARD_LIVES: Duration = Duration::from_mins(1);
const CARD_MISSED: Duration = Duration::from_secs(2);
/// How long a small question may take: a card, or how a task stands.
pub(super) const QUICK: Duration = Duration::from_secs(10);

/// Headers that say for whom a call is made. They are kept with a task, so that it is gone on with for the same one.
pub(super) type Identity = BTreeMap<String, String>;

/// An agent behind us.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(super) settings: Upstream,
    http: Http,
    card: Mutex<Option<SeenCard>>,
    /// Messages that may be on their way to it at once.
    turns: Semaphore,
}

/// A card, or why there is none, and when it was read.
type SeenCard = (Instant, Result<Arc<Card>, String>);

/// The envelope of an answer.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<Value>,
}

impl Agent {
    pub(super) fn new(settings: Upstream) -> std::io::Result<Self> {
        let target = Target::parse_web(&settings.url).map_err(std::io::Error::other)?;
        // The operator named this host, so it may be anywhere but where credentials are.
        let http = Http::new(Rules::new([target.host().to_owned()]))?;
        Ok(Self { settings, http, card: Mutex::new(None), turns: Semaphore::new(AT_ONCE) })
    }

    /// A turn to send it a message: callers come and go, and what they sent stays until it is answered.
    pub(super) fn turn(&self) -> Result<SemaphorePermit<'_>, Fault> {
        let busy =
            |_| Fault::Busy("too many messages are on their way to this agent: try again later".to_owned());
        self.turns.try_acquire().map_err(busy)
    }

    /// Its name, for people.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.settings.namespace, self.settings.agent)
    }

    /// Its card, read again after a while.
    pub(super) async fn card(&self) -> Result<Arc<Card>, Fault> {
        if let Some((at, known)) = &*self.card.lock().unwrap_or_else(PoisonError::into_inner) {
            let lives = if known.is_ok() { CARD_LIVES } else { CARD_MISSED };
            if at.elapsed() < lives {
                return known.clone().map_err(Fault::BadAgent);
            }
        }
        let read = self.read_card().await.map_err(|why| why.to_string());
        let mut slot = self.card.lock().unwrap_or_else(PoisonError::into_inner);
        let read = match (read, &*slot) {
            (Ok(new), Some((_, Ok(known)))) if known.is(&new) => Ok(known.clone()),
            (read, _) => read,
        };
        // A card that was good is better than none while the agent is away.
        if let (Err(_), Some((_, Ok(known)))) = (&read, &*slot) {
            let known = known.clone();
            *slot = Some((Instant::now(), Ok(known.clone())));
            return Ok(known);
        }
        *slot = Some((Instant::now(), read.clone()));
        read.map_err(Fault::BadAgent)
    }

    /// Where its card may be: where the operator says, below its address, or at its origin.
    pub(super) fn card_places(&self) -> Vec<String> {
        if let Some(card) = &self.settings.card {
            return vec![card.clone()];
        }
        let below = self.settings.url.trim_end_matches('/').to_owned();
        let mut folders = vec![below];
        folders.extend(address::origin(&self.settings.url));
        folders.dedup();
        let names = ["agent-card.json", "agent.json"];
        folders.iter().flat_map(|at| names.map(|name| format!("{at}/.well-known/{name}"))).collect()
    }

    pub(super) async fn read_card(&self) -> Result<Arc<Card>, NoCard> {
        let mut status = None;
        let below = self.settings.url.trim_end_matches('/');
        for url in self.card_places() {
            let nobody = Calling { version: Version::V10, identity: Identity::new(), extensions: Vec::new() };
            let headers = self.headers(&nobody);
            let answer = match self.http.call(Method::GET, &url, headers, Bytes::new(), QUICK).await {
                Ok(answer) => answer,
                Err(error) => return Err(NoCard::Away(error.to_string())),
            };
            if !answer.status().is_success() {
                status = Some(status.unwrap_or(answer.status()));
                continue;
            }
            let body = answer.whole(LARGEST, QUICK).await.map_err(|error| NoCard::Away(error.to_string()))?;
            let Ok(Value::Object(card)) = serde_json::from_slice::<Value>(&body) else {
                return Err(NoCard::Nonsense(url));
            };
            // What is at the origin may be the card of another agent.
            let elsewhere = self.settings.card.is_none() && !url.starts_with(below);
            if elsewhere && !address::names(&card, &self.settings.url) {
                continue;
            }
            return Ok(Arc::new(Card::new(card, &self.settings)));
        }
        Err(NoCard::Refused(status.unwrap_or(StatusCode::NOT_FOUND)))
    }

    /// The headers of the client that this agent gets to see, and who it is told calls.
    pub(super) fn identity(&self, headers: &HeaderMap, caller: &str) -> Identity {
        let listed = self.settings.forward.iter().filter(|name| **name != header::AUTHORIZATION);
        let mut identity: Identity = listed
            .filter_map(|name| Some((name.to_string(), headers.get(name)?.to_str().ok()?.to_owned())))
            .collect();
        if let Some(name) = &self.settings.identify {
            identity.insert(name.to_string(), caller.to_owned());
        }
        identity
    }

    fn headers(&self, Calling { version, identity, extensions }: &Calling) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in identity {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                headers.insert(name, value);
            }
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if *version == Version::V10 {
            headers.insert("a2a-version", HeaderValue::from_static("1.0"));
        }
        if let Ok(value) = HeaderValue::try_from(extensions.join(", "))
            && !extensions.is_empty()
        {
            headers.insert("a2a-extensions", value.clone());
            headers.insert("x-a2a-extensions", value);
        }
        if let Some(token) = &self.settings.token
            && let Ok(mut value) = HeaderValue::try_from(format!("Bearer {token}"))
        {
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        headers
    }

    /// The extensions of a call: those the client uses, and those without which a pause could not be read.
    pub(super) async fn extensions(&self, client: &[String]) -> Vec<String> {
        let mut all = client.to_vec();
        if let Ok(card) = self.card().await {
            let ours = [desk::KAGENT, desk::AGENTSTACK, desk::DIGESTED];
            all.extend(ours.into_iter().filter(|uri| card.lists(uri)).map(str::to_owned));
        }
        all.sort();
        all.dedup();
        all
    }

    /// Calls about a task that is known: as whoever began it.
    pub(super) async fn calling(&self, facts: &TaskRecord) -> Calling {
        Calling {
            version: facts.version(),
            identity: facts.identity.clone(),
            extensions: self.extensions(&facts.extensions).await,
        }
    }

    async fn post(
        &self,
        calling: &Calling,
        operation: Operation,
        params: &Value,
        patience: Duration,
    ) -> Result<Answer, Trouble> {
        let card = self.card().await.map_err(|fault| Trouble::Away(fault.message()))?;
        let body = json!({"jsonrpc": "2.0", "id": "placet", "method": operation.method(calling.version), "params": params});
        let headers = self.headers(calling);
        let url = card.address(calling.version);
        Ok(self.http.call(Method::POST, url, headers, body.to_string().into(), patience).await?)
    }

    /// Makes a call and returns its result as it came.
    pub(super) async fn call(
        &self,
        calling: &Calling,
        operation: Operation,
        params: &Value,
        patience: Duration,
    ) -> Result<Box<RawValue>, Trouble> {
        let answer = self.post(calling, operation, params, patience).await?;
        result(answer, patience).await
    }

    /// Makes a call whose answer is a stream of events.
    pub(super) async fn stream(
        &self,
        calling: &Calling,
        operation: Operation,
        params: &Value,
        patience: Duration,
    ) -> Result<Events, Trouble> {
        let answer = self.post(calling, operation, params, patience).await?;
        if answer.status().is_success() && media(&answer) == "text/event-stream" {
            return Ok(Events { answer: Some(answer), buffer: BytesMut::new(), scanned: 0, only: None });
        }
        // One answer instead of a stream: a refusal, or all there is to say.
        let only = result(answer, patience).await?;
        Ok(Events { answer: None, buffer: BytesMut::new(), scanned: 0, only: Some(only) })
    }
}

/// Why there is no card.
#[derive(Debug)]
pub(super) enum NoCard {
    /// The agent is not there, or says nothing in time.
    Away(String),
    /// It answers with another status, wherever it is asked.
    Refused(StatusCode),
    /// What is there is no card.
    Nonsense(String),
}

impl std::fmt::Display for NoCard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Away(why) => write!(f, "its card: {why}"),
            Self::Refused(status) => write!(f, "its card: it answers with status {}", status.as_u16()),
            Self::Nonsense(url) => write!(f, "its card at {url} is not a JSON object"),
        }
    }
}

/// For whom a call is made, and how. It is stored with a task, so that later calls go on in the same way.
#[derive(Debug, Clone)]
pub(super) struct Calling {
    pub(super) version: Version,
    pub(super) identity: Identity,
    pub(super) extensions: Vec<String>,
}

/// Why a call to an agent came to nothing.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The agent says no, in an error object of its own.
    Refused(Value),
    /// It cannot be reached: nothing was sent.
    Away(String),
    /// It is not known what became of the call.
    Unclear(String),
    /// It answers with this status, and not in the protocol's words.
    Status(StatusCode),
    /// It answers something that is no answer.
    Nonsense(String),
}

impl Trouble {
    /// Whether the agent cannot have done anything: nothing was sent, or it refused the call for its shape.
    pub(super) fn is_untaken(&self) -> bool {
        match self {
            Self::Away(_) => true,
            Self::Refused(error) => {
                let code = error.get("code").and_then(Value::as_i64);
                matches!(code, Some(-32700 | -32602..=-32600 | -32009..=-32001))
            }
            Self::Unclear(_) | Self::Status(_) | Self::Nonsense(_) => false,
        }
    }

    /// Whether the agent says that it does not know the task.
    pub(super) fn is_missing_task(&self) -> bool {
        matches!(self, Self::Refused(error) if error.get("code").and_then(Value::as_i64) == Some(-32001))
    }
}

impl From<EgressError> for Trouble {
    fn from(error: EgressError) -> Self {
        if error.is_unsent() { Self::Away(error.to_string()) } else { Self::Unclear(error.to_string()) }
    }
}

impl From<Trouble> for Fault {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Refused(error) => Self::Told(error),
            Trouble::Away(why) | Trouble::Nonsense(why) => Self::BadAgent(why),
            status @ Trouble::Status(_) => Self::BadAgent(status.to_string()),
            Trouble::Unclear(why) => {
                Self::BadAgent(format!("{why}; it is not known what became of the call"))
            }
        }
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(error) => {
                write!(f, "{}", error.get("message").and_then(Value::as_str).unwrap_or("it refuses"))
            }
            Self::Status(status) => write!(f, "it answers with status {}", status.as_u16()),
            Self::Away(why) | Self::Unclear(why) | Self::Nonsense(why) => f.write_str(why),
        }
    }
}

fn media(answer: &Answer) -> String {
    let value = answer.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

async fn result(answer: Answer, patience: Duration) -> Result<Box<RawValue>, Trouble> {
    let (status, media) = (answer.status(), media(&answer));
    let body = answer.whole(LARGEST, patience).await.map_err(|error| match error {
        EgressError::TooLarge { .. } => Trouble::Nonsense(error.to_string()),
        other => other.into(),
    })?;
    let strange = || match (status.is_success(), media.as_str()) {
        (false, _) => Trouble::Status(status),
        (true, "application/json" | "") => {
            Trouble::Nonsense("its answer is no answer of JSON-RPC".to_owned())
        }
        (true, media) => {
            let media: String = media.chars().take(60).collect();
            Trouble::Nonsense(format!("it answers with `{media}` and not with JSON"))
        }
    };
    opened(&body).map_err(|wrong| wrong.unwrap_or_else(strange))
}

/// The result inside an envelope; nothing if it is no envelope.
fn opened(body: &[u8]) -> Result<Box<RawValue>, Option<Trouble>> {
    let envelope: Envelope<'_> = serde_json::from_slice(body).map_err(|_| None)?;
    match (envelope.result, envelope.error) {
        (_, Some(error)) if error.is_object() => Err(Some(Trouble::Refused(error))),
        (Some(result), _) => Ok(result.to_owned()),
        _ => Err(None),
    }
}

/// The events of a stream, one by one.
#[derive(Debug)]
pub(super) struct Events {
    answer: Option<Answer>,
    buffer: BytesMut,
    /// How much of the buffer is known to hold no end of an event.
    scanned: usize,
    only: Option<Box<RawValue>>,
}

impl Events {
    /// The next event; nothing at the end of the stream.
    pub(super) async fn next(&mut self) -> Result<Option<Box<RawValue>>, Trouble> {
        if let Some(only) = self.only.take() {
            return Ok(Some(only));
        }
        loop {
            while let Some(block) = self.block() {
                let data = data(&block);
                if data.is_empty() {
                    continue;
                }
                return match opened(data.as_bytes()) {
                    Ok(result) => Ok(Some(result)),
                    Err(Some(trouble)) => Err(trouble),
                    Err(None) => {
                        Err(Trouble::Nonsense("an event of its stream is no answer of JSON-RPC".to_owned()))
                    }
                };
            }
            let Some(answer) = &mut self.answer else { return Ok(None) };
            match answer.chunk().await? {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None => self.answer = None,
            }
            if self.buffer.len() > LARGEST {
                return Err(Trouble::Nonsense(format!(
                    "an event of its stream has more than {LARGEST} bytes"
                )));
            }
        }
    }

    /// The bytes up to the next empty line, if it is there.
    fn block(&mut self) -> Option<Bytes> {
        let mut from = self.scanned.saturating_sub(3);
        while let Some(bytes) = self.buffer.get(from..).filter(|bytes| !bytes.is_empty()) {
            let end = [&b"\n\n"[..], b"\n\r\n", b"\r\n\r\n", b"\r\r"]
                .into_iter()
                .find(|end| bytes.starts_with(end))
                .map(<[u8]>::len);
            if let Some(length) = end {
                let block = self.buffer.split_to(from + length).freeze();
                self.scanned = 0;
                return Some(block);
            }
            from += 1;
        }
        self.scanned = self.buffer.len();
        None
    }
}

/// What the `data` lines of an event say.
fn data(block: &[u8]) -> String {
    let text = String::from_utf8_lossy(block);
    let lines = text.split(['\n', '\r']).filter_map(|line| line.strip_prefix("data:"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Events {
        Events { answer: None, buffer: BytesMut::from(text), scanned: 0, only: None }
    }

    #[tokio::test]
    async fn events_are_read_however_their_lines_end() {
        for text in [
            ": ping\n\nevent: message\ndata: {\"result\":1}\n\ndata:{\"result\":\ndata: 2}\n\n",
            ": ping\r\n\r\nevent: message\r\ndata: {\"result\":1}\r\n\r\ndata:{\"result\":\r\ndata: 2}\r\n\r\n",
        ] {
            let mut events = events(text);
            assert_eq!(events.next().await.unwrap().unwrap().get(), "1");
            assert_eq!(events.next().await.unwrap().unwrap().get(), "2");
            assert!(events.next().await.unwrap().is_none());
        }
    }

    #[tokio::test]
    async fn a_result_keeps_every_digit() {
        let big = "{\"n\":123456789012345678901234567890,\"f\":1.50}";
        let mut events = events(&format!("data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{big}}}\n\n"));
        assert_eq!(events.next().await.unwrap().unwrap().get(), big);
    }

    #[tokio::test]
    async fn a_refusal_inside_a_stream_is_a_refusal_and_html_is_nonsense() {
        let mut refused = events("data: {\"error\":{\"code\":-32001,\"message\":\"gone\"}}\n\n");
        assert!(refused.next().await.unwrap_err().is_missing_task());
        let mut page = events("data: <html>\n\n");
        assert!(matches!(page.next().await, Err(Trouble::Nonsense(_))));
    }
}
