//! Who exists: agents, people and keys, as plain data. Commands are checked against it at commit.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::{
    Auth, Coverage, Freeze, FreezeId, Grant, GrantId, GrantKey, KeyId, OPEN_REVIEWER, RequestId, Role,
    Session, SessionId, Time, Vote, names::skeleton,
};

/// A person: may hold several roles and belong to several teams.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Person {
    /// What the person may do.
    pub roles: BTreeSet<Role>,
    /// Where the person belongs.
    pub teams: BTreeSet<String>,
}

/// A program that asks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Agent {
    /// The person who answers for it, if one is known.
    pub owner: Option<String>,
    /// Folders that a person opened to it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<String>,
    /// Whether its hook program may be told to run calls confined.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confine: bool,
    /// What it reports of itself, program by program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<Coverage>,
}

/// A key: one role of one principal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Its identifier, which is not a secret.
    pub id: KeyId,
    /// What it is for.
    pub role: Role,
    /// Whose it is.
    pub name: String,
    /// When it was made.
    pub created_at: Time,
    /// When it stopped working.
    pub revoked_at: Option<Time>,
    /// The person who answers for the agent, as this key names them.
    pub owner: Option<String>,
}

/// A credential that may have been in the wrong hands. What was done with it in favour of requests is void.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum VoidedCredential {
    /// A key that was revoked.
    Key(KeyId),
    /// A session that was ended from elsewhere.
    Session(SessionId),
    /// A person who was removed, with everything they decided before.
    Person(String),
    /// A person whose password was changed, with everything they decided before by password alone.
    Password(String),
}

/// All principals and keys at one moment. Small, so it is held in memory as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Directory {
    /// People by name.
    pub people: BTreeMap<String, Person>,
    /// Agents by name.
    pub agents: BTreeMap<String, Agent>,
    /// Keys, revoked ones included.
    pub keys: HashMap<KeyId, Arc<Key>>,
    /// The keys of each agent that name an owner.
    pub owned: HashMap<String, BTreeSet<KeyId>>,
    /// Voided credentials, since when. Kept for as long as a vote can live.
    pub voided: BTreeMap<VoidedCredential, Time>,
    /// What is stopped.
    pub freezes: BTreeMap<FreezeId, Arc<Freeze>>,
    /// Since when a restore or recovery waits for a confirmation.
    pub unconfirmed: Option<Time>,
    /// Which key a secret's SHA-256 belongs to.
    pub by_secret: HashMap<[u8; 32], KeyId>,
    /// The policy in force, by hash. None until one was put: the built-in one is in force then.
    pub policy: Option<String>,
    /// Grants that were not revoked. Expired and used up ones may still be among them.
    pub grants: BTreeMap<GrantId, Arc<Grant>>,
    /// What calls are compared with to see whether a grant covers them.
    pub grant_keys: HashMap<GrantId, GrantKey>,
    /// Sessions that were not ended. Expired ones may still be among them.
    pub sessions: BTreeMap<SessionId, Arc<Session>>,
    /// Until when each person's one-time link works. A new link takes the place of the one before.
    pub links: BTreeMap<String, Time>,
    /// Whose link a token's SHA-256 belongs to.
    pub by_link: HashMap<[u8; 32], String>,
    /// People who have a password, with its hash (which a rebuild from the ledger does not know).
    pub passwords: BTreeMap<String, Arc<str>>,
}

impl Directory {
    /// The person of this name, if they may act in this role.
    pub fn person(&self, name: &str, role: Role) -> Option<&Person> {
        self.people.get(name).filter(|person| person.roles.contains(&role))
    }

    /// The owner of an agent, if one is known.
    pub fn owner(&self, agent: &str) -> Option<&str> {
        self.agents.get(agent)?.owner.as_deref()
    }

    /// The owners of an agent now, and of any of its keys that worked at that time or later.
    pub fn owners(&self, agent: &str, since: Time) -> impl Iterator<Item = &str> {
        let keys = self.owned.get(agent).into_iter().flatten().filter_map(|id| self.keys.get(id));
        let then = keys.filter(move |key| key.revoked_at.is_none_or(|at| at >= since));
        self.owner(agent).into_iter().chain(then.filter_map(|key| key.owner.as_deref()))
    }

    /// Whether a vote still stands: its credential is not void, and its person was not removed since.
    pub fn stands(&self, vote: &Vote) -> bool {
        let removed = self.voided.get(&VoidedCredential::Person(vote.by.clone()));
        let voided =
            |credential: Option<VoidedCredential>| credential.is_some_and(|it| self.voided.contains_key(&it));
        let sure = match (vote.key, vote.session, vote.auth) {
            (None, None, Auth::Session) => {
                let changed = self.voided.get(&VoidedCredential::Password(vote.by.clone()));
                changed.is_none_or(|at| vote.at > *at)
            }
            (None, None, _) => !self.lost_a_key(vote),
            _ => true,
        };
        removed.is_none_or(|at| vote.at > *at)
            && !voided(vote.key.map(VoidedCredential::Key))
            && !voided(vote.session.map(VoidedCredential::Session))
            && sure
    }

    /// Whether a vote without a recorded credential may have been cast with a key that was voided later.
    fn lost_a_key(&self, vote: &Vote) -> bool {
        let lost = |key: &Key| {
            key.name == vote.by && self.voided.get(&VoidedCredential::Key(key.id)) > Some(&vote.at)
        };
        self.keys.values().any(|key| lost(key))
    }

    /// The grant that was given with this request, if there is one.
    pub fn grant_of(&self, request: RequestId) -> Option<GrantId> {
        self.grants.values().find(|grant| grant.request == request).map(|grant| grant.id)
    }

    /// Existing names of principals and teams that look alike. Such names are refused today.
    pub fn lookalikes(&self) -> Vec<Vec<&str>> {
        let mut seen: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let teams = self.people.values().flat_map(|person| &person.teams);
        for name in self.people.keys().chain(self.agents.keys()).chain(teams) {
            seen.entry(skeleton(name)).or_default().insert(name);
        }
        let several = seen.into_values().filter(|names| names.len() > 1);
        several.map(|names| names.into_iter().collect()).collect()
    }

    /// Another principal or team with a name that looks like this one.
    pub fn lookalike(&self, name: &str) -> Option<&str> {
        let wanted = skeleton(name);
        let teams = self.people.values().flat_map(|person| &person.teams);
        let mut names = self.people.keys().chain(self.agents.keys()).chain(teams);
        let reserved = (name != OPEN_REVIEWER && skeleton(OPEN_REVIEWER) == wanted).then_some(OPEN_REVIEWER);
        names.find(|other| *other != name && skeleton(other) == wanted).map(String::as_str).or(reserved)
    }

    /// A key that works now: not revoked, and its person still has the role.
    pub fn live_key(&self, id: KeyId) -> Option<&Arc<Key>> {
        let key = self.keys.get(&id).filter(|key| key.revoked_at.is_none())?;
        let exists = match key.role {
            Role::Agent => self.agents.contains_key(&key.name),
            role => self.person(&key.name, role).is_some(),
        };
        exists.then_some(key)
    }

    /// How many working keys a principal has.
    pub fn live_keys_of(&self, name: &str) -> usize {
        self.keys.values().filter(|key| key.name == name && key.revoked_at.is_none()).count()
    }
}
