//! The model's replies: what each command gets, and what it makes happen, by plain rules over the story.

use placet_core::{
    Actor, Auth, Claim, Command, Decide, Effect, Kind, Reassign, Report, ReportStatus, Role, State, Submit,
    Time,
};

use crate::{
    model::{Ballot, Deed, Story},
    world::World,
};

/// What a command gets: the code of a refusal or nothing, and at most one thing that happens.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) refused: Option<&'static str>,
    pub(crate) deed: Option<Deed>,
}

const fn done(deed: Deed) -> Reply {
    Reply { refused: None, deed: Some(deed) }
}

/// The same answer as before, and nothing new.
const AGAIN: Reply = Reply { refused: None, deed: None };

const fn no(code: &'static str) -> Reply {
    Reply { refused: Some(code), deed: None }
}

/// What asking gets: a refusal, or a new story.
pub(crate) fn reply_to_submit(
    submit: &Submit,
    caller: &Actor,
    pending: u64,
    world: &World,
    now: Time,
) -> Result<Story, &'static str> {
    if !world.may(caller, Role::Agent) {
        return Err("unauthorized");
    }
    if world.policy.is_some_and(|now| submit.verdict.policy != now) {
        return Err("policy_changed");
    }
    let held = match submit.verdict.effect {
        Effect::Hold => true,
        Effect::Allow => submit.content.body.kind() == Kind::Input,
        Effect::Deny => false,
    };
    if held && pending >= submit.pending_cap {
        return Err("pending_cap");
    }
    Ok(Story::begin(submit.clone(), caller, now))
}

impl Story {
    /// What any other command gets.
    pub(crate) fn reply(&self, command: &Command, caller: &Actor, world: &World, now: Time) -> Reply {
        let placet_itself = *caller == Actor::system();
        let as_reviewer = world.may(caller, Role::Reviewer);
        let as_agent = world.may(caller, Role::Agent);
        let mine = self.agent == caller.name;
        let reply = match command {
            Command::Submit(_) => no("not_found"),
            Command::Expire(_) if self.overdue(now) => done(self.deadline_passed()),
            Command::Expire(_) => AGAIN,
            Command::Cancel(_) if placet_itself => self.cancel(now),
            Command::Revoke(_) if placet_itself => self.revoke(now),
            Command::Decide(_) | Command::Revoke(_) | Command::Reassign(_) | Command::Resolve(_)
                if !as_reviewer =>
            {
                no("unauthorized")
            }
            Command::Claim(_) | Command::Report(_) | Command::Cancel(_) if !as_agent => no("unauthorized"),
            Command::Claim(_) | Command::Report(_) | Command::Cancel(_) if !mine => no("not_found"),
            Command::Decide(vote) => self.vote(vote, caller, world, now),
            Command::Claim(claim) => self.claim(claim, now),
            Command::Report(report) => self.report(report),
            Command::Cancel(_) => self.cancel(now),
            Command::Revoke(_) => self.revoke(now),
            Command::Reassign(reassign) => self.reassign(reassign, world, now),
            Command::Resolve(resolve) if self.state() == State::Unknown => done(Deed::Resolve {
                by: caller.name.clone(),
                status: resolve.status,
                reason: resolve.reason.clone(),
            }),
            Command::Resolve(_) => no("not_unknown"),
        };
        // The caller passed the checks and was refused later, so the passed deadline is recorded.
        match reply.refused {
            Some(code) if !["unauthorized", "not_found"].contains(&code) && self.overdue(now) => {
                Reply { refused: Some(code), deed: Some(self.deadline_passed()) }
            }
            _ => reply,
        }
    }

    fn vote(&self, vote: &Decide, caller: &Actor, world: &World, now: Time) -> Reply {
        match self.seen(now) {
            // Somebody else is asked now.
            State::Pending if self.overdue(now) => return no("stale_version"),
            State::Pending => {}
            State::Expired => return no("expired"),
            State::Cancelled => return no("cancelled"),
            _ => return no("already_decided"),
        }
        match self.objection(vote, &caller.name, caller.auth == Auth::Code, world) {
            Some(code) => no(code),
            None => done(Deed::Vote(Ballot {
                by: caller.name.clone(),
                word: vote.word,
                saw: vote.digest,
                brings: vote.proposal.clone(),
                ruling: vote.ruling.clone(),
                auth: caller.auth,
                key: caller.key,
                reason: vote.reason.clone(),
                view: vote.view,
                display: vote.display,
            })),
        }
    }

    fn claim(&self, claim: &Claim, now: Time) -> Reply {
        let same_claimant = self.held().is_some_and(|(_, permit, claimant)| {
            claimant.is_some() && claimant == claim.claimant && permit == claim.permit
        });
        match self.seen(now) {
            State::Approved if self.has_permit() => {
                done(Deed::Claim { permit: claim.permit, claimant: claim.claimant })
            }
            State::Claimed | State::Unknown if same_claimant => AGAIN,
            State::Claimed | State::Unknown | State::Succeeded | State::Failed => no("already_claimed"),
            State::Lapsed => no("lapsed"),
            _ => no("not_approved"),
        }
    }

    /// A late report is as good as one in time.
    fn report(&self, report: &Report) -> Reply {
        let Some((_, permit, _)) = self.held() else { return no("not_claimed") };
        if permit != report.permit {
            return no("wrong_permit");
        }
        match (self.state(), report.status) {
            (State::Claimed | State::Unknown, status) => {
                done(Deed::Report { status, result: report.result_digest.clone(), note: report.note.clone() })
            }
            (State::Succeeded, ReportStatus::Succeeded) | (State::Failed, ReportStatus::Failed)
                if self.outcome().is_some_and(|(_, result, _, resolved_by, _)| {
                    resolved_by.is_some() || result == report.result_digest
                }) =>
            {
                AGAIN
            }
            _ => no("already_reported"),
        }
    }

    fn cancel(&self, now: Time) -> Reply {
        match self.seen(now) {
            State::Pending => done(Deed::Cancel),
            State::Approved if self.has_permit() => done(Deed::Cancel),
            State::Expired => no("expired"),
            State::Lapsed => no("lapsed"),
            State::Cancelled => no("cancelled"),
            State::Claimed | State::Unknown => no("already_claimed"),
            _ => no("already_decided"),
        }
    }

    fn revoke(&self, now: Time) -> Reply {
        match self.seen(now) {
            State::Approved if self.has_permit() => done(Deed::Revoke),
            State::Claimed | State::Unknown | State::Succeeded | State::Failed => no("already_claimed"),
            State::Revoked => no("revoked"),
            State::Lapsed => no("lapsed"),
            _ => no("not_approved"),
        }
    }

    fn reassign(&self, reassign: &Reassign, world: &World, now: Time) -> Reply {
        let reachable = |who: &String| match who.strip_prefix("team:") {
            Some(team) => {
                world.people.iter().any(|human| world.reviews(human.name) && human.teams.contains(team))
            }
            None => world.reviews(who),
        };
        if !reassign.to.iter().all(reachable) {
            return no("invalid");
        }
        match self.seen(now) {
            State::Pending => done(Deed::Reassign { to: reassign.to.clone() }),
            State::Expired => no("expired"),
            State::Cancelled => no("cancelled"),
            _ => no("already_decided"),
        }
    }
}
