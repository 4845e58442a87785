//! Waiting for what a test expects. The bound only ends a failing test; no test passes because of it.

use std::{future::Future, time::Duration};

/// Far longer than anything takes on a busy machine.
const BOUND: Duration = Duration::from_mins(1);
/// How long a look at a state is apart from the next one.
const LOOK: Duration = Duration::from_millis(2);

/// What a future brings. After a minute the test fails and says what it waited for.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let ended = tokio::time::timeout(BOUND, future).await;
    ended.unwrap_or_else(|_| panic!("waited a minute for {what}"))
}

/// Looks until there is something, and returns it.
pub async fn found<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    soon(what, async {
        loop {
            if let Some(value) = look().await {
                return value;
            }
            tokio::time::sleep(LOOK).await;
        }
    })
    .await
}

/// Looks until it is true.
pub async fn until(what: &str, mut is_true: impl AsyncFnMut() -> bool) {
    found(what, async || is_true().await.then_some(())).await;
}
