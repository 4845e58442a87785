//! A message on its way to its agent: what comes back is remembered as a task of the caller.

use std::{sync::Arc, time::Duration};

use placet_a2a::{AgentResult, Fault, Operation, PushConfig, TaskState};
use placet_core::Actor;
use serde_json::{Value, value::RawValue};

use super::{
    super::{desk::fault, serve::Answer},
    agent::{Agent, Calling, Events},
    hold,
    hub::{Following, Then},
    kept::{self, Conversation, KnownTask, Meeting},
    pushes,
    reader::{self, Source},
    snapshot,
};
use crate::State;

/// How long a stream may take to say its first word.
const OPENING: Duration = Duration::from_mins(2);

/// A message on its way to its agent.
pub(super) struct Sending {
    pub(super) state: State,
    pub(super) agent: Arc<Agent>,
    pub(super) actor: Actor,
    pub(super) calling: Calling,
    pub(super) params: Value,
    /// The task that the message is about, if it names one.
    pub(super) known: Option<KnownTask>,
    /// Where news of the task is to be posted to.
    pub(super) push: Option<PushConfig>,
    /// The conversation of the caller's that the message continues.
    pub(super) continues: Option<Conversation>,
}

/// How a stream began.
pub(super) enum StreamStart {
    /// With words, and nothing follows.
    Message(Box<RawValue>),
    /// With a task, which is being read.
    Task(Box<KnownTask>, Following),
}

impl Sending {
    /// The task that an answer is about, remembered as this caller's.
    async fn meet(&self, id: &str, context: &str, ended: bool) -> Result<KnownTask, Fault> {
        if let Some(kept) = &self.known {
            // An answer about another task than the message was for is not believed.
            let same = kept.id == id && kept.facts.context == context;
            let strange =
                || Fault::BadAgent("it answers about another task than it was asked about".to_owned());
            return if same { Ok(kept.clone()) } else { Err(strange()) };
        }
        let met = Meeting {
            owner: &self.actor.name,
            id,
            context,
            calling: &self.calling,
            continues: self.continues.clone(),
            ended,
        };
        kept::meet(&self.state.gate, &self.agent, &met).await.map_err(|error| fault(&self.state, error))?
    }

    /// Stores the push notification config that came with the message. Returns the task, which is marked by it.
    async fn set_push(&self, kept: &KnownTask) -> Result<Option<KnownTask>, Fault> {
        let Some(push) = &self.push else { return Ok(None) };
        pushes::set(&self.state, &self.agent, &self.actor, kept.clone(), self.calling.version, push).await?;
        kept::load(&self.state.gate, &self.agent, &kept.id).await.map_err(|error| fault(&self.state, error))
    }

    /// Sends it for one answer.
    pub(super) async fn once(self) -> Result<Answer, Fault> {
        let _turn = self.agent.turn()?;
        let patience = self.agent.settings.patience;
        let raw = self.agent.call(&self.calling, Operation::Send, &self.params, patience).await?;
        let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        match AgentResult::of(self.calling.version, &value) {
            Some(AgentResult::Message { .. }) => Ok(Answer::Raw(raw)),
            Some(AgentResult::Task(seen)) => {
                let ended = seen.state.is_some_and(TaskState::is_terminal);
                let mut kept = self.meet(seen.id, seen.context, ended).await?;
                let view = hold::look(&self.state, &self.agent, &mut kept, &seen).await?;
                let kept = self.set_push(&kept).await?.unwrap_or(kept);
                let (hub, key) = (&self.state.proxy.hub, kept::key(&self.agent, &kept.id));
                if hub.is_followed(&key) && !hub.is_read(&key) {
                    // Whoever follows the task hears of it from here.
                    reader::read(&self.state, &self.agent, kept.clone(), Source::Task(raw.clone()), false);
                } else if view != hold::View::AsIs || Then::after(seen.state) != Then::Pause {
                    // A pause that comes later is noticed, whether or not the caller looks.
                    pushes::keep_up(&self.state, &self.agent, kept.clone());
                }
                if view == hold::View::AsIs {
                    return Ok(Answer::Raw(raw));
                }
                let shown = snapshot::shown(&self.state, &kept, &seen, None, view).await?;
                Ok(Answer::Document(self.calling.version.as_update(shown.task)))
            }
            _ => Err(Fault::BadAgent("its answer is neither a task nor a message".to_owned())),
        }
    }

    /// Sends it for a stream.
    pub(super) async fn streamed(self) -> Result<StreamStart, Fault> {
        let _turn = self.agent.turn()?;
        let patience = self.agent.settings.patience;
        // Our card offers streams for every agent. One that has none is asked for one answer, and its task is followed.
        let operation = if self.agent.card().await?.streaming { Operation::Stream } else { Operation::Send };
        let mut events: Events = self.agent.stream(&self.calling, operation, &self.params, patience).await?;
        let late = |_| Fault::BadAgent("its stream says nothing in time".to_owned());
        let opening = tokio::time::timeout(patience.min(OPENING), events.next()).await.map_err(late)??;
        let first =
            opening.ok_or_else(|| Fault::BadAgent("its stream ends before it says anything".to_owned()))?;
        let value: Value = serde_json::from_str(first.get()).unwrap_or_default();
        let (id, context) = match AgentResult::of(self.calling.version, &value) {
            Some(AgentResult::Message { .. }) => return Ok(StreamStart::Message(first)),
            Some(AgentResult::Task(seen) | AgentResult::Status(seen)) => (seen.id, seen.context),
            Some(AgentResult::Artifact { id, context }) => (id, context),
            None => return Err(Fault::BadAgent("its stream begins with what nobody can read".to_owned())),
        };
        let kept = self.meet(id, context, false).await?;
        let kept = self.set_push(&kept).await?.unwrap_or(kept);
        let following = self.state.proxy.hub.follow(&kept::key(&self.agent, &kept.id));
        reader::read(&self.state, &self.agent, kept.clone(), Source::Stream(Box::new(events), first), true);
        Ok(StreamStart::Task(Box::new(kept), following))
    }
}
