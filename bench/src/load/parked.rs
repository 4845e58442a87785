//! Memory of parked waiters: HTTP/1.1 with one connection each, HTTP/2 with a hundred streams per connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::conn::Conn;
use super::process;
use super::target::Target;
use super::wire::{self, HeldRequest};

/// Streams on one connection; servers commonly allow 100 or more.
const STREAMS: usize = 100;

/// Which protocol the waiters speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// A connection each.
    Http1,
    /// A stream each.
    Http2,
}

/// Bytes of server memory per parked waiter: one waiter on each of `held`.
pub async fn bytes_per_waiter(target: &Target, held: &[HeldRequest], protocol: Protocol) -> Result<f64> {
    warm_up(target, held).await?;
    process::settle(target.pid, Duration::from_mins(1)).await?;
    let before = process::resident(target.pid)?;

    let early = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    let begun = Instant::now();
    match protocol {
        Protocol::Http1 => park_http1(target, held, &early, &mut tasks).await?,
        Protocol::Http2 => park_http2(target, held, &early, &mut tasks).await?,
    }
    process::settle(target.pid, Duration::from_mins(1)).await?;
    let after = process::resident(target.pid)?;

    if let Some(done) = tasks.try_join_next() {
        done??;
        bail!("a waiter was answered although nothing was decided");
    }
    let early = early.load(Ordering::Relaxed);
    if early > 0 {
        bail!("{early} waits ran out while parking took {} s", begun.elapsed().as_secs());
    }
    tasks.shutdown().await;
    Ok((after as f64 - before as f64) / held.len() as f64)
}

/// Reads every request over several connections until memory no longer grows. Database caches are bounded and not a
/// waiter's, so they must be full before the first figure.
async fn warm_up(target: &Target, held: &[HeldRequest]) -> Result<()> {
    const CONNECTIONS: usize = 16;
    const PASSES: usize = 12;
    let ids: Arc<Vec<String>> = Arc::new(held.iter().map(|held| held.id.clone()).collect());
    let mut before = process::resident(target.pid)?;
    for _ in 0..PASSES {
        let mut tasks = JoinSet::new();
        for first in 0..CONNECTIONS {
            let (target, ids) = (target.clone(), Arc::clone(&ids));
            tasks.spawn(async move {
                let mut conn = Conn::open(target.addr).await?;
                for id in ids.iter().skip(first).step_by(CONNECTIONS) {
                    let request = wire::get(target.addr, &format!("/v1/requests/{id}"), &target.agent);
                    conn.call(&request).await?.expect(200, "read")?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        let now = process::resident(target.pid)?;
        if now <= before + before / 50 {
            return Ok(());
        }
        before = now;
    }
    Ok(())
}

async fn park_http1(
    target: &Target,
    held: &[HeldRequest],
    early: &Arc<AtomicUsize>,
    tasks: &mut JoinSet<Result<()>>,
) -> Result<()> {
    for held in held {
        let mut conn = Conn::open(target.addr).await?;
        conn.send(&wire::get(target.addr, &wire::wait_path(&held.id), &target.agent)).await?;
        let early = Arc::clone(early);
        tasks.spawn(async move {
            conn.receive().await?.expect(200, "wait")?;
            early.fetch_add(1, Ordering::Relaxed);
            std::future::pending().await
        });
    }
    Ok(())
}

async fn park_http2(
    target: &Target,
    held: &[HeldRequest],
    early: &Arc<AtomicUsize>,
    tasks: &mut JoinSet<Result<()>>,
) -> Result<()> {
    for group in held.chunks(STREAMS) {
        let stream = TcpStream::connect(target.addr).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) =
            http2::handshake::<_, _, Empty<Bytes>>(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .context("the server does not speak HTTP/2 with prior knowledge")?;
        tasks.spawn(async move { connection.await.context("an HTTP/2 connection broke") });
        for held in group {
            let request = hyper::Request::get(format!("http://{}{}", target.addr, wire::wait_path(&held.id)))
                .header("authorization", format!("Bearer {}", target.agent))
                .body(Empty::new())?;
            let mut sender = sender.clone();
            let early = Arc::clone(early);
            tasks.spawn(async move {
                sender.ready().await.context("no HTTP/2 stream to be had")?;
                let answer = sender.send_request(request).await.context("a parked HTTP/2 wait broke")?;
                let status = answer.status();
                let body = answer.into_body().collect().await?.to_bytes();
                if status != hyper::StatusCode::OK {
                    bail!("wait: expected status 200, got {status}: {}", String::from_utf8_lossy(&body));
                }
                early.fetch_add(1, Ordering::Relaxed);
                std::future::pending().await
            });
        }
        // Sends the frames group by group instead of 20,000 at the end.
        tokio::task::yield_now().await;
    }
    Ok(())
}
