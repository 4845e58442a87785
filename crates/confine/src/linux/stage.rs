//! The hidden stages between `placet run` and the command: one makes the namespaces, the next one is their first process.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{Read as _, Write as _},
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    process::{Command, ExitCode},
};

use nix::sched::{CloneFlags, unshare};
use rustix::{
    fs::{Mode, OFlags, openat},
    process::{
        DumpableBehavior, Resource, Rlimit, Signal, set_dumpable_behavior, set_parent_process_death_signal,
        setrlimit, setsid,
    },
};

use super::{
    calls, child, files, heir,
    job::{Job, Report, leaves_out},
    loopback, rights, root, sealed,
};
use crate::{
    FAILED,
    words::{Doing as _, Problem},
};

/// First argument of the hidden stages.
pub const STAGE: &str = "confine-stage";

/// The first byte from the outer process: the job is written, and all is ready. Those that follow are signals.
pub(crate) const GO: u8 = 0;

/// Descriptors that a stage inherits: the job, where to report, and a pipe whose other end is the outer process's life.
struct Inherited {
    job: i32,
    report: i32,
    life: i32,
}

/// Runs a hidden stage. Call it first thing in `main`, before any thread exists, if the first argument is [`STAGE`].
pub fn stage(arguments: &[OsString]) -> ExitCode {
    let numbers: Vec<i32> = arguments.iter().filter_map(|text| text.to_str()?.parse().ok()).collect();
    let [step, job, report, life] = numbers[..] else { return ExitCode::from(FAILED) };
    let inherited = Inherited { job, report, life };
    // Whatever the agent left open stays outside.
    if close_others(&[job, report, life]).is_err() {
        return ExitCode::from(FAILED);
    }
    match step {
        heir::BEAR => return heir::bear(job, report).unwrap_or(ExitCode::from(FAILED)),
        heir::WAIT => return heir::wait(job, report).unwrap_or(ExitCode::from(FAILED)),
        _ => {}
    }
    let Ok(mut out) = fs::OpenOptions::new().write(true).open(format!("/proc/self/fd/{report}")) else {
        return ExitCode::from(FAILED);
    };
    let result = if step == 1 { namespaces(&inherited) } else { first(&inherited, &mut out) };
    result.unwrap_or_else(|problem| {
        tell(&mut out, &Report::Failed(problem.to_string()));
        ExitCode::from(FAILED)
    })
}

/// Says how it ended. If nobody listens, the outer process is gone.
pub(crate) fn tell(out: &mut File, report: &Report) {
    let line = serde_json::to_string(report).unwrap_or_else(|_| r#"{"failed":"no report"}"#.to_owned());
    let _ = out.write_all(format!("{line}\n").as_bytes());
}

/// A stage to start: this very program, with descriptors that it inherits.
pub(crate) fn next(step: i32, descriptors: [i32; 3]) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("placet").arg(STAGE).arg(step.to_string());
    command.args(descriptors.map(|number| number.to_string()));
    command.env_clear().current_dir("/");
    #[cfg(feature = "sabotage")]
    command.envs(std::env::var_os(super::job::SABOTAGE).map(|layer| (super::job::SABOTAGE, layer)));
    command
}

fn close_others(keep: &[i32]) -> std::io::Result<()> {
    let numbers: Vec<i32> = fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for number in numbers.into_iter().filter(|number| *number > 2 && !keep.contains(number)) {
        // The descriptor of the list itself is closed already.
        let _ = nix::unistd::close(number);
    }
    Ok(())
}

/// The first stage: new namespaces, and the next stage as their first process.
fn namespaces(inherited: &Inherited) -> Result<ExitCode, Problem> {
    set_parent_process_death_signal(Some(Signal::KILL)).doing("the end of the parent cannot be noticed")?;
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let mut flags = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWCGROUP;
    if leaves_out("network") {
        flags.remove(CloneFlags::CLONE_NEWNET);
    }
    if leaves_out("ipc") {
        flags.remove(CloneFlags::CLONE_NEWIPC);
    }
    unshare(flags).doing("no new namespaces")?;
    fs::write("/proc/self/setgroups", "deny").doing("groups of the new user namespace cannot be fixed")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1")).doing("no user in the new namespace")?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1")).doing("no group in the new namespace")?;
    rights::hand_on()?;
    let mut first = next(2, [inherited.job, inherited.report, inherited.life])
        .spawn()
        .doing("the first process of the namespaces cannot be started")?;
    let status = first.wait().doing("the first process of the namespaces cannot be waited for")?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED)))
}

/// The second stage, process 1 of the namespaces: the new root, no rights, both locks, then the command.
fn first(inherited: &Inherited, out: &mut File) -> Result<ExitCode, Problem> {
    set_parent_process_death_signal(Some(Signal::KILL)).doing("the end of the parent cannot be noticed")?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable).doing("memory cannot be kept from others")?;
    let mut life =
        File::open(format!("/proc/self/fd/{}", inherited.life)).doing("no pipe to the outer process")?;
    // It made its plan while this process started.
    let mut word = [0];
    let heard = life.read(&mut word).doing("the outer process cannot be heard")?;
    if heard == 0 || word != [GO] {
        return Err(Problem::Layer("the run was ended before it began".into()));
    }
    let job: Job = sealed::read(inherited.job)?;
    for number in [inherited.job, inherited.report, inherited.life] {
        nix::unistd::close(number).doing("a descriptor cannot be closed")?;
    }
    // Without a controlling terminal, nothing can be typed into it.
    if !leaves_out("session") {
        setsid().doing("no new session")?;
    }
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    if !leaves_out("network") {
        loopback::up()?;
    }
    let own =
        rustix::fs::open("/proc/self", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .doing("this process cannot be looked at")?;
    root::enter(&job)?;
    if !leaves_out("locked-mounts") {
        lock_mounts(&own)?;
    }
    drop(own);
    limits(&job)?;
    rights::give_up()?;
    if !leaves_out("landlock") {
        files::lock(&job.plan.writable)?;
    }
    if !leaves_out("seccomp") {
        calls::lock()?;
    }
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(job.umask));
    let report = child::run(&job, &life)?;
    tell(out, &report);
    Ok(ExitCode::SUCCESS)
}

/// Copies all mounts into namespaces with fewer rights. There they hold together: a folder that somebody else has open does not lose what
/// covers files in it when this run ends, and nothing can be unmounted.
fn lock_mounts(own: &OwnedFd) -> Result<(), Problem> {
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS).doing("the mounts cannot be locked")?;
    // Its own files are closed to a process that others may not look into.
    set_dumpable_behavior(DumpableBehavior::Dumpable).doing("the mounts cannot be locked")?;
    // `/proc` can only be read by now, except through what was opened before.
    for (name, line) in [("uid_map", format!("{user} {user} 1")), ("gid_map", format!("{group} {group} 1"))] {
        let map = openat(own, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
        let written = map.and_then(|map| rustix::io::write(map, line.as_bytes()));
        written.doing(format_args!("the mounts cannot be locked: {name}"))?;
    }
    set_dumpable_behavior(DumpableBehavior::NotDumpable).doing("memory cannot be kept from others")
}

fn limits(job: &Job) -> Result<(), Problem> {
    let bound = |resource, most: u64| {
        let now = rustix::process::getrlimit(resource);
        let most = now.maximum.map_or(most, |maximum| maximum.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .doing("a limit cannot be set")
    };
    bound(Resource::Core, 0)?;
    // Memory that one process can write. Reserved addresses do not count, so Go, Java and Node start.
    bound(Resource::Data, job.limits.memory)?;
    // Counted for this user in this user namespace. Root is exempt: `pid_max` and the watch bound it.
    bound(Resource::Nproc, job.limits.processes)?;
    bound(Resource::Memlock, 64 << 20)?;
    bound(Resource::Msgqueue, 1 << 20)
}
