//! How often people are asked: figures, who sees them, one's own pace, what happened in a session, suggested rules.

use std::{sync::Arc, time::Duration};

use placet_core::{Actor, DecisionWord, Request, State};
use placet_gate::{Decision, Filter, GateError, Part, Remember};
use placet_testkit::{Kit, both, until};
use serde_json::{Value, json};

use crate::policy::{SHOP, asked, call};

async fn approved(kit: &Kit, bot: &Actor, who: &Actor, tool: &str, arguments: Value) -> Arc<Request> {
    let request = asked(kit, bot, tool, arguments).await;
    kit.approve(who, &request).await.unwrap()
}

async fn in_session(kit: &Kit, bot: &Actor, session: &str, tool: &str, arguments: Value) -> Arc<Request> {
    let mut body = call(tool, arguments);
    body["session"] = session.into();
    kit.create(bot, body).await.unwrap().request
}

async fn remembered(kit: &Kit, who: &Actor, request: &Request) {
    let remember: Remember = serde_json::from_value(json!({"scope": "exact"})).unwrap();
    let decision = Decision { remember: Some(remember), ..Kit::decision(request, DecisionWord::Approve) };
    kit.gate().decide(who, decision).await.unwrap();
}

both! {
    async fn attention_counts_every_request_in_one_part_and_hours_of_activity(kit) {
        kit.put_policy(SHOP).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        asked(kit, &bot, "read_x", json!({})).await;
        kit.clock().advance(Duration::from_mins(5));
        asked(kit, &bot, "wipe", json!({})).await;
        kit.clock().advance(Duration::from_mins(5));
        let held = asked(kit, &bot, "frobnicate", json!({"n": 1})).await;
        remembered(kit, &ann, &held).await;
        let through = asked(kit, &bot, "frobnicate", json!({"n": 1})).await;
        assert!(through.grant.is_some());
        // Ten minutes of this gap count.
        kit.clock().advance(Duration::from_hours(5));
        asked(kit, &bot, "frobnicate", json!({"n": 2})).await;
        let attention = kit.gate().figures(&ann, 7).await.unwrap().attention;
        let parts = [attention.passed, attention.confined, attention.remembered, attention.refused, attention.asked];
        assert_eq!((attention.calls, parts), (5, [1, 0, 1, 1, 2]));
        assert_eq!((attention.active_seconds, attention.prompts_per_active_hour()), (1_200.0, Some(6.0)));
        assert_eq!(attention.asked_percent(), Some(40.0));
        // What was made before the period does not count.
        kit.clock().advance(Duration::from_hours(24 * 8));
        assert_eq!(kit.gate().figures(&ann, 7).await.unwrap().attention, placet_gate::Attention::default());
    }

    async fn what_one_person_decided_is_picked_out_for_that_person_and_auditors_alone(kit) {
        let (bot, ann, bob, eve) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await, kit.auditor("eve").await);
        for n in 0..3 {
            approved(kit, &bot, &ann, "t", json!({"n": n})).await;
        }
        let gate = kit.gate();
        let by = |name: &str| Filter { by: Some(name.to_owned()), ..Filter::default() };
        assert_eq!(gate.list(&ann, &by("ann"), 9).await.unwrap().items.len(), 3);
        assert_eq!(gate.list(&eve, &by("ann"), 9).await.unwrap().items.len(), 3);
        assert!(matches!(gate.list(&bob, &by("ann"), 9).await, Err(GateError::AboutAnother)));
        let names = async |who: &Actor| {
            let figures = kit.gate().figures(who, 7).await.unwrap();
            assert_eq!(figures.speeds.overall.count, 3, "all decisions together are nobody's own");
            let speeds: Vec<_> = figures.speeds.by_reviewer.iter().map(|one| one.name.clone()).collect();
            let reviewers: Vec<_> = figures.reviewers.iter().map(|one| one.name.clone()).collect();
            assert_eq!(speeds, reviewers);
            speeds
        };
        assert_eq!(names(&ann).await, ["ann"]);
        assert!(names(&bob).await.is_empty() && names(&eve).await.is_empty());
    }

    async fn twenty_yeses_a_second_apart_warn_their_author_and_nobody_else(kit) {
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        let mut requests = Vec::new();
        for n in 0..44 {
            requests.push(asked(kit, &bot, "t", json!({"n": n})).await);
        }
        let heard = async |who: &Actor, count: u64| {
            until("the hub heard of every vote", async || {
                let pace = kit.gate().pace(who).unwrap();
                pace.approvals + pace.denials >= count
            })
            .await;
            kit.gate().pace(who).unwrap()
        };
        for request in &requests[..21] {
            kit.clock().advance(Duration::from_secs(1));
            kit.approve(&ann, request).await.unwrap();
        }
        let pace = heard(&ann, 21).await;
        assert_eq!((pace.approvals, pace.quick, pace.denials, pace.warned), (21, 20, 0, true));
        // A person who had them open for a while has read them.
        for request in &requests[21..43] {
            kit.gate().opened(&bob, request);
        }
        kit.clock().advance(Duration::from_secs(3));
        for request in &requests[21..43] {
            kit.approve(&bob, request).await.unwrap();
        }
        let pace = heard(&bob, 22).await;
        assert_eq!((pace.approvals, pace.quick, pace.warned), (22, 0, false));
        // One deny, and there is no warning. The pace never refuses anything.
        kit.deny(&ann, &requests[43]).await.unwrap();
        assert!(!heard(&ann, 22).await.warned);
        assert!(matches!(kit.gate().pace(&bot), Err(GateError::Forbidden(_))));
    }

    async fn a_summary_tells_of_one_session_and_agents_read_their_own(kit) {
        kit.put_policy(SHOP).await;
        let (bot, imp, ann) = (kit.agent("bot").await, kit.agent("imp").await, kit.reviewer("ann").await);
        let held = in_session(kit, &bot, "s1", "frobnicate", json!({"n": 1})).await;
        remembered(kit, &ann, &held).await;
        for _ in 0..3 {
            in_session(kit, &bot, "s1", "frobnicate", json!({"n": 1})).await;
            in_session(kit, &bot, "s1", "read_x", json!({})).await;
        }
        let no = in_session(kit, &bot, "s1", "pay", json!({"amount": 5})).await;
        kit.deny(&ann, &no).await.unwrap();
        in_session(kit, &bot, "s1", "wipe", json!({})).await;
        in_session(kit, &imp, "s1", "read_x", json!({})).await;
        let summary = kit.gate().session_summary(&ann, Some("bot".to_owned()), Some("s1".to_owned())).await.unwrap();
        let attention = summary.attention;
        assert_eq!((attention.calls, attention.asked, attention.remembered, attention.passed, attention.refused), (9, 2, 3, 3, 1));
        let lines: Vec<_> = summary.lines.iter().map(|line| (line.part, line.tool.as_str(), line.count, line.approved, line.denied)).collect();
        assert_eq!(lines, [
            (Part::Asked, "frobnicate", 1, 1, 0),
            (Part::Asked, "pay", 1, 0, 1),
            (Part::Remembered, "frobnicate", 3, 0, 0),
            (Part::Refused, "wipe", 1, 0, 0),
            (Part::Passed, "read_x", 3, 0, 0),
        ]);
        assert!(summary.whole && summary.lines[0].effect.as_deref().is_some_and(|effect| effect.contains("frobnicate")));
        let grant = &summary.grants[0];
        assert_eq!((summary.grants.len(), grant.count, grant.stands, grant.by.as_deref()), (1, 3, true, Some("ann")));
        kit.gate().revoke_grant(&ann, grant.id).await.unwrap();
        let own = kit.gate().session_summary(&bot, None, Some("s1".to_owned())).await.unwrap();
        assert!(!own.grants[0].stands);
        // The one with the newest request. An agent never sees another's.
        assert_eq!(kit.gate().session_summary(&ann, None, None).await.unwrap().agent, "imp");
        assert_eq!(kit.gate().session_summary(&bot, Some("imp".to_owned()), Some("s1".to_owned())).await.unwrap().agent, "bot");
        assert!(kit.gate().session_summary(&ann, None, Some("s2".to_owned())).await.is_err());
    }

    async fn what_was_approved_again_and_again_becomes_a_rule_that_saves_its_prompts(kit) {
        kit.put_policy(SHOP).await;
        let (bot, imp, ann) = (kit.agent("bot").await, kit.agent("imp").await, kit.reviewer("ann").await);
        for _ in 0..3 {
            approved(kit, &bot, &ann, "frobnicate", json!({"n": 1})).await;
            // Twice is not often enough, and another agent counts separately.
            approved(kit, &bot, &ann, "Bash", json!({"command": "npm run \"$X\""})).await;
            approved(kit, &bot, &ann, "Bash", json!({"command": "npm run lint && git status"})).await;
        }
        for _ in 0..2 {
            approved(kit, &imp, &ann, "frobnicate", json!({"n": 1})).await;
        }
        let suggested = kit.gate().suggest(&ann, 3, None).await.unwrap();
        let items: Vec<_> = suggested.items.iter().map(|item| (item.tool.as_str(), item.agent.as_str(), item.approvals, item.saved)).collect();
        assert_eq!(items.len(), 2, "{suggested:?}");
        assert!(items.contains(&("frobnicate", "bot", 3, 3)) && items.contains(&("Bash", "bot", 3, 3)));
        assert_eq!((suggested.left_out.not_literal, suggested.report.prompts_saved, suggested.report.denied_now_allowed_count), (1, 6, 0));
        // Nothing is in force by itself. With the rules put, exactly these calls pass.
        assert_eq!(asked(kit, &bot, "frobnicate", json!({"n": 1})).await.state, State::Pending);
        let rules: Vec<_> = suggested.items.iter().map(|item| item.text.as_str()).collect();
        kit.put_policy(&format!("{SHOP}\n{}", rules.join("\n"))).await;
        let states = [
            asked(kit, &bot, "frobnicate", json!({"n": 1})).await.state,
            asked(kit, &bot, "Bash", json!({"command": "npm run lint && git status"})).await.state,
            asked(kit, &bot, "Bash", json!({"command": "npm run lint"})).await.state,
            asked(kit, &bot, "frobnicate", json!({"n": 1, "m": 2})).await.state,
            asked(kit, &imp, "frobnicate", json!({"n": 1})).await.state,
        ];
        assert_eq!(states, [State::Approved, State::Approved, State::Pending, State::Pending, State::Pending]);
        // What passes now is not suggested again.
        assert!(kit.gate().suggest(kit.admin(), 3, None).await.unwrap().items.is_empty());
        assert!(matches!(kit.gate().suggest(&bot, 3, None).await, Err(GateError::Forbidden(_))));
    }

    async fn nothing_is_suggested_that_was_ever_refused_or_risky_or_is_held_by_a_rule(kit) {
        kit.put_policy(SHOP).await;
        let (bot, imp, ann) = (kit.agent("bot").await, kit.agent("imp").await, kit.reviewer("ann").await);
        for _ in 0..4 {
            for n in 0..5 {
                approved(kit, &bot, &ann, "frobnicate", json!({"n": n})).await;
            }
            approved(kit, &bot, &ann, "pay", json!({"amount": 5})).await;
        }
        assert_eq!(kit.gate().suggest(&ann, 3, None).await.unwrap().items.len(), 5, "all but what a rule holds");
        // Denied once, even for another agent.
        let no = asked(kit, &imp, "frobnicate", json!({"n": 0})).await;
        kit.deny(&ann, &no).await.unwrap();
        // Of high risk once.
        let mut risky = call("frobnicate", json!({"n": 1}));
        risky["risk"] = "high".into();
        let risky = kit.create(&bot, risky).await.unwrap().request;
        kit.approve(&ann, &risky).await.unwrap();
        // Taken back once.
        let back = approved(kit, &bot, &ann, "frobnicate", json!({"n": 2})).await;
        kit.gate().revoke(&ann, back.id, None, None).await.unwrap();
        let suggested = kit.gate().suggest(&ann, 3, None).await.unwrap();
        let left = suggested.left_out;
        assert_eq!((suggested.items.len(), left.refused, left.risky, left.held), (2, 2, 1, 1), "{suggested:?}");
        assert!(suggested.items.iter().all(|item| item.saved == 4));
        assert!(kit.gate().suggest(&ann, 3, Some("imp")).await.unwrap().items.is_empty());
    }
}

both! {
    async fn an_operator_can_show_figures_about_people_to_all(backend: Backend) {
        let kit = Kit::with(backend, |settings| settings.people_figures = true).await;
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        approved(&kit, &bot, &ann, "t", json!({})).await;
        let figures = kit.gate().figures(&bob, 7).await.unwrap();
        assert_eq!(figures.reviewers.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["ann"]);
        let by_ann = Filter { by: Some("ann".to_owned()), ..Filter::default() };
        assert_eq!(kit.gate().list(&bob, &by_ann, 9).await.unwrap().items.len(), 1);
        kit.finish().await;
    }
}
