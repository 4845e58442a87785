//! Builds the root that the command sees, from an empty folder in memory, and leaves the machine's behind.

use std::{
    collections::{HashMap, HashSet},
    ffi::CString,
    fs,
    os::{
        fd::{AsFd as _, AsRawFd as _, OwnedFd},
        unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags, ResolveFlags, fstat, open, openat2},
    mount::{
        MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive,
        mount_change, mount_remount, unmount,
    },
    process::{chdir, pivot_root},
};

use super::job::{Job, leaves_out};
use crate::{
    plan::Part,
    protected::{Guard, Kind, identity},
    words::{Doing as _, Problem},
};

const OLD: &str = "/old";
const NEW: &str = "/new";
/// Kept outside the new root: what covers hidden files and folders.
const EMPTY_FILE: &str = "/empty-file";
const EMPTY_FOLDER: &str = "/empty-folder";
/// Parts of `/proc` that say too much or do something, even to a reader.
const MASKED: [&str; 12] = [
    "kcore",
    "kmsg",
    "keys",
    "key-users",
    "sysrq-trigger",
    "timer_list",
    "kallsyms",
    "kpagecount",
    "kpageflags",
    "kpagecgroup",
    "latency_stats",
    "sched_debug",
];
const MASKED_FOLDERS: [&str; 4] = ["acpi", "scsi", "asound", "bus"];
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

const PLAIN: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// Everything from a mount namespace of our own to the new root.
pub(crate) fn enter(job: &Job) -> Result<(), Problem> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .doing("mounts cannot be made private")?;
    // An empty folder in memory takes the place of the root; the machine's stays reachable below it for a while.
    tmpfs("/tmp", 1 << 20)?;
    for folder in [OLD, NEW] {
        make_folder(Path::new(&format!("/tmp{folder}")))?;
    }
    pivot_root("/tmp", "/tmp/old").doing("the root cannot be changed")?;
    chdir("/").doing("the root cannot be entered")?;
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o0)
        .open(EMPTY_FILE)
        .doing("no empty file to cover others with")?;
    fs::DirBuilder::new().mode(0o0).create(EMPTY_FOLDER).doing("no empty folder to cover others with")?;
    tmpfs(NEW, 16 << 20)?;

    for (path, part) in &job.plan.parts {
        let at = inside(path);
        place(job, path, part, &at)
            .map_err(|problem| Problem::Layer(format!("{}: {problem}", path.display())))?;
    }
    settle_parts(job)?;
    for folder in &job.plan.home_folders {
        make_folder(&inside(folder))?;
    }
    guards(job)?;
    devices(job)?;
    processes(job)?;

    chdir(NEW).doing("the new root cannot be entered")?;
    pivot_root(".", ".").doing("the new root cannot be made the root")?;
    // The machine's root goes with it: it is mounted below.
    unmount(".", UnmountFlags::DETACH).doing("the machine's root cannot be left")?;
    chdir("/").doing("the new root cannot be entered")?;
    mount_remount("/", MountFlags::BIND | MountFlags::RDONLY | PLAIN, "").doing("the root stays writable")?;
    chdir(&job.cwd).doing(format_args!("{} cannot be entered", job.cwd.display()))
}

fn inside(path: &Path) -> PathBuf {
    Path::new(NEW).join(path.strip_prefix("/").unwrap_or(path))
}

fn outside(path: &Path) -> PathBuf {
    Path::new(OLD).join(path.strip_prefix("/").unwrap_or(path))
}

fn tmpfs(at: &str, size: u64) -> Result<(), Problem> {
    let options = CString::new(format!("mode=0755,size={size}")).doing("no options")?;
    mount("tmpfs", at, "tmpfs", PLAIN, options.as_c_str())
        .doing(format_args!("no memory file system for {at}"))
}

fn make_folder(path: &Path) -> Result<(), Problem> {
    if path.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(path)
        .doing(format_args!("{} cannot be made", path.display()))
}

/// Puts one part of the plan into the new root.
fn place(job: &Job, path: &Path, part: &Part, at: &Path) -> Result<(), Problem> {
    match part {
        Part::Private => {
            make_folder(at)?;
            let mode = if path.ends_with("tmp") { "1777" } else { "0700" };
            let options =
                CString::new(format!("mode={mode},size={}", job.limits.temp)).doing("no options")?;
            mount("tmpfs", at, "tmpfs", PLAIN, options.as_c_str()).doing("no private folder")
        }
        Part::Kept { source, device, inode } => {
            make_folder(at)?;
            let held = Held::open(OLD, source, *device, *inode)?;
            mount_bind(held.path(), at).doing("it cannot be mounted")
        }
        Part::Link(target) => {
            make_folder(at.parent().unwrap_or(Path::new(NEW)))?;
            symlink(target, at).doing("the link cannot be made")
        }
        Part::Shown(source) => bind(&outside(source), at),
        Part::Writable => bind(&outside(path), at),
    }
}

fn bind(source: &Path, at: &Path) -> Result<(), Problem> {
    if source.is_dir() {
        make_folder(at)?;
    } else if !at.exists() {
        make_folder(at.parent().unwrap_or(Path::new(NEW)))?;
        fs::File::create_new(at).doing("no place for it")?;
    }
    mount_bind_recursive(source, at).doing("it cannot be mounted")
}

/// Sets the flags of everything that comes from the machine, mounts inside it included.
fn settle_parts(job: &Job) -> Result<(), Problem> {
    let shown = if leaves_out("read-only") { PLAIN } else { PLAIN | MountFlags::RDONLY };
    let parts: HashMap<PathBuf, Option<MountFlags>> = job
        .plan
        .parts
        .iter()
        .filter_map(|(path, part)| match part {
            Part::Shown(_) => Some((inside(path), Some(shown))),
            Part::Writable | Part::Kept { .. } => Some((inside(path), Some(PLAIN))),
            // It was mounted with its flags.
            Part::Private => Some((inside(path), None)),
            Part::Link(_) => None,
        })
        .collect();
    let done = settle_where(|point| point.ancestors().find_map(|path| parts.get(path)).copied().flatten())?;
    let fewest = parts.values().flatten().count();
    if done < fewest { Err(Problem::Layer("a folder is not in the list of mounts".into())) } else { Ok(()) }
}

/// Sets flags on some mounts, and keeps those that they have. Answers how many there were.
fn settle_where(flags: impl Fn(&Path) -> Option<MountFlags>) -> Result<usize, Problem> {
    let table = fs::read_to_string(format!("{OLD}/proc/self/mountinfo")).doing("mounts cannot be listed")?;
    let mut done = 0;
    for line in table.lines() {
        let mut fields = line.split(' ').skip(4);
        let (Some(point), Some(options)) = (fields.next(), fields.next()) else {
            return Err(Problem::Layer("the list of mounts has another form".into()));
        };
        let point = unescape(point);
        let Some(flags) = flags(&point) else { continue };
        match mount_remount(&point, MountFlags::BIND | flags | kept(options), "") {
            Ok(()) => done += 1,
            // The user cannot reach what lies there, so neither can the command.
            Err(rustix::io::Errno::ACCESS) => {}
            Err(error) => {
                return Err(Problem::Layer(format!("flags of {} cannot be set: {error}", point.display())));
            }
        }
    }
    Ok(done)
}

/// The flags that a mount has: taking one away is refused, and would be wrong.
fn kept(options: &str) -> MountFlags {
    options.split(',').fold(MountFlags::empty(), |flags, option| {
        flags
            | match option {
                "ro" => MountFlags::RDONLY,
                "nosuid" => MountFlags::NOSUID,
                "nodev" => MountFlags::NODEV,
                "noexec" => MountFlags::NOEXEC,
                "noatime" => MountFlags::NOATIME,
                "nodiratime" => MountFlags::NODIRATIME,
                "relatime" => MountFlags::RELATIME,
                "nosymfollow" => MountFlags::NOSYMFOLLOW,
                _ => MountFlags::empty(),
            }
    })
}

/// Octal signs in the list of mounts: `\040` is a space.
fn unescape(text: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = (*first == b'\\').then(|| tail.get(..3)).flatten();
        let sign = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(sign.unwrap_or(*first));
        rest = if sign.is_some() { tail.get(3..).unwrap_or_default() } else { tail };
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// A path below a root without any link in it, which is still the file that was planned with.
struct Held {
    fd: OwnedFd,
}

impl Held {
    fn open(root: &str, path: &Path, device: u64, inode: u64) -> Result<Self, Problem> {
        let new = open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .doing("the root cannot be opened")?;
        let relative = path.strip_prefix("/").unwrap_or(path);
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let changed = || Problem::Workspace(format!("{} changed meanwhile; run it again", path.display()));
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat2(new.as_fd(), relative, flags, Mode::empty(), resolve).map_err(|_| changed())?;
        let stat = fstat(&fd).doing("the file cannot be looked at")?;
        if identity(&stat) == (device, inode) { Ok(Self { fd }) } else { Err(changed()) }
    }

    fn path(&self) -> String {
        format!("{OLD}/proc/self/fd/{}", self.fd.as_raw_fd())
    }
}

/// Pins folders, covers what is hidden, and fixes what is read-only.
fn guards(job: &Job) -> Result<(), Problem> {
    if !leaves_out("pins") {
        for (path, device, inode) in &job.plan.pins {
            let held = Held::open(NEW, path, *device, *inode)?;
            mount_bind_recursive(held.path(), held.path())
                .doing(format_args!("{} cannot be pinned", path.display()))?;
        }
    }
    if leaves_out("guards") {
        return Ok(());
    }
    for found in &job.plan.guards {
        let held = Held::open(NEW, &found.path, found.device, found.inode)?;
        let what = format!("{} cannot be protected", found.path.display());
        match (found.guard, &found.kind) {
            (Guard::Hidden, Kind::Folder) => mount_bind(EMPTY_FOLDER, held.path()).doing(&what)?,
            (Guard::Hidden, _) => mount_bind(EMPTY_FILE, held.path()).doing(&what)?,
            (Guard::ReadOnly, _) => mount_bind_recursive(held.path(), held.path()).doing(&what)?,
        }
    }
    let fixed: HashSet<PathBuf> = job.plan.guards.iter().map(|found| inside(&found.path)).collect();
    let done = settle_where(|point| {
        point.ancestors().any(|path| fixed.contains(path)).then_some(PLAIN | MountFlags::RDONLY)
    })?;
    if done < fixed.len() {
        return Err(Problem::Layer("a protected file is not in the list of mounts".into()));
    }
    Ok(())
}

/// A folder of devices with the harmless ones.
fn devices(job: &Job) -> Result<(), Problem> {
    let dev = inside(Path::new("/dev"));
    make_folder(&dev)?;
    mount("tmpfs", &dev, "tmpfs", MountFlags::NOSUID | MountFlags::NOEXEC, c"mode=0755,size=64k")
        .doing("no folder of devices")?;
    for name in DEVICES {
        let at = dev.join(name);
        fs::File::create_new(&at).doing("no place for a device")?;
        mount_bind(format!("{OLD}/dev/{name}"), &at).doing(format_args!("no device {name}"))?;
    }
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    settle_where(|point| (point.parent() == Some(dev.as_path())).then_some(flags))?;
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "fd/0"),
        ("stdout", "fd/1"),
        ("stderr", "fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        symlink(target, dev.join(name)).doing("no link in the folder of devices")?;
    }
    for name in ["shm", "pts"] {
        make_folder(&dev.join(name))?;
    }
    let shm = CString::new(format!("mode=1777,size={}", job.limits.temp)).doing("no options")?;
    mount("tmpfs", dev.join("shm"), "tmpfs", PLAIN, shm.as_c_str()).doing("no shared memory")?;
    let options = c"newinstance,ptmxmode=0666,mode=0620";
    mount("devpts", dev.join("pts"), "devpts", MountFlags::NOSUID | MountFlags::NOEXEC, options)
        .doing("no terminals")?;
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NOEXEC;
    mount_remount(&dev, flags, "").doing("the folder of devices stays writable")
}

/// The processes of the new namespace, to read.
fn processes(job: &Job) -> Result<(), Problem> {
    let proc = inside(Path::new("/proc"));
    make_folder(&proc)?;
    let flags = PLAIN | MountFlags::NOEXEC;
    mount("proc", &proc, "proc", flags, None)
        .doing("no `/proc` for the new processes, as in a container that masks parts of its own")?;
    // Processes and threads have numbers below this: a bound that holds for root as well. Linux 6.14.
    let most = job.limits.processes.clamp(310, 4_194_304);
    let _ = fs::write(proc.join("sys/kernel/pid_max"), most.to_string());
    for name in MASKED {
        if proc.join(name).exists() {
            mount_bind(EMPTY_FILE, proc.join(name)).doing(format_args!("/proc/{name} cannot be hidden"))?;
        }
    }
    for name in MASKED_FOLDERS {
        if proc.join(name).exists() {
            mount_bind(EMPTY_FOLDER, proc.join(name)).doing(format_args!("/proc/{name} cannot be hidden"))?;
        }
    }
    let flags = MountFlags::BIND | MountFlags::RDONLY | flags;
    mount_remount(&proc, flags, "").doing("`/proc` stays writable")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_with_spaces_are_read() {
        assert_eq!(unescape(r"/a\040b\134c"), Path::new(r"/a b\c"));
        assert_eq!(unescape(r"/plain\"), Path::new(r"/plain\"));
    }

    #[test]
    fn flags_of_a_mount_are_kept() {
        assert_eq!(kept("rw,nosuid,relatime"), MountFlags::NOSUID | MountFlags::RELATIME);
        assert_eq!(kept("ro,noexec"), MountFlags::RDONLY | MountFlags::NOEXEC);
    }
}
