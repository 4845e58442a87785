//! The server: configuration, wiring, start and stop.

mod agents;
mod greeting;
mod policy;
mod stop;

use std::{net::SocketAddr, path::PathBuf, process::ExitCode, sync::Arc};

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use placet_core::Actor;
use placet_egress::{Rules, Sockets};
use placet_gate::{Channel, Gate, SystemClock, SystemEntropy};
use placet_notify::{Callbacks, Deliveries, Posts};
use placet_server::{
    Closing, Desk, EventsDoor, Hosts, ListenAddress, ListenLimits, Pause, Resumes, Settings, State, TaskNews,
};
use placet_store::{Location, Options, Store};
use tokio::{sync::oneshot, task::JoinHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::stop::{ExportTask, Signals, until_stopped};
pub(crate) use self::{greeting::Greeting, policy::NamedPolicy};
use crate::{
    cli::{LogFormat, ServeArgs},
    config::{self, Config},
    exit::usage,
    output,
    socket::OwnerSocket,
    telemetry,
};

/// Options of a server inside this process.
pub(crate) struct StartOptions {
    pub(crate) data: PathBuf,
    pub(crate) listen: ListenAddress,
    pub(crate) bootstrap_token: String,
    pub(crate) policy: NamedPolicy,
}

/// A server that runs inside this process.
pub(crate) struct RunningServer {
    pub(crate) url: String,
    // The address for browsers, which differs behind a proxy.
    pages: String,
    gate: Gate,
    stop: oneshot::Sender<()>,
    served: JoinHandle<std::io::Result<()>>,
    tasks: TaskTracker,
    cancel: CancellationToken,
}

impl RunningServer {
    /// Stops in two stages, and returns when everything is written.
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        if let Err(error) = self.served.await {
            tracing::error!(%error, "the listener failed");
        }
        self.cancel.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.gate.close().await;
    }
}

/// Starts a server with default settings, for the demo.
pub(crate) async fn start(options: StartOptions) -> anyhow::Result<RunningServer> {
    let mut config = Config::load(None, &[])?;
    config.server.listen = options.listen;
    config.storage.state = options.data.join("state");
    config.storage.data = options.data;
    launch(&config, false, Some(options.bootstrap_token), Some(options.policy)).await
}

/// `placet serve`.
pub(crate) async fn run(args: ServeArgs) -> anyhow::Result<ExitCode> {
    let mut config = Config::load(args.config.as_deref(), &args.set)?;
    // Read before anything is started or written, so that a bad policy changes nothing.
    let policy = args.policy.as_deref().map(NamedPolicy::read).transpose()?;
    if let Some(listen) = args.listen {
        config.server.listen = listen;
    }
    match (args.data, args.database) {
        (Some(data), _) => {
            config.storage.data = data;
            config.storage.database.clear();
        }
        (None, Some(url)) => config.storage.database = url,
        (None, None) => {}
    }
    if let Some(state) = args.state {
        config.storage.state = state;
    }
    let bootstrap = bootstrap_token()?;
    let exporting = export(&config, args.log_format)?;
    let running = launch(&config, args.dev, bootstrap, policy).await?;
    // Signals are handled from here on: one may come right after the next line.
    let signals = Signals::listen()?;
    output::line(&format!("listening on {}", running.url))?;
    say_hello(&running, &config, args.dev).await;
    until_stopped(running, signals, exporting).await
}

/// `placet up`: the server on data of one person, until it is stopped.
pub(crate) async fn run_for(
    config: &Config,
    policy: Option<NamedPolicy>,
    greet: impl AsyncFnOnce(Greeting) -> anyhow::Result<()>,
) -> anyhow::Result<ExitCode> {
    let exporting = export(config, LogFormat::Text)?;
    let running = launch(config, false, None, policy).await?;
    let signals = Signals::listen()?;
    if let Err(error) = greet(Greeting { pages: running.pages.clone(), gate: running.gate.clone() }).await {
        running.stop().await;
        exporting.stop().await;
        return Err(error);
    }
    until_stopped(running, signals, exporting).await
}

fn export(config: &Config, format: LogFormat) -> anyhow::Result<ExportTask> {
    let clock = Arc::new(SystemClock::new());
    let exporter = telemetry::start(&config.log, &config.telemetry, format, clock, &SystemEntropy)?;
    Ok(ExportTask::start(exporter))
}

/// The first admin credential for automation.
fn bootstrap_token() -> anyhow::Result<Option<String>> {
    match std::env::var("PLACET_BOOTSTRAP_TOKEN") {
        Ok(token) if token.is_empty() => Ok(None),
        Ok(token) if token.len() < 32 => {
            Err(usage("PLACET_BOOTSTRAP_TOKEN must have at least 32 characters"))
        }
        Ok(token) => Ok(Some(token)),
        Err(_) => Ok(None),
    }
}

/// The data's place, from the configuration.
pub(crate) fn location(config: &Config) -> Location {
    if config.storage.database.is_empty() {
        Location::Folder(config.storage.data.clone())
    } else {
        Location::Postgres(config.storage.database.clone())
    }
}

async fn launch(
    config: &Config,
    dev: bool,
    bootstrap: Option<String>,
    policy: Option<NamedPolicy>,
) -> anyhow::Result<RunningServer> {
    let listen = config.server.listen;
    if !listen.is_loopback() {
        if dev {
            return Err(usage(format!(
                "--dev lets agents in without a key, so it listens on loopback only: not on {listen}"
            )));
        }
        if !config.server.behind_proxy {
            return Err(usage(format!(
                "{listen} can be reached from other machines, and keys would travel in the clear: put a TLS proxy in front and set server.behind_proxy=true"
            )));
        }
    }
    if config.doors.open_decide && !dev {
        return Err(usage(
            "doors.open_decide lets any program on this machine decide without a key, so it is for development only: start with --dev as well, or leave it out and give reviewers keys",
        ));
    }
    let upstreams = agents::upstreams(&config.doors.a2a, config.limits.expires_in_max)?;
    let root_card = agents::root_card(&config.doors.root_card, &config.doors.a2a)?;
    agents::judge(placet_server::check_agents(&upstreams).await?)?;
    raise_file_limit();
    let listeners = listen.bind().await?;
    let address = listeners.local_addr()?;
    let clock = Arc::new(SystemClock::new());
    let mut options = Options::new(location(config), clock);
    options.checkpoint_pages = config.storage.checkpoint_pages;
    options.max_mib = config.storage.max_mib;
    options.state = config.storage.state();
    if options.state.is_none() {
        tracing::warn!("no folder to remember acknowledged entries in: name one with --state, or set HOME");
    }
    let store = Arc::new(Store::open(options).await?);
    let gate = Gate::start(store, Arc::new(SystemEntropy), config.gate()).await?;
    // A database that lost entries is served read-only, so that it can be inspected.
    if gate.store().lost().is_none() {
        prepare(&gate, config, bootstrap, policy.as_ref()).await?;
    }
    let settings =
        Settings { upstreams, root_card, proxies: config.proxies()?, ..settings(config, dev, address) };
    let state = State::new(gate.clone(), settings, metrics());
    let (tasks, cancel) = (TaskTracker::new(), CancellationToken::new());
    if let Some(policy) = policy {
        tasks.spawn(policy::watch(gate.clone(), policy, cancel.clone()));
    }
    let called = Callbacks::new(gate.clone(), Sockets::new(callbacks(config)));
    let mut channels: Vec<Arc<dyn Channel>> = vec![Arc::new(called), Arc::new(Resumes::of(&state))];
    if let Some(http) = state.push_client() {
        channels.push(Arc::new(Posts::new(http, Arc::new(TaskNews::of(&state)))));
    }
    tasks.spawn(Deliveries::new(gate.clone(), channels).run(cancel.clone()));
    let (watched, closing_agents) = (state.clone(), cancel.clone());
    tasks.spawn(async move { watched.watch_agents(closing_agents).await });
    if let Location::Folder(data) = location(config) {
        // Bound before the server says that it listens, because `placet key new` may follow at once.
        match OwnerSocket::bind(data) {
            Ok(owner) => {
                tasks.spawn(owner.serve(gate.clone(), page_url(config, address), cancel.clone()));
            }
            Err(error) => tracing::warn!(%error, "no socket for `placet key new` in the data folder"),
        }
    }
    let limits = ListenLimits {
        connections: config.limits.connections,
        connections_per_address: Some(config.limits.connections_per_address).filter(|each| *each > 0),
        header_timeout: config.limits.header_timeout,
        ..ListenLimits::default()
    };
    let closing = Closing { grace: config.server.grace };
    let (stop, stopped) = oneshot::channel();
    let shutdown = async move {
        let _ = stopped.await;
    };
    let served = tasks.spawn(placet_server::run(listeners, state, limits, closing, shutdown));
    let pages = page_url(config, address);
    Ok(RunningServer { url: format!("http://{address}"), pages, gate, stop, served, tasks, cancel })
}

/// The writes before the doors open.
async fn prepare(
    gate: &Gate,
    config: &Config,
    bootstrap: Option<String>,
    policy: Option<&NamedPolicy>,
) -> anyhow::Result<()> {
    if let Some(token) = bootstrap
        && gate.bootstrap(token).await?
    {
        tracing::info!("first start: PLACET_BOOTSTRAP_TOKEN is the first admin's key");
    }
    // Without the switch, open votes no longer count.
    gate.open_deciding(config.doors.open_decide).await?;
    // Sessions of version 0.2 are only a cookie: their people sign in again.
    if gate.store().lost().is_none() {
        let ended = gate.end_unbound().await?;
        if ended > 0 {
            tracing::info!(
                ended,
                "sessions whose browser signs nothing are over: their people sign in again"
            );
        }
    }
    // Grants of version 0.2 on commands have no folder.
    if gate.store().lost().is_none() {
        let ended = gate.end_outgrown().await?;
        if ended > 0 {
            tracing::warn!(ended, "grants of version 0.2 on commands have ended; the dashboard lists them");
        }
    }
    // Before the doors open, because the first request is judged by it.
    if let Some(policy) = policy {
        policy::apply(gate, policy).await?;
    }
    Ok(())
}

/// The address of this server for people's browsers, as far as known.
fn page_url(config: &Config, address: SocketAddr) -> String {
    match config.server.hosts.first() {
        Some(host) if config.server.behind_proxy => format!("https://{host}"),
        _ if address.ip().is_unspecified() => format!("http://localhost:{}", address.port()),
        _ => format!("http://{address}"),
    }
}

/// The addresses at which agents may be called back.
fn callbacks(config: &Config) -> Rules {
    Rules::new(config.doors.callback_hosts.iter().cloned())
}

fn settings(config: &Config, dev: bool, address: SocketAddr) -> Settings {
    let own = if address.is_ipv6() { format!("[{}]", address.ip()) } else { address.ip().to_string() };
    Settings {
        hosts: Hosts::loopback().and(config.server.hosts.iter().cloned()).and([own]),
        unbound: config.sessions.unbound,
        requests_per_second: config.limits.requests_per_second,
        wait_max: config.limits.wait_max,
        body_timeout: config.limits.body_timeout,
        slow_reader: config.limits.slow_reader,
        streams_per_principal: config.limits.streams_per_principal,
        dev,
        open_decide: config.doors.open_decide,
        door_origins: config.doors.origins.clone(),
        public_health: config.server.public_health,
        events: EventsDoor { callbacks: callbacks(config), body_max: config.doors.events.body_max },
        desk: Desk {
            pause: match config.doors.desk.pause {
                config::Pause::InputRequired => Pause::InputRequired,
                config::Pause::AuthRequired => Pause::AuthRequired,
                config::Pause::Working => Pause::Working,
            },
            completed_always: config.doors.desk.completed_always,
        },
        upstreams: Vec::new(),
        // An agent chooses the address, the path and a header. It must not reach services of this machine, unless the
        // operator allows it.
        push: if dev {
            callbacks(config)
        } else {
            Rules::listed_only(config.doors.callback_hosts.iter().cloned())
        },
        ..Settings::default()
    }
}

/// The process-wide metrics recorder. A second server in one process has none.
fn metrics() -> Option<PrometheusHandle> {
    let seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 30.0];
    let sizes = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &seconds)
        .and_then(|builder| builder.set_buckets_for_metric(Matcher::Suffix("_size".to_owned()), &sizes));
    builder.ok()?.install_recorder().ok()
}

/// Every waiting agent holds a connection, and the usual soft limit of 1,024 files is soon reached.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
    {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
}

/// What the operator should know, and do next.
async fn say_hello(running: &RunningServer, config: &Config, dev: bool) {
    let durability = running.gate.store().durability();
    tracing::info!(database = durability.database, durability = %durability.level, "ready");
    for warning in running.gate.warnings() {
        tracing::warn!("{warning}");
    }
    match running.gate.policy(&Actor::system()).await {
        Ok(policy) => {
            let name = policy.name.as_deref().unwrap_or("-");
            tracing::info!(name, hash = %policy.hash, source = %policy.source, "policy in force");
            if let Some(broken) = policy.broken {
                tracing::error!(
                    "the policy in force cannot be used, so every request waits for two people: {broken}"
                );
            }
        }
        Err(error) => tracing::error!(%error, "the policy in force cannot be read"),
    }
    if dev {
        output::to_stderr(if config.doors.open_decide {
            "--dev with doors.open_decide: ANY program on this machine may ask as the agent `local` AND decide as `open-reviewer`, through the doors of other gateways. For development only."
        } else {
            "--dev: programs on this machine may ask as the agent `local` without a key. What policy holds still needs a reviewer's key."
        });
    }
    if running.gate.store().lost().is_some() {
        return;
    }
    match running.gate.first_link().await {
        Ok(Some(link)) => output::to_stderr(&format!(
            "Nobody can sign in yet. Open this once, in a browser, until {}, to sign in as `{}`:\n  {}/sign-in/{}",
            link.expires_at,
            link.name,
            running.pages,
            link.token.unwrap_or_default()
        )),
        Ok(None) => {}
        Err(error) => tracing::error!(%error, "no link for the first person could be made"),
    }
    if running.gate.is_new() {
        let place = match location(config) {
            Location::Folder(data) => format!("--data {}", data.display()),
            Location::Postgres(_) => "--database URL".to_owned(),
        };
        output::to_stderr(&format!(
            "There are no keys yet. Make some, in another terminal:\n  \
             placet key new --role admin --name you {place}\n  \
             placet key new --role reviewer --name you {place}\n  \
             placet key new --role agent --name my-agent {place}"
        ));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    /// On one thread: no other task runs between the start and the check, so the result does not depend on timing.
    #[tokio::test]
    async fn a_server_that_has_started_takes_questions_on_the_owners_socket() {
        let folder = tempfile::tempdir().unwrap();
        let running = start(StartOptions {
            data: folder.path().to_owned(),
            listen: ListenAddress::loopback(0),
            bootstrap_token: "a-bootstrap-token-of-32-characters".to_owned(),
            policy: NamedPolicy::built_in("test", "version = 1\n").unwrap(),
        })
        .await
        .unwrap();
        let connected = UnixStream::connect(folder.path().join("placet.sock"));
        running.stop().await;
        connected.expect("the socket is bound");
    }
}
