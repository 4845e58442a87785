//! An answer that comes later: a parked call gives back the handler and everything around it while it waits.
//!
//! The futures of a router, its middleware and a handler are several kilobytes together. A call that will wait for a
//! person answers at once with a [`Later`] inside; the layers around it pass that through, end and are freed, and the
//! connection then waits for the small future alone.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use axum::response::Response;

/// A future that ends with an answer.
pub(crate) type Pending = Pin<Box<dyn Future<Output = Response> + Send>>;

// Extensions of a response must be cloneable, so the one future sits behind a lock and is taken once.
#[derive(Clone)]
struct Later(Arc<Mutex<Option<Pending>>>);

/// An answer that stands for a later one.
pub(crate) fn later(answer: impl Future<Output = Response> + Send + 'static) -> Response {
    let mut response = Response::default();
    response.extensions_mut().insert(Later(Arc::new(Mutex::new(Some(Box::pin(answer))))));
    response
}

/// The later answer that this one stands for, if it does.
pub(crate) fn take(response: &mut Response) -> Option<Pending> {
    let Later(pending) = response.extensions_mut().remove::<Later>()?;
    pending.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// What a connection waits for: the router first, and then the later answer alone.
pub(crate) enum Answer<F> {
    /// The router is at work.
    Routing(Pin<Box<F>>),
    /// It is done, and its memory given back.
    Parked(Pending),
}

impl<F, E> Future for Answer<F>
where
    F: Future<Output = Result<Response, E>>,
{
    type Output = Result<Response, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            match &mut *self {
                Self::Parked(pending) => return pending.as_mut().poll(cx).map(Ok),
                Self::Routing(routing) => {
                    let mut response = std::task::ready!(routing.as_mut().poll(cx))?;
                    match take(&mut response) {
                        Some(pending) => *self = Self::Parked(pending),
                        None => return Poll::Ready(Ok(response)),
                    }
                }
            }
        }
    }
}
