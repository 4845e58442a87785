//! What makes two calls the same thing for trust and for grants, and when only the whole call can be.

use placet_core::Kind;
use serde_json::{Map, Value};

use crate::{Call, Trust, call::server_of, evaluate::Rules, glob::Name, path::Path};

/// Tools that take a command line, by the last part of their name and in lower case.
const SHELL_TOOLS: &[&str] = &[
    "bash",
    "sh",
    "zsh",
    "fish",
    "shell",
    "local_shell",
    "terminal",
    "exec",
    "execute",
    "exec_command",
    "execute_command",
    "execute_bash",
    "execute_shell_command",
    "run",
    "run_command",
    "run_shell",
    "run_bash",
    "run_shell_command",
    "run_terminal_cmd",
    "run_terminal_command",
    "run_in_terminal",
    "runinterminal",
    "powershell",
    "pwsh",
    "cmd",
    "python",
    "python_exec",
    "run_python",
    "execute_code",
    "code_interpreter",
    "eval",
    "repl",
    "ssh",
    "sudo",
    "spawn",
    "write_stdin",
    "unified_exec",
    "shell_command",
];

/// Arguments that hold a command or a program, whatever the tool is called.
const COMMAND_KEYS: &[&str] = &[
    "command",
    "cmd",
    "commands",
    "command_line",
    "commandline",
    "script",
    "shell",
    "code",
    "sql",
    "statement",
];

/// Whether a tool is known to take free-form commands. `mcp__ops__Bash` is `Bash`.
pub fn is_shell_tool(tool: &str) -> bool {
    let last = tool.rsplit(['/', ':', '.']).next().unwrap_or(tool);
    let last = last.rsplit("__").next().unwrap_or(last);
    SHELL_TOOLS.iter().any(|known| known.eq_ignore_ascii_case(last))
}

/// Whether a call carries a command: by the tool's name or by the name of an argument.
pub(crate) fn carries_command(tool: &str, arguments: &Map<String, Value>) -> bool {
    is_shell_tool(tool)
        || arguments.keys().any(|key| COMMAND_KEYS.iter().any(|known| known.eq_ignore_ascii_case(key)))
}

/// The same, and also when some rule for the tool looks at one of its arguments as a command.
pub(crate) fn free_form(rules: &Rules, call: &Call<'_>) -> bool {
    let (Some(tool), Some(arguments)) = (call.tool, call.arguments) else { return false };
    let server = server_of(tool);
    let listed = |names: &[Name], value: Option<&str>| {
        names.is_empty() || value.is_some_and(|value| names.iter().any(|name| name.matches(value)))
    };
    carries_command(tool, arguments)
        || rules.list.iter().any(|rule| {
            // A rule that looks at every text says of none that it is a command.
            rule.arguments
                .iter()
                .any(|argument| !argument.path.is_deep() && argument.matcher.looks_at_commands())
                && listed(&rule.tool, Some(tool))
                && listed(&rule.server, server)
        })
}

/// What must be equal for two calls to be the same thing: the whole arguments, or the template's values by pointer.
/// `None` when trust cannot apply: no action, a value that is missing, or a template over a free-form command.
pub fn trust_material(call: &Call<'_>, trust: &Trust) -> Option<Value> {
    if call.kind != Kind::Action {
        return None;
    }
    let (tool, arguments) = (call.tool?, call.arguments?);
    let Some(template) = &trust.template else { return Some(Value::Object(arguments.clone())) };
    if carries_command(tool, arguments) {
        return None;
    }
    let mut material = Map::new();
    for pointer in template {
        let value = Path::read_pointer(pointer).ok()?.find(arguments)?;
        material.insert(pointer.clone(), value.clone());
    }
    Some(Value::Object(material))
}

#[cfg(test)]
mod tests {
    use placet_core::Time;
    use serde_json::json;

    use super::*;
    use crate::Claims;

    fn material(tool: &str, arguments: &Value, template: Option<&[&str]>) -> Option<Value> {
        let context = Map::new();
        let call = Call {
            kind: Kind::Action,
            tool: Some(tool),
            arguments: arguments.as_object(),
            steps: &[],
            agent: "a",
            source: "rest",
            time: Time::default(),
            claims: Claims { session: "s", context: &context, risk: None, on_behalf_of: None, group: None },
            place: None,
            covered: placet_core::Covered::Unknown,
        };
        let template = template.map(|list| list.iter().map(|text| (*text).to_owned()).collect());
        trust_material(&call, &Trust { after: 3, template })
    }

    #[test]
    fn the_same_thing_is_the_whole_arguments_or_the_values_of_the_template() {
        let arguments = json!({"to": {"iban": "X"}, "amount": 5});
        assert_eq!(material("pay", &arguments, None), Some(arguments.clone()));
        assert_eq!(material("pay", &arguments, Some(&["/to/iban"])), Some(json!({"/to/iban": "X"})));
        assert_eq!(material("pay", &arguments, Some(&["/to/bic"])), None);
    }

    #[test]
    fn a_template_never_speaks_of_free_form_commands() {
        let command = json!({"command": "ls", "cwd": "/"});
        for tool in ["Bash", "mcp__ops__run_shell_command", "ops/exec", "anything"] {
            assert_eq!(material(tool, &command, Some(&["/cwd"])), None, "{tool}");
            assert!(material(tool, &command, None).is_some(), "{tool}");
        }
        assert_eq!(material("ops.BASH", &json!({"x": 1}), Some(&["/x"])), None);
    }
}
