//! Signing in and staying signed in: one-time links, passwords, and sessions whose secrets change while they live.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use data_encoding::BASE32_DNSSEC;
use placet_core::{
    Actor, AdminCommand, AdminRefusal, Auth, BrowserKey, Directory, OPEN_REVIEWER, Person, Role,
    SIGN_IN_LINK, Session, SessionEnd, SessionId, SignIn, Time, Via, show, valid_name,
};
use placet_ledger::thumbprint;
use placet_store::{Idempotency, StoreError, StoredSession};
use subtle::ConstantTimeEq as _;

use crate::{Gate, GateError, PersonSpec, gate::Inner, keys::hashed, permit::keyed};

/// How long a secret is in use before it is exchanged.
const TURN: Duration = Duration::from_hours(1);
/// How long the one before works: calls that were under way, and an answer that was lost.
const GRACE: Duration = Duration::from_mins(1);
/// How long a browser may sign with one nonce, in microseconds; the one before counts as well.
const NONCE: u64 = 300_000_000;
/// How many bytes of a session's secret are random; the others are the mark.
const RANDOM: usize = 20;
/// How often the time of the last use is written.
const SEEN: Duration = Duration::from_mins(1);
/// How long the very first link works.
const FIRST_LINK: Duration = Duration::from_hours(1);
/// How many sessions are ended at a time.
const AT_ONCE: u32 = 256;
/// Longest name that a browser may give itself, in characters.
const USER_AGENT: usize = 200;
/// Who the first person is.
const FIRST: &str = "admin";

/// A person who is signed in.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// Who gives commands; each uses the one of the person's roles that it needs.
    pub actor: Actor,
    /// Who it is.
    pub name: String,
    /// All their roles.
    pub roles: BTreeSet<Role>,
    /// All their teams.
    pub teams: BTreeSet<String>,
    /// Whether they have a password.
    pub has_password: bool,
    /// Their session.
    pub session: Session,
    /// When it was last used, to the minute.
    pub last_seen_at: Time,
    /// When it ends if it is not used any more.
    pub idle_until: Time,
    /// What a page of ours sends along to show that the person meant it.
    pub csrf: String,
    /// The public key that the browser proves its calls with.
    pub key: Option<[u8; 64]>,
    /// The hash of the secret that it is used with.
    secret: [u8; 32],
    /// Since when.
    rotated_at: Time,
}

/// A session that was just opened.
#[derive(Debug, Clone)]
pub struct OpenedSession {
    /// Who is signed in.
    pub signed_in: SignedIn,
    /// The session's secret; shown to the browser and nowhere else.
    pub secret: String,
}

/// A link that was just made.
#[derive(Debug, Clone)]
pub struct MadeLink {
    /// Who may sign in with it.
    pub name: String,
    /// The secret part of its address, shown once; `None` when an idempotency key says that it was shown before.
    pub token: Option<String>,
    /// Until when it works.
    pub expires_at: Time,
}

impl Gate {
    /// Who this session's secret belongs to, if it works. Nothing is recorded yet: the secret alone proves nothing.
    pub async fn session(&self, secret: &str) -> Result<Option<SignedIn>, GateError> {
        // What this server never gave out costs no look at the database.
        if !self.gave_out(secret) {
            return Ok(None);
        }
        let hash = hashed(secret);
        let Some(row) = self.store.session(hash).await? else { return Ok(None) };
        let now = self.now();
        let current = row.secret == hash;
        let in_grace = now < row.rotated_at.plus(GRACE) && row.secret == hashed(&self.next_secret(secret));
        let in_time = now < row.session.expires_at && now < row.last_seen_at.plus(self.settings.session_idle);
        if !in_time || !(current || in_grace) {
            return Ok(None);
        }
        // Another node may have opened it a moment ago.
        let mut directory = self.store.directory();
        if directory.live_session(row.session.id, now).is_none() {
            directory = self.store.refresh_directory().await?;
        }
        Ok(self.signed_in(&directory, &row, now))
    }

    /// Notes that a session is in use, once its browser has proved the call. Returns the secret to use from now on, where it is
    /// another than this one. `active` says whether the person does something: only that keeps a session from ending by
    /// itself.
    pub async fn use_session(&self, signed_in: &mut SignedIn, secret: &str, active: bool) -> Option<String> {
        let (hash, next, now) = (hashed(secret), self.next_secret(secret), self.now());
        let current = signed_in.secret == hash;
        let turn = current && active && now >= signed_in.rotated_at.plus(TURN);
        if turn || (active && now >= signed_in.last_seen_at.plus(SEEN)) {
            let next = turn.then(|| hashed(&next));
            if let Err(error) = self.store.use_session(signed_in.session.id, hash, next).await {
                // The person keeps what they have; the next call tries again.
                tracing::warn!(%error, "the use of a session could not be noted");
                return None;
            }
        }
        if active {
            signed_in.last_seen_at = now;
            signed_in.idle_until = now.plus(self.settings.session_idle).min(signed_in.session.expires_at);
        }
        (turn || !current).then_some(next)
    }

    /// The secret that follows this one. The same for every call that comes with it, so that a lost answer loses nothing.
    fn next_secret(&self, secret: &str) -> String {
        let next = keyed(&self.store.secret(), "placet/session/v1", &[secret.as_bytes()]);
        self.session_secret(std::array::from_fn(|index| next[index]))
    }

    /// A session's secret: random bytes, and a mark that only this server can make.
    fn session_secret(&self, random: [u8; RANDOM]) -> String {
        let mut bytes = [0_u8; 32];
        bytes[..RANDOM].copy_from_slice(&random);
        bytes[RANDOM..].copy_from_slice(&self.mark(&random));
        BASE32_DNSSEC.encode(&bytes)
    }

    fn mark(&self, random: &[u8]) -> [u8; 32 - RANDOM] {
        let mark = keyed(&self.store.secret(), "placet/cookie/v1", &[random]);
        std::array::from_fn(|index| mark[index])
    }

    /// Whether a secret has the mark.
    fn gave_out(&self, secret: &str) -> bool {
        let bytes: Option<[u8; 32]> =
            BASE32_DNSSEC.decode(secret.as_bytes()).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.is_some_and(|bytes| self.mark(&bytes[..RANDOM]).ct_eq(&bytes[RANDOM..]).into())
    }

    fn signed_in(&self, directory: &Directory, row: &StoredSession, now: Time) -> Option<SignedIn> {
        let session = directory.live_session(row.session.id, now)?;
        let Person { roles, teams } = directory.people.get(&session.name)?.clone();
        let role = directory.usual_role(&session.name)?;
        let actor = Actor {
            name: session.name.clone(),
            role,
            key: None,
            session: Some(session.id),
            auth: Auth::Session,
        };
        let csrf = keyed(&self.store.secret(), "placet/csrf/v1", &[session.id.as_bytes()]);
        Some(SignedIn {
            actor,
            name: session.name.clone(),
            roles,
            teams,
            has_password: directory.passwords.contains_key(&session.name),
            session: Session::clone(session),
            last_seen_at: row.last_seen_at,
            idle_until: row.last_seen_at.plus(self.settings.session_idle).min(session.expires_at),
            csrf: BASE32_DNSSEC.encode(&csrf),
            key: row.key,
            secret: row.secret,
            rotated_at: row.rotated_at,
        })
    }

    /// Whether this is the token that pages of this session send along.
    pub fn csrf_matches(signed_in: &SignedIn, given: &str) -> bool {
        signed_in.csrf.as_bytes().ct_eq(given.as_bytes()).into()
    }

    /// Makes a link with which a person signs in once.
    pub async fn create_link(
        &self,
        actor: &Actor,
        name: &str,
        idempotency: Option<Idempotency>,
    ) -> Result<MadeLink, GateError> {
        self.link(actor, name, SIGN_IN_LINK, idempotency).await
    }

    async fn link(
        &self,
        actor: &Actor,
        name: &str,
        lives: Duration,
        idempotency: Option<Idempotency>,
    ) -> Result<MadeLink, GateError> {
        let actor = &*self.acting(actor, &[Role::Admin])?;
        let token = self.random_secret();
        let command = AdminCommand::CreateLink { name: name.to_owned(), token: hashed(&token), lives };
        self.admin(actor, command, idempotency).await?;
        // A repeated call may find that the link was used since: then it has ended by now.
        let expires_at = self.store.directory().links.get(name).copied().unwrap_or_else(|| self.now());
        let token = self.knows_link(&token).then_some(token);
        Ok(MadeLink { name: name.to_owned(), token, expires_at })
    }

    /// A link for the first person, as long as nobody can come in in any other way: no key, no password, no session.
    pub async fn first_link(&self) -> Result<Option<MadeLink>, GateError> {
        let directory = self.store.refresh_directory().await?;
        let others = directory.people.keys().any(|name| ![FIRST, OPEN_REVIEWER].contains(&name.as_str()));
        let comes_in = !directory.passwords.is_empty() || !directory.sessions.is_empty();
        if !directory.keys.is_empty() || others || comes_in || directory.agents.contains_key(FIRST) {
            return Ok(None);
        }
        if !directory.people.contains_key(FIRST) {
            let person = PersonSpec { roles: [Role::Admin, Role::Reviewer].into(), teams: BTreeSet::new() };
            self.put_person(&Actor::system(), FIRST.to_owned(), person, None).await?;
        }
        self.link(&Actor::system(), FIRST, FIRST_LINK, None).await.map(Some)
    }

    /// Signs a person in with a one-time link, which is used up by it.
    pub async fn sign_in_with_link(
        &self,
        token: &str,
        user_agent: &str,
        key: [u8; 64],
    ) -> Result<OpenedSession, GateError> {
        let proof = SignIn::Link(hashed(token));
        // Another node may have made it; the transaction looks again.
        self.store.refresh_directory().await?.signing_in(&proof, self.now())?;
        self.open(proof, user_agent, key).await
    }

    /// Signs a person in with name and password. Unknown, without a password and wrong are one answer, after one time.
    pub async fn sign_in_with_password(
        &self,
        name: &str,
        password: &str,
        user_agent: &str,
        key: [u8; 64],
    ) -> Result<OpenedSession, GateError> {
        let hash = self.known(name, password).await?;
        self.open(SignIn::Password { name: name.to_owned(), hash }, user_agent, key).await
    }

    /// A person for this one call, by their password: for pages without scripts, which have no session.
    pub async fn by_password(&self, name: &str, password: &str) -> Result<Actor, GateError> {
        self.known(name, password).await?;
        let directory = self.store.directory();
        let role = directory.usual_role(name).ok_or(AdminRefusal::BadCredentials)?;
        Ok(Actor { name: name.to_owned(), role, key: None, session: None, auth: Auth::Session })
    }

    /// What is stored of a password that is right. Unknown, without a password and wrong are one answer, after one time.
    async fn known(&self, name: &str, password: &str) -> Result<Arc<str>, GateError> {
        let directory = self.store.refresh_directory().await?;
        let stored = directory.passwords.get(name).cloned();
        let fits = self.passwords.fits(password, stored.clone()).await?;
        stored.filter(|_| fits && valid_name(name)).ok_or_else(|| AdminRefusal::BadCredentials.into())
    }

    /// What a browser must sign with each call: the first one is this window's, the second one the last one's.
    pub fn nonces(&self, session: SessionId) -> [String; 2] {
        let window = u64::try_from(self.now().micros()).unwrap_or(0) / NONCE;
        [window, window.saturating_sub(1)].map(|window| {
            let parts: [&[u8]; 2] = [session.as_bytes(), &window.to_be_bytes()];
            BASE32_DNSSEC.encode(&keyed(&self.store.secret(), "placet/nonce/v1", &parts)[..16])
        })
    }

    /// Ends the sessions whose browser proves nothing: those of version 0.2.
    pub async fn end_unbound(&self) -> Result<usize, GateError> {
        let directory = self.store.refresh_directory().await?;
        let unbound = directory.sessions.values().filter(|session| session.bound.is_none());
        let ids: Vec<SessionId> = unbound.map(|session| session.id).collect();
        for id in &ids {
            let command = AdminCommand::EndSession { id: *id, why: SessionEnd::Expired, keep: true };
            // Another node may have been quicker.
            self.store.admin(Actor::system(), command, None).await?;
        }
        Ok(ids.len())
    }

    /// Whether this node knows a link, which may be over all the same.
    pub fn knows_link(&self, token: &str) -> bool {
        self.store.directory().by_link.contains_key(&hashed(token))
    }

    /// How many passwords were compared since the start. A name that cannot sign in counts too: it must take as long.
    pub fn passwords_compared(&self) -> u64 {
        self.passwords.compared()
    }

    async fn open(&self, proof: SignIn, user_agent: &str, key: [u8; 64]) -> Result<OpenedSession, GateError> {
        let mut random = [0_u8; RANDOM];
        self.entropy.fill(&mut random);
        let secret = self.session_secret(random);
        let mut random = [0_u8; 10];
        self.entropy.fill(&mut random);
        let id = SessionId::new(self.now().millis(), random);
        let user_agent: String = user_agent.chars().take(USER_AGENT).collect();
        let command = AdminCommand::OpenSession {
            id,
            proof,
            secret: hashed(&secret),
            lives: self.settings.session_absolute,
            user_agent: show(&user_agent),
            key: Box::new(BrowserKey { point: key, thumbprint: thumbprint(&key) }),
        };
        self.admin(&nobody(), command, None).await?;
        let directory = self.store.directory();
        let session = directory.sessions.get(&id).ok_or(AdminRefusal::NoSession)?;
        let row = StoredSession {
            session: Session::clone(session),
            secret: hashed(&secret),
            rotated_at: session.created_at,
            last_seen_at: session.created_at,
            user_agent,
            key: Some(key),
        };
        let signed_in = self.signed_in(&directory, &row, session.created_at);
        let signed_in = signed_in.ok_or(AdminRefusal::NoSession)?;
        Ok(OpenedSession { signed_in, secret })
    }

    /// A person's own sessions, the newest first.
    pub async fn sessions(&self, actor: &Actor) -> Result<Vec<StoredSession>, GateError> {
        let actor = &*self.acting(actor, &PEOPLE)?;
        let now = self.now();
        let mut rows = self.store.sessions_of(&actor.name).await?;
        let idle = self.settings.session_idle;
        rows.retain(|row| now < row.session.expires_at && now < row.last_seen_at.plus(idle));
        Ok(rows)
    }

    /// Ends a session at once, on every node: one's own, or anybody's as an admin. Unless it is the caller's own, live votes and
    /// standing approvals that were given in it are void, except where they are to be kept.
    pub async fn end_session(&self, actor: &Actor, id: SessionId, keep: bool) -> Result<(), GateError> {
        let directory = self.store.refresh_directory().await?;
        let own = directory.sessions.get(&id).is_some_and(|session| session.name == actor.name);
        let acting = self.acting(actor, &PEOPLE)?;
        // To everybody else it is not there.
        let acting = if own { acting } else { self.acting(actor, &[Role::Admin]).unwrap_or(acting) };
        let why = if actor.session == Some(id) { SessionEnd::SignedOut } else { SessionEnd::Revoked };
        self.admin(&acting, AdminCommand::EndSession { id, why, keep }, None).await.map(drop)
    }

    /// Gives the person of a session a password; their other sessions end. Whoever has one must say it, unless they have
    /// just come in by a link, which is how a lost password is replaced.
    pub async fn set_password(
        &self,
        signed_in: &SignedIn,
        current: Option<&str>,
        new: &str,
    ) -> Result<(), GateError> {
        let name = &signed_in.actor.name;
        let stored = self.store.refresh_directory().await?.passwords.get(name).cloned();
        let by_link = signed_in.session.via == Via::Link
            && self.now() < signed_in.session.created_at.plus(SIGN_IN_LINK);
        let known = match (current, stored) {
            (None, None) => None,
            (None, Some(_)) if by_link => None,
            (current, stored) => {
                if !self.passwords.fits(current.unwrap_or_default(), stored.clone()).await? {
                    return Err(AdminRefusal::BadCredentials.into());
                }
                stored
            }
        };
        self.store_password(&signed_in.actor, name, known, new).await
    }

    /// Gives a person a password as the owner of the database does, without knowing the one before; all their sessions
    /// end. From anybody else the transaction refuses it.
    pub async fn reset_password(&self, actor: &Actor, name: &str, new: &str) -> Result<(), GateError> {
        self.store_password(actor, name, None, new).await
    }

    async fn store_password(
        &self,
        actor: &Actor,
        name: &str,
        known: Option<Arc<str>>,
        new: &str,
    ) -> Result<(), GateError> {
        let mut salt = [0_u8; 16];
        self.entropy.fill(&mut salt);
        let hash = self.passwords.hash(new, salt).await?;
        let command = AdminCommand::SetPassword { name: name.to_owned(), hash, known, keep: actor.session };
        self.admin(actor, command, None).await.map(drop)
    }

    fn random_secret(&self) -> String {
        let mut bytes = [0_u8; 32];
        self.entropy.fill(&mut bytes);
        BASE32_DNSSEC.encode(&bytes)
    }
}

/// The roles of people.
const PEOPLE: [Role; 3] = [Role::Reviewer, Role::Auditor, Role::Admin];

/// A caller who signs in, before the proof was checked.
fn nobody() -> Actor {
    Actor { name: String::new(), role: Role::Auditor, key: None, session: None, auth: Auth::Open }
}

/// Ends the sessions whose time is up, so that their streams end and the record says so.
pub(crate) async fn sweep(inner: &Arc<Inner>) -> Result<(), StoreError> {
    let now = inner.store.time().now();
    let idle = i64::try_from(inner.settings.session_idle.as_micros()).unwrap_or(i64::MAX);
    let idle_since = Time::from_micros(now.micros().saturating_sub(idle));
    for id in inner.store.old_sessions(now, idle_since, AT_ONCE).await? {
        let command = AdminCommand::EndSession { id, why: SessionEnd::Expired, keep: true };
        // Another node may have been quicker.
        inner.store.admin(Actor::system(), command, None).await?;
    }
    Ok(())
}
