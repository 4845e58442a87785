//! Reads the messages of agents' hooks from standard input: strict where it matters, tolerant of new fields.

use placet_ledger::ijson::{self, Limits};
use serde_json::{Map, Value};

use crate::{Agent, Call, Event, fields::Fields};

/// The largest message. The message after a call holds its whole result; the call itself must fit the server.
pub const LARGEST: usize = 8 * 1024 * 1024;

/// Why a message cannot be used. In gate mode each of them blocks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing at all.
    #[error("standard input is empty: expected the JSON that the agent sends to its hooks")]
    Empty,
    /// Too much.
    #[error("standard input is larger than {LARGEST} bytes")]
    TooLarge,
    /// Not JSON, or JSON that two readers could read differently.
    #[error("standard input is not usable JSON: {0}")]
    Json(String),
    /// JSON, but not an object.
    #[error("standard input is JSON, but not the object that an agent sends to its hooks")]
    NotAnObject,
    /// A field that every known version sends is missing.
    #[error("`{name}` is missing: this version of the agent speaks to hooks in a way Placet does not know")]
    Missing {
        /// Which.
        name: &'static str,
    },
    /// A field is of another type.
    #[error(
        "`{name}` is not {expected}: this version of the agent speaks to hooks in a way Placet does not know"
    )]
    Field {
        /// Which.
        name: &'static str,
        /// What was expected.
        expected: &'static str,
    },
    /// An event that the hook does not handle.
    #[error("unknown event `{name}` of {agent}: install the hook with `placet hook install {agent}`")]
    Event {
        /// Whose.
        agent: Agent,
        /// Which.
        name: String,
    },
    /// A tool name that no request can have.
    #[error("the tool name `{0}` cannot be put into a request: 1 to 200 of A-Z a-z 0-9 _ . / : -")]
    Tool(String),
}

/// What a message is.
#[derive(Debug, Clone, PartialEq)]
pub enum HookMessage {
    /// May this run?
    Asks(Box<Call>),
    /// It ran.
    Ran(Box<FinishedCall>),
    /// The turn or the session has ended: nothing waits for its pending requests any more.
    Stopped {
        /// Which session.
        session: String,
        /// Whether the whole session has ended, not only a turn.
        ended: bool,
    },
}

/// A call that has run.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedCall {
    /// The session.
    pub session: String,
    /// The tool.
    pub tool: String,
    /// What it ran with.
    pub input: Map<String, Value>,
    /// The agent's id of the call, if it has one.
    pub call_id: Option<String>,
    /// Whether it worked, by the agent's own report.
    pub worked: bool,
}

/// Strict JSON within our bounds.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, String> {
    let limits = Limits { bytes: LARGEST, depth: 128, nodes: 500_000 };
    ijson::parse(bytes, &limits).map_err(|error| error.to_string())
}

/// Reads one message. `hint` is the event the hook was installed for: some agents leave it out of the message.
pub fn read(agent: Agent, hint: Option<&str>, bytes: &[u8]) -> Result<HookMessage, Fault> {
    if bytes.len() > LARGEST {
        return Err(Fault::TooLarge);
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Fault::Empty);
    }
    let Value::Object(message) = parse(bytes).map_err(Fault::Json)? else { return Err(Fault::NotAnObject) };
    let fields = Fields(&message);
    let said = fields.text("hook_event_name")?;
    let Some(event) = said.as_deref().or(hint).or_else(|| guess(agent, &message)) else {
        return Err(Fault::Missing { name: "hook_event_name" });
    };
    match agent {
        Agent::ClaudeCode => claude(&fields, event),
        Agent::Codex => codex(&fields, event),
        Agent::Gemini => gemini(&fields, event),
        Agent::Cursor => cursor(&fields, event),
        Agent::Copilot => copilot(&fields, event),
        Agent::OpenCode => opencode(&fields, event),
    }
}

/// Copilot's own format does not name the event. Its fields tell which one it can be.
fn guess(agent: Agent, message: &Map<String, Value>) -> Option<&'static str> {
    if agent != Agent::Copilot || !message.contains_key("toolName") {
        return None;
    }
    if message.contains_key("toolResult") {
        return Some("postToolUse");
    }
    if message.contains_key("error") {
        return Some("postToolUseFailure");
    }
    Some("preToolUse")
}

fn unknown(agent: Agent, event: &str) -> Fault {
    let name: String = event.chars().take(100).flat_map(char::escape_debug).collect();
    Fault::Event { agent, name }
}

fn tool(name: String) -> Result<String, Fault> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:-".contains(&byte);
    if (1..=200).contains(&name.len()) && name.bytes().all(fits) {
        return Ok(name);
    }
    Err(Fault::Tool(name.chars().take(100).flat_map(char::escape_debug).collect()))
}

fn asks(call: Call) -> HookMessage {
    HookMessage::Asks(Box::new(call))
}

/// The context of a call of an agent that speaks like Claude Code.
fn origin(fields: &Fields<'_>) -> Result<Map<String, Value>, Fault> {
    let names = [
        ("cwd", "cwd"),
        ("transcript", "transcript_path"),
        ("agent_id", "agent_id"),
        ("mcp_server", "mcp_server"),
    ];
    // In some versions it is an object about the MCP server, which adds nothing to the tool's name.
    let names = names.into_iter().filter(|(_, name)| !matches!(fields.0.get(*name), Some(Value::Object(_))));
    let mut context = fields.context(&names.collect::<Vec<_>>())?;
    if let Some(kind) = fields.text("agent_type")?.filter(|kind| !kind.is_empty()) {
        context.insert("lineage".to_owned(), Value::Array(vec![Value::String(kind)]));
    }
    Ok(context)
}

/// A call in the format of Claude Code and Codex. Only the field for the turn has two names.
fn wanted(fields: &Fields<'_>, event: Event, turn: &'static str) -> Result<Call, Fault> {
    Ok(Call {
        event,
        session: fields.needed("session_id")?,
        tool: tool(fields.needed("tool_name")?)?,
        input: fields.object("tool_input")?,
        call_id: None,
        turn: fields.text(turn)?,
        permission_mode: fields.text("permission_mode")?,
        context: origin(fields)?,
    })
}

fn claude(fields: &Fields<'_>, event: &str) -> Result<HookMessage, Fault> {
    let call = |event| wanted(fields, event, "prompt_id");
    match event {
        "PreToolUse" => {
            let id = Some(fields.needed("tool_use_id")?);
            Ok(asks(Call { call_id: id, ..call(Event::ClaudePreToolUse)? }))
        }
        "PermissionRequest" => Ok(asks(call(Event::ClaudePermissionRequest)?)),
        "PostToolUse" => ran(fields, true),
        "PostToolUseFailure" => ran(fields, false),
        "Stop" | "StopFailure" | "SessionEnd" | "UserPromptSubmit" => stopped(fields, "session_id", event),
        _ => Err(unknown(Agent::ClaudeCode, event)),
    }
}

fn codex(fields: &Fields<'_>, event: &str) -> Result<HookMessage, Fault> {
    let call = |event| wanted(fields, event, "turn_id");
    match event {
        "PreToolUse" => {
            let id = Some(fields.needed("tool_use_id")?);
            Ok(asks(Call { call_id: id, ..call(Event::CodexPreToolUse)? }))
        }
        "PermissionRequest" => Ok(asks(call(Event::CodexPermissionRequest)?)),
        "PostToolUse" => ran(fields, !failed(fields.0.get("tool_response"))),
        "Stop" | "SessionEnd" | "UserPromptSubmit" => stopped(fields, "session_id", event),
        _ => Err(unknown(Agent::Codex, event)),
    }
}

fn gemini(fields: &Fields<'_>, event: &str) -> Result<HookMessage, Fault> {
    match event {
        "BeforeTool" => Ok(asks(Call {
            event: Event::GeminiBeforeTool,
            session: fields.needed("session_id")?,
            tool: tool(fields.needed("tool_name")?)?,
            input: fields.object("tool_input")?,
            call_id: None,
            turn: None,
            permission_mode: None,
            context: origin(fields)?,
        })),
        "AfterTool" => ran(fields, !failed(fields.0.get("tool_response"))),
        "AfterAgent" | "SessionEnd" => stopped(fields, "session_id", event),
        _ => Err(unknown(Agent::Gemini, event)),
    }
}

fn cursor(fields: &Fields<'_>, event: &str) -> Result<HookMessage, Fault> {
    let call = |event, name: String, input| {
        let mut context = fields.context(&[("cwd", "cwd"), ("transcript", "transcript_path")])?;
        if let Some(roots @ Value::Array(_)) = fields.0.get("workspace_roots") {
            context.insert("workspace_roots".to_owned(), roots.clone());
        }
        Ok(Call {
            event,
            session: fields.needed("conversation_id")?,
            tool: tool(name)?,
            input,
            call_id: fields.text("tool_use_id")?.filter(|id| !id.is_empty()),
            turn: fields.text("generation_id")?,
            permission_mode: None,
            context,
        })
    };
    let one =
        |name: &'static str| Ok(Map::from_iter([(name.to_owned(), Value::String(fields.needed(name)?))]));
    match event {
        "preToolUse" => {
            let input = fields.object_or_text("tool_input")?;
            Ok(asks(call(Event::CursorPreToolUse, fields.needed("tool_name")?, input)?))
        }
        "beforeShellExecution" => {
            Ok(asks(call(Event::CursorBeforeShell, "Shell".to_owned(), one("command")?)?))
        }
        "beforeMCPExecution" => {
            // A server's address or command distinguishes two tools of the same name.
            let mut mcp = call(
                Event::CursorBeforeMcp,
                format!("MCP:{}", fields.needed("tool_name")?),
                fields.object_or_text("tool_input")?,
            )?;
            mcp.context.extend(fields.context(&[("mcp_url", "url"), ("mcp_command", "command")])?);
            Ok(asks(mcp))
        }
        "beforeReadFile" => {
            Ok(asks(call(Event::CursorBeforeRead, "read_file".to_owned(), one("file_path")?)?))
        }
        "postToolUse" | "postToolUseFailure" => Ok(HookMessage::Ran(Box::new(FinishedCall {
            session: fields.needed("conversation_id")?,
            tool: fields.needed("tool_name")?,
            input: fields.object_or_text("tool_input").unwrap_or_default(),
            call_id: fields.text("tool_use_id")?,
            worked: event == "postToolUse",
        }))),
        "afterShellExecution" => Ok(HookMessage::Ran(Box::new(FinishedCall {
            session: fields.needed("conversation_id")?,
            tool: "Shell".to_owned(),
            input: one("command")?,
            call_id: None,
            worked: true,
        }))),
        "afterMCPExecution" => Ok(HookMessage::Ran(Box::new(FinishedCall {
            session: fields.needed("conversation_id")?,
            tool: format!("MCP:{}", fields.needed("tool_name")?),
            input: fields.object_or_text("tool_input").unwrap_or_default(),
            call_id: None,
            worked: true,
        }))),
        "stop" | "sessionEnd" => stopped(fields, "conversation_id", event),
        _ => Err(unknown(Agent::Cursor, event)),
    }
}

fn copilot(fields: &Fields<'_>, event: &str) -> Result<HookMessage, Fault> {
    // Every event has two spellings: camelCase, and a compatible PascalCase with other fields.
    let compatible = fields.0.contains_key("tool_name") || fields.0.contains_key("session_id");
    let (session, name, input) = if compatible {
        ("session_id", "tool_name", "tool_input")
    } else {
        ("sessionId", "toolName", "toolArgs")
    };
    let call = |event| {
        Ok(Call {
            event,
            session: fields.needed(session)?,
            tool: tool(fields.needed(name)?)?,
            input: fields.object_or_text(input)?,
            call_id: None,
            turn: None,
            permission_mode: None,
            context: fields.context(&[("cwd", "cwd")])?,
        })
    };
    let ran = |worked| {
        Ok(HookMessage::Ran(Box::new(FinishedCall {
            session: fields.needed(session)?,
            tool: fields.needed(name)?,
            input: fields.object_or_text(input).unwrap_or_default(),
            call_id: None,
            worked,
        })))
    };
    match event {
        "preToolUse" | "PreToolUse" if compatible => Ok(asks(call(Event::CopilotPreToolUseCompatible)?)),
        "preToolUse" | "PreToolUse" => Ok(asks(call(Event::CopilotPreToolUse)?)),
        "permissionRequest" | "PermissionRequest" => {
            // The arguments have several possible names.
            let input =
                [input, "toolInput", "tool_input"].iter().find_map(|name| fields.object_or_text(name).ok());
            let Some(input) = input else { return Err(Fault::Missing { name: "toolInput" }) };
            Ok(asks(Call {
                event: Event::CopilotPermissionRequest,
                session: fields.needed(session)?,
                tool: tool(fields.needed(name)?)?,
                input,
                call_id: None,
                turn: None,
                permission_mode: None,
                context: fields.context(&[("cwd", "cwd")])?,
            }))
        }
        "postToolUse" | "PostToolUse" => ran(true),
        "postToolUseFailure" | "PostToolUseFailure" => ran(false),
        "agentStop" | "Stop" | "sessionEnd" | "SessionEnd" => stopped(fields, session, event),
        _ => Err(unknown(Agent::Copilot, event)),
    }
}

fn opencode(fields: &Fields<'_>, event: &str) -> Result<HookMessage, Fault> {
    match event {
        "tool.execute.before" => Ok(asks(Call {
            event: Event::OpenCodeBefore,
            session: fields.needed("session_id")?,
            tool: tool(fields.needed("tool_name")?)?,
            input: fields.object("tool_input")?,
            call_id: Some(fields.needed("call_id")?),
            turn: None,
            permission_mode: None,
            context: fields.context(&[("cwd", "cwd")])?,
        })),
        "tool.execute.after" => Ok(HookMessage::Ran(Box::new(FinishedCall {
            session: fields.needed("session_id")?,
            tool: fields.needed("tool_name")?,
            input: fields.object("tool_input").unwrap_or_default(),
            call_id: fields.text("call_id")?,
            worked: true,
        }))),
        "session.idle" => stopped(fields, "session_id", event),
        _ => Err(unknown(Agent::OpenCode, event)),
    }
}

fn ran(fields: &Fields<'_>, worked: bool) -> Result<HookMessage, Fault> {
    Ok(HookMessage::Ran(Box::new(FinishedCall {
        session: fields.needed("session_id")?,
        tool: fields.needed("tool_name")?,
        input: fields.object("tool_input").unwrap_or_default(),
        call_id: fields.text("tool_use_id")?,
        worked,
    })))
}

fn stopped(fields: &Fields<'_>, session: &'static str, event: &str) -> Result<HookMessage, Fault> {
    let ended = matches!(event, "SessionEnd" | "sessionEnd");
    Ok(HookMessage::Stopped { session: fields.needed(session)?, ended })
}

/// Whether a result reports a failure.
fn failed(result: Option<&Value>) -> bool {
    let Some(Value::Object(result)) = result else { return false };
    let error = result.get("error").is_some_and(|error| !error.is_null());
    let code = ["exit_code", "exitCode"]
        .iter()
        .any(|name| result.get(*name).and_then(Value::as_i64).is_some_and(|code| code != 0));
    error || code || result.get("success") == Some(&Value::Bool(false))
}
