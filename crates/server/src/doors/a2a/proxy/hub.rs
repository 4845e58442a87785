//! Who follows which task on this node, and who reads it from its agent.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use placet_a2a::TaskState;
use tokio::sync::broadcast;

/// How many events a slow follower may lag behind before it gets the task as it stands instead.
const MEMORY: usize = 256;

/// One event as followers get it.
#[derive(Debug, Clone)]
pub(super) struct TaskEvent {
    /// The result of the protocol, as text.
    pub(super) text: Arc<str>,
    /// What comes after it.
    pub(super) then: Then,
}

/// What comes after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// More may come.
    More,
    /// A pause that clients see: the stream of a message ends, and whoever follows the task stays.
    Pause,
    /// Nothing: the task has ended.
    End,
}

impl Then {
    /// What comes after a task is shown in this state.
    pub(super) fn after(state: Option<TaskState>) -> Self {
        match state {
            Some(state) if state.is_terminal() => Self::End,
            Some(state) if state.is_interrupted() => Self::Pause,
            _ => Self::More,
        }
    }
}

#[derive(Debug)]
struct Line {
    send: broadcast::Sender<TaskEvent>,
    readers: usize,
}

/// The tasks that somebody on this node follows or reads.
#[derive(Debug, Default, Clone)]
pub(super) struct Hub(Arc<Mutex<HashMap<String, Line>>>);

impl Hub {
    fn with<T>(&self, f: impl FnOnce(&mut HashMap<String, Line>) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn line<'a>(lines: &'a mut HashMap<String, Line>, key: &str) -> &'a mut Line {
        lines.entry(key.to_owned()).or_insert_with(|| Line { send: broadcast::channel(MEMORY).0, readers: 0 })
    }

    /// Follows a task from now on.
    pub(super) fn follow(&self, key: &str) -> Following {
        let receive = self.with(|lines| Self::line(lines, key).send.subscribe());
        Following { receive: Some(receive), hub: self.clone(), key: key.to_owned() }
    }

    /// Says that somebody reads the task from its agent, for as long as the guard lives.
    pub(super) fn reading(&self, key: &str) -> Reading {
        self.with(|lines| Self::line(lines, key).readers += 1);
        Reading { hub: self.clone(), key: key.to_owned() }
    }

    /// Becomes the reader of a task if it has none.
    pub(super) fn read_if_alone(&self, key: &str) -> Option<Reading> {
        let alone = self.with(|lines| {
            let line = Self::line(lines, key);
            let alone = line.readers == 0;
            line.readers += usize::from(alone);
            alone
        });
        alone.then(|| Reading { hub: self.clone(), key: key.to_owned() })
    }

    /// Whether somebody on this node reads it.
    pub(super) fn is_read(&self, key: &str) -> bool {
        self.with(|lines| lines.get(key).is_some_and(|line| line.readers > 0))
    }

    /// Whether somebody on this node follows it.
    pub(super) fn is_followed(&self, key: &str) -> bool {
        self.with(|lines| lines.get(key).is_some_and(|line| line.send.receiver_count() > 0))
    }

    /// Tells everybody who follows it.
    pub(super) fn tell(&self, key: &str, told: TaskEvent) {
        self.with(|lines| {
            if let Some(line) = lines.get(key) {
                // Nobody there is fine.
                let _ = line.send.send(told);
            }
        });
    }

    fn tidy(&self, key: &str) {
        self.with(|lines| {
            if lines.get(key).is_some_and(|line| line.readers == 0 && line.send.receiver_count() == 0) {
                lines.remove(key);
            }
        });
    }
}

/// A place among those who follow a task.
#[derive(Debug)]
pub(super) struct Following {
    receive: Option<broadcast::Receiver<TaskEvent>>,
    hub: Hub,
    key: String,
}

impl Following {
    /// The next event; `None` when some were missed and the task has to be read again.
    pub(super) async fn next(&mut self) -> Option<TaskEvent> {
        match &mut self.receive {
            Some(receive) => receive.recv().await.ok(),
            None => None,
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.receive = None;
        self.hub.tidy(&self.key);
    }
}

/// Says for as long as it lives that a task is read from its agent.
#[derive(Debug)]
pub(super) struct Reading {
    hub: Hub,
    key: String,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.hub.with(|lines| {
            if let Some(line) = lines.get_mut(&self.key) {
                line.readers = line.readers.saturating_sub(1);
            }
        });
        self.hub.tidy(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn everybody_who_follows_is_told_and_nothing_is_left_behind() {
        let hub = Hub::default();
        let (mut one, mut two) = (hub.follow("k"), hub.follow("k"));
        let reading = hub.read_if_alone("k").unwrap();
        assert!(hub.read_if_alone("k").is_none());
        hub.tell("k", TaskEvent { text: "1".into(), then: Then::More });
        assert_eq!(&*one.next().await.unwrap().text, "1");
        assert_eq!(&*two.next().await.unwrap().text, "1");
        drop((one, two));
        assert!(hub.is_read("k"));
        drop(reading);
        assert!(hub.with(|lines| lines.is_empty()));
    }
}
