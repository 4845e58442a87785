//! Splits a shell command line into simple commands with literal words, or calls it opaque.
//!
//! Two views of one text. The **strict** view is what an allow rule may trust: a flat list of commands whose words mean
//! the same to bash, dash and zsh, or a reason why it is not one. The **loose** view is what hold and deny rules search:
//! every command that could be found anywhere in the text, rather too many than too few.
//!
//! What no reader of the text can know stays outside: aliases and functions the shell already has, symbolic links,
//! and an interactive zsh that was told to ignore comments.

mod allow;
mod folder;
mod gh;
mod jq;
mod lexer;
mod loose;
mod mention;
mod paths;
mod patterns;
mod programs;
mod reach;
mod search;

use std::cell::OnceCell;

use serde::{Deserialize, Serialize};

pub(crate) use folder::{WORDS_ONLY, moved, without_folder};
pub(crate) use lexer::is_invisible;
pub(crate) use mention::climbed;
pub(crate) use paths::Glob;
pub use paths::PathRule;
pub use patterns::Patterns;
pub(crate) use programs::{lower, may_run};
pub(crate) use search::patterns_at;

/// Longest text, in bytes, that can be anything but opaque.
pub const MAX_LENGTH: usize = 10_000;
/// Most simple commands a line may have before it is opaque.
pub const MAX_COMMANDS: usize = 50;

/// One command line, read both ways. Making it is linear in the length of the text, which is bounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Analysis {
    strict: Result<lexer::Strict, Opaque>,
    /// What an opaque line says.
    text: String,
    /// Everything that can be found in it. Only rules that look everywhere need it, so it is made when one asks.
    found: OnceCell<reach::FoundCommands>,
}

/// One simple command: what the shell would execute, word for word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Simple {
    /// What stands between the command before and this one; none for the first.
    pub operator: Option<Operator>,
    /// The words after quote removal; never empty.
    pub argv: Vec<String>,
    /// Files the shell itself opens for it.
    pub redirects: Vec<Redirect>,
}

/// How two simple commands are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operator {
    /// `;`
    #[serde(rename = ";")]
    Semicolon,
    /// A line break.
    #[serde(rename = "newline")]
    Newline,
    /// `&&`
    #[serde(rename = "&&")]
    And,
    /// `||`
    #[serde(rename = "||")]
    Or,
    /// `|`
    #[serde(rename = "|")]
    Pipe,
}

/// A redirection to or from a file. Duplicating a descriptor (`2>&1`) opens nothing and is not one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redirect {
    /// The descriptor, when it was written out.
    pub fd: Option<u8>,
    /// Whether the file is read or written.
    pub mode: Mode,
    /// The file, after quote removal; of a here-document its text.
    pub target: String,
}

/// What a redirection does with its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// `<`
    Read,
    /// `>`
    Write,
    /// `>>`
    Append,
    /// `<<'END'`: no file, the text itself.
    Document,
}

/// Why a text is not a flat list of literal commands, and where that shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Opaque {
    /// For people, such as "the word is not literal: `$`".
    pub reason: &'static str,
    /// Byte offset in the text.
    pub at: usize,
}

/// What a screen shows beside the raw text. Every string has control and direction-changing characters escaped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decomposition {
    /// Why it could not be taken apart for certain; then `parts` is a best effort and may name too much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
    /// The commands in order.
    pub parts: Vec<Simple>,
    /// Whether there was more than a screen could use.
    pub truncated: bool,
}

/// Reads a command line. Never fails and never takes long: what cannot be read is opaque.
pub fn analyse(text: &str) -> Analysis {
    Analysis::new(lexer::strict(text), || text.to_owned())
}

/// Reads a command that comes as a list of words, as some tools send it. `["bash", "-lc", script]` is its script.
pub fn analyse_argv<S: AsRef<str>>(argv: &[S]) -> Analysis {
    let words: Vec<&str> = argv.iter().map(AsRef::as_ref).collect();
    if let [shell, "-c" | "-lc", script] = words.as_slice()
        && programs::is_plain_shell(shell)
    {
        return analyse(script);
    }
    let length: usize = words.iter().map(|word| word.len().saturating_add(1)).sum();
    let strict = match words.first() {
        None | Some(&"") => Err(Opaque { reason: "there is no command", at: 0 }),
        Some(_) if length > MAX_LENGTH => Err(Opaque { reason: lexer::TOO_LONG, at: MAX_LENGTH }),
        Some(_) if words.iter().any(|word| word.chars().any(lexer::is_forbidden)) => {
            Err(Opaque { reason: lexer::CONTROL, at: 0 })
        }
        Some(_) => {
            let argv = words.iter().map(|word| (*word).to_owned()).collect();
            let commands = vec![Simple { operator: None, argv, redirects: Vec::new() }];
            Ok(lexer::Strict { commands, comments: Vec::new() })
        }
    };
    Analysis::new(strict, || words.join(" "))
}

impl Redirect {
    /// Whether it opens nothing that matters: the null device, or text that stands in the line.
    pub fn is_free(&self) -> bool {
        self.mode == Mode::Document || self.target == "/dev/null"
    }
}

impl Analysis {
    fn new(strict: Result<lexer::Strict, Opaque>, text: impl FnOnce() -> String) -> Self {
        let text = if strict.is_err() { text() } else { String::new() };
        Self { strict, text, found: OnceCell::new() }
    }

    fn found(&self) -> &reach::FoundCommands {
        self.found.get_or_init(|| match &self.strict {
            Ok(strict) => reach::literal(strict),
            Err(_) => reach::anything(&self.text),
        })
    }

    /// Every word and file that could be found in it, however deep, and whether a program reads what lies there. An error
    /// where there is too much to look at.
    pub(crate) fn each_word(&self) -> Result<impl Iterator<Item = (&str, bool)>, ()> {
        let found = self.found();
        if found.overflow {
            return Err(());
        }
        let certain = self.strict.is_ok();
        Ok(found.commands.iter().flat_map(move |command| command.texts(certain)))
    }

    /// The strict view: a flat list of literal commands, or why it is none.
    pub fn commands(&self) -> Result<&[Simple], &Opaque> {
        self.strict.as_ref().map(|strict| strict.commands.as_slice())
    }

    /// The same reason for people, with the place in the text where it shows.
    pub(crate) fn why_opaque(&self, opaque: &Opaque) -> String {
        let here: String = escaped(self.text.get(opaque.at..).unwrap_or_default()).chars().take(24).collect();
        let reason = opaque.reason;
        if here.is_empty() { reason.to_owned() } else { format!("{reason}, at `{here}`") }
    }

    /// Whether only a person can say what this does.
    pub fn is_opaque(&self) -> bool {
        self.strict.is_err()
    }

    /// The commands in order as they are, not escaped, and whether that is all of them. Where the text is opaque this is
    /// a best effort, in which a word that is only known when it runs ends with `…`.
    pub fn outline(&self, most: usize) -> (Vec<Simple>, bool) {
        match &self.strict {
            Ok(strict) => {
                let commands = &strict.commands;
                (commands.iter().take(most).cloned().collect(), commands.len() <= most)
            }
            Err(_) => (self.found().outline(most), !self.found().more_than(most)),
        }
    }

    /// The parts for a screen.
    pub fn decomposition(&self) -> Decomposition {
        const SHOWN: usize = 100;
        let (opaque, parts) = match &self.strict {
            Ok(strict) => (None, strict.commands.iter().map(shown).collect()),
            Err(opaque) => (Some(opaque.clone()), self.found().parts(SHOWN).iter().map(shown).collect()),
        };
        Decomposition { truncated: opaque.is_some() && self.found().more_than(SHOWN), opaque, parts }
    }
}

fn shown(command: &Simple) -> Simple {
    Simple {
        operator: command.operator,
        argv: command.argv.iter().map(|word| escaped(word)).collect(),
        redirects: command
            .redirects
            .iter()
            .map(|redirect| Redirect { target: escaped(&redirect.target), ..redirect.clone() })
            .collect(),
    }
}

/// The text with every character that could disguise it written as an escape.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c != ' ' && (c.is_control() || c.is_whitespace() || lexer::is_invisible(c)) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}
