//! One HTTP call: send it, bound the answer, tell a refusal from an outage, and retry where that is safe.

use std::time::Duration;

use placet_ledger::ijson;
use reqwest::{Method, Response, StatusCode, Url, header::RETRY_AFTER};
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::{Instant, sleep};

use crate::{Claimant, Client, Error, Problem, retry::Outage, secret};

/// The largest answer that is read: a page of records of up to a quarter of a megabyte each.
const ANSWER: usize = 64 * 1024 * 1024;

/// The deepest nesting of an answer: a list of records with the deepest arguments that the server accepts.
const DEPTH: usize = 80;
/// The timeout of an ordinary call.
const PATIENCE: Duration = Duration::from_secs(30);

/// A call that can be sent repeatedly: it is a read, or it carries an idempotency key.
pub(crate) struct Call {
    method: Method,
    pub(crate) url: Url,
    body: Option<Vec<u8>>,
    key: Option<String>,
    weak_key: Option<String>,
    door: Option<&'static str>,
    claimant: Option<Claimant>,
    patience: Option<Duration>,
}

impl Call {
    pub(crate) fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            body: None,
            key: None,
            weak_key: None,
            door: None,
            claimant: None,
            patience: Some(PATIENCE),
        }
    }

    /// How long the server was asked to hold the call.
    fn held(&self) -> Duration {
        self.patience.unwrap_or(PATIENCE).saturating_sub(PATIENCE)
    }

    pub(crate) fn delete(url: Url) -> Self {
        Self { method: Method::DELETE, ..Self::get(url) }
    }

    /// A PUT. Sending it twice changes nothing.
    pub(crate) fn put<T: Serialize>(url: Url, body: &T) -> Result<Self, Error> {
        Ok(Self { method: Method::PUT, body: Some(written(body)?), ..Self::get(url) })
    }

    /// A POST with the given idempotency key, or a new one.
    pub(crate) fn post<T: Serialize>(url: Url, body: &T, key: Option<String>) -> Result<Self, Error> {
        let body = Some(written(body)?);
        let key = Some(key.map_or_else(secret::random, Ok)?);
        Ok(Self { method: Method::POST, body, key, ..Self::get(url) })
    }

    /// The answer has no time limit. The reader sees whether it makes progress.
    pub(crate) fn without_end(mut self) -> Self {
        self.patience = None;
        self
    }

    /// Names the claimant for a claim in the same call. A secret, so it is a header and not in the URL.
    pub(crate) fn claimant(mut self, claimant: &Claimant) -> Self {
        self.claimant = Some(claimant.clone());
        self
    }

    /// Finds an open request under this weak key instead of creating another one.
    pub(crate) fn weak_key(mut self, key: Option<String>) -> Self {
        self.weak_key = key;
        self
    }

    /// Says which program speaks.
    pub(crate) fn door(mut self, door: Option<&'static str>) -> Self {
        self.door = door;
        self
    }

    /// Adds one query parameter.
    pub(crate) fn query(mut self, name: &str, value: &str) -> Self {
        self.url.query_pairs_mut().append_pair(name, value);
        self
    }

    /// Asks the server to hold the call for this long.
    pub(crate) fn wait(mut self, wait: Option<Duration>) -> Self {
        if let Some(wait) = wait {
            self.patience = Some(PATIENCE + wait);
            return self.query("wait", &duration(wait));
        }
        self
    }
}

fn written<T: Serialize>(body: &T) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(body)
        .map_err(|error| Error::Config(format!("the body cannot be written as JSON: {error}")))
}

/// A duration as the wire writes it.
fn duration(duration: Duration) -> String {
    if duration.subsec_nanos() == 0 {
        return format!("{}s", duration.as_secs());
    }
    format!("{}ms", duration.as_millis())
}

/// How one attempt failed.
pub(crate) enum Failure {
    /// The server answered with a refusal. A retry would not help.
    Final(Error),
    /// It is unknown whether the call arrived, or the server asked for a retry.
    Again { reason: String, after: Option<Duration>, problem: Option<Problem> },
}

impl Client {
    /// Sends a call until it is answered or the outage budget is used up.
    pub(crate) async fn send<T: DeserializeOwned>(&self, call: &Call) -> Result<T, Error> {
        self.send_counted(call).await.0
    }

    /// The same, with the number of attempts: after a lost answer the first attempt may have worked.
    pub(crate) async fn send_counted<T: DeserializeOwned>(&self, call: &Call) -> (Result<T, Error>, u32) {
        let mut outage = Outage::default();
        let mut attempts = 0_u32;
        loop {
            attempts = attempts.saturating_add(1);
            let due = Instant::now() + call.held();
            let failure = match self.attempt(call).await {
                Ok(value) => return (Ok(value), attempts),
                Err(failure) => failure,
            };
            // A server that answers too slowly counts as away from the moment its answer was due.
            outage.since(due);
            match self.after(failure, &mut outage) {
                Ok(pause) => sleep(pause).await,
                Err(error) => return (Err(error), attempts),
            }
        }
    }

    /// What follows a failed attempt: a pause before the retry, or the final error.
    pub(crate) fn after(&self, failure: Failure, outage: &mut Outage) -> Result<Duration, Error> {
        match failure {
            Failure::Final(error) => Err(error),
            Failure::Again { reason, after, problem } => {
                outage.pause(self.outage, after).ok_or_else(|| match problem {
                    // The server was there all the time and refused, so its refusal is the better error.
                    Some(problem) => Error::Problem(Box::new(problem)),
                    None => Error::Unreachable { url: self.url().to_owned(), reason, tried: outage.lasted() },
                })
            }
        }
    }

    /// A page as text, in one attempt.
    pub(crate) async fn text(&self, call: &Call) -> Result<String, Error> {
        let page = async { bounded(self.open(call).await?, self).await };
        match page.await {
            Ok(body) => Ok(String::from_utf8_lossy(&body).into_owned()),
            Err(failure) => Err(self
                .after(failure, &mut Outage::default())
                .err()
                .unwrap_or_else(|| self.protocol("it did not answer with a page"))),
        }
    }

    /// One attempt.
    pub(crate) async fn attempt<T: DeserializeOwned>(&self, call: &Call) -> Result<T, Failure> {
        let body = bounded(self.open(call).await?, self).await?;
        // An empty answer (204) reads as null.
        let body = if body.is_empty() { b"null".to_vec() } else { body };
        read(&body).map_err(|error| Failure::Final(self.protocol(error)))
    }

    /// One attempt, up to the headers of a good answer.
    pub(crate) async fn open(&self, call: &Call) -> Result<Response, Failure> {
        let mut request = self.http.request(call.method.clone(), call.url.clone());
        if let Some(patience) = call.patience {
            request = request.timeout(patience);
        }
        if let Some(key) = &call.key {
            request = request.header("Idempotency-Key", key);
        }
        if let Some(key) = &call.weak_key {
            request = request.header("Placet-Weak-Key", key);
        }
        if let Some(door) = call.door {
            request = request.header("Placet-Door", door);
        }
        if let Some(claimant) = &call.claimant {
            request = request.header("Placet-Claimant", claimant.reveal());
        }
        if let Some(body) = &call.body {
            request = request.header("Content-Type", "application/json").body(body.clone());
        }
        let response = request.send().await.map_err(|error| again(&error))?;
        accepted(response, self).await
    }

    pub(crate) fn protocol(&self, reason: impl Into<String>) -> Error {
        Error::Protocol { url: self.url().to_owned(), reason: reason.into() }
    }
}

/// Passes a success on, and turns everything else into a failure.
pub(crate) async fn accepted(response: Response, client: &Client) -> Result<Response, Failure> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    if status.is_redirection() {
        let reason =
            format!("it redirects ({status}), and a key is never sent to another address: check PLACET_URL");
        return Err(Failure::Final(client.protocol(reason)));
    }
    let after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let problem = Problem::read(status.as_u16(), &bounded(response, client).await?);
    // A full inbox answers this call. Too many calls per second do not.
    let busy = status == StatusCode::TOO_MANY_REQUESTS && problem.code != "pending_cap";
    let away = matches!(
        status,
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT
    );
    if busy || away {
        return Err(Failure::Again {
            reason: problem.to_string(),
            after: after.map(Duration::from_secs),
            problem: Some(problem),
        });
    }
    Err(Failure::Final(Error::Problem(Box::new(problem))))
}

async fn bounded(mut response: Response, client: &Client) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| again(&error))? {
        if body.len() + chunk.len() > ANSWER {
            let reason = format!("it is larger than {ANSWER} bytes");
            return Err(Failure::Final(client.protocol(reason)));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Strict JSON, for the whole answer, so that two readers cannot read it differently.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    let limits = ijson::Limits { bytes: ANSWER, depth: DEPTH, nodes: usize::MAX };
    let value = ijson::parse(body, &limits).map_err(|error| error.to_string())?;
    serde_json::from_value(value).map_err(|error| error.to_string())
}

/// A network failure: the call may or may not have arrived.
pub(crate) fn again(error: &reqwest::Error) -> Failure {
    Failure::Again { reason: root_cause(error), after: None, problem: None }
}

/// The innermost cause is the useful one: "connection refused" instead of "error sending request".
pub(crate) fn root_cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it did not answer in time".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_in_whole_units() {
        assert_eq!(duration(Duration::from_secs(25)), "25s");
        assert_eq!(duration(Duration::from_millis(1_500)), "1500ms");
    }

    #[test]
    fn a_wait_lengthens_the_patience_by_itself() {
        let url = Url::parse("http://x/v1/requests").unwrap();
        let call = Call::get(url).wait(Some(Duration::from_secs(25))).query("q", "a b&c");
        assert_eq!(call.url.query(), Some("wait=25s&q=a+b%26c"));
        assert_eq!(call.patience, Some(Duration::from_secs(55)));
    }
}
