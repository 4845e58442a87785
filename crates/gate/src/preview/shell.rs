//! Command lines, taken apart by the analyser that policy uses.

mod phrase;
mod words;

use std::borrow::Cow;

#[cfg(test)]
pub(super) use phrase::templates;
use placet_core::{Preview, Segment, ShellCommand, ShellRedirect, show};
use placet_policy::shell::{Analysis, Mode, Operator, Redirect, Simple, analyse, analyse_argv};
use serde_json::Value;
pub(super) use words::KEYS;
use words::{
    ASIDE, BACKGROUND, COMMANDS, ELSEWHERE, FOREIGN, GIT_READS, GRAVE, GRAVE_WORDS, PLAIN, REREAD, RUNNERS,
    RUNS, SHELLS,
};

use super::{
    args::{Args, Name},
    say::word,
    text::{join, middle, quoted},
};

/// Most commands that a preview names.
const SHOWN: usize = 100;

/// A command line that a shell will be given.
pub(super) struct Shell<'a> {
    text: Cow<'a, str>,
    cwd: Option<&'a str>,
    /// None if it is a shell that we cannot read.
    analysis: Option<Analysis>,
    /// The argument that holds it.
    pub(super) key: &'a str,
    /// Why it cannot be taken apart.
    why: Option<&'static str>,
    /// Whether the tool is known to run it.
    known: bool,
    /// Whether the tool does not wait for its end.
    background: bool,
}

/// The longest line that keeps the order of its commands.
const LINE: usize = 160;
/// The worst command of a line must begin before this character, where no row is cut.
const ROW: usize = 60;

impl<'a> Shell<'a> {
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        let foreign = name.has(FOREIGN) || name.one_of(&["cmd"]);
        let runs = name.has(RUNS) && (name.has(COMMANDS) || name.one_of(&["exec"]));
        if !(name.has(SHELLS) || foreign || runs) {
            return None;
        }
        let (key, value) = args.maybe(KEYS)??;
        let (text, analysis) = match value {
            Value::String(text) => {
                args.show_whole(&[Segment::Key(key)], text);
                (Cow::Borrowed(text.as_str()), (!foreign).then(|| analyse(text)))
            }
            Value::Array(words) => {
                let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
                let text = words.iter().map(|word| word_text(word)).collect::<Vec<_>>().join(" ");
                (Cow::Owned(text), Some(analyse_argv(&words)))
            }
            _ => return None,
        };
        let cwd = args.maybe_text(&[
            "cwd",
            "workdir",
            "working_directory",
            "workingDirectory",
            "working_dir",
            "dir_path",
            "directory",
        ])?;
        for keys in ASIDE {
            args.maybe(keys)?;
        }
        let background = match args.maybe(BACKGROUND)? {
            None => false,
            Some((_, background)) => background.as_bool()?,
        };
        let why = match &analysis {
            None => Some(FOREIGN_TEXT),
            Some(analysis) => match analysis.commands() {
                Err(opaque) => Some(opaque.reason),
                Ok(commands) => doubt(&text, commands),
            },
        };
        Some(Self { text, cwd, analysis, key, why, known: name.one_of(RUNNERS), background })
    }

    pub(super) fn is_sure(&self) -> bool {
        self.known
    }

    /// Why it cannot be taken apart.
    pub(super) fn opaque(&self) -> Option<&'static str> {
        self.why
    }

    /// How bad the worst command is; less is worse.
    pub(super) fn rank(&self) -> u8 {
        match (self.why, self.analysis.as_ref().map(Analysis::commands)) {
            (None, Some(Ok(commands))) => commands.iter().map(danger).min().unwrap_or(0),
            _ => 0,
        }
    }

    /// What it does. `sure`: no argument may change what its words mean.
    pub(super) fn effect(&self, sure: bool) -> String {
        let place = self.cwd.map(|cwd| format!(" (in {})", word(cwd))).unwrap_or_default();
        let background = if self.background { " (in the background)" } else { "" };
        let does = match self.commands() {
            Some(commands) if sure && !self.joins() => {
                self.in_words(commands).unwrap_or_else(|| self.as_written())
            }
            _ => self.as_written(),
        };
        format!("{does}{place}{background}")
    }

    /// The commands as they are written.
    fn as_written(&self) -> String {
        match self.commands() {
            Some([_]) | None => format!("run {}", self.facts()),
            Some(several) => format!("run {} commands: {}", several.len(), self.facts()),
        }
    }

    /// Joined descriptors are not files that a command opens. The text itself shows them.
    fn joins(&self) -> bool {
        self.text.contains(">&") || self.text.contains("<&")
    }

    /// The commands in their order, those that are known with a verb. None if the worst of them would stand too far
    /// behind, or if there is not enough room for all.
    fn in_words(&self, commands: &[Simple]) -> Option<String> {
        let (folder, commands) = match commands {
            [first, rest @ ..] if self.cwd.is_none() && !rest.is_empty() => match first.argv.as_slice() {
                [cd, folder]
                    if cd == "cd"
                        && !folder.starts_with('-')
                        && first.redirects.is_empty()
                        && rest.first().and_then(|next| next.operator) == Some(Operator::And) =>
                {
                    (Some(folder), rest)
                }
                _ => (None, commands),
            },
            _ => (None, commands),
        };
        let mut steps = steps(commands);
        let single = steps.len() == 1;
        if let ([step], true) = (steps.as_mut_slice(), single) {
            step.says = middle_drawn(&step.says, LINE);
        }
        let worst = steps.iter().map(|step| step.danger).min()?;
        let (mut out, mut found) = (String::new(), None);
        let mut ran = false;
        for (index, step) in steps.iter().enumerate() {
            let last = steps.get(index.saturating_add(1)).is_none_or(|next| !next.runs || next.or);
            out.push_str(match (index, step.or) {
                (0, _) => "",
                (_, true) => ", or if that fails, ",
                // `run a, b and c`.
                _ if ran && step.runs && last => " and ",
                _ if ran && step.runs => ", ",
                _ => ", then ",
            });
            if step.runs && (!ran || step.or) {
                out.push_str("run ");
            }
            if step.danger == worst && found.is_none() {
                found = Some(out.chars().count());
            }
            // In a list, a command may hold what joins the others.
            let quotes = step.runs && !single && joins_others(&step.says);
            out.push_str(&if quotes { quoted(&step.says) } else { step.says.clone() });
            ran = step.runs;
        }
        if !single && (out.chars().count() > LINE || found.is_none_or(|at| at > ROW)) {
            return None;
        }
        Some(folder.map_or_else(|| out.clone(), |folder| format!("{out} (in {})", word(folder))))
    }

    /// The command, or the commands with the worst first.
    pub(super) fn facts(&self) -> String {
        match self.commands() {
            Some([one]) if !self.joins() => middle_drawn(&line(one), LINE),
            Some([_]) | None => middle(&self.text, 150),
            Some(several) => {
                let mut ranked: Vec<&Simple> = several.iter().collect();
                ranked.sort_by_key(|command| danger(command));
                let lines: Vec<String> =
                    ranked.iter().map(|command| middle_drawn(&line(command), 60)).collect();
                join(&lines, "; ", 140)
            }
        }
    }

    fn commands(&self) -> Option<&[Simple]> {
        match (self.why, self.analysis.as_ref().map(Analysis::commands)) {
            (None, Some(Ok(commands))) => Some(commands),
            _ => None,
        }
    }

    /// The folder in the context is stated by the agent. It is shown only if no argument may name another one.
    pub(super) fn preview(&self, stated_cwd: Option<&str>) -> Preview {
        let commands = self.analysis.as_ref().map(|analysis| analysis.outline(SHOWN).0).unwrap_or_default();
        Preview::Shell {
            command: show(&self.text),
            opaque: self.why.is_some(),
            why: self.why.map(str::to_owned),
            commands: commands.iter().map(shown).collect(),
            cwd: self.cwd.map(show),
            claimed_cwd: if self.cwd.is_none() { stated_cwd.map(show) } else { None },
        }
    }
}

/// A command or a pipeline.
struct LineStep {
    says: String,
    /// Whether it is shown as it is written.
    runs: bool,
    /// Whether it runs only if the one before fails.
    or: bool,
    danger: u8,
}

/// The commands of a line, pipelines as one.
fn steps(commands: &[Simple]) -> Vec<LineStep> {
    let mut out: Vec<LineStep> = Vec::new();
    let piped = |index: usize| {
        commands.get(index).is_some_and(|command: &Simple| command.operator == Some(Operator::Pipe))
    };
    for (index, command) in commands.iter().enumerate() {
        if let (true, Some(step)) = (piped(index), out.last_mut()) {
            step.says = format!("{} | {}", step.says, line(command));
            step.danger = step.danger.min(danger(command));
            continue;
        }
        let alone = !piped(index.saturating_add(1)) && command.redirects.iter().all(is_nowhere);
        let known = alone.then(|| phrase::phrase(&command.argv)).flatten();
        out.push(LineStep {
            runs: known.is_none(),
            says: known.unwrap_or_else(|| line(command)),
            or: command.operator == Some(Operator::Or),
            danger: danger(command),
        });
    }
    out
}

/// Whether a command has in it what joins commands in a sentence.
fn joins_others(drawn: &str) -> bool {
    [", ", " and ", " then ", " or if ", ";", "\"", " (in "].iter().any(|sign| drawn.contains(sign))
}

/// Whether a redirection keeps nothing and hands nothing over.
fn is_nowhere(redirect: &Redirect) -> bool {
    redirect.target == "/dev/null" && redirect.mode != Mode::Document
}

const FOREIGN_TEXT: &str = "it is for a shell that is not read here";

/// Why a text of plain words may still do something else than they say.
fn doubt(text: &str, commands: &[Simple]) -> Option<&'static str> {
    let bytes = text.as_bytes();
    let drive =
        bytes.windows(3).any(|three| matches!(three, [letter, b':', b'\\'] if letter.is_ascii_alphabetic()));
    let variable = |word: &str| word.split('%').count() > 2 && !word.contains("%%");
    for command in commands {
        let program = command.argv.first().map_or("", String::as_str);
        let plain = program.rsplit(['/', '\\']).next().unwrap_or(program).to_ascii_lowercase();
        let words = command.argv.get(1..).unwrap_or(&[]);
        let dos = words
            .iter()
            .any(|word| matches!(word.as_bytes(), [b'/', letter] if letter.is_ascii_alphabetic()));
        if drive
            || ELSEWHERE.contains(&plain.as_str())
            || (dos && ["rmdir", "copy", "move", "dir"].contains(&plain.as_str()))
        {
            return Some("it may be for cmd.exe, which cannot be read here");
        }
        // A format of `date` also has such signs.
        if plain != "date" && plain != "printf" && words.iter().any(|word| variable(word)) {
            return Some("it may be for cmd.exe, which cannot be read here");
        }
        let rereads = REREAD.contains(&plain.as_str())
            || (plain == "printf" && words.iter().any(|word| word.starts_with("-v")))
            || (["test", "["].contains(&plain.as_str())
                && words.iter().any(|word| word.contains('[') && word.contains(['$', '`'])));
        if rereads {
            return Some("a built-in of the shell may run what looks like plain words");
        }
    }
    None
}

/// How bad a command may be; less is worse.
fn danger(command: &Simple) -> u8 {
    let program = command.argv.first().map_or("", String::as_str);
    let plain = program.rsplit('/').next().unwrap_or(program);
    let writes = command.redirects.iter().any(|file| file.mode != Mode::Read && !file.is_free());
    let git_reads =
        plain == "git" && command.argv.get(1).is_some_and(|word| GIT_READS.contains(&word.as_str()));
    match () {
        () if writes || plain.starts_with("mkfs") => 0,
        () if git_reads => 2,
        () if ["git", "gh", "npm", "pip", "mv", "ln", "tee"].contains(&plain) => {
            u8::from(!command.argv.iter().any(|word| GRAVE_WORDS.contains(&word.as_str())))
        }
        () if GRAVE.contains(&plain) => 0,
        // A program of this name in another folder may be another program.
        () if PLAIN.contains(&program) => 3,
        () => 2,
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
        Mode::Document => "<<",
    };
    redirect.fd.map_or_else(|| sign.to_owned(), |fd| format!("{fd}{sign}"))
}

/// A word as it would be typed, quoted where needed. Not yet drawn.
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

/// Cuts text that is already drawn, in its middle.
fn middle_drawn(drawn: &str, most: usize) -> String {
    let letters: Vec<char> = drawn.chars().collect();
    if letters.len() <= most {
        return drawn.to_owned();
    }
    let tail = most / 3;
    let head = most.saturating_sub(tail).saturating_sub(1);
    let (start, end) = (letters.iter().take(head), letters.iter().skip(letters.len().saturating_sub(tail)));
    start.chain(&['…']).chain(end).collect()
}
