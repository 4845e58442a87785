//! What an agent sends, and the request it becomes.

use http::HeaderMap;
use placet_core::{Actor, Create, DecisionWord, Kind, RequestId, Risk};
use placet_gate::Idempotency;
use placet_ledger::{
    canonical,
    ijson::{self, Limits},
};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::detail::{Refused, field};
use crate::{call, problem::Problem};

/// Fields that must be there as text.
const TEXTS: [&str; 6] = ["session_id", "app_name", "user_id", "agent_name", "tool_name", "message"];
/// Fields that only a decision fills. Whoever asks may say that they are empty, and nothing else.
const DECIDED: [&str; 4] = ["decided_at", "decided_by", "decision_notes", "escalated_to"];
/// Longest id that a client may choose, in bytes.
const ID: usize = 200;

/// A request as an agent sent it.
#[derive(Debug)]
pub(super) struct AskBody {
    pub(super) create: Create,
    /// What says that this is the same request again, besides who asks.
    again: Option<[String; 3]>,
}

impl AskBody {
    /// Reads a body. Everything that does not fit is named at once; what the original ignores is ignored.
    pub(super) fn read(body: Value) -> Result<Self, Refused> {
        let Value::Object(mut body) = body else {
            return Err(Refused::Fields(vec![field("dict_type", "", "Input should be a valid dictionary")]));
        };
        let mut wrong = Vec::new();
        let texts = TEXTS.map(|name| text(&mut body, name, &mut wrong));
        let [invocation, call, own] = ["invocation_id", "function_call_id", "id"].map(|name| {
            if body.get(name).is_none_or(Value::is_null) { None } else { text(&mut body, name, &mut wrong) }
        });
        let payload = dictionary(&mut body, "payload", &mut wrong);
        let schema = match body.get("response_schema") {
            None => Some(Map::new()),
            Some(_) => dictionary(&mut body, "response_schema", &mut wrong),
        };
        let risk = body.contains_key("risk_level").then(|| text(&mut body, "risk_level", &mut wrong));
        if body.get("status").is_some_and(|status| status != "pending") {
            wrong.push(field(
                "literal_error",
                "status",
                "Input should be 'pending': only a reviewer decides",
            ));
        }
        for name in DECIDED {
            if body.get(name).is_some_and(|value| !value.is_null()) {
                wrong.push(field("none_required", name, "Input should be None: only a reviewer decides"));
            }
        }
        if let Some(own) = &own
            && !fits(own)
        {
            let message = "Input should be 1 to 200 bytes, and none of this server's own ids and addresses";
            wrong.push(field("value_error", "id", message));
        }
        let accepts_edits = match body.get("accepts_edits") {
            None => false,
            Some(Value::Bool(accepts)) => *accepts,
            Some(_) => {
                wrong.push(field("bool_type", "accepts_edits", "Input should be a valid boolean"));
                false
            }
        };
        let [Some(session), Some(app), Some(user), Some(agent), Some(tool), Some(message)] = texts else {
            return Err(Refused::Fields(wrong));
        };
        let (Some(arguments), Some(schema), true) = (payload, schema, wrong.is_empty()) else {
            return Err(Refused::Fields(wrong));
        };
        let mut context = Map::new();
        for (name, value) in [("app_name", app), ("user_id", user), ("agent_name", agent)] {
            context.insert(name.to_owned(), value.into());
        }
        for (name, value) in [("invocation_id", invocation.clone()), ("call_id", call.clone())] {
            context.extend(value.map(|value| (name.to_owned(), value.into())));
        }
        if !schema.is_empty() {
            context.insert("response_schema".to_owned(), schema.into());
        }
        let risk = risk.flatten();
        context.extend(risk.clone().map(|risk| ("risk_level".to_owned(), risk.into())));
        if accepts_edits {
            context.insert("accepts_edits".to_owned(), true.into());
        }
        let again = match (&own, call) {
            (Some(own), _) => Some(["id".to_owned(), own.clone(), String::new()]),
            // The framework makes one for every call, so the same one is the same call, asked again.
            (None, Some(call)) => Some(["call".to_owned(), session.clone(), call]),
            (None, None) => None,
        };
        let create = Create {
            summary: Some(message),
            // A word of the client's own may mean anything, so it is taken for the worst that its words can say.
            risk: risk.map(|risk| risk.to_ascii_lowercase().parse().unwrap_or(Risk::High)),
            context: Some(context),
            allowed: Some(vec![DecisionWord::Approve, DecisionWord::Edit, DecisionWord::Deny]),
            group: own,
            permit: Some(false),
            tool: Some(tool),
            arguments: Some(arguments),
            ..Create::new(Kind::Action, session)
        };
        Ok(Self { create, again })
    }

    /// Its idempotency key: the client's own id, the header, or the framework's id of the call.
    pub(super) fn idempotency(
        &self,
        headers: &HeaderMap,
        actor: &Actor,
    ) -> Result<Option<Idempotency>, Problem> {
        // The decorator sends neither, and should not pay for what it does not use.
        if self.again.is_none() && !headers.contains_key("idempotency-key") {
            return Ok(None);
        }
        let wrong = |error: String| Problem::unprocessable("invalid", "", error);
        let body = serde_json::to_value(&self.create).map_err(|error| wrong(error.to_string()))?;
        if self.create.group.is_none()
            && let Some(by_header) = call::idempotency(headers, actor, "/approvals/", &body)?
        {
            return Ok(Some(by_header));
        }
        let Some(again) = &self.again else { return Ok(None) };
        let [kind, first, second] = again;
        let scope = call::scope(&["community", &actor.name, kind, first, second]);
        let body = canonical(&body).map_err(|error| wrong(error.to_string()))?;
        Ok(Some(Idempotency { scope, body: Sha256::digest(&body).into() }))
    }
}

/// Whether a client may choose this id: it must lead to its own request and to nothing else.
fn fits(id: &str) -> bool {
    (1..=ID).contains(&id.len()) && !["pending", "audit"].contains(&id) && id.parse::<RequestId>().is_err()
}

fn text(body: &mut Map<String, Value>, name: &str, wrong: &mut Vec<Value>) -> Option<String> {
    match body.remove(name) {
        Some(Value::String(text)) => return Some(text),
        None => wrong.push(field("missing", name, "Field required")),
        Some(_) => wrong.push(field("string_type", name, "Input should be a valid string")),
    }
    None
}

/// A dictionary, or one written as JSON text. The original takes text that is neither for an empty one; here it is wrong.
fn dictionary(
    body: &mut Map<String, Value>,
    name: &str,
    wrong: &mut Vec<Value>,
) -> Option<Map<String, Value>> {
    let value = match body.remove(name) {
        Some(Value::String(text)) => ijson::parse(text.as_bytes(), &Limits::default()).unwrap_or_default(),
        Some(value) => value,
        None => {
            wrong.push(field("missing", name, "Field required"));
            return None;
        }
    };
    if let Value::Object(map) = value {
        return Some(map);
    }
    wrong.push(field("dict_type", name, "Input should be a valid dictionary"));
    None
}
