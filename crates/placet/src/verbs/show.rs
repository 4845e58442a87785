//! `placet show`: one request in full.

use std::io::IsTerminal;

use placet_core::State;

use super::{Context, find, sheet};
use crate::{
    cli::ShowArgs,
    output::{self, describe, paint, short, together},
};

/// Shows it.
pub(crate) async fn run(context: &Context, args: ShowArgs) -> anyhow::Result<u8> {
    let id = find::id(&context.client, &args.id).await?;
    let record = context.client.get(id).await?;
    if context.json {
        output::json(&record)?;
        return Ok(0);
    }
    // A pipe has no width, so nothing is broken.
    let columns = output::screen(std::io::stdout().is_terminal()).map(|(columns, _)| columns);
    output::line(&sheet(&describe(&record, output::now()), columns))?;
    if record.state == State::Pending {
        let short = short(record.id);
        let hint = if record.kind == placet_core::Kind::Input {
            format!("placet answer {short} VALUE · placet deny {short} --reason …")
        } else {
            format!("placet approve {short} · placet deny {short} --reason …")
        };
        let group = record.together.as_ref().and_then(|_| together::named(&record));
        let group = group.map(|group| format!(" · placet approve --group {group}")).unwrap_or_default();
        let hint = format!("{hint}{group}");
        output::line(&format!("\n{}", paint(output::DIM, &hint)))?;
    }
    Ok(0)
}
