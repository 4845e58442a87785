//! The OpenAPI document: current, complete, and true.

use std::{collections::BTreeSet, path::Path};

use http::Method;
use serde_json::Value;

use crate::support::on_sqlite;

/// The document as the code has it.
pub(crate) fn document() -> Value {
    serde_json::from_str(&placet_server::document()).expect("the document is JSON")
}

/// One operation of the document.
pub(crate) struct Operation {
    pub(crate) method: Method,
    /// With `{id}` and the like.
    pub(crate) path: String,
    pub(crate) value: Value,
}

impl Operation {
    /// `GET /v1/requests/{id}`.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Whether it can be called without a key.
    pub(crate) fn is_open(&self) -> bool {
        self.value["security"]
            .as_array()
            .is_some_and(|security| security.iter().all(|way| way == &serde_json::json!({})))
    }
}

/// All operations of the document.
pub(crate) fn operations() -> Vec<Operation> {
    let document = document();
    let paths = document["paths"].as_object().expect("paths");
    paths
        .iter()
        .flat_map(|(path, item)| {
            item.as_object().expect("a path item").iter().map(|(method, value)| Operation {
                method: method.to_uppercase().parse().expect("a method"),
                path: path.clone(),
                value: value.clone(),
            })
        })
        .collect()
}

#[test]
fn openapi_document_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../api/openapi.json");
    let now = placet_server::document();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &now).expect("the document can be written");
    }
    let then = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        then == now,
        "api/openapi.json is not what the code says: run this test with UPDATE=1, and look at the difference"
    );
}

#[test]
fn words_are_spelled_in_the_document_as_on_the_wire() {
    let document = document();
    let words = |name: &str| document["components"]["schemas"][name]["enum"].clone();
    assert_eq!(words("DecisionWord"), serde_json::to_value(placet_core::DecisionWord::ALL).expect("words"));
    assert_eq!(words("State"), serde_json::to_value(placet_core::State::ALL).expect("words"));
    assert_eq!(words("Kind"), serde_json::to_value(placet_core::Kind::ALL).expect("words"));
    assert_eq!(words("Risk"), serde_json::to_value(placet_core::Risk::ALL).expect("words"));
    assert_eq!(words("Role"), serde_json::to_value(placet_core::Role::ALL).expect("words"));
    assert_eq!(words("Effect"), serde_json::to_value(placet_core::Effect::ALL).expect("words"));
}

#[test]
fn the_document_is_openapi_3_1_and_names_every_call() {
    assert!(document()["openapi"].as_str().is_some_and(|version| version.starts_with("3.1.")));
    let names: BTreeSet<String> = operations().iter().map(Operation::name).collect();
    let expected = [
        "DELETE /v1/agents/{name}/coverage",
        "DELETE /v1/freeze/{id}",
        "DELETE /v1/grants/{id}",
        "DELETE /v1/keys/{id}",
        "DELETE /v1/people/{name}",
        "DELETE /v1/policy/shadow",
        "DELETE /v1/session",
        "DELETE /v1/sessions/{id}",
        "GET /healthz",
        "GET /metrics",
        "GET /openapi.json",
        "GET /readyz",
        "GET /v1/agents",
        "GET /v1/freeze",
        "GET /v1/grants",
        "GET /v1/keys",
        "GET /v1/ledger",
        "GET /v1/ledger/status",
        "GET /v1/me/pace",
        "GET /v1/people",
        "GET /v1/policy",
        "GET /v1/policy/shadow",
        "GET /v1/policy/suggestions",
        "GET /v1/policy/{hash}",
        "GET /v1/requests",
        "GET /v1/requests/export",
        "GET /v1/requests/{id}",
        "GET /v1/requests/{id}/history",
        "GET /v1/session",
        "GET /v1/sessions",
        "GET /v1/stats",
        "GET /v1/stream",
        "GET /v1/summary",
        "GET /v1/ws",
        "POST /v1/decisions",
        "POST /v1/freeze",
        "POST /v1/keys",
        "POST /v1/ledger/verify",
        "POST /v1/people",
        "POST /v1/people/{name}/link",
        "POST /v1/policy/check",
        "POST /v1/policy/explain",
        "POST /v1/policy/simulate",
        "POST /v1/requests",
        "POST /v1/requests/export/ticket",
        "POST /v1/requests/{id}/cancel",
        "POST /v1/requests/{id}/claim",
        "POST /v1/requests/{id}/decision",
        "POST /v1/requests/{id}/outcome",
        "POST /v1/requests/{id}/reassign",
        "POST /v1/requests/{id}/resolve",
        "POST /v1/requests/{id}/revoke",
        "POST /v1/restore/confirm",
        "POST /v1/session",
        "POST /v1/session/link",
        "POST /v1/ws/ticket",
        "PUT /v1/agents/{name}/confine",
        "PUT /v1/agents/{name}/roots",
        "PUT /v1/coverage",
        "PUT /v1/people/{name}",
        "PUT /v1/policy",
        "PUT /v1/policy/shadow",
        "PUT /v1/session/password",
    ];
    assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn every_call_that_needs_a_key_says_what_happens_without_one() {
    for operation in operations() {
        let unauthorized = &operation.value["responses"]["401"]["content"]["application/problem+json"];
        if operation.path.starts_with("/v1/") {
            let signs_in = ["POST /v1/session", "POST /v1/session/link"].contains(&operation.name().as_str());
            assert_eq!(operation.is_open(), signs_in, "{} needs a key", operation.name());
            assert!(unauthorized.is_object(), "{} has no 401", operation.name());
            for common in ["403", "429", "503"] {
                assert!(
                    operation.value["responses"][common].is_object(),
                    "{} has no {common}",
                    operation.name()
                );
            }
        } else {
            assert!(operation.is_open(), "{} is open", operation.name());
            assert!(unauthorized.is_null(), "{} answers without a key", operation.name());
        }
    }
}

#[test]
fn every_problem_is_documented_with_its_media_type() {
    for operation in operations() {
        for (status, response) in operation.value["responses"].as_object().expect("responses") {
            let json = &response["content"]["application/json"]["schema"]["$ref"];
            assert_ne!(
                json,
                "#/components/schemas/ProblemDocument",
                "{} {status} is a problem, not plain JSON",
                operation.name()
            );
        }
    }
}

#[test]
fn every_operation_has_a_name_of_its_own() {
    let names: Vec<String> =
        operations().iter().map(|operation| operation.value["operationId"].to_string()).collect();
    let different: BTreeSet<&String> = names.iter().collect();
    assert_eq!(different.len(), names.len(), "{names:?}");
}

#[test]
fn every_reference_of_the_document_leads_somewhere() {
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let document = document();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(!found.is_empty());
    for reference in found {
        assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
    }
}

#[test]
fn every_post_documents_its_idempotency_key() {
    let posts = operations().into_iter().filter(|operation| operation.method == Method::POST);
    // Signing in and a link to do so are never repeated: each time is another one.
    for operation in
        posts.filter(|operation| !operation.is_open() && operation.name() != "POST /v1/people/{name}/link")
    {
        let parameters = operation.value["parameters"].as_array().cloned().unwrap_or_default();
        assert!(
            parameters.iter().any(|parameter| parameter["name"] == "Idempotency-Key"),
            "{}",
            operation.name()
        );
    }
}

#[test]
fn the_server_serves_the_document_and_every_route_in_it() {
    on_sqlite(async |server| {
        let served = server.nobody().get("/openapi.json").await.expect(200);
        assert_eq!(served, document());
        for operation in operations() {
            let path = operation.path.replace("{id}", "x").replace("{name}", "x");
            let answer = server.nobody().send(operation.method.clone(), &path, "{}".into()).await;
            let expected = match operation.path.as_str() {
                // No recorder is installed in tests.
                "/metrics" => 404,
                path if path.starts_with("/v1/") && operation.is_open() => 422,
                path if path.starts_with("/v1/") => 401,
                _ => 200,
            };
            assert_eq!(answer.status, expected, "{}", operation.name());
        }
    });
}
