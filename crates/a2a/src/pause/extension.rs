//! The two extensions that ask for one thing at a time: agentstack's, and the one of a2a-rust.com.

use serde_json::{Map, Value, json};

use super::{
    Decided, Form, Item, Reply,
    call::{as_action, fit, named},
    status::Status,
};
use crate::{
    Fault,
    desk::{AGENTSTACK, DIGESTED, DIGESTED_KEY, KAGENTI, agentstack, digested},
    fields::Fields,
};

/// The key that agentstack's words stand under, if they are there.
pub(super) fn agentstack(status: &Status<'_>) -> Result<Option<(Form, Vec<Item>)>, Fault> {
    let Some((key, words)) = said(status, [AGENTSTACK, KAGENTI]) else { return Ok(None) };
    let mut asking = agentstack::read(words)?;
    let Some(mut create) = asking.items.pop().map(|item| item.create) else { return Ok(None) };
    if create.tool.is_some() {
        let fields = Fields::of(Some(words), "agentstack approval")?;
        named(&fields, "name", fields.word("name")?)?;
    }
    create = as_action(create, "approval");
    fit(&mut create);
    let form = Form::Agentstack { key: key.to_owned() };
    Ok(Some((form, vec![Item { id: "approval".to_owned(), create }])))
}

/// The same for the extension of a2a-rust.com, whose answer repeats the digest.
pub(super) fn digested(status: &Status<'_>) -> Result<Option<(Form, Vec<Item>)>, Fault> {
    let Some((key, words)) = said(status, [DIGESTED_KEY, DIGESTED]) else { return Ok(None) };
    let details = Some(status.words()).filter(|words| !words.is_empty());
    let data = status.data().next().map(|(data, _)| Value::Object(data.map_all()));
    let mut asking = digested::read(words, details, data)?;
    let fields = Fields::of(Some(words), "approval")?;
    let id = fields.word("requestId")?.to_owned();
    let digest = fields.word("digest")?.to_owned();
    let Some(mut create) = asking.items.pop().map(|item| item.create) else { return Ok(None) };
    create = as_action(create, "approval");
    fit(&mut create);
    let form = Form::Digested { key: key.to_owned(), id: id.clone(), digest };
    Ok(Some((form, vec![Item { id, create }])))
}

fn said<'a>(status: &'a Status<'_>, keys: [&'static str; 2]) -> Option<(&'static str, &'a Value)> {
    keys.into_iter().find_map(|key| Some((key, status.metadata.get(key)?)))
}

/// Agentstack's answer: one word and no parts.
pub(super) fn agentstack_reply(key: &str, decisions: &[Decided]) -> Reply {
    let word = if approved(decisions) { "approve" } else { "reject" };
    reply(key, key, json!({ "decision": word }))
}

/// The answer of a2a-rust.com: the word, and what it was said on.
pub(super) fn digested_reply(key: &str, id: &str, digest: &str, decisions: &[Decided]) -> Reply {
    let word = if approved(decisions) { "approve" } else { "deny" };
    let mut words = json!({"requestId": id, "decision": word, "digest": digest});
    if let ([Decided::Rejected { reason: Some(reason) }], Some(words)) = (decisions, words.as_object_mut()) {
        words.insert("comment".to_owned(), json!(reason));
    }
    reply(key, DIGESTED, words)
}

fn approved(decisions: &[Decided]) -> bool {
    matches!(decisions, [Decided::Approved])
}

fn reply(key: &str, extension: &str, words: Value) -> Reply {
    Reply {
        parts: Vec::new(),
        metadata: Map::from_iter([(key.to_owned(), words)]),
        extensions: vec![extension.to_owned()],
    }
}
