//! kagent's `requireApproval`: the listed tools of an agent wait, its other listed tools run.

use serde_json::{Map, Value};

use super::{ImportError, Imported, NewRule, Writer, check_size, quoted, rule_name, unreadable, yaml};
use crate::{shell::escaped, trust::is_shell_tool};

/// Makes a policy from agent resources in YAML or JSON, or from the agent configuration the controller writes.
pub fn kagent(text: &str) -> Result<Imported, ImportError> {
    check_size(text)?;
    let documents = yaml::documents(text).map_err(|message| {
        unreadable(
            format!("this is not YAML that can be read: {message}"),
            "give the Agent resource as `kubectl get agent -o json` prints it",
        )
    })?;
    let mut found = Vec::new();
    for document in &documents {
        let items = match document.get("items").and_then(Value::as_array) {
            Some(items) => items.iter().collect(),
            None => vec![document],
        };
        for item in items {
            let agent = item
                .pointer("/metadata/name")
                .or_else(|| item.get("name"))
                .and_then(Value::as_str)
                .map(str::to_owned);
            collect(item, agent.as_deref(), 0, &mut found)?;
        }
    }
    if found.is_empty() {
        return Err(unreadable(
            "there is no list of tools with `requireApproval` here",
            "give an Agent resource, or the `http_tools` of its configuration",
        ));
    }
    let mut writer = Writer::new("kagent");
    let mut held: Vec<String> = Vec::new();
    let mut allowed: Vec<(Option<String>, Vec<String>)> = Vec::new();
    for server in found {
        let approval = writer.tools("requireApproval", server.approval);
        if server.tools.is_empty() {
            writer.note(
                "toolNames",
                "is empty, so the server's tools are not known here and wait",
                "a tool that no rule names is never allowed",
            );
        }
        for tool in approval.iter().filter(|tool| !server.tools.is_empty() && !server.tools.contains(tool)) {
            writer.note(
                "requireApproval",
                format!("`{tool}` is not among the tools of its server; it waits nevertheless"),
                "kagent ignores such an entry, which hides a misspelt name",
            );
        }
        let rest = writer
            .tools("toolNames", server.tools.into_iter().filter(|tool| !approval.contains(tool)).collect());
        held.extend(approval);
        allowed.push((server.agent, rest));
    }
    held.sort();
    held.dedup();
    if !held.is_empty() {
        writer.note(
            "requireApproval",
            "holds the tools for every agent, not only for the one that lists them",
            "the same tool does the same thing whoever calls it",
        );
        writer.rule(
            &NewRule::new("require-approval", "hold", "requireApproval asks a person")
                .tools(&held)
                .line("risk", "\"high\""),
        );
    }
    for (index, (agent, tools)) in (1_u32..).zip(allowed) {
        let mut listed = Vec::new();
        for tool in tools {
            if held.contains(&tool) {
                writer.note(
                    "toolNames",
                    format!("`{tool}` waits, because another server or agent requires approval for it"),
                    "of two opposite settings the stricter one holds",
                );
            } else if is_shell_tool(&tool) || tool.ends_with("execute_command") {
                writer.note(
                    "toolNames",
                    format!("`{tool}` waits"),
                    "it takes any command, so letting the tool run lets everything run",
                );
            } else {
                listed.push(tool);
            }
        }
        if listed.is_empty() {
            continue;
        }
        let name = agent
            .as_deref()
            .map_or_else(|| format!("tools-{index}"), |agent| rule_name(&format!("tools-{index}"), agent));
        let mut rule = NewRule::new(name, "allow", "kagent lets this agent use these tools without approval")
            .tools(&listed)
            .line("risk", "\"low\"");
        match agent.filter(|agent| !agent.contains(['*', '?', '[', ']', '{', '}', '\\'])) {
            Some(agent) => {
                writer.note(
                    "toolNames",
                    format!("are allowed to the agent `{}` alone", escaped(&agent)),
                    "another agent with the same tool was never listed; name its key like the kagent agent",
                );
                rule = rule.line("agent", quoted(&agent));
            }
            None => writer.note(
                "toolNames",
                "are allowed to every agent, because the resource names none",
                "add `agent = \"…\"` to the rule",
            ),
        }
        writer.rule(&rule);
    }
    writer.finish()
}

struct Server {
    agent: Option<String>,
    tools: Vec<String>,
    approval: Vec<String>,
}

/// Every object with a list of tools, wherever in the resource it stands.
fn collect(
    value: &Value,
    agent: Option<&str>,
    depth: usize,
    found: &mut Vec<Server>,
) -> Result<(), ImportError> {
    const DEPTH: usize = 64;
    const SERVERS: usize = 1_000;
    if depth > DEPTH || found.len() > SERVERS {
        return Err(unreadable(
            "the resource is too deep or lists too many servers",
            "give one agent at a time",
        ));
    }
    match value {
        Value::Object(map) => {
            let approval = names(map, &["requireApproval", "require_approval"])?;
            let tools = names(map, &["toolNames", "tools"]);
            // `tools` is also what kagent calls the list of servers: then its elements are objects, and are gone into.
            let tools = if approval.is_some() || map.contains_key("toolNames") || map.contains_key("params") {
                tools?
            } else {
                None
            };
            if approval.is_some() || tools.is_some() {
                found.push(Server {
                    agent: agent.map(str::to_owned),
                    tools: tools.unwrap_or_default(),
                    approval: approval.unwrap_or_default(),
                });
            }
            map.values().try_for_each(|inner| collect(inner, agent, depth.saturating_add(1), found))
        }
        Value::Array(list) => {
            list.iter().try_for_each(|inner| collect(inner, agent, depth.saturating_add(1), found))
        }
        _ => Ok(()),
    }
}

fn names(map: &Map<String, Value>, keys: &[&str]) -> Result<Option<Vec<String>>, ImportError> {
    let Some((key, value)) = keys.iter().find_map(|key| Some((key, map.get(*key)?))) else { return Ok(None) };
    let wrong = || unreadable(format!("`{key}` is not a list of tool names"), "write it as a list of texts");
    match value {
        Value::Null => Ok(None),
        Value::Array(list) => list
            .iter()
            .map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong))
            .collect::<Result<_, _>>()
            .map(Some),
        _ => Err(wrong()),
    }
}
