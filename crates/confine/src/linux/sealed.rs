//! Sealed files in memory: through them one process tells the next what to do.

use std::{
    fs::File,
    io::{Read as _, Write as _},
};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, memfd_create};
use serde::{Serialize, de::DeserializeOwned};

use crate::words::{Doing as _, Problem};

const SEALS: SealFlags =
    SealFlags::SEAL.union(SealFlags::SHRINK).union(SealFlags::GROW).union(SealFlags::WRITE);

/// An empty one. The next process inherits it, and may start before there is something in it.
pub(crate) fn empty() -> Result<File, Problem> {
    memfd_create("placet-job", MemfdFlags::ALLOW_SEALING).map(File::from).doing("no memory for the job")
}

/// Writes it, once and for all.
pub(crate) fn write(mut file: &File, what: &impl Serialize) -> Result<(), Problem> {
    let text = serde_json::to_vec(what).doing("the job cannot be written")?;
    file.write_all(&text).doing("the job cannot be written")?;
    fcntl_add_seals(file, SEALS).doing("the job cannot be sealed")
}

/// Reads an inherited one.
pub(crate) fn read<T: DeserializeOwned>(number: i32) -> Result<T, Problem> {
    let mut text = Vec::new();
    let mut file = File::open(format!("/proc/self/fd/{number}")).doing("the job cannot be read")?;
    // Half a job is none.
    if !fcntl_get_seals(&file).doing("the job cannot be read")?.contains(SEALS) {
        return Err(Problem::Layer("the job is not sealed".into()));
    }
    file.read_to_end(&mut text).doing("the job cannot be read")?;
    serde_json::from_slice(&text).doing("the job cannot be read")
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn what_is_sealed_is_read_and_what_is_not_is_refused() {
        let file = empty().unwrap();
        assert!(read::<String>(file.as_raw_fd()).is_err());
        (&file).write_all(b"\"half\"").unwrap();
        assert!(read::<String>(file.as_raw_fd()).is_err());
        let file = empty().unwrap();
        write(&file, &"whole").unwrap();
        assert_eq!(read::<String>(file.as_raw_fd()).unwrap(), "whole");
        assert!((&file).write_all(b"x").is_err());
    }
}
