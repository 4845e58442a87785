//! Who exists: agents, people and keys, as plain data that commands are checked against at commit.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::{Grant, GrantId, GrantKey, KeyId, Role, Session, SessionId, Time};

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
}

/// All principals and keys at one moment. Small, and held in memory whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Directory {
    /// People by name.
    pub people: BTreeMap<String, Person>,
    /// Agents by name.
    pub agents: BTreeMap<String, Agent>,
    /// Keys, revoked ones included.
    pub keys: HashMap<KeyId, Arc<Key>>,
    /// Which key a secret's SHA-256 belongs to.
    pub by_secret: HashMap<[u8; 32], KeyId>,
    /// The policy in force, by hash. None until one was put: the built-in one is in force then.
    pub policy: Option<String>,
    /// Standing yeses that were not revoked. Expired and used up ones may still be among them.
    pub grants: BTreeMap<GrantId, Arc<Grant>>,
    /// What calls are compared with to see whether a standing yes covers them.
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
    /// The person of this name, if it may act in this role.
    pub fn person(&self, name: &str, role: Role) -> Option<&Person> {
        self.people.get(name).filter(|person| person.roles.contains(&role))
    }

    /// The owner of an agent, if one is known.
    pub fn owner(&self, agent: &str) -> Option<&str> {
        self.agents.get(agent)?.owner.as_deref()
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

/// Whether a name is fit for a principal or a team: short, printable, without spaces or tricks.
pub fn valid_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._@+-:/".contains(&byte);
    (1..=128).contains(&name.len())
        && name.bytes().all(allowed)
        && name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for good in ["ann", "billing-bot", "ann@example.com", "team/agent:1"] {
            assert!(valid_name(good), "{good}");
        }
        for bad in ["", " ann", "an n", "ann\u{202e}", "-x", "änn", &"x".repeat(129)] {
            assert!(!valid_name(bad), "{bad}");
        }
    }
}
