//! Linked worktrees of git: their objects and references lie in another folder, which a commit must write.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use rustix::fs::CWD;

use crate::protected::read_text;

/// Longest file of git's that is read here.
const LONGEST: usize = 4096;

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
pub(crate) fn is_without_secrets(text: &str) -> bool {
    // A line that goes on in the next one could split a word.
    text.replace("\\\n", "").to_lowercase().lines().all(|line| is_open(line.trim()))
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

/// Whether two configurations differ only in branches that follow nothing, or what git takes for them anyway: their own name in the
/// default remote. `git push -u` and `git switch` write that. Any other entry could lead a later `git pull` or `git push` elsewhere.
pub(crate) fn differ_in_branches(old: &str, new: &str) -> bool {
    let (Some(old), Some(new)) = (Config::read(old), Config::read(new)) else { return false };
    let remote = old.default_remote();
    let branches: BTreeSet<&str> = old.branches.keys().chain(new.branches.keys()).copied().collect();
    old.others == new.others
        && branches.into_iter().all(|branch| {
            let (old, new) = (old.branches.get(branch), new.branches.get(branch));
            old == new
                || old.into_iter().chain(new).flatten().all(|line| is_what_git_takes(branch, line, remote))
        })
}

/// Whether this line of a branch says no more than git assumes without it.
fn is_what_git_takes(branch: &str, line: &str, default_remote: Option<&str>) -> bool {
    let Some((key, value)) = line.split_once('=') else { return false };
    let value = value.trim_matches(BLANK);
    match key.trim_matches(BLANK).to_ascii_lowercase().as_str() {
        // Git reads less than the whole value if a quotation or a comment is in it.
        "remote" | "merge" if value.contains(['"', '#', ';']) => false,
        "remote" => default_remote == Some(value),
        "merge" => value.strip_prefix("refs/heads/") == Some(branch),
        "rebase" => matches!(value, "true" | "false"),
        _ => false,
    }
}

/// What git takes for blank in a line.
const BLANK: [char; 2] = [' ', '\t'];

/// The lines of a configuration, without blanks around them.
struct Config<'a> {
    /// Those of each branch, in order.
    branches: BTreeMap<&'a str, Vec<&'a str>>,
    /// All others, with the headers of their sections.
    others: Vec<&'a str>,
}

impl<'a> Config<'a> {
    /// Nothing where a line goes on in the next one, or holds a character that programs read differently.
    fn read(text: &'a str) -> Option<Self> {
        if text.contains(|sign: char| sign == '\\' || (sign.is_control() && !matches!(sign, '\n' | '\t'))) {
            return None;
        }
        let (mut branches, mut others) = (BTreeMap::<&str, Vec<&str>>::new(), Vec::new());
        let mut branch = None;
        for line in text.split('\n').map(|line| line.trim_matches(BLANK)).filter(|line| !line.is_empty()) {
            if line.starts_with('[') {
                branch = line
                    .strip_prefix("[branch \"")
                    .and_then(|name| name.strip_suffix("\"]"))
                    .filter(|name| !name.contains(['"', ']']));
                match branch {
                    Some(name) => _ = branches.entry(name).or_default(),
                    None => others.push(line),
                }
            } else if let Some(name) = branch {
                branches.entry(name).or_default().push(line);
            } else {
                others.push(line);
            }
        }
        Some(Self { branches, others })
    }

    /// The remote of a branch that names none. Nothing if there can be a remote that is not known here: in another form, or in
    /// another file.
    fn default_remote(&self) -> Option<&'a str> {
        let mut remotes = BTreeSet::new();
        for line in &self.others {
            let name = line.strip_prefix("[remote \"").and_then(|rest| rest.strip_suffix("\"]"));
            if let Some(name) = name.filter(|name| !name.contains(['"', ']'])) {
                remotes.insert(name);
                continue;
            }
            // Also behind another header in the same line.
            let low = line.to_lowercase();
            if low.contains("[remote") || low.contains("[include") {
                return None;
            }
        }
        match remotes.len() {
            1 => remotes.first().copied(),
            _ => remotes.get("origin").copied(),
        }
    }
}

fn read(path: &Path) -> Option<String> {
    read_text(CWD, path).map(|(text, _)| text).filter(|text| text.len() <= LONGEST)
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
        for open in [
            "",
            "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/ada/x.git\n",
            "[remote \"origin\"]\n\turl = git@example.com:ada/x.git\n",
            "[branch \"fix/token\"]\n\tremote = origin\n\tmerge = refs/heads/fix/token\n",
            "[remote \"origin\"]\n\turl = ssh://git@example.com/ada/x.git\n[user]\n\temail = ada@example.com\n",
        ] {
            assert!(is_without_secrets(open), "{open}");
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
            assert!(!is_without_secrets(secret), "{secret}");
        }
    }

    #[test]
    fn a_branch_may_come_to_follow_its_own_name_in_the_default_remote_and_nothing_else() {
        let old = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/x.git\n";
        let forked = &format!("{old}[remote \"fork\"]\n\turl = https://example.org/x.git\n");
        let branch = |old: &str, lines: &str| format!("{old}[branch \"fix/a\"]\n\t{lines}\n");
        for good in [
            "remote = origin\n\tmerge = refs/heads/fix/a",
            "remote = origin\n\tmerge = refs/heads/fix/a\n\trebase = true",
            "Remote=origin",
        ] {
            for old in [old, forked] {
                let new = &branch(old, good);
                assert!(differ_in_branches(old, new) && differ_in_branches(new, old), "{good}");
            }
        }
        let only = &old.replace("origin", "upstream");
        assert!(differ_in_branches(only, &branch(only, "remote = upstream")), "there is no other remote");
        assert!(differ_in_branches(old, old));
        for bad in [
            "remote = https://evil.example/x.git",
            "remote = other",
            "remote = fork",
            "remote = .",
            "remote = origin\u{b}",
            "remote = \"origin\"",
            "pushRemote = origin",
            "merge = x",
            "merge = refs/pull/1/head",
            "merge = refs/heads/main",
            "merge = refs/heads/fix/a\n\tmerge = refs/heads/main",
            "mergeoptions = -s evil",
            "description = x",
            "remote = origin\n[core]\n\tfsmonitor = ./x",
            "remote = origin\n[remote \"origin\"]\n\tpushurl = https://evil.example/x.git",
            "remote = origin\n[remote \"more\"]\n\turl = ext::evil",
            "remote = origin\r\n[core]",
            "remote = \\\norigin",
            "remote",
        ] {
            let new = &branch(forked, bad);
            assert!(!differ_in_branches(forked, new) && !differ_in_branches(new, forked), "{bad}");
        }
        // Git knows more remotes than the one in the usual form, or could know more.
        for more in [
            "[remote.fork]",
            "[Remote \"fork\"]",
            "[remote  \"fork\"]",
            "[remote \"fork\"] # mine",
            "[remote \"fork\"] url = x",
            "[core][remote \"fork\"]",
            "[include]",
            "[includeIf \"gitdir:~/\"]",
            "[include]\n\tpath = more",
        ] {
            for old in
                [&format!("{only}{more}\n"), &format!("{more}\n{only}"), &format!("\u{feff}{more}\n{only}")]
            {
                assert!(!differ_in_branches(old, &branch(old, "remote = upstream")), "{old}");
            }
        }
        let marked = &format!("\u{feff}[remote \"origin\"]\n{only}");
        assert!(!differ_in_branches(marked, &branch(marked, "remote = upstream")));
        // What a branch was told to follow stays.
        let elsewhere = &branch(forked, "remote = fork\n\tmerge = refs/heads/fix/a");
        for other in ["remote = origin\n\tmerge = refs/heads/fix/a", "remote = fork\n\tremote = origin"] {
            assert!(!differ_in_branches(elsewhere, &branch(forked, other)), "{other}");
        }
        assert!(differ_in_branches(elsewhere, &format!("{elsewhere}[branch \"b\"]\n\tremote = origin\n")));
        for bad in [
            &old.replace("false", "true"),
            &old.replace("example.com", "evil.example"),
            "",
            &format!("{old}[branch \"a\"] remote = origin\n"),
            &format!("{old}[Branch \"a\"]\n\tremote = origin\n"),
            &format!("{old}[branch \"a\"]\"]\n\tremote = origin\n"),
            &format!("{old}[branch \"a#b\"]\n\tmerge = refs/heads/a#b\n"),
        ] {
            assert!(!differ_in_branches(old, bad), "{bad}");
        }
    }

    #[test]
    fn a_repository_that_does_not_know_the_worktree_is_not_written() {
        assert_eq!(linked(false).1, None);
    }
}
