//! Reads files that others wrote: bounded, and never blocking on something that is not a file.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// The bytes of a regular file. None if it does not exist. An error in words if it cannot be read.
pub(super) fn read(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, String> {
    // Checked before it is opened: opening some devices has side effects.
    if !regular(std::fs::metadata(path))? {
        return Ok(None);
    }
    // If it became a pipe in between, opening it must not wait for a writer.
    let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits();
    let flags = i32::try_from(flags).unwrap_or_default();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if missing(&error) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    bytes(&file, limit).map(Some)
}

fn bytes(file: &File, limit: u64) -> Result<Vec<u8>, String> {
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    if metadata.len() > limit {
        return Err(format!("larger than {limit} bytes"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default() + 1);
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > limit { Err(format!("larger than {limit} bytes")) } else { Ok(bytes) }
}

fn regular(metadata: io::Result<Metadata>) -> Result<bool, String> {
    match metadata {
        Ok(metadata) if metadata.is_file() => Ok(true),
        Ok(_) => Err("not a regular file".to_owned()),
        Err(error) if missing(&error) => Ok(false),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether git would go on as if the file did not exist.
pub(super) fn missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether something has this name, dangling links included. What cannot be checked counts as existing.
pub(super) fn exists(path: &Path) -> bool {
    !std::fs::symlink_metadata(path).is_err_and(|error| missing(&error))
}
