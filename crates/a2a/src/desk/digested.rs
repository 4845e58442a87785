//! The extension of a2a-rust.com: a summary and the digest of what it stands for.

use placet_core::{Create, Kind};
use serde_json::{Value, json};

use crate::{
    Fault,
    desk::{Asking, Dialect, Item},
    fields::Fields,
};

/// `{requestId, summary, digest, requestedBy}`; the digest is the asker's own, of something we may not have seen.
pub(crate) fn read(request: &Value, details: Option<String>, data: Option<Value>) -> Result<Asking, Fault> {
    let fields = Fields::of(Some(request), "approval")?;
    let id = fields.word("requestId")?;
    let mut create = Create::new(Kind::Confirmation, "a2a");
    create.message = Some(fields.word("summary")?.to_owned());
    create.details = details;
    // People see the digest they speak on, and whatever data came with it.
    let mut context = serde_json::Map::new();
    context.insert("digest".to_owned(), json!(fields.word("digest")?));
    if let Some(by) = fields.text("requestedBy")? {
        context.insert("requested_by".to_owned(), json!(by));
    }
    if let Some(data) = data {
        context.insert("data".to_owned(), data);
    }
    create.context = Some(context);
    Ok(Asking {
        dialect: Dialect::Digested,
        items: vec![Item { id: Some(id.to_owned()), create }],
        key: Some(id.to_owned()),
    })
}
