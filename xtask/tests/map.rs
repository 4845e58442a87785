//! The map of the project in CONTRIBUTING.md: it must list every tracked folder, and nothing else.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The folders at the top, and the crates, as git tracks them.
fn tracked(root: &Path) -> BTreeSet<String> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output().expect("git starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let files = String::from_utf8(output.stdout).expect("names are UTF-8");
    let folder = |file: &str| {
        let (top, rest) = file.split_once('/')?;
        match top {
            "crates" => Some(format!("crates/{}", rest.split('/').next()?)),
            top => Some(top.to_owned()),
        }
    };
    files.split('\0').filter_map(folder).collect()
}

/// The first column of the map.
fn mapped(text: &str) -> BTreeSet<String> {
    let rows = text.lines().skip_while(|line| *line != "| folder | what |").skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let first = rows.filter_map(|row| row.split('|').nth(1));
    first.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn every_folder_is_on_the_map_and_nothing_else() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let text = std::fs::read_to_string(root.join("CONTRIBUTING.md")).expect("it is there");
    let (tracked, mapped) = (tracked(root), mapped(&text));
    let missing: Vec<_> = tracked.difference(&mapped).collect();
    let gone: Vec<_> = mapped.difference(&tracked).collect();
    assert!(missing.is_empty() && gone.is_empty(), "not on the map: {missing:?}; not there: {gone:?}");
}

#[test]
fn a_row_names_every_folder_of_its_first_cell() {
    let text = "| folder | what |\n| --- | --- |\n| `a`, `crates/b` | `c` |\n\n| `d` | other |\n";
    assert_eq!(mapped(text), ["a", "crates/b"].map(str::to_owned).into());
}
