//! The proof that a no blocks: this program as the hook of each agent, against a server of its own with a policy that
//! denies, against no server, and with input that makes no sense.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::Context as _;
use data_encoding::BASE32_DNSSEC;
use placet_client::Client;
use placet_core::Role;
use placet_hooks::{Agent, Effect, Event, Output, effect};
use placet_server::ListenAddress;
use serde_json::{Value, json};
use tokio::{net::TcpSocket, task::JoinSet};

use super::{Check, Verdict};
use crate::serve::{self, NamedPolicy, StartOptions};

/// Denies one tool and allows another.
const POLICY: &str = r#"
version = 1
name = "doctor"

[[rule]]
name = "denied"
effect = "deny"
reason = "the doctor's proof that a no blocks"
tool = "placet_denied"

[[rule]]
name = "allowed"
effect = "allow"
reason = "the doctor's proof that a yes runs"
tool = "placet_allowed"
"#;

/// One check for each agent. A hook gives the server that is not there up after its usual time, or sooner if said.
pub(super) async fn all(agents: &[Agent], give_up: Option<Duration>) -> anyhow::Result<Vec<Check>> {
    let folder =
        tempfile::Builder::new().prefix("placet-doctor-").tempdir().context("no temporary folder")?;
    let bootstrap = secret()?;
    let running = serve::start(StartOptions {
        data: folder.path().join("data"),
        listen: ListenAddress::loopback(0),
        bootstrap_token: bootstrap.clone(),
        policy: NamedPolicy::built_in("doctor", POLICY)?,
    })
    .await?;
    let checks = with(&running.url, &bootstrap, folder.path(), agents, give_up).await;
    running.stop().await;
    checks
}

async fn with(
    url: &str,
    bootstrap: &str,
    folder: &Path,
    agents: &[Agent],
    give_up: Option<Duration>,
) -> anyhow::Result<Vec<Check>> {
    let key = Client::new(url, bootstrap)?.create_key(Role::Agent, "doctor", None).await?.key;
    // A port that is ours and that never listens: connections are refused, and no other program can take it meanwhile.
    let silent = TcpSocket::new_v4()?;
    silent.bind(([127, 0, 0, 1], 0).into())?;
    let nowhere = format!("http://{}", silent.local_addr()?);
    // At the same time: half of the work is waiting for a server that is not there.
    let mut running = JoinSet::new();
    for (place, agent) in agents.iter().enumerate() {
        let tried = Tried {
            event: deciding(*agent),
            url: url.to_owned(),
            nowhere: nowhere.clone(),
            key: key.clone(),
            give_up,
        };
        let state = folder.join("state");
        running.spawn(async move { (place, tried.check(&state).await) });
    }
    let mut checks = Vec::new();
    while let Some(ended) = running.join_next().await {
        let (place, check) = ended?;
        checks.push((place, check?));
    }
    checks.sort_by_key(|(place, _)| *place);
    Ok(checks.into_iter().map(|(_, check)| check).collect())
}

/// One agent's hook, put to the test.
struct Tried {
    event: Event,
    url: String,
    nowhere: String,
    key: String,
    give_up: Option<Duration>,
}

impl Tried {
    async fn check(&self, state: &Path) -> anyhow::Result<Check> {
        let event = self.event;
        let (denied, allowed) = (message(event, "placet_denied"), message(event, "placet_allowed"));
        let half = b"{\"hook_event_name\":".to_vec();
        // Without the last one, the others would prove nothing.
        let runs = [
            ("an unreachable server", &self.nowhere, self.give_up, bytes(&allowed), true),
            ("input that is not JSON", &self.url, None, half, true),
            ("a call that policy denies", &self.url, None, bytes(&denied), true),
            ("a call that policy allows", &self.url, None, bytes(&allowed), false),
        ];
        let mut wrong = Vec::new();
        for (what, url, give_up, input, blocked) in runs {
            let output = self.hook(url, give_up, state, input).await?;
            let effect = effect(event, &output);
            let right = if blocked { effect == Effect::Blocked } else { matches!(effect, Effect::Runs(_)) };
            if !right {
                wrong.push(format!("{what}: the agent would see {effect:?} (exit code {})", output.code));
            }
        }
        let name = format!("proof {}", event.agent());
        Ok(if wrong.is_empty() {
            let detail = "an unreachable server, nonsense and a denied call block; an allowed call runs";
            Check::new(name, Verdict::Good, detail)
        } else {
            Check::new(name, Verdict::Bad, wrong.join("; "))
        })
    }

    /// Runs this program as the hook, as the agent would. It ends by itself, whatever happens.
    async fn hook(
        &self,
        url: &str,
        give_up: Option<Duration>,
        state: &Path,
        input: Vec<u8>,
    ) -> anyhow::Result<Output> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["hook", self.event.agent().as_str(), "--wait", "2s", "--url", url]);
        if let Some(sooner) = give_up {
            command.arg("--give-up").arg(format!("{}ms", sooner.as_millis()));
        }
        command
            .env("PLACET_TOKEN", &self.key)
            .env("PLACET_STATE_DIR", state)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let output = tokio::task::spawn_blocking(move || {
            let mut child = command.spawn()?;
            if let Some(mut stdin) = child.stdin.take() {
                stdin.write_all(&input)?;
            }
            child.wait_with_output()
        })
        .await??;
        let code = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Output { stdout: text(output.stdout), stderr: text(output.stderr), code })
    }
}

/// The event that gates an agent.
fn deciding(agent: Agent) -> Event {
    match agent {
        Agent::ClaudeCode => Event::ClaudePreToolUse,
        Agent::Codex => Event::CodexPreToolUse,
        Agent::Gemini => Event::GeminiBeforeTool,
        Agent::Cursor => Event::CursorPreToolUse,
        Agent::Copilot => Event::CopilotPreToolUse,
        Agent::OpenCode => Event::OpenCodeBefore,
    }
}

/// What that agent would send.
fn message(event: Event, tool: &str) -> Value {
    let (name, input) = (event.as_str(), json!({ "command": "true" }));
    match event.agent() {
        Agent::Copilot => json!({
            "sessionId": "doctor", "timestamp": 0, "cwd": "/", "toolName": tool, "toolArgs": input,
        }),
        Agent::Cursor => json!({
            "hook_event_name": name, "conversation_id": "doctor", "generation_id": "1", "tool_name": tool,
            "tool_input": input, "tool_use_id": tool,
        }),
        Agent::OpenCode => json!({
            "hook_event_name": name, "session_id": "doctor", "call_id": tool, "tool_name": tool, "tool_input": input,
        }),
        Agent::ClaudeCode | Agent::Codex | Agent::Gemini => json!({
            "hook_event_name": name, "session_id": "doctor", "tool_name": tool, "tool_input": input,
            "tool_use_id": tool, "turn_id": "1", "cwd": "/",
        }),
    }
}

fn bytes(message: &Value) -> Vec<u8> {
    message.to_string().into_bytes()
}

#[expect(clippy::disallowed_methods, reason = "the credential of a server that is not there yet")]
pub(super) fn secret() -> anyhow::Result<String> {
    let mut bytes = [0_u8; 25];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow::anyhow!("the operating system gave no randomness: {error}"))?;
    Ok(BASE32_DNSSEC.encode(&bytes))
}
