//! `placet serve --policy`: puts a file or preset in force at the start, and a file again whenever it changes.
//!
//! A file is put once. While it stays the same, a policy that an admin put later stays in force, also across
//! restarts. A file that cannot be used is reported in the log, and the policy in force stays.

use std::{
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use placet_core::Actor;
use placet_gate::{Gate, GateError};
use tokio_util::sync::CancellationToken;

use crate::{
    exit::BadPolicy,
    policy::{Source, changes, warning},
};

/// How often the file is checked. Two checks must agree before it is used, so a writer has a second to finish.
const LOOK: Duration = Duration::from_secs(1);
/// The longest name of a policy's source that the gate accepts.
const NAME: usize = 180;

/// A policy from the command line, read and checked before anything is started.
#[derive(Debug, Clone)]
pub(crate) struct NamedPolicy {
    source: Source,
    hash: String,
    /// The source that is recorded.
    origin: String,
    /// The file to watch.
    file: Option<PathBuf>,
    /// Whether any policy that was put before stays in force.
    first: bool,
}

impl NamedPolicy {
    /// Reads all of it, and reports every error.
    pub(crate) fn read(name: &str) -> anyhow::Result<Self> {
        let source = Source::read(name)?;
        let hash = source.parse()?.hash().to_owned();
        let file = (!name.starts_with("preset:") && name != "-").then(|| {
            // The same file is the same source, wherever the server is started.
            std::fs::canonicalize(name).unwrap_or_else(|_| PathBuf::from(name))
        });
        let origin = match &file {
            Some(path) => origin(path),
            None => name.to_owned(),
        };
        Ok(Self { source, hash, origin, file, first: false })
    }

    /// The same for data without a policy. What people put later stays in force, and no file is watched.
    pub(crate) fn first(name: &str) -> anyhow::Result<Self> {
        Ok(Self { file: None, first: true, ..Self::read(name)? })
    }

    /// A policy that is part of the program.
    pub(crate) fn built_in(label: &str, text: &str) -> anyhow::Result<Self> {
        let source = Source { label: label.to_owned(), text: text.to_owned() };
        let hash = source.parse()?.hash().to_owned();
        Ok(Self { source, hash, origin: label.to_owned(), file: None, first: false })
    }
}

/// A file as a source: its path, shortened at the front if needed.
fn origin(path: &Path) -> String {
    let text = path.display().to_string().escape_debug().to_string();
    let start = (0..text.len()).find(|start| text.len() - start <= NAME && text.is_char_boundary(*start));
    match start {
        Some(0) | None => format!("file:{text}"),
        Some(start) => format!("file:…{}", text.get(start..).unwrap_or_default()),
    }
}

/// Puts the policy in force, unless this very text was already put from there.
pub(crate) async fn apply(gate: &Gate, loaded: &NamedPolicy) -> Result<(), GateError> {
    let system = Actor::system();
    let NamedPolicy { source: Source { label, text }, hash, origin, .. } = loaded;
    if loaded.first && !gate.versions(&system).await?.is_empty() {
        return Ok(());
    }
    let before = gate.policy(&system).await?;
    if last_from(gate, origin).await?.as_deref() == Some(hash) {
        if before.hash != *hash {
            tracing::warn!(
                in_force = %before.hash, from = %before.source, by = before.by.as_deref().unwrap_or("-"),
                "{label} has not changed since it was put, and another policy was put later, which stays in force; to use {label} again: `placet policy put {label}`"
            );
        }
        return Ok(());
    }
    let put = gate.put_policy(&system, text, origin, None).await?;
    for found in gate.policy(&system).await?.warnings {
        let found = placet_client::PolicyProblem {
            line: found.line,
            column: found.column,
            rule: found.rule,
            message: found.message,
            fix: found.fix,
        };
        tracing::warn!("{}", warning(label, &found));
    }
    // At a first start there are no people yet, so no needs can be met.
    if !gate.is_new() {
        for finding in &put.findings {
            tracing::warn!(rule = %finding.rule, "{}; fix: {}", finding.message, finding.fix);
        }
    }
    if put.changed {
        let changed = changes(&before.text, text);
        tracing::info!(%hash, before = %before.hash, %changed, "{label} is now the policy in force");
    } else {
        // The same text was already in force. The file is recorded as a source too: otherwise the next start would
        // take an unchanged file for a new one, and replace what an admin put in between.
        gate.put_policy_again(&system, hash, origin).await?;
    }
    Ok(())
}

/// The hash of the last policy from the same source.
async fn last_from(gate: &Gate, origin: &str) -> Result<Option<String>, GateError> {
    let versions = gate.versions(&Actor::system()).await?;
    Ok(versions.into_iter().find(|version| version.source == origin).map(|version| version.hash))
}

/// The state of the file, without reading it.
type FileStamp = (u64, i64, i64, i64, u64);

fn glance(file: &Path) -> Option<FileStamp> {
    let meta = std::fs::metadata(file).ok()?;
    Some((meta.len(), meta.mtime(), meta.mtime_nsec(), meta.ctime_nsec(), meta.ino()))
}

/// Checks the file once a second until the server closes, and puts it in force when it has changed and is valid.
pub(crate) async fn watch(gate: Gate, loaded: NamedPolicy, cancel: CancellationToken) {
    let Some(mut file) = WatchedFile::new(&loaded) else { return };
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = cancel.cancelled() => return,
        }
        match file.look().await {
            LookResult::Wait => {}
            LookResult::Unreadable(error) => {
                tracing::warn!("{error}; the policy in force stays");
            }
            LookResult::Changed(source) => reload(&gate, &loaded, source).await,
        }
    }
}

/// The file of a policy, and its last known state.
#[derive(Debug)]
struct WatchedFile {
    path: PathBuf,
    label: String,
    known: KnownText,
    /// Not checked yet. The first check reads: the file may have changed since the start read it.
    fresh: bool,
}

impl WatchedFile {
    fn new(loaded: &NamedPolicy) -> Option<Self> {
        let Source { label, text } = loaded.source.clone();
        let known = KnownText { glance: None, text, waiting: Reading::Unchanged };
        Some(Self { path: loaded.file.clone()?, label, known, fresh: true })
    }

    /// Looks once.
    async fn look(&mut self) -> LookResult {
        let now = glance(&self.path);
        let fresh = std::mem::replace(&mut self.fresh, false);
        if !fresh && now == self.known.glance && self.known.waiting == Reading::Unchanged {
            return LookResult::Wait;
        }
        self.known.glance = now;
        let (label, path) = (self.label.clone(), self.path.clone());
        let read = tokio::task::spawn_blocking(move || {
            Source::read(&path.to_string_lossy()).map(|source| Source { label, ..source })
        });
        match read.await {
            Ok(read) => self.known.look(read),
            // Only when the program ends.
            Err(_) => LookResult::Wait,
        }
    }
}

/// What the watcher has seen.
#[derive(Debug)]
struct KnownText {
    glance: Option<FileStamp>,
    text: String,
    /// Seen once; it must be seen again.
    waiting: Reading,
}

/// What one look showed.
#[derive(Debug, PartialEq, Eq)]
enum Reading {
    /// The known text.
    Unchanged,
    /// Another text.
    Text(String),
    /// A file that cannot be read.
    Unreadable,
}

/// What to do about a look.
#[derive(Debug)]
enum LookResult {
    Wait,
    Unreadable(anyhow::Error),
    Changed(Source),
}

impl KnownText {
    /// Two checks must show the same: in between, the file may be half written, or missing for a moment.
    fn look(&mut self, read: anyhow::Result<Source>) -> LookResult {
        let seen = match &read {
            Ok(source) if source.text == self.text => Reading::Unchanged,
            Ok(source) => Reading::Text(source.text.clone()),
            Err(_) => Reading::Unreadable,
        };
        if seen == Reading::Unchanged || self.waiting != seen {
            self.waiting = seen;
            return LookResult::Wait;
        }
        self.waiting = Reading::Unchanged;
        match read {
            Ok(source) => {
                self.text.clone_from(&source.text);
                LookResult::Changed(source)
            }
            Err(error) => {
                // Any text counts as a change after that, even the old one.
                self.text.clear();
                LookResult::Unreadable(error)
            }
        }
    }
}

/// A changed file: puts it in force, or logs all of its errors.
async fn reload(gate: &Gate, loaded: &NamedPolicy, source: Source) {
    let label = source.label.clone();
    let parsed = {
        let source = source.clone();
        tokio::task::spawn_blocking(move || source.parse().map(|policy| policy.hash().to_owned())).await
    };
    let hash = match parsed {
        Ok(Ok(hash)) => hash,
        Ok(Err(error)) => {
            if let Some(bad) = error.downcast_ref::<BadPolicy>() {
                bad.lines().for_each(|line| tracing::warn!("{line}"));
            }
            tracing::warn!("{error}; the policy in force stays");
            return;
        }
        Err(_) => return,
    };
    let loaded = NamedPolicy { source, hash, ..loaded.clone() };
    if let Err(error) = apply(gate, &loaded).await {
        tracing::warn!(%error, "{label} was not put in force; the policy in force stays");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> KnownText {
        KnownText { glance: None, text: "old".to_owned(), waiting: Reading::Unchanged }
    }

    fn source(text: &str) -> Source {
        Source { label: "p.toml".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_change_is_taken_when_two_looks_show_the_same() {
        let mut known = known();
        assert!(matches!(known.look(Ok(source("ne"))), LookResult::Wait));
        assert!(matches!(known.look(Ok(source("new"))), LookResult::Wait), "it was still being written");
        assert!(matches!(known.look(Ok(source("new"))), LookResult::Changed(found) if found.text == "new"));
        assert!(matches!(known.look(Ok(source("new"))), LookResult::Wait));
    }

    /// A file, and the watcher of it.
    fn watched(text: &str) -> (tempfile::TempDir, PathBuf, WatchedFile) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.toml");
        std::fs::write(&path, text).unwrap();
        let loaded = NamedPolicy::read(path.to_str().unwrap()).unwrap();
        let file = WatchedFile::new(&loaded).unwrap();
        (folder, path, file)
    }

    #[tokio::test]
    async fn a_file_that_is_being_written_is_taken_when_it_is_whole() {
        let (_folder, path, mut file) = watched("version = 1\n");
        assert!(matches!(file.look().await, LookResult::Wait), "it is as it was read");
        // Every beginning of it is a good policy, and each is looser than the whole.
        let rule = |effect: &str| {
            format!("\n[[rule]]\nname = \"{effect}\"\neffect = \"{effect}\"\ntool = \"deploy\"\n")
        };
        let parts = ["version = 1\n# Mine.\n".to_owned(), rule("allow"), rule("hold"), rule("deny")];
        let mut written = String::new();
        for part in parts {
            written.push_str(&part);
            std::fs::write(&path, &written).unwrap();
            source(&written).parse().expect("a good policy");
            assert!(matches!(file.look().await, LookResult::Wait), "one look is not enough");
        }
        let LookResult::Changed(taken) = file.look().await else { panic!("two looks showed the same") };
        assert_eq!(taken.text, written);
        assert!(matches!(file.look().await, LookResult::Wait), "it is taken once");
    }

    #[tokio::test]
    async fn a_file_that_was_removed_is_reported_once_and_taken_when_it_is_back() {
        let (_folder, path, mut file) = watched("version = 1\n");
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(file.look().await, LookResult::Wait), "it may be gone for a moment");
        let LookResult::Unreadable(error) = file.look().await else { panic!("it is gone") };
        assert!(error.to_string().contains("policy.toml"), "{error}");
        assert!(matches!(file.look().await, LookResult::Wait), "told once");
        std::fs::write(&path, "version = 1\n").unwrap();
        assert!(matches!(file.look().await, LookResult::Wait));
        assert!(matches!(file.look().await, LookResult::Changed(_)), "the old text is news after that");
    }

    #[test]
    fn a_file_that_is_gone_for_a_moment_is_not_missed() {
        let mut known = known();
        assert!(matches!(known.look(Err(anyhow::anyhow!("gone"))), LookResult::Wait));
        assert!(matches!(known.look(Ok(source("old"))), LookResult::Wait));
        assert!(known.waiting == Reading::Unchanged, "it came back as it was");
        assert!(matches!(known.look(Err(anyhow::anyhow!("gone"))), LookResult::Wait));
        assert!(matches!(known.look(Err(anyhow::anyhow!("gone"))), LookResult::Unreadable(_)));
    }

    #[test]
    fn a_long_path_keeps_its_end() {
        let path = PathBuf::from(format!("/{}/policy.toml", "ä".repeat(150)));
        let name = origin(&path);
        assert!(name.len() <= 200 && name.starts_with("file:…") && name.ends_with("/policy.toml"), "{name}");
        assert_eq!(origin(Path::new("/etc/placet/policy.toml")), "file:/etc/placet/policy.toml");
    }
}
