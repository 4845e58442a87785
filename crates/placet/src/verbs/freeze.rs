//! `placet freeze` and `placet unfreeze`.

use anstyle::Style;
use placet_core::{Freeze, FreezeId, show};
use serde_json::json;

use super::Context;
use crate::{
    cli::FreezeArgs,
    exit::usage,
    output::{self, paint, safe, span, table},
};

/// Freezes something, or lists the freezes.
pub(crate) async fn run(context: &Context, args: &FreezeArgs) -> anyhow::Result<u8> {
    let anything = args.all || args.agent.is_some() || args.tool.is_some();
    let Some(reason) = &args.reason else {
        if anything {
            return Err(usage("`--reason` is missing: everybody who is frozen can read it"));
        }
        return list(context).await;
    };
    if !anything {
        return Err(usage("name what to freeze: `--agent NAME`, `--tool TOOL`, or `--all`"));
    }
    let frozen = context.client.freeze(args.agent.as_deref(), args.tool.as_deref(), reason).await?;
    if context.json {
        output::json(&frozen)?;
    } else {
        let id = paint(output::NAME, &frozen.id.to_string());
        output::line(&format!(
            "{id} {} is frozen; an admin lifts it with `placet unfreeze {}`",
            covered(&frozen),
            frozen.id
        ))?;
    }
    Ok(0)
}

fn covered(freeze: &Freeze) -> String {
    safe(&freeze.covered())
}

async fn list(context: &Context) -> anyhow::Result<u8> {
    let freezes = context.client.freezes().await?;
    if context.json {
        output::json(&json!({ "items": freezes }))?;
        return Ok(0);
    }
    if freezes.is_empty() {
        output::line(&paint(output::DIM, "Nothing is frozen."))?;
        return Ok(0);
    }
    let (now, plain) = (output::now(), Style::new());
    let row = |freeze: &Freeze| {
        vec![
            (freeze.id.to_string(), output::NAME),
            (span(now.since(freeze.at)), plain),
            (show(&freeze.by), plain),
            (covered(freeze), output::STRONG),
            (show(&freeze.reason), plain),
        ]
    };
    let rows: Vec<_> = freezes.iter().map(row).collect();
    for line in table(&["ID", "AGE", "BY", "FROZEN", "WHY"], &rows, usize::MAX) {
        output::line(&line)?;
    }
    Ok(0)
}

/// Lifts one freeze, or all of them.
pub(crate) async fn lift(context: &Context, id: Option<&str>) -> anyhow::Result<u8> {
    let ids: Vec<FreezeId> = match id {
        Some(text) => vec![text.parse().map_err(|_| {
            usage(format!("`{text}` is not the id of a freeze (frz_ and 26 characters): see `placet freeze`"))
        })?],
        None => context.client.freezes().await?.iter().map(|freeze| freeze.id).collect(),
    };
    for id in &ids {
        context.client.unfreeze(*id).await?;
    }
    if context.json {
        output::json(&json!({ "lifted": ids }))?;
    } else if ids.is_empty() {
        output::line(&paint(output::DIM, "Nothing was frozen."))?;
    } else {
        for id in ids {
            output::line(&format!("{} is lifted", paint(output::NAME, &id.to_string())))?;
        }
    }
    Ok(0)
}
