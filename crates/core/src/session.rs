//! Signing in: one-time links, passwords and sessions, as the directory holds them.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    Actor, AdminCommand, AdminEvent, AdminRefusal, Directory, OPEN_REVIEWER, Role, SessionEnd, SessionId,
    SignIn, Time, Via, VoidedCredential,
};

/// How long a one-time link works.
pub const SIGN_IN_LINK: Duration = Duration::from_mins(15);

/// Most sessions of one person. A new one beyond that ends the oldest.
const OF_PERSON: usize = 20;
/// Most sessions that a directory holds.
const MOST: usize = 100_000;

/// A person who is signed in from one browser. The secret and the last use change without an entry, so they are only
/// in its row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its identifier, which is not a secret.
    pub id: SessionId,
    /// Who.
    pub name: String,
    /// How they signed in.
    pub via: Via,
    /// When.
    pub created_at: Time,
    /// When it ends at the latest.
    pub expires_at: Time,
    /// The thumbprint (RFC 7638) of the key that the browser proves its calls with. None of sessions of version 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<String>,
}

/// The order in which the roles of a session are used: the role that sees most requests first.
const ROLES: [Role; 3] = [Role::Reviewer, Role::Auditor, Role::Admin];

impl Directory {
    /// A session that is valid by the ledger: not ended, not expired, of a person who exists.
    pub fn live_session(&self, id: SessionId, now: Time) -> Option<&Arc<Session>> {
        let session = self.sessions.get(&id).filter(|session| now < session.expires_at)?;
        self.people.contains_key(&session.name).then_some(session)
    }

    /// Whether a session's actor may act in its role now.
    pub fn signed_in(&self, actor: &Actor, now: Time) -> bool {
        let session = actor.session.and_then(|id| self.live_session(id, now));
        session.is_some_and(|session| session.name == actor.name)
            && actor.key.is_none()
            && self.person(&actor.name, actor.role).is_some()
    }

    /// The role in which a person acts when several would do.
    pub fn usual_role(&self, name: &str) -> Option<Role> {
        ROLES.into_iter().find(|role| self.person(name, *role).is_some())
    }

    /// The person that this proof signs in, if the proof is good.
    pub fn signing_in(&self, proof: &SignIn, now: Time) -> Result<(&str, Via), AdminRefusal> {
        match proof {
            SignIn::Link(token) => {
                let name = self.by_link.get(token).filter(|name| self.people.contains_key(*name));
                let name = name.filter(|name| self.links.get(*name).is_some_and(|until| now < *until));
                name.map(|name| (name.as_str(), Via::Link)).ok_or(AdminRefusal::BadLink)
            }
            SignIn::Password { name, hash } => {
                let known = self.passwords.get_key_value(name).filter(|(_, stored)| *stored == hash);
                let known = known.filter(|(name, _)| self.people.contains_key(*name));
                known.map(|(name, _)| (name.as_str(), Via::Password)).ok_or(AdminRefusal::BadCredentials)
            }
        }
    }

    pub(crate) fn apply_sign_in(
        &self,
        command: &AdminCommand,
        now: Time,
    ) -> Result<AdminEvent, AdminRefusal> {
        match command {
            AdminCommand::CreateLink { name, token, lives } => {
                if !self.people.contains_key(name) {
                    return Err(AdminRefusal::NoPerson);
                }
                if name == OPEN_REVIEWER {
                    return Err(AdminRefusal::Reserved(name.clone()));
                }
                if self.by_link.contains_key(token) {
                    return Err(AdminRefusal::SecretInUse);
                }
                Ok(AdminEvent::LinkCreated { name: name.clone(), expires_at: now.plus(*lives) })
            }
            AdminCommand::OpenSession { id, proof, lives, key, .. } => {
                let (name, via) = self.signing_in(proof, now)?;
                if self.sessions.len() >= MOST {
                    return Err(AdminRefusal::TooManySessions(MOST));
                }
                Ok(AdminEvent::SessionOpened {
                    id: *id,
                    name: name.to_owned(),
                    via,
                    expires_at: now.plus(*lives),
                    bound: Some(key.thumbprint.clone()),
                })
            }
            AdminCommand::EndSession { id, why, keep } => {
                if !self.sessions.contains_key(id) {
                    return Err(AdminRefusal::NoSession);
                }
                // After a sign-out the votes stay. A session that is ended from elsewhere may be in the wrong hands.
                let voids = *why == SessionEnd::Revoked && !keep;
                Ok(AdminEvent::SessionEnded { id: *id, why: *why, voids })
            }
            AdminCommand::SetPassword { name, known, .. } => {
                if !self.people.contains_key(name) {
                    return Err(AdminRefusal::NoPerson);
                }
                // The stored hash must be the one that was compared: it may have changed in between.
                if known.is_some() && self.passwords.get(name) != known.as_ref() {
                    return Err(AdminRefusal::BadCredentials);
                }
                Ok(AdminEvent::PasswordSet { name: name.clone(), voids: true })
            }
            _ => Err(AdminRefusal::NoSession),
        }
    }

    /// The sessions that a successful command ends: entries of their own, in the same transaction.
    pub fn ends_with(&self, command: &AdminCommand, now: Time) -> Vec<AdminEvent> {
        let of = |name: &str| -> Vec<&Arc<Session>> {
            let mut own: Vec<_> = self.sessions.values().filter(|session| session.name == *name).collect();
            own.sort_by_key(|session| (session.created_at, session.id));
            own
        };
        let (sessions, why, voids) = match command {
            AdminCommand::RemovePerson { name } => (of(name), SessionEnd::PersonRemoved, false),
            AdminCommand::SetPassword { name, keep, .. } => {
                let mut own = of(name);
                own.retain(|session| Some(session.id) != *keep);
                (own, SessionEnd::Revoked, true)
            }
            AdminCommand::OpenSession { proof, .. } => {
                let mut own = self.signing_in(proof, now).map(|(name, _)| of(name)).unwrap_or_default();
                own.truncate(own.len().saturating_sub(OF_PERSON - 1));
                (own, SessionEnd::Revoked, false)
            }
            _ => return Vec::new(),
        };
        let ended = |session: &Arc<Session>| AdminEvent::SessionEnded { id: session.id, why, voids };
        sessions.into_iter().map(ended).collect()
    }

    pub(crate) fn evolve_sign_in(&mut self, event: &AdminEvent, at: Time, secret: Option<[u8; 32]>) {
        match event {
            AdminEvent::LinkCreated { name, expires_at } => {
                // Expired sessions make room for new ones.
                self.links.retain(|_, until| at < *until);
                self.links.insert(name.clone(), *expires_at);
                let Self { links, by_link, .. } = self;
                by_link.retain(|_, whose| whose != name && links.contains_key(whose));
                if let Some(token) = secret {
                    by_link.insert(token, name.clone());
                }
            }
            AdminEvent::SessionOpened { id, name, via, expires_at, bound } => {
                if *via == Via::Link {
                    self.forget_link(name);
                }
                let session = Session {
                    id: *id,
                    name: name.clone(),
                    via: *via,
                    created_at: at,
                    expires_at: *expires_at,
                    bound: bound.clone(),
                };
                self.sessions.insert(*id, Arc::new(session));
            }
            AdminEvent::SessionEnded { id, voids, .. } => {
                if *voids {
                    self.void(VoidedCredential::Session(*id), at);
                }
                self.sessions.remove(id);
            }
            AdminEvent::PasswordSet { name, voids } => {
                if *voids {
                    self.void(VoidedCredential::Password(name.clone()), at);
                }
                // The caller adds the hash.
                self.passwords.insert(name.clone(), Arc::from(""));
            }
            _ => {}
        }
    }

    fn forget_link(&mut self, name: &str) {
        self.links.remove(name);
        self.by_link.retain(|_, whose| whose != name);
    }

    pub(crate) fn forget_person(&mut self, name: &str) {
        self.sessions.retain(|_, session| session.name != name);
        self.passwords.remove(name);
        self.forget_link(name);
    }

    /// Ends all sessions and links. Passwords stay.
    pub(crate) fn forget_sign_ins(&mut self) {
        self.sessions.clear();
        self.links.clear();
        self.by_link.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Auth;

    const fn at(seconds: i64) -> Time {
        Time::from_micros(seconds * 1_000_000)
    }

    fn id(n: u8) -> SessionId {
        SessionId::new(u64::from(n), [n; 10])
    }

    fn with_ann() -> Directory {
        let mut directory = Directory::default();
        let event = AdminEvent::PersonPut {
            name: "ann".to_owned(),
            roles: [Role::Reviewer, Role::Admin].into(),
            teams: std::collections::BTreeSet::new(),
        };
        directory.evolve(&event, at(0), None);
        directory
    }

    fn link(directory: &mut Directory, token: u8, now: Time) {
        let command =
            AdminCommand::CreateLink { name: "ann".to_owned(), token: [token; 32], lives: SIGN_IN_LINK };
        let event = directory.apply(&command, now).unwrap();
        directory.evolve(&event, now, Some([token; 32]));
    }

    fn open(directory: &mut Directory, n: u8, proof: SignIn, now: Time) -> Result<(), AdminRefusal> {
        let command = AdminCommand::OpenSession {
            id: id(n),
            proof,
            secret: [n; 32],
            lives: Duration::from_hours(1),
            user_agent: String::new(),
            key: Box::new(crate::BrowserKey { point: [n; 64], thumbprint: format!("thumbprint {n}") }),
        };
        let event = directory.apply(&command, now)?;
        for ended in directory.ends_with(&command, now) {
            directory.evolve(&ended, now, None);
        }
        directory.evolve(&event, now, None);
        Ok(())
    }

    fn actor(n: u8) -> Actor {
        Actor {
            name: "ann".to_owned(),
            role: Role::Reviewer,
            key: None,
            session: Some(id(n)),
            auth: Auth::Session,
        }
    }

    #[test]
    fn a_link_works_once_and_only_in_its_time_and_a_new_one_replaces_it() {
        let mut directory = with_ann();
        link(&mut directory, 1, at(0));
        link(&mut directory, 2, at(1));
        assert_eq!(open(&mut directory, 1, SignIn::Link([1; 32]), at(2)), Err(AdminRefusal::BadLink));
        assert_eq!(
            open(&mut directory, 1, SignIn::Link([2; 32]), at(1 + 15 * 60)),
            Err(AdminRefusal::BadLink)
        );
        open(&mut directory, 1, SignIn::Link([2; 32]), at(15 * 60)).unwrap();
        assert_eq!(open(&mut directory, 2, SignIn::Link([2; 32]), at(15 * 60)), Err(AdminRefusal::BadLink));
        assert!(directory.links.is_empty() && directory.by_link.is_empty());
    }

    #[test]
    fn an_agent_gets_no_link() {
        let mut directory = with_ann();
        directory.agents.insert("bot".to_owned(), crate::Agent::default());
        let command =
            AdminCommand::CreateLink { name: "bot".to_owned(), token: [1; 32], lives: SIGN_IN_LINK };
        assert_eq!(directory.apply(&command, at(0)), Err(AdminRefusal::NoPerson));
    }

    #[test]
    fn a_session_acts_in_the_roles_its_person_has_now_until_it_ends() {
        let mut directory = with_ann();
        link(&mut directory, 1, at(0));
        open(&mut directory, 1, SignIn::Link([1; 32]), at(0)).unwrap();
        let ann = actor(1);
        assert!(directory.signed_in(&ann, at(1)));
        assert!(directory.signed_in(&Actor { role: Role::Admin, ..ann.clone() }, at(1)));
        for wrong in [
            Actor { role: Role::Auditor, ..ann.clone() },
            Actor { role: Role::Agent, ..ann.clone() },
            Actor { name: "bob".to_owned(), ..ann.clone() },
            Actor { session: Some(id(2)), ..ann.clone() },
            Actor { session: None, ..ann.clone() },
        ] {
            assert!(!directory.signed_in(&wrong, at(1)), "{wrong:?}");
        }
        assert!(!directory.signed_in(&ann, at(3600)), "past its end");
        let removed = AdminEvent::PersonRemoved { name: "ann".to_owned(), voids: true };
        directory.evolve(&removed, at(2), None);
        assert!(!directory.signed_in(&ann, at(2)) && directory.sessions.is_empty());
    }

    #[test]
    fn a_password_that_was_changed_meanwhile_signs_nobody_in_and_is_not_replaced() {
        let mut directory = with_ann();
        directory.passwords.insert("ann".to_owned(), Arc::from("new"));
        let old = SignIn::Password { name: "ann".to_owned(), hash: Arc::from("old") };
        assert_eq!(open(&mut directory, 1, old, at(0)), Err(AdminRefusal::BadCredentials));
        let command = AdminCommand::SetPassword {
            name: "ann".to_owned(),
            hash: Arc::from("newer"),
            known: Some(Arc::from("old")),
            keep: None,
        };
        assert_eq!(directory.apply(&command, at(0)), Err(AdminRefusal::BadCredentials));
    }

    #[test]
    fn the_oldest_session_of_a_person_ends_when_there_would_be_too_many() {
        let mut directory = with_ann();
        directory.passwords.insert("ann".to_owned(), Arc::from("hash"));
        for n in 0..25 {
            let proof = SignIn::Password { name: "ann".to_owned(), hash: Arc::from("hash") };
            open(&mut directory, n, proof, at(i64::from(n))).unwrap();
        }
        assert_eq!(directory.sessions.len(), OF_PERSON);
        assert!(!directory.sessions.contains_key(&id(4)) && directory.sessions.contains_key(&id(5)));
    }

    #[test]
    fn a_new_password_ends_the_other_sessions_and_a_restore_ends_all() {
        let mut directory = with_ann();
        directory.passwords.insert("ann".to_owned(), Arc::from("hash"));
        for n in 0..3 {
            let proof = SignIn::Password { name: "ann".to_owned(), hash: Arc::from("hash") };
            open(&mut directory, n, proof, at(0)).unwrap();
        }
        let command = AdminCommand::SetPassword {
            name: "ann".to_owned(),
            hash: Arc::from("newer"),
            known: None,
            keep: Some(id(1)),
        };
        let ended = directory.ends_with(&command, at(1));
        let ids =
            [id(0), id(2)].map(|id| AdminEvent::SessionEnded { id, why: SessionEnd::Revoked, voids: true });
        assert_eq!(ended, ids);
        directory.evolve(&AdminEvent::Restored { from: "e".to_owned() }, at(2), None);
        assert!(directory.sessions.is_empty() && directory.passwords.contains_key("ann"));
    }
}
