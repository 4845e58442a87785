//! Which agents wait for which request on this node: connected, or asking again and again.
//!
//! Nothing of it is stored. A wait costs one look into a map in memory. What other nodes hold is not known here.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use placet_core::{Actor, AnswerBack, Request, RequestId, Role, State, Time, Waiting};
use placet_store::{Delivery, Timeline};

use crate::Gate;

/// How long an agent counts as waiting after it asked. Clients connect again at once after a wait, and polls are
/// seconds apart.
pub(crate) const RECENT: Duration = Duration::from_secs(10);
/// Questions that come faster are noted once.
const OFTEN: Duration = Duration::from_millis(500);
/// Most requests that are remembered as asked for. Beyond it, the oldest are forgotten.
const REMEMBERED: usize = 50_000;

/// The agents that follow their requests, and what agents asked for a moment ago.
#[derive(Debug)]
pub(crate) struct Presence {
    // A std mutex: held for a map operation, never across an await.
    inner: Mutex<Inner>,
    time: Arc<Timeline>,
    started: Time,
}

#[derive(Debug, Default)]
struct Inner {
    /// How many streams of an agent are open: of one group, or of all its requests.
    following: HashMap<Followed, usize>,
    asked: HashMap<RequestId, Time>,
    /// The same in order. An entry whose time is not that in `asked` is outdated.
    order: VecDeque<(Time, RequestId)>,
}

/// What a stream follows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Followed {
    agent: String,
    group: Option<String>,
}

/// An open stream of an agent. The agent is gone when this is dropped.
#[derive(Debug)]
pub struct Following {
    presence: Arc<Presence>,
    followed: Followed,
}

impl Drop for Following {
    fn drop(&mut self) {
        let mut inner = self.presence.inner();
        if let Some(open) = inner.following.get_mut(&self.followed) {
            *open = open.saturating_sub(1);
            if *open == 0 {
                inner.following.remove(&self.followed);
            }
        }
    }
}

impl Presence {
    pub(crate) fn new(time: Arc<Timeline>) -> Self {
        Self { inner: Mutex::default(), started: time.now(), time }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent asked for the request, and is expected to ask again.
    pub(crate) fn asked(&self, id: RequestId) {
        let now = self.time.now();
        let mut inner = self.inner();
        if inner.asked.get(&id).is_some_and(|at| now.since(*at) < OFTEN) {
            return;
        }
        inner.asked.insert(id, now);
        inner.order.push_back((now, id));
        while let Some((at, oldest)) = inner.order.front().copied() {
            if now.since(at) < RECENT && inner.order.len() <= REMEMBERED {
                break;
            }
            inner.order.pop_front();
            if inner.asked.get(&oldest) == Some(&at) {
                inner.asked.remove(&oldest);
            }
        }
    }

    /// The agent is connected. If it hangs up now, it does not count as waiting.
    pub(crate) fn connected(&self, id: RequestId) {
        self.inner().asked.remove(&id);
    }

    /// Whether the agent of this request follows it on a stream, or asked for it a moment ago.
    fn has(&self, request: &Request, now: Time) -> bool {
        let inner = self.inner();
        let follows = |group: Option<String>| {
            let followed = Followed { agent: request.agent.clone(), group };
            inner.following.contains_key(&followed)
        };
        inner.asked.get(&request.id).is_some_and(|at| now.since(*at) < RECENT)
            || follows(None)
            // A stream of a group is one of a task of the desk.
            || request.followed().is_some() && follows(request.group.clone())
    }
}

impl Gate {
    /// Notes that an agent follows all its requests, or those of a group, until the value is dropped. People are
    /// not noted.
    pub fn follow(&self, actor: &Actor, group: Option<&str>) -> Option<Following> {
        let followed = is_agent(actor)
            .then(|| Followed { agent: actor.name.clone(), group: group.map(str::to_owned) })?;
        *self.presence.inner().following.entry(followed.clone()).or_default() += 1;
        Some(Following { presence: self.presence.clone(), followed })
    }

    /// Notes that an agent asked how this request stands.
    pub fn asked(&self, actor: &Actor, request: &Request) {
        if is_agent(actor) && request.state == State::Pending {
            self.presence.asked(request.id);
        }
    }

    /// Who waits for the answer to this request, if it is pending. As far as this node can know.
    pub async fn who_waits(&self, request: &Request) -> Option<Waiting> {
        let now = self.now();
        if request.state_at(now) != State::Pending {
            return None;
        }
        let brought = match request.door().answers_back() {
            Some(AnswerBack::Callback) => Delivery::address(request).is_some(),
            Some(AnswerBack::Resume) => true,
            None => false,
        };
        let attached = match () {
            () if brought => None,
            () if self.waiters.agent_waits(request.id) || self.presence.has(request, now) => Some(true),
            // It may be on its way back from before the restart.
            () if now.since(self.presence.started) < RECENT => None,
            // It may wait on the other node.
            () => self.store.others().await.map_or(None, |others| (!others).then_some(false)),
        };
        let nobody = !request.can_be_approved(now, &self.store.directory());
        Some(Waiting { attached, brought, told: Vec::new(), nobody, kept_until: request.kept_until(now) })
    }
}

/// Whether this is an agent and not a person who may also act as one.
pub(crate) fn is_agent(actor: &Actor) -> bool {
    actor.role == Role::Agent && actor.session.is_none()
}
