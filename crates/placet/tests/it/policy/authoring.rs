//! Checking, explaining, importing, simulating and shadowing from the command line.

use std::{io::Write as _, process::Stdio};

use placet_core::Role;
use serde_json::{Value, json};

use super::server::{BOOTSTRAP, Place, alone, hash_of, placet, policy, said};

#[test]
fn check_reports_every_problem_at_its_place_and_ends_with_2() {
    let place = Place::new();
    let file = place.file(
        "bad.toml",
        "version = 1\n[[rule]]\nname = \"a\"\nefect = \"hold\"\ntool = \"x\"\n[[rule]]\nname = \"b\"\neffect = \"hold\"\non_expiry = \"allow\"\n",
    );
    let (code, out, err) = alone(&["policy", "check", &file]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains(&format!("{file}:4:1: rule a: unknown key `efect`")), "{err}");
    assert!(err.contains(&format!("{file}:9:13: rule b: ")), "{err}");
    assert!(err.trim_end().ends_with("cannot be used: it has 3 problems"), "{err}");
    let (code, out, _) = alone(&["--json", "policy", "check", &file]);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &document["ok"], &document["problems"][1]["line"]),
        (Some(2), &json!(false), &json!(4))
    );
}

#[test]
fn check_takes_presets_files_and_standard_input_and_warns() {
    for name in ["default", "coding-agent", "payments", "database", "kubernetes"] {
        let (code, out, err) = alone(&["policy", "check", &format!("preset:{name}")]);
        assert!(code == Some(0) && out.starts_with("good: ") && out.contains("\nhash sha256:"), "{out}{err}");
    }
    let mut child = placet(&["policy", "check", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"version = 1\n[[rule]]\nname = \"all\"\neffect = \"allow\"\n")
        .unwrap();
    let (code, out, err) = said(child.wait_with_output().unwrap());
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("1 rule (1 allow, 0 hold, 0 deny)"), "{out}");
    assert!(err.contains("standard input:3:8: warning: rule all: "), "{err}");
}

#[test]
fn check_asks_a_server_about_people_when_there_is_a_key() {
    let place = Place::new();
    let file = place.file("two.toml", "version = 1\n[[rule]]\nname = \"pay\"\neffect = \"hold\"\ntool = \"pay\"\nneeds = { people = 2, team = \"finance\" }\n");
    assert_eq!(alone(&["policy", "check", &file]).0, Some(0));
    let server = place.serve(&[]);
    let ann = server.key(Role::Reviewer, "ann");
    let (code, out, err) = server.run(&ann, &["policy", "check", &file]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(
        out.starts_with("nobody can meet it: ")
            && err.contains("error: rule pay: nobody can meet these needs"),
        "{out}{err}"
    );
    let wrong = server.run("plk_reviewer_wrong", &["policy", "check", &file]);
    assert!(wrong.0 == Some(0) && wrong.2.contains("was not checked"), "{wrong:?}");
}

#[test]
fn explain_with_a_file_needs_no_server_and_shows_near_misses() {
    let place = Place::new();
    let file = place.file(
        "p.toml",
        "version = 1\n[[rule]]\nname = \"small\"\neffect = \"allow\"\ntool = \"pay\"\n[rule.args]\n\"amount\" = { max = 10 }\n[[rule]]\nname = \"bots\"\neffect = \"deny\"\nagent = \"rogue\"\n[[rule]]\nname = \"mail\"\neffect = \"deny\"\ntool = \"mail\"\n",
    );
    let explain = |agent: &str, args: &str| {
        alone(&["policy", "explain", "--file", &file, "--tool", "pay", "--args", args, "--agent", agent]).1
    };
    let passed = explain("bot", r#"{"amount":5}"#);
    assert!(passed.starts_with("allow by this policy: rule small, risk low\n"), "{passed}");
    let held = explain("bot", r#"{"amount":50}"#);
    assert!(
        held.starts_with("hold by this policy: rule default, risk medium\n")
            && held.contains("argument `amount` does not match"),
        "{held}"
    );
    assert!(held.contains("1 more rule is about something else"), "{held}");
    let unsure = explain("bot", "{}");
    assert!(unsure.contains("small  allow   error    argument `amount` could not be evaluated"), "{unsure}");
    assert!(explain("rogue", r#"{"amount":5}"#).starts_with("deny by this policy: rule bots"));
    let (_, out, _) =
        alone(&["--json", "policy", "explain", "--file", &file, "--tool", "pay", "--args", "{\"amount\":5}"]);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["explained"][0]["outcome"]["effect"], json!("allow"));
    let (code, _, err) = alone(&["policy", "explain", "--file", &file, "--tool", "no tool", "--args", "{}"]);
    assert!(code == Some(2) && err.contains("/tool"), "{err}");
    let claimed = alone(&[
        "policy",
        "explain",
        "--file",
        &file,
        "--tool",
        "pay",
        "--args",
        "{\"amount\":5}",
        "--risk",
        "critical",
    ])
    .1;
    assert!(claimed.starts_with("hold by this policy") && claimed.contains("step-up `code`"), "{claimed}");
}

#[test]
fn explain_says_why_a_recorded_request_was_held_and_what_the_policy_in_force_says_now() {
    let place = Place::new();
    let server = place.serve(&[]);
    let (agent, ann) = (server.key(Role::Agent, "bot"), server.key(Role::Reviewer, "ann"));
    let id = server.ask(&agent, "delete_files", r#"{"files":["a"]}"#)["id"].as_str().unwrap().to_owned();
    let (code, out, err) = server.run(&ann, &["policy", "explain", &id[id.len() - 8..]]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("was judged hold by rule destructive of sha256:"), "{out}");
    let plain = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plain.contains("destructive hold matched every matcher agrees"), "{out}");
    let other = place.file("other.toml", &policy("deny", "delete_files"));
    server.json(BOOTSTRAP, &["policy", "put", &other]);
    let out = server.run(&ann, &["policy", "explain", &id]).1;
    assert!(
        out.contains("deny by the policy in force: rule only")
            && out.contains("hold by the request's own policy: rule destructive"),
        "{out}"
    );
    let out = server.run(&ann, &["policy", "explain", "--tool", "delete_files", "--args", "{}"]).1;
    assert!(out.starts_with("deny by the policy in force: rule only"), "{out}");
}

/// The example of AgentKit's documentation, as AgentKit encodes it.
const AGENTKIT: &str = r#"{"alwaysApprove": ["Bash", "Write", "Delete"], "neverApprove": ["Read", "Glob", "Grep"], "trustAfterCount": 5,
    "autoApprovePatterns": ["git status", "ls -la"], "alwaysRequirePatterns": ["rm -rf", "sudo", "curl.*| sh"],
    "maxAutoApproveRisk": "low", "defaultTimeout": {"minutes": 5}}"#;

#[test]
fn agentkits_own_example_imports_with_its_meaning_and_without_its_holes() {
    let place = Place::new();
    let from = place.file("approval.json", AGENTKIT);
    let (code, out, err) = alone(&["policy", "import", "--agentkit", &from]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        err.contains("autoApprovePatterns: `git status` allows exactly this command")
            && err.contains("because "),
        "{err}"
    );
    let to = place.folder.path().join("policy.toml");
    let to = to.to_str().unwrap();
    assert_eq!(alone(&["policy", "import", "--agentkit", &from, "-o", to]).1, "");
    assert_eq!(std::fs::read_to_string(to).unwrap().trim_end(), out.trim_end());
    let (code, _, err) = alone(&["policy", "import", "--agentkit", &from, "-o", to]);
    assert!(code == Some(2) && err.contains("File exists"), "a file that is there is not overwritten: {err}");
    let effect = |tool: &str, args: Value| {
        let out = alone(&[
            "--json",
            "policy",
            "explain",
            "--file",
            to,
            "--tool",
            tool,
            "--args",
            &args.to_string(),
        ])
        .1;
        let answer: Value = serde_json::from_str(&out).unwrap();
        answer["explained"][0]["outcome"]["effect"].as_str().unwrap().to_owned()
    };
    for (tool, args, expected) in [
        ("Read", json!({"file_path": "x"}), "allow"),
        ("Write", json!({"file_path": "x"}), "hold"),
        ("Unknown", json!({}), "hold"),
        ("Bash", json!({"command": "git status"}), "allow"),
        ("Bash", json!({"command": "ls -la"}), "allow"),
        ("Bash", json!({"command": "git status; rm -rf /"}), "hold"),
        ("Bash", json!({"command": "sudo git status"}), "hold"),
        ("Bash", json!({"command": "curl x | sh"}), "hold"),
    ] {
        assert_eq!(effect(tool, args.clone()), expected, "{tool} {args}");
    }
}

#[test]
fn kagent_and_deepagents_settings_import_and_nonsense_is_refused() {
    let place = Place::new();
    let kagent = place.file(
        "agent.yaml",
        "apiVersion: kagent.dev/v1alpha2\nkind: Agent\nmetadata:\n  name: k8s\nspec:\n  declarative:\n    tools:\n    - type: McpServer\n      mcpServer:\n        name: tools\n        toolNames:\n        - k8s_get_resources\n        - k8s_delete_resource\n        requireApproval:\n        - k8s_delete_resource\n",
    );
    let (code, out, err) = alone(&["policy", "import", "--kagent", &kagent]);
    assert!(code == Some(0) && out.contains("k8s_delete_resource"), "{out}{err}");
    let deep = place.file("deep.json", r#"{"interrupt_on": {"write_file": true, "read_file": false}}"#);
    let (code, out, err) = alone(&["--json", "policy", "import", "--deepagents", &deep]);
    let imported: Value = serde_json::from_str(&out).unwrap();
    assert!(
        code == Some(0)
            && imported["text"].as_str().unwrap().contains("write_file")
            && imported["notes"].is_array(),
        "{err}"
    );
    let (code, _, err) = alone(&["policy", "import", "--agentkit", &kagent]);
    assert!(code == Some(2) && err.contains("agent.yaml: this is not JSON"), "{err}");
    assert_eq!(alone(&["policy", "import"]).0, Some(2));
}

#[test]
fn simulate_names_first_what_a_person_denied_and_its_exit_code_stops_a_pipeline() {
    let place = Place::new();
    let server = place.serve(&[]);
    let (agent, ann) = (server.key(Role::Agent, "bot"), server.key(Role::Reviewer, "ann"));
    let asked: Vec<String> = (0..4)
        .map(|number| {
            server.ask(&agent, "deploy", &format!("{{\"n\":{number}}}"))["id"].as_str().unwrap().to_owned()
        })
        .collect();
    server.json(&ann, &["deny", &asked[0], "--reason", "no"]);
    server.json(&ann, &["approve", &asked[1]]);
    server.ask(&agent, "get_weather", "{}");

    let (code, out, err) = server.run(&ann, &["policy", "simulate", "preset:default"]);
    assert!(
        code == Some(0) && out.starts_with("5 requests: 5 judged as before, 0 differently"),
        "{out}{err}"
    );

    let loose = place.file(
        "loose.toml",
        &format!(
            "{}{}",
            policy("allow", "deploy"),
            policy("allow", "get_*").replace("version = 1\n", "").replace("only", "read")
        ),
    );
    let (code, out, _) = server.run(&ann, &["policy", "simulate", &loose]);
    assert_eq!(code, Some(3), "{out}");
    let mut lines = out.lines();
    assert_eq!(lines.next(), Some("1 request that a person denied would be allowed"), "{out}");
    assert!(lines.next().unwrap().contains(&asked[0]), "{out}");
    assert!(out.contains("hold -> allow 4") && out.contains("prompts: 4 saved, 0 added"), "{out}");

    let strict = place.file("strict.toml", &policy("deny", "*"));
    assert_eq!(server.run(&ann, &["policy", "simulate", &strict]).0, Some(0));
    assert_eq!(server.run(&ann, &["policy", "simulate", &strict, "--fail-on", "loosened"]).0, Some(0));
    assert_eq!(server.run(&ann, &["policy", "simulate", &strict, "--fail-on", "any"]).0, Some(3));

    // The same without the server, beside it and after it.
    let data = place.data();
    let offline = ["--json", "policy", "simulate", &loose, "--data", data.to_str().unwrap()];
    let (code, beside, err) = alone(&offline);
    assert_eq!(code, Some(3), "{err}");
    let report: Value = serde_json::from_str(&beside).unwrap();
    assert_eq!((&report["total"], &report["denied_now_allowed"][0]["id"]), (&json!(5), &json!(asked[0])));
    let (_, over_http, _) = server.run(&ann, &["--json", "policy", "simulate", &loose]);
    assert_eq!(serde_json::from_str::<Value>(&over_http).unwrap(), report);
    let entries = server.json(&ann, &["inbox"])["items"].as_array().unwrap().len();
    assert_eq!(entries, 2, "nothing changed by it");
    drop(server);
    assert_eq!(alone(&offline), (Some(3), beside, String::new()));
    let (code, _, err) = alone(&["policy", "simulate", &loose, "--data", "/nowhere/data"]);
    assert!(code == Some(1) && err.contains("there is no database"), "{err}");
}

#[test]
fn a_candidate_in_the_shadow_counts_and_has_no_effect() {
    let place = Place::new();
    let server = place.serve(&[]);
    let (agent, ann) = (server.key(Role::Agent, "bot"), server.key(Role::Reviewer, "ann"));
    let loose = place.file("loose.toml", &policy("allow", "deploy"));
    assert!(server.run(&ann, &["policy", "shadow"]).1.starts_with("there is no candidate"));
    assert_eq!(server.run(&ann, &["policy", "shadow", &loose]).0, Some(1), "a reviewer cannot set one");
    let (code, out, err) = server.run(BOOTSTRAP, &["policy", "shadow", &loose]);
    assert!(code == Some(0) && out.starts_with(&hash_of(&loose)), "{out}{err}");
    assert_eq!(server.ask(&agent, "deploy", "{}")["state"], json!("pending"));
    let out = server.run(&ann, &["policy", "shadow"]).1;
    assert!(out.contains("tried live") && out.contains("hold -> allow 1"), "{out}");
    server.json(BOOTSTRAP, &["policy", "shadow", "--off"]);
    assert_eq!(server.json(&ann, &["policy", "shadow"]), json!({ "shadow": null }));
}

#[test]
fn show_prints_the_text_alone_so_that_it_can_be_edited_and_put_again() {
    let place = Place::new();
    let server = place.serve(&["--policy", "preset:payments"]);
    let (code, out, err) = server.run(BOOTSTRAP, &["policy", "show"]);
    assert_eq!(code, Some(0));
    assert!(err.contains("`payments`, sha256:") && err.contains("from preset:payments"), "{err}");
    let file = place.file("copy.toml", &out);
    assert_eq!(hash_of(&file), server.in_force());
    let (code, _, err) = server.run(BOOTSTRAP, &["policy", "show", "--hash", "nonsense"]);
    assert!(code == Some(2) && err.contains("placet policy list"), "{err}");
    assert_eq!(
        server.run(BOOTSTRAP, &["policy", "put", &file]).1,
        format!("{} was in force already\n", server.in_force())
    );
    let (_, presets, _) = alone(&["policy", "presets"]);
    assert_eq!(presets.matches("preset:").count(), 5 + 3, "{presets}");
    let (_, switched, _) = alone(&["policy", "presets", "coding-agent+network-reads"]);
    assert!(switched.contains("\nswitches = [\"network-reads\"]\n"), "{switched}");
    let folder = std::path::Path::new(&file).parent().expect("a folder").to_str().expect("a plain path");
    let github = |file: &str| {
        let call = ["--tool", "Bash", "--args", r#"{"command":"gh pr view 1"}"#, "--in", folder];
        alone(&[&["policy", "explain", "--file", file], &call[..]].concat())
    };
    assert!(github("preset:coding-agent").1.starts_with("hold by this policy: rule github-commands"));
    assert!(
        github("preset:coding-agent+network-reads")
            .1
            .starts_with("allow by this policy: rule looking-commands")
    );
    let (code, _, err) = github("preset:coding-agent+network-read");
    assert!(
        code != Some(0)
            && err.contains("there is no switch `network-read`")
            && err.contains("`network-reads`"),
        "{err}"
    );
    assert_eq!(alone(&["policy", "presets", "payments"]).1, out);
}
