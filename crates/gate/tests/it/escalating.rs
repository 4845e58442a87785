//! If there is no decision in time, other people are asked.

use std::time::Duration;

use placet_core::{Refusal, State};
use placet_testkit::{both, soon};
use serde_json::json;

use crate::{
    outcome, parked,
    policy::{SHOP, asked},
    refusal,
};

both! {
    async fn when_nobody_decides_in_time_somebody_else_is_asked_also_across_a_restart(kit) {
        kit.put_policy(SHOP).await;
        let (bot, ann, bea) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer_in("bea", &["bosses"]).await);
        let (pay, twin) = (asked(kit, &bot, "pay", json!({"amount": 5})).await, asked(kit, &bot, "pay", json!({"amount": 6})).await);
        kit.restart().await;
        kit.clock().advance(Duration::from_mins(2));
        // The timer may or may not have run: a reader sees the same.
        assert_eq!(kit.read(pay.id).await.state_at(kit.gate().now()), State::Pending);
        kit.gate().sweep().await.unwrap();
        let escalated = kit.read(pay.id).await;
        assert_eq!((escalated.version, escalated.state), (2, State::Pending));
        assert_eq!(escalated.needs.any[0].all[0].team.as_deref(), Some("bosses"));
        assert_eq!(escalated.expires_at, pay.expires_at.plus(Duration::from_mins(10)));
        let names: Vec<_> = kit.store().news(0, 100).await.unwrap().iter().map(|news| news.name).filter(|name| *name == "request.escalated").collect();
        assert_eq!(names.len(), 2);
        assert_eq!(refusal(kit.approve(&ann, &escalated).await), Refusal::NotEligible);
        assert_eq!(refusal(kit.approve(&bea, &pay).await), Refusal::StaleVersion);
        kit.restart().await;
        assert_eq!(kit.approve(&bea, &escalated).await.unwrap().state, State::Approved);
        kit.clock().advance(Duration::from_mins(10));
        kit.gate().sweep().await.unwrap();
        assert_eq!(kit.read(twin.id).await.state, State::Expired);
        // After a long silence everything takes effect at once, one entry after the other.
        let late = asked(kit, &bot, "pay", json!({"amount": 5})).await;
        kit.clock().advance(Duration::from_hours(5));
        kit.gate().sweep().await.unwrap();
        let late = kit.read(late.id).await;
        assert_eq!((late.state, late.version), (State::Expired, 3));
    }

    async fn an_agents_own_deadline_does_not_shorten_the_time_of_the_first_tier(kit) {
        kit.put_policy(SHOP).await;
        let bot = kit.agent("bot").await;
        let (ann, bea) = (kit.reviewer("ann").await, kit.reviewer_in("bea", &["bosses"]).await);
        let hasty = |tool: &str, amount: u32| {
            let mut body = crate::policy::call(tool, json!({"amount": amount}));
            body["expires_in"] = "1s".into();
            body
        };
        let pay = kit.create(&bot, hasty("pay", 5)).await.unwrap().request;
        assert_eq!(pay.expires_at, pay.created_at.plus(Duration::from_mins(2)));
        let lone = kit.create(&bot, hasty("frobnicate", 5)).await.unwrap().request;
        assert_eq!(lone.expires_at, lone.created_at.plus(Duration::from_secs(1)), "nobody is skipped here");
        kit.clock().advance(Duration::from_secs(30));
        kit.gate().sweep().await.unwrap();
        assert_eq!(kit.read(pay.id).await.version, 1, "the first tier is still asked");
        // After its deadline the first tier can deny, but no longer approve.
        kit.clock().advance(Duration::from_secs(90));
        kit.gate().sweep().await.unwrap();
        let escalated = kit.read(pay.id).await;
        assert_eq!((escalated.version, escalated.earlier.len()), (2, 1));
        assert_eq!(refusal(kit.approve(&ann, &escalated).await), Refusal::NotEligible);
        kit.restart().await;
        assert_eq!(kit.deny(&ann, &escalated).await.unwrap().state, State::Denied);
        assert_eq!(refusal(kit.approve(&bea, &escalated).await), Refusal::AlreadyDecided);
    }

    async fn whoever_waits_is_not_woken_as_if_it_were_over_when_somebody_else_is_asked(kit) {
        kit.put_policy(SHOP).await;
        let (bot, bea) = (kit.agent("bot").await, kit.reviewer_in("bea", &["bosses"]).await);
        let pay = asked(kit, &bot, "pay", json!({"amount": 5})).await;
        let gate = kit.gate().clone();
        let wait = parked(&gate, &bot, pay.id, placet_gate::Until::Decided, Duration::from_mins(1)).await;
        let deciding = async {
            kit.clock().advance(Duration::from_mins(3));
            kit.gate().sweep().await.unwrap();
            let now = kit.read(pay.id).await;
            kit.approve(&bea, &now).await.unwrap();
        };
        let both = async { tokio::join!(outcome(&gate, &bot, wait), deciding) };
        let (waited, ()) = Box::pin(soon("the decision", both)).await;
        let waited = waited.unwrap();
        assert_eq!((waited.met, waited.request.state), (true, State::Approved));
    }
}
