//! The approval desk: what agents that speak A2A rely on, in both versions and both bindings.

use std::time::Duration;

use placet_server::{Desk, Pause};
use placet_testkit::{Answer, Backend, Http, Server, both};
use serde_json::{Value, json};

use crate::support::{merged, on_sqlite, soon, with_settings};

/// One of the four ways to speak to the desk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    OldRpc,
    NewRpc,
    OldHttp,
    NewHttp,
}

pub(crate) const WAYS: [Way; 4] = [Way::OldRpc, Way::NewRpc, Way::OldHttp, Way::NewHttp];

impl Way {
    pub(crate) fn is_new(self) -> bool {
        matches!(self, Self::NewRpc | Self::NewHttp)
    }

    pub(crate) fn message(self, id: &str, data: &Value, more: Value) -> Value {
        let said = match self {
            Self::OldRpc => json!({"role": "user", "parts": [{"kind": "data", "data": data}]}),
            Self::OldHttp => json!({"role": "ROLE_USER", "content": [{"data": {"data": data}}]}),
            Self::NewRpc | Self::NewHttp => json!({"role": "ROLE_USER", "parts": [{"data": data}]}),
        };
        merged(merged(json!({"messageId": id}), said), more)
    }

    pub(crate) async fn rpc(self, http: &Http, method: &str, params: Value) -> Answer {
        let http = if self.is_new() { http.clone().with("a2a-version", "1.0") } else { http.clone() };
        http.post("/a2a/desk", json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})).await
    }

    /// Sends a message; the task comes back without its wrapper.
    pub(crate) async fn send(self, http: &Http, message: Value) -> Result<Value, Value> {
        let params = json!({"message": message});
        let answer = match self {
            Self::OldRpc => self.rpc(http, "message/send", params).await,
            Self::NewRpc => self.rpc(http, "SendMessage", params).await,
            Self::OldHttp => http.post("/a2a/desk/v1/message:send", params).await,
            Self::NewHttp => http.post("/a2a/desk/message:send", params).await,
        };
        let body = self.result(answer)?;
        Ok(if self == Self::OldRpc { body } else { body["task"].clone() })
    }

    pub(crate) async fn get(self, http: &Http, id: &str) -> Result<Value, Value> {
        let params = json!({"id": id});
        let answer = match self {
            Self::OldRpc => self.rpc(http, "tasks/get", params).await,
            Self::NewRpc => self.rpc(http, "GetTask", params).await,
            Self::OldHttp => http.get(&format!("/a2a/desk/v1/tasks/{id}")).await,
            Self::NewHttp => http.get(&format!("/a2a/desk/tasks/{id}")).await,
        };
        self.result(answer)
    }

    pub(crate) async fn cancel(self, http: &Http, id: &str) -> Result<Value, Value> {
        let params = json!({"id": id});
        let answer = match self {
            Self::OldRpc => self.rpc(http, "tasks/cancel", params).await,
            Self::NewRpc => self.rpc(http, "CancelTask", params).await,
            Self::OldHttp => http.post(&format!("/a2a/desk/v1/tasks/{id}:cancel"), json!({})).await,
            Self::NewHttp => http.post(&format!("/a2a/desk/tasks/{id}:cancel"), json!({})).await,
        };
        self.result(answer)
    }

    pub(crate) fn result(self, answer: Answer) -> Result<Value, Value> {
        match self {
            Self::OldRpc | Self::NewRpc => match answer.body.get("error") {
                None => Ok(answer.body["result"].clone()),
                Some(error) => Err(error.clone()),
            },
            Self::OldHttp if answer.status == 200 => Ok(plain(answer.body)),
            Self::NewHttp if answer.status == 200 => Ok(answer.body),
            Self::OldHttp | Self::NewHttp => Err(answer.body),
        }
    }

    /// The state without the version's spelling.
    pub(crate) fn state(task: &Value) -> String {
        let word = task["status"]["state"].as_str().expect("a task with a state");
        word.trim_start_matches("TASK_STATE_")
            .to_lowercase()
            .replace('_', "-")
            .replace("cancelled", "canceled")
    }
}

/// HTTP+JSON of 0.3 with the parts of messages and artifacts as the other bindings have them.
fn plain(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            if let Some(parts) = fields.remove("content") {
                fields.insert("parts".to_owned(), parts);
            }
            if let Some(Value::Object(data)) = fields.get_mut("data")
                && let Some(inner) = data.remove("data")
            {
                fields.insert("data".to_owned(), inner);
                return value;
            }
            fields.values_mut().for_each(|inner| *inner = plain(inner.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| *inner = plain(inner.take())),
        _ => {}
    }
    value
}

pub(crate) fn deletion() -> Value {
    json!({"type": "approval_request", "action": "delete_files", "args": {"files": ["report.md"], "limit": 9_007_199_254_740_991_i64}, "risk": "high"})
}

pub(crate) fn id(task: &Value) -> &str {
    task["id"].as_str().expect("a task with an id")
}

/// The ids of the requests that wait in a task.
pub(crate) async fn pending(reviewer: &Http) -> Vec<Value> {
    let list = reviewer.get("/v1/requests?state=pending").await.expect(200);
    list["items"].as_array().expect("a list").clone()
}

pub(crate) async fn decide(reviewer: &Http, record: &Value, more: Value) -> Value {
    let body = merged(json!({"digest": record["digest"], "version": record["version"]}), more);
    let path = format!("/v1/requests/{}/decision", record["id"].as_str().expect("an id"));
    reviewer.post(&path, body).await.expect(200)
}

/// The decision that a finished task tells.
fn told(way: Way, task: &Value) -> Value {
    let part = &task["artifacts"][0]["parts"][1];
    assert_eq!(part.get("kind").is_some(), way == Way::OldRpc, "{task}");
    part["data"].clone()
}

both! {
    async fn a_task_waits_for_a_person_and_ends_with_what_they_said(backend: Backend) {
        let server = Server::start(backend).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        for (index, way) in WAYS.into_iter().enumerate() {
            let asked = way.send(&bot, way.message(&format!("m{index}"), &deletion(), json!({}))).await.unwrap();
            assert_eq!(Way::state(&asked), "input-required", "{way:?}");
            let waiting = pending(&ann).await;
            assert_eq!(waiting.len(), 1);
            assert_eq!(waiting[0]["arguments"], json!({"files": ["report.md"], "limit": 9_007_199_254_740_991_i64}));
            assert_eq!((waiting[0]["group"].as_str(), waiting[0]["session"].as_str()), (Some(id(&asked)), asked["contextId"].as_str()));
            decide(&ann, &waiting[0], json!({"decision": "approve", "reason": "fine"})).await;
            let done = way.get(&bot, id(&asked)).await.unwrap();
            assert_eq!(Way::state(&done), "completed", "{way:?}");
            let told = told(way, &done);
            assert_eq!((told["decision"].as_str(), told["reason"].as_str(), &told["decided_by"]), (Some("approve"), Some("fine"), &json!(["ann"])));
            assert_eq!(told["args"], waiting[0]["arguments"]);
            assert!(done["artifacts"][0]["parts"][0]["text"].as_str().is_some_and(|text| text.starts_with("APPROVED by ann")));
        }
        server.finish().await;
    }

    async fn a_no_and_an_expiry_end_rejected_and_tell_no_arguments(backend: Backend) {
        let server = Server::start(backend).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let way = Way::NewRpc;
        let asked = way.send(&bot, way.message("m1", &deletion(), json!({}))).await.unwrap();
        decide(&ann, &pending(&ann).await[0], json!({"decision": "deny", "reason": "no"})).await;
        let done = way.get(&bot, id(&asked)).await.unwrap();
        assert_eq!((Way::state(&done).as_str(), told(way, &done)["decision"].as_str()), ("rejected", Some("reject")));
        assert_eq!(told(way, &done)["args"], Value::Null);
        let short = merged(deletion(), json!({"timeout_s": 1}));
        let asked = way.send(&bot, way.message("m2", &short, json!({}))).await.unwrap();
        server.kit.clock().advance(Duration::from_secs(2));
        let done = way.get(&bot, id(&asked)).await.unwrap();
        assert_eq!((Way::state(&done).as_str(), told(way, &done)["decision"].as_str()), ("rejected", Some("expired")));
        server.finish().await;
    }
}

#[test]
fn a_message_sent_twice_asks_once_and_another_text_under_the_same_id_asks_again() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let way = Way::NewRpc;
        let first = way.send(&bot, way.message("m1", &deletion(), json!({}))).await.unwrap();
        let again = way.send(&bot, way.message("m1", &deletion(), json!({}))).await.unwrap();
        assert_eq!(id(&first), id(&again));
        let other = merged(deletion(), json!({"args": {"files": ["other.md"]}}));
        let other = way.send(&bot, way.message("m1", &other, json!({}))).await.unwrap();
        assert_ne!(id(&first), id(&other));
        assert_eq!(pending(&ann).await.len(), 2);
    });
}

#[test]
fn the_ids_of_messages_mean_nothing_in_the_product() {
    // The protocol's public conformance kit says by them what is to become of a task.
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        for prefix in
            ["tck-complete-task", "tck-artifact-text", "tck-input-required", "test-resubscribe-message-id"]
        {
            let message = json!({"messageId": prefix, "role": "ROLE_USER", "parts": [{"text": "hello"}]});
            let answer = Way::NewRpc.rpc(&bot, "SendMessage", json!({"message": message})).await;
            let said = answer.body["result"]["message"]["parts"][0]["text"].as_str().map(str::to_owned);
            assert!(said.is_some_and(|said| said.starts_with("This desk asks people.")), "{prefix}");
            let context = &answer.body["result"]["message"]["contextId"];
            assert!(context.as_str().is_some_and(|context| !context.is_empty()), "{answer:?}");
        }
        assert_eq!(pending(&ann).await, Vec::<Value>::new());
    });
}

#[test]
fn the_agent_that_asked_cannot_answer_itself_and_nor_can_another() {
    on_sqlite(async |server| {
        let (bot, other, ann) =
            (server.agent("bot").await, server.agent("other").await, server.reviewer("ann").await);
        let way = Way::NewRpc;
        let asked = way.send(&bot, way.message("m1", &deletion(), json!({}))).await.unwrap();
        let yes = json!({"type": "approval_response", "decision": "approve"});
        let reply = |id: &str| way.message("m2", &yes, json!({"taskId": id}));
        let still = way.send(&bot, reply(id(&asked))).await.unwrap();
        assert_eq!(Way::state(&still), "input-required");
        let refused = way.send(&other, reply(id(&asked))).await.unwrap_err();
        assert_eq!(refused["code"], -32001, "another agent does not even see it");
        let done = way.send(&ann, reply(id(&asked))).await.unwrap();
        assert_eq!(Way::state(&done), "completed");
        assert_eq!(told(way, &done)["decided_by"], json!(["ann"]));
        let late = way.send(&ann, reply(id(&asked))).await.unwrap_err();
        assert_eq!(late["code"], -32004, "it has ended");
    });
}

#[test]
fn an_unknown_word_of_a_reviewer_decides_nothing() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let way = Way::NewRpc;
        let asked = way.send(&bot, way.message("m1", &deletion(), json!({}))).await.unwrap();
        for word in ["Approve", "yes", "ok", "always", ""] {
            let said = json!({"type": "approval_response", "decision": word});
            let refused =
                way.send(&ann, way.message("m2", &said, json!({"taskId": id(&asked)}))).await.unwrap_err();
            assert_eq!(refused["code"], -32602, "{word}");
        }
        assert_eq!(Way::state(&way.get(&bot, id(&asked)).await.unwrap()), "input-required");
    });
}

#[test]
fn every_call_of_a_pause_is_decided_by_itself_and_the_task_ends_with_the_last() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let call = |id: &str, path: &str| json!({"id": id, "call_id": format!("c-{id}"), "name": "delete_file", "args": {"path": path}});
        let words = json!({"type": "tool_approval_request", "tools": [call("a", "/x"), call("b", "/y")]});
        let extension = "https://kagent.dev/extensions/hitl/v1";
        let message = json!({"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "may I?"}], "metadata": {extension: words}});
        let way = Way::NewRpc;
        let asked = way.send(&bot, message).await.unwrap();
        let drawn = &asked["status"]["message"]["metadata"][extension]["tools"];
        assert_eq!(drawn.as_array().map(Vec::len), Some(2), "a parent of kagent can draw the card: {asked}");
        let mixed = json!({"type": "tool_approval_response", "approvals": [
            {"id": "a", "approved": true}, {"id": "b", "approved": false, "rejection_reason": "keep it"}]});
        let done = way.send(&ann, way.message("m2", &mixed, json!({"taskId": id(&asked)}))).await.unwrap();
        assert_eq!(Way::state(&done), "rejected", "not everything was approved");
        let words: Vec<_> = done["artifacts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|artifact| artifact["parts"][1]["data"]["decision"].as_str().unwrap())
            .collect();
        assert_eq!(words, ["approve", "reject"]);
    });
}

#[test]
fn tasks_of_others_and_tasks_that_are_not_there_look_alike() {
    on_sqlite(async |server| {
        let (bot, other) = (server.agent("bot").await, server.agent("other").await);
        for way in WAYS {
            let asked = way.send(&bot, way.message("m1", &deletion(), json!({}))).await.unwrap();
            let hidden = |id: &str, error: &Value| error.to_string().replace(id, "ID");
            let foreign = way.get(&other, id(&asked)).await.unwrap_err();
            let unknown = way.get(&other, "task-00").await.unwrap_err();
            assert_eq!(hidden(id(&asked), &foreign), hidden("task-00", &unknown));
            assert!(way.cancel(&other, id(&asked)).await.is_err());
        }
    });
}

#[test]
fn cancelling_withdraws_the_request_and_an_ended_task_cannot_be_cancelled() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        for (index, way) in WAYS.into_iter().enumerate() {
            let asked =
                way.send(&bot, way.message(&format!("m{index}"), &deletion(), json!({}))).await.unwrap();
            let gone = way.cancel(&bot, id(&asked)).await.unwrap();
            assert_eq!(Way::state(&gone), "canceled");
            assert!(pending(&ann).await.is_empty());
            let error = way.cancel(&bot, id(&asked)).await.unwrap_err();
            assert!(error.to_string().contains("cannot be withdrawn any more"), "{error}");
        }
    });
}

#[test]
fn a_stream_begins_with_the_task_and_ends_with_the_decision() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let way = Way::NewHttp;
        let asked = way.send(&bot, way.message("m1", &deletion(), json!({}))).await.unwrap();
        let mut lines = bot.lines(&format!("/a2a/desk/tasks/{}:subscribe", id(&asked))).await;
        let next = async |lines: &mut placet_testkit::Lines| -> Option<Value> {
            let event = soon("an event", lines.event()).await?;
            let data = event.into_iter().find(|(name, _)| name == "data")?.1;
            Some(serde_json::from_str(&data).expect("an event is JSON"))
        };
        assert_eq!(next(&mut lines).await.unwrap()["task"]["id"], asked["id"]);
        decide(&ann, &pending(&ann).await[0], json!({"decision": "edit", "arguments": {"files": []}})).await;
        let artifact = next(&mut lines).await.unwrap();
        assert_eq!(artifact["artifactUpdate"]["artifact"]["parts"][1]["data"]["args"], json!({"files": []}));
        assert_eq!(
            next(&mut lines).await.unwrap()["statusUpdate"]["status"]["state"],
            "TASK_STATE_COMPLETED"
        );
        assert_eq!(next(&mut lines).await, None, "and nothing after it");
        let ended = bot.get(&format!("/a2a/desk/tasks/{}:subscribe", id(&asked))).await;
        assert_eq!(
            (ended.status, ended.body["error"]["details"][0]["reason"].as_str()),
            (400, Some("UNSUPPORTED_OPERATION"))
        );
    });
}

#[test]
fn a_restart_changes_nothing_for_a_waiting_task() {
    placet_testkit::block_on(async {
        let server = Server::start(Backend::Sqlite).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let way = Way::NewRpc;
        let asked = way.send(&bot, way.message("m1", &deletion(), json!({}))).await.unwrap();
        let _ = (bot, ann);
        let server = server.restart().await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        assert_eq!(way.get(&bot, id(&asked)).await.unwrap(), asked);
        decide(&ann, &pending(&ann).await[0], json!({"decision": "approve"})).await;
        assert_eq!(Way::state(&way.get(&bot, id(&asked)).await.unwrap()), "completed");
        server.finish().await;
    });
}

#[test]
fn listing_shows_the_callers_own_tasks_page_by_page() {
    on_sqlite(async |server| {
        let (bot, other) = (server.agent("bot").await, server.agent("other").await);
        let way = Way::NewRpc;
        way.send(&other, way.message("theirs", &deletion(), json!({}))).await.unwrap();
        let mut made = Vec::new();
        for index in 0..5 {
            let context = json!({"contextId": if index == 4 { "c-2" } else { "c-1" }});
            let task = way.send(&bot, way.message(&format!("m{index}"), &deletion(), context)).await.unwrap();
            made.insert(0, id(&task).to_owned());
        }
        let list = async |more: Value| way.result(way.rpc(&bot, "ListTasks", more).await).unwrap();
        let ids = |page: &Value| -> Vec<String> {
            page["tasks"].as_array().unwrap().iter().map(|task| id(task).to_owned()).collect()
        };
        let first = list(json!({"pageSize": 2})).await;
        let second = list(json!({"pageSize": 2, "pageToken": first["nextPageToken"]})).await;
        let third = list(json!({"pageSize": 2, "pageToken": second["nextPageToken"]})).await;
        assert_eq!([ids(&first), ids(&second), ids(&third)].concat(), made);
        assert_eq!(third["nextPageToken"], "");
        assert!([&first, &second, &third].iter().all(|page| page["totalSize"] == 5), "{first}");
        let whole = list(json!({"pageSize": 5})).await;
        assert_eq!((ids(&whole), whole["nextPageToken"].as_str()), (made.clone(), Some("")));
        let one = list(json!({"contextId": "c-2"})).await;
        assert_eq!((ids(&one), one["totalSize"].as_u64()), (made[..1].to_vec(), Some(1)));
        let none = list(json!({"status": "TASK_STATE_COMPLETED"})).await;
        assert_eq!((ids(&none), none["totalSize"].as_u64()), (Vec::new(), Some(0)));
        let later = list(json!({"statusTimestampAfter": "2100-01-01T00:00:00+01:00"})).await;
        assert_eq!(later["totalSize"], 0);
        for bad in [json!({"pageToken": "x"}), json!({"statusTimestampAfter": "yesterday"})] {
            let error = way.result(way.rpc(&bot, "ListTasks", bad).await).unwrap_err();
            assert_eq!(error["code"], -32602);
        }
    });
}

/// A message that asks for these confirmations at once.
fn several(way: Way, id: &str, requests: &[Value]) -> Value {
    let words = json!({"urn:placet:a2a:approval:v1": {"requests": requests}});
    way.message(id, &json!({}), json!({"metadata": words}))
}

fn confirmation(text: &str) -> Value {
    json!({"kind": "confirmation", "session": "s", "message": text})
}

both! {
    async fn tasks_of_several_items_are_listed_whole_on_whichever_page_they_are(backend: Backend) {
        let server = Server::start(backend).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let way = Way::NewRpc;
        let mut made = Vec::new();
        for index in 0..6 {
            let items: Vec<Value> = (0..=index % 3).map(|item| confirmation(&format!("{index}/{item}"))).collect();
            made.push(way.send(&bot, several(way, &format!("m{index}"), &items)).await.unwrap());
        }
        for record in pending(&ann).await {
            if record["message"].as_str().unwrap().starts_with('2') {
                decide(&ann, &record, json!({"decision": "approve"})).await;
            }
        }
        made.reverse();
        let (mut listed, mut token) = (Vec::new(), json!(""));
        loop {
            let page = way.result(way.rpc(&bot, "ListTasks", json!({"pageSize": 2, "pageToken": token, "includeArtifacts": true})).await).unwrap();
            assert_eq!(page["totalSize"], 6);
            listed.extend(page["tasks"].as_array().unwrap().clone());
            token = page["nextPageToken"].clone();
            if token == "" {
                break;
            }
        }
        for (listed, made) in listed.iter().zip(&made) {
            assert_eq!(listed, &way.get(&bot, id(made)).await.unwrap());
        }
        assert_eq!(listed.iter().map(Way::state).filter(|state| state == "completed").count(), 1);
        server.finish().await;
    }

    async fn a_message_that_is_refused_half_way_leaves_nothing_to_decide(backend: Backend) {
        let kit = placet_testkit::Kit::with(backend, |settings| settings.pending_per_agent = 3).await;
        let settings = placet_server::Settings { requests_per_second: 0, ..placet_server::Settings::default() };
        let server = Server::over(kit, settings).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let way = Way::NewRpc;
        // The fourth is one too many; the third of the other message says nothing.
        let four: Vec<Value> = (0..4).map(|n| confirmation(&n.to_string())).collect();
        let error = way.send(&bot, several(way, "four", &four)).await.unwrap_err();
        assert!(error["message"].as_str().unwrap().contains("limit"), "{error}");
        assert!(pending(&ann).await.is_empty());
        let bad = [confirmation("a"), confirmation("b"), confirmation("")];
        assert!(way.send(&bot, several(way, "bad", &bad)).await.is_err());
        assert!(pending(&ann).await.is_empty());
        // Sent again it asks for no part of itself either, and says what to do.
        let again = way.send(&bot, several(way, "four", &four)).await.unwrap_err();
        assert!(again["message"].as_str().unwrap().contains("send another one"), "{again}");
        assert!(pending(&ann).await.is_empty());
        let listed = way.result(way.rpc(&bot, "ListTasks", json!({})).await).unwrap();
        assert!(listed["tasks"].as_array().unwrap().iter().all(|task| Way::state(task) == "canceled"), "{listed}");
        let fine = way.send(&bot, several(way, "three", &four[..3])).await.unwrap();
        assert_eq!((Way::state(&fine).as_str(), pending(&ann).await.len()), ("input-required", 3));
        server.finish().await;
    }

    async fn agentkits_messages_are_read_as_it_spells_them(backend: Backend) {
        let server = Server::start(backend).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let way = Way::NewRpc;
        let ask = json!({"role": "agent", "parts": [{"kind": "data", "data": {
            "type": "approval_request", "action": "delete_files", "files": ["report.md", "draft.txt"],
            "message": "Delete these 2 files?", "options": ["approve", "deny", "modify"]}}]});
        let asked = way.send(&bot, ask.clone()).await.unwrap();
        // Without an id, the same words ask again: a yes to the one is none to the other.
        let other = way.send(&bot, ask).await.unwrap();
        assert_ne!(id(&asked), id(&other));
        let answer = |task: &str| json!({"role": "user", "task_id": task, "parts": [{"kind": "data", "data": {"type": "approval_response", "decision": "approve"}}]});
        // The agent cannot answer itself; a reviewer can.
        assert_eq!(Way::state(&way.send(&bot, answer(id(&asked))).await.unwrap()), "input-required");
        assert_eq!(Way::state(&way.send(&ann, answer(id(&asked))).await.unwrap()), "completed");
        assert_eq!(pending(&ann).await.len(), 1);
        // Other messages need an id, as the protocol has it.
        let text = json!({"role": "ROLE_USER", "parts": [{"text": "hello"}]});
        assert_eq!(way.send(&bot, text).await.unwrap_err()["code"], -32602);
        server.finish().await;
    }
}

#[test]
fn the_desk_says_what_it_was_set_to_say() {
    let desk = Desk { pause: Pause::AuthRequired, completed_always: true };
    with_settings(
        |settings| settings.desk = desk,
        async |server| {
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            let way = Way::OldRpc;
            let asked = way.send(&bot, way.message("m1", &deletion(), json!({}))).await.unwrap();
            assert_eq!(Way::state(&asked), "auth-required");
            decide(&ann, &pending(&ann).await[0], json!({"decision": "deny"})).await;
            let done = way.get(&bot, id(&asked)).await.unwrap();
            assert_eq!(
                (Way::state(&done).as_str(), told(way, &done)["decision"].as_str()),
                ("completed", Some("reject"))
            );
        },
    );
}

#[test]
fn what_is_wrong_with_a_call_is_said_in_the_protocols_codes() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        let rpc = async |version: Option<&str>, body: Value| {
            let http =
                version.map_or_else(|| bot.clone(), |version| bot.clone().with("a2a-version", version));
            http.post("/a2a/desk/", body).await.body["error"]["code"].as_i64()
        };
        let call = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        assert_eq!(rpc(Some("2.0"), call("GetTask", json!({"id": "x"}))).await, Some(-32009));
        assert_eq!(rpc(None, call("GetTask", json!({"id": "x"}))).await, Some(-32009));
        assert_eq!(rpc(Some("1.0"), call("tasks/get", json!({"id": "x"}))).await, Some(-32009));
        assert_eq!(rpc(Some("1.0"), call("Nothing", json!({}))).await, Some(-32601));
        assert_eq!(rpc(Some("1.0"), call("SendMessage", json!({}))).await, Some(-32602));
        assert_eq!(rpc(Some("1.0"), call("GetTask", json!({}))).await, Some(-32602));
        assert_eq!(rpc(Some("1.0"), call("GetTask", json!({"id": "x"}))).await, Some(-32001));
        assert_eq!(rpc(Some("1.0"), call("GetExtendedAgentCard", json!({}))).await, Some(-32007));
        assert_eq!(rpc(Some("1.0"), json!({"id": 1})).await, Some(-32600));
        let broken = bot.post_bytes("/a2a/desk", &b"{\"jsonrpc\": "[..]).await;
        assert_eq!((broken.status, broken.body["error"]["code"].as_i64()), (200, Some(-32700)));
        let large = json!({"type": "approval_request", "action": "pay", "args": {"n": 1}})
            .to_string()
            .replace(":1}", ":9007199254740993}");
        let large = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"SendMessage\",\"params\":{{\"message\":{{\"messageId\":\"m\",\"role\":\"ROLE_USER\",\"parts\":[{{\"data\":{large}}}]}}}}}}"
        );
        let refused = bot.clone().with("a2a-version", "1.0").post_bytes("/a2a/desk", large).await;
        assert_eq!(
            refused.body["error"]["code"], -32700,
            "an integer that cannot be kept is refused, never altered"
        );
        let nobody = server.nobody().post("/a2a/desk", call("GetTask", json!({"id": "x"}))).await;
        assert_eq!(nobody.status, 401);
    });
}

#[test]
fn the_cards_name_the_address_they_were_asked_at() {
    on_sqlite(async |server| {
        let nobody = server.nobody();
        let hybrid = nobody.get("/a2a/desk/.well-known/agent-card.json").await;
        assert!(
            hybrid.header("cache-control").is_some_and(|value| value.contains("max-age"))
                && hybrid.header("etag").is_some()
        );
        let hybrid = hybrid.expect(200);
        assert_eq!(hybrid["url"], format!("{}/a2a/desk", server.url()));
        assert_eq!(hybrid["supportedInterfaces"][0]["protocolVersion"], "1.0");
        let pure = nobody.get("/a2a/v1/desk/.well-known/agent-card.json").await.expect(200);
        assert_eq!((pure.get("url"), pure.get("protocolVersion")), (None, None));
        assert_eq!(nobody.get("/.well-known/agent-card.json").await.expect(200), hybrid);
    });
}

#[test]
fn a_message_without_a_request_is_told_how_to_ask_and_makes_no_task() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let message =
            json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "please delete everything"}]});
        let answer = Way::NewRpc.rpc(&bot, "SendMessage", json!({"message": message})).await.body;
        let text = answer["result"]["message"]["parts"][0]["text"].as_str().unwrap_or_default().to_owned();
        assert!(text.contains("approval_request"), "{answer}");
        assert!(pending(&ann).await.is_empty());
    });
}
