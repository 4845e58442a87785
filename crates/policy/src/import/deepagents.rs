//! deepagents' `interrupt_on`: tools that wait, for the agent and for each of its sub-agents apart.

use placet_core::DecisionWord;
use serde_json::{Map, Value};

use super::{ImportError, Imported, NewRule, Writer, check_size, quoted, rule_name, unreadable, yaml};
use crate::{shell::escaped, trust::is_shell_tool};

/// Makes a policy from an `interrupt_on` map in JSON, YAML or as Python prints it, alone or with `subagents` beside it.
pub fn deepagents(text: &str) -> Result<Imported, ImportError> {
    check_size(text)?;
    let mut documents = yaml::documents(text).map_err(|message| {
        unreadable(
            format!("this cannot be read: {message}"),
            "give `{\"interrupt_on\": {\"write_file\": true}}` as JSON",
        )
    })?;
    let (Some(Value::Object(root)), true) = (documents.pop(), documents.is_empty()) else {
        return Err(unreadable("an `interrupt_on` map is one object", "give `{\"write_file\": true}`"));
    };
    let nested = root.contains_key("interrupt_on") || root.contains_key("subagents");
    let whole = Value::Object(root.clone());
    let main = if nested { root.get("interrupt_on") } else { Some(&whole) };
    let mut writer = Writer::new("a deepagents interrupt_on map");
    let settings = match main {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(map)) => map.clone(),
        Some(_) => return Err(unreadable("`interrupt_on` is not a map", "write `{\"write_file\": true}`")),
    };
    rules(&mut writer, &settings, None)?;
    let subagents = match root.get("subagents").filter(|_| nested) {
        None | Some(Value::Null) => &[],
        Some(Value::Array(list)) => list.as_slice(),
        Some(_) => {
            return Err(unreadable(
                "`subagents` is not a list",
                "write `[{\"name\": \"coder\", \"interrupt_on\": {…}}]`",
            ));
        }
    };
    for subagent in subagents {
        let name = subagent
            .get("name")
            .and_then(Value::as_str)
            .ok_or_else(|| unreadable("a sub-agent has no name", "add its `name`"))?;
        match subagent.get("interrupt_on") {
            None | Some(Value::Null) => {}
            Some(Value::Object(map)) => rules(&mut writer, map, Some(name))?,
            Some(_) => {
                return Err(unreadable(
                    format!("`interrupt_on` of `{}` is not a map", escaped(name)),
                    "write `{\"write_file\": true}`",
                ));
            }
        }
    }
    writer.note(
        "interrupt_on",
        "tools that it does not name wait",
        "deepagents runs every tool it was not told about; a tool that no rule names is never allowed here",
    );
    writer.finish()
}

fn rules(
    writer: &mut Writer,
    settings: &Map<String, Value>,
    subagent: Option<&str>,
) -> Result<(), ImportError> {
    let from = subagent
        .map_or_else(|| "interrupt_on".to_owned(), |name| format!("interrupt_on of {}", escaped(name)));
    let mut held: Vec<(Option<Vec<DecisionWord>>, Vec<String>)> = Vec::new();
    let mut free = Vec::new();
    for (tool, setting) in settings {
        let words = match setting {
            Value::Bool(false) => {
                free.push(tool.clone());
                continue;
            }
            Value::Bool(true) => None,
            Value::Object(config) => decisions(tool, config)?,
            _ => {
                return Err(unreadable(
                    format!("`{}` is neither true nor false", escaped(tool)),
                    "write `true` where a person must be asked",
                ));
            }
        };
        match held.iter_mut().find(|(known, _)| *known == words) {
            Some((_, tools)) => tools.push(tool.clone()),
            None => held.push((words, vec![tool.clone()])),
        }
    }
    if let Some(name) = subagent.filter(|name| {
        name.contains(['*', '?', '[', ']', '{', '}', '\\']) || name.is_empty() || name.len() > 200
    }) {
        return Err(unreadable(
            format!("`{}` cannot name a sub-agent here", escaped(name)),
            "use letters, digits and - _ .",
        ));
    }
    for (index, (words, tools)) in (1_u32..).zip(held) {
        let tools = writer.tools(&from, tools);
        if tools.is_empty() {
            continue;
        }
        let name = subagent.map_or_else(
            || format!("interrupt-{index}"),
            |name| rule_name(&format!("interrupt-{index}"), name),
        );
        let mut rule =
            NewRule::new(name, "hold", "interrupt_on asks a person").tools(&tools).line("risk", "\"medium\"");
        if let Some(words) = words {
            rule = rule.line(
                "decisions",
                format!(
                    "[{}]",
                    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
                ),
            );
        }
        match subagent {
            Some(name) => rule = rule.line("lineage", quoted(name)),
            None => writer.note(&from, "also holds these tools for sub-agents", "the chain of agents is what an agent says of itself; leaving it out must not make a call pass"),
        }
        writer.rule(&rule);
    }
    allow(writer, &from, free, subagent);
    Ok(())
}

fn allow(writer: &mut Writer, from: &str, free: Vec<String>, subagent: Option<&str>) {
    let tools = writer.tools(from, free);
    if tools.is_empty() {
        return;
    }
    if let Some(name) = subagent {
        writer.note(
            from,
            format!(
                "{} waits, unless the parent's settings let it run",
                tools.iter().map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(", ")
            ),
            format!(
                "a sub-agent is only claimed; give `{}` a key of its own to allow it more",
                escaped(name)
            ),
        );
        return;
    }
    let (shells, tools): (Vec<String>, Vec<String>) = tools.into_iter().partition(|tool| is_shell_tool(tool));
    for tool in shells {
        writer.note(
            from,
            format!("`{tool}` waits, although it was set to false"),
            "it takes any command, so letting the tool run lets everything run",
        );
    }
    if !tools.is_empty() {
        writer.rule(
            &NewRule::new("free", "allow", "interrupt_on lets these tools run")
                .tools(&tools)
                .line("risk", "\"low\""),
        );
    }
}

/// `allowed_decisions`, in our words.
fn decisions(tool: &str, config: &Map<String, Value>) -> Result<Option<Vec<DecisionWord>>, ImportError> {
    let wrong = || {
        unreadable(
            format!("the decisions of `{}` are not known", escaped(tool)),
            "use approve, edit, reject and respond",
        )
    };
    let Some(list) = config.get("allowed_decisions") else { return Ok(None) };
    let mut words = vec![DecisionWord::Deny];
    for word in list.as_array().ok_or_else(wrong)? {
        words.push(match word.as_str() {
            Some("approve" | "accept") => DecisionWord::Approve,
            Some("edit") => DecisionWord::Edit,
            Some("reject" | "ignore" | "deny") => DecisionWord::Deny,
            Some("respond" | "response") => DecisionWord::Respond,
            _ => return Err(wrong()),
        });
    }
    words.sort();
    words.dedup();
    Ok(Some(words))
}
