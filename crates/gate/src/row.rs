//! Requests as lines of a list: what a queue of thousands needs of each, without drawing everything that was written.

use placet_core::{Actor, DecisionWord, Directory, OPEN_REVIEWER, Request, Role, Row, Tally, Time, show};

use crate::{Gate, preview, shape::shape_of};

impl Gate {
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
        effect,
        group: request.group.as_deref().map(show),
        same,
        shape: shape_of(request),
        digest: request.current_digest(),
        votes: tally(request, needs, directory),
        needs_step_up: needs.step_up.is_some(),
        warnings: u32::try_from(warnings).unwrap_or(u32::MAX),
        created_at: request.created_at,
        expires_at,
        decided_at: decision.map(|decision| decision.at),
        decided_by: decision.map(|decision| decision.by.clone()).unwrap_or_default(),
        decision: decision.map(|decision| decision.word),
        lineage: preview::lineage(request),
        source: request.door().map(show),
    }
}

/// The votes for what is on the table, and the fewest people who could be enough.
fn tally(request: &Request, needs: &placet_core::Needs, directory: &Directory) -> Tally {
    let digest = request.current_digest();
    let owner = directory.owner(&request.agent);
    let author = request.proposal.as_ref().map(|proposal| proposal.by.as_str());
    // With four eyes, a yes of whoever owns, ordered or edited it does not count, nor one of nobody in particular.
    let behind = |name: &str| {
        let ours = [owner, request.on_behalf_of.as_deref(), author, Some(OPEN_REVIEWER)];
        needs.four_eyes && ours.contains(&Some(name))
    };
    let yes = request
        .votes
        .iter()
        .filter(|vote| vote.vote != DecisionWord::Deny && vote.digest == digest && !behind(&vote.by));
    let people =
        |all: &placet_core::AllOf| all.all.iter().fold(0_u32, |sum, seat| sum.saturating_add(seat.people));
    let fewest = needs.any.iter().map(people).min().unwrap_or(1);
    // Where four eyes are asked for and nobody is known to stand behind the agent, it takes two people.
    let least = if needs.four_eyes && owner.is_none() { 2 } else { 1 };
    Tally { have: u32::try_from(yes.count()).unwrap_or(u32::MAX), need: fewest.max(least) }
}
