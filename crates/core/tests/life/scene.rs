//! One request on a small stage, for tests that tell one story each.

use placet_core::{
    Actor, Applied, Auth, Cancel, Claim, Command, Context, Decide, DecisionWord, Digest, Effect, Event,
    Expire, Kind, Needs, ProposalContent, Reassign, Refusal, Report, ReportStatus, Request, RequestId,
    Resolve, Revoke, Role, State, Submit, Time, apply, evolve,
};
use serde_json::Value;

use crate::{
    play::vote,
    script::{self, arguments, create, digest_of, digest_with, seconds, submit_of},
    world::World,
};

pub(crate) type RuleResult = Result<(), &'static str>;

/// One request, the people around it, and the time.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) now: Time,
    pub(crate) request: Request,
    /// The name of the last thing that happened, if the last command made anything happen.
    pub(crate) happened: Option<&'static str>,
}

/// Any one reviewer.
pub(crate) fn one() -> Needs {
    Needs::default()
}

pub(crate) fn two() -> Needs {
    script::needs(&[&[(2, None)]])
}

pub(crate) fn four_eyes(needs: Needs) -> Needs {
    Needs { four_eyes: true, ..needs }
}

impl Scene {
    /// An action of `bot`, which `ann` owns, held.
    pub(crate) fn held(needs: Needs) -> Self {
        Self::of(Kind::Action, needs)
    }

    pub(crate) fn of(kind: Kind, needs: Needs) -> Self {
        Self::asked(kind, needs, Effect::Hold, |_| {})
    }

    pub(crate) fn asked(kind: Kind, needs: Needs, effect: Effect, change: impl FnOnce(&mut Submit)) -> Self {
        Self::asked_by("bot", kind, needs, effect, change).expect("a request that is taken")
    }

    pub(crate) fn asked_by(
        agent: &str,
        kind: Kind,
        needs: Needs,
        effect: Effect,
        change: impl FnOnce(&mut Submit),
    ) -> Result<Self, &'static str> {
        let world = World::new();
        let now = Time::from_micros(1_794_700_000_000_000);
        let id = RequestId::new(1, [1; 10]);
        let mut submit = submit_of(create(kind, 0), id, effect, needs, now);
        change(&mut submit);
        let actor = agent_of(&world, agent);
        let directory = world.directory();
        let cx = Context::new(now, &directory);
        let applied = apply(None, &Command::Submit(Box::new(submit)), &actor, &cx);
        applied.answer.map_err(|refusal| refusal.code())?;
        let change = applied.change.expect("a request that was taken");
        let request = evolve(None, id, 1, now, agent, &change.event, &change.written).expect("a beginning");
        Ok(Self { world, now, request, happened: Some(change.event.name()) })
    }

    pub(crate) fn state(&self) -> State {
        self.request.state
    }

    pub(crate) fn wait(&mut self, time: u64) -> &mut Self {
        self.now = self.now.plus(seconds(time));
        self
    }

    /// What a command would do, without doing it.
    pub(crate) fn try_out(&self, command: &Command, actor: &Actor) -> Applied {
        let directory = self.world.directory();
        apply(Some(&self.request), command, actor, &Context::new(self.now, &directory))
    }

    /// Gives a command, and lets happen what it makes happen.
    pub(crate) fn give(&mut self, command: &Command, actor: &Actor) -> RuleResult {
        let applied = self.try_out(command, actor);
        self.happened = applied.change.as_ref().map(|change| change.event.name());
        if let Some(change) = applied.change {
            let (before, seq) = (self.request.clone(), u64::from(self.request.version) + 1);
            self.request = evolve(
                Some(before),
                self.request.id,
                seq,
                self.now,
                &actor.name,
                &change.event,
                &change.written,
            )
            .expect("an edge that exists");
        }
        applied.answer.map_err(|refusal| Refusal::code(&refusal))
    }

    /// A reviewer with a good key and the short code.
    pub(crate) fn reviewer(&self, name: &str) -> Actor {
        let key = self.world.key_of(name, Role::Reviewer);
        Actor { name: name.to_owned(), role: Role::Reviewer, key, session: None, auth: Auth::Code }
    }

    pub(crate) fn agent(&self) -> Actor {
        agent_of(&self.world, &self.request.agent)
    }

    /// The vote of somebody who has read the record as it stands.
    pub(crate) fn ballot(&self, word: DecisionWord) -> Decide {
        vote(&self.request, word)
    }

    pub(crate) fn cast(&mut self, name: &str, ballot: Decide) -> RuleResult {
        let actor = self.reviewer(name);
        self.give(&Command::Decide(Box::new(ballot)), &actor)
    }

    pub(crate) fn approve(&mut self, name: &str) -> RuleResult {
        self.cast(name, self.ballot(DecisionWord::Approve))
    }

    pub(crate) fn deny(&mut self, name: &str) -> RuleResult {
        self.cast(name, self.ballot(DecisionWord::Deny))
    }

    pub(crate) fn with(&self, word: DecisionWord, content: ProposalContent) -> Decide {
        let digest = digest_with(self.request.id, &content);
        Decide { proposal: Some((content, digest)), ruling: script::ruling(one()), ..self.ballot(word) }
    }

    pub(crate) fn edit(&mut self, name: &str, n: u8) -> RuleResult {
        let content = ProposalContent { arguments: Some(arguments(n)), ..ProposalContent::default() };
        self.cast(name, self.with(DecisionWord::Edit, content))
    }

    pub(crate) fn respond(&mut self, name: &str, answer: Value) -> RuleResult {
        let content = ProposalContent { answer: Some(answer), ..ProposalContent::default() };
        self.cast(name, self.with(DecisionWord::Respond, content))
    }

    pub(crate) fn steps(&mut self, name: &str, word: DecisionWord, steps: Value) -> RuleResult {
        let steps = serde_json::from_value(steps).expect("step decisions");
        let content = ProposalContent { steps: Some(steps), ..ProposalContent::default() };
        self.cast(name, self.with(word, content))
    }

    pub(crate) fn secret(&self, text: &str) -> Digest {
        digest_of(self.request.id, &text.into())
    }

    pub(crate) fn claim_command(&self, claimant: Option<&str>) -> Command {
        let claimant = claimant.map(|text| self.secret(text));
        Command::Claim(Claim {
            id: self.request.id,
            permit: self.secret("permit"),
            claimant,
            confines: false,
        })
    }

    pub(crate) fn claim(&mut self) -> RuleResult {
        self.give(&self.claim_command(Some("me")), &self.agent())
    }

    pub(crate) fn report_command(&self, permit: &str, status: ReportStatus) -> Command {
        let (id, permit) = (self.request.id, self.secret(permit));
        Command::Report(Report {
            id,
            permit,
            status,
            result_digest: None,
            note: Some("done".to_owned()),
            unconfined: false,
        })
    }

    pub(crate) fn report(&mut self, status: ReportStatus) -> RuleResult {
        self.give(&self.report_command("permit", status), &self.agent())
    }

    pub(crate) fn cancel(&mut self) -> RuleResult {
        self.give(&Command::Cancel(Cancel { id: self.request.id, reason: None }), &self.agent())
    }

    pub(crate) fn revoke(&mut self, name: &str) -> RuleResult {
        self.give(&Command::Revoke(Revoke { id: self.request.id, reason: None }), &self.reviewer(name))
    }

    pub(crate) fn reassign(&mut self, name: &str, to: &[&str]) -> RuleResult {
        let to = to.iter().map(|who| (*who).to_owned()).collect();
        self.give(
            &Command::Reassign(Reassign { id: self.request.id, to, reason: None }),
            &self.reviewer(name),
        )
    }

    pub(crate) fn resolve(&mut self, name: &str, status: ReportStatus) -> RuleResult {
        let reason = "looked at the disk".to_owned();
        self.give(&Command::Resolve(Resolve { id: self.request.id, status, reason }), &self.reviewer(name))
    }

    pub(crate) fn expire(&mut self) -> RuleResult {
        self.give(&Command::Expire(Expire { id: self.request.id }), &Actor::system())
    }

    pub(crate) fn lose_role(&mut self, name: &str) {
        self.world.human_mut(name).roles.remove(&Role::Reviewer);
    }

    /// A request in each state, reached by commands alone.
    pub(crate) fn in_every_state() -> Vec<Self> {
        let story = |play: &dyn Fn(&mut Self)| {
            let mut scene = Self::held(one());
            play(&mut scene);
            scene
        };
        let approved = |scene: &mut Self| scene.approve("bob").expect("approved");
        let claimed = |scene: &mut Self| {
            approved(scene);
            scene.claim().expect("claimed");
        };
        vec![
            story(&|_| {}),
            story(&approved),
            story(&|scene| scene.deny("bob").expect("denied")),
            {
                let mut question = Self::of(Kind::Input, one());
                question.respond("bob", "red".into()).expect("answered");
                question
            },
            story(&|scene| scene.wait(300).expire().expect("expired")),
            story(&|scene| scene.cancel().expect("cancelled")),
            story(&claimed),
            story(&|scene| {
                approved(scene);
                scene.wait(5).expire().expect("lapsed");
            }),
            story(&|scene| {
                approved(scene);
                scene.revoke("cyd").expect("revoked");
            }),
            story(&|scene| {
                claimed(scene);
                scene.report(ReportStatus::Succeeded).expect("succeeded");
            }),
            story(&|scene| {
                claimed(scene);
                scene.report(ReportStatus::Failed).expect("failed");
            }),
            story(&|scene| {
                claimed(scene);
                scene.wait(5).expire().expect("unknown");
            }),
        ]
    }
}

pub(crate) fn agent_of(world: &World, name: &str) -> Actor {
    let key = world.key_of(name, Role::Agent);
    Actor { name: name.to_owned(), role: Role::Agent, key, session: None, auth: Auth::Token }
}

/// What a decided event says of who decided what.
pub(crate) fn decided(applied: &Applied) -> Option<(DecisionWord, Vec<String>)> {
    match applied.change.as_ref().map(|change| &change.event) {
        Some(Event::Decided { decision, by, .. }) => Some((*decision, by.clone())),
        _ => None,
    }
}
