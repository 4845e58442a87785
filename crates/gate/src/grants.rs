//! "Remember this": grants that a person gives with a vote, lists and revokes.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use placet_core::{
    Action, Actor, AdminCommand, Body, Content, Decision as Decided, DecisionWord, Grant, GrantId, GrantKey,
    HOOK_PROGRAM, Invalid, Kind, NewGrant, Request, RequestId, Role, Scope, duration, folder,
};
use placet_policy::{Call, Folder, GrantScope, NotLike, Outcome, Policy, Template, describe};
use placet_store::{Filter, grant_key};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Gate, GateError,
    judge::{call_of, confined, place},
    policies::{LoadedPolicy, off_thread},
};

mod covering;

pub(crate) use covering::GrantIndex;

/// What a person wants to be remembered with an approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remember {
    /// How far it reaches.
    pub scope: RememberScope,
    /// pattern: paths and matchers, as in `args` of a rule that allows. Other arguments may be anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<BTreeMap<String, Value>>,
    /// For how long, such as `8h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<String>,
    /// How often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
    /// template: where it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<RememberWithin>,
}

/// Where a remembered command counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RememberWithin {
    /// In the session of the request.
    Session,
    /// In every session, in the same folder of the agent.
    Project,
}

/// How far a grant reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RememberScope {
    /// This very call: equal arguments.
    Exact,
    /// Calls whose arguments match.
    Pattern,
    /// Any call of this tool in this session.
    Session,
    /// Commands of this form: the same words, other files of the agent's folder.
    Template,
}

/// The calls that a grant would have let pass: a look at the newest calls of the agent with that tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GrantPreview {
    /// Calls that were read, without this one.
    pub looked_at: u64,
    /// Calls that waited and would have passed.
    pub covered: u64,
    /// Calls among them that a person denied.
    pub denied: u64,
    /// Examples, as the agent wrote them.
    pub examples: Vec<String>,
}

/// The number of calls that are read, and of examples.
const LOOKED_AT: u32 = 200;
const EXAMPLES: usize = 3;

/// A grant as people see it.
#[derive(Debug, Clone)]
pub struct GrantView {
    /// What was given.
    pub grant: Arc<Grant>,
    /// How often it was used.
    pub used: u32,
    /// What it covers, in words.
    pub covers: String,
}

/// The default duration of a grant.
const EXPIRES_IN: Duration = Duration::from_hours(8);
/// The default number of uses.
const USES: u32 = 20;
/// Most paths of a pattern, the longest path, and the longest pattern text.
const PLACES: usize = 16;
const PATH: usize = 200;
const PATTERN: usize = 8_192;

/// Arguments of a call that are not compared. If the policy cannot be used, all are compared.
pub(crate) fn cosmetic(version: &LoadedPolicy, call: &Call<'_>) -> Vec<String> {
    version.good().map(|policy: &Policy| policy.cosmetic(call)).unwrap_or_default()
}

/// The form of a held command.
fn template_of(version: &LoadedPolicy, call: &Call<'_>, outcome: &Outcome) -> Result<Template, NotLike> {
    Template::of(version.good().ok_or(NotLike::NotHeld)?, call, outcome)
}

/// A command as the agent wrote it.
fn line_of(command: &Value) -> String {
    command.as_str().map_or_else(|| command.to_string(), str::to_owned)
}

fn pattern(tool: &str, text: &str) -> Option<GrantScope> {
    let arguments = serde_json::from_str(text).ok()?;
    Some(GrantScope::Pattern { tool: tool.to_owned(), arguments })
}

impl Gate {
    /// Makes the grant that a vote asks for, with the values that must be equal. The commit checks the rest.
    pub(crate) async fn new_grant(
        &self,
        request: &Request,
        remember: &Remember,
    ) -> Result<Box<NewGrant>, GateError> {
        let no =
            |field: &str, message: String| Err(Invalid::new(format!("/remember{field}"), message).into());
        let Some((content, Body::Action(action))) =
            request.content.as_ref().map(|content| (content, &content.body))
        else {
            return no("", "only the plain approval of an action can be remembered".to_owned());
        };
        let tool = action.tool.clone();
        if remember.within.is_some() && remember.scope != RememberScope::Template {
            return no(
                "/within",
                "only the scope `template` counts within a session or a project".to_owned(),
            );
        }
        let (scope, covered) = match (remember.scope, &remember.arguments) {
            (RememberScope::Exact, None) => {
                let scope = self.exact(request, content, action, true).await?;
                (Scope::Exact { bound: true }, scope)
            }
            (RememberScope::Session, None) => {
                let session = request.session.clone();
                (Scope::Session { session: session.clone() }, GrantScope::Session { tool, session })
            }
            (RememberScope::Pattern, Some(arguments)) => {
                let at: Vec<String> = arguments.keys().cloned().collect();
                if !(1..=PLACES).contains(&at.len()) || at.iter().any(|path| path.len() > PATH) {
                    let message = format!("a pattern has 1 to {PLACES} paths of up to {PATH} bytes");
                    return no("/arguments", message);
                }
                (Scope::Pattern { at }, GrantScope::Pattern { tool, arguments: arguments.clone() })
            }
            (RememberScope::Pattern, None) => {
                return no("/arguments", "a pattern needs the arguments that must match".to_owned());
            }
            (RememberScope::Template, None) => {
                let key = self.template_key(request, content).await?;
                let Some(within) = remember.within else {
                    return no("/within", "expected `session` or `project`".to_owned());
                };
                let session = (within == RememberWithin::Session).then(|| request.session.clone());
                return self.made(remember, Scope::Template { session }, Some(key));
            }
            (_, Some(_)) => return no("/arguments", "only a pattern has arguments of its own".to_owned()),
        };
        self.may_cover(request, content, &covered).await?;
        let key = match &covered {
            GrantScope::Exact { tool, arguments, cosmetic, .. } => {
                let (acting, folder) = ((arguments, &**cosmetic), folder(&content.context));
                Some(GrantKey::Same(grant_key(&self.store.secret(), &request.agent, tool, acting, folder)?))
            }
            GrantScope::Pattern { arguments, .. } => {
                let text = placet_ledger::canonical_string(arguments)?;
                if text.len() > PATTERN {
                    return no("/arguments", format!("the pattern is longer than {PATTERN} bytes"));
                }
                Some(GrantKey::Pattern(text.into()))
            }
            GrantScope::Session { .. } => None,
        };
        self.made(remember, scope, key)
    }

    fn made(
        &self,
        remember: &Remember,
        scope: Scope,
        key: Option<GrantKey>,
    ) -> Result<Box<NewGrant>, GateError> {
        let expires_in = match &remember.expires_in {
            None => EXPIRES_IN,
            Some(text) => duration(text).map_err(|message| Invalid::new("/remember/expires_in", message))?,
        };
        let mut random = [0_u8; 10];
        self.entropy.fill(&mut random);
        Ok(Box::new(NewGrant {
            id: GrantId::new(self.now().millis(), random),
            scope,
            uses: remember.uses.unwrap_or(USES),
            expires_in,
            key,
        }))
    }

    /// The form of the command that a request asks for.
    async fn template_key(&self, request: &Request, content: &Content) -> Result<GrantKey, GateError> {
        let no = |message: String| GateError::from(Invalid::new("/remember", message));
        let version = self.version(&request.verdict.policy).await?;
        let template = self.template(&version, request, content).map_err(|why| {
            no(format!("{why}; choose the scope `exact`, which remembers this very command"))
        })?;
        let text = serde_json::to_string(&template).map_err(|_| no("it cannot be stored".to_owned()))?;
        if text.len() > PATTERN {
            return Err(no(NotLike::TooMuch.to_string()));
        }
        Ok(GrantKey::Pattern(text.into()))
    }

    /// The form of the command of a recorded request, as policy sees it now.
    fn template(
        &self,
        version: &LoadedPolicy,
        request: &Request,
        content: &Content,
    ) -> Result<Template, NotLike> {
        let directory = self.store.directory();
        let place = place(&request.source, &request.agent, &content.context, &directory);
        let call = call_of(request, content, &content.body, request.created_at)
            .at(place)
            .covered(directory.covered(&request.agent));
        let outcome = confined(version.evaluate(&call), &call, &directory);
        template_of(version, &call, &outcome)
    }

    /// The calls among the agent's newest ones that a remembered command would have let pass.
    pub(crate) async fn would_cover(
        &self,
        grant: &Grant,
        key: Option<&GrantKey>,
    ) -> Result<Option<GrantPreview>, GateError> {
        let (Scope::Template { session }, Some(GrantKey::Pattern(text))) = (&grant.scope, key) else {
            return Ok(None);
        };
        let template: Template = serde_json::from_str(text).map_err(|_| placet_store::StoreError::Unknown)?;
        let version = self.version(&grant.policy).await?;
        let filter = Filter {
            agent: Some(grant.agent.clone()),
            tool: Some(grant.tool.clone()),
            source: Some(HOOK_PROGRAM.to_owned()),
            session: session.clone(),
            newest: true,
            ..Filter::default()
        };
        let newest = self.store.list(&filter, LOOKED_AT, self.now()).await?.items;
        let (gate, this) = (self.clone(), grant.request);
        off_thread(move || gate.covered_by(&template, &version, &newest, this)).await.map(Some)
    }

    /// Counts what a form covers among these requests, without this one.
    fn covered_by(
        &self,
        template: &Template,
        version: &LoadedPolicy,
        newest: &[Arc<Request>],
        this: RequestId,
    ) -> GrantPreview {
        let mut would = GrantPreview::default();
        let others = newest.iter().filter(|request| request.id != this);
        for (request, content) in others.filter_map(|request| Some((request, request.content.as_ref()?))) {
            would.looked_at += 1;
            let form = self.template(version, request, content);
            if !form.is_ok_and(|form| request.risk <= Grant::RISK && template.covers(&form)) {
                continue;
            }
            would.covered += 1;
            let denied = |decided: &Decided| decided.word == DecisionWord::Deny && !decided.by.is_empty();
            would.denied += u64::from(request.decision.as_ref().is_some_and(denied));
            let line = content.body.arguments().and_then(|arguments| {
                ["command", "cmd"].iter().find_map(|key| arguments.get(*key)).map(line_of)
            });
            if let Some(line) = line.filter(|line| !would.examples.contains(line))
                && would.examples.len() < EXAMPLES
            {
                would.examples.push(line);
            }
        }
        would
    }

    /// The scope of this very call, under the request's own policy.
    async fn exact(
        &self,
        request: &Request,
        content: &Content,
        action: &Action,
        bound: bool,
    ) -> Result<GrantScope, GateError> {
        let version = self.version(&request.verdict.policy).await?;
        let call = call_of(request, content, &content.body, request.created_at);
        Ok(GrantScope::Exact {
            tool: action.tool.clone(),
            arguments: action.arguments.clone(),
            cosmetic: if bound { cosmetic(&version, &call) } else { Vec::new() },
            place: bound.then(|| Folder(folder(&content.context).cloned())),
        })
    }

    /// Whether this request allows such a scope, by its own policy and the one in force.
    async fn may_cover(
        &self,
        request: &Request,
        content: &Content,
        scope: &GrantScope,
    ) -> Result<(), GateError> {
        for version in [self.version(&request.verdict.policy).await?, self.in_force().await?] {
            let covered = self.store.directory().covered(&request.agent);
            let call = call_of(request, content, &content.body, request.created_at).covered(covered);
            let checked = match version.good() {
                Some(policy) => scope.check(policy, &call),
                None => Err("the policy cannot be used: decide this request alone".to_owned()),
            };
            checked.map_err(|message| Invalid::new("/remember", message))?;
        }
        Ok(())
    }

    /// Grants with their use counts. A reviewer sees only their own.
    pub async fn grants(&self, actor: &Actor) -> Result<Vec<GrantView>, GateError> {
        let actor = &*self.acting(actor, &[Role::Admin, Role::Auditor, Role::Reviewer])?;
        let now = self.now();
        let directory = self.store.refresh_directory().await?;
        let mut views = Vec::new();
        for row in self.store.grants().await? {
            let (grant, used) = (row.grant, row.used);
            if now < grant.expires_at && (actor.role != Role::Reviewer || grant.by == actor.name) {
                let covers = self.covers(&grant, directory.grant_keys.get(&grant.id)).await?;
                views.push(GrantView { grant, used, covers });
            }
        }
        Ok(views)
    }

    /// What a grant covers, in words.
    pub(crate) async fn covers(&self, grant: &Grant, key: Option<&GrantKey>) -> Result<String, GateError> {
        let tool = grant.tool.clone();
        let scope = match (&grant.scope, key) {
            (Scope::Session { session }, _) => Some(GrantScope::Session { tool, session: session.clone() }),
            (Scope::Pattern { .. }, Some(GrantKey::Pattern(text))) => pattern(&grant.tool, text),
            (Scope::Pattern { .. }, _) => None,
            (Scope::Template { session }, key) => {
                let template = key.and_then(|key| match key {
                    GrantKey::Pattern(text) => serde_json::from_str::<Template>(text).ok(),
                    GrantKey::Same(_) => None,
                });
                let within = session.as_ref().map_or_else(
                    || "in every session".to_owned(),
                    |session| format!("in the session `{}`", placet_core::show(session)),
                );
                return Ok(template.map_or_else(
                    || format!("nothing: what was remembered of {} cannot be read", grant.request),
                    |template| format!("{within}, {template}"),
                ));
            }
            (Scope::Exact { bound }, _) => {
                let request = self.store.get(grant.request).await?;
                match request.as_ref().and_then(|request| Some((request, request.content.as_deref()?))) {
                    Some((request, content @ Content { body: Body::Action(action), .. })) => {
                        Some(self.exact(request, content, action, *bound).await?)
                    }
                    _ => None,
                }
            }
        };
        let erased = || format!("calls of `{}` like {}, whose content was erased", grant.tool, grant.request);
        Ok(scope.as_ref().map_or_else(erased, describe))
    }

    /// Revokes a grant at once: one's own, or any as an admin.
    pub async fn revoke_grant(&self, actor: &Actor, id: GrantId) -> Result<(), GateError> {
        let actor = &*self.acting(actor, &[Role::Admin, Role::Reviewer])?;
        self.admin(actor, AdminCommand::RevokeGrant { id }, None).await.map(drop)
    }

    /// Equal for requests with the same call: identical pending ones can be shown and decided together. A replacement is
    /// looked at where it is on the table, so a request with one is like no other, not even one with an equal replacement.
    pub fn same(&self, request: &Request) -> Option<String> {
        let content = request.content.as_ref().filter(|_| request.kind == Kind::Action)?;
        if request.proposal.is_some() {
            return None;
        }
        let (tool, arguments) = (content.body.tool()?, content.body.arguments()?);
        let key = placet_store::same_key(&self.store.secret(), &request.agent, tool, arguments);
        let key = key.ok()?;
        Some(data_encoding::BASE32_DNSSEC.encode(key.get(..16)?))
    }
}
