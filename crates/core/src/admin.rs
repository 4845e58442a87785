//! Commands about keys, people, sign-ins, policy and grants, and when they are allowed. Each one is a ledger entry.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use crate::{
    Coverage, Directory, Freeze, FreezeId, Grant, GrantEnd, GrantId, GrantKey, KeyId, OPEN_REVIEWER, Role,
    SessionEnd, SessionId, Time, names::valid_name, roots,
};

mod event;
mod refusal;

pub use event::AdminEvent;
pub(crate) use event::is_false;
pub use refusal::AdminRefusal;

/// A command about keys, people, policy or grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminCommand {
    /// Make a key, and its principal if that is new.
    CreateKey {
        /// Its identifier.
        id: KeyId,
        /// What it is for.
        role: Role,
        /// Whose it is.
        name: String,
        /// The person who answers for an agent.
        owner: Option<String>,
        /// SHA-256 of the secret. Stored, never ledgered.
        secret: [u8; 32],
    },
    /// Stop a key from working.
    RevokeKey {
        /// Which.
        id: KeyId,
        /// Keep the live votes and grants that were given with it. Right after a rotation, wrong after a theft.
        keep: bool,
    },
    /// Set the roles and teams of a person.
    PutPerson {
        /// Who.
        name: String,
        /// All roles, not only new ones.
        roles: BTreeSet<Role>,
        /// All teams, not only new ones.
        teams: BTreeSet<String>,
    },
    /// Remove a person; their keys are revoked.
    RemovePerson {
        /// Who.
        name: String,
    },
    /// Put another policy in force.
    PutPolicy {
        /// Its hash.
        hash: String,
        /// Its text. Stored, never ledgered.
        text: Arc<str>,
        /// Where it came from.
        source: String,
        /// What must be in force for this to go ahead.
        expected: ExpectedPolicy,
    },
    /// Give a grant.
    CreateGrant {
        /// The whole of it.
        grant: Box<Grant>,
        /// What calls are compared with. Stored, never ledgered.
        key: Option<GrantKey>,
    },
    /// Take a grant back.
    RevokeGrant {
        /// Which.
        id: GrantId,
    },
    /// Open these folders to an agent, and no others.
    PutRoots {
        /// Which agent.
        agent: String,
        /// All of them, not only new ones.
        roots: Vec<String>,
    },
    /// Set whether the hook program of an agent may be told to run calls confined.
    PutConfine {
        /// Which agent.
        agent: String,
        /// Whether it may.
        confine: bool,
    },
    /// Record what Placet sees of one program of an agent.
    PutCoverage {
        /// Which agent.
        agent: String,
        /// The whole report.
        report: Box<Coverage>,
    },
    /// Forget what an agent reported.
    ForgetCoverage {
        /// Which agent.
        agent: String,
    },
    /// End a grant that is no longer valid, although no person revoked it.
    EndGrant {
        /// Which.
        id: GrantId,
        /// Why.
        why: GrantEnd,
    },
    /// Stop an agent, a tool, or everything.
    Freeze {
        /// The whole of it.
        freeze: Box<Freeze>,
    },
    /// Let it go on.
    Unfreeze {
        /// Which.
        id: FreezeId,
    },
    /// Confirm that keys, people and policy were checked after a restore.
    ConfirmRestore,
    /// Make a one-time sign-in link for a person.
    CreateLink {
        /// Who.
        name: String,
        /// SHA-256 of its token. Stored, never ledgered.
        token: [u8; 32],
        /// How long it works.
        lives: Duration,
    },
    /// Sign a person in. The proof travels with the command, so the transaction checks it.
    OpenSession {
        /// Its identifier.
        id: SessionId,
        /// What the person showed.
        proof: SignIn,
        /// SHA-256 of the session's secret. Stored, never ledgered.
        secret: [u8; 32],
        /// How long it lives at most.
        lives: Duration,
        /// The browser's name for itself. Stored, never ledgered.
        user_agent: String,
        /// The key with which the browser signs its calls.
        key: Box<BrowserKey>,
    },
    /// Sign out, or end a session from elsewhere.
    EndSession {
        /// Which.
        id: SessionId,
        /// Why.
        why: SessionEnd,
        /// Keep the live votes and grants that were given in it.
        keep: bool,
    },
    /// Set the password of a person. Their other sessions end.
    SetPassword {
        /// Who.
        name: String,
        /// The password hash. Never ledgered.
        hash: Arc<str>,
        /// The hash before, if the person proved that they know it. None if there was no password.
        known: Option<Arc<str>>,
        /// The session that stays.
        keep: Option<SessionId>,
    },
}

/// A P-256 key that a browser made and cannot export, and its thumbprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserKey {
    /// Both coordinates, 32 bytes each. Stored, never ledgered.
    pub point: [u8; 64],
    /// The thumbprint (RFC 7638), which the ledger keeps.
    pub thumbprint: String,
}

/// The proof with which a person signs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignIn {
    /// A one-time link, by the SHA-256 of its token. It is used up in the same transaction.
    Link([u8; 32]),
    /// A password that fits this stored hash.
    Password {
        /// Who.
        name: String,
        /// What it was compared with.
        hash: Arc<str>,
    },
}

/// The policy that must be in force when another one is put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedPolicy {
    /// Whatever it is.
    Anything,
    /// The built-in policy: no other has been put yet.
    BuiltIn,
    /// The one with this hash.
    Hash(String),
}

/// Most keys and people that a directory holds, revoked ones included.
const MOST: usize = 100_000;
/// Most teams of one person.
const TEAMS: usize = 100;
/// Most grants of a directory, and of one agent.
const GRANTS: usize = 10_000;
const GRANTS_OF_AGENT: usize = 200;

impl Directory {
    /// The event of a command, if the command is allowed.
    pub fn apply(&self, command: &AdminCommand, now: Time) -> Result<AdminEvent, AdminRefusal> {
        match command {
            AdminCommand::CreateLink { .. }
            | AdminCommand::OpenSession { .. }
            | AdminCommand::EndSession { .. }
            | AdminCommand::SetPassword { .. } => self.apply_sign_in(command, now),
            AdminCommand::CreateKey { id, role, name, owner, secret } => {
                self.may_create(*role, name, owner.as_deref(), secret)?;
                Ok(AdminEvent::KeyCreated { id: *id, role: *role, name: name.clone(), owner: owner.clone() })
            }
            AdminCommand::RevokeKey { id, keep } => {
                let key =
                    self.keys.get(id).filter(|key| key.revoked_at.is_none()).ok_or(AdminRefusal::NoKey)?;
                let with_password = |(name, _): (&String, _)| self.person(name, Role::Admin).is_some();
                let last = self.live_admin_keys().all(|other| other == *id);
                if key.role == Role::Admin && last && !self.passwords.iter().any(with_password) {
                    return Err(AdminRefusal::LastAdmin);
                }
                Ok(AdminEvent::KeyRevoked { id: *id, voids: !keep })
            }
            AdminCommand::PutPerson { name, roles, teams } => {
                self.may_put(name, roles, teams)?;
                Ok(AdminEvent::PersonPut { name: name.clone(), roles: roles.clone(), teams: teams.clone() })
            }
            AdminCommand::RemovePerson { name } => {
                if !self.people.contains_key(name) {
                    return Err(AdminRefusal::NoPerson);
                }
                if self.is_last_admin(name) {
                    return Err(AdminRefusal::LastAdmin);
                }
                Ok(AdminEvent::PersonRemoved { name: name.clone(), voids: true })
            }
            AdminCommand::PutPolicy { hash, source, expected, .. } => {
                let fits = match expected {
                    ExpectedPolicy::Anything => true,
                    ExpectedPolicy::BuiltIn => self.policy.is_none(),
                    ExpectedPolicy::Hash(hash) => self.policy.as_ref() == Some(hash),
                };
                if !fits {
                    return Err(AdminRefusal::StalePolicy { active: self.policy.clone() });
                }
                Ok(AdminEvent::PolicyPut { hash: hash.clone(), source: source.clone() })
            }
            AdminCommand::CreateGrant { grant, .. } => {
                let live = |other: &&Arc<Grant>| other.expires_at > grant.created_at;
                if self.grants.values().filter(live).count() >= GRANTS {
                    return Err(AdminRefusal::TooManyGrants(GRANTS));
                }
                let of_agent = self.grants.values().filter(live).filter(|other| other.agent == grant.agent);
                if of_agent.count() >= GRANTS_OF_AGENT {
                    return Err(AdminRefusal::TooManyGrants(GRANTS_OF_AGENT));
                }
                Ok(AdminEvent::GrantCreated { grant: grant.clone() })
            }
            AdminCommand::RevokeGrant { id } | AdminCommand::EndGrant { id, .. } => {
                if !self.grants.contains_key(id) {
                    return Err(AdminRefusal::NoGrant);
                }
                let why = match command {
                    AdminCommand::EndGrant { why, .. } => Some(*why),
                    _ => None,
                };
                Ok(AdminEvent::GrantRevoked { id: *id, why })
            }
            AdminCommand::PutRoots { agent, roots } => {
                if !self.agents.contains_key(agent) {
                    return Err(AdminRefusal::NoAgent);
                }
                let roots = roots::checked(roots)?;
                Ok(AdminEvent::RootsPut { agent: agent.clone(), roots, request: None })
            }
            AdminCommand::PutConfine { agent, confine } => {
                if !self.agents.contains_key(agent) {
                    return Err(AdminRefusal::NoAgent);
                }
                Ok(AdminEvent::ConfinePut { agent: agent.clone(), confine: *confine, request: None })
            }
            AdminCommand::PutCoverage { agent, report } => {
                let report = Box::new(self.may_report(agent, report)?);
                Ok(AdminEvent::CoveragePut { agent: agent.clone(), report })
            }
            AdminCommand::ForgetCoverage { agent } => {
                if !self.agents.contains_key(agent) {
                    return Err(AdminRefusal::NoAgent);
                }
                Ok(AdminEvent::CoverageForgotten { agent: agent.clone() })
            }
            AdminCommand::ConfirmRestore => match self.unconfirmed {
                Some(_) => Ok(AdminEvent::RestoreConfirmed {}),
                None => Err(AdminRefusal::NothingToConfirm),
            },
            AdminCommand::Freeze { freeze } => {
                self.may_freeze(freeze)?;
                Ok(AdminEvent::FreezeSet { freeze: Box::new(Freeze { at: now, ..(**freeze).clone() }) })
            }
            AdminCommand::Unfreeze { id } => {
                if !self.freezes.contains_key(id) {
                    return Err(AdminRefusal::NoFreeze);
                }
                Ok(AdminEvent::FreezeLifted { id: *id })
            }
        }
    }

    fn may_put(
        &self,
        name: &String,
        roles: &BTreeSet<Role>,
        teams: &BTreeSet<String>,
    ) -> Result<(), AdminRefusal> {
        if !valid_name(name) {
            return Err(AdminRefusal::BadName { field: "name" });
        }
        if !teams.iter().all(|team| valid_name(team)) {
            return Err(AdminRefusal::BadName { field: "teams" });
        }
        if teams.len() > TEAMS {
            return Err(AdminRefusal::TooManyTeams(TEAMS));
        }
        if self.agents.contains_key(name) {
            return Err(AdminRefusal::OtherKind(name.clone()));
        }
        if roles.is_empty() {
            return Err(AdminRefusal::NoRoles);
        }
        if roles.contains(&Role::Agent) {
            return Err(AdminRefusal::AgentRole);
        }
        // The open reviewer is only a reviewer. The name must never have had a key, a password or a session.
        let plain = *roles == BTreeSet::from([Role::Reviewer]) && teams.is_empty();
        if name == OPEN_REVIEWER && !(plain && self.is_keyless(name)) {
            return Err(AdminRefusal::Reserved(name.clone()));
        }
        if !roles.contains(&Role::Admin) && self.is_last_admin(name) {
            return Err(AdminRefusal::LastAdmin);
        }
        if self.people.len() >= MOST && !self.people.contains_key(name) {
            return Err(AdminRefusal::TooMany(MOST));
        }
        let new_teams = teams.iter().filter(|team| !self.has_team(team));
        let new = new_teams.chain((!self.people.contains_key(name)).then_some(name));
        new.map(String::as_str).try_for_each(|name| self.stands_out(name))?;
        Ok(())
    }

    fn may_create(
        &self,
        role: Role,
        name: &str,
        owner: Option<&str>,
        secret: &[u8; 32],
    ) -> Result<(), AdminRefusal> {
        if !valid_name(name) {
            return Err(AdminRefusal::BadName { field: "name" });
        }
        if [Some(name), owner].contains(&Some(OPEN_REVIEWER)) {
            return Err(AdminRefusal::Reserved(OPEN_REVIEWER.to_owned()));
        }
        let other_kind =
            if role == Role::Agent { self.people.contains_key(name) } else { self.agents.contains_key(name) };
        if other_kind {
            return Err(AdminRefusal::OtherKind(name.to_owned()));
        }
        if let Some(owner) = owner {
            if role != Role::Agent {
                return Err(AdminRefusal::OwnerOfPerson);
            }
            if !valid_name(owner) {
                return Err(AdminRefusal::BadName { field: "owner" });
            }
            if owner == name || self.agents.contains_key(owner) {
                return Err(AdminRefusal::OtherKind(owner.to_owned()));
            }
        }
        let known = self.people.contains_key(name) || self.agents.contains_key(name);
        if !known {
            self.stands_out(name)?;
        }
        // An owner need not exist yet, but the name must not look like an existing one.
        if let Some(owner) = owner.filter(|owner| !self.people.contains_key(*owner)) {
            self.stands_out(owner)?;
        }
        if self.by_secret.contains_key(secret) {
            return Err(AdminRefusal::SecretInUse);
        }
        if self.keys.len() >= MOST {
            return Err(AdminRefusal::TooMany(MOST));
        }
        Ok(())
    }

    /// Refuses a new name that looks like an existing one.
    fn stands_out(&self, name: &str) -> Result<(), AdminRefusal> {
        match self.lookalike(name) {
            None => Ok(()),
            Some(other) => Err(AdminRefusal::LooksLike { name: name.to_owned(), other: other.to_owned() }),
        }
    }

    fn has_team(&self, team: &str) -> bool {
        self.people.values().any(|person| person.teams.contains(team))
    }

    /// Whether this name never had a key (revoked ones count), a password or a session.
    pub fn is_keyless(&self, name: &str) -> bool {
        !self.keys.values().any(|key| key.name == name)
            && !self.passwords.contains_key(name)
            && !self.links.contains_key(name)
            && !self.sessions.values().any(|session| session.name == name)
    }

    fn live_admin_keys(&self) -> impl Iterator<Item = KeyId> {
        self.keys
            .values()
            .filter(|key| key.role == Role::Admin && self.live_key(key.id).is_some())
            .map(|key| key.id)
    }

    /// Whether this person can administer, and no other admin has a key or a password.
    fn is_last_admin(&self, name: &str) -> bool {
        let with_key = self.live_admin_keys().filter_map(|id| self.keys.get(&id)).map(|key| &key.name);
        let with_password = self.passwords.keys().filter(|name| self.person(name, Role::Admin).is_some());
        let mut able = with_key.chain(with_password).peekable();
        let signed_in = || {
            self.person(name, Role::Admin).is_some()
                && self.sessions.values().any(|session| session.name == name)
        };
        (able.peek().is_some() || signed_in()) && able.all(|other| other == name)
    }
}

#[cfg(test)]
mod tests;
