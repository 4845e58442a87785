//! A pause in plain words: one question, which only a person can answer.

use placet_core::{Create, InputSpec, InputType, Kind};
use serde_json::{Map, Value};

use super::{Decided, Incomplete, Item, Reply, call::cut, status::Status};
use crate::Part;

/// What the agent says, as a question.
pub(super) fn item(status: &Status<'_>) -> Item {
    let words = status.words();
    let mut create = Create::new(Kind::Input, "a2a");
    create.question = Some(match (words.is_empty(), status.auth) {
        (false, _) => cut(&words),
        (true, true) => "The agent waits for an authorisation, and does not say which.".to_owned(),
        (true, false) => "The agent waits for a message, and does not say why.".to_owned(),
    });
    create.input = Some(InputSpec { kind: InputType::Text, min: None, max: None, options: None });
    // Whatever else it says is shown beside the question: nobody should answer what they cannot see.
    let data: Vec<Value> = status.data().map(|(data, _)| Value::Object(data.map_all())).collect();
    let text = Value::from(data).to_string();
    if text != "[]" {
        create.context = Some(Map::from_iter([("said".to_owned(), Value::from(cut(&text)))]));
    }
    Item { id: "message".to_owned(), create }
}

/// The person's words. There is no word for a no that every agent would understand, so none is made up.
pub(super) fn reply(decisions: &[Decided]) -> Result<Reply, Incomplete> {
    match decisions {
        [Decided::Answered(Value::String(text))] if !text.trim().is_empty() => {
            Ok(Reply { parts: vec![Part::text(text.as_str())], ..Reply::default() })
        }
        [Decided::Rejected { .. }] => Err(Incomplete::NoRefusal),
        _ => Err(Incomplete::Misfit { item: "message".to_owned() }),
    }
}
