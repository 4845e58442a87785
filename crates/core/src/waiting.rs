//! Who waits for the answer to a pending request: made for each read, never stored.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Directory, Request, State, Time};

/// Who waits for the answer to a pending request. It is true at the moment of the read, and is in no ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Waiting {
    /// Whether the agent waits now: it holds a connection on which it would get the answer, or it asked for this
    /// request in the last ten seconds. Null when that is not known here: another server on the same database may
    /// hold the connection, this server started less than ten seconds ago, or the answer is brought to the agent.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub attached: Option<bool>,
    /// Whether the server brings the answer to the agent: by a call, or by resuming it. Then the agent need not be
    /// connected. Left out when false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brought: bool,
    /// Where people were told of it. Empty in this version, which has no channels for people.
    pub told: Vec<String>,
    /// Whether nobody can give the yes that it needs: all people whose votes count would not be enough.
    pub nobody: bool,
    /// Until when the agent could use a yes that is given now. Null when no permit follows from a yes; then the
    /// answer stays readable.
    #[cfg_attr(feature = "openapi", schema(required = true, value_type = Option<String>, format = DateTime))]
    pub kept_until: Option<Time>,
}

/// Most people that are tried before everybody is.
const SOME: usize = 32;

impl Request {
    /// Whether the people whose yes counts now would be enough to approve it, all together.
    pub fn can_be_approved(&self, now: Time, directory: &Directory) -> bool {
        let (needs, _) = self.asked_at(now);
        // A folder is opened by few people. What is frozen stays frozen for everybody, and is said elsewhere.
        let may = |name: &str| self.not_opener(name, directory).is_none();
        let behind = self.behind(self.proposal.as_ref().map(|proposal| proposal.by.as_str()));
        // More people never make it less. In most places the first few are enough.
        [SOME, usize::MAX].into_iter().any(|most| {
            let people: BTreeSet<&str> = directory
                .people
                .keys()
                .map(String::as_str)
                .filter(|name| behind.counts(needs, name, directory) && may(name))
                .take(most)
                .collect();
            !people.is_empty() && behind.enough(needs, &people, directory)
        })
    }

    /// Until when a yes that is given now can be claimed. None if a yes gives no permit.
    pub fn kept_until(&self, now: Time) -> Option<Time> {
        (self.permit && self.state_at(now) == State::Pending).then(|| now.plus(self.claim_window))
    }
}
