//! Ask, wait, claim, run and report in one call. The function runs at most once, and only on what was approved.

use std::{fmt, future::Future};

use placet_core::{Create, Record, RequestId, State};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::{AskOutcome, Client, Error, Report, outage::between};

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
        /// The request, if the server accepted it before the outage. An approval that is not claimed lapses.
        request: Option<RequestId>,
        /// What was tried last.
        error: Error,
    },
}

/// Why a gated run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError<T: fmt::Debug, E: fmt::Display + fmt::Debug> {
    /// There was no permit, so the function was not run.
    #[error("not run: {0}")]
    NotRun(#[from] Error),
    /// The function was run and failed. It is reported as `failed`.
    #[error("run, and failed: {error}")]
    Failed {
        /// What the function returned.
        error: E,
        /// The request afterwards, if the report arrived.
        reported: Result<Box<Record>, Error>,
    },
    /// The function was run and worked, but the report did not arrive. The request will end `unknown`.
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
            AskOutcome::Decided(record) => self.run_if_approved(*record, Some(&create), run).await,
            AskOutcome::Unreached { request, error } => Ok(Gated::Unreached { request, error }),
        }
    }

    /// The second half of [`Client::run_gated`], for a caller that has asked and waited: claims, runs, reports. What
    /// is not approved is not run. The caller must make sure that the record is about its own call.
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
                    AskOutcome::Unreached { request, error } => Ok(Gated::Unreached { request, error }),
                    AskOutcome::Decided(record) => Ok(Gated::Refused(record)),
                };
            }
            // Revoked, cancelled or lapsed between approval and claim: refused, not an error.
            Err(error) => {
                return match error.problem().and_then(|problem| problem.record.clone()) {
                    Some(record) if record.state != State::Approved && record.state != State::Claimed => {
                        Ok(Gated::Refused(record))
                    }
                    _ => Err(error.into()),
                };
            }
        };
        // The server counts from the claim, a moment ago. The decision is the latest known moment of its clock.
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

/// The server bounds the length of a note. An error message has no bound.
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
