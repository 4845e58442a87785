//! `placet serve --policy`: a file or preset is put in force at the start, and a file again whenever it changes.
//!
//! What comes from a file is put once: as long as the file stays the same, a policy that an admin put later stays in
//! force, across restarts too. A file that cannot be used is said in the log, and the policy in force stays.

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

/// How often the file is looked at. Two looks must agree before it is taken: whoever writes it has a second to finish.
const LOOK: Duration = Duration::from_secs(1);
/// The longest name of where a policy comes from that the gate takes.
const NAME: usize = 180;

/// A policy named on the command line, read and found good before anything was started.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    source: Source,
    hash: String,
    /// What it is recorded as coming from.
    origin: String,
    /// The file to watch.
    file: Option<PathBuf>,
}

impl Loaded {
    /// Reads it as a whole; every problem is reported.
    pub(crate) fn read(name: &str) -> anyhow::Result<Self> {
        let source = Source::read(name)?;
        let hash = source.parse()?.hash().to_owned();
        let file = (!name.starts_with("preset:") && name != "-").then(|| {
            // The same file is the same source, from wherever the server is started.
            std::fs::canonicalize(name).unwrap_or_else(|_| PathBuf::from(name))
        });
        let origin = match &file {
            Some(path) => origin(path),
            None => name.to_owned(),
        };
        Ok(Self { source, hash, origin, file })
    }

    /// One that is part of the program.
    pub(crate) fn built_in(label: &str, text: &str) -> anyhow::Result<Self> {
        let source = Source { label: label.to_owned(), text: text.to_owned() };
        let hash = source.parse()?.hash().to_owned();
        Ok(Self { source, hash, origin: label.to_owned(), file: None })
    }
}

/// A file as a source: its path, shortened at the front if it must be.
fn origin(path: &Path) -> String {
    let text = path.display().to_string().escape_debug().to_string();
    let start = (0..text.len()).find(|start| text.len() - start <= NAME && text.is_char_boundary(*start));
    match start {
        Some(0) | None => format!("file:{text}"),
        Some(start) => format!("file:…{}", text.get(start..).unwrap_or_default()),
    }
}

/// Puts the policy in force, unless this very text already came from there.
pub(crate) async fn apply(gate: &Gate, loaded: &Loaded) -> Result<(), GateError> {
    let system = Actor::system();
    let Loaded { source: Source { label, text }, hash, origin, .. } = loaded;
    let before = gate.policy(&system).await?;
    if last_from(gate, origin).await?.as_deref() == Some(hash) {
        if before.hash != *hash {
            tracing::warn!(
                in_force = %before.hash, from = %before.source, by = before.by.as_deref().unwrap_or("-"),
                "{label} has not changed since it was put in force, and another policy was put after it, which stays; `placet policy put {label}` brings it back"
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
    // At a first start there is nobody yet, and nothing can be met.
    if !gate.is_new() {
        for finding in &put.findings {
            tracing::warn!(rule = %finding.rule, "{}; fix: {}", finding.message, finding.fix);
        }
    }
    if put.changed {
        let changed = changes(&before.text, text);
        tracing::info!(%hash, before = %before.hash, %changed, "{label} is now the policy in force");
    } else {
        // The same text was in force already. That it is the file's too is written down all the same: otherwise the next
        // start would take an unchanged file for a new one, and put it over whatever an admin put in between.
        gate.put_policy_again(&system, hash, origin).await?;
    }
    Ok(())
}

/// The hash of what was put last from the same source.
async fn last_from(gate: &Gate, origin: &str) -> Result<Option<String>, GateError> {
    let versions = gate.versions(&Actor::system()).await?;
    Ok(versions.into_iter().find(|version| version.source == origin).map(|version| version.hash))
}

/// What a look at the file shows without reading it.
type Glance = (u64, i64, i64, i64, u64);

fn glance(file: &Path) -> Option<Glance> {
    let meta = std::fs::metadata(file).ok()?;
    Some((meta.len(), meta.mtime(), meta.mtime_nsec(), meta.ctime_nsec(), meta.ino()))
}

/// Looks at the file once a second until the server closes, and puts it in force when it has changed and is good.
pub(crate) async fn watch(gate: Gate, loaded: Loaded, cancel: CancellationToken) {
    let Some(mut file) = WatchedFile::new(&loaded) else { return };
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = cancel.cancelled() => return,
        }
        match file.look().await {
            Look::Wait => {}
            Look::Unreadable(error) => {
                tracing::warn!("{error}; the policy in force stays");
            }
            Look::Changed(source) => reload(&gate, &loaded, source).await,
        }
    }
}

/// The file of a policy, and what was seen of it.
#[derive(Debug)]
struct WatchedFile {
    path: PathBuf,
    label: String,
    known: Known,
    /// Not looked at yet. The first look reads: the file may have changed, or gone, since the start read it.
    fresh: bool,
}

impl WatchedFile {
    fn new(loaded: &Loaded) -> Option<Self> {
        let Source { label, text } = loaded.source.clone();
        let known = Known { glance: None, text, waiting: Seen::Known };
        Some(Self { path: loaded.file.clone()?, label, known, fresh: true })
    }

    /// Looks once.
    async fn look(&mut self) -> Look {
        let now = glance(&self.path);
        let fresh = std::mem::replace(&mut self.fresh, false);
        if !fresh && now == self.known.glance && self.known.waiting == Seen::Known {
            return Look::Wait;
        }
        self.known.glance = now;
        let (label, path) = (self.label.clone(), self.path.clone());
        let read = tokio::task::spawn_blocking(move || {
            Source::read(&path.to_string_lossy()).map(|source| Source { label, ..source })
        });
        match read.await {
            Ok(read) => self.known.look(read),
            // Only at the end of the program.
            Err(_) => Look::Wait,
        }
    }
}

/// What the watcher has seen.
#[derive(Debug)]
struct Known {
    glance: Option<Glance>,
    text: String,
    /// Seen once, and to be seen again.
    waiting: Seen,
}

/// What one look showed.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    /// What is known.
    Known,
    /// Another text.
    Text(String),
    /// A file that cannot be read.
    Unreadable,
}

/// What to do about a look.
#[derive(Debug)]
enum Look {
    Wait,
    Unreadable(anyhow::Error),
    Changed(Source),
}

impl Known {
    /// Two looks must show the same: in between, the file may be half written, or gone for a moment.
    fn look(&mut self, read: anyhow::Result<Source>) -> Look {
        let seen = match &read {
            Ok(source) if source.text == self.text => Seen::Known,
            Ok(source) => Seen::Text(source.text.clone()),
            Err(_) => Seen::Unreadable,
        };
        if seen == Seen::Known || self.waiting != seen {
            self.waiting = seen;
            return Look::Wait;
        }
        self.waiting = Seen::Known;
        match read {
            Ok(source) => {
                self.text.clone_from(&source.text);
                Look::Changed(source)
            }
            Err(error) => {
                // Whatever comes next is news, the old text included.
                self.text.clear();
                Look::Unreadable(error)
            }
        }
    }
}

/// A file that has changed: put in force, or everything that is wrong with it in the log.
async fn reload(gate: &Gate, loaded: &Loaded, source: Source) {
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
    let loaded = Loaded { source, hash, ..loaded.clone() };
    if let Err(error) = apply(gate, &loaded).await {
        tracing::warn!(%error, "{label} was not put in force; the policy in force stays");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        Known { glance: None, text: "old".to_owned(), waiting: Seen::Known }
    }

    fn source(text: &str) -> Source {
        Source { label: "p.toml".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_change_is_taken_when_two_looks_show_the_same() {
        let mut known = known();
        assert!(matches!(known.look(Ok(source("ne"))), Look::Wait));
        assert!(matches!(known.look(Ok(source("new"))), Look::Wait), "it was still being written");
        assert!(matches!(known.look(Ok(source("new"))), Look::Changed(found) if found.text == "new"));
        assert!(matches!(known.look(Ok(source("new"))), Look::Wait));
    }

    /// A file, and the watcher of it.
    fn watched(text: &str) -> (tempfile::TempDir, PathBuf, WatchedFile) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.toml");
        std::fs::write(&path, text).unwrap();
        let loaded = Loaded::read(path.to_str().unwrap()).unwrap();
        let file = WatchedFile::new(&loaded).unwrap();
        (folder, path, file)
    }

    #[tokio::test]
    async fn a_file_that_is_being_written_is_taken_when_it_is_whole() {
        let (_folder, path, mut file) = watched("version = 1\n");
        assert!(matches!(file.look().await, Look::Wait), "it is as it was read");
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
            assert!(matches!(file.look().await, Look::Wait), "one look is not enough");
        }
        let Look::Changed(taken) = file.look().await else { panic!("two looks showed the same") };
        assert_eq!(taken.text, written);
        assert!(matches!(file.look().await, Look::Wait), "it is taken once");
    }

    #[tokio::test]
    async fn a_file_that_was_removed_is_reported_once_and_taken_when_it_is_back() {
        let (_folder, path, mut file) = watched("version = 1\n");
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(file.look().await, Look::Wait), "it may be gone for a moment");
        let Look::Unreadable(error) = file.look().await else { panic!("it is gone") };
        assert!(error.to_string().contains("policy.toml"), "{error}");
        assert!(matches!(file.look().await, Look::Wait), "told once");
        std::fs::write(&path, "version = 1\n").unwrap();
        assert!(matches!(file.look().await, Look::Wait));
        assert!(matches!(file.look().await, Look::Changed(_)), "the old text is news after that");
    }

    #[test]
    fn a_file_that_is_gone_for_a_moment_is_not_missed() {
        let mut known = known();
        assert!(matches!(known.look(Err(anyhow::anyhow!("gone"))), Look::Wait));
        assert!(matches!(known.look(Ok(source("old"))), Look::Wait));
        assert!(known.waiting == Seen::Known, "it came back as it was");
        assert!(matches!(known.look(Err(anyhow::anyhow!("gone"))), Look::Wait));
        assert!(matches!(known.look(Err(anyhow::anyhow!("gone"))), Look::Unreadable(_)));
    }

    #[test]
    fn a_long_path_keeps_its_end() {
        let path = PathBuf::from(format!("/{}/policy.toml", "ä".repeat(150)));
        let name = origin(&path);
        assert!(name.len() <= 200 && name.starts_with("file:…") && name.ends_with("/policy.toml"), "{name}");
        assert_eq!(origin(Path::new("/etc/placet/policy.toml")), "file:/etc/placet/policy.toml");
    }
}
