//! What waits together: requests of one group that one agent asked for in one session, and that are pending at once.

use std::cmp::Reverse;

use placet_core::{Actor, Request, Role, State, Together};

use crate::{Filter, Gate, GateError};

/// Most that are listed.
const LISTED: usize = 20;
/// Most that are counted beside those.
const COUNTED: usize = 100;

impl Gate {
    /// What waits together with a request; for reviewers, and nothing unless at least two wait.
    ///
    /// A group is a name that an agent chose. What another agent, another session or another door put under it is left out.
    /// Being listed here decides nothing: each request is decided on its own digest.
    pub async fn together(&self, actor: &Actor, request: &Request) -> Result<Option<Together>, GateError> {
        let Some(group) = request.group.clone().filter(|_| actor.role == Role::Reviewer) else {
            return Ok(None);
        };
        if request.state_at(self.now()) != State::Pending {
            return Ok(None);
        }
        let filter = Filter {
            state: Some(State::Pending),
            agent: Some(request.agent.clone()),
            session: Some(request.session.clone()),
            group: Some(group),
            source: request.door().written().map(str::to_owned),
            ..Filter::default()
        };
        let most = u32::try_from(LISTED + COUNTED).unwrap_or(u32::MAX);
        let mut found = self.list(actor, &filter, most).await?.items;
        // A filter cannot name the door of REST.
        found.retain(|other| other.door() == request.door());
        // The request itself stays in the list, however many there are.
        found.sort_by_key(|other| (Reverse(other.id == request.id), other.created_at, other.id));
        let more = u32::try_from(found.len().saturating_sub(LISTED)).unwrap_or(u32::MAX);
        found.truncate(LISTED);
        found.sort_by_key(|other| (other.created_at, other.id));
        if found.len() < 2 {
            return Ok(None);
        }
        Ok(Some(Together { items: found.iter().map(|other| self.row(actor, other)).collect(), more }))
    }
}
