//! `placet run` itself: makes the plan, starts the stages, passes signals and output on, and cleans up.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::{self, File},
    io::{self, IsTerminal as _, Read as _, Write as _},
    os::{
        fd::{AsFd as _, AsRawFd as _, OwnedFd},
        unix::process::CommandExt as _,
    },
    path::Path,
    process::{Child, Stdio},
    time::Duration,
};

use nix::sys::{
    signal::{SigSet, SigmaskHow, Signal},
    signalfd::{SfdFlags, SignalFd},
};
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::{FdFlags, fcntl_setfd},
    pipe::{PipeFlags, pipe_with},
    process::Pid,
};

use super::{
    aside::Aside,
    cleanup,
    deadline::Deadline,
    heir::Heir,
    input,
    job::{Job, Report, leaves_out},
    register::{Beginning, Registered, RunState},
    sealed,
    stage::{GO, next},
};
use crate::{
    FAILED, LIMIT,
    kept::SessionFolders,
    plan::{Planned, plan},
    profile::Profile,
    protected::Lists,
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
/// How often it is looked again at what the command left, if that could not be put right, and after which pause.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(100);
/// What programs say when a file system or a call refused them.
const REFUSALS: [&[u8]; 3] = [b"Read-only file system", b"Permission denied", b"Operation not permitted"];

/// Runs the command, and answers the exit code. Sentences for the person go to standard error.
pub fn run(profile: &Profile, argv: &[OsString]) -> Result<u8, Problem> {
    if argv.is_empty() {
        return Err(Problem::Profile("there is no command".into()));
    }
    profile.check()?;
    let piped = input::must_be_piped()?;
    // Three programs start while the workspace is listed: each start costs as much as the list of a small one.
    let mut run = Run::start(piped)?;
    let begun = Heir::start().and_then(|mut heir| match begin(profile, argv, &mut run, &mut heir) {
        Ok(prepared) => Ok((prepared, heir)),
        Err(problem) => {
            heir.dismiss();
            Err(problem)
        }
    });
    let (prepared, heir) = match begun {
        Ok(begun) => begun,
        Err(problem) => {
            run.end();
            return Err(problem);
        }
    };
    let report = run.follow(profile).map_err(|problem| Problem::Lost(problem.to_string()));
    run.end();
    let Prepared { lists, state, kept, registered } = prepared;
    let cleaned = match &report {
        // Nothing was run, so nothing was left.
        Ok(Report::Failed(_)) => Ok(()),
        _ if leaves_out("cleanup") => Ok(()),
        _ => {
            let alone = registered.as_ref().is_some_and(|registered| registered.is_alone(&state));
            cleaned(&state, &lists, Aside::open(profile).as_ref(), alone)
        }
    };
    let stays = cleaned.is_err() && registered.is_some();
    let recorded = match (&cleaned, registered) {
        (Ok(()), Some(registered)) => registered.done(),
        (Err(Problem::Left { told, .. }), Some(registered)) => registered.leave(&state, told),
        // What is on record keeps others from beginning.
        (Err(_), Some(_)) | (_, None) => Ok(()),
    };
    if let Err(problem) = recorded {
        note(&problem.to_string());
    }
    if stays {
        let folder = profile.kept.as_deref().and_then(Path::parent).unwrap_or(Path::new("/"));
        note(&format!(
            "no other run begins here until a person has looked: placet run --records shows what changed, placet run --clear ends this. \
             The record is in {}",
            folder.display()
        ));
    }
    heir.dismiss();
    // No process of the run is left that could use them.
    drop(kept);
    if let (Err(_), Ok(Report::Ended { code, .. })) = (&cleaned, &report) {
        note(&format!("the command itself ended with code {code}"));
    }
    cleaned?;
    let report = report?;
    let code = match report {
        Report::Failed(sentence) => return Err(Problem::Stage(sentence)),
        Report::Lost(sentence) => return Err(Problem::Lost(sentence)),
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

/// Looks at what the command left. Another run may be at work in the same folders, so an error is not the last word.
fn cleaned(state: &RunState, lists: &Lists, aside: Option<&Aside>, alone: bool) -> Result<(), Problem> {
    let mut cleaned = cleanup::clean(state, lists, aside, alone);
    for _ in 0..TRIES {
        if cleaned.is_ok() {
            break;
        }
        std::thread::sleep(PAUSE);
        cleaned = cleanup::clean(state, lists, aside, alone);
    }
    if let Err(Problem::Left { told, .. }) = &cleaned {
        for sentence in told {
            note(sentence);
        }
    }
    cleaned
}

/// What is needed after the run.
struct Prepared {
    lists: Lists,
    state: RunState,
    kept: Option<SessionFolders>,
    registered: Option<Registered>,
}

/// Makes the plan, and lets the command run. On an error nothing runs.
fn begin(profile: &Profile, argv: &[OsString], run: &mut Run, heir: &mut Heir) -> Result<Prepared, Problem> {
    let lists = Lists::new(profile)?;
    let kept = SessionFolders::open(profile)?;
    kept.iter().flat_map(|kept| &kept.notes).for_each(|sentence| note(sentence));
    let beginning = Beginning::of(profile)?;
    let Planned { plan, roots, before, notes } = plan(profile, &lists, kept.as_ref())?;
    let mut state = RunState { profile: profile.clone(), roots, before };
    let registered = beginning.map(|beginning| beginning.register(&mut state)).transpose()?;
    for sentence in &notes {
        note(sentence);
    }
    let job = Job {
        plan,
        cwd: profile.cwd.clone(),
        limits: profile.limits,
        argv: argv.to_vec(),
        env: environment(profile),
        umask: umask(),
    };
    let begun = heir
        .hand_over(&state, registered.as_ref().map(|registered| registered.file.clone()))
        .and_then(|()| run.begin(&job, heir, registered.as_ref()));
    if let Err(problem) = begun {
        registered.map(Registered::done).transpose()?;
        return Err(problem);
    }
    Ok(Prepared { lists, state, kept, registered })
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

/// Signals that are read from a descriptor while the command runs.
fn passed() -> SigSet {
    PASSED.into_iter().chain([Signal::SIGCHLD]).collect()
}

/// A run that was started.
struct Run {
    stage: Child,
    /// Empty at first.
    job: File,
    report: File,
    /// After [`GO`], bytes are signals for the command; its end is the end of the run.
    life: Option<File>,
    signals: SignalFd,
    /// The command's output, where it goes through us to be counted, and to which descriptor.
    streams: Vec<(File, bool)>,
    written: u64,
    /// Whether the output speaks of something refused.
    refused: bool,
    /// Children that are none of this run's, where the kernel tells them.
    others: Option<BTreeSet<i32>>,
}

impl Run {
    /// Starts the stages, which wait for [`Run::begin`].
    fn start(piped: bool) -> Result<Self, Problem> {
        let others = children();
        let job = sealed::empty()?;
        let (report, report_in) = pipe_with(PipeFlags::CLOEXEC).doing("no pipe")?;
        let (life_out, life) = pipe_with(PipeFlags::CLOEXEC).doing("no pipe")?;
        for fd in [report_in.as_fd(), life_out.as_fd()] {
            fcntl_setfd(fd, FdFlags::empty()).doing("a descriptor cannot be handed on")?;
        }
        let mut command = next(1, [job.as_raw_fd(), report_in.as_raw_fd(), life_out.as_raw_fd()]);
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
        let passed = passed();
        let signals = SignalFd::with_flags(&passed, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
            .doing("signals cannot be read")?;
        // Stages inherit that they are blocked. Here they stay as they are until the command runs: what ends us, ends all.
        let blocked = "signals cannot be blocked";
        let mask = passed.thread_swap_mask(SigmaskHow::SIG_BLOCK).doing(blocked)?;
        let stage = command.spawn();
        mask.thread_set_mask().doing(blocked)?;
        let mut stage = stage.doing("the first stage cannot be started")?;
        fcntl_setfd(job.as_fd(), FdFlags::CLOEXEC).doing("a descriptor cannot be kept")?;
        let mut streams = Vec::new();
        streams.extend(stage.stdout.take().map(|pipe| (File::from(OwnedFd::from(pipe)), false)));
        streams.extend(stage.stderr.take().map(|pipe| (File::from(OwnedFd::from(pipe)), true)));
        Ok(Self {
            stage,
            job,
            report: report.into(),
            life: Some(life.into()),
            signals,
            streams,
            written: 0,
            refused: false,
            others,
        })
    }

    /// Lets the command run. On an error it does not.
    fn begin(&mut self, job: &Job, heir: &mut Heir, registered: Option<&Registered>) -> Result<(), Problem> {
        sealed::write(&self.job, job)?;
        // If a stage is killed, its children become ours, and can be waited for. The process that starts the heir is gone by now:
        // the heir is nobody's child, and must not become ours.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .doing("children cannot be kept")?;
        passed().thread_block().doing("signals cannot be blocked")?;
        if let Some(pipe) = self.stage.stdin.take() {
            input::copy_to(pipe)?;
        }
        // Where this is process 1, or adopted orphans before, the heir is a child of ours by now. It is not waited for.
        self.others = children();
        registered.map(Registered::begins).transpose()?;
        heir.begins()?;
        // A stage that failed has said why, and does not read any more.
        if let Some(life) = &mut self.life {
            let _ = life.write_all(&[GO]);
        }
        Ok(())
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
            return Err(Problem::Lost("the run was killed, and how the command ended is not known".into()));
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
        let options = rustix::process::WaitOptions::empty();
        let Some(others) = &self.others else {
            while let Ok(_) | Err(rustix::io::Errno::INTR) = rustix::process::wait(options) {}
            return;
        };
        loop {
            let now = children().unwrap_or_default();
            let ours: Vec<Pid> = now.difference(others).filter_map(|id| Pid::from_raw(*id)).collect();
            if ours.is_empty() {
                return;
            }
            for id in ours {
                while let Err(rustix::io::Errno::INTR) = rustix::process::waitpid(Some(id), options) {}
            }
        }
    }
}

/// The processes that are children of this one: whoever started us may have left us some of theirs. Nothing where the kernel does not tell.
fn children() -> Option<BTreeSet<i32>> {
    let mut found = BTreeSet::new();
    for task in fs::read_dir("/proc/self/task").ok()? {
        match fs::read_to_string(task.ok()?.path().join("children")) {
            Ok(list) => found.extend(list.split_whitespace().filter_map(|id| id.parse::<i32>().ok())),
            // A thread that has just ended; our own is there.
            Err(_) if !fs::exists("/proc/thread-self/children").unwrap_or(false) => return None,
            Err(_) => {}
        }
    }
    Some(found)
}

/// The code of a failure of our own, said in one sentence.
#[must_use]
pub fn failed(problem: &Problem) -> u8 {
    match problem {
        Problem::Left { .. } | Problem::Lost(_) => note(&problem.to_string()),
        problem => note(&format!("{problem}. Nothing was run")),
    }
    FAILED
}
