//! Arguments that change what is shown and not what is done: standing approvals and trust do not compare them.

use crate::{Call, glob::Name, rule::Rule};

/// One `[[cosmetic]]`: which arguments of which tools, for which agents.
#[derive(Debug, Clone)]
pub(crate) struct Cosmetic {
    /// By name, without wildcards: a list that anybody can read to its end.
    pub(crate) tool: Vec<String>,
    /// Empty for every agent.
    pub(crate) agent: Vec<Name>,
    /// Names of arguments, at the top only.
    pub(crate) arguments: Vec<String>,
}

/// Words in the name of an argument that acts, in the singular. `working_directory` and `filePath` have one of them.
const ACTING: &[&str] = &[
    "action",
    "address",
    "amount",
    "arg",
    "argument",
    "argv",
    "async",
    "background",
    "binary",
    "body",
    "branch",
    "channel",
    "cmd",
    "code",
    "command",
    "commandline",
    "commit",
    "content",
    "count",
    "cwd",
    "data",
    "database",
    "destination",
    "dir",
    "directory",
    "edit",
    "endpoint",
    "env",
    "environment",
    "exec",
    "executable",
    "expression",
    "file",
    "filename",
    "filepath",
    "folder",
    "force",
    "from",
    "glob",
    "header",
    "host",
    "hostname",
    "iban",
    "id",
    "image",
    "include",
    "input",
    "key",
    "line",
    "method",
    "mode",
    "name",
    "namespace",
    "new",
    "old",
    "operation",
    "option",
    "param",
    "parameter",
    "password",
    "patch",
    "path",
    "pattern",
    "payload",
    "permission",
    "pid",
    "port",
    "price",
    "process",
    "program",
    "prompt",
    "query",
    "quantity",
    "recipient",
    "recursive",
    "ref",
    "replace",
    "replacement",
    "request",
    "resource",
    "root",
    "sandbox",
    "script",
    "secret",
    "sender",
    "session",
    "shell",
    "source",
    "sql",
    "statement",
    "stdin",
    "sudo",
    "table",
    "target",
    "task",
    "text",
    "to",
    "token",
    "tool",
    "uri",
    "url",
    "user",
    "username",
    "value",
    "workdir",
];

/// The word by which a name is known to act, if it is.
pub(crate) fn acts(name: &str) -> Option<&'static str> {
    words(name).iter().find_map(|word| {
        let singular = word.strip_suffix('s').unwrap_or(word);
        ACTING.iter().find(|acting| *acting == word || **acting == singular).copied()
    })
}

/// `runInBackground` and `run_in_background` are the same three words.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut small = false;
    for letter in name.chars() {
        let begins = letter.is_uppercase() && small;
        small = letter.is_lowercase() || letter.is_numeric();
        if begins || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.push(name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect());
    words
}

/// The rule that looks at this argument of this tool, if one does. To ask whether it is there is not to look at it.
pub(crate) fn looked_at<'r>(rules: &'r [Rule], tool: &str, argument: &str) -> Option<&'r str> {
    let about = |rule: &&Rule| rule.tool.is_empty() || rule.tool.iter().any(|name| name.matches(tool));
    let looks = |rule: &&Rule| {
        let at = rule.arguments.iter().filter(|looked| looked.path.first() == Some(argument));
        at.into_iter().any(|looked| !looked.matcher.asks_only_presence())
    };
    rules.iter().find(|rule| about(rule) && looks(rule)).map(|rule| rule.name.as_str())
}

/// Takes out what some rule looks at: a preset does not call cosmetic what the file decides by.
pub(crate) fn without_looked_at(lists: Vec<Cosmetic>, rules: &[Rule]) -> Vec<Cosmetic> {
    let split = lists.into_iter().flat_map(|list| {
        let Cosmetic { tool, agent, arguments } = list;
        tool.into_iter().map(move |tool| Cosmetic {
            tool: vec![tool],
            agent: agent.clone(),
            arguments: arguments.clone(),
        })
    });
    split
        .map(|mut list| {
            let tool = list.tool.first().cloned().unwrap_or_default();
            list.arguments.retain(|argument| looked_at(rules, &tool, argument).is_none());
            list
        })
        .collect()
}

/// The arguments of this agent's calls of this tool that are not compared, each once and in order.
pub(crate) fn cosmetic(lists: &[Cosmetic], call: &Call<'_>) -> Vec<String> {
    let Some(tool) = call.tool else { return Vec::new() };
    let about = |list: &&Cosmetic| {
        list.tool.iter().any(|name| name == tool)
            && (list.agent.is_empty() || list.agent.iter().any(|name| name.matches(call.agent)))
    };
    let names = lists.iter().filter(about).flat_map(|list| list.arguments.iter().cloned());
    names.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_act_are_known_by_any_of_their_words() {
        for name in [
            "command",
            "commands",
            "cmd",
            "script",
            "file_path",
            "filePath",
            "FilePath",
            "path",
            "paths",
            "cwd",
            "content",
            "working_directory",
            "workingDirectory",
            "run_in_background",
            "is_background",
            "isBackground",
            "sql",
            "env",
            "dangerouslyDisableSandbox",
            "sandbox_permissions",
            "new_string",
            "prompt",
            "to",
            "x-url",
            "WORKDIR",
            "work_dir",
        ] {
            assert!(acts(name).is_some(), "{name}");
        }
        for name in [
            "description",
            "timeout",
            "timeout_ms",
            "explanation",
            "justification",
            "yield_time_ms",
            "goal",
            "reason",
        ] {
            assert_eq!(acts(name), None, "{name}");
        }
    }
}
