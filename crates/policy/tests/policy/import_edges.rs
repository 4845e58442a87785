//! Imports at their edges: every unit, every decision, every limit.

use placet_core::Risk;
use placet_policy::{Imported, Policy, agentkit, deepagents, kagent};
use serde_json::{Value, json};

use crate::support::{ALLOW, HOLD, ask};

fn parsed(imported: &Imported) -> Policy {
    Policy::parse(&imported.text).unwrap_or_else(|errors| panic!("{errors}\n{}", imported.text))
}

fn noted(imported: &Imported, part: &str) -> bool {
    imported.notes.iter().any(|note| note.message.contains(part))
}

fn from_agentkit(settings: Value) -> Imported {
    agentkit(&settings.to_string()).unwrap()
}

#[test]
fn timeouts_of_agentkit_have_one_unit_and_are_bounded() {
    let seconds = |timeout: Value| {
        let imported = from_agentkit(json!({"alwaysApprove": ["t"], "defaultTimeout": timeout}));
        let expires_in = ask("t", json!({})).under(&parsed(&imported)).expires_in.unwrap();
        (expires_in.as_secs(), noted(&imported, "became"))
    };
    assert_eq!(seconds(json!({"seconds": 90})), (90, false));
    assert_eq!(seconds(json!({"minutes": 5})), (300, false));
    assert_eq!(seconds(json!({"hours": 2})), (7_200, false));
    assert_eq!(seconds(json!({"days": 3})), (259_200, false));
    assert_eq!(seconds(json!(1)), (1, false));
    assert_eq!(seconds(json!(0)), (1, true));
    assert_eq!(seconds(json!({"days": 30})), (2_592_000, false));
    assert_eq!(seconds(json!({"days": 31})), (2_592_000, true));
    for bad in [json!({"minutes": 5, "seconds": 1}), json!({}), json!({"weeks": 1}), json!(true)] {
        assert!(agentkit(&json!({"defaultTimeout": bad}).to_string()).is_err(), "{bad}");
    }
}

#[test]
fn only_one_plain_command_is_taken_over_from_a_pattern_of_agentkit() {
    let imported = from_agentkit(json!({
        "alwaysApprove": ["Bash"],
        "autoApprovePatterns": ["git status", "ls > out", "ls 'a*'", "ls; pwd", ""]
    }));
    for left in ["ls > out", "ls 'a*'", "ls; pwd"] {
        assert!(noted(&imported, &format!("`{left}` was left out")), "{left}: {:?}", imported.notes);
    }
    assert!(noted(&imported, "`git status` allows exactly this command"));
    let policy = parsed(&imported);
    let said = |command: &str| ask("Bash", json!({ "command": command })).under(&policy).effect;
    assert_eq!(said("git status"), ALLOW);
    for command in ["ls > out", "ls", "ls 'a*'", "pwd"] {
        assert_eq!(said(command), HOLD, "{command}");
    }
}

#[test]
fn a_pattern_of_agentkit_that_is_no_expression_is_looked_for_as_it_is() {
    let imported = from_agentkit(json!({"alwaysApprove": ["Bash"], "alwaysRequirePatterns": ["a(b.c"]}));
    let policy = parsed(&imported);
    let risk = |command: &str| ask("Bash", json!({ "command": command })).under(&policy).risk;
    assert_eq!(risk("echo 'xa(b.cx'"), Risk::High);
    assert_eq!(risk("echo 'xa(bxcx'"), Risk::Medium);
    assert_eq!(risk("echo xyzzy"), Risk::Medium);
}

#[test]
fn a_pattern_of_agentkit_names_a_program_only_where_it_begins_with_a_whole_one() {
    let programs = |pattern: &str| {
        let imported = from_agentkit(json!({"alwaysApprove": ["Bash"], "alwaysRequirePatterns": [pattern]}));
        imported.text.contains("always-require-programs")
    };
    for pattern in ["rm", "rm -rf", "^sudo", "curl.*| sh", r"apt-get\s"] {
        assert!(programs(pattern), "{pattern}");
    }
    for pattern in ["9lives", "9lives -x", "rm;", "rm(", "-rf", ".*"] {
        assert!(!programs(pattern), "{pattern}");
    }
}

#[test]
fn decisions_of_deepagents_keep_their_meaning() {
    let decisions = |words: Value| {
        let imported = deepagents(&json!({"t": {"allowed_decisions": words}}).to_string()).unwrap();
        serde_json::to_value(ask("t", json!({})).under(&parsed(&imported))).unwrap()["decisions"].clone()
    };
    assert_eq!(decisions(json!(["approve"])), json!(["approve", "deny"]));
    assert_eq!(decisions(json!(["accept"])), json!(["approve", "deny"]));
    assert_eq!(decisions(json!(["edit"])), decisions(json!(["reject", "edit", "edit"])));
    assert!(decisions(json!(["edit"])).as_array().unwrap().contains(&json!("edit")));
    for word in ["respond", "response"] {
        assert!(decisions(json!([word])).as_array().unwrap().contains(&json!("respond")), "{word}");
    }
    for word in ["reject", "ignore", "deny"] {
        assert_eq!(decisions(json!([word])), json!(["deny"]), "{word}");
    }
}

#[test]
fn a_sub_agent_of_deepagents_has_a_name_of_at_most_200_letters() {
    let read = |length: usize| {
        let name = "n".repeat(length);
        deepagents(&json!({"subagents": [{"name": name, "interrupt_on": {"t": true}}]}).to_string())
    };
    let imported = read(200).unwrap();
    let mut call = ask("t", json!({}));
    call.context = json!({"lineage": ["n".repeat(200)]});
    let rule = call.under(&parsed(&imported)).rule;
    assert_eq!(rule, format!("interrupt-1-{}", "n".repeat(60)));
    for length in [0, 201, 202] {
        assert!(read(length).unwrap_err().to_string().contains("cannot name a sub-agent"), "{length}");
    }
}

#[test]
fn servers_of_kagent_are_known_by_any_of_their_keys() {
    let allowed = |server: Value| {
        let imported = kagent(&json!({"spec": {"tools": [server]}}).to_string()).unwrap();
        let allowed = ask("a", json!({})).under(&parsed(&imported)).effect == ALLOW;
        (allowed, noted(&imported, "is not among the tools of its server"))
    };
    assert_eq!(allowed(json!({"toolNames": ["a", "b"]})), (true, false));
    assert_eq!(allowed(json!({"params": {}, "tools": ["a"]})), (true, false));
    assert_eq!(allowed(json!({"tools": ["a"], "requireApproval": []})), (true, false));
    assert_eq!(allowed(json!({"toolNames": ["a", "b"], "requireApproval": null})), (true, false));
    assert_eq!(allowed(json!({"toolNames": ["a", "b"], "requireApproval": ["a"]})), (false, false));
    assert_eq!(allowed(json!({"toolNames": ["b"], "requireApproval": ["a"]})), (false, true));
    assert_eq!(allowed(json!({"toolNames": [], "requireApproval": ["a"]})), (false, false));
}

#[test]
fn a_resource_of_kagent_has_limits() {
    let deep = |levels: usize| {
        let mut value = json!({"toolNames": ["a"]});
        for _ in 0..levels {
            value = json!({ "x": value });
        }
        kagent(&value.to_string())
    };
    // The names themselves lie two levels below the object that lists them.
    assert!(deep(62).is_ok());
    for levels in [63, 64, 70] {
        assert!(deep(levels).unwrap_err().to_string().contains("too deep"), "{levels}");
    }
    let many = |count: usize| kagent(&json!(vec![json!({"requireApproval": ["a"]}); count]).to_string());
    assert!(many(1_000).is_ok());
    for count in [1_001, 1_002] {
        assert!(many(count).unwrap_err().to_string().contains("too many servers"), "{count}");
    }
}
