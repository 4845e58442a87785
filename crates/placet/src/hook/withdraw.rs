//! After a call: reports its result, and cancels requests that were answered elsewhere.

use std::time::Duration;

use placet_client::{Client, Permit, Report};
use placet_hooks::{FinishedCall, Output};

use super::{
    confine::learn,
    memory::{Mark, Memory, Note},
    noted,
};
use crate::run::marks::{Marks, Trace};

/// The timeout: this must be quick.
const OUTAGE: Duration = Duration::from_secs(3);

/// A call ran. Reports its result, or cancels the request if the person at the terminal allowed the call.
pub(super) async fn ran(client: &Client, memory: &Memory, ran: &FinishedCall) -> Output {
    let notes = memory.notes();
    let by_id = |note: &&Note| note.call_id.is_some() && note.call_id == ran.call_id;
    let same = ran.same();
    let by_arguments = |note: &&Note| note.call_id.is_none() && note.same == same;
    let dropped = |note: &&Note| note.call_id.is_none() && note.asked.as_ref() == Some(&same);
    let note = notes.iter().find(by_id).or_else(|| notes.iter().find(by_arguments));
    let Some(note) = note.or_else(|| notes.iter().find(dropped)) else {
        return Output::default();
    };
    let client = client.clone().with_outage_budget(OUTAGE);
    memory.forget(note.request);
    let Some(permit) = &note.permit else {
        return withdraw(&client, note, "answered at the terminal").await;
    };
    let mut report =
        if ran.worked { Report::succeeded() } else { Report::failed("the agent says that it failed") };
    report.unconfined = note.mark.as_ref().is_some_and(|mark| !ran_as_handed(mark));
    if report.unconfined {
        report.note = Some("allowed confined, and there is no proof that it ran confined".to_owned());
    }
    if let Some(command) = note.mark.as_ref().and_then(|mark| mark.command.as_ref()) {
        memory.attempted(command, note.request);
    }
    match bounded(client.report(note.request, &Permit::from(permit.clone()), &report)).await {
        Ok(_) => Output::default(),
        Err(reason) => noted(&format!("Placet: the outcome of {} was not reported: {reason}", note.request)),
    }
}

/// Whether the agent ran the command it got, as far as that matters: a trial only tests it.
fn ran_as_handed(mark: &Mark) -> bool {
    let trace = Marks::at(&mark.folder).trace(&mark.name);
    if mark.trial || trace != Trace::Taken {
        learn(mark, trace);
    }
    mark.trial || trace == Trace::Taken
}

/// The turn is over: requests in relay mode are no longer needed.
pub(super) async fn stopped(client: &Client, memory: &Memory) -> Output {
    let client = client.clone().with_outage_budget(OUTAGE);
    let mut output = Output::default();
    for note in memory.notes().iter().filter(|note| note.relay && !note.subagent && note.permit.is_none()) {
        memory.forget(note.request);
        output = withdraw(&client, note, "the agent's turn is over").await;
    }
    output
}

async fn withdraw(client: &Client, note: &Note, reason: &str) -> Output {
    match bounded(client.cancel(note.request, Some(reason))).await {
        Ok(_) => Output::default(),
        Err(why) => noted(&format!("Placet: {} was not withdrawn: {why}", note.request)),
    }
}

async fn bounded<T>(call: impl Future<Output = Result<T, placet_client::Error>>) -> Result<T, String> {
    match tokio::time::timeout(2 * OUTAGE, call).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the server did not answer".to_owned()),
    }
}
