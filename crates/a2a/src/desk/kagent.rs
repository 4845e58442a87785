//! kagent's extension `hitl/v1`: the calls an agent paused on, or questions of its own.

use placet_core::{Create, InputSpec, InputType, Kind};
use serde_json::{Value, json};

use crate::{
    Fault,
    desk::{Asking, Dialect, ITEMS, Item, object, tool},
    fields::Fields,
};

/// A pause: one item for each call or question. Responses and anything else ask for nothing.
pub(super) fn read(words: &Value) -> Result<Option<Asking>, Fault> {
    let fields = Fields::of(Some(words), "hitl/v1")?;
    // What a sub-agent waits for is what will run; the outer call only passes it on.
    let nested = fields.below("nested")?;
    let items = match fields.text("type")? {
        Some("tool_approval_request") => {
            let hint = fields.text("hint")?;
            let from = match &nested {
                Some(nested) if !nested.list("tools")?.is_empty() => nested,
                _ => &fields,
            };
            let lineage = nested.as_ref().and_then(|nested| nested.text("subagent_name").ok().flatten());
            calls(from, hint, lineage)?
        }
        Some("ask_user_request") => questions(&fields)?,
        _ => return Ok(None),
    };
    if items.is_empty() || items.len() > ITEMS {
        return Err(Fault::InvalidParams("hitl/v1: a pause has 1 to 50 items".to_owned()));
    }
    Ok(Some(Asking { dialect: Dialect::Kagent, items, key: None }))
}

fn calls(fields: &Fields<'_>, hint: Option<&str>, lineage: Option<&str>) -> Result<Vec<Item>, Fault> {
    fields
        .objects("tools")?
        .iter()
        .map(|call| {
            let mut create = Create::new(Kind::Action, "a2a");
            create.tool = Some(tool(call.word("name")?));
            create.arguments = Some(object(call.get("args"), "hitl/v1.tools.args")?);
            create.summary = hint.map(str::to_owned);
            let mut context = serde_json::Map::new();
            if let Some(id) = call.text("call_id")? {
                context.insert("call_id".to_owned(), json!(id));
            }
            if let Some(agent) = lineage {
                context.insert("lineage".to_owned(), json!([agent]));
            }
            create.context = Some(context);
            // The extension has no word for other arguments.
            create.allowed = Some(vec![placet_core::DecisionWord::Approve, placet_core::DecisionWord::Deny]);
            Ok(Item { id: Some(call.word("id")?.to_owned()), create })
        })
        .collect()
}

/// Every question is one request; the answers go back in the order of the questions.
fn questions(fields: &Fields<'_>) -> Result<Vec<Item>, Fault> {
    let id = fields.word("id")?;
    fields
        .objects("questions")?
        .iter()
        .enumerate()
        .map(|(index, question)| {
            let choices = question.words("choices")?;
            let kind = match (choices.is_empty(), question.flag("multiple")?.unwrap_or(false)) {
                (true, _) => InputType::Text,
                (false, false) => InputType::Choice,
                (false, true) => InputType::MultiChoice,
            };
            let options = (!choices.is_empty()).then_some(choices);
            let mut create = Create::new(Kind::Input, "a2a");
            create.question = Some(question.word("question")?.to_owned());
            create.input = Some(InputSpec { kind, min: None, max: None, options });
            Ok(Item { id: Some(format!("{id}#{index}")), create })
        })
        .collect()
}
