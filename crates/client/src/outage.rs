//! What an outage means to an agent: not approved, an error, or more retries until the request's deadline. Never an
//! approval.

use std::time::Duration;

use placet_core::{Create, Record, RequestId, State, Time};
use tokio::time::Instant;

use crate::{Client, CreateOptions, Error, wait::POLL};

/// What to do when the server is away for longer than the outage budget. These three are all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnOutage {
    /// It counts as not approved: nothing is run, and the caller gets an ordinary outcome.
    #[default]
    Deny,
    /// It is an error, for callers that must tell an outage from a refusal.
    Raise,
    /// Keep trying until the request's own deadline has passed. Then it counts as not approved.
    Pause,
}

/// The outcome of asking.
#[derive(Debug)]
pub enum AskOutcome {
    /// The server answered, and the record holds the decision.
    Decided(Box<Record>),
    /// There was no decision in time. Not approved, so nothing may be run.
    Unreached {
        /// The request, if the server accepted it before the outage.
        request: Option<RequestId>,
        /// What was tried last.
        error: Error,
    },
}

/// How long a question is open when the agent does not say: the server's default.
const USUAL: Duration = Duration::from_mins(5);

impl Error {
    /// Whether the server could not be reached or could not answer, so that a retry may help.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Problem(problem) => match problem.status {
                502..=504 => true,
                429 => problem.code != "pending_cap",
                _ => false,
            },
            _ => false,
        }
    }
}

/// The time from the first moment to the second one, by the server's clock alone.
pub(crate) fn between(from: Time, to: Option<Time>) -> Duration {
    to.map_or(Duration::ZERO, |to| to.since(from))
}

impl Client {
    /// What to do when the server is away for longer than the outage budget. The default is [`OnOutage::Deny`]. It
    /// applies to [`Client::ask`], [`Client::run_gated`] and [`Client::run_approved`]. Single calls return the error.
    #[must_use]
    pub fn with_on_outage(mut self, on_outage: OnOutage) -> Self {
        self.on_outage = on_outage;
        self
    }

    /// This client. With [`OnOutage::Pause`] its outage budget lasts until the deadline.
    pub(crate) fn patient(&self, until: Instant) -> Self {
        if self.on_outage != OnOutage::Pause {
            return self.clone();
        }
        let left = until.saturating_duration_since(Instant::now());
        self.clone().with_outage_budget(left.max(self.outage))
    }

    /// Creates a request and waits for the decision.
    pub async fn ask(&self, create: &Create) -> Result<AskOutcome, Error> {
        self.ask_with(create, CreateOptions::default()).await
    }

    /// The same with the caller's own keys, so that a restarted program finds its request again. Pass the record on
    /// to [`Client::run_approved`]. Waits as long as it takes and claims nothing, whatever the options say.
    pub async fn ask_with(&self, create: &Create, options: CreateOptions) -> Result<AskOutcome, Error> {
        let asked = create.expires_in.as_deref().and_then(|text| placet_core::duration(text).ok());
        let options = CreateOptions { wait: Some(POLL), claim: None, ..options };
        let deadline = Instant::now() + asked.unwrap_or(USUAL);
        let record = match self.patient(deadline).create(create, options).await {
            Ok(record) => record,
            Err(error) => return self.unreached(None, error),
        };
        if record.state != State::Pending {
            return Ok(AskOutcome::Decided(Box::new(record)));
        }
        // Counted from here, later than on the server, so the wait is never too short.
        let deadline = Instant::now() + between(record.created_at, Some(record.expires_at));
        match self.patient(deadline).wait_decided(record.id, None).await {
            Ok(record) => Ok(AskOutcome::Decided(Box::new(record))),
            Err(error) => self.unreached(Some(record.id), error),
        }
    }

    /// Handles an outage as `on_outage` says. Every other error stays an error.
    pub(crate) fn unreached(&self, request: Option<RequestId>, error: Error) -> Result<AskOutcome, Error> {
        if self.on_outage == OnOutage::Raise || !error.is_outage() {
            return Err(error);
        }
        Ok(AskOutcome::Unreached { request, error })
    }
}
