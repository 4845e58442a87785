//! Events about keys, people, sign-ins, policy and grants, and how they change the directory.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    Agent, Coverage, Directory, Freeze, FreezeId, Grant, GrantEnd, GrantId, Key, KeyId, RequestId, Role,
    SessionEnd, SessionId, Time, Via, VoidedCredential,
};

/// Longer than any vote can stay live.
const VOTES_LIVE: Duration = Duration::from_hours(400 * 24);

/// What happened to keys, people, policy, grants, or the whole database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum AdminEvent {
    /// The first entry of every ledger.
    #[serde(rename = "ledger.opened")]
    Opened {},
    /// A backup was restored: a new epoch begins, and no old permit lives on.
    #[serde(rename = "ledger.restored")]
    Restored {
        /// The epoch of the backup.
        from: String,
    },
    /// The database was older than what was acknowledged: entries are missing. A new epoch begins. The outcome of
    /// what happened in the missing entries is unknown.
    #[serde(rename = "ledger.recovered")]
    Recovered {
        /// The epoch before.
        from: String,
        /// The last acknowledged entry of that epoch, if a node knows it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        acknowledged: Option<u64>,
    },
    /// The ledger was ahead of the clock, and somebody said that the clock is right. This entry may be older than the one
    /// before it; no other may.
    #[serde(rename = "clock.accepted")]
    ClockAccepted {
        /// What time it was by the ledger.
        from: Time,
    },
    /// A key was made.
    #[serde(rename = "key.created")]
    KeyCreated {
        /// Which.
        id: KeyId,
        /// What it is for.
        role: Role,
        /// Whose it is.
        name: String,
        /// Who answers for the agent.
        owner: Option<String>,
    },
    /// A key stopped working.
    #[serde(rename = "key.revoked")]
    KeyRevoked {
        /// Which.
        id: KeyId,
        /// Whether live votes and grants that were given with it are void.
        #[serde(default, skip_serializing_if = "is_false")]
        voids: bool,
    },
    /// A person's roles and teams were set.
    #[serde(rename = "person.put")]
    PersonPut {
        /// Who.
        name: String,
        /// All roles.
        roles: BTreeSet<Role>,
        /// All teams.
        teams: BTreeSet<String>,
    },
    /// A person was removed.
    #[serde(rename = "person.removed")]
    PersonRemoved {
        /// Who.
        name: String,
        /// Whether their live votes are void. They are, since version 0.3.
        #[serde(default, skip_serializing_if = "is_false")]
        voids: bool,
    },
    /// Another policy is in force. Grants given under the one before are void.
    #[serde(rename = "policy.put")]
    PolicyPut {
        /// Its hash.
        hash: String,
        /// Where it came from.
        source: String,
    },
    /// A grant was given.
    #[serde(rename = "grant.created")]
    GrantCreated {
        /// The whole of it.
        grant: Box<Grant>,
    },
    /// A grant was taken back.
    #[serde(rename = "grant.revoked")]
    GrantRevoked {
        /// Which.
        id: GrantId,
        /// The reason, if no person revoked it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<GrantEnd>,
    },
    /// These folders are open to an agent, and no others.
    #[serde(rename = "agent.roots_put")]
    RootsPut {
        /// Which agent.
        agent: String,
        /// All of them.
        roots: Vec<String>,
        /// The question whose approval opened one more folder, if that is the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<RequestId>,
    },
    /// An agent's hook program may, or may no longer, be told to run calls confined.
    #[serde(rename = "agent.confine_put")]
    ConfinePut {
        /// Which agent.
        agent: String,
        /// Whether it may.
        confine: bool,
        /// The request that did not run as it was allowed, if that is the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<RequestId>,
    },
    /// An agent reported something new about one of its programs.
    #[serde(rename = "agent.coverage_put")]
    CoveragePut {
        /// Which agent.
        agent: String,
        /// The whole report.
        report: Box<Coverage>,
    },
    /// The reports of an agent were forgotten.
    #[serde(rename = "agent.coverage_forgotten")]
    CoverageForgotten {
        /// Which agent.
        agent: String,
    },
    /// An agent, a tool or everything was frozen.
    #[serde(rename = "freeze.set")]
    FreezeSet {
        /// The whole of it.
        freeze: Box<Freeze>,
    },
    /// A freeze was lifted.
    #[serde(rename = "freeze.lifted")]
    FreezeLifted {
        /// Which.
        id: FreezeId,
    },
    /// An admin checked keys, people and policy after a restore or a recovery.
    #[serde(rename = "restore.confirmed")]
    RestoreConfirmed {},
    /// A one-time link was made; the one before it stops working.
    #[serde(rename = "link.created")]
    LinkCreated {
        /// Who may sign in with it.
        name: String,
        /// Until when.
        expires_at: Time,
    },
    /// A person signed in.
    #[serde(rename = "session.opened")]
    SessionOpened {
        /// Which session.
        id: SessionId,
        /// Who.
        name: String,
        /// How.
        via: Via,
        /// When it ends at the latest.
        expires_at: Time,
        /// The thumbprint of the key that the browser proves its calls with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bound: Option<String>,
    },
    /// A session is over.
    #[serde(rename = "session.ended")]
    SessionEnded {
        /// Which.
        id: SessionId,
        /// Why.
        why: SessionEnd,
        /// Whether the live votes and grants that were given in it are void.
        #[serde(default, skip_serializing_if = "is_false")]
        voids: bool,
    },
    /// A person has a new password.
    #[serde(rename = "person.password_set")]
    PasswordSet {
        /// Who.
        name: String,
        /// Whether votes that were given with the password before, without a session, are void. Older versions had no
        /// such votes and leave this out.
        #[serde(default, skip_serializing_if = "is_false")]
        voids: bool,
    },
}

/// For `serde`: a false value is left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
pub(crate) fn is_false(value: &bool) -> bool {
    !*value
}

impl AdminEvent {
    /// The name on the wire: `key.created` and so on.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Opened {} => "ledger.opened",
            Self::Restored { .. } => "ledger.restored",
            Self::Recovered { .. } => "ledger.recovered",
            Self::ClockAccepted { .. } => "clock.accepted",
            Self::KeyCreated { .. } => "key.created",
            Self::KeyRevoked { .. } => "key.revoked",
            Self::PersonPut { .. } => "person.put",
            Self::PersonRemoved { .. } => "person.removed",
            Self::PolicyPut { .. } => "policy.put",
            Self::GrantCreated { .. } => "grant.created",
            Self::GrantRevoked { .. } => "grant.revoked",
            Self::RootsPut { .. } => "agent.roots_put",
            Self::ConfinePut { .. } => "agent.confine_put",
            Self::CoveragePut { .. } => "agent.coverage_put",
            Self::CoverageForgotten { .. } => "agent.coverage_forgotten",
            Self::FreezeSet { .. } => "freeze.set",
            Self::FreezeLifted { .. } => "freeze.lifted",
            Self::RestoreConfirmed {} => "restore.confirmed",
            Self::LinkCreated { .. } => "link.created",
            Self::SessionOpened { .. } => "session.opened",
            Self::SessionEnded { .. } => "session.ended",
            Self::PasswordSet { .. } => "person.password_set",
        }
    }
}

impl Directory {
    /// Applies one event. `secret` is known when a key or link is made, and absent in a rebuild.
    pub fn evolve(&mut self, event: &AdminEvent, at: Time, secret: Option<[u8; 32]>) {
        match event {
            AdminEvent::Opened {} => {}
            // What had expired by the ledger's time must not come back to life by the clock's time.
            AdminEvent::ClockAccepted { from } => {
                self.keep_grants(|grant| grant.expires_at > *from);
                self.forget_sign_ins();
            }
            AdminEvent::RestoreConfirmed {} => self.unconfirmed = None,
            // Grants and sign-ins belong to the database before the restore.
            AdminEvent::Restored { .. } | AdminEvent::Recovered { .. } => {
                self.unconfirmed = Some(at);
                self.keep_grants(|_| false);
                // A folder may have been closed, or the mark taken away, in the entries that are missing.
                for agent in self.agents.values_mut() {
                    agent.roots.clear();
                    agent.confine = false;
                }
                self.forget_sign_ins();
            }
            AdminEvent::KeyCreated { id, role, name, owner } => {
                let key = Key {
                    id: *id,
                    role: *role,
                    name: name.clone(),
                    created_at: at,
                    revoked_at: None,
                    owner: owner.clone(),
                };
                self.insert_key(key);
                if let Some(secret) = secret {
                    self.by_secret.insert(secret, *id);
                }
                if *role == Role::Agent {
                    let agent: &mut Agent = self.agents.entry(name.clone()).or_default();
                    if owner.is_some() {
                        agent.owner.clone_from(owner);
                    }
                } else {
                    self.people.entry(name.clone()).or_default().roles.insert(*role);
                }
            }
            AdminEvent::KeyRevoked { id, voids } => {
                self.revoke(|key| key.id == *id, at);
                if *voids {
                    self.void(VoidedCredential::Key(*id), at);
                }
            }
            AdminEvent::PersonPut { name, roles, teams } => {
                let person = self.people.entry(name.clone()).or_default();
                person.roles.clone_from(roles);
                person.teams.clone_from(teams);
            }
            AdminEvent::PersonRemoved { name, voids } => {
                if *voids {
                    self.void(VoidedCredential::Person(name.clone()), at);
                }
                self.people.remove(name);
                self.revoke(|key| key.name == *name, at);
                self.keep_grants(|grant| grant.by != *name);
                self.forget_person(name);
            }
            AdminEvent::PolicyPut { hash, .. } => {
                self.policy = Some(hash.clone());
                self.keep_grants(|grant| grant.policy == *hash);
            }
            AdminEvent::GrantCreated { grant } => {
                // Expired grants make room for new ones.
                self.keep_grants(|other| other.expires_at > at);
                self.grants.insert(grant.id, Arc::new((**grant).clone()));
            }
            AdminEvent::GrantRevoked { id, .. } => self.keep_grants(|grant| grant.id != *id),
            AdminEvent::RootsPut { agent, roots, .. } => {
                self.agents.entry(agent.clone()).or_default().roots.clone_from(roots);
            }
            AdminEvent::ConfinePut { agent, confine, .. } => {
                self.agents.entry(agent.clone()).or_default().confine = *confine;
            }
            AdminEvent::CoveragePut { agent, report } => self.reported(agent, report),
            AdminEvent::CoverageForgotten { agent } => {
                self.agents.entry(agent.clone()).or_default().coverage.clear();
            }
            AdminEvent::FreezeSet { freeze } => {
                self.freezes.insert(freeze.id, Arc::new((**freeze).clone()));
            }
            AdminEvent::FreezeLifted { id } => {
                self.freezes.remove(id);
            }
            AdminEvent::LinkCreated { .. }
            | AdminEvent::SessionOpened { .. }
            | AdminEvent::SessionEnded { .. }
            | AdminEvent::PasswordSet { .. } => self.evolve_sign_in(event, at, secret),
        }
    }

    /// Adds a key.
    pub fn insert_key(&mut self, key: Key) {
        if key.owner.is_some() {
            self.owned.entry(key.name.clone()).or_default().insert(key.id);
        }
        self.keys.insert(key.id, Arc::new(key));
    }

    /// Voids what was done with this credential in favour of requests.
    pub(crate) fn void(&mut self, what: VoidedCredential, at: Time) {
        match &what {
            VoidedCredential::Key(id) => self.keep_grants(|grant| grant.key != Some(*id)),
            VoidedCredential::Session(id) => self.keep_grants(|grant| grant.session != Some(*id)),
            VoidedCredential::Person(_) | VoidedCredential::Password(_) => {}
        }
        // Entries that are older than any live vote make room for new ones.
        self.voided.retain(|_, since| at < since.plus(VOTES_LIVE));
        self.voided.insert(what, at);
    }

    fn keep_grants(&mut self, which: impl Fn(&Grant) -> bool) {
        self.grants.retain(|_, grant| which(grant));
        let Self { grants, grant_keys, .. } = self;
        grant_keys.retain(|id, _| grants.contains_key(id));
    }

    fn revoke(&mut self, which: impl Fn(&Key) -> bool, at: Time) {
        for key in self.keys.values_mut().filter(|key| key.revoked_at.is_none() && which(key)) {
            Arc::make_mut(key).revoked_at = Some(at);
        }
    }
}
