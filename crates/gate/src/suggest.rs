//! Suggested rules: for calls that people approved repeatedly and never refused. Nothing is put in force.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use placet_core::{
    Actor, Auth, DecisionWord, Digest, Directory, Effect, Invalid, Kind, Request, RequestId, Risk, Role,
    State, Time, folder,
};
use placet_ledger::{canonical_string, hash};
use placet_policy::{Comparison, LiteralCall, Policy, Report, literal_rule};
use serde_json::{Map, Value};

use crate::{
    Gate, GateError,
    grants::cosmetic,
    judge::{call_of, place},
    policies::{LoadedPolicy, off_thread},
    preview,
    simulate::{compare, judged},
};

/// Suggested rules, tested against the history they come from.
#[derive(Debug, Clone)]
pub struct Suggestions {
    /// The hash of the policy that the rules are for.
    pub policy: String,
    /// The suggested rules, those that save most first.
    pub items: Vec<Suggestion>,
    /// What the policy with these rules would have done with all requests on record.
    pub report: Report,
    /// Calls that were approved as often and have no suggestion.
    pub left_out: OmittedCalls,
}

/// One suggested rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// The name of the rule.
    pub rule: String,
    /// The rule itself, TOML.
    pub text: String,
    /// The agent. Like every text here, it can be shown as it is.
    pub agent: String,
    /// The tool.
    pub tool: String,
    /// What the call does, in a sentence.
    pub effect: String,
    /// How often people approved it.
    pub approvals: u64,
    /// How many prompts the rule would have saved.
    pub saved: u64,
    /// When it was approved last.
    pub last_at: Time,
    /// The last request that was approved.
    pub request: RequestId,
}

/// Calls that were approved as often and have no suggestion, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OmittedCalls {
    /// The same call was refused once, by a person or policy, or its approval was revoked; or it runs confined now.
    pub refused: u64,
    /// The same call was of high or critical risk once.
    pub risky: u64,
    /// No rule can match exactly this: a command that is not one literal line, a long or unusual argument.
    pub not_literal: u64,
    /// A command that ran in a folder outside the agent's workspace.
    pub outside: u64,
    /// Another rule of the policy still holds it, or the policy now allows it.
    pub held: u64,
}

/// Requests read at a time.
const PAGE: u32 = 500;
/// Most rules at once. Nobody would read more.
const MOST: usize = 50;
/// The number of kinds of calls that are counted, and of refused ones that are kept.
const CALLS: usize = 5_000;
const REFUSED: usize = 100_000;
/// Longest arguments of a call that is counted, in bytes.
const ARGUMENTS: usize = 4_096;

/// One kind of call: the same agent, tool and acting arguments.
#[derive(Debug)]
struct ApprovedCall {
    /// The same call of any agent.
    call: Digest,
    agent: String,
    tool: String,
    arguments: Map<String, Value>,
    cosmetic: Vec<String>,
    free_form: bool,
    /// All of them happened in the folders of the agent.
    inside: bool,
    /// At least one of them named a folder.
    somewhere: bool,
    effect: String,
    approvals: u64,
    last_at: Time,
    request: RequestId,
}

/// The counts from history so far.
#[derive(Debug, Default)]
struct CallCounts {
    approved: HashMap<Digest, ApprovedCall>,
    refused: HashSet<Digest>,
    risky: HashSet<Digest>,
    /// Tools with a refused call whose content was erased, so the call is unknown.
    unknown: HashSet<String>,
    /// There was more than fits, so nothing can be suggested.
    overflow: bool,
}

impl CallCounts {
    fn add(&mut self, request: &Request, version: &LoadedPolicy, directory: &Directory) {
        let Some(tool) = request.tool.as_ref().filter(|_| request.kind == Kind::Action) else { return };
        let refused = refused(request);
        let risky = request.risk >= Risk::High;
        let Some(content) = &request.content else {
            if refused || risky {
                self.overflow |= self.unknown.len() >= REFUSED;
                self.unknown.insert(tool.clone());
            }
            return;
        };
        let Some(arguments) = content.body.arguments() else { return };
        let called = call_of(request, content, &content.body, request.created_at);
        let cosmetic = cosmetic(version, &called);
        let acting: Map<String, Value> = arguments
            .iter()
            .filter(|(name, value)| !cosmetic.contains(name) || value.is_object() || value.is_array())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let Ok(text) = canonical_string(&acting) else { return };
        let call = hash("placet/same-call/v1", &[tool.as_bytes(), b"\n", text.as_bytes()]);
        for (is, set) in [(refused, &mut self.refused), (risky, &mut self.risky)] {
            if is {
                self.overflow |= set.len() >= REFUSED;
                set.insert(call);
            }
        }
        if refused || risky || !approved(request) || text.len() > ARGUMENTS {
            return;
        }
        let key =
            hash("placet/same-asked/v1", &[request.agent.as_bytes(), b"\n", call.to_string().as_bytes()]);
        if self.approved.len() >= CALLS && !self.approved.contains_key(&key) {
            self.approved.retain(|_, one| one.approvals > 1);
            if self.approved.len() >= CALLS {
                return;
            }
        }
        let inside = place(&request.source, &request.agent, &content.context, directory).is_some();
        let at = request.decision.as_ref().map_or(request.created_at, |decision| decision.at);
        let one = self.approved.entry(key).or_insert_with(|| ApprovedCall {
            call,
            agent: request.agent.clone(),
            tool: tool.clone(),
            arguments: arguments.clone(),
            cosmetic,
            free_form: version.good().is_none_or(|policy| policy.free_form(&called)),
            inside: true,
            somewhere: false,
            effect: String::new(),
            approvals: 0,
            last_at: at,
            request: request.id,
        });
        one.approvals += 1;
        one.inside &= inside;
        one.somewhere |= folder(&content.context).is_some();
        one.effect = preview::effect(request);
        (one.last_at, one.request) = (at, request.id);
    }

    /// The candidates for rules, those that were approved most first.
    fn rules(self, least: u64, taken: &HashSet<String>, left_out: &mut OmittedCalls) -> Vec<Suggestion> {
        let (refused, risky, unknown) = (self.refused, self.risky, self.unknown);
        let mut often: Vec<ApprovedCall> =
            self.approved.into_values().filter(|one| one.approvals >= least).collect();
        often.sort_by(|a, b| b.approvals.cmp(&a.approvals).then(b.request.cmp(&a.request)));
        let mut items: Vec<Suggestion> = Vec::new();
        for one in often {
            if refused.contains(&one.call) || unknown.contains(&one.tool) {
                left_out.refused += 1;
                continue;
            }
            if risky.contains(&one.call) {
                left_out.risky += 1;
                continue;
            }
            // A command line depends on its folder, and a rule can name no folder but the workspace.
            if one.free_form && one.somewhere && !one.inside {
                left_out.outside += 1;
                continue;
            }
            let name = name(&one, taken);
            let times =
                if one.approvals == 1 { "once".to_owned() } else { format!("{} times", one.approvals) };
            let call = LiteralCall {
                agent: &one.agent,
                tool: &one.tool,
                arguments: &one.arguments,
                cosmetic: &one.cosmetic,
                free_form: one.free_form,
                inside: one.inside,
            };
            let Some(text) = literal_rule(&name, &format!("people approved exactly this {times}"), &call)
            else {
                left_out.not_literal += 1;
                continue;
            };
            if items.len() < MOST {
                items.push(Suggestion {
                    rule: name,
                    text,
                    agent: placet_core::show(&one.agent),
                    tool: one.tool,
                    effect: one.effect,
                    approvals: one.approvals,
                    saved: 0,
                    last_at: one.last_at,
                    request: one.request,
                });
            }
        }
        items
    }
}

/// A name that no rule has. The same call gets the same name, so that it can be found again.
fn name(one: &ApprovedCall, taken: &HashSet<String>) -> String {
    let digest = hash("placet/suggested/v1", &[one.agent.as_bytes(), b"\n", one.call.to_string().as_bytes()]);
    let digest = digest.to_string();
    let short: String = digest.chars().rev().take(8).collect();
    let mut name = format!("suggested-{short}");
    while taken.contains(&name) {
        name.push('x');
    }
    name
}

/// Whether it was ever refused: by a person, by policy, or by revoking the approval.
fn refused(request: &Request) -> bool {
    let denied = request.decision.as_ref().is_some_and(|decision| decision.word == DecisionWord::Deny);
    let voted = request.votes.iter().any(|vote| vote.vote == DecisionWord::Deny);
    denied || voted || request.verdict.effect == Effect::Deny || request.state == State::Revoked
}

/// Whether people approved it unchanged, each with a key or a session.
fn approved(request: &Request) -> bool {
    request.decision.as_ref().is_some_and(|decision| {
        decision.word == DecisionWord::Approve
            && !decision.by.is_empty()
            && decision.content_version.is_none()
            && request.proposal.is_none()
    }) && request.votes.iter().all(|vote| vote.auth != Auth::Open)
}

/// Rules that are tried.
struct Trial {
    in_force: Arc<LoadedPolicy>,
    candidate: Arc<LoadedPolicy>,
    names: HashSet<String>,
}

/// The result of one pass over history for the rules under test.
#[derive(Debug, Default)]
struct TrialResult {
    comparison: Comparison,
    saved: HashMap<String, u64>,
    /// Rules that allow something they must not cover.
    wrong: HashSet<String>,
}

impl TrialResult {
    fn add(&mut self, request: &Request, with: &Trial, directory: &Directory) {
        let Some(outcome) = compare(&mut self.comparison, &with.candidate, directory, request) else {
            return;
        };
        if outcome.effect != Effect::Allow || !with.names.contains(&outcome.rule) {
            return;
        }
        let today = judged(&with.in_force, directory, request);
        let confines = today.as_ref().is_some_and(|today| today.confine.is_some());
        // What runs confined today must not run free.
        if refused(request) || request.risk >= Risk::High || confines {
            self.wrong.insert(outcome.rule);
        } else if request.verdict.effect == Effect::Hold
            && today.is_some_and(|today| today.effect == Effect::Hold)
        {
            *self.saved.entry(outcome.rule).or_default() += 1;
        }
    }
}

impl Gate {
    /// Suggests rules for calls that people approved at least this often. Each allows one exact call, and is tested:
    /// none covers anything that was ever refused or risky. Ends when it is dropped.
    pub async fn suggest(
        &self,
        actor: &Actor,
        least: u64,
        agent: Option<&str>,
    ) -> Result<Suggestions, GateError> {
        self.acting(actor, &[Role::Reviewer, Role::Admin])?;
        let _turn = self.suggest_turn.take().await?;
        let version = self.in_force().await?;
        let unusable =
            || Invalid::new("", "the policy in force cannot be used, so no rule can be added to it");
        let policy = version.good().map(Policy::text).ok_or_else(unusable)?.to_owned();
        let taken: HashSet<String> =
            version.good().into_iter().flat_map(Policy::rule_names).map(str::to_owned).collect();
        let (_, upto) = self.store.head().await?;
        let found = {
            let (version, agent) = (version.clone(), agent.map(str::to_owned));
            self.over_history(upto, CallCounts::default(), move |found, request, directory| {
                found.add(request, &version, directory);
            })
            .await
            .map(|mut found| {
                found.approved.retain(|_, one| agent.as_ref().is_none_or(|agent| *agent == one.agent));
                found
            })?
        };
        let mut left_out = OmittedCalls::default();
        let mut items = if found.overflow { Vec::new() } else { found.rules(least, &taken, &mut left_out) };
        // Every round drops at least one rule, or is the last.
        loop {
            let text = with(&policy, &items);
            let candidate = self.parse(&text).await?;
            let names = items.iter().map(|item| item.rule.clone()).collect();
            let trial = Arc::new(Trial { in_force: version.clone(), candidate, names });
            let tried = self
                .over_history(upto, TrialResult::default(), move |tried, request, directory| {
                    tried.add(request, &trial, directory);
                })
                .await?;
            let before = items.len();
            items.retain_mut(|item| {
                item.saved = tried.saved.get(&item.rule).copied().unwrap_or(0);
                if tried.wrong.contains(&item.rule) {
                    left_out.refused += 1;
                    return false;
                }
                left_out.held += u64::from(item.saved == 0);
                item.saved > 0
            });
            if items.len() == before {
                items.sort_by(|a, b| b.saved.cmp(&a.saved).then_with(|| a.rule.cmp(&b.rule)));
                let report = tried.comparison.report();
                // A last check of the whole: nothing that a person denied may pass.
                if report.denied_now_allowed_count > 0 && !items.is_empty() {
                    left_out.refused += items.len() as u64;
                    items.clear();
                    continue;
                }
                return Ok(Suggestions { policy: version.hash().to_owned(), items, report, left_out });
            }
        }
    }

    /// Passes on all requests on record up to an entry, page by page, on a thread for slow work.
    async fn over_history<T: Send + 'static>(
        &self,
        upto: u64,
        mut all: T,
        each: impl Fn(&mut T, &Request, &Directory) + Clone + Send + 'static,
    ) -> Result<T, GateError> {
        let mut after = 0;
        loop {
            let page = self.store.history(after, PAGE).await?;
            let Some(last) = page.last().map(|request| request.seq) else { break };
            after = last;
            let (each, directory) = (each.clone(), self.store.directory());
            all = off_thread(move || {
                for request in page.iter().filter(|request| request.seq <= upto) {
                    each(&mut all, request, &directory);
                }
                all
            })
            .await?;
            if after >= upto {
                break;
            }
            if self.cancel.is_cancelled() {
                return Err(GateError::Closing);
            }
        }
        Ok(all)
    }
}

/// A policy with rules appended.
fn with(policy: &str, items: &[Suggestion]) -> String {
    let mut text = policy.trim_end().to_owned();
    for item in items {
        text.push_str("\n\n");
        text.push_str(item.text.trim_end());
    }
    text.push('\n');
    text
}
