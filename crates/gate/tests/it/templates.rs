//! Commands that are remembered by their form: the same words, other files of the agent's folder.

use std::sync::Arc;

use placet_core::{Actor, Create, DecisionWord, Effect, HOOK_PROGRAM, Kind, Request, State};
use placet_gate::{Decision, GateError, Remember};
use placet_testkit::{Kit, both};
use serde_json::{Map, Value, json};

const POLICY: &str = r#"
version = 1
[paths]
secrets = [".env"]
[[rule]]
name = "commands"
effect = "hold"
tool = "Bash"
[[rule]]
name = "secrets"
effect = "hold"
touches = "secrets"
[[rule]]
name = "wipes"
effect = "hold"
risk = "high"
tool = "Bash"
[rule.args]
command = { shell = { mention = [ { program = "rm" } ] } }
[[cosmetic]]
tool = "Bash"
arguments = ["description"]
"#;

/// A command in a folder, as the hook program sends it: where its words lead, and which of them exist.
fn bash(session: &str, folder: &str, command: &str) -> Create {
    let arguments = json!({"command": command, "description": command});
    let named = placet_policy::named("Bash", arguments.as_object().unwrap());
    let texts = named.map(|named| named.texts).unwrap_or_default();
    let path = |text: &String| {
        let path = if text.starts_with('/') { text.clone() } else { format!("{folder}/{text}") };
        (text.clone(), json!(path))
    };
    let paths: Map<String, Value> = texts.iter().map(path).collect();
    let files: Vec<&String> = texts.iter().filter(|text| text.contains('.')).collect();
    let mut create = Create::new(Kind::Action, session.to_owned());
    create.tool = Some("Bash".to_owned());
    create.arguments = arguments.as_object().cloned();
    create.context =
        json!({"cwd": folder, "paths": paths, "files": files, "git": {"repository": folder, "runs": []}})
            .as_object()
            .cloned();
    create
}

async fn asked(kit: &Kit, agent: &Actor, create: Create) -> Arc<Request> {
    kit.gate().submit_from(HOOK_PROGRAM, agent, create, None).await.unwrap().request
}

async fn state(kit: &Kit, agent: &Actor, command: &str) -> State {
    asked(kit, agent, bash("s", "/srv/app", command)).await.state
}

fn like(request: &Request, remember: Value) -> Decision {
    let remember: Remember = serde_json::from_value(remember).unwrap();
    Decision { remember: Some(remember), ..Kit::decision(request, DecisionWord::Approve) }
}

/// A shop with an agent in its folder, and a reviewer.
async fn shop(kit: &Kit) -> (Actor, Actor) {
    kit.put_policy(POLICY).await;
    let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
    kit.gate()
        .put_roots(kit.admin(), "bot", vec!["/srv/app".to_owned(), "/srv/web".to_owned()], false)
        .await
        .unwrap();
    (bot, ann)
}

fn message(error: &GateError) -> String {
    error.to_string()
}

const HERE: &str = r#"{"scope": "template", "within": "session"}"#;

fn here() -> Value {
    serde_json::from_str(HERE).unwrap()
}

use State::{Approved, Pending};

both! {
    async fn a_remembered_command_passes_with_other_files_and_with_nothing_else(kit) {
        let (bot, ann) = shop(kit).await;
        let first = asked(kit, &bot, bash("s", "/srv/app", "rustfmt --check a.rs")).await;
        kit.gate().decide(&ann, like(&first, here())).await.unwrap();
        let allowed = asked(kit, &bot, bash("s", "/srv/app", "rustfmt --check b.rs c.rs")).await;
        assert_eq!((allowed.state, allowed.verdict.effect), (Approved, Effect::Allow));
        assert_eq!(allowed.verdict.rule, format!("grant:{}", allowed.grant.unwrap()));
        assert_eq!(allowed.verdict.confine, None, "in the form that was named");
        assert_eq!(state(kit, &bot, "cd sub && rustfmt --check b.rs").await, Pending, "nobody said where that leads");
        for other in ["rustfmt b.rs", "rustfmt --check b.rs; ls", "rustfmt --check .env", "rustfmt --check ../b.rs", "shred --check b.rs",
            "rustfmt --check $X", "rustfmt --check b.rs > c.rs", "rustfmt --check new"] {
            assert_eq!(state(kit, &bot, other).await, Pending, "{other}");
        }
        kit.restart().await;
        assert_eq!(state(kit, &bot, "rustfmt --check z.rs").await, Approved);
        let grants = kit.gate().grants(&ann).await.unwrap();
        assert_eq!((grants.len(), grants[0].used), (1, 2));
        assert!(grants[0].covers.contains("in the session `s`, commands of `Bash` like `rustfmt --check FILES` in `/srv/app`"), "{}", grants[0].covers);
        assert!(kit.store().ledger(0, 1000).await.unwrap().iter().all(|row| !row.text.contains("rustfmt")), "the words are not in the ledger");
        kit.gate().revoke_grant(&ann, grants[0].grant.id).await.unwrap();
        assert_eq!(state(kit, &bot, "rustfmt --check b.rs").await, Pending);
    }

    async fn a_remembered_command_counts_in_its_session_or_in_its_folder_and_for_its_agent(kit) {
        let (bot, ann) = shop(kit).await;
        let imp = kit.agent("imp").await;
        kit.gate().put_roots(kit.admin(), "imp", vec!["/srv/app".to_owned()], false).await.unwrap();
        for (within, elsewhere) in [("session", Pending), ("project", Approved)] {
            let command = format!("{within} a.rs");
            let first = asked(kit, &bot, bash("s", "/srv/app", &command)).await;
            kit.gate().decide(&ann, like(&first, json!({"scope": "template", "within": within}))).await.unwrap();
            let other = format!("{within} b.rs");
            assert_eq!(asked(kit, &bot, bash("s", "/srv/app", &other)).await.state, Approved);
            assert_eq!(asked(kit, &bot, bash("other", "/srv/app", &other)).await.state, elsewhere, "{within}");
            assert_eq!(asked(kit, &bot, bash("s", "/srv/web", &other)).await.state, Pending, "another folder of the agent");
            assert_eq!(asked(kit, &bot, bash("s", "/etc", &other)).await.state, Pending, "no folder of the agent");
            assert_eq!(asked(kit, &imp, bash("s", "/srv/app", &other)).await.state, Pending, "another agent");
            let plain = kit.gate().submit_from("rest", &bot, bash("s", "/srv/app", &other), None).await.unwrap();
            assert_eq!(plain.request.state, Pending, "another door");
        }
        kit.gate().put_roots(kit.admin(), "bot", vec!["/srv/web".to_owned()], false).await.unwrap();
        assert_eq!(state(kit, &bot, "project b.rs").await, Pending, "the folder was taken back");
    }

    async fn what_has_no_form_is_refused_with_the_reason_and_stays_pending(kit) {
        let (bot, ann) = shop(kit).await;
        for (command, why) in [
            ("python x.py", "`python` runs what its words say"),
            ("echo $(id)", "the command is not plain"),
            ("cp a.rs /etc/x", "not known to stay in the agent's folders"),
            ("cp .env a.rs", "a rule of the policy guards"),
        ] {
            let request = asked(kit, &bot, bash("s", "/srv/app", command)).await;
            let error = kit.gate().decide(&ann, like(&request, here())).await.unwrap_err();
            assert!(message(&error).contains(why), "{command}: {error}");
            assert_eq!(kit.read(request.id).await.state, Pending, "{command}");
        }
        let request = asked(kit, &bot, bash("s", "/srv/app", "rm a.rs")).await;
        assert!(kit.gate().decide(&ann, like(&request, here())).await.is_err(), "high risk is looked at every time");
        let request = asked(kit, &bot, bash("s", "/srv/app", "ls a.rs")).await;
        for (remember, why) in [
            (json!({"scope": "template"}), "`session` or `project`"),
            (json!({"scope": "exact", "within": "session"}), "only the scope `template`"),
            (json!({"scope": "template", "within": "session", "arguments": {}}), "only a pattern"),
        ] {
            let error = kit.gate().decide(&ann, like(&request, remember)).await.unwrap_err();
            assert!(message(&error).contains(why), "{error}");
        }
    }

    async fn what_it_would_have_covered_is_counted_before_the_yes_and_nothing_is_written(kit) {
        let (bot, ann) = shop(kit).await;
        for command in ["fmt a.rs", "fmt b.rs", "ls b.rs", "fmt -x b.rs"] {
            asked(kit, &bot, bash("s", "/srv/app", command)).await;
        }
        let denied = asked(kit, &bot, bash("s", "/srv/app", "fmt c.rs")).await;
        kit.gate().decide(&ann, Kit::decision(&denied, DecisionWord::Deny)).await.unwrap();
        asked(kit, &bot, bash("other", "/srv/app", "fmt d.rs")).await;
        let request = asked(kit, &bot, bash("s", "/srv/app", "fmt z.rs")).await;
        for (within, looked_at, covered) in [("session", 5, 3), ("project", 6, 4)] {
            let preview = kit.gate().preview(&ann, like(&request, json!({"scope": "template", "within": within}))).await.unwrap();
            let would = preview.would.unwrap();
            assert_eq!((would.looked_at, would.covered, would.denied), (looked_at, covered, 1), "{within}");
            assert_eq!(would.examples.len(), 3);
            assert!(would.examples.contains(&"fmt c.rs".to_owned()) || within == "project", "{:?}", would.examples);
        }
        assert_eq!(kit.read(request.id).await.state, Pending);
        assert!(kit.gate().grants(&ann).await.unwrap().is_empty());
    }
}
