//! `placet demo day`: a recorded day of a coding agent, through the real hook program and the preset for such agents.

use std::{collections::BTreeMap, fs, path::Path, process::Stdio};

use anyhow::{Context as _, bail};
use placet_client::{Client, Decide};
use placet_core::Record;
use placet_hooks::{Effect, Event, Output, effect};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::{io::AsyncWriteExt as _, process::Command};

use super::stage::{Stage, Tone};

/// The recording.
const CALLS: &str = include_str!("day.json");
/// Where the recording says that the project is.
const PROJECT: &str = "$PROJECT";
const EVENT: Event = Event::ClaudePreToolUse;

/// One call of the recording.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedCall {
    at: String,
    tool: String,
    input: Map<String, Value>,
    /// In words, for this screen.
    what: String,
    /// What ann decides, for a call that waits for her.
    #[serde(default)]
    ann: Option<Answer>,
    #[serde(default)]
    why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Approve,
    Deny,
}

/// The files of the project.
const FILES: [(&str, &str); 7] = [
    ("README.md", "# shop\n"),
    (".env", "STRIPE_KEY=not-a-real-key\n"),
    ("package.json", "{\"name\":\"shop\",\"scripts\":{\"test\":\"vitest run\"}}\n"),
    ("src/cart.ts", "export const discount = (price: number) => price * 0.9;\n"),
    ("src/cart.test.ts", "// tests\n"),
    (".github/workflows/ci.yml", "on: push\n"),
    (".git/HEAD", "ref: refs/heads/main\n"),
];

/// Plays it.
pub(super) async fn play(stage: &mut Stage) -> anyhow::Result<()> {
    let project = stage.folder.join("shop");
    make(&project)?;
    let ann = stage.person("ann").await?;
    let (_, key) = stage.agent("claude").await?;
    stage.admin.put_roots("claude", &[project.display().to_string()]).await?;
    stage.head("A day of a coding agent").await?;
    stage.say(Tone::Plain, "Every call goes through `placet hook claude-code` and preset:coding-agent, as in a real session.").await?;
    stage
        .say(Tone::Plain, "A person opened one folder to the agent. ann answers what waits for her.\n")
        .await?;

    let calls: Vec<RecordedCall> = serde_json::from_str(CALLS).context("the recording of the day")?;
    let mut counts = BTreeMap::from([("calls", 0), ("passed", 0), ("approved", 0), ("denied", 0)]);
    for (number, call) in calls.iter().enumerate() {
        let outcome = one(stage, &ann, &key, &project, number, call).await?;
        for name in ["calls", outcome] {
            *counts.entry(name).or_default() += 1;
        }
    }
    let [passed, approved, denied] =
        ["passed", "approved", "denied"].map(|name| counts.get(name).copied().unwrap_or_default());
    stage.say(Tone::Plain, &format!("\n{} calls: {passed} passed without a question, {approved} were approved, {denied} were denied.", calls.len())).await?;
    stage
        .end("day", &counts, &[
            "History: each call with the rule that decided it, also those that asked nobody.",
            "Session `shop-day`: how often the agent asked, and what passed.",
            "Policy: the rules of preset:coding-agent. `placet policy explain ID` shows why a call waited.",
        ])
        .await
}

/// Plays one call, and says how it ended.
async fn one(
    stage: &mut Stage,
    ann: &Client,
    key: &str,
    project: &Path,
    number: usize,
    call: &RecordedCall,
) -> anyhow::Result<&'static str> {
    let id = format!("toolu_{number:02}");
    let mut message = json!({
        "hook_event_name": "PreToolUse", "session_id": "shop-day", "permission_mode": "default",
        "cwd": project, "tool_name": call.tool, "tool_input": placed(&call.input, project), "tool_use_id": id,
    });
    let hook = hook(stage, key, &message);
    let line = format!("{}  {}", call.at, call.what);
    let (output, waited) = match call.ann {
        None => (hook.await?, None),
        Some(answer) => {
            let held = async {
                let fits = |record: &Record| {
                    record.context.as_ref().and_then(|context| context.get("call_id")) == Some(&json!(id))
                };
                let record = stage.pending(ann, fits).await?;
                let decide = match answer {
                    Answer::Approve => Decide::approve(&record).with_reason(call.why.as_str()),
                    Answer::Deny => Decide::deny(&record, call.why.as_str()),
                };
                ann.decide(record.id, &decide).await?;
                anyhow::Ok(record)
            };
            tokio::pin!(hook);
            // If the call did not wait, the hook ends and nothing will be pending.
            tokio::select! {
                ended = &mut hook => bail!("{} was answered without ann: {:?}", call.what, ended?),
                record = held => { let record = record?; (hook.await?, Some(record)) }
            }
        }
    };
    let runs = matches!(effect(EVENT, &output), Effect::Runs(_));
    if runs != (call.ann != Some(Answer::Deny)) {
        bail!("{}: the hook answered {output:?}", call.what);
    }
    if runs {
        if let Some(map) = message.as_object_mut() {
            map.insert("hook_event_name".to_owned(), json!("PostToolUse"));
            map.insert("tool_response".to_owned(), json!({"stdout": ""}));
        }
        self::hook(stage, key, &message).await?;
    }
    let Some(record) = waited else {
        stage.say(Tone::Quiet, &format!("{line:<64} passes")).await?;
        return Ok("passed");
    };
    let rule = &record.verdict.rule;
    stage.say(Tone::Careful, &format!("{line:<64} waits: {rule}, risk {}", record.risk)).await?;
    let (tone, word, outcome) = match call.ann {
        Some(Answer::Deny) => (Tone::Bad, "denies", "denied"),
        _ => (Tone::Good, "approves", "approved"),
    };
    let why = if call.why.is_empty() { String::new() } else { format!(": {}", call.why) };
    stage.say(tone, &format!("       ann {word}{why}")).await?;
    Ok(outcome)
}

/// The hook program, as the agent's settings call it.
async fn hook(stage: &Stage, key: &str, message: &Value) -> anyhow::Result<Output> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["hook", "claude-code", "--url", &stage.url])
        .env("PLACET_TOKEN", key)
        .env("PLACET_STATE_DIR", stage.folder.join("hook"))
        .env("HOME", stage.folder.join("home"))
        .env_remove("PLACET_URL")
        .env_remove("CLAUDE_CODE_SIMPLE")
        .env_remove("CLAUDE_PROJECT_DIR")
        .env_remove("CLAUDE_CONFIG_DIR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn().context("the hook program")?;
    let mut input = child.stdin.take().context("the input of the hook program")?;
    input.write_all(message.to_string().as_bytes()).await?;
    drop(input);
    let ended = child.wait_with_output().await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = ended.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX);
    Ok(Output { stdout: text(&ended.stdout), stderr: text(&ended.stderr), code })
}

fn make(project: &Path) -> anyhow::Result<()> {
    for (name, text) in FILES {
        let file = project.join(name);
        let folder = file.parent().context("a file has a folder")?;
        fs::create_dir_all(folder)?;
        fs::write(&file, text)?;
    }
    for folder in [".git/objects", ".git/refs/heads"] {
        fs::create_dir_all(project.join(folder))?;
    }
    Ok(())
}

/// The arguments, with the folder of this run.
fn placed(input: &Map<String, Value>, project: &Path) -> Value {
    let project = project.display().to_string();
    let values = input.iter().map(|(name, value)| {
        let value = match value {
            Value::String(text) => json!(text.replace(PROJECT, &project)),
            other => other.clone(),
        };
        (name.clone(), value)
    });
    Value::Object(values.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recording_can_be_read_and_has_every_outcome_in_the_order_of_the_day() {
        let calls: Vec<RecordedCall> = serde_json::from_str(CALLS).unwrap();
        assert!((28..=36).contains(&calls.len()), "{}", calls.len());
        assert!(calls.is_sorted_by(|one, next| one.at <= next.at));
        for answer in [None, Some(Answer::Approve), Some(Answer::Deny)] {
            assert!(calls.iter().any(|call| call.ann == answer), "{answer:?}");
        }
        let denied = calls.iter().filter(|call| call.ann == Some(Answer::Deny));
        assert!(denied.clone().all(|call| !call.why.is_empty()), "an agent learns why");
        assert!(calls.iter().all(|call| call.what.chars().count() <= 55), "a line of the screen");
    }
}
