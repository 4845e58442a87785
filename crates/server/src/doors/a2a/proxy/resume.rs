//! The one complete answer to a pause, sent when every item of it is decided, and once.
//!
//! Every decision on an item leaves a delivery in the outbox, in its own transaction; the last one finds the pause complete. What
//! was approved is claimed before it is sent, so that nothing is sent that was taken back, and nobody else can use it. An answer
//! whose fate is not known is not sent again before the agent was asked how the task stands.

use std::{sync::Arc, time::Duration};

use placet_a2a::{
    Operation, Seen, SeenTask, TaskState,
    pause::{self, Decided, Dialect, Pause},
};
use placet_core::{AnswerBack, DecisionWord, Refusal, ReportStatus, Request, State as Life, Time};
use placet_gate::{Attempt, AttemptResult, Channel, ChannelLimits, Delivery, Due, GateError};
use serde_json::{Value, json};

use super::{
    super::task::Lineage,
    agent::{Agent, QUICK, Trouble},
    hold,
    kept::{self, Kept},
    life::{self, Loss, NotNow, PauseTurn, Sent},
    reader::{self, Source},
    snapshot,
};
use crate::State;

/// How many answers are sent at once.
const AT_ONCE: usize = 256;
/// How long an answer is nobody else's: an agent may take [`TAKEN`] to say that it has it.
const LEASE: Duration = Duration::from_mins(1);
/// How often an answer that the agent refuses for its shape is tried again.
const REFUSED: u32 = 5;
/// How long the agent may take to say that it has the answer.
const TAKEN: Duration = Duration::from_secs(40);

/// The channel that brings agents behind us the answers that they wait for.
#[derive(Debug, Clone)]
pub struct Resumes(State);

impl Resumes {
    /// For the agents of a server.
    pub fn of(state: &State) -> Self {
        Self(state.clone())
    }
}

impl Channel for Resumes {
    fn name(&self) -> &'static str {
        AnswerBack::Resume.channel()
    }

    fn limits(&self) -> ChannelLimits {
        ChannelLimits { at_once: AT_ONCE, lease: LEASE }
    }

    /// Sends the answer if the pause is complete.
    fn deliver<'a>(&'a self, due: &'a Due) -> Attempt<'a> {
        Box::pin(async {
            let result = attempt(&self.0, &due.delivery).await;
            result.unwrap_or_else(|error| AttemptResult::Failed(error.to_string()))
        })
    }
}

async fn attempt(state: &State, delivery: &Delivery) -> Result<AttemptResult, GateError> {
    let refused = |why: &str| Ok(AttemptResult::Refused(why.to_owned()));
    let Some(request) = state.gate.store().get(delivery.request).await? else {
        return refused("the request is gone");
    };
    let Some(lineage) = Lineage::of(&request) else {
        return refused("what was asked was erased");
    };
    let Some(agent) = state.proxy.agent(&lineage.namespace, &lineage.agent) else {
        // The operator may put it back.
        return Ok(AttemptResult::Failed(format!(
            "there is no agent {}/{}",
            lineage.namespace, lineage.agent
        )));
    };
    answer(state, agent, &lineage.task, request.group.as_deref(), delivery.attempts).await
}

/// Looks whether a pause that nobody tells of any more can be answered: its delivery was given up, or met another pause.
pub(super) async fn catch_up(state: &State, agent: Arc<Agent>, task: &str) -> Result<(), GateError> {
    if let AttemptResult::Failed(why) = answer(state, agent, task, None, 0).await? {
        tracing::debug!(task, why, "an answer could not be sent");
    }
    Ok(())
}

/// Answers the pause of a task, if it is this one and every item of it is decided.
async fn answer(
    state: &State,
    agent: Arc<Agent>,
    task: &str,
    group: Option<&str>,
    attempts: u32,
) -> Result<AttemptResult, GateError> {
    // A slow attempt must not meet its own repetition.
    let Some(_turn) = state.proxy.turn_soon(&kept::key(&agent, task)).await else {
        return Ok(AttemptResult::Failed("the answer is being sent".to_owned()));
    };
    let Some(kept) = kept::load(&state.gate, &agent, task).await? else {
        return Ok(AttemptResult::Refused("the task is not remembered".to_owned()));
    };
    let open = kept.facts.open_pause().map(|pause| pause.group.as_str());
    if open.is_none() || group.is_some_and(|group| open != Some(group)) {
        // Answered, stale or lost: all were told already.
        return Ok(AttemptResult::Delivered);
    }
    let mut requests = hold::requests(state, &kept).await?;
    let items = requests.first().and_then(|request| Lineage::of(request)).map(|lineage| lineage.items);
    let now = state.gate.now();
    let whole = items == Some(requests.len());
    if !whole || requests.iter().any(|request| request.state_at(now) == Life::Pending) {
        // The last decision brings a delivery of its own.
        return Ok(AttemptResult::Delivered);
    }
    if is_late(&requests, now, state.gate.settings().claim_window) {
        hold::withdraw(state, &kept, "approved, and the agent could not be told in time").await?;
        requests = hold::requests(state, &kept).await?;
    }
    Resume { state, agent, kept, requests, attempts }.run().await
}

/// Whether the last item was decided so long ago that a yes is not meant any more: the agent was away. What was claimed for an
/// answer that may have left stays as it is.
fn is_late(requests: &[Arc<Request>], now: Time, window: Duration) -> bool {
    let decided = requests.iter().map(|request| match &request.decision {
        Some(decision) => decision.at,
        None => request.expires_at,
    });
    decided.max().is_some_and(|last| now > last.plus(window))
}

/// An answer that is complete.
struct Resume<'a> {
    state: &'a State,
    agent: Arc<Agent>,
    kept: Kept,
    requests: Vec<Arc<Request>>,
    attempts: u32,
}

/// How the task stands at its agent.
enum Standing {
    /// It waits for this very answer.
    Waits(Box<Pause>),
    /// It does not: it stands elsewhere.
    WentOn(Option<TaskState>),
    /// The agent does not know it.
    Lost,
    /// Nobody can say.
    Unknown(String),
}

impl Resume<'_> {
    async fn run(mut self) -> Result<AttemptResult, GateError> {
        let Some((sent, secret)) = self.take_over().await? else {
            return Ok(AttemptResult::Failed("somebody else is at it".to_owned()));
        };
        match (self.standing().await, sent) {
            (Standing::Unknown(why), _) => Ok(AttemptResult::Failed(why)),
            (Standing::Lost, sent) => self.lost(sent.is_some()).await,
            (Standing::WentOn(state), Some(sent)) => self.went_on(&sent.used, state).await,
            (Standing::WentOn(_), None) => self.stale().await,
            (Standing::Waits(_), Some(sent)) if self.is_fresh(&sent) => {
                Ok(AttemptResult::Failed("it is not known yet what became of the answer".to_owned()))
            }
            (Standing::Waits(pause), _) => self.send(&pause, &secret).await,
        }
    }

    /// Whether an answer that may have left can still be on its way: an agent may have it and not say so yet.
    fn is_fresh(&self, sent: &Sent) -> bool {
        let age = self.state.gate.now().millis().saturating_sub(sent.at);
        u128::from(age) < self.agent.settings.resend_after.as_millis()
    }

    /// This node, as the pause has it.
    fn node(&self) -> String {
        self.state.gate.store().owner().to_owned()
    }

    /// Marks the answer as being on its way, by us; and says whether it may have been sent before.
    async fn take_over(&mut self) -> Result<Option<(Option<Sent>, String)>, GateError> {
        let Some(group) = self.kept.facts.pause.as_ref().map(|pause| pause.group.clone()) else {
            return Ok(None);
        };
        let (by, now) = (self.node(), self.state.gate.now().millis());
        let shared = self.state.gate.store().is_shared();
        let taken = self.turn(PauseTurn::TakeOver { group, by, now, shared }).await?;
        let pause = self.kept.facts.pause.as_ref().filter(|_| taken);
        Ok(pause.map(|pause| (pause.sent().cloned(), pause.secret.clone())))
    }

    /// Writes down that the answer may leave from now on. Before this nothing was sent; after it, nobody sends blindly. Written
    /// once, over what was read: if anything changed meanwhile, the agent is asked again first.
    async fn leaves(&mut self, used: Vec<usize>) -> Result<bool, GateError> {
        let sent = Sent { used, at: self.state.gate.now().millis() };
        let leaves = PauseTurn::Leaves { by: self.node(), sent };
        match life::turn(&mut self.kept.facts, &leaves) {
            Ok(_) => kept::save(&self.state.gate, &self.agent, &mut self.kept).await,
            Err(NotNow) => Ok(false),
        }
    }

    async fn turn(&mut self, turn: PauseTurn) -> Result<bool, GateError> {
        hold::turn(self.state, &self.agent, &mut self.kept, &turn).await
    }

    /// Writes down that the agent has the answer.
    async fn settle(&mut self) -> Result<(), GateError> {
        let at = self.state.gate.now().millis();
        self.turn(PauseTurn::Settled { at }).await?;
        Ok(())
    }

    /// Asks the agent how the task stands. The pause must be the one that was decided, to the letter.
    async fn standing(&self) -> Standing {
        let facts = &self.kept.facts;
        let raw = match snapshot::fetch(&self.agent, &self.kept, None).await {
            Ok(raw) => raw,
            Err(trouble) if trouble.is_missing_task() => return Standing::Lost,
            Err(trouble) => return Standing::Unknown(trouble.to_string()),
        };
        let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        let Some(seen) = SeenTask::of(&value).filter(|seen| seen.id == self.kept.id) else {
            return Standing::Unknown("it answers with something that is not the task".to_owned());
        };
        if seen.state.is_none() {
            return Standing::Unknown("its task is in a state nobody knows".to_owned());
        }
        if !seen.state.is_some_and(TaskState::is_interrupted) {
            return Standing::WentOn(seen.state);
        }
        let decided = facts.pause.as_ref().and_then(|pause| pause::detect(&pause.status).ok().flatten());
        match (decided, pause::detect(seen.status)) {
            (Some(decided), Ok(Some(now))) if decided.fingerprint() == now.fingerprint() => {
                Standing::Waits(Box::new(decided))
            }
            (Some(_), Ok(_)) => Standing::WentOn(seen.state),
            _ => Standing::Unknown("its pause cannot be read any more".to_owned()),
        }
    }

    /// What becomes of each item, in order. What was approved is claimed here: from now on it cannot be taken back.
    async fn decisions(&self, secret: &str) -> Result<Vec<(Decided, Option<String>)>, GateError> {
        let mut decisions = Vec::with_capacity(self.requests.len());
        for request in &self.requests {
            decisions.push(self.decision(request, secret).await?);
        }
        Ok(decisions)
    }

    async fn decision(
        &self,
        request: &Request,
        secret: &str,
    ) -> Result<(Decided, Option<String>), GateError> {
        let no = |why: &str| (Decided::Rejected { reason: Some(why.to_owned()) }, None);
        let decision = request.decision.as_ref();
        let reason = decision.and_then(|decision| decision.reason.clone());
        Ok(match request.state_at(self.state.gate.now()) {
            // Claimed before by us, if the secret says so: then an answer is being sent again.
            Life::Approved | Life::Claimed => {
                if decision.is_some_and(|decision| decision.word == DecisionWord::Edit) {
                    return Ok(no("approved with other arguments, which this agent cannot be told"));
                }
                match self.state.gate.claim(&self.kept.actor(), request.id, Some(secret), None).await {
                    Ok(claimed) => (Decided::Approved, Some(claimed.permit)),
                    // Not a no: it is told once the freeze is lifted, if that is in time.
                    Err(error @ GateError::Refused { refusal: Refusal::Frozen { .. }, .. }) => {
                        return Err(error);
                    }
                    Err(GateError::Refused { .. }) => no("the approval was taken back or is used up"),
                    Err(error) => return Err(error),
                }
            }
            Life::Answered => {
                let content = decision.and_then(|decision| decision.content.as_ref());
                match content.and_then(|content| content.answer.clone()) {
                    Some(answer) => (Decided::Answered(answer), None),
                    None => no("the answer was erased"),
                }
            }
            Life::Denied => (Decided::Rejected { reason }, None),
            Life::Expired => no("nobody decided in time"),
            Life::Lapsed => no("approved, and not used in time"),
            Life::Cancelled => no("withdrawn"),
            Life::Revoked => no("the approval was taken back"),
            // Used up before: this agent is not told yes a second time.
            Life::Succeeded | Life::Failed | Life::Unknown | Life::Pending => no("the approval is used up"),
        })
    }

    async fn send(mut self, pause: &Pause, secret: &str) -> Result<AttemptResult, GateError> {
        let decisions = self.decisions(secret).await?;
        let permits: Vec<Option<String>> = decisions.iter().map(|(_, permit)| permit.clone()).collect();
        let decided: Vec<Decided> = decisions.into_iter().map(|(decided, _)| decided).collect();
        let refused = decided.iter().find_map(|decided| match decided {
            Decided::Rejected { reason } => Some(reason.clone()),
            _ => None,
        });
        if let (Dialect::Generic, Some(reason)) = (pause.dialect, refused) {
            return self.give_up(reason).await;
        }
        // Some agents cannot be told yes to one call and no to another: then the yes is not used.
        let settled = pause.settled(&decided).unwrap_or_default();
        let told_yes = |index: usize| matches!(settled.get(index), Some(Decided::Approved));
        let (used, unused): (Vec<_>, Vec<_>) = permits
            .iter()
            .enumerate()
            .map(
                |(index, permit)| {
                    if told_yes(index) { (permit.clone(), None) } else { (None, permit.clone()) }
                },
            )
            .unzip();
        let version = self.kept.facts.version();
        let group = self.kept.facts.pause.as_ref().map_or("", |pause| pause.group.as_str());
        let message = pause.answer(
            version,
            &format!("placet-{group}"),
            &self.kept.id,
            &self.kept.facts.context,
            &decided,
        );
        let message = match message {
            Ok(message) => message,
            Err(why) => {
                tracing::error!(agent = %self.agent.name(), task = %self.kept.id, %why, "an answer could not be made");
                self.report(&permits, ReportStatus::Failed, "no answer could be made").await?;
                let why = format!("its pause cannot be answered: {why}");
                self.lose(Loss::Failed, &why).await;
                return Ok(AttemptResult::Refused(why));
            }
        };
        let yeses = used.iter().enumerate().filter(|(_, permit)| permit.is_some());
        let yeses: Vec<usize> = yeses.map(|(index, _)| index).collect();
        if !self.leaves(yeses).await? {
            return Ok(AttemptResult::Failed("somebody else is at it".to_owned()));
        }
        match self.post(&message).await {
            Ok(source) => {
                let (status, note) = self.taken(&source);
                self.report(&used, status, note).await?;
                let why = "the agent was told no: it cannot be told yes to this and no to another call of the same pause";
                self.report(&unused, ReportStatus::Failed, why).await?;
                self.settle().await?;
                reader::read(self.state, &self.agent, self.kept.clone(), source, false);
                Ok(AttemptResult::Delivered)
            }
            Err(trouble) => {
                // What was not sent, or was refused before anybody looked at it, can be sent again at any time.
                if trouble.is_untaken() {
                    self.turn(PauseTurn::Stays { by: self.node() }).await?;
                }
                let hopeless = trouble.is_untaken() && matches!(trouble, Trouble::Refused(_));
                if hopeless && self.attempts >= REFUSED {
                    let why = format!("the agent refuses the answer: {trouble}");
                    self.report(&permits, ReportStatus::Failed, &why).await?;
                    self.lose(Loss::UpstreamLost, &why).await;
                    return Ok(AttemptResult::Refused(why));
                }
                Ok(AttemptResult::Failed(trouble.to_string()))
            }
        }
    }

    /// What the agent's first word after the answer says of it.
    fn taken(&self, source: &Source) -> (ReportStatus, &'static str) {
        let raw = match source {
            Source::Stream(_, first) | Source::Task(first) => first.get(),
            Source::Ask => "",
        };
        let value: Value = serde_json::from_str(raw).unwrap_or_default();
        let state = match Seen::of(self.kept.facts.version(), &value) {
            Some(Seen::Task(seen) | Seen::Status(seen)) => seen.state,
            _ => None,
        };
        match state {
            Some(TaskState::Failed | TaskState::Canceled | TaskState::Rejected) => {
                (ReportStatus::Failed, "the agent has the answer, and its task ended without going on")
            }
            _ => (ReportStatus::Succeeded, "the agent has the answer and went on"),
        }
    }

    /// Sends the answer and waits until the agent has begun to answer in turn.
    async fn post(&self, message: &Value) -> Result<Source, Trouble> {
        let calling = self.agent.calling(&self.kept.facts).await;
        let streaming = self.agent.card().await.is_ok_and(|card| card.streaming);
        if streaming {
            let params = json!({"message": message});
            let taken = async {
                let mut events = self.agent.stream(&calling, Operation::Stream, &params, TAKEN).await?;
                match events.next().await? {
                    Some(first) => Ok(Source::Stream(Box::new(events), first)),
                    None => Err(Trouble::Unclear("its stream ends before it says anything".to_owned())),
                }
            };
            let late = |_| Trouble::Unclear("it says nothing in time".to_owned());
            return tokio::time::timeout(TAKEN, taken).await.map_err(late)?;
        }
        let soon = match calling.version {
            placet_a2a::Version::V03 => json!({"blocking": false}),
            placet_a2a::Version::V10 => json!({"returnImmediately": true}),
        };
        let params = json!({"message": message, "configuration": soon});
        self.agent.call(&calling, Operation::Send, &params, TAKEN).await.map(Source::Task)
    }

    /// Says in the ledger what became of what was approved.
    async fn report(
        &self,
        permits: &[Option<String>],
        status: ReportStatus,
        note: &str,
    ) -> Result<(), GateError> {
        for (request, permit) in self.requests.iter().zip(permits) {
            let Some(permit) = permit else { continue };
            let note = Some(format!("{}: {note}", self.agent.name()));
            let actor = self.kept.actor();
            match self.state.gate.report(&actor, request.id, permit, status, None, note, None).await {
                Ok(_) | Err(GateError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The permits of what was claimed with this pause's secret.
    async fn permits(&self) -> Result<Vec<Option<String>>, GateError> {
        let secret = self.kept.facts.pause.as_ref().map(|pause| pause.secret.clone()).unwrap_or_default();
        let mut permits = Vec::with_capacity(self.requests.len());
        for request in &self.requests {
            let used = matches!(request.state_at(self.state.gate.now()), Life::Approved | Life::Claimed);
            let claimed = if used {
                match self.state.gate.claim(&self.kept.actor(), request.id, Some(&secret), None).await {
                    // What became of it can be said once the freeze is lifted.
                    Err(error @ GateError::Refused { refusal: Refusal::Frozen { .. }, .. }) => {
                        return Err(error);
                    }
                    claimed => claimed.ok(),
                }
            } else {
                None
            };
            permits.push(claimed.map(|claimed| claimed.permit));
        }
        Ok(permits)
    }

    /// The answer was sent before, and the task is elsewhere now. Where it ended badly nobody can say whether the answer was
    /// heard: then nothing is reported, and the outcome is unknown.
    async fn went_on(mut self, used: &[usize], state: Option<TaskState>) -> Result<AttemptResult, GateError> {
        let permits = self.permits().await?;
        let of = |wanted: bool| {
            let all = permits.iter().enumerate();
            all.map(|(index, permit)| permit.clone().filter(|_| used.contains(&index) == wanted))
                .collect::<Vec<_>>()
        };
        if !matches!(state, Some(TaskState::Failed | TaskState::Canceled | TaskState::Rejected)) {
            let why = "the agent has the answer and went on";
            self.report(&of(true), ReportStatus::Succeeded, why).await?;
        }
        self.report(&of(false), ReportStatus::Failed, "the agent was told no").await?;
        self.settle().await?;
        reader::read(self.state, &self.agent, self.kept.clone(), Source::Ask, false);
        Ok(AttemptResult::Delivered)
    }

    /// The task went on without the answer, which is not sent any more.
    async fn stale(mut self) -> Result<AttemptResult, GateError> {
        let why = "the agent's task went on without this decision";
        // What was not claimed is withdrawn; what was claimed and never sent did not happen.
        hold::withdraw(self.state, &self.kept, why).await?;
        let permits = self.permits().await?;
        self.report(&permits, ReportStatus::Failed, why).await?;
        let at = self.state.gate.now().millis();
        self.turn(PauseTurn::Overtaken { at }).await?;
        reader::read(self.state, &self.agent, self.kept.clone(), Source::Ask, false);
        Ok(AttemptResult::Refused(why.to_owned()))
    }

    /// The agent has lost the task, and everybody sees it. What was approved never happened, unless the answer may have left
    /// before: then nobody knows, and nothing is reported.
    async fn lost(mut self, sent: bool) -> Result<AttemptResult, GateError> {
        let why = snapshot::UNKNOWN;
        if !sent {
            let permits = self.permits().await?;
            self.report(&permits, ReportStatus::Failed, &format!("upstream_lost: {why}")).await?;
        }
        self.lose(Loss::UpstreamLost, why).await;
        Ok(AttemptResult::Refused(format!("upstream_lost: {why}")))
    }

    /// A question in plain words that nobody answers: the task is withdrawn, because silence could be taken for a word. Its
    /// client is told why, by us: plain words have none for it that the agent would understand.
    async fn give_up(mut self, reason: Option<String>) -> Result<AttemptResult, GateError> {
        let why = reason.map_or_else(
            || "a person said no".to_owned(),
            |reason| reason.trim().trim_end_matches('.').to_owned(),
        );
        kept::update(&self.state.gate, &self.agent, &mut self.kept, |facts| {
            let news = facts.refused.as_ref() != Some(&why);
            facts.refused = Some(why.clone());
            news
        })
        .await?;
        let calling = self.agent.calling(&self.kept.facts).await;
        match self.agent.call(&calling, Operation::Cancel, &json!({"id": self.kept.id}), QUICK).await {
            Ok(_) => self.withdrawn().await,
            // It cannot be withdrawn: unless it moved on by itself it would wait for ever, and ask people again.
            Err(Trouble::Refused(_)) => match self.standing().await {
                Standing::Waits(_) => {
                    let why = format!(
                        "its question was not answered ({why}), and the agent cannot withdraw a task"
                    );
                    self.lose(Loss::Failed, &why).await;
                    Ok(AttemptResult::Refused(why))
                }
                Standing::Unknown(why) => Ok(AttemptResult::Failed(why)),
                Standing::WentOn(_) | Standing::Lost => self.withdrawn().await,
            },
            Err(trouble) => Ok(AttemptResult::Failed(trouble.to_string())),
        }
    }

    /// The task does not wait for its answer any more.
    async fn withdrawn(mut self) -> Result<AttemptResult, GateError> {
        self.settle().await?;
        reader::read(self.state, &self.agent, self.kept.clone(), Source::Ask, false);
        Ok(AttemptResult::Delivered)
    }

    /// Gives the task up: nobody can go on with it.
    async fn lose(&mut self, loss: Loss, why: &str) {
        let _ = snapshot::lose(self.state, &self.agent, &mut self.kept, loss, why).await;
    }
}
