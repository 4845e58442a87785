//! The one reader of the tail: reads every entry once, in order, and passes it to waiters, streams and the timer.

use std::{sync::Arc, time::Duration};

use placet_store::{News, StoreError, Tail};

use crate::{feed::concerns_doors, gate::Inner};

/// Runs until the gate closes.
pub(crate) async fn run(inner: Arc<Inner>, mut tail: Tail) {
    loop {
        let news = tokio::select! {
            news = tail.next() => news,
            () = inner.cancel.cancelled() => return,
        };
        match news {
            Ok(news) => tell(&inner, news).await,
            Err(StoreError::Stopped(_)) => return,
            // Waiters would wait for entries that may never come.
            Err(StoreError::HistoryLost(_)) => return inner.waiters.end_all(),
            Err(error) => {
                // The cursor stays: entries are late, not lost.
                tracing::warn!(%error, "the tail cannot be read; trying again");
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
    }
}

async fn tell(inner: &Inner, news: News) {
    metrics::counter!("placet_events_total", "type" => news.name).increment(1);
    if let Some(request) = &news.request {
        inner.waiters.wake(request);
        inner.paces.heard(news.name, request, news.at);
        if let Some(deadline) = request.deadline() {
            inner.timer.expect(deadline);
        }
    }
    if news.admin.is_some() {
        match inner.store.refresh_directory().await {
            Ok(directory) => inner.waiters.wake_revoked(&directory),
            Err(error) => tracing::warn!(%error, "cannot reload keys and people"),
        }
    }
    if concerns_doors(&news) {
        let _ = inner.door_news.send(news.clone());
    }
    // There is no open stream.
    let _ = inner.news.send(news);
}
