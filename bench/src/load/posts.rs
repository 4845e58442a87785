//! One call, sent repeatedly without a key, to compare with servers of other projects.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::closed::Pace;
use super::conn::Conn;
use super::figures::Latencies;

/// The result of a loop of one call.
#[derive(Debug, Clone)]
pub struct PostRate {
    /// Good answers a second.
    pub per_second: f64,
    /// How long each took.
    pub latency: Latencies,
    /// Answers with another status, which do not count.
    pub failed: usize,
}

/// The bytes of a JSON POST without a key.
pub fn post(addr: SocketAddr, path: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nhost: {addr}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Runs `clients` clients, each with its own connection. Runs longer if no call was answered.
pub async fn run(
    addr: SocketAddr,
    path: &str,
    body: &str,
    status: u16,
    clients: usize,
    mut pace: Pace,
) -> Result<PostRate> {
    let call = post(addr, path, body);
    loop {
        let posted = window(addr, &call, status, clients, pace).await?;
        if !posted.latency.is_empty() {
            return Ok(posted);
        }
        pace = pace.slower().filter(|_| posted.failed == 0).with_context(|| {
            let (time, failed) = (pace.measure.as_millis(), posted.failed);
            format!(
                "not one call was answered with {status} in {time} ms, and {failed} were answered otherwise"
            )
        })?;
    }
}

/// One window of `pace`.
async fn window(addr: SocketAddr, call: &[u8], status: u16, clients: usize, pace: Pace) -> Result<PostRate> {
    let begin = Instant::now() + pace.warm_up;
    let end = begin + pace.measure;
    let mut tasks: JoinSet<Result<(Vec<Duration>, usize)>> = JoinSet::new();
    for _ in 0..clients {
        let call = call.to_vec();
        tasks.spawn(async move {
            let mut conn = Conn::open(addr).await?;
            let (mut recorded, mut failed) = (Vec::new(), 0);
            loop {
                let sent = Instant::now();
                let good = conn.call(&call).await?.status == status;
                let answered = Instant::now();
                match (good, answered >= begin) {
                    _ if answered >= end => return Ok((recorded, failed)),
                    (true, true) => recorded.push(answered - sent),
                    (false, true) => failed += 1,
                    (_, false) => {}
                }
            }
        });
    }
    let (mut recorded, mut failed) = (Vec::new(), 0);
    let drain = async {
        while let Some(done) = tasks.join_next().await {
            let (mut more, wrong) = done??;
            recorded.append(&mut more);
            failed += wrong;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(pace.warm_up + pace.measure + Duration::from_mins(1), drain)
        .await
        .context("a client was still waiting for its answer a minute after the end")??;
    let per_second = recorded.len() as f64 / pace.measure.as_secs_f64();
    Ok(PostRate { per_second, latency: Latencies::new(recorded), failed })
}
