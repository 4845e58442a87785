//! Asking: checks, canonical form, verdict, and one command for the store.

use std::{sync::Arc, time::Duration};

use data_encoding::HEXLOWER;
use placet_core::{
    Actor, Body, Cancel, Command, Content, Create, Digest, Door, Refusal, Request, RequestId, Role, Spec,
    Submit, Terms, Time, WeakKey, door,
};
use placet_ledger::Parts;
use placet_store::{Idempotency, NewEvent, StoreError};

use crate::{
    Gate, GateError,
    gate::about,
    judge::{call_of_new, confined, place, time_to_decide, verdict},
    schema::check_schema,
};

/// A request that was made, or made before under the same key.
#[derive(Debug, Clone)]
pub struct Submitted {
    /// As it stands.
    pub request: Arc<Request>,
    /// Whether it was made before.
    pub replayed: bool,
}

/// How often a new request is judged again because the policy changed in that moment.
const JUDGED: u32 = 8;

impl Gate {
    /// Asks. Answers when the request is durable.
    pub async fn submit(
        &self,
        actor: &Actor,
        create: Create,
        idempotency: Option<Idempotency>,
    ) -> Result<Submitted, GateError> {
        self.submit_from(door::REST, actor, create, idempotency).await
    }

    /// Asks, or finds an open request again: one of this agent under the same weak key that asks for the same.
    pub async fn submit_or_find(
        &self,
        source: &str,
        actor: &Actor,
        create: Create,
        idempotency: Option<Idempotency>,
        weak: Option<WeakKey>,
    ) -> Result<Submitted, GateError> {
        let keys = Keys { idempotency, weak };
        Ok(self.submit_with(source, actor, create, None, keys).await?.0)
    }

    /// Asks through a door of another name.
    pub async fn submit_from(
        &self,
        source: &str,
        actor: &Actor,
        create: Create,
        idempotency: Option<Idempotency>,
    ) -> Result<Submitted, GateError> {
        let keys = Keys { idempotency, weak: None };
        Ok(self.submit_with(source, actor, create, None, keys).await?.0)
    }

    /// Asks, and stores the event that asks in the same transaction; returns its number.
    pub(crate) async fn submit_with(
        &self,
        source: &str,
        actor: &Actor,
        create: Create,
        event: Option<NewEvent>,
        Keys { idempotency, weak }: Keys,
    ) -> Result<(Submitted, Option<u64>), GateError> {
        let actor = &*self.acting(actor, &[Role::Agent])?;
        let asked_time = create.expires_in.is_some();
        let spec = create.check(&self.settings.limits)?;
        let (spec, weak) = self.worded(source, &actor.name, spec, weak)?;
        let Spec { body, context, summary, terms } = spec;
        let asked_time = asked_time.then_some(terms.expires_in);
        if let Body::Action(action) = &body {
            check_schema(action.arguments_schema.as_ref())?;
        }
        let mut random = [0_u8; 26];
        self.entropy.fill(&mut random);
        let Some((id_bits, nonce_bits)) = random.split_first_chunk::<10>() else {
            return Err(StoreError::Damaged("there are too few random bytes for an id".to_owned()).into());
        };
        let created_at = self.now();
        let id = RequestId::new(created_at.millis(), *id_bits);
        let nonce = HEXLOWER.encode(nonce_bits);
        let canonical = Parts {
            id,
            agent: &actor.name,
            session: &terms.session,
            body: &body,
            context: &context,
            summary: summary.as_deref(),
            on_behalf_of: terms.on_behalf_of.as_deref(),
            created_at,
            nonce: &nonce,
        }
        .canonical()?;
        let new = NewRequest {
            id,
            content: Arc::new(Content { body, context, summary, nonce }),
            terms,
            stored: canonical.payload.into(),
            digest: canonical.digest,
            created_at,
            source,
            asked_time,
            weak,
        };
        for _ in 0..JUDGED {
            let submit = self.judged(actor, &new).await?;
            let command = Command::Submit(Box::new(submit));
            let done = match &event {
                None => self.command(actor, command, idempotency).await.map(|outcome| (outcome, None)),
                Some(event) => self.event_command(actor, event.clone(), command, idempotency).await,
            };
            match done {
                // Another policy came into force between the question and the commit: ask that one.
                Err(GateError::Refused { refusal: Refusal::PolicyChanged, .. }) => {
                    self.store.refresh_directory().await?;
                }
                done => {
                    let (outcome, event) = done?;
                    let request = outcome.request.ok_or_else(GateError::not_found)?;
                    about(request.id);
                    if !outcome.replayed {
                        self.look_at(&request);
                    }
                    return Ok((Submitted { request, replayed: outcome.replayed }, event));
                }
            }
        }
        Err(StoreError::Busy.into())
    }

    /// The command of a new request, with the word of the policy in force.
    async fn judged(&self, actor: &Actor, new: &NewRequest<'_>) -> Result<Submit, GateError> {
        let NewRequest { content, terms, source, .. } = new;
        let version = self.in_force().await?;
        let directory = self.store.directory();
        let place = place(source, &actor.name, &content.context, &directory);
        let way_in = (actor.name.as_str(), *source);
        let call = call_of_new(&content.body, &content.context, terms, way_in, new.created_at).at(place);
        let covered = directory.covered(&actor.name);
        let call = call.covered(covered);
        let _judging = tracing::debug_span!("judge").entered();
        let outcome = confined(version.evaluate(&call), &call, &directory);
        let grants = self.covering(&call, &outcome, &version)?;
        let trust = self.trust_offer(&call, &outcome, &version)?;
        let expires_in = time_to_decide(new.asked_time, &outcome, terms, &self.settings.limits);
        let cap = self.settings.pending_per_agent;
        Ok(Submit {
            id: new.id,
            terms: Terms { expires_in, ..terms.clone() },
            content: content.clone(),
            stored: new.stored.clone(),
            digest: new.digest,
            created_at: new.created_at,
            source: (*source).to_owned(),
            verdict: verdict(&outcome, &version),
            risk: outcome.risk,
            needs: self.at_least(&outcome.needs),
            escalation: self.at_least_all(&outcome.escalation),
            decisions: outcome.decisions,
            grants,
            trust,
            claim_window: outcome.claim_window.unwrap_or_else(|| self.claim_window(source)),
            report_window: self.settings.report_window,
            pending_cap: outcome.pending_cap.map_or(cap, |policy| policy.min(cap)),
            roots: if Door::named(source).resolves_paths() {
                directory.roots(&actor.name).to_vec()
            } else {
                Vec::new()
            },
            covered,
            weak: new.weak,
        })
    }

    /// How long a yes may wait to be used. A pause of an agent is answered when the last item of it is decided, so a yes to one
    /// has to outlast the time that people may take for the others; the sender of the answer checks that none is used late.
    fn claim_window(&self, source: &str) -> Duration {
        let window = self.settings.claim_window;
        let pauses = Door::named(source).agent_behind().is_some();
        if pauses { window + self.settings.limits.expires_in_max } else { window }
    }

    /// Withdraws a request, as the agent that made it.
    pub async fn cancel(
        &self,
        actor: &Actor,
        id: RequestId,
        reason: Option<String>,
        idempotency: Option<Idempotency>,
    ) -> Result<Arc<Request>, GateError> {
        about(id);
        let actor = &*self.acting(actor, &[Role::Agent])?;
        let outcome = self.command(actor, Command::Cancel(Cancel { id, reason }), idempotency).await?;
        outcome.request.ok_or_else(GateError::not_found)
    }
}

/// A new request before policy has judged it. It may be judged several times.
struct NewRequest<'a> {
    id: RequestId,
    content: Arc<Content>,
    terms: Terms,
    stored: Arc<str>,
    digest: Digest,
    created_at: Time,
    source: &'a str,
    /// The time for deciding that the agent asked for, if it did.
    asked_time: Option<Duration>,
    weak: Option<WeakKey>,
}

/// By which keys what is asked is known again.
pub(crate) struct Keys {
    pub(crate) idempotency: Option<Idempotency>,
    pub(crate) weak: Option<WeakKey>,
}

#[cfg(test)]
mod tests {
    use placet_core::{Auth, Kind};
    use placet_store::Store;
    use placet_testkit::{Backend, FakeClock, Place, block_on};

    use super::*;
    use crate::{Entropy, Settings};

    /// 1, 2, 3 and so on.
    struct Counting;

    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.iter_mut().zip(1..).for_each(|(byte, number)| *byte = number);
        }
    }

    #[test]
    fn an_id_and_a_nonce_are_all_of_the_random_bytes_and_no_zeros() {
        block_on(async {
            let place = Place::new(Backend::Sqlite).await;
            let store = Arc::new(Store::open(place.options(Arc::new(FakeClock::new()))).await.unwrap());
            let gate = Gate::start(store, Arc::new(Counting), Settings::default()).await.unwrap();
            let bot = Actor {
                name: "local".to_owned(),
                role: Role::Agent,
                key: None,
                session: None,
                auth: Auth::Open,
            };
            let create = Create {
                tool: Some("t".to_owned()),
                arguments: Some(serde_json::Map::new()),
                ..Create::new(Kind::Action, "s")
            };
            let request = gate.submit(&bot, create, None).await.unwrap().request;
            let expected = RequestId::new(request.created_at.millis(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
            assert_eq!(request.id, expected);
            assert_eq!(request.content.as_ref().unwrap().nonce, "0b0c0d0e0f101112131415161718191a");
            gate.close().await;
        });
    }
}
