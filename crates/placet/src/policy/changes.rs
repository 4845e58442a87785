//! The differences between two policies, rule by rule, in one sentence.

use std::collections::BTreeMap;

use toml::{Table, Value};

/// Names beyond this many are only counted.
const NAMED: usize = 8;

/// The differences in words. Both texts are valid policies, so what cannot be read is left out.
pub(crate) fn changes(before: &str, after: &str) -> String {
    let (before, after) = (table(before), table(after));
    let (old, new) = (rules(&before), rules(&after));
    let mut parts = Vec::new();
    let mut part = |word: &str, names: Vec<&str>| {
        if !names.is_empty() {
            parts.push(format!("{word} {}", listed(&names)));
        }
    };
    part("added", new.keys().filter(|name| !old.contains_key(*name)).copied().collect());
    part("removed", old.keys().filter(|name| !new.contains_key(*name)).copied().collect());
    part(
        "changed",
        new.iter()
            .filter(|(name, rule)| old.get(*name).is_some_and(|old| old != *rule))
            .map(|(name, _)| *name)
            .collect(),
    );
    let sections: Vec<&str> = ["name", "extends", "defaults", "needs", "escalation"]
        .into_iter()
        .filter(|key| before.get(*key) != after.get(*key))
        .collect();
    if !sections.is_empty() {
        parts.push(format!("other {}", sections.join(", ")));
    }
    if parts.is_empty() { "the same rules, written differently".to_owned() } else { parts.join("; ") }
}

fn table(text: &str) -> Table {
    text.parse().unwrap_or_default()
}

fn rules(policy: &Table) -> BTreeMap<&str, &Value> {
    let list = policy.get("rule").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|rule| Some((rule.get("name")?.as_str()?, rule))).collect()
}

fn listed(names: &[&str]) -> String {
    let word = if names.len() == 1 { "rule" } else { "rules" };
    let shown = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => format!("{word} {shown}"),
        more => format!("{word} {shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(rules: &[(&str, &str)]) -> String {
        let rule = |(name, tool): &(&str, &str)| {
            format!("[[rule]]\nname = \"{name}\"\neffect = \"hold\"\ntool = \"{tool}\"\n")
        };
        format!("version = 1\n{}", rules.iter().map(rule).collect::<String>())
    }

    #[test]
    fn rules_that_come_go_and_change_are_named() {
        let before = policy(&[("a", "x"), ("b", "x"), ("c", "x")]);
        let after = policy(&[("c", "x"), ("b", "y"), ("d", "x")]);
        assert_eq!(changes(&before, &after), "added rule `d`; removed rule `a`; changed rule `b`");
        assert_eq!(
            changes(&before, &before.replace("version = 1", "version = 1\n# hello")),
            "the same rules, written differently"
        );
        assert_eq!(changes("version = 1", "version = 1\n[defaults]\nrisk = \"low\""), "other defaults");
        let many: Vec<String> = (0..12).map(|number| format!("r{number:02}")).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "x")).collect();
        assert!(changes("version = 1", &policy(&many)).ends_with("`r07` and 4 more"));
    }
}
