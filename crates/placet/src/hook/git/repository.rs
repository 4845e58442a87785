//! The contents of a repository that matter: its configuration, hooks, links to others, and submodules.

use std::{
    ffi::OsStr,
    io::ErrorKind,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use super::{
    Env, Report,
    config::Setting,
    discover::{self, Repository},
    environment, files, index,
    keys::{Parts, Scope},
    settings::Settings,
};

/// Hooks that read-only commands can run, because those may refresh the index. Other hooks need a change.
const HOOKS: &[&str] = &["post-index-change", "reference-transaction", "fsmonitor-watchman"];
/// The limits of submodules that are read and searched for, and of their nesting.
const SUBMODULES: usize = 50;
const GITLINKS: usize = 1000;
const DEPTH: usize = 3;
/// The limits of files in the repository's own folder, and of their depth.
const ENTRIES: usize = 50_000;
const DEEPEST: usize = 32;

/// Reports what git would do in a repository, or outside of one. Returns the top of the working tree.
pub(super) fn look(
    found: Option<&Repository>,
    home: Option<PathBuf>,
    env: Env<'_>,
    report: &mut Report,
) -> Option<PathBuf> {
    let inside = found.map(|found| vec![found.top.clone(), found.git.clone(), found.common.clone()]);
    report.top = found.map(|found| found.top.clone());
    let pairs = environment::settings(env, report);
    let mut settings = Settings::new(home, inside.unwrap_or_default(), report);
    let mut own = settings.own(env);
    settings.judge(&pairs, Scope::Repository, "environment");
    own.extend(pairs);
    let mut looker = RepositoryScan { settings, hooks: hook_paths(&own), submodules: 0 };
    let tree = looker.repository(found?, 0);
    // The variable is an entry of its own.
    match env("GIT_WORK_TREE") {
        Some(named) => found?.top.join(named).canonicalize().ok().or(Some(tree)),
        None => Some(tree),
    }
}

fn hook_paths(settings: &[Setting]) -> Vec<Vec<u8>> {
    let values = settings.iter().filter(|setting| setting.key == b"core.hookspath");
    values.map(|setting| setting.value.clone().unwrap_or_default()).collect()
}

/// There are many objects, including those of git-lfs. Git checks objects by their names and does not read git-lfs
/// ones.
fn is_of_objects(folder: &Path, name: &OsStr) -> bool {
    let name = name.as_bytes();
    let hashed = name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit) && folder.ends_with("objects");
    hashed || (name == b"lfs" && folder.join("objects").is_dir() && folder.join("HEAD").is_file())
}

struct RepositoryScan<'a> {
    settings: Settings<'a>,
    /// `core.hooksPath` from the user's own files and from the environment.
    hooks: Vec<Vec<u8>>,
    submodules: usize,
}

impl RepositoryScan<'_> {
    /// Reads one repository, and returns the top of its working tree.
    fn repository(&mut self, repository: &Repository, depth: usize) -> PathBuf {
        let common = self.settings.file(&repository.common.join("config"));
        let worktree = self.settings.file(&repository.git.join("config.worktree"));
        let both: Vec<&Setting> = common.iter().chain(&worktree).collect();
        let top = self.working_tree(repository, &both);
        self.links(repository, &both, &top);
        for path in self.hooks.clone() {
            self.hook_folder(&path, Scope::Own, repository, &top);
        }
        for path in hook_paths(&common).iter().chain(&hook_paths(&worktree)) {
            self.hook_folder(path, Scope::Repository, repository, &top);
        }
        self.hooks_in(&repository.common.join("hooks"));
        self.submodules(repository, &common, &top, depth);
        top
    }

    /// The top of the working tree. `core.worktree` may name the folder around it, which `git submodule` writes.
    fn working_tree(&mut self, repository: &Repository, settings: &[&Setting]) -> PathBuf {
        let mut top = repository.top.clone();
        for setting in settings.iter().filter(|setting| setting.key == b"core.worktree") {
            let value = setting.value.as_deref().unwrap_or_default();
            let named = repository.git.join(OsStr::from_bytes(value)).canonicalize();
            if named.as_ref().is_ok_and(|named| *named == repository.top && !repository.bare) {
                continue;
            }
            let text = String::from_utf8_lossy(value);
            let source = self.settings.report.name(&repository.common.join("config"));
            self.settings.report.setting("core.worktree", Some(&text), &source);
            top = named.unwrap_or(top);
        }
        top
    }

    /// Links in the repository's own folder: git reads and writes through them. Git itself creates none.
    fn links_in(&mut self, folder: &Path, depth: usize, budget: &mut usize) {
        if let Err((path, why)) = self.walk(folder, depth, budget) {
            self.settings.report.unreadable(&path, &why);
        }
    }

    /// The first place that cannot be read ends the walk: it is reported, and the call waits for a person.
    fn walk(&mut self, folder: &Path, depth: usize, budget: &mut usize) -> Result<(), (PathBuf, String)> {
        let at = |why: &str| (folder.to_owned(), why.to_owned());
        if depth > DEEPEST {
            return Err(at("it lies deeper than is looked at"));
        }
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            // Git removes folders while it works.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(at(&error.to_string())),
        };
        for entry in entries {
            *budget = budget.checked_sub(1).ok_or_else(|| at("it has more files than are looked at"))?;
            let entry = entry.map_err(|error| at(&error.to_string()))?;
            let kind = match entry.file_type() {
                Ok(kind) => kind,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err((entry.path(), error.to_string())),
            };
            if kind.is_symlink() {
                self.settings.report.file(&entry.path(), "a link to another place");
            } else if kind.is_dir() && !is_of_objects(folder, &entry.file_name()) {
                self.walk(&entry.path(), depth + 1, budget)?;
            }
        }
        Ok(())
    }

    /// Everything that makes git read the objects or the configuration of another repository.
    fn links(&mut self, repository: &Repository, settings: &[&Setting], top: &Path) {
        let Repository { git, common, .. } = repository;
        let linked = git.parent().is_some_and(|parent| parent == common.join("worktrees"));
        if common != git && !linked {
            self.settings.report.file(&git.join("commondir"), &format!("names {}", common.display()));
        }
        // A `.git` that points elsewhere is usual in a linked worktree and in a submodule. The other side names both.
        if !repository.bare && *git != repository.top.join(".git") {
            let submodule =
                settings.iter().any(|setting| setting.key == b"core.worktree") && top == repository.top;
            let back = files::read(&git.join("gitdir"), 1 << 16).ok().flatten().unwrap_or_default();
            let back = git.join(OsStr::from_bytes(discover::trimmed(&back)));
            let worktree = linked
                && back.parent().and_then(|back| back.canonicalize().ok()).as_ref() == Some(&repository.top);
            if !submodule && !worktree {
                self.settings.report.file(&repository.top.join(".git"), &format!("names {}", git.display()));
            }
        }
        let mut budget = ENTRIES;
        for folder in [common, git].into_iter().filter(|folder| *folder == common || common != git) {
            self.links_in(folder, 0, &mut budget);
        }
        let files = [
            "core.excludesfile",
            "core.attributesfile",
            "blame.ignorerevsfile",
            "mailmap.file",
            "diff.orderfile",
        ];
        for setting in
            settings.iter().filter(|setting| files.iter().any(|file| file.as_bytes() == setting.key))
        {
            let named = top.join(OsStr::from_bytes(setting.value.as_deref().unwrap_or_default()));
            // Its target is read and shown.
            if named.canonicalize().is_ok_and(|leads| leads != named) {
                self.settings.report.file(&named, "a link to another place");
            }
        }
        let alternates = common.join("objects/info/alternates");
        if files::exists(&alternates) {
            self.settings.report.file(&alternates, "reads objects of other repositories");
        }
    }

    /// A folder that `core.hooksPath` names. Its hooks count. The setting itself counts only if it leads out of the
    /// repository: tools for commit hooks set it to a folder of the project, and read-only commands run none of
    /// those.
    fn hook_folder(&mut self, path: &[u8], scope: Scope, repository: &Repository, top: &Path) {
        let text = String::from_utf8_lossy(path);
        let Some(folder) = self.settings.expand(path) else {
            return self.settings.report.setting("core.hookspath", Some(&text), "not understood");
        };
        let folder = top.join(folder);
        let resolved = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        let climbs =
            folder.components().any(|part| part == std::path::Component::ParentDir) && resolved == folder;
        let inside = [top, &repository.git, &repository.common].iter().any(|part| resolved.starts_with(part));
        if scope == Scope::Repository && (!inside || climbs) {
            let source = self.settings.report.name(&repository.common.join("config"));
            self.settings.report.setting("core.hookspath", Some(&text), &source);
        }
        self.hooks_in(&folder);
    }

    fn hooks_in(&mut self, folder: &Path) {
        for hook in HOOKS {
            let path = folder.join(hook);
            if files::exists(&path) {
                self.settings.report.file(&path, "a hook");
            }
        }
    }

    /// `git status` and `git diff` start git in each checked out submodule, with its configuration.
    fn submodules(&mut self, repository: &Repository, config: &[Setting], top: &Path, depth: usize) {
        let path = repository.git.join("index");
        // Git reads the format only from this file, not from included ones.
        let format = config.iter().rev().find(|setting| setting.key == b"extensions.objectformat");
        let sha256 = format.is_some_and(|setting| Parts::of(setting).value.as_deref() == Some("sha256"));
        let links = match files::read(&path, index::LARGEST) {
            Ok(None) => return,
            Ok(Some(bytes)) => index::gitlinks(&bytes, if sha256 { 32 } else { 20 }).map_err(str::to_owned),
            Err(why) => Err(why),
        };
        let links = match links {
            Ok(links) => links,
            Err(why) => return self.settings.report.unreadable(&path, &why),
        };
        if links.len() > GITLINKS {
            return self.settings.report.unreadable(&path, "too many submodules");
        }
        for link in links {
            if link.contains(&0) {
                self.settings.report.unreadable(&path, "the name of a submodule has a zero byte");
                continue;
            }
            let folder = top.join(OsStr::from_bytes(&link));
            match discover::at(&folder) {
                Ok(None) => {}
                Ok(Some(found)) => self.submodule(found, depth),
                Err((path, why)) => self.settings.report.unreadable(&path, &why),
            }
        }
    }

    fn submodule(&mut self, found: Repository, depth: usize) {
        self.submodules += 1;
        if depth >= DEPTH || self.submodules > SUBMODULES {
            self.settings.report.unreadable(&found.top, "too many submodules");
            return;
        }
        // Its folder may have been reached through a link.
        let top = found.top.canonicalize().unwrap_or_else(|_| found.top.clone());
        self.repository(&Repository { top, ..found }, depth + 1);
    }
}
