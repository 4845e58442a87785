//! What the disk may hold after a power cut: recorded calls as steps, and the files each cut can leave.
//!
//! The rules, which are POSIX's own promises and no more:
//! - A write is safe once an `fsync` or `fdatasync` of its file began after the write had returned, and has
//!   itself returned. Until then each 512-byte sector of it may be on the disk or not, in any order, in any
//!   mixture with earlier unsafe writes to the same sector; in garbage images the written bytes of a lost
//!   sector hold noise. Bytes outside the written range are never harmed (SQLite's "powersafe overwrite").
//! - A new size (from a longer write, a truncation or an allocation) is as safe as the data it came with.
//! - A name (creation, rename, removal) is safe only after an `fsync` of its folder; until then every such
//!   change may be there or not. `fsync` of the file alone does not save its name.
//! - `sync_file_range` promises nothing. Shared memory (`-shm`) and sockets are never on the disk.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};

use super::trace::Call;

/// A file, whatever its name is at the moment.
pub(super) type Inode = usize;

/// What happened to the bytes or the length of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// Bytes at an offset.
    Write(u64, Arc<[u8]>),
    /// A new length, by truncation or allocation.
    Resize(u64),
}

/// What happened to the names in the data folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Naming {
    /// A file got its first name.
    Create(PathBuf, Inode),
    /// A name moved over another.
    Rename(PathBuf, PathBuf),
    /// A name went away.
    Remove(PathBuf),
}

/// One thing that matters for a cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    /// A file changed.
    Change(Inode, Change),
    /// A file was made durable.
    Sync(Inode),
    /// A name changed.
    Name(Naming),
    /// The folder was made durable.
    SyncFolder,
    /// Bytes went to a caller: the socket, the bytes.
    Send(String, Arc<[u8]>),
}

/// An event with the places of its beginning and its end.
#[derive(Debug, Clone)]
pub(super) struct TimedEvent {
    /// The place of its beginning.
    pub(super) start: usize,
    /// The place of its end.
    pub(super) end: usize,
    /// The event.
    pub(super) event: Event,
}

/// Turns system calls into events on one data folder. Keeps the state that processes share across several runs.
#[derive(Debug)]
pub(super) struct Recording {
    folder: PathBuf,
    live: HashMap<PathBuf, Inode>,
    inodes: usize,
    lengths: Vec<u64>,
    offsets: HashMap<String, u64>,
    /// All events so far.
    pub(super) events: Vec<TimedEvent>,
}

impl Recording {
    /// A recording of an empty folder that is itself safely on the disk.
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            live: HashMap::new(),
            inodes: 0,
            lengths: Vec::new(),
            offsets: HashMap::new(),
            events: Vec::new(),
        }
    }

    /// Adds one run of the program; its sockets and descriptors are its own, named by `run`.
    pub(super) fn add(&mut self, run: usize, calls: &[Call]) -> Result<()> {
        self.offsets.clear();
        for call in calls {
            if let Some(event) =
                self.event(run, call).with_context(|| format!("{} at {}", call.name, call.start))?
            {
                self.events.push(TimedEvent { start: call.start, end: call.end, event });
            }
        }
        Ok(())
    }

    /// The name inside the folder; none for other files and for shared memory.
    fn inside(&self, path: &[u8]) -> Option<PathBuf> {
        let path = PathBuf::from(String::from_utf8_lossy(path).into_owned());
        let name = path.strip_prefix(&self.folder).ok()?.to_path_buf();
        let text = name.to_string_lossy();
        if text.is_empty() || text.ends_with("-shm") { None } else { Some(name) }
    }

    fn known(&self, name: &Path) -> Result<Inode> {
        self.live
            .get(name)
            .copied()
            .with_context(|| format!("{} was never opened in the trace", name.display()))
    }

    fn write(&mut self, inode: Inode, offset: u64, data: Vec<u8>) -> Event {
        let end = offset + data.len() as u64;
        if let Some(length) = self.lengths.get_mut(inode) {
            *length = end.max(*length);
        }
        Event::Change(inode, Change::Write(offset, data.into()))
    }

    fn event(&mut self, run: usize, call: &Call) -> Result<Option<Event>> {
        match call.name.as_str() {
            "open" | "creat" | "openat" => Ok(self.opened(call)),
            "openat2" | "io_uring_setup" | "sync" | "syncfs" => bail!("the model does not know this call"),
            "lseek" => {
                let (number, _) = call.descriptor(0)?;
                self.offsets.insert(number, u64::try_from(call.result)?);
                Ok(None)
            }
            "pwrite64" | "pwritev" | "pwritev2" => {
                let Some(name) = self.inside(&call.descriptor(0)?.1) else {
                    return Ok(None);
                };
                let inode = self.known(&name)?;
                let at = if call.name == "pwrite64" || call.name == "pwritev" { 3 } else { 4 };
                Ok(Some(self.write(inode, call.number(at)?, call.data(1)?)))
            }
            "write" | "writev" | "sendto" | "sendmsg" => self.written(run, call),
            "fsync" | "fdatasync" => {
                let path = call.descriptor(0)?.1;
                if Path::new(String::from_utf8_lossy(&path).as_ref()) == self.folder {
                    return Ok(Some(Event::SyncFolder));
                }
                let Some(name) = self.inside(&path) else {
                    return Ok(None);
                };
                Ok(Some(Event::Sync(self.known(&name)?)))
            }
            "ftruncate" | "fallocate" | "truncate" => {
                let path = if call.name == "truncate" { call.path(0)? } else { call.descriptor(0)?.1 };
                let Some(name) = self.inside(&path) else {
                    return Ok(None);
                };
                let inode = self.known(&name)?;
                let old = self.lengths.get(inode).copied().unwrap_or(0);
                let new = if call.name == "fallocate" {
                    old.max(call.number(2)? + call.number(3)?)
                } else {
                    call.number(1)?
                };
                if let Some(length) = self.lengths.get_mut(inode) {
                    *length = new;
                }
                Ok(Some(Event::Change(inode, Change::Resize(new))))
            }
            "rename" | "renameat" | "renameat2" => {
                let (from, to) = if call.name == "rename" { (0, 1) } else { (1, 3) };
                match (self.inside(&call.path(from)?), self.inside(&call.path(to)?)) {
                    (Some(from), Some(to)) => {
                        let inode =
                            self.live.remove(&from).context("a renamed file that was never opened")?;
                        self.live.insert(to.clone(), inode);
                        Ok(Some(Event::Name(Naming::Rename(from, to))))
                    }
                    (None, None) => Ok(None),
                    _ => bail!("a file moved into or out of the data folder"),
                }
            }
            "unlink" | "unlinkat" => {
                let path = call.path(usize::from(call.name == "unlinkat"))?;
                let Some(name) = self.inside(&path) else {
                    return Ok(None);
                };
                // Sockets have names that no `open` made.
                Ok(self.live.remove(&name).map(|_| Event::Name(Naming::Remove(name))))
            }
            "link" | "linkat" | "symlink" | "symlinkat" | "copy_file_range" | "sendfile" | "mkdir"
            | "mkdirat" => {
                let touches = (0..call.arguments.len()).any(|index| {
                    let path = call.path(index).or_else(|_| call.descriptor(index).map(|(_, path)| path));
                    path.is_ok_and(|path| self.inside(&path).is_some())
                });
                if touches {
                    bail!("the model does not know this call on the data folder");
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn opened(&mut self, call: &Call) -> Option<Event> {
        let name = call.opened.as_deref().and_then(|path| self.inside(path))?;
        let flags = call.arguments.iter().find(|text| text.starts_with("O_")).map_or("", String::as_str);
        if flags.contains("O_DIRECTORY") {
            return None;
        }
        let append = flags.contains("O_APPEND");
        let known = self.live.get(&name).copied();
        let length = known.and_then(|inode| self.lengths.get(inode).copied()).unwrap_or(0);
        self.offsets.insert(call.result.to_string(), if append { length } else { 0 });
        if let Some(inode) = known {
            if flags.contains("O_TRUNC") || call.name == "creat" {
                if let Some(length) = self.lengths.get_mut(inode) {
                    *length = 0;
                }
                return Some(Event::Change(inode, Change::Resize(0)));
            }
            return None;
        }
        let inode = self.inodes;
        self.inodes += 1;
        self.lengths.push(0);
        self.live.insert(name.clone(), inode);
        Some(Event::Name(Naming::Create(name, inode)))
    }

    fn written(&mut self, run: usize, call: &Call) -> Result<Option<Event>> {
        let (number, path) = call.descriptor(0)?;
        if path.starts_with(b"socket:") || path.starts_with(b"TCP") {
            let socket = format!("{run}/{number}/{}", String::from_utf8_lossy(&path));
            return Ok(Some(Event::Send(socket, call.data(1)?.into())));
        }
        let Some(name) = self.inside(&path) else {
            return Ok(None);
        };
        let inode = self.known(&name)?;
        let data = call.data(1)?;
        let offset = self.offsets.get(&number).copied().unwrap_or(0);
        self.offsets.insert(number, offset + data.len() as u64);
        Ok(Some(self.write(inode, offset, data)))
    }
}

/// The files of one image.
pub(super) type Image = BTreeMap<PathBuf, Vec<u8>>;

/// The safe contents and the unsafe changes, at one place of the recording.
#[derive(Debug, Default)]
pub(super) struct Disk {
    /// Safe bytes by file.
    pub(super) safe: HashMap<Inode, Vec<u8>>,
    /// Unsafe changes by file, in order, with the event they came from.
    pub(super) loose: HashMap<Inode, Vec<(usize, Change)>>,
    /// Safe names.
    pub(super) names: BTreeMap<PathBuf, Inode>,
    /// Unsafe name changes, in order.
    pub(super) loose_names: Vec<(usize, Naming)>,
    /// For each sync under way: the events it will save.
    saving: HashMap<usize, Vec<usize>>,
}

/// An event begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// The call was entered.
    Begin(usize),
    /// The call returned.
    End(usize),
}

/// All beginnings and ends, in the order in which they happened. A cut falls between two of them.
pub(super) fn steps(events: &[TimedEvent]) -> Vec<Step> {
    let mut all = Vec::new();
    for (index, timed) in events.iter().enumerate() {
        all.push((timed.start, Step::Begin(index)));
        if timed.end < usize::MAX {
            all.push((timed.end, Step::End(index)));
        }
    }
    all.sort_unstable();
    all.into_iter().map(|(_, step)| step).collect()
}

impl Disk {
    /// Moves on by one step.
    pub(super) fn step(&mut self, step: Step, all: &[TimedEvent]) {
        match step {
            Step::Begin(index) => self.begin(index, all),
            Step::End(index) => self.end(index, all),
        }
    }

    /// An event begins: its changes may reach the disk from now on. A sync notes which writes have returned.
    fn begin(&mut self, index: usize, all: &[TimedEvent]) {
        let Some(timed) = all.get(index) else { return };
        let returned = |event: &usize| all.get(*event).is_some_and(|other| other.end < timed.start);
        match &timed.event {
            Event::Change(inode, change) => {
                self.loose.entry(*inode).or_default().push((index, change.clone()));
            }
            Event::Name(naming) => self.loose_names.push((index, naming.clone())),
            Event::Sync(inode) => {
                let events = self.loose.get(inode).into_iter().flatten().map(|(event, _)| *event);
                self.saving.insert(index, events.filter(returned).collect());
            }
            Event::SyncFolder => {
                let events = self.loose_names.iter().map(|(event, _)| *event).filter(returned).collect();
                self.saving.insert(index, events);
            }
            Event::Send(..) => {}
        }
    }

    /// An event has returned: a sync has saved the writes that it noted.
    fn end(&mut self, index: usize, all: &[TimedEvent]) {
        let Some(saved) = self.saving.remove(&index) else {
            return;
        };
        match all.get(index).map(|timed| &timed.event) {
            Some(Event::Sync(inode)) => {
                let safe = self.safe.entry(*inode).or_default();
                self.loose.entry(*inode).or_default().retain(|(event, change)| {
                    let save = saved.contains(event);
                    if save {
                        apply(safe, change);
                    }
                    !save
                });
            }
            Some(Event::SyncFolder) => {
                let names = &mut self.names;
                self.loose_names.retain(|(event, naming)| {
                    let save = saved.contains(event);
                    if save {
                        rename(names, naming);
                    }
                    !save
                });
            }
            _ => {}
        }
    }
}

/// Applies a change whole.
pub(super) fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Resize(length) => bytes.resize(usize::try_from(*length).unwrap_or(usize::MAX), 0),
        Change::Write(offset, data) => {
            let from = usize::try_from(*offset).unwrap_or(usize::MAX);
            let to = from + data.len();
            if bytes.len() < to {
                bytes.resize(to, 0);
            }
            if let Some(target) = bytes.get_mut(from..to) {
                target.copy_from_slice(data);
            }
        }
    }
}

/// Applies a name change; one whose file is not there does nothing.
pub(super) fn rename(names: &mut BTreeMap<PathBuf, Inode>, naming: &Naming) {
    match naming {
        Naming::Create(name, inode) => {
            names.insert(name.clone(), *inode);
        }
        Naming::Rename(from, to) => {
            if let Some(inode) = names.remove(from) {
                names.insert(to.clone(), inode);
            }
        }
        Naming::Remove(name) => {
            names.remove(name);
        }
    }
}
