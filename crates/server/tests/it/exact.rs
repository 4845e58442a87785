//! Every limit in the OpenAPI document is one that the server keeps: what is beyond it is refused, what is at it is not.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicU32, Ordering},
};

use http::Method;
use placet_testkit::{Answer, Http, Server};
use serde_json::{Value, json};

use crate::{
    openapi::{Operation, document, operations},
    support::{action, approved, ask, at, merged, on_sqlite, vote},
};

/// One limit of one text, list or number in a body or a query.
#[derive(Debug, Clone, PartialEq)]
struct Limit {
    /// A JSON pointer into the body, or the name of a parameter.
    place: String,
    word: &'static str,
    value: Value,
    /// The form that the text has, if it has one.
    form: Option<String>,
}

const WORDS: [&str; 7] = ["minLength", "maxLength", "pattern", "minItems", "maxItems", "minimum", "maximum"];

/// The schema itself, without references, without `null` as the other choice, and of several kinds the one that fits.
fn plain<'a>(document: &'a Value, schema: &'a Value, value: &Value) -> &'a Value {
    if let Some(reference) = schema["$ref"].as_str() {
        return plain(document, document.pointer(&reference[1..]).expect("it leads somewhere"), value);
    }
    let fits = |choice: &&Value| {
        let kinds = &plain(document, choice, value)["properties"]["kind"];
        choice["type"] != "null"
            && (kinds.is_null() || plain(document, kinds, value)["enum"][0] == value["kind"])
    };
    match schema["oneOf"].as_array() {
        Some(choices) => plain(document, choices.iter().find(fits).expect("one that fits"), value),
        None => schema,
    }
}

/// Every limit in a schema, as far as the example body goes; texts without any are noted.
fn limits(
    document: &Value,
    schema: &Value,
    place: &str,
    body: &Value,
    found: &mut (Vec<Limit>, Vec<String>),
) {
    let schema = plain(document, schema, body);
    let form = schema["pattern"].as_str().map(str::to_owned);
    let given = WORDS.into_iter().filter(|word| !schema[word].is_null());
    found.0.extend(given.map(|word| Limit {
        place: place.to_owned(),
        word,
        value: schema[word].clone(),
        form: form.clone(),
    }));
    let says = |word: &str| schema["type"] == word || schema["type"][0] == word;
    let bounded = ["maxLength", "pattern", "enum", "format"].iter().any(|word| !schema[word].is_null());
    if says("string") && !bounded {
        found.1.push(place.to_owned());
    }
    if let Some(items) = schema.get("items") {
        limits(document, items, &format!("{place}/0"), &body[0], found);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        limits(document, property, &format!("{place}/{name}"), &body[name], found);
    }
}

/// A text of this length that has the form.
fn text(form: Option<&str>, length: usize) -> String {
    let (begin, fill) = match form {
        Some(form) if form.starts_with("^/") => ("/", "a"),
        Some(form) if form.starts_with("^(team:)?") => ("team:", "a"),
        // A policy of this length says nothing: a comment.
        None if length > 100_000 => ("version = 1 #", "#"),
        _ => ("", "a"),
    };
    format!("{begin}{}", fill.repeat(length.saturating_sub(begin.len())))
}

/// So many of them. Names are all different; the decisions of a batch are about one request.
fn many(first: &Value, count: usize) -> Value {
    let another = |number: usize| match first {
        Value::String(text) => json!(format!("{text}{number}")),
        Value::Object(_) if first["decision"].is_null() => {
            let named = ["name", "id"].into_iter().filter_map(|key| Some((key, first[key].as_str()?)));
            let named = named.map(|(key, text)| (key.to_owned(), json!(format!("{text}{number}"))));
            merged(first.clone(), Value::Object(named.collect()))
        }
        other => other.clone(),
    };
    (0..count).map(another).collect()
}

impl Limit {
    /// A value beyond the limit, and one at it where that says something.
    fn tries(&self, first: &Value) -> (Value, Option<Value>) {
        let number = self.value.as_u64().and_then(|value| usize::try_from(value).ok()).unwrap_or_default();
        let form = self.form.as_deref();
        match self.word {
            "maxLength" => (json!(text(form, number + 1)), Some(json!(text(form, number)))),
            "minLength" => (json!(text(None, number - 1)), Some(json!(text(form, number)))),
            "pattern" => (json!("\u{202e} ? "), None),
            "maxItems" => (many(first, number + 1), Some(many(first, number))),
            "minItems" => (json!([]), None),
            "minimum" => {
                (self.value.as_i64().map(|least| json!(least - 1)).expect("a number"), Some(json!(number)))
            }
            "maximum" => (json!(number + 1), Some(json!(number))),
            word => panic!("{word}"),
        }
    }
}

/// Who calls what with which body; a new one for every try, because most calls can be made once.
struct Callers {
    agent: Http,
    reviewer: Http,
    admin: Http,
    nobody: Http,
    asked: AtomicU32,
}

impl Callers {
    async fn of(server: &Server) -> Self {
        let agent = server.agent("bot").await;
        let reviewer = server.reviewer("ann").await;
        Self { agent, reviewer, admin: server.admin(), nobody: server.nobody(), asked: AtomicU32::new(0) }
    }

    /// A call that is right, with every field that has a limit.
    async fn right(&self, name: &str) -> Vec<(&Http, String, Value)> {
        let Self { agent, reviewer, admin, nobody, .. } = self;
        // The point that P-256 begins with.
        let key = json!({"x": "axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY", "y": "T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"});
        let one = |caller, path: &str, body| vec![(caller, path.to_owned(), body)];
        let (_, path) = name.split_once(' ').expect("a method and a path");
        match name {
            "POST /v1/requests" => kinds().into_iter().map(|body| (agent, path.to_owned(), body)).collect(),
            "POST /v1/requests/{id}/cancel" => {
                one(agent, &at(&ask(agent).await, "/cancel"), json!({"reason": "r"}))
            }
            "POST /v1/requests/{id}/revoke" => {
                let record = approved(agent, reviewer).await;
                one(reviewer, &at(&record, "/revoke"), json!({"reason": "r"}))
            }
            "POST /v1/requests/{id}/claim" => {
                let record = approved(agent, reviewer).await;
                one(agent, &at(&record, "/claim"), json!({"claimant": "c".repeat(16)}))
            }
            "POST /v1/requests/{id}/outcome" | "POST /v1/requests/{id}/resolve" => {
                let record = approved(agent, reviewer).await;
                let permit =
                    agent.post(&at(&record, "/claim"), json!({})).await.expect(200)["permit"].clone();
                if name.ends_with("/resolve") {
                    return one(
                        reviewer,
                        &at(&record, "/resolve"),
                        json!({"status": "succeeded", "reason": "r"}),
                    );
                }
                let body =
                    json!({"permit": permit, "status": "succeeded", "result_digest": "d", "note": "n"});
                one(agent, &at(&record, "/outcome"), body)
            }
            "POST /v1/requests/{id}/reassign" => {
                one(reviewer, &at(&ask(agent).await, "/reassign"), json!({"to": ["ann"], "reason": "r"}))
            }
            "POST /v1/requests/{id}/decision" => {
                // One that nobody asked for before: a standing approval of another try must not decide it.
                let number = self.asked.fetch_add(1, Ordering::Relaxed);
                let other = merged(action(), json!({"arguments": {"number": number}}));
                let record = agent.post("/v1/requests", other).await.expect(201);
                let plan = agent.post("/v1/requests", plan()).await.expect(201);
                let remember = json!({"scope": "exact", "uses": 1, "expires_in": "1h"});
                let read = reviewer.get(&at(&record, "")).await.expect(200);
                let (card, fields) = (&read["view"]["digest"], &read["display"]["digest"]);
                let shown = json!({"reason": "r", "view": card, "display": fields, "remember": remember});
                let steps = json!({"steps": [{"id": "one", "decision": "approve"}]});
                vec![
                    (reviewer, at(&record, "/decision"), merged(vote(&record, "approve"), shown)),
                    (reviewer, at(&plan, "/decision"), merged(vote(&plan, "approve"), steps)),
                ]
            }
            "POST /v1/decisions" => {
                let record = ask(agent).await;
                let item = merged(vote(&record, "approve"), json!({"id": record["id"], "reason": "r"}));
                one(reviewer, path, json!([item]))
            }
            "POST /v1/freeze" => one(admin, path, json!({"agent": "other", "tool": "other", "reason": "r"})),
            "POST /v1/keys" => one(admin, path, json!({"role": "agent", "name": "new", "owner": "ann"})),
            "POST /v1/people" => {
                one(admin, path, json!({"name": "zoe", "roles": ["reviewer"], "teams": ["team"]}))
            }
            "PUT /v1/people/{name}" => {
                one(admin, "/v1/people/zoe", json!({"roles": ["reviewer"], "teams": ["team"]}))
            }
            "PUT /v1/agents/{name}/confine" => one(admin, "/v1/agents/bot/confine", json!({"confine": true})),
            "PUT /v1/agents/{name}/roots" => {
                one(admin, "/v1/agents/bot/roots", json!({"roots": ["/srv/app"]}))
            }
            "PUT /v1/coverage" => {
                let part = json!({"name": "n", "kind": "tool", "agent": "a", "status": "gated", "why": "w"});
                one(agent, path, json!({"framework": "f", "agent": "a", "parts": [part]}))
            }
            "PUT /v1/policy" => one(admin, path, json!({"policy": "version = 1", "source": "s"})),
            "POST /v1/policy/check" | "POST /v1/policy/simulate" | "PUT /v1/policy/shadow" => {
                one(admin, path, json!({"policy": "version = 1"}))
            }
            "POST /v1/policy/explain" => one(admin, path, json!({"request": action(), "agent": "bot"})),
            "POST /v1/session" => one(nobody, path, json!({"name": "ann", "password": "p", "key": key})),
            "POST /v1/session/link" => one(nobody, path, json!({"token": "t", "key": key})),
            // Only a browser that is signed in can call it: `sessions.rs`.
            "PUT /v1/session/password" => Vec::new(),
            other => panic!("no example of {other}: add one, so that its limits are tried"),
        }
    }
}

fn plan() -> Value {
    let step = json!({"id": "one", "action": "a", "description": "d"});
    json!({"kind": "plan", "session": "s-1", "title": "t", "steps": [step], "estimated_duration": "5m"})
}

/// A request of each kind.
fn kinds() -> Vec<Value> {
    let common = json!({"summary": "s", "expires_in": "5m", "on_behalf_of": "ann", "group": "g"});
    let input = json!({"type": "choice", "options": ["one"]});
    [
        action(),
        plan(),
        json!({"kind": "input", "session": "s-1", "question": "q", "input": input}),
        json!({"kind": "confirmation", "session": "s-1", "message": "m", "details": "d", "confirm_label": "y", "cancel_label": "n"}),
    ]
    .map(|body| merged(common.clone(), body))
    .into()
}

async fn send(caller: &Http, method: &Method, path: &str, body: &Value) -> Answer {
    caller.send(method.clone(), path, body.to_string().into()).await
}

/// Puts a value where a pointer leads; what is not there yet is made.
fn put(body: &mut Value, place: &str, value: Value) {
    match place.rsplit_once('/') {
        None => *body = value,
        Some((above, last)) => match body.pointer_mut(above).expect("a place in the example") {
            Value::Array(items) => items[last.parse::<usize>().expect("an index")] = value,
            fields => fields[last] = value,
        },
    }
}

/// What must exist is looked up, and refused in the same way when it is too long.
const LOOKED_UP: [&str; 4] = ["/to/0", "/steps/0/id", "/0/steps/0/id", "/display"];

/// Texts that are compared, or read as something else, and never kept: they need no limit but that of the body.
const COMPARED: [&str; 13] = [
    "/0/step_up/code",
    "/agent",
    "/expected",
    "/id",
    "/name",
    "/password",
    "/permit",
    "/remember/expires_in",
    "/0/remember/expires_in",
    "/step_up/code",
    "/token",
    "/expires_in",
    "/request/expires_in",
];

#[test]
fn what_is_beyond_a_limit_of_the_document_is_refused_and_what_is_at_it_is_not() {
    on_sqlite(async |server| {
        let document = document();
        let callers = Callers::of(server).await;
        let (mut tried, mut wrong) = (0, Vec::new());
        for operation in operations() {
            let schema = &operation.value["requestBody"]["content"]["application/json"]["schema"];
            if schema.is_null() {
                continue;
            }
            let examples = callers.right(&operation.name()).await.len();
            for example in 0..examples {
                let (caller, path, body) = callers.right(&operation.name()).await.swap_remove(example);
                let answer = send(caller, &operation.method, &path, &body).await;
                if answer.status == 422 {
                    wrong.push(format!(
                        "{}: the example {body} is refused: {}",
                        operation.name(),
                        answer.body
                    ));
                }
                let mut found = (Vec::new(), Vec::new());
                limits(&document, schema, "", &body, &mut found);
                for limit in found.0 {
                    if let Some(found) = one_limit(&callers, &operation, example, &limit).await {
                        tried += 1;
                        wrong.extend(found.err().map(|why| format!("{} {limit:?}: {why}", operation.name())));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(tried > 100, "{tried} limits were tried");
    });
}

/// Whether the server keeps this limit; none where the example has no such part.
async fn one_limit(
    callers: &Callers,
    operation: &Operation,
    example: usize,
    limit: &Limit,
) -> Option<Result<(), String>> {
    let (caller, path, mut wrong) = callers.right(&operation.name()).await.swap_remove(example);
    let above = limit.place.rsplit_once('/').map_or("", |(above, _)| above);
    wrong.pointer(above)?;
    let first = wrong.pointer(&format!("{}/0", limit.place)).cloned().unwrap_or_default();
    let (beyond, at) = limit.tries(&first);
    put(&mut wrong, &limit.place, beyond);
    let refused = send(caller, &operation.method, &path, &wrong).await;
    // Of a batch each item is answered by itself, and an id that is none like an unknown one.
    let status = refused.body["results"][0]["status"].as_u64().unwrap_or(refused.status.into());
    if status != 422 && !(status == 404 && limit.place == "/0/id") {
        return Some(Err(format!("what is beyond it is answered with {}: {}", refused.status, refused.body)));
    }
    if let Some(at) = at.filter(|_| !LOOKED_UP.contains(&limit.place.as_str())) {
        let (caller, path, mut right) = callers.right(&operation.name()).await.swap_remove(example);
        put(&mut right, &limit.place, at);
        let answer = send(caller, &operation.method, &path, &right).await;
        if answer.status == 422 && answer.body["pointer"] == limit.place {
            return Some(Err(format!("what is at it is refused: {}", answer.body)));
        }
    }
    Some(Ok(()))
}

#[test]
fn what_is_right_fits_the_document() {
    on_sqlite(async |server| {
        let document = document();
        let callers = Callers::of(server).await;
        for operation in operations() {
            let schema = &operation.value["requestBody"]["content"]["application/json"]["schema"];
            if schema.is_null() {
                continue;
            }
            // References lead to the components, so those come along.
            let schema = merged(schema.clone(), json!({"components": document["components"]}));
            let schema = jsonschema::validator_for(&schema).expect("a schema");
            for (_, _, body) in callers.right(&operation.name()).await {
                let wrong: Vec<String> = schema.iter_errors(&body).map(|error| error.to_string()).collect();
                assert!(wrong.is_empty(), "{} {body}: {wrong:?}", operation.name());
            }
        }
    });
}

#[test]
fn every_text_that_is_kept_has_a_limit_in_the_document() {
    on_sqlite(async |server| {
        let document = document();
        let callers = Callers::of(server).await;
        let mut without = BTreeMap::<String, BTreeSet<String>>::new();
        for operation in operations() {
            let schema = &operation.value["requestBody"]["content"]["application/json"]["schema"];
            if schema.is_null() {
                continue;
            }
            for (_, _, body) in callers.right(&operation.name()).await {
                let mut found = (Vec::new(), Vec::new());
                limits(&document, schema, "", &body, &mut found);
                let kept = found.1.into_iter().filter(|place| !COMPARED.contains(&place.as_str()));
                without.entry(operation.name()).or_default().extend(kept);
            }
        }
        without.retain(|_, places| !places.is_empty());
        assert_eq!(without, BTreeMap::new(), "give it a limit, or name it in COMPARED");
    });
}

#[test]
fn what_is_beyond_a_limit_of_a_query_is_refused_and_what_is_at_it_is_not() {
    on_sqlite(async |server| {
        let admin = server.admin();
        let mut tried = 0;
        for operation in operations().into_iter().filter(|operation| operation.method == Method::GET) {
            for parameter in operation.value["parameters"].as_array().into_iter().flatten() {
                for (word, value) in parameter["schema"].as_object().into_iter().flatten() {
                    let Some(word) = WORDS.into_iter().find(|known| known == word) else { continue };
                    if parameter["in"] != "query" {
                        continue;
                    }
                    let name = parameter["name"].as_str().expect("a name");
                    let limit = Limit { place: name.to_owned(), word, value: value.clone(), form: None };
                    let (beyond, at) = limit.tries(&Value::Null);
                    // Lines are shorter than records, so a page of them may have more.
                    let more = if operation.path == "/v1/requests" { "&view=row" } else { "" };
                    for (value, refused) in [(Some(beyond), true), (at, false)] {
                        let Some(value) = value else { continue };
                        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                        let answer = admin.get(&format!("{}?{name}={value}{more}", operation.path)).await;
                        assert_eq!(answer.status == 422, refused, "{} {limit:?}", operation.name());
                    }
                    tried += 1;
                }
            }
        }
        assert!(tried >= 8, "{tried} limits were tried");
    });
}
