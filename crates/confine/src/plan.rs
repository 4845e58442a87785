//! What the command will see of the machine: a list of mounts, made from the profile and the files that are there.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    io::ErrorKind,
    os::unix::fs::MetadataExt as _,
    path::{Component, Path, PathBuf},
};

use rustix::fs::CWD;
use serde::{Deserialize, Serialize};

use crate::{
    kept::SessionFolders,
    names::split,
    profile::Profile,
    protected::{Before, Guard, Kind, Lists, ProtectedPath, identity, is_config_of_git, read_text},
    scan::Scan,
    walk::Place,
    words::Problem,
};

mod outside;

use outside::{found, outside, sockets};

/// What every command may read of the machine: programs, libraries and their settings. Nothing else is there.
const SYSTEM: [&str; 20] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
    "/var/lib/dpkg",
    "/var/lib/ca-certificates",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/kernel/mm/transparent_hugepage",
    "/sys/fs/cgroup",
    "/var/lib/alternatives",
    "/var/db/repos",
];
/// Folders of the private home that the command may write. Not the home itself: what is shown lies below it, and Landlock
/// would let that be written too.
const HOME_FOLDERS: [&str; 20] = [
    ".cache",
    ".config",
    ".local",
    ".npm",
    ".yarn",
    ".bun",
    ".gradle",
    ".m2",
    ".ivy2",
    ".sbt",
    ".java",
    ".dotnet",
    ".nuget",
    "go",
    ".bundle",
    ".gem",
    ".julia",
    ".ccache",
    ".pub-cache",
    ".mix",
];
/// Most text of protected files that is kept on record.
const MOST_TEXT: usize = 2 << 20;
/// One folder or file of the new root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    /// The machine's, to read. The source differs where the path is a link.
    Shown(PathBuf),
    /// The machine's, to write.
    Writable,
    /// An empty folder in memory, gone after the run.
    Private,
    /// A folder of Placet's own, which the next run of the session sees again.
    Kept { source: PathBuf, device: u64, inode: u64 },
    /// A symbolic link of the machine, as it is.
    Link(PathBuf),
}

/// Everything that is mounted.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// From the outside in.
    pub(crate) parts: Vec<(PathBuf, Part)>,
    /// Folders to make in the private home.
    pub(crate) home_folders: Vec<PathBuf>,
    /// Folders above protected files: as mounts they cannot be renamed or replaced. From the outside in.
    pub(crate) pins: Vec<(PathBuf, u64, u64)>,
    /// Protected files.
    pub(crate) guards: Vec<ProtectedPath>,
    /// Folders that Landlock lets the command write.
    pub(crate) writable: Vec<PathBuf>,
}

/// A plan, and what is needed after the run.
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    /// Folders that the command can write, with how they are scanned.
    pub(crate) roots: Vec<(PathBuf, Place)>,
    pub(crate) before: Before,
    /// What to tell the person.
    pub(crate) notes: Vec<String>,
}

/// Makes the plan.
pub(crate) fn plan(
    profile: &Profile,
    lists: &Lists,
    kept: Option<&SessionFolders>,
) -> Result<Planned, Problem> {
    let mut roots: Vec<(PathBuf, Place)> = Vec::new();
    for root in &profile.workspace {
        is_real(root)?;
        roots.push((root.clone(), Place::Plain));
        roots.extend(crate::git::common(root).into_iter().map(|folder| (folder, Place::Git)));
    }
    is_real(&profile.cwd)?;
    // A folder inside another one is covered by it.
    let all = roots.clone();
    roots.retain(|(root, _)| !all.iter().any(|(other, _)| other != root && root.starts_with(other)));
    roots.sort();
    roots.dedup_by(|one, other| one.0 == other.0);

    let mut scan = Scan::default();
    for (root, place) in &roots {
        scan.folder(lists, root, *place)?;
    }
    let (between, absent) = links_between(&scan.found, &roots);
    for link in between {
        scan.push(link)?;
    }
    texts(lists, &mut scan.found);
    for (root, _) in &roots {
        scan.other_names(root)?;
    }
    let writable: Vec<PathBuf> = roots.iter().map(|(root, _)| root.clone()).collect();
    let mut parts = parts(profile, lists, &writable)?;
    if let Some(kept) = kept {
        keep(profile, lists, kept, &mut parts)?;
    }
    let mut guards: Vec<ProtectedPath> = scan.found.iter().filter(|found| !found.passage).cloned().collect();
    outside(profile, &parts, &mut guards)?;
    sockets(&parts, &mut guards)?;
    let guards = resolved(guards, &parts)?;
    let pins = pins(&writable, &scan, &guards)?;
    let mut may_write = writable;
    let private = parts
        .iter()
        .filter(|(path, part)| matches!(part, Part::Private | Part::Kept { .. }) && *path != profile.home);
    may_write.extend(private.map(|(path, _)| path.clone()));
    let home_folders = home_folders(profile, &parts);
    may_write.extend(home_folders.iter().cloned());
    let same = identities(&roots)?;
    Ok(Planned {
        plan: Plan { parts, home_folders, pins, guards, writable: may_write },
        roots,
        notes: closed(&scan),
        before: Before { found: scan.found, git: scan.git, absent, roots: same },
    })
}

/// Reads what stands in files that may be read. A configuration of git that may hold a secret is hidden, if it is on that list.
fn texts(lists: &Lists, found: &mut [ProtectedPath]) {
    let mut room = MOST_TEXT;
    for found in found.iter_mut().filter(|found| found.guard == Guard::ReadOnly) {
        let text = read_text(CWD, &found.path)
            // Another run can have put another file there since it was found.
            .filter(|(_, stat)| identity(stat) == (found.device, found.inode))
            .map(|(text, _)| text);
        if !is_config_of_git(&found.path) {
            found.text = text.filter(|text| text.len() <= room);
        } else if let Some(text) = text.filter(|text| crate::git::is_without_secrets(text)) {
            found.text = Some(text);
        } else if is_secret_of_git(lists, &found.path) {
            found.guard = Guard::Hidden;
        }
        room = room.saturating_sub(found.text.as_ref().map_or(0, String::len));
    }
}

/// The links of the workspace that protected links lead through: the last one alone says what is obeyed or secret. And the places in the
/// workspace where links that are obeyed lead to nothing yet.
fn links_between(found: &[ProtectedPath], roots: &[(PathBuf, Place)]) -> (Vec<ProtectedPath>, Vec<PathBuf>) {
    let in_roots = |path: &Path| roots.iter().any(|(root, _)| path != root && path.starts_with(root));
    let (mut between, mut absent): (Vec<ProtectedPath>, Vec<PathBuf>) = (Vec::new(), Vec::new());
    for link in found {
        let (Kind::Link(target), Some(above)) = (&link.kind, link.path.parent()) else { continue };
        let mut met = Vec::new();
        let end = follow(above.to_path_buf(), Path::new(target), &mut met);
        for (path, target) in met {
            let known = found.iter().chain(&between).any(|other| other.path == path);
            if !known && in_roots(&path) {
                between.push(ProtectedPath { path, kind: Kind::Link(target), passage: true, ..link.clone() });
            }
        }
        let is_missing = fs::symlink_metadata(&end).is_err_and(|error| error.kind() == ErrorKind::NotFound);
        if is_missing && link.guard == Guard::ReadOnly && in_roots(&end) {
            absent.push(end);
        }
    }
    (between, absent)
}

/// Where a link in this folder leads, with the links on the way.
fn follow(folder: PathBuf, target: &Path, met: &mut Vec<(PathBuf, OsString)>) -> PathBuf {
    let mut at = folder;
    for part in target.components() {
        match part {
            Component::RootDir => at = PathBuf::from("/"),
            Component::ParentDir => _ = at.pop(),
            Component::Normal(name) => {
                let next = at.join(name);
                // As many as the kernel follows.
                at = match fs::read_link(&next) {
                    Ok(further) if met.len() < 40 => {
                        met.push((next, further.clone().into_os_string()));
                        follow(at, &further, met)
                    }
                    _ => next,
                };
            }
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    at
}

/// Which folders these are: a run around this one could put others in their place.
fn identities(roots: &[(PathBuf, Place)]) -> Result<Vec<(PathBuf, u64, u64)>, Problem> {
    let identity = |(root, _): &(PathBuf, Place)| {
        let about =
            fs::symlink_metadata(root).map_err(|error| Problem::Look { path: root.clone(), error })?;
        Ok((root.clone(), about.dev(), about.ino()))
    };
    roots.iter().map(identity).collect()
}

/// Folders that the command does not see, because nobody can look into them.
fn closed(scan: &Scan) -> Vec<String> {
    const TOLD: usize = 5;
    let tell = |path: &PathBuf| {
        format!("{} cannot be looked into, so the command sees an empty folder there", path.display())
    };
    scan.closed.iter().take(TOLD).map(tell).collect()
}

/// A path with a link in it could lead elsewhere a moment later.
fn is_real(path: &Path) -> Result<(), Problem> {
    let real = fs::canonicalize(path).map_err(|error| Problem::Look { path: path.into(), error })?;
    if real != path {
        let sentence = format!("`{}` goes through a link; name `{}` instead", path.display(), real.display());
        return Err(Problem::Profile(sentence));
    }
    if !real.is_dir() {
        return Err(Problem::Profile(format!("`{}` is not a folder", path.display())));
    }
    Ok(())
}

/// The folders of the new root, from the outside in.
fn parts(profile: &Profile, lists: &Lists, writable: &[PathBuf]) -> Result<Vec<(PathBuf, Part)>, Problem> {
    let mut parts: Vec<(PathBuf, Part)> = Vec::new();
    let in_workspace = |path: &Path| writable.iter().any(|root| path.starts_with(root));
    for path in ["/tmp", "/var/tmp"].map(PathBuf::from).into_iter().chain([profile.home.clone()]) {
        if !in_workspace(&path) {
            parts.push((path, Part::Private));
        }
    }
    let shown = profile.show.iter().map(|name| {
        name.strip_prefix("~/").map_or_else(|| PathBuf::from(name), |rest| profile.home.join(rest))
    });
    for path in SYSTEM.map(PathBuf::from).into_iter().chain(shown) {
        if in_workspace(&path) || is_hidden(lists, &path) || parts.iter().any(|(other, _)| *other == path) {
            continue;
        }
        let Ok(about) = fs::symlink_metadata(&path) else { continue };
        if about.is_symlink() && path.components().count() == 2 {
            let target = fs::read_link(&path).map_err(|error| Problem::Look { path: path.clone(), error })?;
            parts.push((path, Part::Link(target)));
        } else if let Ok(source) = fs::canonicalize(&path)
            && !is_hidden(lists, &source)
            && (source.is_dir() || source.is_file())
        {
            parts.push((path, Part::Shown(source)));
        }
    }
    parts.extend(writable.iter().map(|root| (root.clone(), Part::Writable)));
    parts.sort_by_key(|(path, _)| (path.components().count(), path.clone()));
    Ok(parts)
}

/// Puts kept folders in the place of private ones.
fn keep(
    profile: &Profile,
    lists: &Lists,
    kept: &SessionFolders,
    parts: &mut Vec<(PathBuf, Part)>,
) -> Result<(), Problem> {
    for place in &kept.folders {
        if is_seen(parts, &place.source) && !is_hidden(lists, &place.source) {
            let sentence =
                format!("`{}` is kept, and the command would see it there", place.source.display());
            return Err(Problem::Profile(sentence));
        }
        // What lies below would be made in a folder that an earlier command could have put a link into.
        let private = parts.iter().any(|(path, part)| {
            *part == Part::Private
                && (*path == place.at || (*path == profile.home && place.at.starts_with(path)))
        });
        let alone = !parts.iter().any(|(path, _)| *path != place.at && path.starts_with(&place.at));
        if private && alone {
            parts.retain(|(path, _)| *path != place.at);
            let (source, device, inode) = (place.source.clone(), place.device, place.inode);
            parts.push((place.at.clone(), Part::Kept { source, device, inode }));
        }
    }
    parts.sort_by_key(|(path, _)| (path.components().count(), path.clone()));
    Ok(())
}

/// Writable folders of the private home: those with nothing of the machine in, at or above them.
fn home_folders(profile: &Profile, parts: &[(PathBuf, Part)]) -> Vec<PathBuf> {
    if !parts.iter().any(|(path, part)| *path == profile.home && *part == Part::Private) {
        return Vec::new();
    }
    let mut folders: Vec<PathBuf> = HOME_FOLDERS.iter().map(|name| profile.home.join(name)).collect();
    folders.retain(|folder| {
        let other = |path: &Path| {
            path.starts_with(folder) || (folder.starts_with(path) && path.starts_with(&profile.home))
        };
        !parts.iter().any(|(path, _)| *path != profile.home && other(path))
    });
    folders
}

/// Whether a path, or a folder above it, has a hidden name.
fn is_hidden(lists: &Lists, path: &Path) -> bool {
    let mut rest = split(path);
    while let Some(name) = rest.pop() {
        if lists.hidden.has(&mut rest, &name) {
            return true;
        }
    }
    false
}

/// Whether a configuration of git is on the list of secrets.
fn is_secret_of_git(lists: &Lists, path: &Path) -> bool {
    let mut above = split(path);
    above.pop().is_some_and(|name| lists.hidden.has(&mut above, &name))
}

/// Whether the command can see this path.
fn is_seen(parts: &[(PathBuf, Part)], path: &Path) -> bool {
    let inmost = parts.iter().rev().find(|(part, _)| path.starts_with(part));
    matches!(inmost, Some((_, Part::Shown(_) | Part::Writable)))
}

/// Links become what they lead to: a mount covers a file, not a link. Double entries and those inside hidden ones go.
fn resolved(guards: Vec<ProtectedPath>, parts: &[(PathBuf, Part)]) -> Result<Vec<ProtectedPath>, Problem> {
    let mut real: Vec<ProtectedPath> = Vec::new();
    for guard in guards {
        if !matches!(guard.kind, Kind::Link(_)) {
            real.push(guard);
        } else if let Ok(target) = fs::canonicalize(&guard.path)
            && is_seen(parts, &target)
            && let Some(found) = found(&target)?
        {
            real.push(ProtectedPath { guard: guard.guard, ..found });
        }
    }
    real.sort_by(|one, other| one.path.cmp(&other.path).then(other.guard.cmp(&one.guard)));
    real.dedup_by(|one, other| one.path == other.path);
    let hidden: Vec<PathBuf> = real
        .iter()
        .filter(|found| found.guard == Guard::Hidden && found.kind == Kind::Folder)
        .map(|found| found.path.clone())
        .collect();
    real.retain(|found| !hidden.iter().any(|folder| found.path != *folder && found.path.starts_with(folder)));
    real.sort_by_key(|found| (found.path.components().count(), found.path.clone()));
    Ok(real)
}

/// Folders between a root of the workspace and what is protected in it.
fn pins(
    writable: &[PathBuf],
    scan: &Scan,
    guards: &[ProtectedPath],
) -> Result<Vec<(PathBuf, u64, u64)>, Problem> {
    let mut folders: BTreeSet<PathBuf> = scan.git.clone();
    let links =
        scan.found.iter().filter(|found| matches!(found.kind, Kind::Link(_))).map(|found| &found.path);
    for path in guards.iter().map(|found| &found.path).chain(&scan.git).chain(links) {
        let Some(root) = writable.iter().find(|root| path != *root && path.starts_with(root)) else {
            continue;
        };
        folders.extend(path.ancestors().skip(1).take_while(|above| above != root).map(Path::to_path_buf));
    }
    // Folders that are mounts on their own account, or lie in a hidden or fixed one, need no pin.
    folders.retain(|folder| {
        let fixed = |found: &&ProtectedPath| found.kind == Kind::Folder && folder.starts_with(&found.path);
        !writable.contains(folder) && !guards.iter().any(|found| fixed(&found))
    });
    let mut pins = Vec::new();
    for folder in folders {
        let about =
            fs::symlink_metadata(&folder).map_err(|error| Problem::Look { path: folder.clone(), error })?;
        pins.push((folder, about.dev(), about.ino()));
    }
    pins.sort_by_key(|(path, ..)| (path.components().count(), path.clone()));
    Ok(pins)
}
