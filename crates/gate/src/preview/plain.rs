//! A call of which nothing is known but its name: its most telling arguments, by name and value.

use serde_json::{Map, Value};

use super::text::{clip, middle, quoted, value};

/// Characters for all the arguments of a sentence.
const ROOM: usize = 140;
/// The longest text that is named beside others.
const TEXT: usize = 40;
/// The longest text that stands alone.
const ALONE: usize = 110;
/// Most names of arguments that are looked at.
const MOST: usize = 1_000;

/// Words in names of arguments that say what is acted on, or how hard.
const TARGETS: &[&str] = &[
    "account",
    "action",
    "address",
    "all",
    "amount",
    "app",
    "arn",
    "bucket",
    "branch",
    "cascade",
    "channel",
    "cluster",
    "cmd",
    "code",
    "command",
    "commands",
    "confirm",
    "currency",
    "customer",
    "database",
    "db",
    "delete",
    "destination",
    "domain",
    "email",
    "env",
    "environment",
    "file",
    "files",
    "filename",
    "force",
    "group",
    "hard",
    "host",
    "iban",
    "id",
    "ids",
    "image",
    "instance",
    "instances",
    "invoice",
    "issue",
    "key",
    "method",
    "name",
    "names",
    "namespace",
    "number",
    "op",
    "operation",
    "order",
    "organization",
    "owner",
    "path",
    "paths",
    "payee",
    "permanent",
    "permission",
    "permissions",
    "policy",
    "prefix",
    "project",
    "public",
    "query",
    "recipient",
    "recipients",
    "recursive",
    "region",
    "repo",
    "repository",
    "resource",
    "role",
    "roles",
    "schema",
    "scope",
    "script",
    "server",
    "service",
    "sql",
    "stack",
    "subscription",
    "table",
    "tables",
    "target",
    "team",
    "tenant",
    "to",
    "uri",
    "url",
    "user",
    "users",
    "username",
    "version",
    "visibility",
    "volume",
    "workspace",
    "zone",
];
/// Last words of names of arguments that hold prose.
const PROSE: &[&str] = &[
    "body",
    "comment",
    "content",
    "description",
    "details",
    "explanation",
    "justification",
    "message",
    "note",
    "notes",
    "reason",
    "reasoning",
    "summary",
    "text",
    "thought",
    "thoughts",
];

/// `name "x", force true and 3 more`; nothing where there are no arguments.
pub(super) fn facts(arguments: &Map<String, Value>) -> String {
    if let (1, Some((key, one))) = (arguments.len(), arguments.iter().next()) {
        return format!("{} {}", value(key, 30), drawn(one, ALONE, 0));
    }
    let mut named: Vec<(u8, &String, &Value)> =
        arguments.iter().take(MOST).map(|(key, value)| (rank(key, value), key, value)).collect();
    named.sort_by_key(|(rank, ..)| *rank);
    let mut out = String::new();
    for (index, (_, key, one)) in named.iter().enumerate() {
        let part = format!("{} {}", value(key, 30), drawn(one, TEXT, 0));
        let length = out.chars().count().saturating_add(part.chars().count());
        if index > 0 && length > ROOM {
            return format!("{out} and {} more", arguments.len().saturating_sub(index));
        }
        if index > 0 {
            out.push_str(", ");
        }
        out.push_str(&part);
    }
    match arguments.len().saturating_sub(named.len()) {
        0 => out,
        left => format!("{out} and {left} more"),
    }
}

/// How late an argument may stand; what is acted on and how comes first.
fn rank(key: &str, value: &Value) -> u8 {
    let words = words(&clip(key, 60));
    let any = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let prose = words.last().is_some_and(|word| PROSE.contains(&word.as_str()));
    match value {
        Value::Bool(true) if any(TARGETS) => 0,
        _ if prose => 3,
        _ if any(TARGETS) => 1,
        _ => 2,
    }
}

/// The words of a name: `userId` is `user`, `id`.
fn words(name: &str) -> Vec<String> {
    let (mut out, mut word) = (Vec::new(), String::new());
    let mut lower = false;
    for letter in name.chars() {
        if !letter.is_ascii_alphanumeric() || (letter.is_ascii_uppercase() && lower) {
            out.push(std::mem::take(&mut word));
        }
        lower = letter.is_ascii_lowercase();
        if letter.is_ascii_alphanumeric() {
            word.push(letter.to_ascii_lowercase());
        }
    }
    out.push(word);
    out.retain(|word| !word.is_empty());
    out
}

/// A value: texts in quotes, lists in brackets, each as far as there is room for it.
fn drawn(one: &Value, room: usize, depth: usize) -> String {
    match one {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => clip(&one.to_string(), room),
        Value::String(text) => quoted(&middle(text, room)),
        Value::Array(items) => {
            let parts = items.iter().map(|item| (None, item));
            format!("[{}]", inside(parts, items.len(), room, depth))
        }
        Value::Object(map) => {
            let parts = map.iter().map(|(key, item)| (Some(key.as_str()), item));
            format!("{{{}}}", inside(parts, map.len(), room, depth))
        }
    }
}

fn inside<'a>(
    parts: impl Iterator<Item = (Option<&'a str>, &'a Value)>,
    total: usize,
    room: usize,
    depth: usize,
) -> String {
    if depth > 1 && total > 0 {
        return if total == 1 { "1 value".to_owned() } else { format!("{total} values") };
    }
    let mut out = String::new();
    for (index, (key, item)) in parts.enumerate() {
        let key = key.map_or_else(String::new, |key| format!("{} ", value(key, 20)));
        let part =
            format!("{key}{}", drawn(item, room.min(TEXT).saturating_sub(4).max(8), depth.saturating_add(1)));
        let length = out.chars().count().saturating_add(part.chars().count());
        if index > 0 && length > room {
            return format!("{out} and {} more", total.saturating_sub(index));
        }
        if index > 0 {
            out.push_str(", ");
        }
        out.push_str(&part);
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(arguments: Value) -> String {
        facts(arguments.as_object().unwrap())
    }

    #[test]
    fn what_is_acted_on_comes_first_and_prose_last() {
        for (arguments, expected) in [
            (json!({}), ""),
            (json!({"name": "api"}), "name \"api\""),
            (json!({"a": 1, "description": "x", "userId": 7}), "userId 7, a 1, description \"x\""),
            (json!({"id": 1, "recursive": true}), "recursive true, id 1"),
            (
                json!({"tags": ["a", "b"], "x": {"y": {"z": [1, 2]}}}),
                "tags [\"a\", \"b\"], x {y {z [2 values]}}",
            ),
            (json!({"empty": [], "none": null, "map": {}}), "empty [], map {}, none null"),
        ] {
            assert_eq!(said(arguments.clone()), expected, "{arguments}");
        }
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let many: Map<String, Value> =
            (0..40).map(|n| (format!("key_{n:02}"), json!("v".repeat(30)))).collect();
        let said = facts(&many);
        assert!(said.chars().count() <= ROOM + 60, "{said}");
        let named = said.matches("key_").count();
        assert!(said.ends_with(&format!("and {} more", 40 - named)), "{said}");
        assert_eq!(
            self::said(json!({"list": (0..50).collect::<Vec<_>>(), "z": 1})),
            "list [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 37 more], z 1"
        );
    }
}
