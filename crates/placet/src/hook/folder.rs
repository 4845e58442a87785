//! "Let NAME work in DIR?": with a hook for every project, the first call in a closed folder asks this first.
//!
//! The server writes the text, and opens the folder if the agent's owner approves. In any case the call itself is
//! judged afterwards like any other.

use std::{
    env, fs,
    io::Write as _,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use placet_client::{CreateOptions, Error};
use placet_core::{Create, Kind, OPEN_FOLDER, State};
use placet_hooks::Call;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    ask::{Asker, WaitOutcome, explained, tell_doctor},
    memory,
};

/// How long the same folder is not asked about again: it is open, denied, or there was no answer.
const SETTLED: Duration = Duration::from_hours(1);
/// How long the question is open. An approval after the call was judged counts for the next call.
const STANDS: &str = "1h";
/// Where the asked folders are recorded.
const FOLDERS: &str = "folders";
/// Folders that do not last, or that everybody can write to.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// Most files of a call whose repositories are looked up.
const PATHS: usize = 20;
/// Most entries of a folder that are searched for data of Placet.
const ENTRIES: usize = 2_000;

/// A folder that may have to be asked about.
#[derive(Debug, PartialEq)]
pub(super) struct Folder {
    path: String,
    /// The note that it was asked about.
    note: PathBuf,
}

/// Folders on this machine that are never asked about.
struct ExcludedFolders {
    home: PathBuf,
    state: PathBuf,
    temporary: Vec<PathBuf>,
}

impl ExcludedFolders {
    fn here() -> Option<Self> {
        let real = |path: PathBuf| fs::canonicalize(&path).unwrap_or(path);
        let home = env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)?;
        let temporary = TEMPORARY.iter().map(PathBuf::from).chain([env::temp_dir()]).map(real).collect();
        Some(Self { home: real(home), state: real(memory::root()?), temporary })
    }

    fn has(&self, folder: &Path) -> bool {
        // The home folder, what lies above it, and the root of the machine.
        self.home.starts_with(folder)
            || self.temporary.iter().any(|other| folder.starts_with(other) || other.starts_with(folder))
            || self.state.starts_with(folder)
            || folder.starts_with(&self.state)
            || holds_data(folder)
    }
}

/// Whether a server's data is in it.
fn holds_data(folder: &Path) -> bool {
    let is_data = |folder: &Path| folder.join("placet.lock").exists() || folder.ends_with("placet-data");
    let Ok(entries) = fs::read_dir(folder) else { return true };
    folder.ancestors().any(is_data)
        || entries.filter_map(Result::ok).take(ENTRIES).any(|entry| is_data(&entry.path()))
}

/// The folder of this call, as the top of its repository, or else a repository with one of its files. None if all of
/// them were asked about before. The call's folder and paths are already resolved.
pub(super) fn unknown(call: &Call, url: &str) -> Option<Folder> {
    let never = ExcludedFolders::here()?;
    let cwd = call.context.get("cwd").and_then(Value::as_str).map(Path::new);
    let paths = call.context.get("paths").and_then(Value::as_object);
    let named = paths.into_iter().flat_map(|paths| paths.values().filter_map(Value::as_str).take(PATHS));
    let mut tops: Vec<PathBuf> = cwd.and_then(top).into_iter().collect();
    for path in named {
        // A folder outside of a repository may be anything, such as libraries or settings.
        if let Some(top) = repository(Path::new(path)).filter(|top| !tops.contains(top)) {
            tops.push(top);
        }
    }
    tops.into_iter().filter(|top| !never.has(top)).find_map(|top| {
        let path = top.into_os_string().into_string().ok()?;
        let parts = [call.event.agent().as_str(), url, &path].map(str::as_bytes);
        let name = placet_ledger::hash("placet/hook/folder/v1", &parts).to_string();
        let note = never.state.join(FOLDERS).join(name.trim_start_matches("sha256:"));
        let asked = fs::metadata(&note).and_then(|data| data.modified()).ok();
        let settled = asked.and_then(|at| at.elapsed().ok()).is_some_and(|age| age < SETTLED);
        (!settled).then_some(Folder { path, note })
    })
}

/// The top of a file's repository, without links. The file need not exist yet.
fn repository(file: &Path) -> Option<PathBuf> {
    let top = file.ancestors().find(|above| above.join(".git").exists())?;
    fs::canonicalize(top).ok()
}

/// The top of the repository, without links. Outside of one, the folder itself.
fn top(folder: &Path) -> Option<PathBuf> {
    let folder = fs::canonicalize(folder).ok().filter(|folder| folder.is_dir())?;
    let top = folder.ancestors().find(|above| above.join(".git").exists());
    Some(top.unwrap_or(&folder).to_path_buf())
}

impl Folder {
    fn question(&self) -> Create {
        let mut create = Create::new(Kind::Confirmation, "folders".to_owned());
        // The server replaces these with its own text.
        create.message = Some(format!("Let this agent work in {}?", self.path));
        create.context = Some(Map::from_iter([
            ("cwd".to_owned(), json!(self.path)),
            (OPEN_FOLDER.to_owned(), json!(self.path)),
        ]));
        create.expires_in = Some(STANDS.to_owned());
        create
    }

    /// Records that it was asked about. If that fails, the next call asks again and finds the same question.
    fn settled(&self) {
        let Some(folder) = self.note.parent() else { return };
        let _ = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        let _ = fs::File::create(&self.note).and_then(|mut file| file.write_all(self.path.as_bytes()));
    }
}

impl Asker<'_> {
    /// Asks whether the agent may work in this folder, and waits for at most half of the available time. The error
    /// says why the call cannot go on.
    pub(super) async fn ask_folder(&mut self, folder: &Folder) -> Result<(), String> {
        let began = Instant::now();
        let options = CreateOptions { resolved: true, ..CreateOptions::default() };
        let asked = match self.soon_raw(self.impatient().create(&folder.question(), options)).await {
            Ok(asked) => asked,
            Err(Error::Problem(problem)) => {
                // Already open, or a folder that cannot be opened. Other errors are about the call itself.
                if problem.status == 422 {
                    folder.settled();
                }
                return Ok(());
            }
            Err(error) => return Err(explained(&error)),
        };
        tell_doctor(asked.id);
        if asked.state == State::Pending
            && let WaitOutcome::Gone(why) = self.wait(asked.id, began + self.patience.wait / 2).await?
        {
            return Err(why.to_owned());
        }
        folder.settled();
        self.patience.wait = self.patience.wait.saturating_sub(began.elapsed());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn never(top: &Path) -> ExcludedFolders {
        let of = |name: &str| top.join(name);
        ExcludedFolders { home: of("home/ann"), state: of("home/ann/state"), temporary: vec![of("tmp")] }
    }

    #[test]
    fn the_home_folder_a_temporary_one_and_one_with_data_are_never_asked_about() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("a path");
        for name in
            ["home/ann/app", "home/ann/state/x", "tmp/x", "srv/held/sub", "srv/placet-data/x", "srv2/app"]
        {
            fs::create_dir_all(root.join(name)).expect("made");
        }
        fs::write(root.join("srv/held/sub/placet.lock"), "").expect("written");
        let never = never(&root);
        for name in ["home/ann/app", "srv2", "srv2/app"] {
            assert!(!never.has(&root.join(name)), "{name}");
        }
        for name in [
            "",
            "home",
            "home/ann",
            "home/ann/state",
            "home/ann/state/x",
            "tmp",
            "tmp/x",
            "srv",
            "srv/held",
            "srv/held/sub",
            "srv/placet-data",
            "srv/placet-data/x",
            "none",
        ] {
            assert!(never.has(&root.join(name)), "{name}");
        }
        assert!(never.has(Path::new("/")));
    }

    #[test]
    fn a_folder_is_known_by_its_real_path_and_the_top_of_its_repository() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("a path");
        fs::create_dir_all(root.join("app/.git")).expect("made");
        fs::create_dir_all(root.join("app/src/deep")).expect("made");
        fs::create_dir_all(root.join("plain/sub")).expect("made");
        symlink(root.join("app/src"), root.join("link")).expect("a link");
        assert_eq!(top(&root.join("link/deep")), Some(root.join("app")));
        assert_eq!(top(&root.join("plain/sub")), Some(root.join("plain/sub")));
        assert_eq!(top(&root.join("none")), None);
        assert_eq!(repository(&root.join("app/src/new.rs")), Some(root.join("app")));
        assert_eq!(repository(&root.join("plain/sub/a.rs")), None);
    }
}
