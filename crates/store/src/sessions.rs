//! Sessions, one-time links and passwords as both databases store them.

use std::sync::Arc;

use placet_core::{AdminCommand, Directory, Freeze, FreezeId, Session, SessionId, Time, VoidedCredential};

use crate::StoreError;

/// A session with what changes about it without an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// What the ledger knows of it.
    pub session: Session,
    /// SHA-256 of its secret.
    pub secret: [u8; 32],
    /// When it got that secret; the one before works a little longer.
    pub rotated_at: Time,
    /// When it was last used, to the minute.
    pub last_seen_at: Time,
    /// What the browser says of itself.
    pub user_agent: String,
    /// The public key that it proves its calls with.
    pub key: Option<[u8; 64]>,
}

/// A session to be stored.
#[derive(Debug)]
pub(crate) struct NewSession {
    pub(crate) session: Arc<Session>,
    pub(crate) secret: [u8; 32],
    pub(crate) user_agent: String,
    pub(crate) key: [u8; 64],
}

/// A one-time link to be stored.
#[derive(Debug)]
pub(crate) struct NewLink {
    pub(crate) name: String,
    pub(crate) token: [u8; 32],
    pub(crate) expires_at: Time,
}

/// What a batch does to sessions, links and passwords. Rows go before new ones come.
#[derive(Debug, Default)]
pub(crate) struct SignIns {
    pub(crate) ended: Vec<SessionId>,
    pub(crate) gone_links: Vec<String>,
    pub(crate) gone_passwords: Vec<String>,
    pub(crate) opened: Vec<NewSession>,
    pub(crate) links: Vec<NewLink>,
    pub(crate) passwords: Vec<(String, Arc<str>)>,
    /// Credentials that count no more, and those that are so old that nothing given with them can live.
    pub(crate) voided: Vec<(VoidedCredential, Time)>,
    pub(crate) forgotten: Vec<VoidedCredential>,
    /// What was stopped, and what goes on.
    pub(crate) frozen: Vec<Arc<Freeze>>,
    pub(crate) lifted: Vec<FreezeId>,
    /// How the reminder of a restore changes.
    pub(crate) reminder: Reminder,
}

/// The reminder that a restore undid changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Reminder {
    /// As it was.
    #[default]
    Unchanged,
    /// Of a restore at this time.
    Since(Time),
    /// A person confirmed the restore.
    Gone,
}

impl SignIns {
    pub(crate) fn is_empty(&self) -> bool {
        let Self {
            ended,
            gone_links,
            gone_passwords,
            opened,
            links,
            passwords,
            voided,
            forgotten,
            frozen,
            lifted,
            reminder,
        } = self;
        ended.is_empty()
            && *reminder == Reminder::Unchanged
            && frozen.is_empty()
            && lifted.is_empty()
            && voided.is_empty()
            && forgotten.is_empty()
            && gone_links.is_empty()
            && gone_passwords.is_empty()
            && opened.is_empty()
            && links.is_empty()
            && passwords.is_empty()
    }

    /// Takes over what one event ended.
    pub(crate) fn changed(&mut self, before: &Directory, after: &Directory) {
        self.ended.extend(before.sessions.keys().filter(|id| !after.sessions.contains_key(id)));
        let gone = before.links.keys().filter(|name| !after.links.contains_key(*name));
        self.gone_links.extend(gone.cloned());
        let gone = before.passwords.keys().filter(|name| !after.passwords.contains_key(*name));
        self.gone_passwords.extend(gone.cloned());
        let new = after.voided.iter().filter(|(what, at)| before.voided.get(what) != Some(at));
        self.voided.extend(new.map(|(what, at)| (what.clone(), *at)));
        self.forgotten.extend(before.voided.keys().filter(|what| !after.voided.contains_key(what)).cloned());
        let new = after.freezes.iter().filter(|(id, _)| !before.freezes.contains_key(id));
        self.frozen.extend(new.map(|(_, freeze)| freeze.clone()));
        self.lifted.extend(before.freezes.keys().filter(|id| !after.freezes.contains_key(id)));
        if before.unconfirmed != after.unconfirmed {
            self.reminder = after.unconfirmed.map_or(Reminder::Gone, Reminder::Since);
        }
    }

    /// Takes over what a command that went ahead brought along and the ledger must not know.
    pub(crate) fn stored_with(
        &mut self,
        command: &AdminCommand,
        directory: &mut Arc<Directory>,
    ) -> Result<(), StoreError> {
        let missing = |what: String| StoreError::Damaged(format!("{what} was made and is not there"));
        match command {
            AdminCommand::CreateLink { name, token, .. } => {
                let expires_at = directory.links.get(name).copied();
                let expires_at = expires_at.ok_or_else(|| missing(format!("the link of `{name}`")))?;
                self.links.push(NewLink { name: name.clone(), token: *token, expires_at });
            }
            AdminCommand::OpenSession { id, secret, user_agent, key, .. } => {
                let session = directory.sessions.get(id).cloned();
                self.opened.push(NewSession {
                    session: session.ok_or_else(|| missing(format!("the session {id}")))?,
                    secret: *secret,
                    user_agent: user_agent.clone(),
                    key: key.point,
                });
            }
            AdminCommand::SetPassword { name, hash, .. } => {
                Arc::make_mut(directory).passwords.insert(name.clone(), hash.clone());
                self.passwords.push((name.clone(), hash.clone()));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Rows of sessions that are stored: `id, name, via, created_at, expires_at, bound`.
pub(crate) type SessionColumns = (String, String, String, i64, i64, Option<Vec<u8>>);

/// A browser's key from its column.
pub(crate) fn key(bound: Option<&[u8]>) -> Result<Option<[u8; 64]>, StoreError> {
    let damaged = |_| StoreError::Damaged("the key of a session has another length".to_owned());
    bound.map(|bytes| bytes.try_into().map_err(damaged)).transpose()
}

/// A session from its columns.
pub(crate) fn session(columns: SessionColumns) -> Result<Session, StoreError> {
    let (id, name, via, created_at, expires_at, bound) = columns;
    Ok(Session {
        bound: key(bound.as_deref())?.as_ref().map(placet_ledger::thumbprint),
        id: crate::rows::parse(&id)?,
        name,
        via: crate::rows::parse(&via)?,
        created_at: Time::from_micros(created_at),
        expires_at: Time::from_micros(expires_at),
    })
}

/// The columns of a voided credential: kind and name.
pub(crate) fn voided_columns(what: &VoidedCredential) -> (&'static str, String) {
    match what {
        VoidedCredential::Key(id) => ("key", id.to_string()),
        VoidedCredential::Session(id) => ("session", id.to_string()),
        VoidedCredential::Person(name) => ("person", name.clone()),
        VoidedCredential::Password(name) => ("password", name.clone()),
    }
}

/// Puts voided credentials into the directory.
pub(crate) fn attach_voided(
    directory: &mut Directory,
    rows: impl IntoIterator<Item = (String, String, i64)>,
) -> Result<(), StoreError> {
    for (kind, name, at) in rows {
        let what = match kind.as_str() {
            "key" => VoidedCredential::Key(crate::rows::parse(&name)?),
            "session" => VoidedCredential::Session(crate::rows::parse(&name)?),
            "password" => VoidedCredential::Password(name),
            _ => VoidedCredential::Person(name),
        };
        directory.voided.insert(what, Time::from_micros(at));
    }
    Ok(())
}

/// Puts freezes into the directory.
pub(crate) fn attach_freezes(
    directory: &mut Directory,
    rows: impl IntoIterator<Item = String>,
) -> Result<(), StoreError> {
    for data in rows {
        let freeze: Freeze = serde_json::from_str(&data)?;
        directory.freezes.insert(freeze.id, Arc::new(freeze));
    }
    Ok(())
}

/// Puts the reminder of a restore into the directory.
pub(crate) fn attach_unconfirmed(directory: &mut Directory, row: Option<String>) -> Result<(), StoreError> {
    directory.unconfirmed = row.map(|at| crate::rows::parse(&at)).transpose()?;
    Ok(())
}

/// Puts sessions, links and passwords into the directory.
pub(crate) fn attach(
    directory: &mut Directory,
    sessions: impl IntoIterator<Item = SessionColumns>,
    links: impl IntoIterator<Item = (String, Vec<u8>, i64)>,
    passwords: impl IntoIterator<Item = (String, String)>,
) -> Result<(), StoreError> {
    for columns in sessions {
        let session = session(columns)?;
        directory.sessions.insert(session.id, Arc::new(session));
    }
    for (name, token, expires_at) in links {
        directory.by_link.insert(crate::rows::bytes32(&token)?, name.clone());
        directory.links.insert(name, Time::from_micros(expires_at));
    }
    directory.passwords.extend(passwords.into_iter().map(|(name, hash)| (name, hash.into())));
    Ok(())
}

/// The columns of a session that the directory reads.
pub(crate) const SESSIONS: &str = "SELECT id, name, via, created_at, expires_at, bound FROM sessions";
/// The same of a database that is read before it is upgraded.
pub(crate) const SESSIONS_BEFORE: &str =
    "SELECT id, name, via, created_at, expires_at, CAST(NULL AS BYTEA) FROM sessions";
/// One-time links.
pub(crate) const LINKS: &str = "SELECT name, token, expires_at FROM links";
/// Passwords.
pub(crate) const PASSWORDS: &str = "SELECT name, hash FROM passwords";
/// Credentials that count no more.
pub(crate) const VOIDED: &str = "SELECT kind, name, at FROM voided";
/// When a restore was that waits for a look.
pub(crate) const UNCONFIRMED: &str = "SELECT value FROM meta WHERE name = 'unconfirmed'";
/// What is stopped.
pub(crate) const FROZEN: &str = "SELECT data FROM freezes";
