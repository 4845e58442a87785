//! What is done if `placet run` itself is killed: agents end commands that take too long by the hardest signal, and with them the runner.
//! A process in a session of its own waits for that, and removes the protected files that appeared.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::{
        fd::{AsFd as _, AsRawFd as _},
        unix::process::CommandExt as _,
    },
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use rustix::{
    io::{FdFlags, fcntl_setfd},
    pipe::{PipeFlags, pipe_with},
    process::setsid,
};
use serde::{Deserialize, Serialize};

use super::{cleanup, outer, stage::STAGE};
use crate::{
    FAILED,
    profile::Profile,
    scan::{Found, Lists, Place},
    words::{Doing as _, Problem},
};

/// The number of the stage that starts the waiting process and ends, so that it is nobody's child.
pub(crate) const BEAR: i32 = 3;
/// The number of the stage that waits.
pub(crate) const WAIT: i32 = 4;
/// When it looks, counted from the end of the runner. The kernel ends the command with the runner, and that takes a moment.
const LOOKS: [Duration; 4] =
    [Duration::from_millis(20), Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3)];

/// What there was before the run.
#[derive(Serialize, Deserialize)]
struct Estate {
    profile: Profile,
    roots: Vec<(PathBuf, Place)>,
    before: Vec<Found>,
}

/// The process that waits. Dropped without [`Heir::dismiss`], it does its work.
pub(crate) struct Heir(File);

impl Heir {
    pub(crate) fn start(
        profile: &Profile,
        roots: &[(PathBuf, Place)],
        before: &[Found],
    ) -> Result<Self, Problem> {
        let estate = Estate { profile: profile.clone(), roots: roots.to_vec(), before: before.to_vec() };
        let file =
            outer::in_memory(&serde_json::to_vec(&estate).doing("the protected files cannot be noted")?)?;
        let (watch, life) = pipe_with(PipeFlags::CLOEXEC).doing("no pipe")?;
        fcntl_setfd(watch.as_fd(), FdFlags::empty()).doing("a descriptor cannot be handed on")?;
        let status = stage(BEAR, file.as_raw_fd(), watch.as_raw_fd()).status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(Problem::Layer("nothing can clean up after a run that is killed".into()));
        }
        Ok(Self(life.into()))
    }

    /// The runner has cleaned up itself.
    pub(crate) fn dismiss(mut self) {
        let _ = self.0.write_all(b"d");
    }
}

fn stage(step: i32, job: i32, watch: i32) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("placet").arg(STAGE).args([step, job, watch, watch].map(|number| number.to_string()));
    command.env_clear().current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Starts the waiting process.
pub(crate) fn bear(job: i32, watch: i32) -> Result<ExitCode, Problem> {
    stage(WAIT, job, watch).spawn().doing("no process can wait")?;
    Ok(ExitCode::SUCCESS)
}

/// The waiting process.
pub(crate) fn wait(job: i32, watch: i32) -> Result<ExitCode, Problem> {
    // Whoever ends the runner's group does not end this.
    setsid().doing("no new session")?;
    let mut text = Vec::new();
    File::open(format!("/proc/self/fd/{job}"))
        .and_then(|mut file| file.read_to_end(&mut text))
        .doing("the note cannot be read")?;
    let estate: Estate = serde_json::from_slice(&text).doing("the note cannot be read")?;
    let mut watch = File::open(format!("/proc/self/fd/{watch}")).doing("no pipe to the runner")?;
    let mut word = [0; 1];
    if watch.read(&mut word).doing("the runner cannot be watched")? > 0 {
        return Ok(ExitCode::SUCCESS);
    }
    let lists = Lists::new(&estate.profile)?;
    for pause in LOOKS {
        std::thread::sleep(pause);
        cleanup::clean(&estate.roots, &lists, &estate.before)?;
    }
    Ok(ExitCode::from(FAILED))
}
