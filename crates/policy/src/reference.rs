//! The reference of the policy file, made from the tables and limits the reader itself uses.

use std::fmt::Write as _;

use crate::{
    condition, durations, glob,
    keys::{self, Key},
    path, pattern, presets, read,
};

/// The reference as Markdown.
pub fn reference() -> String {
    let mut out = String::new();
    out.push_str(
        "# Policy reference\n\n\
         This page is generated from the program by `cargo xtask reference` and tested to be current; edit the program, not the page.\n\n\
         A policy is one TOML file. Deny beats hold beats allow, in any order of the rules. A call that no rule\n\
         matches waits. A matcher that cannot be evaluated (a missing argument, a value of another type) keeps an allow rule from\n\
         applying and makes a hold or deny rule apply. An agent's own statements can only make the outcome stricter.\n",
    );
    section(&mut out, "The file", keys::TOP);
    section(&mut out, "`[defaults]`", keys::DEFAULTS);
    section(&mut out, "`[needs.NAME]`", keys::NEEDS);
    out.push_str("\nA seat, inside `any` or `all`:\n");
    table(&mut out, keys::SEAT);
    section(&mut out, "`[escalation.NAME]`", keys::ESCALATION);
    section(&mut out, "`[[rule]]`: what it looks at", keys::RULE_MATCH);
    out.push_str(
        "\nAll of them must match; of a list, one is enough. `[*]` in a path means every element in an allow rule and any element in a\n\
         hold or deny rule. A rule with none of these matches every request.\n",
    );
    section(&mut out, "`[[rule]]`: what it does", keys::RULE_EFFECT);
    section(&mut out, "`[[cosmetic]]`", keys::COSMETIC);
    section(&mut out, "Matchers", keys::MATCHERS);
    out.push_str(
        "\nA path that is missing and a value of another type are errors, except for `exists`. Under `**` matchers of texts skip\n\
         other values, and an empty result is no match.\n",
    );
    section(&mut out, "`shell = { allow = […] }`: each entry", keys::SHELL_ALLOW);
    section(&mut out, "`shell = { mention = […] }`: each entry", keys::SHELL_MENTION);
    section_pairs(&mut out, "Conditions: names", condition::ROOTS);
    section_pairs(&mut out, "Conditions: functions", condition::FUNCTIONS);
    out.push_str(
        "\nOperators: `&&`, `||`, `!`, `==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `+`, `-`, `*`, `/`, `%`, `? :`, `[…]`. Comparing values of\n\
         different types is an error and not `false`; `null` may be compared with anything.\n",
    );
    limits(&mut out);
    out.push_str("\n## Presets\n\n");
    for name in presets::names() {
        let first = presets::preset(name).and_then(|text| text.lines().next()).unwrap_or_default();
        let _ = writeln!(out, "- `preset:{name}`: {}", first.trim_start_matches(['#', ' ']));
    }
    out
}

fn section(out: &mut String, title: &str, keys: &[Key]) {
    let _ = write!(out, "\n## {title}\n");
    table(out, keys);
}

fn table(out: &mut String, keys: &[Key]) {
    out.push_str("\n| key | value | meaning |\n| --- | --- | --- |\n");
    for (key, form, text) in keys {
        let _ = writeln!(out, "| `{key}` | {} | {} |", cell(form), cell(text));
    }
}

fn section_pairs(out: &mut String, title: &str, pairs: &[(&str, &str)]) {
    let _ = write!(out, "\n## {title}\n\n| | meaning |\n| --- | --- |\n");
    for (name, text) in pairs {
        let _ = writeln!(out, "| `{}` | {} |", cell(name), cell(text));
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn limits(out: &mut String) {
    let kib = |bytes: usize| format!("{} KiB", bytes / 1024);
    let rows = [
        ("the file", kib(read::FILE)),
        ("rules, those of presets included", read::RULES.to_string()),
        ("names in one list of a rule", read::NAMES.to_string()),
        ("matched arguments of one rule", read::ARGUMENTS.to_string()),
        ("steps of a path", path::STEPS.to_string()),
        ("a glob, in bytes", glob::LENGTH.to_string()),
        ("stars in a glob", glob::STARS.to_string()),
        ("a regular expression, in bytes", pattern::LENGTH.to_string()),
        ("a regular expression when compiled", kib(pattern::SIZE)),
        ("all regular expressions together", kib(read::PATTERNS)),
        ("a condition, in bytes", condition::SOURCE.to_string()),
        ("parts of a condition", condition::NODES.to_string()),
        ("depth of a condition", condition::DEPTH.to_string()),
        ("comprehensions inside one another", "1".to_owned()),
        (
            "elements a comprehension goes through; longer lists are an error",
            condition::LIST_ELEMENTS.to_string(),
        ),
        ("alternatives in `any`, seats in `all`", read::LIST.to_string()),
        ("people of one seat", read::PEOPLE.to_string()),
        ("steps of an escalation", read::CHAIN.to_string()),
        ("pointers in a template", read::TEMPLATE.to_string()),
        ("arguments in one `[[cosmetic]]`", read::COSMETIC.to_string()),
        ("shortest duration", durations::write(durations::SHORTEST)),
        ("longest duration", durations::write(durations::LONGEST)),
        ("work of one evaluation; beyond it everything left is an error", "well under 1 ms".to_owned()),
    ];
    out.push_str("\n## Limits\n\n| what | at most |\n| --- | --- |\n");
    for (what, limit) in rows {
        let _ = writeln!(out, "| {what} | {limit} |");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_matcher_function_and_preset_is_in_the_reference() {
        let text = reference();
        let tables = [
            keys::TOP,
            keys::DEFAULTS,
            keys::NEEDS,
            keys::ESCALATION,
            keys::RULE_MATCH,
            keys::RULE_EFFECT,
            keys::COSMETIC,
            keys::MATCHERS,
        ];
        for (key, ..) in tables.into_iter().flatten() {
            assert!(text.contains(&format!("| `{key}` |")), "{key}");
        }
        for name in presets::names() {
            assert!(text.contains(&format!("`preset:{name}`")), "{name}");
        }
        assert!(text.contains("| a regular expression when compiled | 256 KiB |"));
    }

    #[test]
    fn every_row_has_as_many_cells_as_its_header() {
        let mut columns = 0;
        for line in reference().lines() {
            let cells = line.replace("\\|", "").matches('|').count();
            match (columns, line.starts_with('|')) {
                (_, false) => columns = 0,
                (0, true) => columns = cells,
                _ => assert_eq!(cells, columns, "{line}"),
            }
        }
    }
}
