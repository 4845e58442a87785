//! Plays one script against the library and the model at once, and compares them after every command.

use std::{collections::BTreeSet, rc::Rc};

use placet_core::{
    Actor, Auth, Cancel, Claim, Command, Context, Decide, DecisionWord, Digest, Directory, Event,
    EventPayload, Expire, KeyId, Kind, Reassign, Report, ReportStatus, Request, RequestId, Resolve, Revoke,
    Role, State, Time, Viewed, apply, evolve,
};
use proptest::{prelude::*, test_runner::TestCaseError};

use crate::{
    invariants,
    model::{Deed, Story},
    replies::reply_to_submit,
    script::{self, Dice, digest_of},
    world::{BOTS, PEOPLE, POLICY, TEAMS, World},
};

/// One ledger entry about a request.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) seq: u64,
    pub(crate) at: Time,
    pub(crate) by: String,
    pub(crate) event: Event,
    pub(crate) written: EventPayload,
}

/// One request, as the library has it and as the model tells it.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    pub(crate) request: Request,
    pub(crate) story: Story,
    pub(crate) lines: Vec<Line>,
}

/// The stage: who exists, what time it is, and every request so far.
pub(crate) struct Play {
    pub(crate) world: Rc<World>,
    pub(crate) directory: Directory,
    pub(crate) now: Time,
    pub(crate) cast: Vec<Live>,
    /// Every code a command was refused with.
    pub(crate) refused: BTreeSet<&'static str>,
    seq: u64,
}

pub(crate) type Checked = Result<(), TestCaseError>;

impl Play {
    pub(crate) fn new() -> Self {
        let world = Rc::new(World::new());
        let directory = world.directory();
        Self {
            world,
            directory,
            now: Time::from_micros(1_794_700_000_000_000),
            cast: Vec::new(),
            refused: BTreeSet::new(),
            seq: 0,
        }
    }

    /// Plays a whole script.
    pub(crate) fn run(script: &[[u8; 24]]) -> Result<Self, TestCaseError> {
        let mut play = Self::new();
        for throw in script {
            play.step(&mut Dice::new(throw)).map_err(|error| play.explain(&error))?;
        }
        Ok(play)
    }

    /// The failure, and everything that led to it.
    fn explain(&self, error: &TestCaseError) -> TestCaseError {
        let lines = |live: &Live| {
            let told: Vec<String> = live
                .lines
                .iter()
                .map(|line| format!("    {} {}: {:?}", line.at, line.by, line.event))
                .collect();
            format!("  {}\n{}", live.request.id, told.join("\n"))
        };
        let told: Vec<String> = self.cast.iter().map(lines).collect();
        TestCaseError::fail(format!(
            "{error}\nat {} among {:?}:\n{}",
            self.now,
            self.world.people,
            told.join("\n")
        ))
    }

    fn step(&mut self, dice: &mut Dice<'_>) -> Checked {
        let open = self.cast.iter().rposition(|live| !live.story.is_final());
        let scene = dice.roll(20);
        let target = match open {
            Some(open) if !dice.once_in(8) => open,
            _ if self.cast.is_empty() || scene < 4 => return self.submit(dice),
            _ => usize::from(dice.roll(8)) % self.cast.len(),
        };
        match scene {
            0..=12 => self.command(dice, target),
            13..=16 => {
                self.pass_time(dice, target);
                self.compare(target)
            }
            17..=18 => {
                self.change_people(dice);
                self.ask_around(target)
            }
            _ => self.submit(dice),
        }
    }

    /// Time moves on, often to the very edge of a deadline.
    fn pass_time(&mut self, dice: &mut Dice<'_>, target: usize) {
        let deadline = self.cast[target].request.deadline().map_or(0, Time::micros);
        // A pending request is left some time, or few would ever be decided.
        let edge = dice.roll(if self.cast[target].request.state == State::Pending { 30 } else { 4 });
        let to = match edge {
            2 => deadline,
            1 => deadline - 1,
            _ => 0,
        };
        let by = dice.pick(&[1_u64, 0, 2, 4]);
        self.now =
            if to > self.now.micros() { Time::from_micros(to) } else { self.now.plus(script::seconds(by)) };
    }

    /// Somebody gets or loses a role, a team, a key, or an agent another owner.
    fn change_people(&mut self, dice: &mut Dice<'_>) {
        let world = Rc::make_mut(&mut self.world);
        let name = dice.pick(&PEOPLE);
        match dice.roll(7) {
            6 => world.policy = dice.pick(&[Some(POLICY), None, Some("sha256:99")]),
            0 => toggle(&mut world.human_mut(name).roles, Role::Reviewer),
            1 | 2 => toggle(&mut world.human_mut(name).teams, dice.pick(&TEAMS)),
            3 => world.set_owner(dice.pick(&BOTS), dice.pick(&[None, Some("ann"), Some("bob"), Some("cyd")])),
            4 => {
                if let Some(key) = world.key_of(name, Role::Reviewer) {
                    world.revoke_key(key);
                }
            }
            _ => {
                world.new_key(name, Role::Reviewer);
            }
        }
        self.directory = world.directory();
    }

    fn submit(&mut self, dice: &mut Dice<'_>) -> Checked {
        let id = RequestId::new(self.seq + 1, [3; 10]);
        let name = dice.pick(&["bot", "bot", "imp", "ann"]);
        let actor = script::caller(dice, name, Role::Agent, &self.world);
        let submit = script::submit(dice, id, self.now);
        let waiting = |live: &&Live| live.story.agent == actor.name && live.story.state() == State::Pending;
        let pending = self.cast.iter().filter(waiting).count() as u64;
        let expected = reply_to_submit(&submit, &actor, pending, &self.world, self.now);
        let cx = Context { pending, ..Context::new(self.now, &self.directory) };
        let applied = apply(None, &Command::Submit(Box::new(submit)), &actor, &cx);
        prop_assert_eq!(
            applied.answer.as_ref().err().map(placet_core::Refusal::code),
            expected.as_ref().err().copied()
        );
        self.refused.extend(expected.as_ref().err());
        prop_assert_eq!(applied.change.is_some(), expected.is_ok());
        let (Some(change), Ok(story)) = (applied.change, expected) else { return Ok(()) };
        self.seq += 1;
        let request = evolve(None, id, self.seq, self.now, &actor.name, &change.event, &change.written)
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        let line = Line {
            seq: self.seq,
            at: self.now,
            by: actor.name,
            event: change.event,
            written: change.written,
        };
        self.cast.push(Live { request, story, lines: vec![line] });
        self.compare(self.cast.len() - 1)
    }

    /// One command about one request: the library and the model must say and do the same.
    fn command(&mut self, dice: &mut Dice<'_>, target: usize) -> Checked {
        let (command, actor) = self.think_up(dice, target);
        self.give(target, &command, &actor)?;
        if dice.once_in(4) { self.ask_around(target) } else { Ok(()) }
    }

    pub(crate) fn give(&mut self, target: usize, command: &Command, actor: &Actor) -> Checked {
        let live = &mut self.cast[target];
        let cx = Context::new(self.now, &self.directory);
        let expected = live.story.reply(command, actor, &self.world, self.now);
        let applied = apply(Some(&live.request), command, actor, &cx);
        let code = applied.answer.as_ref().err().map(placet_core::Refusal::code);
        prop_assert_eq!(
            code,
            expected.refused,
            "{:?} by {:?} at {} on {:#?}",
            command,
            actor,
            self.now,
            live.request
        );
        self.refused.extend(code);
        let Some(change) = applied.change else {
            prop_assert!(expected.deed.is_none(), "nothing happened, {:?} was expected", expected.deed);
            return Ok(());
        };
        let Some(deed) = expected.deed else {
            return Err(TestCaseError::fail(format!("{:?} happened, nothing was expected", change.event)));
        };
        live.story.happen(self.now, &self.world, deed);
        self.seq += 1;
        let by = if matches!(
            live.story.log.last().map(|entry| &entry.deed),
            Some(Deed::Deadline | Deed::Escalate)
        ) {
            Actor::system().name
        } else {
            actor.name.clone()
        };
        let before = live.request.clone();
        let line = Line { seq: self.seq, at: self.now, by, event: change.event, written: change.written };
        live.request =
            evolve(Some(before.clone()), before.id, line.seq, line.at, &line.by, &line.event, &line.written)
                .map_err(|error| TestCaseError::fail(error.to_string()))?;
        invariants::one_step(&before, &live.request, &line, command)?;
        live.lines.push(line);
        self.compare(target)
    }

    /// What would everybody's yes and no get right now? Nothing is written down.
    fn ask_around(&self, target: usize) -> Checked {
        let live = &self.cast[target];
        let cx = Context::new(self.now, &self.directory);
        for name in PEOPLE {
            for word in [DecisionWord::Approve, DecisionWord::Deny] {
                let actor = Actor {
                    name: name.to_owned(),
                    role: Role::Reviewer,
                    key: None,
                    session: None,
                    auth: Auth::Code,
                };
                let command = Command::Decide(Box::new(vote(&live.request, word)));
                let expected = live.story.reply(&command, &actor, &self.world, self.now);
                let applied = apply(Some(&live.request), &command, &actor, &cx);
                let code = applied.answer.as_ref().err().map(placet_core::Refusal::code);
                prop_assert_eq!(code, expected.refused, "{} by {}", word, name);
                let (None, Some(deed)) = (expected.refused, expected.deed) else { continue };
                let mut then = live.story.clone();
                then.happen(self.now, &self.world, deed);
                let by = match applied.change.map(|change| change.event) {
                    Some(Event::Decided { by, .. }) => Some(by),
                    _ => None,
                };
                prop_assert_eq!(by, then.decision().map(|decision| decision.by), "{} by {}", word, name);
            }
        }
        Ok(())
    }

    fn compare(&self, target: usize) -> Checked {
        let live = &self.cast[target];
        invariants::agree(&live.request, &live.story, self.now)
    }

    fn think_up(&self, dice: &mut Dice<'_>, target: usize) -> (Command, Actor) {
        let live = &self.cast[target];
        let (request, id) = (&live.request, live.request.id);
        // Mostly what moves this state on.
        let usual = match request.state {
            State::Pending => 0,
            State::Approved => dice.pick(&[1, 7, 1, 4, 7, 1, 3, 7]),
            State::Claimed => dice.pick(&[2, 7, 7, 1, 7, 6]),
            State::Unknown => dice.pick(&[2, 6, 6, 1, 7]),
            _ => dice.roll(8),
        };
        let choice = if dice.once_in(8) { dice.roll(8) } else { usual };
        let person = dice.pick(&PEOPLE);
        let agent =
            if dice.once_in(12) { dice.pick(&["imp", "bot", "ann"]) } else { live.story.agent.as_str() };
        let text = dice.pick(&[None, Some("because".to_owned())]);
        match choice {
            0 => (
                Command::Decide(Box::new(Self::random_vote(dice, request))),
                script::caller(dice, person, Role::Reviewer, &self.world),
            ),
            1 => {
                let claim = Claim {
                    id,
                    permit: digest_of(id, &dice.pick(&["permit", "permit", "other"]).into()),
                    claimant: dice
                        .pick(&[Some("me"), None, Some("you")])
                        .map(|name| digest_of(id, &name.into())),
                    confines: false,
                };
                (Command::Claim(claim), script::caller(dice, agent, Role::Agent, &self.world))
            }
            2 => {
                let held = request.claim.as_ref().map(|claim| claim.permit);
                let wrong = digest_of(id, &"stolen".into());
                let report = Report {
                    id,
                    permit: if dice.once_in(5) { wrong } else { held.unwrap_or(wrong) },
                    status: dice.pick(&[ReportStatus::Succeeded, ReportStatus::Failed]),
                    result_digest: text.clone(),
                    note: text,
                    unconfined: false,
                };
                (Command::Report(report), script::caller(dice, agent, Role::Agent, &self.world))
            }
            3 | 4 if dice.once_in(6) && choice == 3 => {
                (Command::Cancel(Cancel { id, reason: text }), Actor::system())
            }
            3 | 4 if dice.once_in(6) => (Command::Revoke(Revoke { id, reason: text }), Actor::system()),
            3 => (
                Command::Cancel(Cancel { id, reason: text }),
                script::caller(dice, agent, Role::Agent, &self.world),
            ),
            4 => (
                Command::Revoke(Revoke { id, reason: text }),
                script::caller(dice, person, Role::Reviewer, &self.world),
            ),
            5 => {
                let to = dice.pick(&[
                    vec!["bob"],
                    vec!["team:red", "ann"],
                    vec![],
                    vec!["eve"],
                    vec!["bob", "team:none"],
                ]);
                let to = to.into_iter().map(str::to_owned).collect();
                (
                    Command::Reassign(Reassign { id, to, reason: text }),
                    script::caller(dice, person, Role::Reviewer, &self.world),
                )
            }
            6 => {
                let status = dice.pick(&[ReportStatus::Succeeded, ReportStatus::Failed]);
                let resolve = Resolve { id, status, reason: "seen it".to_owned() };
                (Command::Resolve(resolve), script::caller(dice, person, Role::Reviewer, &self.world))
            }
            _ => (Command::Expire(Expire { id }), Actor::system()),
        }
    }

    fn random_vote(dice: &mut Dice<'_>, request: &Request) -> Decide {
        use DecisionWord::{Approve, Deny, Edit, Respond};
        let word = match request.kind {
            Kind::Input if request.proposal.is_none() => {
                dice.pick(&[Respond, Respond, Approve, Deny, Respond, Edit])
            }
            Kind::Confirmation => dice.pick(&[Approve, Approve, Approve, Deny, Approve, Edit]),
            _ => dice.pick(&[Approve, Approve, Edit, Approve, Edit, Deny, Approve, Respond]),
        };
        let digest = match dice.roll(32) {
            0..=29 => request.current_digest(),
            30 => request.digest,
            _ => Digest::new([9; 32]),
        };
        let version = match dice.roll(32) {
            0..=23 => request.version,
            24..=27 => request.material,
            28 => request.version.saturating_sub(1),
            29 => request.material.saturating_sub(1),
            30 => request.version + 1,
            _ => 1,
        };
        let proposal = script::replacement(dice, request.id, request.kind, word);
        let ruling = script::any_ruling(dice);
        let reason = (version % 2 == 0).then(|| "hm".to_owned());
        Decide {
            id: request.id,
            word,
            digest,
            version,
            reason,
            proposal,
            ruling,
            remember: None,
            claimed: None,
            view: Some(Digest::new([6; 32])),
            display: Some(Digest::new([5; 32])),
            viewed: Viewed::Current,
        }
    }
}

/// A plain vote on what is on the table, by somebody who has read the newest version.
pub(crate) fn vote(request: &Request, word: DecisionWord) -> Decide {
    Decide {
        id: request.id,
        word,
        digest: request.current_digest(),
        version: request.version,
        reason: None,
        proposal: None,
        ruling: None,
        remember: None,
        claimed: None,
        view: None,
        display: None,
        viewed: Viewed::Unsaid,
    }
}

fn toggle<T: Ord>(set: &mut BTreeSet<T>, item: T) {
    if !set.remove(&item) {
        set.insert(item);
    }
}

/// The key of nobody.
pub(crate) fn no_key() -> KeyId {
    KeyId::new(9_999, [9; 10])
}
