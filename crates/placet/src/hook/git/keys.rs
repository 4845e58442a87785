//! Settings that start a program, or change what git reads, in read-only commands.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::Path};

use super::{config::Setting, environment::traces_to_a_file};

/// The owner of the file with a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The user's or the machine's own files.
    Own,
    /// The repository's files, or the environment. The author of the folder may have written them.
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

    /// Whether git reads it as false. A name without a value is true.
    fn off(&self) -> bool {
        self.value.as_deref().is_some_and(|value| {
            matches!(value.to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off")
        })
    }

    /// Whether git reads it as a boolean, so that it names no program.
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

/// Settings that count in the user's own files too, because read-only commands start or follow them.
fn anywhere(parts: &Parts<'_>, scope: Scope) -> bool {
    match (parts.section.as_str(), parts.name.as_str()) {
        // `true` starts git's own daemon, which keeps running. Other values are programs. The same for the daemon's
        // older name.
        ("core", "fsmonitor" | "usebuiltinfsmonitor")
        // Writes a converter's output into the repository.
        | ("diff", "cachetextconv")
        // Starts git in folders that history names and the index may not, which were never checked. See
        // `diff.submodule`.
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
        // `git status` and `git diff` pass changed files through `clean`.
        ("filter", "clean" | "smudge" | "process") => !(scope == Scope::Own && is_lfs(parts)),
        ("format", "pretty") | ("pretty", _) => shows_signatures(parts.text()),
        ("branch" | "tag", "sort") => parts.text().contains("signature"),
        ("trace2", "normaltarget" | "eventtarget" | "perftarget") => {
            traces_to_a_file(parts.text().as_bytes())
        }
        _ => false,
    }
}

/// Whether a format has `%G`, for which git runs gpg. A sign may be between the two letters.
fn shows_signatures(format: &str) -> bool {
    format.split('%').skip(1).any(|rest| rest.trim_start_matches(['+', '-', ' ']).starts_with('G'))
}

/// What `git lfs install` writes into the user's own file. Most developers have it. It runs git-lfs, whose own
/// programs come only from the configuration: see `lfs` below.
fn is_lfs(parts: &Parts<'_>) -> bool {
    parts.sub == "lfs"
        && matches!(
            (parts.name.as_str(), parts.text()),
            ("clean", "git-lfs clean -- %f")
                | ("smudge", "git-lfs smudge -- %f" | "git-lfs smudge --skip -- %f")
                | ("process", "git-lfs filter-process" | "git-lfs filter-process --skip")
        )
}

/// Names of settings that hold a program, in any section and in later versions of git.
const PROGRAMS: &[&str] = &[
    "askpass", "clean", "cmd", "command", "driver", "editor", "filter", "helper", "hook", "pager", "process",
    "program", "smudge", "textconv", "viewer",
];

/// Settings that a repository must not have. In the user's own files they are usual, and read-only commands do not use
/// them: pagers show output with the user's own program, editors and credentials are never needed, an alias cannot
/// replace one of git's own commands, and the rest needs a connection or a merge.
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

/// Whether a file that the repository chooses may be outside of it.
fn outside(path: &str) -> bool {
    let path = Path::new(OsStr::from_bytes(path.as_bytes()));
    path.is_absolute()
        || path.starts_with("~")
        || path.to_string_lossy().starts_with(['~', ':', '%'])
        || path.components().any(|part| part == std::path::Component::ParentDir)
}

/// `ext::COMMAND` and similar: the address names a program.
fn helper_url(url: &str) -> bool {
    url.split_once("::").is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-+.".contains(&byte))
    })
}
