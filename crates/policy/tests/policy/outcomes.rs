//! Outcomes side by side, what a policy says about itself, and when a call carries a command.

use placet_core::{Agent, Directory, Person, Risk, Role};
use placet_policy::{
    Outcome, reference,
    shell::{MAX_LENGTH, analyse, analyse_argv},
};
use serde_json::json;

use crate::support::{ask, policy, rules};

fn outcome(effect: &str, rest: &str) -> Outcome {
    ask("t", json!({})).under(&rules(&[("r", effect, &format!("tool = 't'\n{rest}"))]))
}

#[test]
fn an_outcome_is_stricter_when_it_demands_anything_more() {
    let plain = outcome("hold", "needs = { people = 2 }\nexpires_in = '2h'");
    let same = Outcome { rule: "other".to_owned(), reasons: vec!["other".to_owned()], ..plain.clone() };
    assert!(!plain.stricter_than(&plain) && !same.stricter_than(&plain), "names and reasons demand nothing");
    for stricter in [
        outcome("deny", ""),
        outcome("hold", "needs = { people = 3 }\nexpires_in = '2h'"),
        outcome("hold", "needs = { people = 2 }\nexpires_in = '1h'"),
        outcome("hold", "needs = { people = 2 }\nexpires_in = '2h'\npending_cap = 1"),
        outcome("hold", "needs = { people = 2 }\nexpires_in = '2h'\nrisk = 'high'"),
        outcome("hold", "needs = { people = 2 }\nexpires_in = '2h'\ndecisions = ['approve']"),
    ] {
        assert!(stricter.stricter_than(&plain), "{stricter:?}");
        assert!(!plain.stricter_than(&stricter), "{stricter:?}");
    }
    assert!(!outcome("allow", "risk = 'low'").stricter_than(&plain));
}

#[test]
fn the_rule_that_is_named_does_not_depend_on_the_order() {
    let of = |rule: &str, reason: &str| Outcome {
        rule: rule.to_owned(),
        rules: std::collections::BTreeSet::new(),
        reasons: vec![reason.to_owned()],
        ..outcome("hold", "")
    };
    for (left, right) in
        [(of("a", "x"), of("b", "y")), (of("z", "x"), of("default", "y")), (of("a", "x"), of("a", "y"))]
    {
        let (one, other) = (left.clone().join(right.clone()), right.clone().join(left.clone()));
        assert_eq!(one, other);
        assert_eq!(one.rule, left.rule);
        assert_eq!(one.reasons, ["x", "y"]);
    }
    let once = of("a", "x").join(of("b", "x"));
    assert_eq!(once.reasons, ["x"], "the same reason is said once");
}

#[test]
fn an_outcome_is_shown_in_one_line() {
    assert_eq!(outcome("hold", "risk = 'high'").to_string(), "hold by rule `r` (risk high)");
}

#[test]
fn a_claimed_risk_is_a_reason_only_where_it_is_higher() {
    let policy = rules(&[("r", "hold", "tool = 't'\nrisk = 'medium'")]);
    let reasons = |risk| {
        let mut call = ask("t", json!({}));
        call.risk = Some(risk);
        let outcome = call.under(&policy);
        (outcome.risk, outcome.reasons.iter().any(|reason| reason.contains("the agent says the risk")))
    };
    assert_eq!(reasons(Risk::Low), (Risk::Medium, false));
    assert_eq!(reasons(Risk::Medium), (Risk::Medium, false));
    assert_eq!(reasons(Risk::High), (Risk::High, true));
}

#[test]
fn a_policy_knows_whether_trust_can_be_earned() {
    assert!(rules(&[("a", "deny", ""), ("r", "hold", "tool = 't'\ntrust_after = 3")]).offers_trust());
    assert!(!rules(&[("r", "hold", "tool = 't'")]).offers_trust());
    assert!(!policy("").offers_trust());
}

#[test]
fn a_call_is_free_form_by_its_name_its_arguments_or_a_rule_for_it() {
    let watched = "[rule.args]\nc = { shell = { mention = [ { program = 'rm' } ] } }";
    let policy = rules(&[
        ("by-tool", "hold", &format!("tool = 'ops/go'\n{watched}")),
        ("by-server", "hold", &format!("server = 'box'\n{watched}")),
        ("plain", "hold", "tool = 'ops/plain'\n[rule.args]\nc = { prefix = 'x' }"),
    ]);
    let free = |tool: &str, key: &str| ask(tool, json!({key: "x"})).with(|call| policy.free_form(call));
    for (tool, key) in [("Bash", "x"), ("ops/any", "command"), ("ops/go", "c"), ("box/any", "c")] {
        assert!(free(tool, key), "{tool} {key}");
    }
    for (tool, key) in [("ops/plain", "c"), ("ops/other", "c"), ("go", "c"), ("any", "c")] {
        assert!(!free(tool, key), "{tool} {key}");
    }
}

#[test]
fn an_escalation_to_as_many_people_is_no_warning_and_needs_are_told_in_words() {
    let text = "[escalation.up]\nneeds = { people = 2, team = 'legal' }\nexpires_in = '1h'\n[[rule]]\nname = 'r'\neffect = 'hold'\ntool = 't'\nneeds = { people = 2 }\non_expiry = { escalate = 'up' }\n";
    let person = |team: &str| Person { roles: [Role::Reviewer].into(), teams: [team.to_owned()].into() };
    let directory = |team: &str| Directory {
        people: [("ann".to_owned(), person(team)), ("bob".to_owned(), person(team))].into(),
        agents: [("bot".to_owned(), Agent::default())].into(),
        ..Directory::default()
    };
    assert_eq!(policy(text).check_people(&directory("legal")), []);
    let found = policy(text).check_people(&directory("finance"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].message, "after escalation 1, nobody can meet these needs: 2 of legal");
    let alternatives = policy(
        "[[rule]]\nname = 'r'\neffect = 'hold'\nneeds = { any = [ { people = 4 }, { all = [ { team = 'x' }, { team = 'y', people = 2 } ] } ], four_eyes = true, step_up = 'code' }\n",
    );
    let found = alternatives.check_people(&directory("legal"));
    assert!(
        found[0].message.ends_with("4 of any team, or 1 of x and 2 of y, four eyes, with a code"),
        "{}",
        found[0].message
    );
}

#[test]
fn the_reference_lists_names_functions_and_keys_as_tables() {
    let text = reference();
    for line in [
        "## Conditions: names",
        "| `args` | the arguments of the call |",
        "| `has(x.key)` | whether the key is there |",
        "| `effect` |",
        "| steps of a path | 32 |",
        "| longest duration | 30d |",
    ] {
        assert!(text.contains(line), "{line}");
    }
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells = line.replace("\\|", "").matches('|').count();
        assert!((3..=4).contains(&cells), "{line}");
        assert!(!line.contains("|  |"), "{line}");
    }
}

#[test]
fn a_list_of_words_has_the_limits_of_a_text() {
    // A word counts with the blank behind it.
    let words = |length: usize| vec!["echo".to_owned(), "x".repeat(length - 6)];
    assert!(analyse_argv(&words(MAX_LENGTH)).commands().is_ok());
    for length in [MAX_LENGTH + 1, MAX_LENGTH + 2] {
        assert_eq!(analyse_argv(&words(length)).commands().unwrap_err().at, MAX_LENGTH);
    }
    for word in ["a\u{1b}b", "a\0b"] {
        assert!(analyse_argv(&["echo", word]).is_opaque(), "{word:?}");
    }
    assert!(analyse_argv(&["", "x"]).is_opaque() && analyse_argv::<&str>(&[]).is_opaque());
    assert_eq!(analyse_argv(&["bash", "-lc", "a; b"]).commands().unwrap().len(), 2);
    assert_eq!(analyse_argv(&["bash", "-x", "a; b"]).commands().unwrap().len(), 1);
    assert_eq!(analyse_argv(&["cat", "-c", "a; b"]).commands().unwrap().len(), 1);
}

#[test]
fn an_outline_has_as_many_commands_as_are_wanted_and_says_whether_that_is_all() {
    let outline = |text: &str, most: usize| {
        let (commands, whole) = analyse(text).outline(most);
        (commands.iter().map(|command| command.argv.join(" ")).collect::<Vec<_>>(), whole)
    };
    let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    assert_eq!(outline("ls -l; pwd", 3), (owned(&["ls -l", "pwd"]), true));
    assert_eq!(outline("ls -l; pwd", 2), (owned(&["ls -l", "pwd"]), true));
    assert_eq!(outline("ls -l; pwd", 1), (owned(&["ls -l"]), false));
    let (commands, whole) = outline("echo $HOME; pwd", 10);
    assert!(whole && commands.contains(&"pwd".to_owned()), "{commands:?}");
    let (commands, whole) = outline("echo $HOME; pwd; ls; id", 1);
    assert!(!whole && commands.len() == 1, "{commands:?}");
}
