//! Lists of files in a policy, such as those that hold secrets: whether a call names one, or a folder above one.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::{
    place,
    shell::{Glob, climbed, could_be, lower},
    work::{Trouble, Work},
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
    segments: Vec<(Glob, Option<String>)>,
}

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
            let segments: Vec<_> = split(path)
                .map(|part| {
                    let plain = !part.contains(['*', '?']);
                    (Glob::new(part), plain.then(|| part.to_owned()))
                })
                .collect();
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
                Entry { from: From::Anywhere, segments } if matches!(segments.as_slice(), [(_, Some(_))]) => {
                    files.names.extend(segments.into_iter().filter_map(|(_, plain)| plain));
                }
                entry => files.entries.push(entry),
            }
        }
        Ok(files)
    }

    /// Whether the call asks for what the rule asks about: in an argument that names files, in a command, or by way of a link.
    pub(crate) fn asked<'v>(
        &self,
        asks: Asks,
        tool: &str,
        arguments: &'v Map<String, Value>,
        context: &Map<String, Value>,
        work: &Work<'v>,
    ) -> Result<bool, Trouble> {
        let mut found = false;
        let mut look = |text: &str| -> Result<(), Trouble> {
            work.spend(text.len().saturating_add(self.entries.len().saturating_mul(4)))?;
            found = found || self.has(asks, text);
            Ok(())
        };
        place::each_text(tool, arguments, work, asks == Asks::Touches, &mut look)?;
        // What the hook program found behind a text. More of it can only make the outcome stricter.
        if let Some(Value::Object(paths)) = context.get("paths") {
            for path in paths.values().filter_map(Value::as_str) {
                look(path)?;
            }
        }
        if asks == Asks::Above
            && let Some(Value::String(folder)) = context.get("cwd")
        {
            look(folder)?;
        }
        Ok(found)
    }

    /// A word may hold several paths: `--file=.env`, `HEAD:.env`, `@.env`.
    fn has(&self, asks: Asks, word: &str) -> bool {
        let word = lower(word);
        let parts = word.split(['=', ':', '@', ',']);
        let several = word.contains(['=', ':', '@', ',']);
        parts.chain(several.then_some(&*word)).any(|path| {
            let segments: Vec<&str> = climbed(split(path));
            let absolute = path.starts_with('/');
            match asks {
                Asks::Touches => {
                    segments.iter().any(|part| self.is_named(part))
                        || self.entries.iter().any(|entry| entry.touched(absolute, &segments))
                }
                Asks::Above => self.above(path, absolute, &segments),
            }
        })
    }

    fn is_named(&self, part: &str) -> bool {
        // The shell may make a listed name of a pattern such as `.en?`.
        let pattern = part.contains(['*', '?', '[']);
        self.names.contains(part) || (pattern && self.names.iter().any(|name| could_be(part, name)))
    }

    fn above(&self, path: &str, absolute: bool, segments: &[&str]) -> bool {
        let home = match segments {
            [] | ["home" | "users" | "root" | "var"] | ["home" | "users", _] | ["var", "root"] => absolute,
            [one] => one.starts_with('~') && !path.is_empty(),
            _ => false,
        };
        self.entries.iter().any(|entry| match entry.from {
            From::Root => absolute && entry.is_below(segments),
            From::Home => home || (1..entry.segments.len()).any(|length| entry.ends(segments, length)),
            From::Anywhere => false,
        })
    }
}

impl Entry {
    fn fits(&self, at: usize, part: &str) -> bool {
        self.segments.get(at).is_some_and(|(glob, plain)| {
            let pattern = || part.contains(['*', '?', '[']);
            glob.matches(part) || plain.as_ref().is_some_and(|plain| pattern() && could_be(part, plain))
        })
    }

    /// Whether the path is what is listed, or lies in it.
    fn touched(&self, absolute: bool, path: &[&str]) -> bool {
        let fits = |window: &[&str]| window.iter().enumerate().all(|(at, part)| self.fits(at, part));
        let length = self.segments.len();
        match self.from {
            From::Root => absolute && path.get(..length).is_some_and(fits),
            From::Home | From::Anywhere => path.windows(length).any(fits),
        }
    }

    /// Whether what is listed lies below this absolute path.
    fn is_below(&self, path: &[&str]) -> bool {
        path.len() < self.segments.len() && path.iter().enumerate().all(|(at, part)| self.fits(at, part))
    }

    /// Whether the path ends with the first `length` segments.
    fn ends(&self, path: &[&str], length: usize) -> bool {
        path.len()
            .checked_sub(length)
            .and_then(|start| path.get(start..))
            .is_some_and(|end| end.iter().enumerate().all(|(at, part)| self.fits(at, part)))
    }
}

fn split(path: &str) -> impl Iterator<Item = &str> {
    path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".")
}
