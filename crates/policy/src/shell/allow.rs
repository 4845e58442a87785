//! One allow pattern: the shape of an argument list in which every word is accounted for.

use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::paths::PathRule;
use super::{gh, jq, programs};

/// A pattern of an allow rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Allow {
    /// The whole argument list, word for word.
    Exact(Vec<String>),
    /// A program with listed flags and ruled operands.
    Shape(Shape),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    programs: Vec<String>,
    subcommand: Vec<String>,
    flags: Vec<String>,
    values: Vec<String>,
    optional: Vec<String>,
    /// `-n5` is `-n 5`, also at the end of `-vn5`. Not so for programs such as `tree`, where `-Lo` is `-L -o`.
    attached: bool,
    operands: PathRule,
    max_operands: usize,
    /// `-la` is `-l -a`. Not so for programs with flags such as `-name`.
    combines: bool,
    /// `-20` is a flag, as for `head` and `git log`.
    numeric: bool,
    /// All its words are text, whatever they look like: `echo`.
    text: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAllow {
    exact: Option<Vec<String>>,
    program: Option<OneOrMany>,
    subcommand: Option<OneOrMany>,
    #[serde(default)]
    flags: Vec<String>,
    #[serde(default)]
    values: Vec<String>,
    #[serde(default)]
    optional: Vec<String>,
    #[serde(default)]
    attached: bool,
    operands: Option<PathRule>,
    max_operands: Option<usize>,
    #[serde(default)]
    text: bool,
    /// The entry counts only where the policy turns this on.
    pub(super) switch: Option<String>,
}

/// A word, or a list of words.
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

// By hand, because the derived reader of such types cannot say what was wrong.
impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl<'de> Visitor<'de> for Words {
            type Value = OneOrMany;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a word or a list of words")
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany::One(word.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<OneOrMany, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(OneOrMany::Many)
            }
        }
        deserializer.deserialize_any(Words)
    }
}

impl OneOrMany {
    pub(super) fn into_list(self) -> Vec<String> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }
}

enum Fit {
    Alone,
    TakesNext,
    No,
}

impl TryFrom<RawAllow> for Allow {
    type Error = String;

    fn try_from(raw: RawAllow) -> Result<Self, String> {
        let listed = !raw.flags.is_empty() || !raw.values.is_empty() || !raw.optional.is_empty();
        if let Some(words) = raw.exact {
            if raw.program.is_some()
                || raw.subcommand.is_some()
                || listed
                || raw.attached
                || raw.operands.is_some()
                || raw.max_operands.is_some()
                || raw.text
            {
                return Err("`exact` is the whole argument list; leave the other keys out".to_owned());
            }
            return match words.first() {
                Some(program) if !program.is_empty() => Ok(Self::Exact(words)),
                _ => Err("`exact` needs the program as its first word".to_owned()),
            };
        }
        let programs = raw.program.map(OneOrMany::into_list).unwrap_or_default();
        if programs.is_empty() {
            return Err("name a `program`, or the whole argument list in `exact`".to_owned());
        }
        let subcommand = match raw.subcommand {
            None => Vec::new(),
            Some(OneOrMany::One(text)) => text.split_whitespace().map(str::to_owned).collect(),
            Some(OneOrMany::Many(words)) => words,
        };
        if let Some(bad) = subcommand.iter().find(|word| word.is_empty() || word.starts_with('-')) {
            return Err(format!("`subcommand` has `{bad}`; it takes plain words, flags go into `flags`"));
        }
        if raw.text && (listed || raw.attached || raw.operands.is_some() || raw.max_operands.is_some()) {
            return Err("`text` means that every word is text; leave flags and operands out".to_owned());
        }
        let flags = [&raw.flags, &raw.values, &raw.optional];
        for program in &programs {
            check_program(program, &subcommand, &flags)?;
        }
        check_flags(&raw.flags, &raw.values, &raw.optional)?;
        if raw.attached && !raw.values.iter().any(|flag| is_letter(flag)) {
            return Err("`attached` is about flags of one letter in `values`, and there is none".to_owned());
        }
        let combines = !flags.iter().any(|list| {
            list.iter().any(|flag| !flag.starts_with("--") && flag != "-#" && flag.chars().count() > 2)
        });
        Ok(Self::Shape(Shape {
            numeric: raw.flags.iter().any(|flag| flag == "-#"),
            flags: raw.flags,
            values: raw.values,
            optional: raw.optional,
            attached: raw.attached,
            operands: raw.operands.unwrap_or_default(),
            max_operands: raw.max_operands.unwrap_or(usize::MAX),
            programs,
            subcommand,
            combines,
            text: raw.text,
        }))
    }
}

fn check_program(program: &str, subcommand: &[String], flags: &[&Vec<String>]) -> Result<(), String> {
    if program.is_empty()
        || program
            .contains(|c: char| c.is_whitespace() || c.is_control() || "*?[]{}$`'\"\\|&;<>()=!#".contains(c))
    {
        return Err(format!(
            "`{program}` is not the exact name of a program; arguments go into `subcommand`, `flags` and `operands`"
        ));
    }
    if programs::runs_others(program) {
        return Err(format!(
            "`{program}` runs what its arguments say, so no pattern can bound it; spell out the whole argument list in `exact`"
        ));
    }
    if program == "git" && subcommand.is_empty() {
        return Err("`git` needs a `subcommand`; what stands before it can run anything".to_owned());
    }
    let words = flags.iter().flat_map(|list| list.iter()).chain(subcommand);
    for word in words {
        // `git log -c` is a way to show merges; only before the subcommand does it configure.
        let harmless = program == "git" && word == "-c";
        if !harmless && programs::is_forbidden_word(program, word) {
            return Err(format!(
                "`{program} {word}` runs or overwrites what its arguments say; spell out the whole argument list in `exact`"
            ));
        }
    }
    Ok(())
}

/// `-n`, and not `--lines` or `-name`.
fn is_letter(flag: &str) -> bool {
    flag.strip_prefix('-').is_some_and(|rest| rest.chars().count() == 1)
}

fn check_flags(flags: &[String], values: &[String], optional: &[String]) -> Result<(), String> {
    let mut seen = std::collections::HashSet::new();
    for flag in flags.iter().chain(values).chain(optional) {
        if !flag.starts_with('-')
            || flag.len() < 2
            || flag == "--"
            || flag.contains(|c: char| c == '=' || c.is_whitespace())
        {
            return Err(format!(
                "`{flag}` is not a flag; write `-s` or `--short`, without a value (flags with values go into `values`)"
            ));
        }
        if !seen.insert(flag) {
            return Err(format!(
                "`{flag}` is listed twice; a flag goes into one of `flags`, `values` and `optional`"
            ));
        }
    }
    Ok(())
}

impl Allow {
    /// What keeps this from being exactly such a command, with nothing left over.
    pub(super) fn miss<'a>(&self, argv: &'a [String]) -> Option<Miss<'a>> {
        match self {
            Self::Exact(words) if words.as_slice() == argv => None,
            Self::Exact(words) => {
                let same = argv.first().is_some_and(|program| words.first() == Some(program));
                Some(if same {
                    Miss::Subcommand(argv.get(1).map_or("", String::as_str))
                } else {
                    Miss::Program
                })
            }
            Self::Shape(shape) => shape.miss(argv).err(),
        }
    }
}

/// The first thing of a command that a pattern does not have. A later one is nearer to passing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Miss<'a> {
    /// Another program.
    Program,
    /// Other words right after the program.
    Subcommand(&'a str),
    /// More operands than it may have.
    TooMany,
    /// A script that may do more than print lines.
    Script,
    /// A filter that may read more than its input.
    Filter,
    /// A word that is not accepted beside the flags.
    Operand(&'a str),
    /// A flag that is not listed, or one that lacks its value.
    Flag(&'a str),
    /// A word that makes the program run or overwrite something.
    Runs(&'a str),
}

impl Miss<'_> {
    /// For people. Words of the command are shown so that they hide nothing.
    pub(super) fn says(self, program: &str) -> String {
        let shown = |word: &str| -> String {
            let drawn = super::escaped(word);
            let mut cut: String = drawn.chars().take(40).collect();
            if cut.len() < drawn.len() {
                cut.push('…');
            }
            cut
        };
        let program = shown(program);
        match self {
            Self::Program => format!("`{program}` is not in the list"),
            Self::Subcommand("") => format!("`{program}` alone is not in the list"),
            Self::Subcommand(word) => format!("`{program} {}` is not in the list", shown(word)),
            Self::TooMany => format!("`{program}` has more operands than the list says"),
            Self::Script => format!("`{program}` may only print lines by their number"),
            Self::Filter => format!("`{program}`: this filter may read variables or other files"),
            Self::Operand(word) => format!("`{program}`: operand `{}` is not in the list", shown(word)),
            Self::Flag(word) => format!("`{program}`: flag `{}` is not in the list", shown(word)),
            Self::Runs(word) => format!("`{program}`: `{}` can run or overwrite something", shown(word)),
        }
    }
}

impl Shape {
    fn miss<'a>(&self, argv: &'a [String]) -> Result<(), Miss<'a>> {
        let Some((program, rest)) = argv.split_first() else { return Err(Miss::Program) };
        if !self.programs.contains(program) || programs::runs_others(program) {
            return Err(Miss::Program);
        }
        let first = rest.first().map_or("", String::as_str);
        let rest = rest.strip_prefix(self.subcommand.as_slice()).ok_or(Miss::Subcommand(first))?;
        if program == "sed" && !programs::is_printing_sed(rest) {
            return Err(Miss::Script);
        }
        if program == "jq" && !jq::only_reads_input(rest) {
            return Err(Miss::Filter);
        }
        if program == "gh"
            && let Some(word) = gh::reaches_further(argv.get(1..).unwrap_or_default())
        {
            return Err(Miss::Operand(word));
        }
        let runs = |word: &String| programs::is_forbidden_word(program, word);
        if self.text {
            return rest.iter().find(|word| runs(word)).map_or(Ok(()), |word| Err(Miss::Runs(word)));
        }
        let mut operands = 0_usize;
        let mut only_operands = false;
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            // Also where it is the value of a flag that may have any.
            if runs(word) && !self.flags.contains(word) {
                return Err(Miss::Runs(word));
            }
            if !only_operands && word == "--" {
                only_operands = true;
            } else if word.starts_with('-') && word != "-" {
                // Not every program knows `--`, so what looks like a flag after it is refused.
                match if only_operands { Fit::No } else { self.fit(word) } {
                    Fit::Alone => {}
                    // A value that looks like a flag may be one to the program.
                    Fit::TakesNext
                        if words.next().is_some_and(|value| !value.starts_with('-') && !runs(value)) => {}
                    Fit::TakesNext | Fit::No => return Err(Miss::Flag(word)),
                }
            } else {
                operands = operands.saturating_add(1);
                if !self.operands.accepts(word) {
                    return Err(Miss::Operand(word));
                }
            }
        }
        if operands <= self.max_operands { Ok(()) } else { Err(Miss::TooMany) }
    }

    fn fit(&self, word: &str) -> Fit {
        let has = |list: &[String], flag: &str| list.iter().any(|listed| listed == flag);
        if word == "-#" {
            return Fit::No;
        }
        if word.starts_with("--")
            && let Some((name, _)) = word.split_once('=')
        {
            return if has(&self.values, name) || has(&self.optional, name) { Fit::Alone } else { Fit::No };
        }
        if has(&self.flags, word) || has(&self.optional, word) {
            return Fit::Alone;
        }
        if has(&self.values, word) {
            return Fit::TakesNext;
        }
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.starts_with('-')) else {
            return Fit::No;
        };
        if self.numeric && letters.bytes().all(|b| b.is_ascii_digit()) {
            return Fit::Alone;
        }
        if !self.combines {
            return Fit::No;
        }
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            let flag = format!("-{letter}");
            if has(&self.flags, &flag) && letter != '#' {
                continue;
            }
            if has(&self.optional, &flag) {
                return Fit::Alone;
            }
            // Where the program takes the rest of the word for more flags, one of them could do anything.
            return match (has(&self.values, &flag) && self.attached, rest.as_str().is_empty()) {
                (true, true) => Fit::TakesNext,
                (true, false) => Fit::Alone,
                (false, _) => Fit::No,
            };
        }
        Fit::Alone
    }
}
