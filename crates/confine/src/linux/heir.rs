//! What is done if `placet run` itself is killed: agents end commands that take too long by the hardest signal, and with them the runner.
//! A process in a session of its own waits for that, and removes the protected files that appeared.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::fd::{AsFd as _, AsRawFd as _},
    path::PathBuf,
    process::{Child, Command, ExitCode, Stdio},
    time::Duration,
};

use nix::sys::signal::{SigSet, Signal};
use rustix::{
    io::{FdFlags, fcntl_setfd},
    pipe::{PipeFlags, pipe_with},
    process::setsid,
};
use serde::{Deserialize, Serialize};

use super::{
    aside::Aside,
    cleanup,
    register::{Registered, RunState},
    sealed,
    stage::next,
};
use crate::{
    FAILED,
    protected::Lists,
    words::{Doing as _, Problem},
};

/// The number of the stage that starts the waiting process and ends, so that it is nobody's child.
pub(crate) const BEAR: i32 = 3;
/// The number of the stage that waits.
pub(crate) const WAIT: i32 = 4;
/// When it looks, counted from the end of the runner. The kernel ends the command with the runner, and that takes a moment.
const LOOKS: [Duration; 4] =
    [Duration::from_millis(20), Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3)];

/// What it is handed.
#[derive(Serialize, Deserialize)]
struct Estate {
    run: RunState,
    /// Where the run is on record.
    registered: Option<PathBuf>,
}

/// What it hears: the run begins; the runner has cleaned up itself. Nothing at all: no run began.
const BEGUN: &[u8] = b"b";
const DISMISSED: &[u8] = b"d";

/// The process that waits. Dropped without [`Heir::dismiss`] after the run began, it does its work.
pub(crate) struct Heir {
    /// The process that starts it.
    bearer: Child,
    estate: File,
    life: File,
}

impl Heir {
    /// Starts it, and waits for nothing: there is much to do meanwhile.
    pub(crate) fn start() -> Result<Self, Problem> {
        let estate = sealed::empty()?;
        let (watch, life) = pipe_with(PipeFlags::CLOEXEC).doing("no pipe")?;
        fcntl_setfd(watch.as_fd(), FdFlags::empty()).doing("a descriptor cannot be handed on")?;
        let bearer = quiet(BEAR, estate.as_raw_fd(), watch.as_raw_fd()).spawn().doing(NOBODY)?;
        fcntl_setfd(estate.as_fd(), FdFlags::CLOEXEC).doing("a descriptor cannot be kept")?;
        Ok(Self { bearer, estate, life: life.into() })
    }

    /// Comes back once it waits, out of reach of whoever ends the runner. Nothing may run before, and until [`Heir::begins`] it does nothing.
    pub(crate) fn hand_over(&mut self, run: &RunState, registered: Option<PathBuf>) -> Result<(), Problem> {
        let estate = Estate { run: run.clone(), registered };
        sealed::write(&self.estate, &estate)?;
        if !self.bearer.wait().is_ok_and(|status| status.success()) {
            return Err(Problem::Layer(NOBODY.into()));
        }
        Ok(())
    }

    /// The command runs from now on.
    pub(crate) fn begins(&mut self) -> Result<(), Problem> {
        self.life.write_all(BEGUN).doing(NOBODY)
    }

    /// The runner has cleaned up itself, or nothing ran.
    pub(crate) fn dismiss(mut self) {
        let _ = self.life.write_all(DISMISSED);
    }
}

const NOBODY: &str = "nothing can clean up after a run that is killed";

fn quiet(step: i32, estate: i32, watch: i32) -> Command {
    let mut command = next(step, [estate, watch, watch]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Starts the waiting process.
pub(crate) fn bear(estate: i32, watch: i32) -> Result<ExitCode, Problem> {
    // Whoever ends the runner's group ends neither. Here and not there: when this process is gone, it is true.
    setsid().doing("no new session")?;
    quiet(WAIT, estate, watch).spawn().doing("no process can wait")?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the runner ended after the run began, and without a word.
fn is_left_alone(heard: &[u8]) -> bool {
    heard == BEGUN
}

/// The waiting process.
pub(crate) fn wait(estate: i32, watch: i32) -> Result<ExitCode, Problem> {
    // What ends a whole session, such as a logout, ends the command. Somebody still has to look at what it left.
    [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT]
        .into_iter()
        .collect::<SigSet>()
        .thread_block()
        .doing("signals cannot be blocked")?;
    let mut heard = Vec::new();
    File::open(format!("/proc/self/fd/{watch}"))
        .and_then(|mut watch| watch.read_to_end(&mut heard))
        .doing("the runner cannot be watched")?;
    if !is_left_alone(&heard) {
        return Ok(ExitCode::SUCCESS);
    }
    let Estate { run, registered } = sealed::read(estate)?;
    let lists = Lists::new(&run.profile)?;
    // Without its record there is still everything to look at.
    let registered = registered.and_then(|file| Registered::again(file).ok());
    let aside = Aside::open(&run.profile);
    let mut cleaned = Ok(());
    for pause in LOOKS {
        std::thread::sleep(pause);
        // What cannot be put right now is tried again.
        let alone = registered.as_ref().is_some_and(|registered| registered.is_alone(&run));
        cleaned = cleanup::clean(&run, &lists, aside.as_ref(), alone);
    }
    match (cleaned, registered) {
        (Ok(()), Some(registered)) => registered.done()?,
        (Err(Problem::Left { told, .. }), Some(registered)) => registered.leave(&run, &told)?,
        // The record stays, and keeps others from beginning.
        _ => {}
    }
    Ok(ExitCode::from(FAILED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_work_only_after_a_run_that_began_and_was_not_dismissed() {
        assert!(is_left_alone(BEGUN));
        for heard in [&b""[..], DISMISSED, &[BEGUN, DISMISSED].concat()] {
            assert!(!is_left_alone(heard), "{heard:?}");
        }
    }
}
