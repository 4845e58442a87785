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

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<Name> {
        list.iter().map(|name| Name::read(name).unwrap()).collect()
    }

    fn each(names: &Names, name: Option<&str>) -> Vec<u32> {
        let mut found: Vec<u32> = names.each(name).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn a_name_finds_each_rule_once() {
        let mut filed = Names::default();
        assert!(filed.file(&names(&["pay"]), 0));
        assert!(filed.file(&names(&["pay*", "pay?"]), 1));
        assert!(filed.file(&names(&["pa*"]), 2));
        assert!(filed.file(&names(&["get*", "pay"]), 3));
        assert_eq!(each(&filed, Some("pay")), [0, 1, 2, 3]);
        assert_eq!(each(&filed, Some("paying")), [1, 2]);
        assert_eq!(each(&filed, Some("pa")), [2]);
        assert_eq!(each(&filed, Some("get")), [3]);
        assert_eq!(each(&filed, Some("p")), [0_u32; 0]);
        assert_eq!(each(&filed, None), [0_u32; 0]);
    }

    #[test]
    fn a_list_that_could_be_any_name_is_not_filed() {
        let mut filed = Names::default();
        assert!(!filed.file(&[], 0));
        assert!(!filed.file(&names(&["pay", "*_read"]), 1));
        assert_eq!(each(&filed, Some("pay")), [0_u32; 0], "not even under the names that could be");
    }

    #[test]
    fn a_rule_is_filed_under_the_first_list_that_narrows_it() {
        let text = [
            "tool = 'pay'\nserver = 'bank'\nagent = 'bot'",
            "server = 'bank'\nagent = 'bot'",
            "agent = 'bot'",
            "source = 'rest'",
        ]
        .iter()
        .enumerate()
        .map(|(number, lists)| format!("[[rule]]\nname = 'r{number}'\neffect = 'hold'\n{lists}\n"))
        .collect::<Vec<_>>()
        .concat();
        let read =
            crate::read::read(&format!("version = 1\n{text}")).unwrap_or_else(|errors| panic!("{errors}"));
        let mut index = Index::default();
        for (number, rule) in (0_u32..).zip(&read.rules) {
            index.file(rule, number);
        }
        let candidates = |tool, server, agent| index.candidates(tool, server, agent).collect::<Vec<_>>();
        assert_eq!(candidates(Some("pay"), Some("bank"), "bot"), [0, 1, 2, 3]);
        assert_eq!(candidates(Some("pay"), None, "x"), [0, 3]);
        assert_eq!(candidates(None, Some("bank"), "x"), [1, 3]);
        assert_eq!(candidates(None, None, "bot"), [2, 3]);
        assert_eq!(candidates(None, None, "x"), [3]);
    }
}
