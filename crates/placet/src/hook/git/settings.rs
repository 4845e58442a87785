//! The effective configuration: files, their includes, and the environment.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use super::{
    Env, Report,
    config::{self, Setting},
    files,
    keys::{self, Parts, Scope},
};

/// A larger configuration file is not read.
const LARGEST: u64 = 1 << 20;
/// Git's own limit for nested includes.
const DEPTH: usize = 10;
/// The limit of files that are read, submodules included.
const FILES: usize = 200;

/// The paths of the machine's file in git's builds. Reading a file that this git does not read is only stricter.
const SYSTEM: &[&str] = &[
    "/etc/gitconfig",
    "/usr/local/etc/gitconfig",
    "/opt/homebrew/etc/gitconfig",
    "/Library/Developer/CommandLineTools/usr/share/git-core/gitconfig",
    "/Applications/Xcode.app/Contents/Developer/usr/share/git-core/gitconfig",
];

/// Reads configuration files, and reports the programs that they start.
pub(super) struct Settings<'a> {
    home: Option<PathBuf>,
    /// Files inside these belong to the repository, even if the user's own file includes them.
    inside: Vec<PathBuf>,
    files: usize,
    pub(super) report: &'a mut Report,
}

impl<'a> Settings<'a> {
    pub(super) fn new(home: Option<PathBuf>, inside: Vec<PathBuf>, report: &'a mut Report) -> Self {
        Self { home, inside, files: 0, report }
    }

    /// The files of the machine and of the user.
    pub(super) fn own(&mut self, env: Env<'_>) -> Vec<Setting> {
        let named = |name: &str| env(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let mut paths: Vec<(PathBuf, Scope)> = Vec::new();
        // A file that the environment names is an entry of its own, and is judged like a repository's.
        let no_system = env("GIT_CONFIG_NOSYSTEM").is_some_and(|value| {
            matches!(value.to_ascii_lowercase().to_str(), Some("1" | "true" | "yes" | "on"))
        });
        match named("GIT_CONFIG_SYSTEM") {
            Some(path) => paths.push((path, Scope::Repository)),
            None if no_system => {}
            None => paths.extend(SYSTEM.iter().map(|path| (PathBuf::from(path), Scope::Own))),
        }
        if let Some(path) = env("GIT_CONFIG_GLOBAL") {
            paths.push((PathBuf::from(path), Scope::Repository));
        } else {
            let home = self.home.as_ref();
            let folder = named("XDG_CONFIG_HOME").or_else(|| home.map(|home| home.join(".config")));
            paths.extend(folder.map(|folder| (folder.join("git/config"), Scope::Own)));
            paths.extend(home.map(|home| (home.join(".gitconfig"), Scope::Own)));
        }
        let mut settings = Vec::new();
        for (path, scope) in paths {
            if path != Path::new("/dev/null") && !path.as_os_str().is_empty() {
                self.load(&path, scope, 0, &mut settings);
            }
        }
        settings
    }

    /// A file of a repository.
    pub(super) fn file(&mut self, path: &Path) -> Vec<Setting> {
        let mut settings = Vec::new();
        self.load(path, Scope::Repository, 0, &mut settings);
        settings
    }

    /// Reports each setting that is an entry.
    pub(super) fn judge(&mut self, settings: &[Setting], scope: Scope, source: &str) {
        for setting in settings {
            if keys::holds(setting, scope) {
                let value = setting.value.as_deref().map(String::from_utf8_lossy);
                self.report.setting(&String::from_utf8_lossy(&setting.key), value.as_deref(), source);
            }
        }
    }

    fn load(&mut self, path: &Path, scope: Scope, depth: usize, all: &mut Vec<Setting>) {
        self.files += 1;
        if depth > DEPTH || self.files > FILES {
            self.report.unreadable(path, "too many includes");
            return;
        }
        let bytes = match files::read(path, LARGEST) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return,
            Err(why) => return self.report.unreadable(path, &why),
        };
        let scope = if depth > 0 && self.is_inside(path) { Scope::Repository } else { scope };
        let settings = match config::parse(&bytes) {
            Ok(settings) => settings,
            Err(line) => return self.report.unreadable(path, &format!("line {line} is not understood")),
        };
        let source = self.report.name(path);
        self.judge(&settings, scope, &source);
        for setting in settings {
            let parts = Parts::of(&setting);
            // Every condition counts as true: it can change with a branch or a remote.
            let include = matches!(parts.section.as_str(), "include" | "includeif") && parts.name == "path";
            let target = include.then(|| setting.value.clone()).flatten();
            all.push(setting);
            if let Some(target) = target {
                match self.expand(&target) {
                    Some(target) => {
                        let target = path.parent().unwrap_or(path).join(target);
                        self.load(&target, scope, depth + 1, all);
                    }
                    None => self.report.unreadable(
                        Path::new(OsStr::from_bytes(&target)),
                        &format!("included by {}, and not understood", path.display()),
                    ),
                }
            }
        }
    }

    fn is_inside(&self, path: &Path) -> bool {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.inside.iter().any(|folder| path.starts_with(folder))
    }

    /// A path with a leading `~/`, as git reads it. None for forms that need more than the home folder.
    pub(super) fn expand(&self, path: &[u8]) -> Option<PathBuf> {
        let plain = Path::new(OsStr::from_bytes(path));
        match path {
            b"" => None,
            b"~" => self.home.clone(),
            [b'~', b'/', rest @ ..] => Some(self.home.as_ref()?.join(OsStr::from_bytes(rest))),
            [b'~' | b'%', ..] => None,
            _ if path.starts_with(b":(") => None,
            _ => Some(plain.to_owned()),
        }
    }
}
