//! kagent's extension `hitl/v1`: the calls an agent paused on, or questions of its own.

use placet_core::{Create, DecisionWord, Kind};
use serde_json::{Map, Value, json};

use crate::{
    Fault,
    desk::{Asking, Dialect, ITEMS, Item, tool},
    hitl::{self, What},
    pause,
};

/// A pause: one item for each call or question. Responses and anything else ask for nothing.
pub(super) fn read(words: &Value) -> Result<Option<Asking>, Fault> {
    let Some(asked) = hitl::read(words)? else { return Ok(None) };
    let items: Vec<Item> = match &asked.what {
        What::Calls(calls) => calls.iter().map(|call| action(call, asked.hint, asked.subagent)).collect(),
        What::Questions { id, fields } => pause::questions(fields, id, &Map::new())?
            .into_iter()
            .map(|item| Item { id: Some(item.id), create: item.create })
            .collect(),
    };
    if items.is_empty() || items.len() > ITEMS {
        return Err(Fault::InvalidParams("hitl/v1: a pause has 1 to 50 items".to_owned()));
    }
    Ok(Some(Asking { dialect: Dialect::Kagent, items, key: None }))
}

fn action(call: &hitl::Call<'_>, hint: Option<&str>, subagent: Option<&str>) -> Item {
    let mut create = Create::new(Kind::Action, "a2a");
    create.tool = Some(tool(call.name));
    create.arguments = Some(call.arguments.clone());
    create.summary = hint.map(str::to_owned);
    let mut context = Map::new();
    if let Some(id) = call.model_id {
        context.insert("call_id".to_owned(), json!(id));
    }
    if let Some(agent) = subagent {
        context.insert("lineage".to_owned(), json!([agent]));
    }
    create.context = Some(context);
    // The extension has no word for other arguments.
    create.allowed = Some(vec![DecisionWord::Approve, DecisionWord::Deny]);
    Item { id: Some(call.id.to_owned()), create }
}
