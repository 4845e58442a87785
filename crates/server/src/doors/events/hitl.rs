//! A question to a person inside an event, and the request it becomes. What does not fit is refused by name.

use placet_core::{Create, InputSpec, InputType, Kind};
use placet_egress::Target;
use placet_gate::ANSWER_TO;
use placet_ledger::ijson;
use serde_json::{Map, Value, value::RawValue};

use super::{Fault, shape::Event};
use crate::State;

/// Longest session of a request, in bytes.
const SESSION: usize = 200;
/// Largest payload that is shown to the person, in bytes.
const PAYLOAD: usize = 32 * 1024;

/// The request that an event asks for.
pub(super) fn create(state: &State, event: &Event, asked: &RawValue) -> Result<Create, Fault> {
    let bad = |field: &str, why: &str| Fault::bad(format!("humanInTheLoop.{field}: {why}"));
    let asked: Value = serde_json::from_str(asked.get()).map_err(|_| Fault::invalid())?;
    let Value::Object(asked) = asked else {
        return Err(Fault::bad("humanInTheLoop: expected an object"));
    };
    let given = |name: &str| asked.get(name).filter(|value| !value.is_null());
    let question = match given("question") {
        Some(Value::String(text)) if !text.trim().is_empty() => text.clone(),
        Some(_) => return Err(bad("question", "expected text that is not empty")),
        None => return Err(bad("question", "is missing")),
    };
    let Some(Value::String(kind)) = given("type") else {
        return Err(bad("type", "expected `permission`, `question` or `choice`"));
    };
    if event.session_id.len() > SESSION {
        return Err(Fault::bad(format!("session_id: a question's has at most {SESSION} bytes")));
    }
    let mut create = match kind.as_str() {
        "permission" => {
            let mut create = Create::new(Kind::Confirmation, &event.session_id);
            create.message = Some(question);
            create.confirm_label = Some("Approve".to_owned());
            create.cancel_label = Some("Deny".to_owned());
            create
        }
        "question" => asking(event, question, InputType::Text, None),
        "choice" => {
            let Some(Value::Array(choices)) = given("choices") else {
                return Err(bad("choices", "a choice needs a list of texts"));
            };
            let texts = choices.iter().map(|choice| choice.as_str().map(str::to_owned));
            let Some(choices) = texts.collect::<Option<Vec<String>>>() else {
                return Err(bad("choices", "every choice is text"));
            };
            asking(event, question, InputType::Choice, Some(choices))
        }
        _ => return Err(bad("type", "expected `permission`, `question` or `choice`")),
    };
    create.expires_in = match given("timeout") {
        None => None,
        Some(Value::Number(seconds)) => {
            Some(span(seconds).ok_or_else(|| bad("timeout", "expected 1 second or more"))?)
        }
        Some(_) => return Err(bad("timeout", "expected a number of seconds")),
    };
    let mut context = Map::new();
    context.insert("source_app".to_owned(), event.source_app.as_str().into());
    context.insert("hook_event_type".to_owned(), event.hook_event_type.as_str().into());
    match given("responseWebSocketUrl") {
        None => {}
        Some(Value::String(url)) if url.is_empty() => {}
        Some(Value::String(url)) => {
            // Checked again whenever it is connected to. Here so that whoever asks hears of it.
            let wrong = |why: String| bad("responseWebSocketUrl", &why);
            let target = Target::parse(url).map_err(|error| wrong(error.to_string()))?;
            state.settings.events.callbacks.check_host(&target).map_err(|error| wrong(error.to_string()))?;
            context.insert(ANSWER_TO.to_owned(), url.as_str().into());
        }
        Some(_) => return Err(bad("responseWebSocketUrl", "expected text")),
    }
    if let Some(payload) = shown(event.payload.get()) {
        context.insert("payload".to_owned(), payload);
    }
    create.context = Some(context);
    Ok(create)
}

fn asking(event: &Event, question: String, kind: InputType, options: Option<Vec<String>>) -> Create {
    let mut create = Create::new(Kind::Input, &event.session_id);
    create.question = Some(question);
    create.input = Some(InputSpec { kind, min: None, max: None, options });
    create.required = Some(true);
    create
}

/// Seconds, perhaps with a fraction, as a duration.
fn span(seconds: &serde_json::Number) -> Option<String> {
    let seconds = seconds.as_f64().filter(|seconds| (1.0..=1e9).contains(seconds))?;
    let duration = std::time::Duration::try_from_secs_f64(seconds).ok()?;
    Some(format!("{}ms", duration.as_millis()))
}

/// What the person is shown of the payload: all of it, or that it could not be shown.
fn shown(payload: &str) -> Option<Value> {
    if payload.len() > PAYLOAD {
        return Some("(too large to be shown here: see the event)".into());
    }
    match ijson::parse(payload.as_bytes(), &ijson::Limits::default()) {
        Ok(Value::Object(empty)) if empty.is_empty() => None,
        Ok(payload) => Some(payload),
        Err(_) => Some("(not strict JSON: see the event)".into()),
    }
}
