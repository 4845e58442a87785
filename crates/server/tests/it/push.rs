//! Push notifications of the desk: wishes in both versions and bindings, and real receivers that are told what became of a
//! task, once it has, whatever happens in between.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use placet_egress::Rules;
use placet_server::{Settings, Timing};
use placet_testkit::{Backend, Http, Kit, OUTBOX_OF_0_2, Server, both};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, SemaphorePermit, watch},
    task::JoinSet,
};

use crate::{
    a2a::{WAYS, Way, decide, deletion, id, pending},
    support::{FOREVER, Port, merged, on_sqlite, soon, until_so, with_settings},
};

/// Something that was posted.
#[derive(Debug, Clone)]
pub(crate) struct Posted {
    path: String,
    headers: HeaderMap,
    body: Value,
}

impl Posted {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    /// The task that it tells of, in either version's wrapping.
    fn task(&self) -> &Value {
        self.body.get("task").unwrap_or(&self.body)
    }
}

/// A receiver on loopback. It answers 200, or what it is told to answer next.
pub(crate) struct Receiver {
    port: u16,
    shared: Arc<Shared>,
    count: watch::Receiver<usize>,
    // Ends with the receiver, and the port with it.
    _running: JoinSet<()>,
}

struct Shared {
    posted: Mutex<Vec<Posted>>,
    answers: Mutex<VecDeque<Response>>,
    /// Taken by every answer; closed while the receiver lets its callers wait.
    turns: Semaphore,
    count: watch::Sender<usize>,
}

impl Shared {
    /// Takes what comes and answers nothing until the hold is dropped.
    async fn hold(&self) -> SemaphorePermit<'_> {
        let all = u32::try_from(MANY).expect("a small number");
        self.turns.acquire_many(all).await.expect("it is never closed")
    }
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.expect("a free port"))
    }

    fn on(listener: TcpListener) -> Self {
        let (count, counted) = watch::channel(0);
        let shared = Arc::new(Shared {
            posted: Mutex::default(),
            answers: Mutex::default(),
            turns: Semaphore::new(MANY),
            count,
        });
        let router = Router::new().fallback(take).with_state(shared.clone());
        let port = listener.local_addr().expect("an address").port();
        let mut running = JoinSet::new();
        running.spawn(async move { axum::serve(listener, router).await.expect("the receiver runs") });
        Self { port, shared, count: counted, _running: running }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/told?by=placet", self.port)
    }

    pub(crate) fn answer_next(&self, answer: Response) {
        self.shared.answers.lock().unwrap_or_else(PoisonError::into_inner).push_back(answer);
    }

    /// Waits until so many came.
    pub(crate) async fn until(&mut self, count: usize) -> Vec<Posted> {
        soon(&format!("{count} posts"), self.count.wait_for(|there| *there >= count))
            .await
            .expect("the receiver runs");
        self.posted()
    }

    /// The same while time goes by, so that what failed is tried again.
    pub(crate) async fn until_tried(&mut self, server: &Server, count: usize) -> Vec<Posted> {
        until_so(&format!("{count} posts"), async || {
            let came = *self.count.borrow() >= count;
            // Not during an attempt: its lease would run out.
            let under_way = "SELECT 1 FROM outbox WHERE channel = 'a2a.push' AND lease_until > 0";
            if !came && server.kit.place().rows(under_way).await.is_empty() {
                server.kit.clock().advance(Duration::from_secs(6));
                tokio::time::sleep(LOOK).await;
            }
            came
        })
        .await;
        self.posted()
    }

    fn posted(&self) -> Vec<Posted> {
        self.shared.posted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn take(
    State(shared): State<Arc<Shared>>,
    uri: axum::http::Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body = serde_json::from_slice(&body).unwrap_or_default();
    shared.posted.lock().unwrap_or_else(PoisonError::into_inner).push(Posted {
        path: uri.to_string(),
        headers,
        body,
    });
    shared.count.send_modify(|count| *count += 1);
    let _turn = shared.turns.acquire().await;
    let next = shared.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    next.unwrap_or_else(|| StatusCode::OK.into_response())
}

impl Way {
    fn config(self, url: &str) -> Value {
        let schemes = if self.is_new() {
            json!({"scheme": "Bearer", "credentials": "s3cret"})
        } else {
            json!({"schemes": ["Bearer"], "credentials": "s3cret"})
        };
        json!({"id": "c-1", "url": url, "token": "t0ken", "authentication": schemes})
    }

    async fn set(self, http: &Http, task: &str, config: Value) -> Result<Value, Value> {
        let old = json!({"taskId": task, "pushNotificationConfig": config});
        let answer = match self {
            Self::OldRpc => self.rpc(http, "tasks/pushNotificationConfig/set", old).await,
            Self::NewRpc => {
                let params = merged(config, json!({"taskId": task}));
                self.rpc(http, "CreateTaskPushNotificationConfig", params).await
            }
            Self::OldHttp => {
                http.post(&format!("/a2a/desk/v1/tasks/{task}/pushNotificationConfigs"), old).await
            }
            Self::NewHttp => {
                http.post(&format!("/a2a/desk/tasks/{task}/pushNotificationConfigs"), config).await
            }
        };
        let set = self.result(answer)?;
        Ok(self.bare(&set))
    }

    /// A wish without the wrapper of 0.3.
    fn bare(self, told: &Value) -> Value {
        let task = match self {
            Self::NewRpc | Self::NewHttp => return told.clone(),
            Self::OldRpc => told["taskId"].clone(),
            Self::OldHttp => json!(told["name"].as_str().and_then(|name| name.split('/').nth(1))),
        };
        merged(told["pushNotificationConfig"].clone(), json!({"taskId": task}))
    }

    async fn read(self, http: &Http, task: &str, config: &str) -> Result<Value, Value> {
        let answer = match self {
            Self::OldRpc => {
                let params = json!({"id": task, "pushNotificationConfigId": config});
                self.rpc(http, "tasks/pushNotificationConfig/get", params).await
            }
            Self::NewRpc => {
                self.rpc(http, "GetTaskPushNotificationConfig", json!({"taskId": task, "id": config})).await
            }
            Self::OldHttp => {
                http.get(&format!("/a2a/desk/v1/tasks/{task}/pushNotificationConfigs/{config}")).await
            }
            Self::NewHttp => {
                http.get(&format!("/a2a/desk/tasks/{task}/pushNotificationConfigs/{config}")).await
            }
        };
        let told = self.result(answer)?;
        Ok(self.bare(&told))
    }

    async fn list_wishes(self, http: &Http, task: &str) -> Result<Vec<Value>, Value> {
        let answer = match self {
            Self::OldRpc => self.rpc(http, "tasks/pushNotificationConfig/list", json!({"id": task})).await,
            Self::NewRpc => self.rpc(http, "ListTaskPushNotificationConfigs", json!({"taskId": task})).await,
            Self::OldHttp => http.get(&format!("/a2a/desk/v1/tasks/{task}/pushNotificationConfigs")).await,
            Self::NewHttp => http.get(&format!("/a2a/desk/tasks/{task}/pushNotificationConfigs")).await,
        };
        let told = self.result(answer)?;
        let list = if self == Self::OldRpc { &told } else { &told["configs"] };
        Ok(list.as_array().expect("a list").iter().map(|one| self.bare(one)).collect())
    }

    async fn forget(self, http: &Http, task: &str, config: &str) -> Result<Value, Value> {
        let answer = match self {
            Self::OldRpc => {
                let params = json!({"id": task, "pushNotificationConfigId": config});
                self.rpc(http, "tasks/pushNotificationConfig/delete", params).await
            }
            Self::NewRpc => {
                self.rpc(http, "DeleteTaskPushNotificationConfig", json!({"taskId": task, "id": config}))
                    .await
            }
            Self::OldHttp => {
                http.delete(&format!("/a2a/desk/v1/tasks/{task}/pushNotificationConfigs/{config}")).await
            }
            Self::NewHttp => {
                http.delete(&format!("/a2a/desk/tasks/{task}/pushNotificationConfigs/{config}")).await
            }
        };
        self.result(answer)
    }

    async fn ask(self, http: &Http, message: &str) -> Value {
        self.send(http, self.message(message, &deletion(), json!({}))).await.expect("a task")
    }

    /// Sends a message with a wish beside it.
    async fn ask_wishing(self, http: &Http, message: &str, config: Value) -> Result<Value, Value> {
        let message = self.message(message, &deletion(), json!({}));
        let name = if self.is_new() { "taskPushNotificationConfig" } else { "pushNotificationConfig" };
        let params = json!({"message": message, "configuration": {name: config}});
        let answer = match self {
            Self::OldRpc => self.rpc(http, "message/send", params).await,
            Self::NewRpc => self.rpc(http, "SendMessage", params).await,
            Self::OldHttp => http.post("/a2a/desk/v1/message:send", params).await,
            Self::NewHttp => http.post("/a2a/desk/message:send", params).await,
        };
        let told = self.result(answer)?;
        Ok(if self == Self::OldRpc { told } else { told["task"].clone() })
    }
}

/// What a refusal says, in any binding.
fn said(error: &Value) -> (i64, String) {
    let error = error.get("error").unwrap_or(error);
    let text = error["message"].as_str().unwrap_or_default().to_owned();
    (error["code"].as_i64().unwrap_or_default(), text)
}

/// Approves the one request that waits.
async fn approve(ann: &Http) {
    let waiting = pending(ann).await;
    assert_eq!(waiting.len(), 1);
    decide(ann, &waiting[0], json!({"decision": "approve"})).await;
}

/// Longer than the worker waits before it looks at the outbox again.
const LOOK: Duration = Duration::from_millis(300);
/// More calls than a receiver ever has at once.
const MANY: usize = 64;

fn patient() -> Settings {
    let timing = Timing { push_timeout: FOREVER, ..Timing::default() };
    Settings { requests_per_second: 0, timing, ..Settings::default() }
}

/// A server whose receivers may take as long as they like.
async fn start(backend: Backend) -> Server {
    Server::over(Kit::start(backend).await, patient()).await
}

/// Waits until everything was told that is to be: what happened has raised its row, and a row waits until its receiver took the news. One
/// more task is decided and told, so that the worker has looked.
async fn all_told(server: &Server) {
    let mut receiver = Receiver::start().await;
    let (bot, ann) = (server.agent("fence").await, server.reviewer("fence-ann").await);
    let port = receiver.port.to_string();
    Way::NewRpc.ask_wishing(&bot, &port, json!({"url": receiver.url()})).await.expect("a task");
    approve(&ann).await;
    receiver.until(1).await;
    none_open(server).await;
}

/// Waits until so many attempts at an address have failed.
async fn failed(server: &Server, url: &str, attempts: u64) {
    let failed = format!(
        "SELECT 1 FROM outbox o JOIN notes n ON n.kind = o.channel AND n.key = o.subject
         WHERE o.state = 'waiting' AND o.lease_until = 0 AND o.attempts = {attempts} AND n.body LIKE '%\"{url}\"%'"
    );
    let what = format!("failed attempt {attempts} at {url}");
    until_so(&what, async || !server.kit.place().rows(&failed).await.is_empty()).await;
}

/// Waits until no receiver has anything left to be told.
pub(crate) async fn none_open(server: &Server) {
    let open = "SELECT 1 FROM outbox WHERE channel = 'a2a.push' AND state = 'waiting'";
    until_so("an outbox without news", async || server.kit.place().rows(open).await.is_empty()).await;
}

both! {
    async fn a_decision_is_posted_in_the_words_of_the_version_that_wished_for_it(backend: Backend) {
        let server = start(backend).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        for (index, way) in WAYS.into_iter().enumerate() {
            let mut receiver = Receiver::start().await;
            let task = way.ask(&bot, &format!("m{index}")).await;
            let set = way.set(&bot, id(&task), way.config(&receiver.url())).await.expect("a wish");
            assert_eq!((set["id"].as_str(), set["taskId"].as_str(), set["url"].as_str()), (Some("c-1"), Some(id(&task)), Some(receiver.url().as_str())), "{way:?}");
            assert!(receiver.posted().is_empty(), "what the caller knows is not told again");
            approve(&ann).await;
            let posted = receiver.until(1).await;
            let told = &posted[0];
            assert_eq!((told.path.as_str(), told.header("x-a2a-notification-token"), told.header("authorization")), ("/told?by=placet", "t0ken", "Bearer s3cret"));
            assert_eq!(told.header("content-type"), if way.is_new() { "application/a2a+json" } else { "application/json" });
            assert_eq!(told.body.get("task").is_some(), way.is_new(), "1.0 wraps what it tells, 0.3 does not");
            // It is the task as a read of it answers.
            let reading = if way == Way::OldHttp { Way::OldRpc } else { way };
            assert_eq!(told.task(), &reading.get(&bot, id(&task)).await.expect("the task"));
            assert_eq!((Way::state(told.task()), told.task()["artifacts"][0]["name"].as_str()), ("completed".to_owned(), Some("decision")));
        }
        server.finish().await;
    }

    async fn wishes_are_set_read_listed_replaced_and_taken_back(backend: Backend) {
        let server = start(backend).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let (mut first, second) = (Receiver::start().await, Receiver::start().await);
        for (index, way) in WAYS.into_iter().enumerate() {
            let task = way.ask(&bot, &format!("m{index}")).await;
            let task = id(&task);
            assert_eq!(way.list_wishes(&bot, task).await.expect("a list"), Vec::<Value>::new());
            way.set(&bot, task, way.config(&first.url())).await.expect("a wish");
            let second_url = json!({"url": second.url()});
            // Without an id it gets one of its own, and the same address is the same wish.
            let made = way.set(&bot, task, second_url.clone()).await.expect("a wish");
            assert_eq!(way.set(&bot, task, second_url).await.expect("the same"), made);
            let made = made["id"].as_str().expect("an id").to_owned();
            let all = way.list_wishes(&bot, task).await.expect("a list");
            assert_eq!(all.len(), 2, "{way:?}");
            let shown = way.read(&bot, task, "c-1").await.expect("a wish");
            assert!(all.contains(&shown) && !format!("{all:?}").contains("s3cret") && !format!("{all:?}").contains("t0ken"), "{all:?}");
            // Replaced, it is told at the new address.
            way.set(&bot, task, merged(way.config(&first.url()), json!({"url": format!("{}&again", first.url())}))).await.expect("a wish");
            assert_eq!(way.list_wishes(&bot, task).await.expect("a list").len(), 2);
            way.forget(&bot, task, &made).await.expect("gone");
            way.forget(&bot, task, &made).await.expect("gone already");
            assert_eq!(said(&way.read(&bot, task, &made).await.expect_err("gone")).0, if way == Way::NewHttp { 404 } else { -32001 });
            approve(&ann).await;
            let posted = first.until(index + 1).await;
            assert_eq!(posted[index].path, "/told?by=placet&again");
        }
        all_told(&server).await;
        assert!(second.posted().is_empty() && first.posted().len() == 4);
        server.finish().await;
    }

    async fn a_wish_beside_the_message_is_kept_and_the_message_sent_again_adds_none(backend: Backend) {
        let server = start(backend).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        for (index, way) in WAYS.into_iter().enumerate() {
            let mut receiver = Receiver::start().await;
            let wish = json!({"url": receiver.url(), "token": "t0ken"});
            let task = way.ask_wishing(&bot, &format!("m{index}"), wish.clone()).await.expect("a task");
            let again = way.ask_wishing(&bot, &format!("m{index}"), wish).await.expect("the same task");
            assert_eq!(id(&task), id(&again));
            assert_eq!(way.list_wishes(&bot, id(&task)).await.expect("a list").len(), 1);
            way.cancel(&bot, id(&task)).await.expect("withdrawn");
            let posted = receiver.until(1).await;
            assert_eq!((Way::state(posted[0].task()), posted[0].header("x-a2a-notification-token")), ("canceled".to_owned(), "t0ken"));
            assert!(pending(&ann).await.is_empty());
        }
        server.finish().await;
    }

    async fn what_a_receiver_missed_while_it_was_away_is_told_after_a_restart(backend: Backend) {
        let server = start(backend).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let port = Port::new();
        let url = format!("http://127.0.0.1:{}/told", port.number());
        let task = Way::NewRpc.ask_wishing(&bot, "m", json!({"url": url})).await.expect("a task");
        approve(&ann).await;
        failed(&server, &url, 1).await;
        let server = server.restart().await;
        let mut receiver = Receiver::on(port.listen());
        let posted = receiver.until_tried(&server, 1).await;
        assert_eq!((id(posted[0].task()), Way::state(posted[0].task()).as_str()), (id(&task), "completed"));
        all_told(&server).await;
        assert_eq!(receiver.posted().len(), 1, "told once");
        server.finish().await;
    }

    async fn what_was_decided_while_no_server_ran_is_told_when_one_does(backend: Backend) {
        let mut server = start(backend).await;
        let (bot, ann) = (server.agent("bot").await, server.kit.reviewer("ann").await);
        let mut receiver = Receiver::start().await;
        Way::OldRpc.ask_wishing(&bot, "m", json!({"url": receiver.url()})).await.expect("a task");
        let waiting = pending(&server.actor(&ann)).await;
        server.stop().await;
        let request = server.kit.read(waiting[0]["id"].as_str().expect("an id").parse().expect("an id")).await;
        server.kit.deny(&ann, &request).await.expect("denied");
        assert!(receiver.posted().is_empty(), "nobody runs that could tell");
        let server = server.restart().await;
        let posted = receiver.until(1).await;
        assert_eq!(Way::state(posted[0].task()), "rejected");
        server.finish().await;
    }

    async fn what_version_0_2_0_had_left_to_post_is_posted_after_the_upgrade(backend: Backend) {
        let server = start(backend).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let port = Port::new();
        let url = format!("http://127.0.0.1:{}/told", port.number());
        let task = Way::NewRpc.ask_wishing(&bot, "m", json!({"url": url})).await.expect("a task");
        approve(&ann).await;
        failed(&server, &url, 1).await;
        let (read, set) = match backend {
            Backend::Sqlite => ("PRAGMA user_version", "PRAGMA user_version ="),
            Backend::Postgres => ("SELECT version FROM placet_format", "UPDATE placet_format SET version ="),
        };
        let format = server.kit.place().value(read).await;
        let before = format.as_str().map_or_else(|| format.to_string(), str::to_owned).parse::<u64>().expect("a number") - 1;
        let pending = r#""given_up":null,"lease":null,"pending":{"generation":2,"ended":true,"task":{},"since":0,"attempts":1,"next":0}"#;
        let old = format!(
            "{OUTBOX_OF_0_2} UPDATE notes SET open = 1, body = replace(body, '\"ended\":false', '\"ended\":false,{pending}') WHERE kind = 'a2a.push';
             {set} {before};"
        );
        let mut receiver = Receiver::on(port.listen());
        let server = server.restart_after(async |place| place.sql(&old).await).await;
        let posted = receiver.until(1).await;
        assert_eq!((id(posted[0].task()), Way::state(posted[0].task()).as_str()), (id(&task), "completed"));
        all_told(&server).await;
        assert_eq!(receiver.posted().len(), 1, "told once");
        server.finish().await;
    }

    async fn a_task_that_has_ended_is_told_at_once_and_never_again(backend: Backend) {
        let server = start(backend).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let mut receiver = Receiver::start().await;
        let way = Way::NewHttp;
        let task = way.ask(&bot, "m").await;
        approve(&ann).await;
        way.set(&bot, id(&task), way.config(&receiver.url())).await.expect("a wish");
        assert_eq!(Way::state(receiver.until(1).await[0].task()), "completed");
        way.set(&bot, id(&task), way.config(&receiver.url())).await.expect("the same wish");
        none_open(&server).await;
        assert_eq!(receiver.posted().len(), 1);
        // Some time after that it is gone by itself.
        server.kit.clock().advance(Duration::from_hours(25));
        assert_eq!(server.kit.gate().prune_notes().await.expect("pruned"), 1);
        assert!(way.list_wishes(&bot, id(&task)).await.expect("a list").is_empty());
        // Set after that, it is a new one.
        way.set(&bot, id(&task), way.config(&receiver.url())).await.expect("a new wish");
        assert_eq!(Way::state(receiver.until(2).await[1].task()), "completed");
        server.finish().await;
    }

    async fn a_config_that_is_set_again_begins_its_retries_again(backend: Backend) {
        let server = start(backend).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let mut receiver = Receiver::start().await;
        let way = Way::NewRpc;
        let task = way.ask(&bot, "m").await;
        way.set(&bot, id(&task), way.config(&receiver.url())).await.expect("a wish");
        receiver.answer_next(StatusCode::GONE.into_response());
        receiver.answer_next(StatusCode::SERVICE_UNAVAILABLE.into_response());
        approve(&ann).await;
        receiver.until(1).await;
        none_open(&server).await;
        way.set(&bot, id(&task), way.config(&receiver.url())).await.expect("the same wish");
        assert_eq!(Way::state(receiver.until(2).await[1].task()), "completed", "it was given up before");
        failed(&server, &receiver.url(), 1).await;
        // It waits for its next attempt: setting it again is one, without a wait.
        way.set(&bot, id(&task), way.config(&receiver.url())).await.expect("the same wish");
        receiver.until(3).await;
        way.set(&bot, id(&task), way.config(&receiver.url())).await.expect("the same wish");
        all_told(&server).await;
        assert_eq!(receiver.posted().len(), 3, "what was told is not told again");
        server.finish().await;
    }

    async fn an_end_that_was_posted_to_the_address_before_is_posted_to_the_new_one(backend: Backend) {
        let server = start(backend).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let (mut first, mut second) = (Receiver::start().await, Receiver::start().await);
        let way = Way::NewRpc;
        let task = way.ask(&bot, "m").await;
        way.set(&bot, id(&task), way.config(&first.url())).await.expect("a wish");
        let shared = first.shared.clone();
        let held = shared.hold().await;
        approve(&ann).await;
        first.until(1).await;
        way.set(&bot, id(&task), way.config(&second.url())).await.expect("the wish at another address");
        drop(held);
        assert_eq!(Way::state(second.until_tried(&server, 1).await[0].task()), "completed");
        server.finish().await;
    }

    async fn a_receiver_that_fails_is_told_again_with_the_newest_state(backend: Backend) {
        let server = start(backend).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let mut receiver = Receiver::start().await;
        let two = json!({"requests": [
            {"kind": "confirmation", "session": "s", "message": "one?"},
            {"kind": "confirmation", "session": "s", "message": "two?"}]});
        let way = Way::NewRpc;
        let part = json!({"metadata": {"urn:placet:a2a:approval:v1": two}, "parts": [{"text": "two things"}]});
        let task = way.send(&bot, merged(way.message("m", &json!({}), json!({})), part)).await.expect("a task");
        way.set(&bot, id(&task), way.config(&receiver.url())).await.expect("a wish");
        receiver.answer_next(StatusCode::INTERNAL_SERVER_ERROR.into_response());
        let waiting = pending(&ann).await;
        assert_eq!(waiting.len(), 2);
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        assert_eq!(Way::state(receiver.until(1).await[0].task()), "input-required");
        // Decided while the first state waits to be told again: that one is not told any more.
        let other = pending(&ann).await;
        decide(&ann, &other[0], json!({"decision": "deny"})).await;
        assert_eq!(Way::state(receiver.until_tried(&server, 2).await[1].task()), "rejected");
        all_told(&server).await;
        assert_eq!(receiver.posted().len(), 2);
        server.finish().await;
    }
}

#[test]
fn of_two_nodes_one_tells() {
    placet_testkit::block_on(async {
        let kit = Kit::start(Backend::Postgres).await;
        let other = Server::over(kit.another_node().await, patient()).await;
        let server = Server::over(kit, patient()).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let mut receiver = Receiver::start().await;
        for round in 0..8 {
            let way = Way::NewRpc;
            way.ask_wishing(&bot, &format!("m{round}"), json!({"url": receiver.url()}))
                .await
                .expect("a task");
            // By one node and by the other.
            let there =
                if round % 2 == 0 { ann.clone() } else { other.http(Some(&server_token(&server).await)) };
            // While one waits for the answer, the other leaves it alone.
            let shared = receiver.shared.clone();
            let held = if round >= 5 { Some(shared.hold().await) } else { None };
            approve(&there).await;
            receiver.until(round + 1).await;
            if held.is_some() {
                both_look(&server).await;
            }
            assert_eq!(receiver.posted().len(), round + 1);
        }
        all_told(&server).await;
        assert_eq!(receiver.posted().len(), 8);
        other.finish().await;
        server.finish().await;
    });
}

/// Has the nodes look for what is left, several times: what another receiver failed to take is found by looking alone. The
/// clock moves less than a lease lasts.
async fn both_look(server: &Server) {
    let mut receiver = Receiver::start().await;
    for _ in 0..3 {
        receiver.answer_next(StatusCode::SERVICE_UNAVAILABLE.into_response());
    }
    let (bot, ann) = (server.agent("fence").await, server.reviewer("fence-ann").await);
    let port = receiver.port.to_string();
    Way::NewRpc.ask_wishing(&bot, &port, json!({"url": receiver.url()})).await.expect("a task");
    approve(&ann).await;
    for (attempts, gap) in [(1, 1), (2, 2), (3, 5)] {
        failed(server, &receiver.url(), attempts).await;
        server.kit.clock().advance(Duration::from_secs(gap));
    }
    receiver.until(4).await;
}

/// The key of one more reviewer.
async fn server_token(server: &Server) -> String {
    let reviewer = server.kit.reviewer("ann").await;
    server.kit.token(&reviewer)
}

#[test]
fn addresses_that_are_not_ours_to_call_are_refused_by_name_and_nothing_is_asked() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let bad = [
            "http://10.0.0.1/",
            "http://192.168.1.1:8080/",
            "http://172.16.0.1/",
            "http://169.254.169.254/latest/meta-data",
            "http://[fd00:ec2::254]/",
            "http://[::ffff:127.0.0.1]:1/",
            "http://[::ffff:10.0.0.1]/",
            "http://0.0.0.0/",
            "https://8.8.8.8/",
            "http://example.com/",
            "http://2130706433/",
            "http://localhost.evil.example/",
            "http://ann:pw@localhost:1/",
            "ftp://localhost/",
            "file:///etc/passwd",
            "localhost:1",
            "",
            "http://localhost:0/",
            "http://local\u{9}host:1/",
        ];
        for way in WAYS {
            let task = way.ask(&bot, &format!("{way:?}")).await;
            for url in bad {
                let (code, text) = said(&way.set(&bot, id(&task), json!({"url": url})).await.expect_err(url));
                assert_eq!(code, if way == Way::NewHttp { 400 } else { -32602 }, "{url}: {text}");
                let field = if way.is_new() { "`params.url`" } else { "`params.pushNotificationConfig.url`" };
                assert!(text.contains(field), "{url}: {text}");
            }
            way.cancel(&bot, id(&task)).await.expect("withdrawn");
            let error = way
                .ask_wishing(&bot, &format!("{way:?} 2"), json!({"url": "http://10.0.0.1/"}))
                .await
                .expect_err("refused");
            assert!(
                said(&error).1.contains("PushNotificationConfig.url`")
                    || said(&error).1.contains("pushNotificationConfig.url`"),
                "{error}"
            );
            assert!(pending(&ann).await.is_empty(), "nothing is asked with a wish that cannot be kept");
        }
    });
}

#[test]
fn an_address_is_checked_again_when_it_is_connected_to() {
    placet_testkit::block_on(async {
        let listed = |hosts: &[&str]| Settings {
            push: Rules::new(hosts.iter().map(|host| (*host).to_owned())),
            ..patient()
        };
        // This machine, in a spelling that nobody may call unless it is listed.
        let (mut receiver, host) = (Receiver::start().await, "[::ffff:127.0.0.1]");
        let url = format!("http://{host}:{}/", receiver.port);
        let mut server = Server::over(Kit::start(Backend::Sqlite).await, listed(&[host])).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        Way::NewRpc.ask_wishing(&bot, "m1", json!({"url": url})).await.expect("a task");
        approve(&ann).await;
        receiver.until(1).await;
        Way::NewRpc.ask_wishing(&bot, "m2", json!({"url": url})).await.expect("a task");
        // The operator takes the host off the list.
        server.stop().await;
        let Server { kit, .. } = server;
        let server = Server::over(kit, listed(&[])).await;
        approve(&server.http(Some(&server_token(&server).await))).await;
        all_told(&server).await;
        server.kit.clock().advance(Duration::from_secs(10));
        all_told(&server).await;
        assert_eq!(receiver.posted().len(), 1, "listening is not being allowed");
        server.finish().await;
    });
}

#[test]
fn a_redirect_is_not_followed() {
    with_settings(
        |settings| *settings = patient(),
        async |server| {
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            let (mut receiver, elsewhere) = (Receiver::start().await, Receiver::start().await);
            for status in [StatusCode::FOUND, StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT]
            {
                receiver.answer_next((status, [(header::LOCATION, elsewhere.url())]).into_response());
            }
            Way::NewRpc.ask_wishing(&bot, "m", Way::NewRpc.config(&receiver.url())).await.expect("a task");
            approve(&ann).await;
            // It is tried at the address that was wished until it is taken there, and at no other.
            receiver.until_tried(server, 4).await;
            all_told(server).await;
            assert!(elsewhere.posted().is_empty() && receiver.posted().len() == 4);
        },
    );
}

#[test]
fn wishes_are_the_agents_own_and_not_too_many() {
    on_sqlite(async |server| {
        let (bot, eve, ann) =
            (server.agent("bot").await, server.agent("eve").await, server.reviewer("ann").await);
        for way in WAYS {
            let task = way.ask(&bot, &format!("{way:?}")).await;
            let task = id(&task);
            let wish = |n: usize| json!({"id": format!("c-{n}"), "url": format!("http://localhost:1/{n}")});
            let missing = if way == Way::NewHttp { 404 } else { -32001 };
            assert_eq!(said(&way.set(&eve, task, wish(0)).await.expect_err("foreign")).0, missing);
            assert_eq!(said(&way.set(&bot, "task-0", wish(0)).await.expect_err("no task")).0, missing);
            assert!(
                said(&way.set(&ann, task, wish(0)).await.expect_err("a person")).1.contains("only the agent")
            );
            for n in 0..10 {
                way.set(&bot, task, wish(n)).await.expect("a wish");
            }
            let (_, text) = said(&way.set(&bot, task, wish(10)).await.expect_err("one too many"));
            assert!(text.contains("10 push notification configs"), "{text}");
            way.set(&bot, task, wish(9)).await.expect("in place of another");
            assert_eq!(way.list_wishes(&bot, task).await.expect("a list").len(), 10);
            assert_eq!(said(&way.read(&eve, task, "c-1").await.expect_err("foreign")).0, missing);
            assert_eq!(said(&way.list_wishes(&eve, task).await.expect_err("foreign")).0, missing);
            assert_eq!(said(&way.forget(&eve, task, "c-1").await.expect_err("foreign")).0, missing);
            assert!(
                said(&way.read(&ann, task, "c-1").await.expect_err("a person")).1.contains("only the agent")
            );
            way.cancel(&bot, task).await.expect("withdrawn");
        }
    });
}
