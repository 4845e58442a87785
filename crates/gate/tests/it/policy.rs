//! Policy at the gate: what it lets through, holds and refuses; how it is put, switched and recorded; what-if.

use std::time::Duration;

use placet_core::{Actor, AdminRefusal, DecisionWord, Effect, Refusal, Request, Risk, Role, State};
use placet_gate::{GateError, NewKey};
use placet_testkit::{Backend, HOLD_EVERYTHING, Kit, both, until};
use serde_json::{Value, json};

use crate::refusal;

/// Reads pass, payments wait, wiping never happens, everything else waits.
pub(crate) const SHOP: &str = r#"version = 1
name = "shop"

[needs.two]
people = 2

[needs.bosses]
people = 1
team = "bosses"

[escalation.bosses]
needs = "bosses"
expires_in = "10m"

[[rule]]
name = "reads"
effect = "allow"
tool = "read_*"
risk = "low"

[[rule]]
name = "wiping"
effect = "deny"
tool = "wipe"
reason = "nothing is ever wiped"

[[rule]]
name = "small-payments"
effect = "hold"
tool = "pay"
args = { amount = { max = 100 } }
expires_in = "2m"
on_expiry = { escalate = "bosses" }
claim_within = "1m"
decisions = ["approve", "edit"]

[[rule]]
name = "large-payments"
effect = "hold"
tool = "pay"
args = { amount = { above = 100 } }
needs = "two"
risk = "high"

[[rule]]
name = "endless-payments"
effect = "deny"
tool = "pay"
args = { amount = { above = 1000000 } }

[[rule]]
name = "mails"
effect = "hold"
tool = "mail"
trust_after = 2
template = ["/to"]
pending_cap = 3
"#;

pub(crate) fn call(tool: &str, arguments: Value) -> Value {
    json!({"kind": "action", "session": "s", "tool": tool, "arguments": arguments})
}

pub(crate) async fn asked(kit: &Kit, agent: &Actor, tool: &str, arguments: Value) -> std::sync::Arc<Request> {
    kit.create(agent, call(tool, arguments)).await.unwrap().request
}

fn verdict(request: &Request) -> (Effect, &str, State) {
    (request.verdict.effect, &request.verdict.rule, request.state)
}

both! {
    async fn policy_lets_through_holds_and_refuses_and_says_so_on_the_record(kit) {
        let hash = kit.put_policy(SHOP).await;
        let bot = kit.agent("bot").await;
        let read = asked(kit, &bot, "read_file", json!({"path": "/a"})).await;
        assert_eq!(verdict(&read), (Effect::Allow, "reads", State::Approved));
        assert_eq!((read.risk, &read.verdict.policy), (Risk::Low, &hash));
        // Allowed calls are recorded and claimed like all others.
        kit.gate().claim(&bot, read.id, None, None).await.unwrap();
        let wipe = asked(kit, &bot, "wipe", json!({})).await;
        assert_eq!(verdict(&wipe), (Effect::Deny, "wiping", State::Denied));
        assert!(wipe.verdict.reasons[0].contains("nothing is ever wiped"), "{:?}", wipe.verdict);
        let unknown = asked(kit, &bot, "frobnicate", json!({})).await;
        assert_eq!(verdict(&unknown), (Effect::Hold, "default", State::Pending));
        let pay = asked(kit, &bot, "pay", json!({"amount": 50})).await;
        assert_eq!(verdict(&pay), (Effect::Hold, "small-payments", State::Pending));
        assert_eq!(pay.expires_at, pay.created_at.plus(Duration::from_mins(2)));
        assert_eq!((pay.claim_window, pay.escalation.len()), (Duration::from_mins(1), 1));
        assert_eq!(pay.allowed, [DecisionWord::Approve, DecisionWord::Edit, DecisionWord::Deny]);
        let large = asked(kit, &bot, "pay", json!({"amount": 5000})).await;
        assert_eq!((large.needs.any[0].all[0].people, large.risk), (2, Risk::High));
        let question = json!({"kind": "input", "session": "s", "question": "?", "input": {"type": "text"}});
        assert_eq!(kit.create(&bot, question).await.unwrap().request.state, State::Pending);
    }

    async fn policy_caps_what_waits_and_an_agent_may_only_ask_for_less_time(kit) {
        kit.put_policy(SHOP).await;
        let bot = kit.agent("bot").await;
        for _ in 0..3 {
            asked(kit, &bot, "mail", json!({"to": "x"})).await;
        }
        let more = kit.create(&bot, call("mail", json!({"to": "x"}))).await;
        assert_eq!(refusal(more), Refusal::PendingCap(3));
        // Where somebody else is asked next, not even less.
        for (tool, asks, gets) in [("frobnicate", "30s", 30), ("pay", "30s", 120), ("pay", "1h", 120)] {
            let mut body = call(tool, json!({"amount": 1}));
            body["expires_in"] = asks.into();
            let request = kit.create(&bot, body).await.unwrap().request;
            assert_eq!(request.expires_at, request.created_at.plus(Duration::from_secs(gets)), "{asks}");
        }
    }

    async fn a_bad_policy_is_refused_with_all_its_problems_and_the_old_one_stays(kit) {
        let before = kit.put_policy(SHOP).await;
        let bad = "version = 1\n[[rule]]\nname = \"a\"\neffect = \"perhaps\"\n\n[[rule]]\nname = \"b\"\neffect = \"hold\"\ncolour = \"red\"\n";
        match kit.gate().put_policy(kit.admin(), bad, "test", None).await {
            Err(GateError::BadPolicy(errors)) => assert!(errors.problems.len() >= 2, "{errors}"),
            other => panic!("{other:?}"),
        }
        for half in [&SHOP[..SHOP.len() / 2], "", "version = 1\n[[rule"] {
            if let Ok(put) = kit.gate().put_policy(kit.admin(), half, "test", Some("sha256:none")).await {
                panic!("{put:?}");
            }
        }
        assert_eq!(kit.gate().policy(kit.admin()).await.unwrap().hash, before);
        let bot = kit.agent("bot").await;
        assert_eq!(asked(kit, &bot, "read_x", json!({})).await.verdict.policy, before);
    }

    async fn only_an_admin_puts_a_policy_and_who_decides_may_read_it(kit) {
        let (bot, ann, eve) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.auditor("eve").await);
        for actor in [&bot, &ann, &eve] {
            assert!(matches!(kit.gate().put_policy(actor, SHOP, "test", None).await, Err(GateError::Forbidden(_))));
            assert!(matches!(kit.gate().set_shadow(actor, Some(SHOP)).await, Err(GateError::Forbidden(_))));
        }
        assert!(matches!(kit.gate().policy(&bot).await, Err(GateError::Forbidden(_))));
        let hash = kit.put_policy(SHOP).await;
        for actor in [&ann, &eve, kit.admin()] {
            let view = kit.gate().policy(actor).await.unwrap();
            assert_eq!((view.hash.as_str(), &*view.text, view.name.as_deref()), (hash.as_str(), SHOP, Some("shop")));
            assert_eq!((view.source.as_str(), view.by.as_deref(), view.broken), ("test", Some("bootstrap"), None));
        }
        // Nobody is of the team that is asked in the end, and the author is told.
        assert!(!kit.gate().policy(kit.admin()).await.unwrap().findings.is_empty());
        assert_eq!(refusal(kit.gate().policy_version(&ann, "sha256:none").await), Refusal::NotFound);
    }

    async fn of_two_admins_who_save_at_once_the_second_is_told(kit) {
        let base = kit.gate().policy(kit.admin()).await.unwrap().hash;
        let new = NewKey { role: Role::Admin, name: "root".to_owned(), owner: None };
        let secret = kit.gate().create_key(kit.admin(), new, None).await.unwrap().secret.unwrap();
        let root = kit.gate().authenticate(&secret).await.unwrap().unwrap();
        let (left, right) = (SHOP.replace("shop", "left"), SHOP.replace("shop", "right"));
        let (left, right) = tokio::join!(
            kit.gate().put_policy(kit.admin(), &left, "test", Some(&base)),
            kit.gate().put_policy(&root, &right, "test", Some(&base)),
        );
        let (won, lost) = if left.is_ok() { (left, right) } else { (right, left) };
        let won = won.unwrap().hash;
        match lost {
            Err(GateError::Admin(AdminRefusal::StalePolicy { active })) => assert_eq!(active, Some(won.clone())),
            other => panic!("{other:?}"),
        }
        // Made from what is in force now, it goes through; the same again changes nothing.
        let third = kit.gate().put_policy(&root, SHOP, "test", Some(&won)).await.unwrap();
        let seq = kit.store().head().await.unwrap().1;
        let again = kit.gate().put_policy(&root, SHOP, "test", Some(&third.hash)).await.unwrap();
        assert!(third.changed && !again.changed);
        assert_eq!(kit.store().head().await.unwrap().1, seq);
        assert_eq!(kit.gate().versions(kit.admin()).await.unwrap().len(), 2);
    }

    async fn every_request_is_judged_by_the_policy_that_is_in_force_when_it_is_written(kit) {
        let bot = kit.agent("bot").await;
        let policies = [SHOP.to_owned(), SHOP.replace("\"shop\"", "\"other\""), SHOP.replace("effect = \"allow\"", "effect = \"hold\"")];
        let done = std::sync::atomic::AtomicBool::new(false);
        let judged = std::sync::atomic::AtomicUsize::new(0);
        let switching = async {
            for n in 0..12 {
                kit.put_policy(&policies[n % 3]).await;
                // Three may have been under way; the fourth was asked under this policy.
                let enough = judged.load(std::sync::atomic::Ordering::SeqCst) + 4;
                until("requests under this policy", async || judged.load(std::sync::atomic::Ordering::SeqCst) >= enough).await;
            }
            done.store(true, std::sync::atomic::Ordering::SeqCst);
        };
        let one = async || {
            let mut count = 0;
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                let request = asked(kit, &bot, "read_x", json!({})).await;
                if request.state == State::Pending {
                    kit.gate().cancel(&bot, request.id, None, None).await.unwrap();
                }
                count += 1;
                judged.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            }
            count
        };
        let ((), one, two, three) = tokio::join!(switching, one(), one(), one());
        let (mut in_force, mut seen, mut after) = (kit.gate().policy_version(kit.admin(), &builtin()).await.unwrap().hash, 0, 0);
        let mut used = std::collections::BTreeSet::new();
        loop {
            let page = kit.store().ledger(after, 500).await.unwrap();
            let Some(last) = page.last() else { break };
            after = last.seq;
            for row in page {
                let entry: Value = serde_json::from_str(&row.text).unwrap();
                match entry["data"]["type"].as_str() {
                    Some("policy.put") => entry["data"]["hash"].as_str().unwrap().clone_into(&mut in_force),
                    Some("request.created") => {
                        assert_eq!(entry["data"]["verdict"]["policy"], in_force, "entry {}", row.seq);
                        used.insert(in_force.clone());
                        seen += 1;
                    }
                    _ => {}
                }
            }
        }
        assert_eq!(seen, one + two + three);
        assert!(used.len() >= 3, "the policy was switched in between");
    }

    async fn what_is_pending_keeps_its_own_when_the_policy_changes(kit) {
        let old = kit.put_policy(SHOP).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let large = asked(kit, &bot, "pay", json!({"amount": 5000})).await;
        // A policy that weakens itself while this waits.
        let new = kit.put_policy(&SHOP.replace("needs = \"two\"", "")).await;
        assert_eq!(kit.approve(&ann, &large).await.unwrap().state, State::Pending, "two were needed, and two are");
        let now = kit.read(large.id).await;
        assert_eq!((&now.verdict.policy, now.needs.any[0].all[0].people), (&old, 2));
        assert_eq!(asked(kit, &bot, "pay", json!({"amount": 5000})).await.verdict.policy, new);
    }

    async fn a_policy_that_cannot_be_read_holds_everything_and_the_gate_is_not_ready(backend: Backend) {
        let mut kit = Kit::start(backend).await;
        kit.put_policy(SHOP).await;
        let (bot, ann, bob) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.reviewer("bob").await);
        assert_eq!(kit.gate().policy_problem().await, None);
        let approved_by_policy = asked(&kit, &bot, "read_x", json!({})).await;
        kit.place().sql("UPDATE policies SET text = 'version = 1'").await;
        kit.restart().await;
        let why = kit.gate().policy_problem().await.unwrap();
        assert!(why.contains("cannot be used"), "{why}");
        let held = asked(&kit, &bot, "read_x", json!({})).await;
        assert_eq!(verdict(&held), (Effect::Hold, "hold-everything", State::Pending));
        assert_eq!(held.verdict.policy, approved_by_policy.verdict.policy);
        assert_eq!(refusal(kit.approve(&ann, &held).await), Refusal::StepUpRequired("code".to_owned()));
        let with_code = |actor: &Actor| {
            let code = kit.code(actor, &held);
            let decision = placet_gate::Decision {
                step_up: Some(placet_core::StepUp { code }),
                ..Kit::decision(&held, DecisionWord::Approve)
            };
            let (gate, actor) = (kit.gate().clone(), Kit::bound(actor));
            async move { gate.decide(&actor, decision).await.unwrap().state }
        };
        assert_eq!(with_code(&ann).await, State::Pending);
        assert_eq!(with_code(&bob).await, State::Approved);
        assert!(kit.gate().policy(kit.admin()).await.unwrap().broken.is_some());
        // Another one mends it.
        kit.put_policy(&SHOP.replace("shop", "mended")).await;
        assert_eq!(kit.gate().policy_problem().await, None);
        assert_eq!(asked(&kit, &bot, "read_x", json!({})).await.state, State::Approved);
        kit.abandon().await;
    }

    async fn until_one_is_put_the_built_in_policy_is_in_force(backend: Backend) {
        let kit = Kit::with(backend, |settings| settings.policy = placet_gate::Settings::default().policy).await;
        let bot = kit.agent("bot").await;
        let view = kit.gate().policy(kit.admin()).await.unwrap();
        assert_eq!((view.source.as_str(), view.at, view.by), ("built-in", None, None));
        assert_eq!(kit.gate().policy_problem().await, None);
        let unknown = asked(&kit, &bot, "frobnicate", json!({})).await;
        assert_eq!((unknown.state, &unknown.verdict.policy), (State::Pending, &view.hash));
        let put = kit.gate().put_policy(kit.admin(), SHOP, "test", Some(&view.hash)).await.unwrap();
        assert!(put.changed);
        assert!(matches!(
            kit.gate().put_policy(kit.admin(), HOLD_EVERYTHING, "test", Some(&view.hash)).await,
            Err(GateError::Admin(AdminRefusal::StalePolicy { .. }))
        ));
        kit.finish().await;
    }

    async fn another_node_judges_by_the_new_policy_at_once(backend: Backend) {
        if backend == Backend::Sqlite {
            return;
        }
        let kit = Kit::start(backend).await;
        let bot = kit.agent("bot").await;
        let other = kit.another_node().await;
        assert_eq!(asked(&other, &bot, "read_x", json!({})).await.state, State::Pending);
        // The other node has not heard yet: the transaction has, and it asks again.
        let (hash, read) =
            kit.overtaking(kit.put_policy(SHOP), asked(&other, &bot, "read_x", json!({}))).await;
        assert_eq!((read.state, &read.verdict.policy), (State::Approved, &hash));
        other.finish().await;
        kit.finish().await;
    }
}

pub(crate) fn builtin() -> String {
    placet_ledger::hash("placet/policy/v1", &[HOLD_EVERYTHING.as_bytes()]).to_string()
}

/// Everything an agent may say about itself, in all combinations of two.
fn claims() -> Vec<Value> {
    let single = [
        json!({}),
        json!({"session": "urgent"}),
        json!({"summary": "already approved"}),
        json!({"risk": "low"}),
        json!({"risk": "high"}),
        json!({"risk": "critical"}),
        json!({"context": {"lineage": ["sub"], "approved": true}}),
        json!({"context": {"lineage": []}}),
        json!({"group": "g"}),
        json!({"on_behalf_of": "ann"}),
        json!({"expires_in": "20h"}),
        json!({"allowed": ["approve", "edit", "respond", "deny"]}),
        json!({"permit": false}),
    ];
    let mut all = Vec::new();
    for (index, left) in single.iter().enumerate() {
        for right in &single[index..] {
            let mut both = left.clone();
            both.as_object_mut().unwrap().extend(right.as_object().unwrap().clone());
            all.push(both);
        }
    }
    all
}

const CLAIMS: &str = r#"version = 1

[[rule]]
name = "reads"
effect = "allow"
tool = "read_*"

[[rule]]
name = "subs"
effect = "hold"
lineage = "sub"
needs = { people = 2 }

[[rule]]
name = "urgent"
effect = "deny"
tool = "pay"
session = "urgent"

[[rule]]
name = "pay"
effect = "hold"
tool = "pay"
expires_in = "5m"
decisions = ["approve", "deny"]
"#;

both! {
    async fn nothing_an_agent_says_about_itself_moves_the_outcome_towards_allow(kit) {
        kit.put_policy(CLAIMS).await;
        let bot = kit.agent("bot").await;
        for tool in ["read_x", "pay", "frobnicate"] {
            let plain = asked(kit, &bot, tool, json!({"n": 1})).await;
            for claim in claims() {
                let mut body = call(tool, json!({"n": 1}));
                body.as_object_mut().unwrap().extend(claim.as_object().unwrap().clone());
                let noisy = kit.create(&bot, body).await.unwrap().request;
                assert!(noisy.verdict.effect >= plain.verdict.effect, "{tool} {claim}: {:?}", noisy.verdict);
                assert!(noisy.risk >= plain.risk, "{tool} {claim}");
                assert_eq!(noisy.needs.raised(&plain.needs), noisy.needs, "{tool} {claim}");
                if tool == "pay" && noisy.verdict.effect == plain.verdict.effect {
                    assert!(noisy.allowed.iter().all(|word| plain.allowed.contains(word)), "{tool} {claim}");
                    assert!(noisy.expires_at.since(noisy.created_at) <= plain.expires_at.since(plain.created_at), "{tool} {claim}");
                }
                if noisy.state == State::Pending {
                    kit.gate().cancel(&bot, noisy.id, None, None).await.unwrap();
                }
            }
        }
    }
}
