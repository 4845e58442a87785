//! A stand-in for an agent's model: it asks for one command, sees what came of it, and ends. It speaks just enough of four interfaces.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Context as _;
use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State},
    http::{StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

/// Agents send all their tools and instructions along.
const LONGEST: usize = 16 << 20;
/// The id of the one call.
const CALL: &str = "call_placet_doctor";
/// What the model says when it has nothing to ask for.
const LAST_WORDS: &str = "That is all.";
/// The shells of agents, and the argument that holds the command.
const SHELLS: [(&str, &str); 5] = [
    ("Bash", "command"),
    ("exec_command", "cmd"),
    ("shell_command", "command"),
    ("run_shell_command", "command"),
    ("bash", "command"),
];

/// What the agent told its model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Conversation {
    /// It began the conversation.
    pub(super) began: bool,
    /// The command was asked for: the agent offers a shell.
    pub(super) asked: bool,
    /// What came of the command.
    pub(super) result: Option<String>,
}

/// The stand-in, as long as it is kept.
pub(super) struct StandIn {
    pub(super) url: String,
    heard: Arc<Mutex<Conversation>>,
    _serving: JoinSet<std::io::Result<()>>,
}

impl StandIn {
    /// In a conversation with this prompt it asks for this command.
    pub(super) async fn start(prompt: &str, command: &str) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no port is free")?;
        let url = format!("http://{}", listener.local_addr()?);
        let heard = Arc::new(Mutex::new(Conversation::default()));
        let model =
            Model { prompt: prompt.to_owned(), command: command.to_owned(), heard: Arc::clone(&heard) };
        let routes =
            Router::new().fallback(answer).layer(DefaultBodyLimit::max(LONGEST)).with_state(Arc::new(model));
        // It ends with the set; an agent that cannot reach it says so itself.
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, routes).await });
        Ok(Self { url, heard, _serving: serving })
    }

    pub(super) fn heard(&self) -> Conversation {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

struct Model {
    prompt: String,
    command: String,
    heard: Arc<Mutex<Conversation>>,
}

async fn answer(State(model): State<Arc<Model>>, uri: Uri, body: Bytes) -> Response {
    let path = uri.path();
    let (Some(dialect), Ok(body)) = (Dialect::of(path), serde_json::from_slice::<Value>(&body)) else {
        let problem =
            json!({"error": {"type": "not_found_error", "message": "the stand-in does not know this"}});
        return (StatusCode::NOT_FOUND, axum::Json(problem)).into_response();
    };
    let streams = match dialect {
        Dialect::Gemini => path.ends_with(":streamGenerateContent"),
        _ => body.get("stream") == Some(&Value::Bool(true)),
    };
    if path.ends_with(":countTokens") || path.ends_with("/count_tokens") {
        return axum::Json(json!({"totalTokens": 1, "input_tokens": 1})).into_response();
    }
    dialect.reply(&model.says(dialect, &body), &body).response(streams)
}

/// What the model says next.
#[derive(Debug, PartialEq)]
enum ModelTurn {
    Call { tool: &'static str, input: Value },
    LastWords,
}

impl Model {
    fn says(&self, dialect: Dialect, body: &Value) -> ModelTurn {
        let ours = body.get(dialect.talk()).is_some_and(|talk| talk.to_string().contains(&self.prompt));
        let tools = dialect.tools(body);
        if !ours || tools.is_empty() {
            return ModelTurn::LastWords; // A title for the session, or a summary.
        }
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.began = true;
        if let Some(result) = dialect.result(body) {
            heard.result = Some(result);
            return ModelTurn::LastWords;
        }
        let Some((tool, argument)) = SHELLS.iter().find(|(name, _)| tools.contains(name)) else {
            return ModelTurn::LastWords;
        };
        heard.asked = true;
        let mut input = json!({ *argument: self.command });
        if *argument == "command" {
            input["description"] = json!("ModelTurn a word");
        }
        ModelTurn::Call { tool, input }
    }
}

/// The interface of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// Anthropic's messages.
    Messages,
    /// `OpenAI`'s responses.
    Responses,
    Gemini,
    /// Chat completions.
    Chat,
}

/// One answer, whole and in pieces.
struct Reply {
    whole: Value,
    /// Each with the name of its event, where the interface has one.
    events: Vec<(Option<String>, Value)>,
    /// What ends the stream.
    end: &'static str,
}

impl Reply {
    fn response(self, streams: bool) -> Response {
        if !streams {
            return axum::Json(self.whole).into_response();
        }
        let mut text = String::new();
        for (name, data) in self.events {
            // Writing to a string cannot fail.
            if let Some(name) = name {
                let _ = writeln!(text, "event: {name}");
            }
            let _ = write!(text, "data: {data}\n\n");
        }
        text.push_str(self.end);
        ([(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")], text)
            .into_response()
    }
}

impl Dialect {
    fn of(path: &str) -> Option<Self> {
        match path {
            "/v1/messages" | "/v1/messages/count_tokens" => Some(Self::Messages),
            "/v1/responses" => Some(Self::Responses),
            "/v1/chat/completions" => Some(Self::Chat),
            _ if path.starts_with("/v1beta/models/") => Some(Self::Gemini),
            _ => None,
        }
    }

    /// The member of a body that holds the conversation.
    fn talk(self) -> &'static str {
        match self {
            Self::Messages | Self::Chat => "messages",
            Self::Responses => "input",
            Self::Gemini => "contents",
        }
    }

    /// The names of the tools that are offered.
    fn tools(self, body: &Value) -> Vec<&str> {
        let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
        match self {
            Self::Messages | Self::Responses => tools.filter_map(name).collect(),
            Self::Chat => tools.filter_map(|tool| name(tool.get("function")?)).collect(),
            Self::Gemini => {
                let lists = tools.filter_map(|tool| tool.get("functionDeclarations")?.as_array());
                lists.flatten().filter_map(name).collect()
            }
        }
    }

    /// What came of the one call, if the agent says so.
    fn result(self, body: &Value) -> Option<String> {
        let talk = body.get(self.talk())?.as_array()?;
        let is = |item: &Value, key: &str, word: &str| item.get(key).and_then(Value::as_str) == Some(word);
        let found = match self {
            Self::Messages => {
                let mut blocks =
                    talk.iter().filter_map(|message| message.get("content")?.as_array()).flatten();
                blocks.rfind(|block| is(block, "tool_use_id", CALL))?.get("content")?
            }
            Self::Responses => {
                let output =
                    |item: &&Value| is(item, "type", "function_call_output") && is(item, "call_id", CALL);
                talk.iter().rfind(output)?.get("output")?
            }
            Self::Chat => talk.iter().rfind(|message| is(message, "tool_call_id", CALL))?.get("content")?,
            Self::Gemini => {
                let parts = talk.iter().filter_map(|content| content.get("parts")?.as_array()).flatten();
                parts.filter_map(|part| part.get("functionResponse")).next_back()?.get("response")?
            }
        };
        let parts = found.as_array().into_iter().flatten();
        let texts: Vec<&str> = parts.filter_map(|part| part.get("text")?.as_str()).collect();
        Some(match found {
            Value::String(text) => text.clone(),
            Value::Array(_) if !texts.is_empty() => texts.join("\n"),
            other => other.to_string(),
        })
    }

    fn reply(self, says: &ModelTurn, body: &Value) -> Reply {
        let model = body.get("model").cloned().unwrap_or_else(|| json!("stand-in"));
        match self {
            Self::Messages => messages(says, &model),
            Self::Responses => responses(says),
            Self::Gemini => gemini(says),
            Self::Chat => chat(says, &model),
        }
    }
}

fn messages(says: &ModelTurn, model: &Value) -> Reply {
    let (stop, start, delta, block) = match says {
        ModelTurn::Call { tool, input } => (
            "tool_use",
            json!({"type": "tool_use", "id": CALL, "name": tool, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            json!({"type": "tool_use", "id": CALL, "name": tool, "input": input}),
        ),
        ModelTurn::LastWords => (
            "end_turn",
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": LAST_WORDS}),
            json!({"type": "text", "text": LAST_WORDS}),
        ),
    };
    let message = |content: Value, stop: Value| {
        json!({"id": "msg_stand_in", "type": "message", "role": "assistant", "model": model, "content": content,
            "stop_reason": stop, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}})
    };
    let events = [
        json!({"type": "message_start", "message": message(json!([]), Value::Null)}),
        json!({"type": "content_block_start", "index": 0, "content_block": start}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ];
    Reply { whole: message(json!([block]), json!(stop)), events: named(events), end: "" }
}

fn responses(says: &ModelTurn) -> Reply {
    let item = match says {
        ModelTurn::Call { tool, input } => {
            json!({"type": "function_call", "id": "fc_placet_doctor", "call_id": CALL,
            "name": tool, "arguments": input.to_string(), "status": "completed"})
        }
        ModelTurn::LastWords => {
            json!({"type": "message", "id": "msg_stand_in", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": LAST_WORDS, "annotations": []}]})
        }
    };
    let usage = json!({"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2});
    let response = |status: &str, output: Value| json!({"id": "resp_stand_in", "status": status, "output": output, "usage": usage});
    let whole = response("completed", json!([item]));
    let events = [
        json!({"type": "response.created", "response": response("in_progress", json!([]))}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": whole}),
    ];
    Reply { whole, events: named(events), end: "" }
}

fn gemini(says: &ModelTurn) -> Reply {
    let part = match says {
        ModelTurn::Call { tool, input } => json!({"functionCall": {"id": CALL, "name": tool, "args": input}}),
        ModelTurn::LastWords => json!({"text": LAST_WORDS}),
    };
    let whole = json!({
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": "stand-in",
    });
    Reply { events: vec![(None, whole.clone())], whole, end: "" }
}

fn chat(says: &ModelTurn, model: &Value) -> Reply {
    let (finish, message) = match says {
        ModelTurn::Call { tool, input } => {
            let function = json!({"name": tool, "arguments": input.to_string()});
            let calls = json!([{"index": 0, "id": CALL, "type": "function", "function": function}]);
            ("tool_calls", json!({"role": "assistant", "content": null, "tool_calls": calls}))
        }
        ModelTurn::LastWords => ("stop", json!({"role": "assistant", "content": LAST_WORDS})),
    };
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
    let chunk = |choice: Value| {
        json!({"id": "chatcmpl_stand_in", "created": 0, "model": model, "object": "chat.completion.chunk",
            "choices": [choice], "usage": usage})
    };
    let events = vec![
        (None, chunk(json!({"index": 0, "delta": message, "finish_reason": null}))),
        (None, chunk(json!({"index": 0, "delta": {}, "finish_reason": finish}))),
    ];
    let whole = json!({"id": "chatcmpl_stand_in", "created": 0, "model": model, "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage});
    Reply { whole, events, end: "data: [DONE]\n\n" }
}

/// The name of a tool.
fn name(tool: &Value) -> Option<&str> {
    tool.get("name")?.as_str()
}

/// Each with its type as the name of its event.
fn named<const N: usize>(events: [Value; N]) -> Vec<(Option<String>, Value)> {
    let name = |event: &Value| event.get("type").and_then(Value::as_str).map(str::to_owned);
    events.into_iter().map(|event| (name(&event), event)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> Model {
        Model { prompt: "the prompt".to_owned(), command: "echo a".to_owned(), heard: Arc::default() }
    }

    fn heard(model: &Model) -> Conversation {
        model.heard.lock().unwrap().clone()
    }

    #[test]
    fn the_command_is_asked_for_once_in_each_interface_and_what_came_of_it_is_heard() {
        let talk = json!([{"role": "user", "content": "do: the prompt"}]);
        let bodies = [
            (
                Dialect::Messages,
                json!({"messages": talk, "tools": [{"name": "Read"}, {"name": "Bash"}]}),
                json!({"messages": [talk[0], {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": CALL, "content": [{"type": "text", "text": "a"}]}]}],
                    "tools": [{"name": "Bash"}]}),
            ),
            (
                Dialect::Responses,
                json!({"input": talk, "tools": [{"name": "exec_command"}]}),
                json!({"input": [talk[0], {"type": "function_call_output", "call_id": CALL, "output": "a"}],
                    "tools": [{"name": "exec_command"}]}),
            ),
            (
                Dialect::Gemini,
                json!({"contents": talk, "tools": [{"functionDeclarations": [{"name": "run_shell_command"}]}]}),
                json!({"contents": [talk[0], {"parts": [{"functionResponse": {"response": [{"text": "a"}]}}]}],
                    "tools": [{"functionDeclarations": [{"name": "run_shell_command"}]}]}),
            ),
            (
                Dialect::Chat,
                json!({"messages": talk, "tools": [{"function": {"name": "bash"}}]}),
                json!({"messages": [talk[0], {"role": "tool", "tool_call_id": CALL, "content": "a"}],
                    "tools": [{"function": {"name": "bash"}}]}),
            ),
        ];
        for (dialect, first, second) in bodies {
            let model = model();
            let ModelTurn::Call { input, .. } = model.says(dialect, &first) else { panic!("{dialect:?}") };
            assert!(input.to_string().contains("echo a"), "{input}");
            assert_eq!(heard(&model), Conversation { began: true, asked: true, result: None });
            assert_eq!(model.says(dialect, &second), ModelTurn::LastWords, "{dialect:?}");
            assert_eq!(heard(&model).result.as_deref(), Some("a"), "{dialect:?}");
        }
    }

    #[test]
    fn other_conversations_and_agents_without_a_shell_are_asked_for_nothing() {
        let model = model();
        let title = json!({"messages": [{"content": "a title for: the prompt"}], "tools": []});
        let other = json!({"messages": [{"content": "hello"}], "tools": [{"name": "Bash"}]});
        for body in [&title, &other] {
            assert_eq!(model.says(Dialect::Messages, body), ModelTurn::LastWords);
        }
        assert_eq!(heard(&model), Conversation::default());
        let none = json!({"messages": [{"content": "the prompt"}], "tools": [{"name": "Read"}]});
        assert_eq!(model.says(Dialect::Messages, &none), ModelTurn::LastWords);
        assert_eq!(heard(&model), Conversation { began: true, asked: false, result: None });
    }
}
