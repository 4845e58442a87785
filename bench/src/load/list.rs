//! The time for a reviewer's page of the queue, and for ten pages of history.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::time::Instant;

use super::conn::Conn;
use super::figures::Latencies;
use super::target::Target;
use super::wire;

/// The first page of the queue, `calls` times over.
pub async fn pending(target: &Target, calls: usize) -> Result<Latencies> {
    let mut conn = Conn::open(target.addr).await?;
    let request = wire::get(target.addr, "/v1/requests?state=pending&limit=50", &target.reviewer);
    let mut recorded = Vec::with_capacity(calls);
    for call in 0..calls + 5 {
        let sent = Instant::now();
        let answer = conn.call(&request).await?;
        let took = sent.elapsed();
        answer.expect(200, "list of pending requests")?;
        let found = count(answer.body);
        if found != 50 {
            bail!("the first page of pending requests holds {found} instead of 50");
        }
        // The first five fill caches.
        if call >= 5 {
            recorded.push(took);
        }
    }
    Ok(Latencies::new(recorded))
}

/// `pages` pages of 100, newest first, `walks` times over; each walk is one latency.
pub async fn pages(target: &Target, filter: &str, pages: usize, walks: usize) -> Result<Latencies> {
    let mut conn = Conn::open(target.addr).await?;
    let mut recorded = Vec::with_capacity(walks);
    for walk in 0..=walks {
        // Only the calls are timed, not this client's counting.
        let mut took = Duration::ZERO;
        let mut cursor = String::new();
        for page in 0..pages {
            let path = format!("/v1/requests?limit=100{filter}{cursor}");
            let request = wire::get(target.addr, &path, &target.reviewer);
            let sent = Instant::now();
            let answer = conn.call(&request).await?;
            took += sent.elapsed();
            answer.expect(200, "a page of requests")?;
            let found = count(answer.body);
            if found != 100 {
                bail!("page {page} holds {found} requests instead of 100");
            }
            if page + 1 < pages {
                cursor = wire::text_after(answer.body, b"\"next_cursor\":\"")
                    .map(|next| format!("&cursor={next}"))
                    .with_context(|| format!("page {page} has no next_cursor"))?;
            }
        }
        // The first walk fills caches.
        if walk > 0 {
            recorded.push(took);
        }
    }
    Ok(Latencies::new(recorded))
}

/// How many records a page holds: each has one link to its own page.
fn count(body: &[u8]) -> usize {
    memchr::memmem::find_iter(body, b"\"url\":\"/r/").count()
}
