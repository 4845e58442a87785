//! `placet approve --group` and `deny --group`: shows every item of a pause, and decides each on exactly what was
//! shown.

use placet_client::{BatchItem, BatchResult, Decide, ListQuery};
use placet_core::{Door, Kind, Record, Risk, State, show};
use serde_json::{Value, json};

use super::{Context, ask, decide::confirmed, said, show_all, somebody_there};
use crate::{
    exit::{self, usage},
    output::{self, Line, Tone, describe, paint},
};

/// Most that one batch takes.
const MOST: u32 = 200;

/// Approves all pending items. A pause is approved completely or not at all.
pub(super) async fn approve(
    context: &Context,
    group: &str,
    reason: Option<String>,
    yes: bool,
) -> anyhow::Result<u8> {
    let records = pending(context, group).await?;
    if let Some(refused) = records.iter().find_map(alone) {
        return Err(usage(refused));
    }
    let hooked = records.iter().any(hooked);
    if yes && hooked {
        return Err(usage(
            "a coding agent can have asked for more since you looked: leave out `--yes` and look at each call, or approve by id"
                .to_owned(),
        ));
    }
    if !yes && !somebody_there() {
        let instead = if hooked { "then approve by id" } else { "then add `--yes`" };
        return Err(usage(format!(
            "`--group` shows every item and asks, and there is no terminal: look with `placet inbox --group {}`, {instead}",
            show(group)
        )));
    }
    if !yes {
        if !shown_whole(&records)? {
            output::to_stderr("Nothing was sent.");
            return Ok(exit::ERROR);
        }
        if !confirmed(&format!("Approve exactly these {}?", records.len()))? {
            return Ok(exit::ERROR);
        }
    }
    let decide = |record: &Record| {
        let decide = Decide::approve(record);
        let decide = if yes { decide } else { decide.as_shown(record) };
        reason.clone().map_or(decide.clone(), |reason| decide.with_reason(reason))
    };
    // A pause gets one answer. Calls of a coding agent run one by one.
    send(context, &records, decide, !hooked).await
}

/// Denies all pending items. If one was just decided, the others are still denied.
pub(super) async fn deny(context: &Context, group: &str, reason: Option<String>) -> anyhow::Result<u8> {
    let records = pending(context, group).await?;
    let reason = match reason {
        Some(reason) => reason,
        None if somebody_there() && !context.json => {
            shown(&records)?;
            ask(&format!("\nWhy not, all {}? The agent is told; empty for no reason:", records.len()))?
        }
        None => String::new(),
    };
    send(context, &records, |record| Decide::deny(record, reason.clone()), false).await
}

/// The pending requests of this group, of one agent and one door. The agent chooses the name, so requests of others
/// under it must not be decided along with these.
async fn pending(context: &Context, group: &str) -> anyhow::Result<Vec<Record>> {
    let query = ListQuery {
        state: Some(State::Pending),
        group: Some(group.to_owned()),
        limit: Some(MOST),
        ..ListQuery::default()
    };
    let page = context.client.list(&query).await?;
    let mut records = page.items;
    records.sort_by_key(|record| (record.created_at, record.id));
    // A list has no cards.
    for record in &mut records {
        *record = context.client.get(record.id).await?;
    }
    records.retain(|record| record.state == State::Pending);
    let named = show(group);
    let Some(first) = records.first() else {
        return Err(usage(format!("nothing is pending in the group `{named}`: see `placet inbox`")));
    };
    if page.next_cursor.is_some() {
        return Err(usage(format!(
            "more than {MOST} requests wait in the group `{named}`: decide some of them by id first"
        )));
    }
    let other = records.iter().find(|other| (&other.agent, &other.source) != (&first.agent, &first.source));
    if let Some(other) = other {
        return Err(usage(format!(
            "`{named}` is the group of {} and of {}: decide by id, so that no request of another agent is decided along with these",
            output::who(first),
            output::who(other)
        )));
    }
    Ok(records)
}

/// Whether it came by the hook of a coding agent.
fn hooked(record: &Record) -> bool {
    match &record.origin {
        Some(origin) => origin.turn,
        // Older servers send only the name of the door.
        None => record.source.as_deref().is_some_and(|source| Door::named(source).groups_turns()),
    }
}

/// Why a request cannot be approved with others.
fn alone(record: &Record) -> Option<String> {
    let id = record.id;
    if record.kind == Kind::Input && record.proposal.is_none() {
        return Some(format!("{id} is a question: answer it first, with `placet answer {id}`"));
    }
    if hooked(record) && record.risk >= Risk::High {
        return Some(format!(
            "{id} is of {} risk: decide it first, by itself, with `placet approve {id}` or `placet deny {id}`",
            record.risk
        ));
    }
    let step_up = record.needs.step_up.as_deref()?;
    Some(format!("{id} needs the step-up `{}`: approve it first, in the dashboard", show(step_up)))
}

/// Prints every request whole. False if the person stopped.
pub(super) fn shown(records: &[Record]) -> anyhow::Result<bool> {
    let all = records.len();
    let mut lines = Vec::new();
    for (index, record) in records.iter().enumerate() {
        lines.push(Line::sentence(format!("── {} of {all}: {} ──", index + 1, record.id), Tone::Heading));
        lines.extend(describe(record, output::now()));
    }
    Ok(show_all(&lines)?)
}

/// The same before an approval: an error if a part of one cannot be printed.
pub(super) fn shown_whole(records: &[Record]) -> anyhow::Result<bool> {
    let whole = shown(records)?;
    for record in records {
        if let Some(why) = output::card::refused(record) {
            let (id, url) = (record.id, output::safe(&record.url));
            anyhow::bail!("{id}: {why}, so nothing was sent: decide it first, by itself, at {url}");
        }
    }
    Ok(whole)
}

/// Sends one decision for each, and prints the results.
async fn send(
    context: &Context,
    records: &[Record],
    decide: impl Fn(&Record) -> Decide,
    atomic: bool,
) -> anyhow::Result<u8> {
    let items: Vec<BatchItem> =
        records.iter().map(|record| BatchItem { id: record.id, decide: decide(record) }).collect();
    let results = context.client.decide_batch(&items, atomic).await?;
    let refused = results.iter().filter(|result| result.result.is_err()).count();
    if context.json {
        output::json(&results.iter().map(result).collect::<Vec<Value>>())?;
    } else {
        for BatchResult { id, result } in &results {
            match result {
                Ok(after) => said(context, after)?,
                Err(problem) => output::to_stderr(&format!("{id}: {}", output::safe(&problem.to_string()))),
            }
        }
        if results.iter().flat_map(|result| &result.result).any(|after| after.state == State::Pending) {
            output::to_stderr("Your votes are counted; it waits for more people.");
        }
        if atomic && refused > 0 {
            output::to_stderr(&format!("{}: all or none", paint(output::BAD, "nothing was applied")));
        }
    }
    Ok(if refused == 0 { 0 } else { exit::ERROR })
}

fn result(result: &BatchResult) -> Value {
    match &result.result {
        Ok(record) => json!({"id": result.id, "record": record}),
        Err(problem) => json!({"id": result.id, "problem": problem.document}),
    }
}
