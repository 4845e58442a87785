//! The doors for clients of other gateways, compared with those gateways if they are running: `POST /approvals/`,
//! `POST /events`, and the time until an answer reaches its agent.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};

use super::Bench;
use crate::load::delivery::{self, DeliveryTimes};
use crate::load::figures::Latencies;
use crate::load::posts::{self, PostRate};
use crate::load::subject::Subject;
use crate::report::{Goal, Report, Row};

/// What `@hitl_tool` sends.
const APPROVAL: &str = concat!(
    r#"{"session_id":"6f0c8f3e-6b1b-4c55-9f0e-7a3f0f1f3c11","invocation_id":null,"app_name":"adk_chatbot","#,
    r#""user_id":"current_user","agent_name":"credit_agent","tool_name":"apply_account_credit","#,
    r#""message":"Approval requested for apply_account_credit","#,
    r#""payload":{"account_id":"acc-2231","amount":500.0,"reason":"the parcel was lost twice"}}"#
);

/// What `send_event.py` sends for a tool call, about 650 bytes.
const EVENT: &str = concat!(
    r#"{"source_app":"bench","session_id":"0b8f6a52-53d0-4f0b-8a3b-1d6f2d5f9a10","hook_event_type":"PreToolUse","#,
    r#""payload":{"session_id":"0b8f6a52-53d0-4f0b-8a3b-1d6f2d5f9a10","transcript_path":"/home/dev/.claude/projects/shop/0b8f6a52.jsonl","#,
    r#""cwd":"/home/dev/shop","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","#,
    r#""tool_input":{"command":"cargo test --workspace --all-targets -- --nocapture","description":"Run all tests of the workspace"},"#,
    r#""tool_use_id":"toolu_01A9bC3dE5fG7hJ9kL1mN3pQ"},"timestamp":1794700000000,"model_name":"claude","tool_name":"Bash","#,
    r#""tool_use_id":"toolu_01A9bC3dE5fG7hJ9kL1mN3pQ"}"#
);

const CLIENTS: [usize; 3] = [1, 16, 64];

pub(super) async fn doors(bench: &Bench, report: &mut Report) {
    for clients in CLIENTS {
        let approvals = Posts {
            path: "/approvals/",
            body: APPROVAL,
            status: 201,
            peer: bench.peers.approvals,
            baseline: "/s community gateway",
            goal: Goal::ShareOfBaseline(20.0),
        };
        report.take("doors", "POST /approvals/", rows(bench, &approvals, clients).await);
    }
    for clients in CLIENTS {
        let events = Posts {
            path: "/events",
            body: EVENT,
            status: 200,
            peer: bench.peers.events,
            baseline: "/s observability server",
            goal: if clients == 64 { Goal::ShareOfBaseline(1.0) } else { Goal::None },
        };
        report.take("doors", "POST /events", rows(bench, &events, clients).await);
    }
    for workers in [1, 16] {
        report.take("doors", "answer to agent", answers(bench, workers).await);
    }
}

/// The server with the settings for clients without keys.
fn subject(bench: &Bench) -> Result<Subject> {
    Subject::open(&bench.bin, &bench.dir)
}

/// One call, over and over.
struct Posts {
    path: &'static str,
    body: &'static str,
    status: u16,
    peer: Option<SocketAddr>,
    baseline: &'static str,
    goal: Goal,
}

async fn rows(bench: &Bench, posts: &Posts, clients: usize) -> Result<Vec<Row>> {
    let Posts { path, body, status, peer, .. } = *posts;
    let what = format!("POST {path}, {clients} {}", if clients == 1 { "client" } else { "clients" });
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..bench.rounds {
        bench.round(round, &what);
        if let Some(peer) = peer {
            let loaded = posts::run(peer, path, body, status, clients, bench.sizes.pace).await;
            theirs.push(loaded.with_context(|| format!("the server at {peer}"))?);
        }
        let subject = subject(bench)?;
        ours.push(posts::run(subject.target().addr, path, body, status, clients, bench.sizes.pace).await?);
    }
    let rate = |all: &[PostRate]| all.iter().map(|posted| posted.per_second).collect::<Vec<f64>>();
    let note = match theirs.last() {
        Some(last) => format!("{}; the other: {}", remark(ours.last()), remark(Some(last))),
        None => format!("{}; no other server was named", remark(ours.last())),
    };
    let row = Row::new("doors", &what, "/s", &rate(&ours)).against(posts.baseline, &rate(&theirs));
    Ok(vec![row.goal(posts.goal).note(note)])
}

fn remark(posted: Option<&PostRate>) -> String {
    posted.map_or_else(String::new, |posted| {
        let PostRate { latency, failed, .. } = posted;
        format!("p50 {:.2} ms, p99 {:.2} ms, {failed} answered otherwise", latency.p50(), latency.p99())
    })
}

async fn answers(bench: &Bench, workers: usize) -> Result<Vec<Row>> {
    let each = (bench.sizes.decisions / 20).max(2) / if workers == 1 { 1 } else { 5 };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..bench.rounds {
        bench.round(round, &format!("answer to agent, {workers} at a time"));
        if let Some(peer) = bench.peers.events {
            theirs.push(delivery::run(peer, workers, each.max(1)).await?);
        }
        let subject = subject(bench)?;
        ours.push(delivery::run(subject.target().addr, workers, each.max(1)).await?);
    }
    let p50 = |all: &[DeliveryTimes], of: fn(&DeliveryTimes) -> &Latencies| {
        all.iter().map(|one| of(one).p50()).collect::<Vec<f64>>()
    };
    let lost = |all: &[DeliveryTimes]| all.iter().map(|one| one.lost).sum::<usize>();
    let p99 = ours.last().map_or(f64::NAN, |one| one.delivered.p99());
    let note = format!("p99 {p99:.2} ms; never delivered: {} here, {} there", lost(&ours), lost(&theirs));
    Ok(vec![
        Row::new(
            "doors",
            format!("respond to agent, {workers} at a time, p50"),
            "ms",
            &p50(&ours, |one| &one.delivered),
        )
        .against("ms observability server", &p50(&theirs, |one| &one.delivered))
        .goal(Goal::TimesBaseline(1.0))
        .note(note),
        Row::new(
            "doors",
            format!("the respond call itself, {workers} at a time, p50"),
            "ms",
            &p50(&ours, |one| &one.call),
        )
        .against("ms observability server", &p50(&theirs, |one| &one.call))
        .goal(Goal::AtMost(20.0)),
    ])
}
