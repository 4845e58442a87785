//! Commands like one that a person approved: program, words and flags as they were, and other files of the workspace in the
//! place of those that it named.

use std::{collections::BTreeSet, fmt};

use placet_core::{Effect, Kind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Call, Outcome, Policy,
    grant::acting,
    shell::{self, Operator, Redirect, Simple, escaped, may_run},
    trust::is_shell_tool,
    work::{Trouble, WorkBudget},
};

/// Arguments that hold the command.
const COMMANDS: [&str; 2] = ["command", "cmd"];
/// Most commands of one line, and most words of each.
const MOST: usize = 20;

/// The form of a command line. Two lines of one form differ only in which files of the workspace they name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// The tool.
    tool: String,
    /// The folder of the agent that it happens in.
    root: String,
    /// The commands in order.
    commands: Vec<Command>,
    /// All other arguments that act.
    #[serde(default)]
    arguments: Map<String, Value>,
    /// The rules that hold it: a call that another rule holds as well is another call.
    rules: BTreeSet<String>,
}

/// One command of the line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    #[serde(default)]
    operator: Option<Operator>,
    words: Vec<Word>,
    #[serde(default)]
    redirects: Vec<Redirect>,
}

/// One word of a command, or several that name files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    /// This very word.
    Is(String),
    /// One or more files or folders of the workspace that are there.
    Files,
}

/// Why a command cannot be remembered by its form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotLike {
    /// It is no command of a shell tool.
    NoCommand,
    /// Only a shell can read it.
    Opaque(String),
    /// It is not known to happen in the agent's folders.
    Outside,
    /// A program runs what its words say.
    Runs(String),
    /// It names a file that a rule guards.
    Guarded,
    /// It is too long, or took too much work.
    TooMuch,
    /// No rule holds it.
    NotHeld,
}

impl fmt::Display for NotLike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCommand => f.write_str("only a command line can be remembered by its form"),
            Self::Opaque(why) => write!(f, "the command is not plain: {why}"),
            Self::Outside => f.write_str(
                "the command is not known to stay in the agent's folders (only the hook program finds that out)",
            ),
            Self::Runs(program) => {
                write!(f, "`{}` runs what its words say, so its form says nothing", escaped(program))
            }
            Self::Guarded => f.write_str("the command names a file that a rule of the policy guards"),
            Self::TooMuch => f.write_str("the command is too long to be remembered by its form"),
            Self::NotHeld => f.write_str("no rule holds this command"),
        }
    }
}

impl From<Trouble> for NotLike {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Work | Trouble::LongList => Self::TooMuch,
            _ => Self::Outside,
        }
    }
}

impl Template {
    /// The form of a call that policy holds, or why it has none.
    pub fn of(policy: &Policy, call: &Call<'_>, outcome: &Outcome) -> Result<Self, NotLike> {
        let (Some(tool), Some(arguments), Kind::Action) = (call.tool, call.arguments, call.kind) else {
            return Err(NotLike::NoCommand);
        };
        let mut lines = COMMANDS.iter().filter_map(|key| Some((*key, arguments.get(*key)?)));
        let (Some((key, line)), None, true) = (lines.next(), lines.next(), is_shell_tool(tool)) else {
            return Err(NotLike::NoCommand);
        };
        if outcome.effect != Effect::Hold {
            return Err(NotLike::NotHeld);
        }
        let place = call.place.ok_or(NotLike::Outside)?;
        let work = WorkBudget::at(Some(place));
        let analysis = work.analysis(line).map_err(|trouble| match trouble {
            Trouble::Type(_) => NotLike::NoCommand,
            other => other.into(),
        })?;
        let commands = analysis.commands().map_err(|opaque| NotLike::Opaque(analysis.why_opaque(opaque)))?;
        // What it names lies in the agent's folders, links followed, and git starts nothing there.
        let root = place.holding(tool, arguments, &work)?.ok_or(NotLike::Outside)?;
        let commands = shell::moved(commands).map_err(|_| NotLike::Outside)?.commands;
        if commands.is_empty() {
            return Err(NotLike::NoCommand);
        }
        if commands.len() > MOST {
            return Err(NotLike::TooMuch);
        }
        let known = Files::of(call.claims.context);
        let mut commands: Vec<Command> =
            commands.iter().map(|one| command(one, &known)).collect::<Result<_, _>>()?;
        if policy.guards(call, &work)? {
            return Err(NotLike::Guarded);
        }
        // What stood before it, a `cd` into the workspace, is part of where it runs.
        if let Some(first) = commands.first_mut() {
            first.operator = None;
        }
        let mut others = acting(arguments, &policy.cosmetic(call));
        others.remove(key);
        let mut rules = outcome.rules.clone();
        if rules.is_empty() {
            rules.insert(outcome.rule.clone());
        }
        Ok(Self { tool: tool.to_owned(), root: root.to_owned(), commands, arguments: others, rules })
    }

    /// Whether a call of this form is covered by a yes to a call of that one: the same, and held by no rule beyond those that
    /// held the other.
    pub fn covers(&self, other: &Self) -> bool {
        self.tool == other.tool
            && self.root == other.root
            && self.commands == other.commands
            && self.arguments == other.arguments
            && other.rules.is_subset(&self.rules)
    }

    /// Whether the form leaves anything open. If not, it is the exact call in any folder of the workspace.
    pub fn is_open(&self) -> bool {
        self.commands.iter().any(|command| command.words.contains(&Word::Files))
    }
}

impl fmt::Display for Template {
    /// What is covered, in words that hide nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line: Vec<String> = self.commands.iter().map(Command::shown).collect();
        let root = escaped(&self.root);
        write!(f, "commands of `{}` like `{}` in `{root}`", escaped(&self.tool), line.join(" "))?;
        if self.is_open() {
            write!(
                f,
                ", where FILES stands for one or more files or folders in `{root}` that are there and that no rule guards"
            )?;
        }
        if !self.arguments.is_empty() {
            let others = Value::Object(self.arguments.clone());
            write!(f, ", with these other arguments: {}", escaped(&others.to_string()))?;
        }
        write!(f, "; they run as this one does, not confined")
    }
}

impl Command {
    fn shown(&self) -> String {
        let operator = self.operator.map(|operator| match operator {
            Operator::Semicolon | Operator::Newline => ";".to_owned(),
            Operator::And => "&&".to_owned(),
            Operator::Or => "||".to_owned(),
            Operator::Pipe => "|".to_owned(),
        });
        let words = self.words.iter().map(|word| match word {
            Word::Is(word) => quoted(word),
            Word::Files => "FILES".to_owned(),
        });
        let redirects = self.redirects.iter().map(|redirect| {
            let fd = redirect.fd.map_or_else(String::new, |fd| fd.to_string());
            let sign = match redirect.mode {
                shell::Mode::Read => "<",
                shell::Mode::Write => ">",
                shell::Mode::Append => ">>",
                shell::Mode::Document => "<<",
            };
            format!("{fd}{sign} {}", quoted(&redirect.target))
        });
        operator.into_iter().chain(words).chain(redirects).collect::<Vec<_>>().join(" ")
    }
}

/// A word as it can be read: quoted where it could be taken for more or less than one. A word `FILES` is quoted too.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%^".contains(c);
    if !word.is_empty() && word != "FILES" && word.chars().all(plain) {
        escaped(word)
    } else {
        format!("'{}'", escaped(word))
    }
}

/// The texts that the hook program found to be there.
struct Files<'a>(BTreeSet<&'a str>);

impl<'a> Files<'a> {
    fn of(context: &'a Map<String, Value>) -> Self {
        let list = context.get("files").and_then(Value::as_array);
        Self(list.into_iter().flatten().filter_map(Value::as_str).collect())
    }

    /// A word is open if it looks like a path and leads to something that is there. Everything else may be a name to the program:
    /// of a package, a branch, a machine.
    fn has(&self, word: &str) -> bool {
        let path = word.contains('/') || word.contains('.');
        path && !word.contains(['*', '?', '[', '{', ':', '@', '=', ',']) && self.0.contains(word)
    }
}

/// Flags that have no value in any program that is known to have them. After any other flag, a file may be a setting or a script.
const BARE: &[&str] = &[
    "-q",
    "-v",
    "-vv",
    "-x",
    "--check",
    "--color",
    "--diff",
    "--fix",
    "--force-exclude",
    "--list",
    "--no-color",
    "--quiet",
    "--silent",
    "--verbose",
    "--write",
    "--",
];

fn command(one: &Simple, known: &Files<'_>) -> Result<Command, NotLike> {
    let Some((program, words)) = one.argv.split_first() else { return Err(NotLike::NoCommand) };
    if may_run(program, words) || program == "sed" || program.contains('/') {
        return Err(NotLike::Runs(program.clone()));
    }
    let mut form = vec![Word::Is(program.clone())];
    // A word after a flag may be its value.
    let mut after_flag = false;
    for word in words {
        let flag = word.len() > 1 && word.starts_with('-');
        if !flag && !after_flag && known.has(word) {
            if form.last() != Some(&Word::Files) {
                form.push(Word::Files);
            }
        } else {
            form.push(Word::Is(word.clone()));
        }
        after_flag = flag && !word.contains('=') && !BARE.contains(&word.as_str());
    }
    Ok(Command { operator: one.operator, words: form, redirects: one.redirects.clone() })
}

#[cfg(test)]
mod tests;
