//! A mark outside the workspace: an earlier run left something there that could not be put right. What it left would be taken for the
//! user's own by the next run, so there is none before a person has looked.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use crate::{
    profile::Profile,
    words::{Doing as _, Problem},
};

/// Where the mark of a workspace lies: beside the folders of sessions, which no command sees. Whoever runs a command by hand has none,
/// and reads what was left.
fn file(profile: &Profile, root: &Path) -> Result<Option<PathBuf>, Problem> {
    let Some(sessions) = profile.kept.as_deref().and_then(Path::parent) else { return Ok(None) };
    // The root itself cannot be replaced by a command in it.
    let about = fs::symlink_metadata(root).map_err(|error| Problem::Look { path: root.into(), error })?;
    Ok(Some(sessions.join(format!("left-{:x}-{:x}", about.dev(), about.ino()))))
}

/// Refuses a workspace with a mark.
pub(crate) fn check(profile: &Profile) -> Result<(), Problem> {
    for root in &profile.workspace {
        let Some(mark) = file(profile, root)? else { continue };
        match fs::symlink_metadata(&mark) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            _ => {
                return Err(Problem::Workspace(format!(
                    "an earlier run left something in {} that could not be put right. Read {}, put it right, and remove that file",
                    root.display(),
                    mark.display()
                )));
            }
        }
    }
    Ok(())
}

/// Leaves marks with what is to be put right.
pub(crate) fn leave(profile: &Profile, sentences: &[String]) -> Result<(), Problem> {
    for root in &profile.workspace {
        if let Some(mark) = file(profile, root)? {
            let plain = |text: &String| text.replace(char::is_control, "?");
            let text: Vec<String> = sentences.iter().map(plain).collect();
            fs::write(&mark, text.join("\n") + "\n")
                .doing(format_args!("{} cannot be written", mark.display()))?;
        }
    }
    Ok(())
}
