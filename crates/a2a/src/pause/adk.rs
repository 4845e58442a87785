//! The answers of google-adk: one `function_response` for each confirmation.

use serde_json::{Map, Value, json};

use super::{Call, Reply, Word, call::answers, confirmation::CONFIRMATION};
use crate::Part;

/// One part for each call. What the tool wanted to be handed back goes back as it came: it was shown, and is part of the yes.
pub(super) fn reply(calls: &[Call], words: &[Word]) -> Reply {
    let part = |(call, word): (&Call, &Word)| {
        let mut payload = call.payload.clone().unwrap_or_default();
        match word {
            Word::Rejected(Some(reason)) => {
                payload.insert("rejection_reason".to_owned(), json!(reason));
            }
            Word::Answered(given) => {
                payload.insert("answers".to_owned(), json!(answers(given)));
            }
            Word::Approved | Word::Rejected(None) => {}
        }
        let mut response = Map::new();
        response.insert("confirmed".to_owned(), json!(!matches!(word, Word::Rejected(_))));
        if !payload.is_empty() {
            response.insert("payload".to_owned(), Value::Object(payload));
        }
        let mut part = Part::data(json!({"id": call.id, "name": CONFIRMATION, "response": response}));
        part.metadata.insert("adk_type".to_owned(), json!("function_response"));
        part
    };
    Reply { parts: calls.iter().zip(words).map(part).collect(), ..Reply::default() }
}
