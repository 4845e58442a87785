//! Patches, line by line: hunks by their counts, and everything else that a patch does to a file.
//!
//! A patch with a line that is not understood is not taken apart: its text is shown as it is.

use super::text::{join, list, middle};

/// One line of a patch: its sign and its text. Headings have the sign `@`.
pub(super) type Line<'a> = (char, &'a str);

/// What a patch does to a file, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileChange {
    Delete,
    Link,
    Mode,
    Rename,
    Copy,
    Create,
    Change,
}

/// A patch that was understood completely.
#[derive(Debug, Default)]
pub(super) struct Patch<'a> {
    pub(super) lines: Vec<Line<'a>>,
    /// The files, each with everything that happens to it.
    files: Vec<(String, Vec<FileChange>)>,
    /// Whether a file loses or has no line end at its end.
    open_end: bool,
}

impl<'a> Patch<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
        let mut patch = Self::default();
        if lines.first() == Some(&"*** Begin Patch") {
            patch.envelope(&lines)?;
        } else {
            patch.unified(&lines)?;
        }
        (!patch.files.is_empty()).then_some(patch)
    }

    /// The file of the lines before.
    fn file(&mut self, name: impl Into<String>, does: FileChange) {
        let name = name.into();
        match self.files.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => all.extend((!all.contains(&does)).then_some(does)),
            None => self.files.push((name, vec![does])),
        }
    }

    /// `*** Update File:` and its like.
    fn envelope(&mut self, lines: &[&'a str]) -> Option<()> {
        let [_, body @ .., "*** End Patch"] = lines else { return None };
        self.lines.push(('@', lines.first()?));
        let mut current: Option<(String, FileChange)> = None;
        for line in body {
            let heads = [
                ("*** Add File: ", FileChange::Create),
                ("*** Update File: ", FileChange::Change),
                ("*** Delete File: ", FileChange::Delete),
            ];
            let head = heads.iter().find_map(|(start, does)| Some((line.strip_prefix(start)?, *does)));
            if let Some((name, does)) = head {
                let name = clean(name)?;
                self.file(name, does);
                current = Some((name.to_owned(), does));
                self.lines.push(('@', line));
                continue;
            }
            if let Some(name) = line.strip_prefix("*** Move to: ") {
                let (from, FileChange::Change) = current.clone()? else { return None };
                self.file(format!("{from} to {}", clean(name)?), FileChange::Rename);
                self.lines.push(('@', line));
                continue;
            }
            let (_, does) = current.as_ref()?;
            match (does, line.chars().next()) {
                (FileChange::Change, Some('@')) if line.starts_with("@@") => self.lines.push(('@', line)),
                (FileChange::Change, _) if *line == "*** End of File" => self.lines.push(('@', line)),
                (FileChange::Change, Some(op @ (' ' | '+' | '-'))) | (FileChange::Create, Some(op @ '+')) => {
                    self.lines.push((op, line.get(1..)?));
                }
                _ => return None,
            }
        }
        self.lines.push(('@', lines.last()?));
        Some(())
    }

    /// The formats of `diff` and `git`.
    fn unified(&mut self, lines: &[&'a str]) -> Option<()> {
        let mut rest = lines.iter().copied().peekable();
        let mut old: Option<&str> = None;
        // The name on the line `diff --git`, for files that change without a hunk.
        let mut named: Option<&str> = None;
        let mut current: Option<String> = None;
        let mut moved: Option<&str> = None;
        while let Some(line) = rest.next() {
            if let Some(counts) = line.strip_prefix("@@ -") {
                current.as_ref()?;
                self.lines.push(('@', line));
                let (mut goes, mut comes) = counts_of(counts)?;
                while goes > 0 || comes > 0 {
                    let line = rest.next()?;
                    match line.chars().next() {
                        Some('-') => goes = goes.checked_sub(1)?,
                        Some('+') => comes = comes.checked_sub(1)?,
                        Some(' ') => {
                            goes = goes.checked_sub(1)?;
                            comes = comes.checked_sub(1)?;
                        }
                        Some('\\') => {}
                        _ => return None,
                    }
                    self.body(line)?;
                }
                while rest.peek().is_some_and(|line| line.starts_with('\\')) {
                    self.body(rest.next()?)?;
                }
                continue;
            }
            self.lines.push(('@', line));
            if let Some(names) = line.strip_prefix("diff --git ") {
                // The second name counts. It is clear only if there is exactly one place where it can begin.
                let (_, name) = names.strip_prefix("a/")?.split_once(" b/")?;
                named = Some(clean(name).filter(|name| !name.contains(" b/"))?);
                (old, current, moved) = (None, None, None);
            } else if let Some(name) = line.strip_prefix("--- ") {
                old = Some(name);
            } else if let Some(name) = line.strip_prefix("+++ ") {
                current = Some(self.pair(old.take()?, name, moved.is_some())?);
            } else if line.starts_with("deleted file mode ") {
                self.file(named?, FileChange::Delete);
            } else if let Some(mode) = line.strip_prefix("new file mode ") {
                self.file(named?, if mode == "120000" { FileChange::Link } else { FileChange::Create });
            } else if let Some(mode) = line.strip_prefix("new mode ") {
                self.file(named?, if mode == "120000" { FileChange::Link } else { FileChange::Mode });
            } else if let Some(from) =
                line.strip_prefix("rename from ").or_else(|| line.strip_prefix("copy from "))
            {
                moved = Some(clean(from)?);
            } else if let Some(to) = line.strip_prefix("rename to ") {
                self.file(format!("{} to {}", moved?, clean(to)?), FileChange::Rename);
            } else if let Some(to) = line.strip_prefix("copy to ") {
                self.file(format!("{} to {}", moved?, clean(to)?), FileChange::Copy);
            } else if let Some(index) = line.strip_prefix("index ") {
                if index.ends_with(" 120000") {
                    self.file(named?, FileChange::Link);
                }
            } else if !line.starts_with("old mode ") && !line.starts_with("similarity index ") {
                return None;
            }
        }
        // A name whose other half never came.
        old.is_none().then_some(())
    }

    fn body(&mut self, line: &'a str) -> Option<()> {
        let op = line.chars().next()?;
        self.open_end |= op == '\\';
        self.lines.push(if op == '\\' { ('@', line) } else { (op, line.get(1..)?) });
        Some(())
    }

    /// The file of a pair of header lines.
    fn pair(&mut self, old: &str, new: &str, moved: bool) -> Option<String> {
        let old = clean(old.split('\t').next()?)?;
        let new = clean(new.split('\t').next()?)?;
        let strip = |name: &'_ str, side: &str| name.strip_prefix(side).map(str::to_owned);
        let (name, does) = match (old, new) {
            ("/dev/null", "/dev/null") => return None,
            ("/dev/null", new) => (strip(new, "b/").unwrap_or_else(|| new.to_owned()), FileChange::Create),
            (old, "/dev/null") => (strip(old, "a/").unwrap_or_else(|| old.to_owned()), FileChange::Delete),
            (old, new) => match (strip(old, "a/"), strip(new, "b/")) {
                (Some(a), Some(b)) if a == b || moved => (b, FileChange::Change),
                (None, None) if old == new => (old.to_owned(), FileChange::Change),
                // Programs do not agree on which of two names counts.
                _ => return None,
            },
        };
        self.file(name.clone(), does);
        Some(name)
    }

    pub(super) fn names(&self) -> String {
        list(self.files.iter().map(|(name, _)| name.as_str()), 380)
    }

    /// What happens to which files, the gravest first.
    pub(super) fn effect(&self) -> String {
        let mut files: Vec<(&String, &Vec<FileChange>)> =
            self.files.iter().map(|(name, does)| (name, does)).collect();
        files.sort_by_key(|(_, does)| does.iter().min().copied().unwrap_or(FileChange::Change));
        let said: Vec<String> = files
            .iter()
            .map(|(name, does)| {
                let mut does: Vec<FileChange> = (*does).clone();
                does.sort_unstable();
                let words: Vec<&str> = does.iter().map(|does| word(*does)).collect();
                format!("{} {}", words.join(" and "), middle(name, 60))
            })
            .collect();
        let end = if self.open_end { " (without a line end at the end)" } else { "" };
        format!("{}{end}", join(&said, "; ", 120))
    }
}

fn word(does: FileChange) -> &'static str {
    match does {
        FileChange::Delete => "delete",
        FileChange::Link => "link",
        FileChange::Mode => "chmod",
        FileChange::Rename => "rename",
        FileChange::Copy => "copy",
        FileChange::Create => "create",
        FileChange::Change => "change",
    }
}

/// A name as it stands; quotes and blanks at its ends mean different things to different programs.
fn clean(name: &str) -> Option<&str> {
    (!name.is_empty() && name.trim() == name && !name.starts_with('"') && !name.ends_with('\r'))
        .then_some(name)
}

/// `1,3 +1,2 @@ ...`: how many lines go or stay, and how many come or stay.
fn counts_of(text: &str) -> Option<(usize, usize)> {
    let (old, rest) = text.split_once(" +")?;
    let (new, after) = rest.split_once(" @@")?;
    (after.is_empty() || after.starts_with(' ')).then_some(())?;
    let count = |side: &str| match side.split_once(',') {
        None => side.parse::<u32>().ok().map(|_| 1),
        Some((line, count)) => {
            line.parse::<u32>().ok()?;
            count.parse::<usize>().ok()
        }
    };
    Some((count(old)?, count(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(text: &str) -> Option<String> {
        let patch = Patch::read(text)?;
        // What is drawn is the text, line by line.
        let drawn: Vec<String> = patch
            .lines
            .iter()
            .map(|(op, line)| if *op == '@' { (*line).to_owned() } else { format!("{op}{line}") })
            .collect();
        assert_eq!(drawn.join("\n"), text.strip_suffix('\n').unwrap_or(text));
        Some(patch.effect())
    }

    #[test]
    fn everything_that_happens_to_a_file_is_named() {
        for (text, expected) in [
            ("--- a/x.c\n+++ b/x.c\n@@ -1 +1 @@\n-1\n+2\n", "change x.c"),
            ("--- /dev/null\n+++ b/y.c\n@@ -0,0 +1 @@\n+3\n", "create y.c"),
            ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n", "delete x"),
            ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "chmod x"),
            ("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", "rename x to y"),
            (
                "diff --git a/l b/l\nnew file mode 120000\nindex 0000000..e69de29\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n",
                "link and create l (without a line end at the end)",
            ),
            ("diff --git a/x b/x\ndeleted file mode 100644\nindex e69de29..0000000\n", "delete x"),
            (
                "diff --git a/x b/y\nold mode 100644\nnew mode 100755\nsimilarity index 90%\nrename from x\nrename to y\nindex 1..2\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-1\n+2\n",
                "chmod and change y; rename x to y",
            ),
            (
                "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Delete File: b\n*** End Patch",
                "delete b; change a",
            ),
        ] {
            assert_eq!(effect(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn lines_of_a_hunk_are_told_from_headings_by_their_number() {
        let text = "--- a/x.sh\n+++ b/x.sh\n@@ -1,3 +1,2 @@\n run \\\n---dry-run \\\n-++a\n+++admin;\n";
        let patch = Patch::read(text).unwrap();
        let signs: String = patch.lines.iter().map(|(op, _)| *op).collect();
        assert_eq!(signs, "@@@ --+");
        assert_eq!(patch.lines.get(4), Some(&('-', "--dry-run \\")));
    }

    #[test]
    fn a_patch_that_is_not_understood_to_its_end_is_not_taken_apart() {
        for text in [
            "hello",
            "a note\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n",
            "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-1\n+2\n",
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n+3\n",
            "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-1\n+2\n",
            "diff --git a/x b/x\nGIT binary patch\n",
            "--- a/x\n",
            "*** Begin Patch\n*** Update File: a\nx\n*** End Patch",
            "*** Begin Patch\n*** Run: rm\n*** End Patch",
        ] {
            assert!(Patch::read(text).is_none(), "{text}");
        }
    }
}
