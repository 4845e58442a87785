//! Reports of agents: stored, shown, recorded, and usable by policy for a deny.

use placet_core::{Actor, AdminRefusal, Coverage, Covered, Create, Kind, Part, Seen, State};
use placet_gate::GateError;
use placet_testkit::{Backend, Kit, both};
use serde_json::json;

const POLICY: &str = r#"
version = 1
[[rule]]
name = "looking"
effect = "allow"
tool = "look"
[[rule]]
name = "out-of-sight"
effect = "deny"
coverage = ["partial", "unknown"]
"#;

fn report(program: &str, status: Seen) -> Coverage {
    let part = |name: &str, status| Part {
        name: name.to_owned(),
        kind: "tool".to_owned(),
        agent: program.to_owned(),
        status,
        why: "because".to_owned(),
    };
    Coverage {
        framework: "google-adk".to_owned(),
        program: program.to_owned(),
        parts: vec![part("look", Seen::Gated), part("search", status)],
    }
}

async fn looking(kit: &Kit, agent: &Actor) -> State {
    let mut create = Create::new(Kind::Action, "s".to_owned());
    create.tool = Some("look".to_owned());
    create.arguments = json!({}).as_object().cloned();
    kit.gate().submit(agent, create, None).await.unwrap().request.state
}

async fn entries(kit: &Kit, name: &str) -> usize {
    kit.store().news(0, 200).await.unwrap().iter().filter(|news| news.name == name).count()
}

both! {
    async fn policy_refuses_an_agent_that_can_do_something_out_of_sight(kit) {
        kit.put_policy(POLICY).await;
        let (bot, imp) = (kit.agent("bot").await, kit.agent("imp").await);
        assert_eq!(looking(kit, &bot).await, State::Denied, "it has not reported");
        kit.gate().put_coverage(&bot, report("desk", Seen::Unasked)).await.unwrap();
        assert_eq!(looking(kit, &bot).await, State::Approved);
        assert_eq!(looking(kit, &imp).await, State::Denied, "the report of another");
        let put = kit.gate().put_coverage(&bot, report("shop", Seen::Uncovered)).await.unwrap();
        assert_eq!((put.covered, put.coverage.len()), (Covered::Partial, 2));
        assert_eq!(looking(kit, &bot).await, State::Denied);
        kit.restart().await;
        assert_eq!(looking(kit, &bot).await, State::Denied, "after a restart");
        kit.gate().put_coverage(&bot, report("shop", Seen::Gated)).await.unwrap();
        assert_eq!(looking(kit, &bot).await, State::Approved);
        kit.gate().forget_coverage(kit.admin(), "bot").await.unwrap();
        assert_eq!(looking(kit, &bot).await, State::Denied);
    }

    async fn what_changes_is_on_record_and_what_does_not_is_not(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        for _ in 0..3 {
            kit.gate().put_coverage(&bot, report("desk", Seen::Gated)).await.unwrap();
        }
        assert_eq!(entries(kit, "agent.coverage_put").await, 1);
        kit.gate().put_coverage(&bot, report("desk", Seen::Uncovered)).await.unwrap();
        assert_eq!(entries(kit, "agent.coverage_put").await, 2);
        let agents = kit.gate().agents(&ann).await.unwrap();
        let seen = agents.iter().find(|agent| agent.name == "bot").unwrap();
        assert_eq!(seen.coverage, [report("desk", Seen::Uncovered)]);
    }

    async fn an_agent_reports_of_itself_and_only_an_admin_forgets(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        for actor in [&ann, kit.admin()] {
            let put = kit.gate().put_coverage(actor, report("desk", Seen::Gated)).await;
            assert!(matches!(put, Err(GateError::Forbidden(_))));
        }
        for actor in [&ann, &bot] {
            let forgotten = kit.gate().forget_coverage(actor, "bot").await;
            assert!(matches!(forgotten, Err(GateError::Forbidden(_))));
        }
        let unknown = kit.gate().forget_coverage(kit.admin(), "nobody").await;
        assert!(matches!(unknown, Err(GateError::Admin(AdminRefusal::NoAgent))));
        let bad = kit.gate().put_coverage(&bot, report("a\u{202e}b", Seen::Gated)).await;
        assert!(matches!(bad, Err(GateError::Admin(AdminRefusal::BadReport { .. }))));
        assert_eq!(entries(kit, "agent.coverage_put").await, 0);
    }
}

#[test]
fn a_report_counts_on_every_node_at_once() {
    placet_testkit::block_on(async {
        let one = Kit::start(Backend::Postgres).await;
        one.put_policy(POLICY).await;
        let bot = one.agent("bot").await;
        one.gate().put_coverage(&bot, report("desk", Seen::Gated)).await.unwrap();
        let other = one.another_node().await;
        assert_eq!(looking(&other, &bot).await, State::Approved);
        let report = one.gate().put_coverage(&bot, report("desk", Seen::Uncovered));
        let (reported, looked) = one.overtaking(report, looking(&other, &bot)).await;
        reported.unwrap();
        assert_eq!(looked, State::Denied);
        other.abandon().await;
        one.finish().await;
    });
}
