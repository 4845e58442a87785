//! The time from a decision to the answer of a parked waiter: one by one, or all decided at once.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::sync::{Barrier, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::conn::Conn;
use super::figures::Latencies;
use super::fill;
use super::process;
use super::target::Target;
use super::wire::{self, HeldRequest};

/// The three intervals of one decision, as seen from outside.
#[derive(Debug, Clone)]
pub struct Wakes {
    /// From the reviewer's 200 to the waiter's answer. 0 if the waiter was first.
    pub acknowledged_to_answered: Latencies,
    /// From sending the decision to the waiter's answer.
    pub sent_to_answered: Latencies,
    /// From sending the decision to the reviewer's 200.
    pub sent_to_acknowledged: Latencies,
}

/// A waiter with its long poll sent.
struct Waiter {
    held: HeldRequest,
    answered: oneshot::Receiver<Instant>,
}

struct ParkedWaiters {
    waiters: Vec<Waiter>,
    tasks: JoinSet<Result<()>>,
}

/// Parks `count` waiters, each on its own connection and its own request, and waits until the server is idle.
async fn park(target: &Target, count: usize) -> Result<ParkedWaiters> {
    let held = fill::create(target, count).await?;
    let mut waiters = Vec::with_capacity(count);
    let mut tasks = JoinSet::new();
    for held in held {
        let mut conn = Conn::open(target.addr).await?;
        let request = wire::get(target.addr, &wire::wait_path(&held.id), &target.agent);
        conn.send(&request).await?;
        let (tell, answered) = oneshot::channel();
        tasks.spawn(async move {
            loop {
                let answer = conn.receive().await?;
                let at = Instant::now();
                answer.expect(200, "wait")?;
                if !wire::is_pending(answer.body) {
                    // The receiver is gone only if the measurement has failed elsewhere.
                    let _ = tell.send(at);
                    return Ok(());
                }
                // The wait timed out before its turn: wait again, as an agent would.
                conn.send(&request).await?;
            }
        });
        waiters.push(Waiter { held, answered });
    }
    process::settle(target.pid, Duration::from_mins(1)).await?;
    Ok(ParkedWaiters { waiters, tasks })
}

struct Times {
    sent: Instant,
    acknowledged: Instant,
    answered: Instant,
}

fn wakes(times: Vec<Times>) -> Wakes {
    let each = |interval: fn(&Times) -> Duration| Latencies::new(times.iter().map(interval).collect());
    Wakes {
        // Later minus earlier saturates at zero: an answer before the acknowledgement counts as 0.
        acknowledged_to_answered: each(|t| t.answered.saturating_duration_since(t.acknowledged)),
        sent_to_answered: each(|t| t.answered.saturating_duration_since(t.sent)),
        sent_to_acknowledged: each(|t| t.acknowledged.saturating_duration_since(t.sent)),
    }
}

/// Parks `parked` waiters at a time and decides them one after another, until `total` were woken.
pub async fn one_by_one(target: &Target, parked: usize, total: usize) -> Result<Wakes> {
    let mut times = Vec::with_capacity(total);
    if parked == 1 {
        return lone(target, total).await;
    }
    while times.len() < total {
        let mut group = park(target, parked.min(total - times.len())).await?;
        let mut reviewer = Conn::open(target.addr).await?;
        for waiter in group.waiters {
            times.push(decide(target, &mut reviewer, waiter).await?);
        }
        finish(&mut group.tasks).await?;
    }
    Ok(wakes(times))
}

/// One waiter at a time, `total` times: parked, given 5 ms to settle, decided.
async fn lone(target: &Target, total: usize) -> Result<Wakes> {
    let mut agent = Conn::open(target.addr).await?;
    let mut reviewer = Conn::open(target.addr).await?;
    let mut times = Vec::with_capacity(total);
    for held in fill::create(target, total).await? {
        agent.send(&wire::get(target.addr, &wire::wait_path(&held.id), &target.agent)).await?;
        tokio::time::sleep(Duration::from_millis(5)).await;
        let request = wire::approve(target.addr, &target.reviewer, &held);
        let sent = Instant::now();
        let (acknowledged, answered) = tokio::join!(
            async {
                reviewer.call(&request).await?.expect(200, "decision")?;
                anyhow::Ok(Instant::now())
            },
            async {
                let answer = agent.receive().await?;
                let at = Instant::now();
                answer.expect(200, "wait")?;
                if wire::is_pending(answer.body) {
                    bail!("the wait on {} ended before it was decided", held.id);
                }
                anyhow::Ok(at)
            },
        );
        times.push(Times { sent, acknowledged: acknowledged?, answered: answered? });
    }
    Ok(wakes(times))
}

async fn decide(target: &Target, reviewer: &mut Conn, waiter: Waiter) -> Result<Times> {
    let request = wire::approve(target.addr, &target.reviewer, &waiter.held);
    let sent = Instant::now();
    reviewer.call(&request).await?.expect(200, "decision")?;
    let acknowledged = Instant::now();
    let answered = tokio::time::timeout(Duration::from_secs(10), waiter.answered)
        .await
        .with_context(|| format!("the waiter on {} was not answered in 10 s", waiter.held.id))?
        .with_context(|| format!("the waiter on {} gave up", waiter.held.id))?;
    Ok(Times { sent, acknowledged, answered })
}

/// Parks `count` waiters and decides them all at the same instant, each over its own reviewer connection.
pub async fn at_once(target: &Target, count: usize) -> Result<Wakes> {
    let mut parked = park(target, count).await?;
    let gate = Arc::new(Barrier::new(count));
    let mut deciders = JoinSet::new();
    for waiter in parked.waiters.drain(..) {
        let mut reviewer = Conn::open(target.addr).await?;
        let gate = Arc::clone(&gate);
        let target = target.clone();
        deciders.spawn(async move {
            gate.wait().await;
            decide(&target, &mut reviewer, waiter).await
        });
    }
    let mut times = Vec::with_capacity(count);
    while let Some(done) = deciders.join_next().await {
        times.push(done??);
    }
    finish(&mut parked.tasks).await?;
    // For all of them the burst begins when the first decision is sent.
    if let Some(first) = times.iter().map(|times| times.sent).min() {
        for times in &mut times {
            times.sent = first;
        }
    }
    Ok(wakes(times))
}

async fn finish(tasks: &mut JoinSet<Result<()>>) -> Result<()> {
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

/// Decides `count` requests one by one without other load, and measures each acknowledgement.
pub async fn acknowledgements(target: &Target, count: usize) -> Result<Latencies> {
    let held = fill::create(target, count).await?;
    process::settle(target.pid, Duration::from_secs(30)).await?;
    let mut reviewer = Conn::open(target.addr).await?;
    let mut recorded = Vec::with_capacity(count);
    for held in &held {
        let request = wire::approve(target.addr, &target.reviewer, held);
        let sent = Instant::now();
        reviewer.call(&request).await?.expect(200, "decision")?;
        recorded.push(sent.elapsed());
    }
    Ok(Latencies::new(recorded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_before_the_acknowledgement_counts_as_zero() {
        let sent = Instant::now();
        let answered = sent + Duration::from_millis(2);
        let acknowledged = sent + Duration::from_millis(3);
        let wakes = wakes(vec![Times { sent, acknowledged, answered }]);
        assert!(wakes.acknowledged_to_answered.p50().abs() < f64::EPSILON);
        assert!((wakes.sent_to_answered.p50() - 2.0).abs() < 1e-9);
        assert!((wakes.sent_to_acknowledged.p50() - 3.0).abs() < 1e-9);
    }
}
