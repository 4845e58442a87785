//! Limits of policy files, each from both sides, and where the reader points to.

use placet_policy::{Policy, Problem};

use crate::support::{HOLD, ask, policy, rules};
use serde_json::json;

fn problems(text: &str) -> Vec<Problem> {
    Policy::parse(text).map_or_else(|errors| errors.problems, |_| Vec::new())
}

fn rule(rest: &str) -> String {
    format!("version = 1\n[[rule]]\nname = 'r'\neffect = 'hold'\n{rest}\n")
}

/// The limit itself is good, and one more is one problem with these words.
#[track_caller]
fn limit(of: impl Fn(usize) -> String, most: usize, words: &str) {
    let good = problems(&of(most));
    assert!(good.is_empty(), "{good:?}");
    for over in [most + 1, most + 2] {
        let found = problems(&of(over));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.contains(words), "{}", found[0].message);
    }
}

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    format!("[{}]", (0..count).map(item).collect::<Vec<_>>().join(", "))
}

#[test]
fn a_file_a_rule_and_its_lists_have_limits() {
    let file = |length: usize| {
        let start = rule("");
        format!("{start}#{}", "x".repeat(length - start.len() - 1))
    };
    limit(file, 1024 * 1024, "the file is larger than");
    limit(
        |length| format!("version = 1\nname = '{}'\n", "x".repeat(length)),
        100,
        "`name` is longer than 100",
    );
    limit(|length| rule(&format!("reason = '{}'", "ö".repeat(length))), 500, "`reason` is longer than 500");
    limit(
        |count| rule(&format!("tool = {}", list(count, |n| format!("'t{n}'")))),
        1_000,
        "more than 1000 names",
    );
    limit(
        |count| {
            rule(&format!(
                "[rule.args]\n{}",
                (0..count).map(|n| format!("a{n} = {{ equals = 1 }}\n")).collect::<String>()
            ))
        },
        32,
        "entries",
    );
    limit(
        |count| rule(&format!("trust_after = 3\ntemplate = {}", list(count, |n| format!("'/a{n}'")))),
        16,
        "more than 16 pointers",
    );
    let inside = |count: usize| format!("{}{{ equals = 1 }}{}", "{ not = ".repeat(count), " }".repeat(count));
    limit(|count| rule(&format!("[rule.args]\na = {}", inside(count))), 4, "nested too deeply");
}

fn escalation(name: &str, then: &str) -> String {
    format!("[escalation.{name}]\nneeds = {{ people = 1 }}\nexpires_in = '1h'\n{then}\n")
}

#[test]
fn an_escalation_has_at_most_8_steps() {
    let chain = |count: usize| {
        let mut text = "version = 1\n".to_owned();
        for step in 1..=count {
            let then = if step < count { format!("then = 's{}'", step + 1) } else { String::new() };
            text.push_str(&escalation(&format!("s{step}"), &then));
        }
        text
    };
    assert_eq!(problems(&chain(8)), []);
    let found = problems(&chain(9));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.contains("`s1` has more than 8 steps"), "{}", found[0].message);
}

#[test]
fn a_gap_or_a_circle_in_escalations_is_said_once() {
    let gap = format!("version = 1\n{}{}", escalation("a", "then = 'nobody'"), escalation("b", "then = 'a'"));
    let found = problems(&gap);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.contains("no escalation named `nobody`"));
    let circle = format!(
        "version = 1\n{}{}{}",
        escalation("a", "then = 'b'"),
        escalation("b", "then = 'a'"),
        escalation("c", "then = 'a'")
    );
    let found = problems(&circle);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.contains("`a` -> `b` -> `a`"), "{}", found[0].message);
}

#[test]
fn a_hundred_warnings_are_given() {
    let tables = |count: usize| (0..count).map(|n| format!("[needs.n{n}]\npeople = 1\n")).collect::<String>();
    assert_eq!(policy(&tables(99)).warnings().len(), 99);
    assert_eq!(policy(&tables(101)).warnings().len(), 100);
    assert_eq!(policy(&tables(120)).warnings().len(), 100);
}

#[test]
fn one_mistake_is_one_problem() {
    for text in [
        "version = '1'\n".to_owned(),
        "version = 1\n[[rule]]\nname = 'r'\neffect = 'allow'\ntool = 't'\non_expiry = 'allow'\n".to_owned(),
        rule("expires_in = '5'"),
    ] {
        assert_eq!(problems(&text).len(), 1, "{text}: {:?}", problems(&text));
    }
    let fix = &problems(&rule("expires_in = '5'"))[0].fix;
    assert!(fix.contains("`\"5m\"`") && fix.ends_with("from 1s to 30d"), "{fix}");
}

#[test]
fn a_problem_in_a_condition_is_shown_where_it_stands() {
    let column = |when: &str| {
        let found = problems(&rule(&format!("when = {when}")));
        assert_eq!(found.len(), 1, "{found:?}");
        (found[0].line, found[0].column)
    };
    assert_eq!(column("'true foo'"), (5, 14));
    assert_eq!(column("\"true foo\""), (5, 14));
    // Where the text of the file is not the text of the condition, the place is its beginning.
    assert_eq!(column(r#""true\tfoo""#), (5, 8));
    assert_eq!(column("'''true foo'''"), (5, 8));
    assert_eq!(column("\"\"\"true foo\"\"\""), (5, 8));
}

#[test]
fn below_is_a_bound_that_is_not_reached() {
    let policy = rules(&[("r", "deny", "tool = 't'\n[rule.args]\na = { below = 10 }")]);
    assert_ne!(ask("t", json!({"a": 10})).under(&policy).rule, "r");
    assert_eq!(ask("t", json!({"a": 9.5})).under(&policy).rule, "r");
}

#[test]
fn a_rule_that_asks_anything_does_not_allow_everything() {
    let warned = |rest: &str| {
        let policy = rules(&[("r", "allow", &format!("tool = '*'\nrisk = 'low'\n{rest}"))]);
        policy.warnings().iter().any(|warning| warning.message.contains("allows every call of every tool"))
    };
    assert!(warned("") && warned("server = '*'\nagent = ['a', '*']"));
    for rest in [
        "kind = 'action'",
        "server = 's'",
        "agent = 'a'",
        "source = 'rest'",
        "when = 'true'",
        "[rule.args]\na = { exists = true }",
    ] {
        assert!(!warned(rest), "{rest}");
    }
}

#[test]
fn a_stricter_rule_shadows_what_it_covers_and_nothing_else() {
    let shadowed = |strict: &str, other: &str| {
        let policy = rules(&[("strict", "deny", strict), ("r", "hold", other)]);
        policy.warnings().iter().any(|warning| warning.message.contains("the rule can never decide"))
    };
    for (strict, other) in [
        ("tool = 'a*'", "tool = 'a*'"),
        ("tool = 'a*'", "tool = 'ab*'"),
        ("tool = 'a*'", "tool = ['ab', 'a*c']"),
        ("tool = 'ab'", "tool = 'ab'"),
        ("tool = ['x', 'a?']", "tool = 'ab'"),
    ] {
        assert!(shadowed(strict, other), "{strict} over {other}");
    }
    for (strict, other) in [
        ("tool = 'a*'", "tool = 'b*'"),
        ("tool = 'ab*'", "tool = 'a*'"),
        ("tool = 'a?*'", "tool = 'a*'"),
        ("tool = 'a*c*'", "tool = 'ab*'"),
        ("tool = 'ab'", "tool = 'ab*'"),
        ("tool = 'a*'", "tool = ['ab', 'b']"),
        ("tool = 'a*'\nkind = 'action'", "tool = 'ab'"),
        ("tool = 'a*'\nsession = 's'", "tool = 'ab'"),
        ("tool = 'a*'\nlineage = 's'", "tool = 'ab'"),
        ("tool = 'a*'\nwhen = 'true'", "tool = 'ab'"),
        ("tool = 'a*'\nserver = 's'", "tool = 'ab'"),
        ("tool = 'a*'\nagent = 's'", "tool = 'ab'"),
        ("tool = 'a*'\nsource = 's'", "tool = 'ab'"),
    ] {
        assert!(!shadowed(strict, other), "{strict} over {other}");
    }
}

#[test]
fn sixteen_reasons_are_given_and_the_rest_is_counted() {
    let reasons = |count: usize| {
        let list: String = (0..count)
            .map(|n| format!("[[rule]]\nname = 'r{n:02}'\neffect = 'hold'\ntool = 't'\n"))
            .collect();
        ask("t", json!({})).under(&policy(&list)).reasons
    };
    assert_eq!(reasons(15).len(), 15);
    let whole = reasons(16);
    assert!(whole.len() == 16 && whole.iter().all(|reason| reason.starts_with("rule `")), "{whole:?}");
    assert_eq!(reasons(17).len(), 17);
    assert_eq!(reasons(18).last().map(String::as_str), Some("and 2 more rules"));
}

#[test]
fn a_chain_of_agents_may_have_64_names() {
    let policy = rules(&[("r", "hold", "tool = 't'\nlineage = 'x'")]);
    let said = |count: usize| {
        let mut call = ask("t", json!({}));
        call.context = json!({ "lineage": vec!["a"; count] });
        call.under(&policy)
    };
    assert_eq!(said(64).rule, "default");
    let long = said(65);
    assert_eq!((long.effect, long.rule.as_str()), (HOLD, "r"));
    assert!(long.reasons[0].contains("could not be evaluated"), "{:?}", long.reasons);
}
