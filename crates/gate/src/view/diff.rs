//! Line numbers of a change, and what happens to its files.

use placet_core::{DiffLine, DiffRow};

use crate::preview::card::LineSource;

/// The lines with their numbers before and after, where those are known.
pub(super) fn numbered(lines: Vec<DiffLine>, source: LineSource) -> Vec<DiffRow> {
    // The next numbers before and after.
    let mut next: (Option<u32>, Option<u32>) = match source {
        LineSource::Write(_) => (None, Some(1)),
        LineSource::Edit | LineSource::Patch => (None, None),
    };
    lines.into_iter().map(|line| row(line, source, &mut next)).collect()
}

fn row(line: DiffLine, source: LineSource, next: &mut (Option<u32>, Option<u32>)) -> DiffRow {
    let mut take = |before: bool, after: bool| {
        let one = |counts: bool, next: &mut Option<u32>| {
            let number = next.filter(|_| counts)?;
            *next = number.checked_add(1);
            Some(number)
        };
        (one(before, &mut next.0), one(after, &mut next.1))
    };
    let (old, new) = match line.op.as_str() {
        " " => take(true, true),
        "-" => take(true, false),
        "+" => take(false, true),
        "@" if source == LineSource::Patch => {
            // Only the heading of a hunk with numbers says where it begins.
            *next = match hunk(&line.text) {
                Some((old, new)) => (Some(old), Some(new)),
                None if line.text.starts_with("*** Add File: ") => (None, Some(1)),
                None => (None, None),
            };
            (None, None)
        }
        _ => (None, None),
    };
    DiffRow { line, old, new }
}

/// `@@ -3,4 +5,6 @@`: the first lines before and after.
fn hunk(heading: &str) -> Option<(u32, u32)> {
    let (old, rest) = heading.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let first = |side: &str| side.split(',').next()?.parse::<u32>().ok();
    Some((first(old)?, first(new)?))
}

/// What a patch does to its files, if it does the same to all of them.
pub(super) fn change(lines: &[DiffLine]) -> &'static str {
    let mut found: Option<&'static str> = None;
    let mut before = "";
    for line in lines.iter().filter(|line| line.op == "@") {
        let text = line.text.as_str();
        let what = match () {
            () if text.starts_with("+++ ") && before.starts_with("--- /dev/null") => "create",
            () if text.starts_with("+++ /dev/null") => "delete",
            () if text.starts_with("+++ ") || text.starts_with("*** Update File: ") => "edit",
            () if text.starts_with("new file mode ") || text.starts_with("*** Add File: ") => "create",
            () if text.starts_with("deleted file mode ") || text.starts_with("*** Delete File: ") => "delete",
            () if ["rename to ", "copy to ", "new mode ", "*** Move to: "]
                .iter()
                .any(|head| text.starts_with(head)) =>
            {
                "change"
            }
            () => {
                before = text;
                continue;
            }
        };
        before = text;
        if found.is_some_and(|found| found != what) {
            return "change";
        }
        found = Some(what);
    }
    found.unwrap_or("change")
}
