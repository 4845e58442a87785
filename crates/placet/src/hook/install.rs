//! `placet hook install`: adds the hook to an agent's settings, keeps everything else, and removes it again.

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use placet_hooks::{Agent, Mode};
use serde_json::json;

pub(crate) mod codex;
pub(crate) mod document;
pub(crate) mod opencode;
pub(crate) mod scope;
mod server;
pub(crate) mod settings;

use document::{Json, diff};
use scope::{Scope, place};
use server::server_notes;
use settings::{HookEntry, add, installed, remove};

use crate::{
    cli::{Global, InstallArgs},
    exit::usage,
    output::{self, paint},
};

/// Installs, or takes out.
pub(crate) async fn run(args: &InstallArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let mode = Mode::from(args.mode);
    if mode == Mode::Relay && !matches!(args.agent, Agent::ClaudeCode | Agent::Codex) {
        return Err(usage(format!(
            "`--mode relay` is for claude-code and codex: {} does not ask at the terminal while a hook runs",
            args.agent
        )));
    }
    if args.defer && args.agent != Agent::ClaudeCode {
        return Err(usage("`--defer` is for claude-code: no other agent can put a call off"));
    }
    if args.wait.as_secs() == 0 {
        return Err(usage("`--wait` must be at least 1s"));
    }
    let scope = Scope::of(args);
    if scope == Scope::Shared && args.token_file.is_some() {
        return Err(usage(
            "`--token-file` is a file of this machine, and `--shared` is for everybody: leave one of them out, and set \
             PLACET_TOKEN",
        ));
    }
    let path = place(args.agent, scope)?;
    if !args.uninstall {
        only_once(args.agent, scope)?;
    }
    let before = read(&path)?;
    let wanted = HookEntry {
        agent: args.agent,
        mode,
        program: if scope == Scope::Shared { "placet".to_owned() } else { program()? },
        url: global.url.clone().filter(|url| !(url.is_empty() || scope == Scope::Shared && is_here(url))),
        wait: args.wait,
        defer: args.defer,
        confine: confines(args),
        ask_folder: scope == Scope::User && mode == Mode::Gate && !args.defer,
        token_file: args.token_file.as_deref().map(std::path::absolute).transpose()?,
    };
    let after = changed(before.as_deref(), &wanted, args.uninstall)
        .map_err(|why| usage(format!("{} is left as it is: {why}", path.display())))?;
    let companion = match args.agent {
        Agent::Codex => Some(Companion::of_codex(&path, after.as_deref(), args.uninstall)?),
        Agent::OpenCode => Some(Companion::of_opencode(scope == Scope::User, args.uninstall)?),
        _ => None,
    };
    let changes = before != after;
    if !args.dry_run {
        // This one first: an untrusted hook looks installed and does not run, and a plugin without its lock fails
        // open.
        if let Some(companion) = &companion {
            companion.write()?;
        }
        if changes {
            write(&path, before.as_deref(), after.as_deref(), args.agent)?;
        }
    }
    let server = server_notes(args).await;
    told(args, global, &path, before.as_deref(), after.as_deref(), companion.as_ref(), server)
}

/// Two hooks in one project would both ask for every call, and only one of them could get the permit.
fn only_once(agent: Agent, scope: Scope) -> anyhow::Result<()> {
    let Some(beside) = scope.beside(agent) else { return Ok(()) };
    let path = place(agent, beside)?;
    let document = read(&path)?.and_then(|text| serde_json::from_str::<Json>(&text).ok());
    if document.is_none_or(|document| installed(&document, agent).is_empty()) {
        return Ok(());
    }
    Err(usage(format!(
        "{} runs Placet already, and two hooks would block each other: take it out there first, with `placet hook install {agent} \
         {} --uninstall`",
        path.display(),
        beside.option()
    )))
}

/// Whether a URL leads to this machine.
fn is_here(url: &str) -> bool {
    let host = url.split("://").nth(1).unwrap_or(url);
    ["localhost", "127.", "[::1]"].iter().any(|here| host.starts_with(here))
}

/// Whether calls may run confined: the agent must run the command from its hook, and calls must not be asked for
/// again later.
fn confines(args: &InstallArgs) -> bool {
    let agent = matches!(args.agent, Agent::ClaudeCode | Agent::Codex | Agent::Gemini | Agent::OpenCode);
    agent && Mode::from(args.mode) == Mode::Gate && !args.no_confine && !args.defer
}

fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(usage(format!("cannot read {}: {error}", path.display()))),
    }
}

/// The second file that an agent's hooks need, before and after the change.
struct Companion {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
    /// Whether `before` contains entries of ours. Then it is no backup.
    touched: bool,
}

impl Companion {
    /// What Codex trusts.
    fn of_codex(hooks: &Path, document: Option<&str>, uninstall: bool) -> anyhow::Result<Self> {
        let path = codex::place().ok_or_else(homeless)?;
        let before = read(&path)?;
        let after = codex::changed(before.as_deref(), hooks, document, uninstall)
            .map_err(|why| usage(format!("{} is left as it is: {why}", path.display())))?;
        let touched = before.as_deref().is_some_and(|text| text.contains("placet hook install"));
        Ok(Self { path, before, after, touched })
    }

    /// The lock of OpenCode, which refuses every tool while the plugin is missing.
    fn of_opencode(user: bool, uninstall: bool) -> anyhow::Result<Self> {
        let path = opencode::place(user).ok_or_else(homeless)?;
        let before = read(&path)?;
        let after = opencode::changed(before.as_deref(), backup(&path).exists(), uninstall)
            .map_err(|why| usage(format!("{} is left as it is: {why}", path.display())))?;
        let touched = opencode::is_locked_at(&path);
        Ok(Self { path, before, after, touched })
    }

    fn write(&self) -> anyhow::Result<()> {
        if self.before == self.after {
            return Ok(());
        }
        let path = &fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let Some(after) = self.after.as_deref() else { return Ok(fs::remove_file(path)?) };
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        if let Some(before) = self.before.as_deref().filter(|_| !self.touched) {
            replace(&backup(path), folder, before, path)?;
        }
        replace(path, folder, after, path)
    }
}

fn homeless() -> anyhow::Error {
    usage("HOME is not set: where are your settings?")
}

/// The program of the hook: this one, wherever the agent is started.
fn program() -> anyhow::Result<String> {
    let path = std::env::current_exe()?;
    let path = path.to_str().ok_or_else(|| usage("the path of `placet` is not UTF-8"))?;
    Ok(path.to_owned())
}

/// The whole new file. None if it should not exist.
fn changed(before: Option<&str>, wanted: &HookEntry, uninstall: bool) -> Result<Option<String>, String> {
    if wanted.agent == Agent::OpenCode {
        let foreign = before.is_some_and(|text| !text.contains("placet hook install opencode"));
        if foreign {
            return Err("it is not the plugin that Placet writes".to_owned());
        }
        return Ok((!uninstall).then(|| wanted.plugin()));
    }
    let text = before.unwrap_or_default();
    let mut document = match text.trim() {
        "" if uninstall => return Ok(before.map(str::to_owned)),
        "" => Json::Object(Vec::new()),
        _ => serde_json::from_str::<Json>(text)
            .map_err(|error| format!("it is not plain JSON ({error}); correct it, or remove comments"))?,
    };
    let original = document.clone();
    if uninstall {
        remove(&mut document, wanted.agent)?;
        let only_ours = matches!(wanted.agent, Agent::Copilot | Agent::Cursor | Agent::Codex)
            && document != original
            && matches!(&document, Json::Object(left) if left.iter().all(|(name, _)| name == "version"));
        if only_ours {
            return Ok(None);
        }
    } else {
        add(&mut document, wanted)?;
    }
    // Nothing changes, so the file is not touched.
    Ok(if document == original && before.is_some() {
        before.map(str::to_owned)
    } else {
        Some(document.pretty(text))
    })
}

/// Writes the file completely or not at all, and keeps the version from before us beside it.
fn write(path: &Path, before: Option<&str>, after: Option<&str>, agent: Agent) -> anyhow::Result<()> {
    // Settings are often links into another folder: the link stays.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let Some(after) = after else { return Ok(fs::remove_file(path)?) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let document = before.and_then(|text| serde_json::from_str::<Json>(text).ok());
    let untouched = document.is_some_and(|document| installed(&document, agent).is_empty());
    if let Some(before) = before.filter(|_| untouched) {
        replace(&backup(path), folder, before, path)?;
    }
    replace(path, folder, after, path)
}

fn backup(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".placet-backup");
    path.with_file_name(name)
}

fn replace(path: &Path, folder: &Path, text: &str, like: &Path) -> anyhow::Result<()> {
    let mut file = tempfile::Builder::new().prefix(".placet-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Ok(data) = fs::metadata(like) {
        file.as_file().set_permissions(data.permissions())?;
    } else {
        use std::os::unix::fs::PermissionsExt as _;
        file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Prints what was done, or would be done.
fn told(
    args: &InstallArgs,
    global: &Global,
    path: &Path,
    before: Option<&str>,
    after: Option<&str>,
    companion: Option<&Companion>,
    server: Vec<String>,
) -> anyhow::Result<ExitCode> {
    let companion = companion.filter(|companion| companion.before != companion.after);
    let changes = before != after || companion.is_some();
    let mut difference = diff(before.unwrap_or_default(), after.unwrap_or_default());
    if let Some(companion) = companion {
        let (before, after) = (companion.before.as_deref(), companion.after.as_deref());
        difference.push(format!("  {}", companion.path.display()));
        difference.extend(diff(before.unwrap_or_default(), after.unwrap_or_default()));
    }
    let mut notes = if args.uninstall { Vec::new() } else { notes(args) };
    notes.extend(server);
    if global.json {
        output::json(&json!({
            "agent": args.agent.as_str(), "file": path, "changed": changes, "dry_run": args.dry_run,
            "uninstall": args.uninstall, "diff": difference,
            "notes": notes,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let done = match (changes, args.dry_run, args.uninstall) {
        (false, _, true) => "contains nothing of Placet",
        (false, _, false) => "is up to date",
        (true, true, _) => "would change",
        (true, false, true) => "no longer runs Placet",
        (true, false, false) => "now runs Placet",
    };
    output::line(&format!("{} {done}", paint(output::NAME, &path.display().to_string())))?;
    if changes && args.dry_run {
        for line in difference {
            let style = match line.chars().next() {
                Some('+') => output::GOOD,
                Some('-') => output::BAD,
                _ => output::DIM,
            };
            output::line(&paint(style, &output::safe(&line)))?;
        }
    }
    for note in notes {
        output::line(&note)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What the person has to know or do.
fn notes(args: &InstallArgs) -> Vec<String> {
    let mut notes = Vec::new();
    if Scope::of(args) == Scope::Shared {
        notes.push(
            "Commit this file. Everybody who works on the project then needs `placet` in the PATH, and PLACET_TOKEN and PLACET_URL \
             in the agent's environment: without them every call is blocked."
                .to_owned(),
        );
    } else if args.token_file.is_none() {
        notes.push(
            "The agent's environment needs PLACET_TOKEN with an agent's key, and PLACET_URL if the server is elsewhere."
                .to_owned(),
        );
    }
    if Scope::of(args) == Scope::User && Mode::from(args.mode) == Mode::Gate && !args.defer {
        notes.push(
            "In a folder that is not open to the agent, the first call asks whether the agent may work there. The yes of its owner \
             opens the folder."
                .to_owned(),
        );
    }
    match args.agent {
        Agent::Codex => notes.push(
            "Codex runs only hooks that are trusted: config.toml now says so of these, as they are. It also keeps the model \
             from typing into terminals, of which no hook is told."
                .to_owned(),
        ),
        Agent::Gemini => notes.push(
            "Gemini CLI asks its own policy as well: let it allow tools, and this hook decides. Project hooks run only in \
             trusted folders."
                .to_owned(),
        ),
        Agent::Cursor => notes.push("Restart Cursor; it needs a version with `preToolUse` and `failClosed`.".to_owned()),
        Agent::ClaudeCode if args.defer => notes.push(
            "--defer works for `claude -p` and single calls only; where Claude Code ignores it, its own rules decide. Keep \
             allow rules and permission modes that accept calls out of such runs."
                .to_owned(),
        ),
        Agent::OpenCode => notes.push(
            "OpenCode goes on without a plugin that it cannot load: its configuration now refuses every tool, and the plugin \
             takes that back when it is loaded. Take it out with --uninstall, not by deleting the plugin."
                .to_owned(),
        ),
        Agent::ClaudeCode | Agent::Copilot => {}
    }
    let starts = matches!(args.agent, Agent::ClaudeCode | Agent::Codex | Agent::Gemini | Agent::OpenCode);
    notes.push(if starts {
        format!(
            "Check that {0} calls it, and that a deny blocks: placet doctor --agent {0} --prove",
            args.agent
        )
    } else {
        format!("Check that a deny blocks: placet doctor --agent {}", args.agent)
    });
    notes
}
