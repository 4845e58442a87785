//! The loose view: every command the text could run, also by way of wrappers, shells and substitutions.

use std::collections::BTreeSet;

use super::lexer::Strict;
use super::loose::{Budget, Raw, Token, TooMuch, scan, scan_blind};
use super::{Mode, Redirect, Simple, programs, search};

/// Longest text that is searched; beyond it everything counts as mentioned.
const MAX_SEARCHED: usize = 16 * 1024;
/// Most characters that are looked at, all scans taken together.
const MAX_SCANNED: usize = 48 * 1024;
/// Most commands and words that are kept.
const MAX_FOUND: usize = 512;
const MAX_WORDS: usize = 2_048;
/// How many words are looked at for a flag that runs something. A command with more counts as having one.
const MAX_FLAGS_SEEN: usize = 256;
/// How deep scripts inside arguments are followed.
const MAX_LEVEL: usize = 6;

/// Words after which a command may begin.
const KEYWORDS: [&str; 22] = [
    "if", "then", "else", "elif", "do", "while", "until", "!", "time", "coproc", "function", "in", "select",
    "{", "}", "fi", "done", "esac", "not", "and", "or", "begin",
];

/// Everything found in one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundCommands {
    pub(super) commands: Vec<Command>,
    /// The text was too much to search: it may hold anything.
    pub(super) overflow: bool,
}

/// A run of words, and where in it a command may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) raw: Raw,
    /// Every position at which a command may begin, with the plain name of its program.
    pub(super) names: Vec<(usize, String)>,
    /// From here on, words may be added that are not in the text.
    pub(super) open_after: Option<usize>,
    /// Found by reading the text itself as the shell would; the others are guesses.
    primary: bool,
}

struct Search {
    found: FoundCommands,
    scripts: Vec<(String, usize)>,
    budget: Budget,
}

/// What a clean reading reaches: its own commands and what their arguments would run.
pub(super) fn literal(strict: &Strict) -> FoundCommands {
    let mut search = Search::new(MAX_SEARCHED);
    let result = search.literal(strict).and_then(|()| search.follow());
    search.finish(result)
}

/// What could be found in any text at all.
pub(super) fn anything(text: &str) -> FoundCommands {
    let mut search = Search::new(text.len());
    if text.len() > MAX_SEARCHED {
        return search.finish(Err(TooMuch));
    }
    search.scripts.push((text.to_owned(), 0));
    let result = search.follow();
    search.finish(result)
}

/// Whether what the first of these reads is only text to it, and to all that its output is piped to.
fn is_data(commands: &[Simple]) -> bool {
    let piped = commands.iter().skip(1).take_while(|command| command.operator == Some(super::Operator::Pipe));
    let mut pipeline = commands.iter().take(1).chain(piped);
    pipeline.all(|command| {
        let name = command.argv.first().map(|program| programs::base_name(program));
        name.is_some_and(|name| programs::takes_text(&name))
    })
}

impl Command {
    /// Its words, the files it is redirected to, and what it assigns, and whether it reads what a pattern among them stands for.
    /// `certain`: the line is read as the shell would, so that it is known which word is which.
    pub(super) fn texts(&self, certain: bool) -> impl Iterator<Item = (&str, bool)> {
        let words = || self.raw.words.iter().map(|token| token.text.as_str());
        let patterns = if certain && self.primary { search::patterns_at(words()) } else { Vec::new() };
        let reads = certain && self.names.iter().any(|(_, name)| search::reads_below(name, words().nth(1)));
        let kept = words().enumerate().filter(move |(at, _)| !patterns.contains(at));
        // A message to a commit is no pattern for files.
        let prose = |word: &str| word.len() > 200 && word.contains(char::is_whitespace);
        let kept = kept.map(move |(_, word)| (word, reads && !word.starts_with('-') && !prose(word)));
        let targets = self.raw.redirects.iter().map(|(_, target)| target);
        kept.chain(targets.chain(&self.raw.assigned).map(|token| (token.text.as_str(), false)))
    }
}

impl Search {
    fn new(length: usize) -> Self {
        // Each script is scanned twice and variables may grow the text: a fixed multiple keeps the work linear.
        let chars = length.saturating_mul(16).saturating_add(4_096).min(MAX_SCANNED);
        Self {
            found: FoundCommands { commands: Vec::new(), overflow: false },
            scripts: Vec::new(),
            budget: Budget { chars, words: MAX_WORDS, statement: 0, pipes: 0 },
        }
    }

    fn finish(mut self, result: Result<(), TooMuch>) -> FoundCommands {
        self.found.overflow = result.is_err();
        self.found
    }

    fn literal(&mut self, strict: &Strict) -> Result<(), TooMuch> {
        for (index, command) in strict.commands.iter().enumerate() {
            let documents = command.redirects.iter().filter(|redirect| redirect.mode == Mode::Document);
            if !is_data(strict.commands.get(index..).unwrap_or_default()) {
                self.scripts.extend(documents.map(|document| (document.target.clone(), 1)));
            }
            match command.operator {
                Some(super::Operator::Pipe) => self.budget.pipes = self.budget.pipes.saturating_add(1),
                _ => self.budget.statement = self.budget.statement.saturating_add(1),
            }
            let token = |text: &String| Token { text: text.clone(), ..Token::default() };
            let raw = Raw {
                operator: command.operator,
                words: command.argv.iter().map(token).collect(),
                restarts: Vec::new(),
                redirects: command
                    .redirects
                    .iter()
                    .filter(|redirect| redirect.mode != Mode::Document)
                    .map(|redirect| (redirect.mode, token(&redirect.target)))
                    .collect(),
                assigned: Vec::new(),
                statement: self.budget.statement,
                pipes: self.budget.pipes,
                depth: 0,
            };
            self.add(raw, 0, true)?;
        }
        for comment in &strict.comments {
            self.blind(comment, 0)?;
        }
        Ok(())
    }

    fn follow(&mut self) -> Result<(), TooMuch> {
        while let Some((script, level)) = self.scripts.pop() {
            if level > MAX_LEVEL {
                return Err(TooMuch);
            }
            let (commands, comments) = scan(&script, &mut self.budget)?;
            for raw in commands {
                self.add(raw, level, level == 0)?;
            }
            for comment in comments {
                self.blind(&comment, level)?;
            }
            self.blind(&script, level)?;
        }
        Ok(())
    }

    fn blind(&mut self, script: &str, level: usize) -> Result<(), TooMuch> {
        for raw in scan_blind(script, &mut self.budget)? {
            self.add(raw, level, false)?;
        }
        Ok(())
    }

    fn add(&mut self, raw: Raw, level: usize, primary: bool) -> Result<(), TooMuch> {
        if self.found.commands.len() >= MAX_FOUND {
            return Err(TooMuch);
        }
        for value in &raw.assigned {
            self.script(&value.text, level);
        }
        let mut starts: BTreeSet<usize> = raw.restarts.iter().copied().chain([0]).collect();
        let mut names = Vec::new();
        let mut runs_arguments = false;
        let mut open_after = None;
        for (index, word) in raw.words.iter().enumerate() {
            if !runs_arguments && !starts.contains(&index) {
                continue;
            }
            let name = programs::base_name(&word.text);
            // A keyword counts only where a command may begin, and what follows it may begin one.
            if !runs_arguments && KEYWORDS.contains(&name.as_ref()) {
                starts.insert(index.saturating_add(1));
            }
            if open_after.is_none() && programs::adds_arguments(&name) {
                open_after = Some(index);
            }
            let rest = raw.words.iter().skip(index).take(MAX_FLAGS_SEEN).map(|word| word.text.as_str());
            runs_arguments = runs_arguments
                || word.dynamic
                || name.is_empty()
                || raw.words.len() > MAX_FLAGS_SEEN
                || programs::may_run_arguments(&name, rest);
            names.push((index, name.into_owned()));
        }
        if runs_arguments {
            for word in raw.words.iter().skip(1) {
                self.script(&word.text, level);
            }
            self.joined(&raw, level);
        }
        self.found.commands.push(Command { raw, names, open_after, primary });
        Ok(())
    }

    /// An argument that could be a script, whole and without the flag it hangs on.
    fn script(&mut self, text: &str, level: usize) {
        const MEANING: [char; 14] =
            [' ', '\t', '\n', ';', '&', '|', '(', '`', '$', '\'', '"', '\\', '{', '<'];
        let next = level.saturating_add(1);
        if text.contains(MEANING) {
            self.scripts.push((text.to_owned(), next));
        }
        let name = text.split(MEANING).next().unwrap_or(text);
        for (equals, _) in name.match_indices('=').take(3) {
            self.scripts.extend(text.get(equals.saturating_add(1)..).map(|value| (value.to_owned(), next)));
        }
        if let Some(attached) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
            let mut rest = attached.chars();
            rest.next();
            if rest.as_str().contains(MEANING) {
                self.scripts.push((rest.as_str().to_owned(), next));
            }
        }
    }

    /// `eval`, `ssh` and `watch` put their arguments together before they read them.
    fn joined(&mut self, raw: &Raw, level: usize) {
        let joins = |word: &Token| {
            matches!(programs::base_name(&word.text).as_ref(), "eval" | "ssh" | "watch" | "su")
        };
        let after = raw.words.iter().skip_while(|word| !joins(word)).skip(1);
        if after.clone().any(|word| word.text.contains(['\\', '\'', '"', '$', '`'])) {
            // Where in it the command begins is not known; after `exec` it may be anywhere.
            let words = after.map(|word| word.text.as_str());
            let text = ["exec"].into_iter().chain(words).collect::<Vec<_>>().join(" ");
            self.scripts.push((text, level.saturating_add(1)));
        }
    }
}

impl FoundCommands {
    /// The commands of the text itself, for display.
    pub(super) fn parts(&self, most: usize) -> Vec<Simple> {
        self.primary()
            .take(most)
            .map(|command| Simple {
                operator: command.raw.operator,
                argv: command.raw.words.iter().map(|word| word.text.clone()).collect(),
                redirects: command
                    .raw
                    .redirects
                    .iter()
                    .map(|(mode, target): &(Mode, Token)| Redirect {
                        fd: None,
                        mode: *mode,
                        target: target.text.clone(),
                    })
                    .collect(),
            })
            .collect()
    }

    /// The same, with what is only known when it runs marked as such.
    pub(super) fn outline(&self, most: usize) -> Vec<Simple> {
        let word = |token: &Token| {
            let unknown = token.dynamic || token.open;
            if unknown { format!("{}…", token.text) } else { token.text.clone() }
        };
        let redirect =
            |(mode, target): &(Mode, Token)| Redirect { fd: None, mode: *mode, target: word(target) };
        self.primary()
            .take(most)
            .map(|command| Simple {
                operator: command.raw.operator,
                argv: command.raw.words.iter().map(word).collect(),
                redirects: command.raw.redirects.iter().map(redirect).collect(),
            })
            .collect()
    }

    pub(super) fn more_than(&self, most: usize) -> bool {
        self.overflow || self.primary().nth(most).is_some()
    }

    fn primary(&self) -> impl Iterator<Item = &Command> {
        self.commands.iter().filter(|command| command.primary)
    }
}
