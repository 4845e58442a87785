//! kagent's extension `hitl/v1`: words in the metadata, and the answer in the same place.

use serde_json::{Map, Value, json};

use super::{
    Call, Form, Item, Reply, Word,
    call::{action, answers, questions},
};
use crate::{
    Fault, Part,
    desk::KAGENT,
    hitl::{self, What},
};

/// The calls or the questions that wait.
pub(super) fn read(words: &Value) -> Result<(Form, Vec<Item>), Fault> {
    let Some(asked) = hitl::read(words)? else {
        let why = "is neither `tool_approval_request` nor `ask_user_request`, and the task waits";
        return Err(Fault::InvalidParams(format!("`hitl/v1.type` {why}")));
    };
    let mut context = Map::new();
    if let Some(subagent) = asked.subagent {
        context.insert("lineage".to_owned(), json!([subagent]));
    }
    let call = |id: &str, tool: &str, questions: usize| Call {
        id: id.to_owned(),
        tool: tool.to_owned(),
        questions,
        payload: None,
        nested: asked.subagent.is_some(),
        relayed: false,
    };
    let (mut calls, mut items) = (Vec::new(), Vec::new());
    match asked.what {
        What::Calls(asking) => {
            for one in asking {
                let mut context = context.clone();
                if let Some(id) = one.model_id {
                    context.insert("call_id".to_owned(), json!(id));
                }
                calls.push(call(one.id, one.name, 0));
                let create = action(&one.fields, one.name, one.arguments, asked.hint, context)?;
                items.push(Item { id: one.id.to_owned(), create });
            }
        }
        What::Questions { id, fields } => {
            items = questions(&fields, id, &context)?;
            calls.push(call(id, "ask_user", items.len()));
        }
    }
    Ok((Form::Hitl(calls), items))
}

/// Every id of the request, once; kagent takes a missing or an unknown one for the end of the task.
pub(super) fn reply(calls: &[Call], words: &[Word]) -> Reply {
    let asking = calls.iter().zip(words).find(|(call, _)| call.questions > 0);
    let (payload, text) = match asking {
        Some((call, Word::Answered(given))) => (response(&call.id, answers(given)), "Answered."),
        // There is no word for a refusal, and anything but answers ends the task; so each answer says that there is none.
        Some((call, word)) => {
            let text = match word {
                Word::Rejected(Some(reason)) => format!("Declined to answer: {reason}"),
                _ => "Declined to answer.".to_owned(),
            };
            (response(&call.id, answers(&vec![vec![text]; call.questions])), "Declined to answer.")
        }
        None => {
            let approvals: Vec<Value> = calls.iter().zip(words).map(approval).collect();
            let approved = words.iter().filter(|word| **word == Word::Approved).count();
            let text = match approved {
                0 => "Rejected.",
                all if all == words.len() => "Approved.",
                _ => "Approved in part.",
            };
            (json!({"type": "tool_approval_response", "approvals": approvals}), text)
        }
    };
    Reply {
        // The protocol wants a part; the agent does not read it.
        parts: vec![Part::text(text)],
        metadata: Map::from_iter([(KAGENT.to_owned(), payload)]),
        extensions: vec![KAGENT.to_owned()],
    }
}

fn response(id: &str, answers: Vec<Value>) -> Value {
    json!({"type": "ask_user_response", "id": id, "answers": answers})
}

fn approval((call, word): (&Call, &Word)) -> Value {
    match word {
        Word::Rejected(Some(reason)) => json!({"id": call.id, "approved": false, "rejection_reason": reason}),
        Word::Approved => json!({"id": call.id, "approved": true}),
        Word::Rejected(None) | Word::Answered(_) => json!({"id": call.id, "approved": false}),
    }
}
