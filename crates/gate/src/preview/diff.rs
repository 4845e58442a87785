//! Changes to a file: an edit, a new text, or a patch.

use placet_core::{DiffLine, Preview, Segment};

use super::{
    args::{Args, Name, PATH},
    patch::Patch,
    text::{clip, count, middle, quoted, value},
};

/// Most lines that a preview has.
const LINES: usize = 400;
/// Longest line of a preview, in characters.
const WIDTH: usize = 1_000;
/// Most lines on each side that are compared.
const COMPARED: usize = 300;

const OLD: &[&str] = &["old_string", "old_str", "old_text", "oldText", "oldString"];
const NEW: &[&str] = &["new_string", "new_str", "new_text", "newText", "newString"];
const TEXT: &[&str] = &["content", "contents", "file_text", "text"];

/// Tools that replace one text by another and do nothing else.
const EDITORS: &[&str] = &[
    "edit",
    "edit_file",
    "file_edit",
    "multi_edit",
    "multi_edit_file",
    "str_replace",
    "str_replace_editor",
    "str_replace_based_edit_tool",
    "string_replace",
    "replace",
    "replace_in_file",
    "replace_string_in_file",
    "search_replace",
    "search_and_replace",
    "update_file",
    "modify_file",
    "edit_block",
    "text_editor",
];
const WRITERS: &[&str] =
    &["write", "write_file", "file_write", "write_to_file", "create_file", "save_file", "overwrite_file"];
const PATCHERS: &[&str] = &["apply_patch", "apply_diff", "patch", "patch_file", "git_apply"];

/// A change to a file.
pub(super) enum Change<'a> {
    Edit { path: &'a str, edits: Vec<(&'a str, &'a str)>, everywhere: bool },
    Write { path: &'a str, text: &'a str },
    Patch { text: &'a str, patch: Option<Patch<'a>>, key: &'a str },
}

impl<'a> Change<'a> {
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        if name.one_of(PATCHERS) {
            let (key, value) = args.maybe(&["patch", "diff", "input"])??;
            let text = value.as_str().filter(|text| !text.trim().is_empty())?;
            args.show_whole(&[Segment::Key(key)], text);
            return Some(Self::Patch { text, patch: Patch::read(text), key });
        }
        let path = args.text(PATH)?;
        if name.one_of(EDITORS)
            && args.all().get("command").and_then(|value| value.as_str()) == Some("create")
        {
            args.maybe(&["command"])?;
            return Some(Self::Write { path, text: args.text(TEXT)? });
        }
        if name.one_of(EDITORS)
            && let Some(edits) = read_edits(args)
        {
            let everywhere = match args.maybe(&["replace_all", "replaceAll"])? {
                None => false,
                Some((_, all)) => all.as_bool()?,
            };
            if args.maybe_text(&["command"])?.is_some_and(|command| command != "str_replace") {
                return None;
            }
            return Some(Self::Edit { path, edits, everywhere });
        }
        if name.one_of(WRITERS) {
            return Some(Self::Write { path, text: args.text(TEXT)? });
        }
        None
    }

    /// The argument with a patch that cannot be taken apart.
    pub(super) fn opaque(&self) -> Option<&'a str> {
        match self {
            Self::Patch { patch: None, key, .. } => Some(key),
            _ => None,
        }
    }

    pub(super) fn effect(&self) -> String {
        let lines = |text: &str| count(ended(text).count(), "line", "lines");
        match self {
            Self::Edit { path, edits, everywhere } => {
                let path = value(&middle(path, 80), 90);
                let all = if *everywhere { ", everywhere" } else { "" };
                match edits.as_slice() {
                    [(old, "")] => format!("edit {path}: remove {}{all}", lines(old)),
                    [("", new)] => format!("edit {path}: add {}{all}", lines(new)),
                    [(old, new)] => {
                        // The next line becomes part of the last one.
                        let end = match (old.ends_with('\n'), new.ends_with('\n')) {
                            (true, false) => ", dropping the last line end",
                            (false, true) => ", adding a line end",
                            _ => "",
                        };
                        let new = ended(new).count();
                        format!("edit {path}: replace {} with {new}{end}{all}", lines(old))
                    }
                    edits => format!("edit {path} in {} places{all}", edits.len()),
                }
            }
            Self::Write { path, text } => {
                format!("write {} to {}", lines(text), value(&middle(path, 110), 120))
            }
            Self::Patch { patch: Some(patch), .. } => format!("patch: {}", patch.effect()),
            Self::Patch { .. } => format!("apply {}", self.facts()),
        }
    }

    pub(super) fn facts(&self) -> String {
        match self {
            Self::Edit { path, .. } | Self::Write { path, .. } => value(&middle(path, 110), 120),
            Self::Patch { patch: Some(patch), .. } => patch.effect(),
            Self::Patch { text, .. } => quoted(&middle(text, 120)),
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
                ended(text).for_each(|line| out.push('+', line));
                out.end(text);
                clip(path, 400)
            }
            Self::Patch { patch: None, .. } => return Preview::Json,
            Self::Patch { text, patch: Some(patch), .. } => {
                patch.lines.iter().for_each(|(op, line)| out.push(*op, line));
                out.end(text);
                patch.names()
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
            // An edit with further arguments is not understood.
            own.unknown().is_empty().then_some((index, pair, own.whole))
        })
        .collect::<Option<_>>()?;
    let mut out = Vec::new();
    for (index, pair, whole) in pairs {
        args.whole.extend(whole.into_iter().map(|value| value.under(&format!("/edits/{index}"))));
        out.push(pair);
    }
    Some(out)
}

/// The lines of a text, each with its end. Only the last one may have none.
fn ended(text: &str) -> impl Iterator<Item = &str> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let none = text.is_empty();
    body.split('\n').filter(move |_| !none)
}

/// The lines of a text that begins and ends inside a line: joined with line ends they are the text again.
fn pieces(text: &str) -> Vec<&str> {
    if text.is_empty() { Vec::new() } else { text.split('\n').collect() }
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

    /// Marks a last line without an end.
    fn end(&mut self, text: &str) {
        if !text.is_empty() && !text.ends_with('\n') {
            self.push('\\', "no line end here");
        }
    }
}

/// Removed and added lines. Long texts are not compared: all of one is removed, all of the other is added.
fn compare(old: &str, new: &str, out: &mut Lines) {
    let (old, new) = (pieces(old), pieces(new));
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
        assert_eq!(drawn("a\nb\nc\n", "a\nx\nc\n"), " a|-b|+x| c| ");
        assert_eq!(drawn("", "a\n"), "+a|+");
        assert_eq!(drawn("a", ""), "-a");
        assert_eq!(drawn("a\n\nb", "a\n\nb"), " a| | b");
        // Only the line end is removed: the next line becomes part of this one.
        assert_eq!(drawn("# a\n", "# a"), " # a|-");
    }

    #[test]
    fn both_sides_of_any_comparison_can_be_read_back() {
        for (old, new) in [
            ("a\nb\na\nc", "b\na\nb"),
            ("x\nx\nx", "x"),
            ("1\n2\n3", "3\n2\n1"),
            ("a\n", "a"),
            ("\n", "a\n\n"),
        ] {
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
