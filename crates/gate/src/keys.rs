//! Who is there: authentication by key, and the management of keys and people.

use std::{collections::BTreeSet, sync::Arc};

use data_encoding::BASE32_DNSSEC;
use placet_core::{Actor, AdminCommand, AdminRefusal, Auth, Directory, Key, KeyId, OPEN_REVIEWER, Role};
use placet_store::{AdminOutcome, Idempotency};
use sha2::{Digest as _, Sha256};

use crate::{Gate, GateError};

/// What a node knows of a token by itself.
#[derive(Debug)]
pub enum KeyLook {
    /// It works, and is theirs.
    Known(Actor),
    /// It was looked for in vain, and nothing changed since.
    Unknown,
    /// It may have been made on another node.
    New,
}

/// A key to be made.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// What it is for.
    pub role: Role,
    /// Whose it is.
    pub name: String,
    /// The person who answers for an agent.
    pub owner: Option<String>,
}

/// A key that was made.
#[derive(Debug, Clone)]
pub struct MadeKey {
    /// Its identifier.
    pub id: KeyId,
    /// The secret, shown once; `None` when an idempotency key says that it was shown before.
    pub secret: Option<String>,
}

/// What a person may do and where they belong.
#[derive(Debug, Clone)]
pub struct PersonSpec {
    /// All roles.
    pub roles: BTreeSet<Role>,
    /// All teams.
    pub teams: BTreeSet<String>,
}

pub(crate) fn hashed(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

impl Gate {
    /// Who this token belongs to, if it works. Another node's new keys are looked up.
    pub async fn authenticate(&self, token: &str) -> Result<Option<Actor>, GateError> {
        let secret = hashed(token);
        match self.look_up(token) {
            KeyLook::Known(actor) => return Ok(Some(actor)),
            KeyLook::Unknown => return Ok(None),
            KeyLook::New => {}
        }
        let directory = self.unknown_keys.look(&self.store).await?;
        let found = known(&directory, &secret);
        if found.is_none() {
            self.unknown_keys.remember(&directory, secret);
        }
        Ok(found)
    }

    /// What this node knows of a token without a look at the database.
    pub fn look_up(&self, token: &str) -> KeyLook {
        let (secret, directory) = (hashed(token), self.store.directory());
        match known(&directory, &secret) {
            Some(actor) => KeyLook::Known(actor),
            None if self.unknown_keys.has(&directory, &secret) => KeyLook::Unknown,
            None => KeyLook::New,
        }
    }

    /// How often the database was looked at for keys that this node does not know.
    pub fn key_looks(&self) -> u64 {
        self.unknown_keys.looks()
    }

    /// Whether an actor's key or session still works, as far as this node knows. Commands check again at commit.
    pub fn still_works(&self, actor: &Actor) -> bool {
        match (actor.key, actor.session) {
            (Some(key), None) => self.store.directory().live_key(key).is_some(),
            (None, Some(_)) => self.store.directory().signed_in(actor, self.now()),
            (None, None) => true,
            (Some(_), Some(_)) => false,
        }
    }

    /// Whether nobody can administer yet.
    pub fn is_new(&self) -> bool {
        self.store.directory().keys.is_empty()
    }

    /// Makes a key.
    pub async fn create_key(
        &self,
        actor: &Actor,
        new: NewKey,
        idempotency: Option<Idempotency>,
    ) -> Result<MadeKey, GateError> {
        let mut bytes = [0_u8; 32];
        self.entropy.fill(&mut bytes);
        let secret = format!("plk_{}_{}", new.role, BASE32_DNSSEC.encode(&bytes));
        self.install_key(actor, new, secret, idempotency).await
    }

    /// Makes the first admin's key from a given secret, if there is no key yet.
    pub async fn bootstrap(&self, secret: String) -> Result<bool, GateError> {
        let directory = self.store.refresh_directory().await?;
        if !directory.keys.is_empty() {
            return Ok(false);
        }
        let new = NewKey { role: Role::Admin, name: "bootstrap".to_owned(), owner: None };
        match self.install_key(&Actor::system(), new, secret, None).await {
            Ok(_) => Ok(true),
            // Another node was quicker with the same secret.
            Err(GateError::Admin(AdminRefusal::SecretInUse)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn install_key(
        &self,
        actor: &Actor,
        new: NewKey,
        secret: String,
        idempotency: Option<Idempotency>,
    ) -> Result<MadeKey, GateError> {
        let actor = &*self.acting(actor, &[Role::Admin])?;
        let mut random = [0_u8; 10];
        self.entropy.fill(&mut random);
        let id = KeyId::new(self.now().millis(), random);
        let command = AdminCommand::CreateKey {
            id,
            role: new.role,
            name: new.name,
            owner: new.owner,
            secret: hashed(&secret),
        };
        match self.admin(actor, command, idempotency).await? {
            None => Ok(MadeKey { id, secret: Some(secret) }),
            Some(id) => Ok(MadeKey { id, secret: None }),
        }
    }

    /// Stops a key at once, waits in flight included. Live votes and standing approvals that were given with it are void, unless
    /// they are to be kept: after a rotation, never after a theft.
    pub async fn revoke_key(&self, actor: &Actor, id: KeyId, keep: bool) -> Result<(), GateError> {
        let actor = &*self.acting(actor, &[Role::Admin])?;
        self.admin(actor, AdminCommand::RevokeKey { id, keep }, None).await.map(drop)
    }

    /// Sets a person's roles and teams.
    pub async fn put_person(
        &self,
        actor: &Actor,
        name: String,
        person: PersonSpec,
        idempotency: Option<Idempotency>,
    ) -> Result<(), GateError> {
        let actor = &*self.acting(actor, &[Role::Admin])?;
        if name == OPEN_REVIEWER {
            return Err(AdminRefusal::Reserved(name).into());
        }
        let command = AdminCommand::PutPerson { name, roles: person.roles, teams: person.teams };
        self.admin(actor, command, idempotency).await.map(drop)
    }

    /// Says whether anybody on this machine may decide through the doors that never had keys: puts the person as whom they do
    /// so in the directory, or takes it away, which also voids its votes on what is still pending. Both are ledgered.
    pub async fn open_deciding(&self, open: bool) -> Result<(), GateError> {
        let directory = self.store.refresh_directory().await?;
        let there = directory.people.contains_key(OPEN_REVIEWER);
        let command = match (open, there) {
            (true, false) => AdminCommand::PutPerson {
                name: OPEN_REVIEWER.to_owned(),
                roles: [Role::Reviewer].into(),
                teams: BTreeSet::new(),
            },
            // Whoever has a key is somebody, and was here before this name meant anything.
            (false, true) if directory.is_keyless(OPEN_REVIEWER) => {
                AdminCommand::RemovePerson { name: OPEN_REVIEWER.to_owned() }
            }
            (true, true) if !directory.is_keyless(OPEN_REVIEWER) => {
                return Err(AdminRefusal::Reserved(OPEN_REVIEWER.to_owned()).into());
            }
            _ => return Ok(()),
        };
        match self.admin(&Actor::system(), command, None).await {
            // Another node was quicker.
            Err(GateError::Admin(AdminRefusal::NoPerson)) => Ok(()),
            done => done.map(drop),
        }
    }

    /// Removes a person; their keys stop at once.
    pub async fn remove_person(&self, actor: &Actor, name: String) -> Result<(), GateError> {
        let actor = &*self.acting(actor, &[Role::Admin])?;
        self.admin(actor, AdminCommand::RemovePerson { name }, None).await.map(drop)
    }

    /// Keys and people.
    pub async fn directory(&self, actor: &Actor) -> Result<Arc<Directory>, GateError> {
        self.acting(actor, &[Role::Admin])?;
        Ok(self.store.refresh_directory().await?)
    }

    /// Applies a command about keys, people, policy or standing approvals. A replayed one answers with the key it made.
    pub(crate) async fn admin(
        &self,
        actor: &Actor,
        command: AdminCommand,
        idempotency: Option<Idempotency>,
    ) -> Result<Option<KeyId>, GateError> {
        match self.store.admin(actor.clone(), command, idempotency).await? {
            AdminOutcome::Applied => {
                self.waiters.wake_revoked(&self.store.directory());
                Ok(None)
            }
            AdminOutcome::Refused(refusal) => Err(refusal.into()),
            AdminOutcome::Replayed(key) => Ok(key),
        }
    }
}

fn known(directory: &Directory, secret: &[u8; 32]) -> Option<Actor> {
    let key: &Arc<Key> = directory.live_key(*directory.by_secret.get(secret)?)?;
    Some(Actor {
        name: key.name.clone(),
        role: key.role,
        key: Some(key.id),
        session: None,
        auth: Auth::Token,
    })
}
