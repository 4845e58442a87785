//! One line on standard error with the progress of something long, on terminals only.

use std::io::Write as _;

use tokio::time::{Duration, Instant};

/// The time between two drawings: often enough to see progress.
const OFTEN: Duration = Duration::from_millis(100);
const BAR: u64 = 30;

/// The line.
#[derive(Debug)]
pub(crate) struct Progress {
    terminal: bool,
    drawn: Option<Instant>,
}

impl Progress {
    /// Draws only on a terminal.
    pub(crate) fn new(terminal: bool) -> Self {
        Self { terminal, drawn: None }
    }

    /// So much of so much.
    pub(crate) fn at(&mut self, done: u64, of: u64, note: &str) {
        if self.drawn.is_none_or(|drawn| drawn.elapsed() >= OFTEN) {
            self.draw(&format!("{} {note}", bar(done, of)));
        }
    }

    /// Progress without a percentage.
    pub(crate) fn say(&mut self, text: &str) {
        self.draw(text);
    }

    /// Takes the line away.
    pub(crate) fn end(&mut self) {
        if self.drawn.take().is_some() {
            self.write("\r\u{1b}[K");
        }
    }

    fn draw(&mut self, text: &str) {
        if self.terminal {
            self.drawn = Some(Instant::now());
            self.write(&format!("\r\u{1b}[K{text}"));
        }
    }

    fn write(&self, text: &str) {
        if self.terminal {
            let mut out = anstream::stderr().lock();
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        }
    }
}

fn bar(done: u64, of: u64) -> String {
    let (done, of) = (done.min(of), of.max(1));
    let full = usize::try_from(done * BAR / of).unwrap_or(0);
    let left = usize::try_from(BAR).unwrap_or(0).saturating_sub(full);
    format!("[{}{}] {:3}%", "#".repeat(full), ".".repeat(left), done * 100 / of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_empty_at_first_and_full_at_the_end() {
        assert_eq!(bar(0, 0), format!("[{}]   0%", ".".repeat(30)));
        assert_eq!(bar(5, 10), format!("[{}{}]  50%", "#".repeat(15), ".".repeat(15)));
        assert_eq!(bar(12, 10), format!("[{}] 100%", "#".repeat(30)));
    }
}
