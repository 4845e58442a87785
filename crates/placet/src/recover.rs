//! `placet recover`: after a database that lost entries, or a wrong clock.

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use placet_gate::SystemClock;
use placet_store::{Location, Loss, StoreError};
use serde_json::{Value, json};

use crate::{
    cli::RecoverArgs,
    exit::usage,
    offline,
    output::{self, json_line, safe},
};

/// `placet recover`.
pub(crate) async fn run(args: RecoverArgs) -> anyhow::Result<ExitCode> {
    let location = offline::location(args.place.clone())?;
    if args.clock {
        return clock(&location, &args).await;
    }
    let Some(state) = offline::state(args.state.clone())? else {
        return Err(usage("there is no folder to look in: name it with --state, as the server is told"));
    };
    history(&location, state, &args).await
}

async fn clock(location: &Location, args: &RecoverArgs) -> anyhow::Result<ExitCode> {
    if args.dry_run {
        return Err(usage(
            "--clock has no dry run: `placet doctor` and /readyz say whether the clock is behind",
        ));
    }
    let accepted = placet_store::accept_clock(location, Arc::new(SystemClock::new())).await?;
    match accepted {
        None if args.json => output::line(&json_line(&json!({"accepted": false})))?,
        None => output::line("the clock is not behind the ledger: there is nothing to accept")?,
        Some(accepted) if args.json => output::line(&json_line(&json!({
            "accepted": true, "from": accepted.from, "to": accepted.to, "expired": accepted.expired,
        })))?,
        Some(accepted) => output::line(&format!(
            "it was {} by the ledger, and from now on it is {}; {} requests that had expired by then have expired, everybody \
             signs in again, and the ledger says so",
            accepted.from, accepted.to, accepted.expired
        ))?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn history(location: &Location, state: PathBuf, args: &RecoverArgs) -> anyhow::Result<ExitCode> {
    let loss = match placet_store::look_for_loss(location, &state).await {
        Ok(loss) => loss,
        // An operator of another machine knows that entries are missing.
        Err(StoreError::File(why)) if args.force => {
            output::to_stderr(&safe(&why));
            None
        }
        Err(error) => return Err(error.into()),
    };
    if loss.is_none() && (args.dry_run || !args.force) {
        if args.json {
            output::line(&json_line(&json!({"lost": false})))?;
        } else {
            output::line("nothing is missing: the database has everything that this machine acknowledged")?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if args.dry_run {
        if let Some(loss) = &loss {
            say(loss, args.json)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let clock = Arc::new(SystemClock::new());
    let report = placet_store::recover(location, &state, loss.as_ref(), clock).await?;
    if args.json {
        let mut value = json!({"recovered": true, "epoch": report.epoch, "closed": report.closed});
        if let (Some(loss), Value::Object(map)) = (&loss, &mut value) {
            map.insert("loss".to_owned(), as_json(loss));
        }
        output::line(&json_line(&value))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(loss) = &loss {
        say(loss, false)?;
    }
    output::line(&format!(
        "the new epoch {} has begun; {} requests that were still open are cancelled or unknown. Keys, people and policy are \
         those of the database: look whether something that was revoked or tightened is missing. Start the servers again",
        report.epoch, report.closed
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn as_json(loss: &Loss) -> Value {
    let concerned: Vec<Value> = loss
        .concerned
        .iter()
        .map(|known| json!({"request": known.request, "events": known.events}))
        .collect();
    json!({
        "acknowledged": loss.acknowledged.seq, "head": loss.head.seq, "common": loss.common,
        "concerned": concerned, "complete": loss.is_whole(),
    })
}

fn say(loss: &Loss, json: bool) -> anyhow::Result<()> {
    if json {
        let mut value = as_json(loss);
        if let Value::Object(map) = &mut value {
            map.insert("lost".to_owned(), Value::Bool(true));
        }
        return Ok(output::line(&json_line(&value))?);
    }
    let since = match loss.common {
        Some(common) => format!("both agree up to entry {common}"),
        None => "this machine remembers no entry of the database".to_owned(),
    };
    output::line(&format!(
        "entry {} was acknowledged, and the database ends with entry {}; {since}",
        loss.acknowledged.seq, loss.head.seq
    ))?;
    for known in &loss.concerned {
        output::line(&format!("  {}  {}", known.request, safe(&known.events.join(", "))))?;
    }
    output::line(if loss.is_whole() {
        "These are all requests in the missing entries that this node knows. Check the other nodes too."
    } else {
        "More is missing than this machine remembers, so other requests may be affected too."
    })?;
    Ok(())
}
