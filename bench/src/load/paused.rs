//! Many tasks that wait for people, each with a client that follows it. Then all are approved.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::posts::post;
use super::process::resident;
use super::target::Target;
use crate::node::http::Http;

/// The result.
#[derive(Debug, Clone, Copy)]
pub struct PausedResult {
    /// Streams that were open while people decided.
    pub held: usize,
    /// Streams that reported the end.
    pub ended: usize,
    /// Kibibytes of the server's memory for each.
    pub kib: f64,
    /// From the first decision to the last stream's end.
    pub took: Duration,
}

const PATIENCE: Duration = Duration::from_mins(2);

/// Holds `count` tasks behind the proxy at `path`, and approves them all.
pub async fn run(target: &Target, path: &str, count: usize) -> Result<PausedResult> {
    let before = resident(target.pid)?;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": {"message": {
        "kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hold"}],
    }}});
    let call = post(target.addr, path, &body.to_string());
    let mut opening = JoinSet::new();
    for _ in 0..count {
        let (call, addr) = (call.clone(), target.addr);
        opening.spawn(async move { open(addr, &call).await });
        // As many as a busy machine takes at once.
        if opening.len() >= 64 {
            tokio::task::yield_now().await;
        }
    }
    let mut streams = Vec::with_capacity(count);
    while let Some(stream) = opening.join_next().await {
        streams.push(stream??);
    }
    let held = streams.len();
    let after = resident(target.pid)?;
    let kib = (after.saturating_sub(before)) as f64 / 1024.0 / held.max(1) as f64;
    let begun = Instant::now();
    let mut ending = JoinSet::new();
    for stream in streams {
        ending.spawn(read_to(stream, "\"completed\""));
    }
    let (addr, reviewer) = (target.addr, target.reviewer.clone());
    tokio::task::spawn_blocking(move || approve(addr, &reviewer, count)).await??;
    let mut ended = 0;
    while let Some(done) = ending.join_next().await {
        ended += usize::from(done?.is_ok());
    }
    Ok(PausedResult { held, ended, kib, took: begun.elapsed() })
}

async fn open(addr: SocketAddr, call: &[u8]) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(addr).await?;
    stream.write_all(call).await?;
    read_to(stream, "Awaiting approval").await
}

/// Reads until a word comes.
async fn read_to(mut stream: TcpStream, word: &str) -> Result<TcpStream> {
    let read = async {
        let mut seen = Vec::new();
        loop {
            if stream.read_buf(&mut seen).await? == 0 {
                bail!("the stream ended without {word}: {}", String::from_utf8_lossy(&seen));
            }
            if seen.windows(word.len()).any(|window| window == word.as_bytes()) {
                return anyhow::Ok(());
            }
        }
    };
    tokio::time::timeout(PATIENCE, read).await.with_context(|| format!("{word} never came"))??;
    Ok(stream)
}

fn approve(addr: SocketAddr, reviewer: &str, count: usize) -> Result<()> {
    let mut http = Http::new(addr, reviewer);
    let mut left = count;
    while left > 0 {
        let listed = http.get("/v1/requests?state=pending&limit=100", Duration::from_secs(30))?;
        let items = listed.json()?["items"].as_array().cloned().unwrap_or_default();
        if items.is_empty() {
            bail!("{left} tasks wait for nobody");
        }
        let decisions: Vec<Value> = items
            .iter()
            .map(|item| json!({"id": item["id"], "digest": item["digest"], "version": item["version"], "decision": "approve"}))
            .collect();
        let answer = http.post("/v1/decisions", None, &json!(decisions), Duration::from_secs(30))?;
        if answer.status != 200 {
            bail!("the decisions were answered with {}: {}", answer.status, answer.text());
        }
        left = left.saturating_sub(items.len());
    }
    Ok(())
}
