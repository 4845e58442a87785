//! Ask, wait, claim, run, report in one call: the function given runs at most once, and only on what was approved.

use std::{fmt, future::Future};

use placet_core::{Create, Record, RequestId, State};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::{Asked, Client, Error, Report, outage::between};

/// How a gated run ended without an error.
#[derive(Debug)]
pub enum Gated<T> {
    /// It was approved, claimed, run and reported.
    Ran {
        /// What the function returned.
        value: T,
        /// The request afterwards.
        record: Box<Record>,
    },
    /// It was not approved, so it was not run; the record says why.
    Refused(Box<Record>),
    /// The server was away for too long to get a permit, so it was not run. See [`OnOutage`](crate::OnOutage).
    Unreached {
        /// The request, if the server took it in before it went away. An approval of it that nobody claims lapses.
        request: Option<RequestId>,
        /// What was tried last.
        error: Error,
    },
}

/// Why a gated run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError<T: fmt::Debug, E: fmt::Display + fmt::Debug> {
    /// No permit was obtained, so the function was not run.
    #[error("not run: {0}")]
    NotRun(#[from] Error),
    /// The function was run and failed; that is reported as `failed`.
    #[error("run, and failed: {error}")]
    Failed {
        /// What the function returned.
        error: E,
        /// The request afterwards, if the report arrived.
        reported: Result<Box<Record>, Error>,
    },
    /// The function was run and worked, and the report did not arrive: the request will end `unknown`.
    #[error("run, but the outcome could not be reported: {error}")]
    Unreported {
        /// What the function returned.
        value: T,
        /// Why the report did not arrive.
        error: Error,
    },
}

impl Client {
    /// Asks for an action, waits for the decision, claims the permit, runs `run` with the arguments the claim
    /// returned (an edit may have changed them) and reports the outcome.
    pub async fn run_gated<T, E, F, R>(&self, create: Create, run: F) -> Result<Gated<T>, RunError<T, E>>
    where
        T: fmt::Debug,
        E: fmt::Display + fmt::Debug,
        F: FnOnce(Map<String, Value>) -> R,
        R: Future<Output = Result<T, E>>,
    {
        match self.ask(&create).await? {
            Asked::Decided(record) => self.run_if_approved(*record, Some(&create), run).await,
            Asked::Unreached { request, error } => Ok(Gated::Unreached { request, error }),
        }
    }

    /// The second half of [`Client::run_gated`], for a caller that asked and waited by itself: claims, runs, reports.
    /// Whatever is not approved is not run. Whether the record is about the caller's own call is for the caller to see.
    pub async fn run_approved<T, E, F, R>(&self, record: Record, run: F) -> Result<Gated<T>, RunError<T, E>>
    where
        T: fmt::Debug,
        E: fmt::Display + fmt::Debug,
        F: FnOnce(Map<String, Value>) -> R,
        R: Future<Output = Result<T, E>>,
    {
        self.run_if_approved(record, None, run).await
    }

    async fn run_if_approved<T, E, F, R>(
        &self,
        record: Record,
        create: Option<&Create>,
        run: F,
    ) -> Result<Gated<T>, RunError<T, E>>
    where
        T: fmt::Debug,
        E: fmt::Display + fmt::Debug,
        F: FnOnce(Map<String, Value>) -> R,
        R: Future<Output = Result<T, E>>,
    {
        if record.state != State::Approved {
            return Ok(Gated::Refused(Box::new(record)));
        }
        if !record.claimable {
            let reason = "only an action with a permit can be run: leave `permit` out";
            return Err(Error::Config(reason.to_owned()).into());
        }
        let decided = record.decision.as_ref().map_or(record.created_at, |decision| decision.at);
        let claim_by = Instant::now() + between(decided, record.claim_by);
        let claimed = match self.patient(claim_by).claim(record.id).await {
            Ok(claimed) => claimed,
            Err(error) if error.is_outage() => {
                return match self.unreached(Some(record.id), error)? {
                    Asked::Unreached { request, error } => Ok(Gated::Unreached { request, error }),
                    Asked::Decided(record) => Ok(Gated::Refused(record)),
                };
            }
            // Taken back, withdrawn or too late between approval and claim: refused, not broken.
            Err(error) => {
                return match error.problem().and_then(|problem| problem.record.clone()) {
                    Some(record) if record.state != State::Approved && record.state != State::Claimed => {
                        Ok(Gated::Refused(record))
                    }
                    _ => Err(error.into()),
                };
            }
        };
        // The server counts from the claim, a moment ago; the decision is the last moment of its clock that is known.
        let report_by = Instant::now() + between(decided, claimed.report_by);
        self.checked(&record, create, &claimed).await?;
        let result = run(claimed.arguments).await;
        let report = match &result {
            Ok(_) => Report::succeeded(),
            Err(error) => Report::failed(shortened(error.to_string())),
        };
        let reported =
            self.patient(report_by).report(record.id, &claimed.permit, &report).await.map(Box::new);
        match (result, reported) {
            (Ok(value), Ok(record)) => Ok(Gated::Ran { value, record }),
            (Ok(value), Err(error)) => Err(RunError::Unreported { value, error }),
            (Err(error), reported) => Err(RunError::Failed { error, reported }),
        }
    }
}

/// A note has a bound on the server; an error message has none.
fn shortened(mut note: String) -> String {
    const NOTE: usize = 2_000;
    let end = (0..=NOTE.min(note.len())).rev().find(|end| note.is_char_boundary(*end)).unwrap_or(0);
    note.truncate(end);
    note
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_cut_between_characters() {
        assert_eq!(shortened("ü".repeat(3_000)).len(), 2_000);
        assert_eq!(shortened("ok".to_owned()), "ok");
        assert_eq!(shortened(format!("a{}", "ü".repeat(3_000))).len(), 1_999);
    }
}
