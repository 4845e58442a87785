//! Lists of files in a policy, such as those that hold secrets: whether a call names one, or a folder above one.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::{
    lookalike::{folded, is_short_for},
    place,
    shell::{Glob, climbed, lower},
    wild::{Pattern, alternatives, is_wild},
    work::{Trouble, WorkBudget},
};

/// One list of a policy, under its name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Files {
    /// Names that count anywhere, which is most of them.
    names: HashSet<String>,
    entries: Vec<Entry>,
}

/// One entry, as its segments in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    from: From,
    segments: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Segment {
    glob: Glob,
    text: String,
    pattern: Pattern,
}

/// A part of a path that a call names.
struct Part<'t> {
    text: &'t str,
    /// What it stands for if some program reads it as a pattern.
    pattern: Option<Pattern>,
}

/// Longest pattern that is compared with names.
const WILD: usize = 200;

/// Where an entry begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// `/etc/shadow`: at the root alone.
    Root,
    /// `~/.config/gh`: in a home folder, wherever that is.
    Home,
    /// `.env`: anywhere.
    Anywhere,
}

/// What a rule asks about a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    /// Does the call name a file of the list, or something in a folder of it?
    Touches,
    /// Does it name a folder with a file of the list below it?
    Above,
}

/// Most entries of one list, and the longest.
pub(crate) const ENTRIES: usize = 500;
const LONGEST: usize = 256;

impl Files {
    /// Reads a list; the error names what is wrong.
    pub(crate) fn new<'t>(entries: impl Iterator<Item = &'t str>) -> Result<Self, String> {
        let entry = |text: &str| {
            let lowered = lower(text);
            let from = match text.as_bytes() {
                [b'/', ..] => From::Root,
                [b'~', b'/', ..] => From::Home,
                _ => From::Anywhere,
            };
            let path = lowered.strip_prefix("~/").filter(|_| from == From::Home).unwrap_or(&lowered);
            let segment = |part: &str| Segment {
                glob: Glob::new(part),
                text: part.to_owned(),
                pattern: Pattern::new(part),
            };
            let segments: Vec<_> = split(path).map(segment).collect();
            let odd = text.len() > LONGEST
                || segments.is_empty()
                || path.starts_with('~')
                || path.contains(['\\', '$', '=', ':', '@', ','])
                || split(path).any(|part| part == "..");
            if odd {
                return Err(format!("`{text}` does not name files; write `.env`, `~/.ssh` or `/etc/shadow`"));
            }
            Ok(Entry { from, segments })
        };
        let mut files = Self::default();
        for text in entries {
            match entry(text)? {
                Entry { from: From::Anywhere, segments } if matches!(segments.as_slice(), [one] if one.is_plain()) =>
                {
                    files.names.extend(segments.into_iter().map(|segment| segment.text));
                }
                entry => files.entries.push(entry),
            }
        }
        Ok(files)
    }

    /// Whether every entry says where its files are, so that a rule can let them pass.
    pub(crate) fn is_placed(&self) -> bool {
        self.names.is_empty() && self.entries.iter().all(|entry| entry.from != From::Anywhere)
    }

    /// Whether this resolved path is a file of the list, letter by letter: no name that is only alike, and nothing in a folder of it.
    pub(crate) fn has_exactly(&self, path: &str) -> bool {
        let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        self.entries.iter().any(|entry| entry.is(&segments))
    }

    /// Whether the call asks for what the rule asks about: in an argument that names files, in a command, or by way of a link.
    pub(crate) fn asked<'v>(
        &self,
        asks: Asks,
        tool: &str,
        arguments: &'v Map<String, Value>,
        context: &Map<String, Value>,
        work: &WorkBudget<'v>,
    ) -> Result<bool, Trouble> {
        let paths = context.get("paths").and_then(Value::as_object);
        let mut found = false;
        // A line names the same words again and again, and a reading of it that is not certain has each word several times.
        let mut seen: HashSet<(String, bool)> = HashSet::new();
        let mut look = |text: &str, reads: bool| -> Result<(), Trouble> {
            work.spend(text.len() / 16)?;
            if found || !seen.insert((text.to_owned(), reads)) {
                return Ok(());
            }
            work.spend(text.len().saturating_add(self.entries.len().saturating_mul(4)))?;
            found = self.has(asks, text, reads, work)?;
            Ok(())
        };
        place::each_text(tool, arguments, work, asks == Asks::Touches, &mut |text, reads| {
            look(text, reads)?;
            let path = paths.and_then(|paths| paths.get(text)?.as_str()).filter(|_| reads);
            path.map_or(Ok(()), |path| look(path, reads))
        })?;
        // What the hook program found behind a text. More of it can only make the outcome stricter.
        for path in paths.into_iter().flat_map(Map::values).filter_map(Value::as_str) {
            look(path, false)?;
        }
        if asks == Asks::Above
            && let Some(Value::String(folder)) = context.get("cwd")
        {
            look(folder, true)?;
        }
        Ok(found)
    }

    /// A word may hold several paths: `--file=.env`, `HEAD:.env`, `@.env`, `{a,.env}`.
    fn has(&self, asks: Asks, text: &str, reads: bool, work: &WorkBudget<'_>) -> Result<bool, Trouble> {
        let word = folded(text);
        let Some(mut words) = alternatives(&word) else {
            return if reads { Err(MANY) } else { Ok(false) };
        };
        // To a pattern it says that the next sign stands for itself.
        if word.contains('\\') {
            words.push(word.replace('\\', ""));
        }
        if words.len() > 1 {
            work.spend(
                words.iter().map(String::len).sum::<usize>().saturating_add(words.len().saturating_mul(500)),
            )?;
        }
        if reads && is_wild(&word) && word.len() > WILD {
            return Err(MANY);
        }
        Ok(words.iter().any(|word| self.has_word(asks, word, reads)))
    }

    fn has_word(&self, asks: Asks, word: &str, reads: bool) -> bool {
        let parts = word.split(['=', ':', '@', ',']);
        let several = word.contains(['=', ':', '@', ',']);
        // Git's `:(icase).ENV`.
        let magic = word.starts_with(':').then(|| word.split_once(')')).flatten().map(|(_, path)| path);
        parts.chain(several.then_some(word)).chain(magic).any(|path| {
            let segments: Vec<Part<'_>> = climbed(split(path)).into_iter().map(Part::new).collect();
            let absolute = path.starts_with('/');
            match asks {
                Asks::Touches => self.touched(absolute, &segments, reads),
                Asks::Above => self.above(path, absolute, &segments, reads),
            }
        })
    }

    fn touched(&self, absolute: bool, segments: &[Part<'_>], reads: bool) -> bool {
        segments.iter().any(|part| self.is_named(part))
            || self.entries.iter().any(|entry| entry.touched(absolute, segments))
            || segments.last().and_then(|last| last.pattern.as_ref()).is_some_and(|pattern| {
                reads
                    && (self.names.iter().any(|name| pattern.fits(name))
                        || self.entries.iter().any(|entry| entry.may_hold(segments, pattern)))
            })
    }

    fn is_named(&self, part: &Part<'_>) -> bool {
        self.names.contains(part.text)
            // The shell may make a listed name of a pattern such as `.en?`.
            || part.beginning().is_some_and(|pattern| self.names.iter().any(|name| pattern.fits(name)))
            || (part.text.contains('~') && self.names.iter().any(|name| is_short_for(part.text, name)))
    }

    fn above(&self, path: &str, absolute: bool, segments: &[Part<'_>], reads: bool) -> bool {
        let names: Vec<&str> = segments.iter().map(|part| part.text).collect();
        let home = match names.as_slice() {
            [] | ["home" | "users" | "root" | "var"] | ["home" | "users", _] | ["var", "root"] => absolute,
            [one] => one.starts_with('~') && !path.is_empty(),
            _ => false,
        };
        self.entries.iter().any(|entry| {
            let begun = || (1..entry.segments.len()).any(|length| entry.ends(segments, length));
            match entry.from {
                From::Root => absolute && entry.is_below(segments),
                From::Home => home || begun(),
                From::Anywhere => reads && entry.is_folder() && begun(),
            }
        })
    }
}

const MANY: Trouble = Trouble::Doubtful("the pattern stands for too many names");

impl<'t> Part<'t> {
    fn new(text: &'t str) -> Self {
        let short = is_wild(text) && text.len() <= WILD;
        Self { text, pattern: short.then(|| Pattern::new(text)) }
    }

    /// The pattern, if it says how its names begin.
    fn beginning(&self) -> Option<&Pattern> {
        self.pattern.as_ref().filter(|pattern| pattern.begins())
    }
}

impl Segment {
    fn is_plain(&self) -> bool {
        !self.text.contains(['*', '?'])
    }

    fn fits(&self, part: &Part<'_>) -> bool {
        let likely = || {
            part.beginning().is_some_and(|pattern| pattern.overlaps(&self.pattern))
                || is_short_for(part.text, &self.text)
        };
        self.glob.matches(part.text) || (self.is_plain() && likely())
    }
}

/// Ends of the names of source code and prose.
const SOURCE: &[&str] = &[
    "rs", "go", "py", "pyi", "ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs", "vue", "svelte", "astro",
    "c", "h", "cc", "cpp", "hpp", "m", "mm", "cs", "fs", "java", "kt", "kts", "scala", "groovy", "clj",
    "swift", "rb", "erb", "php", "ex", "exs", "erl", "hs", "ml", "mli", "lua", "dart", "zig", "nim", "jl",
    "r", "pl", "pm", "sol", "proto", "graphql", "sql", "tf", "html", "css", "scss", "sass", "less", "svg",
    "md", "mdx", "rst", "adoc", "tex",
];

impl Entry {
    fn fits(&self, at: usize, part: &Part<'_>) -> bool {
        self.segments.get(at).is_some_and(|segment| segment.fits(part))
    }

    /// Whether a folder is listed by what lies in it, so that searching the folder reads it.
    fn is_folder(&self) -> bool {
        self.segments.first().is_some_and(|first| first.text.starts_with('.'))
            || self.segments.last().is_some_and(|last| last.text == "*")
    }

    /// Whether a file that fits the pattern at the end of a path may be listed. An open end such as that of `secrets.*` stands for
    /// data, and not for source code.
    fn may_hold(&self, path: &[Part<'_>], pattern: &Pattern) -> bool {
        let (Some((last, folders)), Some(end)) = (self.segments.split_last(), path.last()) else {
            return false;
        };
        let above = path.len().checked_sub(self.segments.len()).and_then(|start| path.get(start..));
        let source = end.text.rsplit_once('.').is_some_and(|(_, end)| SOURCE.contains(&end));
        !(source && last.text.ends_with('*'))
            && self.from != From::Root
            && pattern.overlaps(&last.pattern)
            && above.is_some_and(|above| folders.iter().zip(above).all(|(folder, part)| folder.fits(part)))
    }

    /// Whether the path is what is listed, or lies in it.
    fn touched(&self, absolute: bool, path: &[Part<'_>]) -> bool {
        let fits = |window: &[Part<'_>]| window.iter().enumerate().all(|(at, part)| self.fits(at, part));
        let length = self.segments.len();
        match self.from {
            From::Root => absolute && path.get(..length).is_some_and(fits),
            From::Home | From::Anywhere => path.windows(length).any(fits),
        }
    }

    /// Whether this absolute path is what is listed.
    fn is(&self, path: &[&str]) -> bool {
        let below = match (self.from, path) {
            (From::Root, path) => path,
            (
                From::Home,
                ["home" | "Users", _, below @ ..] | ["root", below @ ..] | ["var", "root", below @ ..],
            ) => below,
            (From::Home | From::Anywhere, _) => return false,
        };
        below.len() == self.segments.len()
            && self.segments.iter().zip(below).all(|(segment, part)| segment.glob.matches(part))
    }

    /// Whether what is listed lies below this absolute path.
    fn is_below(&self, path: &[Part<'_>]) -> bool {
        path.len() < self.segments.len() && path.iter().enumerate().all(|(at, part)| self.fits(at, part))
    }

    /// Whether the path ends with the first `length` segments.
    fn ends(&self, path: &[Part<'_>], length: usize) -> bool {
        path.len()
            .checked_sub(length)
            .and_then(|start| path.get(start..))
            .is_some_and(|end| end.iter().enumerate().all(|(at, part)| self.fits(at, part)))
    }
}

fn split(path: &str) -> impl Iterator<Item = &str> {
    path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").map(without_end)
}

/// Some file systems drop dots and blanks at the end of a name.
fn without_end(part: &str) -> &str {
    let short = part.trim_end_matches(['.', ' ']);
    if short.is_empty() { part } else { short }
}
