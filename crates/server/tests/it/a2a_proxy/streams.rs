//! Streams and pushed news across pauses, clients and nodes.

use std::time::Duration;

use placet_testkit::{Backend, both};
use serde_json::{Value, json};

use super::{
    agent::{Agent, Manner},
    front::{PATH, Talk, another, decide, front, id, in_time, pending, proxied, ran, state, until},
};
use crate::{
    push::none_open,
    support::{merged, until_so},
};

#[test]
fn one_stream_goes_on_across_the_pause() {
    for talk in [Talk::Old, Talk::New] {
        proxied(
            |_| {},
            async |server, agent| {
                let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
                let mut stream =
                    talk.stream(&bot, "SendStreamingMessage", talk.text("delete a,b", json!({}))).await;
                let mut states = Vec::new();
                while let Some(event) = stream.next().await {
                    let text = event.to_string();
                    assert!(
                        !text.contains("adk_request_confirmation"),
                        "the pause is not the client's: {text}"
                    );
                    states.push(text.contains("Awaiting approval"));
                    if text.contains("Awaiting approval") {
                        break;
                    }
                }
                assert_eq!(states, [false, true]);
                for waiting in pending(&ann).await {
                    decide(&ann, &waiting, json!({"decision": "approve"})).await;
                }
                assert_eq!(stream.states().await, ["completed"], "{talk:?}");
                assert_eq!(agent.ran(), ran(&["a", "b"]));
            },
        );
    }
}

#[test]
fn a_client_that_goes_away_ends_nothing() {
    proxied(
        |_| {},
        async |server, agent| {
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            let mut stream =
                Talk::New.stream(&bot, "SendStreamingMessage", Talk::New.text("delete a", json!({}))).await;
            stream.next().await.unwrap();
            drop(stream);
            until_so("a question for people", async || !pending(&ann).await.is_empty()).await;
            let waiting = pending(&ann).await;
            decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
            until(Talk::New, &bot, "task-1", "completed").await;
            assert_eq!(agent.ran(), ran(&["a"]));
        },
    );
}

#[test]
fn a_stream_that_closes_early_is_asked_about_and_goes_on() {
    proxied(
        |_| {},
        async |server, agent| {
            let bot = server.agent("bot").await;
            agent.behave(Manner::ClosesEarly);
            let mut stream =
                Talk::New.stream(&bot, "SendStreamingMessage", Talk::New.text("hello", json!({}))).await;
            let first = stream.next().await.unwrap();
            agent.behave(Manner::Well);
            agent.finish(first["task"]["id"].as_str().unwrap());
            assert_eq!(stream.states().await.last().map(String::as_str), Some("completed"));
        },
    );
}

#[test]
fn a_stream_without_end_holds_nothing_up() {
    proxied(
        |_| {},
        async |server, agent| {
            let bot = server.agent("bot").await;
            agent.behave(Manner::Forever);
            let mut stream =
                Talk::New.stream(&bot, "SendStreamingMessage", Talk::New.text("hello", json!({}))).await;
            for _ in 0..50 {
                assert!(stream.next().await.is_some());
            }
            drop(stream);
            // The server stops in time, and this is checked when it is finished.
            agent.behave(Manner::Well);
            assert_eq!(state(&Talk::New.send(&bot, "hello", json!({})).await.unwrap()), "completed");
        },
    );
}

#[test]
fn a_stream_on_one_node_goes_on_when_people_decide_on_another() {
    placet_testkit::block_on(async {
        let agent = Agent::start().await;
        let one = front(Backend::Postgres, &agent, |_| {}).await;
        let (bot, ann) = (one.kit.agent("bot").await, one.kit.reviewer("ann").await);
        let two = another(&one, &agent).await;
        let (on_one, on_two) = (one.actor(&bot), two.http(Some(&one.kit.token(&ann))));
        let mut stream =
            Talk::New.stream(&on_one, "SendStreamingMessage", Talk::New.text("delete a,b", json!({}))).await;
        stream.next().await.unwrap();
        until_so("two questions for people", async || pending(&on_two).await.len() == 2).await;
        let waiting = pending(&on_two).await;
        for asked in &waiting {
            decide(&on_two, asked, json!({"decision": "approve"})).await;
        }
        assert_eq!(stream.states().await.last().map(String::as_str), Some("completed"));
        assert_eq!((agent.ran(), agent.answers().len()), (ran(&["a", "b"]), 1));
        two.finish().await;
        one.finish().await;
    });
}

/// A receiver of push notifications: the states it was told of.
#[expect(clippy::disallowed_methods, reason = "a peer that lives as long as its test")]
async fn receiver() -> (String, std::sync::Arc<std::sync::Mutex<Vec<Value>>>) {
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = told.clone();
    let routes = axum::Router::new().route(
        "/told",
        axum::routing::post(move |body: axum::body::Bytes| async move {
            kept.lock().unwrap().push(serde_json::from_slice::<Value>(&body).unwrap());
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/told", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    (url, told)
}

both! {
    async fn news_of_a_task_is_posted_by_us_and_never_tells_of_the_pause_as_it_is(backend: Backend) {
        let agent = Agent::start().await;
        let server = front(backend, &agent, |_| {}).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let (url, told) = receiver().await;
        let talk = Talk::Old;
        let wish = json!({"pushNotificationConfig": {"url": url}});
        let params = merged(talk.text("delete a", json!({})), json!({"configuration": wish}));
        let task = talk.call(&bot, "SendMessage", params).await.unwrap();
        assert_eq!(state(&task), "working");
        let sent = agent.params("message/send");
        assert_eq!(sent["configuration"].get("pushNotificationConfig"), None, "the agent is not asked to tell: {sent}");
        in_time(&server, async || !told.lock().unwrap().is_empty()).await;
        for _ in 0..3 {
            talk.get(&bot, id(&task)).await.unwrap();
        }
        server.kit.clock().advance(Duration::from_secs(5));
        // What is to be told is written down before the task is shown.
        none_open(&server).await;
        assert_eq!(told.lock().unwrap().len(), 1, "what is looked at again is told once");
        decide(&ann, &pending(&ann).await[0], json!({"decision": "approve"})).await;
        until(talk, &bot, id(&task), "completed").await;
        in_time(&server, async || told.lock().unwrap().last().is_some_and(|told| state(told) == "completed")).await;
        let all = told.lock().unwrap().clone();
        assert!(all.iter().all(|told| !told.to_string().contains("adk_request_confirmation")), "{all:?}");
        let listed = talk.call(&bot, "tasks/pushNotificationConfig/list", json!({"id": task["id"]})).await.unwrap();
        assert_eq!(listed.as_array().unwrap().len(), 1);
        server.finish().await;
    }
}

#[test]
fn a_push_address_that_is_not_ours_to_call_is_refused_before_anything_is_sent() {
    proxied(
        |_| {},
        async |server, agent| {
            let bot = server.agent("bot").await;
            for url in [
                "http://169.254.169.254/x",
                "http://10.0.0.1/x",
                "http://evil.example/x",
                "file:///etc/passwd",
            ] {
                let wish = json!({"taskPushNotificationConfig": {"url": url}});
                let params = merged(Talk::New.text("hello", json!({})), json!({"configuration": wish}));
                let refused = Talk::New.call(&bot, "SendMessage", params).await.unwrap_err();
                assert_eq!(refused["code"], -32602, "{url}: {refused}");
            }
            assert_eq!(agent.called("SendMessage"), 0);
        },
    );
}

#[test]
fn a_stream_that_is_refused_in_the_old_version_is_a_stream_with_the_refusal_in_it() {
    proxied(
        |_| {},
        async |server, _| {
            let bot = server.agent("bot").await;
            let talk = Talk::Old;
            let task = talk.send(&bot, "delete a", json!({})).await.unwrap();
            let more = json!({"taskId": task["id"], "contextId": task["contextId"]});
            let mut chatter = talk.stream(&bot, "SendStreamingMessage", talk.text("and?", more)).await;
            let refused = chatter.next().await.unwrap();
            assert!(refused["error"]["message"].as_str().unwrap().contains("approval pending"), "{refused}");
            assert_eq!(chatter.next().await, None);
            let mut unknown = talk.stream(&bot, "SubscribeToTask", json!({"id": "nobody's"})).await;
            assert_eq!(unknown.next().await.unwrap()["error"]["code"], -32001);
            // Who calls is a matter of HTTP, as ever.
            let stranger = bot.clone().with("authorization", "Bearer plk_agent_nobody");
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": {}});
            assert_eq!(stranger.post(PATH, body).await.status, 401);
        },
    );
}

#[test]
fn what_a_stream_says_of_other_tasks_is_left_out() {
    proxied(
        |_| {},
        async |server, agent| {
            let bot = server.agent("bot").await;
            agent.behave(Manner::TellsOfOthers);
            let talk = Talk::New;
            let mut stream = talk.stream(&bot, "SendStreamingMessage", talk.text("hello", json!({}))).await;
            let mut told = Vec::new();
            while let Some(event) = stream.next().await {
                told.push(event.to_string());
            }
            assert!(!told.concat().contains("of somebody else"), "{told:?}");
            assert!(told.last().unwrap().contains("COMPLETED"), "{told:?}");
        },
    );
}
