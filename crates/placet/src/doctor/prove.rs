//! `placet doctor --prove`: the agent itself is started, once, with a stand-in for its model that asks for one harmless command.
//!
//! That shows what no settings show: that this version of the agent, as its user set it up, calls its hook and runs what that hands it.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use placet_client::{Client, ListQuery};
use placet_core::{Kind, Record, State};
use placet_hooks::Agent;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use tokio::{
    process::{Child, Command},
    time::{Instant, sleep},
};

use super::{
    Check, Verdict,
    stand_in::{Heard, StandIn},
};
use crate::{cli::DoctorArgs, hook::confine, output};

/// How long an agent may take. Slow ones start in ten seconds, on a busy machine in a minute.
const LIMIT: Duration = Duration::from_mins(2);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(300);
/// So many requests are looked through for the agent's.
const LATEST: u32 = 20;
/// So much of the end of what the agent printed is read.
const TAIL: u64 = 4_096;

/// The agents to start: the one that is named, or all with a hook here that can run.
pub(super) fn wanted(args: &DoctorArgs, hooks: &[Check]) -> Option<Vec<Agent>> {
    let installed = |agent: &Agent| {
        let name = format!("hook {agent}");
        args.agent == Some(*agent) || hooks.iter().any(|check| check.name == name && check.verdict != Verdict::Bad)
    };
    args.prove.then(|| Agent::ALL.into_iter().filter(|agent| args.agent.is_none_or(|only| only == *agent)).filter(installed).collect())
}

/// One check for each of these agents.
pub(super) async fn all(
    agents: &[Agent],
    reached: bool,
    client: &Client,
    token: &str,
) -> anyhow::Result<Vec<Check>> {
    if !reached {
        let detail = "no agent is started as long as the server or the key is not good: every call would be blocked";
        return Ok(vec![Check::new("seen", Verdict::Skipped, detail)]);
    }
    let mut checks = Vec::new();
    for agent in agents {
        output::to_stderr(&format!("{agent}: is started once, with a stand-in for its model …"));
        let (verdict, detail) = match started(*agent, client, token).await? {
            Ok(seen) => seen.says(*agent),
            Err(why) => (Verdict::Skipped, why),
        };
        checks.push(Check::new(format!("seen {agent}"), verdict, detail));
    }
    if agents.is_empty() {
        let detail = "no hook is installed here; name an agent with `--agent`";
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
}

/// What was seen of one agent.
#[derive(Debug)]
struct Seen {
    heard: Heard,
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
async fn started(agent: Agent, client: &Client, token: &str) -> anyhow::Result<Result<Seen, String>> {
    let nonce: String = super::proof::secret()?.chars().take(12).collect();
    // The printed form occurs in no command line: it is put together by the shell.
    let (word, command) = (format!("placet-doctor-{nonce}"), format!("echo placet-doc'tor-{nonce}'"));
    let prompt = format!("placet doctor {nonce}: say one word.");
    let model = StandIn::start(&prompt, &command).await?;
    let Some(mut command) = line(agent, &model.url, &prompt) else {
        return Ok(Err("cannot be started with another model; its hook is known from its documentation alone".to_owned()));
    };
    let before: BTreeSet<String> = confine::proofs().into_iter().map(|proof| proof.name).collect();
    let mut printed = tempfile::tempfile()?;
    command
        .env("PLACET_URL", client.url())
        .stdin(Stdio::null())
        .stdout(printed.try_clone()?)
        .stderr(printed.try_clone()?)
        .process_group(0);
    if !token.is_empty() {
        command.env("PLACET_TOKEN", token);
    }
    let mut running = match command.spawn() {
        Ok(child) => Running(child),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Err(format!("`{}` is not in the PATH", program(agent))));
        }
        Err(error) => return Ok(Err(format!("`{}` cannot be started: {error}", program(agent)))),
    };
    let (end, mut request, mut ended) = (Instant::now() + LIMIT, None, None);
    while Instant::now() < end {
        ended = running.0.try_wait()?;
        request = asked(client, &nonce).await.or(request);
        if ended.is_some() || request.as_ref().is_some_and(|record| record.state == State::Pending) {
            break;
        }
        sleep(LOOK).await;
    }
    drop(running);
    let waits = request.as_ref().is_some_and(|record| record.state == State::Pending);
    if let Some(record) = request.as_ref().filter(|_| waits) {
        // Its hook takes it back as well, if it lives to see that nobody waits.
        let _ = client.cancel(record.id, Some("placet doctor is done")).await;
    }
    let learned = confine::proofs().into_iter().find(|proof| !before.contains(&proof.name));
    let handed = match learned {
        Some(proof) if proof.seen => Handed::Ran,
        Some(_) => Handed::Dropped,
        None => Handed::Nothing,
    };
    let (heard, request) = (model.heard(), request.map(|record| record.state));
    Ok(Ok(Seen { heard, word, request, waits, handed, ended, last: last_line(&mut printed) }))
}

/// The agent's request for the command, or its question about the folder.
async fn asked(client: &Client, nonce: &str) -> Option<Record> {
    let query = ListQuery { limit: Some(LATEST), ..ListQuery::default() };
    let page = client.list(&query).await.ok()?;
    let about = |record: &&Record| json!(record.arguments).to_string().contains(nonce);
    let folder = |record: &&Record| record.kind == Kind::Confirmation && record.state == State::Pending;
    page.items.iter().find(about).or_else(|| page.items.iter().find(folder)).cloned()
}

/// A process and all that it started, ended with this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // The group has the number of its first process. One that ended by itself has none any more.
        let group = self.0.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::TERM);
            std::thread::sleep(LOOK);
            let _ = kill_process_group(group, Signal::KILL);
        }
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
            let provider = format!("{{name=\"placet doctor\",base_url=\"{model}/v1\",wire_api=\"responses\"}}");
            command.args(["exec", "--skip-git-repo-check", "-c", "model=\"stand-in\""]);
            command.args(["-c", "model_provider=\"placet_doctor\"", "-c"]);
            command.args([&format!("model_providers.placet_doctor={provider}"), prompt]);
        }
        Agent::Gemini => {
            command.args(["--model", "gemini-2.5-flash", "--yolo", "--prompt", prompt]);
            command.env("GEMINI_API_KEY", "none").env("GOOGLE_GEMINI_BASE_URL", model);
            command.env("GEMINI_DEFAULT_AUTH_TYPE", "gemini-api-key").env("GEMINI_CLI_TRUST_WORKSPACE", "true");
        }
        Agent::OpenCode => {
            let provider = json!({"npm": "@ai-sdk/openai-compatible", "name": "placet doctor",
                "options": {"baseURL": format!("{model}/v1"), "apiKey": "none"}, "models": {"stand-in": {"name": "stand-in"}}});
            let (name, provider) = ("placet-doctor/stand-in", json!({ "placet-doctor": provider }));
            let config = json!({"model": name, "small_model": name, "provider": provider, "share": "disabled"});
            command.args(["run", prompt]).env("OPENCODE_CONFIG_CONTENT", config.to_string());
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

impl Seen {
    fn says(&self, agent: Agent) -> (Verdict, String) {
        let name = program(agent);
        let ran = self.heard.result.as_ref().is_some_and(|result| result.contains(&self.word));
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
            Some(status) => status.code().map_or("it was ended".to_owned(), |code| format!("exit code {code}")),
            None => format!("no end after {} s", LIMIT.as_secs()),
        };
        match &self.heard {
            Heard { began: false, .. } => format!(
                "`{name}` asked the stand-in for its model for nothing; its settings may name another model ({how}: {told})"
            ),
            Heard { asked: false, .. } => format!("`{name}` offers its model no shell ({how}: {told})"),
            _ => format!("`{name}` ran no command and did not ask Placet ({how}: {told})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(result: Option<&str>, request: Option<State>, handed: Handed) -> Seen {
        let heard = Heard { began: true, asked: true, result: result.map(str::to_owned) };
        Seen { heard, word: "word-1".into(), request, waits: false, handed, ended: None, last: "the end".into() }
    }

    #[test]
    fn only_a_command_that_was_asked_for_is_good() {
        let verdict = |seen: &Seen| seen.says(Agent::ClaudeCode).0;
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
    fn what_came_to_nothing_says_how_far_it_came() {
        let mut seen = seen(None, None, Handed::Nothing);
        let detail = |seen: &Seen| seen.says(Agent::Codex).1;
        assert!(detail(&seen).contains("ran no command"), "{}", detail(&seen));
        seen.heard.asked = false;
        assert!(detail(&seen).contains("offers its model no shell"));
        seen.heard.began = false;
        assert!(detail(&seen).contains("another model") && detail(&seen).contains("the end"));
    }
}
