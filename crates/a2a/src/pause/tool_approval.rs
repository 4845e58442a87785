//! kagent's first proposal: one data part with all the calls, and one word for all of them.

use serde_json::{Map, Value, json};

use super::{
    Call, Form, Item, Reply, Word,
    call::action,
    kagent::reasons,
    status::{Held, Status},
};
use crate::{Fault, Part};

/// The calls of the part that says `interrupt_type: tool_approval`; nothing if there is none.
pub(super) fn read(status: &Status<'_>) -> Result<Option<(Form, Vec<Item>)>, Fault> {
    let is_one = |held: &Held<'_>| match held {
        Held::Data(data) => data.get("interrupt_type").and_then(Value::as_str) == Some("tool_approval"),
        _ => false,
    };
    if !status.parts.iter().any(|part| is_one(&part.held)) {
        return Ok(None);
    }
    let mut pieces = status.parts.iter().filter(|part| !matches!(part.held, Held::Text(_)));
    let (Some(Held::Data(data)), None) = (pieces.next().map(|part| &part.held), pieces.next()) else {
        let why = "hold something beside the one part with `interrupt_type: tool_approval`";
        return Err(Fault::InvalidParams(format!("`status.message.parts` {why}")));
    };
    let (mut calls, mut items) = (Vec::new(), Vec::new());
    for (index, asked) in data.objects("action_requests")?.iter().enumerate() {
        let mut context = Map::new();
        // The answer names no call, so a call without a name is named by its place.
        let id = match asked.text("id")? {
            Some("") => return Err(asked.fault("id", "is empty")),
            Some(id) => {
                context.insert("call_id".to_owned(), json!(id));
                id.to_owned()
            }
            None => format!("call {}", index + 1),
        };
        let name = asked.word("name")?;
        let create = action(asked, name, asked.map("args")?, None, context)?;
        items.push(Item { id: id.clone(), create });
        calls.push(Call {
            id,
            tool: name.to_owned(),
            questions: 0,
            payload: None,
            nested: false,
            relayed: false,
        });
    }
    Ok(Some((Form::ToolApproval(calls), items)))
}

/// One no is a no to all: there is no word for some of them.
pub(super) fn settle(words: Vec<Word>) -> Vec<Word> {
    if !words.iter().any(|word| matches!(word, Word::Rejected(_))) {
        return words;
    }
    let refused = |word| {
        match word {
        Word::Rejected(reason) => Word::Rejected(reason),
        _ => Word::Rejected(Some(
            "approved, but not run: another call of this pause was rejected, and this agent takes one word for all"
                .to_owned(),
        )),
    }
    };
    words.into_iter().map(refused).collect()
}

/// `approve` or `deny`, and the same in plain words.
pub(super) fn reply(calls: &[Call], words: &[Word]) -> Reply {
    let (word, text) = match reasons(calls, words) {
        _ if words.iter().all(|word| *word == Word::Approved) => ("approve", "Approved".to_owned()),
        Some(reason) => ("deny", format!("Denied: {reason}")),
        None => ("deny", "Denied".to_owned()),
    };
    Reply { parts: vec![Part::data(json!({ "decision_type": word })), Part::text(text)], ..Reply::default() }
}
