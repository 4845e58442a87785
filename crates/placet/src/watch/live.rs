//! The loop of the live screen: keys, updates and answers from the server, and timers.

use std::time::Duration;

use crossterm::{
    event::{Event, EventStream, KeyEventKind},
    terminal::{Clear, ClearType},
};
use futures_util::StreamExt;
use placet_client::{Client, Decide, Error};
use placet_core::{Record, RequestId};
use ratatui::DefaultTerminal;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    task::JoinSet,
    time::interval,
};

use super::{
    draw::draw,
    keys::Action,
    listen,
    model::{App, Mode},
};
use crate::{
    cli::Filters,
    exit,
    output::{self, Tone},
    verbs::{edit, preview},
};

/// An answer from the server.
enum ServerAnswer {
    /// A decision.
    Decided(RequestId, Result<Record, Error>),
    /// A detail.
    Read(Result<Record, Error>),
}

/// Takes over the terminal until the person quits, and always gives it back.
pub(super) async fn run(
    client: Client,
    filters: Filters,
    first: (Vec<Record>, String),
) -> anyhow::Result<u8> {
    if anstream::ColorChoice::global() == anstream::ColorChoice::Never {
        crossterm::style::force_color_output(false);
    }
    // This also restores the terminal before a panic is printed.
    let terminal = ratatui::try_init()?;
    let result = watch(terminal, client, filters, first).await;
    ratatui::restore();
    result
}

async fn watch(
    mut terminal: DefaultTerminal,
    client: Client,
    filters: Filters,
    first: (Vec<Record>, String),
) -> anyhow::Result<u8> {
    let (records, from) = first;
    let mut app = App::new(records);
    // Dropping the set ends the listener, so nothing outlives the screen.
    let mut listener = JoinSet::new();
    let (send, mut news) = mpsc::channel(256);
    listener.spawn(listen(client.clone(), filters, from, send));
    let mut calls: JoinSet<ServerAnswer> = JoinSet::new();
    let mut keys = EventStream::new();
    let mut clock = interval(Duration::from_millis(500));
    let (mut terminated, mut hung_up) = (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
    loop {
        if let Some(id) = app.wanted() {
            let client = client.clone();
            calls.spawn(async move { ServerAnswer::Read(client.get(id).await) });
        }
        let now = output::now();
        terminal.draw(|frame| draw(frame, &mut app, client.url(), now))?;
        tokio::select! {
            key = keys.next() => match key {
                Some(Ok(Event::Key(key))) if key.kind != KeyEventKind::Release => match app.press(key, output::now()) {
                    Action::Stay => {}
                    Action::Quit => return Ok(0),
                    Action::Send(id, decide) => send_decision(&mut calls, &client, id, *decide),
                    Action::Edit(record) => {
                        // The editor needs the keyboard alone.
                        drop(keys);
                        ratatui::restore();
                        let edited = tokio::task::block_in_place(|| edit::in_editor(&record));
                        terminal = ratatui::try_init()?;
                        // Not `Terminal::clear`, which asks the terminal where its cursor is and waits for an answer.
                        crossterm::execute!(std::io::stdout(), Clear(ClearType::All))?;
                        keys = EventStream::new();
                        propose(&mut app, &client, record, edited).await;
                    }
                },
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
                None => return Ok(0),
            },
            Some(item) = news.recv() => app.hear(item, output::now()),
            Some(Ok(back)) = calls.join_next() => match back {
                ServerAnswer::Decided(id, result) => app.answered(id, result, output::now()),
                // A detail that could not be read is read again when it is selected again. The row stays.
                ServerAnswer::Read(result) => if let Ok(record) = result { app.update(record, output::now()) },
            },
            _ = clock.tick() => app.tick(output::now()),
            // The terminal is also given back when a signal ends the program.
            _ = terminated.recv() => return Ok(exit::INTERRUPTED),
            _ = hung_up.recv() => return Ok(exit::INTERRUPTED),
        }
        if let Some(error) = app.failed.take() {
            return Err(error.into());
        }
    }
}

fn send_decision(calls: &mut JoinSet<ServerAnswer>, client: &Client, id: RequestId, decide: Decide) {
    let client = client.clone();
    calls.spawn(async move { ServerAnswer::Decided(id, client.decide(id, &decide).await) });
}

/// The editor's output becomes a question, never a decision at once.
async fn propose(
    app: &mut App,
    client: &Client,
    shown: Box<Record>,
    edited: anyhow::Result<Option<serde_json::Map<String, serde_json::Value>>>,
) {
    let now = output::now();
    match edited {
        Ok(Some(after)) => {
            let before = edit::current(&shown).cloned().unwrap_or_default();
            let mut lines = edit::changes(&before, &after);
            let decide = Box::new(Decide::edit(&shown, after).as_shown(&shown));
            // It may need more people than before, or be refused. That is shown before it is sent.
            match client.preview(shown.id, &decide).await {
                Ok(told) => {
                    let plain = |line: &String| anstream::adapter::strip_str(line).to_string();
                    lines.extend(preview::lines(&told).iter().map(plain));
                    app.mode = Mode::Change { shown, decide, lines, typed: String::new() };
                }
                Err(error) => app.say(output::safe(&error.to_string()), Tone::Bad, output::now()),
            }
        }
        Ok(None) => app.say("nothing was changed, so nothing was sent", Tone::Dim, now),
        Err(error) => app.say(output::safe(&format!("{error:#}")), Tone::Bad, now),
    }
}
