//! `placet agent`: lists agents, their open folders and their reports.

use anstyle::Style;
use placet_client::AgentInfo;
use placet_core::{Covered, Part, Seen, show};
use serde_json::json;

use super::Context;
use crate::{
    cli::{AgentConfineArgs, AgentCoverageArgs, AgentRootsArgs},
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
        vec![
            (show(&agent.name), output::STRONG),
            (owner, Style::new()),
            covered(agent.covered),
            (if agent.confine { "yes" } else { "" }.to_owned(), Style::new()),
            (folders, Style::new()),
        ]
    };
    let rows: Vec<_> = agents.iter().map(row).collect();
    for line in table(&["NAME", "OWNER", "COVERAGE", "CONFINED", "FOLDERS"], &rows, 110) {
        output::line(&line)?;
    }
    Ok(0)
}

/// What Placet does not see is highlighted.
fn covered(covered: Covered) -> (String, Style) {
    let style = if covered == Covered::Partial { output::BAD } else { Style::new() };
    (covered.to_string(), style)
}

/// Shows or forgets the reports of an agent.
pub(crate) async fn coverage(context: &Context, args: &AgentCoverageArgs) -> anyhow::Result<u8> {
    let agent = if args.forget {
        context.client.forget_coverage(&args.name).await?
    } else {
        let agents = context.client.agents().await?;
        let known = agents.into_iter().find(|agent| agent.name == args.name);
        known.ok_or_else(|| usage(format!("no such agent: {}", show(&args.name))))?
    };
    if context.json {
        output::json(&json!({ "name": agent.name, "covered": agent.covered, "coverage": agent.coverage }))?;
        return Ok(0);
    }
    if agent.coverage.is_empty() {
        let name = paint(output::STRONG, &show(&agent.name));
        output::line(&format!("{name} has reported nothing: what it can do is unknown"))?;
    }
    for report in &agent.coverage {
        let program = paint(output::STRONG, &show(&report.agent));
        output::line(&format!("{program} ({})", show(&report.framework)))?;
        let row = |part: &Part| {
            let status = if part.status == Seen::Uncovered { output::BAD } else { Style::new() };
            vec![
                (part.status.to_string(), status),
                (show(&part.name), output::STRONG),
                (format!("{} of {}", show(&part.kind), show(&part.agent)), Style::new()),
                (show(&part.why), Style::new()),
            ]
        };
        let rows: Vec<_> = report.parts.iter().map(row).collect();
        for line in table(&["STATUS", "NAME", "WHAT", "WHY"], &rows, 110) {
            output::line(&line)?;
        }
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

/// Sets or removes the mark of an agent.
pub(crate) async fn confine(context: &Context, args: &AgentConfineArgs) -> anyhow::Result<u8> {
    let agent = context.client.put_confine(&args.name, !args.off).await?;
    say_confine(&agent.name, agent.confine, context.json)?;
    Ok(0)
}

/// Prints whether an agent is marked.
pub(crate) fn say_confine(agent: &str, confine: bool, json: bool) -> anyhow::Result<()> {
    if json {
        return Ok(output::json(&json!({ "name": agent, "confine": confine }))?);
    }
    let name = paint(output::STRONG, &show(agent));
    let says = if confine { "may run calls confined" } else { "runs no calls confined" };
    Ok(output::line(&format!("the hook program of {name} {says}"))?)
}

/// Prints the folders that are open to an agent.
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
