//! The client against a server that breaks off, refuses, repeats itself and answers nonsense.

mod fake;
mod gated;
mod outage;
mod policy;
mod stream;
mod waiting;

use std::time::Duration;

/// The output of a future. The limit only ends a failing test.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let ended = tokio::time::timeout(Duration::from_mins(1), future).await;
    ended.unwrap_or_else(|_| panic!("waited a minute for {what}"))
}
