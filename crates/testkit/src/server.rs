//! The real server on a free port over a [`Kit`].

use std::{sync::Arc, time::Duration};

use placet_core::Actor;
use placet_egress::Sockets;
use placet_gate::Channel;
use placet_notify::{Callbacks, Deliveries, Posts};
use placet_server::{Closing, ListenAddress, ListenLimits, Resumes, Settings, State, TaskNews};
use tokio::{sync::oneshot, task::JoinSet};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{Backend, Http, Kit, Place};

/// A running server. End with [`Server::finish`].
#[derive(Debug)]
pub struct Server {
    /// Store and gate behind it, and its actors.
    pub kit: Kit,
    authority: String,
    state: State,
    settings: Settings,
    running: Option<(oneshot::Sender<()>, DropGuard, JoinSet<()>)>,
}

impl Server {
    /// Usual settings, without a limit on the rate of calls.
    pub async fn start(backend: Backend) -> Self {
        let settings = Settings { requests_per_second: 0, ..Settings::default() };
        Self::over(Kit::start(backend).await, settings).await
    }

    /// Over a kit, with these settings.
    pub async fn over(kit: Kit, settings: Settings) -> Self {
        Self::limited(kit, settings, ListenLimits::default()).await
    }

    /// Over a kit, with these settings and limits.
    pub async fn limited(kit: Kit, settings: Settings, limits: ListenLimits) -> Self {
        let listener = ListenAddress::loopback(0).bind().await.expect("a loopback port is free");
        let authority = listener.local_addr().expect("a bound listener has an address").to_string();
        let state = State::new(kit.gate().clone(), settings.clone(), None);
        let (stop, stopped) = oneshot::channel::<()>();
        let mut task = JoinSet::new();
        let serving = placet_server::run(
            listener,
            state.clone(),
            limits,
            Closing { grace: Duration::from_secs(5) },
            async move {
                let _ = stopped.await;
            },
        );
        task.spawn(async move { serving.await.expect("the server runs") });
        let cancel = CancellationToken::new();
        let sockets = Sockets::new(settings.events.callbacks.clone());
        let called = Callbacks::new(kit.gate().clone(), sockets);
        let posts = Posts::new(state.push_client().expect("a client"), Arc::new(TaskNews::of(&state)));
        let channels: [Arc<dyn Channel>; 3] =
            [Arc::new(called), Arc::new(Resumes::of(&state)), Arc::new(posts)];
        let worker = Deliveries::new(kit.gate().clone(), channels);
        task.spawn(worker.run(cancel.clone()));
        let (watched, stopping) = (state.clone(), cancel.clone());
        task.spawn(async move { watched.watch_agents(stopping).await });
        Self { kit, authority, state, settings, running: Some((stop, cancel.drop_guard(), task)) }
    }

    /// Where it listens, as `host:port`.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Where it listens, as an address.
    pub fn url(&self) -> String {
        format!("http://{}", self.authority)
    }

    /// What the handlers share.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// A caller with this key, or without one.
    pub fn http(&self, token: Option<&str>) -> Http {
        Http {
            authority: self.authority.clone(),
            token: token.map(str::to_owned),
            headers: Vec::new(),
            signer: None,
        }
    }

    /// Nobody.
    pub fn nobody(&self) -> Http {
        self.http(None)
    }

    /// One of the kit's actors.
    pub fn actor(&self, actor: &Actor) -> Http {
        self.http(Some(&self.kit.token(actor)))
    }

    /// The first admin.
    pub fn admin(&self) -> Http {
        self.actor(self.kit.admin())
    }

    /// A new agent.
    pub async fn agent(&self, name: &str) -> Http {
        self.actor(&self.kit.agent(name).await)
    }

    /// A new reviewer.
    pub async fn reviewer(&self, name: &str) -> Http {
        self.actor(&self.kit.reviewer(name).await)
    }

    /// A new auditor.
    pub async fn auditor(&self, name: &str) -> Http {
        self.actor(&self.kit.auditor(name).await)
    }

    /// Shuts the server down as a signal would, and waits until it has stopped.
    pub async fn stop(&mut self) {
        if let Some((stop, cancel, mut task)) = self.running.take() {
            let _ = stop.send(());
            drop(cancel);
            while let Some(ended) = task.join_next().await {
                ended.expect("the server ends well");
            }
        }
    }

    /// Stops, and starts again over the same data, on another port.
    pub async fn restart(self) -> Self {
        self.restart_after(async |_| ()).await
    }

    /// The same, with something done in between, while nobody has the database open.
    pub async fn restart_after(mut self, meanwhile: impl AsyncFnOnce(&Place)) -> Self {
        self.stop().await;
        let Self { mut kit, settings, state, .. } = self;
        drop(state);
        let place = kit.place().clone();
        kit.restart_after(async || meanwhile(&place).await).await;
        Self::over(kit, settings).await
    }

    /// Stops, closes everything, and makes the checks of [`Kit::finish`].
    pub async fn finish(mut self) {
        self.stop().await;
        let Self { kit, state, .. } = self;
        drop(state);
        kit.finish().await;
    }
}
