//! Reads the matchers of a rule's arguments.

use std::ops::Range;

use placet_core::Effect;
use serde::Deserialize as _;
use serde_json::{Map, Number, Value};
use toml::{
    Spanned,
    de::{DeValue, ValueDeserializer},
};

use super::{
    PATTERNS,
    doc::{Doc, Field, kind_of, number_of},
    shown,
};
use crate::{
    keys,
    matcher::{Among, Bound, Hosts, Matcher, Roots, Test},
    path::Path,
    pattern::Pattern,
    rule::Argument,
    shell::Patterns,
};

/// Most matched paths in one rule.
pub(crate) const ARGUMENTS: usize = 32;
/// Deepest `not` inside `not`.
const NESTING: usize = 4;

/// The table `args` of a rule.
pub(super) fn arguments(doc: &mut Doc<'_>, table: &Field<'_>, effect: Effect) -> Vec<Argument> {
    let Some(table) = doc.table(table, "args") else { return Vec::new() };
    let entries = table.entries();
    if entries.is_empty() || entries.len() > ARGUMENTS {
        doc.problem(
            table.span(),
            format!("`args` has {} entries", entries.len()),
            format!("list from 1 to {ARGUMENTS}, or remove it"),
        );
    }
    let mut arguments = Vec::new();
    for (key, span, value) in entries {
        let path = match Path::read(key) {
            Ok(path) => path,
            Err(why) => {
                doc.problem(
                    span,
                    format!("`{}` is not a path: {why}", shown(key)),
                    "write it as `\"to.iban\"`, `\"files[*].path\"`, `\"/to/iban\"` or `\"**\"`",
                );
                continue;
            }
        };
        let Some(inner) = Field::of(value) else {
            doc.problem(
                value.span(),
                format!("the matcher of `{}` is {}", shown(key), kind_of(value.get_ref())),
                format!("write `\"{}\" = {{ equals = … }}`", shown(key)),
            );
            continue;
        };
        // `to = { iban = { equals = … } }`, or `to.iban = { … }` without quotes: TOML reads both as tables in tables.
        let nested = inner.entries().into_iter().find(|(name, _, value)| {
            Field::of(value).is_some() && !keys::MATCHERS.iter().any(|(known, ..)| known == name)
        });
        if let Some((name, span, _)) = nested {
            doc.problem(
                span,
                format!("`{}` is not a matcher", shown(name)),
                format!("write the path in quotes: `\"{}.{}\" = {{ … }}`", shown(key), shown(name)),
            );
            continue;
        }
        if let Some(matcher) = matcher(doc, &inner, effect == Effect::Allow, 0) {
            arguments.push(Argument { key: key.into(), path, matcher });
        }
    }
    arguments
}

/// One matcher. `permits`: a match makes the call pass more easily, as in an allow rule or in `not` of a hold rule.
fn matcher(doc: &mut Doc<'_>, table: &Field<'_>, permits: bool, depth: usize) -> Option<Matcher> {
    doc.known_keys(table, "a matcher", &[keys::MATCHERS]);
    let entries = table.entries();
    if entries.is_empty() {
        doc.problem(
            table.span(),
            "the matcher asks nothing",
            "write `{ equals = … }`, or `{ exists = true }`",
        );
        return None;
    }
    let absent = table.get("exists").and_then(|value| value.get_ref().as_bool()) == Some(false);
    if absent && entries.len() > 1 {
        doc.problem(
            table.span(),
            "`exists = false` beside another question can never hold",
            "let `exists = false` stand alone",
        );
    }
    let mut tests = Vec::new();
    for (key, _, value) in entries {
        tests.extend(test(doc, key, value, permits, depth));
    }
    Some(Matcher { tests })
}

fn test(
    doc: &mut Doc<'_>,
    key: &str,
    value: &Spanned<DeValue<'_>>,
    permits: bool,
    depth: usize,
) -> Option<Test> {
    let span = value.span();
    match key {
        "equals" => json(doc, value).map(Test::Equals),
        "in" => among(doc, value),
        "prefix" => prefix(doc, value, permits),
        "min" => range(doc, key, value, Bound::Min),
        "max" => range(doc, key, value, Bound::Max),
        "above" => range(doc, key, value, Bound::Above),
        "below" => range(doc, key, value, Bound::Below),
        "under" => {
            let texts = doc.texts_of(value, key, true);
            match Roots::new(texts.iter().map(|(text, _)| text.as_str()), !permits) {
                Ok(roots) if !texts.is_empty() => Some(Test::Under(roots)),
                Ok(_) => None,
                Err(why) => {
                    doc.problem(
                        span,
                        format!("`under` cannot be used: {why}"),
                        "write an absolute path without `..`, such as `\"/srv/app\"`, or `\"@workspace\"`",
                    );
                    None
                }
            }
        }
        "host_in" => {
            let texts = doc.texts_of(value, key, true);
            match Hosts::new(texts.iter().map(|(text, _)| text.as_str())) {
                Ok(hosts) if !texts.is_empty() => Some(Test::HostIn(hosts)),
                Ok(_) => None,
                Err(why) => {
                    doc.problem(
                        span,
                        format!("`host_in` cannot be used: {why}"),
                        "write plain hosts such as `\"example.com\"` or `\"*.example.com\"`",
                    );
                    None
                }
            }
        }
        "matches" => pattern(doc, value, permits),
        "shell" => shell(doc, value, permits, depth),
        "max_length" => match number_of(value.get_ref()) {
            Some(most) if (1.0..=100_000.0).contains(&most) && most.fract() == 0.0 => {
                // Within the bounds above, so nothing is lost.
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
                Some(Test::MaxLength(most as usize))
            }
            _ => wrong(doc, key, value, "a number of bytes from 1 to 100000"),
        },
        "exists" => match value.get_ref().as_bool() {
            Some(wanted) => Some(Test::Exists(wanted)),
            None => wrong(doc, key, value, "`true` or `false`"),
        },
        "not" => match Field::of(value) {
            Some(_) if depth >= NESTING => {
                doc.problem(span, "`not` is nested too deeply", "say it without `not`");
                None
            }
            Some(inner) => matcher(doc, &inner, !permits, depth.saturating_add(1)).map(Test::Not),
            None => wrong(doc, key, value, "a matcher such as `{ equals = … }`"),
        },
        // Reported as an unknown key already.
        _ => None,
    }
}

fn wrong(doc: &mut Doc<'_>, key: &str, value: &Spanned<DeValue<'_>>, expected: &str) -> Option<Test> {
    doc.problem(
        value.span(),
        format!("`{key}` is {}", kind_of(value.get_ref())),
        format!("write {expected}"),
    );
    None
}

fn range(doc: &mut Doc<'_>, key: &str, value: &Spanned<DeValue<'_>>, bound: Bound) -> Option<Test> {
    match number_of(value.get_ref()) {
        Some(limit) => Some(Test::Range(bound, limit)),
        None => wrong(doc, key, value, "a number within ±(2^53-1)"),
    }
}

fn among(doc: &mut Doc<'_>, value: &Spanned<DeValue<'_>>) -> Option<Test> {
    let Some(list) = value.get_ref().as_array() else {
        return wrong(doc, "in", value, "a list, such as `in = [\"a\", \"b\"]`");
    };
    if list.is_empty() {
        doc.problem(value.span(), "`in` is an empty list", "list something, or remove the matcher");
        return None;
    }
    let values: Vec<Value> = list.iter().filter_map(|item| json(doc, item)).collect();
    Some(Test::In(Among::new(values)))
}

fn prefix(doc: &mut Doc<'_>, value: &Spanned<DeValue<'_>>, permits: bool) -> Option<Test> {
    let Some(text) = value.get_ref().as_str() else {
        return wrong(doc, "prefix", value, "a text");
    };
    if text.is_empty() {
        doc.problem(value.span(), "every text begins with nothing", "write a prefix, or `{ exists = true }`");
        return None;
    }
    let instead = if text.starts_with('/') || text.starts_with('~') {
        Some("`under`, which knows `..`")
    } else if text.contains("://") {
        Some("`host_in`, which knows user names and look-alikes")
    } else {
        None
    };
    if let Some(instead) = instead.filter(|_| permits) {
        doc.warning(
            value.span(),
            format!(
                "`prefix` compares letters only: `{}` is also the beginning of places it does not mean",
                shown(text)
            ),
            format!("use {instead}"),
        );
    }
    Some(Test::Prefix(text.into()))
}

fn pattern(doc: &mut Doc<'_>, value: &Spanned<DeValue<'_>>, permits: bool) -> Option<Test> {
    let Some(text) = value.get_ref().as_str() else {
        return wrong(doc, "matches", value, "a regular expression in quotes");
    };
    match Pattern::new(text) {
        Ok(pattern) => {
            if permits && !pattern.anchored() {
                doc.problem(
                    value.span(),
                    format!("the pattern `{}` also matches in the middle of a text, and a match makes the call pass", shown(text)),
                    format!("write `^(?:{})$`", shown(text)),
                );
            }
            budget(doc, pattern.size(), value.span());
            Some(Test::Matches(Box::new(pattern)))
        }
        Err((message, fix)) => {
            doc.problem(value.span(), message, fix);
            None
        }
    }
}

/// All patterns of a file share one bound on memory.
pub(super) fn budget(doc: &mut Doc<'_>, size: usize, span: Range<usize>) {
    let before = doc.patterns;
    doc.patterns = before.saturating_add(size);
    if before <= PATTERNS && doc.patterns > PATTERNS {
        doc.problem(
            span,
            format!("the patterns of this file need more than {} MiB together", PATTERNS / 1024 / 1024),
            "use `in`, `prefix` or `under` where they say the same",
        );
    }
}

fn shell(doc: &mut Doc<'_>, value: &Spanned<DeValue<'_>>, permits: bool, depth: usize) -> Option<Test> {
    let patterns = match Patterns::deserialize(ValueDeserializer::from(value.clone())) {
        Ok(mut patterns) => {
            let switches = &mut doc.switches;
            patterns.turn_on(|name| {
                switches.known.insert(name.to_owned());
                switches.on.contains(name)
            });
            Box::new(patterns)
        }
        Err(error) => {
            let span = error.span().unwrap_or_else(|| value.span());
            // Their messages carry the fix after a semicolon.
            let message = error.message().trim().to_owned();
            let (what, fix) =
                message.split_once("; ").unwrap_or((&message, "see the guide to shell patterns"));
            doc.problem(span, format!("the shell pattern cannot be used: {what}"), fix);
            return None;
        }
    };
    // Inside `not` only a hold or deny rule permits: it holds whatever is not allowed.
    if permits && patterns.is_for_allow() {
        return Some(Test::ShellAllows(patterns));
    } else if !permits && depth == 0 && patterns.is_for_mention() {
        return Some(Test::ShellMentions(patterns));
    }
    let (message, fix) = if !permits && depth > 0 {
        (
            "`not` around a shell pattern in an allow rule lets everything pass that is not listed",
            "list what may pass in `shell = { allow = […] }`, and what may not in a hold or deny rule",
        )
    } else if permits {
        ("a shell pattern that lets commands pass lists them in `allow`", "write `shell = { allow = […] }`")
    } else {
        (
            "a shell pattern of a hold or deny rule lists what to look for in `mention`",
            "write `shell = { mention = […] }`",
        )
    };
    doc.problem(value.span(), message, fix);
    None
}

/// A TOML value as the JSON value it is compared with.
fn json(doc: &mut Doc<'_>, value: &Spanned<DeValue<'_>>) -> Option<Value> {
    Some(match value.get_ref() {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Boolean(is) => Value::Bool(*is),
        DeValue::Integer(_) | DeValue::Float(_) => {
            let Some(number) = number_of(value.get_ref()) else {
                doc.problem(
                    value.span(),
                    "the number does not fit",
                    "use a number within ±(2^53-1), neither infinite nor `nan`",
                );
                return None;
            };
            exact(value.get_ref(), number)
        }
        DeValue::Array(list) => Value::Array(list.iter().map(|item| json(doc, item)).collect::<Option<_>>()?),
        DeValue::Table(table) => {
            let mut map = Map::new();
            for (key, item) in table {
                map.insert(key.get_ref().to_string(), json(doc, item)?);
            }
            Value::Object(map)
        }
        DeValue::Datetime(_) => {
            doc.problem(value.span(), "JSON has no dates", "write it as a text in quotes");
            return None;
        }
    })
}

fn exact(value: &DeValue<'_>, number: f64) -> Value {
    let whole = super::doc::integer_of(value).map(Number::from);
    whole.or_else(|| Number::from_f64(number)).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patterns_of_a_file_share_one_bound_and_exceeding_it_is_said_once() {
        let mut doc = Doc::new("");
        budget(&mut doc, PATTERNS - 1, 0..0);
        budget(&mut doc, 1, 0..0);
        assert!(!doc.failed(), "all of the bound may be used");
        budget(&mut doc, 1, 0..0);
        budget(&mut doc, 1, 0..0);
        let problems = doc.into_errors().problems;
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].message.contains("need more than 32 MiB together"));
        let mut doc = Doc::new("");
        budget(&mut doc, PATTERNS + 10, 0..0);
        assert!(doc.failed());
    }
}
