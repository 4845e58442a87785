//! The commands that call a server, one file each, and their shared code.

use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

use anyhow::Context as _;
use placet_client::{Client, DEFAULT_URL};
use placet_core::{Record, show};
use serde_json::{Map, Value};

use crate::{
    cli::Global,
    exit::usage,
    output::{self, Line, Tone, layout::ScreenRow, paint},
};

pub(crate) mod agents;
pub(crate) mod answer;
pub(crate) mod attention;
pub(crate) mod decide;
pub(crate) mod edit;
pub(crate) mod find;
pub(crate) mod freeze;
pub(crate) mod grants;
mod group;
pub(crate) mod inbox;
pub(crate) mod keys;
pub(crate) mod later;
pub(crate) mod people;
pub(crate) mod preview;
pub(crate) mod request;
pub(crate) mod show;
pub(crate) mod steps;

/// How long an interactive command retries: enough for one lost answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// Shared by all commands: the server, and how to print.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) json: bool,
}

/// Whether there is a key for the server.
pub(crate) fn has_token() -> bool {
    std::env::var("PLACET_TOKEN").is_ok_and(|token| !token.trim().is_empty())
}

/// The warning about a key that is sent without encryption.
pub(crate) fn in_the_clear(url: &str) -> String {
    format!(
        "the key goes to {url} without encryption, and anyone on the network can read and use it: use https"
    )
}

impl Context {
    /// From the global options and `PLACET_TOKEN`.
    pub(crate) fn new(global: &Global) -> anyhow::Result<Self> {
        let token = std::env::var("PLACET_TOKEN").unwrap_or_default();
        let url = global.url.as_deref().filter(|url| !url.is_empty()).unwrap_or(DEFAULT_URL);
        let client = Client::new(url, token.trim())?.with_outage_budget(PATIENCE);
        if client.sends_key_in_the_clear() {
            crate::output::to_stderr(&format!("warning: {}", in_the_clear(client.url())));
        }
        Ok(Self { client, json: global.json })
    }

    /// The address of a request's page.
    pub(crate) fn page(&self, record: &Record) -> String {
        format!("{}{}", self.client.url(), show(&record.url))
    }
}

/// JSON from the command line: the text itself, `@FILE`, or `-` for standard input. Read as strictly as the server
/// does, so that errors are found and named here.
pub(crate) fn json_argument(option: &str, text: &str) -> anyhow::Result<Value> {
    let bytes = match (text, text.strip_prefix('@')) {
        ("-", _) => {
            io::read_to_string(io::stdin().lock()).map(String::into_bytes).context("standard input")?
        }
        (_, Some(path)) => {
            std::fs::read(path).map_err(|error| usage(format!("`{option}`: cannot read {path}: {error}")))?
        }
        (text, None) => text.as_bytes().to_vec(),
    };
    placet_ledger::ijson::parse(&bytes, &placet_ledger::ijson::Limits::default()).map_err(|error| {
        let place = Some(error.pointer()).filter(|pointer| !pointer.is_empty());
        let place = place.map(|pointer| format!(" at `{pointer}`")).unwrap_or_default();
        usage(format!("`{option}`{place}: {error}"))
    })
}

/// The same, if only an object is valid.
pub(crate) fn object_argument(option: &str, text: &str) -> anyhow::Result<Map<String, Value>> {
    match json_argument(option, text)? {
        Value::Object(object) => Ok(object),
        _ => Err(usage(format!("`{option}`: expected a JSON object such as {{\"files\": [\"report.md\"]}}"))),
    }
}

/// Whether a person can be asked.
pub(crate) fn somebody_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks on the terminal and reads one line.
pub(crate) fn ask(question: &str) -> io::Result<String> {
    let mut out = anstream::stderr().lock();
    write!(out, "{question} ")?;
    out.flush()?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

/// Lines for people, labels aligned, broken where the screen ends. Without a width nothing is broken.
pub(crate) fn sheet(lines: &[Line], columns: Option<usize>) -> String {
    let rows = output::layout::rows(lines, columns);
    rows.iter().map(painted).collect::<Vec<_>>().join("\n")
}

fn painted(row: &ScreenRow) -> String {
    let style = match row.tone {
        Tone::Strong | Tone::Heading => output::STRONG,
        Tone::Plain => anstyle::Style::new(),
        Tone::Dim => output::DIM,
        Tone::Good => output::GOOD,
        Tone::Bad => output::BAD,
        Tone::Warn => output::WARN,
    };
    let margin = if row.margin.is_empty() { String::new() } else { paint(output::DIM, &row.margin) };
    let text = if row.text.is_empty() { String::new() } else { paint(style, &row.text) };
    format!("{margin}{text}")
}

/// Prints lines on standard error, one screen at a time, so that none passes unseen. False if the person stopped.
pub(crate) fn show_all(lines: &[Line]) -> io::Result<bool> {
    let screen = output::screen(io::stderr().is_terminal());
    let rows = output::layout::rows(lines, screen.map(|(columns, _)| columns));
    // The question below the rows needs a place too.
    let most =
        screen.filter(|_| somebody_there()).map_or(usize::MAX, |(_, rows)| rows.saturating_sub(3).max(5));
    let mut left = rows.len();
    for part in rows.chunks(most) {
        for row in part {
            output::to_stderr(&painted(row));
        }
        left = left.saturating_sub(part.len());
        if left > 0 {
            let lines =
                placet_core::counted(u64::try_from(left).unwrap_or(u64::MAX), "more line", "more lines");
            let said = ask(&paint(output::STRONG, &format!("-- {lines}: Enter shows them, q stops --")))?;
            if said.eq_ignore_ascii_case("q") {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Prints a record: JSON for programs, one line for people.
pub(crate) fn said(context: &Context, record: &Record) -> io::Result<()> {
    if context.json {
        return output::json(record);
    }
    let state = paint(output::state_style(record.state), &output::headline(record));
    output::line(&format!("{} {state}", paint(output::NAME, &record.id.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_on_the_command_line_is_read_strictly_and_named() {
        let refused = |text: &str| object_argument("--args", text).unwrap_err().to_string();
        insta::assert_snapshot!(refused("{\"a\":1,\"a\":2}"), @"`--args` at `/a`: a key occurs twice in one object; send each key once (byte 7)");
        insta::assert_snapshot!(refused("[1]"), @r#"`--args`: expected a JSON object such as {"files": ["report.md"]}"#);
        insta::assert_snapshot!(refused("{\"a\":"), @"`--args` at `/a`: the text ends before the document does; send the whole document (byte 5)");
        insta::assert_snapshot!(refused("@/nowhere/x.json"), @"`--args`: cannot read /nowhere/x.json: No such file or directory (os error 2)");
    }
}
