//! Which agents have the hook in their settings, and whether what is written there can run.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use placet_hooks::Agent;

use super::{Check, Verdict};
use crate::hook::install::{
    codex,
    document::Json,
    opencode,
    scope::{Scope, place},
    settings::{installed as commands, is_our_command, is_our_plugin},
};

/// One check for each place where a hook is installed, or one that there is none.
pub(super) fn installed(agents: &[Agent]) -> Vec<Check> {
    let mut checks = Vec::new();
    for agent in agents {
        let mut seen = Vec::new();
        for scope in Scope::ALL {
            // Most agents have one file for a project.
            let path = place(*agent, scope).ok();
            if path.is_some() && !seen.contains(&path) {
                checks.extend(at(*agent, scope));
                seen.push(path);
            }
        }
    }
    if checks.is_empty() {
        let detail = "none in this folder or for this user; `placet hook install AGENT` writes one";
        checks.push(Check::new("hooks", Verdict::Warning, detail));
    }
    checks
}

/// The mode of Claude Code in which no hook is called.
const SIMPLE: &str = "CLAUDE_CODE_SIMPLE";

/// Whether Claude Code takes this value of a variable for yes.
fn is_on(value: Option<&str>) -> bool {
    value.is_some_and(|value| {
        !["", "0", "false", "no", "off"].contains(&value.trim().to_ascii_lowercase().as_str())
    })
}

fn at(agent: Agent, scope: Scope) -> Option<Check> {
    let (path, user) = (place(agent, scope).ok()?, scope == Scope::User);
    let name = format!("hook {agent}");
    if agent == Agent::OpenCode {
        return plugin(&name, &path, &opencode::place(user)?, &opencode::agents_with_rules(user));
    }
    let text = fs::read_to_string(&path).ok()?;
    let shown = path.display();
    let document: Json = match serde_json::from_str(&text) {
        Ok(document) => document,
        Err(error) if text.contains("placet") => {
            let detail = format!("{shown} is not plain JSON ({error}); the agent may not read it either");
            return Some(Check::new(name, Verdict::Warning, detail));
        }
        Err(_) => return None,
    };
    let found = commands(&document, agent);
    let (event, command) = found.first()?;
    let deciding = ["PreToolUse", "PermissionRequest", "BeforeTool", "preToolUse", "permissionRequest"];
    if !found.iter().any(|(event, _)| deciding.contains(&event.as_str())) {
        let detail = format!("{shown} has it for `{event}` only, which decides nothing; install it again");
        return Some(Check::new(name, Verdict::Bad, detail));
    }
    if document.get("disableAllHooks") == Some(&Json::Bool(true)) {
        let detail = format!("{shown} has `disableAllHooks`: nothing is gated");
        return Some(Check::new(name, Verdict::Bad, detail));
    }
    let own = document.get("env").and_then(|env| env.get(SIMPLE)?.as_text());
    if agent == Agent::ClaudeCode && is_on(own) {
        let detail = format!("{shown} sets `{SIMPLE}`, and Claude Code then runs no hook: nothing is gated");
        return Some(Check::new(name, Verdict::Bad, detail));
    }
    if agent == Agent::ClaudeCode && is_on(std::env::var(SIMPLE).ok().as_deref()) {
        let detail = format!("`{SIMPLE}` is set here, and Claude Code then runs no hook: nothing is gated");
        return Some(Check::new(name, Verdict::Bad, detail));
    }
    let check = runs(&name, &shown.to_string(), &program(command, agent)?);
    if agent == Agent::Codex && check.verdict == Verdict::Good && !trusted(&path, &document) {
        let detail = format!(
            "{shown} has it, but Codex does not trust it as it is now, and skips it: install it again"
        );
        return Some(Check::new(name, Verdict::Bad, detail));
    }
    Some(check)
}

/// OpenCode's plugin, and the lock that keeps OpenCode from going on without it.
fn plugin(name: &str, path: &Path, lock: &Path, agents: &[String]) -> Option<Check> {
    let (shown, locked) = (path.display(), opencode::is_locked_at(lock));
    // A project in the home folder has the same lock.
    let of_project = lock.with_file_name("plugin/placet.js").exists();
    let bad = |detail: String| Some(Check::new(name, Verdict::Bad, detail));
    let Ok(text) = fs::read_to_string(path) else {
        let detail = format!("{} refuses every tool, and {shown} is not there", lock.display());
        return (locked && !of_project)
            .then(|| bad(format!("{detail}: install it again, or take it out with --uninstall")))?;
    };
    let words = text.lines().find_map(|line| line.strip_prefix("const COMMAND = "));
    let words = words.and_then(|words| serde_json::from_str::<Vec<String>>(words).ok());
    let Some(program) = words.and_then(|words| words.into_iter().next()).filter(|_| is_our_plugin(&text))
    else {
        return bad(format!("{shown} is not as this version writes it: install it again"));
    };
    if !locked {
        return bad(format!(
            "{} does not refuse what the plugin cannot ask about: when {shown} cannot be loaded, everything runs. Install \
             it again",
            lock.display()
        ));
    }
    let check = runs(name, &shown.to_string(), &program);
    if check.verdict == Verdict::Good && !agents.is_empty() {
        let detail = format!(
            "{}. Agents with rules of their own ({}) may run what those allow if the plugin cannot be loaded",
            check.detail,
            agents.join(", ")
        );
        return Some(Check::new(name, Verdict::Warning, detail));
    }
    Some(check)
}

/// The program of a command of ours.
fn program(command: &str, agent: Agent) -> Option<String> {
    if !is_our_command(command, agent) {
        return None;
    }
    let end = command.find(&format!(" hook {agent}"))?;
    let before = command.get(..end)?.trim_end();
    let unquoted = match before.strip_suffix('\'') {
        Some(quoted) => quoted.rsplit(" '").next()?.trim_start_matches('\'').to_owned(),
        None => before.rsplit(' ').next()?.to_owned(),
    };
    Some(unquoted)
}

fn runs(name: &str, shown: &str, program: &str) -> Check {
    let executable = fs::metadata(Path::new(program))
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0);
    // A bare name is looked up when the agent runs it.
    if executable || !program.contains('/') {
        return Check::new(name, Verdict::Good, format!("{shown} runs {program}"));
    }
    let detail =
        format!("{shown} runs {program}, which cannot be run: every call is blocked. Install it again");
    Check::new(name, Verdict::Bad, detail)
}

/// Whether Codex will run every hook of ours in this file, as it is now: otherwise it skips it without a word.
fn trusted(path: &Path, document: &Json) -> bool {
    let Some(config) = codex::place().and_then(|path| fs::read_to_string(path).ok()) else { return false };
    let Ok(config) = config.parse::<toml::Table>() else { return false };
    let states = config.get("hooks").and_then(|hooks| hooks.get("state")?.as_table());
    let trusted = |key: &String| states?.get(key)?.get("trusted_hash")?.as_str();
    let hashes = codex::hashes(path, document);
    !hashes.is_empty() && hashes.iter().all(|(keys, hash)| keys.iter().any(|key| trusted(key) == Some(hash)))
}
