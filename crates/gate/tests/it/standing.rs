//! Fewer prompts, safely: grants, trust, and edits that policy judges again.

use std::{sync::Arc, time::Duration};

use placet_core::{Actor, DecisionWord, Effect, Refusal, ReportStatus, Request, Risk, State};
use placet_gate::{Decision, GateError, Remember};
use placet_policy::preset;
use placet_testkit::{Backend, Kit, both};
use serde_json::{Value, json};

use crate::{
    pointer,
    policy::{SHOP, asked, call},
    refusal,
};

fn remembering(request: &Request, remember: Value) -> Decision {
    let remember: Remember = serde_json::from_value(remember).unwrap();
    Decision { remember: Some(remember), ..Kit::decision(request, DecisionWord::Approve) }
}

async fn remember(kit: &Kit, who: &Actor, request: &Request, what: Value) -> Result<(), GateError> {
    kit.gate().decide(who, remembering(request, what)).await.map(drop)
}

async fn states(kit: &Kit, agent: &Actor, tool: &str, calls: &[Value]) -> Vec<State> {
    let mut states = Vec::new();
    for arguments in calls {
        states.push(asked(kit, agent, tool, arguments.clone()).await.state);
    }
    states
}

/// A call in a folder, as hooks send it.
async fn asked_in(
    kit: &Kit,
    agent: &Actor,
    tool: &str,
    arguments: Value,
    folder: Option<Value>,
) -> Arc<Request> {
    let mut body = call(tool, arguments);
    if let Some(folder) = folder {
        body["context"] = json!({ "cwd": folder });
    }
    kit.create(agent, body).await.unwrap().request
}

use State::{Approved, Pending};

both! {
    async fn a_yes_to_this_very_call_is_remembered_for_it_alone(kit) {
        let (bot, imp, ann) = (kit.agent("bot").await, kit.agent("imp").await, kit.reviewer("ann").await);
        let request = asked(kit, &bot, "mail", json!({"to": "x", "text": "hi"})).await;
        remember(kit, &ann, &request, json!({"scope": "exact"})).await.unwrap();
        assert_eq!(kit.read(request.id).await.state, Approved);
        let allowed = asked(kit, &bot, "mail", json!({"text": "hi", "to": "x"})).await;
        assert_eq!((allowed.state, allowed.verdict.effect), (Approved, Effect::Allow));
        assert_eq!(allowed.verdict.rule, format!("grant:{}", allowed.grant.unwrap()));
        assert!(allowed.verdict.reasons[0].contains("`ann`"), "{:?}", allowed.verdict.reasons);
        kit.gate().claim(&bot, allowed.id, None, None).await.unwrap();
        let others = [json!({"to": "x", "text": "hi "}), json!({"to": "x"}), json!({"to": "x", "text": "hi", "cc": "y"})];
        assert_eq!(states(kit, &bot, "mail", &others).await, [Pending; 3]);
        assert_eq!(asked(kit, &imp, "mail", json!({"to": "x", "text": "hi"})).await.state, Pending);
        assert_eq!(asked(kit, &bot, "mail2", json!({"to": "x", "text": "hi"})).await.state, Pending);
        kit.restart().await;
        assert_eq!(asked(kit, &bot, "mail", json!({"to": "x", "text": "hi"})).await.state, Approved);
        let grants = kit.gate().grants(&ann).await.unwrap();
        assert_eq!((grants.len(), grants[0].used, grants[0].grant.uses), (1, 2, 20));
        assert!(grants[0].covers.contains("exactly this call of `mail`"), "{}", grants[0].covers);
    }

    async fn a_pattern_covers_what_matches_and_a_session_what_is_in_it(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = asked(kit, &bot, "mail", json!({"to": "x@acme.test", "n": 1})).await;
        let pattern = json!({"scope": "pattern", "arguments": {"to": {"equals": "x@acme.test"}}, "uses": 3, "expires_in": "1h"});
        remember(kit, &ann, &request, pattern).await.unwrap();
        let calls = [json!({"to": "x@acme.test", "n": 2}), json!({"to": "y@acme.test", "n": 1}), json!({"n": 1})];
        assert_eq!(states(kit, &bot, "mail", &calls).await, [Approved, Pending, Pending]);
        let request = asked(kit, &bot, "post", json!({"n": 1})).await;
        remember(kit, &ann, &request, json!({"scope": "session"})).await.unwrap();
        assert_eq!(states(kit, &bot, "post", &[json!({"n": 2}), json!({})]).await, [Approved, Approved]);
        let mut elsewhere = call("post", json!({"n": 2}));
        elsewhere["session"] = "other".into();
        assert_eq!(kit.create(&bot, elsewhere).await.unwrap().request.state, Pending);
        // If the policy is stricter about this call, the agent's statement does not count.
        let mut risky = call("post", json!({"n": 2}));
        risky["risk"] = "high".into();
        assert_eq!(kit.create(&bot, risky).await.unwrap().request.state, Pending);
        for grant in kit.gate().grants(&ann).await.unwrap() {
            assert!(grant.covers.contains("every call of"), "{}", grant.covers);
            kit.gate().revoke_grant(&ann, grant.grant.id).await.unwrap();
        }
        assert_eq!(states(kit, &bot, "post", &[json!({"n": 2})]).await, [Pending]);
        assert_eq!(states(kit, &bot, "mail", &calls[..1]).await, [Pending]);
        // Arguments that a person named in a pattern are not in the ledger.
        for row in kit.store().ledger(0, 1000).await.unwrap() {
            assert!(!row.text.contains("acme"), "{}", row.text);
        }
    }

    async fn sixty_four_calls_at_once_never_use_a_yes_more_often_than_it_says(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = asked(kit, &bot, "mail", json!({"to": "x"})).await;
        remember(kit, &ann, &request, json!({"scope": "exact", "uses": 7})).await.unwrap();
        let calls = (0..64).map(|_| asked(kit, &bot, "mail", json!({"to": "x"})));
        let made = futures_util::future::join_all(calls).await;
        assert_eq!(made.iter().filter(|request| request.state == Approved).count(), 7);
        assert_eq!(kit.gate().grants(&ann).await.unwrap()[0].used, 7);
    }

    async fn a_yes_in_advance_ends_by_time_and_by_another_policy(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let mut given = Vec::new();
        for tool in ["one", "two"] {
            let request = asked(kit, &bot, tool, json!({})).await;
            remember(kit, &ann, &request, json!({"scope": "exact", "expires_in": if tool == "one" { "1m" } else { "2h" }})).await.unwrap();
            given.push(asked(kit, &bot, tool, json!({})).await.state);
        }
        assert_eq!(given, [Approved, Approved]);
        kit.clock().advance(Duration::from_mins(1));
        assert_eq!(asked(kit, &bot, "one", json!({})).await.state, Pending);
        assert_eq!(asked(kit, &bot, "two", json!({})).await.state, Approved);
        assert_eq!(kit.gate().grants(&ann).await.unwrap().len(), 1, "what expired is not listed");
        kit.put_policy(SHOP).await;
        assert_eq!(asked(kit, &bot, "two", json!({})).await.state, Pending);
        assert!(kit.gate().grants(&ann).await.unwrap().is_empty());
    }

    async fn whoever_gave_it_or_an_admin_takes_it_back_and_nobody_else_sees_it(kit) {
        let (bot, ann, bob, eve) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await, kit.auditor("eve").await);
        let request = asked(kit, &bot, "mail", json!({})).await;
        remember(kit, &ann, &request, json!({"scope": "exact"})).await.unwrap();
        let id = kit.gate().grants(&ann).await.unwrap()[0].grant.id;
        assert!(kit.gate().grants(&bob).await.unwrap().is_empty());
        assert_eq!(kit.gate().grants(&eve).await.unwrap().len(), 1);
        assert!(matches!(kit.gate().revoke_grant(&bob, id).await, Err(GateError::Admin(placet_core::AdminRefusal::NoGrant))));
        for actor in [&bot, &eve] {
            assert!(matches!(kit.gate().revoke_grant(actor, id).await, Err(GateError::Forbidden(_))));
        }
        assert!(matches!(kit.gate().grants(&bot).await, Err(GateError::Forbidden(_))));
        kit.gate().revoke_grant(kit.admin(), id).await.unwrap();
        assert!(matches!(kit.gate().revoke_grant(kit.admin(), id).await, Err(GateError::Admin(placet_core::AdminRefusal::NoGrant))));
        // Grants of removed people end too.
        let request = asked(kit, &bot, "mail", json!({})).await;
        remember(kit, &ann, &request, json!({"scope": "exact"})).await.unwrap();
        kit.gate().remove_person(kit.admin(), "ann".to_owned()).await.unwrap();
        assert_eq!(asked(kit, &bot, "mail", json!({})).await.state, Pending);
    }

    async fn what_must_be_looked_at_every_time_cannot_be_remembered(kit) {
        kit.put_policy(SHOP).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let large = asked(kit, &bot, "pay", json!({"amount": 5000})).await;
        assert_eq!(pointer(remember(kit, &ann, &large, json!({"scope": "exact"})).await), "/remember");
        let shell = asked(kit, &bot, "Bash", json!({"command": "make test"})).await;
        assert_eq!(pointer(remember(kit, &ann, &shell, json!({"scope": "session"})).await), "/remember");
        let pattern = json!({"scope": "pattern", "arguments": {"command": {"prefix": "make"}}});
        assert_eq!(pointer(remember(kit, &ann, &shell, pattern).await), "/remember");
        assert_eq!(kit.read(shell.id).await.state, Pending);
        let mail = asked(kit, &bot, "mail", json!({"to": "x"})).await;
        for (what, where_) in [
            (json!({"scope": "pattern"}), "/remember/arguments"),
            (json!({"scope": "pattern", "arguments": {}}), "/remember/arguments"),
            (json!({"scope": "exact", "arguments": {"to": {"equals": "x"}}}), "/remember/arguments"),
            (json!({"scope": "pattern", "arguments": {"to": {"equals": "y"}}}), "/remember"),
            (json!({"scope": "pattern", "arguments": {"to": {"sounds_like": "x"}}}), "/remember"),
            (json!({"scope": "exact", "uses": 0}), "/remember/uses"),
            (json!({"scope": "exact", "expires_in": "soon"}), "/remember/expires_in"),
            (json!({"scope": "exact", "expires_in": "800h"}), "/remember/expires_in"),
        ] {
            assert_eq!(pointer(remember(kit, &ann, &mail, what.clone()).await), where_, "{what}");
        }
        let deny = Decision { word: DecisionWord::Deny, ..remembering(&mail, json!({"scope": "exact"})) };
        assert_eq!(pointer(kit.gate().decide(&ann, deny).await), "/remember");
        assert_eq!((kit.read(mail.id).await.version, kit.store().grants().await.unwrap().len()), (1, 0));
        // Only the very same command can be remembered.
        remember(kit, &ann, &shell, json!({"scope": "exact"})).await.unwrap();
        let calls = [json!({"command": "make test"}), json!({"command": "make test; rm -rf /"})];
        assert_eq!(states(kit, &bot, "Bash", &calls).await, [Approved, Pending]);
    }

    async fn a_yes_to_a_call_counts_in_the_folder_that_it_was_given_in(kit) {
        kit.put_policy(preset("coding-agent").unwrap()).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let npm = json!({"command": "npm test", "description": "Run the tests"});
        let first = asked_in(kit, &bot, "Bash", npm.clone(), Some(json!("/srv/app"))).await;
        let foretold = kit.gate().preview(&ann, remembering(&first, json!({"scope": "exact"}))).await.unwrap();
        let covers = foretold.grant.unwrap().1;
        assert!(covers.contains("in the folder `/srv/app`"), "whoever says yes is told: {covers}");
        remember(kit, &ann, &first, json!({"scope": "exact"})).await.unwrap();
        kit.restart().await;
        for (folder, state) in [
            (Some(json!("/srv/app")), Approved),
            (Some(json!("/srv/other")), Pending),
            (Some(json!("/srv/app/")), Pending),
            (Some(json!("/srv/app/sub")), Pending),
            (Some(json!(null)), Pending),
            (Some(json!(["/srv/app"])), Pending),
            (None, Pending),
        ] {
            assert_eq!(asked_in(kit, &bot, "Bash", npm.clone(), folder.clone()).await.state, state, "{folder:?}");
        }
        // And the reverse: without a folder, no grant covers it.
        let nowhere = asked_in(kit, &bot, "Bash", json!({"command": "make"}), None).await;
        remember(kit, &ann, &nowhere, json!({"scope": "exact"})).await.unwrap();
        assert_eq!(asked_in(kit, &bot, "Bash", json!({"command": "make"}), None).await.state, Approved);
        assert_eq!(asked_in(kit, &bot, "Bash", json!({"command": "make"}), Some(json!("/srv/app"))).await.state, Pending);
        let grants = kit.gate().grants(&ann).await.unwrap();
        for (request, said) in [(first.id, "`Bash` in the folder `/srv/app`"), (nowhere.id, "where no folder is named")] {
            let covers = grants.iter().find(|view| view.grant.request == request).map(|view| view.covers.as_str());
            assert!(covers.is_some_and(|covers| covers.contains(said)), "{covers:?}");
        }
        // The folder is content, so it is not in the ledger.
        for row in kit.store().ledger(0, 1000).await.unwrap() {
            assert!(!row.text.contains("/srv"), "{}", row.text);
        }
    }

    async fn a_yes_to_a_command_looks_past_what_is_only_said_of_it(kit) {
        kit.put_policy(preset("coding-agent").unwrap()).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let here = || Some(json!("/srv/app"));
        let first = asked_in(kit, &bot, "Bash", json!({"command": "npm test", "description": "Run tests"}), here()).await;
        remember(kit, &ann, &first, json!({"scope": "exact"})).await.unwrap();
        for (arguments, state) in [
            (json!({"command": "npm test", "description": "Run the test suite", "timeout": 120_000}), Approved),
            (json!({"command": "npm test"}), Approved),
            (json!({"command": "npm test", "run_in_background": true}), Pending),
            (json!({"command": "npm test", "dangerouslyDisableSandbox": true}), Pending),
            (json!({"command": "npm test", "description": ["x"]}), Pending),
            (json!({"command": "npm test", "explanation": "x"}), Pending),
            (json!({"command": "npm  test"}), Pending),
        ] {
            let request = asked_in(kit, &bot, "Bash", arguments.clone(), here()).await;
            assert_eq!(request.state, state, "{arguments}");
            assert_eq!(request.content.as_ref().unwrap().body.arguments(), arguments.as_object(), "it runs whole");
        }
        let covers = &kit.gate().grants(&ann).await.unwrap()[0].covers;
        assert!(covers.ends_with("whatever is said in `description`, `timeout`"), "{covers}");
        // Another agent's tool of the same kind has a list of its own.
        assert_eq!(asked_in(kit, &bot, "run_shell_command", json!({"command": "npm test"}), here()).await.state, Pending);
        let explained = asked_in(kit, &bot, "run_terminal_cmd", json!({"command": "npm test", "explanation": "a"}), here()).await;
        remember(kit, &ann, &explained, json!({"scope": "exact"})).await.unwrap();
        let again = asked_in(kit, &bot, "run_terminal_cmd", json!({"command": "npm test", "explanation": "b"}), here()).await;
        assert_eq!(again.state, Approved);
        let decision = serde_json::to_value(again.view(again.created_at)).unwrap()["decision"].clone();
        assert_eq!((&decision["grant"]["by"], &decision["grant"]["id"]), (&json!("ann"), &json!(again.grant)));
        assert_eq!(kit.gate().row(&ann, &again).grant.unwrap().by.as_deref(), Some("ann"));
    }

    async fn a_yes_of_version_0_2_covers_no_command_and_what_it_covered_otherwise(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        for (tool, arguments) in [("Bash", json!({"command": "make"})), ("mail", json!({"to": "x"}))] {
            let request = asked(kit, &bot, tool, arguments.clone()).await;
            remember(kit, &ann, &request, json!({"scope": "exact"})).await.unwrap();
            let grants = kit.gate().grants(&ann).await.unwrap();
            let id = grants.iter().find(|view| view.grant.tool == tool).unwrap().grant.id;
            let key = placet_store::unbound_grant_key(&kit.store().secret(), "bot", tool, arguments.as_object().unwrap()).unwrap();
            let digest = data_encoding::HEXLOWER.encode(&key);
            let digest = if kit.backend() == Backend::Sqlite { format!("x'{digest}'") } else { format!("'\\x{digest}'") };
            // As that version stored it. The ledger is not read here.
            let change = format!("UPDATE grants SET digest = {digest}, data = replace(data, ',\"bound\":true', '') WHERE id = '{id}'");
            kit.place().sql(&change).await;
        }
        kit.restart().await;
        assert_eq!(asked(kit, &bot, "Bash", json!({"command": "make"})).await.state, Pending);
        assert_eq!(asked(kit, &bot, "mail", json!({"to": "x"})).await.state, Approved);
        assert_eq!(asked(kit, &bot, "mail", json!({"to": "y"})).await.state, Pending);
        assert_eq!(kit.gate().end_outgrown().await.unwrap(), 1);
        let left = kit.gate().grants(&ann).await.unwrap();
        assert_eq!((left.len(), left[0].grant.tool.as_str()), (1, "mail"));
        kit.place().sql("UPDATE grants SET data = replace(data, '\"exact\"', '\"exact\",\"bound\":true')").await;
    }

    async fn a_decision_given_again_gives_no_second_yes(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = asked(kit, &bot, "mail", json!({})).await;
        for _ in 0..2 {
            let decision = Decision {
                idempotency: Some(placet_testkit::idempotency("k", "body")),
                ..remembering(&request, json!({"scope": "exact"}))
            };
            kit.gate().decide(&ann, decision).await.unwrap();
        }
        assert_eq!(kit.gate().grants(&ann).await.unwrap().len(), 1);
    }
}

both! {
    async fn trust_is_earned_for_what_people_saw_and_lost_by_one_no(kit) {
        kit.put_policy(SHOP).await;
        let (bot, imp, ann) = (kit.agent("bot").await, kit.agent("imp").await, kit.reviewer("ann").await);
        for n in 0..2 {
            let mail = asked(kit, &bot, "mail", json!({"to": "x", "n": n})).await;
            assert_eq!(mail.state, Pending);
            kit.approve(&ann, &mail).await.unwrap();
        }
        kit.restart().await;
        let trusted = asked(kit, &bot, "mail", json!({"to": "x", "n": 9})).await;
        assert_eq!((trusted.state, trusted.verdict.rule.as_str(), trusted.grant), (Approved, "mails", None));
        assert!(trusted.verdict.reasons[0].contains("trusted"), "{:?}", trusted.verdict.reasons);
        // Five harmless calls give no trust to a variant, another agent, a missing place, or a higher risk.
        for n in 0..5 {
            assert_eq!(asked(kit, &bot, "mail", json!({"to": "x", "n": n})).await.state, Approved);
        }
        let variant = asked(kit, &bot, "mail", json!({"to": "y", "n": 1})).await;
        assert_eq!(variant.state, Pending);
        assert_eq!(asked(kit, &bot, "mail", json!({"n": 1})).await.state, Pending);
        assert_eq!(asked(kit, &imp, "mail", json!({"to": "x", "n": 1})).await.state, Pending);
        let mut risky = call("mail", json!({"to": "x"}));
        risky["risk"] = "high".into();
        assert_eq!(kit.create(&bot, risky).await.unwrap().request.state, Pending);
        kit.deny(&ann, &variant).await.unwrap();
        assert_eq!(asked(kit, &bot, "mail", json!({"to": "x"})).await.state, Approved, "the no was to another one");
        let revoked = asked(kit, &bot, "mail", json!({"to": "x"})).await;
        kit.gate().revoke(&ann, revoked.id, None, None).await.unwrap();
        assert_eq!(asked(kit, &bot, "mail", json!({"to": "x"})).await.state, Pending, "taken back is a no");
    }

    async fn trust_is_bound_to_every_rule_that_fired_however_many(kit) {
        use std::fmt::Write as _;
        let mut policy = "version = 1\n".to_owned();
        for number in 0..20 {
            write!(policy, "[[rule]]\nname = \"r{number:02}\"\neffect = \"hold\"\ntool = \"mail\"\ntrust_after = 2\ntemplate = [\"/to\"]\n").unwrap();
        }
        // The last of many: it names one value of an argument that the others do not compare.
        policy += "[[rule]]\nname = \"with-copies\"\neffect = \"hold\"\ntool = \"mail\"\ntrust_after = 2\ntemplate = [\"/to\"]\n[rule.args]\ncc = { matches = \"mallory\" }\n";
        kit.put_policy(&policy).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        for n in 0..2 {
            let mail = asked(kit, &bot, "mail", json!({"to": "x", "cc": "ann", "n": n})).await;
            kit.approve(&ann, &mail).await.unwrap();
        }
        assert_eq!(asked(kit, &bot, "mail", json!({"to": "x", "cc": "ann"})).await.state, Approved);
        let other = asked(kit, &bot, "mail", json!({"to": "x", "cc": "mallory"})).await;
        assert_eq!(other.state, Pending, "nobody approved anything that this rule holds");
    }

    async fn three_that_were_looked_at_once_earn_trust_once(kit) {
        kit.put_policy(SHOP).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let mail = |n: u32| asked(kit, &bot, "mail", json!({"to": "x", "n": n}));
        let waiting = [mail(1).await, mail(2).await, mail(3).await];
        let batch = waiting.iter().map(|request| Kit::decision(request, DecisionWord::Approve)).collect();
        for outcome in kit.gate().decide_many(&ann, batch, false).await.unwrap() {
            assert!(outcome.answer.is_ok());
        }
        let next = mail(4).await;
        assert_eq!(next.state, Pending, "one look is one look");
        kit.approve(&ann, &next).await.unwrap();
        kit.restart().await;
        assert_eq!(asked(kit, &bot, "mail", json!({"to": "x", "n": 5})).await.state, Approved);
    }

    async fn a_run_that_failed_earns_no_trust(kit) {
        kit.put_policy(SHOP).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        for n in 0..4 {
            let mail = asked(kit, &bot, "mail", json!({"to": "x", "n": n})).await;
            assert_eq!(mail.state, Pending, "{n} of the same failed");
            kit.approve(&ann, &mail).await.unwrap();
            let claimed = kit.gate().claim(&bot, mail.id, None, None).await.unwrap();
            if n < 3 {
                let report = kit.gate().report(&bot, mail.id, &claimed.permit, ReportStatus::Failed, None, None, None);
                report.await.unwrap();
            } else {
                // The outcome of this one is unknown.
                kit.clock().advance(Duration::from_hours(2));
                kit.gate().sweep().await.unwrap();
                assert_eq!(kit.read(mail.id).await.state, State::Unknown);
            }
        }
        for n in 4..6 {
            let mail = asked(kit, &bot, "mail", json!({"to": "x", "n": n})).await;
            assert_eq!(mail.state, Pending);
            kit.approve(&ann, &mail).await.unwrap();
        }
        assert_eq!(asked(kit, &bot, "mail", json!({"to": "x", "n": 9})).await.state, Approved);
    }

    async fn a_no_counts_whatever_the_agent_says_of_itself(kit) {
        // If a sub-agent asks, another rule holds it too, and that rule offers no trust.
        let policy = format!("{SHOP}\n[[rule]]\nname = \"subs\"\neffect = \"hold\"\nlineage = \"sub\"\n");
        kit.put_policy(&policy).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        for claim in [json!({"risk": "high"}), json!({"context": {"lineage": ["sub"]}})] {
            for _ in 0..2 {
                let mail = asked(kit, &bot, "mail", json!({"to": "x"})).await;
                assert_eq!(mail.state, Pending);
                kit.approve(&ann, &mail).await.unwrap();
            }
            assert_eq!(asked(kit, &bot, "mail", json!({"to": "x"})).await.state, Approved);
            let mut disguised = call("mail", json!({"to": "x"}));
            disguised.as_object_mut().unwrap().extend(claim.as_object().unwrap().clone());
            let disguised = kit.create(&bot, disguised).await.unwrap().request;
            assert_eq!(disguised.state, Pending, "{claim}");
            kit.deny(&ann, &disguised).await.unwrap();
            let again = asked(kit, &bot, "mail", json!({"to": "x"})).await;
            assert_eq!(again.state, Pending, "{claim}: the no was to the same call");
            kit.deny(&ann, &again).await.unwrap();
        }
    }

    async fn trust_is_earned_in_one_folder_and_lost_in_all(kit) {
        let policy = "version = 1\n[[cosmetic]]\ntool = 'Bash'\narguments = ['description']\n\
            [[rule]]\nname = 'commands'\neffect = 'hold'\ntool = 'Bash'\ntrust_after = 2\n";
        kit.put_policy(policy).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let make = |n: u32, folder: Option<&str>| {
            let arguments = json!({"command": "make", "description": format!("the {n}th time")});
            asked_in(kit, &bot, "Bash", arguments, folder.map(Value::from))
        };
        for n in 0..2 {
            let request = make(n, Some("/srv/app")).await;
            assert_eq!(request.state, Pending);
            kit.approve(&ann, &request).await.unwrap();
        }
        for (folder, state) in [(Some("/srv/app"), Approved), (Some("/srv/other"), Pending), (None, Pending)] {
            assert_eq!(make(9, folder).await.state, state, "{folder:?}");
        }
        // The folder in the context does not protect a call from a deny.
        let elsewhere = make(3, Some("/tmp")).await;
        kit.deny(&ann, &elsewhere).await.unwrap();
        assert_eq!(make(9, Some("/srv/app")).await.state, Pending, "the no was to the same call");
    }

    async fn an_edited_approval_is_no_lesson(kit) {
        kit.put_policy(SHOP).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        for _ in 0..4 {
            let mail = asked(kit, &bot, "mail", json!({"to": "x"})).await;
            assert_eq!(mail.state, Pending);
            kit.edit(&ann, &mail, json!({"to": "x"})).await.unwrap();
        }
        // Under another policy earlier trust does not count.
        for _ in 0..2 {
            let mail = asked(kit, &bot, "mail", json!({"to": "x"})).await;
            kit.approve(&ann, &mail).await.unwrap();
        }
        assert_eq!(asked(kit, &bot, "mail", json!({"to": "x"})).await.state, Approved);
        kit.put_policy(&SHOP.replace("shop", "another")).await;
        assert_eq!(asked(kit, &bot, "mail", json!({"to": "x"})).await.state, Pending);
    }
}

fn editing(request: &Request, arguments: Value) -> Decision {
    Decision { arguments: arguments.as_object().cloned(), ..Kit::decision(request, DecisionWord::Edit) }
}

both! {
    async fn an_edit_that_policy_is_stricter_about_voids_votes_and_needs_more(kit) {
        kit.put_policy(SHOP).await;
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        let pay = asked(kit, &bot, "pay", json!({"amount": 50})).await;
        // Shown before: one approval would have been enough, and is not enough for this.
        let preview = kit.gate().preview(&ann, editing(&pay, json!({"amount": 5000}))).await.unwrap();
        assert!(preview.stricter && !preview.decides);
        assert_eq!(preview.ruling.as_ref().unwrap().verdict.rule, "large-payments");
        assert_eq!(preview.request.needs.any[0].all[0].people, 2);
        assert_eq!(kit.read(pay.id).await.version, 1, "a preview writes nothing");
        let edited = kit.edit(&ann, &pay, json!({"amount": 5000})).await.unwrap();
        assert_eq!((edited.state, edited.risk, edited.votes.len()), (Pending, Risk::High, 1));
        assert_eq!(edited, preview_of(&preview.request, &edited));
        kit.restart().await;
        // Smaller again: needs do not fall.
        let smaller = kit.edit(&bob, &edited, json!({"amount": 5})).await.unwrap();
        assert_eq!((smaller.state, smaller.risk), (Pending, Risk::High));
        assert_eq!(smaller.votes.iter().map(|vote| vote.by.as_str()).collect::<Vec<_>>(), ["bob"]);
        let preview = kit.gate().preview(&ann, Kit::decision(&smaller, DecisionWord::Approve)).await.unwrap();
        assert!(preview.decides && !preview.stricter && preview.voided.is_empty());
        assert_eq!(kit.approve(&ann, &smaller).await.unwrap().state, Approved);
        assert_eq!(kit.place().value(&format!("SELECT risk FROM requests WHERE id = '{}'", pay.id)).await, "high");
    }

    async fn an_edit_that_policy_denies_is_refused_and_the_rule_is_named(kit) {
        kit.put_policy(SHOP).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let pay = asked(kit, &bot, "pay", json!({"amount": 50})).await;
        let endless = || editing(&pay, json!({"amount": 2_000_000}));
        for said in [kit.gate().decide(&ann, endless()).await.map(drop), kit.gate().preview(&ann, endless()).await.map(drop)] {
            match refusal(said) {
                Refusal::PolicyDenied { rule, .. } => assert_eq!(rule, "endless-payments"),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(kit.read(pay.id).await.version, 1);
        assert_eq!(kit.edit(&ann, &pay, json!({"amount": 51})).await.unwrap().state, Approved);
    }

    async fn an_edit_is_judged_by_its_own_policy_and_the_one_in_force(kit) {
        kit.put_policy(SHOP).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let (one, two) = (asked(kit, &bot, "pay", json!({"amount": 50})).await, asked(kit, &bot, "pay", json!({"amount": 50})).await);
        // The new policy allows large payments and denies tiny ones.
        let lax = SHOP.replace("needs = \"two\"\nrisk = \"high\"", "").replace("args = { amount = { above = 1000000 } }", "args = { amount = { below = 10 } }");
        kit.put_policy(&lax).await;
        let edited = kit.edit(&ann, &one, json!({"amount": 5000})).await.unwrap();
        assert_eq!(edited.state, Pending, "its own policy still asks for two");
        match refusal(kit.edit(&ann, &two, json!({"amount": 5})).await) {
            Refusal::PolicyDenied { rule, .. } => assert_eq!(rule, "endless-payments"),
            other => panic!("{other:?}"),
        }
    }

    async fn the_edited_steps_of_a_plan_are_judged_too(kit) {
        kit.put_policy(SHOP).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let plan = json!({"kind": "plan", "session": "s", "title": "t", "can_modify": true, "steps": [
            {"id": "1", "action": "pay", "description": "", "arguments": {"amount": 1}},
            {"id": "2", "action": "read_x", "description": ""}]});
        let plan = kit.create(&bot, plan).await.unwrap().request;
        let steps = |amount: u32| json!([{"id": "1", "decision": "edit", "arguments": {"amount": amount}}, {"id": "2", "decision": "approve"}]);
        let decision = |amount| Decision { steps: serde_json::from_value(steps(amount)).unwrap(), ..Kit::decision(&plan, DecisionWord::Edit) };
        assert!(matches!(refusal(kit.gate().decide(&ann, decision(2_000_000)).await), Refusal::PolicyDenied { .. }));
        let edited = kit.gate().decide(&ann, decision(5000)).await.unwrap();
        assert_eq!((edited.state, edited.needs.any[0].all[0].people), (Pending, 2));
    }
}

/// The preview, with the number that only the real grant has.
fn preview_of(foretold: &Request, real: &Request) -> std::sync::Arc<Request> {
    let mut foretold = foretold.clone();
    for (vote, real) in foretold.votes.iter_mut().zip(&real.votes) {
        vote.at = real.at;
    }
    if let (Some(proposal), Some(real)) = (&mut foretold.proposal, &real.proposal) {
        proposal.at = real.at;
    }
    foretold.into()
}
