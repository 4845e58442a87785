//! Commands about keys, people, sign-ins, policy and standing yeses, and what they do to the directory. They are ledgered
//! like everything else.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    Agent, Coverage, Directory, Freeze, FreezeId, Grant, GrantEnd, GrantId, GrantKey, Key, KeyId,
    OPEN_REVIEWER, RequestId, Role, SessionEnd, SessionId, Time, Via, Voided, names::valid_name, roots,
};

/// A command about keys, people, policy or standing yeses.
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
        /// Whether live votes and standing yeses that were given with it stay. They do after a rotation; after a theft they
        /// must not.
        keep: bool,
    },
    /// Say what a person may do and where they belong.
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
        expected: Expected,
    },
    /// Give a standing yes.
    CreateGrant {
        /// The whole of it.
        grant: Box<Grant>,
        /// What calls are compared with. Stored, never ledgered.
        key: Option<GrantKey>,
    },
    /// Take a standing yes back.
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
    /// Say whether an agent's hook program may be told to run calls confined.
    PutConfine {
        /// Which agent.
        agent: String,
        /// Whether it may.
        confine: bool,
    },
    /// Say what of an agent's program Placet sees.
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
    /// End a standing yes that counts no more, though nobody took it back.
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
    /// Say that keys, people and policy were looked at after a restore.
    ConfirmRestore,
    /// Make a link with which a person signs in once.
    CreateLink {
        /// Who.
        name: String,
        /// SHA-256 of its token. Stored, never ledgered.
        token: [u8; 32],
        /// How long it works.
        lives: Duration,
    },
    /// Sign a person in. Their word for it is inside, so that it is checked in the transaction.
    OpenSession {
        /// Its identifier.
        id: SessionId,
        /// What the person showed.
        proof: SignIn,
        /// SHA-256 of the session's secret. Stored, never ledgered.
        secret: [u8; 32],
        /// How long it lives at most.
        lives: Duration,
        /// What the browser says of itself. Stored, never ledgered.
        user_agent: String,
        /// The key that it proves its calls with.
        key: Box<BrowserKey>,
    },
    /// Sign out, or end a session from elsewhere.
    EndSession {
        /// Which.
        id: SessionId,
        /// Why.
        why: SessionEnd,
        /// Whether live votes and standing yeses that were given in it stay.
        keep: bool,
    },
    /// Give a person a password; their other sessions end.
    SetPassword {
        /// Who.
        name: String,
        /// What is stored of it. Never ledgered.
        hash: Arc<str>,
        /// What was stored before, when the person showed that they knew it; none if there was nothing to know.
        known: Option<Arc<str>>,
        /// The session that goes on.
        keep: Option<SessionId>,
    },
}

/// A key that a browser made and cannot give away: a point of P-256, and its thumbprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserKey {
    /// Both coordinates, 32 bytes each. Stored, never ledgered.
    pub point: [u8; 64],
    /// The thumbprint (RFC 7638), which the ledger keeps.
    pub thumbprint: String,
}

/// What a person shows to sign in.
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

/// What must be in force when another policy is put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Whatever it is.
    Anything,
    /// The built-in one: nobody has put any yet.
    BuiltIn,
    /// The one with this hash.
    Hash(String),
}

/// What happened to keys, people, policy, standing yeses, or the whole database.
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
    /// The database had gone back: entries that were acknowledged are not in it. A new epoch begins, and what may have
    /// happened in them is unknown.
    #[serde(rename = "ledger.recovered")]
    Recovered {
        /// The epoch before.
        from: String,
        /// The last entry that a node is known to have acknowledged in it, where one is known.
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
        /// Whether live votes and standing yeses that were given with it are void.
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
    /// Another policy is in force. Standing yeses given under the one before are void.
    #[serde(rename = "policy.put")]
    PolicyPut {
        /// Its hash.
        hash: String,
        /// Where it came from.
        source: String,
    },
    /// A standing yes was given.
    #[serde(rename = "grant.created")]
    GrantCreated {
        /// The whole of it.
        grant: Box<Grant>,
    },
    /// A standing yes was taken back.
    #[serde(rename = "grant.revoked")]
    GrantRevoked {
        /// Which.
        id: GrantId,
        /// Why, where nobody took it back.
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
        /// The question whose yes opened one more, where that is why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<RequestId>,
    },
    /// An agent's hook program may be told to run calls confined, or not any more.
    #[serde(rename = "agent.confine_put")]
    ConfinePut {
        /// Which agent.
        agent: String,
        /// Whether it may.
        confine: bool,
        /// The request that did not run as it was allowed, where that is why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<RequestId>,
    },
    /// An agent said what of one of its programs Placet sees, and it was something new.
    #[serde(rename = "agent.coverage_put")]
    CoveragePut {
        /// Which agent.
        agent: String,
        /// The whole report.
        report: Box<Coverage>,
    },
    /// What an agent had reported counts no more.
    #[serde(rename = "agent.coverage_forgotten")]
    CoverageForgotten {
        /// Which agent.
        agent: String,
    },
    /// Somebody pressed the stop switch.
    #[serde(rename = "freeze.set")]
    FreezeSet {
        /// The whole of it.
        freeze: Box<Freeze>,
    },
    /// What was stopped goes on.
    #[serde(rename = "freeze.lifted")]
    FreezeLifted {
        /// Which.
        id: FreezeId,
    },
    /// Somebody looked at keys, people and policy after a restore or a recovery.
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
        /// Whether live votes and standing yeses that were given in it are void.
        #[serde(default, skip_serializing_if = "is_false")]
        voids: bool,
    },
    /// A person has a new password.
    #[serde(rename = "person.password_set")]
    PasswordSet {
        /// Who.
        name: String,
        /// Whether votes that were given with the one before, and without a session, count no more. Not said by versions
        /// that had no such votes.
        #[serde(default, skip_serializing_if = "is_false")]
        voids: bool,
    },
}

/// What is not said in entries where it does not hold.
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

/// Why a command about keys or people was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdminRefusal {
    /// A name that is not fit for a principal.
    #[error("`{field}` must be 1 to 128 of letters, digits and ._@+-:/, beginning with a letter or digit")]
    BadName {
        /// Which field.
        field: &'static str,
    },
    /// A person cannot be an agent, nor an agent a person.
    #[error("`{0}` is already the name of another kind of principal")]
    OtherKind(String),
    /// Only agents have owners.
    #[error("only an agent key has an owner")]
    OwnerOfPerson,
    /// A reader could take one for the other.
    #[error("`{name}` looks like `{other}`, which exists: choose a name that nobody takes for it")]
    LooksLike {
        /// The new name.
        name: String,
        /// The one that exists.
        other: String,
    },
    /// Placet uses this name itself.
    #[error("`{0}` is a name that Placet uses itself: choose another")]
    Reserved(String),
    /// There is no such key.
    #[error("no such key")]
    NoKey,
    /// There is no such person.
    #[error("no such person")]
    NoPerson,
    /// The directory is held in memory and therefore bounded.
    #[error("a person belongs to at most {0} teams")]
    TooManyTeams(usize),
    /// A person without a role is not a person here.
    #[error("`roles` must name at least one of reviewer, admin, auditor")]
    NoRoles,
    /// The agent role is for programs.
    #[error("a person cannot have the role `agent`")]
    AgentRole,
    /// Somebody must remain who can mend things.
    #[error("this would leave nobody who can administer: make another admin key first")]
    LastAdmin,
    /// Secrets are random; the same one twice is a mistake.
    #[error("that secret is already in use")]
    SecretInUse,
    /// The directory is held in memory and therefore bounded.
    #[error("there are {0} keys, which is the limit: revoke some")]
    TooMany(usize),
    /// Somebody put another policy meanwhile.
    #[error("another policy is in force than the one this was made from: read it again, then put yours")]
    StalePolicy {
        /// What is in force; none while it is the built-in one.
        active: Option<String>,
    },
    /// Nobody knows what has expired.
    #[error("the server's clock is behind its ledger: no standing approval is given until it is set right")]
    ClockBehind,
    /// There is no such agent.
    #[error("no such agent: make a key for it first (`placet key new --role agent`)")]
    NoAgent,
    /// A folder that cannot be opened to an agent.
    #[error("`{root}` cannot be opened to an agent: {why}")]
    BadRoot {
        /// Which.
        root: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// They are compared with every path of every call.
    #[error("an agent has at most {0} folders: name one above them")]
    TooManyRoots(usize),
    /// A text of a report that cannot be kept.
    #[error("`{field}` must be texts of at most {most} bytes that can be read")]
    BadReport {
        /// Where.
        field: &'static str,
        /// The most bytes.
        most: usize,
    },
    /// Reports are held in memory and therefore bounded.
    #[error("a report has at most {0} parts")]
    TooManyParts(usize),
    /// As many as an agent may have.
    #[error("{0} programs of this agent have reported, which is the limit: an admin can forget them")]
    TooManyReports(usize),
    /// There is no such freeze.
    #[error("no such freeze: it was lifted, or never was")]
    NoFreeze,
    /// A freeze needs a reason that everybody can read.
    #[error("`reason` must be 1 to {0} bytes of text that can be read")]
    BadReason(usize),
    /// A freeze of what no call can name would stop nothing.
    #[error("`tool` must be 1 to 200 of the characters A-Z a-z 0-9 _ . / : -")]
    BadTool,
    /// Freezes are held in memory and therefore bounded.
    #[error("there are {0} freezes, which is the limit: lift some")]
    TooManyFreezes(usize),
    /// No restore waits for a look.
    #[error("there is nothing to confirm: nothing was restored, or somebody confirmed it before")]
    NothingToConfirm,
    /// There is no such standing yes.
    #[error("no such standing approval")]
    NoGrant,
    /// Standing yeses are held in memory and therefore bounded.
    #[error("there are {0} standing approvals, which is the limit: revoke some")]
    TooManyGrants(usize),
    /// The link was used, has expired, or never was.
    #[error("the link does not work: it was used, or it is too old; ask for a new one")]
    BadLink,
    /// The name or the password is wrong, or the password was changed in this moment.
    #[error("the name or the password is wrong")]
    BadCredentials,
    /// There is no such session, or it is somebody else's.
    #[error("no such session")]
    NoSession,
    /// Sessions are held in memory and therefore bounded.
    #[error("there are {0} sessions, which is the limit: end some")]
    TooManySessions(usize),
}

/// Most keys and people that a directory holds, revoked ones included.
const MOST: usize = 100_000;
/// Most teams of one person.
const TEAMS: usize = 100;
/// Most standing yeses that a directory holds, and of one agent.
const GRANTS: usize = 10_000;
const GRANTS_OF_AGENT: usize = 200;
/// Longer than any vote waits for others.
const VOTES_LIVE: Duration = Duration::from_hours(400 * 24);

impl Directory {
    /// The event of such a command, if it is allowed.
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
                // Nobody in particular decides, and does nothing else; nobody can have been a person of that name before.
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
                    Expected::Anything => true,
                    Expected::BuiltIn => self.policy.is_none(),
                    Expected::Hash(hash) => self.policy.as_ref() == Some(hash),
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
        // An owner need not exist yet, but must not look like somebody who does.
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

    /// Refuses a new name that a reader could take for one that exists.
    fn stands_out(&self, name: &str) -> Result<(), AdminRefusal> {
        match self.lookalike(name) {
            None => Ok(()),
            Some(other) => Err(AdminRefusal::LooksLike { name: name.to_owned(), other: other.to_owned() }),
        }
    }

    fn has_team(&self, team: &str) -> bool {
        self.people.values().any(|person| person.teams.contains(team))
    }

    /// Whether nobody ever proved to be the person of this name: no key, revoked ones included, no password, no session.
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

    /// Whether this person can administer, and nobody else could who has a key or a password.
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

    /// Folds one event in. `secret` is known when the key or the link is being made, and not on a rebuild.
    pub fn evolve(&mut self, event: &AdminEvent, at: Time, secret: Option<[u8; 32]>) {
        match event {
            AdminEvent::Opened {} => {}
            // What had ended by the ledger's time does not begin again by the clock's.
            AdminEvent::ClockAccepted { from } => {
                self.keep_grants(|grant| grant.expires_at > *from);
                self.forget_sign_ins();
            }
            AdminEvent::RestoreConfirmed {} => self.unconfirmed = None,
            // What was said in advance was said to another life of this database, and who signed in did so there.
            AdminEvent::Restored { .. } | AdminEvent::Recovered { .. } => {
                self.unconfirmed = Some(at);
                self.keep_grants(|_| false);
                // Somebody may have closed one of them since, or taken the mark away.
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
                    self.void(Voided::Key(*id), at);
                }
            }
            AdminEvent::PersonPut { name, roles, teams } => {
                let person = self.people.entry(name.clone()).or_default();
                person.roles.clone_from(roles);
                person.teams.clone_from(teams);
            }
            AdminEvent::PersonRemoved { name, voids } => {
                if *voids {
                    self.void(Voided::Person(name.clone()), at);
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
                // Room for new ones: what expired goes when one comes.
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

    /// Adds a key, whoever made it.
    pub fn insert_key(&mut self, key: Key) {
        if key.owner.is_some() {
            self.owned.entry(key.name.clone()).or_default().insert(key.id);
        }
        self.keys.insert(key.id, Arc::new(key));
    }

    /// What was done with this in favour of a request counts no more.
    pub(crate) fn void(&mut self, what: Voided, at: Time) {
        match &what {
            Voided::Key(id) => self.keep_grants(|grant| grant.key != Some(*id)),
            Voided::Session(id) => self.keep_grants(|grant| grant.session != Some(*id)),
            Voided::Person(_) | Voided::Password(_) => {}
        }
        // Room for new ones: what no vote can be as old as goes when one comes.
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

#[cfg(test)]
mod tests;
