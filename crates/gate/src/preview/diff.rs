//! Changes to a file: an edit, a whole new text, or a patch.

use placet_core::{DiffLine, Preview};

use super::{
    args::{Args, Name, PATH},
    text::{clip, count, value},
};

/// Most lines that a preview has.
const LINES: usize = 400;
/// Longest line of a preview, in characters.
const WIDTH: usize = 1_000;
/// Most lines on either side that are compared with each other.
const COMPARED: usize = 300;

const OLD: &[&str] = &["old_string", "old_str", "old_text", "oldText", "oldString"];
const NEW: &[&str] = &["new_string", "new_str", "new_text", "newText", "newString"];
const TEXT: &[&str] = &["content", "contents", "file_text", "text"];

/// A change to a file.
pub(super) enum Change<'a> {
    Edit { path: &'a str, edits: Vec<(&'a str, &'a str)>, everywhere: bool },
    Write { path: &'a str, text: &'a str },
    Patch { text: &'a str, files: Vec<&'a str> },
}

impl<'a> Change<'a> {
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        if name.has(&["patch", "diff"]) && name.has(&["apply", "patch"]) {
            let text = args.text(&["patch", "diff", "input"])?;
            let files = files(text)?;
            return Some(Self::Patch { text, files });
        }
        let path = args.text(PATH)?;
        let edits = name.has(&["edit", "replace", "update", "modify"]) || name.is(&["multi", "edit"]);
        if edits && let Some(edits) = read_edits(args) {
            let everywhere = match args.maybe(&["replace_all", "replaceAll"])? {
                None => false,
                Some((_, all)) => all.as_bool()?,
            };
            return Some(Self::Edit { path, edits, everywhere });
        }
        if name.has(&["write", "save", "create", "overwrite"]) && (name.has(&["file"]) || name.is(&["write"]))
        {
            return Some(Self::Write { path, text: args.text(TEXT)? });
        }
        None
    }

    pub(super) fn effect(&self) -> String {
        let lines = |text: &str| count(split(text).count(), "line", "lines");
        match self {
            Self::Edit { path, edits, everywhere } => {
                let path = value(path, 90);
                let all = if *everywhere { ", everywhere" } else { "" };
                match edits.as_slice() {
                    [(old, "")] => format!("Edit {path}: remove {}{all}", lines(old)),
                    [("", new)] => format!("Edit {path}: add {}{all}", lines(new)),
                    [(old, new)] => {
                        let new = split(new).count();
                        format!("Edit {path}: replace {} with {new}{all}", lines(old))
                    }
                    edits => format!("Edit {path} in {} places{all}", edits.len()),
                }
            }
            Self::Write { path, text } => format!("Write {} to {}", lines(text), value(path, 120)),
            Self::Patch { files, .. } => {
                let names = super::text::list(files.iter().copied(), 120);
                format!("Patch {}: {names}", count(files.len(), "file", "files"))
            }
        }
    }

    pub(super) fn preview(&self) -> Preview {
        let mut out = Lines { lines: Vec::new(), truncated: false };
        let path = match self {
            Self::Edit { path, edits, .. } => {
                for (index, (old, new)) in edits.iter().enumerate() {
                    if edits.len() > 1 {
                        out.push('@', &format!("place {} of {}", index.saturating_add(1), edits.len()));
                    }
                    compare(old, new, &mut out);
                }
                clip(path, 400)
            }
            Self::Write { path, text } => {
                split(text).for_each(|line| out.push('+', line));
                clip(path, 400)
            }
            Self::Patch { text, files } => {
                for line in split(text) {
                    let header = line.starts_with("+++") || line.starts_with("---");
                    match line.chars().next() {
                        Some(op @ ('+' | '-')) if !header => out.push(op, line.get(1..).unwrap_or("")),
                        Some(' ') => out.push(' ', line.get(1..).unwrap_or("")),
                        _ => out.push(' ', line),
                    }
                }
                super::text::list(files.iter().copied(), 400)
            }
        };
        Preview::Diff { path, lines: out.lines, truncated: out.truncated }
    }
}

/// The replacements of an edit, one or several.
fn read_edits<'a>(args: &mut Args<'a>) -> Option<Vec<(&'a str, &'a str)>> {
    let Some((_, several)) = args.maybe(&["edits"])? else {
        return Some(vec![(args.text(OLD)?, args.text(NEW)?)]);
    };
    let edits = several.as_array().filter(|edits| !edits.is_empty())?;
    let pairs: Vec<_> = edits
        .iter()
        .enumerate()
        .map(|(index, edit)| {
            let mut own = Args::new(edit.as_object()?);
            let pair = (own.text(OLD)?, own.text(NEW)?);
            // An edit that says more than this is not known here.
            own.unknown().is_empty().then_some((index, pair, own.claims))
        })
        .collect::<Option<_>>()?;
    let mut out = Vec::new();
    for (index, pair, claims) in pairs {
        args.claims.extend(claims.into_iter().map(|claim| claim.under(&format!("/edits/{index}"))));
        out.push(pair);
    }
    Some(out)
}

/// The files that a patch names, in either of two notations; nothing where there is none.
fn files(text: &str) -> Option<Vec<&str>> {
    let mut files: Vec<&str> = Vec::new();
    for line in split(text) {
        let starts =
            ["+++ ", "--- ", "*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
        let Some(name) = starts.iter().find_map(|start| line.strip_prefix(start)) else { continue };
        let name = name.split('\t').next().unwrap_or(name).trim();
        let name = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
        if name != "/dev/null" && !files.contains(&name) {
            files.push(name);
        }
    }
    (!files.is_empty()).then_some(files)
}

/// The lines of a text; one that ends with a line end has no empty line after it.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let none = text.is_empty();
    body.split('\n').filter(move |_| !none)
}

struct Lines {
    lines: Vec<DiffLine>,
    truncated: bool,
}

impl Lines {
    fn push(&mut self, op: char, text: &str) {
        if self.lines.len() >= LINES {
            self.truncated = true;
            return;
        }
        self.truncated |= text.chars().nth(WIDTH).is_some();
        self.lines.push(DiffLine { op: op.to_string(), text: clip(text, WIDTH) });
    }
}

/// What goes and what comes, line by line. Long texts are not compared: all of one goes, all of the other comes.
fn compare(old: &str, new: &str, out: &mut Lines) {
    let (old, new): (Vec<&str>, Vec<&str>) = (split(old).collect(), split(new).collect());
    if old.len() > COMPARED || new.len() > COMPARED {
        for (op, lines) in [('-', &old), ('+', &new)] {
            for line in lines {
                out.push(op, line);
            }
        }
        return;
    }
    // common[i][j]: how many lines the rests from i and j on have in common, in order.
    let width = new.len().saturating_add(1);
    let mut common = vec![0_u32; width.saturating_mul(old.len().saturating_add(1))];
    let at = |i: usize, j: usize| i.saturating_mul(width).saturating_add(j);
    let get = |common: &[u32], i: usize, j: usize| common.get(at(i, j)).copied().unwrap_or(0);
    for (i, before) in old.iter().enumerate().rev() {
        for (j, after) in new.iter().enumerate().rev() {
            let best = if before == after {
                get(&common, i + 1, j + 1) + 1
            } else {
                get(&common, i + 1, j).max(get(&common, i, j + 1))
            };
            if let Some(cell) = common.get_mut(at(i, j)) {
                *cell = best;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    loop {
        match (old.get(i), new.get(j)) {
            (Some(before), Some(after)) if before == after => {
                out.push(' ', before);
                i += 1;
                j += 1;
            }
            (Some(before), after) if after.is_none() || get(&common, i + 1, j) >= get(&common, i, j + 1) => {
                out.push('-', before);
                i += 1;
            }
            (_, Some(after)) => {
                out.push('+', after);
                j += 1;
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(old: &str, new: &str) -> String {
        let mut out = Lines { lines: Vec::new(), truncated: false };
        compare(old, new, &mut out);
        out.lines.iter().map(|line| format!("{}{}", line.op, line.text)).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn lines_that_stay_are_kept_and_the_rest_goes_and_comes() {
        assert_eq!(drawn("a\nb\nc\n", "a\nx\nc\n"), " a|-b|+x| c");
        assert_eq!(drawn("", "a\n"), "+a");
        assert_eq!(drawn("a", ""), "-a");
        assert_eq!(drawn("a\n\nb", "a\n\nb"), " a| | b");
    }

    #[test]
    fn both_sides_of_any_comparison_can_be_read_back() {
        for (old, new) in [("a\nb\na\nc", "b\na\nb"), ("x\nx\nx", "x"), ("1\n2\n3", "3\n2\n1")] {
            let mut out = Lines { lines: Vec::new(), truncated: false };
            compare(old, new, &mut out);
            let side = |op: &str| {
                let lines = out.lines.iter().filter(|line| line.op == " " || line.op == op);
                lines.map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
            };
            assert_eq!((side("-").as_str(), side("+").as_str()), (old, new));
        }
    }

    #[test]
    fn what_is_too_long_to_show_says_so() {
        let long = "x\n".repeat(1_000);
        let Preview::Diff { lines, truncated, .. } = (Change::Write { path: "p", text: &long }).preview()
        else {
            panic!("a diff")
        };
        assert_eq!((lines.len(), truncated), (LINES, true));
    }
}
