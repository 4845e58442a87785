//! `placet agent`: which agents there are, and which folders are open to them.

use anstyle::Style;
use placet_client::AgentInfo;
use placet_core::show;
use serde_json::json;

use super::Context;
use crate::{
    cli::AgentRootsArgs,
    exit::usage,
    output::{self, paint, table},
};

/// Lists agents.
pub(crate) async fn list(context: &Context) -> anyhow::Result<u8> {
    let agents = context.client.agents().await?;
    if context.json {
        output::json(&json!({ "items": agents }))?;
        return Ok(0);
    }
    let row = |agent: &AgentInfo| {
        let folders = agent.roots.iter().map(|root| show(root)).collect::<Vec<_>>().join(", ");
        let owner = agent.owner.as_deref().map(show).unwrap_or_default();
        vec![(show(&agent.name), output::STRONG), (owner, Style::new()), (folders, Style::new())]
    };
    let rows: Vec<_> = agents.iter().map(row).collect();
    for line in table(&["NAME", "OWNER", "FOLDERS"], &rows, 110) {
        output::line(&line)?;
    }
    Ok(0)
}

/// Shows or sets the folders of an agent.
pub(crate) async fn roots(context: &Context, args: &AgentRootsArgs) -> anyhow::Result<u8> {
    let mut roots = args.folders()?;
    let known = if args.clear || (!roots.is_empty() && !args.add) {
        None
    } else {
        let agents = context.client.agents().await?;
        let known = agents.into_iter().find(|agent| agent.name == args.name);
        Some(known.ok_or_else(|| usage(format!("no such agent: {}", show(&args.name))))?)
    };
    let agent = match known {
        Some(known) if roots.is_empty() => known,
        known => {
            roots.extend(known.into_iter().flat_map(|known| known.roots));
            context.client.put_roots(&args.name, &roots).await?
        }
    };
    say_roots(&agent.name, &agent.roots, context.json)?;
    Ok(0)
}

/// Says which folders are open to an agent.
pub(crate) fn say_roots(agent: &str, roots: &[String], json: bool) -> anyhow::Result<()> {
    if json {
        return Ok(output::json(&json!({ "name": agent, "roots": roots }))?);
    }
    if roots.is_empty() {
        return Ok(output::line(&format!("no folder is open to {}", paint(output::STRONG, &show(agent))))?);
    }
    for root in roots {
        output::line(&show(root))?;
    }
    Ok(())
}
