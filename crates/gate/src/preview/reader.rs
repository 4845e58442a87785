//! Tools whose names say that they only read, and calls of them that do more.

use serde_json::{Map, Value};

use super::{args::Name, call::effect_of, shell, sql};

/// First words of names that say that a tool only reads.
pub(super) const READERS: &[&str] = &[
    "read", "get", "list", "search", "find", "describe", "count", "glob", "grep", "ls", "view", "show",
    "lookup",
];
const ADDRESSES: &[&str] = &["url", "uri", "endpoint", "address", "href"];
const METHODS: &[&str] = &["method", "http_method", "verb", "request_method"];
const BODIES: &[&str] = &["body", "data", "json", "payload", "form", "form_data", "files", "upload"];
const STATEMENTS: &[&str] = &["sql", "sql_query", "statement", "query", "q"];

/// What a call does although the name of its tool says that it only reads, for the record.
pub(crate) fn contradiction(tool: &str, arguments: &Map<String, Value>) -> Option<String> {
    if !Name::new(tool).begins(READERS) {
        return None;
    }
    let does = does(arguments)?;
    Some(format!("its name says that it only reads, and it {does}: {}", effect_of(tool, arguments)))
}

/// What arguments make a tool do beyond reading, whatever the tool is.
fn does(arguments: &Map<String, Value>) -> Option<&'static str> {
    let there = |value: &Value| match value {
        Value::Null | Value::Bool(_) => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Number(_) => true,
    };
    for (key, value) in arguments {
        let key = key.as_str();
        if shell::KEYS.contains(&key) && matches!(value, Value::String(_) | Value::Array(_)) && there(value) {
            return Some("runs a command");
        }
        if STATEMENTS.contains(&key) && value.as_str().is_some_and(|text| sql::changes(text, key)) {
            return Some("changes a database");
        }
    }
    let addressed = arguments.keys().any(|key| ADDRESSES.contains(&key.as_str()));
    let sends = || arguments.iter().any(|(key, value)| sends(key, value, &there));
    (addressed && sends()).then_some("sends something")
}

/// Whether an argument of a call with an address is a method that changes something, or a body; at any depth.
fn sends(key: &str, value: &Value, there: &dyn Fn(&Value) -> bool) -> bool {
    let reads = ["GET", "HEAD", ""];
    match value {
        Value::String(text) if METHODS.contains(&key) => {
            !reads.iter().any(|method| method.eq_ignore_ascii_case(text.trim()))
        }
        value if BODIES.contains(&key) => there(value),
        Value::Object(map) => map.iter().any(|(key, value)| sends(key, value, there)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reader_that_is_handed_more_than_a_question_contradicts_its_name() {
        for (tool, arguments, does) in [
            ("read_shell_command", json!({"command": "ls"}), Some("runs a command")),
            ("get_output", json!({"cmd": ["rm", "x"]}), Some("runs a command")),
            ("get_sql", json!({"query": "DROP TABLE users"}), Some("changes a database")),
            ("get_rows", json!({"sql": "delete from users where id = 1"}), Some("changes a database")),
            ("search_db", json!({"query": "SELECT 1; DELETE FROM users"}), Some("changes a database")),
            ("get_sql", json!({"sql": "SELECT 1 -- x\r; DROP TABLE users"}), Some("changes a database")),
            ("get_url", json!({"url": "https://a.example", "body": {"a": 1}}), Some("sends something")),
            (
                "get_page",
                json!({"url": "https://a.example", "options": {"method": "DELETE"}}),
                Some("sends something"),
            ),
            ("search_web", json!({"query": "delete old mail"}), None),
            ("search_web", json!({"query": "update on the project"}), None),
            ("get_sql", json!({"query": "SELECT * FROM users"}), None),
            ("get_url", json!({"url": "https://a.example", "method": "get", "body": null}), None),
            ("get_body", json!({"data": "x"}), None),
            ("delete_rows", json!({"sql": "DELETE FROM users"}), None),
        ] {
            let found = contradiction(tool, arguments.as_object().unwrap());
            let matches = match (&found, does) {
                (Some(text), Some(does)) => text.contains(does),
                (found, does) => found.is_none() && does.is_none(),
            };
            assert!(matches, "{tool} {arguments}: {found:?}");
        }
    }
}
