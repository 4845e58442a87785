//! Finds the repository that git would use in a folder: the walk of git's `setup.c`.

use std::{
    ffi::OsStr,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::Access;

use super::{Env, Report, files};

/// Git refuses a `.git` file above this size, and so do we.
const POINTER: u64 = 1 << 20;

/// A repository, all paths resolved.
#[derive(Debug, Clone)]
pub(super) struct Repository {
    /// Its own folder: `.git`, or `worktrees/NAME` of another one.
    pub(super) git: PathBuf,
    /// The folder with configuration, objects and hooks. The same, but for a linked worktree.
    pub(super) common: PathBuf,
    /// The folder with the `.git`, or the repository itself if it is bare.
    pub(super) top: PathBuf,
    /// Found by its contents, without a `.git` of a folder around it.
    pub(super) bare: bool,
}

/// The repository that git would use in a folder. Folders that only look like one are reported, because git may
/// decide differently.
pub(super) fn find(folder: &Path, env: Env<'_>, report: &mut Report) -> Option<Repository> {
    if let Some(git) = env("GIT_DIR") {
        return named(&folder.join(git), folder, report);
    }
    for dir in folder.ancestors() {
        match at(dir) {
            Ok(None) => {}
            Ok(found) => return found,
            Err((path, why)) => report.unreadable(&path, &why),
        }
        match common_of(dir) {
            Ok(Some(common)) => {
                return Some(Repository { git: dir.to_owned(), common, top: dir.to_owned(), bare: true });
            }
            Ok(None) if ["HEAD", "objects", "refs"].iter().all(|part| files::exists(&dir.join(part))) => {
                report.unreadable(dir, "looks like a repository");
            }
            Ok(None) => {}
            Err((path, why)) => report.unreadable(&path, &why),
        }
    }
    None
}

/// The repository that `GIT_DIR` names. The variable itself is already an entry.
fn named(git: &Path, folder: &Path, report: &mut Report) -> Option<Repository> {
    let git = match pointer(git) {
        Ok(Some(target)) => target,
        Ok(None) => git.to_owned(),
        Err((path, why)) => {
            report.unreadable(&path, &why);
            return None;
        }
    };
    match common_of(&git) {
        Ok(Some(common)) => {
            let git = git.canonicalize().unwrap_or(git);
            Some(Repository { git, common, top: folder.to_owned(), bare: false })
        }
        Ok(None) => {
            report.unreadable(&git, "is not a repository");
            None
        }
        Err((path, why)) => {
            report.unreadable(&path, &why);
            None
        }
    }
}

/// A file, and why it is not understood.
type UnreadableFile = (PathBuf, String);

/// The repository of a folder's `.git`, if it has one.
pub(super) fn at(top: &Path) -> Result<Option<Repository>, UnreadableFile> {
    let path = top.join(".git");
    if !files::exists(&path) {
        return Ok(None);
    }
    let odd = |why: &str| (path.clone(), why.to_owned());
    let git = match pointer(&path)? {
        Some(target) => target,
        None => path.clone(),
    };
    let common = common_of(&git)?.ok_or_else(|| odd("is not a repository"))?;
    let git = git.canonicalize().map_err(|error| odd(&error.to_string()))?;
    Ok(Some(Repository { git, common, top: top.to_owned(), bare: false }))
}

/// The target of a `.git` file. None if it is a folder.
fn pointer(path: &Path) -> Result<Option<PathBuf>, UnreadableFile> {
    let odd = |why: &str| (path.to_owned(), why.to_owned());
    if path.is_dir() {
        return Ok(None);
    }
    let bytes = files::read(path, POINTER).map_err(|why| odd(&why))?.ok_or_else(|| odd("leads nowhere"))?;
    let target = bytes.strip_prefix(b"gitdir: ").ok_or_else(|| odd("does not begin with `gitdir: `"))?;
    let target = trimmed(target);
    if target.is_empty() || target.contains(&0) {
        return Err(odd("names no folder"));
    }
    Ok(Some(path.parent().unwrap_or(path).join(OsStr::from_bytes(target))))
}

/// The file without the line ends after it.
pub(super) fn trimmed(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    bytes.get(..end).unwrap_or_default()
}

/// The common folder of a possible repository. None if git takes it for an ordinary folder.
fn common_of(git: &Path) -> Result<Option<PathBuf>, UnreadableFile> {
    if !head(&git.join("HEAD")) {
        return Ok(None);
    }
    let file = git.join("commondir");
    let odd = |why: &str| (file.clone(), why.to_owned());
    let common = match files::read(&file, POINTER).map_err(|why| odd(&why))? {
        None => git.to_owned(),
        Some(bytes) if trimmed(&bytes).is_empty() || bytes.contains(&0) => {
            return Err(odd("names no folder"));
        }
        Some(bytes) => git.join(OsStr::from_bytes(trimmed(&bytes))),
    };
    let there = |name| rustix::fs::access(common.join(name), Access::EXEC_OK).is_ok();
    if !there("objects") || !there("refs") {
        return Ok(None);
    }
    common.canonicalize().map(Some).map_err(|error| (common.clone(), error.to_string()))
}

/// Whether git accepts this as the `HEAD` of a repository: a link or a reference into `refs/`, or an object id.
fn head(path: &Path) -> bool {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return false };
    if metadata.is_symlink() {
        return std::fs::read_link(path)
            .is_ok_and(|target| target.into_os_string().into_vec().starts_with(b"refs/"));
    }
    let Ok(Some(bytes)) = files::read(path, POINTER) else { return false };
    // Git reads no more than this.
    let bytes = bytes.get(..255).unwrap_or(&bytes);
    if let Some(name) = bytes.strip_prefix(b"ref:") {
        let start = name.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        if start.and_then(|start| name.get(start..)).is_some_and(|name| name.starts_with(b"refs/")) {
            return true;
        }
    }
    bytes.len() >= 40 && bytes.iter().take(40).all(u8::is_ascii_hexdigit)
}
