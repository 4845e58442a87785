//! The hook entries in the settings of each agent, and how our entries are told from others.

use std::{path::PathBuf, time::Duration};

use placet_hooks::{Agent, Mode};

use super::document::Json;

/// The command line of a hook.
#[derive(Debug, Clone)]
pub(crate) struct HookEntry {
    pub(crate) agent: Agent,
    pub(crate) mode: Mode,
    /// The program.
    pub(crate) program: String,
    pub(crate) url: Option<String>,
    pub(crate) wait: Duration,
    pub(crate) defer: bool,
    /// Calls may run confined.
    pub(crate) confine: bool,
    /// In a closed folder, first ask whether the agent may work there.
    pub(crate) ask_folder: bool,
    pub(crate) token_file: Option<PathBuf>,
}

/// Runs in OpenCode.
const PLUGIN: &str = include_str!("opencode.js");

/// More than everything that a hook does besides waiting: an agent whose own timeout ends lets the call through.
const MARGIN: Duration = Duration::from_mins(1);
/// For what follows a call.
const AFTER: Duration = Duration::from_secs(30);

/// Runs the hook, and blocks if it cannot be run: not found, killed, crashed. Through `sh`, whatever shell the agent
/// uses.
const GUARD: &str = "\"$0\" \"$@\" || { [ $? -eq 2 ] || echo \"Placet: the hook could not run, so nothing is let through\" >&2; exit 2; }";
/// The same for Copilot, which goes on after exit code 2.
const GUARD_COPILOT: &str = "\"$0\" \"$@\" || echo \"{\\\"permissionDecision\\\":\\\"deny\\\",\\\"permissionDecisionReason\\\":\\\"Placet: the hook could not run\\\",\\\"behavior\\\":\\\"deny\\\",\\\"message\\\":\\\"Placet: the hook could not run\\\"}\"";

impl HookEntry {
    /// The program and its arguments.
    pub(crate) fn arguments(&self, event: Option<&str>) -> Vec<String> {
        let mut words = vec![self.program.clone(), "hook".to_owned(), self.agent.to_string()];
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
        if self.mode == Mode::Relay {
            option("--mode", "relay".to_owned());
        }
        option("--wait", format!("{}s", self.wait.as_secs()));
        if let Some(event) = event {
            option("--event", event.to_owned());
        }
        if let Some(url) = &self.url {
            option("--url", url.clone());
        }
        if let Some(file) = &self.token_file {
            option("--token-file", file.display().to_string());
        }
        if self.defer {
            words.push("--defer".to_owned());
        }
        if self.confine {
            words.push("--confine".to_owned());
        }
        if self.ask_folder {
            words.push("--ask-folder".to_owned());
        }
        words
    }

    /// The command line for an event that decides.
    fn deciding(&self, event: Option<&str>) -> String {
        let words: Vec<String> = self.arguments(event).iter().map(|word| quoted(word)).collect();
        match (self.mode, self.agent) {
            // A relay that cannot run leaves the decision to the person at the terminal.
            (Mode::Relay, _) => words.join(" "),
            (Mode::Gate, Agent::Copilot) => format!("/bin/sh -c '{GUARD_COPILOT}' {}", words.join(" ")),
            (Mode::Gate, _) => format!("/bin/sh -c '{GUARD}' {}", words.join(" ")),
        }
    }

    /// The command line for an event after the call.
    fn following(&self, event: Option<&str>) -> String {
        self.arguments(event).iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// The events with their entries, as they are under `hooks` in the agent's settings.
    pub(crate) fn entries(&self) -> Vec<(&'static str, Json)> {
        let (long, short) = ((self.wait + MARGIN).as_secs(), AFTER.as_secs());
        let nested = |command: String, timeout: u64, name: bool| {
            let mut hook = vec![("type".to_owned(), Json::text("command"))];
            if name {
                hook.push(("name".to_owned(), Json::text("placet")));
            }
            hook.push(("command".to_owned(), Json::Text(command)));
            hook.push(("timeout".to_owned(), Json::number(timeout)));
            Json::object([("matcher", Json::text("*")), ("hooks", Json::List(vec![Json::Object(hook)]))])
        };
        // Events without a tool have nothing to match.
        let bare = |command: String, timeout: u64| {
            let mut entry = nested(command, timeout, false);
            entry.retain(|name, _| name != "matcher");
            entry
        };
        match (self.agent, self.mode) {
            (Agent::ClaudeCode, Mode::Gate) => vec![
                ("PreToolUse", nested(self.deciding(None), long, false)),
                ("PostToolUse", nested(self.following(None), short, false)),
                ("PostToolUseFailure", nested(self.following(None), short, false)),
                ("SessionEnd", bare(self.following(None), short)),
            ],
            (Agent::ClaudeCode, Mode::Relay) => vec![
                ("PermissionRequest", nested(self.deciding(None), long, false)),
                ("PostToolUse", nested(self.following(None), short, false)),
                ("PostToolUseFailure", nested(self.following(None), short, false)),
                ("UserPromptSubmit", bare(self.following(None), short)),
                ("Stop", bare(self.following(None), short)),
                ("SessionEnd", bare(self.following(None), short)),
            ],
            (Agent::Codex, Mode::Gate) => vec![
                ("PreToolUse", nested(self.deciding(None), long, false)),
                ("PostToolUse", nested(self.following(None), short, false)),
            ],
            (Agent::Codex, Mode::Relay) => vec![
                ("PermissionRequest", nested(self.deciding(None), long, false)),
                ("PostToolUse", nested(self.following(None), short, false)),
                ("UserPromptSubmit", bare(self.following(None), short)),
                ("Stop", bare(self.following(None), short)),
            ],
            // Milliseconds, unlike the other agents.
            (Agent::Gemini, _) => vec![
                ("BeforeTool", nested(self.deciding(None), long * 1_000, true)),
                ("AfterTool", nested(self.following(None), short * 1_000, true)),
            ],
            (Agent::Cursor, _) => {
                let flat = |command: String, timeout: u64, closed: bool| {
                    let mut entry =
                        Json::object([("command", Json::Text(command)), ("timeout", Json::number(timeout))]);
                    if closed {
                        entry.member("failClosed", Json::Bool(true));
                    }
                    entry
                };
                vec![
                    ("preToolUse", flat(self.deciding(Some("preToolUse")), long, true)),
                    ("postToolUse", flat(self.following(Some("postToolUse")), short, false)),
                    ("postToolUseFailure", flat(self.following(Some("postToolUseFailure")), short, false)),
                ]
            }
            (Agent::Copilot, _) => {
                let flat = |command: String, timeout: u64| {
                    Json::object([
                        ("type", Json::text("command")),
                        ("bash", Json::Text(command)),
                        ("timeoutSec", Json::number(timeout)),
                    ])
                };
                vec![
                    ("preToolUse", flat(self.deciding(Some("preToolUse")), long)),
                    ("postToolUse", flat(self.following(Some("postToolUse")), short)),
                    ("postToolUseFailure", flat(self.following(Some("postToolUseFailure")), short)),
                ]
            }
            (Agent::OpenCode, _) => Vec::new(),
        }
    }

    /// OpenCode's plugin, which runs the hook and throws on everything but a clear allow.
    pub(crate) fn plugin(&self) -> String {
        let words = serde_json::to_string(&self.arguments(None)).unwrap_or_default();
        let patience = (self.wait + MARGIN).as_millis();
        PLUGIN.replace("\"PLACET_COMMAND\"", &words).replace("\"PLACET_PATIENCE\"", &patience.to_string())
    }
}

/// Whether this is our plugin, with any program and any timeout.
pub(crate) fn is_our_plugin(text: &str) -> bool {
    let known = |line: &&str| !line.starts_with("const COMMAND = ") && !line.starts_with("const PATIENCE = ");
    text.lines().filter(known).eq(PLUGIN.lines().filter(known))
}

/// A word for a shell, quoted only if it must be.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Adds our entries under `hooks`. The error names what is in the way.
pub(crate) fn add(document: &mut Json, wanted: &HookEntry) -> Result<(), String> {
    remove(document, wanted.agent)?;
    if matches!(wanted.agent, Agent::Cursor | Agent::Copilot) {
        let version = document.member("version", Json::number(1));
        if version.is_some_and(|version| *version != Json::number(1)) {
            return Err("`version` is not 1: this is a format that Placet does not know".to_owned());
        }
    }
    let hooks = document.member("hooks", Json::Object(Vec::new())).ok_or("it is not an object")?;
    for (event, entry) in wanted.entries() {
        let list = hooks.member(event, Json::List(Vec::new())).ok_or("`hooks` is not an object")?;
        let Json::List(list) = list else { return Err(format!("`hooks.{event}` is not a list")) };
        list.push(entry);
    }
    Ok(())
}

/// Removes our entries, and objects that become empty.
pub(crate) fn remove(document: &mut Json, agent: Agent) -> Result<(), String> {
    if !matches!(document, Json::Object(_)) {
        return Err("it is not an object".to_owned());
    }
    let mut touched = false;
    document.retain(|name, hooks| {
        if name != "hooks" {
            return true;
        }
        hooks.retain(|_, entries| {
            let Json::List(list) = entries else { return true };
            let before = list.len();
            list.retain_mut(|entry| !emptied(entry, agent));
            touched |= list.len() != before;
            !list.is_empty() || before == 0
        });
        !(touched && hooks.is_empty())
    });
    Ok(())
}

/// Removes our commands from one entry. Returns whether it became empty.
fn emptied(entry: &mut Json, agent: Agent) -> bool {
    if ours(entry, agent) {
        return true;
    }
    let Some(Json::List(hooks)) = (match entry {
        Json::Object(members) => {
            members.iter_mut().find_map(|(name, value)| (name == "hooks").then_some(value))
        }
        _ => None,
    }) else {
        return false;
    };
    let before = hooks.len();
    hooks.retain(|hook| !ours(hook, agent));
    hooks.is_empty() && before > 0
}

/// Whether this is a command that `placet hook install` wrote for this agent.
fn ours(hook: &Json, agent: Agent) -> bool {
    let command = ["command", "bash"].iter().find_map(|name| hook.get(name)?.as_text());
    command.is_some_and(|command| is_our_command(command, agent))
}

/// Whether a command line runs `placet hook AGENT`.
pub(crate) fn is_our_command(command: &str, agent: Agent) -> bool {
    let words: Vec<&str> = command.split_whitespace().map(|word| word.trim_matches('\'')).collect();
    words.windows(3).any(|three| {
        matches!(three, [program, "hook", name] if is_our_program(program) && *name == agent.as_str())
    })
}

/// The program has many possible names: `placet`, `placet-0.3.0`, `placet-linux-x64`, and the name of this one.
fn is_our_program(program: &str) -> bool {
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let this = std::env::current_exe().ok().and_then(|path| path.to_str().map(name));
    name(program).contains("placet") || this.is_some_and(|this| this == name(program))
}

/// Every command of ours in a document, with its event.
pub(crate) fn installed(document: &Json, agent: Agent) -> Vec<(String, String)> {
    let Some(Json::Object(events)) = document.get("hooks") else { return Vec::new() };
    let mut found = Vec::new();
    for (event, entries) in events {
        for entry in entries.as_list() {
            let nested = entry.get("hooks").map(Json::as_list).unwrap_or_default();
            for hook in std::iter::once(entry).chain(nested).filter(|hook| ours(hook, agent)) {
                let command = ["command", "bash"].iter().find_map(|name| hook.get(name)?.as_text());
                found.push((event.clone(), command.unwrap_or_default().to_owned()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_known_under_every_name_that_releases_give_it() {
        for program in ["placet", "/usr/local/bin/placet", "'/opt/placet-0.3.0'", "/opt/placet-linux-x64"] {
            assert!(is_our_command(&format!("{program} hook codex --wait 60s"), Agent::Codex), "{program}");
        }
        for other in ["/bin/sh hook codex", "placet hook gemini", "placet policy codex"] {
            assert!(!is_our_command(other, Agent::Codex), "{other}");
        }
    }
}
