//! Output for people and programs: colours, tables, requests in words, JSON. All text of agents is escaped.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use anstyle::{AnsiColor, Style};
use placet_core::{Risk, State, Time, show};
use serde::Serialize;

pub(crate) mod card;
mod describe;
pub(crate) mod layout;
mod lineage;
mod progress;
#[cfg(test)]
pub(crate) mod sample;
mod table;
mod text;
pub(crate) mod together;

pub(crate) use describe::{Line, Tone, describe, effect, headline, literal, needs};
pub(crate) use lineage::who;
pub(crate) use progress::Progress;
pub(crate) use table::{cut, table, width};
pub(crate) use text::{oneline, safe, short, span, until};

/// Yes, done, low.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// No, failed, high.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Careful.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
/// Names and things to type.
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
/// Less important.
pub(crate) const DIM: Style = Style::new().dimmed();
/// Headings.
pub(crate) const STRONG: Style = Style::new().bold();

/// The time now, for ages and countdowns on the screen.
#[expect(
    clippy::disallowed_methods,
    reason = "only shown to people: no deadline is decided by it, the server does that"
)]
pub(crate) fn now() -> Time {
    Time::from_micros(jiff::Timestamp::now().as_microsecond())
}

/// Text in a style.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{}", style.render_reset())
}

/// The colour of a risk. The word is always there too.
pub(crate) fn risk_style(risk: Risk) -> Style {
    match risk {
        Risk::Low => GOOD,
        Risk::Medium => WARN,
        Risk::High | Risk::Critical => BAD,
    }
}

/// The colour of a state. The word is always there too.
pub(crate) fn state_style(state: State) -> Style {
    match state {
        State::Approved | State::Answered | State::Succeeded => GOOD,
        State::Denied | State::Failed | State::Revoked => BAD,
        State::Pending | State::Claimed | State::Unknown => WARN,
        State::Expired | State::Cancelled | State::Lapsed => DIM,
    }
}

/// One line on standard output, with colours if the terminal wants them.
pub(crate) fn line(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Columns and rows of the terminal, if this stream is one and its size is known.
pub(crate) fn screen(terminal: bool) -> Option<(usize, usize)> {
    let size = terminal.then(crossterm::terminal::size).and_then(Result::ok);
    let size = size.map(|(columns, rows)| (usize::from(columns), usize::from(rows)));
    size.filter(|(columns, rows)| *columns > 0 && *rows > 0)
}

/// One line on standard error, for progress. A failure is ignored, because it cannot be reported.
pub(crate) fn to_stderr(text: &str) {
    let mut out = anstream::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n"));
}

/// A JSON document for programs, indented.
pub(crate) fn json<T: Serialize>(value: &T) -> io::Result<()> {
    line(&pretty(value))
}

/// An indented JSON document as text.
pub(crate) fn pretty<T: Serialize>(value: &T) -> String {
    visible(&serde_json::to_string_pretty(value).unwrap_or_default())
}

/// A JSON document on one line.
pub(crate) fn json_line<T: Serialize>(value: &T) -> String {
    visible(&serde_json::to_string(value).unwrap_or_default())
}

/// JSON in which everything that could move a cursor or hide is written as `\u` escapes: the same document to a program, and
/// harmless on a terminal.
fn visible(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        // Outside of text, the only white space is ours. Inside, line ends are already escaped.
        let plain =
            matches!(character, '\n' | '\\') || !show(character.encode_utf8(&mut [0; 4])).starts_with('\\');
        if plain {
            out.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn json_on_a_terminal_is_the_same_document_without_tricks() {
        let value = json!({"a": "x\u{202e}y\u{9b}31m\u{7f}\u{e0041}\u{1b}\\ \n\"", "grün": 1});
        let line = json_line(&value);
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
        assert!(line.chars().all(|c| c == '\\' || show(&c.to_string()) == c.to_string()), "{line}");
        assert!(line.contains("grün") && line.contains("\\udb40\\udc41"), "{line}");
    }
}
