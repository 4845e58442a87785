//! Asks for one call: create, wait, claim. Every allow of this module goes through [`ApprovedCall::check`].

use std::time::Duration;

use placet_client::{Claimant, Client, CreateOptions, Error, Permit, Report};
use placet_core::{Confine, Create, Record, RequestId, State};
use placet_hooks::{Answer, ApprovedCall, Call, Mode, Options, Question, answered, questions, refusal};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::{
    confine::Confiner,
    gone::gone,
    memory::{Mark, Memory, Note},
};
use crate::exit::bring_back;

/// How long an unreachable server is retried. Every call of the agent waits for this.
pub(super) const GIVE_UP: Duration = Duration::from_secs(10);
/// The length of one long poll while a person decides.
const HOLD: Duration = Duration::from_secs(20);
/// An answer without news that comes sooner than this means the server did not wait.
const HASTE: Duration = Duration::from_millis(250);
/// Most equal calls in one turn, for an agent without call ids.
const REPEATS: u32 = 200;

/// How long to wait for what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    /// For a server that does not answer.
    pub(super) give_up: Duration,
    /// For a person.
    pub(super) wait: Duration,
}

impl Timeouts {
    pub(super) fn new(wait: Duration, give_up: Option<Duration>) -> Self {
        Self { give_up: give_up.map_or(GIVE_UP, |sooner| sooner.min(GIVE_UP)), wait }
    }
}

/// One call, with everything needed to ask for it.
pub(super) struct Asker<'a> {
    pub(super) client: Client,
    pub(super) call: &'a Call,
    pub(super) options: &'a Options,
    pub(super) mode: Mode,
    pub(super) memory: &'a Memory,
    pub(super) patience: Timeouts,
    pub(super) defer: bool,
    /// The running agent, if calls may run confined.
    pub(super) confiner: Option<&'a Confiner>,
    /// The agent asked for a run without confinement: it gets only the command.
    pub(super) free: bool,
}

/// How the wait for a request ended.
pub(super) enum WaitOutcome {
    /// It is no longer pending.
    Decided(Box<Record>),
    /// Time is up.
    TimeUp,
    /// The agent no longer waits for the answer.
    Gone(&'static str),
}

/// The variable with the file in which `placet doctor --prove` looks for requests.
pub(crate) const DOCTOR: &str = "PLACET_DOCTOR";

/// Tells a doctor that started the agent which request was made, because an agent can read requests only by id.
pub(super) fn tell_doctor(id: RequestId) {
    let Some(file) = std::env::var_os(DOCTOR) else { return };
    // Only an existing file: nothing else is created or changed.
    if let Ok(mut file) = std::fs::OpenOptions::new().append(true).open(file) {
        let _ = std::io::Write::write_all(&mut file, format!("{id}\n").as_bytes());
    }
}

impl Asker<'_> {
    /// The answer. The error is a sentence that says why there is none.
    pub(super) async fn answer(&self) -> Result<Answer, String> {
        let asking = self.call.asking(self.options);
        match questions(&asking, self.call) {
            None => self.action().await,
            Some(Ok(questions)) => self.ask_person(&questions).await,
            Some(Err(why)) => Err(format!("the questions of this call cannot be asked: {why}")),
        }
    }

    async fn action(&self) -> Result<Answer, String> {
        let asking = self.call.asking(self.options);
        let (create, deadline) = (asking.create(), Instant::now() + self.patience.wait);
        let claimant = Claimant::new().map_err(|error| error.to_string())?;
        let mut occurrence = if self.call.call_id.is_some() { 0 } else { self.memory.occurrence(self.call) };
        let asked = loop {
            let asked = self.create(&create, asking.key(occurrence), Some(&claimant)).await?;
            // Without an id, a finished request belongs to an earlier equal call. This one is new.
            let over = !matches!(asked.state, State::Pending | State::Approved | State::Denied)
                && asked.permit.is_none();
            if !over || self.call.call_id.is_some() {
                break asked;
            }
            occurrence += 1;
            if occurrence >= REPEATS {
                return Err("too many calls that look the same".to_owned());
            }
        };
        let answer = self.settle(asked, deadline, &claimant).await;
        let open = matches!(answer, Ok(Answer::Defer));
        if self.call.call_id.is_none() && !open {
            self.memory.ended(self.call, occurrence);
        }
        answer
    }

    /// Asks, and soon gives up on a server that does not answer.
    async fn create(
        &self,
        create: &Create,
        key: String,
        claimant: Option<&Claimant>,
    ) -> Result<Record, String> {
        let options = CreateOptions {
            idempotency_key: Some(key),
            resolved: true,
            claim: claimant.cloned(),
            ..CreateOptions::default()
        };
        let asked = self.soon(self.impatient().create(create, options)).await?;
        tell_doctor(asked.id);
        Ok(asked)
    }

    /// The answer for a request.
    async fn settle(&self, asked: Record, deadline: Instant, claimant: &Claimant) -> Result<Answer, String> {
        let (id, waited) = (asked.id, asked.state == State::Pending);
        let decided = if waited {
            self.remember(id, None, self.call.same());
            match self.wait(id, deadline).await {
                Ok(WaitOutcome::Decided(record)) => *record,
                Ok(WaitOutcome::TimeUp) => return Ok(self.time_up(id).await),
                Ok(WaitOutcome::Gone(why)) => {
                    self.withdraw(id, why).await;
                    let relayed = self.mode == Mode::Relay;
                    return Ok(if relayed {
                        Answer::Pass(None)
                    } else {
                        Answer::Block(format!("Placet: {why}"))
                    });
                }
                Err(reason) => {
                    // If this does not arrive: nothing was claimed, and nothing will be.
                    self.withdraw(id, "the hook gave up waiting").await;
                    return Err(reason);
                }
            }
        } else {
            asked
        };
        let answer = self.decided(&decided, claimant).await;
        // Our own note, not one that an earlier hook of the same call left for its report.
        if waited && !matches!(answer, Ok(Answer::Allow(_))) {
            self.memory.forget(id);
        }
        answer
    }

    /// A request that is no longer pending.
    async fn decided(&self, record: &Record, claimant: &Claimant) -> Result<Answer, String> {
        let yes = record.permit.is_some() || record.claimable;
        if record.verdict.confine.is_some() && yes && matches!(record.state, State::Claimed | State::Approved)
        {
            return self.confined(record, claimant).await;
        }
        let (permit, arguments, digest) = match record.state {
            State::Claimed if record.permit.is_some() => {
                let edited = record.decision.as_ref().and_then(|decision| decision.arguments.clone());
                let arguments = edited.or_else(|| record.arguments.clone()).unwrap_or_default();
                (record.permit.clone().unwrap_or_default(), arguments, None)
            }
            State::Approved if record.claimable => {
                let claimed = match self.soon_raw(self.impatient().claim_as(record.id, claimant)).await {
                    Ok(claimed) => claimed,
                    Err(Error::Problem(problem)) if problem.record.is_some() => {
                        return Ok(refusal(problem.record.as_deref().unwrap_or(record)));
                    }
                    Err(error) => return Err(explained(&error)),
                };
                (claimed.permit.reveal().to_owned(), claimed.arguments, Some(claimed.digest))
            }
            State::Cancelled if self.mode == Mode::Relay => return Ok(Answer::Pass(None)),
            _ => return Ok(refusal(record)),
        };
        let approved = ApprovedCall::check(self.call, record, Some(&permit), &arguments, digest)?;
        if approved.edited() && !self.confiner.is_some_and(Confiner::takes_edits) {
            let report = Report::failed("not run: approved with changes that the agent may drop");
            let _ = self.soon(self.impatient().report(record.id, &Permit::from(permit), &report)).await;
            return Ok(Answer::Block(format!(
                "Placet: approved with changes, and {} was not seen to run anything else than its own call, so nothing was run. \
                 What was approved: {}. Ask again with exactly that",
                self.call.event.agent(),
                Value::Object(arguments)
            )));
        }
        // A call that may run free shows whether this agent runs what it is handed.
        let trial = self.confiner.filter(|_| !self.free && !approved.edited());
        let trial = trial.and_then(|confiner| confiner.trial(self.call, &arguments));
        let (approved, input, mark) = match trial {
            Some((handed, mark)) => (approved.handing(handed.clone()), handed, Some(mark)),
            None if self.free => (approved.handing(arguments.clone()), arguments, None),
            None => (approved, arguments, None),
        };
        let same = Call { input, ..self.call.clone() }.same();
        self.remember_run(record.id, Some(permit), same, mark);
        Ok(Answer::Allow(approved))
    }

    /// A call that is allowed confined: claimed as a caller that can confine, and handed over as a run of `placet
    /// run`.
    async fn confined(&self, record: &Record, claimant: &Claimant) -> Result<Answer, String> {
        let confiner = self.confiner.ok_or("it is allowed confined, and this hook runs nothing confined")?;
        let claimed = self.soon(self.impatient().claim_confined(record.id, claimant)).await?;
        if claimed.confine != Some(Confine::Workspace) {
            return Err("it is allowed in a confinement that is not known here".to_owned());
        }
        let permit = claimed.permit.reveal();
        let made = confiner.handed(self.call, &claimed.arguments, &claimed.workspace, &record.id.to_string());
        let (handed, mark) = match made {
            Ok(made) => made,
            Err(why) => {
                let report = Report::failed("not run: it could not be confined");
                let _ = self.soon(self.impatient().report(record.id, &claimed.permit, &report)).await;
                return Err(format!(
                    "it may run confined only, and cannot be confined: {why}. To ask a person for more: placet run --ask -- CMD"
                ));
            }
        };
        let approved = ApprovedCall::check_confined(
            self.call,
            record,
            Some(permit),
            &claimed.arguments,
            Some(claimed.digest),
            handed.clone(),
        )?;
        let same = Call { input: handed, ..self.call.clone() }.same();
        self.remember_run(record.id, Some(permit.to_owned()), same, Some(mark));
        Ok(Answer::Allow(approved))
    }

    /// There was no decision while we could wait.
    async fn time_up(&self, id: RequestId) -> Answer {
        if self.defer {
            return Answer::Defer;
        }
        self.withdraw(id, "nobody decided in time").await;
        if self.mode == Mode::Relay {
            return Answer::Pass(None);
        }
        let seconds = self.patience.wait.as_secs();
        Answer::Block(format!(
            "Placet: nobody decided within {seconds} s, so it was not run. Ask again if it is still needed"
        ))
    }

    /// Waits until it is no longer pending.
    pub(super) async fn wait(&self, id: RequestId, deadline: Instant) -> Result<WaitOutcome, String> {
        let client = self.impatient();
        let gone = gone();
        tokio::pin!(gone);
        loop {
            let (now, began) = (deadline.saturating_duration_since(Instant::now()), Instant::now());
            if now.is_zero() {
                return Ok(WaitOutcome::TimeUp);
            }
            let hold = now.min(HOLD);
            let record = tokio::select! {
                why = &mut gone => return Ok(WaitOutcome::Gone(why)),
                // The server holds the call. More time than that means a silent server.
                got = timeout(hold + self.patience.give_up, client.get_after(id, Some(hold), None)) => match got {
                    Ok(Ok(record)) => record,
                    Ok(Err(error)) => return Err(explained(&error)),
                    Err(_) => return Err(format!("{} does not answer any more", self.client.url())),
                },
            };
            if record.id != id {
                return Err("the server answered about another request".to_owned());
            }
            if record.state != State::Pending {
                return Ok(WaitOutcome::Decided(Box::new(record)));
            }
            if began.elapsed() < HASTE {
                tokio::time::sleep(HASTE).await;
            }
        }
    }

    /// Asks a person all questions of a call.
    async fn ask_person(&self, questions: &[Question]) -> Result<Answer, String> {
        let asking = self.call.asking(self.options);
        let deadline = Instant::now() + self.patience.wait;
        let occurrence = if self.call.call_id.is_some() { 0 } else { self.memory.occurrence(self.call) };
        // All at once, so that the person sees them together. Then the answers in order.
        let mut asked = Vec::new();
        for (number, question) in questions.iter().enumerate() {
            let key = format!("{}-{number}", asking.key(occurrence));
            asked.push(self.create(&question.create, key, None).await?);
        }
        let mut answers = Vec::new();
        for (question, record) in questions.iter().zip(&asked) {
            let record = match record.state {
                State::Pending => match self.wait(record.id, deadline).await? {
                    WaitOutcome::Decided(record) => *record,
                    WaitOutcome::TimeUp if self.defer => return Ok(Answer::Defer),
                    WaitOutcome::TimeUp | WaitOutcome::Gone(_) => {
                        for record in &asked {
                            self.withdraw(record.id, "nobody answered in time").await;
                        }
                        return Err("nobody answered in time".to_owned());
                    }
                },
                _ => record.clone(),
            };
            let answer = record.decision.as_ref().and_then(|decision| decision.answer.clone());
            match (record.state, answer) {
                (State::Answered, Some(answer)) if record.question.as_ref() == Some(&question.text) => {
                    answers.push((question.text.clone(), answer));
                }
                _ => return Ok(refusal(&record)),
            }
        }
        if self.call.call_id.is_none() {
            self.memory.ended(self.call, occurrence);
        }
        answered(self.call, &answers).map(Answer::Answered)
    }

    pub(super) fn impatient(&self) -> Client {
        self.client.clone().with_outage_budget(self.patience.give_up)
    }

    /// A call to a server that must answer soon.
    pub(super) async fn soon_raw<T>(&self, call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let budget = self.patience.give_up;
        timeout(budget, call).await.unwrap_or_else(|_| {
            Err(Error::Unreachable {
                url: self.client.url().to_owned(),
                reason: format!("it did not answer within {} s", budget.as_secs()),
                tried: budget,
            })
        })
    }

    async fn soon<T>(&self, call: impl Future<Output = Result<T, Error>>) -> Result<T, String> {
        self.soon_raw(call).await.map_err(|error| explained(&error))
    }

    async fn withdraw(&self, id: RequestId, reason: &str) {
        self.memory.forget(id);
        let client = self.client.clone().with_outage_budget(Duration::from_secs(1));
        // Too late or not possible: the request will expire, and nothing is claimed.
        let _ = timeout(Duration::from_secs(3), client.cancel(id, Some(reason))).await;
    }

    /// Reports that the permit just claimed was not used.
    pub(super) async fn not_run(&self) {
        let notes = self.memory.notes();
        let same = |note: &&Note| note.permit.is_some() && note.call_id == self.call.call_id;
        let Some((note, permit)) = notes
            .iter()
            .filter(same)
            .max_by_key(|note| note.request)
            .and_then(|note| Some((note, note.permit.clone()?)))
        else {
            return;
        };
        self.memory.forget(note.request);
        let report = Report::failed("not run: approved with changes that the agent cannot make");
        let _ = self.soon(self.impatient().report(note.request, &Permit::from(permit), &report)).await;
    }

    fn remember(&self, request: RequestId, permit: Option<String>, same: String) {
        self.remember_run(request, permit, same, None);
    }

    fn remember_run(&self, request: RequestId, permit: Option<String>, same: String, mark: Option<Mark>) {
        let (marked, original) = (mark.is_some(), self.call.same());
        self.memory.note(&Note {
            mark,
            request,
            permit,
            call_id: self.call.call_id.clone(),
            asked: (marked && original != same).then_some(original),
            same,
            relay: self.mode == Mode::Relay,
            subagent: self.call.context.contains_key("agent_id"),
        });
    }
}

/// An error as a sentence that says what to do.
pub(super) fn explained(error: &Error) -> String {
    match error {
        Error::Unreachable { url, reason, .. } => {
            format!("cannot reach the server at {url}: {reason}. {}", bring_back(url))
        }
        Error::Problem(problem) if problem.code == "idempotency_key_reused" => {
            "the agent asked for a call of this id before, with other arguments or from another place"
                .to_owned()
        }
        Error::Problem(problem) if problem.status == 401 => {
            format!("{problem}. Set PLACET_TOKEN to an agent's key (`placet key new --role agent`)")
        }
        Error::Problem(problem) if problem.status == 403 => {
            format!("{problem}. A hook needs the key of an agent")
        }
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreachable_server_is_given_up_within_ten_seconds_whatever_is_asked_for() {
        assert_eq!(GIVE_UP, Duration::from_secs(10));
        let wait = Duration::from_mins(9);
        assert_eq!(Timeouts::new(wait, None).give_up, GIVE_UP);
        assert_eq!(Timeouts::new(wait, Some(Duration::from_hours(1))).give_up, GIVE_UP);
        assert_eq!(Timeouts::new(wait, Some(Duration::from_secs(1))).give_up, Duration::from_secs(1));
    }
}
