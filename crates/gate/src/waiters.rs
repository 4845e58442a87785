//! Waiters of requests: registered before the read, woken by the hub, bounded in number.

use std::{
    collections::HashMap,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use placet_core::{Actor, Directory, KeyId, Request, RequestId, Role, SessionId, State};
use placet_store::StoreError;
use tokio::{
    sync::oneshot,
    time::{Instant, Sleep},
};

use crate::{
    Gate, GateError,
    gate::about,
    presence::{Presence, is_agent},
};

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
pub struct WaitResult {
    /// The request as it stands.
    pub request: Arc<Request>,
    /// Whether the condition was met. Otherwise the time was up.
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
    presence: Arc<Presence>,
    per_principal: usize,
    total: usize,
}

#[derive(Debug, Default)]
struct Inner {
    by_request: HashMap<RequestId, Vec<Waiter>>,
    by_principal: HashMap<String, usize>,
    count: usize,
    // Set when the server closes: no new waiters.
    ended: bool,
}

#[derive(Debug)]
struct Waiter {
    credential: Credential,
    // Of the agent that asked, and not of a person who watches.
    agent: bool,
    // Used once. Dropped unused when the gate closes, which ends the wait.
    bell: oneshot::Sender<Wake>,
}

/// The waiter's credential. When it stops working, the wait ends.
#[derive(Debug, Clone, Copy)]
enum Credential {
    Nothing,
    Key(KeyId),
    Session(SessionId, Role),
}

impl Credential {
    fn of(actor: &Actor) -> Self {
        match (actor.key, actor.session) {
            (Some(key), _) => Self::Key(key),
            (None, Some(session)) => Self::Session(session, actor.role),
            (None, None) => Self::Nothing,
        }
    }

    /// Whether the credential was revoked. Expiry is ignored: a wait is too short for it to matter.
    fn is_gone(self, directory: &Directory) -> bool {
        match self {
            Self::Nothing => false,
            Self::Key(key) => directory.live_key(key).is_none(),
            Self::Session(id, role) => {
                let session = directory.sessions.get(&id);
                session.is_none_or(|session| directory.person(&session.name, role).is_none())
            }
        }
    }
}

impl Waiters {
    pub(crate) fn new(per_principal: usize, total: usize, presence: Arc<Presence>) -> Self {
        Self { inner: Mutex::default(), presence, per_principal, total }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A slot for a waiter, kept for the whole wait.
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

    fn register(self: &Arc<Self>, id: RequestId, actor: &Actor) -> Result<Registration, GateError> {
        let (credential, agent) = (Credential::of(actor), is_agent(actor));
        let (bell, ring) = oneshot::channel();
        let mut inner = self.inner();
        if inner.ended {
            return Err(GateError::Closing);
        }
        // Nearly always one waiter per request, and many requests: room for one is enough to begin with.
        let waiters = inner.by_request.entry(id).or_insert_with(|| Vec::with_capacity(1));
        waiters.push(Waiter { credential, agent, bell });
        drop(inner);
        if agent {
            self.presence.connected(id);
        }
        Ok(Registration { waiters: self.clone(), id, ring })
    }

    /// Removes waiters of this request that have left.
    fn forget(&self, id: RequestId) {
        let mut inner = self.inner();
        if let Some(waiters) = inner.by_request.get_mut(&id) {
            waiters.retain(|waiter| !waiter.bell.is_closed());
            if waiters.is_empty() {
                inner.by_request.remove(&id);
            }
        }
    }

    /// Wakes all waiters of this request.
    pub(crate) fn wake(&self, request: &Arc<Request>) {
        let waiting = {
            let mut inner = self.inner();
            let agent = |waiters: &Vec<Waiter>| waiters.iter().any(|waiter| waiter.agent);
            if request.state == State::Pending && inner.by_request.get(&request.id).is_some_and(agent) {
                // It goes on waiting, or asks again. Noted first, so that it is never missing in between.
                self.presence.asked(request.id);
            }
            inner.by_request.remove(&request.id)
        };
        for waiter in waiting.into_iter().flatten() {
            let _ = waiter.bell.send(Wake::Changed(request.clone()));
        }
    }

    /// Wakes all waiters whose key stopped working.
    pub(crate) fn wake_revoked(&self, directory: &Directory) {
        let mut inner = self.inner();
        for waiters in inner.by_request.values_mut() {
            let (gone, stay) =
                std::mem::take(waiters).into_iter().partition(|waiter| waiter.credential.is_gone(directory));
            *waiters = stay;
            let gone: Vec<Waiter> = gone;
            for waiter in gone {
                let _ = waiter.bell.send(Wake::Revoked);
            }
        }
        inner.by_request.retain(|_, waiters| !waiters.is_empty());
    }

    /// Ends all waits, and refuses new ones: the server is closing, and clients connect again.
    pub(crate) fn end_all(&self) {
        let mut inner = self.inner();
        inner.ended = true;
        inner.by_request.clear();
    }

    /// Whether an agent waits for this request now.
    pub(crate) fn agent_waits(&self, id: RequestId) -> bool {
        let inner = self.inner();
        let here = |waiter: &Waiter| waiter.agent && !waiter.bell.is_closed();
        inner.by_request.get(&id).is_some_and(|waiters| waiters.iter().any(here))
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.inner().count
    }
}

/// A slot of a waiter. Freed when dropped.
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

/// A registration. Removed when dropped, however the wait ends.
struct Registration {
    waiters: Arc<Waiters>,
    id: RequestId,
    ring: oneshot::Receiver<Wake>,
}

impl Registration {
    /// The wait ended without an event. An agent's client gets the pending record and waits again. This is looked up
    /// here, so that a parked wait does not hold it.
    fn time_is_up(&self) {
        if self.waiters.agent_waits(self.id) {
            self.waiters.presence.asked(self.id);
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.ring.close();
        self.waiters.forget(self.id);
    }
}

/// Where a wait stands.
#[must_use]
pub enum WaitState {
    /// It is over.
    Over(WaitResult),
    /// Nothing has happened yet.
    Parked(ParkedWait),
}

/// A wait without an event so far: a future that ends when it is woken. With many waiters most of a server's memory
/// is in these, so it holds only what it needs to be woken.
#[must_use]
pub struct ParkedWait {
    registration: Registration,
    time_is_up: Pin<Box<Sleep>>,
    until: Until,
    // Taken by the wake-up.
    seat: Option<Seat>,
}

/// A wait that was woken. [`Gate::settle`] gives the result.
pub struct WokenWait {
    id: RequestId,
    until: Until,
    deadline: Instant,
    seat: Option<Seat>,
    // None when the time was up.
    wake: Option<Result<Wake, oneshot::error::RecvError>>,
}

impl Future for ParkedWait {
    type Output = WokenWait;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<WokenWait> {
        let this = &mut *self;
        let wake = match Pin::new(&mut this.registration.ring).poll(cx) {
            Poll::Ready(wake) => Some(wake),
            Poll::Pending => {
                std::task::ready!(this.time_is_up.as_mut().poll(cx));
                this.registration.time_is_up();
                None
            }
        };
        Poll::Ready(WokenWait {
            id: this.registration.id,
            until: this.until,
            deadline: this.time_is_up.deadline(),
            seat: this.seat.take(),
            wake,
        })
    }
}

impl Gate {
    /// Waits until the condition is met or the time is up. The caller must be allowed to see the request.
    pub async fn wait(
        &self,
        actor: &Actor,
        id: RequestId,
        until: Until,
        at_most: Duration,
    ) -> Result<WaitResult, GateError> {
        let mut waiting = self.park(actor, id, until, at_most).await?;
        loop {
            match waiting {
                WaitState::Over(waited) => return Ok(waited),
                WaitState::Parked(parked) => waiting = self.settle(actor, parked.await).await?,
            }
        }
    }

    /// Begins a wait.
    pub async fn park(
        &self,
        actor: &Actor,
        id: RequestId,
        until: Until,
        at_most: Duration,
    ) -> Result<WaitState, GateError> {
        about(id);
        if at_most.is_zero() {
            return self.as_it_stands(actor, id, until).await;
        }
        let seat = self.waiters.seat(&actor.name)?;
        self.sit(actor, id, until, seat, Instant::now() + at_most).await
    }

    /// The result of a woken wait: it is over, or it goes on.
    pub async fn settle(&self, actor: &Actor, woken: WokenWait) -> Result<WaitState, GateError> {
        let WokenWait { id, until, deadline, seat, wake } = woken;
        match wake {
            Some(Ok(Wake::Changed(request))) if self.met(&request, until) => {
                Ok(WaitState::Over(WaitResult { request, met: true }))
            }
            Some(Ok(Wake::Changed(_))) => match seat {
                Some(seat) => self.sit(actor, id, until, seat, deadline).await,
                None => Err(GateError::Closing),
            },
            Some(Ok(Wake::Revoked)) => Err(GateError::KeyRevoked),
            Some(Err(_)) => Err(self.ended()),
            None => self.as_it_stands(actor, id, until).await,
        }
    }

    async fn sit(
        &self,
        actor: &Actor,
        id: RequestId,
        until: Until,
        seat: Seat,
        deadline: Instant,
    ) -> Result<WaitState, GateError> {
        // Registered before the read, so that no change after the read is missed.
        let registration = self.waiters.register(id, actor).map_err(|_| self.ended())?;
        // The order matters here too: a key that is revoked from here on also wakes the waiter.
        if !self.still_works(actor) {
            // Another node may have made it just now.
            self.store.refresh_directory().await?;
            if !self.still_works(actor) {
                return Err(GateError::KeyRevoked);
            }
        }
        let request = self.seen(actor, id).await?;
        if self.met(&request, until) {
            return Ok(WaitState::Over(WaitResult { request, met: true }));
        }
        let time_is_up = Box::pin(tokio::time::sleep_until(deadline));
        Ok(WaitState::Parked(ParkedWait { registration, time_is_up, until, seat: Some(seat) }))
    }

    /// The reason why waits end here.
    fn ended(&self) -> GateError {
        match self.store.lost() {
            Some(why) => StoreError::HistoryLost(why).into(),
            None => GateError::Closing,
        }
    }

    async fn as_it_stands(&self, actor: &Actor, id: RequestId, until: Until) -> Result<WaitState, GateError> {
        let request = self.seen(actor, id).await?;
        let met = self.met(&request, until);
        Ok(WaitState::Over(WaitResult { request, met }))
    }

    fn met(&self, request: &Request, until: Until) -> bool {
        match until {
            Until::Decided => request.state_at(self.now()) != State::Pending,
            Until::NotVersion(version) => request.version != version || request.overdue(self.now()).is_some(),
        }
    }
}
