//! Requests that wait together: of one group, one agent and one session, pending at the same time.

use std::cmp::Reverse;

use placet_core::{Actor, Request, Role, State, Together};

use crate::{Filter, Gate, GateError};

/// Most that are listed.
const LISTED: usize = 20;
/// The most that are counted beyond those.
const COUNTED: usize = 100;

impl Gate {
    /// The requests that wait together with one. For reviewers, and only if at least two wait.
    ///
    /// An agent chooses the name of a group, so requests of other agents, sessions and doors are left out. Being
    /// listed here decides nothing: each request is decided on its own digest.
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
        // For REST, the filter names no door.
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
