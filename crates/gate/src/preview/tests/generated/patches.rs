//! Patches, judged by `git apply`: the files that it would change, and how.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::json;

use super::{
    super::{super::effect_of, object},
    Dice, size,
};

/// One part of a patch.
fn part(dice: &mut Dice, file: &str) -> String {
    let mut out = format!("diff --git a/{file} b/{file}\n");
    match dice.below(8) {
        0 => out.push_str("deleted file mode 100644\n--- a/@\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n"),
        1 => out.push_str("new file mode 100644\n--- /dev/null\n+++ b/@\n@@ -0,0 +1,2 @@\n+one\n+++ two\n"),
        2 => out.push_str("old mode 100644\nnew mode 100755\n"),
        3 => {
            let to = format!("moved-{file}");
            out = format!("diff --git a/{file} b/{to}\nsimilarity index 100%\nrename from {file}\nrename to {to}\n");
        }
        4 => out.push_str("new file mode 120000\n--- /dev/null\n+++ b/@\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n"),
        5 => out.push_str("--- a/@\n+++ b/@\n@@ -1,3 +1,3 @@\n one\n--- two\n++++ two\n three\n"),
        6 => out.push_str("old mode 100644\nnew mode 100755\n--- a/@\n+++ b/@\n@@ -1 +1 @@\n-one\n+two\n"),
        _ => {
            let _ = write!(out, "--- a/@\n+++ b/@\n@@ -{0},2 +{0},2 @@ fn x()\n one\n-two\n+2\n", dice.below(90) + 1);
        }
    }
    out.replace('@', file).replace(&format!("{file}{file}"), "@@")
}

/// A patch, and sometimes one that no program reads as it looks.
fn patch(dice: &mut Dice) -> String {
    let names = ["a.txt", "src/b.rs", "c d.txt", "e/f/g.sh", "--- x", "z"];
    let first = dice.below(names.len());
    let mut text = String::new();
    for index in 0..=dice.below(3) {
        text.push_str(&part(dice, names[(first + index) % names.len()]));
    }
    match dice.below(10) {
        0 => text.insert_str(0, "Please apply this:\n"),
        1 => text.push_str("+one more\n"),
        2 => text = text.replacen(",2 @@", ",7 @@", 1),
        3 => text = text.replace('\n', "\r\n"),
        4 => text = text.replacen("+++ b/", "+++ b/other/", 1),
        5 => text.push_str("diff --git a/bin b/bin\nGIT binary patch\nliteral 0\n"),
        _ => {}
    }
    text
}

/// What `git apply` would change: each file, and the words of its summary.
fn judged(text: &str) -> Option<BTreeSet<(String, &'static str)>> {
    let mut child = Command::new("git")
        .args(["apply", "--numstat", "--summary", "-z", "-"])
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    if !out.status.success() {
        return None;
    }
    let text = String::from_utf8(out.stdout).unwrap();
    let mut found = BTreeSet::new();
    for line in text.split(['\0', '\n']).filter(|line| !line.is_empty()) {
        if let Some(rest) = line.strip_prefix(' ') {
            let words: Vec<&str> = rest.splitn(4, ' ').collect();
            match words.as_slice() {
                ["create", "mode", "120000", name] => found.insert(((*name).to_owned(), "link")),
                ["create", "mode", _, name] => found.insert(((*name).to_owned(), "create")),
                ["delete", "mode", _, name] => found.insert(((*name).to_owned(), "delete")),
                ["mode", "change", ..] => {
                    let name = rest.splitn(6, ' ').nth(5).unwrap_or_default();
                    found.insert((name.to_owned(), "chmod"))
                }
                ["rename", ..] => found.insert((String::new(), "rename")),
                _ => false,
            };
        } else if let [_, _, name] = line.split('\t').collect::<Vec<_>>().as_slice() {
            found.insert(((*name).to_owned(), ""));
        }
    }
    Some(found)
}

#[test]
fn what_is_said_of_a_patch_is_what_git_would_change() {
    let mut dice = Dice(17);
    let (mut read, mut opaque, mut refused, mut wrong) = (0, 0, 0, Vec::new());
    for _ in 0..size() {
        let text = patch(&mut dice);
        let said = effect_of("apply_patch", &object(json!({ "patch": text })));
        if said.starts_with("Unclear, cannot be taken apart") {
            opaque += 1;
            continue;
        }
        let Some(found) = judged(&text) else {
            refused += 1;
            continue;
        };
        read += 1;
        let cut = said.contains('…') || said.contains(" more");
        for (name, does) in &found {
            if !cut && (!said.contains(name.as_str()) || !said.to_lowercase().contains(does)) {
                wrong.push(format!("{text}\ngit: {does} {name}, and it reads {said}"));
            }
        }
        for does in ["delete ", "create ", "chmod ", "rename ", "link "] {
            let said_so = said
                .to_lowercase()
                .split([':', ';'])
                .any(|part| part.trim_start().starts_with(does) || part.contains(&format!(" and {does}")));
            if said_so
                && !found.iter().any(|(_, known)| known == &does.trim())
                && !(does == "create " && found.iter().any(|(_, known)| *known == "link"))
            {
                wrong.push(format!("{text}\ngit does not {does}: {found:?}, and it reads {said}"));
            }
        }
    }
    println!("patches: {read} judged by git, {opaque} not taken apart, {refused} refused by git");
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), size(), wrong.join("\n\n"));
    assert!(read * 3 >= size() && opaque > 0, "{read} read, {opaque} opaque, {refused} refused");
}
