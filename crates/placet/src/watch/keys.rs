//! What each key does: moves, asks, or sends a decision on exactly the record on the screen.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use placet_client::Decide;
use placet_core::{DecisionWord, Kind, Record, RequestId, State, Time, counted};

use super::model::{App, Mode, approvable, approving_word, is_whole};
use crate::{
    output::{self, Tone, safe},
    verbs::answer,
};

/// An action outside of the screen.
#[derive(Debug)]
pub(super) enum Action {
    /// Nothing.
    Stay,
    /// Leave.
    Quit,
    /// Send this decision.
    Send(RequestId, Box<Decide>),
    /// Open the editor on this record's arguments.
    Edit(Box<Record>),
}

impl App {
    /// One key.
    pub(super) fn press(&mut self, key: KeyEvent, now: Time) -> Action {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Action::Quit;
        }
        match std::mem::take(&mut self.mode) {
            Mode::Browse => self.browse(key, now),
            Mode::Help => Action::Stay,
            prompt => self.typing(prompt, key, now),
        }
    }

    fn browse(&mut self, key: KeyEvent, now: Time) -> Action {
        let place = self.place().unwrap_or(0);
        let last = self.rows.len().saturating_sub(1);
        match key.code {
            KeyCode::Esc if self.wide => self.wide = false,
            KeyCode::Char('q') | KeyCode::Esc => return Action::Quit,
            KeyCode::Char('j') | KeyCode::Down => self.select((place + 1).min(last)),
            KeyCode::Char('k') | KeyCode::Up => self.select(place.saturating_sub(1)),
            KeyCode::Char('g') | KeyCode::Home => self.select(0),
            KeyCode::Char('G') | KeyCode::End => self.select(last),
            KeyCode::Char('J') => self.scroll = self.scroll.saturating_add(self.step(5)),
            KeyCode::Char('K') => self.scroll = self.scroll.saturating_sub(self.step(5)),
            KeyCode::Char(' ') | KeyCode::PageDown => {
                self.scroll = self.scroll.saturating_add(self.step(usize::MAX));
            }
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(self.step(usize::MAX)),
            KeyCode::Char('o') | KeyCode::Enter => self.wide = !self.wide,
            KeyCode::Char('?') => self.mode = Mode::Help,
            KeyCode::Char(letter @ ('a' | 'd' | 'e' | 'r')) => return self.begin(letter, now),
            _ => {}
        }
        Action::Stay
    }

    /// How far one key scrolls: never over a line that was not on the screen.
    fn step(&self, most: usize) -> usize {
        self.page.min(most).max(1)
    }

    /// Why the selected request cannot be approved here yet: not all of it was shown.
    fn unread(&self, shown: &Record) -> Option<String> {
        if !is_whole(shown) {
            return Some("it is still being read: try again in a moment".to_owned());
        }
        if let Some(why) = output::card::refused(shown) {
            return Some(format!("{why}: look at {}", safe(&shown.url)));
        }
        let lines = |left: usize| counted(u64::try_from(left).unwrap_or(u64::MAX), "line is", "lines are");
        match self.read.left_of(shown) {
            Some(0) => None,
            Some(left) => Some(format!("{} not shown yet: press space", lines(left))),
            None => Some("it was not shown yet".to_owned()),
        }
    }

    /// Begins a decision on the selected request, as the screen shows it now.
    fn begin(&mut self, letter: char, now: Time) -> Action {
        let Some(row) = self.current() else { return Action::Stay };
        let shown = Box::new(row.record.clone());
        if shown.state != State::Pending {
            self.say("this one is already decided", Tone::Warn, now);
            return Action::Stay;
        }
        let typed = String::new();
        match (letter, shown.kind) {
            ('d', _) => self.mode = Mode::Deny { shown, typed },
            ('a', Kind::Input) if !approvable(&shown) => {
                self.say("a question: press r to answer it", Tone::Warn, now);
            }
            ('a' | 'e', _) if shown.needs.step_up.is_some() => {
                let said = format!("this needs a step-up, which only a browser gives: open {}", shown.url);
                self.say(&said, Tone::Warn, now);
            }
            ('e', Kind::Action) if !shown.allowed.contains(&DecisionWord::Edit) => {
                self.say("the agent does not offer edits here", Tone::Warn, now);
            }
            ('e', kind) if kind != Kind::Action => {
                self.say("only an action has arguments to edit", Tone::Warn, now);
            }
            ('r', kind) if kind != Kind::Input => {
                self.say("not a question: press a, d or e", Tone::Warn, now);
            }
            _ => {
                if let Some(why) = self.unread(&shown) {
                    // A read that failed is tried again.
                    self.fetched = self.fetched.filter(|_| is_whole(&shown));
                    self.say(why, Tone::Warn, now);
                    return Action::Stay;
                }
                match letter {
                    'e' => return Action::Edit(shown),
                    'r' => self.mode = Mode::Answer { shown, typed },
                    _ => self.mode = Mode::Approve { word: approving_word(&shown), shown, typed },
                }
            }
        }
        Action::Stay
    }

    /// A key while something is being typed.
    fn typing(&mut self, mut prompt: Mode, key: KeyEvent, now: Time) -> Action {
        let one_key = single(&prompt);
        let typed = match &mut prompt {
            Mode::Approve { typed, .. }
            | Mode::Change { typed, .. }
            | Mode::Deny { typed, .. }
            | Mode::Answer { typed, .. } => typed,
            Mode::Browse | Mode::Help => return Action::Stay,
        };
        match key.code {
            KeyCode::Esc => {
                self.say("nothing was sent", Tone::Dim, now);
                return Action::Stay;
            }
            KeyCode::Backspace => {
                typed.pop();
            }
            // A single y is enough if nothing has to be typed out.
            KeyCode::Char(letter) if one_key => {
                if letter == 'y' {
                    return self.finish(prompt, now);
                }
                self.say("nothing was sent", Tone::Dim, now);
                return Action::Stay;
            }
            KeyCode::Char(letter) if typed.len() < 4_000 => typed.push(letter),
            KeyCode::Enter => return self.finish(prompt, now),
            _ => {}
        }
        self.mode = prompt;
        Action::Stay
    }

    /// The input is complete.
    fn finish(&mut self, prompt: Mode, now: Time) -> Action {
        match prompt {
            Mode::Approve { shown, word: None, .. } => {
                Action::Send(shown.id, Box::new(Decide::approve(&shown).as_shown(&shown)))
            }
            Mode::Approve { shown, word: Some(word), typed } if typed == word => {
                Action::Send(shown.id, Box::new(Decide::approve(&shown).as_shown(&shown)))
            }
            Mode::Change { shown, decide, .. } => Action::Send(shown.id, decide),
            Mode::Deny { shown, typed } => {
                Action::Send(shown.id, Box::new(Decide::deny(&shown, typed).as_shown(&shown)))
            }
            Mode::Answer { shown, typed } => match answer::parse(&shown, std::slice::from_ref(&typed)) {
                Ok(value) => {
                    let decide = Decide::respond(&shown, value).as_shown(&shown);
                    Action::Send(shown.id, Box::new(decide))
                }
                Err(error) => {
                    self.say(safe(&error.to_string()), Tone::Bad, now);
                    self.mode = Mode::Answer { shown, typed };
                    Action::Stay
                }
            },
            Mode::Approve { .. } | Mode::Browse | Mode::Help => {
                self.say("that is not the required word: nothing was sent", Tone::Bad, now);
                Action::Stay
            }
        }
    }
}

/// Whether one key answers this prompt.
fn single(prompt: &Mode) -> bool {
    matches!(prompt, Mode::Approve { word: None, .. } | Mode::Change { .. })
}

#[cfg(test)]
mod tests;
