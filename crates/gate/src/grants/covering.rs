//! Which grants cover a held call: compiled once for each directory, then compared with the call.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
};

use placet_core::{Directory, Effect, Grant, GrantId, GrantKey, Scope, folder};
use placet_policy::{Call, CompiledScope, Outcome, Template};
use placet_store::{grant_key, unbound_grant_key};

use super::{cosmetic, pattern, template_of};
use crate::{
    Gate, GateError,
    policies::{LoadedPolicy, Policies},
};

/// Grants by agent and tool, of one directory.
#[derive(Debug, Default)]
pub(crate) struct GrantIndex {
    directory: Option<Arc<Directory>>,
    by_call: Arc<HashMap<(String, String), Vec<CompiledGrant>>>,
}

/// A grant, ready to be compared with calls.
#[derive(Debug, Clone)]
struct CompiledGrant {
    grant: Arc<Grant>,
    key: Option<GrantKey>,
    pattern: Option<Arc<CompiledScope>>,
    template: Option<Arc<Template>>,
}

impl CompiledGrant {
    fn new(grant: &Arc<Grant>, directory: &Directory, before: &HashMap<(String, String), Vec<Self>>) -> Self {
        let call = (grant.agent.clone(), grant.tool.clone());
        if let Some(known) =
            before.get(&call).and_then(|list| list.iter().find(|ready| ready.grant.id == grant.id))
        {
            return known.clone();
        }
        let key = directory.grant_keys.get(&grant.id).cloned();
        // A grant that cannot be read covers nothing.
        let (mut compiled, mut template) = (None, None);
        match (&grant.scope, &key) {
            (Scope::Template { .. }, Some(GrantKey::Pattern(text))) => {
                template = serde_json::from_str(text).ok().map(Arc::new);
            }
            (Scope::Pattern { .. }, Some(GrantKey::Pattern(text))) => {
                compiled = pattern(&grant.tool, text).and_then(|scope| scope.compile().ok()).map(Arc::new);
            }
            _ => {}
        }
        Self { grant: grant.clone(), key, pattern: compiled, template }
    }
}

impl Policies {
    /// The grants of a directory by agent and tool; made once for each directory.
    fn grants_by_call(
        &self,
        directory: &Arc<Directory>,
    ) -> Arc<HashMap<(String, String), Vec<CompiledGrant>>> {
        let before = {
            let index = self.grants.read().unwrap_or_else(PoisonError::into_inner);
            if index.directory.as_ref().is_some_and(|known| Arc::ptr_eq(known, directory)) {
                return index.by_call.clone();
            }
            index.by_call.clone()
        };
        let mut by_call: HashMap<(String, String), Vec<CompiledGrant>> = HashMap::new();
        for grant in directory.grants.values() {
            let ready = CompiledGrant::new(grant, directory, &before);
            by_call.entry((grant.agent.clone(), grant.tool.clone())).or_default().push(ready);
        }
        let by_call = Arc::new(by_call);
        *self.grants.write().unwrap_or_else(PoisonError::into_inner) =
            GrantIndex { directory: Some(directory.clone()), by_call: by_call.clone() };
        by_call
    }
}

impl Gate {
    /// The grants that cover a held call. The transaction checks whether one is still valid.
    pub(crate) fn covering(
        &self,
        call: &Call<'_>,
        outcome: &Outcome,
        version: &LoadedPolicy,
    ) -> Result<Vec<GrantId>, GateError> {
        let directory = self.store.directory();
        // Nearly always there are no grants.
        if directory.grants.is_empty() || outcome.effect != Effect::Hold || outcome.risk > Grant::RISK {
            return Ok(Vec::new());
        }
        let (Some(tool), Some(arguments)) = (call.tool, call.arguments) else { return Ok(Vec::new()) };
        let by_call = self.policies.grants_by_call(&directory);
        let Some(grants) = by_call.get(&(call.agent.to_owned(), tool.to_owned())) else {
            return Ok(Vec::new());
        };
        // A command is a program, so only the very same one is covered.
        let free_form = version.good().is_none_or(|policy| policy.free_form(call));
        let now = self.now();
        let mut covering = Vec::new();
        let mut form = None;
        let (mut same, mut unbound) = (None, None);
        let valid =
            |ready: &&CompiledGrant| ready.grant.policy == version.hash() && now < ready.grant.expires_at;
        for CompiledGrant { grant, key, pattern, template } in grants.iter().filter(valid) {
            let covers = match (&grant.scope, key, pattern) {
                (Scope::Session { session }, ..) => !free_form && session == call.claims.session,
                (Scope::Pattern { .. }, _, Some(pattern)) => !free_form && pattern.matches(call),
                (Scope::Template { session }, ..) => {
                    let here = session.as_ref().is_none_or(|session| session == call.claims.session);
                    template.as_ref().filter(|_| here).is_some_and(|template| {
                        let form = form.get_or_insert_with(|| template_of(version, call, outcome).ok());
                        form.as_ref().is_some_and(|form| template.covers(form))
                    })
                }
                (Scope::Exact { bound: true }, Some(GrantKey::Same(key)), _) => {
                    if same.is_none() {
                        let cosmetic = cosmetic(version, call);
                        let (acting, folder) = ((arguments, &*cosmetic), folder(call.claims.context));
                        same = Some(grant_key(&self.store.secret(), call.agent, tool, acting, folder)?);
                    }
                    same.as_ref() == Some(key)
                }
                // A grant of version 0.2 has no folder, so it covers no command.
                (Scope::Exact { bound: false }, Some(GrantKey::Same(key)), _) if !free_form => {
                    if unbound.is_none() {
                        unbound = Some(unbound_grant_key(&self.store.secret(), call.agent, tool, arguments)?);
                    }
                    unbound.as_ref() == Some(key)
                }
                _ => false,
            };
            if covers {
                covering.push(grant.id);
            }
        }
        Ok(covering)
    }
}
