//! Which settings start a program, or bend what git reads, when a command only looks.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::Path};

use super::{config::Setting, environment::traces_to_a_file};

/// Whose file a setting stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The user's or the machine's own files.
    Own,
    /// The repository's files, or the environment. Whoever made the folder may have written them.
    Repository,
}

/// A setting's key in parts, and its value as text.
pub(super) struct Parts<'a> {
    pub(super) section: String,
    pub(super) sub: String,
    pub(super) name: String,
    pub(super) value: Option<std::borrow::Cow<'a, str>>,
}

impl<'a> Parts<'a> {
    /// Splits a key as git does: the section ends at the first dot, the name begins after the last.
    pub(super) fn of(setting: &'a Setting) -> Self {
        let key = String::from_utf8_lossy(&setting.key);
        let (section, rest) = key.split_once('.').unwrap_or(("", &key));
        let (sub, name) = rest.rsplit_once('.').unwrap_or(("", rest));
        let value = setting.value.as_deref().map(String::from_utf8_lossy);
        Self { section: section.to_owned(), sub: sub.to_owned(), name: name.to_owned(), value }
    }

    fn text(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }

    /// Whether git takes it for false. A name without a value is true.
    fn off(&self) -> bool {
        self.value.as_deref().is_some_and(|value| {
            matches!(value.to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off")
        })
    }

    /// Whether git takes it for a yes or a no, so that it names no program.
    fn boolean(&self) -> bool {
        self.off()
            || self.value.as_deref().is_none_or(|value| {
                matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on")
            })
    }
}

/// Whether a setting is an entry.
pub(super) fn holds(setting: &Setting, scope: Scope) -> bool {
    let parts = Parts::of(setting);
    anywhere(&parts, scope) || (scope == Scope::Repository && in_a_repository(&parts))
}

/// What counts in the user's own files too, because a command that only looks starts it or follows it.
fn anywhere(parts: &Parts<'_>, scope: Scope) -> bool {
    match (parts.section.as_str(), parts.name.as_str()) {
        // `true` starts git's own daemon, which stays; everything else is a program. So is the daemon's older name.
        ("core", "fsmonitor" | "usebuiltinfsmonitor")
        // Writes what a converter said into the repository.
        | ("diff", "cachetextconv")
        // Starts git in folders that history names and the index may not. Nobody has looked there. See `diff.submodule`.
        | ("status", "submodulesummary")
        // Verifies signatures, with gpg.
        | ("log", "showsignature")
        // A missing object is fetched: over the network, with ssh.
        | ("remote", "promisor") => !parts.off(),
        ("remote", "partialclonefilter")
        | ("extensions", "partialclone")
        | ("diff", "external" | "command" | "textconv")
        | ("hook", "command") => true,
        ("diff", "submodule") => parts.text() != "short",
        // `git status` and `git diff` put changed files through `clean`.
        ("filter", "clean" | "smudge" | "process") => !(scope == Scope::Own && is_lfs(parts)),
        ("format", "pretty") | ("pretty", _) => shows_signatures(parts.text()),
        ("branch" | "tag", "sort") => parts.text().contains("signature"),
        ("trace2", "normaltarget" | "eventtarget" | "perftarget") => {
            traces_to_a_file(parts.text().as_bytes())
        }
        _ => false,
    }
}

/// Whether a format has `%G`, which git answers by running gpg. A sign may stand between the two.
fn shows_signatures(format: &str) -> bool {
    format.split('%').skip(1).any(|rest| rest.trim_start_matches(['+', '-', ' ']).starts_with('G'))
}

/// What `git lfs install` writes into the user's own file. It is on most developers' machines, and it runs git-lfs, which takes
/// its own programs from the configuration only: see `lfs` below.
fn is_lfs(parts: &Parts<'_>) -> bool {
    parts.sub == "lfs"
        && matches!(
            (parts.name.as_str(), parts.text()),
            ("clean", "git-lfs clean -- %f")
                | ("smudge", "git-lfs smudge -- %f" | "git-lfs smudge --skip -- %f")
                | ("process", "git-lfs filter-process" | "git-lfs filter-process --skip")
        )
}

/// Names of settings that hold a program, in whatever section: also those of a later git.
const PROGRAMS: &[&str] = &[
    "askpass", "clean", "cmd", "command", "driver", "editor", "filter", "helper", "hook", "pager", "process",
    "program", "smudge", "textconv", "viewer",
];

/// What a repository has no business to say. In the user's own files the same settings are usual, and no command that only looks
/// uses them: pagers show on a terminal what the user's own program shows, editors and credentials are never asked for, an alias
/// cannot replace a command of git's own, and the rest needs a connection or a merge.
fn in_a_repository(parts: &Parts<'_>) -> bool {
    let (section, name) = (parts.section.as_str(), parts.name.as_str());
    if parts.text().starts_with('!') {
        return true;
    }
    match section {
        "alias" | "include" | "includeif" | "interactive" => true,
        "pager" => !parts.boolean(),
        "core" => match name {
            "gitproxy" => true,
            // Writes another file beside the index.
            "splitindex" => parts.text() != "false",
            "repositoryformatversion" => !matches!(parts.text(), "0" | "1"),
            "excludesfile" | "attributesfile" => outside(parts.text()),
            _ => program(name),
        },
        "mailmap" | "blame" | "diff" if matches!(name, "file" | "ignorerevsfile" | "orderfile") => {
            outside(parts.text())
        }
        "remote" => {
            matches!(name, "uploadpack" | "receivepack" | "vcs")
                || (matches!(name, "url" | "pushurl") && helper_url(parts.text()))
        }
        "protocol" => name == "allow",
        "submodule" => name == "recurse" && !parts.off(),
        "extensions" => match name {
            "noop"
            | "noop-v1"
            | "preciousobjects"
            | "worktreeconfig"
            | "objectformat"
            | "compatobjectformat"
            | "relativeworktrees"
            | "submodulepathconfig" => false,
            "refstorage" => !matches!(parts.text(), "files" | "reftable"),
            _ => true,
        },
        // git-lfs runs the programs of `lfs.extension` and `lfs.customtransfer`.
        "lfs" => !matches!(
            name,
            "access"
                | "fetchexclude"
                | "fetchinclude"
                | "locksverify"
                | "pushurl"
                | "repositoryformatversion"
                | "url"
        ),
        _ => program(name),
    }
}

fn program(name: &str) -> bool {
    PROGRAMS.iter().any(|end| name.ends_with(end))
}

/// Whether a file of the repository's choice may lie outside of it.
fn outside(path: &str) -> bool {
    let path = Path::new(OsStr::from_bytes(path.as_bytes()));
    path.is_absolute()
        || path.starts_with("~")
        || path.to_string_lossy().starts_with(['~', ':', '%'])
        || path.components().any(|part| part == std::path::Component::ParentDir)
}

/// `ext::COMMAND` and its like: the address names a program.
fn helper_url(url: &str) -> bool {
    url.split_once("::").is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-+.".contains(&byte))
    })
}
