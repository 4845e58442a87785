//! Calls that are allowed confined: only for the hook program of a marked agent.

use std::sync::Arc;

use placet_core::{
    Actor, AdminRefusal, Confine, Create, Effect, HOOK_PROGRAM, Kind, Refusal, ReportStatus, Request, State,
};
use placet_gate::{GateError, RunReport};
use placet_testkit::{Backend, Kit, both};
use serde_json::{Value, json};

use crate::refusal;

const POLICY: &str = r#"
version = 1
[[rule]]
name = "tests"
effect = "allow"
confine = "workspace"
tool = "Bash"
[rule.args]
command = { in = ["cargo test", "git status"] }
[[rule]]
name = "looking"
effect = "allow"
tool = "Bash"
[rule.args]
command = { in = ["git status", "ls"] }
"#;

/// A command, and the hook program's statement about itself.
fn call(command: &str, confines: Value) -> Create {
    let mut create = Create::new(Kind::Action, "s".to_owned());
    create.tool = Some("Bash".to_owned());
    create.arguments = json!({ "command": command }).as_object().cloned();
    create.context = json!({ "cwd": "/srv/app", "confines": confines }).as_object().cloned();
    create
}

fn tests() -> Create {
    call("cargo test", json!("workspace"))
}

async fn asked(kit: &Kit, source: &str, agent: &Actor, create: Create) -> Arc<Request> {
    kit.gate().submit_from(source, agent, create, None).await.unwrap().request
}

async fn mark(kit: &Kit, agent: &str, confine: bool) -> bool {
    kit.gate().put_confine(kit.admin(), agent, confine).await.unwrap().confine
}

fn said(request: &Arc<Request>) -> (State, Effect, Option<Confine>) {
    (request.state, request.verdict.effect, request.verdict.confine)
}

const HELD: (State, Effect, Option<Confine>) = (State::Pending, Effect::Hold, None);
const CONFINED: (State, Effect, Option<Confine>) = (State::Approved, Effect::Allow, Some(Confine::Workspace));

both! {
    async fn what_is_allowed_confined_passes_for_the_marked_hook_program_alone(kit) {
        kit.put_policy(POLICY).await;
        let (bot, imp) = (kit.agent("bot").await, kit.agent("imp").await);
        let unmarked = asked(kit, HOOK_PROGRAM, &bot, tests()).await;
        assert_eq!(said(&unmarked), HELD);
        assert!(unmarked.verdict.reasons[0].contains("placet agent confine bot"), "{:?}", unmarked.verdict);
        assert!(mark(kit, "bot", true).await);
        assert_eq!(said(&asked(kit, HOOK_PROGRAM, &bot, tests()).await), CONFINED);
        assert_eq!(said(&asked(kit, HOOK_PROGRAM, &imp, tests()).await), HELD, "another agent");
        for door in ["rest", "hook", "events", "a2a/kagent/k8s", "hook-program2"] {
            assert_eq!(said(&asked(kit, door, &bot, tests()).await), HELD, "over {door}");
        }
        for word in [json!(null), json!("machine"), json!(true), json!(["workspace"])] {
            let held = asked(kit, HOOK_PROGRAM, &bot, call("cargo test", word.clone())).await;
            assert_eq!(said(&held), HELD, "a hook program that says it can do {word}");
        }
        kit.restart().await;
        assert_eq!(said(&asked(kit, HOOK_PROGRAM, &bot, tests()).await), CONFINED, "after a restart");
        assert!(!mark(kit, "bot", false).await);
        assert_eq!(said(&asked(kit, HOOK_PROGRAM, &bot, tests()).await), HELD);
    }

    async fn of_two_rules_that_allow_it_the_confined_one_wins(kit) {
        kit.put_policy(POLICY).await;
        let bot = kit.agent("bot").await;
        let both = || call("git status", json!("workspace"));
        assert_eq!(said(&asked(kit, "rest", &bot, both()).await), HELD);
        mark(kit, "bot", true).await;
        assert_eq!(said(&asked(kit, HOOK_PROGRAM, &bot, both()).await), CONFINED);
        let plain = asked(kit, HOOK_PROGRAM, &bot, call("ls", json!("workspace"))).await;
        assert_eq!(said(&plain), (State::Approved, Effect::Allow, None));
    }

    async fn only_the_hook_program_gets_the_permit_of_what_was_allowed_confined(kit) {
        kit.put_policy(POLICY).await;
        let bot = kit.agent("bot").await;
        mark(kit, "bot", true).await;
        let request = asked(kit, HOOK_PROGRAM, &bot, tests()).await;
        let claimed = kit.gate().claim(&bot, request.id, None, None).await;
        assert_eq!(refusal(claimed), Refusal::Unconfined);
        let claimant = Some("a claimant that comes again");
        let claim = async || kit.gate().claim_through(HOOK_PROGRAM, &bot, request.id, claimant, None).await;
        let claimed = claim().await.unwrap();
        assert_eq!(claimed.request.verdict.confine, Some(Confine::Workspace));
        // The mark was removed before the run: a claimant that lost the answer does not get it again.
        mark(kit, "bot", false).await;
        assert_eq!(refusal(claim().await), Refusal::Unconfined);
        mark(kit, "bot", true).await;
        assert_eq!(claim().await.unwrap().permit, claimed.permit);
    }

    async fn the_ledger_a_simulation_and_an_explanation_know_what_was_confined(kit) {
        kit.put_policy(POLICY).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        mark(kit, "bot", true).await;
        let request = asked(kit, HOOK_PROGRAM, &bot, tests()).await;
        let (_, explained) = kit.gate().explain(&ann, request.id).await.unwrap();
        assert_eq!(explained[0].outcome.confine, Some(Confine::Workspace));
        let loose = POLICY.replace("confine = \"workspace\"\n", "");
        let report = kit.gate().simulate(&ann, &loose, |_| {}).await.unwrap();
        let change = &report.changes[0];
        assert_eq!((change.from, change.from_confine), (Effect::Allow, Some(Confine::Workspace)));
        assert_eq!((change.to, change.to_confine, change.count), (Effect::Allow, None, 1));
        assert_eq!((report.prompts_saved, report.prompts_added), (0, 0));
        let rows = kit.store().ledger(0, 1000).await.unwrap();
        assert!(rows.iter().any(|row| row.text.contains(r#""confine":"workspace""#)));
        assert_eq!(rows.iter().filter(|row| row.text.contains("agent.confine_put")).count(), 1);
        mark(kit, "bot", true).await;
        assert_eq!(kit.store().ledger(0, 1000).await.unwrap().len(), rows.len(), "the same once more");
        mark(kit, "bot", false).await;
        let (_, explained) = kit.gate().explain(&ann, request.id).await.unwrap();
        assert_eq!((explained[0].outcome.effect, explained[0].outcome.confine), (Effect::Hold, None));
    }

    async fn a_confined_call_that_ran_free_is_an_alarm_and_ends_the_mark(kit) {
        kit.put_policy(POLICY).await;
        let bot = kit.agent("bot").await;
        mark(kit, "bot", true).await;
        let run = async || {
            let request = asked(kit, HOOK_PROGRAM, &bot, tests()).await;
            let claimed = kit.gate().claim_through(HOOK_PROGRAM, &bot, request.id, None, None).await.unwrap();
            (request.id, claimed.permit)
        };
        let report = async |(id, permit): (_, String), unconfined| {
            let ran = RunReport { status: ReportStatus::Succeeded, result_digest: None, note: None, unconfined };
            kit.gate().report_run(&bot, id, &permit, ran, None).await.unwrap().state
        };
        assert_eq!(report(run().await, false).await, State::Succeeded);
        assert_eq!(said(&asked(kit, HOOK_PROGRAM, &bot, tests()).await), CONFINED);
        // It has no meaning for a call that was never to run confined.
        let free = asked(kit, HOOK_PROGRAM, &bot, call("ls", json!("workspace"))).await;
        let claimed = kit.gate().claim_through(HOOK_PROGRAM, &bot, free.id, None, None).await.unwrap();
        report((free.id, claimed.permit), true).await;
        assert_eq!(said(&asked(kit, HOOK_PROGRAM, &bot, tests()).await), CONFINED);

        let escaped = run().await;
        let id = escaped.0;
        assert_eq!(report(escaped, true).await, State::Succeeded, "what happened is on record");
        let entry = |row: &&placet_store::LedgerRow| row.text.contains("agent.confine_put") && row.text.contains(&id.to_string());
        assert_eq!(kit.store().ledger(0, 1000).await.unwrap().iter().filter(entry).count(), 1);
        assert_eq!(said(&asked(kit, HOOK_PROGRAM, &bot, tests()).await), HELD, "held from then on");
        kit.restart().await;
        assert_eq!(said(&asked(kit, HOOK_PROGRAM, &bot, tests()).await), HELD);
    }

    async fn only_an_admin_marks_an_agent(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        for actor in [&bot, &ann] {
            let put = kit.gate().put_confine(actor, "bot", true).await;
            assert!(matches!(put, Err(GateError::Forbidden(_))));
        }
        let unknown = kit.gate().put_confine(kit.admin(), "nobody", true).await;
        assert!(matches!(unknown, Err(GateError::Admin(AdminRefusal::NoAgent))));
    }
}

#[test]
fn a_mark_that_is_taken_away_is_gone_on_every_node_at_once() {
    placet_testkit::block_on(async {
        let one = Kit::start(Backend::Postgres).await;
        one.put_policy(POLICY).await;
        let bot = one.agent("bot").await;
        mark(&one, "bot", true).await;
        let other = one.another_node().await;
        assert_eq!(said(&asked(&other, HOOK_PROGRAM, &bot, tests()).await), CONFINED);
        let (_, request) =
            one.overtaking(mark(&one, "bot", false), asked(&other, HOOK_PROGRAM, &bot, tests())).await;
        assert_eq!(said(&request), HELD);
        other.abandon().await;
        one.finish().await;
    });
}

#[test]
fn a_rule_confines_in_a_known_word_and_only_what_it_allows() {
    for (rule, why) in [
        ("effect = 'hold'\nconfine = 'workspace'", "lets nothing pass"),
        ("effect = 'deny'\nconfine = 'workspace'", "lets nothing pass"),
        ("effect = 'allow'\nconfine = 'machine'", "workspace"),
        ("effect = 'allow'\nconfine = true", "confine"),
    ] {
        let text = format!("version = 1\n[[rule]]\nname = 'a'\ntool = 'Bash'\n{rule}\n");
        let errors = placet_policy::Policy::parse(&text).unwrap_err().to_string();
        assert!(errors.contains(why), "{errors}");
    }
}
