//! Reading a task from its agent, whoever is there to hear it.
//!
//! A reader belongs to no client: a client that goes away ends nothing. Across a pause the reader ends and the followers stay;
//! whoever brings the agent the answer becomes the next reader.

use std::{sync::Arc, time::Duration};

use placet_a2a::{AgentResult, AgentTask, Fault, Operation, TaskState};
use serde_json::{Value, json, value::RawValue};
use tokio::time::Instant;

use super::{
    agent::{Agent, Events, QUICK},
    hold::{View, look},
    hub::{Reading, TaskEvent, Then},
    kept::{KnownTask, key},
    snapshot::{Snapshot, shown, snapshot},
};
use crate::State;

/// How often a task that tells nothing by itself is asked how it stands.
const ASK_AGAIN: [Duration; 4] =
    [Duration::from_millis(250), Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];
/// How long one reader reads. Whatever is not over by then is looked at now and then.
const LONGEST: Duration = Duration::from_hours(6);

/// What a reader has learnt of its task.
struct Reader {
    state: State,
    agent: Arc<Agent>,
    kept: KnownTask,
    _reading: Reading,
    /// Where the task stands, as followers were told.
    told: Option<TaskState>,
    /// Whether followers have seen the whole task once.
    opened: bool,
    /// Whether people decide now.
    waits: bool,
    /// Where the task stood when it was last posted.
    posted: Option<(Option<TaskState>, bool)>,
}

impl Reader {
    fn tell(&self, event: &Value, then: Then) {
        self.tell_text(event.to_string(), then);
    }

    fn tell_text(&self, text: String, then: Then) {
        self.state.proxy.hub.tell(&key(&self.agent, &self.kept.id), TaskEvent { text: text.into(), then });
    }

    /// One event of the agent, told as clients may see it. Events about other tasks are not.
    async fn take(&mut self, raw: &RawValue) -> Result<(), Fault> {
        let version = self.kept.facts.version();
        let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        match AgentResult::of(version, &value) {
            Some(AgentResult::Task(seen)) if seen.id == self.kept.id => {
                let view = look(&self.state, &self.agent, &mut self.kept, &seen).await?;
                let as_it_came = (view == View::AsIs).then_some(raw);
                let shown = shown(&self.state, &self.kept, &seen, None, view).await?;
                self.show(shown, as_it_came);
                Ok(())
            }
            Some(AgentResult::Status(seen)) if seen.id == self.kept.id => {
                let view = look(&self.state, &self.agent, &mut self.kept, &seen).await?;
                self.status(&seen, raw, view).await
            }
            Some(AgentResult::Artifact { id, .. }) if id == self.kept.id => {
                self.tell_text(raw.get().to_owned(), Then::More);
                Ok(())
            }
            Some(AgentResult::Message { .. }) => {
                self.tell_text(raw.get().to_owned(), Then::More);
                Ok(())
            }
            _ => {
                tracing::warn!(agent = %self.agent.name(), task = %self.kept.id, "an event that is not of this task is left out");
                Ok(())
            }
        }
    }

    /// A whole task: told whole the first time, as it came if it may be, and later as what led to it.
    fn show(&mut self, shown: Snapshot, as_it_came: Option<&RawValue>) {
        let version = self.kept.facts.version();
        let then = Then::after(shown.state);
        // A task that goes on after a pause begins with the same task again; followers know it.
        let moved = shown.state != self.told && shown.state != Some(TaskState::Submitted);
        if !self.opened {
            self.opened = true;
            match as_it_came {
                Some(raw) => self.tell_text(raw.get().to_owned(), then),
                None => self.tell(&version.as_update(shown.task), then),
            }
        } else if (moved || shown.waits != self.waits)
            && let Some(task) = AgentTask::of(&shown.task)
        {
            let events = version.spread(&task);
            let count = events.len();
            for (index, event) in events.iter().enumerate() {
                self.tell(event, if index + 1 == count { then } else { Then::More });
            }
        }
        (self.told, self.waits) = (shown.state, shown.waits);
    }

    async fn status(&mut self, seen: &AgentTask<'_>, raw: &RawValue, view: View) -> Result<(), Fault> {
        let version = self.kept.facts.version();
        match view {
            View::AsIs => {
                self.tell_text(raw.get().to_owned(), Then::after(seen.state));
                (self.told, self.waits) = (seen.state, false);
            }
            View::Waiting if self.waits => {}
            view => {
                let shown = shown(&self.state, &self.kept, seen, None, view).await?;
                let status = shown.task.get("status").cloned().unwrap_or_default();
                let then = Then::after(shown.state);
                let last = then != Then::More;
                let event = version.status_event(&self.kept.id, &self.kept.facts.context, status, last);
                self.tell(&event, then);
                (self.told, self.waits) = (shown.state, shown.waits);
            }
        }
        Ok(())
    }

    /// Has those told who wish to have it posted, if the task stands elsewhere now. They get the whole task, so it is read.
    async fn announce(&mut self) {
        let now = (self.told, self.waits);
        if !self.kept.facts.push || self.posted == Some(now) {
            return;
        }
        self.posted = Some(now);
        if let Err(why) = snapshot(&self.state, &self.agent, &mut self.kept, None).await {
            tracing::debug!(agent = %self.agent.name(), task = %self.kept.id, why = why.message(), "a task could not be read to be posted");
        }
    }

    fn is_over(&self) -> bool {
        self.waits || Then::after(self.told) != Then::More
    }

    /// Reads the stream to its end.
    async fn read(&mut self, mut events: Events) {
        let until = Instant::now() + LONGEST;
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                () = tokio::time::sleep_until(until) => return,
                () = self.state.closing.cancelled() => return,
            };
            match event {
                Ok(Some(raw)) => {
                    if let Err(why) = self.take(&raw).await {
                        tracing::warn!(agent = %self.agent.name(), task = %self.kept.id, why = why.message(), "an event could not be taken; asking again");
                        return;
                    }
                    self.announce().await;
                    // What comes after an end or a pause says nothing new, and may never stop.
                    if self.is_over() {
                        return;
                    }
                }
                Ok(None) => return,
                Err(why) => {
                    tracing::info!(agent = %self.agent.name(), task = %self.kept.id, %why, "a stream broke off; asking again");
                    return;
                }
            }
        }
    }

    /// Follows the task at its agent again, if the agent can do that.
    async fn resubscribe(&mut self) {
        let Ok(card) = self.agent.card().await else { return };
        if !card.streaming {
            return;
        }
        let calling = self.agent.calling(&self.kept.facts).await;
        let params = json!({"id": self.kept.id});
        if let Ok(events) = self.agent.stream(&calling, Operation::Subscribe, &params, QUICK).await {
            self.read(events).await;
        }
    }

    /// Asks again and again until the task ends or waits for people. Without followers, rarely.
    async fn ask(&mut self) {
        let until = Instant::now() + LONGEST;
        let mut gaps = ASK_AGAIN.iter().copied();
        while !self.is_over() && Instant::now() < until {
            match snapshot(&self.state, &self.agent, &mut self.kept, None).await {
                Ok(shown) => self.show(shown, None),
                Err(why) => {
                    tracing::debug!(agent = %self.agent.name(), task = %self.kept.id, why = why.message(), "a task could not be read");
                }
            }
            let heard =
                self.kept.facts.push || self.state.proxy.hub.is_followed(&key(&self.agent, &self.kept.id));
            // Nobody follows it: it is looked at now and then with all the others.
            if self.is_over() || (!heard && gaps.len() == 0) {
                return;
            }
            let gap = gaps.next().unwrap_or(ASK_AGAIN[ASK_AGAIN.len() - 1]);
            tokio::select! {
                () = tokio::time::sleep(gap) => {}
                () = self.state.closing.cancelled() => return,
            }
        }
    }
}

/// What a reader begins with.
pub(super) enum Source {
    /// A stream that is open, with its first event already taken from it.
    Stream(Box<Events>, Box<RawValue>),
    /// One answer: the task as it stands.
    Task(Box<RawValue>),
    /// Nothing yet: the agent is asked.
    Ask,
}

/// Reads a task from now on, in the background. Followers have seen it already unless `fresh`.
pub(super) fn read(state: &State, agent: &Arc<Agent>, kept: KnownTask, source: Source, fresh: bool) {
    let reading = match source {
        // Two who ask again would tell everything twice.
        Source::Ask => match state.proxy.hub.read_if_alone(&key(agent, &kept.id)) {
            Some(reading) => reading,
            None => return,
        },
        _ => state.proxy.hub.reading(&key(agent, &kept.id)),
    };
    let told = (!fresh).then_some(TaskState::Working);
    let mut reader = Reader {
        state: state.clone(),
        agent: agent.clone(),
        kept,
        _reading: reading,
        told,
        opened: !fresh,
        waits: false,
        posted: None,
    };
    state.tasks.spawn(async move {
        match source {
            Source::Stream(events, first) => {
                let taken = reader.take(&first).await.is_ok();
                reader.announce().await;
                if taken && !reader.is_over() {
                    reader.read(*events).await;
                }
            }
            Source::Task(task) => {
                let _ = reader.take(&task).await;
                reader.announce().await;
            }
            Source::Ask => reader.resubscribe().await,
        }
        if !reader.is_over() {
            reader.ask().await;
        }
    });
}
