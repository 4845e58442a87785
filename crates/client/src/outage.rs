//! What an outage means to an agent: not approved, an error, or patience until the request's own deadline. Never a yes.

use std::time::Duration;

use placet_core::{Create, Record, RequestId, State, Time};
use tokio::time::Instant;

use crate::{Client, CreateOptions, Error, wait::POLL};

/// What to do when the server is away for longer than the outage budget. There is no fourth way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnOutage {
    /// It counts as a no: what was asked for is not run, and the caller is told so as an ordinary outcome.
    #[default]
    Deny,
    /// It is an error, for callers that tell an outage from a no.
    Raise,
    /// Keep trying until the request's own deadline has passed; then it counts as a no.
    Pause,
}

/// What came of asking.
#[derive(Debug)]
pub enum Asked {
    /// The server answered: the record says what was decided.
    Decided(Box<Record>),
    /// No decision could be had. Not approved, so nothing may be run.
    Unreached {
        /// The request, if the server took it in before it went away.
        request: Option<RequestId>,
        /// What was tried last.
        error: Error,
    },
}

/// How long a question may be open when the agent does not say: the server's own default.
const USUAL: Duration = Duration::from_mins(5);

impl Error {
    /// Whether the server could not be reached, or could not answer: trying later may help.
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

/// How long after the first of two moments the second one is, by the server's clock alone.
pub(crate) fn between(from: Time, to: Option<Time>) -> Duration {
    to.map_or(Duration::ZERO, |to| to.since(from))
}

impl Client {
    /// What to do when the server is away for longer than the outage budget: [`OnOutage::Deny`] unless said otherwise.
    /// It holds for [`Client::ask`], [`Client::run_gated`] and [`Client::run_approved`]; single calls return the error.
    #[must_use]
    pub fn with_on_outage(mut self, on_outage: OnOutage) -> Self {
        self.on_outage = on_outage;
        self
    }

    /// This client, with the patience that is left until a deadline if that is what was asked for.
    pub(crate) fn patient(&self, until: Instant) -> Self {
        if self.on_outage != OnOutage::Pause {
            return self.clone();
        }
        let left = until.saturating_duration_since(Instant::now());
        self.clone().with_outage_budget(left.max(self.outage))
    }

    /// Asks, and waits for the decision.
    pub async fn ask(&self, create: &Create) -> Result<Asked, Error> {
        self.ask_with(create, CreateOptions::default()).await
    }

    /// The same with keys of the caller's own, by which a restarted program finds its request again; pass the record on
    /// to [`Client::run_approved`]. Waits as long as it takes and claims nothing, whatever the options say of that.
    pub async fn ask_with(&self, create: &Create, options: CreateOptions) -> Result<Asked, Error> {
        let asked = create.expires_in.as_deref().and_then(|text| placet_core::duration(text).ok());
        let options = CreateOptions { wait: Some(POLL), claim: None, ..options };
        let deadline = Instant::now() + asked.unwrap_or(USUAL);
        let record = match self.patient(deadline).create(create, options).await {
            Ok(record) => record,
            Err(error) => return self.unreached(None, error),
        };
        if record.state != State::Pending {
            return Ok(Asked::Decided(Box::new(record)));
        }
        // Counted from here: later than the server did, and so never shorter.
        let deadline = Instant::now() + between(record.created_at, Some(record.expires_at));
        match self.patient(deadline).wait_decided(record.id, None).await {
            Ok(record) => Ok(Asked::Decided(Box::new(record))),
            Err(error) => self.unreached(Some(record.id), error),
        }
    }

    /// An outage as this client's user wants it; every other error is one.
    pub(crate) fn unreached(&self, request: Option<RequestId>, error: Error) -> Result<Asked, Error> {
        if self.on_outage == OnOutage::Raise || !error.is_outage() {
            return Err(error);
        }
        Ok(Asked::Unreached { request, error })
    }
}
