//! Word that an answer is coming: while it is being committed, whoever delivers it can get ready. It says nothing about what
//! the answer will be, and promises nothing: what is sent is what was committed.

use std::sync::{Arc, Mutex, PoisonError};

use placet_core::Request;
use placet_store::{Delivery, SeenEvent, StoredEvent};
use tokio::sync::{mpsc, oneshot};

use crate::Gate;

/// How many answers can be on their way to whoever delivers them. Beyond that they are delivered without preparation.
const MANY: usize = 64;

/// Where word is sent: to the last one who asked for it.
#[derive(Debug, Default)]
pub(crate) struct Listener(Mutex<Option<mpsc::Sender<UpcomingAnswer>>>);

/// An answer that somebody is giving to an agent that waits for a call.
#[derive(Debug)]
pub struct UpcomingAnswer {
    /// The event that asked.
    pub event: StoredEvent,
    /// The request as it was before the answer.
    pub request: Arc<Request>,
    /// The request with the answer, once that is committed. Closed when there will be none.
    pub answered: oneshot::Receiver<Arc<Request>>,
}

/// The other end: kept while the answer is being committed. Dropped, it says that there is no answer.
#[derive(Debug)]
pub struct Notice(oneshot::Sender<Arc<Request>>);

impl Notice {
    /// The answer was committed. Changes that leave the request open are none.
    pub fn answered(self, request: &Arc<Request>) {
        if Delivery::answers(request) {
            // Nobody got ready: it is delivered as if nobody had been told.
            let _ = self.0.send(request.clone());
        }
    }
}

impl Gate {
    /// Says that somebody is answering. Nothing if nobody would get ready for it.
    pub fn answering(&self, seen: &SeenEvent) -> Option<Notice> {
        let request = seen.request.clone().filter(|request| {
            Delivery::address(request).is_some()
                && request.state_at(self.now()) == placet_core::State::Pending
        })?;
        let (send, answered) = oneshot::channel();
        let coming = UpcomingAnswer { event: seen.event.clone(), request, answered };
        let listener = self.coming.0.lock().unwrap_or_else(PoisonError::into_inner);
        listener.as_ref()?.try_send(coming).ok()?;
        Some(Notice(send))
    }

    /// Hears of answers that are being given on this node. Who asked before hears of no more.
    pub fn coming(&self) -> mpsc::Receiver<UpcomingAnswer> {
        let (send, receive) = mpsc::channel(MANY);
        *self.coming.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(send);
        receive
    }
}
