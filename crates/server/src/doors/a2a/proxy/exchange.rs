//! One attempt to bring a complete answer to its agent.
//!
//! What was approved is claimed before it is sent, so that nothing is sent that was taken back, and nobody else can use it. An answer
//! that may have left is not sent again before the agent was asked how the task stands.

use std::{sync::Arc, time::Duration};

use placet_a2a::{
    AgentResult, AgentTask, Operation, TaskState,
    pause::{self, Decided, Dialect, Pause},
};
use placet_core::{DecisionWord, Refusal, ReportStatus, Request, State as Life};
use placet_gate::{AttemptResult, GateError};
use serde_json::{Value, json};

use super::{
    agent::{Agent, QUICK, Trouble},
    hold,
    kept::{self, KnownTask},
    life::{self, Loss, NotNow, PauseTurn, SentAnswer},
    reader::{self, Source},
    snapshot,
};
use crate::State;

/// How often an answer that the agent refuses for its shape is tried again.
const REFUSED: u32 = 5;
/// How long the agent may take to say that it has the answer.
const TAKEN: Duration = Duration::from_secs(40);

/// One attempt to bring a complete answer to its agent.
pub(super) struct Exchange<'a> {
    pub(super) state: &'a State,
    pub(super) agent: Arc<Agent>,
    pub(super) kept: KnownTask,
    pub(super) requests: Vec<Arc<Request>>,
    pub(super) attempts: u32,
}

/// How the task stands at its agent.
enum UpstreamState {
    /// It waits for this very answer.
    Waits(Box<Pause>),
    /// It does not: it stands elsewhere.
    WentOn(Option<TaskState>),
    /// The agent does not know it.
    Lost,
    /// Nobody can say.
    Unknown(String),
}

impl Exchange<'_> {
    /// Claims what was approved, sends the answer, and reads what the agent says. An answer that may have left is not sent again blindly.
    pub(super) async fn run(mut self) -> Result<AttemptResult, GateError> {
        let Some((sent, secret)) = self.take_over().await? else {
            return Ok(AttemptResult::Failed("somebody else is at it".to_owned()));
        };
        match (self.standing().await, sent) {
            (UpstreamState::Unknown(why), _) => Ok(AttemptResult::Failed(why)),
            (UpstreamState::Lost, sent) => self.lost(sent.is_some()).await,
            (UpstreamState::WentOn(state), Some(sent)) => self.went_on(&sent.used, state).await,
            (UpstreamState::WentOn(_), None) => self.stale().await,
            (UpstreamState::Waits(_), Some(sent)) if self.is_fresh(&sent) => {
                Ok(AttemptResult::Failed("it is not known yet what became of the answer".to_owned()))
            }
            (UpstreamState::Waits(pause), _) => self.send(&pause, &secret).await,
        }
    }

    /// Whether an answer that may have left can still be on its way: an agent may have it and not say so yet.
    fn is_fresh(&self, sent: &SentAnswer) -> bool {
        let age = self.state.gate.now().millis().saturating_sub(sent.at);
        u128::from(age) < self.agent.settings.resend_after.as_millis()
    }

    /// This node, as the pause has it.
    fn node(&self) -> String {
        self.state.gate.store().owner().to_owned()
    }

    /// Marks the answer as being on its way, by us; and says whether it may have been sent before.
    async fn take_over(&mut self) -> Result<Option<(Option<SentAnswer>, String)>, GateError> {
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
        let sent = SentAnswer { used, at: self.state.gate.now().millis() };
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
    async fn standing(&self) -> UpstreamState {
        let facts = &self.kept.facts;
        let raw = match snapshot::fetch(&self.agent, &self.kept, None).await {
            Ok(raw) => raw,
            Err(trouble) if trouble.is_missing_task() => return UpstreamState::Lost,
            Err(trouble) => return UpstreamState::Unknown(trouble.to_string()),
        };
        let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        let Some(seen) = AgentTask::of(&value).filter(|seen| seen.id == self.kept.id) else {
            return UpstreamState::Unknown("it answers with something that is not the task".to_owned());
        };
        if seen.state.is_none() {
            return UpstreamState::Unknown("its task is in a state nobody knows".to_owned());
        }
        if !seen.state.is_some_and(TaskState::is_interrupted) {
            return UpstreamState::WentOn(seen.state);
        }
        let decided = facts.pause.as_ref().and_then(|pause| pause::detect(&pause.status).ok().flatten());
        match (decided, pause::detect(seen.status)) {
            (Some(decided), Ok(Some(now))) if decided.fingerprint() == now.fingerprint() => {
                UpstreamState::Waits(Box::new(decided))
            }
            (Some(_), Ok(_)) => UpstreamState::WentOn(seen.state),
            _ => UpstreamState::Unknown("its pause cannot be read any more".to_owned()),
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
        let state = match AgentResult::of(self.kept.facts.version(), &value) {
            Some(AgentResult::Task(seen) | AgentResult::Status(seen)) => seen.state,
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
                UpstreamState::Waits(_) => {
                    let why = format!(
                        "its question was not answered ({why}), and the agent cannot withdraw a task"
                    );
                    self.lose(Loss::Failed, &why).await;
                    Ok(AttemptResult::Refused(why))
                }
                UpstreamState::Unknown(why) => Ok(AttemptResult::Failed(why)),
                UpstreamState::WentOn(_) | UpstreamState::Lost => self.withdrawn().await,
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
