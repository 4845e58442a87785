//! `placet request`: creates a request from a shell, waits for people, and prints what may run.

use std::time::Duration;

use placet_client::{ClaimedPermit, Client, CreateOptions, Error};
use placet_core::{Create, Kind, Record, State, show};
use serde_json::{Map, Value, json};

use super::{Context, object_argument, said};
use crate::{
    cli::RequestArgs,
    exit::{self, usage},
    output::{self, json_line, oneline, paint, short, until},
};

/// How long a server may be away while a person decides.
const OUTAGE: Duration = Duration::from_mins(1);

/// The timeout of the last read, after the wait.
const LAST_LOOK: Duration = Duration::from_secs(5);

/// Asks, waits, prints.
pub(crate) async fn run(context: &Context, args: RequestArgs) -> anyhow::Result<u8> {
    let create = create(&args)?;
    if args.claim && create.kind != Kind::Action {
        return Err(usage("`--claim`: only an action has a permit to claim"));
    }
    let options = CreateOptions { idempotency_key: args.idempotency_key.clone(), ..CreateOptions::default() };
    let asked = context.client.create(&create, options).await?;
    let patient = context.client.clone().with_outage_budget(OUTAGE);
    let record = if asked.state == State::Pending && args.wait != Some(Duration::ZERO) {
        announce(context, &asked);
        tokio::select! {
            decided = wait(&patient, &asked, args.wait) => decided?,
            _ = tokio::signal::ctrl_c() => return interrupted(context, &asked, args.cancel_on_interrupt).await,
        }
    } else {
        asked
    };
    if !args.claim {
        print(context, &record)?;
        return Ok(exit::of(&record));
    }
    if record.state != State::Approved {
        return no_permit(context, &record);
    }
    let claimed = patient.claim_for(&create, &record).await?;
    print_claimed(context, &record, &claimed)?;
    Ok(0)
}

/// This process has no permit, so nothing may run and no arguments are printed.
fn no_permit(context: &Context, record: &Record) -> anyhow::Result<u8> {
    let why = match record.state {
        State::Claimed | State::Succeeded | State::Failed | State::Unknown => {
            "its permit was claimed before, so run nothing"
        }
        State::Answered => "it was answered instead of approved, so run nothing",
        _ => "it is not approved, so run nothing",
    };
    if context.json {
        let document = json!({
            "id": record.id, "state": record.state, "permit": null, "arguments": null, "why": why,
            "decision": record.decision.as_ref().map(|decision| json!({
                "decision": decision.decision, "by": decision.by, "grant": decision.grant, "reason": decision.reason,
                "answer": decision.answer,
            })),
        });
        output::json(&document)?;
    } else {
        said(context, record)?;
        output::to_stderr(&format!("No permit: {why}."));
    }
    Ok(match exit::of(record) {
        0 => exit::NO_PERMIT,
        code => code,
    })
}

/// The decision, or the request as it is at the end of the wait.
async fn wait(client: &Client, asked: &Record, within: Option<Duration>) -> Result<Record, Error> {
    match client.wait_decided(asked.id, within).await {
        Err(Error::Timeout { id, .. }) => match tokio::time::timeout(LAST_LOOK, client.get(id)).await {
            Ok(seen) => seen,
            // Nothing newer is available. The last known state is pending, so nothing runs.
            Err(_) => Ok(asked.clone()),
        },
        other => other,
    }
}

/// The body of the create call, from the options.
fn create(args: &RequestArgs) -> anyhow::Result<Create> {
    let mut body = match (&args.body, args.kind) {
        (Some(text), _) => object_argument("--body", text)?,
        (None, Kind::Action) => Map::new(),
        (None, kind) => {
            return Err(usage(format!(
                "`--body` is missing: the kind `{kind}` needs its fields as a JSON object or @FILE"
            )));
        }
    };
    if args.kind != Kind::Action && (args.tool.is_some() || args.args.is_some()) {
        return Err(usage(format!(
            "`--tool` and `--args` are for the kind `action`; put the fields of `{}` into `--body`",
            args.kind
        )));
    }
    let mut put = |key: &str, value: Value| {
        if body.insert(key.to_owned(), value).is_some() {
            return Err(usage(format!("`{key}` is given twice: in `--body` and as an option")));
        }
        Ok(())
    };
    put("kind", json!(args.kind))?;
    if let Some(tool) = &args.tool {
        put("tool", json!(tool))?;
    }
    if let Some(text) = &args.args {
        put("arguments", Value::Object(object_argument("--args", text)?))?;
    }
    if let Some(text) = &args.context {
        put("context", Value::Object(object_argument("--context", text)?))?;
    }
    let texts = [
        ("session", &args.session),
        ("summary", &args.summary),
        ("expires_in", &args.expires_in),
        ("on_behalf_of", &args.on_behalf_of),
        ("group", &args.group),
    ];
    for (key, value) in texts {
        if let Some(value) = value {
            put(key, json!(value))?;
        }
    }
    if let Some(risk) = args.risk {
        put("risk", json!(risk))?;
    }
    if args.kind == Kind::Action {
        for (field, option) in [("tool", "--tool"), ("arguments", "--args")] {
            if !body.contains_key(field) {
                return Err(usage(format!("`{option}` is missing: an action is a tool and its arguments")));
            }
        }
    }
    body.entry("session").or_insert_with(|| json!("shell"));
    serde_json::from_value(Value::Object(body)).map_err(|error| usage(format!("`--body`: {error}")))
}

fn announce(context: &Context, record: &Record) {
    if context.json {
        return;
    }
    let what = record.tool.as_deref().map_or_else(|| record.kind.to_string(), show);
    output::to_stderr(&format!(
        "Asked  {} {what}: {}",
        paint(output::NAME, &record.id.to_string()),
        oneline(record)
    ));
    output::to_stderr(&format!(
        "Decide {} or `placet approve {}`, within {}",
        paint(output::NAME, &context.page(record)),
        short(record.id),
        until(record.expires_at, output::now())
    ));
    output::to_stderr(&paint(output::DIM, "Waiting. Ctrl-C leaves it pending."));
}

async fn interrupted(context: &Context, record: &Record, cancel: bool) -> anyhow::Result<u8> {
    if cancel {
        let after = context.client.cancel(record.id, Some("interrupted")).await?;
        said(context, &after)?;
    } else {
        output::to_stderr(&format!(
            "\nInterrupted: {0} is still pending. Withdraw it with `placet cancel {0}`.",
            record.id
        ));
    }
    Ok(exit::INTERRUPTED)
}

fn print_claimed(context: &Context, record: &Record, claimed: &ClaimedPermit) -> anyhow::Result<()> {
    if context.json {
        output::json(&json!({
            "record": record, "permit": claimed.permit, "arguments": claimed.arguments,
            "digest": claimed.digest, "report_by": claimed.report_by,
        }))?;
        return Ok(());
    }
    said(context, record)?;
    lines(&[("permit", show(claimed.permit.reveal())), ("arguments", json_line(&claimed.arguments))])
}

fn print(context: &Context, record: &Record) -> anyhow::Result<()> {
    said(context, record)?;
    if context.json { Ok(()) } else { lines(&results(record)) }
}

fn lines(lines: &[(&str, String)]) -> anyhow::Result<()> {
    for (label, text) in lines {
        output::line(&format!("{} {text}", paint(output::DIM, label)))?;
    }
    Ok(())
}

/// The approved content that was not used yet: arguments, answer or steps. One line each, as JSON.
fn results(record: &Record) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if !matches!(record.state, State::Approved | State::Answered) {
        return lines;
    }
    let decision = record.decision.as_ref();
    let arguments = decision.and_then(|decision| decision.arguments.as_ref()).or(record.arguments.as_ref());
    if let Some(arguments) = arguments.filter(|_| record.state == State::Approved) {
        lines.push(("arguments", json_line(arguments)));
    }
    if let Some(answer) = decision.and_then(|decision| decision.answer.as_ref()) {
        lines.push(("answer", json_line(answer)));
    }
    if let Some(steps) = decision.and_then(|decision| decision.steps.as_ref()) {
        lines.push(("steps", json_line(steps)));
    }
    lines
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
