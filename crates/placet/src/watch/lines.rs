//! Watching without a terminal: one line per event, for logs, pipes and programs.

use placet_client::Client;
use placet_core::{Record, show};
use serde_json::json;
use tokio::{sync::mpsc, task::JoinSet};

use super::{Update, listen};
use crate::{
    cli::Filters,
    output::{self, effect, headline, json_line, oneline},
};

/// Prints the pending requests, then every change, until the stream ends or the reader has gone.
pub(super) async fn run(
    client: Client,
    filters: Filters,
    first: (Vec<Record>, String),
    json: bool,
) -> anyhow::Result<u8> {
    let (records, from) = first;
    for record in &records {
        output::line(&text("", "request.pending", record, json))?;
    }
    let (send, mut receive) = mpsc::channel(256);
    let mut tasks = JoinSet::new();
    tasks.spawn(listen(client, filters, from, send));
    while let Some(news) = receive.recv().await {
        match news {
            Update::Changed { id, name, record } => output::line(&text(&id, &name, &record, json))?,
            Update::All(records) => {
                for record in &records {
                    output::line(&text("", "request.pending", record, json))?;
                }
            }
            Update::Connected => {}
            Update::Lost(reason) => {
                output::to_stderr(&format!("connection lost ({}), trying again", show(&reason)));
            }
            Update::Failed(error) => return Err(error.into()),
        }
    }
    Ok(0)
}

fn text(id: &str, name: &str, record: &Record, json: bool) -> String {
    if json {
        return json_line(&json!({"id": id, "type": name, "record": record}));
    }
    format!("{} {} {}: {}: {}", show(name), record.id, headline(record), effect(record), oneline(record))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    #[test]
    fn an_event_is_one_line_for_people_and_for_programs() {
        let record = sample::confirmation();
        insta::assert_snapshot!(text("1.7", "request.created", &record, false), @"request.created req_0698d3r3kvtg0i8s0c1g60o30c pending: billing-bot asks for a yes or no: Go live?");
        let line = text("1.7", "request.created", &record, true);
        assert!(!line.contains('\n') && line.starts_with("{\"id\":\"1.7\","), "{line}");
    }
}
