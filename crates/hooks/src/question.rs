//! Questions that Claude Code's agent asks a person (`AskUserQuestion`): each becomes a request of the kind `input`.

use placet_core::{Create, InputSpec, InputType, Kind};
use serde_json::{Map, Value};

use crate::{Call, CallRequest, Event};

/// One question, ready to be asked.
#[derive(Debug, Clone)]
pub struct Question {
    /// Its text, which is also its name in the answer.
    pub text: String,
    /// The body of the create call.
    pub create: Create,
}

/// Most questions of one call.
const MOST: usize = 8;

/// The questions of a call of this tool. The error says why they cannot be asked.
pub fn questions(asking: &CallRequest<'_>, call: &Call) -> Option<Result<Vec<Question>, String>> {
    let claude = matches!(call.event, Event::ClaudePreToolUse | Event::ClaudePermissionRequest);
    if !claude || call.tool != "AskUserQuestion" {
        return None;
    }
    Some(read(asking, call))
}

fn read(asking: &CallRequest<'_>, call: &Call) -> Result<Vec<Question>, String> {
    let Some(Value::Array(listed)) = call.input.get("questions") else {
        return Err("`questions` is missing".to_owned());
    };
    if !(1..=MOST).contains(&listed.len()) {
        return Err(format!("expected 1 to {MOST} questions, there are {}", listed.len()));
    }
    let mut questions: Vec<Question> = Vec::new();
    for item in listed {
        let text = item.get("question").and_then(Value::as_str).ok_or("a question has no text")?.to_owned();
        if questions.iter().any(|question| question.text == text) {
            return Err("two questions have the same text".to_owned());
        }
        let options: Option<Vec<String>> = match item.get("options") {
            None | Some(Value::Null) => None,
            Some(Value::Array(options)) => {
                let label = |option: &Value| option.get("label").and_then(Value::as_str).map(str::to_owned);
                Some(options.iter().map(label).collect::<Option<_>>().ok_or("an option has no label")?)
            }
            Some(_) => return Err("`options` is not a list".to_owned()),
        };
        let many = item.get("multiSelect").and_then(Value::as_bool).unwrap_or(false);
        let kind = match (options.as_ref().is_some_and(|options| !options.is_empty()), many) {
            (false, _) => InputType::Text,
            (true, false) => InputType::Choice,
            (true, true) => InputType::MultiChoice,
        };
        let options = options.filter(|options| !options.is_empty());
        let mut create = Create::new(Kind::Input, call.session_name());
        let mut context = asking.context();
        // The meanings of the options are not part of a choice, but the person should see them.
        context.insert("question".to_owned(), item.clone());
        create.context = Some(context);
        create.question = Some(text.clone());
        create.input = Some(InputSpec { kind, min: None, max: None, options });
        create.group.clone_from(&call.call_id);
        let action = asking.create();
        (create.expires_in, create.on_behalf_of) = (action.expires_in, action.on_behalf_of);
        questions.push(Question { text, create });
    }
    Ok(questions)
}

/// The input with which the tool is run once all its questions are answered, in the order they were asked.
pub fn answered(call: &Call, answers: &[(String, Value)]) -> Result<Map<String, Value>, String> {
    let mut given = Map::new();
    for (text, answer) in answers {
        let answer = match answer {
            Value::String(answer) => answer.clone(),
            Value::Array(several) => {
                let texts: Option<Vec<&str>> = several.iter().map(Value::as_str).collect();
                texts.ok_or("an answer is not text")?.join(", ")
            }
            _ => return Err("an answer is not text".to_owned()),
        };
        given.insert(text.clone(), Value::String(answer));
    }
    let mut input = call.input.clone();
    input.insert("answers".to_owned(), Value::Object(given));
    Ok(input)
}
