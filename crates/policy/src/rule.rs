//! One compiled rule: what it looks at, what it does, and its word on one call.

use std::{collections::HashSet, fmt, sync::Arc, time::Duration};

use placet_core::{Confine, Covered, DecisionWord, Door, Effect, Escalation, Kind, Needs, Risk, Time};
use serde_json::{Map, Value};

use crate::{
    Claims, Trust,
    condition::{Condition, Scope},
    files::{Asks, Files},
    glob::Name,
    matcher::Matcher,
    path::{Each, Path},
    place,
    words::Words,
    work::{Tri, Trouble, WorkBudget},
};

/// A compiled rule.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) effect: Effect,
    /// Of an allow rule: what it lets pass may run only so confined.
    pub(crate) confine: Option<Confine>,
    /// Of an allow rule that confines: it is asked only where no other rule lets the call pass.
    pub(crate) otherwise: bool,
    /// Of a hold rule: it does not hold what a rule lets pass confined.
    pub(crate) unless_confined: bool,
    /// Of a hold rule: it does not hold what the allow rule of this name lets pass.
    pub(crate) unless_allowed: Option<String>,
    pub(crate) tool: Vec<Name>,
    /// What the first word of the tool's own name may be, in lower case.
    pub(crate) tool_begins: Vec<Name>,
    /// What must be among the words of the tool's own name, in lower case.
    pub(crate) tool_has: Vec<Name>,
    pub(crate) server: Vec<Name>,
    pub(crate) agent: Vec<Name>,
    pub(crate) source: Vec<Name>,
    pub(crate) kind: Vec<Kind>,
    pub(crate) session: Vec<Name>,
    pub(crate) lineage: Vec<Name>,
    pub(crate) coverage: Vec<Covered>,
    /// The only arguments a call may have.
    pub(crate) only: Option<HashSet<Box<str>>>,
    pub(crate) arguments: Vec<Argument>,
    /// The call happens in the folders of its agent.
    pub(crate) inside: bool,
    /// The call names files of this list and no others.
    pub(crate) among: Option<Arc<Files>>,
    /// The call names files of a list.
    pub(crate) files: Vec<(Asks, Arc<Files>)>,
    pub(crate) when: Option<Condition>,
    pub(crate) risk: Risk,
    pub(crate) reason: Option<String>,
    /// Of an allow rule: what it lets pass only reads, so a call that does more contradicts it.
    pub(crate) reads_only: bool,
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
    pub(crate) covered: Covered,
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
    Coverage,
    Argument(&'a str),
    /// An argument that the rule does not name.
    Extra(&'a str),
    Under,
    Files(Asks),
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
            Self::Coverage => "coverage",
            Self::Argument(key) => return write!(f, "argument `{key}`"),
            Self::Extra(key) => return write!(f, "`only`, which does not list `{key}`,"),
            Self::Under => "under",
            Self::Files(Asks::Touches) => "touches",
            Self::Files(Asks::Above) => "above",
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
            || !self.coverage.is_empty()
            || self.when.as_ref().is_some_and(|when| when.uses().claims)
    }

    /// Whether it is about calls of tools, so that it says nothing of questions and plans.
    fn about_calls(&self) -> bool {
        self.only.is_some()
            || self.inside
            || self.among.is_some()
            || !self.files.is_empty()
            || !self.arguments.is_empty()
            || self.when.as_ref().is_some_and(|when| when.uses().call)
    }

    /// Whether the words of the tool's name are those it asks for.
    fn worded(&self, tool: Option<&str>) -> bool {
        if self.tool_begins.is_empty() && self.tool_has.is_empty() {
            return true;
        }
        let Some(words) = tool.map(Words::of_tool) else { return false };
        (self.tool_begins.is_empty() || words.begins(&self.tool_begins))
            && (self.tool_has.is_empty() || words.has(&self.tool_has))
    }

    /// What `[*]` means in this rule.
    pub(crate) const fn each(&self) -> Each {
        match self.effect {
            Effect::Allow => Each::Every,
            Effect::Hold | Effect::Deny => Each::Any,
        }
    }

    /// Its word on one call. Cheap questions come first; a no anywhere is stronger than an error elsewhere.
    pub(crate) fn says<'a>(&'a self, subject: &Subject<'a>, work: &WorkBudget<'a>) -> Word<'a> {
        let listed = |names: &[Name], value: Option<&str>| {
            names.is_empty() || value.is_some_and(|value| names.iter().any(|name| name.matches(value)))
        };
        if !listed(&self.tool, subject.tool) {
            return Word::No(By::Tool);
        }
        if !self.worded(subject.tool) {
            return Word::No(By::Tool);
        }
        if !listed(&self.server, subject.server) {
            return Word::No(By::Server);
        }
        if !listed(&self.agent, Some(subject.agent)) {
            return Word::No(By::Agent);
        }
        let wider = Door::named(subject.source).part_of();
        if !listed(&self.source, Some(subject.source)) && !listed(&self.source, wider) {
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
        if !self.coverage.is_empty() && !self.coverage.contains(&subject.covered) {
            return Word::No(By::Coverage);
        }
        if let Some(only) = &self.only
            && let Some(extra) = subject.arguments.keys().find(|key| !only.contains(key.as_str()))
        {
            return Word::No(By::Extra(extra));
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
            let test = |value: Option<&'a Value>| {
                let over = if argument.path.is_deep() {
                    argument.matcher.passes_over(value, work)
                } else {
                    Ok(false)
                };
                match over {
                    Ok(true) => Tri::No,
                    Ok(false) => argument.matcher.test(value, work),
                    Err(trouble) => Tri::Error(trouble),
                }
            };
            match argument.path.test(subject.arguments, self.each(), work, &test) {
                Tri::Yes => {}
                Tri::No => return Word::No(By::Argument(&argument.key)),
                Tri::Error(trouble) => error = error.or(Some((By::Argument(&argument.key), trouble))),
            }
        }
        for (asks, files) in &self.files {
            let (tool, context) = (subject.tool.unwrap_or_default(), subject.claims.context);
            match Tri::from_result(files.asked(*asks, tool, subject.arguments, context, work)) {
                Tri::Yes => {}
                Tri::No => return Word::No(By::Files(*asks)),
                Tri::Error(trouble) => error = error.or(Some((By::Files(*asks), trouble))),
            }
        }
        if self.inside {
            match place::inside(subject.tool, subject.arguments, self.confine.is_some(), work) {
                Tri::Yes => {}
                Tri::No => return Word::No(By::Under),
                Tri::Error(trouble) => error = error.or(Some((By::Under, trouble))),
            }
        }
        if let Some(files) = &self.among {
            match place::among(subject.tool, subject.arguments, files, work) {
                Tri::Yes => {}
                Tri::No => return Word::No(By::Under),
                Tri::Error(trouble) => error = error.or(Some((By::Under, trouble))),
            }
        }
        if let Some(when) = &self.when {
            let scope = Scope {
                arguments: subject.arguments,
                tool: subject.tool.unwrap_or_default(),
                agent: subject.agent,
                source: wider.unwrap_or(subject.source),
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
    pub(crate) fn applies<'a>(&'a self, subject: &Subject<'a>, work: &WorkBudget<'a>) -> Option<Why<'a>> {
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
