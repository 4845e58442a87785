//! The Python SDK: every folder of `sdk/python/tests` runs in its own environment, with the packages it names.

use std::collections::VecDeque;
use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::install;
use crate::process::{
    Workspace, current_log, elapsed, find_program, log_to, note, quiet_within, succeed, works,
};
use crate::results::says;
use crate::run::Extent;
use crate::schedule::Place;
use crate::scratch::Scratch;

/// Installs packages much faster than pip. It has its own environment.
const UV: &str = "uv==0.13.7";

/// One folder takes a minute or two; one that hangs must not hang the run.
const LIMIT: Duration = Duration::from_mins(15);

/// How many folders are tested at once: they wait for servers and timers most of the time.
const AT_ONCE: usize = 2;

/// What a change must pass: the client, the two frameworks with most of our code, one A2A client.
const STANDARD: [&str; 4] = ["adk", "core", "langchain", "a2a_v10"];

/// The Python versions that the SDK supports: 3.10 and so on.
const SUPPORTED: [u32; 5] = [10, 11, 12, 13, 14];

/// Makes the environments.
pub(crate) fn install(workspace: &Workspace, extent: Extent) -> Result<()> {
    let sdk = workspace.root.join("sdk/python");
    let pool = Pool::new(workspace)?;
    environments(&sdk, extent)?.iter().try_for_each(|name| pool.prepare(name, &sdk).map(drop))
}

/// Runs the tests of every folder.
pub(crate) fn run(workspace: &Workspace, binary: &Path, place: &Place, extent: Extent) -> Result<()> {
    let sdk = workspace.root.join("sdk/python");
    let environments = environments(&sdk, extent)?;
    let pool = Pool::new(workspace)?;
    let log = current_log();
    let scratch = Scratch::new("python")?;
    let queue = Mutex::new(VecDeque::from(environments));
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                log_to(log.clone());
                while let Some(name) = next(&queue) {
                    if let Err(error) = pool.test(&Suite::usual(&name), &sdk, binary, place, extent, &scratch)
                    {
                        note(format!("{name}: {error:#}"));
                        failed.lock().unwrap_or_else(PoisonError::into_inner).push(name);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    ensure!(failed.is_empty(), "the Python SDK fails in: {}", failed.join(", "));
    Ok(())
}

/// Runs the client's own tests on every other supported Python that is installed.
pub(crate) fn versions(workspace: &Workspace, binary: &Path, place: &Place) -> Result<()> {
    let sdk = workspace.root.join("sdk/python");
    let pool = Pool::new(workspace)?;
    let scratch = Scratch::new("python-versions")?;
    let mut failed = Vec::new();
    let usual = says(workspace, "python3", &["-c", "import sys; print(sys.version_info.minor)"])?;
    for minor in SUPPORTED.into_iter().filter(|minor| minor.to_string() != usual) {
        let Some(python) = interpreter(minor) else {
            note(format!("NOT RUN: Python 3.{minor} is not here"));
            continue;
        };
        let suite = Suite { name: format!("core-3.{minor}"), folder: "core", python };
        let run = pool.prepare_suite(&suite, &sdk).map(drop);
        let run = run.and_then(|()| pool.test(&suite, &sdk, binary, place, Extent::Standard, &scratch));
        if let Err(error) = run {
            note(format!("{}: {error:#}", suite.name));
            failed.push(suite.name);
        }
    }
    ensure!(failed.is_empty(), "the Python SDK fails in: {}", failed.join(", "));
    Ok(())
}

/// A Python of this version, from PATH or pyenv.
fn interpreter(minor: u32) -> Option<PathBuf> {
    let name = format!("python3.{minor}");
    let pyenv = env::var_os("PYENV_ROOT").map(PathBuf::from);
    let pyenv = pyenv.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv")));
    let kept = pyenv.and_then(|root| fs::read_dir(root.join("versions")).ok()).into_iter().flatten();
    let kept = kept.flatten().map(|version| version.path().join("bin").join(&name));
    // pyenv has a shim in PATH for every version, which works for the chosen ones only.
    let mut found = find_program(&name).into_iter().chain(kept);
    found.find(|python| python.is_file() && works(Command::new(python).arg("--version")))
}

/// A folder of tests, and the environment it runs in.
struct Suite<'a> {
    name: String,
    folder: &'a str,
    python: PathBuf,
}

impl<'a> Suite<'a> {
    /// On the machine's Python.
    fn usual(folder: &'a str) -> Self {
        Self { name: folder.to_owned(), folder, python: "python3".into() }
    }
}

fn next(queue: &Mutex<VecDeque<String>>) -> Option<String> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

/// The folders of tests with a list of packages, or the standard ones of them.
fn environments(sdk: &Path, extent: Extent) -> Result<Vec<String>> {
    let tests = sdk.join("tests");
    let mut names = Vec::new();
    for entry in fs::read_dir(&tests).with_context(|| format!("cannot read {}", tests.display()))? {
        let entry = entry?;
        if entry.path().join("requirements.txt").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    for name in STANDARD {
        ensure!(names.iter().any(|found| found == name), "{} has no tests `{name}`", tests.display());
    }
    if extent == Extent::Standard {
        return Ok(STANDARD.map(str::to_owned).to_vec());
    }
    names.sort();
    Ok(names)
}

/// Where private Python environments are kept.
pub(crate) struct Pool {
    folder: PathBuf,
    uv: PathBuf,
}

impl Pool {
    pub(crate) fn new(workspace: &Workspace) -> Result<Self> {
        install::python()?;
        let folder = workspace.target.join("python");
        fs::create_dir_all(&folder)?;
        let pool = Self { uv: folder.join("uv/bin/uv"), folder };
        if !pool.uv.is_file() {
            let python = pool.folder.join("uv/bin/python");
            succeed(Command::new("python3").args(["-m", "venv"]).arg(pool.folder.join("uv")))?;
            let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", UV];
            succeed(Command::new(python).args(pip)).context("pip could not install uv")?;
        }
        Ok(pool)
    }

    /// The interpreter of an environment.
    fn python(&self, name: &str) -> PathBuf {
        self.folder.join(name).join("bin/python")
    }

    /// Makes an environment with these arguments for `uv pip install`, unless it exists with the same ones.
    fn environment(&self, suite: &Suite<'_>, wanted: &str, words: &[&str]) -> Result<PathBuf> {
        let python = self.python(&suite.name);
        let stamp = self.folder.join(&suite.name).join("wanted");
        // An environment that was copied with its folder still has the SDK of its old place.
        let wanted = format!("{}\n{wanted}", self.folder.display());
        if fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) && python.is_file() {
            return Ok(python);
        }
        self.make(&suite.name, &suite.python, words)?;
        fs::write(&stamp, wanted)?;
        Ok(python)
    }

    /// Makes an environment from scratch with these arguments for `uv pip install`.
    pub(crate) fn install(&self, name: &str, words: &[&str]) -> Result<PathBuf> {
        self.make(name, Path::new("python3"), words)
    }

    fn make(&self, name: &str, interpreter: &Path, words: &[&str]) -> Result<PathBuf> {
        note(format!("installing the Python packages of `{name}`"));
        let python = self.python(name);
        let mut venv = Command::new(&self.uv);
        venv.args(["venv", "--quiet", "--clear", "--python"]).arg(interpreter).arg(self.folder.join(name));
        succeed(&mut venv)?;
        let mut install = Command::new(&self.uv);
        install.args(["pip", "install", "--quiet", "--python"]).arg(&python).args(words);
        succeed(&mut install).with_context(|| format!("cannot install what `{name}` needs"))?;
        Ok(python)
    }

    /// The environment of one folder of tests, with the SDK in it.
    pub(crate) fn prepare(&self, name: &str, sdk: &Path) -> Result<PathBuf> {
        self.prepare_suite(&Suite::usual(name), sdk)
    }

    fn prepare_suite(&self, suite: &Suite<'_>, sdk: &Path) -> Result<PathBuf> {
        let list = sdk.join("tests").join(suite.folder).join("requirements.txt");
        let project = fs::read_to_string(sdk.join("pyproject.toml"))?;
        let wanted = format!("{}\n{project}", fs::read_to_string(&list)?);
        let (list, sdk) = (list.to_string_lossy(), sdk.to_string_lossy());
        self.environment(suite, &wanted, &["-r", &list, "-e", &sdk])
    }

    fn test(
        &self,
        suite: &Suite<'_>,
        sdk: &Path,
        binary: &Path,
        place: &Place,
        extent: Extent,
        scratch: &Scratch,
    ) -> Result<()> {
        let (begin, name) = (Instant::now(), &suite.name);
        let log = self.folder.join(format!("{name}.log"));
        let output = File::create(&log)?;
        let mut pytest = Command::new(self.python(name));
        pytest
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
            .arg(sdk.join("tests").join(suite.folder))
            .arg("--junitxml")
            .arg(place.reports.join(format!("{name}.xml")))
            .env("PLACET_BIN", binary)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .current_dir(sdk)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        scratch.give(&mut pytest);
        if extent == Extent::All {
            pytest.env("PLACET_LONG", "1");
        }
        let result = quiet_within(&mut pytest, LIMIT);
        let said = fs::read_to_string(&log)?;
        if result.is_err() {
            note(format!("---- {name}\n{said}"));
        }
        let last = said.lines().next_back().unwrap_or("").trim_matches(['=', ' ']);
        note(format!("{name}: {last} ({})", elapsed(begin.elapsed())));
        result
    }
}
