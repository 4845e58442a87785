//! Folders that are open to agents: calls in them can pass, but only if the hook program says where they are.

use std::sync::Arc;

use placet_core::{Actor, AdminRefusal, Create, HOOK_PROGRAM, Kind, Refusal, Request, State};
use placet_gate::GateError;
use placet_store::{Store, backup, restore};
use placet_testkit::{Backend, Kit, Place, both};
use serde_json::{Value, json};

use crate::refusal;

const POLICY: &str = r#"
version = 1
[[rule]]
name = "reading"
effect = "allow"
tool = "Read"
under = "@workspace"
[[rule]]
name = "writing"
effect = "allow"
tool = "Write"
[rule.args]
file_path = { under = "@workspace" }
[[rule]]
name = "elsewhere"
effect = "deny"
tool = "Edit"
[rule.args]
file_path = { not = { under = "@workspace" } }
"#;

fn call(tool: &str, path: &str, leads_to: &str) -> Create {
    let mut create = Create::new(Kind::Action, "s".to_owned());
    create.tool = Some(tool.to_owned());
    create.arguments = json!({ "file_path": path }).as_object().cloned();
    create.context = json!({ "cwd": "/srv/app", "paths": { path: leads_to } }).as_object().cloned();
    create
}

async fn asked(kit: &Kit, source: &str, agent: &Actor, create: Create) -> Arc<Request> {
    kit.gate().submit_from(source, agent, create, None).await.unwrap().request
}

async fn passes(kit: &Kit, source: &str, agent: &Actor, create: Create) -> bool {
    asked(kit, source, agent, create).await.state == State::Approved
}

async fn open(kit: &Kit, roots: &[&str]) -> Vec<String> {
    let roots = roots.iter().map(|root| (*root).to_owned()).collect();
    kit.gate().put_roots(kit.admin(), "bot", roots, false).await.unwrap().roots
}

both! {
    async fn what_happens_in_an_open_folder_passes_from_the_hook_program_alone(kit) {
        kit.put_policy(POLICY).await;
        let (bot, imp) = (kit.agent("bot").await, kit.agent("imp").await);
        let inside = |tool| call(tool, "x", "/srv/app/x");
        assert!(!passes(kit, HOOK_PROGRAM, &bot, inside("Read")).await, "no folder is open yet");
        open(kit, &["/srv/app"]).await;
        for tool in ["Read", "Write"] {
            assert!(passes(kit, HOOK_PROGRAM, &bot, inside(tool)).await, "{tool}");
            assert!(!passes(kit, HOOK_PROGRAM, &bot, call(tool, "x", "/srv/application/x")).await, "{tool}");
            assert!(!passes(kit, HOOK_PROGRAM, &bot, call(tool, "y", "relative")).await, "{tool}");
            assert!(!passes(kit, HOOK_PROGRAM, &imp, inside(tool)).await, "{tool}: the folder of another agent");
            for door in ["rest", "hook", "events", "a2a/kagent/k8s", "hook-program2"] {
                assert!(!passes(kit, door, &bot, inside(tool)).await, "{tool} over {door}");
            }
            let mut unresolved = inside(tool);
            unresolved.context = json!({ "cwd": "/srv/app" }).as_object().cloned();
            assert!(!passes(kit, HOOK_PROGRAM, &bot, unresolved).await, "{tool}");
        }
        let mut elsewhere = inside("Read");
        elsewhere.context = json!({ "cwd": "/tmp", "paths": { "x": "/srv/app/x" } }).as_object().cloned();
        assert!(!passes(kit, HOOK_PROGRAM, &bot, elsewhere).await, "the folder it runs in counts too");
    }

    async fn a_closed_folder_counts_no_more_and_all_of_it_is_on_record(kit) {
        kit.put_policy(POLICY).await;
        let bot = kit.agent("bot").await;
        let inside = || call("Read", "x", "/srv/app/x");
        assert_eq!(open(kit, &["/srv/app/", "/srv/app"]).await, ["/srv/app"]);
        kit.restart().await;
        assert!(passes(kit, HOOK_PROGRAM, &bot, inside()).await, "after a restart");
        let agents = kit.gate().agents(kit.admin()).await.unwrap();
        assert_eq!(agents.iter().find(|agent| agent.name == "bot").unwrap().roots, ["/srv/app"]);
        open(kit, &[]).await;
        assert!(!passes(kit, HOOK_PROGRAM, &bot, inside()).await);
        let names: Vec<_> = kit.store().news(0, 200).await.unwrap().iter().map(|news| news.name).collect();
        assert_eq!(names.iter().filter(|name| **name == "agent.roots_put").count(), 2);
    }

    async fn only_an_admin_opens_folders_and_not_every_folder(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let put = async |actor: &Actor, agent: &str, root: &str| {
            kit.gate().put_roots(actor, agent, vec![root.to_owned()], false).await
        };
        for actor in [&bot, &ann] {
            assert!(matches!(put(actor, "bot", "/srv/app").await, Err(GateError::Forbidden(_))));
        }
        let refused = |result| matches!(result, Err(GateError::Admin(AdminRefusal::BadRoot { .. })));
        for root in ["/", "/home/ann", "relative", "/srv/../etc", "/etc"] {
            assert!(refused(put(kit.admin(), "bot", root).await), "{root}");
        }
        let unknown = put(kit.admin(), "nobody", "/srv/app").await;
        assert!(matches!(unknown, Err(GateError::Admin(AdminRefusal::NoAgent))));
        let added = kit.gate().put_roots(kit.admin(), "bot", vec!["/srv/b".to_owned()], true).await.unwrap();
        let added = (added, kit.gate().put_roots(kit.admin(), "bot", vec!["/srv/a".to_owned()], true).await.unwrap());
        assert_eq!((added.0.roots.len(), added.1.roots), (1, vec!["/srv/a".to_owned(), "/srv/b".to_owned()]));
        assert!(kit.gate().agents(&bot).await.is_err());
    }

    async fn other_arguments_are_not_known_to_happen_where_the_first_ones_did(kit) {
        kit.put_policy(POLICY).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        open(kit, &["/srv/app"]).await;
        let held = asked(kit, HOOK_PROGRAM, &bot, call("Edit", "x", "/srv/app/x")).await;
        assert_eq!(held.state, State::Pending);
        let edited = kit.edit(&ann, &held, json!({ "file_path": "x", "more": 1 })).await;
        assert!(matches!(refusal(edited), Refusal::PolicyDenied { .. }));
    }
}

async fn restored(backend: Backend) {
    let kit = Kit::start(backend).await;
    kit.agent("bot").await;
    open(&kit, &["/srv/app"]).await;
    assert!(kit.gate().put_confine(kit.admin(), "bot", true).await.unwrap().confine);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    backup(&kit.place().location(), &file).await.unwrap();
    let place = Place::new(backend).await;
    restore(&file, &place.location(), kit.clock().clone(), |_| {}).await.unwrap();
    place.verify().await.unwrap();
    let store = Store::open(place.options(kit.clock().clone())).await.unwrap();
    assert_eq!(store.directory().roots("bot"), [""; 0]);
    assert!(!store.directory().confines("bot", HOOK_PROGRAM), "the mark may have been taken away since");
    store.close().await;
    assert_eq!(kit.gate().agents(kit.admin()).await.unwrap()[0].roots, ["/srv/app"], "where it was opened");
    kit.finish().await;
}

#[test]
fn a_restore_closes_every_folder_and_takes_every_mark() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        placet_testkit::block_on(restored(backend));
    }
}

#[test]
fn a_folder_that_is_closed_is_closed_on_every_node_at_once() {
    placet_testkit::block_on(async {
        let one = Kit::start(Backend::Postgres).await;
        one.put_policy(POLICY).await;
        let bot = one.agent("bot").await;
        open(&one, &["/srv/app"]).await;
        let other = one.another_node().await;
        let inside = || call("Read", "x", "/srv/app/x");
        assert!(passes(&other, HOOK_PROGRAM, &bot, inside()).await);
        let (_, passed) = one.overtaking(open(&one, &[]), passes(&other, HOOK_PROGRAM, &bot, inside())).await;
        assert!(!passed);
        other.abandon().await;
        one.finish().await;
    });
}

#[test]
fn a_rule_that_asks_for_the_workspace_is_an_allow_rule() {
    for (rule, why) in [
        ("effect = 'hold'\nunder = '@workspace'", "lets nothing pass"),
        ("effect = 'allow'\nunder = '/srv'", "@workspace"),
        ("effect = 'allow'\ntouches = 'secrets'", "no place in an allow rule"),
        ("effect = 'hold'\ntouches = 'none'", "no list of files"),
    ] {
        let text = format!("version = 1\n[paths]\nsecrets = ['.env']\n[[rule]]\nname = 'a'\n{rule}\n");
        let said: Value = json!(placet_policy::Policy::parse(&text).unwrap_err().to_string());
        assert!(said.as_str().unwrap().contains(why), "{said}");
    }
}
