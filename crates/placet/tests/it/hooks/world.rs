//! A server, a person, agents that call their hooks, and how each agent reacts to the answer.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
};

use placet_client::{Client, Decide, ListQuery};
use placet_core::{Record, State};
use placet_hooks::{Effect, Event, Output, effect};
use placet_testkit::Program;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::program::{MINUTE, binary, found};

/// The command itself says whether it passes. Everything else waits for a person.
const POLICY: &str = r#"
version = 1
[[rule]]
name = "allowed"
effect = "allow"
[rule.args]
command = { equals = "allowed" }
[[rule]]
name = "denied"
effect = "deny"
reason = "the policy says no"
[rule.args]
command = { equals = "denied" }
"#;

/// Every event whose calls have a command.
pub(crate) const EVENTS: [Event; 11] = [
    Event::ClaudePreToolUse,
    Event::ClaudePermissionRequest,
    Event::CodexPreToolUse,
    Event::CodexPermissionRequest,
    Event::GeminiBeforeTool,
    Event::CursorPreToolUse,
    Event::CursorBeforeShell,
    Event::CopilotPreToolUse,
    Event::CopilotPreToolUseCompatible,
    Event::CopilotPermissionRequest,
    Event::OpenCodeBefore,
];

/// What the agent of this event sends before it runs a command.
pub(crate) fn message(event: Event, id: &str, command: &str) -> Value {
    let input = json!({ "command": command });
    let name = event.as_str();
    match event {
        Event::CursorPreToolUse => {
            json!({"hook_event_name": name, "conversation_id": "s-1", "generation_id": id,
            "tool_name": "Shell", "tool_input": input, "tool_use_id": id})
        }
        Event::CursorBeforeShell | Event::CursorBeforeMcp | Event::CursorBeforeRead => {
            json!({"hook_event_name": name, "conversation_id": "s-1", "generation_id": id, "command": command})
        }
        Event::CopilotPreToolUse => {
            json!({"sessionId": "s-1", "timestamp": 1, "cwd": "/", "toolName": "bash", "toolArgs": input})
        }
        Event::CopilotPermissionRequest => {
            json!({"hook_event_name": name, "sessionId": "s-1", "timestamp": 1,
            "cwd": "/", "toolName": "bash", "toolInput": input})
        }
        Event::OpenCodeBefore => json!({"hook_event_name": name, "session_id": "s-1", "call_id": id,
            "tool_name": "bash", "tool_input": input}),
        Event::ClaudePreToolUse | Event::CodexPreToolUse => {
            json!({"hook_event_name": name, "session_id": "s-1",
            "turn_id": "u-1", "permission_mode": "default", "tool_name": "Bash", "tool_input": input,
            "tool_use_id": id, "cwd": "/"})
        }
        Event::ClaudePermissionRequest
        | Event::CodexPermissionRequest
        | Event::GeminiBeforeTool
        | Event::CopilotPreToolUseCompatible => json!({"hook_event_name": name, "session_id": "s-1",
            "turn_id": id, "prompt_id": id, "tool_name": "Bash", "tool_input": input, "cwd": "/"}),
    }
}

/// A temporary folder, with or without a server.
pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) url: String,
    pub(crate) agent: String,
    reviewer: String,
    _server: Option<Program>,
}

impl World {
    /// With a server.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let policy = folder.path().join("policy.toml");
        std::fs::write(&policy, POLICY).expect("written");
        let policy = policy.to_str().expect("a plain path").to_owned();
        Self::under(folder, &policy)
    }

    /// With a server under this policy: a file, or a preset.
    pub(crate) fn under(folder: TempDir, policy: &str) -> Self {
        let server = Program::serve(binary(), &folder.path().join("data"), |command| {
            let log = File::create(folder.path().join("log")).expect("a log");
            command.args(["--policy", policy]).stderr(log);
        });
        let (url, agent, reviewer) =
            (server.url.clone(), server.key("agent", "coder"), server.key("reviewer", "ann"));
        Self { folder, url, agent, reviewer, _server: Some(server) }
    }

    /// With an address where another program answers.
    pub(crate) fn at(url: String) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder, url, agent: "plk_agent_x".to_owned(), reviewer: String::new(), _server: None }
    }

    /// A hook as the agent's settings would call it.
    pub(crate) fn command(&self, event: Event, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command
            .args(["hook", event.agent().as_str(), "--url", &self.url])
            .args(args)
            .env("PLACET_TOKEN", &self.agent)
            .env("PLACET_STATE_DIR", self.folder.path().join("state"))
            .env_remove("PLACET_URL")
            .env_remove("CLAUDE_CODE_ENTRYPOINT")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The hook of an agent without settings of its own, which may hand it something else to run.
    pub(crate) fn handing(&self, event: Event, args: &[&str]) -> Command {
        let home = self.folder.path().join("home");
        std::fs::create_dir_all(&home).expect("a folder");
        let mut command = self.command(event, &[&["--confine"], args].concat());
        command.env("HOME", home);
        for name in ["CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"] {
            command.env_remove(name);
        }
        command
    }

    /// Lets the agent of this event show that it runs what it is handed.
    pub(crate) fn proves(&self, event: Event) {
        let mut call = message(event, "trial", "allowed");
        call["cwd"] = json!("/");
        if event == Event::GeminiBeforeTool {
            call["tool_name"] = json!("run_shell_command");
        }
        let output = ended(start(self.handing(event, &[]), call.to_string().as_bytes()));
        let Effect::Runs(Some(input)) = effect(event, &output) else { panic!("{event:?}: {output:?}") };
        let trial = input["command"].as_str().expect("a command");
        assert!(trial.contains(" --prove ") && trial.ends_with("; allowed"), "{trial}");
        Command::new("bash").args(["-c", trial]).stderr(Stdio::null()).status().expect("a shell");
        call["hook_event_name"] = json!(match event {
            Event::GeminiBeforeTool => "AfterTool",
            Event::OpenCodeBefore => "tool.execute.after",
            _ => "PostToolUse",
        });
        call["tool_response"] = json!({"stdout": ""});
        assert_eq!(ended(start(self.handing(event, &[]), call.to_string().as_bytes())).code, 0);
    }

    /// Starts a hook and gives it its input.
    pub(crate) fn start(&self, event: Event, args: &[&str], input: &[u8]) -> Child {
        start(self.command(event, args), input)
    }

    /// What a hook leaves behind.
    pub(crate) fn hook(&self, event: Event, args: &[&str], input: &Value) -> Output {
        ended(self.start(event, args, input.to_string().as_bytes()))
    }

    pub(crate) fn reviewer(&self) -> Client {
        Client::new(&self.url, &self.reviewer).expect("an address")
    }

    /// All requests, newest first.
    pub(crate) fn requests(&self) -> Vec<Record> {
        block_on(self.reviewer().list(&ListQuery::default())).expect("a list").items
    }

    /// The one request that is pending, once it is there.
    pub(crate) fn pending(&self) -> Record {
        found("a pending request", || {
            self.requests().into_iter().find(|record| record.state == State::Pending)
        })
    }

    /// The request in this state, once it is.
    pub(crate) fn becomes(&self, record: &Record, state: State) -> Record {
        found(&format!("{} to become {state}", record.id), || {
            let now = block_on(self.reviewer().get(record.id)).expect("a record");
            (now.state == state).then_some(now)
        })
    }

    pub(crate) fn decide(&self, record: &Record, decide: Decide) {
        block_on(self.reviewer().decide(record.id, &decide)).expect("decided");
    }

    pub(crate) fn approve(&self, record: &Record) {
        self.decide(record, Decide::approve(record));
    }

    pub(crate) fn edit(&self, record: &Record, arguments: Map<String, Value>) {
        self.decide(record, Decide::edit(record, arguments));
    }
}

pub(crate) fn start(mut command: Command, input: &[u8]) -> Child {
    let mut child = command.spawn().expect("it starts");
    // It may end before it has read everything.
    let _ = child.stdin.take().expect("its input").write_all(input);
    child
}

pub(crate) fn ended(child: Child) -> Output {
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let code = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX);
    Output { stdout: text(output.stdout), stderr: text(output.stderr), code }
}

/// The agent's reaction, which must be to block, with a message for a person.
#[track_caller]
pub(crate) fn blocks(event: Event, what: &str, output: &Output) {
    assert_eq!(effect(event, output), Effect::Blocked, "{event:?}, {what}: {output:?}");
    assert!(output.stderr.contains("Placet: "), "{event:?}, {what}: nobody is told why: {output:?}");
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

/// A server that answers every call in its own way; `None` never answers.
pub(crate) fn fake(answer: Option<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    std::thread::Builder::new()
        .name("a server that misbehaves".to_owned())
        .spawn(move || {
            let mut kept = Vec::new();
            for stream in listener.incoming().flatten() {
                match answer {
                    Some(answer) => answered(stream, answer),
                    None => kept.push(stream),
                }
            }
        })
        .expect("a thread");
    url
}

fn answered(mut stream: TcpStream, answer: &str) {
    let _ = stream.set_read_timeout(Some(MINUTE));
    let mut head = Vec::new();
    let mut buffer = [0_u8; 4096];
    // The head and the part of the body that came with it are enough.
    while let Ok(count) = stream.read(&mut buffer) {
        head.extend_from_slice(&buffer[..count]);
        let whole = head.windows(4).position(|four| four == b"\r\n\r\n").is_some_and(|end| {
            let text = String::from_utf8_lossy(&head[..end]).to_lowercase();
            let length =
                text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            head.len() >= end + 4 + length.unwrap_or(0)
        });
        if count == 0 || whole {
            break;
        }
    }
    let _ = stream.write_all(answer.as_bytes());
}
