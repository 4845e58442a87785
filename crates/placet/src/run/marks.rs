//! One-time marks: the hook makes one for a call, the runner takes it before it runs anything, and the hook sees afterwards that it
//! was taken.

use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use placet_gate::{Entropy as _, SystemEntropy};

/// What a taken mark ends with.
const TAKEN: &str = ".taken";

/// The folder of all marks.
#[derive(Debug, Clone)]
pub(crate) struct Marks(PathBuf);

impl Marks {
    /// Below the folder that hooks keep their notes in.
    pub(crate) fn in_folder(state: &Path) -> Self {
        Self(state.join("marks"))
    }

    /// This very folder.
    pub(crate) fn at(folder: &Path) -> Self {
        Self(folder.to_path_buf())
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    /// Makes a mark for a request.
    pub(crate) fn make(&self, request: &str) -> io::Result<String> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        let mut bytes = [0_u8; 20];
        SystemEntropy.fill(&mut bytes);
        let mark = data_encoding::BASE32_DNSSEC.encode(&bytes);
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.0.join(&mark))?;
        file.write_all(request.as_bytes())?;
        Ok(mark)
    }

    /// Takes a mark, once. Whoever comes second finds none.
    pub(crate) fn take(&self, mark: &str) -> io::Result<()> {
        if !is_mark(mark) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "that is no mark"));
        }
        fs::rename(self.0.join(mark), self.0.join(format!("{mark}{TAKEN}")))
    }

    /// Whether it was taken. It is forgotten by this.
    pub(crate) fn was_taken(&self, mark: &str) -> bool {
        if !is_mark(mark) {
            return false;
        }
        let _ = fs::remove_file(self.0.join(mark));
        fs::remove_file(self.0.join(format!("{mark}{TAKEN}"))).is_ok()
    }
}

fn is_mark(text: &str) -> bool {
    (16..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_taken_once_and_seen_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let marks = Marks::in_folder(folder.path());
        let (one, other) = (marks.make("req").expect("a mark"), marks.make("req").expect("a mark"));
        marks.take(&one).expect("it is there");
        assert!(marks.take(&one).is_err(), "it is taken");
        assert!(marks.was_taken(&one) && !marks.was_taken(&one));
        assert!(!marks.was_taken(&other), "nobody took it");
        assert!(marks.take(&other).is_err(), "and nobody can any more");
        for bad in ["", "../../etc/passwd", "a", "aaaaaaaaaaaaaaaa/b"] {
            assert!(marks.take(bad).is_err() && !marks.was_taken(bad), "{bad}");
        }
    }
}
