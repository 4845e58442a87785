//! AgentKit's ApprovalPolicy: seven fields, of which patterns and trust meant more than was safe.

use placet_core::Risk;
use serde_json::{Map, Value};

use super::{ImportError, Imported, NewRule, Writer, check_size, list, quoted, unreadable};
use crate::{
    durations,
    pattern::Pattern,
    shell::{analyse, escaped},
    trust::is_shell_tool,
};

const FIELDS: [&str; 7] = [
    "alwaysApprove",
    "neverApprove",
    "trustAfterCount",
    "autoApprovePatterns",
    "alwaysRequirePatterns",
    "maxAutoApproveRisk",
    "defaultTimeout",
];

/// Makes a policy from an `ApprovalPolicy` in JSON.
pub fn agentkit(text: &str) -> Result<Imported, ImportError> {
    check_size(text)?;
    let value: Value = serde_json::from_str(text).map_err(|error| {
        unreadable(format!("this is not JSON: {error}"), "give the ApprovalPolicy as AgentKit encodes it")
    })?;
    let Value::Object(policy) = value else {
        return Err(unreadable("an ApprovalPolicy is a JSON object", "give the object itself"));
    };
    if let Some(unknown) = policy.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return Err(unreadable(
            format!("`{}` is not a field of ApprovalPolicy", escaped(unknown)),
            format!("the fields are {}", FIELDS.join(", ")),
        ));
    }
    let mut writer = Writer::new("an AgentKit ApprovalPolicy");
    let trust = trust(&policy, &mut writer)?;
    defaults(&policy, &mut writer)?;
    let always = tools(&policy, "alwaysApprove", &mut writer)?;
    let never = tools(&policy, "neverApprove", &mut writer)?;
    let allowed_commands = commands(&policy, &mut writer)?;
    let (shells, plain): (Vec<String>, Vec<String>) =
        always.iter().cloned().partition(|tool| is_shell_tool(tool));
    hold_tools(&mut writer, &plain, trust);
    allow_tools(&mut writer, &never, &always);
    let shells = if shells.is_empty() {
        let known: Vec<String> = never.iter().filter(|tool| is_shell_tool(tool)).cloned().collect();
        if known.is_empty() { vec!["Bash".to_owned()] } else { known }
    } else {
        shells
    };
    shell_rules(&mut writer, &shells, &allowed_commands, trust);
    required(&policy, &mut writer, &shells)?;
    writer.finish()
}

fn texts(policy: &Map<String, Value>, field: &str) -> Result<Vec<String>, ImportError> {
    let wrong =
        || unreadable(format!("`{field}` is not a list of texts"), "write it as `[\"Bash\", \"Write\"]`");
    match policy.get(field) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) => {
            list.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

fn tools(policy: &Map<String, Value>, field: &str, writer: &mut Writer) -> Result<Vec<String>, ImportError> {
    let names = texts(policy, field)?;
    Ok(writer.tools(field, names))
}

fn trust(policy: &Map<String, Value>, writer: &mut Writer) -> Result<Option<u64>, ImportError> {
    match policy.get("trustAfterCount") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(0) => {
                writer.note(
                    "trustAfterCount",
                    "was left out",
                    "after no approval at all, nothing has been trusted yet",
                );
                Ok(None)
            }
            Some(count) => {
                writer.note(
                    "trustAfterCount",
                    format!("counts {count} approvals of the very same arguments, is reset by any denial and does not apply from high risk on"),
                    "AgentKit counted approvals of the tool, so harmless calls earned trust for any other",
                );
                Ok(Some(count.min(1_000)))
            }
            None => Err(unreadable("`trustAfterCount` is not a count", "write a whole number or null")),
        },
    }
}

fn defaults(policy: &Map<String, Value>, writer: &mut Writer) -> Result<(), ImportError> {
    let mut lines = vec!["effect = \"hold\"".to_owned()];
    if let Some(value) = policy.get("maxAutoApproveRisk").filter(|value| !value.is_null()) {
        let risk: Risk =
            value.as_str().map(str::to_ascii_lowercase).and_then(|word| word.parse().ok()).ok_or_else(
                || unreadable("`maxAutoApproveRisk` is not a risk", "write low, medium, high or critical"),
            )?;
        let from = Risk::ALL.iter().copied().find(|next| *next > risk).unwrap_or(Risk::Critical);
        if risk == Risk::Critical {
            writer.note(
                "maxAutoApproveRisk",
                "critical calls still wait",
                "what is beyond repair always needs a person, with a code",
            );
        }
        lines.push(format!("hold_at_risk = \"{from}\""));
    } else {
        writer.note(
            "maxAutoApproveRisk",
            "is not set, so calls of high risk wait",
            "what an agent says about the risk can only raise it",
        );
    }
    match policy.get("defaultTimeout") {
        None | Some(Value::Null) => {
            writer.note(
                "defaultTimeout",
                "is not set, so the server's own limit applies",
                "a question that never ends is never closed; silence is a no",
            );
        }
        Some(value) => {
            let seconds = seconds(value).ok_or_else(|| {
                unreadable(
                    "`defaultTimeout` is not a length of time",
                    "write seconds, `\"5m\"`, or `{\"minutes\": 5}`",
                )
            })?;
            let bounded = seconds.clamp(durations::SHORTEST.as_secs(), durations::LONGEST.as_secs());
            if bounded != seconds {
                writer.note(
                    "defaultTimeout",
                    format!("became {bounded} seconds"),
                    "a question is open for at least a second and at most 30 days",
                );
            }
            lines.push(format!(
                "expires_in = \"{}\"",
                durations::write(std::time::Duration::from_secs(bounded))
            ));
        }
    }
    writer.text.push_str("\n[defaults]\n");
    for line in lines {
        writer.text.push_str(&line);
        writer.text.push('\n');
    }
    Ok(())
}

/// Seconds, in any of the ways a Swift `Duration` or a person writes them.
fn seconds(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| {
            let seconds = number.as_f64().filter(|seconds| (0.0..1e9).contains(seconds))?;
            std::time::Duration::try_from_secs_f64(seconds.ceil()).ok().map(|duration| duration.as_secs())
        }),
        Value::String(text) => durations::read(text).map(|duration| duration.as_secs()),
        Value::Object(map) if map.len() == 1 => {
            let (unit, number) = map.iter().next()?;
            let number = number.as_u64()?;
            let each = match unit.as_str() {
                "seconds" => 1,
                "minutes" => 60,
                "hours" => 3_600,
                "days" => 86_400,
                _ => return None,
            };
            number.checked_mul(each)
        }
        // Swift's own coding: the high and the low half of a count of attoseconds.
        Value::Array(halves) => match halves.as_slice() {
            [high, low] => {
                let attoseconds = u128::from(high.as_u64()?)
                    .checked_mul(1 << 64)?
                    .checked_add(u128::from(low.as_u64()?))?;
                u64::try_from(attoseconds.div_ceil(1_000_000_000_000_000_000)).ok()
            }
            _ => None,
        },
        _ => None,
    }
}

fn hold_tools(writer: &mut Writer, tools: &[String], trust: Option<u64>) {
    if tools.is_empty() {
        return;
    }
    let mut rule = NewRule::new("always-approve", "hold", "alwaysApprove asks a person")
        .tools(tools)
        .line("risk", "\"medium\"");
    if let Some(count) = trust {
        rule = rule.line("trust_after", count.to_string());
    }
    writer.rule(&rule);
}

fn allow_tools(writer: &mut Writer, never: &[String], always: &[String]) {
    let mut tools = Vec::new();
    for tool in never {
        if always.contains(tool) {
            writer.note(
                "neverApprove",
                format!("`{tool}` waits, because it also stands in alwaysApprove"),
                "of two opposite settings the stricter one holds",
            );
        } else if is_shell_tool(tool) {
            writer.note(
                "neverApprove",
                format!("`{tool}` waits, except for commands in autoApprovePatterns"),
                "it takes any command, so trusting the tool trusts everything",
            );
        } else {
            tools.push(tool.clone());
        }
    }
    if !tools.is_empty() {
        writer.rule(
            &NewRule::new("never-approve", "allow", "neverApprove trusts these tools")
                .tools(&tools)
                .line("risk", "\"low\""),
        );
    }
}

/// The patterns that are plain commands, as lists of words.
fn commands(policy: &Map<String, Value>, writer: &mut Writer) -> Result<Vec<Vec<String>>, ImportError> {
    let mut commands = Vec::new();
    for pattern in texts(policy, "autoApprovePatterns")? {
        let analysis = analyse(&pattern);
        let simple = match analysis.commands() {
            Ok([one]) if one.redirects.is_empty() => Some(one.argv.clone()),
            _ => None,
        };
        let regex = pattern.contains(['*', '+', '?', '^', '$', '(', '[', '|', '\\']);
        match simple.filter(|argv| !regex && !argv.is_empty()) {
            Some(argv) => {
                writer.note(
                    "autoApprovePatterns",
                    format!("`{}` allows exactly this command and nothing longer", escaped(&pattern)),
                    "as a pattern it also matched inside other commands, such as one followed by `; rm -rf /`",
                );
                commands.push(argv);
            }
            None => writer.note(
                "autoApprovePatterns",
                format!("`{}` was left out, so what it matched waits", escaped(&pattern)),
                "it is not one plain command; write a shell pattern that lists program, flags and operands",
            ),
        }
    }
    commands.sort();
    commands.dedup();
    Ok(commands)
}

fn shell_rules(writer: &mut Writer, shells: &[String], commands: &[Vec<String>], trust: Option<u64>) {
    let allow =
        commands.iter().map(|argv| format!("{{ exact = {} }}", list(argv))).collect::<Vec<_>>().join(", ");
    let mut hold = NewRule::new("commands", "hold", "a command that is not known to be harmless")
        .tools(shells)
        .line("risk", "\"medium\"");
    if let Some(count) = trust {
        hold = hold.line("trust_after", count.to_string());
    }
    if !commands.is_empty() {
        writer.rule(
            &NewRule::new("auto-approve-commands", "allow", "autoApprovePatterns lists these commands")
                .tools(shells)
                .line("risk", "\"low\"")
                .argument("command", format!("{{ shell = {{ allow = [{allow}] }} }}")),
        );
        hold = hold.argument("command", format!("{{ not = {{ shell = {{ allow = [{allow}] }} }} }}"));
    }
    writer.rule(&hold);
}

/// Patterns that always need a person: looked for everywhere in a command, as the author wrote them and as programs.
fn required(policy: &Map<String, Value>, writer: &mut Writer, shells: &[String]) -> Result<(), ImportError> {
    let mut programs: Vec<String> = Vec::new();
    for (index, pattern) in (1_u32..).zip(texts(policy, "alwaysRequirePatterns")?) {
        if pattern.trim().is_empty() {
            writer.note(
                "alwaysRequirePatterns",
                "an empty pattern was left out",
                "it would match every command; commands wait anyway",
            );
            continue;
        }
        if let Some(program) = program(&pattern) {
            writer.note(
                "alwaysRequirePatterns",
                format!(
                    "`{}` holds every use of `{}`, wherever in the command it stands",
                    escaped(&pattern),
                    escaped(&program)
                ),
                "other spaces, flags in another order, wrappers and substitutions escaped the pattern",
            );
            if !programs.contains(&program) {
                programs.push(program);
            }
        }
        let as_written =
            if Pattern::new(&pattern).is_ok() { pattern.clone() } else { escape_regex(&pattern) };
        if Pattern::new(&as_written).is_err() {
            writer.note(
                "alwaysRequirePatterns",
                format!("`{}` was left out as a pattern", escaped(&pattern)),
                "it is too large to be compiled; commands wait anyway unless they are listed",
            );
            continue;
        }
        writer.rule(
            &NewRule::new(format!("always-require-{index}"), "hold", "alwaysRequirePatterns asks a person")
                .tools(shells)
                .line("risk", "\"high\"")
                .argument("command", format!("{{ matches = {} }}", quoted(&as_written))),
        );
    }
    if !programs.is_empty() {
        let mention = programs
            .iter()
            .map(|program| format!("{{ program = {} }}", quoted(program)))
            .collect::<Vec<_>>()
            .join(", ");
        writer.rule(
            &NewRule::new("always-require-programs", "hold", "alwaysRequirePatterns names these programs")
                .tools(shells)
                .line("risk", "\"high\"")
                .argument("command", format!("{{ shell = {{ mention = [{mention}] }} }}")),
        );
    }
    Ok(())
}

/// The program a pattern begins with, if it begins with one.
fn program(pattern: &str) -> Option<String> {
    let trimmed = pattern.trim_start_matches(['^', ' ']);
    let end = trimmed
        .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_' && letter != '-')
        .unwrap_or(trimmed.len());
    let (word, after) = trimmed.split_at_checked(end)?;
    let whole = after.is_empty() || after.starts_with([' ', '.', '|', '\\']);
    (whole && word.starts_with(|letter: char| letter.is_ascii_alphabetic())).then(|| word.to_owned())
}

fn escape_regex(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}
