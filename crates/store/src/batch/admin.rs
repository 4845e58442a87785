//! The part of a batch that is about keys, people, policy, standing approvals and the ledger itself.

use std::sync::Arc;

use placet_core::{
    Actor, AdminCommand, AdminEvent, AdminRefusal, Auth, Cancel, Command, Event, EventPayload, Expire,
    GrantKey, KeyId, Request, Revoke, Role, State,
};
use placet_ledger::Data;

use super::{Batch, EpochReason, Slot, Unsealed, by};
use crate::{
    AdminOutcome, StoreError,
    job::AdminUnit,
    policies::{self, PolicyRow, PolicyVersion},
    rows::{AnswerRow, KeyRow},
};

impl Batch {
    /// Applies a command about keys or people. Returns the agent whose last key just went, if one did.
    pub(crate) fn admin(&mut self, unit: &AdminUnit) -> Result<(AdminOutcome, Option<String>), StoreError> {
        let AdminUnit { actor, command, idempotency } = unit;
        let idempotency = idempotency.as_ref();
        if let Some(known) = idempotency.and_then(|idempotency| self.answers.get(&idempotency.scope)) {
            if idempotency.is_some_and(|idempotency| idempotency.body != known.body) {
                return Err(StoreError::KeyReused);
            }
            let key = known.answer.as_deref().map(crate::rows::parse::<KeyId>).transpose()?;
            return Ok((AdminOutcome::Replayed(key), None));
        }
        // The key that gave the command may have been revoked since it was checked at the door.
        let may = |role: Role| match command {
            AdminCommand::RevokeGrant { id } => {
                let own = self.directory.grants.get(id).is_some_and(|grant| grant.by == actor.name);
                role == Role::Admin || (role == Role::Reviewer && own)
            }
            AdminCommand::EndSession { id, .. } => {
                let own = self.directory.sessions.get(id).is_some_and(|session| session.name == actor.name);
                role == Role::Admin || (role != Role::Agent && own)
            }
            // A reviewer may deny one call, and so may freeze all of them. Lifting a freeze is for an admin.
            AdminCommand::Freeze { .. } => matches!(role, Role::Admin | Role::Reviewer),
            // What an agent can do is its own to say.
            AdminCommand::PutCoverage { agent, .. } => role == Role::Agent && *agent == actor.name,
            // A password is its person's own, and set by the owner of the database.
            AdminCommand::SetPassword { name, .. } => *name == actor.name || *actor == Actor::system(),
            // A caller who signs in has no role yet. The proof is checked below.
            AdminCommand::OpenSession { .. } => true,
            _ => role == Role::Admin,
        };
        let role = match (actor.key, actor.session) {
            (Some(key), None) => self.directory.live_key(key).map(|key| key.role),
            (None, Some(_)) => self.directory.signed_in(actor, self.now).then_some(actor.role),
            (None, None) => Some(actor.role),
            (Some(_), Some(_)) => None,
        };
        if !role.is_some_and(may) {
            let refusal = match command {
                AdminCommand::RevokeGrant { .. } => AdminRefusal::NoGrant,
                AdminCommand::EndSession { .. } | AdminCommand::SetPassword { .. } => AdminRefusal::NoSession,
                _ => AdminRefusal::NoKey,
            };
            return Ok((AdminOutcome::Refused(refusal), None));
        }
        if self.behind && matches!(command, AdminCommand::CreateGrant { .. }) {
            return Ok((AdminOutcome::Refused(AdminRefusal::ClockBehind), None));
        }
        let event = match self.directory.apply(command, self.now) {
            Ok(event) => event,
            Err(refusal) => return Ok((AdminOutcome::Refused(refusal), None)),
        };
        let as_person = self.signing_in(command)?;
        let actor = as_person.as_ref().unwrap_or(actor);
        for ended in self.directory.ends_with(command, self.now) {
            self.entry_about(actor, ended, None, None);
        }
        let secret = match command {
            AdminCommand::CreateKey { secret, .. } => Some(*secret),
            AdminCommand::CreateLink { token, .. } => Some(*token),
            _ => None,
        };
        let key = match command {
            AdminCommand::CreateGrant { key, .. } => key.clone(),
            _ => None,
        };
        if let AdminCommand::PutPolicy { hash, text, source, .. } = command {
            let version = PolicyVersion {
                seq: self.head.head.seq + self.entries.len() as u64 + 1,
                hash: hash.clone(),
                source: source.clone(),
                by: actor.name.clone(),
                at: self.now,
            };
            self.policies.push(PolicyRow { version, text: text.clone() });
        }
        let last_key_of = self.entry_about(actor, event.clone(), secret, key);
        self.sign_ins.stored_with(command, &mut self.directory)?;
        if let Some(idempotency) = idempotency {
            let answer = match &event {
                AdminEvent::KeyCreated { id, .. } => Some(id.to_string()),
                _ => None,
            };
            self.remember(AnswerRow {
                scope: idempotency.scope,
                body: idempotency.body,
                request: None,
                answer,
                stored: false,
            });
        }
        Ok((AdminOutcome::Applied, last_key_of))
    }

    /// The person who signs in with this command, if it is a sign-in: the proof names them.
    fn signing_in(&self, command: &AdminCommand) -> Result<Option<Actor>, StoreError> {
        let AdminCommand::OpenSession { id, proof, .. } = command else { return Ok(None) };
        // It was good a moment ago, when the command was applied.
        let unknown = |_| StoreError::Damaged(format!("the session {id} is opened without a person"));
        let (name, _) = self.directory.signing_in(proof, self.now).map_err(unknown)?;
        // A person without any role may sign in, and can do nothing.
        let role = self.directory.usual_role(name).unwrap_or(Role::Auditor);
        Ok(Some(Actor { name: name.to_owned(), role, key: None, session: Some(*id), auth: Auth::Session }))
    }

    /// Writes an event about the ledger itself.
    pub(crate) fn admin_event(&mut self, actor: &Actor, event: AdminEvent) {
        self.entry_about(actor, event, None, None);
    }

    /// Writes an event about keys, people, policy, standing approvals or the ledger itself.
    pub(super) fn entry_about(
        &mut self,
        actor: &Actor,
        event: AdminEvent,
        secret: Option<[u8; 32]>,
        key: Option<GrantKey>,
    ) -> Option<String> {
        let before = self.directory.clone();
        let mut directory = (*before).clone();
        directory.evolve(&event, self.now, secret);
        if let (AdminEvent::GrantCreated { grant }, Some(key)) = (&event, key) {
            directory.grant_keys.insert(grant.id, key);
        }
        for (id, key) in &directory.keys {
            if before.keys.get(id) != Some(key) {
                let secret =
                    directory.by_secret.iter().find(|(_, owner)| *owner == id).map(|(secret, _)| *secret);
                self.keys.push(KeyRow {
                    key: key.clone(),
                    secret: secret.filter(|_| !before.keys.contains_key(id)),
                });
            }
        }
        let touched = match &event {
            AdminEvent::KeyCreated { name, .. }
            | AdminEvent::RootsPut { agent: name, .. }
            | AdminEvent::ConfinePut { agent: name, .. }
            | AdminEvent::CoveragePut { agent: name, .. }
            | AdminEvent::CoverageForgotten { agent: name }
            | AdminEvent::PersonPut { name, .. }
            | AdminEvent::PersonRemoved { name, .. } => vec![name.clone()],
            AdminEvent::Restored { .. } | AdminEvent::Recovered { .. } => {
                let opened =
                    before.agents.iter().filter(|(_, agent)| !agent.roots.is_empty() || agent.confine);
                opened.map(|(name, _)| name.clone()).collect()
            }
            _ => Vec::new(),
        };
        self.principals.extend(touched);
        let last_key_of = match &event {
            AdminEvent::KeyRevoked { id, .. } => {
                directory.keys.get(id).filter(|key| key.role == Role::Agent).map(|key| key.name.clone())
            }
            _ => None,
        };
        let last_key_of = last_key_of.filter(|name| directory.live_keys_of(name) == 0);
        let (ended, given) = policies::changed(&before, &directory, &event);
        self.prior.changed(ended, given);
        self.sign_ins.changed(&before, &directory);
        self.directory = Arc::new(directory);
        self.entries.push(Unsealed { by: by(actor), payload: None, data: Data::Admin(event), request: None });
        last_key_of
    }

    /// Cancels what an agent without keys still waits for, and takes back what it did not claim.
    pub(crate) fn end_of_agent(&mut self, requests: Vec<Arc<Request>>) -> Result<(), StoreError> {
        let reason = Some("the agent's last key was revoked".to_owned());
        // All pending requests of the agent are here, so their number is its tally.
        if let Some(first) = requests.first() {
            let pending = requests.iter().filter(|request| request.state == State::Pending).count() as u64;
            self.tallies.insert(first.agent.clone(), pending);
        }
        for request in requests {
            let id = request.id;
            let command = match request.state {
                State::Pending => Command::Cancel(Cancel { id, reason: reason.clone() }),
                State::Approved => Command::Revoke(Revoke { id, reason: reason.clone() }),
                _ => continue,
            };
            self.slots.entry(id).or_insert(Slot { request, new: false, dirty: false });
            self.command(&Actor::system(), &command, None)?;
        }
        Ok(())
    }

    /// Lets the deadlines of these requests take effect.
    pub(crate) fn expire(&mut self, due: Vec<Arc<Request>>) -> Result<(), StoreError> {
        for request in due {
            let id = request.id;
            self.slots.entry(id).or_insert(Slot { request, new: false, dirty: false });
            self.command(&Actor::system(), &Command::Expire(Expire { id }), None)?;
        }
        Ok(())
    }

    /// Begins a new epoch: pending cancelled, claimed unknown. What was approved is revoked after a restore; after a loss
    /// it is unknown, because somebody may have claimed it in what was lost.
    pub(crate) fn new_epoch(
        &mut self,
        epoch: String,
        reason: EpochReason,
        live: Vec<Arc<Request>>,
    ) -> Result<(), StoreError> {
        let from = std::mem::replace(&mut self.head.head.epoch, epoch);
        let event = match reason {
            EpochReason::Restored => AdminEvent::Restored { from },
            EpochReason::Recovered { acknowledged } => AdminEvent::Recovered { from, acknowledged },
        };
        self.admin_event(&Actor::system(), event);
        self.no_trust = true;
        for request in live {
            let event = match request.state {
                State::Pending => Event::Cancelled {},
                State::Approved if reason == EpochReason::Restored => Event::Revoked {},
                State::Approved | State::Claimed => Event::Unknown {},
                _ => continue,
            };
            let id = request.id;
            self.slots.insert(id, Slot { request: request.clone(), new: false, dirty: false });
            self.change(Some(request), id, &Actor::system(), event, &EventPayload::Nothing, None)?;
        }
        Ok(())
    }
}
