//! The envelope of JSON-RPC 2.0.

use serde_json::{Value, json};

use crate::{Fault, Operation, Version, one_name};

/// One call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// What the answer repeats.
    pub id: Value,
    /// What is wanted.
    pub operation: Operation,
    /// In which version.
    pub version: Version,
    /// With what.
    pub params: Value,
}

impl Call {
    /// Reads a call; a fault comes with the id it must be answered under and the version to answer in.
    pub fn read(body: Value, header: Option<&str>) -> Result<Self, (Value, Version, Fault)> {
        let fallback = Version::named(header).unwrap_or(Version::V10);
        let Value::Object(mut body) = body else {
            let why = if body.is_array() { "batches are not supported" } else { "not an object" };
            return Err((Value::Null, fallback, Fault::InvalidRequest(why.to_owned())));
        };
        // Without an id it would be a notification, which nobody answers; but these clients want an answer, and get one.
        let id = body.remove("id").unwrap_or(Value::Null);
        if !matches!(id, Value::String(_) | Value::Number(_) | Value::Null) {
            let why = "`id` is neither text nor a number";
            return Err((Value::Null, fallback, Fault::InvalidRequest(why.to_owned())));
        }
        let wrong = |why: &str| (id.clone(), fallback, Fault::InvalidRequest(why.to_owned()));
        if body.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(wrong("`jsonrpc` is not \"2.0\""));
        }
        let Some(method) = body.get("method").and_then(Value::as_str) else {
            return Err(wrong("`method` is missing or not text"));
        };
        let (operation, version) = Operation::dispatch(method, header).map_err(|fault| {
            // Whoever uses the names of a version reads its errors too.
            let version = Operation::of_method(method).map_or(fallback, |(_, version)| version);
            (id.clone(), version, fault)
        })?;
        let mut params = body.remove("params").unwrap_or_else(|| json!({}));
        if !params.is_object() {
            let fault = Fault::InvalidParams("`params` is not an object".to_owned());
            return Err((id, version, fault));
        }
        one_name(&mut params).map_err(|fault| (id.clone(), version, fault))?;
        Ok(Self { id, operation, version, params })
    }
}

/// The envelope of a result.
#[must_use]
pub fn answer(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The envelope of a fault.
#[must_use]
pub fn refusal(id: &Value, version: Version, fault: &Fault) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": fault.rpc(version)})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_call_is_refused_under_the_id_it_has() {
        let cases = [
            (json!([]), Value::Null, -32600),
            (json!({"jsonrpc": "2.0", "method": "Nothing"}), Value::Null, -32601),
            (json!({"jsonrpc": "2.0", "id": {}, "method": "GetTask"}), Value::Null, -32600),
            (json!({"id": 1, "method": "GetTask"}), json!(1), -32600),
            (json!({"jsonrpc": "2.0", "id": "a"}), json!("a"), -32600),
            (json!({"jsonrpc": "2.0", "id": 7, "method": "Nothing"}), json!(7), -32601),
            (json!({"jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": [1]}), json!(7), -32602),
            (json!({"jsonrpc": "2.0", "id": 7, "method": "tasks/get", "params": {}}), json!(7), -32009),
        ];
        for (body, id, code) in cases {
            let (found, _, fault) = Call::read(body.clone(), Some("1.0")).unwrap_err();
            assert_eq!((found, fault.code()), (id, code), "{body}");
        }
    }

    #[test]
    fn a_call_without_an_id_is_answered_under_none() {
        let call =
            Call::read(json!({"jsonrpc": "2.0", "method": "GetTask", "params": {"id": "t"}}), Some("1.0"));
        assert_eq!(call.unwrap().id, Value::Null);
    }

    #[test]
    fn errors_of_1_0_carry_the_reason_and_those_of_0_3_do_not() {
        let fault = Fault::TaskNotFound("t".to_owned());
        let new = refusal(&json!(1), Version::V10, &fault);
        assert_eq!(new["error"]["data"][0]["reason"], "TASK_NOT_FOUND");
        assert_eq!(new["error"]["data"][0]["domain"], "a2a-protocol.org");
        assert!(refusal(&json!(1), Version::V03, &fault)["error"].get("data").is_none());
    }
}
