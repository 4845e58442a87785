//! Accepting connections within limits, and closing them in two stages.

use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Once},
    task::{Context, Poll},
    time::Duration,
};

use axum::{Router, body::Body};
use http::{HeaderMap, header};
use hyper::{Request, Version, body::Incoming};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::{conn::auto::Builder, graceful::GracefulShutdown},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::Semaphore,
    time::{Instant, Sleep},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::{ServiceExt as _, util::Oneshot};

use crate::{
    Listeners, State,
    guard::Peer,
    later::Answer,
    shares::Shares,
    state::router,
    unsent::{AnswerBody, Budget, Counted, Unread},
    write_deadline::{StreamExecutor, until_nothing_moves},
};

/// Bounds on connections.
#[derive(Debug, Clone)]
pub struct ListenLimits {
    /// How many at once.
    pub connections: usize,
    /// How many of them one address may have; a quarter if nothing is said. Loopback may have three quarters, and trusted
    /// proxies all.
    pub connections_per_address: Option<usize>,
    /// How long the head of a request may take, and how long a connection may idle.
    pub header_timeout: Duration,
    /// How long a reader may leave us unable to write.
    pub write_timeout: Duration,
    /// HTTP/2 streams per connection.
    pub streams_per_connection: u32,
    /// How many bytes of answers may wait on one connection for the other side to read them.
    pub unsent_per_connection: usize,
}

impl Default for ListenLimits {
    fn default() -> Self {
        Self {
            connections: 16_384,
            connections_per_address: None,
            header_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            // The least that RFC 9113 recommends.
            streams_per_connection: 100,
            unsent_per_connection: 8 * 1024 * 1024,
        }
    }
}

/// How long each stage of closing may take.
#[derive(Debug, Clone)]
pub struct Closing {
    /// For calls in flight, once their waits have ended.
    pub grace: Duration,
}

impl Default for Closing {
    fn default() -> Self {
        Self { grace: Duration::from_secs(10) }
    }
}

/// Serves until `shutdown` ends, then closes: first waits and streams end and no connection is accepted, then calls in
/// flight finish, and what is left after the grace is cut.
pub async fn run(
    listeners: impl Into<Listeners>,
    state: State,
    limits: ListenLimits,
    closing: Closing,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let mut listeners = listeners.into();
    let router = router(&state);
    let connections = Arc::new(Semaphore::new(limits.connections));
    let shares = Shares::new(limits.connections, limits.connections_per_address);
    let (graceful, tasks, cut) = (GracefulShutdown::new(), TaskTracker::new(), CancellationToken::new());
    let builder = Arc::new(builder(&limits));
    tokio::pin!(shutdown);
    tasks.spawn({
        let state = state.clone();
        async move { state.tidy().await }
    });
    tasks.spawn(crate::doors::events::follow(state.clone()));
    loop {
        let seat = connections.clone().acquire_owned();
        let (seat, accepted) = tokio::select! {
            accepted = async { (seat.await, listeners.accept().await) } => accepted,
            () = &mut shutdown => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of file handles, most likely: wait for some to be given back instead of spinning.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let share = shares.take(peer.ip());
        if share.is_none() && !state.settings.proxies.trusts(peer.ip()) {
            metrics::counter!("placet_connections_refused_total").increment(1);
            continue;
        }
        let _ = stream.set_nodelay(true);
        let io = TokioIo::new(Patient::new(stream, &limits));
        let cut = cut.child_token();
        let service = Calls {
            router: router.clone(),
            peer,
            unsent: Arc::new(Budget::new(limits.unsent_per_connection)),
            state: state.clone(),
            h2: Once::new(),
            // The watcher of a connection ends with it.
            watcher: Watcher { patience: limits.write_timeout, cut: cut.clone(), tasks: tasks.clone() },
        };
        let connection = builder.serve_connection_with_upgrades(io, service).into_owned();
        let connection = graceful.watch(connection);
        tasks.spawn(async move {
            tokio::select! {
                // A connection that breaks is the client's business; its calls were answered or can be asked again.
                _ = connection => {}
                () = cut.cancelled() => {}
            }
            cut.cancel();
            drop((seat, share));
        });
    }
    drop(listeners);
    state.begin_closing();
    let ended = async {
        graceful.shutdown().await;
        state.streams_ended().await;
    };
    if tokio::time::timeout(closing.grace, ended).await.is_err() {
        tracing::warn!("some connections were still open and are cut");
    }
    cut.cancel();
    tasks.close();
    tasks.wait().await;
    Ok(())
}

fn builder(limits: &ListenLimits) -> Builder<StreamExecutor> {
    let mut builder = Builder::new(StreamExecutor { patience: limits.write_timeout });
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_buf_size(64 * 1024)
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams_per_connection)
        .max_send_buf_size(64 * 1024)
        .max_header_list_size(32 * 1024)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20))
        // A client that opens and resets streams in a loop is cut off.
        .max_pending_accept_reset_streams(64);
    builder
}

/// One connection's calls, each given to the router with where it comes from.
struct Calls {
    router: Router,
    peer: SocketAddr,
    // Answers on this connection that wait to be read.
    unsent: Arc<Budget>,
    state: State,
    h2: Once,
    watcher: Watcher,
}

/// What cuts a connection of HTTP/2 on which nothing moves.
struct Watcher {
    patience: Duration,
    cut: CancellationToken,
    tasks: TaskTracker,
}

impl Watcher {
    fn watch(&self, connection: Arc<Budget>) {
        let (patience, cut) = (self.patience, self.cut.clone());
        self.tasks.spawn(async move {
            tokio::select! {
                () = until_nothing_moves(&connection, patience) => {
                    metrics::counter!("placet_slow_readers_total").increment(1);
                    tracing::debug!("a connection is cut: the other side does not read");
                    cut.cancel();
                }
                () = cut.cancelled() => {}
            }
        });
    }
}

impl Calls {
    /// Who calls: the other end of the connection, or whoever a trusted proxy says.
    fn client(&self, headers: &HeaderMap) -> SocketAddr {
        let proxies = &self.state.settings.proxies;
        let forwarded = headers.contains_key("x-forwarded-for") || headers.contains_key(header::FORWARDED);
        if !forwarded {
            return self.peer;
        }
        if !proxies.trusts(self.peer.ip()) {
            self.state.unlisted_proxy.get_or_init(|| {
                tracing::warn!(address = %self.peer.ip(), "a header of proxies is ignored: server.trusted_proxies does not list this address");
                self.peer.ip()
            });
        }
        SocketAddr::new(proxies.client(self.peer, headers), self.peer.port())
    }
}

impl hyper::service::Service<Request<Incoming>> for Calls {
    type Response = http::Response<AnswerBody>;
    type Error = Unread;
    type Future = Counted<Answer<Oneshot<Router, Request<Body>>>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        if request.version() == Version::HTTP_2 {
            self.h2.call_once(|| self.watcher.watch(self.unsent.clone()));
        }
        let client = self.client(request.headers());
        let method = request.method().clone();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(client));
        let answer = Answer::Routing(Box::pin(self.router.clone().oneshot(request)));
        Counted::new(answer, self.unsent.clone(), self.state.unsent.clone(), client.ip(), &method)
    }
}

/// Length of the HTTP/2 greeting, and less than any call in HTTP/1.1 that names its host.
const GREETING: usize = 24;

/// A connection that gives up when the other side does not begin in time, or does not read for too long.
struct Patient {
    stream: TcpStream,
    patience: Duration,
    // Set until the first bytes are in: before they tell HTTP/1.1 from HTTP/2, nobody else watches the time.
    greeting: Option<Pin<Box<Sleep>>>,
    heard: usize,
    // Set while a write is stuck; most connections never need it.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    fn new(stream: TcpStream, limits: &ListenLimits) -> Self {
        let greeting = Some(Box::pin(tokio::time::sleep(limits.header_timeout)));
        Self { stream, patience: limits.write_timeout, greeting, heard: 0, stuck: None }
    }

    fn watch<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let patience = self.patience;
        let stuck =
            self.stuck.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + patience)));
        match stuck.as_mut().poll(cx) {
            Poll::Ready(()) => {
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other side does not read")))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let Some(greeting) = &mut self.greeting else { return read };
        if read.is_pending() {
            return match greeting.as_mut().poll(cx) {
                Poll::Ready(()) => {
                    Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other side does not begin")))
                }
                Poll::Pending => Poll::Pending,
            };
        }
        self.heard += buffer.filled().len() - before;
        if self.heard >= GREETING {
            self.greeting = None;
        }
        read
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
