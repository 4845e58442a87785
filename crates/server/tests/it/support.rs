//! What the tests of this door share: bodies, small steps, raw connections, and readers of both kinds of stream.

use std::{future::Future, time::Duration};

use futures_util::StreamExt as _;
use placet_server::Settings;
use placet_testkit::{Answer, Backend, Http, Kit, Lines, Server};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpSocket, TcpStream},
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream,
    tungstenite::{Message, client::IntoClientRequest as _, protocol::CloseFrame},
};

/// Runs a test body on SQLite; the server is finished afterwards, with the checks of the kit.
pub(crate) fn on_sqlite<F>(body: F)
where
    F: AsyncFnOnce(&mut Server),
{
    placet_testkit::block_on(async {
        let mut server = Server::start(Backend::Sqlite).await;
        body(&mut server).await;
        server.finish().await;
    });
}

/// The page of another gateway's dashboard.
pub(crate) const PAGE: &str = "http://localhost:5173";

/// A server as `--dev --set doors.open_decide=true` starts it.
pub(crate) async fn open(backend: Backend) -> Server {
    opened(Kit::start(backend).await).await
}

/// The same over a kit of one's own.
pub(crate) async fn opened(kit: Kit) -> Server {
    kit.gate().open_deciding(true).await.expect("the doors can be opened");
    let settings = Settings {
        dev: true,
        open_decide: true,
        door_origins: vec![PAGE.to_owned()],
        requests_per_second: 0,
        ..Settings::default()
    };
    Server::over(kit, settings).await
}

/// Runs a test body on SQLite, with open doors.
pub(crate) fn on_open_sqlite<F: AsyncFnOnce(&mut Server)>(body: F) {
    placet_testkit::block_on(async {
        let mut server = open(Backend::Sqlite).await;
        body(&mut server).await;
        server.finish().await;
    });
}

/// The same with changed settings of the door.
pub(crate) fn with_settings<F>(change: impl FnOnce(&mut Settings), body: F)
where
    F: AsyncFnOnce(&mut Server),
{
    placet_testkit::block_on(async {
        let mut settings = Settings { requests_per_second: 0, ..Settings::default() };
        change(&mut settings);
        let mut server = Server::over(Kit::start(Backend::Sqlite).await, settings).await;
        body(&mut server).await;
        server.finish().await;
    });
}

/// The same with changed settings of the gate.
pub(crate) fn with_gate<F>(change: impl FnOnce(&mut placet_gate::Settings), body: F)
where
    F: AsyncFnOnce(&mut Server),
{
    placet_testkit::block_on(async {
        let kit = Kit::with(Backend::Sqlite, change).await;
        let mut server = Server::over(kit, Settings { requests_per_second: 0, ..Settings::default() }).await;
        body(&mut server).await;
        server.finish().await;
    });
}

/// What a future brings. The bound only ends a failing test, which says what it waited for.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let came = tokio::time::timeout(Duration::from_mins(1), future).await;
    came.unwrap_or_else(|_| panic!("waited a minute for {what}"))
}

/// Looks until it is so.
pub(crate) async fn until_so(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    soon(what, async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// How often something is repeated: `cargo xtask test --all` takes its time.
pub(crate) fn rounds(standard: usize, long: usize) -> usize {
    if std::env::var("PLACET_LONG").is_ok_and(|long| long == "1") { long } else { standard }
}

/// Longer than any test runs: whatever ends before it was ended by something else.
pub(crate) const FOREVER: Duration = Duration::from_hours(1);

/// A server whose streams would say that they are alive, and look at their key, when all tests are over.
pub(crate) fn without_heartbeats<F: AsyncFnOnce(&mut Server)>(body: F) {
    with_settings(|settings| settings.timing.heartbeat = FOREVER, body);
}

/// A port that is ours while nobody listens on it: connections are refused until somebody does.
pub(crate) struct Port(TcpSocket);

impl Port {
    pub(crate) fn new() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(([127, 0, 0, 1], 0).into()).expect("a free port");
        Self(socket)
    }

    pub(crate) fn number(&self) -> u16 {
        self.0.local_addr().expect("an address").port()
    }

    pub(crate) fn listen(self) -> TcpListener {
        self.0.listen(64).expect("the port is still ours")
    }
}

/// The first request that waits for a person, once there is one.
pub(crate) async fn first_pending(reviewer: &Http) -> Value {
    let mut first = None;
    until_so("a pending request", async || {
        let page = reviewer.get("/v1/requests?state=pending").await.expect(200);
        first = page["items"].get(0).cloned();
        first.is_some()
    })
    .await;
    first.expect("it was seen")
}

/// An ordinary action.
pub(crate) fn action() -> Value {
    json!({"kind": "action", "session": "s-1", "tool": "delete_files", "arguments": {"files": ["report.md"]}})
}

/// An ordinary action with other or more fields.
pub(crate) fn action_with(more: Value) -> Value {
    merged(action(), more)
}

/// Fields of both, those of the second where both have one.
pub(crate) fn merged(mut base: Value, more: Value) -> Value {
    let fields = more.as_object().expect("an object").clone();
    base.as_object_mut().expect("an object").extend(fields);
    base
}

/// Asks for an ordinary action.
pub(crate) async fn ask(agent: &Http) -> Value {
    agent.post("/v1/requests", action()).await.expect(201)
}

/// The address of a record, with a verb such as `/claim`.
pub(crate) fn at(record: &Value, verb: &str) -> String {
    format!("/v1/requests/{}{verb}", record["id"].as_str().expect("a record with an id"))
}

/// A decision on the record as it was read.
pub(crate) fn vote(record: &Value, word: &str) -> Value {
    let seen = if record["proposal"].is_null() { &record["digest"] } else { &record["proposal"]["digest"] };
    json!({"decision": word, "digest": seen, "version": record["version"]})
}

/// Decides on the record as it was read.
pub(crate) async fn decide(reviewer: &Http, record: &Value, word: &str) -> Answer {
    reviewer.post(&at(record, "/decision"), vote(record, word)).await
}

/// A decision on the card that a page was given.
pub(crate) fn vote_on_card(seen: &Value, word: &str) -> Value {
    let mut vote = vote(seen, word);
    vote["view"] = seen["view"]["digest"].clone();
    vote
}

/// Reads the card as a page does, and decides on it.
pub(crate) async fn decide_on_card(page: &Http, record: &Value, word: &str) -> Answer {
    let seen = page.get(&at(record, "")).await.expect(200);
    page.post(&at(record, "/decision"), vote_on_card(&seen, word)).await
}

/// Asks for an ordinary action and has it approved.
pub(crate) async fn approved(agent: &Http, reviewer: &Http) -> Value {
    let record = ask(agent).await;
    decide(reviewer, &record, "approve").await.expect(200)
}

/// How many entries the ledger has.
pub(crate) async fn head(server: &Server) -> u64 {
    server.kit.store().head().await.expect("the head can be read").1
}

/// Asserts a problem document: status, code, pointer, and that it looks like one.
#[track_caller]
pub(crate) fn assert_problem(answer: &Answer, status: u16, code: &str, pointer: Option<&str>) {
    assert_eq!((answer.status, answer.code()), (status, code), "{}", answer.body);
    assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{}", answer.body);
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{}", answer.body);
    assert_eq!(answer.body["type"], format!("urn:placet:problem:{code}"));
    assert_eq!(answer.body["status"], status);
    assert!(answer.body["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{}", answer.body);
    if let Some(pointer) = pointer {
        assert_eq!(answer.body["pointer"], pointer, "{}", answer.body);
    }
}

/// Sends bytes as they are and returns everything that comes back until the server closes.
pub(crate) async fn raw(authority: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(authority).await.expect("the server accepts connections");
    stream.write_all(bytes).await.expect("the bytes can be sent");
    until_closed(&mut stream).await
}

/// Everything that still comes on a connection until the other side closes it.
pub(crate) async fn until_closed(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    // A reset is as closed as an end.
    let _ = soon("the server to close the connection", stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// One event of a stream.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) data: Value,
}

impl Event {
    /// Its place in the ledger.
    pub(crate) fn seq(&self) -> u64 {
        self.id.split_once('.').and_then(|(_, seq)| seq.parse().ok()).expect("an id such as epoch.seq")
    }

    /// The request it is about.
    pub(crate) fn request(&self) -> &str {
        self.data["record"]["id"].as_str().expect("an event with a record")
    }
}

/// Server-sent events.
pub(crate) struct Sse {
    pub(crate) lines: Lines,
    /// The last id that was heard, of an event or of a heartbeat.
    pub(crate) last_id: String,
}

impl Sse {
    /// Opens a stream, from `after` on if that is given, and reads its greeting.
    pub(crate) async fn open(caller: &Http, after: Option<&str>) -> Self {
        let caller = match after {
            Some(after) => caller.clone().with("last-event-id", after),
            None => caller.clone(),
        };
        Self::at(&caller, "/v1/stream").await
    }

    /// Opens a stream at this address.
    pub(crate) async fn at(caller: &Http, path: &str) -> Self {
        let lines = soon("the head of a stream", caller.lines(path)).await;
        assert_eq!(lines.status, 200);
        assert_eq!(lines.headers["content-type"], "text/event-stream");
        Self { lines, last_id: String::new() }
    }

    /// The fields of the next block, whatever it is; `None` at the end.
    pub(crate) async fn block(&mut self) -> Option<Vec<(String, String)>> {
        let fields = self.lines.event().await?;
        if let Some((_, id)) = fields.iter().find(|(name, _)| name == "id") {
            self.last_id.clone_from(id);
        }
        Some(fields)
    }

    /// Reads the greeting, which says where the stream stands.
    pub(crate) async fn greeted(mut self) -> Self {
        soon("the greeting of a stream", self.block()).await.expect("a stream begins with its position");
        self
    }

    /// The next event; `None` when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            let fields = soon("an event of a stream, or its end", self.block()).await?;
            let field =
                |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
            if let Some(kind) = field("event") {
                let data =
                    field("data").and_then(|data| serde_json::from_str(&data).ok()).unwrap_or_default();
                return Some(Event { id: field("id").expect("every event has an id"), kind, data });
            }
        }
    }
}

/// A WebSocket.
pub(crate) struct Socket(pub(crate) WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    /// Opens one at an address such as `/v1/ws`.
    pub(crate) async fn open(caller: &Http, path: &str) -> Self {
        Self::try_open(caller, path).await.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) async fn try_open(
        caller: &Http,
        path: &str,
    ) -> Result<Self, tokio_tungstenite::tungstenite::Error> {
        let mut request =
            format!("ws://{}{path}", caller.authority).into_client_request().expect("a good address");
        if let Some(token) = &caller.token {
            request
                .headers_mut()
                .insert("authorization", format!("Bearer {token}").parse().expect("a good header"));
        }
        if caller.signer.is_some() {
            let made = caller.post("/v1/ws/ticket", Value::Null).await.expect(201);
            let offered = format!("placet, {}", made["ticket"].as_str().expect("a ticket"));
            request.headers_mut().insert("sec-websocket-protocol", offered.parse().expect("a good header"));
        }
        for (name, value) in &caller.headers {
            let name: http::HeaderName = name.parse().expect("a good name");
            request.headers_mut().insert(name, value.parse().expect("a good header"));
        }
        soon("a WebSocket handshake", tokio_tungstenite::connect_async(request))
            .await
            .map(|(socket, _)| Self(socket))
    }

    /// The next event; the close frame when there is none.
    pub(crate) async fn next(&mut self) -> Result<Event, Option<CloseFrame>> {
        loop {
            match soon("a message of a WebSocket, or its end", self.0.next()).await {
                Some(Ok(Message::Text(text))) => {
                    let data: Value = serde_json::from_str(&text).expect("every message is JSON");
                    let field = |name: &str| {
                        data[name].as_str().expect("every message has an id and a type").to_owned()
                    };
                    return Ok(Event { id: field("id"), kind: field("type"), data });
                }
                Some(Ok(Message::Close(frame))) => return Err(frame),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }
}
