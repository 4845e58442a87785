//! Evaluation: the rules that apply, the effect that wins, and everything they ask for put together.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, LazyLock},
    time::Duration,
};

use placet_core::{DecisionWord, Effect, Escalation, Kind, Needs, Risk, show};
use serde_json::{Map, Value};

use crate::{
    CONTRADICTION, Call, DEFAULT_RULE, Outcome,
    acts::{beyond_reading, open_text},
    call::{server_of, tool_shaped},
    files::{Asks, Files},
    glob::Name,
    index::{Index, Names},
    needs,
    outcome::{both_decisions, both_trust, least},
    rule::{By, Rule, Subject, Why, Word},
    work::{Trouble, WorkBudget},
};

/// What holds where no rule says otherwise.
#[derive(Debug, Clone)]
pub(crate) struct Defaults {
    pub(crate) effect: Effect,
    pub(crate) risk: Risk,
    pub(crate) expires_in: Option<Duration>,
    pub(crate) claim_within: Option<Duration>,
    /// In normal form.
    pub(crate) needs: Needs,
    pub(crate) hold_at_risk: Risk,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            effect: Effect::Hold,
            risk: Risk::Medium,
            expires_in: None,
            claim_within: None,
            needs: Needs::default(),
            hold_at_risk: Risk::High,
        }
    }
}

/// Compiled rules, ready to be asked.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) list: Vec<Rule>,
    pub(crate) defaults: Defaults,
    deny: Index,
    hold: Index,
    allow: Index,
    /// The tools and servers that rules which restrict speak of.
    guarded: Guarded,
    guarded_servers: Guarded,
    /// Whether any allow rule says that it only reads.
    reads_only: bool,
    /// Whether any rule lets trust be earned.
    pub(crate) offers_trust: bool,
    /// Hold rules that give way, each with the allow rule that it gives way to.
    gives_way: HashMap<u32, u32>,
}

/// Names and globs of hold and deny rules, for telling look-alikes: names that differ from them in case only.
#[derive(Debug, Default)]
struct Guarded {
    index: Names,
    /// Each in lower case, as it was written, and the rule it stands in.
    list: Vec<(Name, Name, u32)>,
}

impl Guarded {
    fn file(&mut self, name: &Name, rule: u32) {
        let lower = name.to_lower();
        let number = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        // A glob that begins with a wildcard is not the name of anything in particular.
        if self.index.file(std::slice::from_ref(&lower), number) {
            self.list.push((lower, name.clone(), rule));
        }
    }

    /// The rule whose tool this name would be if upper and lower case were one.
    fn look_alike(&self, tool: &str) -> Option<u32> {
        let lower = tool.to_ascii_lowercase();
        self.index
            .each(Some(&lower))
            .filter_map(|number| self.list.get(usize::try_from(number).ok()?))
            .find(|(any_case, written, _)| any_case.matches(&lower) && !written.matches(tool))
            .map(|(_, _, rule)| *rule)
    }
}

/// Rules that apply, and why.
type Applying<'a> = Vec<(u32, Why<'a>)>;

/// So many rules are named in the reasons; the rest is counted.
const REASONS: usize = 16;

static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

impl Rules {
    pub(crate) fn new(list: Vec<Rule>, defaults: Defaults) -> Self {
        let mut rules = Self {
            list: Vec::new(),
            defaults,
            deny: Index::default(),
            hold: Index::default(),
            allow: Index::default(),
            guarded: Guarded::default(),
            guarded_servers: Guarded::default(),
            reads_only: list.iter().any(|rule| rule.reads_only),
            offers_trust: list.iter().any(|rule| rule.trust.is_some()),
            gives_way: HashMap::new(),
        };
        let named: HashMap<&str, u32> =
            (0..).zip(&list).map(|(number, rule)| (&*rule.name, number)).collect();
        for (number, rule) in (0_u32..).zip(&list) {
            let other = rule.unless_allowed.as_deref().and_then(|name| named.get(name));
            rules.gives_way.extend(other.map(|other| (number, *other)));
        }
        for (number, rule) in (0_u32..).zip(&list) {
            rules.index_mut(rule.effect).file(rule, number);
            if rule.effect != Effect::Allow {
                rule.tool.iter().for_each(|name| rules.guarded.file(name, number));
                rule.server.iter().for_each(|name| rules.guarded_servers.file(name, number));
            }
        }
        rules.list = list;
        rules
    }

    const fn index_mut(&mut self, effect: Effect) -> &mut Index {
        match effect {
            Effect::Deny => &mut self.deny,
            Effect::Hold => &mut self.hold,
            Effect::Allow => &mut self.allow,
        }
    }

    fn rule(&self, number: u32) -> Option<&Rule> {
        self.list.get(usize::try_from(number).ok()?)
    }

    /// Whether any rule that asks about files would find what it asks about in this call.
    pub(crate) fn guards<'v>(&self, call: &Call<'v>, work: &WorkBudget<'v>) -> Result<bool, Trouble> {
        let (Some(tool), Some(arguments)) = (call.tool, call.arguments) else { return Ok(false) };
        let mut looked: Vec<(Asks, *const Files)> = Vec::new();
        for (asks, files) in self.list.iter().flat_map(|rule| &rule.files) {
            let this = (*asks, Arc::as_ptr(files));
            if looked.contains(&this) {
                continue;
            }
            looked.push(this);
            if files.asked(*asks, tool, arguments, call.claims.context, work)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(crate) fn evaluate(&self, call: &Call<'_>) -> Outcome {
        let work = WorkBudget::at(call.place.filter(|_| call.kind == Kind::Action));
        let mut outcome = self.one(&subject(call), &work);
        for step in call.steps {
            let step = self.one(&step_subject(call, step), &work);
            // A step that would pass makes nothing looser: the plan waits whatever its steps would do.
            outcome = outcome.join(step);
        }
        if call.kind != Kind::Action {
            outcome.trust = None;
        }
        outcome
    }

    /// One call. What claims add is joined to what holds without them, so that it can only be stricter.
    fn one<'a>(&'a self, subject: &Subject<'a>, work: &WorkBudget<'a>) -> Outcome {
        let (plain, claimed) = self.applying(Effect::Deny, subject, work);
        let mut outcome = if plain.is_empty() {
            let (mut held, held_by_claims) = self.applying(Effect::Hold, subject, work);
            held.retain(|(number, _)| !self.gives_way(*number, subject, work));
            let yields = |number: u32| self.rule(number).is_some_and(|rule| rule.unless_confined);
            let confined =
                if can_confine(work) && !held.is_empty() && held.iter().all(|(number, _)| yields(*number)) {
                    self.allowed(true, subject, work).ok()
                } else {
                    None
                };
            let without = if let Some(confined) = confined {
                confined
            } else if held.is_empty() {
                self.allowed_or_default(subject, work)
            } else {
                let mut outcome = self.contradicted(self.build(Effect::Hold, held.clone()), subject, work);
                outcome.reasons.extend(self.obstacle(subject, work));
                outcome
            };
            let with = if !claimed.is_empty() {
                Some(self.build(Effect::Deny, claimed))
            } else if !held_by_claims.is_empty() {
                Some(self.build(Effect::Hold, held.into_iter().chain(held_by_claims).collect()))
            } else {
                None
            };
            match with {
                Some(with) => self.settled(with, subject).join(self.settled(without, subject)),
                None => self.settled(without, subject),
            }
        } else {
            let without = self.settled(self.build(Effect::Deny, plain.clone()), subject);
            if claimed.is_empty() {
                without
            } else {
                let with = self.build(Effect::Deny, plain.into_iter().chain(claimed).collect());
                self.settled(with, subject).join(without)
            }
        };
        if outcome.risk >= Risk::High {
            outcome.trust = None;
        }
        outcome
    }

    /// The rules of one effect that apply: those about the call, and those about claims.
    fn applying<'a>(
        &'a self,
        effect: Effect,
        subject: &Subject<'a>,
        work: &WorkBudget<'a>,
    ) -> (Applying<'a>, Applying<'a>) {
        let index = match effect {
            Effect::Deny => &self.deny,
            Effect::Hold => &self.hold,
            Effect::Allow => &self.allow,
        };
        let (mut plain, mut claimed): (Applying<'a>, Applying<'a>) = (Vec::new(), Vec::new());
        for number in index.candidates(subject.tool, subject.server, subject.agent) {
            let Some(rule) = self.rule(number) else { continue };
            let Some(why) = rule.applies(subject, work) else { continue };
            let list = if rule.claims() { &mut claimed } else { &mut plain };
            list.push((number, why));
        }
        (plain, claimed)
    }

    /// Whether the rule that a hold rule gives way to lets the call pass.
    fn gives_way<'a>(&'a self, number: u32, subject: &Subject<'a>, work: &WorkBudget<'a>) -> bool {
        let other = self.gives_way.get(&number).and_then(|other| self.rule(*other));
        other.is_some_and(|rule| {
            rule.effect == Effect::Allow && rule.confine.is_none() && rule.says(subject, work) == Word::Yes
        })
    }

    fn allowed_or_default<'a>(&'a self, subject: &Subject<'a>, work: &WorkBudget<'a>) -> Outcome {
        match self.allowed(false, subject, work) {
            Ok(outcome) => outcome,
            Err(why) => self.default_outcome(why),
        }
    }

    /// What the allow rules say, or why none of them does. `confined`: only those that confine count.
    fn allowed<'a>(
        &'a self,
        confined: bool,
        subject: &Subject<'a>,
        work: &WorkBudget<'a>,
    ) -> Result<Outcome, String> {
        let Some(tool) = subject.tool else {
            return Err(format!(
                "no rule speaks of this {}, and it is never allowed without a person",
                subject.kind
            ));
        };
        if !tool_shaped(tool) {
            return Err("this is not the name of a tool, so no rule can allow it".to_owned());
        }
        let (mut allowed, _) = self.applying(Effect::Allow, subject, work);
        let is = |number: u32, what: fn(&Rule) -> bool| self.rule(number).is_some_and(what);
        if confined {
            allowed.retain(|(number, _)| is(*number, |rule| rule.confine.is_some()));
        }
        if allowed.iter().any(|(number, _)| !is(*number, |rule| rule.otherwise)) {
            allowed.retain(|(number, _)| !is(*number, |rule| rule.otherwise));
        } else if !can_confine(work) {
            allowed.clear();
        }
        if allowed.is_empty() {
            let why = self.obstacle(subject, work).or_else(|| self.elsewhere(subject, work));
            return Err(why.unwrap_or_else(|| format!("no rule allows `{tool}`")));
        }
        if let Some(other) = self.look_alike(tool, subject.server, &allowed) {
            return Err(format!(
                "`{tool}` differs only by upper and lower case from what rule `{other}` restricts"
            ));
        }
        if let Some(why) = self.contradiction(subject, &allowed) {
            let mut outcome = self.build(Effect::Allow, allowed);
            outcome.reasons.insert(0, why);
            return Ok(Outcome {
                effect: Effect::Hold,
                confine: None,
                rule: CONTRADICTION.to_owned(),
                risk: outcome.risk.max(Risk::High),
                expires_in: self.defaults.expires_in,
                reads_only: false,
                ..outcome
            });
        }
        if let Some(why) = self.unclear(subject, &allowed) {
            return Err(why);
        }
        Ok(self.build(Effect::Allow, allowed))
    }

    /// Why nobody can say that the call only reads, although every rule that would let it pass says so.
    fn unclear(&self, subject: &Subject<'_>, allowed: &Applying<'_>) -> Option<String> {
        let mut rules = allowed.iter().filter_map(|(number, _)| self.rule(*number)).peekable();
        let first = rules.peek()?.name.clone();
        if !rules.all(|rule| rule.reads_only) {
            return None;
        }
        // The agent chose this name: drawn so that it hides nothing, and cut.
        let argument: String = show(&open_text(subject.tool?, subject.arguments)?).chars().take(60).collect();
        Some(format!(
            "rule `{first}` is for calls that only read, and the text in `{argument}` may be anything"
        ))
    }

    /// What the call does although every rule that would let it pass says that it only reads.
    fn contradiction(&self, subject: &Subject<'_>, allowed: &Applying<'_>) -> Option<String> {
        let rules = || allowed.iter().filter_map(|(number, _)| self.rule(*number));
        let first = rules().next()?;
        if !rules().all(|rule| rule.reads_only) {
            return None;
        }
        let does = beyond_reading(subject.tool?, subject.arguments)?;
        Some(format!("rule `{}` says that it only reads, but the call {does}", first.name))
    }

    /// The same of a call that waits anyway, for the record.
    fn contradicted<'a>(
        &'a self,
        mut held: Outcome,
        subject: &Subject<'a>,
        work: &WorkBudget<'a>,
    ) -> Outcome {
        if !self.reads_only || !subject.tool.is_some_and(tool_shaped) {
            return held;
        }
        let (mut allowed, _) = self.applying(Effect::Allow, subject, work);
        allowed.retain(|(number, _)| self.rule(*number).is_some_and(|rule| !rule.otherwise));
        if let Some(why) = self.contradiction(subject, &allowed) {
            held.reasons.push(why);
            held.risk = held.risk.max(Risk::High);
        }
        held
    }

    /// What in a command, or beside it, keeps it from passing by a rule for such commands.
    fn obstacle<'a>(&'a self, subject: &Subject<'a>, work: &WorkBudget<'a>) -> Option<String> {
        let candidates = self.allow.candidates(subject.tool, subject.server, subject.agent);
        candidates.filter_map(|number| self.rule(number)).find_map(|rule| {
            let why = match rule.says(subject, work) {
                Word::No(By::Argument(key)) => {
                    let argument = rule.arguments.iter().find(|argument| &*argument.key == key)?;
                    argument.matcher.obstacle(subject.arguments.get(key)?, work)?
                }
                Word::No(By::Extra(extra)) => {
                    let extra: String = show(extra).chars().take(60).collect();
                    format!("argument `{extra}` is not in the list")
                }
                _ => return None,
            };
            Some(format!("rule `{}` does not allow it: {why}", rule.name))
        })
    }

    /// Why a rule does not allow what it would allow in the agent's workspace.
    fn elsewhere<'a>(&'a self, subject: &Subject<'a>, work: &WorkBudget<'a>) -> Option<String> {
        let candidates = self.allow.candidates(subject.tool, subject.server, subject.agent);
        let rules = candidates.filter_map(|number| self.rule(number)).filter(|rule| rule.inside);
        rules.into_iter().find_map(|rule| {
            let but = match rule.says(subject, work) {
                Word::No(By::Under) => "this happens elsewhere",
                Word::Error(By::Under, _) => "this is not known to happen there",
                _ => return None,
            };
            Some(format!(
                "rule `{}` allows it only in the folders that are open to the agent, and {but}",
                rule.name
            ))
        })
    }

    /// A rule that would restrict the call if upper and lower case were one. A name that the author of an allow rule
    /// wrote out exactly so is what the author meant.
    fn look_alike(&self, tool: &str, server: Option<&str>, allowed: &Applying<'_>) -> Option<&str> {
        let written = |names: fn(&Rule) -> &[Name], is: &str| {
            let mut rules = allowed.iter().filter_map(|(number, _)| self.rule(*number));
            rules.any(|rule| {
                names(rule).iter().any(|name| matches!(name, Name::Exact(exact) if &**exact == is))
            })
        };
        if written(|rule| &rule.tool, tool) {
            return None;
        }
        let by_server = || {
            let server = server.filter(|server| !written(|rule| &rule.server, server))?;
            self.guarded_servers.look_alike(server)
        };
        let number = self.guarded.look_alike(tool).or_else(by_server)?;
        self.rule(number).map(|rule| rule.name.as_str())
    }

    fn default_outcome(&self, why: String) -> Outcome {
        let so = if self.defaults.effect == Effect::Deny { "it is refused" } else { "it waits for a person" };
        Outcome {
            rule: DEFAULT_RULE.to_owned(),
            reasons: vec![format!("{why}, so {so}")],
            risk: self.defaults.risk,
            ..self.bare(self.defaults.effect)
        }
    }

    /// An outcome with the defaults and nothing else.
    fn bare(&self, effect: Effect) -> Outcome {
        Outcome {
            effect,
            confine: None,
            rule: String::new(),
            rules: BTreeSet::new(),
            reads_only: false,
            reasons: Vec::new(),
            risk: Risk::Low,
            needs: self.defaults.needs.clone(),
            expires_in: self.defaults.expires_in,
            escalation: Vec::new(),
            claim_window: self.defaults.claim_within,
            decisions: None,
            pending_cap: None,
            trust: None,
        }
    }

    /// Everything that the rules which apply ask for.
    fn build(&self, effect: Effect, mut applying: Applying<'_>) -> Outcome {
        applying.sort_by_key(|(number, _)| *number);
        // A rule with several globs may have been found by more than one of them.
        applying.dedup_by_key(|(number, _)| *number);
        let rules: Vec<&Rule> = applying.iter().filter_map(|(number, _)| self.rule(*number)).collect();
        let Some((first, others)) = rules.split_first() else {
            return self.default_outcome("no rule applies".to_owned());
        };
        let mut outcome = Outcome { rule: first.name.clone(), ..self.bare(effect) };
        outcome.reasons = reasons(&rules, &applying);
        outcome.risk = rules.iter().map(|rule| rule.risk).max().unwrap_or(self.defaults.risk);
        let shortest =
            |of: fn(&Rule) -> Option<Duration>| rules.iter().map(|rule| of(rule)).fold(None, least);
        outcome.claim_window = shortest(|rule| rule.claim_within).or(self.defaults.claim_within);
        // Of two rules that allow it the confined one wins.
        outcome.confine = rules.iter().filter_map(|rule| rule.confine).max();
        outcome.reads_only = effect == Effect::Allow && rules.iter().all(|rule| rule.reads_only);
        if effect != Effect::Hold {
            return outcome;
        }
        outcome.needs =
            needs::join_all(rules.iter().map(|rule| &rule.needs)).unwrap_or_else(|| first.needs.clone());
        outcome.expires_in = shortest(|rule| rule.expires_in).or(self.defaults.expires_in);
        outcome.pending_cap = rules.iter().map(|rule| rule.pending_cap).fold(None, least);
        outcome.decisions = rules.iter().fold(None::<Vec<DecisionWord>>, |sum, rule| {
            both_decisions(sum.as_deref(), rule.decisions.as_deref())
        });
        outcome.trust =
            others.iter().fold(first.trust.clone(), |sum, rule| both_trust(sum, rule.trust.clone()));
        outcome.rules = rules.iter().map(|rule| rule.name.clone()).collect();
        outcome.escalation = escalation(&rules);
        outcome
    }

    /// Claimed risk, the risk from which on nothing passes, and what critical calls need.
    fn settled(&self, mut outcome: Outcome, subject: &Subject<'_>) -> Outcome {
        if let Some(claimed) = subject.claims.risk.filter(|claimed| *claimed > outcome.risk) {
            outcome.reasons.push(format!("the agent says the risk is {claimed}"));
            outcome.risk = claimed;
        }
        if outcome.effect == Effect::Allow && outcome.risk >= self.defaults.hold_at_risk {
            outcome.reasons.push(format!("calls of risk {} wait for a person", outcome.risk));
            outcome.effect = Effect::Hold;
            outcome.confine = None;
        }
        if outcome.risk == Risk::Critical {
            needs::step_up(&mut outcome.needs);
            outcome.escalation.iter_mut().for_each(|next| needs::step_up(&mut next.needs));
        }
        outcome
    }
}

/// Whether whoever makes the call can run it confined, and may.
fn can_confine(work: &WorkBudget<'_>) -> bool {
    work.place().is_some_and(|place| place.confines)
}

/// The escalation of the first rule that has one, never below what the other rules ask for.
fn escalation(rules: &[&Rule]) -> Vec<Escalation> {
    let Some(with) = rules.iter().find(|rule| !rule.escalation.is_empty()) else { return Vec::new() };
    let mut steps = Vec::with_capacity(with.escalation.len());
    for next in &with.escalation {
        let others = rules.iter().filter(|rule| rule.escalation != with.escalation).map(|rule| &rule.needs);
        let needs = needs::join_all(std::iter::once(&next.needs).chain(others));
        steps.push(Escalation {
            needs: needs.unwrap_or_else(|| next.needs.clone()),
            expires_in: next.expires_in,
        });
    }
    steps
}

fn reasons(rules: &[&Rule], applying: &[(u32, Why<'_>)]) -> Vec<String> {
    let mut reasons: Vec<String> = rules
        .iter()
        .zip(applying)
        .take(REASONS)
        .map(|(rule, (_, applies))| {
            let name = &rule.name;
            let why = rule.reason.clone().unwrap_or_else(|| format!("{} it", verb(rule.effect)));
            match applies {
                Why::Matched => format!("rule `{name}`: {why}"),
                Why::Error(by, trouble) => {
                    format!(
                        "rule `{name}`: {why}; it could not be evaluated ({by}: {trouble}), so it applies"
                    )
                }
            }
        })
        .collect();
    if rules.len() > REASONS {
        reasons.push(format!("and {} more rules", rules.len().saturating_sub(REASONS)));
    }
    reasons
}

const fn verb(effect: Effect) -> &'static str {
    match effect {
        Effect::Allow => "allows",
        Effect::Hold => "holds",
        Effect::Deny => "denies",
    }
}

/// The call itself; of a plan, the plan without its steps.
pub(crate) fn subject<'a>(call: &Call<'a>) -> Subject<'a> {
    let tool = call.tool.filter(|_| call.kind == Kind::Action);
    Subject {
        kind: call.kind,
        tool,
        server: tool.and_then(server_of),
        arguments: call.arguments.unwrap_or(&EMPTY),
        agent: call.agent,
        source: call.source,
        time: call.time,
        claims: call.claims,
        covered: call.covered,
    }
}

/// A step of a plan, as the call it would be.
pub(crate) fn step_subject<'a>(call: &Call<'a>, step: &'a placet_core::Step) -> Subject<'a> {
    Subject {
        kind: Kind::Action,
        tool: Some(&step.action),
        server: server_of(&step.action),
        arguments: step.arguments.as_ref().unwrap_or(&EMPTY),
        ..subject(call)
    }
}
