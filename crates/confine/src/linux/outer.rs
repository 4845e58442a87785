//! `placet run` itself: makes the plan, starts the stages, passes signals and output on, and cleans up.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, IsTerminal as _, Read as _, Write as _},
    os::{
        fd::{AsFd as _, AsRawFd as _, OwnedFd},
        unix::process::CommandExt as _,
    },
    process::{Child, Command, Stdio},
    time::Duration,
};

use nix::sys::{
    signal::{SigSet, Signal},
    signalfd::{SfdFlags, SignalFd},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create},
    io::{FdFlags, fcntl_setfd},
    pipe::{PipeFlags, pipe_with},
};

use super::{
    cleanup,
    heir::Heir,
    input,
    job::{Job, Report},
    stage::STAGE,
};
use crate::{
    FAILED, LIMIT,
    kept::Kept,
    plan::plan,
    profile::Profile,
    scan::Lists,
    words::{Doing as _, Problem},
};

/// Signals that are passed on to the command.
const PASSED: [Signal; 9] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGCONT,
    Signal::SIGWINCH,
    Signal::SIGTSTP,
];
/// After the time is over, the command has this long to end by itself.
const GRACE: Duration = Duration::from_secs(2);
/// What programs say when a file system or a call refused them.
const REFUSALS: [&[u8]; 3] = [b"Read-only file system", b"Permission denied", b"Operation not permitted"];

/// Runs the command, and answers the exit code. Sentences for the person go to standard error.
pub fn run(profile: &Profile, argv: &[OsString]) -> Result<u8, Problem> {
    if argv.is_empty() {
        return Err(Problem::Profile("there is no command".into()));
    }
    profile.check()?;
    let piped = input::must_be_piped()?;
    let lists = Lists::new(profile)?;
    let kept = Kept::open(profile)?;
    kept.iter().flat_map(|kept| &kept.notes).for_each(|sentence| note(sentence));
    let planned = plan(profile, &lists, kept.as_ref())?;
    let job = Job {
        plan: planned.plan,
        cwd: profile.cwd.clone(),
        limits: profile.limits,
        argv: argv.to_vec(),
        env: environment(profile),
        umask: umask(),
        #[cfg(feature = "sabotage")]
        without: std::env::var("PLACET_SABOTAGE")
            .into_iter()
            .filter_map(|name| name.strip_prefix("confine-without-").map(str::to_owned))
            .collect(),
    };
    let heir = Heir::start(profile, &planned.roots, &planned.before)?;
    let mut run = Run::start(&job, piped)?;
    let report = run.follow(profile);
    run.end();
    if !job.leaves_out("cleanup") {
        cleanup::clean(&planned.roots, &lists, &planned.before)?;
    }
    heir.dismiss();
    // No process of the run is left that could use them.
    drop(kept);
    let report = report?;
    let code = match report {
        Report::Failed(sentence) => return Err(Problem::Stage(sentence)),
        Report::Unstartable(code, sentence) => {
            note(&sentence);
            code
        }
        Report::Limit(sentence) => {
            note(&format!("{sentence}, which is the limit; it was ended"));
            LIMIT
        }
        Report::Ended { code, network } => {
            if code != 0 && (network || run.refused) {
                let why = if network {
                    "this run has no network"
                } else {
                    "only the workspace can be written here, and some files are protected"
                };
                note(&format!("{why}. To ask a person for more: placet run --ask -- {}", shown(argv)));
            }
            code
        }
    };
    Ok(code)
}

/// A sealed file in memory, which the next process inherits.
pub(crate) fn in_memory(text: &[u8]) -> Result<File, Problem> {
    let memory = memfd_create("placet-job", MemfdFlags::ALLOW_SEALING).doing("no memory for the job")?;
    let mut file = File::from(memory);
    file.write_all(text).doing("the job cannot be written")?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    fcntl_add_seals(&file, seals).doing("the job cannot be sealed")?;
    Ok(file)
}

/// One sentence on standard error.
pub(crate) fn note(sentence: &str) {
    // Names come from files that the command made: no control characters reach the terminal.
    let plain: String = sentence.chars().map(|sign| if sign.is_control() { '?' } else { sign }).collect();
    let _ = writeln!(io::stderr().lock(), "placet run: {plain}");
}

/// The command as one types it; a long one is only named.
fn shown(argv: &[OsString]) -> String {
    // What an agent typed, without the shell that it was put into.
    if let [shell, option, text] = argv
        && (shell, option) == (&OsString::from("bash"), &OsString::from("-c"))
    {
        let text = text.to_string_lossy();
        return if text.len() > 200 || text.contains('\n') { "CMD".to_owned() } else { text.into_owned() };
    }
    let plain = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&byte))
    };
    let quoted = argv.iter().map(|word| {
        let word = word.to_string_lossy();
        if plain(&word) { word.into_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
    });
    let line = quoted.collect::<Vec<_>>().join(" ");
    if line.len() > 200 || line.contains('\n') { "CMD".to_owned() } else { line }
}

fn environment(profile: &Profile) -> Vec<(OsString, OsString)> {
    let mut env: Vec<(OsString, OsString)> = std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(|name| !profile.drops(name)))
        .filter(|(name, _)| {
            !matches!(name.to_str(), Some("TMPDIR" | "TMP" | "TEMP" | "XDG_RUNTIME_DIR" | "HOME" | "PWD"))
        })
        .collect();
    env.push(("HOME".into(), profile.home.clone().into()));
    env.push(("PWD".into(), profile.cwd.clone().into()));
    env.push(("TMPDIR".into(), "/tmp".into()));
    // For programs that want to know, and for a run inside a run.
    env.push(("PLACET_CONFINED".into(), "1".into()));
    env
}

fn umask() -> u32 {
    let now = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    rustix::process::umask(now);
    now.as_raw_mode()
}

/// A run that was started.
struct Run {
    stage: Child,
    report: File,
    /// Bytes are signals for the command; its end is the end of the run.
    life: Option<File>,
    signals: SignalFd,
    /// The command's output, where it goes through us to be counted, and to which descriptor.
    streams: Vec<(File, bool)>,
    written: u64,
    /// Whether the output speaks of something refused.
    refused: bool,
}

impl Run {
    fn start(job: &Job, piped: bool) -> Result<Self, Problem> {
        // If a stage is killed, its children become ours, and can be waited for.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .doing("children cannot be kept")?;
        let text = serde_json::to_vec(job).doing("the job cannot be written")?;
        let file = in_memory(&text)?;
        let (report, report_in) = pipe_with(PipeFlags::CLOEXEC).doing("no pipe")?;
        let (life_out, life) = pipe_with(PipeFlags::CLOEXEC).doing("no pipe")?;
        for fd in [report_in.as_fd(), life_out.as_fd()] {
            fcntl_setfd(fd, FdFlags::empty()).doing("a descriptor cannot be handed on")?;
        }
        let mut set = SigSet::empty();
        PASSED.into_iter().chain([Signal::SIGCHLD]).for_each(|signal| set.add(signal));
        set.thread_block().doing("signals cannot be blocked")?;
        let signals = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
            .doing("signals cannot be read")?;

        let mut command = Command::new("/proc/self/exe");
        command.arg0("placet").arg(STAGE).arg("1");
        command
            .args([file.as_raw_fd(), report_in.as_raw_fd(), life_out.as_raw_fd()].map(|fd| fd.to_string()));
        command.env_clear().current_dir("/");
        // In a group of its own: Ctrl-C reaches us alone, and is passed on once.
        command.process_group(0);
        let (out, err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        if piped {
            command.stdin(Stdio::piped());
        }
        if !out {
            command.stdout(Stdio::piped());
        }
        if !err {
            command.stderr(Stdio::piped());
        }
        let mut stage = command.spawn().doing("the first stage cannot be started")?;
        if let Some(pipe) = stage.stdin.take() {
            input::copy_to(pipe)?;
        }
        let mut streams = Vec::new();
        streams.extend(stage.stdout.take().map(|pipe| (File::from(OwnedFd::from(pipe)), false)));
        streams.extend(stage.stderr.take().map(|pipe| (File::from(OwnedFd::from(pipe)), true)));
        Ok(Self {
            stage,
            report: report.into(),
            life: Some(life.into()),
            signals,
            streams,
            written: 0,
            refused: false,
        })
    }

    /// Passes signals and output on until the report is there and the output ended, or the time is over.
    fn follow(&mut self, profile: &Profile) -> Result<Report, Problem> {
        let deadline = Deadline::new(profile.limits.seconds);
        let mut text = Vec::new();
        let mut reported = false;
        let mut limit = None;
        while !reported || !self.streams.is_empty() {
            let mut ready = vec![PollFd::new(&self.signals, PollFlags::IN)];
            let watched = if reported { PollFlags::empty() } else { PollFlags::IN };
            ready.push(PollFd::from_borrowed_fd(self.report.as_fd(), watched));
            ready.extend(self.streams.iter().map(|(stream, _)| PollFd::new(stream, PollFlags::IN)));
            match poll(&mut ready, Some(&deadline.left())) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error).doing("events cannot be waited for"),
            }
            let ready: Vec<bool> = ready.iter().map(|fd| !fd.revents().is_empty()).collect();
            if ready[0] {
                self.pass_signals();
            }
            if !reported && ready[1] {
                let mut part = [0; 4096];
                match self.report.read(&mut part) {
                    Ok(0) => reported = true,
                    Ok(length) => text.extend_from_slice(&part[..length]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error).doing("the report cannot be read"),
                }
            }
            if self.copy(&ready[2..], profile.limits.output) && limit.is_none() {
                limit = Some(format!("it wrote more than {} MiB", profile.limits.output >> 20));
                self.life = None;
            }
            match deadline.passed() {
                Some(0) if limit.is_none() => {
                    limit = Some(format!("it ran longer than {} s", profile.limits.seconds));
                    self.send(Signal::SIGTERM);
                }
                Some(0) | None => {}
                Some(1) => self.life = None,
                // Process 1 did not end by itself: the kernel ends it with its parent.
                Some(_) => {
                    let _ = self.stage.kill();
                    break;
                }
            }
        }
        if let Some(sentence) = limit {
            return Ok(Report::Limit(sentence));
        }
        let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        if line.is_empty() {
            return Err(Problem::Layer("the run was killed, and how the command ended is not known".into()));
        }
        serde_json::from_slice(line).doing("the report cannot be read")
    }

    fn pass_signals(&mut self) {
        while let Ok(Some(info)) = self.signals.read_signal() {
            let Some(signal) =
                i32::try_from(info.ssi_signo).ok().and_then(|number| Signal::try_from(number).ok())
            else {
                continue;
            };
            match signal {
                Signal::SIGCHLD => {}
                Signal::SIGTSTP => {
                    self.send(Signal::SIGSTOP);
                    let _ = nix::sys::signal::raise(Signal::SIGSTOP);
                    self.send(Signal::SIGCONT);
                }
                other => self.send(other),
            }
        }
    }

    fn send(&mut self, signal: Signal) {
        if let (Some(life), Ok(number)) = (&mut self.life, u8::try_from(signal as i32)) {
            let _ = life.write_all(&[number]);
        }
    }

    /// Copies what there is of the output; true once it is too much.
    fn copy(&mut self, ready: &[bool], most: u64) -> bool {
        let mut ended = Vec::new();
        let mut buffer = vec![0; 64 * 1024];
        for (index, (stream, is_error)) in self.streams.iter_mut().enumerate() {
            if !ready.get(index).copied().unwrap_or(false) {
                continue;
            }
            let length = match stream.read(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => 0,
            };
            let part = &buffer[..length];
            if length == 0 {
                ended.push(index);
                continue;
            }
            self.refused |=
                REFUSALS.iter().any(|words| part.windows(words.len()).any(|window| window == *words));
            let left = usize::try_from(most.saturating_sub(self.written)).unwrap_or(usize::MAX);
            let part = &part[..length.min(left)];
            self.written = self.written.saturating_add(length as u64);
            let result = if *is_error {
                io::stderr().lock().write_all(part)
            } else {
                io::stdout().lock().write_all(part).and_then(|()| io::stdout().lock().flush())
            };
            // The reader is gone: so is the pipe, and the command meets a closed one like without us.
            if result.is_err() {
                ended.push(index);
            }
        }
        for index in ended.into_iter().rev() {
            self.streams.remove(index);
        }
        self.written > most
    }

    /// Waits until no process of the run is left.
    fn end(&mut self) {
        self.life = None;
        self.streams.clear();
        let _ = self.stage.wait();
        // Only a killed stage leaves something behind: process 1, which the kernel ends with it.
        let any = rustix::process::WaitOptions::empty();
        while let Ok(_) | Err(rustix::io::Errno::INTR) = rustix::process::wait(any) {}
    }
}

/// The end of the time, then two more: for a process that does not heed the signal, and for one that cannot be ended.
struct Deadline {
    start: std::time::Instant,
    seconds: u64,
}

impl Deadline {
    #[expect(clippy::disallowed_methods, reason = "a real time limit of a real process")]
    fn new(seconds: u64) -> Self {
        Self { start: std::time::Instant::now(), seconds }
    }

    /// How many of the three ends are over.
    fn passed(&self) -> Option<u64> {
        let over = self.start.elapsed().checked_sub(Duration::from_secs(self.seconds))?;
        Some(over.as_secs() / GRACE.as_secs())
    }

    fn left(&self) -> Timespec {
        let mut end = Duration::from_secs(self.seconds);
        let gone = self.start.elapsed();
        while end <= gone {
            end += GRACE;
        }
        Timespec::try_from(end.saturating_sub(gone)).unwrap_or(Timespec { tv_sec: 3600, tv_nsec: 0 })
    }
}

/// The code of a failure of our own, said in one sentence.
#[must_use]
pub fn failed(problem: &Problem) -> u8 {
    note(&format!("{problem}. Nothing was run"));
    FAILED
}
