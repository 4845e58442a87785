//! The card over HTTP: whole for a reviewer who reads one record, one line in lists and streams, and checked with a yes.

use placet_testkit::both;
use serde_json::{Value, json};

use crate::{
    browser::signed_in,
    support::{
        Sse, action_with, ask, assert_problem, at, decide, decide_on_card, on_sqlite, vote, vote_on_card,
    },
};

/// Every pointer on a card.
fn pointers(card: &Value) -> Vec<&str> {
    let sections = card["sections"].as_array().expect("a list").iter();
    let shown = sections.flat_map(|section| section["pointers"].as_array().expect("a list"));
    let rest = card["rest"].as_array().expect("a list").iter().map(|field| &field["pointer"]);
    shown.chain(rest).map(|pointer| pointer.as_str().expect("text")).collect()
}

both! {
    async fn a_yes_from_a_browser_carries_the_card_that_it_was_given(server: Server) {
        let bot = server.agent("bot").await;
        let ann = signed_in(server, "ann", &["reviewer"]).await.page();
        let (record, other) = (ask(&bot).await, bot.post("/v1/requests", action_with(json!({"session": "t"}))).await.expect(201));
        let path = at(&record, "/decision");
        let refused = decide(&ann, &record, "approve").await;
        assert_problem(&refused, 422, "invalid", Some("/view"));
        let mut wrong = vote(&record, "approve");
        wrong["view"] = ann.get(&at(&other, "")).await.expect(200)["view"]["digest"].clone();
        let stale = ann.post(&path, wrong.clone()).await;
        assert_problem(&stale, 409, "stale_display", None);
        assert_eq!((&stale.body["record"]["id"], &stale.body["record"]["state"]), (&record["id"], &json!("pending")));
        // Neither does the field of earlier versions let it pass.
        let seen = ann.get(&at(&record, "")).await.expect(200);
        wrong["display"] = seen["display"]["digest"].clone();
        assert_problem(&ann.post(&path, wrong).await, 409, "stale_display", None);
        let mut old = vote(&record, "approve");
        old["display"] = other["digest"].clone();
        assert_problem(&ann.post(&path, old.clone()).await, 409, "stale_display", None);
        old["display"] = seen["display"]["digest"].clone();
        // Saying what it would do needs no card.
        ann.post(&format!("{path}?dry_run=true"), vote(&record, "approve")).await.expect(200);
        assert_eq!(ann.get(&at(&record, "")).await.expect(200)["version"], 1);
        assert_eq!(ann.post(&path, old).await.expect(200)["state"], "approved");
        assert_eq!(decide_on_card(&ann, &other, "approve").await.expect(200)["state"], "approved");
        let last = ask(&bot).await;
        assert_eq!(decide(&ann, &last, "deny").await.expect(200)["state"], "denied", "a no needs none");
    }

    async fn each_item_of_a_batch_carries_its_own_card(server: Server) {
        let bot = server.agent("bot").await;
        let ann = signed_in(server, "ann", &["reviewer"]).await.page();
        let mut batch = Vec::new();
        for session in ["a", "b", "c"] {
            let record = bot.post("/v1/requests", action_with(json!({ "session": session }))).await.expect(201);
            let seen = ann.get(&at(&record, "")).await.expect(200);
            let mut item = vote_on_card(&seen, "approve");
            item["id"] = record["id"].clone();
            batch.push(item);
        }
        batch[1]["view"] = batch[0]["view"].clone();
        batch[2].as_object_mut().expect("an object").remove("view");
        let answer = ann.post("/v1/decisions?atomic=true", json!(batch)).await;
        let codes = |answer: &Value| answer["results"].as_array().expect("a list").iter().map(|one| one["code"].clone()).collect::<Vec<_>>();
        assert_eq!(codes(&answer.body), ["not_applied", "stale_display", "invalid"]);
        let answer = ann.post("/v1/decisions", json!(batch)).await.expect(200);
        assert_eq!(codes(&answer), [Value::Null, json!("stale_display"), json!("invalid")]);
        assert_eq!(answer["results"][0]["record"]["state"], "approved");
    }
}

#[test]
fn a_reviewer_is_given_the_whole_card_and_an_agent_none() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let record = ask(&bot).await;
        let seen = ann.get(&at(&record, "")).await.expect(200);
        let card = &seen["view"];
        assert_eq!((&card["sentence"], &card["hidden"]), (&json!("Delete 1 file: report.md"), &json!(0)));
        let mut all = pointers(card);
        all.sort_unstable();
        assert_eq!(all, ["/arguments/files/0", "/context", "/session", "/tool"]);
        assert_eq!(seen["display"]["effect"], card["sentence"], "the old fields stay for one version");
        assert!(card["digest"].as_str().expect("text").starts_with("sha256:"));
        assert_ne!(card["digest"], seen["display"]["digest"]);
        for answer in [record.clone(), bot.get(&at(&record, "")).await.expect(200)] {
            assert_eq!((answer.get("view"), answer.get("display")), (None, None), "{answer}");
        }
        let line = json!({"sentence": card["sentence"], "hidden": 4});
        let page = ann.get("/v1/requests?view=row").await.expect(200);
        assert_eq!((&page["items"][0]["view"], &page["items"][0]["effect"]), (&line, &card["sentence"]));
        assert_eq!(ann.get("/v1/requests").await.expect(200)["items"][0]["view"], line);
        // A key may leave it out; what it sends is checked.
        let mut wrong = vote(&record, "approve");
        wrong["view"] = record["digest"].clone();
        assert_problem(&ann.post(&at(&record, "/decision"), wrong).await, 409, "stale_display", None);
        let edit = json!({"decision": "edit", "digest": record["digest"], "version": 1, "arguments": {"files": ["b"]}, "view": card["digest"]});
        let edited = ann.post(&at(&record, "/decision"), edit).await.expect(200);
        assert_eq!(edited["state"], "approved");
        let after = ann.get(&at(&record, "")).await.expect(200);
        assert!(pointers(&after["view"]).contains(&"/decision/arguments/files/0"), "{after}");
        assert!(!pointers(&after["view"]).contains(&"/arguments/files/0"), "{after}");
    });
}

#[test]
fn events_carry_one_line_of_the_card() {
    on_sqlite(async |server| {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        ask(&bot).await;
        let mut events = Sse::open(&ann, Some("0")).await;
        let told = loop {
            let block = events.block().await.expect("something");
            if let Some((_, data)) =
                block.iter().find(|(name, value)| name == "data" && value.contains("record"))
            {
                break serde_json::from_str::<Value>(data).expect("JSON");
            }
        };
        assert_eq!(told["record"]["view"], json!({"sentence": "Delete 1 file: report.md", "hidden": 4}));
    });
}
