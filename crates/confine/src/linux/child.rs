//! Process 1 at work: starts the command, passes signals on, reaps, and watches the limits.

use std::{
    fs::File,
    io::{ErrorKind, Read as _},
    os::{fd::AsFd as _, unix::process::CommandExt as _},
    path::PathBuf,
    process::{Child, Command},
    time::{Duration, Instant},
};

use nix::{
    sys::{
        signal::{SigSet, Signal, killpg},
        signalfd::{SfdFlags, SignalFd},
    },
    unistd::Pid,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{WaitOptions, WaitStatus, wait},
};

use super::{
    job::{Job, Report},
    watch,
};
use crate::{
    kept,
    plan::Part,
    words::{Doing as _, Problem},
};

/// Between two looks at the limits.
const WATCH: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Between two looks at folders that are kept.
const LOOK_AT_KEPT: Duration = Duration::from_secs(2);

/// Runs the command to its end.
pub(crate) fn run(job: &Job, life: &File) -> Result<Report, Problem> {
    // The mask is inherited from the outer process, which reads its signals; the command starts with none blocked.
    SigSet::empty().thread_set_mask().doing("signals cannot be unblocked")?;
    let Some((program, arguments)) = job.argv.split_first() else {
        return Err(Problem::Profile("there is no command".into()));
    };
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(job.env.iter().cloned()).process_group(0);
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let code = if error.kind() == ErrorKind::NotFound { 127 } else { 126 };
            return Ok(Report::Unstartable(code, format!("{}: {error}", program.display())));
        }
    };
    // From here on an error does not say that nothing was run.
    follow(job, life, &child).or_else(|problem| Ok(Report::Lost(problem.to_string())))
}

fn follow(job: &Job, mut life: &File, child: &Child) -> Result<Report, Problem> {
    let id = i32::try_from(child.id()).doing("the process has no number")?;
    let mut set = SigSet::empty();
    set.add(Signal::SIGCHLD);
    set.thread_block().doing("signals cannot be blocked")?;
    let signals = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .doing("signals cannot be read")?;
    let mut kept = KeptWatch::of(job);
    loop {
        // First, for a command that ended before its signal was blocked.
        if let Some(status) = reap(id)? {
            return Ok(Report::Ended { code: code(status), network: watch::wanted_network() });
        }
        if let Some(sentence) = watch::over(&job.limits).or_else(|| kept.look(job)) {
            return Ok(Report::Limit(sentence));
        }
        let mut ready =
            [PollFd::new(&signals, PollFlags::IN), PollFd::from_borrowed_fd(life.as_fd(), PollFlags::IN)];
        match poll(&mut ready, Some(&WATCH)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).doing("events cannot be waited for"),
        }
        let [from_children, from_outside] = ready.map(|ready| ready.revents());
        if !from_outside.is_empty() {
            let mut number = [0];
            match life.read(&mut number) {
                Ok(1) => {
                    if let Ok(signal) = Signal::try_from(i32::from(number[0])) {
                        let _ = killpg(Pid::from_raw(id), signal);
                    }
                }
                // The outer process is gone, or wants the end.
                _ => return Ok(Report::Lost("the run was ended from outside".into())),
            }
        }
        if !from_children.is_empty() {
            while signals.read_signal().is_ok_and(|signal| signal.is_some()) {}
        }
    }
}

/// Looks at kept folders from time to time: they lie on a disk, which is no bound of its own.
struct KeptWatch {
    places: Vec<PathBuf>,
    last: Instant,
}

impl KeptWatch {
    #[expect(clippy::disallowed_methods, reason = "between two looks at real files")]
    fn of(job: &Job) -> Self {
        let kept = job.plan.parts.iter().filter(|(_, part)| matches!(part, Part::Kept { .. }));
        Self { places: kept.map(|(path, _)| path.clone()).collect(), last: Instant::now() }
    }

    #[expect(clippy::disallowed_methods, reason = "between two looks at real files")]
    fn look(&mut self, job: &Job) -> Option<String> {
        if self.places.is_empty() || self.last.elapsed() < LOOK_AT_KEPT {
            return None;
        }
        let sentence = kept::over(&self.places, job.limits.temp);
        self.last = Instant::now();
        sentence
    }
}

/// Takes every ended process; the command's own end is the answer.
fn reap(command: i32) -> Result<Option<WaitStatus>, Problem> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((id, status))) if id.as_raw_nonzero().get() == command => return Ok(Some(status)),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(rustix::io::Errno::CHILD) => return Ok(None),
            Err(error) => return Err(error).doing("processes cannot be waited for"),
        }
    }
}

/// As a shell reports it: 128 and the signal.
fn code(status: WaitStatus) -> u8 {
    let number = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => 255,
    };
    u8::try_from(number).unwrap_or(255)
}
