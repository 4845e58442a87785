//! Starts programs, and knows where the workspace and its build results are.

use std::cell::RefCell;
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// Where the sources are and where cargo puts what it builds.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// Cargo names the folder of this crate when it runs it; the workspace is the folder above.
    pub(crate) fn find() -> Result<Self> {
        let here = env::var_os("CARGO_MANIFEST_DIR")
            .map(PathBuf::from)
            .context("start this tool as `cargo xtask …`, cargo then tells it where the sources are")?;
        let root = here.parent().context("the xtask folder has no parent folder")?.to_path_buf();
        // `CARGO_TARGET_DIR` or a configuration file may have moved it. Cargo knows.
        let metadata = metadata(&root, &["--no-deps"])?;
        let target =
            metadata["target_directory"].as_str().context("cargo metadata names no target folder")?;
        Ok(Self { target: target.into(), root })
    }

    /// A cargo command in the workspace.
    pub(crate) fn cargo<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> Command {
        let mut command = Command::new(cargo());
        command.current_dir(&self.root).args(args).stdin(Stdio::null());
        command
    }

    /// A cargo of the tests' build. Clippy compiles our own crates there: it builds what rustc builds and checks it
    /// on the way, so nothing is compiled twice. Its findings do not fail this build, so that the tests run. The step
    /// `clippy` reads them and fails.
    pub(crate) fn linted<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> Command {
        let mut command = self.cargo(args);
        command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
        // This is how `cargo clippy` passes on its own arguments.
        let arguments = ["--cap-lints", "warn"].map(|word| format!("{word}__CLIPPY_HACKERY__")).concat();
        command.env("CLIPPY_ARGS", arguments);
        command
    }

    /// Where copies of the binaries under test are kept, so that a later build cannot replace them mid-run.
    pub(crate) fn evidence(&self) -> PathBuf {
        self.target.join("evidence")
    }
}

fn cargo() -> std::ffi::OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

pub(crate) fn metadata(root: &Path, args: &[&str]) -> Result<serde_json::Value> {
    let mut command = Command::new(cargo());
    command.current_dir(root).args(["metadata", "--format-version", "1"]).args(args);
    let output = command.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    ensure!(output.status.success(), "`{}` failed", line(&command));
    serde_json::from_slice(&output.stdout).context("cannot read the answer of cargo metadata")
}

thread_local! {
    /// The output of this thread's notes and programs. The terminal if there is no file.
    static LOG: RefCell<Option<Arc<File>>> = const { RefCell::new(None) };
}

/// Sends the notes of this thread, and the output of its programs, to a file, because steps run side by side.
pub(crate) fn log_to(file: Option<Arc<File>>) {
    LOG.set(file);
}

/// The file of this thread, for the threads that it starts.
pub(crate) fn current_log() -> Option<Arc<File>> {
    LOG.with_borrow(Clone::clone)
}

/// One line saying what happens next.
pub(crate) fn note(text: impl AsRef<str>) {
    let line = format!("   {}", text.as_ref());
    match current_log() {
        // A full disk shows up soon enough. The note alone is no reason to stop.
        Some(log) => drop(writeln!(&*log, "{line}")),
        None => say(line),
    }
}

/// A line on the terminal. If it cannot be written (the reader has gone, the disk is full), the work goes on.
/// `println!` would panic, and the other threads would wait for this one for ever.
pub(crate) fn say(line: impl AsRef<str>) {
    let _ = writeln!(std::io::stdout(), "{}", line.as_ref());
}

/// Shows the command, and sends its output where this thread's notes go.
fn show(command: &mut Command) -> Result<()> {
    note(format!("$ {}", line(command)));
    if let Some(log) = current_log() {
        command.stdout(log.try_clone()?).stderr(log.try_clone()?);
    }
    Ok(())
}

/// The command as a person would type it.
pub(crate) fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    let words = command.get_args().map(|arg| {
        let arg = arg.to_string_lossy();
        if arg.contains([' ', '"', '$']) { format!("'{arg}'") } else { arg.into_owned() }
    });
    std::iter::once(name).chain(words).collect::<Vec<_>>().join(" ")
}

/// Longer than any program of a standard run takes on a busy machine. One that hangs must leave time for the others.
pub(crate) const LIMIT: Duration = Duration::from_mins(45);

/// The timeout for a program that was asked to end.
const GRACE: Duration = Duration::from_secs(10);

/// Shows the command, runs it with its output visible and fails when it does, or when it takes longer than [`LIMIT`].
pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    succeed_within(command, LIMIT)
}

/// Shows the command and runs it with its output visible.
pub(crate) fn status(command: &mut Command) -> Result<ExitStatus> {
    show(command)?;
    command.status().with_context(|| format!("cannot start `{}`", command.get_program().to_string_lossy()))
}

/// Like [`succeed`], but ends the program by its process id when it takes longer than `limit`.
pub(crate) fn succeed_within(command: &mut Command, limit: Duration) -> Result<()> {
    show(command)?;
    quiet_within(command, limit)
}

/// Like [`succeed_within`], for a command that runs beside others and does not show itself.
pub(crate) fn quiet_within(command: &mut Command, limit: Duration) -> Result<()> {
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start `{}`", command.get_program().to_string_lossy()))?;
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begin.elapsed() > limit {
            end(&mut child)?;
            bail!("`{}` did not end within {}", line(command), elapsed(limit));
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    ensure!(status.success(), "`{}` failed ({status})", line(command));
    Ok(())
}

/// Asks the program to end, so that it can end what it started; kills it if it does not.
fn end(child: &mut Child) -> Result<()> {
    let asked = works(Command::new("kill").arg(child.id().to_string()));
    let begin = Instant::now();
    while asked && begin.elapsed() < GRACE {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// Whether the program starts and exits with 0. Shows nothing.
pub(crate) fn works(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The exit code of a child, for our own exit.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

/// The first folder of `PATH` that holds this program.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Copies a program so that the copy can run while the original is rebuilt.
pub(crate) fn copy_program(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().context("a program's copy needs a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    // A running program cannot be written to, but another file can take its name.
    let next = to.with_extension("next");
    fs::copy(from, &next).with_context(|| format!("cannot copy {} to {}", from.display(), next.display()))?;
    fs::rename(&next, to).with_context(|| format!("cannot create {}", to.display()))
}

/// A duration as people read it: `0.4 s`, `12 s`, `3 min 05 s`.
pub(crate) fn elapsed(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        seconds @ 10..60 => format!("{seconds} s"),
        seconds => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_reads_well_at_every_size() {
        assert_eq!(elapsed(Duration::from_millis(420)), "0.4 s");
        assert_eq!(elapsed(Duration::from_secs(59)), "59 s");
        assert_eq!(elapsed(Duration::from_secs(185)), "3 min 05 s");
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended_and_reported() {
        // A day: if it were not ended, this test would not end either.
        let error =
            succeed_within(Command::new("sleep").arg("86400"), Duration::from_millis(200)).unwrap_err();
        assert_eq!(error.to_string(), "`sleep 86400` did not end within 0.2 s");
    }

    #[test]
    fn a_thread_with_a_log_writes_notes_and_output_of_programs_there() {
        let folder = env::temp_dir().join(format!("placet-xtask-log-{}", std::process::id()));
        log_to(Some(Arc::new(File::create(&folder).unwrap())));
        note("first");
        succeed(Command::new("echo").arg("second")).unwrap();
        log_to(None);
        let written = fs::read_to_string(&folder).unwrap();
        fs::remove_file(&folder).unwrap();
        assert_eq!(written, "   first\n   $ echo second\nsecond\n");
    }

    #[test]
    fn a_shown_command_names_the_program_without_its_folder() {
        assert_eq!(
            line(Command::new("/opt/rust/bin/cargo").args(["test", "two words"])),
            "cargo test 'two words'"
        );
    }
}
