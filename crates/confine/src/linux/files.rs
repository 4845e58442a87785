//! Landlock, the second lock on files: writes only below the workspace and the private folders, whatever is mounted.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus, Scope,
};

use crate::words::{Doing as _, Problem};

/// Older ones do not know `truncate`, which empties files.
const OLDEST: ABI = ABI::V3;
/// The newest that is made use of, where the kernel has it. 5: ioctls of devices, 6: signals and abstract sockets, 9: sockets.
const NEWEST: ABI = ABI::V9;
/// Devices and other places that programs write.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/pts",
    "/dev/shm",
];

/// Locks this process and all that it will start.
pub(crate) fn lock(writable: &[PathBuf]) -> Result<(), Problem> {
    let failed = "Landlock cannot be had";
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(OLDEST))
        .doing(failed)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_write(NEWEST))
        .doing(failed)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)
        .doing(failed)?
        .create()
        .doing(failed)?
        .set_compatibility(CompatLevel::BestEffort);
    for path in writable.iter().map(PathBuf::as_path).chain(DEVICES.iter().map(Path::new)) {
        let place = PathFd::new(path).doing(format_args!("{} cannot be opened", path.display()))?;
        let access: BitFlags<AccessFs> = if path.is_dir() {
            AccessFs::from_write(NEWEST)
        } else {
            AccessFs::from_write(NEWEST) & AccessFs::from_file(NEWEST)
        };
        rules = rules.add_rule(PathBeneath::new(place, access)).doing(failed)?;
    }
    let status = rules.restrict_self().doing(failed)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(Problem::Layer("Landlock is not enforced".into()));
    }
    Ok(())
}
