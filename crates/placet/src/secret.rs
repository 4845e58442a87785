//! Reads a secret: from the terminal without showing it, or as one line of standard input. Never from an argument.

use std::io::{self, BufRead as _, Write as _};

use anyhow::Context as _;
use crossterm::{
    event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, read as next_event},
    terminal::{disable_raw_mode, enable_raw_mode},
};

use crate::{exit::usage, verbs::somebody_there};

/// More bytes than any secret has. The receiver refuses longer ones.
const MOST: u64 = 4096;

/// Asks twice on a terminal; otherwise reads a line.
pub(crate) fn read(question: &str) -> anyhow::Result<String> {
    if !somebody_there() {
        return line(io::stdin().lock());
    }
    let first = hidden(question)?;
    if hidden("The same again")? != first {
        return Err(usage("the two are not the same: nothing was changed"));
    }
    Ok(first)
}

/// One line, without its end.
fn line(input: impl io::BufRead) -> anyhow::Result<String> {
    let mut text = String::new();
    input.take(MOST).read_line(&mut text).context("standard input")?;
    let text = text.strip_suffix('\n').map_or(text.as_str(), |rest| rest.strip_suffix('\r').unwrap_or(rest));
    if text.is_empty() {
        return Err(usage("no password was given: type it, or send it as one line of standard input"));
    }
    Ok(text.to_owned())
}

/// Restores the terminal in every case.
struct Raw;

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = disable_raw_mode();
    }
}

fn hidden(question: &str) -> anyhow::Result<String> {
    let mut out = anstream::stderr().lock();
    write!(out, "{question}: ")?;
    out.flush()?;
    let typed = {
        enable_raw_mode()?;
        let _raw = Raw;
        typed(|| next_event().map_err(Into::into))
    };
    writeln!(out)?;
    typed
}

/// The typed line. The terminal is raw, so this function handles interrupts and there is no echo.
fn typed(mut next: impl FnMut() -> anyhow::Result<Event>) -> anyhow::Result<String> {
    let mut text = String::new();
    loop {
        let Event::Key(KeyEvent { code, modifiers, kind, .. }) = next()? else { continue };
        if kind == KeyEventKind::Release {
            continue;
        }
        let control = modifiers.contains(KeyModifiers::CONTROL);
        match code {
            KeyCode::Char('c' | 'd') if control => return Err(usage("stopped: nothing was changed")),
            KeyCode::Char('u') if control => text.clear(),
            KeyCode::Enter => return Ok(text),
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char(letter) if !control => text.push(letter),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(codes: &[(KeyCode, KeyModifiers)]) -> anyhow::Result<String> {
        let mut events = codes.iter().map(|(code, modifiers)| Event::Key(KeyEvent::new(*code, *modifiers)));
        typed(|| events.next().context("no more keys"))
    }

    #[test]
    fn a_line_of_standard_input_is_the_secret_without_its_end() {
        for (input, secret) in
            [("correct horse\n", "correct horse"), ("a\r\nb\n", "a"), (" a ", " a "), ("a\r", "a\r")]
        {
            assert_eq!(line(input.as_bytes()).unwrap(), secret);
        }
        for nothing in ["", "\n", "\r\n"] {
            assert!(line(nothing.as_bytes()).unwrap_err().to_string().contains("no password"), "{nothing:?}");
        }
        assert_eq!(line("x".repeat(10_000).as_bytes()).unwrap().len(), 4096);
        assert!(line(&b"\xff\n"[..]).is_err());
    }

    #[test]
    fn keys_are_taken_until_enter_and_an_interrupt_gives_nothing() {
        let plain = |letter| (KeyCode::Char(letter), KeyModifiers::NONE);
        let control = |letter| (KeyCode::Char(letter), KeyModifiers::CONTROL);
        let enter = (KeyCode::Enter, KeyModifiers::NONE);
        let back = (KeyCode::Backspace, KeyModifiers::NONE);
        assert_eq!(keys(&[plain('a'), plain('x'), back, plain('ß'), enter]).unwrap(), "aß");
        assert_eq!(keys(&[plain('a'), control('u'), plain('b'), control('x'), enter]).unwrap(), "b");
        assert!(
            keys(&[plain('a'), control('c'), enter]).unwrap_err().to_string().contains("nothing was changed")
        );
    }
}
