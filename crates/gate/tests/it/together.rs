//! Requests that wait together: listed for reviewers with their own digests, and decided one by one.

use std::{sync::Arc, time::Duration};

use placet_core::{Actor, DecisionWord, HOOK_PROGRAM, Refusal, Request, RequestId, State};
use placet_gate::Decision;
use placet_testkit::{Kit, both};
use serde_json::json;

async fn wants(
    kit: &Kit,
    source: &str,
    agent: &Actor,
    file: &str,
    place: (&str, Option<&str>),
) -> Arc<Request> {
    let (session, group) = place;
    let body = json!({
        "kind": "action", "session": session, "group": group, "tool": "delete_files", "arguments": {"files": [file]},
    });
    kit.gate().submit_from(source, agent, Kit::body(body), None).await.unwrap().request
}

async fn call(kit: &Kit, agent: &Actor, file: &str) -> Arc<Request> {
    wants(kit, HOOK_PROGRAM, agent, file, ("s", Some("turn"))).await
}

/// The requests that wait together with one, for a reviewer, and how many more there are.
async fn listed(kit: &Kit, actor: &Actor, id: RequestId) -> Option<(Vec<RequestId>, u32)> {
    let together = kit.gate().together(actor, &kit.read(id).await).await.unwrap()?;
    Some((together.items.iter().map(|row| row.id).collect(), together.more))
}

both! {
    async fn what_waits_in_one_group_is_listed_in_order_each_with_its_own_effect_and_digest(kit) {
        let (bot, ann, eve) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.auditor("eve").await);
        let first = call(kit, &bot, "a").await;
        assert_eq!(listed(kit, &ann, first.id).await, None, "one alone is together with nothing");
        kit.clock().advance(Duration::from_millis(5));
        let second = call(kit, &bot, "b").await;
        for id in [first.id, second.id] {
            assert_eq!(listed(kit, &ann, id).await, Some((vec![first.id, second.id], 0)));
        }
        let together = kit.gate().together(&ann, &second).await.unwrap().unwrap();
        let told: Vec<_> = together.items.iter().map(|row| (row.effect.as_str(), row.digest)).collect();
        assert_eq!(told, [("Delete 1 file: a", first.digest), ("Delete 1 file: b", second.digest)]);
        for other in [&bot, &eve] {
            assert_eq!(listed(kit, other, first.id).await, None, "it is for those who decide");
        }
    }

    async fn what_another_agent_session_or_door_puts_under_the_same_name_is_not_listed(kit) {
        let (bot, imp, ann) = (kit.agent("bot").await, kit.agent("imp").await, kit.reviewer("ann").await);
        let first = call(kit, &bot, "a").await;
        let others = [
            wants(kit, HOOK_PROGRAM, &imp, "b", ("s", Some("turn"))).await,
            wants(kit, HOOK_PROGRAM, &bot, "c", ("elsewhere", Some("turn"))).await,
            wants(kit, "rest", &bot, "d", ("s", Some("turn"))).await,
            wants(kit, "hook", &bot, "e", ("s", Some("turn"))).await,
            wants(kit, HOOK_PROGRAM, &bot, "f", ("s", Some("another"))).await,
            wants(kit, HOOK_PROGRAM, &bot, "g", ("s", None)).await,
            wants(kit, HOOK_PROGRAM, &bot, "h", ("s", None)).await,
        ];
        for request in others.iter().chain([&first]) {
            assert_eq!(listed(kit, &ann, request.id).await, None, "{}", request.source);
        }
        // The door of REST has no name in a filter, so requests of other doors must not appear.
        kit.clock().advance(Duration::from_millis(1));
        let rest = wants(kit, "rest", &bot, "i", ("s", Some("turn"))).await;
        assert_eq!(listed(kit, &ann, rest.id).await, Some((vec![others[2].id, rest.id], 0)));
    }

    async fn what_is_decided_withdrawn_or_past_its_deadline_is_listed_no_more(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let mut calls = Vec::new();
        for file in ["a", "b", "c", "d"] {
            calls.push(call(kit, &bot, file).await);
            kit.clock().advance(Duration::from_secs(1));
        }
        kit.approve(&ann, &calls[0]).await.unwrap();
        kit.gate().cancel(&bot, calls[1].id, None, None).await.unwrap();
        assert_eq!(listed(kit, &ann, calls[2].id).await, Some((vec![calls[2].id, calls[3].id], 0)));
        assert_eq!(listed(kit, &ann, calls[0].id).await, None, "it does not wait");
        kit.clock().advance(calls[2].expires_at.since(kit.gate().now()));
        assert_eq!(listed(kit, &ann, calls[3].id).await, None, "the other one ran out of time");
    }

    async fn at_most_twenty_are_listed_the_request_itself_among_them_and_the_rest_is_counted(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let mut calls = Vec::new();
        for n in 0..23 {
            calls.push(call(kit, &bot, &n.to_string()).await);
            kit.clock().advance(Duration::from_millis(1));
        }
        let ids: Vec<_> = calls.iter().map(|call| call.id).collect();
        assert_eq!(listed(kit, &ann, ids[0]).await, Some((ids[..20].to_vec(), 3)));
        let last = listed(kit, &ann, ids[22]).await;
        assert_eq!(last, Some(([&ids[..19], &ids[22..]].concat(), 3)));
    }

    async fn one_action_decides_what_was_listed_item_by_item_and_nothing_that_came_later(kit) {
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        let first = call(kit, &bot, "a").await;
        kit.clock().advance(Duration::from_millis(1));
        call(kit, &bot, "b").await;
        let card = kit.gate().together(&ann, &first).await.unwrap().unwrap();
        let late = call(kit, &bot, "c").await;
        kit.deny(&bob, &first).await.unwrap();
        let mut decisions = Vec::new();
        for row in &card.items {
            let decision = Kit::decision(&kit.read(row.id).await, DecisionWord::Approve);
            decisions.push(Decision { digest: row.digest, ..decision });
        }
        let results = kit.gate().decide_many(&ann, decisions, false).await.unwrap();
        assert_eq!(results[0].answer, Err(Refusal::AlreadyDecided), "somebody was quicker");
        assert_eq!(results[1].answer, Ok(()));
        assert_eq!(kit.read(late.id).await.state, State::Pending, "nobody saw it");
        // Each has its own permit, once.
        let second = card.items[1].id;
        kit.gate().claim(&bot, second, None, None).await.unwrap();
        assert!(kit.gate().claim(&bot, second, None, None).await.is_err());
        assert!(kit.gate().claim(&bot, first.id, None, None).await.is_err());
    }
}
