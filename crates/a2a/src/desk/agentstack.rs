//! The extension of BeeAI's agentstack: one thing to approve, generic or a call of a tool.

use placet_core::{Create, DecisionWord, Kind};
use serde_json::{Value, json};

use crate::{
    Fault,
    desk::{Asking, Dialect, Item, object, tool},
    fields::Fields,
};

/// `{action: "generic" | "tool-call", title, description, name, input, server}`.
pub(crate) fn read(words: &Value) -> Result<Asking, Fault> {
    let fields = Fields::of(Some(words), "agentstack approval")?;
    let said = [fields.text("title")?, fields.text("description")?];
    let said = said.into_iter().flatten().collect::<Vec<_>>().join(": ");
    let create = match fields.word("action")? {
        "tool-call" => {
            let mut create = Create::new(Kind::Action, "a2a");
            create.tool = Some(tool(fields.word("name")?));
            create.arguments = Some(object(fields.get("input"), "agentstack approval.input")?);
            create.summary = (!said.is_empty()).then_some(said);
            create.allowed = Some(vec![DecisionWord::Approve, DecisionWord::Deny]);
            if let Some(server) = fields.get("server") {
                create.context = Some(serde_json::Map::from_iter([("server".to_owned(), json!(server))]));
            }
            create
        }
        "generic" => {
            let mut create = Create::new(Kind::Confirmation, "a2a");
            let title = fields.text("title")?.filter(|title| !title.is_empty());
            create.message = Some(title.unwrap_or("The agent asks for approval.").to_owned());
            create.details = fields.text("description")?.map(str::to_owned);
            create
        }
        _ => return Err(fields.fault("action", "is neither `generic` nor `tool-call`")),
    };
    Ok(Asking { dialect: Dialect::Agentstack, items: vec![Item { id: None, create }], key: None })
}
