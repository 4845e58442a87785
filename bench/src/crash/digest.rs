//! The digest of a request, computed independently of the product, from the contract alone.

use data_encoding::HEXLOWER;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// RFC 8785 for what the load sends: ASCII text and integers, for which sorting bytes and plain digits are exact.
/// `None` for anything else, so that no other value passes unnoticed.
pub(super) fn canonical(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("null".into()),
        Value::Bool(yes) => Some(yes.to_string()),
        Value::Number(number) => number.as_i64().map(|number| number.to_string()),
        Value::String(text) => text.is_ascii().then(|| serde_json::to_string(text).ok())?,
        Value::Array(items) => {
            let parts: Option<Vec<String>> = items.iter().map(canonical).collect();
            Some(format!("[{}]", parts?.join(",")))
        }
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_unstable();
            let parts: Option<Vec<String>> = names
                .into_iter()
                .map(|name| {
                    let value = canonical(fields.get(name)?)?;
                    Some(format!("{}:{value}", canonical(&Value::String(name.clone()))?))
                })
                .collect();
            Some(format!("{{{}}}", parts?.join(",")))
        }
    }
}

/// SHA-256 in the wire's spelling.
pub(super) fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(bytes)))
}

/// The digest of an action's record with these arguments.
pub(super) fn of_action(record: &Value, arguments: &Value) -> Option<String> {
    let field = |name: &str| record.get(name).cloned().unwrap_or(Value::Null);
    let mut body = Map::new();
    body.insert("tool".into(), field("tool"));
    body.insert("arguments".into(), arguments.clone());
    let schema = field("arguments_schema");
    if !schema.is_null() {
        body.insert("arguments_schema".into(), schema);
    }
    let whole = json!({
        "space": "main", "id": field("id"), "agent": field("agent"), "session": field("session"), "kind": field("kind"),
        "body": body, "context": field("context"), "on_behalf_of": field("on_behalf_of"),
        "created_at": field("created_at"), "nonce": field("nonce"),
    });
    Some(sha256(format!("placet/request/v1\n{}", canonical(&whole)?).as_bytes()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{canonical, of_action, sha256};

    #[test]
    fn names_are_sorted_at_every_depth_and_nothing_is_spaced() {
        let value = json!({"b": [1, {"z": null, "a": true}], "a": "x\"\n"});
        assert_eq!(canonical(&value).unwrap(), r#"{"a":"x\"\n","b":[1,{"a":true,"z":null}]}"#);
    }

    #[test]
    fn what_this_small_form_cannot_write_exactly_is_refused() {
        assert_eq!(canonical(&json!(1.5)), None);
        assert_eq!(canonical(&json!({"k": "ü"})), None);
    }

    #[test]
    fn the_digest_is_over_the_prefix_and_the_named_object() {
        let record = json!({"id": "req_1", "agent": "a", "session": "s", "kind": "action", "tool": "t", "context": {},
            "on_behalf_of": null, "created_at": "2026-01-01T00:00:00.000000Z", "nonce": "n", "digest": "ignored"});
        let text = "placet/request/v1\n{\"agent\":\"a\",\"body\":{\"arguments\":{\"n\":1},\"tool\":\"t\"},\"context\":{},\"created_at\":\"2026-01-01T00:00:00.000000Z\",\"id\":\"req_1\",\"kind\":\"action\",\"nonce\":\"n\",\"on_behalf_of\":null,\"session\":\"s\",\"space\":\"main\"}";
        assert_eq!(of_action(&record, &json!({"n": 1})).unwrap(), sha256(text.as_bytes()));
    }
}
