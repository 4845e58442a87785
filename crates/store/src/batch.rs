//! Applying a batch in memory: commands in order on loaded rows, so that later ones see what earlier ones did.

mod admin;
mod answers;
mod event;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use placet_core::{
    Actor, Command, Context, Covered, Directory, Event, EventPayload, Refusal, Request, RequestId, State,
    Time, apply, evolve,
};
use placet_ledger::{Data, Entry, EntryAuthor, canonical_string, payload_digest};

use crate::{
    CommandUnit, Idempotency, Outcome, StoreError,
    backend::{Changes, HeadRow, Loaded},
    events::EventRow,
    outbox::{Outbox, OutboxSettings},
    policies::PolicyRow,
    prior::PriorApprovals,
    rows::{AnswerRow, EntryRow, KeyRow, PayloadRow, PrincipalData, PrincipalRow, RequestRow},
    sabotage::planted,
    sessions::SignIns,
    tail::News,
};

/// Loaded rows and everything that was done to them so far.
pub(crate) struct Batch {
    head: HeadRow,
    now: Time,
    // The clock lags behind the ledger.
    behind: bool,
    pub(crate) directory: Arc<Directory>,
    slots: HashMap<RequestId, Slot>,
    // How many pending requests each agent has. Agents met only now are loaded as zero by the backend.
    tallies: HashMap<String, u64>,
    changed_tallies: BTreeSet<String>,
    answers: HashMap<[u8; 32], AnswerRow>,
    // Each with what stood there before, to go back to.
    new_answers: Vec<([u8; 32], Option<AnswerRow>)>,
    payloads: Vec<PayloadRow>,
    entries: Vec<Unsealed>,
    decided_by: Vec<(String, u64)>,
    keys: Vec<KeyRow>,
    principals: BTreeSet<String>,
    policies: Vec<PolicyRow>,
    sign_ins: SignIns,
    prior: PriorApprovals,
    no_trust: bool,
    last_event: u64,
    events: Vec<EventRow>,
    // Which deliveries a change makes.
    outbox: OutboxSettings,
    // Key of the digests that compare calls.
    secret: Arc<[u8]>,
}

/// Why a new epoch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EpochReason {
    /// A backup was put in place.
    Restored,
    /// The database had gone back, from this entry on as far as is known.
    Recovered { acknowledged: Option<u64> },
}

#[derive(Clone)]
struct Slot {
    request: Arc<Request>,
    new: bool,
    dirty: bool,
}

/// An entry before it is linked to the one before: only the end of the batch knows what stays.
struct Unsealed {
    by: EntryAuthor,
    payload: Option<placet_core::Digest>,
    data: Data,
    request: Option<Arc<Request>>,
}

/// What to go back to when an atomic unit is refused.
struct Mark {
    entries: usize,
    decided_by: usize,
    payloads: usize,
    new_answers: usize,
    slots: Vec<(RequestId, Option<Slot>)>,
    tallies: HashMap<String, u64>,
    directory: Arc<Directory>,
    prior: PriorApprovals,
}

impl Batch {
    pub(crate) fn new(
        loaded: Loaded,
        directory: Arc<Directory>,
        outbox: OutboxSettings,
        secret: Arc<[u8]>,
    ) -> Self {
        let slot = |request: Arc<Request>| (request.id, Slot { request, new: false, dirty: false });
        Self {
            head: loaded.head,
            now: loaded.time.now,
            behind: loaded.time.behind.is_some(),
            directory,
            slots: loaded.requests.into_iter().map(slot).collect(),
            tallies: loaded.tallies,
            changed_tallies: BTreeSet::new(),
            answers: loaded.answers.into_iter().map(|answer| (answer.scope, answer)).collect(),
            new_answers: Vec::new(),
            payloads: Vec::new(),
            entries: Vec::new(),
            decided_by: Vec::new(),
            keys: Vec::new(),
            principals: BTreeSet::new(),
            policies: Vec::new(),
            sign_ins: SignIns::default(),
            prior: PriorApprovals::new(loaded.used, loaded.trust),
            no_trust: false,
            last_event: loaded.last_event,
            events: Vec::new(),
            outbox,
            secret,
        }
    }

    /// Whether there is anything to commit.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.new_answers.is_empty() && self.events.is_empty()
    }

    /// Applies one unit of commands. An error is this unit's alone: whatever it did is taken back.
    pub(crate) fn commands(&mut self, unit: &CommandUnit) -> Result<Vec<Outcome>, StoreError> {
        let CommandUnit { actor, commands, atomic } = unit;
        // A single command that fails has done nothing, so there is nothing to go back to.
        let mark = (commands.len() > 1).then(|| self.mark(commands));
        let mut outcomes = Vec::with_capacity(commands.len());
        for (command, idempotency) in commands {
            match self.command(actor, command, idempotency.as_ref()) {
                Ok(outcome) => outcomes.push(outcome),
                Err(error) => {
                    if let Some(mark) = mark {
                        self.go_back(mark);
                    }
                    return Err(error);
                }
            }
        }
        if let Some(mark) = mark.filter(|_| *atomic && outcomes.iter().any(|outcome| outcome.answer.is_err()))
        {
            self.go_back(mark);
            for (outcome, (command, _)) in outcomes.iter_mut().zip(commands) {
                outcome.request = self.slots.get(&command.request()).map(|slot| slot.request.clone());
                outcome.changed = false;
                if outcome.answer.is_ok() {
                    outcome.answer = Err(Refusal::NotApplied);
                }
            }
        }
        Ok(outcomes)
    }

    fn command(
        &mut self,
        actor: &Actor,
        command: &Command,
        idempotency: Option<&Idempotency>,
    ) -> Result<Outcome, StoreError> {
        if let Some(known) = idempotency.and_then(|idempotency| self.answers.get(&idempotency.scope)) {
            if idempotency.is_some_and(|idempotency| idempotency.body != known.body) {
                return Err(StoreError::KeyReused);
            }
            let request =
                known.request.and_then(|(_, id)| self.slots.get(&id)).map(|slot| slot.request.clone());
            return Ok(Outcome { answer: Ok(()), request, replayed: true, changed: false });
        }
        let weak = match command {
            Command::Submit(submit) => submit.weak,
            _ => None,
        };
        if let Some(request) = weak.and_then(|weak| self.open_under(weak, actor)) {
            self.remember_keys(idempotency, None, &request);
            return Ok(Outcome { answer: Ok(()), request: Some(request), replayed: true, changed: false });
        }
        let id = command.request();
        let before = self.slots.get(&id).map(|slot| slot.request.clone());
        // Only a new request is checked against it. A count that is missing must not pass for none.
        let pending = match command {
            Command::Submit(_) => *self.tallies.get(&actor.name).ok_or_else(|| uncounted(&actor.name))?,
            _ => 0,
        };
        let (trust, used) = self.prior.claims(command, self.now);
        let mut directory = self.directory.clone();
        if planted("stolen-votes-count") {
            Arc::make_mut(&mut directory).voided.clear();
        }
        if planted("freeze-is-ignored") {
            Arc::make_mut(&mut directory).freezes.clear();
        }
        if let Command::Submit(submit) = command
            && planted("closed-folder-stays-open")
            && let Some(agent) = Arc::make_mut(&mut directory).agents.get_mut(&actor.name)
        {
            agent.roots.clone_from(&submit.roots);
        }
        if let Command::Submit(submit) = command
            && planted("old-report-counts")
            && submit.covered == Covered::Complete
            && let Some(agent) = Arc::make_mut(&mut directory).agents.get_mut(&actor.name)
        {
            agent.coverage.iter_mut().for_each(|report| report.parts.clear());
        }
        let cx = Context {
            now: self.now,
            behind: self.behind,
            directory: &directory,
            pending,
            trust,
            used: &used,
        };
        let applied = apply(before.as_deref(), command, actor, &cx);
        let mut request = before.clone();
        let changed = applied.change.is_some();
        if let Some(change) = applied.change {
            let stored = match command {
                Command::Submit(submit) => Some(submit.stored.clone()),
                _ => None,
            };
            request = Some(self.change(before, id, actor, change.event, &change.written, stored)?);
        }
        if let Some(event) = applied.grant {
            let key = match command {
                Command::Decide(decide) => decide.remember.as_ref().and_then(|new| new.key.clone()),
                _ => None,
            };
            self.entry_about(actor, *event, None, key);
        }
        if let (Ok(()), Some(request)) = (&applied.answer, &request) {
            self.remember_keys(idempotency, weak, request);
        }
        // A foreign request looks absent, so it must not travel with the refusal either.
        let request = request.filter(|_| applied.answer != Err(Refusal::NotFound));
        Ok(Outcome { answer: applied.answer, request, replayed: false, changed })
    }

    /// INVARIANT: the only place where a request changes: one event, one version, one entry, one payload.
    fn change(
        &mut self,
        before: Option<Arc<Request>>,
        id: RequestId,
        actor: &Actor,
        event: Event,
        written: &EventPayload,
        stored: Option<Arc<str>>,
    ) -> Result<Arc<Request>, StoreError> {
        let seq = self.head.head.seq + self.entries.len() as u64 + 1;
        let by = match event {
            // A deadline does this, no caller.
            Event::Escalated { .. } | Event::Expired {} | Event::Lapsed {} | Event::Unknown {} => {
                by(&Actor::system())
            }
            _ => by(actor),
        };
        let was = before.as_ref().map(|request| request.state);
        let new = before.is_none() || self.slots.get(&id).is_some_and(|slot| slot.new);
        let before = before.map(Arc::unwrap_or_clone);
        let request = evolve(before, id, seq, self.now, &by.name, &event, written)
            .map_err(|error| StoreError::Damaged(error.to_string()))?;
        self.count(&request.agent, was == Some(State::Pending), request.state == State::Pending);
        self.prior.learn(&request, &event, (was, seq), self.now, &self.secret)?;
        let body: Option<Arc<str>> = match (stored, written) {
            (Some(stored), _) => Some(stored),
            (None, EventPayload::Nothing) => None,
            (None, written) => Some(canonical_string(written)?.into()),
        };
        let payload = body.map(|body| {
            let nonce = request.content.as_ref().map_or("", |content| content.nonce.as_str());
            let digest = payload_digest(nonce, &body);
            self.payloads.push(PayloadRow { seq, request: request.seq, version: request.version, body });
            digest
        });
        if let Event::Decided { by, .. } = &event {
            self.decided_by.extend(by.iter().map(|name| (name.clone(), request.seq)));
        }
        let request = Arc::new(request);
        self.entries.push(Unsealed {
            by,
            payload,
            data: Data::Request(event),
            request: Some(request.clone()),
        });
        self.slots.insert(id, Slot { request: request.clone(), new, dirty: true });
        Ok(request)
    }

    fn count(&mut self, agent: &str, was: bool, is: bool) {
        if was == is {
            return;
        }
        if let Some(tally) = self.tallies.get_mut(agent) {
            *tally = if is { tally.saturating_add(1) } else { tally.saturating_sub(1) };
        } else {
            self.tallies.insert(agent.to_owned(), u64::from(is));
        }
        if !self.changed_tallies.contains(agent) {
            self.changed_tallies.insert(agent.to_owned());
        }
    }

    fn mark(&self, commands: &[(Command, Option<Idempotency>)]) -> Mark {
        let slots = commands
            .iter()
            .map(|(command, _)| {
                let id = command.request();
                (id, self.slots.get(&id).cloned())
            })
            .collect();
        Mark {
            entries: self.entries.len(),
            decided_by: self.decided_by.len(),
            payloads: self.payloads.len(),
            new_answers: self.new_answers.len(),
            slots,
            tallies: self.tallies.clone(),
            directory: self.directory.clone(),
            prior: self.prior.clone(),
        }
    }

    fn go_back(&mut self, mark: Mark) {
        self.entries.truncate(mark.entries);
        self.decided_by.truncate(mark.decided_by);
        self.payloads.truncate(mark.payloads);
        self.forget_answers(mark.new_answers);
        for (id, slot) in mark.slots {
            match slot {
                Some(slot) => self.slots.insert(id, slot),
                None => self.slots.remove(&id),
            };
        }
        self.tallies = mark.tallies;
        self.directory = mark.directory;
        self.prior = mark.prior;
    }

    /// Links the entries to the chain and lays out everything that is to be written.
    pub(crate) fn finish(self, batch: [u8; 16]) -> Result<(Changes, Vec<News>), StoreError> {
        let mut head = self.head;
        let mut entries = Vec::with_capacity(self.entries.len());
        let mut news = Vec::with_capacity(self.entries.len());
        let mut outbox = Outbox::default();
        for unsealed in self.entries {
            let seq = head.head.seq + 1;
            let request = unsealed.request.as_ref();
            let entry = Entry {
                v: Entry::FORMAT,
                epoch: head.head.epoch.clone(),
                seq,
                prev: head.head.hash,
                at: self.now,
                by: unsealed.by,
                request: request.map(|request| request.id),
                version: request.map(|request| request.version),
                payload: unsealed.payload,
                data: unsealed.data,
            };
            let sealed = entry.seal()?;
            head.head.seq = seq;
            head.head.hash = sealed.hash;
            if let Data::Admin(_) = entry.data {
                head.principals_seq = seq;
            }
            entries.push(EntryRow {
                seq,
                request: request.map(|request| request.seq),
                text: sealed.text,
                hash: sealed.hash,
            });
            let item = News::new(entry, sealed.hash, unsealed.request, true);
            outbox.push(&item, &self.outbox);
            news.push(item);
        }
        let requests = self
            .slots
            .into_values()
            .filter(|slot| slot.dirty)
            .map(|slot| RequestRow::new(slot.request, slot.new));
        let mut requests = requests.collect::<Result<Vec<_>, _>>()?;
        requests.sort_unstable_by_key(|row| row.request.seq);
        let mut answers = self.answers;
        let (mut principals, mut removed_principals) = (Vec::new(), Vec::new());
        for name in self.principals {
            if let Some(person) = self.directory.people.get(&name) {
                principals.push(PrincipalRow { name, data: PrincipalData::Person(person.clone()) });
            } else if let Some(agent) = self.directory.agents.get(&name) {
                principals.push(PrincipalRow { name, data: PrincipalData::Agent(agent.clone()) });
            } else {
                removed_principals.push(name);
            }
        }
        let tallies = self.changed_tallies.into_iter().map(|agent| match self.tallies.get(&agent) {
            Some(pending) => Ok((agent, *pending)),
            None => Err(uncounted(&agent)),
        });
        let tallies = tallies.collect::<Result<_, StoreError>>()?;
        let (used, grants, ended, trust) = self.prior.finish(self.no_trust);
        let changes = Changes {
            batch,
            now: self.now,
            head,
            requests,
            payloads: self.payloads,
            entries,
            answers: self.new_answers.iter().filter_map(|(scope, _)| answers.remove(scope)).collect(),
            tallies,
            decided_by: self.decided_by,
            keys: self.keys,
            principals,
            removed_principals,
            sign_ins: self.sign_ins,
            outbox: outbox.rows.into_values().collect(),
            raises: outbox.raises,
            policies: self.policies,
            grants,
            used,
            ended,
            trust,
            no_trust: self.no_trust,
            events: self.events,
            words: Vec::new(),
        };
        Ok((changes, news))
    }
}

fn uncounted(agent: &str) -> StoreError {
    StoreError::Damaged(format!("the pending requests of `{agent}` were not counted"))
}

fn by(actor: &Actor) -> EntryAuthor {
    EntryAuthor {
        name: actor.name.clone(),
        role: actor.role,
        key: actor.key,
        session: actor.session,
        auth: actor.auth,
    }
}
