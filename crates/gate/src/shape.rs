//! The shape of a call: its tool, and the names and types of its arguments, without the values.

use std::collections::BTreeSet;

use data_encoding::BASE32_DNSSEC;
use placet_core::{Kind, Request};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// Most values that are looked at, and most of one list. Calls that agree in so many count as alike, and a list of rows
/// stays cheap.
const VALUES: usize = 1024;
const ITEMS: usize = 16;

/// The shape of a call. Other kinds have none.
pub(crate) fn shape_of(request: &Request) -> Option<String> {
    let content = request.content.as_ref().filter(|_| request.kind == Kind::Action)?;
    Some(shape(content.body.tool()?, content.body.arguments()?))
}

/// Equal for calls of one tool whose arguments have the same names and types, at every depth. Items of a list count
/// by their types alone. Used to group calls and find precedents; it decides nothing.
pub(crate) fn shape(tool: &str, arguments: &Map<String, Value>) -> String {
    let mut walk = Walk { places: BTreeSet::new(), left: VALUES };
    for (name, value) in arguments {
        walk.visit(&escaped(name), value);
    }
    let mut hash = Sha256::new();
    hash.update(tool);
    for place in &walk.places {
        // Neither a tool nor an escaped name contains a line end, so parts cannot run together.
        hash.update(b"\n");
        hash.update(place);
    }
    let hash = hash.finalize();
    BASE32_DNSSEC.encode(hash.get(..10).unwrap_or(&hash))
}

struct Walk {
    places: BTreeSet<String>,
    left: usize,
}

impl Walk {
    fn visit(&mut self, path: &str, value: &Value) {
        let Some(left) = self.left.checked_sub(1) else { return };
        self.left = left;
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(items) => {
                let path = format!("{path}/");
                items.iter().take(ITEMS).for_each(|item| self.visit(&path, item));
                "array"
            }
            Value::Object(map) => {
                map.iter().for_each(|(name, value)| self.visit(&format!("{path}/{}", escaped(name)), value));
                "object"
            }
        };
        self.places.insert(format!("{path} {kind}"));
    }
}

/// A name as one part of a path: without slash, space or line end.
fn escaped(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if !name.is_empty() && name.bytes().all(plain) {
        name.to_owned()
    } else {
        format!("{name:?}").replace('/', "\\/").replace(' ', "\\s")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(tool: &str, arguments: &Value) -> String {
        shape(tool, arguments.as_object().unwrap())
    }

    #[test]
    fn values_and_the_number_of_items_do_not_change_a_shape() {
        for (one, other) in [
            (json!({"to": "x", "amount": 1}), json!({"amount": 2.5, "to": "a much longer text"})),
            (json!({"files": ["a"]}), json!({"files": ["b", "c", "d"]})),
            (json!({"a": [1], "z": 1}), json!({"a": vec![1; 5_000], "z": 1})),
            (json!({"rows": [{"id": 1}, {"id": 2}]}), json!({"rows": [{"id": 3}]})),
            (json!({"at": {"x": true}}), json!({"at": {"x": false}})),
            (json!({}), json!({})),
        ] {
            assert_eq!(of("t", &one), of("t", &other), "{one} {other}");
        }
    }

    #[test]
    fn another_tool_name_type_or_depth_is_another_shape() {
        let all = [
            ("pay", json!({"to": "x", "amount": 1})),
            ("pay", json!({"to": "x", "amount": "1"})),
            ("pay", json!({"to": "x"})),
            ("pay", json!({"to": "x", "amount": 1, "note": null})),
            ("mail", json!({"to": "x", "amount": 1})),
            ("pay", json!({"to": ["x"], "amount": 1})),
            ("pay", json!({"to": [1], "amount": 1})),
            ("pay", json!({"to": {"x": "y"}, "amount": 1})),
            ("pay", json!({"to/x": "y", "amount": 1})),
            ("pay", json!({"to string\nx": "y"})),
            ("pay", json!({"to": {"x": 1}})),
            ("pay", json!({"to": {}, "x": 1})),
            ("pay", json!({"": "x"})),
            ("pay", json!({"\"\"": "x"})),
        ];
        let shapes: BTreeSet<String> = all.iter().map(|(tool, arguments)| of(tool, arguments)).collect();
        assert_eq!(shapes.len(), all.len());
        assert!(shapes.iter().all(|shape| shape.len() == 16 && shape.is_ascii()), "{shapes:?}");
    }

    #[test]
    fn so_many_places_are_looked_at_and_no_more() {
        let many = |count: usize, last: Value| {
            let mut map: Map<String, Value> = (0..count).map(|n| (format!("k{n:06}"), json!(n))).collect();
            map.insert("z".to_owned(), last);
            Value::Object(map)
        };
        assert_ne!(of("t", &many(VALUES - 1, json!(1))), of("t", &many(VALUES - 1, json!("1"))));
        assert_eq!(of("t", &many(VALUES, json!(1))), of("t", &many(VALUES, json!("1"))));
    }
}
