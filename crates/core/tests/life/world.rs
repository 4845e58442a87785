//! Who exists, as plain lists that the model reads; the library gets a `Directory` built from them.

use std::{collections::BTreeSet, sync::Arc};

use placet_core::{Actor, Agent, Auth, Directory, Key, KeyId, Person, Role, Time, VoidedCredential};

/// Everybody, at one moment.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) people: Vec<Human>,
    pub(crate) bots: Vec<Bot>,
    pub(crate) keys: Vec<Lock>,
    /// The policy in force, if one was put.
    pub(crate) policy: Option<&'static str>,
}

#[derive(Debug, Clone)]
pub(crate) struct Human {
    pub(crate) name: &'static str,
    pub(crate) roles: BTreeSet<Role>,
    pub(crate) teams: BTreeSet<&'static str>,
}

#[derive(Debug, Clone)]
pub(crate) struct Bot {
    pub(crate) name: &'static str,
    pub(crate) owner: Option<&'static str>,
}

#[derive(Debug, Clone)]
pub(crate) struct Lock {
    pub(crate) id: KeyId,
    pub(crate) role: Role,
    pub(crate) name: &'static str,
    pub(crate) revoked: bool,
}

pub(crate) const PEOPLE: [&str; 5] = ["ann", "bob", "cyd", "dan", "eve"];
pub(crate) const BOTS: [&str; 2] = ["bot", "imp"];
/// The policy that requests and edits are asked about.
pub(crate) const POLICY: &str = "sha256:00";
pub(crate) const TEAMS: [&str; 2] = ["red", "blue"];

impl World {
    /// Four reviewers in two teams, one of them an admin too, an auditor; one agent with an owner, one without.
    pub(crate) fn new() -> Self {
        let human = |name, roles: &[Role], teams: &[&'static str]| Human {
            name,
            roles: roles.iter().copied().collect(),
            teams: teams.iter().copied().collect(),
        };
        let mut world = Self {
            people: vec![
                human("ann", &[Role::Reviewer], &["red"]),
                human("bob", &[Role::Reviewer], &["blue"]),
                human("cyd", &[Role::Reviewer], &["red", "blue"]),
                human("dan", &[Role::Reviewer, Role::Admin], &[]),
                human("eve", &[Role::Auditor], &["red"]),
            ],
            bots: vec![Bot { name: "bot", owner: Some("ann") }, Bot { name: "imp", owner: None }],
            keys: Vec::new(),
            policy: None,
        };
        for name in PEOPLE {
            let role = if name == "eve" { Role::Auditor } else { Role::Reviewer };
            world.new_key(name, role);
        }
        world.new_key("dan", Role::Admin);
        for name in BOTS {
            world.new_key(name, Role::Agent);
        }
        world
    }

    pub(crate) fn new_key(&mut self, name: &'static str, role: Role) -> KeyId {
        let id = KeyId::new(self.keys.len() as u64, [7; 10]);
        self.keys.push(Lock { id, role, name, revoked: false });
        id
    }

    pub(crate) fn human(&self, name: &str) -> Option<&Human> {
        self.people.iter().find(|human| human.name == name)
    }

    pub(crate) fn human_mut(&mut self, name: &str) -> &mut Human {
        self.people.iter_mut().find(|human| human.name == name).expect("a person of the cast")
    }

    /// Whether this person is a reviewer today.
    pub(crate) fn reviews(&self, name: &str) -> bool {
        self.human(name).is_some_and(|human| human.roles.contains(&Role::Reviewer))
    }

    pub(crate) fn owner(&self, bot: &str) -> Option<&'static str> {
        self.bots.iter().find(|other| other.name == bot).and_then(|bot| bot.owner)
    }

    pub(crate) fn set_owner(&mut self, bot: &str, owner: Option<&'static str>) {
        self.bots.iter_mut().find(|other| other.name == bot).expect("a bot of the cast").owner = owner;
    }

    /// The newest key of a principal in a role.
    pub(crate) fn key_of(&self, name: &str, role: Role) -> Option<KeyId> {
        self.keys.iter().rev().find(|key| key.name == name && key.role == role).map(|key| key.id)
    }

    pub(crate) fn revoke_key(&mut self, id: KeyId) {
        for key in self.keys.iter_mut().filter(|key| key.id == id) {
            key.revoked = true;
        }
    }

    /// Whether a key was taken away, so that its votes are void.
    pub(crate) fn is_revoked(&self, id: KeyId) -> bool {
        self.keys.iter().any(|key| key.id == id && key.revoked)
    }

    /// May this caller act in this role now? Key and role are read afresh.
    pub(crate) fn may(&self, caller: &Actor, role: Role) -> bool {
        let is_still = match role {
            Role::Agent => self.bots.iter().any(|bot| bot.name == caller.name),
            _ => self.human(&caller.name).is_some_and(|human| human.roles.contains(&role)),
        };
        let proved = match caller.key {
            Some(id) => self.keys.iter().any(|key| {
                key.id == id && !key.revoked && key.role == role && key.name == caller.name && is_still
            }),
            // Without a key: the agent of a development server, or a person signed in to the dashboard.
            None if role == Role::Agent => caller.auth == Auth::Open,
            None => caller.auth != Auth::Open && is_still,
        };
        caller.role == role && proved
    }

    /// The same people in the shape the library reads.
    pub(crate) fn directory(&self) -> Directory {
        let person = |human: &Human| Person {
            roles: human.roles.clone(),
            teams: human.teams.iter().map(|team| (*team).to_owned()).collect(),
        };
        let key = |key: &Lock| Key {
            id: key.id,
            role: key.role,
            name: key.name.to_owned(),
            created_at: Time::from_micros(0),
            revoked_at: key.revoked.then(|| Time::from_micros(1)),
            owner: None,
        };
        let voided = |lock: &Lock| (VoidedCredential::Key(lock.id), Time::from_micros(1));
        Directory {
            people: self.people.iter().map(|human| (human.name.to_owned(), person(human))).collect(),
            agents: self
                .bots
                .iter()
                .map(|bot| {
                    (bot.name.to_owned(), Agent { owner: bot.owner.map(str::to_owned), ..Agent::default() })
                })
                .collect(),
            keys: self.keys.iter().map(|lock| (lock.id, Arc::new(key(lock)))).collect(),
            voided: self.keys.iter().filter(|lock| lock.revoked).map(voided).collect(),
            policy: self.policy.map(str::to_owned),
            ..Directory::default()
        }
    }
}
