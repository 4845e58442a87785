//! What every handler shares, and the router that ties routes to their documentation.

use std::{
    net::IpAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::{Router, middleware};
use metrics_exporter_prometheus::PrometheusHandle;
use placet_egress::{Http, Rules};
use placet_gate::Gate;
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Desk, EventsDoor, Hosts, Proxies, RootCard, Upstream,
    doors::{a2a, events::EventStreams},
    guard,
    limits::{RateLimit, UnknownKeyLimit},
    openapi,
    sign_ins::SignIns,
    unsent::Budgets,
};

/// What whoever runs no script may do on the pages of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unbound {
    /// Nothing: they are led to the dashboard.
    #[default]
    Off,
    /// Read and decide, with their password each time.
    Password,
}

/// What can be set about the doors.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What works without a browser that proves its calls.
    pub unbound: Unbound,
    /// Names under which this server may be called.
    pub hosts: Hosts,
    /// Whose word is taken for whom they call.
    pub proxies: Proxies,
    /// Calls a second per principal; zero for no limit.
    pub requests_per_second: u32,
    /// Longest wait of one call.
    pub wait_max: Duration,
    /// Longest time to send a body.
    pub body_timeout: Duration,
    /// How long a stream may be stuck before it is disconnected.
    pub slow_reader: Duration,
    /// How many bytes of answers may wait for one principal to read them.
    pub unsent_per_principal: usize,
    /// How many streams one principal may have open.
    pub streams_per_principal: usize,
    /// Whether agents on this machine come in without a key, as `local`.
    pub dev: bool,
    /// With `dev`: whether anybody on this machine may decide through the doors that never had keys.
    pub open_decide: bool,
    /// Pages of other origins that may call those doors.
    pub door_origins: Vec<String>,
    /// Whether metrics and readiness are open to other machines.
    pub public_health: bool,
    /// The observability door.
    pub events: EventsDoor,
    /// The approval desk of A2A.
    pub desk: Desk,
    /// Whose card is at the root of this host.
    pub root_card: RootCard,
    /// The agents behind us.
    pub upstreams: Vec<Upstream>,
    /// Where tasks of A2A may be posted to.
    pub push: Rules,
    /// What operators need not set.
    pub timing: Timing,
}

/// Intervals and timeouts that operators need not set. Tests do.
#[derive(Debug, Clone)]
pub struct Timing {
    /// How long a stream or WebSocket may be quiet before it says that it is alive.
    pub heartbeat: Duration,
    /// How long the receiver of a push notification may take.
    pub push_timeout: Duration,
    /// How often every open task of an agent behind us is looked at.
    pub task_look: Duration,
    /// How long the first try to sign in waits after too many wrong ones; later ones wait up to 32 times as long.
    pub sign_in_step: Duration,
    /// How long until an address that showed too many unknown keys may show one more.
    pub unknown_refill: Duration,
    /// How often a stream makes sure that its task of an agent behind us is still read by somebody.
    pub follow_check: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(10),
            push_timeout: Duration::from_secs(10),
            task_look: Duration::from_secs(20),
            sign_in_step: Duration::from_millis(250),
            unknown_refill: Duration::from_millis(20),
            follow_check: Duration::from_secs(3),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            unbound: Unbound::default(),
            hosts: Hosts::loopback(),
            proxies: Proxies::default(),
            requests_per_second: 200,
            wait_max: Duration::from_mins(1),
            body_timeout: Duration::from_secs(10),
            slow_reader: Duration::from_secs(15),
            unsent_per_principal: 32 * 1024 * 1024,
            streams_per_principal: 64,
            dev: false,
            open_decide: false,
            door_origins: Vec::new(),
            public_health: false,
            events: EventsDoor::default(),
            desk: Desk::default(),
            root_card: RootCard::default(),
            upstreams: Vec::new(),
            push: Rules::default(),
            timing: Timing::default(),
        }
    }
}

/// What every handler shares. Cheap to clone.
#[derive(Debug, Clone)]
pub struct State(Arc<Inner>);

/// The shared part.
#[derive(Debug)]
pub struct Inner {
    pub(crate) gate: Gate,
    pub(crate) settings: Settings,
    pub(crate) rate: RateLimit,
    pub(crate) sign_ins: SignIns,
    pub(crate) unknown_keys: UnknownKeyLimit,
    // The first address that sent a header of proxies without being one that is trusted.
    pub(crate) unlisted_proxy: OnceLock<IpAddr>,
    // Answers that wait to be read.
    pub(crate) unsent: Arc<Budgets>,
    pub(crate) metrics: Option<PrometheusHandle>,
    // Streams live here; shutdown waits for them.
    pub(crate) tasks: TaskTracker,
    // Raised in the first stage of shutdown: waits end, streams say goodbye.
    pub(crate) closing: CancellationToken,
    pub(crate) streams: crate::v1::StreamSeats,
    // One simulation at a time: each reads everything there is.
    pub(crate) simulations: Arc<Semaphore>,
    // A few exports at a time, for the same reason.
    pub(crate) exports: Arc<Semaphore>,
    // Permits of calls that came through the hook door and are running.
    pub(crate) hooks: crate::doors::HookPermits,
    // What streams of the observability door are told.
    pub(crate) event_streams: EventStreams,
    // Posts news of tasks. Without it push notifications are refused.
    pub(crate) push: Option<Http>,
    // The agents behind us, and who follows their tasks.
    pub(crate) proxy: a2a::Proxy,
    // Kibibytes of large bodies that are being read.
    pub(crate) event_bytes: Semaphore,
}

impl std::ops::Deref for State {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl State {
    /// Posts news of tasks, within the rules of the settings. Nothing if no client could be made.
    pub fn push_client(&self) -> Option<Http> {
        self.push.clone()
    }

    /// Puts the doors in front of a gate.
    ///
    /// # Panics
    /// When an agent behind us has an address that cannot be called; whoever reads the configuration checks them.
    pub fn new(gate: Gate, settings: Settings, metrics: Option<PrometheusHandle>) -> Self {
        let proxy = a2a::Proxy::new(&settings.upstreams).expect("addresses of agents are checked before");
        let push = a2a::push_client(&settings.push);
        let rate = RateLimit::new(settings.requests_per_second);
        let sign_ins = SignIns::new(settings.timing.sign_in_step);
        let unsent = Arc::new(Budgets::new(settings.unsent_per_principal));
        let streams = crate::v1::StreamSeats::new(settings.streams_per_principal);
        let unknown_keys = UnknownKeyLimit::new(settings.timing.unknown_refill);
        Self(Arc::new(Inner {
            gate,
            settings,
            rate,
            sign_ins,
            unknown_keys,
            unlisted_proxy: OnceLock::new(),
            unsent,
            metrics,
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            streams,
            simulations: Arc::new(Semaphore::new(1)),
            exports: Arc::new(Semaphore::new(2)),
            hooks: crate::doors::HookPermits::default(),
            event_streams: EventStreams::default(),
            push,
            proxy,
            event_bytes: Semaphore::new(64 * 1024),
        }))
    }

    /// The gate behind the doors.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// How many bytes of answers wait to be read, of all principals together.
    pub fn unsent(&self) -> usize {
        self.unsent.unsent()
    }

    /// What the operator should mend although everything works.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.gate.warnings();
        warnings.extend(self.unlisted_proxy.get().map(|address| {
            format!(
                "calls with a header of proxies come from {address}, which `server.trusted_proxies` does not list: \
                 the header is ignored, and everybody behind that proxy counts as one address"
            )
        }));
        warnings
    }

    /// First stage of shutdown: waits end with the record as it stands, streams end, nothing new is accepted.
    pub fn begin_closing(&self) {
        self.closing.cancel();
        self.gate.end_waits();
    }

    /// Waits for streams to end.
    pub async fn streams_ended(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Looks after the tasks of agents behind us until the server closes.
    pub async fn watch_agents(&self, cancel: CancellationToken) {
        a2a::watch(self.clone(), cancel).await;
    }

    /// Housekeeping that runs until the server closes.
    pub async fn tidy(&self) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(5)) => {
                    self.rate.tidy();
                    self.sign_ins.tidy();
                    self.unknown_keys.tidy();
                    self.unsent.tidy();
                    // Histograms are folded here; nobody may be scraping them.
                    if let Some(metrics) = &self.metrics {
                        metrics.run_upkeep();
                    }
                }
                () = self.closing.cancelled() => return,
            }
        }
    }
}

/// All routes behind the guard.
pub fn router(state: &State) -> Router {
    let (routes, _) = openapi::routes().split_for_parts();
    routes
        .merge(crate::pages::routes())
        .merge(crate::doors::routes(state))
        .fallback(crate::pages::fallback)
        .method_not_allowed_fallback(|| async {
            crate::problem::Problem::new(
                http::StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "this address does not take that method",
            )
        })
        .layer(middleware::from_fn_with_state(state.clone(), crate::proof::prove))
        .layer(middleware::from_fn_with_state(state.clone(), guard::guard))
        .with_state(state.clone())
}
