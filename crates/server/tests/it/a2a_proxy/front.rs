//! A server in front of an agent, and a client that speaks either version.

use std::time::Duration;

use placet_server::{Settings, Timing, Upstream};
use placet_testkit::{Backend, Http, Kit, Lines, Server};
use serde_json::{Value, json};

use super::agent::Agent;
use crate::support::{merged, soon, until_so};

pub(super) const PATH: &str = "/a2a/demo/ops";

/// A server in front of an agent.
pub(super) async fn front(backend: Backend, agent: &Agent, change: impl FnOnce(&mut Upstream)) -> Server {
    let mut upstream = upstream(agent);
    change(&mut upstream);
    Server::over(Kit::start(backend).await, behind(upstream, |_| {})).await
}

/// The agent, as an operator who is in a hurry names it.
fn upstream(agent: &Agent) -> Upstream {
    let ask_again_after = Duration::from_millis(50);
    Upstream { ask_again_after, ..Upstream::new("demo", "ops", &agent.url) }
}

fn behind(upstream: Upstream, change: impl FnOnce(&mut Timing)) -> Settings {
    let mut timing = Timing { follow_check: Duration::from_millis(100), ..Timing::default() };
    change(&mut timing);
    Settings { requests_per_second: 0, upstreams: vec![upstream], timing, ..Settings::default() }
}

/// The same, and every open task is looked at all the time.
pub(super) async fn looking(backend: Backend, agent: &Agent) -> Server {
    let settings = behind(upstream(agent), |timing| timing.task_look = Duration::from_millis(20));
    Server::over(Kit::start(backend).await, settings).await
}

/// Another node in front of the same agent.
pub(super) async fn another(one: &Server, agent: &Agent) -> Server {
    Server::over(one.kit.another_node().await, behind(upstream(agent), |_| {})).await
}

/// A version of the protocol, as a client speaks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Talk {
    Old,
    New,
}

impl Talk {
    pub(super) fn text(self, text: &str, more: Value) -> Value {
        let message = match self {
            Self::Old => {
                json!({"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": text}]})
            }
            Self::New => json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]}),
        };
        json!({"message": merged(message, more)})
    }

    pub(super) fn method(self, new: &str) -> &str {
        match (self, new) {
            (Self::New, name) => name,
            (_, "SendMessage") => "message/send",
            (_, "SendStreamingMessage") => "message/stream",
            (_, "GetTask") => "tasks/get",
            (_, "CancelTask") => "tasks/cancel",
            (_, "SubscribeToTask") => "tasks/resubscribe",
            (_, other) => other,
        }
    }

    pub(super) fn client(self, http: &Http) -> Http {
        if self == Self::New { http.clone().with("a2a-version", "1.0") } else { http.clone() }
    }

    pub(super) async fn call(self, http: &Http, method: &str, params: Value) -> Result<Value, Value> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": self.method(method), "params": params});
        let answer = self.client(http).post(PATH, body).await.body;
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"].clone()),
        }
    }

    /// Sends a text; the task comes back without its wrapper.
    pub(super) async fn send(self, http: &Http, text: &str, more: Value) -> Result<Value, Value> {
        let result = self.call(http, "SendMessage", self.text(text, more)).await?;
        Ok(if self == Self::New { result["task"].clone() } else { result })
    }

    pub(super) async fn get(self, http: &Http, id: &str) -> Result<Value, Value> {
        self.call(http, "GetTask", json!({"id": id})).await
    }

    pub(super) async fn stream(self, http: &Http, method: &str, params: Value) -> Events {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": self.method(method), "params": params});
        Events(self.client(http).post_lines(PATH, body).await)
    }
}

/// The events of a stream.
pub(super) struct Events(Lines);

impl Events {
    /// The next event; nothing at the end.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            let line = soon("an event, or the end of the stream", self.0.next()).await?;
            if let Some(data) = line.strip_prefix("data:") {
                let body: Value = serde_json::from_str(data).unwrap();
                return Some(body.get("result").cloned().unwrap_or(body));
            }
        }
    }

    /// The states it tells of until it ends.
    pub(super) async fn states(&mut self) -> Vec<String> {
        let mut states = Vec::new();
        while let Some(event) = self.next().await {
            let status = ["task", "statusUpdate"].iter().map(|name| &event[*name]["status"]["state"]);
            let state = status.chain([&event["status"]["state"]]).find_map(Value::as_str);
            states.extend(state.map(plain));
        }
        states
    }
}

pub(super) fn plain(word: &str) -> String {
    word.trim_start_matches("TASK_STATE_").to_lowercase().replace('_', "-")
}

pub(super) fn state(task: &Value) -> String {
    plain(task["status"]["state"].as_str().unwrap_or_else(|| panic!("a task: {task}")))
}

pub(super) fn id(task: &Value) -> &str {
    task["id"].as_str().expect("a task with an id")
}

pub(super) async fn pending(reviewer: &Http) -> Vec<Value> {
    let list = reviewer.get("/v1/requests?state=pending").await.expect(200);
    let mut items = list["items"].as_array().expect("a list").clone();
    items.sort_by_key(|item| item["context"]["a2a"]["item"].as_u64());
    items
}

pub(super) async fn decide(reviewer: &Http, record: &Value, more: Value) {
    let body = merged(json!({"digest": record["digest"], "version": record["version"]}), more);
    let path = format!("/v1/requests/{}/decision", record["id"].as_str().expect("an id"));
    reviewer.post(&path, body).await.expect(200);
}

pub(super) async fn record(reviewer: &Http, record: &Value) -> Value {
    reviewer.get(&format!("/v1/requests/{}", record["id"].as_str().expect("an id"))).await.expect(200)
}

/// Waits until the task is seen in this state.
pub(super) async fn until(talk: Talk, http: &Http, id: &str, wanted: &str) -> Value {
    let mut task = Value::Null;
    until_so(&format!("a task that is {wanted}"), async || {
        task = talk.get(http, id).await.unwrap_or_default();
        task["status"]["state"].as_str().is_some_and(|word| plain(word) == wanted)
    })
    .await;
    task
}

/// Waits until a record is in this state.
pub(super) async fn until_record(reviewer: &Http, asked: &Value, wanted: &str) -> Value {
    let mut now = Value::Null;
    until_so(&format!("a request that is {wanted}"), async || {
        now = record(reviewer, asked).await;
        now["state"] == wanted
    })
    .await;
    now
}

/// Waits until it is so, and lets time go by: the clock of the outbox stands still in tests.
pub(super) async fn in_time(server: &Server, mut is_so: impl AsyncFnMut() -> bool) {
    until_so("what takes its time", async || {
        let so = is_so().await;
        if !so {
            server.kit.clock().advance(Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
        so
    })
    .await;
}

/// Waits until every decision was brought to the agent, or found that it need not be.
pub(super) async fn delivered(server: &Server) {
    let left = "SELECT 1 FROM outbox WHERE state = 'waiting'";
    until_so("an outbox with nothing to deliver", async || server.kit.place().rows(left).await.is_empty())
        .await;
}

pub(super) fn ran(names: &[&str]) -> Vec<(String, u32)> {
    names.iter().map(|name| ((*name).to_owned(), 1)).collect()
}

pub(super) fn proxied(change: impl FnOnce(&mut Upstream), body: impl AsyncFnOnce(&mut Server, Agent)) {
    placet_testkit::block_on(async {
        let agent = Agent::start().await;
        let mut server = front(Backend::Sqlite, &agent, change).await;
        body(&mut server, agent).await;
        server.finish().await;
    });
}

/// A task that waits for people, and everybody around it.
pub(super) struct Scene<'a> {
    pub(super) server: &'a mut Server,
    pub(super) agent: Agent,
    /// Whose task it is.
    pub(super) bot: Http,
    /// Who decides.
    pub(super) ann: Http,
    pub(super) task: Value,
    /// What she is asked, in the order of the pause.
    pub(super) waiting: Vec<Value>,
}

/// A server in front of an agent whose task, begun with this text, is paused.
pub(super) fn paused(text: &str, body: impl AsyncFnOnce(Scene<'_>)) {
    proxied(
        |_| {},
        async |server, agent| {
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            let task = Talk::New.send(&bot, text, json!({})).await.unwrap();
            let waiting = pending(&ann).await;
            body(Scene { server, agent, bot, ann, task, waiting }).await;
        },
    );
}
