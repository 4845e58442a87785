//! Finds the rules that can match a call without looking at the others: by tool, server or agent.

use std::collections::HashMap;

use crate::{glob::Name, rule::Rule};

/// The rules of one effect, each filed under what it surely needs.
#[derive(Debug, Default)]
pub(crate) struct Index {
    tool: Names,
    server: Names,
    agent: Names,
    /// Rules that any call may match.
    rest: Vec<u32>,
}

/// Names, and beginnings of globs.
#[derive(Debug, Default)]
pub(crate) struct Names {
    exact: HashMap<Box<str>, Vec<u32>>,
    prefix: HashMap<Box<str>, Vec<u32>>,
    /// The lengths that occur in `prefix`.
    lengths: Vec<usize>,
}

impl Names {
    /// Files a rule; `false` when one of its names may begin with anything.
    pub(crate) fn file(&mut self, names: &[Name], rule: u32) -> bool {
        if names.is_empty() || names.iter().any(|name| name.prefix().is_empty()) {
            return false;
        }
        for name in names {
            let (map, key) = match name {
                Name::Exact(text) => (&mut self.exact, &**text),
                Name::Glob(_) => (&mut self.prefix, name.prefix()),
            };
            let rules = map.entry(key.into()).or_default();
            if rules.last() != Some(&rule) {
                rules.push(rule);
            }
            if matches!(name, Name::Glob(_)) && !self.lengths.contains(&key.len()) {
                self.lengths.push(key.len());
            }
        }
        true
    }

    pub(crate) fn each<'i>(&'i self, name: Option<&'i str>) -> impl Iterator<Item = u32> + 'i {
        let exact = name.and_then(|name| self.exact.get(name));
        let begun = self.lengths.iter().filter_map(move |length| self.prefix.get(name?.get(..*length)?));
        exact.into_iter().chain(begun).flatten().copied()
    }
}

impl Index {
    pub(crate) fn file(&mut self, rule: &Rule, number: u32) {
        let filed = self.tool.file(&rule.tool, number)
            || self.server.file(&rule.server, number)
            || self.agent.file(&rule.agent, number);
        if !filed {
            self.rest.push(number);
        }
    }

    /// The rules that may match; a rule with several globs may come more than once.
    pub(crate) fn candidates<'i>(
        &'i self,
        tool: Option<&'i str>,
        server: Option<&'i str>,
        agent: &'i str,
    ) -> impl Iterator<Item = u32> + 'i {
        self.tool
            .each(tool)
            .chain(self.server.each(server))
            .chain(self.agent.each(Some(agent)))
            .chain(self.rest.iter().copied())
    }
}
