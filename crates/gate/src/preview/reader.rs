//! Calls that policy takes for reading, and that do more than read.

use placet_policy::beyond_reading;
use serde_json::{Map, Value};

use super::{
    args::Name,
    call::{Recognised, effect_of, recognise},
};

/// First words of names that say that a tool only reads.
pub(super) const READERS: &[&str] = &[
    "read", "get", "list", "search", "find", "describe", "count", "glob", "grep", "ls", "view", "show",
    "lookup",
];

/// What a call does although the name of its tool says that it only reads, for the record.
pub(crate) fn contradiction(tool: &str, arguments: &Map<String, Value>) -> Option<String> {
    if !Name::new(tool).begins(READERS) {
        return None;
    }
    let does = beyond_reading(tool, arguments)?;
    Some(format!("its name says that it only reads, and it {does}: {}", effect_of(tool, arguments)))
}

/// The sentence about a call, if it says more than that something is read.
pub(crate) fn says_more(tool: &str, arguments: &Map<String, Value>) -> Option<String> {
    recognise(tool, arguments).filter(Recognised::acts).map(|_| effect_of(tool, arguments))
}

/// The sentence about a call.
pub(crate) fn says(tool: &str, arguments: &Map<String, Value>) -> String {
    effect_of(tool, arguments)
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
