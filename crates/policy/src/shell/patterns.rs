//! The shell patterns of a policy file, checked when they are read.

use std::borrow::Cow;

use serde::Deserialize;

use super::allow::{Allow, RawAllow};
use super::mention::{Mentions, RawMention};
use super::paths::PathRule;
use super::{Analysis, Mode, Redirect, Simple, moved, without_folder};

/// What `shell = { … }` holds in a rule.
///
/// ```toml
/// # in an allow rule: every command of the line must match one of these
/// shell = { allow = [
///   { program = "git", subcommand = "status", flags = ["-s", "--short"], operands = "any" },
///   { program = ["head", "tail"], values = ["-n", "--lines"], attached = true, flags = ["-#"], operands = { under = ["/srv/app"] } },
///   { exact = ["make", "test"] },
/// ], writes = { under = ["/tmp/scratch"] }, reads = "any" }
///
/// # in a hold or deny rule: any command anywhere in the text
/// shell = { mention = [
///   { program = "rm", flags = ["-r|-R|--recursive", "-f|--force"] },
///   { program = ["curl", "wget"], feeds = ["sh", "bash"] },
///   { words = [".env", ".ssh/*"] },
/// ] }
/// ```
///
/// In `allow`, `flags` stand alone, `values` take one value (`-n 5`, `--lines=5`; with `attached = true` also `-n5`), `optional`
/// may have one attached (`--color=always`, `-U3`) and `-#` is a number (`-20`). What follows a flag in `values` is not held to the rule of the
/// operands: list no flag there whose value matters. In `mention`, `-f|--force` are spellings of one flag, and every entry
/// must be found. `moves = true` reads `cd FOLDER && …` and `git -C FOLDER …` as the same commands in that folder; the rule must
/// then say where that may be (`under = "@workspace"`). `opaque = true` in place of `mention` matches every text that cannot be taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawPatterns")]
pub struct Patterns {
    allow: Vec<Listed>,
    mention: Mentions,
    opaque: bool,
    writes: PathRule,
    reads: PathRule,
    /// A folder that the line itself goes to is where it runs.
    moves: bool,
}

/// One entry of `allow`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listed {
    allow: Allow,
    /// The switch that this entry needs, while that is off.
    off: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPatterns {
    #[serde(default)]
    allow: Vec<RawAllow>,
    #[serde(default)]
    mention: Vec<RawMention>,
    #[serde(default)]
    opaque: bool,
    #[serde(default)]
    writes: PathRule,
    #[serde(default)]
    reads: PathRule,
    #[serde(default)]
    moves: bool,
}

impl TryFrom<RawPatterns> for Patterns {
    type Error = String;

    fn try_from(raw: RawPatterns) -> Result<Self, String> {
        const MOST: usize = 1_000;
        if raw.allow.is_empty() && raw.mention.is_empty() && !raw.opaque {
            return Err("the shell pattern is empty; list commands in `allow` (allow rules) or `mention` (hold and deny rules)".to_owned());
        }
        if !raw.allow.is_empty() && (!raw.mention.is_empty() || raw.opaque) {
            return Err("`allow` does not go with `mention` or `opaque`; use two rules, one that allows and one that holds or denies".to_owned());
        }
        if raw.allow.is_empty() && (raw.writes != PathRule::None || raw.reads != PathRule::None) {
            return Err(
                "`writes` and `reads` belong to `allow`; in a hold or deny rule name the paths in `words`"
                    .to_owned(),
            );
        }
        if raw.allow.is_empty() && raw.moves {
            return Err("`moves` belongs to `allow`; leave it out".to_owned());
        }
        if raw.allow.len().max(raw.mention.len()) > MOST {
            return Err(format!("more than {MOST} shell patterns in one rule; split the rule"));
        }
        let numbered = |list: &str, index: usize, message: String| {
            format!("{list} pattern {}: {message}", index.saturating_add(1))
        };
        let allow = raw.allow.into_iter().enumerate();
        let mut mention = Mentions::default();
        for (index, pattern) in raw.mention.into_iter().enumerate() {
            mention.add(pattern).map_err(|message| numbered("mention", index, message))?;
        }
        Ok(Self {
            allow: allow
                .map(|(index, mut pattern)| {
                    let off = pattern.switch.take();
                    let allow =
                        Allow::try_from(pattern).map_err(|message| numbered("allow", index, message))?;
                    Ok::<_, String>(Listed { allow, off })
                })
                .collect::<Result<_, _>>()?,
            mention,
            opaque: raw.opaque,
            writes: raw.writes,
            reads: raw.reads,
            moves: raw.moves,
        })
    }
}

impl Patterns {
    /// Whether the patterns say what an allow rule may let pass.
    pub fn is_for_allow(&self) -> bool {
        !self.allow.is_empty()
    }

    /// Whether the patterns say what a hold or deny rule looks for.
    pub fn is_for_mention(&self) -> bool {
        !self.mention.is_empty() || self.opaque
    }

    /// Turns on the entries whose switch is on. All others stay off.
    pub(crate) fn turn_on(&mut self, mut is_on: impl FnMut(&str) -> bool) {
        for listed in &mut self.allow {
            listed.off = listed.off.take().filter(|switch| !is_on(switch));
        }
    }

    /// For allow rules: the text is a flat list of literal commands, each of them matches a pattern, and each file the
    /// shell itself would open is accepted. Opaque or empty text is never allowed.
    pub fn allows(&self, analysis: &Analysis) -> bool {
        let Ok(commands) = analysis.commands() else { return false };
        if commands.is_empty() {
            return false;
        }
        if !self.moves {
            return commands.iter().all(|command| self.allows_one(&command.argv, command));
        }
        let Ok(moved) = moved(commands) else { return false };
        moved.commands.iter().all(|command| self.allows_one(&without_folder(&command.argv), command))
    }

    fn allows_one(&self, argv: &[String], command: &Simple) -> bool {
        self.allow.iter().any(|listed| listed.off.is_none() && listed.allow.miss(argv).is_none())
            && command.redirects.iter().all(|redirect| self.accepts(redirect))
    }

    /// Whether a folder that the line itself goes to counts. Only where somebody looks at that folder.
    pub(crate) fn moves(&self) -> bool {
        self.moves
    }

    fn accepts(&self, redirect: &Redirect) -> bool {
        redirect.is_free()
            || if redirect.mode == Mode::Read { &self.reads } else { &self.writes }.accepts(&redirect.target)
    }

    /// For allow rules: the first thing in the text that keeps it from passing, for people.
    pub(crate) fn obstacle(&self, analysis: &Analysis) -> Option<String> {
        let commands = match analysis.commands() {
            Ok(commands) => commands,
            Err(opaque) => return Some(analysis.why_opaque(opaque)),
        };
        let commands = match moved(commands) {
            Ok(moved) if self.moves => moved.commands,
            Err(_) if self.moves => {
                return Some("it is not certain in which folder all of it runs".to_owned());
            }
            _ => commands,
        };
        commands.iter().find_map(|command| {
            let argv = if self.moves { without_folder(&command.argv) } else { Cow::Borrowed(&*command.argv) };
            let program = argv.first()?;
            let on = self.allow.iter().filter(|listed| listed.off.is_none());
            let misses: Option<Vec<_>> = on.map(|listed| listed.allow.miss(&argv)).collect();
            let switched =
                |listed: &Listed| listed.off.clone().filter(|_| listed.allow.miss(&argv).is_none());
            if misses.is_some()
                && let Some(switch) = self.allow.iter().find_map(switched)
            {
                return Some(format!(
                    "`{}` so needs the policy's switch `{switch}`, which is off",
                    super::escaped(program)
                ));
            }
            if let Some(nearest) = misses.and_then(|misses| misses.into_iter().max()) {
                return Some(nearest.says(program));
            }
            let refused = command.redirects.iter().find(|redirect| !self.accepts(redirect))?;
            let verb = if refused.mode == Mode::Read { "reads" } else { "writes" };
            let target: String = super::escaped(&refused.target).chars().take(60).collect();
            Some(format!("the shell {verb} `{target}`"))
        })
    }

    /// Whether the patterns could be mentioned in a text, without taking it apart: it names one of their programs, or has
    /// a sign that may become any name.
    pub(crate) fn could_mention(&self, text: &str) -> bool {
        self.opaque || self.mention.could_be_in(text)
    }

    /// For hold and deny rules: something in the text, however deep, matches a pattern. Text too large to search
    /// matches, so that padding hides nothing.
    pub fn mentions(&self, analysis: &Analysis) -> bool {
        (self.opaque && analysis.is_opaque())
            || (!self.mention.is_empty() && self.mention.any(analysis.found()))
    }
}
