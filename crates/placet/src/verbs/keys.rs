//! `placet key list` and `placet key revoke`: the keys of a running server.

use anstyle::Style;
use placet_core::show;
use serde_json::json;

use super::Context;
use crate::{
    exit::usage,
    output::{self, paint, span, table},
};

/// Lists keys, without their secrets.
pub(crate) async fn list(context: &Context) -> anyhow::Result<u8> {
    let keys = context.client.keys().await?;
    if context.json {
        output::json(&json!({ "items": keys }))?;
        return Ok(0);
    }
    let now = output::now();
    let plain = Style::new();
    let rows: Vec<_> = keys
        .iter()
        .map(|key| {
            let age = key.created_at.map(|at| span(now.since(at))).unwrap_or_default();
            let state =
                if key.revoked_at.is_some() { ("revoked", output::DIM) } else { ("works", output::GOOD) };
            vec![
                (key.id.to_string(), output::NAME),
                (key.role.to_string(), plain),
                (age, plain),
                (state.0.to_owned(), state.1),
                (show(&key.name), output::STRONG),
            ]
        })
        .collect();
    for line in table(&["ID", "ROLE", "AGE", "STATE", "NAME"], &rows, 110) {
        output::line(&line)?;
    }
    Ok(0)
}

/// Makes a key stop working.
pub(crate) async fn revoke(context: &Context, id: &str, keep_votes: bool) -> anyhow::Result<u8> {
    let wrong =
        || usage(format!("`{id}` is not the id of a key (key_ and 26 characters): see `placet key list`"));
    let id = id.parse().map_err(|_| wrong())?;
    context.client.revoke_key(id, keep_votes).await?;
    if context.json {
        output::json(&json!({ "id": id, "revoked": true, "votes_kept": keep_votes }))?;
    } else {
        let rest = if keep_votes {
            "votes and grants given with it stay valid"
        } else {
            "live votes and grants given with it are void"
        };
        output::line(&format!("{} no longer works; {rest}", paint(output::NAME, &id.to_string())))?;
    }
    Ok(0)
}
