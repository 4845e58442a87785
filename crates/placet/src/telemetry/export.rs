//! Exports spans to a collector, over OTLP/HTTP. A slow or unreachable collector costs spans, never calls.

use std::{path::Path, time::Duration};

use anyhow::Context as _;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use placet_egress::{Http, Rules, Target};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{otlp, spans::FinishedSpan};
use crate::{config::Telemetry, exit::usage};

/// Most spans in the queue. A call has about four.
const QUEUE: usize = 8192;
/// Most spans of one export.
const BATCH: usize = 512;
/// How long the first span of an export waits for more.
const COMPANY: Duration = Duration::from_secs(1);
/// The timeout of a collector.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pauses between retries of an export.
const AGAIN: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(9)];
/// The time for the last spans after the server has stopped.
const LAST: Duration = Duration::from_secs(3);
/// Longest answer that is read.
const ANSWER: usize = 64 << 10;

/// Counts exported and lost spans.
pub(super) fn count(outcome: &'static str, spans: u64) {
    metrics::counter!("placet_spans_total", "outcome" => outcome).increment(spans);
}

/// Sends spans to the collector.
pub(crate) struct Exporter {
    http: Http,
    url: String,
    headers: HeaderMap,
    service: String,
    ended: mpsc::Receiver<FinishedSpan>,
    batch: Vec<FinishedSpan>,
    /// Whether the last export failed, so that an outage is logged once.
    failing: bool,
}

/// Why an export did not arrive.
enum ExportError {
    /// It may arrive later.
    Now(String),
    /// It never will.
    Ever(String),
}

impl Exporter {
    /// An exporter for the configured collector, if there is one, and its queue of spans.
    pub(super) fn to(telemetry: &Telemetry) -> anyhow::Result<Option<(Self, mpsc::Sender<FinishedSpan>)>> {
        let url = telemetry.traces.clone();
        if url.is_empty() {
            return Ok(None);
        }
        let target =
            Target::parse_web(&url).map_err(|error| usage(format!("telemetry.traces: `{url}`: {error}")))?;
        // Only this host, and never a link-local or metadata address.
        let rules = Rules::listed_only([target.host().to_owned()]);
        rules.check_host(&target).map_err(|error| usage(format!("telemetry.traces: {error}")))?;
        let mut headers = match &telemetry.headers_file {
            file if file.as_os_str().is_empty() => HeaderMap::new(),
            file => headers(file)?,
        };
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let (queue, ended) = mpsc::channel(QUEUE);
        let http = Http::new(rules).context("telemetry.traces: no HTTP client")?;
        let service = telemetry.service.clone();
        Ok(Some((Self { http, url, headers, service, ended, batch: Vec::new(), failing: false }, queue)))
    }

    /// Runs until cancelled, then sends the rest within a short time, so that a slow collector cannot delay the end
    /// of the server.
    pub(crate) async fn run(mut self, cancel: CancellationToken) {
        let late = async {
            cancel.cancelled().await;
            tokio::time::sleep(LAST).await;
        };
        tokio::select! {
            () = self.work(&cancel) => {}
            () = late => {
                let left = self.batch.len() + self.ended.len();
                count("failed", left as u64);
                tracing::warn!(left, "the last spans did not reach the collector in time");
            }
        }
    }

    async fn work(&mut self, cancel: &CancellationToken) {
        while cancel.run_until_cancelled(self.collect()).await == Some(true) {
            self.send(cancel).await;
        }
        self.ended.close();
        while self.collect().await {
            self.send(cancel).await;
        }
    }

    /// Collects the next spans. `false` at the end of the queue. Cancel safe: collected spans are kept.
    async fn collect(&mut self) -> bool {
        if self.batch.is_empty() && self.ended.recv_many(&mut self.batch, BATCH).await == 0 {
            return false;
        }
        let company = async {
            while let Some(room @ 1..) = BATCH.checked_sub(self.batch.len()) {
                if self.ended.recv_many(&mut self.batch, room).await == 0 {
                    return;
                }
            }
        };
        // As many as came by then.
        let _ = tokio::time::timeout(COMPANY, company).await;
        true
    }

    async fn send(&mut self, cancel: &CancellationToken) {
        let (body, spans) = (Bytes::from(otlp::export(&self.service, &self.batch)), self.batch.len() as u64);
        let done = self.deliver(body, cancel).await;
        // Counted here, so that an export that is cancelled halfway is counted too.
        self.batch.clear();
        match done {
            Ok(rejected) => {
                let rejected = rejected.min(spans);
                count("exported", spans - rejected);
                count("refused", rejected);
                if std::mem::take(&mut self.failing) {
                    tracing::info!("the collector takes spans again");
                }
            }
            Err(why) => {
                count("failed", spans);
                if !std::mem::replace(&mut self.failing, true) {
                    tracing::warn!(why, "spans do not reach the collector, and are dropped");
                }
            }
        }
    }

    /// Posts one export, with retries. Returns how many spans the collector refused, or why it failed.
    async fn deliver(&self, body: Bytes, cancel: &CancellationToken) -> Result<u64, String> {
        for wait in AGAIN {
            match self.post(body.clone()).await {
                Ok(rejected) => return Ok(rejected),
                Err(ExportError::Ever(why)) => return Err(why),
                Err(ExportError::Now(why)) => {
                    // A stopping server has no time for a retry.
                    if cancel.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                        return Err(why);
                    }
                }
            }
        }
        self.post(body).await.map_err(|(ExportError::Now(why) | ExportError::Ever(why))| why)
    }

    /// Returns how many spans the collector refused.
    async fn post(&self, body: Bytes) -> Result<u64, ExportError> {
        let sent = self.http.call(Method::POST, &self.url, self.headers.clone(), body, PATIENCE).await;
        let answer = sent.map_err(|error| ExportError::Now(error.to_string()))?;
        let status = answer.status();
        if status.is_success() {
            // Further text of the answer is ignored.
            return Ok(answer.whole(ANSWER, PATIENCE).await.map_or(0, |answer| otlp::rejected(&answer)));
        }
        let why = format!("the collector answers {status}");
        Err(match status {
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => ExportError::Now(why),
            _ => ExportError::Ever(why),
        })
    }
}

/// Headers of a file: one `name: value` in each line.
fn headers(file: &Path) -> anyhow::Result<HeaderMap> {
    let named = || format!("telemetry.headers_file: {}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| usage(format!("{}: {error}", named())))?;
    let mut headers = HeaderMap::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        // The content may be a secret, so it is not printed.
        let wrong = || usage(format!("{}: line {} is no `name: value`", named(), number + 1));
        let (name, value) = line.split_once(':').ok_or_else(wrong)?;
        let name: HeaderName = name.trim().parse().map_err(|_| wrong())?;
        let mut value: HeaderValue = value.trim().parse().map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}
