//! What-if: explaining, replaying all requests on record, a shadow candidate, and recognising equal calls.

use std::time::Duration;

use placet_core::{Effect, State};
use placet_gate::GateError;
use placet_testkit::{HOLD_EVERYTHING, Kit, both};
use serde_json::json;

use crate::policy::{SHOP, asked, builtin, call};

both! {
    async fn policy_explains_what_it_said_and_what_it_would_say(kit) {
        kit.put_policy(SHOP).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let pay = asked(kit, &bot, "pay", json!({"amount": 5000})).await;
        let (request, said) = kit.gate().explain(&ann, pay.id).await.unwrap();
        assert_eq!((request.id, said.len()), (pay.id, 1));
        assert_eq!(said[0].outcome.rule, "large-payments");
        let rules = &said[0].explanation.as_ref().unwrap().rules;
        assert!(rules.iter().any(|rule| rule.rule == "small-payments"), "{rules:?}");
        // Under another policy both are shown, the one in force first.
        let new = kit.put_policy(&SHOP.replace("\"pay\"", "\"payment\"")).await;
        let (_, said) = kit.gate().explain(&ann, pay.id).await.unwrap();
        let told: Vec<_> = said.iter().map(|said| (said.policy.as_str(), said.outcome.rule.as_str())).collect();
        assert_eq!(told, [(new.as_str(), "default"), (pay.verdict.policy.as_str(), "large-payments")]);
        let create = Kit::body(call("wipe", json!({})));
        let said = kit.gate().explain_create(&ann, "bot", "rest", create).await.unwrap();
        assert_eq!((said.outcome.effect, said.outcome.rule.as_str()), (Effect::Deny, "wiping"));
        assert!(matches!(kit.gate().explain(&bot, pay.id).await, Err(GateError::Forbidden(_))));
    }

    async fn replaying_the_policy_in_force_changes_nothing_and_a_candidate_is_told_apart(kit) {
        kit.put_policy(SHOP).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        for n in 0..700 {
            let mut body = call(["read_x", "wipe", "frobnicate"][n % 3], json!({"n": n}));
            // What was claimed is replayed as well.
            if n % 5 == 0 {
                body["risk"] = "high".into();
            }
            let request = kit.create(&bot, body).await.unwrap().request;
            if request.state == State::Pending {
                kit.gate().cancel(&bot, request.id, None, None).await.unwrap();
            }
        }
        let denied = asked(kit, &bot, "pay", json!({"amount": 3})).await;
        kit.clock().advance(Duration::from_secs(30));
        kit.deny(&ann, &denied).await.unwrap();
        let edited = asked(kit, &bot, "pay", json!({"amount": 3})).await;
        kit.edit(&ann, &edited, json!({"amount": 99999})).await.unwrap();
        let mut steps = Vec::new();
        let report = kit.gate().simulate(&ann, SHOP, |progress| steps.push(progress)).await.unwrap();
        assert_eq!((report.total, report.unchanged, report.risk_changed, report.rule_changed), (702, 702, 0, 0), "{report:?}");
        assert!(report.changes.is_empty() && steps.len() >= 2, "{} pages", steps.len());
        assert!(steps.windows(2).all(|pair| pair[0].done < pair[1].done));
        let candidate = SHOP.replace("effect = \"hold\"\ntool = \"pay\"\nargs = { amount = { max = 100 } }", "effect = \"allow\"\ntool = \"pay\"\nargs = { amount = { max = 100 } }");
        let candidate = candidate.replace("expires_in = \"2m\"\non_expiry = { escalate = \"bosses\" }\nclaim_within = \"1m\"\ndecisions = [\"approve\", \"edit\"]\n", "");
        let report = kit.gate().simulate(&ann, &candidate, |_| {}).await.unwrap();
        assert_eq!((report.denied_now_allowed_count, report.denied_now_allowed[0].id.clone()), (1, denied.id.to_string()));
        assert_eq!(report.prompts_saved, 2);
        assert_eq!(kit.gate().policy(&ann).await.unwrap().name.as_deref(), Some("shop"), "nothing was put");
        assert!(matches!(kit.gate().simulate(&bot, SHOP, |_| {}).await, Err(GateError::Forbidden(_))));
        assert!(matches!(kit.gate().simulate(&ann, "version = 2", |_| {}).await, Err(GateError::BadPolicy(_))));
    }

    async fn a_candidate_in_the_shadow_counts_and_decides_nothing(kit) {
        kit.put_policy(SHOP).await;
        let bot = kit.agent("bot").await;
        assert!(kit.gate().shadow(kit.admin()).unwrap().is_none());
        kit.gate().set_shadow(kit.admin(), Some(HOLD_EVERYTHING)).await.unwrap();
        for _ in 0..3 {
            assert_eq!(asked(kit, &bot, "read_x", json!({})).await.state, State::Approved);
        }
        asked(kit, &bot, "frobnicate", json!({})).await;
        let shadow = kit.gate().shadow(kit.admin()).unwrap().unwrap();
        assert_eq!((shadow.hash, shadow.by.as_str()), (builtin(), "bootstrap"));
        assert_eq!((shadow.report.total, shadow.report.unchanged, shadow.report.prompts_added), (4, 1, 3));
        kit.gate().set_shadow(kit.admin(), None).await.unwrap();
        assert!(kit.gate().shadow(kit.admin()).unwrap().is_none());
    }

    async fn requests_for_the_same_call_are_known_by_one_sign(kit) {
        let (bot, imp) = (kit.agent("bot").await, kit.agent("imp").await);
        let one = asked(kit, &bot, "pay", json!({"amount": 1, "to": "x"})).await;
        let two = asked(kit, &bot, "pay", json!({"to": "x", "amount": 1})).await;
        let sign = kit.gate().same(&one).unwrap();
        assert_eq!(kit.gate().same(&two).unwrap(), sign);
        for other in [asked(kit, &bot, "pay", json!({"amount": 2, "to": "x"})).await, asked(kit, &imp, "pay", json!({"amount": 1, "to": "x"})).await] {
            assert_ne!(kit.gate().same(&other).unwrap(), sign);
        }
        kit.restart().await;
        assert_eq!(kit.gate().same(&kit.read(one.id).await).unwrap(), sign);
        for row in kit.store().ledger(0, 1000).await.unwrap() {
            assert!(!row.text.contains(&sign), "keyed digests stay out of the ledger");
        }
    }
}
