//! The answers of keys: an idempotency key always gives the same one, a weak key only while its request is open.

use std::sync::Arc;

use placet_core::{Actor, Request, WeakKey};

use super::Batch;
use crate::{Idempotency, rows::AnswerRow};

impl Batch {
    /// The open request under a weak key, if it asks for the same. A folder that a person did not open is not asked about again
    /// for a day.
    ///
    /// INVARIANT: nothing gets looser by this. It is the agent's own request, which it could read, await and claim by
    /// its id; every word that weighs in its judgement is the same; and a permit is claimed once, however many found it.
    pub(super) fn open_under(&self, weak: WeakKey, actor: &Actor) -> Option<Arc<Request>> {
        let known = self.answers.get(&weak.scope).filter(|known| known.body == weak.same)?;
        let request = &self.slots.get(&known.request?.1)?.request;
        let counts = request.is_open(self.now) || request.is_no_for_today(self.now);
        (request.agent == actor.name && counts).then(|| request.clone())
    }

    /// From here on these keys answer with this request.
    pub(super) fn remember_keys(
        &mut self,
        idempotency: Option<&Idempotency>,
        weak: Option<WeakKey>,
        request: &Request,
    ) {
        let strong = idempotency.map(|key| (key.scope, key.body));
        for (scope, body) in strong.into_iter().chain(weak.map(|key| (key.scope, key.same))) {
            let request = Some((request.seq, request.id));
            self.remember(AnswerRow { scope, body, request, answer: None, stored: false });
        }
    }

    /// INVARIANT: the only place where an answer is put in the place of another. The table's own check that a key
    /// answers with one thing stays in force for all that were not loaded.
    pub(super) fn remember(&mut self, mut answer: AnswerRow) {
        let scope = answer.scope;
        answer.stored = self.answers.get(&scope).is_some_and(|before| before.stored);
        let before = self.answers.insert(scope, answer);
        self.new_answers.push((scope, before));
    }

    /// Takes back all but the first so many of the new answers.
    pub(super) fn forget_answers(&mut self, keep: usize) {
        for (scope, before) in self.new_answers.drain(keep..).rev() {
            match before {
                Some(before) => self.answers.insert(scope, before),
                None => self.answers.remove(&scope),
            };
        }
    }
}
