//! The life cycle of a pause: the only file that changes its stage.
//!
//! ```text
//! Held --TakeOver--> Resuming --Settled--> Resumed
//! Held --WentOn, Ended--> Stale <--Overtaken-- Resuming, if its answer has not left
//! Held --Broken--> Failed
//! Held, Resuming --Lost--> UpstreamLost or Failed
//! any but Resuming --Seen--> Held, of another group
//! ```
//!
//! Plain functions over plain data: no I/O, no clock. Who takes a turn writes what came of it, and carries out the withdrawal.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kept::TaskRecord;

/// How long an answer may be on its way before another node may take it over, in milliseconds.
const ON_ITS_WAY: u64 = 60_000;

/// A pause of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Paused {
    /// The group of the requests that its items are.
    pub(super) group: String,
    /// The source that they have.
    pub(super) source: String,
    /// What the pause is known by, and how often it came again after it was given up for past.
    pub(super) print: String,
    pub(super) round: u32,
    /// The status as it came: agents overwrite theirs.
    pub(super) status: Value,
    /// Whether every item has its request.
    asked: bool,
    stage: Stage,
    /// When the agent had the answer, in milliseconds.
    #[serde(default)]
    settled_at: u64,
    /// What the permits are claimed with. Nobody else knows it.
    pub(super) secret: String,
}

/// How far the answer to a pause is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    /// People decide.
    Held,
    /// The answer is on its way.
    Resuming {
        /// By whom.
        by: String,
        /// Since when, in milliseconds.
        since: u64,
        /// Set from the moment it may have left.
        sent: Option<SentAnswer>,
    },
    /// The agent has it.
    Resumed,
    /// The agent went on, or was answered, without it.
    Stale,
    /// The agent does not know the task any more.
    UpstreamLost,
    /// It cannot be answered.
    Failed,
}

/// An answer that may have left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SentAnswer {
    /// Which items it says yes to.
    pub(super) used: Vec<usize>,
    /// When, in milliseconds.
    pub(super) at: u64,
}

/// A pause that is not kept yet.
#[derive(Debug, Clone)]
pub(super) struct NewPause {
    pub(super) group: String,
    pub(super) source: String,
    pub(super) print: String,
    pub(super) round: u32,
    pub(super) status: Value,
    pub(super) secret: String,
}

/// Which pause a look at the task found, and how far it was. What the agent said then is of this pause and no later one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PauseStanding {
    group: String,
    stage: Stage,
}

/// Why a task is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// The agent does not know it, or does not take the answer.
    UpstreamLost,
    /// No answer can be made.
    Failed,
}

/// What happens to a pause. Times are in milliseconds.
#[derive(Debug, Clone)]
pub(super) enum PauseTurn {
    /// The agent waits for something, and before that look the last pause was `known`.
    Seen { known: Option<PauseStanding>, pause: NewPause },
    /// Every item of this group has its request.
    Asked { group: String },
    /// A node begins to bring the answer. `shared` if other nodes can be at it.
    TakeOver { group: String, by: String, now: u64, shared: bool },
    /// The node is about to send the answer: from now on it may have left.
    Leaves { by: String, sent: SentAnswer },
    /// The node knows that the answer did not leave.
    Stays { by: String },
    /// The agent has the answer.
    Settled { at: u64 },
    /// The agent went on before the answer could leave.
    Overtaken { at: u64 },
    /// The agent went on while people decided on this group.
    WentOn { group: String },
    /// The agent waits for something that cannot be put to people, and before that look the last pause was `known`.
    Broken { known: Option<PauseStanding>, why: String },
    /// Nobody can go on with the task.
    Lost { loss: Loss, why: String },
    /// The task has ended.
    Ended,
}

/// Requests that are to be withdrawn after the turn is written: their pause ended without a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Withdrawal {
    pub(super) source: String,
    pub(super) group: String,
    pub(super) why: String,
}

/// The turn does not apply to the pause as it is now. Nothing is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotNow;

impl Paused {
    fn new(new: NewPause) -> Self {
        let NewPause { group, source, print, round, status, secret } = new;
        Self { group, source, print, round, status, asked: false, stage: Stage::Held, settled_at: 0, secret }
    }

    pub(super) fn stage(&self) -> &Stage {
        &self.stage
    }

    pub(super) fn standing(&self) -> PauseStanding {
        PauseStanding { group: self.group.clone(), stage: self.stage.clone() }
    }

    pub(super) fn is_asked(&self) -> bool {
        self.asked
    }

    /// Whether it waits for people, or for its answer to arrive.
    pub(super) fn is_open(&self) -> bool {
        self.stage == Stage::Held || self.is_on_its_way()
    }

    fn is_on_its_way(&self) -> bool {
        matches!(self.stage, Stage::Resuming { .. })
    }

    /// The answer that may have left.
    pub(super) fn sent(&self) -> Option<&SentAnswer> {
        match &self.stage {
            Stage::Resuming { sent, .. } => sent.as_ref(),
            _ => None,
        }
    }

    /// Whether the agent had the answer so long ago that it cannot still be about to go on.
    fn is_old(&self, now: u64, resend_after: Duration) -> bool {
        u128::from(now.saturating_sub(self.settled_at)) > resend_after.as_millis()
    }

    /// Whether this pause, seen again, is a new one: the last was given up for past, or its answer is old.
    pub(super) fn is_over(&self, now: u64, resend_after: Duration) -> bool {
        self.stage == Stage::Stale || (self.stage == Stage::Resumed && self.is_old(now, resend_after))
    }

    /// Whether a task only looks paused: its answer is on its way, or the agent has it and is about to go on. Some agents empty
    /// their status at once and say that they are at work a little later. So a pause without a word, or one that cannot be read,
    /// is no question for as long as that can take.
    pub(super) fn is_answered(
        &self,
        status: &Value,
        unreadable: bool,
        now: u64,
        resend_after: Duration,
    ) -> bool {
        let says_nothing = |status: &Value| status.get("message").is_none_or(Value::is_null);
        let emptied = says_nothing(status) && !says_nothing(&self.status);
        match self.stage {
            Stage::Resuming { .. } => true,
            Stage::Held => emptied,
            Stage::Resumed => (emptied || unreadable) && !self.is_old(now, resend_after),
            Stage::Stale | Stage::UpstreamLost | Stage::Failed => false,
        }
    }

    /// Ends it without its decision.
    fn end(&mut self, stage: Stage, why: &str) -> Withdrawal {
        self.stage = stage;
        Withdrawal { source: self.source.clone(), group: self.group.clone(), why: why.to_owned() }
    }
}

/// Takes a turn: changes what is known of the task, and says what is to be withdrawn.
pub(super) fn turn(facts: &mut TaskRecord, turn: &PauseTurn) -> Result<Option<Withdrawal>, NotNow> {
    match turn {
        PauseTurn::Seen { known, pause } => seen(facts, known.as_ref(), pause),
        PauseTurn::Broken { known, why } => broken(facts, known.as_ref(), why),
        PauseTurn::Lost { loss, why } => lost(facts, *loss, why),
        PauseTurn::Ended => ended(facts),
        _ => step(facts.pause.as_mut().ok_or(NotNow)?, turn),
    }
}

/// A turn of one pause on its way from people to the agent.
fn step(pause: &mut Paused, turn: &PauseTurn) -> Result<Option<Withdrawal>, NotNow> {
    const WENT_ON: &str = "the agent's task went on without this decision";
    match (turn, &mut pause.stage) {
        (PauseTurn::Asked { group }, _) if pause.group == *group && !pause.asked => pause.asked = true,
        (PauseTurn::TakeOver { group, by, now, .. }, Stage::Held) if pause.group == *group => {
            pause.stage = Stage::Resuming { by: by.clone(), since: *now, sent: None };
        }
        (PauseTurn::TakeOver { group, by, now, shared }, Stage::Resuming { by: other, since, .. })
            if pause.group == *group =>
        {
            // A database of one server: a node that had it before is gone.
            let is_at_it = *shared && other != by && now.saturating_sub(*since) < ON_ITS_WAY;
            if is_at_it {
                return Err(NotNow);
            }
            // Whether it was sent before stays known.
            other.clone_from(by);
            *since = *now;
        }
        (PauseTurn::Leaves { by, sent: leaving }, Stage::Resuming { by: node, since, sent })
            if node == by =>
        {
            *since = leaving.at;
            *sent = Some(leaving.clone());
        }
        (PauseTurn::Stays { by }, Stage::Resuming { by: node, sent, .. }) if node == by => *sent = None,
        (PauseTurn::Settled { at }, Stage::Resuming { .. }) => {
            pause.stage = Stage::Resumed;
            pause.settled_at = *at;
        }
        (PauseTurn::Overtaken { at }, Stage::Resuming { sent: None, .. }) => {
            pause.settled_at = *at;
            return Ok(Some(pause.end(Stage::Stale, WENT_ON)));
        }
        (PauseTurn::WentOn { group }, Stage::Held) if pause.group == *group => {
            return Ok(Some(pause.end(Stage::Stale, WENT_ON)));
        }
        _ => return Err(NotNow),
    }
    Ok(None)
}

/// Whether nothing happened to the pause since the look that found it so.
fn is_current(facts: &TaskRecord, known: Option<&PauseStanding>) -> bool {
    facts.pause.as_ref().map(Paused::standing).as_ref() == known
}

fn seen(
    facts: &mut TaskRecord,
    known: Option<&PauseStanding>,
    new: &NewPause,
) -> Result<Option<Withdrawal>, NotNow> {
    // Another look was faster: it saw this pause too, or a later one, or the last one was answered meanwhile.
    if !is_current(facts, known) {
        return Err(NotNow);
    }
    let mut withdrawal = None;
    if let Some(last) = &mut facts.pause {
        if last.is_on_its_way() || last.group == new.group {
            return Err(NotNow);
        }
        // What people were shown is not what waits now.
        if last.stage == Stage::Held {
            withdrawal = Some(last.end(Stage::Stale, "the agent waits for something else now"));
        }
    }
    facts.pause = Some(Paused::new(new.clone()));
    Ok(withdrawal)
}

fn broken(
    facts: &mut TaskRecord,
    known: Option<&PauseStanding>,
    why: &str,
) -> Result<Option<Withdrawal>, NotNow> {
    // What was seen is of an earlier moment: by now the answer may be on its way, or at the agent.
    if !is_current(facts, known) || facts.pause.as_ref().is_some_and(Paused::is_on_its_way) {
        return Err(NotNow);
    }
    give_up(facts, Stage::Failed, why, why)
}

fn lost(facts: &mut TaskRecord, loss: Loss, why: &str) -> Result<Option<Withdrawal>, NotNow> {
    let stage = match loss {
        Loss::UpstreamLost => Stage::UpstreamLost,
        Loss::Failed => Stage::Failed,
    };
    give_up(facts, stage, why, &format!("nothing can come of it: {why}"))
}

/// Nothing comes after this. A pause that is open ends in the same write: a reader sees both, or neither.
fn give_up(
    facts: &mut TaskRecord,
    stage: Stage,
    why: &str,
    told: &str,
) -> Result<Option<Withdrawal>, NotNow> {
    let open = facts.pause.as_mut().filter(|pause| pause.is_open());
    if open.is_none() && facts.lost.is_some() {
        return Err(NotNow);
    }
    let withdrawal = open.map(|pause| pause.end(stage, told));
    facts.lost = Some(why.to_owned());
    Ok(withdrawal)
}

fn ended(facts: &mut TaskRecord) -> Result<Option<Withdrawal>, NotNow> {
    let held = facts.pause.as_mut().filter(|pause| pause.stage == Stage::Held);
    if held.is_none() && facts.ended {
        return Err(NotNow);
    }
    // An answer that is on its way finds the end by itself.
    let withdrawal =
        held.map(|pause| pause.end(Stage::Stale, "the agent's task ended without this decision"));
    facts.ended = true;
    Ok(withdrawal)
}

#[cfg(test)]
mod tests;
