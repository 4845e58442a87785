//! Grants: what a person allowed in advance, and the trust that approvals earn.

use std::{collections::BTreeSet, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Actor, AdminCommand, Context, GrantId, KeyId, Kind, RequestId, Risk, SessionId, Submit, Time,
    decide::BarredApprovers,
};

/// A scoped, revocable approval that one person gave in advance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Grant {
    /// Its identifier.
    pub id: GrantId,
    /// Whose yes it is.
    pub by: String,
    /// For which agent.
    pub agent: String,
    /// For which tool.
    pub tool: String,
    /// The policy it was given under. It is void under any other.
    pub policy: String,
    /// How far it reaches.
    pub scope: Scope,
    /// How often it can be used.
    pub uses: u32,
    /// When it was given.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Time,
    /// The time from which it cannot be used.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub expires_at: Time,
    /// The request that it was given with.
    pub request: RequestId,
    /// The key it was given with. It ends with that key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyId>,
    /// The session it was given in. It ends when somebody else ends that session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
}

/// The scope of a grant. What calls are compared with is kept beside it, as a [`GrantKey`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Scope {
    /// The same call: equal arguments.
    Exact {
        /// Only in the folder of the request it was given with, and without regard to cosmetic arguments. Approvals of
        /// version 0.2 are not bound: they compare all arguments, and cover no commands.
        #[serde(default, skip_serializing_if = "crate::admin::is_false")]
        bound: bool,
    },
    /// Calls whose arguments match in these places; the others may be anything.
    Pattern {
        /// Paths into the arguments.
        at: Vec<String>,
    },
    /// Any call of the tool in this session.
    Session {
        /// The session.
        session: String,
    },
    /// Commands of one form: the same words, and other files of the agent's folder in place of the named ones.
    Template {
        /// Only in this session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
    },
}

/// A grant that a vote asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGrant {
    /// Its identifier.
    pub id: GrantId,
    /// How far it reaches.
    pub scope: Scope,
    /// How often it can be used.
    pub uses: u32,
    /// For how long.
    pub expires_in: Duration,
    /// What calls are compared with.
    pub key: Option<GrantKey>,
}

/// What calls are compared with. Stored, never ledgered, because it reveals arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantKey {
    /// Keyed digest of the one call.
    Same([u8; 32]),
    /// Paths and matchers, or the form of a command, as JSON.
    Pattern(std::sync::Arc<str>),
}

/// The trust that policy offers: after enough approvals of the same call, it passes without a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustTerms {
    /// The rules that offer it, as recorded in the verdict.
    pub rule: String,
    /// The number of approvals that are needed.
    pub after: u32,
    /// JSON pointers to what must be equal; the whole arguments when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<Vec<String>>,
    /// Arguments of this call that policy calls cosmetic. They are not compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cosmetic: Vec<String>,
    /// Bound to the folder of the request. Version 0.2 did not bind trust, so its trust does not count.
    #[serde(default, skip_serializing_if = "crate::admin::is_false")]
    pub bound: bool,
}

/// Why a grant ended without a person revoking it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum GrantEnd {
    /// Version 0.2 gave it on a command, without regard to the folder.
    Upgrade,
}

impl GrantEnd {
    /// The word that is stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Upgrade => "upgrade",
        }
    }
}

/// The grant that let a request through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GrantUsed {
    /// Its identifier.
    pub id: GrantId,
    /// The person who gave it. Version 0.2 did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Trust that a new request may claim, and what deciding on it teaches. Whether it has been earned is looked up in the
/// transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustOffer {
    /// On what terms.
    pub terms: TrustTerms,
    /// Keyed digest of what must be equal. Stored, never ledgered.
    pub key: [u8; 32],
    /// Whether this request may use the trust. What an agent reports about itself can rule that out. A deny of it
    /// counts anyway.
    pub usable: bool,
}

impl GrantUsed {
    /// Whose it is, in words.
    pub fn whose(&self) -> String {
        self.by.as_ref().map_or_else(|| "a grant".to_owned(), |by| format!("{by}'s grant"))
    }
}

impl Grant {
    /// Most uses of one.
    pub const MOST_USES: u32 = 10_000;
    /// Longest life of one.
    pub const LONGEST: Duration = Duration::from_hours(30 * 24);
    /// Above this risk, a person sees every call: grants and trust do not count.
    pub const RISK: Risk = Risk::Medium;
}

/// The folder of a call, as its context says. Grants and trust are bound to it. A call without a folder is in none.
pub fn folder(context: &Map<String, Value>) -> Option<&Value> {
    context.get("cwd")
}

/// The grant that lets this request through, if there is one. It counts as today's vote of the person who gave it.
pub(crate) fn granted<'a>(submit: &Submit, agent: &str, cx: &Context<'a>) -> Option<(&'a Grant, u32)> {
    submit.grants.iter().find_map(|id| {
        let grant = cx.directory.grants.get(id)?;
        let used = cx.used.iter().find(|(used, _)| used == id).map_or(0, |(_, used)| *used);
        usable(grant, used, submit, agent, cx).then_some((&**grant, used))
    })
}

fn usable(grant: &Grant, used: u32, submit: &Submit, agent: &str, cx: &Context<'_>) -> bool {
    let in_scope = match &grant.scope {
        Scope::Session { session } | Scope::Template { session: Some(session) } => {
            *session == submit.terms.session
        }
        // Arguments were compared earlier, and neither side can change.
        Scope::Exact { .. } | Scope::Pattern { .. } | Scope::Template { session: None } => true,
    };
    let on_behalf_of = submit.terms.on_behalf_of.as_deref();
    let behind = BarredApprovers { agent, since: cx.now, on_behalf_of, author: None };
    in_scope
        && grant.agent == agent
        && Some(grant.tool.as_str()) == submit.content.body.tool()
        && grant.policy == submit.verdict.policy
        && cx.now < grant.expires_at
        && used < grant.uses
        && submit.needs.step_up.is_none()
        && behind.enough(&submit.needs, &BTreeSet::from([grant.by.as_str()]), cx.directory)
}

/// Whether a grant or trust may let it through, instead of a person who sees this call.
pub(crate) fn may_stand(kind: Kind, risk: Risk) -> bool {
    kind == Kind::Action && risk <= Grant::RISK
}

impl crate::Request {
    /// Checks whether this vote may come with a grant, and makes it.
    pub(crate) fn remember(
        &self,
        new: &NewGrant,
        decide: &crate::Decide,
        actor: &Actor,
        cx: &Context<'_>,
    ) -> Result<AdminCommand, crate::Invalid> {
        let no = |field: &str, message: &str| Err(crate::Invalid::new(format!("/remember{field}"), message));
        let plain = decide.word == crate::DecisionWord::Approve
            && decide.proposal.is_none()
            && self.proposal.is_none();
        let Some(tool) = self.tool.clone().filter(|_| plain) else {
            return no("", "only the plain approval of an action can be remembered");
        };
        if !may_stand(self.kind, self.risk) {
            return no("", "a call of high or critical risk cannot be remembered: decide this request alone");
        }
        if cx.directory.policy.as_ref().is_some_and(|active| *active != self.verdict.policy) {
            return no("", "the policy has changed since this request was made: decide this request alone");
        }
        let behind = self.behind(None);
        let alone = self.needs.step_up.is_none()
            && behind.enough(&self.needs, &BTreeSet::from([actor.name.as_str()]), cx.directory);
        if !alone {
            return no(
                "",
                "this needs more than your approval, so it cannot be remembered: decide this request alone",
            );
        }
        if !(1..=Grant::MOST_USES).contains(&new.uses) {
            return no("/uses", "expected a number from 1 to 10000");
        }
        if new.expires_in < Duration::from_secs(1) || new.expires_in > Grant::LONGEST {
            return no("/expires_in", "expected a duration between 1 s and 30 days, such as `8h`");
        }
        let grant = Grant {
            id: new.id,
            by: actor.name.clone(),
            agent: self.agent.clone(),
            tool,
            policy: self.verdict.policy.clone(),
            scope: new.scope.clone(),
            uses: new.uses,
            created_at: cx.now,
            expires_at: cx.now.plus(new.expires_in),
            request: self.id,
            key: actor.key,
            session: actor.session,
        };
        Ok(AdminCommand::CreateGrant { grant: Box::new(grant), key: new.key.clone() })
    }
}
