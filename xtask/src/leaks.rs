//! Looks for words of one machine in tracked files: package mirrors and local paths.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::process::{Workspace, note};

/// Variables that name a package mirror or a proxy. If one is set, its host must not be in a file.
const MIRRORS: [&str; 12] = [
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "NPM_CONFIG_REGISTRY",
    "npm_config_registry",
    "CARGO_REGISTRIES_CRATES_IO_INDEX",
    "RUSTUP_DIST_SERVER",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "http_proxy",
    "https_proxy",
];

/// Public hosts: naming them says nothing about a machine.
const PUBLIC: [&str; 9] = [
    "index.crates.io",
    "static.crates.io",
    "crates.io",
    "static.rust-lang.org",
    "github.com",
    "pypi.org",
    "files.pythonhosted.org",
    "registry.npmjs.org",
    "127.0.0.1",
];

/// Folders that many machines have. Documentation may name them.
const COMMON: [&str; 12] = [
    "/",
    "/tmp",
    "/var",
    "/var/tmp",
    "/srv",
    "/opt",
    "/usr",
    "/usr/local",
    "/home",
    "/root",
    "/mnt",
    "/data",
];

/// Where each kind of lock file names the source of a package, and the only allowed source.
const LOCKS: [(&str, &str, &str); 2] = [
    ("Cargo.lock", "source = \"", "registry+https://github.com/rust-lang/crates.io-index"),
    ("package-lock.json", "\"resolved\": \"", "https://registry.npmjs.org/"),
];

/// Fails with every place found.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    // New files count too: they are the ones about to be committed.
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(&workspace.root)
        .output()
        .context("cannot start git: install it to check the files it tracks")?;
    ensure!(
        output.status.success(),
        "`git ls-files` failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let words = forbidden(workspace);
    let (mut files, mut found) = (0, Vec::new());
    for name in output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let name = String::from_utf8_lossy(name);
        // Deleted but not yet committed, or not text.
        let Ok(text) = fs::read_to_string(workspace.root.join(&*name)) else {
            continue;
        };
        files += 1;
        found.extend(leaks(&name, &text, &words));
    }
    note(format!("{files} files read, {} words of this machine looked for", words.len()));
    if found.is_empty() {
        return Ok(());
    }
    bail!("these belong to one machine only:\n   {}", found.join("\n   "))
}

/// Words that only this machine would write: hosts of its mirrors, its home and source folders.
fn forbidden(workspace: &Workspace) -> BTreeSet<String> {
    let hosts = MIRRORS.iter().filter_map(|name| env::var(name).ok()).filter_map(|url| host(&url));
    let folders = [Some(workspace.root.clone()), env::var_os("HOME").map(Into::into)];
    let folders = folders.into_iter().flatten().flat_map(|folder| {
        let parent = folder.parent().map(Path::to_path_buf);
        std::iter::once(folder).chain(parent)
    });
    let folders = folders.map(|folder| folder.to_string_lossy().into_owned());
    let folders = folders.filter(|folder| !COMMON.contains(&folder.as_str())).map(|folder| folder + "/");
    hosts.chain(folders).collect()
}

/// The host of a URL, unless it is a public one.
fn host(url: &str) -> Option<String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    (host.contains('.') && !PUBLIC.contains(&host)).then(|| host.to_owned())
}

/// Every place in one file, as `file:line: what`.
fn leaks(name: &str, text: &str, words: &BTreeSet<String>) -> Vec<String> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let lock = LOCKS.iter().find(|(lock, ..)| *lock == file);
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for word in words.iter().filter(|word| stands_alone(line, word)) {
            found.push(format!("{name}:{number}: {word}"));
        }
        if let Some((_, before, source)) = lock
            && let Some((_, value)) = line.split_once(before)
            && !value.starts_with(source)
            // A package of this very repository.
            && !value.starts_with("../")
        {
            found.push(format!("{name}:{number}: a package from elsewhere than {source}"));
        }
        if name == ".cargo/config.toml" && (line.starts_with("[source") || line.starts_with("[registr")) {
            found.push(format!(
                "{name}:{number}: a mirror belongs into the configuration in your home folder"
            ));
        }
    }
    found
}

/// Whether `word` is in the line and not the end of a longer path: `docs/home/` does not name `/home/`.
fn stands_alone(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        !before.is_some_and(|char| char.is_alphanumeric() || "._-~*/}".contains(char))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_this_machine_is_found_with_its_line() {
        let words = BTreeSet::from(["/machine/src/".to_owned()]);
        let text = "first\nsee /machine/src/notes.md\nand docs/machine/src/notes.md\n";
        assert_eq!(leaks("README.md", text, &words), ["README.md:2: /machine/src/"]);
    }

    #[test]
    fn a_lock_file_names_the_public_registry_only() {
        let good = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
        assert!(leaks("Cargo.lock", good, &BTreeSet::new()).is_empty());
        let bad = "source = \"registry+https://mirror.example/index\"\n";
        assert_eq!(leaks("fuzz/Cargo.lock", bad, &BTreeSet::new()).len(), 1);
        assert!(leaks("notes.txt", bad, &BTreeSet::new()).is_empty());
        let own = "      \"resolved\": \"../..\",\n";
        assert!(
            leaks("tests/package-lock.json", own, &BTreeSet::new()).is_empty(),
            "a package of this repository"
        );
    }

    #[test]
    fn the_host_of_a_mirror_is_a_forbidden_word_and_a_public_one_is_not() {
        assert_eq!(host("https://user:secret@mirror.example:8443/simple"), Some("mirror.example".to_owned()));
        assert_eq!(host("https://pypi.org/simple"), None);
    }

    #[test]
    fn a_mirror_in_the_shared_cargo_configuration_is_found() {
        let found = leaks(".cargo/config.toml", "[source.crates-io]\n", &BTreeSet::new());
        assert_eq!(found.len(), 1);
    }
}
