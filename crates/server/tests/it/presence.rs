//! Who waits, over HTTP: every way of waiting is seen while it lasts, and not after the agent hung up.

use std::time::Duration;

use placet_testkit::{Backend, Http, Server, both};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    a2a::{Way, deletion, id},
    support::{Socket, Sse, action, approved, ask, at, decide, first_pending, on_sqlite, until_so},
    waits::parked,
};

/// How long an agent that asked counts as waiting.
const RECENT: Duration = Duration::from_secs(10);

async fn waiting(caller: &Http, record: &Value) -> Value {
    caller.get(&at(record, "")).await.expect(200)["waiting"].clone()
}

async fn until_attached(ann: &Http, record: &Value, attached: bool) {
    let what = format!("`attached` to be {attached}");
    until_so(&what, async || waiting(ann, record).await["attached"] == attached).await;
}

/// An agent and a reviewer, long after the start of the server.
async fn both_of(server: &Server) -> (Http, Http) {
    let found = (server.agent("bot").await, server.reviewer("ann").await);
    server.kit.clock().advance(RECENT);
    found
}

both! {
    async fn a_long_poll_is_seen_while_it_lasts(server: Server) {
        let (bot, ann) = both_of(server).await;
        let record = ask(&bot).await;
        until_attached(&ann, &record, false).await;
        for round in 0..2 {
            let (caller, path) = (bot.clone(), at(&record, "?wait=60s"));
            let mut waits = JoinSet::new();
            waits.spawn(async move { caller.get(&path).await });
            parked(server, 1).await;
            assert_eq!(waiting(&ann, &record).await["attached"], true, "round {round}");
            waits.shutdown().await;
            until_attached(&ann, &record, false).await;
        }
    }

    async fn those_who_may_read_it_see_who_waits_and_only_on_the_one_record(server: Server) {
        let (bot, ann) = both_of(server).await;
        let eve = server.auditor("eve").await;
        let record = ask(&bot).await;
        assert_eq!(record.get("waiting"), None, "it was just made");
        let read = ann.get(&at(&record, "")).await.expect(200);
        assert_eq!(read["waiting"]["told"], json!([]));
        assert_eq!((&read["waiting"]["nobody"], &read["waiting"]["attached"]), (&json!(false), &json!(false)));
        let kept: placet_core::Time = read["waiting"]["kept_until"].as_str().expect("a time").parse().expect("a time");
        let asked: placet_core::Time = read["created_at"].as_str().expect("a time").parse().expect("a time");
        assert!(kept >= asked.plus(Duration::from_mins(15)), "{read}");
        assert_eq!(waiting(&eve, &record).await["attached"], false);
        assert_eq!(waiting(&bot, &record).await["attached"], true, "it is asking right now");
        for path in ["/v1/requests", "/v1/requests?view=row"] {
            assert_eq!(ann.get(path).await.expect(200)["items"][0].get("waiting"), None, "{path}");
        }
        let decided = decide(&ann, &record, "approve").await.expect(200);
        assert_eq!(decided.get("waiting"), None);
        assert_eq!(ann.get(&at(&record, "")).await.expect(200).get("waiting"), None, "nothing is waited for");
    }
}

#[test]
fn a_create_that_waits_is_seen_while_it_lasts() {
    on_sqlite(async |server| {
        let (bot, ann) = both_of(server).await;
        let mut waits = JoinSet::new();
        waits.spawn(async move { bot.post("/v1/requests?wait=60s", action()).await });
        parked(server, 1).await;
        let record = first_pending(&ann).await;
        assert_eq!(waiting(&ann, &record).await["attached"], true);
        waits.shutdown().await;
        until_attached(&ann, &record, false).await;
    });
}

#[test]
fn a_stream_of_the_agent_is_seen_while_it_lasts_and_that_of_a_person_is_not() {
    on_sqlite(async |server| {
        let (bot, ann) = both_of(server).await;
        let record = ask(&bot).await;
        let _hers = Sse::open(&ann, None).await.greeted().await;
        assert_eq!(waiting(&ann, &record).await["attached"], false);
        let stream = Sse::open(&bot, None).await.greeted().await;
        assert_eq!(waiting(&ann, &record).await["attached"], true);
        drop(stream);
        until_attached(&ann, &record, false).await;
        let socket = Socket::open(&bot, "/v1/ws").await;
        until_attached(&ann, &record, true).await;
        drop(socket);
        until_attached(&ann, &record, false).await;
    });
}

#[test]
fn a_hook_that_holds_its_call_is_seen_while_it_lasts() {
    on_sqlite(async |server| {
        let (bot, ann) = both_of(server).await;
        let call = json!({
            "session_id": "s-1", "cwd": "/srv", "hook_event_name": "PreToolUse", "permission_mode": "default",
            "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t-1",
        });
        let mut waits = JoinSet::new();
        waits.spawn(async move { bot.post("/v1/hooks/claude-code?wait=5m", call).await });
        parked(server, 1).await;
        let record = first_pending(&ann).await;
        assert_eq!(waiting(&ann, &record).await["attached"], true);
        waits.shutdown().await;
        until_attached(&ann, &record, false).await;
    });
}

#[test]
fn a_follower_of_a_task_is_seen_on_the_requests_of_that_task_alone() {
    on_sqlite(async |server| {
        let (bot, ann) = both_of(server).await;
        let way = Way::NewHttp;
        let task = way.send(&bot, way.message("m1", &deletion(), json!({}))).await.expect("a task");
        let record = first_pending(&ann).await;
        assert_eq!(record["group"], task["id"], "{record}");
        let other = ask(&bot).await;
        assert_eq!(waiting(&ann, &record).await["attached"], false);
        let lines = bot.lines(&format!("/a2a/desk/tasks/{}:subscribe", id(&task))).await;
        until_attached(&ann, &record, true).await;
        assert_eq!(waiting(&ann, &other).await["attached"], false);
        drop(lines);
        until_attached(&ann, &record, false).await;
        // An agent that asks for its task now and then is seen, too.
        way.get(&bot, id(&task)).await.expect("the task");
        assert_eq!(waiting(&ann, &record).await["attached"], true);
        server.kit.clock().advance(RECENT);
        assert_eq!(waiting(&ann, &record).await["attached"], false);
    });
}

#[test]
fn after_a_restart_it_is_unknown_until_the_agent_is_back() {
    placet_testkit::block_on(async {
        let server = Server::start(Backend::Sqlite).await;
        let (bot, ann) = both_of(&server).await;
        let record = ask(&bot).await;
        let (tokens, restarted) = ((bot.clone(), ann), server.restart().await);
        let here = |old: &Http| restarted.http(old.token.as_deref());
        let (bot, ann) = (here(&tokens.0), here(&tokens.1));
        assert_eq!(waiting(&ann, &record).await["attached"], Value::Null);
        let mut waits = JoinSet::new();
        let path = at(&record, "?wait=60s");
        waits.spawn(async move { bot.get(&path).await });
        parked(&restarted, 1).await;
        assert_eq!(waiting(&ann, &record).await["attached"], true);
        waits.shutdown().await;
        restarted.kit.clock().advance(RECENT);
        until_attached(&ann, &record, false).await;
        restarted.finish().await;
    });
}

#[test]
fn what_became_of_a_yes_is_on_the_record_and_in_the_stream() {
    on_sqlite(async |server| {
        let (bot, ann) = both_of(server).await;
        let mut stream = Sse::open(&ann, None).await.greeted().await;
        let mut seen: Vec<(String, Value)> = Vec::new();
        let mut last = async |id: &Value, wanted: &str| loop {
            let found = seen.iter().find(|(kind, record)| kind == wanted && record["id"] == *id);
            if let Some((_, record)) = found {
                return record.clone();
            }
            let event = stream.next().await.expect("the stream goes on");
            seen.push((event.kind.clone(), event.data["record"].clone()));
        };
        let read = async |record: &Value| ann.get(&at(record, "")).await.expect(200);
        // Not used in time.
        let unused = approved(&bot, &ann).await;
        let running = approved(&bot, &ann).await;
        bot.post(&at(&running, "/claim"), json!({})).await.expect(200);
        let failed = approved(&bot, &ann).await;
        let claimed = bot.post(&at(&failed, "/claim"), json!({})).await.expect(200);
        let report = json!({"permit": claimed["permit"], "status": "failed", "note": "disk full"});
        bot.post(&at(&failed, "/outcome"), report).await.expect(200);
        server.kit.clock().advance(Duration::from_hours(2));
        server.kit.gate().sweep().await.expect("deadlines can pass");
        for (record, kind, state, deadline) in [
            (&unused, "request.lapsed", "lapsed", "claim_by"),
            (&running, "request.unknown", "unknown", "report_by"),
            (&failed, "request.reported", "failed", "report_by"),
        ] {
            for told in [read(record).await, last(&record["id"], kind).await] {
                assert_eq!(told["state"], state, "{told}");
                assert!(told[deadline].is_string(), "{told}");
                assert_eq!(told["decision"]["by"], json!(["ann"]));
                assert_eq!(told["claim"].is_object(), state != "lapsed");
                assert_eq!(
                    told["outcome"]["note"],
                    if state == "failed" { json!("disk full") } else { Value::Null }
                );
            }
        }
        let resolved = json!({"status": "succeeded", "reason": "the file is gone"});
        ann.post(&at(&running, "/resolve"), resolved).await.expect(200);
        for told in [read(&running).await, last(&running["id"], "request.resolved").await] {
            let outcome = &told["outcome"];
            assert_eq!(
                (&told["state"], &outcome["resolved_by"]),
                (&json!("succeeded"), &json!("ann")),
                "{told}"
            );
            assert_eq!(outcome["note"], "the file is gone");
        }
    });
}
