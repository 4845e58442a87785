//! Command lines, taken apart by the same analyser that policy uses.

use std::{borrow::Cow, fmt::Write as _};

use placet_core::{Preview, Segment, ShellCommand, ShellRedirect, show};
use placet_policy::shell::{Analysis, Mode, Operator, Redirect, Simple, analyse, analyse_argv};
use serde_json::Value;

use super::{
    args::{Args, Name},
    text::clip,
};

const SHELLS: &[&str] = &["bash", "sh", "zsh", "dash", "ksh", "shell", "terminal"];
const FOREIGN: &[&str] = &["powershell", "pwsh", "fish", "nu", "nushell", "batch"];
const RUNS: &[&str] = &["run", "exec", "execute", "invoke"];
const COMMANDS: &[&str] = &["command", "cmd", "commands"];
const KEYS: &[&str] =
    &["command", "cmd", "script", "command_line", "commandLine", "shell_command", "bash_command"];
/// What is said beside the command and changes nothing about it.
const ASIDE: &[&[&str]] = &[&["description"], &["timeout", "timeout_ms", "timeout_seconds"]];

/// Programs whose first word says what they do.
const TWO_WORDS: &[&str] = &[
    "git",
    "cargo",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "docker",
    "podman",
    "kubectl",
    "helm",
    "pip",
    "pip3",
    "uv",
    "apt",
    "apt-get",
    "brew",
    "dnf",
    "yum",
    "systemctl",
    "service",
    "terraform",
    "tofu",
    "go",
    "gh",
    "make",
    "just",
    "conda",
];
/// Programs that run another one: their name alone would hide what runs.
const WRAPPERS: &[&str] = &[
    "sudo", "doas", "su", "env", "nice", "nohup", "xargs", "timeout", "time", "exec", "command", "builtin",
    "busybox", "bash", "sh", "zsh", "dash", "ksh", "fish", "eval", "source", ".", "ssh", "find", "parallel",
    "watch", "strace", "chroot", "setsid", "stdbuf", "ionice", "python", "python3", "perl", "ruby", "node",
    "php", "awk", "npx", "uvx",
];

/// Most commands that a preview names.
const SHOWN: usize = 100;

/// A command line that a shell will be given.
pub(super) struct Shell<'a> {
    text: Cow<'a, str>,
    cwd: Option<&'a str>,
    /// None where the shell is not one that we can read.
    analysis: Option<Analysis>,
    /// The argument that holds it.
    pub(super) key: &'a str,
}

impl<'a> Shell<'a> {
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        let foreign = name.has(FOREIGN);
        if !(name.has(SHELLS) || foreign || (name.has(RUNS) && (name.has(COMMANDS) || name.is(&["exec"])))) {
            return None;
        }
        let (key, value) = args.maybe(KEYS)??;
        let (text, analysis) = match value {
            Value::String(text) => (Cow::Borrowed(text.as_str()), (!foreign).then(|| analyse(text))),
            Value::Array(words) => {
                let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
                let text = words.iter().map(|word| word_text(word)).collect::<Vec<_>>().join(" ");
                (Cow::Owned(text), Some(analyse_argv(&words)))
            }
            _ => return None,
        };
        if let Value::String(text) = value {
            args.claim(&[Segment::Key(key)], text);
        }
        let cwd =
            args.maybe_text(&["cwd", "workdir", "working_directory", "workingDirectory", "dir_path"])?;
        for keys in ASIDE {
            args.maybe(keys)?;
        }
        Some(Self { text, cwd, analysis, key })
    }

    /// Why it cannot be taken apart.
    pub(super) fn opaque(&self) -> Option<&'static str> {
        match &self.analysis {
            None => Some("it is for a shell that is not read here"),
            Some(analysis) => analysis.commands().err().map(|opaque| opaque.reason),
        }
    }

    pub(super) fn effect(&self) -> String {
        match self.analysis.as_ref().map(Analysis::commands) {
            Some(Ok([one])) => format!("Run {}", clip_drawn(&line(one), 190)),
            Some(Ok(several)) => {
                let names: Vec<String> = several.iter().map(short).collect();
                format!("Run {} commands: {}", several.len(), join(&names))
            }
            _ => format!("Run a command line that cannot be taken apart: {}", clip(&self.text, 140)),
        }
    }

    pub(super) fn preview(&self, context: Option<&str>) -> Preview {
        let commands = self.analysis.as_ref().map(|analysis| analysis.outline(SHOWN).0).unwrap_or_default();
        Preview::Shell {
            command: show(&self.text),
            opaque: self.opaque().is_some(),
            why: self.opaque().map(str::to_owned),
            commands: commands.iter().map(shown).collect(),
            cwd: self.cwd.or(context).map(show),
        }
    }
}

fn shown(command: &Simple) -> ShellCommand {
    ShellCommand {
        words: command.argv.iter().map(|word| show(word)).collect(),
        redirects: command
            .redirects
            .iter()
            .map(|redirect| ShellRedirect { op: sign(redirect), target: show(&redirect.target) })
            .collect(),
        joined: command.operator.map(|operator| {
            let word = match operator {
                Operator::Semicolon | Operator::Newline => ";",
                Operator::And => "&&",
                Operator::Or => "||",
                Operator::Pipe => "|",
            };
            word.to_owned()
        }),
    }
}

fn sign(redirect: &Redirect) -> String {
    let sign = match redirect.mode {
        Mode::Read => "<",
        Mode::Write => ">",
        Mode::Append => ">>",
    };
    redirect.fd.map_or_else(|| sign.to_owned(), |fd| format!("{fd}{sign}"))
}

/// A word as it would be typed, in quotes where it needs them; not yet drawn.
fn word_text(word: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:=@%+,-".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
    }
}

/// The whole command, drawn.
fn line(command: &Simple) -> String {
    let words = command.argv.iter().map(|word| word_text(word).into_owned());
    let files = command.redirects.iter().map(|file| format!("{} {}", sign(file), word_text(&file.target)));
    show(&words.chain(files).collect::<Vec<_>>().join(" "))
}

/// A command among others: its program and what it is told to do, whole where the program only runs another one, and
/// always with the files that are written.
fn short(command: &Simple) -> String {
    let program = command.argv.first().map_or("", String::as_str);
    let plain = program.rsplit('/').next().unwrap_or(program);
    if WRAPPERS.contains(&plain) {
        return clip_drawn(&line(command), 60);
    }
    let mut out = clip(&word_text(program), 40);
    let verb = command.argv.get(1).filter(|_| TWO_WORDS.contains(&plain));
    if let Some(verb) = verb {
        out.push(' ');
        out.push_str(&clip(&word_text(verb), 30));
    }
    for file in command.redirects.iter().filter(|file| !file.is_free()) {
        // Writing to a string cannot fail.
        let _ = write!(out, " {} {}", sign(file), clip(&word_text(&file.target), 40));
    }
    out
}

/// Cuts text that was drawn already.
fn clip_drawn(drawn: &str, most: usize) -> String {
    if drawn.chars().count() <= most {
        return drawn.to_owned();
    }
    let mut out: String = drawn.chars().take(most.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// As many as there is room for.
fn join(names: &[String]) -> String {
    let mut out = String::new();
    for (index, name) in names.iter().enumerate() {
        if index > 0 && out.chars().count().saturating_add(name.chars().count()) > 140 {
            return format!("{out} and {} more", names.len().saturating_sub(index));
        }
        if index > 0 {
            out.push_str(", ");
        }
        out.push_str(name);
    }
    out
}
