//! What the tests share: the shipped preset's shell patterns, and short ways to ask about a command.

use std::sync::OnceLock;

use placet_core::Effect;
use placet_policy::Policy;
use placet_policy::shell::{Analysis, Operator, Patterns, analyse};
use serde_json::json;

use crate::presets::ask;

/// The rule of the conformance corpus: `git status` with any flag and operand a status may have.
pub(crate) fn git_status() -> Patterns {
    patterns(
        r#"allow = [{ program = "git", subcommand = "status", flags = ["-s", "--short"], operands = "any" }]"#,
    )
}

pub(crate) fn patterns(text: &str) -> Patterns {
    toml::from_str(text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// What the reader says of a bad pattern.
pub(crate) fn refusal(text: &str) -> String {
    toml::from_str::<Patterns>(text).expect_err("the pattern should be refused").to_string()
}

pub(crate) fn mention(text: &str) -> Patterns {
    patterns(&format!("mention = [{text}]"))
}

pub(crate) fn argvs(text: &str) -> Option<Vec<Vec<String>>> {
    let analysis = analyse(text);
    analysis.commands().ok().map(|commands| commands.iter().map(|command| command.argv.clone()).collect())
}

/// The coding-agent preset, and what its shell patterns allow.
pub(crate) struct Preset {
    pub(crate) allow: Vec<Patterns>,
    whole: Policy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShellVerdict {
    Allow,
    /// With which risk.
    Hold(String),
}

pub(crate) fn preset() -> &'static Preset {
    static PRESET: OnceLock<Preset> = OnceLock::new();
    PRESET.get_or_init(|| {
        let text = include_str!("../../presets/coding-agent.toml");
        let file: toml::Table = toml::from_str(text).expect("the preset is TOML");
        let whole = Policy::parse(text).unwrap_or_else(|errors| panic!("{errors}"));
        let mut preset = Preset { allow: Vec::new(), whole };
        for rule in file["rule"].as_array().expect("a list of rules") {
            let args = rule.get("args").and_then(toml::Value::as_table);
            let named = |(key, value): (&String, &toml::Value)| {
                let commands = key == "command" || key.starts_with("**.");
                value.get("shell").filter(|_| commands).cloned()
            };
            let Some(shell) = args.and_then(|args| args.iter().find_map(named)) else {
                continue;
            };
            let name = rule["name"].as_str().expect("a name").to_owned();
            let patterns: Patterns =
                shell.try_into().unwrap_or_else(|error| panic!("rule `{name}`: {error}"));
            if rule["effect"].as_str() == Some("allow") {
                assert!(patterns.is_for_allow(), "{name}");
                preset.allow.push(patterns);
            } else {
                assert!(patterns.is_for_mention(), "{name}");
            }
        }
        assert_eq!(preset.allow.len(), 1);
        preset
    })
}

impl Preset {
    /// What the whole preset says of a command in the workspace.
    pub(crate) fn says(&self, text: &str) -> ShellVerdict {
        let outcome = ask(&self.whole, "Bash", &json!({ "command": text }));
        match outcome.effect {
            Effect::Allow => ShellVerdict::Allow,
            _ => ShellVerdict::Hold(outcome.risk.to_string()),
        }
    }

    pub(crate) fn allows(&self, text: &str) -> bool {
        self.says(text) == ShellVerdict::Allow
    }

    /// Whether the allow patterns alone let it pass, whatever a hold rule says.
    pub(crate) fn would_allow(&self, analysis: &Analysis) -> bool {
        self.allow.iter().any(|patterns| patterns.allows(analysis))
    }
}

pub(crate) fn sign(operator: Option<Operator>) -> &'static str {
    match operator {
        None => "",
        Some(Operator::Semicolon) => ";",
        Some(Operator::Newline) => "\n",
        Some(Operator::And) => "&&",
        Some(Operator::Or) => "||",
        Some(Operator::Pipe) => "|",
    }
}

/// A small generator of numbers (splitmix64): the same seed gives the same test on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit.max(1)).expect("small")).expect("small")
    }

    pub(crate) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}
