//! `placet inbox --watch`: the live queue, decided with one key. Without a terminal, one line per event.

use std::io::{self, IsTerminal};

use placet_client::{Client, Error, ListQuery, StreamItem};
use placet_core::Record;
use tokio::sync::mpsc;

use crate::{
    cli::{Filters, StateFilter},
    verbs::{Context, inbox::query},
};

mod draw;
mod keys;
mod lines;
mod live;
mod model;

/// Most pending requests that are shown.
const ROWS: usize = 1_000;

/// Watches until it is stopped.
pub(crate) async fn run(context: &Context, filters: &Filters) -> anyhow::Result<u8> {
    let client = context.client.clone();
    // The first read comes before the screen is taken over, so a wrong key or address is an ordinary error.
    let first = look(&client, filters).await?;
    if context.json || !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        lines::run(client, filters.clone(), first, context.json).await
    } else {
        live::run(client, filters.clone(), first).await
    }
}

/// What the server tells.
#[derive(Debug)]
enum Update {
    /// All pending requests. Others are no longer pending.
    All(Vec<Record>),
    /// One request changed; the event's cursor and name.
    Changed { id: String, name: String, record: Box<Record> },
    /// The connection is there.
    Connected,
    /// The connection is lost, and is retried.
    Lost(String),
    /// It is over.
    Failed(Error),
}

/// All requests that match the filters, and the cursor to listen from.
async fn look(client: &Client, filters: &Filters) -> Result<(Vec<Record>, String), Error> {
    let mut query = ListQuery { limit: Some(200), ..query(filters) };
    let mut records = Vec::new();
    let mut from = None;
    loop {
        let page = client.list(&query).await?;
        let position = page.position();
        records.extend(page.items);
        // The first page's cursor is the earliest, so later changes come again with the stream.
        let from = from.get_or_insert(position);
        query.cursor = page.next_cursor;
        if query.cursor.is_none() || records.len() >= ROWS {
            return Ok((records, from.clone()));
        }
    }
}

/// Listens for ever, and lists again if the stream cannot be resumed.
async fn listen(client: Client, filters: Filters, from: String, news: mpsc::Sender<Update>) {
    let mut stream = client.stream(Some(from));
    loop {
        let item = match stream.next().await {
            Ok(StreamItem::Connected) => Update::Connected,
            Ok(StreamItem::Lost { reason }) => Update::Lost(reason),
            Ok(StreamItem::Event(event)) if fits(&filters, &event.record) => {
                Update::Changed { id: event.id, name: event.name, record: Box::new(event.record) }
            }
            Ok(StreamItem::Event(_)) => continue,
            Ok(StreamItem::Reset) => match look(&client, &filters).await {
                Ok((records, _)) => Update::All(records),
                Err(error) => Update::Failed(error),
            },
            Err(error) => Update::Failed(error),
        };
        let over = matches!(item, Update::Failed(_));
        // The receiver is gone when the person quit.
        if news.send(item).await.is_err() || over {
            return;
        }
    }
}

/// Whether a request matches the filters, in any state. The server does the text search.
fn fits(filters: &Filters, record: &Record) -> bool {
    let same = |filter: &Option<String>, value: Option<&str>| {
        filter.as_deref().is_none_or(|filter| value == Some(filter))
    };
    same(&filters.agent, Some(&record.agent))
        && same(&filters.tool, record.tool.as_deref())
        && same(&filters.session, Some(&record.session))
        && same(&filters.group, record.group.as_deref())
        && filters.risk.is_none_or(|risk| risk == record.risk)
        && !matches!(filters.state, Some(StateFilter::Only(state)) if state != record.state && state != placet_core::State::Pending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    #[test]
    fn events_of_other_agents_are_left_out() {
        let record = sample::action();
        assert!(fits(&Filters::default(), &record));
        let by = |agent: &str| Filters { agent: Some(agent.to_owned()), ..Filters::default() };
        assert!(fits(&by("billing-bot"), &record) && !fits(&by("other"), &record));
        let tool = Filters { tool: Some("pay".to_owned()), ..Filters::default() };
        assert!(!fits(&tool, &sample::plan()));
    }
}
