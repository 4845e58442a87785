//! Limits on what one principal may take from the others.

use serde_json::json;

use crate::support::{
    Sse, action, ask, assert_problem, at, decide, head, until_so, with_gate, with_settings,
};

#[test]
fn calls_beyond_the_rate_of_a_principal_are_refused_and_others_are_not() {
    with_settings(
        |settings| settings.requests_per_second = 5,
        async |server| {
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            let mut refused = None;
            for _ in 0..50 {
                let answer = bot.get("/v1/requests/x").await;
                if answer.status == 429 {
                    refused = Some(answer);
                    break;
                }
                assert_eq!(answer.status, 404);
            }
            let refused = refused.expect("fifty calls in a row are more than five a second");
            assert_problem(&refused, 429, "rate_limited", None);
            assert_eq!(refused.header("retry-after"), Some("1"));
            ann.get("/v1/requests").await.expect(200);
            let before = head(server).await;
            let mut made = 0;
            for _ in 0..10 {
                made += u64::from(bot.post("/v1/requests", action()).await.status == 201);
            }
            assert_eq!(head(server).await, before + made, "what was refused was not written");
            assert!(made < 10);
            until_so("the next second", async || bot.post("/v1/requests", action()).await.status == 201)
                .await;
        },
    );
}

#[test]
fn pending_requests_beyond_the_cap_of_an_agent_are_refused() {
    with_gate(
        |gate| gate.pending_per_agent = 3,
        async |server| {
            let (bot, ann, other) =
                (server.agent("bot").await, server.reviewer("ann").await, server.agent("other").await);
            let first = ask(&bot).await;
            for _ in 0..2 {
                ask(&bot).await;
            }
            let before = head(server).await;
            let refused = bot.post("/v1/requests", action()).await;
            assert_problem(&refused, 429, "pending_cap", None);
            assert_eq!(head(server).await, before);
            ask(&other).await;
            // Replays are not new requests, and a decision makes room.
            decide(&ann, &first, "deny").await.expect(200);
            bot.key("fits").post("/v1/requests", action()).await.expect(201);
            bot.key("fits").post("/v1/requests", action()).await.expect(200);
            assert_problem(&bot.post("/v1/requests", action()).await, 429, "pending_cap", None);
        },
    );
}

#[test]
fn streams_beyond_the_seats_of_a_principal_are_refused_until_one_is_closed() {
    with_settings(
        |settings| settings.streams_per_principal = 2,
        async |server| {
            let (ann, bob) = (server.reviewer("ann").await, server.reviewer("bob").await);
            let first = Sse::open(&ann, None).await.greeted().await;
            let _second = Sse::open(&ann, None).await.greeted().await;
            let refused = ann.get("/v1/stream").await;
            assert_problem(&refused, 429, "too_many_streams", None);
            assert_eq!(refused.header("retry-after"), Some("1"));
            let _other = Sse::open(&bob, None).await.greeted().await;
            drop(first);
            until_so("the seat of a closed stream", async || ann.lines("/v1/stream").await.status == 200)
                .await;
        },
    );
}

#[test]
fn pages_are_bounded_and_lead_to_the_next() {
    with_settings(
        |_| (),
        async |server| {
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            let mut made = Vec::new();
            for _ in 0..25 {
                made.push(ask(&bot).await["id"].clone());
            }
            for query in ["", "&state=pending", "&agent=bot&tool=delete_files&session=s-1&risk=medium"] {
                let (mut seen, mut cursor) = (Vec::new(), String::new());
                loop {
                    let page = ann.get(&format!("/v1/requests?limit=10{query}{cursor}")).await.expect(200);
                    let items = page["items"].as_array().expect("items");
                    assert!(items.len() <= 10);
                    seen.extend(items.iter().map(|item| item["id"].clone()));
                    match page["next_cursor"].as_str() {
                        Some(next) => cursor = format!("&cursor={next}"),
                        None => break,
                    }
                }
                if !query.contains("pending") {
                    seen.reverse();
                }
                assert_eq!(seen, made, "{query}");
            }
            assert_eq!(ann.get("/v1/requests?agent=nobody").await.expect(200)["items"], json!([]));
            let (mut entries, mut after) = (0, 0);
            loop {
                let page = ann.get(&format!("/v1/ledger?limit=7&after={after}")).await.expect(200);
                entries += page["items"].as_array().expect("items").len() as u64;
                match page["next_after"].as_u64() {
                    Some(next) => after = next,
                    None => break,
                }
            }
            assert_eq!(entries, head(server).await);
            let one = ann.get(&at(&json!({"id": made[0]}), "")).await.expect(200);
            assert_eq!(one["state"], "pending");
        },
    );
}
