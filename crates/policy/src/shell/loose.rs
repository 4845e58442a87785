//! What could be a command anywhere in a text, without believing that the text is well formed: two tolerant scans.

mod scanner;

use super::{Mode, Operator};

pub(super) use scanner::scan;

/// A word as far as it can be known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Token {
    pub(super) text: String,
    /// Part of it is only known when it runs.
    pub(super) dynamic: bool,
    /// It begins with something unknown and unquoted, so it may be any number of words.
    pub(super) open: bool,
    /// It has an unquoted pattern for file names.
    pub(super) glob: bool,
}

/// A run of words that could be a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Raw {
    pub(super) operator: Option<Operator>,
    pub(super) words: Vec<Token>,
    /// Positions at which another command may begin.
    pub(super) restarts: Vec<usize>,
    pub(super) redirects: Vec<(Mode, Token)>,
    /// Values of assignments before it.
    pub(super) assigned: Vec<Token>,
    /// Same number, same statement at the top of the text.
    pub(super) statement: usize,
    /// How many pipes came before.
    pub(super) pipes: usize,
    /// How many openers it stands inside.
    pub(super) depth: usize,
}

/// Budgets shared by all scans of one text: when one is used up, the text counts as too much to search.
#[derive(Debug)]
pub(super) struct Budget {
    pub(super) chars: usize,
    pub(super) words: usize,
    pub(super) statement: usize,
    pub(super) pipes: usize,
}

impl Budget {
    fn take(&mut self, chars: usize) -> bool {
        match self.chars.checked_sub(chars) {
            Some(rest) => {
                self.chars = rest;
                true
            }
            None => false,
        }
    }
}

/// The budget did not suffice.
#[derive(Debug)]
pub(super) struct TooMuch;

/// Scans as if quotes meant nothing: at each a command may begin. For text in which quotes cannot be trusted to pair up.
pub(super) fn scan_blind(text: &str, budget: &mut Budget) -> Result<Vec<Raw>, TooMuch> {
    if !budget.take(text.len()) {
        return Err(TooMuch);
    }
    budget.statement = budget.statement.saturating_add(1);
    let mut out = Vec::new();
    let mut raw = Raw::new(0, budget);
    let mut word = String::new();
    let mut previous = ' ';
    for c in text.chars().chain(['\n']) {
        let ends_command =
            matches!(c, '\n' | ';' | '&' | '|' | '(' | ')' | '{' | '}' | '[' | ']' | '`' | '!' | '<' | '>');
        let quote = matches!(c, '\'' | '"');
        // A quote inside a word belongs to it; any other may open a script.
        let opens = quote && !previous.is_alphanumeric() && !matches!(previous, '\'' | '"' | '-' | '\\');
        let ends_word = ends_command || opens || c.is_whitespace() || c.is_control() || c == ',';
        if ends_word {
            if !word.is_empty() {
                budget.words = budget.words.checked_sub(1).ok_or(TooMuch)?;
                raw.words.push(Token { text: std::mem::take(&mut word), ..Token::default() });
            }
        } else if !quote && !matches!(c, '\\' | '$') {
            word.push(c);
        }
        if opens || (c.is_control() && c != '\t') {
            raw.restarts.push(raw.words.len());
        }
        if ends_command {
            if c == '|' {
                budget.pipes = budget.pipes.saturating_add(1);
            }
            if matches!(c, '\n' | ';') && !raw.words.is_empty() {
                budget.statement = budget.statement.saturating_add(1);
            }
            let next = Raw::new(0, budget);
            let done = std::mem::replace(&mut raw, next);
            if !done.words.is_empty() {
                out.push(done);
            }
        }
        previous = c;
    }
    Ok(out)
}

impl Raw {
    fn new(depth: usize, budget: &Budget) -> Self {
        Self {
            operator: None,
            words: Vec::new(),
            restarts: Vec::new(),
            redirects: Vec::new(),
            assigned: Vec::new(),
            statement: budget.statement,
            pipes: budget.pipes,
            depth,
        }
    }

    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.redirects.is_empty() && self.assigned.is_empty()
    }
}

#[cfg(test)]
mod tests;
