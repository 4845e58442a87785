//! `placet doctor --prove`: the agent itself is started, once, with a stand-in for its model that asks for one harmless command.
//!
//! That shows what no settings show: that this version of the agent, as its user set it up, calls its hook and runs what that hands it.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use placet_client::Client;
use placet_core::{OPEN_FOLDER, Record, RequestId, State};
use placet_hooks::Agent;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde_json::json;
use tempfile::NamedTempFile;
use tokio::{
    process::{Child, Command},
    signal::unix::{Signal as UnixSignal, SignalKind, signal},
    time::{Instant, sleep},
};

use super::{
    Check, Verdict, settings,
    stand_in::{Conversation, StandIn},
};
use crate::{
    cli::DoctorArgs,
    hook::{DOCTOR, confine},
    output,
};

/// How long an agent may take. Slow ones start in ten seconds, on a busy machine in a minute.
const LIMIT: Duration = Duration::from_mins(2);
/// How long it is watched once a person is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(300);
/// So many requests of hooks are looked at, and so many bytes of what they told.
const LATEST: usize = 20;
const MOST_TOLD: u64 = 4_096;
/// So much of the end of what the agent printed is read.
const TAIL: u64 = 4_096;

/// The agents to start: those with a hook here that can run. One without would run the command, whatever it is.
pub(super) fn wanted(args: &DoctorArgs, hooks: &[Check]) -> Option<Vec<Agent>> {
    let installed = |agent: &Agent| {
        let name = format!("hook {agent}");
        let mut hooks = hooks.iter().filter(|check| check.name == name).peekable();
        hooks.peek().is_some() && hooks.all(|check| check.verdict != Verdict::Bad)
    };
    args.prove.then(|| {
        Agent::ALL
            .into_iter()
            .filter(|agent| args.agent.is_none_or(|only| only == *agent))
            .filter(installed)
            .collect()
    })
}

/// One check for each of these agents.
pub(super) async fn all(agents: &[Agent], reached: bool, client: &Client) -> anyhow::Result<Vec<Check>> {
    if !reached {
        let detail =
            "no agent is started as long as the server or the key is not good: every call would be blocked";
        return Ok(vec![Check::new("seen", Verdict::Skipped, detail)]);
    }
    let mut checks = Vec::new();
    for agent in agents {
        output::to_stderr(&format!("{agent}: is started once, with a stand-in for its model …"));
        let (verdict, detail) = match started(*agent, client).await? {
            Ok(seen) => seen.says(*agent),
            Err(why) => (Verdict::Skipped, why),
        };
        checks.push(Check::new(format!("seen {agent}"), verdict, detail));
    }
    if agents.is_empty() {
        let detail = "no hook that works is installed here, so no agent is started";
        checks.push(Check::new("seen", Verdict::Skipped, detail));
    }
    Ok(checks)
}

/// What the files of the hook said afterwards about what it handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handed {
    /// The agent ran it.
    Ran,
    /// The agent dropped it, or it could not confine anything.
    Dropped,
    /// Nothing was handed over.
    Nothing,
    /// Several sessions of this agent said something meanwhile.
    Unclear,
}

/// What was seen of one agent.
#[derive(Debug)]
struct AgentTrial {
    heard: Conversation,
    /// What the command prints if it runs.
    word: String,
    /// The request of the command at the server, if it came there.
    request: Option<State>,
    /// A person is waited for.
    waits: bool,
    handed: Handed,
    /// How the agent ended, if it did by itself.
    ended: Option<ExitStatus>,
    /// The last line that it printed.
    last: String,
}

/// Starts it, and waits for it to end or to wait for a person. The inner error says why it cannot be started.
async fn started(agent: Agent, client: &Client) -> anyhow::Result<Result<AgentTrial, String>> {
    if let Some(why) = settings::obstacle(agent) {
        return Ok(Err(format!("`{}` is not started: it {why}", program(agent))));
    }
    let nonce: String = super::proof::secret()?.chars().take(12).collect();
    // The printed form occurs in no command line: it is put together by the shell.
    let (word, command) = (format!("placet-doctor-{nonce}"), format!("echo placet-doc'tor-{nonce}'"));
    let prompt = format!("placet doctor {nonce}: say one word.");
    let model = StandIn::start(&prompt, &command).await?;
    let Some(mut command) = line(agent, &model.url, &prompt) else {
        return Ok(Err(
            "cannot be started with another model; its hook is known from its documentation alone".to_owned(),
        ));
    };
    let mut asked = tempfile::NamedTempFile::new()?;
    let look = Look { nonce, folder: std::env::current_dir().and_then(std::fs::canonicalize)? };
    let before: BTreeSet<String> = confine::proofs().into_iter().map(|proof| proof.name).collect();
    let mut printed = tempfile::tempfile()?;
    // Server and key are its hook's own matter: what is in the environment here, it has as well.
    command.stdin(Stdio::null()).stdout(printed.try_clone()?).stderr(printed.try_clone()?).process_group(0);
    command.env(DOCTOR, asked.path());
    let mut ends = Ends::listen()?;
    let running = match command.spawn() {
        Ok(child) => Running(child),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Err(format!("`{}` is not in the PATH", program(agent))));
        }
        Err(error) => return Ok(Err(format!("`{}` cannot be started: {error}", program(agent)))),
    };
    let (mut end, mut request): (_, Option<Record>) = (Instant::now() + LIMIT, None);
    let mut ended = running.has_ended();
    while !ended && Instant::now() < end {
        tokio::select! {
            () = sleep(LOOK) => {}
            signal = ends.next() => {
                drop(running);
                anyhow::bail!("{signal}: `{}` was ended", program(agent));
            }
        }
        ended = running.has_ended();
        let now = look.asked(client, &mut asked, model.heard().asked).await;
        if request.is_none() && now.as_ref().is_some_and(|record| record.state == State::Pending) {
            // It waits for a person, or seems to: does it run meanwhile?
            end = end.min(Instant::now() + PATIENCE);
        }
        request = now.or(request);
    }
    let ended = running.end(ended);
    let waits = request.as_ref().is_some_and(|record| record.state == State::Pending);
    if let Some(record) = request.as_ref().filter(|_| waits) {
        // Its hook takes it back as well, if it lives to see that nobody waits.
        let _ = client.cancel(record.id, Some("placet doctor is done")).await;
    }
    let ours = format!("{} in mode ", agent.as_str());
    let mut learned = confine::proofs();
    learned.retain(|proof| !before.contains(&proof.name) && proof.says.starts_with(&ours));
    let handed = match learned.as_slice() {
        [] => Handed::Nothing,
        [proof] if proof.seen => Handed::Ran,
        [_] => Handed::Dropped,
        _ => Handed::Unclear,
    };
    let (heard, request) = (model.heard(), request.map(|record| record.state));
    Ok(Ok(AgentTrial { heard, word, request, waits, handed, ended, last: last_line(&mut printed) }))
}

/// What is looked for among the requests that hooks told of.
struct Look {
    nonce: String,
    folder: PathBuf,
}

impl Look {
    /// The agent's request for the command or, once its model has asked for that, its question about this folder. What hooks told is
    /// looked up: the server says whose a request is, and what is in it.
    async fn asked(&self, client: &Client, told: &mut NamedTempFile, called: bool) -> Option<Record> {
        let mut folder = None;
        for id in requests(told) {
            let Ok(record) = client.get(id).await else { continue };
            if json!(record.arguments).to_string().contains(&self.nonce) {
                return Some(record);
            }
            let named = record.context.as_ref().and_then(|context| context.get(OPEN_FOLDER)?.as_str());
            if called && named.is_some_and(|named| self.folder.starts_with(named)) {
                folder = Some(record);
            }
        }
        folder
    }
}

/// The requests that hooks of this agent made.
fn requests(told: &mut NamedTempFile) -> Vec<RequestId> {
    let mut text = String::new();
    let read = told.seek(SeekFrom::Start(0)).and_then(|_| told.take(MOST_TOLD).read_to_string(&mut text));
    // What is not there now is there a moment later.
    let whole = read.ok().and_then(|_| text.rsplit_once('\n')).map_or("", |(whole, _)| whole);
    whole.lines().filter_map(|line| line.parse().ok()).take(LATEST).collect()
}

/// Signals that end the doctor, and with it what it started.
struct Ends([(UnixSignal, &'static str); 3]);

impl Ends {
    fn listen() -> io::Result<Self> {
        let hear = |kind| signal(kind);
        Ok(Self([
            (hear(SignalKind::interrupt())?, "interrupted"),
            (hear(SignalKind::terminate())?, "terminated"),
            (hear(SignalKind::hangup())?, "the terminal is gone"),
        ]))
    }

    async fn next(&mut self) -> &'static str {
        let [(one, first), (two, second), (three, third)] = &mut self.0;
        tokio::select! {
            _ = one.recv() => first,
            _ = two.recv() => second,
            _ = three.recv() => third,
        }
    }
}

/// A process and all that it started, ended with this.
struct Running(Child);

impl Running {
    fn group(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.0.id()?).ok()?)
    }

    /// Whether it has ended. It is not taken yet: as long as it is not, nobody else has its number.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.group().is_none_or(|id| !matches!(waitid(WaitId::Pid(id), options), Ok(None)))
    }

    /// Ends what is left; how it ended, if it did by itself.
    fn end(mut self, by_itself: bool) -> Option<ExitStatus> {
        self.end_group();
        self.0.try_wait().ok().flatten().filter(|_| by_itself)
    }

    fn end_group(&self) {
        // The group has the number of its first process.
        if let Some(group) = self.group() {
            let _ = kill_process_group(group, Signal::TERM);
            std::thread::sleep(LOOK);
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end_group();
    }
}

fn program(agent: Agent) -> &'static str {
    match agent {
        Agent::ClaudeCode => "claude",
        Agent::Codex => "codex",
        Agent::Gemini => "gemini",
        Agent::OpenCode => "opencode",
        Agent::Cursor => "cursor-agent",
        Agent::Copilot => "copilot",
    }
}

/// The command line that starts an agent once, with this model. Its own settings stay as they are.
fn line(agent: Agent, model: &str, prompt: &str) -> Option<Command> {
    let mut command = Command::new(program(agent));
    match agent {
        Agent::ClaudeCode => {
            command.args(["-p", prompt]);
            command.env("ANTHROPIC_BASE_URL", model).env("ANTHROPIC_API_KEY", "none");
            command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").env("DISABLE_AUTOUPDATER", "1");
            // Other ways to a model, and the mark of a session around this one.
            for other in [
                "ANTHROPIC_AUTH_TOKEN",
                "ANTHROPIC_CUSTOM_HEADERS",
                "CLAUDE_CODE_OAUTH_TOKEN",
                "CLAUDE_CODE_USE_BEDROCK",
                "CLAUDE_CODE_USE_VERTEX",
                "CLAUDE_CODE_USE_FOUNDRY",
                "CLAUDECODE",
            ] {
                command.env_remove(other);
            }
        }
        Agent::Codex => {
            command.args(["exec", "--skip-git-repo-check"]);
            // What it would fetch from elsewhere.
            for off in [
                "features.apps",
                "features.plugins",
                "features.remote_plugin",
                "features.plugin_discovery_prefetch",
                "analytics.enabled",
                "check_for_update_on_startup",
            ] {
                command.args(["-c", &format!("{off}=false")]);
            }
            let provider =
                format!("{{name=\"placet doctor\",base_url=\"{model}/v1\",wire_api=\"responses\"}}");
            command.args(["-c", "model=\"stand-in\""]);
            command.args(["-c", "model_provider=\"placet_doctor\"", "-c"]);
            command.args([&format!("model_providers.placet_doctor={provider}"), prompt]);
        }
        Agent::Gemini => {
            command.args(["--model", "gemini-2.5-flash", "--yolo", "--prompt", prompt]);
            command.env("GEMINI_API_KEY", "none").env("GOOGLE_GEMINI_BASE_URL", model);
            command.env("GEMINI_DEFAULT_AUTH_TYPE", "gemini-api-key");
            for other in [
                "GOOGLE_GENAI_USE_GCA",
                "GOOGLE_GENAI_USE_VERTEXAI",
                "GOOGLE_API_KEY",
                "GOOGLE_VERTEX_BASE_URL",
                "CLOUD_SHELL",
                "GEMINI_CLI_USE_COMPUTE_ADC",
            ] {
                command.env_remove(other);
            }
        }
        Agent::OpenCode => {
            let provider = json!({"npm": "@ai-sdk/openai-compatible", "name": "placet doctor",
                "options": {"baseURL": format!("{model}/v1"), "apiKey": "none"}, "models": {"stand-in": {"name": "stand-in"}}});
            let (name, provider) = ("placet-doctor/stand-in", json!({ "placet-doctor": provider }));
            let config =
                json!({"model": name, "small_model": name, "provider": provider, "share": "disabled"});
            command.args(["run", "--model", name, prompt]).env("OPENCODE_CONFIG_CONTENT", config.to_string());
            command.env("OPENCODE_DISABLE_AUTOUPDATE", "1").env("OPENCODE_DISABLE_MODELS_FETCH", "1");
        }
        Agent::Cursor | Agent::Copilot => return None,
    }
    for name in ["NO_PROXY", "no_proxy"] {
        let others = std::env::var(name).map(|others| format!("{others},")).unwrap_or_default();
        command.env(name, format!("{others}127.0.0.1,localhost"));
    }
    Some(command)
}

/// The last line with something in it.
fn last_line(printed: &mut File) -> String {
    let mut text = Vec::new();
    let length = printed.metadata().map_or(0, |data| data.len());
    if printed.seek(SeekFrom::Start(length.saturating_sub(TAIL))).is_ok() {
        // As far as it can be read: it is shown to a person and decides nothing.
        let _ = printed.take(TAIL).read_to_end(&mut text);
    }
    let text = String::from_utf8_lossy(&text);
    beginning(text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it printed nothing").trim())
}

/// As much of a text as a person reads.
fn beginning(text: &str) -> String {
    text.chars().take(200).collect()
}

impl AgentTrial {
    fn says(&self, agent: Agent) -> (Verdict, String) {
        let name = program(agent);
        let ran = self.heard.result.as_ref().is_some_and(|result| result.contains(&self.word));
        let may_run = |state: State| {
            matches!(state, State::Claimed | State::Succeeded | State::Failed | State::Unknown)
        };
        if let (true, Some(state)) = (ran, self.request)
            && !may_run(state)
        {
            let detail = format!(
                "`{name}` ran a command that nobody had let it run: the request is {}. A no does not block it",
                state.as_str()
            );
            return (Verdict::Bad, detail);
        }
        if self.waits {
            let detail = "asked Placet, and a person is waited for: the hook works, and the folder is not open to this agent, or the \
                          policy holds `echo`. Nothing more can be seen";
            return (Verdict::Good, detail.to_owned());
        }
        match (ran, self.request) {
            (true, None) => (
                Verdict::Bad,
                format!(
                    "`{name}` ran a command without asking: its hook was not called, or asks another server or with another key"
                ),
            ),
            (true, Some(_)) => match self.handed {
                Handed::Ran => (Verdict::Good, "asked Placet, and ran what its hook handed it".to_owned()),
                Handed::Dropped => (
                    Verdict::Warning,
                    "asked Placet. But it dropped what its hook handed it, or nothing can be confined where it runs commands, as in a \
                     sandbox of its own: what could run confined waits for a person"
                        .to_owned(),
                ),
                Handed::Nothing => (
                    Verdict::Good,
                    "asked Placet. Nothing was handed to it, so what could run confined waits for a person: its hook has \
                     `--no-confine`, or its settings have rules about commands"
                        .to_owned(),
                ),
                Handed::Unclear => (
                    Verdict::Good,
                    "asked Placet. Another session of it ran at the same time, so what it does with what its hook hands it cannot be told"
                        .to_owned(),
                ),
            },
            (false, Some(state)) => (
                Verdict::Good,
                format!("asked Placet, and the command did not run: the request is {}. Nothing more can be seen", state.as_str()),
            ),
            (false, None) => (Verdict::Bad, self.failed(name)),
        }
    }

    /// Why it came to nothing.
    fn failed(&self, name: &str) -> String {
        let told = match &self.heard.result {
            Some(result) => beginning(result),
            None => self.last.clone(),
        };
        let how = match self.ended {
            Some(status) => {
                status.code().map_or("it was ended".to_owned(), |code| format!("exit code {code}"))
            }
            None => format!("no end after {} s", LIMIT.as_secs()),
        };
        match &self.heard {
            Conversation { began: false, .. } => format!(
                "`{name}` asked the stand-in for its model for nothing; its settings may name another model ({how}: {told})"
            ),
            Conversation { asked: false, .. } => {
                format!("`{name}` offers its model no shell ({how}: {told})")
            }
            _ => format!("`{name}` ran no command and did not ask Placet ({how}: {told})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(result: Option<&str>, request: Option<State>, handed: Handed) -> AgentTrial {
        let heard = Conversation { began: true, asked: true, result: result.map(str::to_owned) };
        AgentTrial {
            heard,
            word: "word-1".into(),
            request,
            waits: false,
            handed,
            ended: None,
            last: "the end".into(),
        }
    }

    #[test]
    fn only_a_command_that_was_asked_for_is_good() {
        let verdict = |seen: &AgentTrial| seen.says(Agent::ClaudeCode).0;
        let asked = Some(State::Succeeded);
        assert_eq!(verdict(&seen(Some("word-1\n"), asked, Handed::Ran)), Verdict::Good);
        assert_eq!(verdict(&seen(Some("word-1\n"), asked, Handed::Nothing)), Verdict::Good);
        assert_eq!(verdict(&seen(Some("word-1\n"), asked, Handed::Dropped)), Verdict::Warning);
        assert_eq!(verdict(&seen(Some("blocked"), Some(State::Denied), Handed::Nothing)), Verdict::Good);
        for handed in [Handed::Ran, Handed::Dropped, Handed::Nothing] {
            assert_eq!(verdict(&seen(Some("word-1\n"), None, handed)), Verdict::Bad);
            assert_eq!(verdict(&seen(Some("blocked"), None, handed)), Verdict::Bad);
            assert_eq!(verdict(&seen(None, None, handed)), Verdict::Bad);
        }
    }

    #[test]
    fn a_command_that_ran_without_a_yes_is_bad_however_it_was_asked_for() {
        for state in [
            State::Pending,
            State::Approved,
            State::Denied,
            State::Expired,
            State::Cancelled,
            State::Revoked,
            State::Lapsed,
        ] {
            for handed in [Handed::Ran, Handed::Dropped, Handed::Nothing, Handed::Unclear] {
                let mut seen = seen(Some("word-1\n"), Some(state), handed);
                seen.waits = state == State::Pending;
                assert_eq!(seen.says(Agent::ClaudeCode).0, Verdict::Bad, "{state:?}");
            }
        }
        let mut waits = seen(None, Some(State::Pending), Handed::Nothing);
        waits.waits = true;
        assert_eq!(waits.says(Agent::ClaudeCode).0, Verdict::Good);
    }

    #[test]
    fn what_came_to_nothing_says_how_far_it_came() {
        let mut seen = seen(None, None, Handed::Nothing);
        let detail = |seen: &AgentTrial| seen.says(Agent::Codex).1;
        assert!(detail(&seen).contains("ran no command"), "{}", detail(&seen));
        seen.heard.asked = false;
        assert!(detail(&seen).contains("offers its model no shell"));
        seen.heard.began = false;
        assert!(detail(&seen).contains("another model") && detail(&seen).contains("the end"));
    }
}
