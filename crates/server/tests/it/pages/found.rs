//! Every value of a request can be found on its page, whatever an agent wrote.

use placet_testkit::drawn::{Drawn, replacements, requests};
use serde_json::json;

use super::{Browser, hidden, with_forms};
use crate::support::rounds;

const PARTS: [&str; 12] = [
    "tool",
    "arguments",
    "context",
    "session",
    "title",
    "steps",
    "question",
    "input/options",
    "message",
    "details",
    "confirm_label",
    "cancel_label",
];

#[test]
fn every_value_is_found_on_the_page() {
    with_forms(async |server| {
        let ann = Browser::of(server, "ann", &["reviewer"]).await;
        let agent = server.agent("bot").await;
        let mut kinds = std::collections::BTreeSet::new();
        let all = rounds(40, 300);
        let mut drawn = 0;
        for body in requests(all, 23) {
            let asked = agent.post("/v1/requests", body.clone()).await;
            if asked.status != 201 {
                continue;
            }
            let page = ann.look(asked.body["url"].as_str().expect("an address")).await;
            let missing = Drawn::page(&page).missing(&body, &PARTS);
            assert!(missing.is_empty(), "{missing:#?} of {body:#} in\n{page}");
            kinds.insert(body["kind"].to_string());
            drawn += 1;
        }
        assert!(drawn * 10 >= all * 7 && kinds.len() == 4, "{drawn} of {all}, {kinds:?}");
    });
}

#[test]
fn every_value_of_a_replacement_is_found_on_the_page_and_the_form_carries_its_card() {
    with_forms(async |server| {
        let policy = "version = 1\n[needs.two]\npeople = 2\n[[rule]]\nname = \"all\"\neffect = \"hold\"\nneeds = \"two\"\n";
        server.kit.put_policy(policy).await;
        let ann = Browser::of(server, "ann", &["reviewer"]).await;
        let (agent, bob) = (server.agent("bot").await, server.reviewer("bob").await);
        for arguments in replacements(rounds(8, 80), 9) {
            let body =
                json!({"kind": "action", "session": "s", "tool": "x.do", "arguments": {"old": "value"}});
            let record = agent.post("/v1/requests", body).await.expect(201);
            let edit = json!({"decision": "edit", "digest": record["digest"], "version": record["version"],
                "arguments": arguments});
            let id = record["id"].as_str().expect("an id");
            bob.post(&format!("/v1/requests/{id}/decision"), edit).await.expect(200);
            let page = ann.look(&format!("/r/{id}")).await;
            let wanted = json!({"proposal": {"arguments": arguments}, "tool": "x.do"});
            let missing = Drawn::page(&page).missing(&wanted, &["proposal/arguments", "tool"]);
            assert!(missing.is_empty(), "{missing:#?} of {wanted:#} in\n{page}");
            let (card, history) = page.split_once("What was asked before it was replaced").expect("history");
            assert!(!card.contains("/arguments/old") && history.contains("/arguments/old"), "{page}");
            let read = bob.get(&format!("/v1/requests/{id}")).await.expect(200);
            assert_eq!(read["view"]["digest"].as_str(), Some(hidden(&page, "view").as_str()));
        }
    });
}

#[test]
fn a_form_of_another_card_decides_nothing() {
    with_forms(async |server| {
        let ann = Browser::of(server, "ann", &["reviewer"]).await;
        let (path, record) = super::asked(server, crate::support::action()).await;
        let page = ann.look(&path).await;
        let other = page.replace(&hidden(&page, "view"), &format!("sha256:{}", "0".repeat(64)));
        let answer = ann.decide(&other, &path, &[("decision", "approve")]).await;
        assert_eq!(answer.status, 409, "{}", answer.body);
        assert!(
            answer.body.as_str().is_some_and(|page| page.contains("Nothing was decided")),
            "{}",
            answer.body
        );
        assert_eq!(super::state_of(server, &record).await["state"], "pending");
        assert_eq!(ann.decide(&page, &path, &[("decision", "approve")]).await.status, 200);
    });
}
