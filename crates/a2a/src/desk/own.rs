//! Our own extension: the body of `POST /v1/requests`, or several of them.

use placet_core::Create;
use serde_json::Value;

use crate::{
    Fault,
    desk::{Asking, Dialect, ITEMS, Item},
    fields::Fields,
};

/// `{"request": {…}}` or `{"requests": [{…}, …]}`, with `idempotency_key` beside it.
pub(super) fn read(words: &Value, place: &str) -> Result<Asking, Fault> {
    let fields = Fields::of(Some(words), place)?;
    let bodies: Vec<Value> = match (fields.get("request"), fields.list("requests")?) {
        (Some(one), []) => vec![one.clone()],
        (None, several) if !several.is_empty() => several.to_vec(),
        _ => return Err(fields.fault("request", "or `requests` must be there, and only one of them")),
    };
    if bodies.len() > ITEMS {
        return Err(fields.fault("requests", "has more than 50 items"));
    }
    let items = bodies
        .into_iter()
        .enumerate()
        .map(|(index, body)| item(body, index, place))
        .collect::<Result<_, _>>()?;
    Ok(Asking { dialect: Dialect::Own, items, key: fields.text("idempotency_key")?.map(str::to_owned) })
}

fn item(mut body: Value, index: usize, place: &str) -> Result<Item, Fault> {
    // The conversation is the session, unless the asker names another.
    if let Some(body) = body.as_object_mut() {
        body.entry("session").or_insert_with(|| Value::String("a2a".to_owned()));
    }
    let create: Create = serde_json::from_value(body)
        .map_err(|error| Fault::InvalidParams(format!("`{place}`, request {}: {error}", index + 1)))?;
    Ok(Item { id: None, create })
}
