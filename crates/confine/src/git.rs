//! Linked worktrees of git: their objects and references lie in another folder, which a commit must write.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Longest file of git's that is read here.
const LONGEST: u64 = 4096;

/// The shared git folder of a linked worktree, if it agrees: it must name this worktree in turn.
///
/// A `.git` file in the workspace alone proves nothing: whoever wrote it could name any repository.
pub(crate) fn common(root: &Path) -> Option<PathBuf> {
    let link = root.join(".git");
    let text = read(&link)?;
    let folder = PathBuf::from(text.trim_end().strip_prefix("gitdir: ")?);
    let folder = fs::canonicalize(if folder.is_absolute() { folder } else { root.join(folder) }).ok()?;
    let back = PathBuf::from(read(&folder.join("gitdir"))?.trim_end());
    let back = if back.is_absolute() { back } else { folder.join(back) };
    if fs::canonicalize(back).ok()? != link {
        return None;
    }
    let worktrees = folder.parent()?;
    let common = worktrees.parent()?;
    let is_git = common.join("HEAD").is_file() && common.join("objects").is_dir();
    (worktrees.file_name()? == "worktrees" && is_git).then(|| common.to_path_buf())
}

/// Longest configuration that is read here.
const LONGEST_CONFIG: u64 = 256 * 1024;
/// Sections that hold no secrets. In any other one, such as of mail, proxies or aliases, anything may stand.
const OPEN_SECTIONS: [&str; 22] = [
    "branch",
    "color",
    "commit",
    "core",
    "diff",
    "extensions",
    "fetch",
    "gc",
    "index",
    "init",
    "log",
    "maintenance",
    "merge",
    "pack",
    "pull",
    "push",
    "rebase",
    "remote",
    "status",
    "submodule",
    "tag",
    "user",
];
/// Keys whose values name a repository, a branch, a file or a person, whatever words are in them.
const NAMES: [&str; 8] = ["url", "pushurl", "fetch", "remote", "merge", "path", "email", "name"];
/// Parts of the names and values of secrets.
const SECRET_WORDS: [&str; 10] =
    ["auth", "bearer", "cookie", "credential", "header", "key", "pass", "proxy", "secret", "token"];

/// Whether a configuration of git holds no secret, as far as its text tells. When in doubt, it does.
pub(crate) fn is_without_secrets(path: &Path) -> bool {
    let about = fs::symlink_metadata(path);
    if !about.is_ok_and(|about| about.is_file() && about.len() <= LONGEST_CONFIG) {
        return false;
    }
    // A line that goes on in the next one could split a word.
    fs::read_to_string(path)
        .is_ok_and(|text| text.replace("\\\n", "").to_lowercase().lines().all(|line| is_open(line.trim())))
}

/// Whether a line is of a kind that holds no secret.
fn is_open(line: &str) -> bool {
    if let Some(header) = line.strip_prefix('[') {
        // What stands behind the header in its line would be read as a name.
        let Some(header) = header.strip_suffix(']') else { return false };
        let section = header.split([' ', '\t', '"', '.']).next().unwrap_or_default();
        return OPEN_SECTIONS.contains(&section) && !holds_a_user(header);
    }
    // Anything may stand in a comment.
    if line.starts_with(['#', ';']) {
        return false;
    }
    let (key, value) = line.split_once('=').unwrap_or((line, ""));
    match key.trim() {
        "email" | "name" => true,
        key if NAMES.contains(&key) => !holds_a_user(value),
        _ => !line.contains('@') && !SECRET_WORDS.iter().any(|word| line.contains(word)),
    }
}

/// Whether an address in a text has a user in it: many are tokens. `git@` is nobody's name.
fn holds_a_user(text: &str) -> bool {
    let addresses = text.match_indices("://").filter_map(|(at, sign)| text.get(at + sign.len()..));
    addresses.into_iter().any(|rest| {
        let end = rest.find(|sign: char| sign == '/' || sign == '"' || sign.is_whitespace());
        let authority = end.and_then(|end| rest.get(..end)).unwrap_or(rest);
        authority.contains('@') && authority.strip_prefix("git@").is_none_or(|host| host.contains('@'))
    })
}

/// Whether two configurations say the same but for which branches follow which of a repository that both know: what `git push -u` and
/// `git checkout --track` write. Nothing of that starts a program or leads elsewhere.
pub(crate) fn differ_in_branches(old: &str, new: &str) -> bool {
    let remotes: Vec<&str> = old
        .lines()
        .filter_map(|line| line.trim().strip_prefix("[remote \"")?.strip_suffix("\"]"))
        .chain(["."])
        .collect();
    let (Some((old, _)), Some((new, branches))) = (parts(old), parts(new)) else { return false };
    old == new
        && branches.iter().all(|line| {
            let Some((key, value)) = line.split_once('=') else { return false };
            let value = value.trim();
            match key.trim().to_lowercase().as_str() {
                "remote" | "pushremote" => remotes.contains(&value),
                "merge" => value.starts_with("refs/") && !value.contains(['"', '#', ';']),
                "rebase" => matches!(value, "true" | "false"),
                _ => false,
            }
        })
}

/// The lines of all other sections, and those of branches. Nothing where lines go on in others.
fn parts(text: &str) -> Option<(Vec<&str>, Vec<&str>)> {
    let (mut others, mut branches, mut in_branch) = (Vec::new(), Vec::new(), false);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.contains('\\') {
            return None;
        }
        if line.starts_with('[') {
            in_branch = line
                .strip_prefix("[branch \"")
                .is_some_and(|name| name.strip_suffix("\"]").is_some_and(|name| !name.contains(['"', ']'])));
            if !in_branch {
                others.push(line);
            }
        } else if in_branch {
            branches.push(line);
        } else {
            others.push(line);
        }
    }
    Some((others, branches))
}

fn read(path: &Path) -> Option<String> {
    let about = fs::symlink_metadata(path).ok()?;
    (about.is_file() && about.len() <= LONGEST).then(|| fs::read_to_string(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked(back: bool) -> (tempfile::TempDir, Option<PathBuf>) {
        let base = tempfile::tempdir().unwrap();
        let main = base.path().join("main/.git");
        fs::create_dir_all(main.join("worktrees/w")).unwrap();
        fs::create_dir_all(main.join("objects")).unwrap();
        fs::write(main.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let tree = base.path().join("tree");
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", main.join("worktrees/w").display())).unwrap();
        let named = if back { tree.join(".git") } else { base.path().join("other/.git") };
        fs::write(main.join("worktrees/w/gitdir"), format!("{}\n", named.display())).unwrap();
        let found = common(&fs::canonicalize(&tree).unwrap());
        (base, found)
    }

    #[test]
    fn a_linked_worktree_has_its_repositorys_folder() {
        let (base, found) = linked(true);
        assert_eq!(found, Some(fs::canonicalize(base.path().join("main/.git")).unwrap()));
    }

    #[test]
    fn a_configuration_with_a_token_is_a_secret_and_a_usual_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let is_open = |text: &str| {
            fs::write(&path, text).unwrap();
            is_without_secrets(&path)
        };
        for open in [
            "",
            "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/ada/x.git\n",
            "[remote \"origin\"]\n\turl = git@example.com:ada/x.git\n",
            "[branch \"fix/token\"]\n\tremote = origin\n\tmerge = refs/heads/fix/token\n",
            "[remote \"origin\"]\n\turl = ssh://git@example.com/ada/x.git\n[user]\n\temail = ada@example.com\n",
        ] {
            assert!(is_open(open), "{open}");
        }
        for secret in [
            "[remote \"origin\"]\n\turl = https://ghp_abc@example.com/ada/x.git\n",
            "[remote \"origin\"]\n\turl = https://ada:abc@example.com\n",
            "[remote \"o\"]\n\turl = https://git@abc@example.com/x\n",
            "[http \"https://example.com/\"]\n\tExtraHeader = AUTHORIZATION: basic abc\n",
            "[http]\n\textra\\\nheader = abc\n",
            "[x]\n\ttoken = abc\n",
            "[x] token = abc\n",
            "[core] token = abc\n",
            "[sendemail]\n\tsmtpPass = abc\n",
            "[core]\n\tsshCommand = sshpass -p abc ssh\n",
            "[remote \"o\"]\n\tproxy = ada:abc@example.com:3128\n",
            "[alias]\n\td = !curl -u ada:abc example.com\n",
            "[something]\n\tnew = abc\n",
            "[core]\n\t# ghp_abc\n",
            "[x]\n\thelper = \"!echo password=abc\"\n",
            "[url \"https://ada:abc@example.com/\"]\n\tinsteadOf = https://example.com/\n",
        ] {
            assert!(!is_open(secret), "{secret}");
        }
        std::fs::write(folder.path().join("other"), "").unwrap();
        std::os::unix::fs::symlink(folder.path().join("other"), folder.path().join("link")).unwrap();
        assert!(
            !is_without_secrets(&folder.path().join("link")),
            "a link could lead elsewhere a moment later"
        );
    }

    #[test]
    fn only_what_branches_follow_may_differ() {
        let old = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/x.git\n";
        let branch = |lines: &str| format!("{old}[branch \"fix/a\"]\n\t{lines}\n");
        for good in [
            "remote = origin\n\tmerge = refs/heads/fix/a",
            "remote = .\n\tmerge = refs/heads/main\n\trebase = true",
            "pushRemote = origin",
        ] {
            assert!(
                differ_in_branches(old, &branch(good)) && differ_in_branches(&branch(good), old),
                "{good}"
            );
        }
        assert!(differ_in_branches(old, old));
        for bad in [
            "remote = https://evil.example/x.git",
            "remote = other",
            "merge = x",
            "mergeoptions = -s evil",
            "description = x",
            "remote = origin\n[core]\n\tfsmonitor = ./x",
            "remote = \\\norigin",
            "remote",
        ] {
            assert!(!differ_in_branches(old, &branch(bad)), "{bad}");
        }
        for bad in [
            &old.replace("false", "true"),
            &old.replace("example.com", "evil.example"),
            "",
            &format!("{old}[branch \"a\"] remote = origin\n"),
            &format!("{old}[Branch \"a\"]\n\tremote = origin\n"),
            &format!("{old}[branch \"a\"]\"]\n\tremote = origin\n"),
        ] {
            assert!(!differ_in_branches(old, bad), "{bad}");
        }
    }

    #[test]
    fn a_repository_that_does_not_know_the_worktree_is_not_written() {
        assert_eq!(linked(false).1, None);
    }
}
