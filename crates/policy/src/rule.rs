//! One compiled rule: what it looks at, what it does, and its word on one call.

use std::{fmt, time::Duration};

use placet_core::{DecisionWord, Effect, Escalation, Kind, Needs, Risk, Time};
use serde_json::{Map, Value};

use crate::{
    Claims, Trust,
    condition::{Condition, Scope},
    glob::Name,
    matcher::Matcher,
    path::{Each, Path},
    work::{Tri, Trouble, Work},
};

/// A compiled rule.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) effect: Effect,
    pub(crate) tool: Vec<Name>,
    pub(crate) server: Vec<Name>,
    pub(crate) agent: Vec<Name>,
    pub(crate) source: Vec<Name>,
    pub(crate) kind: Vec<Kind>,
    pub(crate) session: Vec<Name>,
    pub(crate) lineage: Vec<Name>,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) when: Option<Condition>,
    pub(crate) risk: Risk,
    pub(crate) reason: Option<String>,
    /// In normal form.
    pub(crate) needs: Needs,
    pub(crate) expires_in: Option<Duration>,
    pub(crate) escalation: Vec<Escalation>,
    pub(crate) claim_within: Option<Duration>,
    pub(crate) decisions: Option<Vec<DecisionWord>>,
    pub(crate) pending_cap: Option<u64>,
    pub(crate) trust: Option<Trust>,
}

/// A matcher and where it looks.
#[derive(Debug)]
pub(crate) struct Argument {
    pub(crate) key: Box<str>,
    pub(crate) path: Path,
    pub(crate) matcher: Matcher,
}

/// One call as rules see it: an action, a step of a plan, or a request without a tool.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) kind: Kind,
    pub(crate) tool: Option<&'a str>,
    pub(crate) server: Option<&'a str>,
    pub(crate) arguments: &'a Map<String, Value>,
    pub(crate) agent: &'a str,
    pub(crate) source: &'a str,
    pub(crate) time: Time,
    pub(crate) claims: Claims<'a>,
}

/// The matcher that spoke last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By<'a> {
    Tool,
    Server,
    Agent,
    Source,
    Kind,
    Session,
    Lineage,
    Argument(&'a str),
    When,
}

impl fmt::Display for By<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tool => "tool",
            Self::Server => "server",
            Self::Agent => "agent",
            Self::Source => "source",
            Self::Kind => "kind",
            Self::Session => "session",
            Self::Lineage => "lineage",
            Self::Argument(key) => return write!(f, "argument `{key}`"),
            Self::When => "when",
        })
    }
}

/// A rule's word on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word<'a> {
    Yes,
    No(By<'a>),
    Error(By<'a>, Trouble),
}

/// Why a rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why<'a> {
    Matched,
    Error(By<'a>, Trouble),
}

impl Rule {
    /// Whether it looks at what an agent merely claims.
    pub(crate) fn claims(&self) -> bool {
        !self.session.is_empty()
            || !self.lineage.is_empty()
            || self.when.as_ref().is_some_and(|when| when.uses().claims)
    }

    /// Whether it is about calls of tools, so that it says nothing of questions and plans.
    fn about_calls(&self) -> bool {
        !self.arguments.is_empty() || self.when.as_ref().is_some_and(|when| when.uses().call)
    }

    /// What `[*]` means in this rule.
    pub(crate) const fn each(&self) -> Each {
        match self.effect {
            Effect::Allow => Each::Every,
            Effect::Hold | Effect::Deny => Each::Any,
        }
    }

    /// Its word on one call. Cheap questions come first; a no anywhere is stronger than an error elsewhere.
    pub(crate) fn says<'a>(&'a self, subject: &Subject<'a>, work: &Work<'a>) -> Word<'a> {
        let listed = |names: &[Name], value: Option<&str>| {
            names.is_empty() || value.is_some_and(|value| names.iter().any(|name| name.matches(value)))
        };
        if !listed(&self.tool, subject.tool) {
            return Word::No(By::Tool);
        }
        if !listed(&self.server, subject.server) {
            return Word::No(By::Server);
        }
        if !listed(&self.agent, Some(subject.agent)) {
            return Word::No(By::Agent);
        }
        if !listed(&self.source, Some(subject.source)) {
            return Word::No(By::Source);
        }
        if !self.kind.is_empty() && !self.kind.contains(&subject.kind) {
            return Word::No(By::Kind);
        }
        if subject.tool.is_none() && self.about_calls() {
            return Word::No(By::Kind);
        }
        if !listed(&self.session, Some(subject.claims.session)) {
            return Word::No(By::Session);
        }
        let mut error = None;
        if !self.lineage.is_empty() {
            match lineage(&self.lineage, &subject.claims) {
                Tri::Yes => {}
                Tri::No => return Word::No(By::Lineage),
                Tri::Error(trouble) => error = Some((By::Lineage, trouble)),
            }
        }
        for argument in &self.arguments {
            let test = |value| argument.matcher.test(value, work);
            match argument.path.test(subject.arguments, self.each(), work, &test) {
                Tri::Yes => {}
                Tri::No => return Word::No(By::Argument(&argument.key)),
                Tri::Error(trouble) => error = error.or(Some((By::Argument(&argument.key), trouble))),
            }
        }
        if let Some(when) = &self.when {
            let scope = Scope {
                arguments: subject.arguments,
                tool: subject.tool.unwrap_or_default(),
                agent: subject.agent,
                source: subject.source,
                time: subject.time,
                session: subject.claims.session,
                lineage: subject.claims.context.get("lineage"),
            };
            match when.test(&scope, work) {
                Tri::Yes => {}
                Tri::No => return Word::No(By::When),
                Tri::Error(trouble) => error = error.or(Some((By::When, trouble))),
            }
        }
        error.map_or(Word::Yes, |(by, trouble)| Word::Error(by, trouble))
    }

    /// Whether it applies: an error keeps an allow rule from applying and makes the others apply.
    pub(crate) fn applies<'a>(&'a self, subject: &Subject<'a>, work: &Work<'a>) -> Option<Why<'a>> {
        match self.says(subject, work) {
            Word::Yes => Some(Why::Matched),
            Word::No(_) => None,
            Word::Error(..) if self.effect == Effect::Allow => None,
            Word::Error(by, trouble) => Some(Why::Error(by, trouble)),
        }
    }
}

/// Whether any agent of the claimed chain is listed. A chain that is no list of texts cannot be read.
fn lineage(names: &[Name], claims: &Claims<'_>) -> Tri {
    const LONGEST: usize = 64;
    let expected = Tri::Error(Trouble::Type("a list of texts"));
    match claims.context.get("lineage") {
        None => Tri::No,
        Some(Value::Array(chain)) if chain.len() > LONGEST => Tri::Error(Trouble::LongList),
        Some(Value::Array(chain)) => {
            let found = chain
                .iter()
                .filter_map(Value::as_str)
                .any(|agent| names.iter().any(|name| name.matches(agent)));
            if found {
                Tri::Yes
            } else if chain.iter().all(Value::is_string) {
                Tri::No
            } else {
                expected
            }
        }
        Some(_) => expected,
    }
}
