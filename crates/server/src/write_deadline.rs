//! The deadline for readers over HTTP/2. A stream whose reader takes nothing in time is reset; a connection on which
//! nothing moves at all is cut.
//!
//! With HTTP/1.1 a reader that stops makes writes to its socket stick. With HTTP/2 it can keep the socket moving and leave
//! every stream without a window, so streams are watched one by one.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures_util::task::AtomicWaker;
use hyper_util::rt::TokioExecutor;
use tokio::{
    task::futures::TaskLocalFuture,
    time::{Instant, Sleep},
};

use crate::unsent::Budget;

tokio::task_local! {
    // Set around everything that one stream of HTTP/2 does, and nowhere else.
    static STREAM: Arc<StreamWatch>;
}

/// The pieces of one stream's answer that hyper has and did not write yet.
#[derive(Debug)]
pub(crate) struct StreamWatch {
    waiting: AtomicUsize,
    began: Instant,
    // When a piece was last given or came back, in milliseconds after the beginning.
    moved: AtomicU64,
    end: AtomicWaker,
}

impl StreamWatch {
    fn new() -> Self {
        let end = AtomicWaker::new();
        Self { waiting: AtomicUsize::new(0), began: Instant::now(), moved: AtomicU64::new(0), end }
    }

    fn moves(&self) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.moved.store(now, Ordering::Release);
    }

    /// When the reader has taken nothing for too long, if anything waits for it.
    fn deadline(&self, patience: Duration) -> Option<Instant> {
        let moved = Duration::from_millis(self.moved.load(Ordering::Acquire));
        (self.waiting.load(Ordering::Acquire) > 0).then(|| self.began + moved + patience)
    }

    /// That of the stream whose task this is, if it is one of HTTP/2.
    pub(crate) fn current() -> Option<Arc<Self>> {
        STREAM.try_with(Arc::clone).ok()
    }

    /// Hyper was given a piece.
    pub(crate) fn handed_out(&self) {
        if self.waiting.fetch_add(1, Ordering::AcqRel) == 0 {
            self.moves();
        }
    }

    /// Hyper let go of a piece.
    pub(crate) fn came_back(&self) {
        self.moves();
        if self.waiting.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.end.wake();
        }
    }

    /// Whether hyper has none any more; otherwise the task is woken when that is so.
    pub(crate) fn is_done(&self, cx: &Context<'_>) -> bool {
        self.end.register(cx.waker());
        self.waiting.load(Ordering::Acquire) == 0
    }
}

/// Runs the streams of HTTP/2, each with its deadline.
#[derive(Debug, Clone)]
pub(crate) struct StreamExecutor {
    pub(crate) patience: Duration,
}

impl<F> hyper::rt::Executor<F> for StreamExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let watch = Arc::new(StreamWatch::new());
        let stream = Box::pin(STREAM.scope(watch.clone(), stream));
        TokioExecutor::new().execute(StreamTask { stream, watch, patience: self.patience, stuck: None });
    }
}

/// One stream. Dropping it resets the stream.
struct StreamTask<F> {
    stream: Pin<Box<TaskLocalFuture<Arc<StreamWatch>, F>>>,
    watch: Arc<StreamWatch>,
    patience: Duration,
    // Set while pieces wait. Most streams never need it.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl<F: Future<Output = ()>> Future for StreamTask<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.stream.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let (watch, patience) = (self.watch.clone(), self.patience);
        // Pieces come back without this task being polled, so the time is looked at again when it is up.
        while let Some(deadline) = watch.deadline(patience) {
            let sleep = self.stuck.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            if sleep.deadline() >= deadline {
                metrics::counter!("placet_slow_readers_total").increment(1);
                tracing::debug!("a stream is reset: the other side does not read it");
                return Poll::Ready(());
            }
            sleep.as_mut().reset(deadline);
        }
        self.stuck = None;
        Poll::Pending
    }
}

/// How many looks at a connection make up the patience.
const LOOKS: u32 = 8;
/// How many without a change are too many. Streams are reset before, so that the others on the connection live.
const TOO_MANY: u32 = LOOKS + LOOKS / 4;

/// Returns when a connection had unsent bytes for somewhat longer than the patience lasts, and none of them moved. Streams
/// that hyper is done with have no task any more, but their last bytes may still wait.
pub(crate) async fn until_nothing_moves(connection: &Budget, patience: Duration) {
    let mut quiet = 0;
    let (mut unsent, mut moved) = (0, 0);
    while quiet < TOO_MANY {
        tokio::time::sleep(patience / LOOKS).await;
        let stays = unsent > 0 && connection.unsent() > 0 && connection.moved() == moved;
        quiet = if stays { quiet + 1 } else { 0 };
        (unsent, moved) = (connection.unsent(), connection.moved());
    }
}
