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
    fn a_repository_that_does_not_know_the_worktree_is_not_written() {
        assert_eq!(linked(false).1, None);
    }
}
