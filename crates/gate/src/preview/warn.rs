//! Warnings about everything that was written.

use std::ops::ControlFlow;

use placet_core::{Leaf, Request, Segment, Warning, WarningCode, pointer, visible};
use serde_json::Value;

use super::{
    script::{mixed, overlay, twins},
    text::clip,
};

/// A value longer than this, in characters, does not fit a screen.
const LONG: usize = 2_000;
/// Nobody reads more values than this.
const MANY: usize = 100;
/// Values that are nested deeper than this are hard to place.
const DEEP: usize = 8;
/// Numbers from this size on are hard to read.
const HUGE: f64 = 1e15;
/// The number of places that are named per kind of warning.
const NAMED: usize = 20;

struct WarningScan {
    warnings: Vec<Warning>,
    /// How many there were of each kind.
    counts: [usize; 6],
    values: usize,
    /// Words that look like Latin ones, with their place and the Latin word.
    alike: Vec<(String, String, String)>,
    /// The text that may still be read, in bytes.
    budget: usize,
}

impl WarningScan {
    fn warn(&mut self, code: WarningCode, way: &[Segment<'_>], text: impl FnOnce() -> String) {
        let slot = match code {
            WarningCode::HiddenCharacters => 0,
            WarningCode::MixedScript => 1,
            WarningCode::Long => 2,
            WarningCode::Deep => 3,
            WarningCode::Overlay => 5,
            _ => 4,
        };
        let Some(count) = self.counts.get_mut(slot) else { return };
        *count += 1;
        if *count <= NAMED {
            self.warnings.push(Warning { code, pointer: pointer(way), text: text() });
        } else if *count == NAMED + 1 {
            let text = format!("There are more than {NAMED} places like this.");
            self.warnings.push(Warning { code, pointer: String::new(), text });
        }
    }

    fn text(&mut self, way: &[Segment<'_>], text: &str) {
        if let Some(first) = hidden(text) {
            self.warn(WarningCode::HiddenCharacters, way, || {
                let drawn = clip(first.encode_utf8(&mut [0; 4]), 12);
                format!("There are characters that do not show, or move others: {drawn} is the first.")
            });
        }
        if let Some(word) = mixed(text) {
            self.warn(WarningCode::MixedScript, way, || {
                format!("The word {} mixes letters of several scripts that look alike.", clip(word, 60))
            });
        }
        if let Some(first) = overlay(text) {
            self.warn(WarningCode::Overlay, way, || {
                format!("A character is drawn over another one: U+{:04X} is the first.", u32::from(first))
            });
        }
        for (word, latin) in twins(text).take(NAMED.saturating_sub(self.alike.len())) {
            self.alike.push((pointer(way), word.to_owned(), latin));
        }
        if text.len() > LONG && text.chars().nth(LONG).is_some() {
            self.warn(WarningCode::Long, way, || {
                format!("The value has {} characters: read it to its end.", text.chars().count())
            });
        }
    }

    fn take(&mut self, way: &[Segment<'_>], leaf: Leaf<'_>) {
        match leaf {
            Leaf::Key(key) => {
                // Names of arguments are Latin. A name that only looks Latin is suspicious.
                if let Some((word, latin)) = twins(key).next().filter(|(word, _)| *word == key) {
                    let (word, latin) = (word.to_owned(), latin);
                    self.warn(WarningCode::MixedScript, way, || {
                        format!("The name {} looks like {latin} and is another one.", clip(&word, 60))
                    });
                    return;
                }
                return self.text(way, key);
            }
            Leaf::Text(text) | Leaf::String(text) => self.text(way, text),
            Leaf::Literal(Value::Number(number)) => {
                let written = number.to_string();
                let huge = number.as_f64().is_none_or(|number| number.abs() >= HUGE);
                if huge || written.contains(['e', 'E']) {
                    self.warn(WarningCode::HugeNumber, way, || {
                        format!("The number {written} is hard to read.")
                    });
                }
            }
            Leaf::Literal(_) | Leaf::Empty => {}
        }
        self.values += 1;
        // The first segments are fields of the record and the argument itself.
        if way.len() > DEEP + 2 {
            self.warn(WarningCode::Deep, way, || {
                format!("The value is inside {} others.", way.len().saturating_sub(2))
            });
        }
    }
}

/// The first character that is invisible or moves others. Line ends and tabs are fine.
fn hidden(text: &str) -> Option<char> {
    let plain = |byte: u8| matches!(byte, 0x20..=0x7e | b'\n' | b'\t');
    if text.bytes().all(plain) {
        return None;
    }
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let harmless = match letter {
            '\n' | '\t' => true,
            // A carriage return before a line feed is a line end. Alone it moves to the beginning of the line.
            '\r' => letters.peek() == Some(&'\n'),
            letter => visible(letter),
        };
        if !harmless {
            return Some(letter);
        }
    }
    None
}

/// Warns of words that look like a Latin word elsewhere in the request.
fn beside(request: &Request, look: &mut WarningScan) {
    if look.alike.is_empty() {
        return;
    }
    let alike = std::mem::take(&mut look.alike);
    let mut found = vec![false; alike.len()];
    request.visit(&mut |_, leaf| {
        let (Leaf::Key(text) | Leaf::Text(text) | Leaf::String(text)) = leaf else {
            return ControlFlow::Continue(());
        };
        for word in text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| word.len() >= 2)
        {
            for ((_, _, latin), found) in alike.iter().zip(&mut found) {
                *found |= word.eq_ignore_ascii_case(latin);
            }
        }
        if found.iter().all(|found| *found) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let named = alike.into_iter().zip(found).filter(|(_, found)| *found);
    look.warnings.extend(named.map(|((pointer, word, latin), _)| Warning {
        code: WarningCode::MixedScript,
        pointer,
        text: format!(
            "The word {} looks like {latin}, which is there as well, and is another one.",
            clip(&word, 60)
        ),
    }));
}

/// Reads everything that was written, up to a number of bytes.
pub(super) fn look(request: &Request, budget: usize) -> Vec<Warning> {
    let whole = |code, text: String| Warning { code, pointer: String::new(), text };
    let mut look = WarningScan { warnings: Vec::new(), counts: [0; 6], alike: Vec::new(), values: 0, budget };
    if request.content.is_none() {
        let text = "What was asked has been erased; only its digest is left.".to_owned();
        return vec![whole(WarningCode::Erased, text)];
    }
    request.visit(&mut |way, leaf| {
        let length = match leaf {
            Leaf::Key(text) | Leaf::Text(text) | Leaf::String(text) => text.len(),
            _ => 1,
        };
        let Some(rest) = look.budget.checked_sub(length) else {
            let text = "There is more text than a list looks at: open it.".to_owned();
            look.warnings.push(whole(WarningCode::Long, text));
            return ControlFlow::Break(());
        };
        look.budget = rest;
        look.take(way, leaf);
        ControlFlow::Continue(())
    });
    beside(request, &mut look);
    if look.values > MANY {
        let text = format!("There are {} values: look through all of them.", look.values);
        look.warnings.push(whole(WarningCode::Many, text));
    }
    look.warnings
}
