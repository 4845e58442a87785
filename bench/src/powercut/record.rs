//! Records the real binary under load: every write, sync and answer, over several starts of the same data folder.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::BufReader;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::disk::{Event, Recording, TimedEvent};
use super::trace::{self, Call, TRACED};
use super::{Options, cuts};
use crate::node::http::Http;
use crate::node::rng::Rng;
use crate::node::{Node, NodeOptions, new_key, say};

/// The command line of the recorder; the program follows it. The tracer stands aside (`-D`), so that the
/// process we start, signal and wait for is the server itself.
pub(super) fn strace(trace: &Path) -> Vec<OsString> {
    let mut command: Vec<OsString> =
        ["strace", "-D", "-f", "--seccomp-bpf", "-qq", "-y", "-xx", "-s", "2097152", "-e", "signal=none"]
            .map(Into::into)
            .to_vec();
    command.push("-e".into());
    command.push(format!("trace={TRACED}").into());
    command.push("-o".into());
    command.push(trace.into());
    command
}

/// Reads a trace once the tracer has finished writing it.
pub(super) fn read_trace(path: &Path, base: usize) -> Result<(Vec<Call>, usize)> {
    // The tracer outlives the program by a moment: wait until its file no longer grows.
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut last = None;
    loop {
        let length = std::fs::metadata(path).with_context(|| format!("the trace {}", path.display()))?.len();
        if last == Some(length) && length > 0 {
            break;
        }
        if Instant::now() > deadline {
            bail!("the tracer never finished {}", path.display());
        }
        last = Some(length);
        std::thread::sleep(Duration::from_millis(300));
    }
    trace::read(BufReader::new(File::open(path)?), base)
}

/// What was recorded.
#[derive(Debug)]
pub(super) struct ServerRecording {
    /// Writes, syncs, names and answers, in order.
    pub(super) events: Vec<TimedEvent>,
    /// Which request each permit belongs to: the answer to a claim does not name it.
    pub(super) permits: HashMap<String, String>,
    /// A reviewer's key, to read from an image that is served again.
    pub(super) reviewer: String,
}

/// Shared by all callers of one run.
struct Callers {
    addr: SocketAddr,
    agent: String,
    reviewer: String,
    permits: Mutex<HashMap<String, String>>,
    answers: AtomicUsize,
    /// The server has a planted bug: what it just acknowledged may not be there yet, so callers retry.
    patient: bool,
}

/// Runs the server several times on one folder. Once it is stopped by a signal, once it is killed when idle.
pub(super) fn record(bin: &Path, options: &Options, scratch: &Path) -> Result<ServerRecording> {
    let data = scratch.join("recorded");
    std::fs::create_dir(&data)?;
    let data = data.canonicalize()?;
    let mut recording = Recording::new(&data);
    let (mut place, mut received) = (0, 0);
    let (mut agent, mut reviewer) = (String::new(), String::new());
    let mut permits = HashMap::new();
    let rounds = if options.short { 6 } else { 14 };
    for run in 0..3_usize {
        let trace = scratch.join(format!("trace-{run}"));
        let mut node = NodeOptions::new(bin, &data);
        node.settings.push("storage.checkpoint_pages=20".into());
        node.wrapper = strace(&trace);
        node.log = scratch.join("recorded.log");
        if let Some(name) = &options.sabotage {
            node.env.push(("PLACET_SABOTAGE".into(), name.clone()));
        }
        let node = Node::start(&node, Duration::from_mins(1))
            .context("start the server under strace (is it installed?)")?;
        let addr = node.addr()?;
        if run == 0 {
            agent = new_key(addr, "agent", "bot")?;
            reviewer = new_key(addr, "reviewer", "ann")?;
            received += 2;
        }
        let callers = Callers {
            addr,
            agent: agent.clone(),
            reviewer: reviewer.clone(),
            permits: Mutex::default(),
            answers: AtomicUsize::new(0),
            patient: options.sabotage.is_some(),
        };
        std::thread::scope(|scope| -> Result<()> {
            let mut threads = Vec::new();
            for caller in 0..4_u64 {
                let mut rng = Rng::new(options.seed).fork(run as u64 * 16 + caller);
                let callers = &callers;
                threads.push(scope.spawn(move || {
                    (0..rounds).try_for_each(|round| callers.round(run, caller, round, &mut rng))
                }));
            }
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().map_err(|_| anyhow::anyhow!("a caller panicked"))?)
        })?;
        received += callers.answers.into_inner();
        permits.extend(callers.permits.into_inner().unwrap_or_else(PoisonError::into_inner));
        if run == 0 {
            let status = node.terminate(Duration::from_secs(30))?;
            say(format!("  first run stopped in good order ({status})"));
        } else {
            // Nothing is in flight now, so the trace matches the system's cache exactly.
            std::thread::sleep(Duration::from_millis(300));
            node.kill()?;
        }
        let (calls, next) = read_trace(&trace, place)?;
        place = next;
        recording.add(run, &calls)?;
    }
    let recorded: usize = cuts::answers(&recording.events)?.values().map(Vec::len).sum();
    if recorded != received {
        bail!("the recording is incomplete: callers got {received} answers, the trace has {recorded}");
    }
    let count = |fits: fn(&Event) -> bool| recording.events.iter().filter(|timed| fits(&timed.event)).count();
    say(format!(
        "recorded {recorded} answers, {} writes, {} syncs and {} new, removed or synced names over three runs",
        count(|event| matches!(event, Event::Change(..))),
        count(|event| matches!(event, Event::Sync(_))),
        count(|event| matches!(event, Event::Name(_) | Event::SyncFolder)),
    ));
    Ok(ServerRecording { events: recording.events, permits, reviewer })
}

impl Callers {
    fn call(
        &self,
        http: &mut Http,
        path: &str,
        key: &str,
        body: &Value,
        expected: &[u16],
    ) -> Result<Option<Value>> {
        let mut tries = 0;
        let answer = loop {
            let answer = http.post(path, Some(key), body, Duration::from_secs(30))?;
            self.answers.fetch_add(1, Ordering::Relaxed);
            tries += 1;
            if !self.patient || tries > 100 || expected.contains(&answer.status) {
                break answer;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        if !expected.contains(&answer.status) {
            bail!("POST {path} answered {}: {}", answer.status, answer.text());
        }
        Ok(if answer.status < 300 { Some(answer.json()?) } else { None })
    }

    /// Asks for one action, decides it one way or another, and executes what was approved.
    fn round(&self, run: usize, caller: u64, round: u32, rng: &mut Rng) -> Result<()> {
        let mut agent = Http::new(self.addr, &self.agent);
        let mut reviewer = Http::new(self.addr, &self.reviewer);
        let key = format!("{run}-{caller}-{round}");
        let note = "x".repeat(rng.index(3000));
        let create = json!({"kind": "action", "tool": "files/delete", "session": format!("s-{caller}"),
            "arguments": {"n": round, "note": note}, "summary": "a recorded call", "expires_in": "24h"});
        let record = self.call(&mut agent, "/v1/requests", &key, &create, &[201])?.context("a record")?;
        let text = |name: &str| record.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (id, digest) = (text("id"), text("digest"));
        let path = |verb: &str| format!("/v1/requests/{id}/{verb}");
        let mut decision = json!({"decision": "approve", "digest": digest, "version": record.get("version")});
        let fate = rng.below(10);
        match fate {
            0 => {
                self.call(&mut agent, &path("cancel"), &key, &json!({}), &[200])?;
                return Ok(());
            }
            // Left pending.
            1 => return Ok(()),
            2 | 3 => {
                decision["decision"] = json!("deny");
                decision["reason"] = json!("not today");
            }
            4 => {
                decision["decision"] = json!("edit");
                decision["arguments"] = json!({"n": round, "note": "shorter"});
            }
            _ => {}
        }
        self.call(&mut reviewer, &path("decision"), &key, &decision, &[200])?;
        if matches!(fate, 2 | 3) {
            return Ok(());
        }
        if fate == 5 {
            self.call(&mut reviewer, &path("revoke"), &key, &json!({"reason": "changed my mind"}), &[200])?;
            return Ok(());
        }
        let claim = self.call(
            &mut agent,
            &path("claim"),
            &key,
            &json!({"claimant": format!("claimant-{key}-0123456789")}),
            &[200],
        )?;
        let permit = claim
            .as_ref()
            .and_then(|claim| claim.get("permit"))
            .and_then(Value::as_str)
            .context("a permit")?
            .to_owned();
        self.permits.lock().unwrap_or_else(PoisonError::into_inner).insert(permit.clone(), id.clone());
        if fate != 6 {
            let status = if rng.percent(80) { "succeeded" } else { "failed" };
            self.call(
                &mut agent,
                &path("outcome"),
                &key,
                &json!({"permit": permit, "status": status}),
                &[200],
            )?;
        }
        Ok(())
    }
}
