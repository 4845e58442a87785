//! What a hold or deny rule looks for: programs, flags, arguments and paths, in any order and at any depth.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::Deserialize;

use super::allow::OneOrMany;
use super::loose::Token;
use super::paths::glob_matches;
use super::reach::{Command, Found};

/// Comparisons one question may cost. A text that needs more counts as mentioning everything.
const MAX_STEPS: usize = 100_000;

/// The patterns of one rule, arranged so that a name is looked up and not searched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Mentions {
    patterns: Vec<Mention>,
    by_name: HashMap<String, Vec<usize>>,
    /// Patterns whose program is a glob.
    by_glob: Vec<(String, usize)>,
    /// Patterns without a program.
    nameless: Vec<usize>,
}

/// One pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mention {
    /// Each entry is a list of spellings, one of which must be there.
    flags: Vec<Vec<String>>,
    args: Vec<String>,
    feeds: Vec<String>,
    words: Words,
}

/// Paths by their segments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Words {
    single: HashSet<String>,
    others: Vec<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMention {
    program: Option<OneOrMany>,
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
        if programs.is_empty() && !(raw.flags.is_empty() && raw.args.is_empty() && raw.feeds.is_empty()) {
            return Err("`flags`, `args` and `feeds` say more about a `program`; name it".to_owned());
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
            args: raw.args,
            feeds: raw.feeds.iter().map(|name| name.to_ascii_lowercase()).collect(),
            words: Words::new(&raw.words)?,
        });
        if programs.is_empty() {
            self.nameless.push(index);
        }
        for program in programs {
            let program = program.to_ascii_lowercase();
            if program.contains(['*', '?']) {
                self.by_glob.push((program, index));
            } else {
                self.by_name.entry(program).or_default().push(index);
            }
        }
        Ok(())
    }

    /// Whether one of the patterns is mentioned.
    pub(super) fn any(&self, found: &Found) -> bool {
        let mut steps = MAX_STEPS;
        found.overflow
            || found.commands.iter().any(|command| self.one(command, found, &mut steps).unwrap_or(true))
    }

    fn one(&self, command: &Command, found: &Found, steps: &mut usize) -> Result<bool, TooMany> {
        for index in &self.nameless {
            if let Some(pattern) = self.patterns.get(*index)
                && pattern.words.mentioned(command, steps)?
            {
                return Ok(true);
            }
        }
        for (start, name) in &command.names {
            let Some((first, rest)) = command.raw.words.get(*start..).and_then(<[Token]>::split_first) else {
                continue;
            };
            for index in self.candidates(first, name, steps)? {
                if let Some(pattern) = self.patterns.get(index)
                    && pattern.matches(command, *start, rest, found, steps)?
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn candidates(&self, first: &Token, name: &str, steps: &mut usize) -> Result<BTreeSet<usize>, TooMany> {
        spend(steps, self.by_glob.len().saturating_add(1))?;
        let mut out: BTreeSet<usize> = self.by_name.get(name).into_iter().flatten().copied().collect();
        out.extend(self.by_glob.iter().filter(|(glob, _)| glob_matches(glob, name)).map(|(_, index)| *index));
        // The shell may make any of these names of a pattern such as `/bin/r?`.
        if first.glob && !name.starts_with('*') {
            spend(steps, self.by_name.len())?;
            let could = self.by_name.iter().filter(|(program, _)| pattern_could_be(name, program));
            out.extend(could.flat_map(|(_, indexes)| indexes));
        }
        Ok(out)
    }
}

/// More comparisons than one question may cost.
struct TooMany;

fn spend(steps: &mut usize, cost: usize) -> Result<(), TooMany> {
    *steps = steps.checked_sub(cost).ok_or(TooMany)?;
    Ok(())
}

fn spellings(entry: &str) -> Result<Vec<String>, String> {
    let spellings: Vec<String> = entry.split('|').map(|flag| flag.trim().to_owned()).collect();
    if spellings.iter().any(|flag| !flag.starts_with('-') || flag.len() < 2 || flag.contains('=')) {
        return Err(format!("`{entry}` is not a flag; write `-f` or several spellings as `-f|--force`"));
    }
    Ok(spellings)
}

impl Mention {
    fn matches(
        &self,
        command: &Command,
        start: usize,
        rest: &[Token],
        found: &Found,
        steps: &mut usize,
    ) -> Result<bool, TooMany> {
        let wanted = self.flags.len().saturating_add(self.args.len());
        spend(steps, rest.len().saturating_mul(wanted).saturating_add(1))?;
        // Words nobody can see yet may be any words.
        let open = command.open_after.is_some_and(|after| start > after) || rest.iter().any(|word| word.open);
        let fits = open
            || (self.flags.iter().all(|spellings| {
                rest.iter().any(|word| spellings.iter().any(|flag| has_flag(&word.text, flag)))
            }) && self.args.iter().all(|arg| rest.iter().any(|word| glob_matches(arg, &word.text))));
        Ok(fits
            && (self.words.is_empty() || self.words.mentioned(command, steps)?)
            && (self.feeds.is_empty() || self.feeds_one(command, found, steps)?))
    }

    /// Whether its output reaches one of the programs, by a pipe or by a substitution in the same statement.
    fn feeds_one(&self, from: &Command, found: &Found, steps: &mut usize) -> Result<bool, TooMany> {
        let near = found.in_statement(from.raw.statement);
        for to in near.filter(|to| to.raw.pipes > from.raw.pipes || to.raw.depth < from.raw.depth) {
            spend(steps, to.names.len().saturating_mul(self.feeds.len()))?;
            if to.names.iter().any(|(_, name)| self.feeds.iter().any(|glob| glob_matches(glob, name))) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Words {
    fn new(words: &[String]) -> Result<Self, String> {
        let mut out = Self::default();
        for word in words {
            let mut parts = segments(&word.to_ascii_lowercase());
            match (parts.pop(), parts.is_empty()) {
                (None, _) => return Err(format!("`{word}` names no path")),
                (Some(part), true) if !part.contains(['*', '?']) => {
                    out.single.insert(part);
                }
                (Some(part), _) => {
                    parts.push(part);
                    out.others.push(parts);
                }
            }
        }
        Ok(out)
    }

    fn is_empty(&self) -> bool {
        self.single.is_empty() && self.others.is_empty()
    }

    fn mentioned(&self, command: &Command, steps: &mut usize) -> Result<bool, TooMany> {
        for path in &command.paths {
            spend(steps, path.len().saturating_mul(self.others.len()).saturating_add(1))?;
            if path.iter().any(|part| self.single.contains(part)) {
                return Ok(true);
            }
            for part in path.iter().filter(|part| part.contains(['*', '?', '['])) {
                spend(steps, self.single.len())?;
                if self.single.iter().any(|word| pattern_could_be(part, word)) {
                    return Ok(true);
                }
            }
            let fits = |window: &[String], globs: &[String]| {
                window
                    .iter()
                    .zip(globs)
                    .all(|(part, glob)| glob_matches(glob, part) || pattern_could_be(part, glob))
            };
            if self.others.iter().any(|globs| path.windows(globs.len()).any(|window| fits(window, globs))) {
                return Ok(true);
            }
        }
        Ok(false)
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

/// A pattern for file names that begins like the word and could become it. `*` alone could become anything and says nothing.
fn pattern_could_be(pattern: &str, word: &str) -> bool {
    let Some(known) = pattern.find(['*', '?', '[']) else { return false };
    let begins = if pattern.starts_with('.') { known >= 2 } else { known >= 1 };
    if !begins {
        return false;
    }
    // `[…]` stands for one character; which ones is of no interest here.
    let mut simple = String::with_capacity(pattern.len());
    let mut inside = false;
    for c in pattern.chars() {
        match c {
            '[' if !inside => {
                inside = true;
                simple.push('?');
            }
            ']' if inside => inside = false,
            _ if inside => {}
            c => simple.push(c),
        }
    }
    glob_matches(&simple, word)
}

/// The parts of a path, and of words that have one in them: `--file=.env`, `HEAD:.env`, `@.env`.
fn segments(word: &str) -> Vec<String> {
    word.split(['/', '=', ':', '@', ',', '\\'])
        .filter(|part| !part.is_empty() && *part != ".")
        .map(str::to_owned)
        .collect()
}

/// All paths a word may mean, in lower case: as it is written, and with its `..` climbed.
pub(super) fn paths_in(word: &str) -> Vec<Vec<String>> {
    let plain = segments(&word.to_ascii_lowercase());
    if !plain.iter().any(|part| part == "..") {
        return vec![plain];
    }
    let mut climbed: Vec<String> = Vec::new();
    for part in &plain {
        if part == ".." && climbed.last().is_some_and(|last| last != "..") {
            climbed.pop();
        } else {
            climbed.push(part.clone());
        }
    }
    vec![climbed, plain]
}
