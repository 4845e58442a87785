//! The newest ledger entry that this node knows. A database without it went back: a standby that lagged was promoted, or an
//! old copy was put in place. Its permits may be wrong.

use std::sync::{Mutex, PoisonError};

use placet_core::Digest;
use placet_ledger::Head;
use tokio::sync::watch;

use crate::{StoreError, sabotage::planted};

/// The newest entry that this node acknowledged or built on, and whether the database lost it.
#[derive(Debug)]
pub(crate) struct History {
    known: Mutex<Option<Head>>,
    lost: watch::Sender<Option<String>>,
}

impl Default for History {
    fn default() -> Self {
        Self { known: Mutex::default(), lost: watch::channel(None).0 }
    }
}

impl History {
    /// Where the ledger ended when this node last looked.
    pub(crate) fn known(&self) -> Option<Head> {
        // Held for a copy; a panic leaves a plain value behind.
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The ledger is at least as long as this.
    pub(crate) fn saw(&self, head: &Head) {
        // A ledger without entries has nothing that could be missing.
        if head.seq == 0 {
            return;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|known| head.seq > known.seq) {
            *known = Some(head.clone());
        }
    }

    /// Compares what was known before the database was asked with what it said: its head, and the hash of the entry that
    /// was known.
    pub(crate) fn check(
        &self,
        known: Option<&Head>,
        head: &Head,
        there: Option<Digest>,
    ) -> Result<(), StoreError> {
        let Some(known) = known else { return Ok(()) };
        if (head.seq >= known.seq && there == Some(known.hash)) || planted("history-is-not-compared") {
            return Ok(());
        }
        let found = match there {
            Some(other) => format!("another entry is there, {other}"),
            None => format!("the database ends with entry {}", head.seq),
        };
        Err(self.lose(format!("this node acknowledged entry {}, {}, and {found}", known.seq, known.hash)))
    }

    /// From now on nothing is written.
    pub(crate) fn lose(&self, why: String) -> StoreError {
        self.lost.send_if_modified(|lost| {
            let first = lost.is_none();
            if first {
                tracing::error!(
                    code = "history_lost",
                    why,
                    "the database went back: nothing more is written and no permit is given. Stop every node, then \
                     look at `placet recover --dry-run`"
                );
                *lost = Some(why.clone());
            }
            first
        });
        StoreError::HistoryLost(why)
    }

    /// Why nothing is written any more, if that is so.
    pub(crate) fn lost(&self) -> Option<String> {
        self.lost.borrow().clone()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Option<String>> {
        self.lost.subscribe()
    }
}

/// Ends when history was lost.
pub(crate) async fn until_lost(lost: &mut watch::Receiver<Option<String>>) -> StoreError {
    let why = lost.wait_for(Option::is_some).await.map(|why| why.clone());
    match why {
        Ok(Some(why)) => StoreError::HistoryLost(why),
        _ => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(seq: u64, byte: u8) -> Head {
        Head { epoch: "e".to_owned(), seq, hash: Digest::new([byte; 32]) }
    }

    #[test]
    fn a_ledger_that_has_what_was_known_is_right_however_long_it_is() {
        let history = History::default();
        history.check(None, &head(0, 0), None).unwrap();
        let known = head(3, 3);
        history.check(Some(&known), &head(3, 3), Some(Digest::new([3; 32]))).unwrap();
        history.check(Some(&known), &head(9, 9), Some(Digest::new([3; 32]))).unwrap();
        assert_eq!(history.lost(), None);
    }

    #[test]
    fn a_shorter_ledger_and_another_one_are_lost_history_and_stay_it() {
        for (end, there) in [(2, None), (3, Some(4)), (9, Some(4)), (9, None)] {
            let history = History::default();
            let found = there.map(|byte| Digest::new([byte; 32]));
            let error = history.check(Some(&head(3, 3)), &head(end, 9), found).unwrap_err();
            assert!(matches!(error, StoreError::HistoryLost(_)), "{error}");
            assert!(history.lost().is_some());
        }
    }

    #[test]
    fn what_is_known_only_grows() {
        let history = History::default();
        history.saw(&head(5, 5));
        history.saw(&head(3, 3));
        assert_eq!(history.known(), Some(head(5, 5)));
    }
}
