//! What this machine remembers of a ledger besides the database: the newest entries that were acknowledged. At the next
//! start it shows whether the database went back meanwhile, and after a loss which requests it concerns.
//!
//! One file for each node and ledger: a header, then a line for each entry. It is written a moment late and not synced, so
//! it may lack the last entries, and never has one that was not durable in the database.

use std::{
    collections::VecDeque,
    fmt,
    fs::{self, File, OpenOptions},
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use placet_core::{Digest, RequestId};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{StoreError, tail::News};

/// How long an entry may wait before it is written down.
const LATE: Duration = Duration::from_millis(50);
/// A file that is larger is put aside, and the one that was put aside before is deleted.
const LARGEST: u64 = 1 << 20;
/// Most entries that wait to be written.
const WAITING: usize = 16_384;
/// Most nodes of one ledger on one machine.
const NODES: u32 = 64;
const HEADER: &str = "placet acknowledged entries, format 1";

/// One entry that was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acked {
    /// Its number.
    pub seq: u64,
    /// Its hash.
    pub hash: Digest,
    /// The life of the database it belongs to.
    pub epoch: String,
    /// What happened: `request.created` and so on.
    pub name: String,
    /// To which request.
    pub request: Option<RequestId>,
}

impl fmt::Display for Acked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {} ", self.seq, self.hash, self.epoch, self.name)?;
        match self.request {
            Some(request) => write!(f, "{request}"),
            None => f.write_str("-"),
        }
    }
}

impl FromStr for Acked {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let words: Vec<&str> = line.split(' ').collect();
        let [seq, hash, epoch, name, request] = words[..] else { return Err(()) };
        let request = match request {
            "-" => None,
            id => Some(id.parse().map_err(drop)?),
        };
        Ok(Self {
            seq: seq.parse().map_err(drop)?,
            hash: hash.parse().map_err(drop)?,
            epoch: epoch.to_owned(),
            name: name.to_owned(),
            request,
        })
    }
}

/// An entry on its way to the file. The writer of the database makes these, so they cost little; the text is made later.
#[derive(Debug)]
struct Noted {
    seq: u64,
    hash: Digest,
    epoch: Arc<str>,
    name: &'static str,
    request: Option<RequestId>,
}

/// This node's own file of one ledger. No other process writes it while this value lives.
#[derive(Debug)]
pub(crate) struct Memory {
    path: PathBuf,
    // Entries that are not written yet.
    waiting: Mutex<VecDeque<Noted>>,
    bell: Notify,
    _lock: File,
}

impl Memory {
    /// Takes a file of this ledger that no other node has.
    pub(crate) fn open(folder: &Path, ledger: Digest) -> Result<Self, StoreError> {
        let wrong = |error: std::io::Error| wrong(folder, &error);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(wrong)?;
        for node in 0..NODES {
            let path = path(folder, ledger, node);
            let lock =
                open().create(true).truncate(false).open(path.with_extension("lock")).map_err(wrong)?;
            match lock.try_lock() {
                Ok(()) => {
                    return Ok(Self { path, waiting: Mutex::default(), bell: Notify::new(), _lock: lock });
                }
                Err(fs::TryLockError::WouldBlock) => {}
                Err(fs::TryLockError::Error(error)) => return Err(wrong(error)),
            }
        }
        Err(StoreError::File(format!(
            "{NODES} servers on this ledger use {} already: name another folder with --state",
            folder.display()
        )))
    }

    /// Remembers entries, a moment later.
    pub(crate) fn note<'a>(&self, news: impl Iterator<Item = &'a News>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend(news.map(|item| Noted {
            seq: item.seq,
            hash: item.hash,
            epoch: item.epoch.clone(),
            name: item.name,
            request: item.request.as_ref().map(|request| request.id),
        }));
        // A file that cannot be written must not fill the memory; the newest entries are what counts.
        let over = waiting.len().saturating_sub(WAITING);
        waiting.drain(..over);
        drop(waiting);
        self.bell.notify_one();
    }

    /// Writes down what waits.
    pub(crate) fn flush(&self) -> std::io::Result<()> {
        let noted = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        if noted.is_empty() {
            return Ok(());
        }
        let mut lines = String::with_capacity(noted.len() * 192);
        for Noted { seq, hash, epoch, name, request } in noted {
            use fmt::Write as _;
            let _ = write!(lines, "{seq} {hash} {epoch} {name} ");
            let _ = match request {
                Some(request) => writeln!(lines, "{request}"),
                None => writeln!(lines, "-"),
            };
        }
        let mut file = open().append(true).create(true).open(&self.path)?;
        if file.metadata()?.len() > LARGEST {
            fs::rename(&self.path, self.path.with_extension("old"))?;
            file = open().append(true).create(true).open(&self.path)?;
        }
        let start = if file.metadata()?.len() == 0 { format!("{HEADER}\n") } else { String::new() };
        // One write: a file that is cut short ends with half a line, which is not read.
        file.write_all((start + &lines).as_bytes())
    }
}

/// Writes down what is noted until the store closes.
pub(crate) async fn write(memory: Arc<Memory>, cancel: CancellationToken) {
    let mut said = false;
    loop {
        let going_on = cancel.run_until_cancelled(memory.bell.notified()).await.is_some();
        if going_on {
            cancel.run_until_cancelled(tokio::time::sleep(LATE)).await;
        }
        let writer = memory.clone();
        let written = tokio::task::spawn_blocking(move || writer.flush()).await;
        if let Ok(Err(error)) = written
            && !std::mem::replace(&mut said, true)
        {
            let file = memory.path.display();
            tracing::warn!(%error, %file, "acknowledged entries cannot be remembered outside the database");
        }
        if !going_on {
            return;
        }
    }
}

/// What the nodes of this machine remember of a ledger: for each of them its entries, the oldest first.
pub(crate) fn remembered(folder: &Path, ledger: Digest) -> Result<Vec<Vec<Acked>>, StoreError> {
    let mut all = Vec::new();
    for node in 0..NODES {
        let path = path(folder, ledger, node);
        let mut entries = Vec::new();
        for file in [path.with_extension("old"), path] {
            match fs::read(&file) {
                Ok(bytes) => entries.extend(lines(&String::from_utf8_lossy(&bytes))),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(wrong(&file, &error)),
            }
        }
        if !entries.is_empty() {
            all.push(entries);
        }
    }
    Ok(all)
}

/// The whole lines of a file. The last one may be cut short; after a power cut there may be anything in others, and they are
/// not read.
fn lines(text: &str) -> impl Iterator<Item = Acked> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().filter_map(|line| line.parse().ok())
}

/// Forgets what nodes that do not run remember of a ledger.
pub(crate) fn forget(folder: &Path, ledger: Digest) -> Result<(), StoreError> {
    for node in 0..NODES {
        let path = path(folder, ledger, node);
        let Ok(lock) = open().open(path.with_extension("lock")) else { continue };
        if lock.try_lock().is_err() {
            continue;
        }
        for file in [path.with_extension("old"), path] {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(wrong(&file, &error));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn open() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

fn path(folder: &Path, ledger: Digest, node: u32) -> PathBuf {
    let name: String = ledger.to_string().trim_start_matches("sha256:").chars().take(24).collect();
    folder.join(format!("{name}-{node}.acked"))
}

fn wrong(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::File(format!("cannot use {}: {error}. Name another folder with --state", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acked(seq: u64) -> Acked {
        Acked {
            seq,
            hash: Digest::new([7; 32]),
            epoch: "eabc".to_owned(),
            name: "request.claimed".to_owned(),
            request: Some("req_0698d3r3kvtg0i8s0c1g60o30c".parse().unwrap()),
        }
    }

    fn noted(seq: u64) -> Noted {
        let Acked { hash, epoch, request, .. } = acked(seq);
        Noted { seq, hash, epoch: epoch.into(), name: "request.claimed", request }
    }

    #[test]
    fn what_a_power_cut_leaves_of_a_file_is_read_as_far_as_it_makes_sense() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Digest::new([1; 32]);
        let torn =
            [&[0xff, 0xfe, 0, b'\n'][..], format!("{}\n", acked(3)).as_bytes(), &[0; 512], b"\n4 x"].concat();
        fs::write(path(folder.path(), ledger, 0), torn).unwrap();
        assert_eq!(remembered(folder.path(), ledger).unwrap(), [vec![acked(3)]]);
    }

    #[test]
    fn what_cannot_be_written_does_not_fill_the_memory() {
        let folder = tempfile::tempdir().unwrap();
        let memory = Memory::open(folder.path(), Digest::new([1; 32])).unwrap();
        let news: Vec<News> = (0..1000).map(news).collect();
        for _ in 0..20 {
            memory.note(news.iter());
        }
        assert_eq!(memory.waiting.lock().unwrap().len(), WAITING);
    }

    fn news(seq: u64) -> News {
        let Noted { hash, epoch, name, .. } = noted(seq);
        News {
            epoch,
            seq,
            hash,
            at: placet_core::Time::default(),
            name,
            request: None,
            admin: None,
            own: true,
        }
    }

    #[test]
    fn a_line_comes_back_as_it_was_and_half_a_line_is_not_read() {
        let text = format!("{HEADER}\n{}\n{}\n{}", acked(1), Acked { request: None, ..acked(2) }, acked(3));
        let read: Vec<Acked> = lines(&text).collect();
        assert_eq!(read, [acked(1), Acked { request: None, ..acked(2) }]);
    }

    #[test]
    fn two_nodes_have_two_files_and_the_next_start_reads_both() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Digest::new([1; 32]);
        let (one, two) =
            (Memory::open(folder.path(), ledger).unwrap(), Memory::open(folder.path(), ledger).unwrap());
        assert_ne!(one.path, two.path);
        for (memory, seq) in [(&one, 4), (&two, 5)] {
            memory.waiting.lock().unwrap().push_back(noted(seq));
            memory.flush().unwrap();
        }
        let read = remembered(folder.path(), ledger).unwrap();
        assert_eq!(read, [vec![acked(4)], vec![acked(5)]]);
        assert!(remembered(folder.path(), Digest::new([2; 32])).unwrap().is_empty(), "another ledger");
        drop(one);
        forget(folder.path(), ledger).unwrap();
        assert_eq!(
            remembered(folder.path(), ledger).unwrap(),
            [vec![acked(5)]],
            "a node that runs keeps its own"
        );
    }

    #[test]
    fn the_files_stay_small() {
        let folder = tempfile::tempdir().unwrap();
        let memory = Memory::open(folder.path(), Digest::new([1; 32])).unwrap();
        for _ in 0..8 {
            memory.waiting.lock().unwrap().extend((0..5000).map(noted));
            memory.flush().unwrap();
        }
        let size: u64 =
            fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
        assert!(size < 3 * LARGEST + 1_000_000, "{size}");
    }
}
