//! Freezes: from the commit on nothing is allowed, approved or claimed, on any node, until an admin lifts the freeze.

use placet_core::{Actor, Refusal, Request, State};
use placet_gate::{GateError, NewFreeze};
use placet_testkit::{Kit, both};
use serde_json::json;

use crate::{
    policy::{SHOP, asked},
    refusal,
};

fn everything() -> NewFreeze {
    NewFreeze { agent: None, tool: None, reason: "something is wrong".to_owned() }
}

fn is_frozen<T: std::fmt::Debug>(result: Result<T, GateError>) -> bool {
    matches!(refusal(result), Refusal::Frozen { .. })
}

async fn claim(kit: &Kit, agent: &Actor, request: &Request) -> Result<(), GateError> {
    kit.gate().claim(agent, request.id, Some("the same claimant, every time"), None).await.map(drop)
}

both! {
    async fn while_everything_is_frozen_nothing_passes_and_everything_can_be_read_and_denied(kit) {
        kit.put_policy(SHOP).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let (pending, other) = (asked(kit, &bot, "pay", json!({"amount": 1})).await, asked(kit, &bot, "pay", json!({"amount": 2})).await);
        let (mail, letter) = (asked(kit, &bot, "frobnicate", json!({"to": "x"})).await, asked(kit, &bot, "frobnicate", json!({"to": "y"})).await);
        let (approved, claimed) = (kit.approve(&ann, &mail).await.unwrap(), kit.approve(&ann, &letter).await.unwrap());
        claim(kit, &bot, &claimed).await.unwrap();
        let freeze = kit.gate().freeze(&ann, everything()).await.unwrap();
        assert_eq!((freeze.by.as_str(), freeze.covered().as_str()), ("ann", "everything"));
        kit.restart().await;
        let read = asked(kit, &bot, "read_file", json!({"path": "/a"})).await;
        assert_eq!((read.state, read.verdict.rule.as_str()), (State::Pending, format!("freeze:{}", freeze.id).as_str()));
        assert!(read.verdict.reasons[0].contains("something is wrong"), "{:?}", read.verdict.reasons);
        assert!(is_frozen(kit.approve(&ann, &pending).await));
        assert!(is_frozen(kit.edit(&ann, &pending, json!({"amount": 3})).await));
        assert!(is_frozen(claim(kit, &bot, &approved).await));
        assert!(is_frozen(claim(kit, &bot, &claimed).await), "a lost answer is not asked for now");
        assert_eq!(kit.deny(&ann, &other).await.unwrap().state, State::Denied);
        assert_eq!(kit.read(pending.id).await.version, 1, "it waits as it was");
        assert!(matches!(kit.gate().unfreeze(&ann, freeze.id).await, Err(GateError::Forbidden(_))), "an admin's act");
        kit.gate().unfreeze(kit.admin(), freeze.id).await.unwrap();
        claim(kit, &bot, &approved).await.unwrap();
        assert_eq!(kit.approve(&ann, &pending).await.unwrap().state, State::Approved);
        let names: Vec<_> = kit.store().news(0, 200).await.unwrap().iter().map(|news| news.name).filter(|name| name.starts_with("freeze.")).collect();
        assert_eq!(names, ["freeze.set", "freeze.lifted"]);
    }

    async fn a_freeze_of_one_agent_or_tool_stops_that_alone(kit) {
        kit.put_policy(SHOP).await;
        let (bot, imp, ann) = (kit.agent("bot").await, kit.agent("imp").await, kit.reviewer("ann").await);
        let stop = |agent: Option<&str>, tool: Option<&str>| NewFreeze {
            agent: agent.map(str::to_owned),
            tool: tool.map(str::to_owned),
            reason: "stop".to_owned(),
        };
        let passes = async |agent: &Actor, tool: &str| asked(kit, agent, tool, json!({})).await.state == State::Approved;
        let freeze = kit.gate().freeze(&ann, stop(Some("bot"), None)).await.unwrap();
        assert!(!passes(&bot, "read_file").await && passes(&imp, "read_file").await);
        kit.gate().unfreeze(kit.admin(), freeze.id).await.unwrap();
        kit.gate().freeze(&ann, stop(None, Some("read_file"))).await.unwrap();
        assert!(!passes(&bot, "read_file").await && !passes(&imp, "read_file").await && passes(&bot, "read_mail").await);
        kit.gate().freeze(&ann, stop(Some("imp"), Some("read_mail"))).await.unwrap();
        assert!(!passes(&imp, "read_mail").await && passes(&bot, "read_mail").await);
        assert_eq!(kit.gate().freezes().await.unwrap().len(), 2);
    }

    async fn a_freeze_needs_a_reason_and_no_agent_can_set_one(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        for reason in ["", "  ", "a\u{202e}b", &"x".repeat(2_000)] {
            let new = NewFreeze { reason: reason.to_owned(), ..everything() };
            assert!(matches!(kit.gate().freeze(&ann, new).await, Err(GateError::Admin(_))), "{reason:?}");
        }
        assert!(matches!(kit.gate().freeze(&bot, everything()).await, Err(GateError::Forbidden(_))));
    }
}

#[test]
fn a_freeze_holds_on_every_node_at_once() {
    placet_testkit::block_on(async {
        let one = Kit::start(placet_testkit::Backend::Postgres).await;
        let other = one.another_node().await;
        let (bot, ann) = (one.agent("bot").await, one.reviewer("ann").await);
        let approved = one.approved(&bot, &ann).await;
        let freeze = one.gate().freeze(&ann, everything());
        let (frozen, claimed) = one.overtaking(freeze, claim(&other, &bot, &approved)).await;
        frozen.unwrap();
        assert!(is_frozen(claimed));
        other.abandon().await;
        one.finish().await;
    });
}
