//! What a good policy may still not mean: rules that can never speak, and rules that say more than they seem to.

use std::{collections::HashMap, ops::Range};

use placet_core::Effect;

use super::{doc::Doc, shown};
use crate::{evaluate::Defaults, glob::Name, rule::Rule};

/// So many sweeping globs are looked at; more would only be said again.
const SWEEPING: usize = 200;

pub(super) fn warn(doc: &mut Doc<'_>, rules: &[Rule], spans: &[Range<usize>], defaults: &Defaults) {
    let shadows = Shadows::new(rules);
    for (rule, span) in rules.iter().zip(spans) {
        doc.rule = Some(rule.name.clone());
        if rule.effect == Effect::Allow && rule.risk >= defaults.hold_at_risk {
            doc.warning(
                span.clone(),
                format!("the rule can never allow anything: calls of risk `{}` wait for a person", rule.risk),
                "lower its `risk`, or raise `hold_at_risk` in `[defaults]`",
            );
        }
        if rule.effect == Effect::Allow && asks_nothing(rule) {
            doc.warning(
                span.clone(),
                "the rule allows every call of every tool",
                "name the tools it is meant for",
            );
        }
        if let Some(other) = shadows.over(rule) {
            doc.warning(
                span.clone(),
                format!(
                    "the rule can never decide: `{}` is stricter and matches all of its calls",
                    shown(&other.name)
                ),
                "remove one of the two, or narrow the stricter one",
            );
        }
    }
    doc.rule = None;
}

/// Whether it matches whatever the call.
fn asks_nothing(rule: &Rule) -> bool {
    let any = |names: &[Name]| names.is_empty() || names.iter().any(|name| name.text() == "*");
    any(&rule.tool) && any(&rule.server) && any(&rule.agent) && any(&rule.source) && only_names(rule)
}

/// Whether it asks for names alone.
fn only_names(rule: &Rule) -> bool {
    rule.kind.is_empty()
        && rule.tool_begins.is_empty()
        && rule.tool_has.is_empty()
        && rule.session.is_empty()
        && rule.lineage.is_empty()
        && rule.coverage.is_empty()
        && rule.arguments.is_empty()
        && rule.only.is_none()
        && !rule.inside
        && rule.files.is_empty()
        && rule.when.is_none()
}

/// Rules that match a tool whatever its arguments.
struct Shadows<'r> {
    exact: HashMap<&'r str, &'r Rule>,
    globs: Vec<(&'r Name, &'r Rule)>,
}

impl<'r> Shadows<'r> {
    fn new(rules: &'r [Rule]) -> Self {
        let mut shadows = Self { exact: HashMap::new(), globs: Vec::new() };
        let sweeping = |rule: &&Rule| {
            rule.effect != Effect::Allow
                && only_names(rule)
                && rule.server.is_empty()
                && rule.agent.is_empty()
                && rule.source.is_empty()
        };
        for rule in rules.iter().filter(sweeping) {
            for name in &rule.tool {
                match name {
                    Name::Exact(text) => {
                        let known = shadows.exact.entry(text).or_insert(rule);
                        if rule.effect > known.effect {
                            *known = rule;
                        }
                    }
                    Name::Glob(_) if shadows.globs.len() < SWEEPING => shadows.globs.push((name, rule)),
                    Name::Glob(_) => {}
                }
            }
        }
        shadows
    }

    /// A stricter rule that matches every call this one matches.
    fn over(&self, rule: &Rule) -> Option<&'r Rule> {
        if rule.tool.is_empty() {
            return None;
        }
        let mut found = None;
        for name in &rule.tool {
            let exact = match name {
                Name::Exact(text) => self.exact.get(&**text).copied(),
                Name::Glob(_) => None,
            };
            let stricter = |other: &&Rule| other.effect > rule.effect;
            let by_glob = || {
                self.globs
                    .iter()
                    .find(|(glob, other)| stricter(other) && covers(glob, name))
                    .map(|(_, other)| *other)
            };
            found = Some(exact.filter(stricter).or_else(by_glob)?);
        }
        found
    }
}

/// Whether the glob matches everything the other name does.
fn covers(glob: &Name, name: &Name) -> bool {
    if glob == name {
        return true;
    }
    match name {
        Name::Exact(text) => glob.matches(text),
        Name::Glob(_) => glob
            .text()
            .strip_suffix('*')
            .is_some_and(|begin| begin == glob.prefix() && name.prefix().starts_with(begin)),
    }
}
