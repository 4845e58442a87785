//! The governing proxy: agents behind us run unchanged, and their own pauses are held, decided and resumed once.
//!
//! | part | what |
//! | --- | --- |
//! | `forward`, `sending` | the calls of clients, passed on |
//! | `agent`, `address` | calling an agent where its card says, and reading its answers |
//! | `check` | whether an agent can be used at all, when the server starts |
//! | `kept` | whose a task is, and the pause it is in |
//! | `life` | how far a pause is: the only file that changes it |
//! | `hold` | a pause becomes requests |
//! | `resume`, `exchange` | the one complete answer: whether it is due, and how it reaches the agent |
//! | `snapshot`, `show` | a task as it stands, and as its client sees it |
//! | `reader`, `hub`, `client` | streams that go on across pauses and clients |
//! | `pushes` | news that is posted |
//! | `watch` | what was missed |

mod address;
mod agent;
mod card;
mod check;
mod client;
mod exchange;
mod forward;
mod hold;
mod hub;
mod kept;
mod life;
mod pushes;
mod reader;
mod resume;
mod sending;
mod settings;
mod show;
mod snapshot;
mod watch;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

pub(super) use agent::Agent;
use axum::{
    extract::{Path, State as AxumState},
    response::{IntoResponse as _, Response},
};
pub use check::Problem;
pub(super) use forward::serve;
use http::{HeaderMap, StatusCode, header};
use placet_a2a::{Fault, Version};
pub use resume::Resumes;
pub use settings::{Generic, Mode, Upstream};
pub(crate) use watch::run as watch;

use super::{card as cards, serve::status};
use crate::{State, v1};

/// The agents behind us.
#[derive(Debug, Default)]
pub(crate) struct Proxy {
    agents: HashMap<(String, String), Arc<Agent>>,
    hub: hub::Hub,
    // Tasks whose answer is being sent by this node.
    busy: Mutex<HashSet<String>>,
}

/// Says for as long as it lives that an answer is being sent.
struct Busy<'a> {
    proxy: &'a Proxy,
    key: String,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.proxy.busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

impl Proxy {
    /// These agents. Their names were checked when the configuration was read.
    pub(crate) fn new(upstreams: &[Upstream]) -> std::io::Result<Self> {
        let mut agents = HashMap::new();
        for upstream in upstreams {
            let name = (upstream.namespace.clone(), upstream.agent.clone());
            agents.insert(name, Arc::new(Agent::new(upstream.clone())?));
        }
        Ok(Self { agents, ..Self::default() })
    }

    /// A turn to send the answer to a task; nothing if this node is sending it.
    fn turn(&self, key: String) -> Option<Busy<'_>> {
        let fresh = self.busy.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone());
        fresh.then(|| Busy { proxy: self, key })
    }

    /// The same, and a little patience: whoever is at it may not have seen what was decided last.
    async fn turn_soon(&self, key: &str) -> Option<Busy<'_>> {
        for _ in 0..40 {
            if let Some(turn) = self.turn(key.to_owned()) {
                return Some(turn);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        None
    }

    pub(super) fn agent(&self, namespace: &str, agent: &str) -> Option<Arc<Agent>> {
        self.agents.get(&(namespace.to_owned(), agent.to_owned())).cloned()
    }

    fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }
}

/// The agents that cannot be used now, each with its name and why.
pub async fn check_agents(upstreams: &[Upstream]) -> std::io::Result<Vec<(String, Problem)>> {
    let proxy = Proxy::new(upstreams)?;
    let looks = proxy.agents.values().map(|agent| async {
        let found = check::check(agent).await.err()?;
        Some((agent.name(), found))
    });
    let mut found: Vec<_> = futures_util::future::join_all(looks).await.into_iter().flatten().collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(found)
}

/// The card of an agent behind us, with our address in place of its own.
pub(super) async fn card(
    AxumState(state): AxumState<State>,
    Path((namespace, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    card_of(&state, &namespace, &name, &headers).await
}

/// The same.
pub(super) async fn card_of(state: &State, namespace: &str, name: &str, headers: &HeaderMap) -> Response {
    let Some(agent) = state.proxy.agent(namespace, name) else {
        let fault = Fault::NoAgent(format!("/a2a/{namespace}/{name}").chars().take(80).collect());
        return v1::json(StatusCode::NOT_FOUND, &fault.http(Version::V10));
    };
    match agent.card().await {
        Ok(card) => {
            let shown = card.shown(&cards::address(headers, &format!("/a2a/{namespace}/{name}")));
            cards::send(&shown, headers, *card.since.get_or_init(|| state.gate.now()))
        }
        Err(fault) => {
            let mut response = v1::json(status(&fault), &fault.http(Version::V10)).into_response();
            response.headers_mut().insert(header::CACHE_CONTROL, http::HeaderValue::from_static("no-store"));
            response
        }
    }
}
