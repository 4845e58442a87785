//! Reads `[[cosmetic]]`, and refuses names that act.

use std::ops::Range;

use super::{
    doc::{Doc, Field},
    rule::{NAMES, names},
    shown,
};
use crate::{
    cosmetic::{Cosmetic, acts, looked_at},
    keys,
    rule::Rule,
};

/// Most lists in one file, and most arguments in one list.
const LISTS: usize = 200;
pub(crate) const COSMETIC: usize = 16;

/// The lists of a file, each with the place of its arguments.
pub(super) fn read(doc: &mut Doc<'_>, file: &Field<'_>) -> Vec<(Cosmetic, Range<usize>)> {
    let tables = doc.tables(file, "cosmetic", "[[cosmetic]]");
    if tables.len() > LISTS {
        doc.problem(
            0..0,
            format!("there are more than {LISTS} `[[cosmetic]]` lists"),
            "name several tools in one",
        );
        return Vec::new();
    }
    tables.iter().filter_map(|table| list(doc, table)).collect()
}

fn list(doc: &mut Doc<'_>, table: &Field<'_>) -> Option<(Cosmetic, Range<usize>)> {
    doc.known_keys(table, "`[[cosmetic]]`", &[keys::COSMETIC]);
    for key in ["tool", "arguments"] {
        if table.get(key).is_none() {
            doc.problem(
                table.span(),
                format!("`{key}` is missing in `[[cosmetic]]`"),
                format!("add `{key} = [\"…\"]`"),
            );
        }
    }
    let place = table.get("arguments")?.span();
    let (tools, arguments) = (doc.texts(table, "tool", true), doc.texts(table, "arguments", true));
    if tools.len() > NAMES || arguments.len() > COSMETIC {
        let limits = format!("at most {NAMES} tools and {COSMETIC} arguments in one `[[cosmetic]]`");
        doc.problem(table.span(), limits, "split the list");
        return None;
    }
    let mut list = Cosmetic { tool: Vec::new(), agent: names(doc, table, "agent"), arguments: Vec::new() };
    for (text, span) in tools {
        if text.is_empty() || text.contains(['*', '?']) {
            let message = format!("`{}` is not the name of one tool", shown(&text));
            doc.problem(span, message, "name every tool: what is not compared is a closed list");
        } else {
            list.tool.push(text);
        }
    }
    for (text, span) in arguments {
        if text.is_empty() || text.contains(['/', '.', '[']) {
            let message = format!("`{}` is not the name of an argument", shown(&text));
            doc.problem(span, message, "name arguments at the top, without a path");
        } else if let Some(word) = acts(&text) {
            let message =
                format!("`{}` acts, by the word `{word}` in its name: it is never cosmetic", shown(&text));
            doc.problem(span, message, "remove it; list only what changes nothing but what is shown");
        } else {
            list.arguments.push(text);
        }
    }
    Some((list, place))
}

/// A file cannot decide by an argument in a rule and call it cosmetic.
pub(super) fn check(doc: &mut Doc<'_>, lists: &[(Cosmetic, Range<usize>)], rules: &[Rule]) {
    for (list, span) in lists {
        for tool in &list.tool {
            for argument in &list.arguments {
                if let Some(rule) = looked_at(rules, tool, argument) {
                    let message = format!(
                        "the rule `{rule}` looks at `{}` of `{}`: it is not cosmetic",
                        shown(argument),
                        shown(tool)
                    );
                    doc.problem(
                        span.clone(),
                        message,
                        "remove it from the list, or the matcher from the rule",
                    );
                }
            }
        }
    }
}
