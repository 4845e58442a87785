//! The kit itself: the life of one request through gate and server, a restart, a second node.

use std::time::Duration;

use placet_core::State;
use placet_gate::Until;
use placet_testkit::{Backend, Kit, both};
use serde_json::json;

both! {
    async fn a_request_lives_through_a_restart(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.ask(&bot).await;
        kit.restart().await;
        kit.approve(&ann, &request).await.unwrap();
        let claimed = kit.gate().claim(&bot, request.id, None, None).await.unwrap();
        assert_eq!(claimed.request.state, State::Claimed);
    }

    async fn the_clock_rules_on_both_databases(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.ask(&bot).await;
        kit.clock().advance(Duration::from_secs(301));
        kit.approve(&ann, &request).await.unwrap_err();
        assert_eq!(kit.read(request.id).await.state, State::Expired);
    }

    async fn the_server_answers(server: Server) {
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let body = json!({"kind": "action", "session": "s", "tool": "t", "arguments": {}});
        let made = bot.post("/v1/requests", body).await.expect(201);
        let path = format!("/v1/requests/{}", made["id"].as_str().unwrap());
        let decision = json!({"decision": "approve", "digest": made["digest"], "version": made["version"]});
        let decided = ann.post(&format!("{path}/decision"), decision).await.expect(200);
        assert_eq!(decided["state"], "approved");
        assert_eq!(server.nobody().get(&path).await.status, 401);
    }
}

#[test]
fn a_second_node_sees_what_the_first_one_did() {
    placet_testkit::block_on(async {
        let kit = Kit::start(Backend::Postgres).await;
        let node = kit.another_node().await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.ask(&bot).await;
        node.approve(&ann, &request).await.unwrap();
        let waited = kit.gate().wait(&bot, request.id, Until::Decided, Duration::from_secs(5)).await.unwrap();
        assert!(waited.met);
        node.finish().await;
        kit.finish().await;
    });
}

#[test]
#[should_panic(expected = "must end with")]
fn a_kit_that_was_not_finished_fails_its_test() {
    placet_testkit::block_on(async { drop(Kit::start(Backend::Sqlite).await) });
}
