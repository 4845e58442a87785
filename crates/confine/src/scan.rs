//! What is protected in the workspace before a run.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, statat},
    io::Errno,
};

use crate::{
    protected::{Guard, Kind, Lists, ProtectedPath, Role, identity, look},
    walk::{Meets, Place, Reopened, named, open_folder, walk},
    words::Problem,
};

/// Most files that are looked at.
const MOST_FILES: usize = 3_000_000;
/// Most protected files in one workspace: each is a mount.
const MOST_FOUND: usize = 8192;
/// Everything protected below the folders that were scanned.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) found: Vec<ProtectedPath>,
    /// Folders that must stay where they are: git's own.
    pub(crate) git: BTreeSet<PathBuf>,
    /// Folders that nobody can look into now. The command could open them again, so they are covered.
    pub(crate) closed: Vec<PathBuf>,
    files: usize,
}

impl Meets for Scan {
    fn one(&mut self, folder: &Path) -> Result<(), Problem> {
        self.count(folder)
    }

    fn protected(
        &mut self,
        folder: &OwnedFd,
        name: &OsStr,
        path: PathBuf,
        guard: Guard,
        role: Role,
    ) -> Result<bool, Problem> {
        if let Some(found) = look(folder, name, path, guard)? {
            self.push(ProtectedPath { passage: role == Role::Leads, ..found })?;
        }
        Ok(true)
    }

    /// What a run made one has been taken away after it.
    fn is_module(&self, _: &Path) -> bool {
        true
    }

    fn git(&mut self, path: &Path) {
        self.git.insert(path.to_path_buf());
    }

    fn is_covered(&self, _: &OwnedFd, _: &OsStr, _: &Path, hidden: bool) -> bool {
        hidden
    }

    fn closed(&mut self, at: &OwnedFd, name: &OsStr, path: &Path) -> Result<Option<Reopened>, Problem> {
        if let Some(found) = look(at, name, path.to_path_buf(), Guard::Hidden)? {
            self.push(found)?;
            self.closed.push(path.to_path_buf());
        }
        Ok(None)
    }

    fn too_deep(&mut self, _: &OwnedFd, _: &OsStr, path: &Path) -> Result<(), Problem> {
        Err(Problem::Workspace(format!("{} is too deep", path.display())))
    }

    fn failed(&mut self, problem: Problem) -> Result<(), Problem> {
        Err(problem)
    }
}

impl Scan {
    /// Scans one folder and what is below it.
    pub(crate) fn folder(&mut self, lists: &Lists, root: &Path, place: Place) -> Result<(), Problem> {
        let unreadable = |error: std::io::Error| Problem::Look { path: root.into(), error };
        let folder = open_folder(CWD, root).map_err(|error| unreadable(error.into()))?;
        let folder = folder.ok_or_else(|| unreadable(Errno::ACCESS.into()))?;
        walk(lists, self, folder, root, place)
    }

    /// Other names of protected files: a hard link leads to the same content.
    pub(crate) fn other_names(&mut self, root: &Path) -> Result<(), Problem> {
        let wanted: Vec<ProtectedPath> =
            self.found.iter().filter(|found| found.links > 1 && found.kind == Kind::File).cloned().collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let known: BTreeSet<PathBuf> = self.found.iter().map(|found| found.path.clone()).collect();
        let covered: BTreeSet<PathBuf> = self.closed.iter().cloned().collect();
        let unreadable = |path: &Path| Problem::Look { path: path.into(), error: Errno::ACCESS.into() };
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            if covered.contains(&folder) {
                continue;
            }
            let fd = match open_folder(CWD, &folder) {
                Ok(Some(fd)) => fd,
                // In a folder that is not searched for names: a link in it could still lead to a secret.
                Ok(None) => {
                    let (at, name) = (folder.parent(), folder.file_name());
                    let above = at.map(|at| open_folder(CWD, at)).transpose().ok().flatten().flatten();
                    let (Some(above), Some(name)) = (above, name) else { return Err(unreadable(&folder)) };
                    self.closed(&above, name, &folder)?;
                    continue;
                }
                // Gone meanwhile.
                Err(_) => continue,
            };
            let look = |error: Errno| Problem::Look { path: folder.clone(), error: error.into() };
            for entry in Dir::read_from(&fd).map_err(look)? {
                let entry = entry.map_err(look)?;
                let (Some((name, kind)), inode) = (named(&fd, &entry), entry.ino()) else { continue };
                self.count(&folder)?;
                let path = folder.join(&name);
                if kind == FileType::Directory {
                    folders.push(path);
                } else if let Some(first) = wanted.iter().find(|found| found.inode == inode)
                    && !known.contains(&path)
                    && statat(&fd, &name, AtFlags::SYMLINK_NOFOLLOW)
                        .is_ok_and(|stat| identity(&stat) == (first.device, first.inode))
                {
                    self.push(ProtectedPath { path, text: None, ..first.clone() })?;
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, folder: &Path) -> Result<(), Problem> {
        self.files += 1;
        if self.files > MOST_FILES {
            let most = format!("more than {MOST_FILES} files, the last in {}", folder.display());
            return Err(Problem::Workspace(format!("it has {most}; name folders to leave out in `skip`")));
        }
        Ok(())
    }

    pub(crate) fn push(&mut self, found: ProtectedPath) -> Result<(), Problem> {
        if self.found.len() >= MOST_FOUND {
            return Err(Problem::Workspace(format!("it has more than {MOST_FOUND} protected files")));
        }
        self.found.push(found);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::Profile;

    fn profile(root: &Path) -> Profile {
        let text = serde_json::json!({
            "version": 1, "workspace": [root], "cwd": root, "home": "/home/ada",
            "read_only": [".git", ".claude", ".github/workflows"], "hidden": [".env", "*.pem"], "skip": ["node_modules"],
        });
        Profile::read(&text.to_string()).unwrap()
    }

    fn scan(root: &Path) -> Vec<(String, Guard)> {
        let mut scan = Scan::default();
        scan.folder(&Lists::new(&profile(root)).unwrap(), root, Place::Plain).unwrap();
        scan.other_names(root).unwrap();
        let name = |path: &Path| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let mut found: Vec<_> = scan.found.iter().map(|found| (name(&found.path), found.guard)).collect();
        found.sort();
        found
    }

    fn write(root: &Path, files: &[&str]) {
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
    }

    #[test]
    fn names_are_found_at_any_depth_and_folders_as_a_whole() {
        let root = tempfile::tempdir_in("/var/tmp").unwrap();
        write(
            root.path(),
            &["a/b/.env", ".claude/settings.json", ".claude/.env", "node_modules/x/.env", "k.pem"],
        );
        write(root.path(), &[".github/workflows/ci.yml", "src/main.rs"]);
        assert_eq!(
            scan(root.path()),
            [
                (".claude".to_owned(), Guard::ReadOnly),
                (".claude/.env".to_owned(), Guard::Hidden),
                (".github/workflows".to_owned(), Guard::ReadOnly),
                ("a/b/.env".to_owned(), Guard::Hidden),
                ("k.pem".to_owned(), Guard::Hidden),
            ]
        );
    }

    #[test]
    fn what_git_obeys_is_found_in_modules_worktrees_and_bare_repositories() {
        let root = tempfile::tempdir_in("/var/tmp").unwrap();
        write(root.path(), &[".git/HEAD", ".git/config", ".git/hooks/x", ".git/objects/info/packs"]);
        write(
            root.path(),
            &[".git/refs/heads/config", ".git/modules/libs/deep/HEAD", ".git/modules/libs/deep/config"],
        );
        write(
            root.path(),
            &[".git/worktrees/w/commondir", ".git/worktrees/w/HEAD", "bare/HEAD", "bare/config"],
        );
        write(root.path(), &["bare/objects/x", "bare/refs/x", "linked/.git", "config"]);
        write(
            root.path(),
            &[".git/remotes/x", ".git/modules/libs/deep/branches/x", "bare/branches/x", "remotes/x"],
        );
        write(root.path(), &[".git/worktrees/w/branches/x", ".git/refs/remotes/x"]);
        let names: Vec<String> = scan(root.path()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            [
                ".git/config",
                ".git/hooks",
                ".git/modules/libs/deep/branches",
                ".git/modules/libs/deep/config",
                ".git/remotes",
                ".git/worktrees/w/branches",
                ".git/worktrees/w/commondir",
                "bare/HEAD",
                "bare/branches",
                "bare/config",
                "linked/.git"
            ]
        );
    }

    /// Root may read everything, so that there are no closed folders for it.
    fn is_root() -> bool {
        rustix::process::geteuid().is_root()
    }

    #[test]
    fn a_folder_that_cannot_be_looked_into_is_covered_as_a_whole() {
        use std::os::unix::fs::PermissionsExt as _;
        if is_root() {
            return;
        }
        let root = tempfile::tempdir_in("/var/tmp").unwrap();
        write(root.path(), &["a/.env", "b/.env", "c/.env", "open/.env", "node_modules/d/innocent"]);
        fs::hard_link(root.path().join("open/.env"), root.path().join("node_modules/d/secret")).unwrap();
        let modes = [("a", 0o311), ("b", 0o400), ("c", 0o000), ("node_modules/d", 0o311)];
        let set = |mode: Option<u32>| {
            for (name, closed) in modes {
                let mode = fs::Permissions::from_mode(mode.unwrap_or(closed));
                fs::set_permissions(root.path().join(name), mode).unwrap();
            }
        };
        set(None);
        let found = scan(root.path());
        set(Some(0o755));
        let names = ["a", "b", "c", "node_modules/d", "open/.env"];
        assert_eq!(found, names.map(|name| (name.to_owned(), Guard::Hidden)));
    }

    #[test]
    fn another_name_of_a_secret_is_a_secret() {
        let root = tempfile::tempdir_in("/var/tmp").unwrap();
        write(root.path(), &[".env"]);
        fs::create_dir(root.path().join("node_modules")).unwrap();
        fs::hard_link(root.path().join(".env"), root.path().join("node_modules/innocent")).unwrap();
        let names: Vec<String> = scan(root.path()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, [".env", "node_modules/innocent"]);
    }
}
