//! Calls that are allowed confined. The agent is handed a run of `placet run` in place of its command, and only if it was proven
//! before that this agent runs what it is handed: some versions drop the replacement and run the original.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use placet_confine::Profile;
use placet_hooks::{Agent, Call};
use placet_policy::{is_shell_tool, shell};
use serde_json::{Map, Value};

mod own;

use super::memory::{self, Mark, Memory};
use crate::run::{
    marks::{Marks, Trace},
    profile_for,
};

/// Programs between an agent and its hook.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "busybox", "fish"];
/// Programs that run an agent's script.
const RUNTIMES: [&str; 5] = ["node", "bun", "deno", "python3", "python"];
/// So many parents are looked at.
const PARENTS: usize = 6;
/// What an agent writes before a command that it wants to have run without confinement.
const ASK: &str = "placet run --ask --";
/// An agent that was not seen to run what it was handed is tried again after this.
const AGAIN: Duration = Duration::from_hours(1);

/// Where the proofs are, beside the marks.
const PROOFS: &str = "proofs";
/// What the file ends with that says that an agent runs what it is handed, confined or not.
const EDITS: &str = "edits";
/// Most proofs that are told of.
const TOLD: usize = 20;

/// What was learned of one session of an agent: whether it runs what it is handed.
pub(crate) struct Proof {
    pub(crate) name: String,
    /// Of which agent, program and mode.
    pub(crate) says: String,
    /// It ran that. Otherwise it dropped it, or could confine nothing.
    pub(crate) seen: bool,
}

/// All of them.
pub(crate) fn proofs() -> Vec<Proof> {
    let Some(Ok(entries)) = memory::root().map(|state| fs::read_dir(state.join(PROOFS))) else {
        return Vec::new();
    };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let paths = paths.filter(|path| path.extension().is_none_or(|end| end != EDITS));
    let proof = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.to_owned();
        Some(Proof { name, says: fs::read_to_string(&path).ok()?, seen: path.extension().is_none() })
    };
    paths.filter_map(proof).collect()
}

/// The agents, programs and modes that were seen to run what they are handed.
pub(crate) fn proven() -> BTreeSet<String> {
    let seen = proofs().into_iter().filter(|proof| proof.seen).map(|proof| proof.says);
    seen.collect::<BTreeSet<_>>().into_iter().take(TOLD).collect()
}

/// An agent as it runs now: the very program, in this permission mode.
pub(super) struct Confiner {
    marks: Marks,
    proof: PathBuf,
    /// Of which agent, program and mode the proof is.
    says: String,
    /// The folder of the agent's shell.
    here: PathBuf,
    /// What is remembered of the session, its temporary files among it.
    memory: Memory,
}

impl Confiner {
    /// Of the agent that started this hook; nothing if it cannot be known again, or has rules of its own. `call` is the one that the
    /// agent made, before it was resolved.
    pub(super) fn of(agent: Agent, call: &Call) -> Option<Self> {
        let state = memory::root()?;
        let (pid, program) = program_above()?;
        let words = words_of(pid);
        if own::may_restrict(agent, call, &words) {
            return None;
        }
        let here = shell_folder(call)?;
        let mode = call.permission_mode.as_deref().unwrap_or("default");
        // One session: what an agent is started with may change how it treats its hooks.
        let line = words.join("\0");
        let parts = [agent.as_str(), call.event.as_str(), &program, mode, &call.session, &line];
        let parts = parts.map(str::as_bytes);
        let name = placet_ledger::hash("placet/hook/proof/v2", &parts).to_string();
        let name = name.trim_start_matches("sha256:").to_owned();
        let program = program.split('|').next().unwrap_or_default();
        let says = format!("{} in mode {mode}: {program}", agent.as_str());
        let (marks, memory) = (Marks::in_folder(&state), Memory::of(agent, &call.session));
        Some(Self { marks, proof: state.join(PROOFS).join(name), says, here, memory })
    }

    /// Whether this agent was seen to run confined what it was handed.
    pub(super) fn is_proven(&self) -> bool {
        self.proof.is_file()
    }

    /// Whether this agent was seen to run what it is handed, confined or not. Otherwise it may run its own call in place of an edited
    /// one.
    pub(super) fn takes_edits(&self) -> bool {
        takes_edits(&self.proof).is_file()
    }

    /// Whether this very call can be handed over confined: one plain command that is waited for.
    pub(super) fn can(&self, call: &Call) -> bool {
        self.is_proven() && command(call).is_some() && waits_for_it(call) && self.has_a_profile(call)
    }

    /// Whether a run in the agent's folder has a valid profile. If not, the call must wait: after the claim it would be too late.
    fn has_a_profile(&self, call: &Call) -> bool {
        let folder = self.here.to_str().map(str::to_owned);
        let profile = folder.map(|folder| profile_for(&[folder], &self.here, "", "", seconds(call)));
        self.runner().is_ok() && profile.is_some_and(|profile| profile.is_ok())
    }

    /// What the agent is handed, and the mark that the runner will leave.
    pub(super) fn handed(
        &self,
        call: &Call,
        arguments: &Map<String, Value>,
        workspace: &[String],
        request: &str,
    ) -> Result<(Map<String, Value>, Mark), String> {
        let (key, text) = command(call).ok_or("it is no command")?;
        let approved = arguments.get(key).and_then(Value::as_str).ok_or("its command is gone")?;
        if approved != text {
            return Err("another command was approved".to_owned());
        }
        let own = |folder: &Path| workspace.iter().any(|root| folder.starts_with(root));
        if own(self.marks.folder()) && !memory::is_usual() {
            return Err("the folder of the hook's notes lies in the workspace".to_owned());
        }
        let part = Part::of(text, &self.here, workspace);
        let mark = self.marks.make(request).map_err(|error| format!("no mark can be left: {error}"))?;
        let profile = profile_for(workspace, &part.folder, request, &mark, seconds(call))
            .map(|profile| Profile { kept: self.memory.kept(), ..profile })
            .and_then(|profile| Ok(profile.to_argument()?))
            .map_err(|error| format!("{error:#}"))?;
        let run = format!("{} --profile {profile} -- bash -c {}", self.runner()?, quoted(part.text));
        let run = match part.moves {
            Some(folder) => format!("cd {} && {run}", quoted(&folder)),
            None => run,
        };
        let mut handed = arguments.clone();
        handed.insert(key.to_owned(), Value::String(run));
        let command = Some(memory::tried(part.text));
        Ok((handed, self.mark(mark, false, command)))
    }

    fn mark(&self, name: String, trial: bool, command: Option<String>) -> Mark {
        let (folder, proof) = (self.marks.folder().to_path_buf(), self.proof.clone());
        Mark { name, folder, proof, says: self.says.clone(), trial, command }
    }

    /// The beginning of a command that starts the runner.
    fn runner(&self) -> Result<String, String> {
        let placet = std::env::current_exe().ok().and_then(|path| path.into_os_string().into_string().ok());
        let placet = placet.ok_or("the path of `placet` is not known")?;
        Ok(format!("{} run --marks {}", quoted(&placet), quoted(&self.marks.folder().display().to_string())))
    }

    /// What the agent is handed in place of a call that may run free, to see whether it runs that. Nothing once it was seen.
    pub(super) fn trial(
        &self,
        call: &Call,
        arguments: &Map<String, Value>,
    ) -> Option<(Map<String, Value>, Mark)> {
        if self.is_proven() || !waits_for_it(call) || was_in_vain(&self.proof) {
            return None;
        }
        let (key, text) = command(call)?;
        if arguments.get(key).and_then(Value::as_str) != Some(text) {
            return None;
        }
        let (runner, mark) = (self.runner().ok()?, self.marks.make("trial").ok()?);
        // It says nothing and reads nothing: the command behind it runs as it would without.
        let run = format!("{runner} --prove {mark} </dev/null >/dev/null 2>&1; {text}");
        let mut handed = arguments.clone();
        handed.insert(key.to_owned(), Value::String(run));
        Some((handed, self.mark(mark, true, None)))
    }
}

/// What of a command runs confined, and where.
#[derive(Debug, PartialEq)]
struct Part<'a> {
    /// The folder that the agent's own shell goes to first, so that it stays there.
    moves: Option<String>,
    text: &'a str,
    folder: PathBuf,
}

impl<'a> Part<'a> {
    fn of(text: &'a str, here: &Path, workspace: &[String]) -> Self {
        let whole = Self { moves: None, text, folder: here.to_path_buf() };
        let Some((folder, rest)) = led(text) else { return whole };
        let there = fs::canonicalize(here.join(&folder)).ok().filter(|there| there.is_dir());
        let inside = |there: &PathBuf| workspace.iter().any(|root| there.starts_with(root));
        match there.filter(inside) {
            Some(there) => Self { moves: Some(folder), text: rest, folder: there },
            None => whole,
        }
    }
}

/// A plain `cd FOLDER &&` at the beginning of a command, and what follows.
fn led(text: &str) -> Option<(String, &str)> {
    text.match_indices("&&").take(4).find_map(|(at, and)| {
        let (head, rest) = (text.get(..at)?, text.get(at + and.len()..)?);
        let analysis = shell::analyse(head);
        let [only] = analysis.commands().ok()? else { return None };
        let [cd, folder] = only.argv.as_slice() else { return None };
        // What stands behind a comment does not run.
        let plain = cd == "cd"
            && only.redirects.is_empty()
            && !folder.starts_with(['-', '~'])
            && !head.contains(['#', '\n']);
        (plain && !rest.trim().is_empty()).then(|| (folder.clone(), rest.trim_start()))
    })
}

/// The same call without the words that ask for it to run without confinement, if it is that and nothing else.
pub(super) fn asked_free(call: &Call) -> Option<Call> {
    let (key, text) = ("command", call.input.get("command")?.as_str()?);
    if !is_shell_tool(&call.tool) {
        return None;
    }
    let wanted = text.trim().strip_prefix(ASK).filter(|rest| rest.starts_with(char::is_whitespace))?.trim();
    if wanted.is_empty() {
        return None;
    }
    let mut asked = call.clone();
    asked.input.insert(key.to_owned(), Value::String(wanted.to_owned()));
    Some(asked)
}

/// Keeps what a mark showed: the agent runs what it is handed, or it does not, or cannot confine it.
pub(super) fn learn(mark: &Mark, trace: Trace) {
    let keep = |file: &Path, is_so: bool| {
        // Whether it is kept changes nothing for the worse: without a proof the next call is a trial again.
        let _ = if is_so { fs::write(file, &mark.says) } else { fs::remove_file(file) };
    };
    let _ = mark.proof.parent().map_or(Ok(()), fs::create_dir_all);
    keep(&mark.proof, trace == Trace::Taken);
    keep(&takes_edits(&mark.proof), trace != Trace::Nothing);
    if trace != Trace::Taken {
        keep(&in_vain(&mark.proof), true);
    }
}

fn takes_edits(proof: &Path) -> PathBuf {
    proof.with_extension(EDITS)
}

fn was_in_vain(proof: &Path) -> bool {
    let age = fs::metadata(in_vain(proof)).and_then(|data| data.modified()).ok();
    age.and_then(|at| at.elapsed().ok()).is_some_and(|age| age < AGAIN)
}

fn in_vain(proof: &Path) -> PathBuf {
    proof.with_extension("in-vain")
}

/// Whether the agent waits for the call: of one in the background it is told before it began.
fn waits_for_it(call: &Call) -> bool {
    ["run_in_background", "is_background", "background"]
        .iter()
        .all(|name| call.input.get(*name).is_none_or(is_off))
}

/// The folder that the agent starts its shell in. Some have an argument for it.
fn shell_folder(call: &Call) -> Option<PathBuf> {
    let names: &[&str] = match call.event.agent() {
        Agent::Gemini => &["dir_path", "directory"],
        Agent::OpenCode => &["workdir"],
        _ => &[],
    };
    let mut folder = PathBuf::from(call.context.get("cwd").and_then(Value::as_str)?);
    for argument in names.iter().filter_map(|name| call.input.get(*name)) {
        folder.push(argument.as_str()?);
    }
    fs::canonicalize(folder).ok()
}

fn is_off(value: &Value) -> bool {
    matches!(value, Value::Bool(false) | Value::Null)
}

/// How long the agent lets it run, in seconds. What is left behind after that would be obeyed while nobody waits for it.
fn seconds(call: &Call) -> u64 {
    const UNSAID: u64 = 600;
    call.input.get("timeout").and_then(Value::as_u64).map_or(UNSAID, |milliseconds| milliseconds / 1000 + 5)
}

/// The argument that holds the command, and its text: of the agents' own shell alone. What other tools do with a command, and
/// whether they run what they are handed, is not known.
fn command(call: &Call) -> Option<(&'static str, &str)> {
    let shell = match call.event.agent() {
        Agent::Gemini => "run_shell_command",
        Agent::OpenCode => "bash",
        _ => "Bash",
    };
    if call.tool != shell {
        return None;
    }
    let text = call.input.get("command")?.as_str()?;
    Some(("command", text))
}

/// A word that every shell reads as it is.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The agent's program, by its path, size and time: another version is another program.
fn program_above() -> Option<(u32, String)> {
    let mut pid = parent(std::process::id())?;
    for _ in 0..PARENTS {
        let exe = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        let name = exe.file_name()?.to_str()?;
        if SHELLS.contains(&name) {
            pid = parent(pid)?;
            continue;
        }
        let mut known = identity(&exe)?;
        if RUNTIMES.iter().any(|runtime| name.starts_with(runtime)) {
            known.push_str(&identity(&script(pid)?)?);
        }
        return Some((pid, known));
    }
    None
}

/// The command line of a process.
fn words_of(pid: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

fn identity(path: &Path) -> Option<String> {
    let data = fs::metadata(path).ok()?;
    Some(format!("{}|{}|{}|{};", path.display(), data.len(), data.mtime(), data.mtime_nsec()))
}

/// The script that a runtime was started with.
fn script(pid: u32) -> Option<PathBuf> {
    let words = words_of(pid);
    let script = words.iter().skip(1).find(|word| word.starts_with('/') && Path::new(word).is_file())?;
    fs::canonicalize(script).ok()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets and may hold anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leading_cd_stays_outside_and_everything_else_runs_inside() {
        let home = tempfile::tempdir().expect("a folder");
        let top = fs::canonicalize(home.path()).expect("a path");
        fs::create_dir_all(top.join("app/a b")).expect("made");
        fs::create_dir_all(top.join("other")).expect("made");
        let (app, roots) = (top.join("app"), [top.join("app").display().to_string()]);
        let part = |text: &'static str| Part::of(text, &app, &roots);
        let whole = |text| Part { moves: None, text, folder: app.clone() };
        let moved = |text| Part { moves: Some("a b".to_owned()), text, folder: app.join("a b") };
        assert_eq!(part("pytest -q"), whole("pytest -q"));
        assert_eq!(part("cd 'a b' && pytest && ls"), moved("pytest && ls"));
        assert_eq!(part("cd 'a b'&& X=$(date) pytest"), moved("X=$(date) pytest"));
        for text in [
            "cd 'a b'; ls",
            "cd none && ls",
            "cd ../other && ls",
            "cd $X && ls",
            "cd a b && ls",
            "cd - && ls",
            "cd 'a b' > x && ls",
            "echo 'cd x && ls'",
            "cd 'a b' &&",
            "cd 'a b' # && rm x",
            "git -C 'a b' status",
        ] {
            assert_eq!(part(text), whole(text), "{text}");
        }
    }

    #[test]
    fn only_the_plain_words_ask_for_a_run_without_confinement() {
        let call = |text: &str| Call {
            event: placet_hooks::Event::ClaudePreToolUse,
            session: "s".to_owned(),
            tool: "Bash".to_owned(),
            input: Map::from_iter([
                ("command".to_owned(), Value::from(text)),
                ("timeout".to_owned(), Value::from(5)),
            ]),
            call_id: None,
            turn: None,
            permission_mode: None,
            context: Map::new(),
        };
        let asked = asked_free(&call(" placet run --ask --  npm install && npm test\n")).expect("asked");
        assert_eq!(asked.input, call("npm install && npm test").input);
        for text in [
            "placet run --ask --",
            "placet run --ask -- ",
            "placet run --ask --x y",
            "X=1 placet run --ask -- ls",
            "cd x && placet run --ask -- ls",
            "/usr/bin/placet run --ask -- ls",
            "placet run -- ls",
            "npm install",
        ] {
            assert!(asked_free(&call(text)).is_none(), "{text}");
        }
    }

    #[test]
    fn a_quoted_word_is_one_word_whatever_it_holds() {
        for text in ["", "a b", "it's", "'", "''", "$(id)", "a\nb", "\\"] {
            let said = std::process::Command::new("sh")
                .args(["-c", &format!("printf %s {}", quoted(text))])
                .output()
                .expect("a shell");
            assert_eq!(String::from_utf8_lossy(&said.stdout), text);
        }
    }
}
