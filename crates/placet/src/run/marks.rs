//! One-time marks: the hook makes one for a call, the runner takes it before it runs anything, and the hook sees afterwards that it
//! was taken.

use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use placet_gate::{Entropy as _, SystemEntropy};

/// What a mark ends with once the runner was started with it, and once it is taken.
const REACHED: &str = ".reached";
const TAKEN: &str = ".taken";

/// How far the agent came with what it was handed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trace {
    /// It did not run that.
    Nothing,
    /// It ran that, and nothing could be confined.
    Reached,
    /// It ran that, confined.
    Taken,
}

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

    /// Takes a mark, once. A second attempt finds none.
    pub(crate) fn take(&self, mark: &str) -> io::Result<()> {
        self.rename(mark, "", TAKEN)
    }

    /// Keeps that the runner was started with this mark. It is taken by [`Marks::take_reached`].
    pub(crate) fn reach(&self, mark: &str) -> io::Result<()> {
        self.rename(mark, "", REACHED)
    }

    pub(crate) fn take_reached(&self, mark: &str) -> io::Result<()> {
        self.rename(mark, REACHED, TAKEN)
    }

    fn rename(&self, mark: &str, from: &str, to: &str) -> io::Result<()> {
        if !is_mark(mark) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "that is no mark"));
        }
        fs::rename(self.0.join(format!("{mark}{from}")), self.0.join(format!("{mark}{to}")))
    }

    /// What happened with a mark. It is forgotten by this.
    pub(crate) fn trace(&self, mark: &str) -> Trace {
        if !is_mark(mark) {
            return Trace::Nothing;
        }
        let was_there = |end: &str| fs::remove_file(self.0.join(format!("{mark}{end}"))).is_ok();
        was_there("");
        let (reached, taken) = (was_there(REACHED), was_there(TAKEN));
        match (taken, reached) {
            (true, _) => Trace::Taken,
            (false, true) => Trace::Reached,
            (false, false) => Trace::Nothing,
        }
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
        assert_eq!((marks.trace(&one), marks.trace(&one)), (Trace::Taken, Trace::Nothing));
        assert_eq!(marks.trace(&other), Trace::Nothing, "no run took it");
        assert!(marks.take(&other).is_err() && marks.reach(&other).is_err(), "and none can any more");
        let (reached, both) = (marks.make("req").expect("a mark"), marks.make("req").expect("a mark"));
        assert!(marks.take_reached(&reached).is_err(), "it was not reached");
        marks.reach(&reached).expect("it is there");
        assert!(marks.take(&reached).is_err(), "it is not as it was made");
        marks.reach(&both).and_then(|()| marks.take_reached(&both)).expect("it is there");
        assert_eq!((marks.trace(&reached), marks.trace(&both)), (Trace::Reached, Trace::Taken));
        for bad in ["", "../../etc/passwd", "a", "aaaaaaaaaaaaaaaa/b"] {
            assert!(marks.take(bad).is_err() && marks.trace(bad) == Trace::Nothing, "{bad}");
        }
    }
}
