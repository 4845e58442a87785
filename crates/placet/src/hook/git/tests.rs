//! Reads folders that real git made, and lets real git show what it starts in them.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

use super::{Git, look};

mod places;
mod proof;
mod reading;
mod submodules;

/// A home folder, a repository in it, and a program that leaves a mark when it runs.
struct World {
    _dir: TempDir,
    root: PathBuf,
    env: Vec<(String, OsString)>,
}

/// The commands that a coding agent may run without asking, one of each kind.
const LOOKING: &[&str] = &[
    "status",
    "log -p -3",
    "show HEAD",
    "diff",
    "diff --stat HEAD",
    "branch -a -v",
    "tag -l",
    "remote -v",
    "stash list",
    "stash show -p",
    "rev-list --objects --all",
    "ls-files -m -o",
    "blame a.txt",
    "describe --always --dirty",
    "cat-file -p HEAD:a.txt",
    "reflog",
    "grep one HEAD",
    "check-ignore -v a.txt",
];

/// The other commands, which read nothing more. They run once, in a repository that has everything.
const MORE: &[&str] = &[
    "rev-parse HEAD",
    "ls-tree -r HEAD",
    "shortlog -s HEAD",
    "merge-base HEAD HEAD",
    "worktree list",
    "show-ref",
    "symbolic-ref HEAD",
    "name-rev HEAD",
    "count-objects -v",
    "config --get user.name",
    "remote get-url origin",
];

impl World {
    /// A repository with two commits, one of them signed, a stash and a changed file.
    fn new() -> Self {
        let world = Self::empty();
        let repo = world.repo();
        world.git(&repo, "init -q -b main .");
        // Attributes alone start nothing. With them every driver of the configuration is used.
        fs::write(repo.join(".gitattributes"), "*.txt diff=d filter=f\n").unwrap();
        fs::write(repo.join("a.txt"), "one\n").unwrap();
        world.git(&repo, "add .");
        world.git(&repo, "commit -q -m first");
        fs::write(repo.join("a.txt"), "two\n").unwrap();
        world.git(&repo, "stash -q");
        fs::write(repo.join("a.txt"), "one\nthree\n").unwrap();
        world.git(&repo, "commit -q -a -m second");
        world.sign(&repo);
        fs::write(repo.join("a.txt"), "four\nfive\nsix\n").unwrap();
        world
    }

    fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("home/repo")).unwrap();
        let mark = root.join("mark");
        fs::write(&mark, format!("#!/bin/sh\necho x >>'{}'\nexec cat\n", root.join("marked").display()))
            .unwrap();
        fs::set_permissions(&mark, fs::Permissions::from_mode(0o755)).unwrap();
        let env = [("HOME", root.join("home").into_os_string()), ("GIT_CONFIG_NOSYSTEM", "1".into())];
        Self { _dir: dir, root, env: env.map(|(name, value)| (name.to_owned(), value)).to_vec() }
    }

    fn repo(&self) -> PathBuf {
        self.root.join("home/repo")
    }

    fn mark(&self) -> String {
        self.root.join("mark").display().to_string()
    }

    fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// Exactly these variables, in addition to those of every world.
    fn set(&mut self, variables: &[(&str, String)]) {
        self.env.truncate(2);
        self.env.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), value.into())));
    }

    fn run(&self, folder: &Path, line: &str) -> Output {
        let mut command = Command::new("git");
        command.current_dir(folder).args(line.split_whitespace()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Ann").env(format!("GIT_{who}_EMAIL"), "ann@example.com");
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.output().expect("git is not there: install it (Debian: apt-get install git)")
    }

    /// Runs git, which must succeed.
    fn git(&self, folder: &Path, line: &str) -> String {
        let output = self.run(folder, line);
        assert!(output.status.success(), "git {line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Signs the last commit. The signature is false, but git asks gpg anyway.
    fn sign(&self, repo: &Path) {
        let commit = self.git(repo, "cat-file commit HEAD");
        let (head, message) = commit.split_once("\n\n").unwrap();
        let signature = "-----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----";
        let file = self.root.join("commit");
        fs::write(&file, format!("{head}\ngpgsig {signature}\n\n{message}\n")).unwrap();
        let signed = self.git(repo, &format!("hash-object -t commit -w {}", file.display()));
        self.git(repo, &format!("update-ref HEAD {signed}"));
    }

    /// Whether real git starts the program in any of these commands.
    fn starts(&self, folder: &Path, lines: &[&str]) -> bool {
        let marked = self.root.join("marked");
        let _ = fs::remove_file(&marked);
        for line in lines {
            self.run(folder, line);
        }
        marked.exists()
    }

    fn look(&self, folder: &Path) -> Git {
        look(folder, &|name| {
            // The last one counts.
            self.env.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        })
    }

    /// Adds to the configuration of the repository; `MARK` is the program.
    fn configure(&self, text: &str) {
        append(&self.repo().join(".git/config"), &text.replace("MARK", &self.mark()));
    }

    /// Adds to the user's own configuration.
    fn configure_own(&self, text: &str) {
        append(&self.root.join("home/.gitconfig"), &text.replace("MARK", &self.mark()));
    }
}

fn append(path: &Path, text: &str) {
    let before = fs::read_to_string(path).unwrap_or_default();
    fs::write(path, format!("{before}{text}\n")).unwrap();
}

fn program(path: &Path, world: &World) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::copy(world.root.join("mark"), path).unwrap();
}

#[track_caller]
fn assert_entry(git: &Git, part: &str) {
    assert!(git.runs.iter().any(|entry| entry.contains(part)), "no `{part}` in {git:?}");
}
