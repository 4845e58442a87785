//! Requests as lines of a list: the fields that a queue of thousands needs, without drawing everything that was
//! written.

use placet_core::{Actor, Directory, GrantUsed, Origin, RecordView, Request, Role, Row, Time, show};

use crate::{Gate, preview, shape::shape_of, view};

impl Gate {
    /// The record of a request as it is now, without void votes.
    pub fn view<'a>(&self, request: &'a Request) -> RecordView<'a> {
        request.view_in(self.now(), &self.store.directory())
    }

    /// The line of a request for this caller.
    pub fn row(&self, actor: &Actor, request: &Request) -> Row {
        let same = (actor.role == Role::Reviewer).then(|| self.same(request)).flatten();
        row(request, same, &self.store.directory(), self.now())
    }
}

fn row(request: &Request, same: Option<String>, directory: &Directory, now: Time) -> Row {
    let (effect, warnings) = preview::glance(request);
    let (needs, expires_at) = request.asked_at(now);
    let decision = request.decision.as_ref();
    Row {
        id: request.id,
        version: request.version,
        kind: request.kind,
        state: request.state_at(now),
        agent: show(&request.agent),
        session: show(&request.session),
        tool: request.tool.as_deref().map(show),
        risk: request.risk,
        view: view::line(request, effect.clone()),
        effect,
        group: request.group.as_deref().map(show),
        same,
        shape: shape_of(request),
        digest: request.current_digest(),
        votes: request.tally(needs, directory),
        needs_step_up: needs.step_up.is_some(),
        warnings: u32::try_from(warnings).unwrap_or(u32::MAX),
        created_at: request.created_at,
        expires_at,
        decided_at: decision.map(|decision| decision.at),
        decided_by: decision.map(|decision| decision.by.clone()).unwrap_or_default(),
        grant: request.granted().map(|used| GrantUsed { by: used.by.as_deref().map(show), ..used }),
        decision: decision.map(|decision| decision.word),
        lineage: preview::lineage(request),
        source: request.door().written().map(show),
        origin: request
            .door()
            .origin()
            .map(|origin| Origin { agent: origin.agent.as_deref().map(show), ..origin }),
    }
}
