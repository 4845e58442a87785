//! Who waits for which request: registered before reading, woken by the hub, bounded in number.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use placet_core::{Actor, Directory, KeyId, Request, RequestId, State};
use tokio::{sync::oneshot, time::Instant};

use crate::{Gate, GateError};

/// What a wait waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// The request is no longer pending.
    Decided,
    /// Its version is not this one.
    NotVersion(u32),
}

/// How a wait ended.
#[derive(Debug, Clone)]
pub struct Waited {
    /// The request as it stands.
    pub request: Arc<Request>,
    /// Whether what was waited for has happened; otherwise the time was up.
    pub met: bool,
}

/// What wakes a waiter.
#[derive(Debug)]
enum Wake {
    /// The request changed.
    Changed(Arc<Request>),
    /// The waiter's own key stopped working.
    Revoked,
}

/// All waiters of this node.
#[derive(Debug)]
pub(crate) struct Waiters {
    // A std mutex: held for a map operation, never across an await.
    inner: Mutex<Inner>,
    per_principal: usize,
    total: usize,
}

#[derive(Debug, Default)]
struct Inner {
    by_request: HashMap<RequestId, Vec<Waiter>>,
    by_principal: HashMap<String, usize>,
    count: usize,
}

#[derive(Debug)]
struct Waiter {
    key: Option<KeyId>,
    // Used once; dropped without use when the gate closes, which ends the wait.
    bell: oneshot::Sender<Wake>,
}

impl Waiters {
    pub(crate) fn new(per_principal: usize, total: usize) -> Self {
        Self { inner: Mutex::default(), per_principal, total }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place among the waiters, kept for the whole wait.
    fn seat(self: &Arc<Self>, principal: &str) -> Result<Seat, GateError> {
        let mut inner = self.inner();
        let mine = inner.by_principal.get(principal).copied().unwrap_or(0);
        if mine >= self.per_principal || inner.count >= self.total {
            return Err(GateError::TooManyWaits);
        }
        inner.by_principal.insert(principal.to_owned(), mine + 1);
        inner.count += 1;
        Ok(Seat { waiters: self.clone(), principal: principal.into() })
    }

    fn register(&self, id: RequestId, key: Option<KeyId>) -> oneshot::Receiver<Wake> {
        let (bell, ring) = oneshot::channel();
        self.inner().by_request.entry(id).or_default().push(Waiter { key, bell });
        ring
    }

    /// Forgets waiters of this request that went away.
    fn forget(&self, id: RequestId) {
        let mut inner = self.inner();
        if let Some(waiters) = inner.by_request.get_mut(&id) {
            waiters.retain(|waiter| !waiter.bell.is_closed());
            if waiters.is_empty() {
                inner.by_request.remove(&id);
            }
        }
    }

    /// Wakes everybody who waits for this request.
    pub(crate) fn wake(&self, request: &Arc<Request>) {
        let waiting = self.inner().by_request.remove(&request.id);
        for waiter in waiting.into_iter().flatten() {
            let _ = waiter.bell.send(Wake::Changed(request.clone()));
        }
    }

    /// Wakes everybody whose key stopped working.
    pub(crate) fn wake_revoked(&self, directory: &Directory) {
        let mut inner = self.inner();
        for waiters in inner.by_request.values_mut() {
            let (gone, stay) = std::mem::take(waiters)
                .into_iter()
                .partition(|waiter| waiter.key.is_some_and(|key| directory.live_key(key).is_none()));
            *waiters = stay;
            let gone: Vec<Waiter> = gone;
            for waiter in gone {
                let _ = waiter.bell.send(Wake::Revoked);
            }
        }
        inner.by_request.retain(|_, waiters| !waiters.is_empty());
    }

    /// Ends every wait: the server is closing, and clients connect again.
    pub(crate) fn end_all(&self) {
        self.inner().by_request.clear();
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.inner().count
    }
}

/// A place among the waiters; given back when dropped.
struct Seat {
    waiters: Arc<Waiters>,
    principal: Box<str>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut inner = self.waiters.inner();
        inner.count = inner.count.saturating_sub(1);
        if let Some(mine) = inner.by_principal.get_mut(&*self.principal) {
            *mine = mine.saturating_sub(1);
            if *mine == 0 {
                inner.by_principal.remove(&*self.principal);
            }
        }
    }
}

/// A registration; withdrawn when dropped, however the wait ends.
struct Registration<'a> {
    waiters: &'a Waiters,
    id: RequestId,
    ring: oneshot::Receiver<Wake>,
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        self.ring.close();
        self.waiters.forget(self.id);
    }
}

impl Gate {
    /// Waits until something happened to a request, or the time is up. The caller must be allowed to see it.
    pub async fn wait(
        &self,
        actor: &Actor,
        id: RequestId,
        until: Until,
        at_most: Duration,
    ) -> Result<Waited, GateError> {
        if at_most.is_zero() {
            let request = self.get(actor, id).await?;
            let met = self.met(&request, until);
            return Ok(Waited { request, met });
        }
        let _seat = self.waiters.seat(&actor.name)?;
        let deadline = Instant::now() + at_most;
        loop {
            // Registered before reading: whatever happens after the read rings the bell.
            let mut registration =
                Registration { waiters: &self.waiters, id, ring: self.waiters.register(id, actor.key) };
            // In this order for the same reason: a key revoked from here on rings the bell as well.
            if !self.still_works(actor) {
                // Or another node made it a moment ago.
                self.store.refresh_directory().await?;
                if !self.still_works(actor) {
                    return Err(GateError::KeyRevoked);
                }
            }
            let request = self.get(actor, id).await?;
            if self.met(&request, until) {
                return Ok(Waited { request, met: true });
            }
            // Not held while parked: the record is read again when the time is up.
            drop(request);
            let woken = tokio::select! {
                woken = &mut registration.ring => Some(woken),
                () = tokio::time::sleep_until(deadline) => None,
            };
            match woken {
                Some(Ok(Wake::Changed(request))) if self.met(&request, until) => {
                    return Ok(Waited { request, met: true });
                }
                Some(Ok(Wake::Changed(_))) => {}
                Some(Ok(Wake::Revoked)) => return Err(GateError::KeyRevoked),
                Some(Err(_)) => return Err(GateError::Closing),
                None => {
                    let request = self.get(actor, id).await?;
                    let met = self.met(&request, until);
                    return Ok(Waited { request, met });
                }
            }
        }
    }

    fn met(&self, request: &Request, until: Until) -> bool {
        match until {
            Until::Decided => request.state_at(self.now()) != State::Pending,
            Until::NotVersion(version) => request.version != version || request.overdue(self.now()).is_some(),
        }
    }
}
