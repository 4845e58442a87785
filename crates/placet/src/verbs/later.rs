//! Commands other than a decision: cancel, revoke, reassign, resolve.

use super::{Context, find, said};
use crate::{
    cli::{CancelArgs, ReassignArgs, ResolveArgs, RevokeArgs},
    exit::usage,
};

/// Cancels a request. An agent cannot list requests, so it needs the whole id.
pub(crate) async fn cancel(context: &Context, args: CancelArgs) -> anyhow::Result<u8> {
    let wrong = || {
        usage(format!(
            "`{}` is not the id of a request: write the whole of it (req_ and 26 characters)",
            args.id
        ))
    };
    let id = args.id.parse().map_err(|_| wrong())?;
    said(context, &context.client.cancel(id, args.reason.as_deref()).await?)?;
    Ok(0)
}

/// Takes an approval back.
pub(crate) async fn revoke(context: &Context, args: RevokeArgs) -> anyhow::Result<u8> {
    let id = find::id(&context.client, &args.id).await?;
    said(context, &context.client.revoke(id, args.reason.as_deref()).await?)?;
    Ok(0)
}

/// Asks other people.
pub(crate) async fn reassign(context: &Context, args: ReassignArgs) -> anyhow::Result<u8> {
    let id = find::id(&context.client, &args.id).await?;
    said(context, &context.client.reassign(id, &args.to, args.reason.as_deref()).await?)?;
    Ok(0)
}

/// Resolves an unknown outcome.
pub(crate) async fn resolve(context: &Context, args: ResolveArgs) -> anyhow::Result<u8> {
    let id = find::id(&context.client, &args.id).await?;
    said(context, &context.client.resolve(id, args.status.into(), &args.reason).await?)?;
    Ok(0)
}
