//! Creates many requests in a server, and removes them from its queue.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use tokio::task::JoinSet;

use super::closed::next_number;
use super::conn::{Conn, find};
use super::target::Target;
use super::wire::{self, Create, HeldRequest};

/// Connections used for filling; enough to keep the group commit busy.
const CLIENTS: usize = 64;

/// Requests in one batch decision.
const BATCH: usize = 100;

/// Creates `count` held requests over HTTP.
pub async fn create(target: &Target, count: usize) -> Result<Vec<HeldRequest>> {
    let mut tasks = JoinSet::new();
    let clients = CLIENTS.min(count);
    for client in 0..clients {
        let share = count / clients + usize::from(client < count % clients);
        let target = target.clone();
        tasks.spawn(async move {
            let mut conn = Conn::open(target.addr).await?;
            let mut create = Create::new(target.addr, &target.agent, false);
            let mut held = Vec::with_capacity(share);
            for _ in 0..share {
                let answer = conn.call(create.fill(next_number())).await?;
                answer.expect(201, "create")?;
                held.push(HeldRequest::read(answer.body)?);
            }
            anyhow::Ok(held)
        });
    }
    let mut all = Vec::with_capacity(count);
    while let Some(done) = tasks.join_next().await {
        all.append(&mut done??);
    }
    Ok(all)
}

/// Denies all of `held` through batch decisions.
pub async fn deny(target: &Target, held: Vec<HeldRequest>) -> Result<()> {
    let batches: VecDeque<Vec<HeldRequest>> = held.chunks(BATCH).map(<[HeldRequest]>::to_vec).collect();
    let batches = Arc::new(Mutex::new(batches));
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let batches = Arc::clone(&batches);
        let target = target.clone();
        tasks.spawn(async move {
            let mut conn = Conn::open(target.addr).await?;
            loop {
                let next = batches.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                let Some(batch) = next else {
                    return anyhow::Ok(());
                };
                let answer = conn.call(&wire::deny_batch(target.addr, &target.reviewer, &batch)).await?;
                answer.expect(200, "batch decision")?;
                if find(answer.body, b"\"state\":\"pending\"").is_some() {
                    bail!("a batch decision left a request pending");
                }
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}
