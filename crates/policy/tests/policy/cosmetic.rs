//! Arguments that standing approvals and trust look past: a closed list, and never what acts.

use placet_policy::{Policy, preset};
use serde_json::json;

use crate::support::{Ask, ask};

fn names(policy: &Policy, tool: &str, agent: &str) -> Vec<String> {
    Ask { agent: agent.to_owned(), ..ask(tool, json!({})) }.with(|call| policy.cosmetic(call))
}

fn refused(text: &str) -> String {
    match Policy::parse(&format!("version = 1\n{text}\n")) {
        Ok(_) => panic!("parsed: {text}"),
        Err(errors) => {
            errors.problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("; ")
        }
    }
}

#[test]
fn the_preset_lists_them_by_tool_and_files_that_extend_it_have_them_too() {
    let own = Policy::parse(preset("coding-agent").unwrap()).unwrap();
    let extended = Policy::parse("version = 1\nextends = [\"preset:coding-agent\"]\n").unwrap();
    for policy in [&own, &extended] {
        assert_eq!(names(policy, "Bash", "bot"), ["description", "timeout"]);
        assert_eq!(names(policy, "bash", "bot"), ["description", "timeout"]);
        assert_eq!(names(policy, "run_shell_command", "bot"), ["description"]);
        assert_eq!(names(policy, "run_terminal_cmd", "bot"), ["explanation"]);
        for tool in ["Edit", "Write", "Read", "Grep", "BASH", "mcp__ops__Bash", "ops/bash", "write_stdin"] {
            assert!(names(policy, tool, "bot").is_empty(), "{tool}");
        }
    }
    assert!(
        names(&Policy::parse("version = 1\n").unwrap(), "Bash", "bot").is_empty(),
        "no list, nothing is cosmetic"
    );
}

#[test]
fn a_list_can_be_about_some_agents_and_lists_add_up() {
    let text = "version = 1\n[[cosmetic]]\ntool = ['t', 'u']\narguments = ['note', 'why']\n[[cosmetic]]\ntool = 't'\nagent = 'ci-*'\narguments = 'label'\n";
    let policy = Policy::parse(text).unwrap();
    assert_eq!(names(&policy, "t", "bot"), ["note", "why"]);
    assert_eq!(names(&policy, "t", "ci-1"), ["label", "note", "why"]);
    assert_eq!(names(&policy, "u", "ci-1"), ["note", "why"]);
}

#[test]
fn names_that_act_and_open_lists_are_refused() {
    for name in [
        "command",
        "cmd",
        "script",
        "file_path",
        "filePath",
        "path",
        "cwd",
        "content",
        "workdir",
        "run_in_background",
    ] {
        let said = refused(&format!("[[cosmetic]]\ntool = 'Bash'\narguments = ['{name}']"));
        assert!(said.contains("acts"), "{name}: {said}");
    }
    for (list, why) in [
        ("tool = '*'\narguments = ['note']", "not the name of one tool"),
        ("tool = 'Ba?h'\narguments = ['note']", "not the name of one tool"),
        ("tool = 't'\narguments = ['a.b']", "not the name of an argument"),
        ("tool = 't'\narguments = ['/note']", "not the name of an argument"),
        ("tool = 't'\narguments = []", "empty list"),
        ("tool = 't'", "`arguments` is missing"),
        ("arguments = ['note']", "`tool` is missing"),
        ("tool = 't'\narguments = ['note']\nserver = 's'", "unknown key"),
    ] {
        let said = refused(&format!("[[cosmetic]]\n{list}"));
        assert!(said.contains(why), "{list}: {said}");
    }
}

#[test]
fn what_a_rule_looks_at_is_not_cosmetic() {
    let rule = |effect: &str, tool: &str, matcher: &str| {
        format!(
            "[[rule]]\nname = 'r'\neffect = '{effect}'\ntool = '{tool}'\n[rule.args]\ntimeout = {matcher}\n"
        )
    };
    let list = "[[cosmetic]]\ntool = 'Bash'\narguments = ['timeout']\n";
    for effect in ["allow", "hold", "deny"] {
        let said = refused(&format!("{list}{}", rule(effect, "B*", "{ max = 5 }")));
        assert!(said.contains("`r` looks at `timeout` of `Bash`"), "{said}");
    }
    let other = format!("version = 1\n{list}{}", rule("allow", "other", "{ max = 5 }"));
    assert_eq!(names(&Policy::parse(&other).unwrap(), "Bash", "bot"), ["timeout"]);
    let there = format!("version = 1\n{list}{}", rule("hold", "Bash", "{ exists = true }"));
    assert_eq!(names(&Policy::parse(&there).unwrap(), "Bash", "bot"), ["timeout"]);
    // A file decides by what its preset calls cosmetic: then it is not.
    let stricter = format!(
        "version = 1\nextends = ['preset:coding-agent']\n{}",
        rule("hold", "Bash", "{ above = 600000 }")
    );
    assert_eq!(names(&Policy::parse(&stricter).unwrap(), "Bash", "bot"), ["description"]);
    assert_eq!(names(&Policy::parse(&stricter).unwrap(), "bash", "bot"), ["description", "timeout"]);
}
