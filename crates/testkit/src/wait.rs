//! Waiting for what a test expects. The bound only ends a failing test; no test passes because of it.

use std::{future::Future, time::Duration};

/// Far longer than anything takes, even on a busy machine.
const BOUND: Duration = Duration::from_mins(1);
/// The pause between two looks at a state.
const LOOK: Duration = Duration::from_millis(2);

/// The output of a future. After a minute the test fails and says what it waited for.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let ended = tokio::time::timeout(BOUND, future).await;
    ended.unwrap_or_else(|_| panic!("waited a minute for {what}"))
}

/// Polls until there is a value, and returns it.
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
