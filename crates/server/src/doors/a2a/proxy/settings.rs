//! The agents behind us, as the operator named them.

use std::{fmt, time::Duration};

use http::HeaderName;
use placet_a2a::Version;
use placet_core::door;

/// Who may decide on a pause of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Placet alone: clients see a task at work.
    #[default]
    Hold,
    /// Placet, and reviewers who answer through their client: clients see the pause as it is.
    Mirror,
}

/// What becomes of a pause that is no approval anybody can read: a plain question, most likely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Generic {
    /// A person answers it here.
    #[default]
    Hold,
    /// The client answers it, as if nothing stood between.
    Pass,
}

/// One agent behind us.
#[derive(Clone)]
pub struct Upstream {
    /// Its namespace: the first part of its address here.
    pub namespace: String,
    /// Its name: the second part.
    pub agent: String,
    /// Where it is: the folder of its card, or its JSON-RPC address.
    pub url: String,
    /// Where its card is, if not below `url` or at its origin; calls then go to `url`, whatever the card says.
    pub card: Option<String>,
    /// Who may decide.
    pub mode: Mode,
    /// What becomes of plain questions.
    pub generic: Generic,
    /// What it knows us by.
    pub token: Option<String>,
    /// Headers of the client that it gets to see.
    pub forward: Vec<HeaderName>,
    /// The header in which it is told who calls, whatever the client says. Without one it is not told.
    pub identify: Option<HeaderName>,
    /// Which versions it speaks; nothing means what its card says.
    pub versions: Option<Vec<Version>>,
    /// How long deciding may take, such as `1h`; nothing means what requests have by default.
    pub expires_in: Option<String>,
    /// Which agents may call it; nothing means all with a key.
    pub callers: Option<Vec<String>>,
    /// How long it may take to answer a call.
    pub patience: Duration,
    /// How long a task must still wait for an answer whose fate is unknown before that answer is sent again.
    pub resend_after: Duration,
    /// How long after it did not know a task it is asked for it once more.
    pub ask_again_after: Duration,
}

// The token stays out of logs.
impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("namespace", &self.namespace)
            .field("agent", &self.agent)
            .field("url", &self.url)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

impl Upstream {
    /// An agent that is held, with everything else as it usually is.
    pub fn new(namespace: &str, agent: &str, url: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            agent: agent.to_owned(),
            url: url.to_owned(),
            card: None,
            mode: Mode::Hold,
            generic: Generic::Hold,
            token: None,
            // Nothing by which a caller could pass for somebody else.
            forward: ["traceparent", "tracestate"].map(HeaderName::from_static).into(),
            identify: Some(HeaderName::from_static("x-user-id")),
            versions: None,
            expires_in: None,
            callers: None,
            patience: Duration::from_mins(10),
            resend_after: Duration::from_mins(1),
            ask_again_after: Duration::from_millis(750),
        }
    }

    /// What policies and records call the place that its requests come from.
    pub(crate) fn source(&self) -> String {
        door::behind(&self.namespace, &self.agent)
    }
}
