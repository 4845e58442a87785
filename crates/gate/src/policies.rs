//! The policy in force: found by its hash, kept compiled, put by an admin. If it cannot be used, everything waits.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, PoisonError, RwLock},
};

use placet_core::{Actor, AdminCommand, AllOf, Effect, ExpectedPolicy, Needs, Risk, Role, Seat, Time};
use placet_ledger::hash;
use placet_policy::{CONTRADICTION, Call, Finding, Outcome, Policy, Problem};
use placet_store::{PolicyVersion, planted};
use serde_json::Map;

use crate::{
    Gate, GateError,
    grants::GrantIndex,
    preview::{contradiction, says, says_more},
};

/// A policy: compiled, or the reason why it cannot be used.
#[derive(Debug)]
pub(crate) enum LoadedPolicy {
    Good(Box<Policy>),
    Broken { hash: String, why: String },
}

impl LoadedPolicy {
    fn read(hash: &str, text: &str) -> Self {
        match Policy::parse(text) {
            Ok(policy) if policy.hash() == hash => Self::Good(Box::new(policy)),
            Ok(_) => {
                Self::Broken { hash: hash.to_owned(), why: "its text is not the one that was put".to_owned() }
            }
            Err(errors) => Self::Broken { hash: hash.to_owned(), why: errors.to_string() },
        }
    }

    pub(crate) fn hash(&self) -> &str {
        match self {
            Self::Good(policy) => policy.hash(),
            Self::Broken { hash, .. } => hash,
        }
    }

    pub(crate) fn good(&self) -> Option<&Policy> {
        match self {
            Self::Good(policy) => Some(policy),
            Self::Broken { .. } => None,
        }
    }

    /// The outcome for a call. Fail closed: a policy that cannot be used may have needed anything.
    pub(crate) fn evaluate(&self, call: &Call<'_>) -> Outcome {
        let why = match self {
            Self::Good(policy) => return doubted(policy.evaluate(call), call),
            Self::Broken { why, .. } => why.lines().next().unwrap_or_default(),
        };
        Outcome {
            effect: Effect::Hold,
            confine: None,
            rule: "hold-everything".to_owned(),
            rules: BTreeSet::new(),
            reads_only: false,
            reasons: vec![format!("the policy cannot be used, so everything waits for two people: {why}")],
            risk: call.claims.risk.unwrap_or(Risk::High).max(Risk::High),
            needs: Needs {
                any: vec![AllOf { all: vec![Seat { people: 2, team: None }] }],
                four_eyes: true,
                step_up: Some("code".to_owned()),
            },
            expires_in: None,
            escalation: Vec::new(),
            claim_window: None,
            decisions: None,
            pending_cap: None,
            trust: None,
        }
    }
}

/// The outcome of policy. It is at least a hold if the call contradicts it: a tool that is allowed as a reader may be
/// given a command, a statement or a body to send. This only makes the outcome stricter.
pub(crate) fn doubted(mut outcome: Outcome, call: &Call<'_>) -> Outcome {
    if planted("readers-may-write") {
        return outcome;
    }
    let none = Map::new();
    if outcome.effect != Effect::Allow {
        // Policy has seen the contradiction itself. The sentence says what the call does.
        if let Some(tool) = call.tool.filter(|_| outcome.rule == CONTRADICTION) {
            outcome
                .reasons
                .insert(1, format!("the call says: {}", says(tool, call.arguments.unwrap_or(&none))));
        }
        return outcome;
    }
    let own = call.tool.into_iter().map(|tool| (tool, call.arguments));
    let steps = call.steps.iter().map(|step| (step.action.as_str(), step.arguments.as_ref()));
    let found = own.chain(steps).find_map(|(tool, arguments)| {
        let arguments = arguments.unwrap_or(&none);
        contradiction(tool, arguments).or_else(|| {
            let more = says_more(tool, arguments).filter(|_| outcome.reads_only)?;
            Some(format!("rule `{}` says that it only reads, but the call says: {more}", outcome.rule))
        })
    });
    let Some(why) = found else { return outcome };
    let allowed = format!("rule `{}` would let it pass", outcome.rule);
    Outcome {
        effect: Effect::Hold,
        confine: None,
        rule: CONTRADICTION.to_owned(),
        reasons: [why, allowed].into_iter().chain(outcome.reasons).collect(),
        risk: outcome.risk.max(Risk::High),
        // No person has approved this for what it really does.
        trust: None,
        ..outcome
    }
}

/// The policies that the gate holds.
#[derive(Debug)]
pub(crate) struct Policies {
    built_in: Arc<LoadedPolicy>,
    // Compiled policies by hash: those in force and those of pending requests. Read on every submit.
    known: RwLock<HashMap<String, Arc<LoadedPolicy>>>,
    // Grants by agent and tool, made anew when the directory changes.
    pub(crate) grants: RwLock<GrantIndex>,
}

/// How many compiled policies are kept.
const KNOWN: usize = 16;
/// How many versions are listed.
const VERSIONS: u32 = 1000;
/// The longest text that is read, in bytes.
const TEXT: usize = 1024 * 1024;
/// The longest name of a policy's source.
const SOURCE: usize = 200;

impl Policies {
    pub(crate) fn new(built_in: &str) -> Self {
        let name = hash("placet/policy/v1", &[built_in.as_bytes()]).to_string();
        Self {
            built_in: Arc::new(LoadedPolicy::read(&name, built_in)),
            known: RwLock::default(),
            grants: RwLock::default(),
        }
    }

    fn find(&self, hash: &str) -> Option<Arc<LoadedPolicy>> {
        if hash == self.built_in.hash() {
            return Some(self.built_in.clone());
        }
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(hash).cloned()
    }

    fn keep(&self, version: &Arc<LoadedPolicy>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN {
            known.clear();
        }
        known.insert(version.hash().to_owned(), version.clone());
    }
}

/// A policy as people see it.
#[derive(Debug, Clone)]
pub struct PolicyView {
    /// Its hash.
    pub hash: String,
    /// Its text.
    pub text: Arc<str>,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Where it came from. `built-in` if none was ever put.
    pub source: String,
    /// When it was put last.
    pub at: Option<Time>,
    /// Who put it last.
    pub by: Option<String>,
    /// What is allowed but probably not intended.
    pub warnings: Vec<Problem>,
    /// Needs that the existing people can or cannot meet.
    pub findings: Vec<Finding>,
    /// Why it cannot be used. Then everything waits.
    pub broken: Option<String>,
}

/// A policy that was put.
#[derive(Debug, Clone)]
pub struct PolicyPut {
    /// Its hash.
    pub hash: String,
    /// Whether anything changed. Putting the policy in force again writes nothing.
    pub changed: bool,
    /// What is allowed but probably not intended.
    pub warnings: Vec<Problem>,
    /// Needs that the existing people can or cannot meet.
    pub findings: Vec<Finding>,
}

/// A policy that is valid.
#[derive(Debug, Clone)]
pub struct CheckedPolicy {
    /// Its hash.
    pub hash: String,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// What is allowed but probably not intended.
    pub warnings: Vec<Problem>,
    /// Needs that the existing people can or cannot meet.
    pub findings: Vec<Finding>,
}

/// Who may read policies.
const READERS: [Role; 3] = [Role::Reviewer, Role::Admin, Role::Auditor];

impl Gate {
    /// The policy in force, as this node knows it. Commands check again at commit.
    pub(crate) async fn in_force(&self) -> Result<Arc<LoadedPolicy>, GateError> {
        match &self.store.directory().policy {
            None => Ok(self.policies.built_in.clone()),
            Some(hash) => match self.policies.find(hash) {
                Some(known) => Ok(known),
                // Boxed: it is large, and needed once per policy, not per submit.
                None => Box::pin(self.version(hash)).await,
            },
        }
    }

    /// A policy by its hash: the one in force, or the one of a request.
    pub(crate) async fn version(&self, hash: &str) -> Result<Arc<LoadedPolicy>, GateError> {
        if let Some(known) = self.policies.find(hash) {
            return Ok(known);
        }
        let Some(text) = self.store.policy_text(hash).await? else {
            // Not cached: it may be the built-in policy of another version of this program.
            let why = "its text is not stored here".to_owned();
            return Ok(Arc::new(LoadedPolicy::Broken { hash: hash.to_owned(), why }));
        };
        let name = hash.to_owned();
        let version = Arc::new(off_thread(move || LoadedPolicy::read(&name, &text)).await?);
        if let LoadedPolicy::Broken { why, .. } = &*version {
            tracing::error!(%hash, %why, "a policy cannot be used: its requests wait for two people");
        }
        self.policies.keep(&version);
        Ok(version)
    }

    /// Why the policy in force cannot be used, if so. Then everything waits, and readiness must fail.
    pub async fn policy_problem(&self) -> Option<String> {
        match self.in_force().await.as_deref() {
            Ok(LoadedPolicy::Good(_)) => None,
            Ok(LoadedPolicy::Broken { why, .. }) => {
                Some(format!("the policy cannot be used, so every request waits for two people: {why}"))
            }
            Err(error) => Some(format!("the policy cannot be read: {error}")),
        }
    }

    /// Reads a whole policy, on a thread for slow work.
    pub(crate) async fn parse(&self, text: &str) -> Result<Arc<LoadedPolicy>, GateError> {
        if text.len() > TEXT {
            let problem = Problem {
                line: 1,
                column: 1,
                rule: None,
                message: format!("the text has {} bytes", text.len()),
                fix: format!("a policy has at most {TEXT} bytes"),
            };
            return Err(GateError::BadPolicy(Arc::new(placet_policy::PolicyErrors {
                problems: vec![problem],
            })));
        }
        let text = text.to_owned();
        let parsed = off_thread(move || Policy::parse(&text)).await?;
        let policy = parsed.map_err(|errors| GateError::BadPolicy(Arc::new(errors)))?;
        Ok(Arc::new(LoadedPolicy::Good(Box::new(policy))))
    }

    /// Puts another policy in force, after reading all of it. `expected` is the hash it was made from.
    pub async fn put_policy(
        &self,
        actor: &Actor,
        text: &str,
        source: &str,
        expected: Option<&str>,
    ) -> Result<PolicyPut, GateError> {
        let actor = &*self.acting(actor, &[Role::Admin])?;
        if source.len() > SOURCE || source.chars().any(char::is_control) {
            return Err(placet_core::Invalid::new(
                "/source",
                format!("expected up to {SOURCE} plain characters"),
            )
            .into());
        }
        let version = self.parse(text).await?;
        let directory = self.store.refresh_directory().await?;
        let in_force = directory.policy.as_deref().unwrap_or_else(|| self.policies.built_in.hash());
        let hash = version.hash().to_owned();
        let checked = self.checked(&version);
        let put = |changed| PolicyPut {
            hash: hash.clone(),
            changed,
            warnings: checked.warnings.clone(),
            findings: checked.findings.clone(),
        };
        // A change by somebody else must be noticed even if this put changes nothing.
        if hash == in_force && expected.is_none_or(|expected| expected == in_force) {
            return Ok(put(false));
        }
        let expected = match expected {
            None => ExpectedPolicy::Anything,
            Some(hash) if directory.policy.is_none() && hash == in_force => ExpectedPolicy::BuiltIn,
            Some(hash) => ExpectedPolicy::Hash(hash.to_owned()),
        };
        self.policies.keep(&version);
        let (text, source) = (Arc::from(text), source.to_owned());
        let command = AdminCommand::PutPolicy { hash: hash.clone(), text, source, expected };
        self.admin(actor, command, None).await?;
        Ok(put(true))
    }

    /// Puts the policy in force again with another source, so that the record names it. Refused if another policy
    /// came into force meanwhile.
    pub async fn put_policy_again(&self, actor: &Actor, hash: &str, source: &str) -> Result<(), GateError> {
        let actor = &*self.acting(actor, &[Role::Admin])?;
        let directory = self.store.refresh_directory().await?;
        let expected = match &directory.policy {
            None => ExpectedPolicy::BuiltIn,
            Some(_) => ExpectedPolicy::Hash(hash.to_owned()),
        };
        let version = self.version(hash).await?;
        let Some(policy) = version.good() else { return Err(GateError::not_found()) };
        let (hash, text, source) = (hash.to_owned(), Arc::from(policy.text()), source.to_owned());
        self.admin(actor, AdminCommand::PutPolicy { hash, text, source, expected }, None).await.map(drop)
    }

    /// Checks a policy without putting it.
    pub async fn check_policy(&self, actor: &Actor, text: &str) -> Result<CheckedPolicy, GateError> {
        self.acting(actor, &READERS)?;
        let version = self.parse(text).await?;
        Ok(self.checked(&version))
    }

    fn checked(&self, version: &LoadedPolicy) -> CheckedPolicy {
        let policy = version.good();
        CheckedPolicy {
            hash: version.hash().to_owned(),
            name: policy.and_then(Policy::name).map(str::to_owned),
            warnings: policy.map(|policy| policy.warnings().to_vec()).unwrap_or_default(),
            findings: policy.map(|policy| policy.check_people(&self.store.directory())).unwrap_or_default(),
        }
    }

    /// The policy in force.
    pub async fn policy(&self, actor: &Actor) -> Result<PolicyView, GateError> {
        self.acting(actor, &READERS)?;
        self.store.refresh_directory().await?;
        let version = self.in_force().await?;
        self.view_of(&version).await
    }

    /// A policy that is or was in force.
    pub async fn policy_version(&self, actor: &Actor, hash: &str) -> Result<PolicyView, GateError> {
        self.acting(actor, &READERS)?;
        let known = hash == self.policies.built_in.hash() || self.store.policy_text(hash).await?.is_some();
        if !known {
            return Err(GateError::not_found());
        }
        let version = self.version(hash).await?;
        self.view_of(&version).await
    }

    /// The policies that were put, the newest first.
    pub async fn versions(&self, actor: &Actor) -> Result<Vec<PolicyVersion>, GateError> {
        self.acting(actor, &READERS)?;
        Ok(self.store.policies(VERSIONS).await?)
    }

    async fn view_of(&self, version: &LoadedPolicy) -> Result<PolicyView, GateError> {
        let put = self.store.policies(VERSIONS).await?.into_iter().find(|put| put.hash == version.hash());
        let text: Arc<str> = match version {
            LoadedPolicy::Good(policy) => policy.text().into(),
            // The built-in policy of another version of this program is not stored. What is broken about it says so.
            LoadedPolicy::Broken { hash, .. } => self.store.policy_text(hash).await?.unwrap_or_default(),
        };
        let CheckedPolicy { hash, name, warnings, findings } = self.checked(version);
        let (source, at, by) = match put {
            Some(put) => (put.source, Some(put.at), Some(put.by)),
            None => ("built-in".to_owned(), None, None),
        };
        let broken = match version {
            LoadedPolicy::Good(_) => None,
            LoadedPolicy::Broken { why, .. } => Some(why.clone()),
        };
        Ok(PolicyView { hash, text, name, source, at, by, warnings, findings, broken })
    }
}

/// Runs work of milliseconds where it delays no other task.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, GateError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| GateError::Closing)
}
