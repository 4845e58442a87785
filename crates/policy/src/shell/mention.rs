//! What a hold or deny rule looks for: programs, flags, arguments and paths, in any order and at any depth.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::allow::OneOrMany;
use super::loose::Token;
use super::paths::{Glob, glob_matches};
use super::programs::lower;
use super::reach::{Command, FoundCommands};

/// Comparisons one question may cost. A text that needs more counts as mentioning everything.
const MAX_STEPS: usize = 100_000;

/// The patterns of one rule, arranged so that a name is looked up and not searched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Mentions {
    patterns: Vec<Mention>,
    by_name: HashMap<String, Vec<usize>>,
    /// Patterns whose program is a glob.
    by_glob: Vec<(Glob, usize)>,
    /// Patterns without a program.
    nameless: Vec<usize>,
}

/// One pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mention {
    /// Each entry is a list of spellings, one of which must be there.
    flags: Vec<Vec<String>>,
    /// The word right after the program.
    subcommand: Option<String>,
    args: Vec<Glob>,
    feeds: Vec<Glob>,
    words: Words,
}

/// Paths by their segments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Words {
    single: HashSet<String>,
    others: Vec<Vec<Glob>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMention {
    program: Option<OneOrMany>,
    subcommand: Option<String>,
    #[serde(default)]
    flags: Vec<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    feeds: Vec<String>,
    #[serde(default)]
    words: Vec<String>,
}

impl Mentions {
    pub(super) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Adds one pattern, or says what is wrong with it.
    pub(super) fn add(&mut self, raw: RawMention) -> Result<(), String> {
        let programs = raw.program.map(OneOrMany::into_list).unwrap_or_default();
        if programs.is_empty() && raw.words.is_empty() {
            return Err("name a `program`, or paths and words in `words`".to_owned());
        }
        let alone = raw.flags.is_empty() && raw.args.is_empty() && raw.feeds.is_empty();
        if programs.is_empty() && !(alone && raw.subcommand.is_none()) {
            return Err(
                "`subcommand`, `flags`, `args` and `feeds` say more about a `program`; name it".to_owned()
            );
        }
        if let Some(bad) = raw.subcommand.as_ref().filter(|word| {
            word.is_empty()
                || word.starts_with('-')
                || word.contains(|c: char| c == '*' || c == '?' || c.is_whitespace())
        }) {
            return Err(format!("`subcommand` has `{bad}`; it takes one plain word"));
        }
        for program in programs.iter().chain(&raw.feeds) {
            if program.is_empty() || program.contains(|c: char| c == '/' || c.is_whitespace()) {
                return Err(format!(
                    "`{program}` is not the name of a program; write it without path and arguments (it matches at every path)"
                ));
            }
        }
        if let Some(bad) = raw.args.iter().chain(&raw.words).find(|word| word.is_empty() || word.len() > 256)
        {
            return Err(format!("`{bad}` is empty or over 256 bytes"));
        }
        let index = self.patterns.len();
        self.patterns.push(Mention {
            flags: raw.flags.iter().map(|entry| spellings(entry)).collect::<Result<_, _>>()?,
            subcommand: raw.subcommand,
            args: raw.args.iter().map(|arg| Glob::new(arg)).collect(),
            feeds: raw.feeds.iter().map(|name| Glob::new(&lower(name))).collect(),
            words: Words::new(&raw.words)?,
        });
        if programs.is_empty() {
            self.nameless.push(index);
        }
        for program in programs {
            let program = program.to_ascii_lowercase();
            if program.contains(['*', '?']) {
                self.by_glob.push((Glob::new(&program), index));
            } else {
                self.by_name.entry(program).or_default().push(index);
            }
        }
        Ok(())
    }

    /// Whether a text could mention one of the patterns: rather too often than too seldom.
    pub(super) fn could_be_in(&self, text: &str) -> bool {
        const BECOMES: [char; 7] = ['$', '`', '*', '?', '[', '{', '~'];
        if !self.nameless.is_empty() || text.contains(BECOMES) {
            return !self.is_empty();
        }
        // Quotes and what joins lines go away wherever they stand.
        let plain = lower(text).replace("\\\n", "").replace(['\'', '"', '\\', '^'], "");
        let begins = |at: usize| {
            let before = plain.get(..at).and_then(|before| before.chars().next_back());
            before.is_none_or(|letter| !letter.is_ascii_alphanumeric())
        };
        let named = |name: &str| plain.match_indices(name).any(|(at, _)| begins(at));
        self.by_name.keys().any(|name| named(name))
            || self.by_glob.iter().any(|(glob, _)| glob.start().is_empty() || named(glob.start()))
    }

    /// Whether one of the patterns is mentioned.
    pub(super) fn any(&self, found: &FoundCommands) -> bool {
        let mut question = Question { found, steps: MAX_STEPS, sinks: HashMap::new() };
        found.overflow
            || found.commands.iter().any(|command| self.one(command, &mut question).unwrap_or(true))
    }

    fn one<'a>(&'a self, command: &'a Command, question: &mut Question<'a>) -> Result<bool, TooMany> {
        for index in &self.nameless {
            if let Some(pattern) = self.patterns.get(*index)
                && pattern.words.mentioned(command, question)?
            {
                return Ok(true);
            }
        }
        // What a command feeds is the same wherever in it the program's name stands.
        let mut globs = Vec::with_capacity(self.by_glob.len());
        for (glob, index) in &self.by_glob {
            if let Some(pattern) = self.patterns.get(*index)
                && (pattern.feeds.is_empty() || pattern.feeds_one(*index, command, question)?)
            {
                globs.push((glob, *index));
            }
        }
        for (start, name) in &command.names {
            let Some((first, rest)) = command.raw.words.get(*start..).and_then(<[Token]>::split_first) else {
                continue;
            };
            question.spend(globs.len().saturating_add(1))?;
            let listed = self.by_name.get(name).into_iter().flatten().copied();
            let globbed = globs.iter().filter(|(glob, _)| glob.matches(name)).map(|(_, index)| *index);
            for index in listed.chain(globbed) {
                if self.fits(index, command, *start, rest, question)? {
                    return Ok(true);
                }
            }
            // The shell may make any name of a pattern such as `/bin/r?`.
            if first.glob
                && let Some(pattern) = FilePattern::new(name)
            {
                question.spend(self.by_name.len())?;
                for (_, indexes) in self.by_name.iter().filter(|(program, _)| pattern.could_be(program)) {
                    for index in indexes {
                        if self.fits(*index, command, *start, rest, question)? {
                            return Ok(true);
                        }
                    }
                }
            }
        }
        Ok(false)
    }

    fn fits<'a>(
        &'a self,
        index: usize,
        command: &'a Command,
        start: usize,
        rest: &[Token],
        question: &mut Question<'a>,
    ) -> Result<bool, TooMany> {
        let Some(pattern) = self.patterns.get(index) else { return Ok(false) };
        if !pattern.feeds.is_empty() && !pattern.feeds_one(index, command, question)? {
            return Ok(false);
        }
        let wanted = pattern.flags.len().saturating_add(pattern.args.len()).saturating_add(1);
        question.spend(rest.len().saturating_mul(wanted).saturating_add(1))?;
        // Words nobody can see yet may be any words.
        let open = command.open_after.is_some_and(|after| start > after) || rest.iter().any(|word| word.open);
        let fits = open
            || (pattern.flags.iter().all(|spellings| {
                rest.iter().any(|word| spellings.iter().any(|flag| has_flag(&word.text, flag)))
            }) && pattern.could_have_subcommand(rest)
                && pattern.args.iter().all(|arg| rest.iter().any(|word| arg.matches(&word.text))));
        Ok(fits && (pattern.words.is_empty() || pattern.words.mentioned(command, question)?))
    }
}

/// What is worked out once while one question is answered, and how much more it may cost.
struct Question<'a> {
    found: &'a FoundCommands,
    steps: usize,
    /// For a pattern: the commands it may feed.
    sinks: HashMap<usize, Vec<&'a Command>>,
}

/// More comparisons than one question may cost.
struct TooMany;

impl Question<'_> {
    fn spend(&mut self, cost: usize) -> Result<(), TooMany> {
        self.steps = self.steps.checked_sub(cost).ok_or(TooMany)?;
        Ok(())
    }
}

fn spellings(entry: &str) -> Result<Vec<String>, String> {
    let spellings: Vec<String> = entry.split('|').map(|flag| flag.trim().to_owned()).collect();
    if spellings.iter().any(|flag| !flag.starts_with('-') || flag.len() < 2 || flag.contains('=')) {
        return Err(format!("`{entry}` is not a flag; write `-f` or several spellings as `-f|--force`"));
    }
    Ok(spellings)
}

impl Mention {
    /// Whether these words begin with the subcommand. Behind a flag it may be any word, because the flag may take a value.
    fn could_have_subcommand(&self, rest: &[Token]) -> bool {
        let Some(wanted) = &self.subcommand else { return true };
        let could_be = |word: &Token| {
            word.text == *wanted
                || (word.glob && FilePattern::new(&word.text).is_some_and(|pattern| pattern.could_be(wanted)))
        };
        match rest.first() {
            Some(first) if !first.dynamic && !first.text.starts_with('-') => could_be(first),
            _ => rest.iter().any(could_be),
        }
    }

    /// Whether its output reaches one of the programs, by a pipe or by a substitution in the same statement.
    fn feeds_one(&self, index: usize, from: &Command, question: &mut Question<'_>) -> Result<bool, TooMany> {
        let found = question.found;
        let named = |command: &&Command| {
            let fed = |name: &str| self.feeds.iter().any(|glob| glob.matches(name));
            command.names.iter().any(|(_, name)| fed(name))
        };
        if !question.sinks.contains_key(&index) {
            let names: usize = found.commands.iter().map(|command| command.names.len()).sum();
            question.spend(names.saturating_mul(self.feeds.len()))?;
            question.sinks.insert(index, found.commands.iter().filter(named).collect());
        }
        let Some(sinks) = question.sinks.get(&index) else { return Ok(false) };
        let from = &from.raw;
        let reaches = sinks.iter().any(|to| {
            let to = &to.raw;
            to.statement == from.statement && (to.pipes > from.pipes || to.depth < from.depth)
        });
        let cost = sinks.len();
        question.spend(cost)?;
        Ok(reaches)
    }
}

impl Words {
    fn new(words: &[String]) -> Result<Self, String> {
        let mut out = Self::default();
        for word in words {
            let mut parts: Vec<String> = segments(&lower(word)).map(str::to_owned).collect();
            match (parts.pop(), parts.is_empty()) {
                (None, _) => return Err(format!("`{word}` names no path")),
                (Some(part), true) if !part.contains(['*', '?']) => {
                    out.single.insert(part);
                }
                (Some(part), _) => {
                    parts.push(part);
                    out.others.push(parts.iter().map(|part| Glob::new(part)).collect());
                }
            }
        }
        Ok(out)
    }

    fn is_empty(&self) -> bool {
        self.single.is_empty() && self.others.is_empty()
    }

    fn mentioned(&self, command: &Command, question: &mut Question<'_>) -> Result<bool, TooMany> {
        let raw = &command.raw;
        let targets = raw.redirects.iter().map(|(_, target)| target);
        for token in raw.words.iter().chain(targets).chain(&raw.assigned) {
            let text = lower(&token.text);
            let plain: Vec<&str> = segments(&text).collect();
            if self.has(&plain, question)?
                || (plain.contains(&"..") && self.has(&climbed(plain.iter().copied()), question)?)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has(&self, path: &[&str], question: &mut Question<'_>) -> Result<bool, TooMany> {
        question.spend(path.len().saturating_add(1))?;
        for part in path {
            if self.single.contains(*part) {
                return Ok(true);
            }
            let Some(pattern) = FilePattern::new(part) else { continue };
            question.spend(self.single.len())?;
            if self.single.iter().any(|word| pattern.could_be(word)) {
                return Ok(true);
            }
        }
        let fits = |window: &[&str], globs: &[Glob]| {
            let mut pairs = window.iter().zip(globs);
            pairs.all(|(part, glob)| glob.matches(part))
        };
        Ok(self.others.iter().any(|globs| path.windows(globs.len()).any(|window| fits(window, globs))))
    }
}

/// Long flags may be abbreviated, short ones stand in a cluster.
fn has_flag(word: &str, flag: &str) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    if name == flag {
        return true;
    }
    if flag.starts_with("--") {
        return name.len() > 2 && name.starts_with("--") && flag.starts_with(name);
    }
    let mut letters = flag.chars().skip(1);
    match (letters.next(), letters.next()) {
        (Some(letter), None) => word.starts_with('-') && !word.starts_with("--") && word.contains(letter),
        _ => false,
    }
}

/// A pattern for file names that begins like a word and could become it. One that begins with a wildcard could become
/// anything and says nothing.
struct FilePattern {
    glob: String,
    /// How long a word must be at least.
    least: usize,
}

impl FilePattern {
    fn new(text: &str) -> Option<Self> {
        let known = text.find(['*', '?', '['])?;
        if known < if text.starts_with('.') { 2 } else { 1 } {
            return None;
        }
        let mut pattern = Self { glob: String::new(), least: 0 };
        let mut inside = false;
        for c in text.chars() {
            // `[…]` stands for one character; which ones is of no interest here.
            let c = match c {
                '[' if !inside => {
                    inside = true;
                    '?'
                }
                ']' if inside => {
                    inside = false;
                    continue;
                }
                _ if inside => continue,
                '*' if pattern.glob.ends_with('*') => continue,
                c => c,
            };
            pattern.least = pattern.least.saturating_add(usize::from(c != '*'));
            pattern.glob.push(c);
        }
        Some(pattern)
    }

    fn could_be(&self, word: &str) -> bool {
        self.least <= word.len() && glob_matches(&self.glob, word)
    }
}

/// The parts of a path, and of words that have one in them: `--file=.env`, `HEAD:.env`, `@.env`.
fn segments(word: &str) -> impl Iterator<Item = &str> {
    word.split(['/', '=', ':', '@', ',', '\\']).filter(|part| !part.is_empty() && *part != ".")
}

/// The path with its `..` followed.
pub(crate) fn climbed<'p>(path: impl IntoIterator<Item = &'p str>) -> Vec<&'p str> {
    let mut out: Vec<&str> = Vec::new();
    for part in path {
        if part == ".." && out.last().is_some_and(|last| *last != "..") {
            out.pop();
        } else {
            out.push(part);
        }
    }
    out
}
