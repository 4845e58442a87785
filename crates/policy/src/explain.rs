//! Which rules matched a call and why: every rule, the matcher that spoke, and the outcome.

use placet_core::{Effect, Kind};
use serde::Serialize;

use crate::{
    Call, Outcome,
    call::tool_shaped,
    evaluate::{Rules, step_subject, subject},
    rule::{Rule, Subject, Word},
    work::WorkBudget,
};

/// Every rule's word on one call, and what came of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The policy's version, by hash.
    pub policy: String,
    /// The rules in the order of the file.
    pub rules: Vec<RuleResult>,
    /// The steps of a plan, each judged as a call of its own.
    pub steps: Vec<StepResult>,
    /// What came of it.
    pub outcome: Outcome,
}

/// One rule's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleResult {
    /// Its name.
    pub rule: String,
    /// What it would do.
    pub effect: Effect,
    /// Whether it matched.
    pub said: MatchResult,
    /// The matcher that made it so, such as `tool` or ``argument `amount` ``; `all` when all agreed.
    pub by: String,
    /// What that matcher found, in words.
    pub detail: String,
}

/// Whether a rule matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchResult {
    /// Every matcher agreed.
    Matched,
    /// A matcher said no.
    NotMatched,
    /// A matcher could not tell: an allow rule does not apply then, a hold or deny rule does.
    Error,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepResult {
    /// The step's id.
    pub id: String,
    /// What it does.
    pub action: String,
    /// The rules that matched it or could not tell.
    pub rules: Vec<RuleResult>,
}

pub(crate) fn explain(hash: &str, rules: &Rules, call: &Call<'_>) -> Explanation {
    let whole = subject(call);
    let work = WorkBudget::at(call.place.filter(|_| call.kind == Kind::Action));
    let steps = call
        .steps
        .iter()
        .map(|step| StepResult {
            id: step.id.clone(),
            action: step.action.clone(),
            rules: rules
                .list
                .iter()
                .map(|rule| said(rule, &step_subject(call, step), &work))
                .filter(|said| said.said != MatchResult::NotMatched)
                .collect(),
        })
        .collect();
    Explanation {
        policy: hash.to_owned(),
        rules: rules.list.iter().map(|rule| said(rule, &whole, &work)).collect(),
        steps,
        outcome: rules.evaluate(call),
    }
}

fn said<'a>(rule: &'a Rule, subject: &Subject<'a>, work: &WorkBudget<'a>) -> RuleResult {
    let allows = rule.effect == Effect::Allow;
    let no_tool = subject.tool.is_none_or(|tool| !tool_shaped(tool));
    let (said, by, detail) = if allows && subject.kind != Kind::Action {
        (
            MatchResult::NotMatched,
            "kind".to_owned(),
            format!("no rule can allow a request of kind `{}`", subject.kind),
        )
    } else if allows && no_tool {
        (MatchResult::NotMatched, "tool".to_owned(), "this is not the name of a tool".to_owned())
    } else {
        match rule.says(subject, work) {
            Word::Yes => (MatchResult::Matched, "all".to_owned(), "every matcher agrees".to_owned()),
            Word::No(by) => (MatchResult::NotMatched, by.to_string(), format!("{by} does not match")),
            Word::Error(by, trouble) => {
                let so = if allows { "so the rule does not apply" } else { "so the rule applies" };
                (MatchResult::Error, by.to_string(), format!("{by} could not be evaluated: {trouble}; {so}"))
            }
        }
    };
    RuleResult { rule: rule.name.clone(), effect: rule.effect, said, by, detail }
}
