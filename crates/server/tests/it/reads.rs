//! What the dashboard reads over HTTP: what is shown, rows, history, figures, files and verification.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use placet_testkit::{Http, both};
use serde_json::{Value, json};

use crate::support::{
    Socket, Sse, action_with, approved, ask, assert_problem, at, decide, merged, on_sqlite, vote,
};

/// The lines of an answer that is not one JSON document.
fn lines(body: &Value) -> Vec<Value> {
    let text = match body {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    text.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
}

async fn rows(caller: &Http, query: &str) -> Vec<Value> {
    let mut out = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = caller.get(&format!("/v1/requests?view=row{query}{cursor}")).await.expect(200);
        out.extend(page["items"].as_array().expect("items").iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return out,
        }
    }
}

#[test]
fn a_record_and_a_row_name_the_door_and_a_context_cannot() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let asked =
            json!({"type": "placet_request", "request": {"kind": "action", "tool": "t", "arguments": {}}});
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"data": asked}]});
        let call =
            json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
        bot.clone().with("a2a-version", "1.0").post("/a2a/desk", call).await.expect(200);
        let desk = rows(&ann, "").await.pop().expect("it is listed");
        assert_eq!(desk["source"], "a2a");
        let record = ann.get(&at(&desk, "")).await.expect(200);
        assert_eq!(record["source"], "a2a");

        let claims =
            json!({"context": record["context"], "group": record["group"], "session": record["session"]});
        let mut stream = Sse::at(&ann, "/v1/stream?view=row").await.greeted().await;
        let forged = bot.post("/v1/requests", action_with(claims)).await.expect(201);
        let heard = stream.next().await.expect("it is told");
        assert_eq!(
            (&heard.data["request"]["id"], heard.data["request"].get("source")),
            (&forged["id"], None)
        );
        assert_eq!(ann.get(&at(&forged, "")).await.expect(200).get("source"), None);
        let listed = rows(&ann, "").await;
        assert_eq!(listed.iter().filter(|row| row.get("source").is_some()).count(), 1, "{listed:?}");
    });
}

#[test]
fn a_reviewer_is_shown_effect_preview_and_warnings_of_what_will_run() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let body = action_with(
            json!({"tool": "Bash", "arguments": {"command": "rm -rf \u{202e}x"}, "summary": "harmless"}),
        );
        let record = bot.post("/v1/requests", body).await.expect(201);
        assert!(record["display"].is_null(), "not for agents");
        let display = ann.get(&at(&record, "")).await.expect(200)["display"].clone();
        assert_eq!(display["effect"], "Unclear, cannot be taken apart: run rm -rf \\u{202e}x");
        assert_eq!(display["preview"]["type"], "shell");
        assert_eq!(
            (&display["preview"]["opaque"], &display["preview"]["command"]),
            (&json!(true), &json!("rm -rf \\u{202e}x"))
        );
        let codes: Vec<_> =
            display["warnings"].as_array().expect("warnings").iter().map(|one| one["code"].clone()).collect();
        assert_eq!(codes, ["opaque_shell", "hidden_characters"]);
        assert_eq!(display["shown"], json!(["/arguments/command"]));
        assert_eq!(display["warnings"][0]["pointer"], "/arguments/command");
        // After an edit the effect is that of what will run, and the digest still is that of the fields alone.
        let edit = merged(
            vote(&record, "edit"),
            json!({"arguments": {"command": "ls"}, "display": display["digest"]}),
        );
        ann.post(&at(&record, "/decision"), edit).await.expect(200);
        let edited = ann.get(&at(&record, "")).await.expect(200);
        assert_eq!(edited["display"]["effect"], "Run ls");
        assert_eq!(edited["display"]["preview"]["commands"][0]["words"], json!(["ls"]));
    });
}

#[test]
fn every_kind_has_a_preview_of_its_own() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let step =
            json!({"id": "a", "action": "delete_file", "description": "d", "arguments": {"path": "x"}});
        for (body, kind, effect) in [
            (
                json!({"kind": "plan", "session": "s", "title": "t", "steps": [step], "can_modify": true}),
                "plan",
                "Carry out a plan of 1 step: Delete 1 file: x",
            ),
            (
                json!({"kind": "input", "session": "s", "question": "q?", "input": {"type": "date"}}),
                "question",
                "Answer with a date: \"q?\"",
            ),
            (
                json!({"kind": "confirmation", "session": "s", "message": "m", "confirm_label": "y", "cancel_label": "n"}),
                "confirmation",
                "Say yes or no: \"m\"",
            ),
            (
                action_with(
                    json!({"tool": "pay", "arguments": {"amount": 1250.5, "currency": "EUR", "to": "ACME"}}),
                ),
                "money",
                "Pay 1,250.5 EUR to ACME",
            ),
            (action_with(json!({"tool": "x", "arguments": {}})), "json", "Call x without arguments"),
        ] {
            let record = bot.post("/v1/requests", body).await.expect(201);
            let display = ann.get(&at(&record, "")).await.expect(200)["display"].clone();
            assert_eq!(
                (display["preview"]["type"].as_str(), display["effect"].as_str()),
                (Some(kind), Some(effect))
            );
        }
    });
}

both! {
    async fn a_long_queue_is_listed_in_rows_of_a_thousand(server: Server) {
        let ann = server.reviewer("ann").await;
        let mut made = BTreeSet::new();
        for name in ["bot-1", "bot-2", "bot-3"] {
            let bot = server.kit.agent(name).await;
            // Together, so that some of them are one commit. Not all: Postgres ends a transaction that is idle for 3 s, and a large
            // batch of a debug build can take that long on a busy machine.
            for some in 0..8 {
                let asked = join_all((some * 50..some * 50 + 50).map(|n| {
                    let body = json!({"kind": "action", "session": "s", "tool": "Bash", "arguments": {"command": format!("echo {n}")}});
                    server.kit.create(&bot, body)
                }));
                for submitted in asked.await {
                    made.insert(submitted.expect("it can be asked for").request.id.to_string());
                }
            }
        }
        let first = ann.get("/v1/requests?view=row&state=pending&limit=1000").await.expect(200);
        assert_eq!(first["items"].as_array().map(Vec::len), Some(1000));
        let all = rows(&ann, "&state=pending&limit=1000").await;
        let ids: BTreeSet<String> = all.iter().map(|row| row["id"].as_str().expect("an id").to_owned()).collect();
        assert_eq!((all.len(), &ids), (1200, &made));
        assert!(all.iter().all(|row| row["effect"].as_str().is_some_and(|effect| effect.starts_with("Run echo "))));
        assert!(all.windows(2).all(|pair| pair[0]["expires_at"].as_str() <= pair[1]["expires_at"].as_str()));
    }
}

#[test]
fn a_row_has_exactly_the_fields_of_the_contract() {
    on_sqlite(async |server| {
        let (bot, ann, eve) =
            (server.agent("bot").await, server.reviewer("ann").await, server.auditor("eve").await);
        approved(&bot, &ann).await;
        let row = rows(&ann, "").await.remove(0);
        let fields: Vec<&str> = row.as_object().expect("a row").keys().map(String::as_str).collect();
        let mut expected = vec![
            "id",
            "version",
            "kind",
            "state",
            "agent",
            "session",
            "tool",
            "risk",
            "view",
            "effect",
            "group",
            "same",
            "shape",
            "digest",
            "votes",
            "needs_step_up",
            "warnings",
            "created_at",
            "expires_at",
            "decided_at",
            "decided_by",
            "decision",
            "lineage",
        ];
        expected.sort_unstable();
        assert_eq!(fields, expected);
        assert_eq!(
            (&row["decision"], &row["decided_by"], &row["votes"]["need"]),
            (&json!("approve"), &json!(["ann"]), &json!(1))
        );
        assert!(rows(&eve, "").await.remove(0)["same"].is_null());
        for (query, word) in [
            ("view=row&limit=1001", "1000"),
            ("limit=501", "500"),
            ("view=x", "view"),
            ("since=yesterday", "since"),
        ] {
            let answer = ann.get(&format!("/v1/requests?{query}")).await;
            assert_problem(&answer, 422, "invalid_query", None);
            assert!(
                answer.body["detail"].as_str().is_some_and(|detail| detail.contains(word)),
                "{}",
                answer.body
            );
        }
    });
}

#[test]
fn a_stream_of_rows_has_the_same_events_with_a_row_in_each() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let mut whole = Sse::at(&ann, "/v1/stream").await.greeted().await;
        let mut short = Sse::at(&ann, "/v1/stream?view=row").await.greeted().await;
        let mut socket = Socket::open(&ann, "/v1/ws?view=row").await;
        let record = ask(&bot).await;
        decide(&ann, &record, "deny").await.expect(200);
        for kind in ["request.created", "request.decided"] {
            let (one, other) = (whole.next().await.expect("an event"), short.next().await.expect("an event"));
            assert_eq!((one.id.as_str(), one.kind.as_str()), (other.id.as_str(), kind));
            assert!(other.data.get("record").is_none() && one.data.get("request").is_none());
            assert_eq!(other.data["request"]["id"], record["id"]);
            assert_eq!(other.data["request"]["effect"], "Delete 1 file: report.md");
            let third = socket.next().await.expect("a message");
            assert_eq!(third.data["request"], other.data["request"]);
        }
    });
}

#[test]
fn the_history_of_a_request_is_told_to_those_who_may_see_it() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let earlier = approved(&bot, &ann).await;
        let record = ask(&bot).await;
        decide(&ann, &record, "deny").await.expect(200);
        let history = ann.get(&at(&record, "/history")).await.expect(200);
        let told: Vec<_> = history["entries"]
            .as_array()
            .expect("entries")
            .iter()
            .map(|entry| (entry["type"].as_str(), entry["by"].as_str(), entry["role"].as_str()))
            .collect();
        assert_eq!(
            told,
            [
                (Some("request.created"), Some("bot"), Some("agent")),
                (Some("request.decided"), Some("ann"), Some("reviewer"))
            ]
        );
        assert_eq!(history["entries"][1]["text"], "ann denied it.");
        let similar = &history["similar"];
        assert_eq!(similar.as_array().map(Vec::len), Some(1));
        assert_eq!(
            (&similar[0]["id"], &similar[0]["exact"], &similar[0]["decision"]),
            (&earlier["id"], &json!(true), &json!("approve"))
        );
        assert_problem(&ann.get("/v1/requests/nonsense/history").await, 404, "not_found", None);
        assert_problem(&bot.get(&at(&record, "/history")).await, 403, "forbidden", None);
    });
}

#[test]
fn requests_are_exported_whole_and_no_cell_is_a_formula() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.kit.agent("bot").await, server.reviewer("ann").await);
        let asked = join_all((0..450).map(|n| {
            let body =
                json!({"kind": "action", "session": format!("=cmd|{n}"), "tool": "t", "arguments": {"n": n}});
            server.kit.create(&bot, body)
        }));
        for submitted in asked.await {
            submitted.expect("it can be asked for");
        }
        let answer = ann.get("/v1/requests/export?format=jsonl").await;
        assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
        let disposition = answer.header("content-disposition").expect("a name").to_owned();
        assert!(
            disposition.starts_with("attachment; filename=\"placet-requests-")
                && disposition.ends_with(".jsonl\""),
            "{disposition}"
        );
        let records = lines(&answer.body);
        let ids: BTreeSet<&str> = records.iter().filter_map(|record| record["id"].as_str()).collect();
        assert_eq!((records.len(), ids.len()), (450, 450));
        assert!(
            records
                .iter()
                .all(|record| record["arguments"]["n"].is_number() && record.get("display").is_none())
        );
        let answer = ann.get("/v1/requests/export?format=csv&state=pending").await;
        assert_eq!(answer.header("content-type"), Some("text/csv; charset=utf-8"));
        let table = answer.body.as_str().expect("text").to_owned();
        let table: Vec<&str> = table.split_terminator("\r\n").collect();
        assert_eq!(table.len(), 451);
        assert!(table[0].starts_with("id,created_at,state,kind,agent,session,tool,risk,effect,"));
        assert!(
            table[1..].iter().all(|line| line.contains(",'=cmd|") && line.contains(",Call t with n ")),
            "{}",
            table[1]
        );
        assert_eq!(lines(&ann.get("/v1/requests/export?agent=nobody").await.expect(200)).len(), 0);
        assert_problem(&ann.get("/v1/requests/export?format=xml").await, 422, "invalid_query", None);
        assert_problem(&server.actor(&bot).get("/v1/requests/export").await, 403, "forbidden", None);
    });
}

both! {
    async fn the_ledger_is_verified_with_progress_and_its_status_is_kept(server: Server) {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        approved(&bot, &ann).await;
        let before = ann.get("/v1/ledger/status").await.expect(200);
        assert!(before["verified"].is_null() && before["head"].as_str().is_some_and(|head| head.starts_with("sha256:")));
        let answer = ann.post("/v1/ledger/verify", json!({})).await;
        assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
        let lines = lines(&answer.body);
        let last = lines.last().expect("a last line");
        assert_eq!((&last["done"], &last["ok"], &last["problem"]), (&json!(true), &json!(true), &Value::Null));
        assert_eq!((&last["entries"], &last["head"]), (&before["entries"], &before["head"]));
        assert!(lines[..lines.len() - 1].iter().all(|line| line["checked"].is_u64() && line["total"] == before["entries"]));
        let after = ann.get("/v1/ledger/status").await.expect(200);
        assert_eq!((&after["verified"]["ok"], &after["verified"]["entries"], &after["verified"]["at"]), (&json!(true), &before["entries"], &last["at"]));
        let turn = server.kit.gate().verify_turn(&server.kit.auditor("eve").await).expect("an auditor may").expect("nobody else does");
        assert_problem(&ann.post("/v1/ledger/verify", json!({})).await, 409, "busy", None);
        drop(turn);
        ann.post("/v1/ledger/verify", json!({})).await.expect(200);
    }

    async fn figures_have_the_shape_of_the_contract(server: Server) {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        approved(&bot, &ann).await;
        ask(&bot).await;
        let stats = ann.get("/v1/stats").await.expect(200);
        let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&stats), ["attention", "decided_by", "decisions", "depth", "from", "heat", "now", "reviewers", "time_to_decision", "to"]);
        assert_eq!(keys(&stats["now"]), ["by_risk", "oldest_age_seconds", "pending"]);
        assert_eq!(keys(&stats["now"]["by_risk"]), ["critical", "high", "low", "medium"]);
        assert_eq!(keys(&stats["time_to_decision"]), ["by_agent", "by_reviewer", "by_tool", "overall"]);
        assert_eq!(keys(&stats["time_to_decision"]["overall"]), ["count", "p50", "p90"]);
        assert_eq!(stats["decisions"]["by_kind"], json!([{"name": "action", "approve": 1, "edit": 0, "deny": 0, "respond": 0, "expired": 0, "cancelled": 0}]));
        assert_eq!(stats["decided_by"], json!({"policy": 0, "grant": 0, "person": 1, "expiry": 0, "cancelled": 0}));
        assert_eq!((stats["now"]["pending"].as_u64(), stats["depth"].as_array().map(Vec::len)), (Some(1), Some(200)));
        let heat = stats["heat"].as_array().expect("seven days");
        assert!(heat.len() == 7 && heat.iter().all(|day| day.as_array().is_some_and(|hours| hours.len() == 24)));
        assert_eq!(keys(&stats["reviewers"][0]), ["decisions", "denied", "median_seconds", "name"]);
        for days in ["0", "91", "x"] {
            assert_problem(&ann.get(&format!("/v1/stats?days={days}")).await, 422, "invalid_query", None);
        }
    }
}
