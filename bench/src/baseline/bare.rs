//! Bare axum servers without storage: one parses and answers, one also parks long polls in memory, one is an A2A
//! agent.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use serde_json::Value;
use tokio::sync::watch;

use crate::load::target::Target;

/// Which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Mode {
    /// Parse the JSON and answer, without storage.
    Post,
    /// The calls of a whole cycle, with slots in a map.
    Poll,
    /// An agent that speaks A2A.
    Agent,
}

/// A bare server in its own process, which ends when this is dropped.
#[derive(Debug)]
pub struct Bare {
    child: Child,
    target: Target,
}

impl Bare {
    /// Starts this same program as a bare server, so that both are built the same way.
    pub fn start(mode: Mode) -> Result<Self> {
        Self::start_from(&std::env::current_exe()?, mode)
    }

    /// Starts the named `bench` program as a bare server.
    pub fn start_from(program: &std::path::Path, mode: Mode) -> Result<Self> {
        let word = match mode {
            Mode::Post => "post",
            Mode::Poll => "poll",
            Mode::Agent => "agent",
        };
        let mut child = Command::new(program)
            .args(["bare", word])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the bare server")?;
        let mut line = String::new();
        let stdout = child.stdout.take().context("the bare server has no output")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let addr = line
            .trim()
            .strip_prefix("listening on http://")
            .and_then(|addr| addr.parse().ok())
            .with_context(|| format!("the bare server said {line:?}"))?;
        let target = Target { addr, agent: "bare".into(), reviewer: "bare".into(), pid: child.id() };
        Ok(Self { child, target })
    }

    /// Where it is.
    pub fn target(&self) -> &Target {
        &self.target
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // A process that has already ended is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One request in memory; `true` once it is decided.
type Slot = Arc<watch::Sender<bool>>;

#[derive(Default)]
struct Memory {
    next: AtomicU64,
    slots: Mutex<HashMap<u64, Slot>>,
}

impl Memory {
    fn slot(&self, id: &str) -> Option<(u64, Slot)> {
        let number = id.strip_prefix("req_")?.parse().ok()?;
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Some((number, Arc::clone(slots.get(&number)?)))
    }
}

/// Serves until it is killed.
pub async fn serve(mode: Mode) -> Result<()> {
    let memory = Arc::new(Memory::default());
    let router = match mode {
        Mode::Post => Router::new().route("/v1/requests", post(answer)),
        Mode::Poll => Router::new()
            .route("/v1/requests", post(create))
            .route("/v1/requests/{id}", get(wait))
            .route("/v1/requests/{id}/decision", post(decide)),
        Mode::Agent => Router::new(),
    };
    let router = router.with_state(memory).merge(match mode {
        Mode::Agent => super::agent::routes(),
        _ => Router::new(),
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "listening on http://{}", listener.local_addr()?)?;
    stdout.flush()?;
    let listener = listener.tap_io(|stream| {
        // Nagle's algorithm would make the baseline too slow.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router).await?;
    Ok(())
}

fn record(number: u64, version: u64, state: &str) -> impl IntoResponse + use<> {
    let body = format!(
        r#"{{"id":"req_{number}","version":{version},"state":"{state}","digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000"}}"#
    );
    ([(header::CONTENT_TYPE, "application/json")], body)
}

async fn answer(State(memory): State<Arc<Memory>>, Json(body): Json<Value>) -> impl IntoResponse {
    // Reading one member keeps the parse from being optimised away.
    let state = if body["kind"] == "action" { "pending" } else { "denied" };
    (StatusCode::CREATED, record(memory.next.fetch_add(1, Ordering::Relaxed), 1, state))
}

async fn create(State(memory): State<Arc<Memory>>, Json(body): Json<Value>) -> impl IntoResponse {
    let state = if body["kind"] == "action" { "pending" } else { "denied" };
    let number = memory.next.fetch_add(1, Ordering::Relaxed);
    let slot = Arc::new(watch::Sender::new(false));
    memory.slots.lock().unwrap_or_else(PoisonError::into_inner).insert(number, slot);
    (StatusCode::CREATED, record(number, 1, state))
}

async fn wait(
    State(memory): State<Arc<Memory>>,
    Path(id): Path<String>,
    uri: axum::http::Uri,
) -> Result<impl IntoResponse, StatusCode> {
    let (number, slot) = memory.slot(&id).ok_or(StatusCode::NOT_FOUND)?;
    if uri.query().is_none() {
        return Ok(record(number, 1, "pending"));
    }
    let mut decided = slot.subscribe();
    drop(slot);
    match tokio::time::timeout(Duration::from_mins(1), decided.wait_for(|decided| *decided)).await {
        Ok(_) => {
            memory.slots.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
            Ok(record(number, 2, "approved"))
        }
        Err(_) => Ok(record(number, 1, "pending")),
    }
}

async fn decide(
    State(memory): State<Arc<Memory>>,
    Path(id): Path<String>,
    Json(body): Json<Value>,
) -> Result<impl IntoResponse, StatusCode> {
    let (number, slot) = memory.slot(&id).ok_or(StatusCode::NOT_FOUND)?;
    if body["decision"] != "approve" {
        return Err(StatusCode::UNPROCESSABLE_ENTITY);
    }
    slot.send_replace(true);
    Ok(record(number, 2, "approved"))
}
