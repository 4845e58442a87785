//! The data folder of `placet up`: a folder of this user alone.

use std::{
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use crate::exit::usage;

/// The folder, below the data folder of this user, if the environment names one.
pub(crate) fn usual() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || {
        let below = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
        named("HOME").map(|home| home.join(below))
    };
    named("XDG_DATA_HOME").or_else(home).map(|folder| folder.join("placet"))
}

/// The folder that was named, or the usual one.
pub(super) fn data(named: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let data = named.or_else(usual).ok_or_else(|| {
        usage("there is no place for the data: set HOME or XDG_DATA_HOME to an absolute path, or name a folder with --data")
    })?;
    Ok(std::path::absolute(data)?)
}

/// Refuses a folder that belongs to another user, or that other users can read: it holds what signs people in.
pub(super) fn check(data: &Path) -> anyhow::Result<()> {
    let shown = data.display();
    let meta = match std::fs::metadata(data) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(usage(format!("cannot use the data folder {shown}: {error}"))),
    };
    if !meta.is_dir() {
        return Err(usage(format!("{shown} is not a folder: name another one with --data")));
    }
    let me = rustix::process::geteuid().as_raw();
    if meta.uid() != me {
        return Err(usage(format!(
            "{shown} belongs to user {}, not to you (user {me}): name a folder of your own with --data",
            user_name(meta.uid())
        )));
    }
    if meta.mode() & 0o077 != 0 {
        return Err(usage(format!(
            "other users can look into {shown}, which holds what signs people in: run `chmod 700 {shown}`, or name another folder with --data"
        )));
    }
    Ok(())
}

/// The name of a user, or the number.
pub(super) fn user_name(uid: u32) -> String {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    name_in(&users, uid).unwrap_or_else(|| uid.to_string())
}

fn name_in(users: &str, uid: u32) -> Option<String> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid.to_string()).then(|| name.to_owned())
    })
}

/// One line: whether a program of the same person can read the data.
pub(super) fn guard(uid: u32) -> String {
    let name = user_name(uid);
    if name == super::own_user::USER {
        return format!(
            "runs as the user {name}: programs of other users, such as your agents, cannot read its files"
        );
    }
    format!(
        "runs as you ({name}): an agent of yours could read its files and approve its own calls; `placet up --own-user` ends that"
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_user_is_named_by_the_number_in_the_third_field() {
        let users = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:0::/home/ann:/bin/sh\nbad\n0:x:7:7::/:\n";
        assert_eq!(name_in(users, 1000).as_deref(), Some("ann"));
        assert_eq!(name_in(users, 0).as_deref(), Some("root"));
        assert_eq!(name_in(users, 8), None);
    }

    #[test]
    fn a_folder_that_others_can_look_into_is_refused_and_a_missing_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        check(&folder.path().join("none yet")).unwrap();
        let set =
            |mode| std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        set(0o700);
        check(folder.path()).unwrap();
        for mode in [0o710, 0o704, 0o720] {
            set(mode);
            assert!(check(folder.path()).unwrap_err().to_string().contains("chmod 700"), "{mode:o}");
        }
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(check(&file).unwrap_err().to_string().contains("is not a folder"));
    }
}
