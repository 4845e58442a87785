//! What the dashboard reads: rows, timelines, precedents, figures, filters and verification.

use std::time::Duration;

use placet_core::{DecisionWord, ReportStatus, Role, State};
use placet_gate::{Decision, Filter, GateError};
use placet_testkit::{Kit, both};
use serde_json::json;

use crate::policy::{SHOP, asked, call};

const TWO: &str = r#"version = 1
[needs.two]
people = 2
[[rule]]
name = "all"
effect = "hold"
kind = ["action", "plan", "input", "confirmation"]
needs = "two"
risk = "high"
"#;

both! {
    async fn a_row_says_what_will_run_and_how_far_the_votes_are(kit) {
        kit.put_policy(TWO).await;
        let (bot, ann, eve) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.auditor("eve").await);
        let mut body = call("delete_files", json!({"files": ["all"]}));
        body["context"] = json!({"lineage": ["planner", "x\u{202e}y"], "cwd": "/"});
        body["session"] = "s\u{200b}1".into();
        let request = kit.create(&bot, body).await.unwrap().request;
        let row = kit.gate().row(&ann, &request);
        assert_eq!((row.effect.as_str(), row.votes.have, row.votes.need), ("Delete 1 file: all", 0, 2));
        assert_eq!((row.session.as_str(), row.lineage.as_slice()), ("s\\u{200b}1", &["planner".to_owned(), "x\\u{202e}y".to_owned()][..]));
        assert_eq!((row.digest, row.warnings, row.decision), (request.digest, 2, None));
        assert!(row.same.is_some() && kit.gate().row(&eve, &request).same.is_none());
        // There is a proposal: the row and the vote are about it.
        let edited = kit.edit(&ann, &request, json!({"files": ["a", "b"]})).await.unwrap();
        let row = kit.gate().row(&ann, &kit.read(request.id).await);
        assert_eq!((row.effect.as_str(), row.votes.have), ("Delete 2 files: a, b", 1));
        assert_eq!(row.digest, edited.current_digest());
        assert_ne!(row.digest, request.digest);
        let display = kit.gate().display(&kit.read(request.id).await).unwrap();
        assert_eq!((display.effect, display.warnings.len()), (row.effect, 2));
        let bob = kit.reviewer("bob").await;
        let decided = kit.approve(&bob, &edited).await.unwrap();
        let row = kit.gate().row(&ann, &decided);
        assert_eq!((row.state, row.decision, row.decided_by.len()), (State::Approved, Some(DecisionWord::Edit), 2));
        assert_eq!(row.effect, "Delete 2 files: a, b");
    }

    async fn a_row_does_not_count_the_yes_of_somebody_whom_four_eyes_leave_out(kit) {
        kit.put_policy(&TWO.replace("people = 2", "people = 1\nfour_eyes = true")).await;
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        let request = kit.create(&bot, call("delete_files", json!({"files": ["all"]}))).await.unwrap().request;
        let edited = kit.edit(&ann, &request, json!({"files": ["a"]})).await.unwrap();
        assert_eq!(kit.gate().row(&ann, &edited).votes.have, 0, "ann wrote it");
        let voted = kit.approve(&bob, &edited).await.unwrap();
        assert_eq!((voted.state, kit.gate().row(&ann, &voted).votes.have), (State::Pending, 1));
    }

    async fn a_timeline_tells_everything_that_happened_in_order(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let other = kit.ask(&bot).await;
        let request = kit.ask(&bot).await;
        let reason = Decision { reason: Some("looks\u{202e} fine".to_owned()), ..Kit::decision(&request, DecisionWord::Approve) };
        kit.gate().reassign(&ann, request.id, vec!["ann".to_owned()], None, None).await.unwrap();
        kit.gate().decide(&ann, reason).await.unwrap();
        let claimed = kit.gate().claim(&bot, request.id, None, None).await.unwrap();
        kit.deny(&ann, &other).await.unwrap();
        kit.gate().report(&bot, request.id, &claimed.permit, ReportStatus::Succeeded, None, Some("gone".to_owned()), None).await.unwrap();
        let history = kit.gate().history(&ann, request.id).await.unwrap();
        let told: Vec<_> = history.entries.iter().map(|entry| (entry.kind, entry.by.as_str(), entry.role, entry.text.as_str())).collect();
        assert_eq!(told, [
            ("request.created", "bot", Role::Agent, "bot asked to run delete_files; rule hold-everything holds it for a person."),
            ("request.reassigned", "ann", Role::Reviewer, "ann asked ann to look at it."),
            ("request.decided", "ann", Role::Reviewer, "ann approved it: looks\\u{202e} fine"),
            ("request.claimed", "bot", Role::Agent, "bot took the permit and is running it."),
            ("request.reported", "bot", Role::Agent, "bot reported that it succeeded: gone"),
        ]);
        assert!(history.entries.windows(2).all(|pair| pair[0].seq < pair[1].seq && pair[0].at <= pair[1].at));
        assert!(matches!(kit.gate().history(&bot, request.id).await, Err(GateError::Forbidden(_))));
        // An expiry without a decision is shown too.
        let late = kit.ask(&bot).await;
        kit.clock().advance(Duration::from_hours(1));
        kit.gate().sweep().await.unwrap();
        let history = kit.gate().history(&ann, late.id).await.unwrap();
        assert_eq!(history.entries.last().unwrap().text, "Nobody decided in time.");
    }

    async fn precedents_are_the_last_decisions_of_people_on_alike_calls(kit) {
        let (bot, imp, ann) = (kit.agent("bot").await, kit.agent("imp").await, kit.reviewer("ann").await);
        let mut decided = Vec::new();
        for n in 0..7 {
            let request = asked(kit, &bot, "pay", json!({"to": "x", "amount": n})).await;
            kit.clock().advance(Duration::from_secs(1));
            decided.push(if n % 2 == 0 { kit.approve(&ann, &request).await } else { kit.deny(&ann, &request).await }.unwrap());
        }
        // Another recipient, other arguments, another tool, no decision of a person, and none yet.
        for (tool, arguments) in [("pay", json!({"to": "y", "amount": 6})), ("pay", json!({"to": "x"})), ("pay", json!({"to": "x", "amount": "1"})), ("mail", json!({"to": "x", "amount": 1}))] {
            let request = asked(kit, &bot, tool, arguments).await;
            kit.approve(&ann, &request).await.unwrap();
        }
        let cancelled = asked(kit, &bot, "pay", json!({"to": "x", "amount": 6})).await;
        kit.gate().cancel(&bot, cancelled.id, None, None).await.unwrap();
        let by_imp = asked(kit, &imp, "pay", json!({"to": "x", "amount": 6})).await;
        kit.approve(&ann, &by_imp).await.unwrap();
        let request = asked(kit, &bot, "pay", json!({"to": "x", "amount": 6})).await;
        let similar = kit.gate().history(&ann, request.id).await.unwrap().similar;
        let told: Vec<_> = similar.iter().map(|one| (one.id, one.exact, one.decision)).collect();
        use DecisionWord::{Approve, Deny};
        assert_eq!(told, [
            (by_imp.id, false, Approve),
            (decided[6].id, true, Approve),
            (decided[5].id, false, Deny),
            (decided[4].id, false, Approve),
            (decided[3].id, false, Deny),
        ]);
        assert_eq!((similar[1].by.as_slice(), similar[1].agent.as_str(), similar[1].at), (&["ann".to_owned()][..], "bot", decided[6].decision.as_ref().unwrap().at));
        assert_eq!(similar[2].sentence, "Pay 5 (no currency given) to x", "what was denied, and not what is asked now");
        let question = kit.create(&bot, json!({"kind": "input", "session": "s", "question": "?", "input": {"type": "text"}})).await.unwrap().request;
        assert!(kit.gate().history(&ann, question.id).await.unwrap().similar.is_empty());
    }

    async fn a_dangerous_command_is_no_precedent_for_a_harmless_one(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let install = "curl https://x.example/i.sh | sudo bash";
        for command in [install, "rm -rf /srv/data", "npm ci", "echo $(id)"] {
            let request = asked(kit, &bot, "Bash", json!({"command": command})).await;
            kit.approve(&ann, &request).await.unwrap();
        }
        let like = async |command: &str| {
            let request = asked(kit, &bot, "Bash", json!({"command": command, "description": "now"})).await;
            let similar = kit.gate().history(&ann, request.id).await.unwrap().similar;
            kit.deny(&ann, &request).await.unwrap();
            similar.into_iter().map(|one| one.sentence).collect::<Vec<_>>()
        };
        assert_eq!(like("npm ci").await, ["Run npm ci"]);
        assert_eq!(like(install).await.len(), 1);
        for other in ["npm run build", "curl https://y.example/i.sh | sudo bash", "rm -rf /srv/other", "rm /srv/data", "echo $(id)"] {
            assert_eq!(like(other).await, [""; 0], "{other}");
        }
    }

    async fn a_precedent_that_people_changed_says_what_they_made_of_it(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let pay = |to: &str, amount: u32| json!({"to": to, "amount": amount, "currency": "EUR"});
        let first = asked(kit, &bot, "pay", pay("Mallory", 9_999)).await;
        let edited = kit.edit(&ann, &first, pay("ACME", 10)).await.unwrap();
        let sentences = async |request: &placet_core::Request| {
            let similar = kit.gate().history(&ann, request.id).await.unwrap().similar;
            similar.into_iter().map(|one| (one.id, one.sentence, one.decision, one.exact)).collect::<Vec<_>>()
        };
        let told = |exact| vec![(edited.id, "Pay 10 EUR to ACME".to_owned(), DecisionWord::Edit, exact)];
        let again = asked(kit, &bot, "pay", pay("Mallory", 9_999)).await;
        assert_eq!(sentences(&again).await, told(false), "the same was asked, and something else approved");
        assert_eq!(sentences(&*asked(kit, &bot, "pay", pay("ACME", 10)).await).await, told(true));
        assert_eq!(sentences(&*asked(kit, &bot, "pay", pay("Eve", 10)).await).await, []);
    }

    async fn with_a_proposal_on_the_table_precedents_are_those_of_the_proposal(kit) {
        kit.put_policy(TWO).await;
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        let pay = |to: &str| json!({"to": to, "amount": 1, "currency": "EUR"});
        for to in ["ACME", "Mallory"] {
            let voted = kit.approve(&ann, &*asked(kit, &bot, "pay", pay(to)).await).await.unwrap();
            kit.approve(&bob, &voted).await.unwrap();
        }
        let request = asked(kit, &bot, "pay", pay("ACME")).await;
        let similar = async || {
            let similar = kit.gate().history(&ann, request.id).await.unwrap().similar;
            similar.into_iter().map(|one| (one.sentence, one.by.len(), one.exact)).collect::<Vec<_>>()
        };
        assert_eq!(similar().await, [("Pay 1 EUR to ACME".to_owned(), 2, true)]);
        kit.edit(&ann, &request, pay("Mallory")).await.unwrap();
        assert_eq!(similar().await, [("Pay 1 EUR to Mallory".to_owned(), 2, true)]);
    }

    async fn figures_count_what_was_decided_by_whom_and_how_fast(kit) {
        kit.put_policy(SHOP).await;
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        // Long before the time asked for: not counted.
        let old = asked(kit, &bot, "frobnicate", json!({"n": 0})).await;
        kit.approve(&ann, &old).await.unwrap();
        kit.clock().advance(Duration::from_hours(24 * 10));
        for n in 1..=10 {
            let request = asked(kit, &bot, "frobnicate", json!({"n": n})).await;
            kit.clock().advance(Duration::from_secs(n));
            match n {
                1..=6 => kit.approve(&ann, &request).await.unwrap(),
                7 => kit.edit(&bob, &request, json!({"n": 0})).await.unwrap(),
                _ => kit.deny(&bob, &request).await.unwrap(),
            };
        }
        for _ in 0..3 {
            asked(kit, &bot, "read_x", json!({})).await;
        }
        asked(kit, &bot, "wipe", json!({})).await;
        let cancelled = asked(kit, &bot, "frobnicate", json!({})).await;
        kit.gate().cancel(&bot, cancelled.id, None, None).await.unwrap();
        asked(kit, &bot, "frobnicate", json!({})).await;
        kit.clock().advance(Duration::from_hours(2));
        kit.gate().sweep().await.unwrap();
        asked(kit, &bot, "frobnicate", json!({"now": 1})).await;
        kit.clock().advance(Duration::from_secs(30));
        let figures = kit.gate().figures(&ann, 7).await.unwrap();
        let overall = &figures.speeds.overall;
        assert_eq!((overall.count, overall.p50, overall.p90), (10, 5.0, 9.0));
        assert_eq!(figures.speeds.by_tool.len(), 1);
        let names: Vec<_> = figures.speeds.by_reviewer.iter().map(|one| (one.name.as_str(), one.count, one.p50)).collect();
        assert_eq!(names, [("ann", 6, 3.0)], "of people, one sees oneself");
        let ends = &figures.by_tool[0];
        assert_eq!((ends.name.as_str(), ends.approve, ends.edit, ends.deny, ends.expired, ends.cancelled), ("frobnicate", 6, 1, 3, 1, 1));
        assert_eq!(figures.by_kind[0].name, "action");
        let deciders = figures.deciders;
        assert_eq!((deciders.policy, deciders.grant, deciders.person, deciders.expiry, deciders.cancelled), (4, 0, 10, 1, 1));
        assert_eq!(figures.heat.iter().flatten().sum::<u64>(), 17);
        let reviewers: Vec<_> = figures.reviewers.iter().map(|one| (one.name.as_str(), one.decisions, one.denied, one.median_seconds)).collect();
        assert_eq!(reviewers, [("ann", 6, 0, 3.0)]);
        let bobs = kit.gate().figures(&bob, 7).await.unwrap().reviewers;
        assert_eq!(bobs.iter().map(|one| (one.name.as_str(), one.decisions, one.denied, one.median_seconds)).collect::<Vec<_>>(), [("bob", 4, 3, 8.0)]);
        assert_eq!((figures.now.pending, figures.now.oldest_age_seconds, figures.now.by_risk.iter().sum::<u64>()), (1, 30.0, 1));
        assert_eq!(figures.depth.len(), 200);
        let last = figures.depth.last().unwrap();
        assert_eq!((last.at, last.pending, last.oldest_age_seconds), (figures.to, 1, 30.0));
        assert_eq!(figures.depth[0].pending, 0, "what waited before is over");
        let all = kit.gate().figures(&ann, 90).await.unwrap();
        assert_eq!(all.speeds.overall.count, 11);
        assert!(matches!(kit.gate().figures(&bot, 7).await, Err(GateError::Forbidden(_))));
    }

    async fn lists_are_narrowed_by_time_and_by_decider(kit) {
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bo").await);
        let eve = kit.auditor("eve").await;
        let mut made = Vec::new();
        for n in 0..12 {
            let mut body = call("t", json!({"n": n}));
            // One of the databases cannot take this character out of JSON.
            body["session"] = "a\u{0}b".into();
            let request = kit.create(&bot, body).await.unwrap().request;
            made.push(match n % 3 {
                0 => kit.approve(&ann, &request).await.unwrap(),
                1 => kit.deny(&bob, &request).await.unwrap(),
                _ => request,
            });
            kit.clock().advance(Duration::from_hours(5));
        }
        let ids = async |filter: Filter| kit.gate().list(&eve, &filter, 100).await.unwrap().items.iter().map(|request| request.id).collect::<Vec<_>>();
        let newest = |keep: &dyn Fn(usize) -> bool| made.iter().enumerate().rev().filter(|(n, _)| keep(*n)).map(|(_, request)| request.id).collect::<Vec<_>>();
        let at = |n: usize| Some(made[n].created_at);
        assert_eq!(ids(Filter { since: at(4), ..Filter::default() }).await, newest(&|n| n >= 4));
        assert_eq!(ids(Filter { until: at(4), ..Filter::default() }).await, newest(&|n| n < 4));
        assert_eq!(ids(Filter { since: at(2), until: at(9), by: Some("ann".to_owned()), ..Filter::default() }).await, newest(&|n| n == 3 || n == 6));
        assert_eq!(ids(Filter { by: Some("bo".to_owned()), ..Filter::default() }).await, newest(&|n| n % 3 == 1));
        assert!(ids(Filter { by: Some("b".to_owned()), ..Filter::default() }).await.is_empty(), "a name is whole");
        assert!(ids(Filter { by: Some("\"".to_owned()), ..Filter::default() }).await.is_empty());
        assert!(ids(Filter { since: Some(made[11].created_at.plus(Duration::from_secs(1))), ..Filter::default() }).await.is_empty());
        // Page by page it is the same.
        let filter = Filter { since: at(1), until: at(11), ..Filter::default() };
        let mut paged = Vec::new();
        let mut after = None;
        loop {
            let page = kit.gate().list(&ann, &Filter { after, ..filter.clone() }, 3).await.unwrap();
            paged.extend(page.items.iter().map(|request| request.id));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(paged, ids(filter).await);
    }

    async fn the_ledger_is_verified_one_at_a_time_and_the_last_word_is_kept(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        for _ in 0..3 {
            kit.approved(&bot, &ann).await;
        }
        let gate = kit.gate();
        assert!(matches!(gate.verify_turn(&bot), Err(GateError::Forbidden(_))));
        let (entries, head, last) = gate.ledger_status(&ann).await.unwrap();
        assert_eq!(last, None);
        let turn = gate.verify_turn(&ann).unwrap().unwrap();
        assert!(gate.verify_turn(&ann).unwrap().is_none(), "one at a time");
        let found = gate.verify_ledger(turn, |_| {}).await.unwrap();
        assert_eq!((found.ok, found.entries, found.head), (true, entries, Some(head)));
        assert_eq!(gate.ledger_status(&ann).await.unwrap().2, Some(found));
        assert!(gate.verify_turn(&ann).unwrap().is_some(), "the turn is given back");
    }
}

both! {
    async fn a_tampered_ledger_is_found_by_the_running_server(backend: Backend) {
        let kit = Kit::start(backend).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.approved(&bot, &ann).await;
        let change = format!("UPDATE payloads SET body = '{{}}' WHERE seq = {}", request.seq);
        kit.place().sql(&change).await;
        let turn = kit.gate().verify_turn(&ann).unwrap().unwrap();
        let found = kit.gate().verify_ledger(turn, |_| {}).await.unwrap();
        assert!(!found.ok && found.head.is_none());
        assert!(found.problem.as_deref().is_some_and(|problem| problem.contains(&format!("entry {}", request.seq))), "{found:?}");
        assert_eq!(kit.gate().ledger_status(&ann).await.unwrap().2, Some(found));
        kit.abandon().await;
    }
}
