//! JSON Schema for edited arguments: compiled without remote references and with linear-time patterns only.

use placet_core::Invalid;
use serde_json::{Map, Value};

fn compile(schema: &Value) -> Result<jsonschema::Validator, Invalid> {
    jsonschema::options()
        .with_pattern_options(jsonschema::PatternOptions::regex())
        .build(schema)
        .map_err(|error| Invalid::new("/arguments_schema", format!("not a usable JSON Schema: {error}")))
}

/// Whether this is a schema at all. Checked when a request comes in, so that an edit cannot fail on it later.
pub(crate) fn check_schema(schema: Option<&Value>) -> Result<(), Invalid> {
    schema.map_or(Ok(()), |schema| compile(schema).map(drop))
}

/// Whether replacement arguments fit the schema that the agent gave.
pub(crate) fn check_arguments(schema: Option<&Value>, arguments: &Map<String, Value>) -> Result<(), Invalid> {
    let Some(schema) = schema else { return Ok(()) };
    let validator = compile(schema)?;
    let value = Value::Object(arguments.clone());
    match validator.iter_errors(&value).next() {
        None => Ok(()),
        Some(error) => Err(Invalid::new(
            format!("/arguments{}", error.instance_path()),
            format!("the arguments do not fit the tool's schema: {error}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: Value, arguments: Value) -> Result<(), String> {
        check_arguments(Some(&schema), arguments.as_object().unwrap()).map_err(|invalid| invalid.pointer)
    }

    #[test]
    fn arguments_must_fit_and_the_place_is_named() {
        let schema = json!({"type":"object","properties":{"files":{"type":"array","items":{"type":"string"}}},"required":["files"]});
        assert_eq!(check(schema.clone(), json!({"files":["a"]})), Ok(()));
        assert_eq!(check(schema.clone(), json!({"files":[1]})), Err("/arguments/files/0".into()));
        assert_eq!(check(schema, json!({})), Err("/arguments".into()));
    }

    #[test]
    fn remote_references_are_refused_and_never_fetched() {
        assert!(check_schema(Some(&json!({"$ref":"http://127.0.0.1:1/schema.json"}))).is_err());
    }

    #[test]
    fn backtracking_patterns_are_refused() {
        assert!(check_schema(Some(&json!({"type":"string","pattern":"(a)\\1"}))).is_err());
    }
}
