//! Names of protected files, in the form of `[paths]` of a policy: `.env` anywhere, `~/.ssh` in a home, `/etc/shadow`.

use std::{
    collections::HashSet,
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Component, Path},
};

/// Where a pattern begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// At the root.
    Root,
    /// In any home folder.
    Home,
    /// Anywhere.
    Anywhere,
}

/// One entry, as its segments in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) from: From,
    pub(crate) segments: Vec<Vec<u8>>,
    /// The same as it was written, to look for it on the disk.
    pub(crate) written: Vec<String>,
}

impl Pattern {
    /// Reads one entry. `*` and `?` are the only signs with a meaning.
    pub(crate) fn read(text: &str) -> Result<Self, &'static str> {
        let (from, rest) = if let Some(rest) = text.strip_prefix("~/") {
            (From::Home, rest)
        } else if let Some(rest) = text.strip_prefix('/') {
            (From::Root, rest)
        } else {
            (From::Anywhere, text)
        };
        if text.contains(['[', ']', '{', '}', '\0', '\\']) {
            return Err("only `*` and `?` stand for other characters");
        }
        let segments: Vec<Vec<u8>> = rest.split('/').map(|part| lower(part.as_bytes())).collect();
        if segments.len() > 16 {
            return Err("it has more than 16 parts");
        }
        if segments.iter().any(|part| part.is_empty() || part == b"." || part == b".." || part == b"**") {
            return Err("every part has a name");
        }
        Ok(Self { from, segments, written: rest.split('/').map(str::to_owned).collect() })
    }

    /// Whether the pattern stands for exactly this path; case does not count, as in a policy.
    fn matches(&self, path: &[Vec<u8>], homes: &Homes) -> bool {
        let tail = match self.from {
            From::Root => path,
            From::Home => match homes.below(path) {
                Some(below) => below,
                None => return false,
            },
            From::Anywhere => match path.len().checked_sub(self.segments.len()) {
                Some(start) => &path[start..],
                None => return false,
            },
        };
        tail.len() == self.segments.len()
            && self.segments.iter().zip(tail).all(|(pattern, part)| glob(pattern, part))
    }

    /// Whether the pattern stands for something below this path.
    fn begins(&self, path: &[Vec<u8>], homes: &Homes) -> bool {
        let alike =
            |tail: &[Vec<u8>]| self.segments.iter().zip(tail).all(|(pattern, part)| glob(pattern, part));
        let shorter = |tail: &[Vec<u8>]| tail.len() < self.segments.len() && alike(tail);
        match self.from {
            From::Root => shorter(path),
            From::Home => homes.below(path).is_some_and(shorter),
            From::Anywhere => (1..self.segments.len())
                .any(|length| path.len().checked_sub(length).is_some_and(|start| alike(&path[start..]))),
        }
    }
}

/// Which folders are home folders.
#[derive(Debug, Clone)]
pub(crate) struct Homes {
    own: Vec<Vec<u8>>,
}

impl Homes {
    pub(crate) fn new(home: &Path) -> Self {
        Self { own: split(home) }
    }

    /// What follows the home folder in a path.
    fn below<'a>(&self, path: &'a [Vec<u8>]) -> Option<&'a [Vec<u8>]> {
        if let Some(rest) = path.strip_prefix(self.own.as_slice()) {
            return Some(rest);
        }
        match path.first().map(Vec::as_slice) {
            Some(b"root") => path.get(1..),
            Some(b"home" | b"users") => path.get(2..),
            _ => None,
        }
    }
}

/// A list of patterns, quick to ask about every file of a folder.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    /// Single names without signs, which is most of them.
    plain: HashSet<Vec<u8>>,
    /// Single names with signs.
    globs: Vec<Vec<u8>>,
    /// Everything else.
    longer: Vec<Pattern>,
    homes: Homes,
}

impl Names {
    /// The patterns were checked before; one that cannot be read is an error all the same.
    pub(crate) fn new(list: &[String], home: &Path) -> Result<Self, &'static str> {
        let mut names =
            Self { plain: HashSet::new(), globs: Vec::new(), longer: Vec::new(), homes: Homes::new(home) };
        for text in list {
            let mut pattern = Pattern::read(text)?;
            if pattern.from == From::Anywhere && pattern.segments.len() == 1 {
                let name = pattern.segments.swap_remove(0);
                if name.contains(&b'*') || name.contains(&b'?') {
                    names.globs.push(name);
                } else {
                    names.plain.insert(name);
                }
            } else {
                names.longer.push(pattern);
            }
        }
        Ok(names)
    }

    /// Whether a file has a protected name. `above` are the parts of its folder, `name` its own, both in lower case.
    pub(crate) fn has(&self, above: &mut Vec<Vec<u8>>, name: &[u8]) -> bool {
        if self.plain.contains(name) || self.globs.iter().any(|pattern| glob(pattern, name)) {
            return true;
        }
        // The last part decides most of these without a copy.
        let mut likely =
            self.longer.iter().filter(|pattern| pattern.segments.last().is_some_and(|last| glob(last, name)));
        let Some(first) = likely.next() else { return false };
        above.push(name.to_vec());
        let is =
            first.matches(above, &self.homes) || likely.any(|pattern| pattern.matches(above, &self.homes));
        above.pop();
        is
    }

    /// Whether a name of several parts can begin with this one.
    pub(crate) fn leads(&self, above: &mut Vec<Vec<u8>>, name: &[u8]) -> bool {
        above.push(name.to_vec());
        let leads = self.longer.iter().any(|pattern| pattern.begins(above, &self.homes));
        above.pop();
        leads
    }

    /// Patterns that begin at the root or in a home: where to look outside the workspace.
    pub(crate) fn anchored(&self) -> impl Iterator<Item = &Pattern> {
        self.longer.iter().filter(|pattern| pattern.from != From::Anywhere)
    }
}

pub(crate) fn lower(bytes: &[u8]) -> Vec<u8> {
    // Unicode folding is for names that are text; others have none.
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.is_ascii() => text.to_lowercase().into_bytes(),
        _ => bytes.to_ascii_lowercase(),
    }
}

/// The parts of an absolute path in lower case.
pub(crate) fn split(path: &Path) -> Vec<Vec<u8>> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(lower(OsStr::as_bytes(name))),
            _ => None,
        })
        .collect()
}

/// `*` for any characters, `?` for one. Linear but for the last star.
pub(crate) fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, from));
            at += 1;
        } else if pattern.get(at).is_some_and(|sign| *sign == b'?' || *sign == text[from]) {
            at += 1;
            from += 1;
        } else if let Some((sign, seen)) = star {
            at = sign + 1;
            from = seen + 1;
            star = Some((sign, seen + 1));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|sign| *sign == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(list: &[&str], path: &str) -> bool {
        let list: Vec<String> = list.iter().map(|name| (*name).to_owned()).collect();
        let names = Names::new(&list, Path::new("/srv/people/ada")).unwrap();
        let mut above = split(Path::new(path));
        let name = above.pop().unwrap();
        names.has(&mut above, &name)
    }

    #[test]
    fn a_name_stands_anywhere_and_case_does_not_count() {
        assert!(has(&[".env"], "/w/p/a/.env") && has(&["claude.md"], "/w/CLAUDE.md"));
        assert!(has(&["id_rsa*"], "/w/id_rsa.pub") && has(&["*.pem"], "/w/x/k.PEM"));
        assert!(!has(&[".env"], "/w/.env.example") && !has(&["*.pem"], "/w/pem"));
        assert!(has(&[".github/workflows"], "/w/p/.github/workflows"));
        assert!(!has(&[".github/workflows"], "/w/p/workflows"));
    }

    #[test]
    fn a_tilde_is_any_home_and_a_slash_the_root() {
        for home in ["/root", "/home/bob", "/Users/eve", "/srv/people/ada"] {
            assert!(has(&["~/.ssh"], &format!("{home}/.ssh")), "{home}");
        }
        assert!(!has(&["~/.ssh"], "/w/.ssh") && !has(&["~/.ssh"], "/home/bob/x/.ssh"));
        assert!(has(&["/etc/shadow*"], "/etc/shadow-") && !has(&["/etc/shadow*"], "/w/etc/shadow"));
    }

    #[test]
    fn malformed_patterns_are_refused() {
        for bad in ["", "/", "~/", "a//b", "..", "a/../b", "[ab]", "{a,b}", "**", "a/**/b", "a\\b"] {
            assert!(Pattern::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn stars_match_as_in_a_shell() {
        assert!(glob(b"a*b*c", b"axxbyyc") && glob(b"*", b"") && glob(b"a?c", b"abc"));
        assert!(!glob(b"a*b", b"axc") && !glob(b"a?c", b"ac") && !glob(b"", b"a"));
    }
}
