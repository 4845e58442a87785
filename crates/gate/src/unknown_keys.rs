//! Unknown keys: looked up in the database because another node may have made them, but not for every call.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use placet_core::Directory;
use placet_store::Store;
use tokio::time::Instant;

use crate::GateError;

/// How many unknown keys are remembered.
const REMEMBERED: usize = 1024;

/// The cache of unknown keys.
#[derive(Debug, Default)]
pub(crate) struct UnknownKeys {
    // Together with the directory that lacks them: another directory makes the cache void. The server makes secrets,
    // so a key is never tried before it exists, and changes of other nodes come with the tail.
    remembered: Mutex<(Weak<Directory>, HashSet<[u8; 32]>)>,
    // When the last lookup in the database began.
    looked: tokio::sync::Mutex<Option<Instant>>,
    looks: AtomicU64,
}

impl UnknownKeys {
    /// Whether this key was looked up without success since keys or people last changed.
    pub(crate) fn has(&self, directory: &Arc<Directory>, secret: &[u8; 32]) -> bool {
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        is(&remembered.0, directory) && remembered.1.contains(secret)
    }

    pub(crate) fn remember(&self, directory: &Arc<Directory>, secret: [u8; 32]) {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if !is(&remembered.0, directory) || remembered.1.len() >= REMEMBERED {
            *remembered = (Arc::downgrade(directory), HashSet::new());
        }
        remembered.1.insert(secret);
    }

    /// Reloads keys and people from the database. Callers at the same time share one read: a read that begins after a
    /// caller came has everything from before.
    pub(crate) async fn look(&self, store: &Store) -> Result<Arc<Directory>, GateError> {
        if store.is_alone() {
            // On SQLite no other process writes, and our own writes are in memory before they are acknowledged.
            return Ok(store.directory());
        }
        let came = Instant::now();
        let mut looked = self.looked.lock().await;
        if looked.is_some_and(|began| began > came) {
            return Ok(store.directory());
        }
        let began = Instant::now();
        self.looks.fetch_add(1, Ordering::Relaxed);
        let directory = store.refresh_directory().await?;
        *looked = Some(began);
        Ok(directory)
    }

    /// How often the database was read.
    pub(crate) fn looks(&self) -> u64 {
        self.looks.load(Ordering::Relaxed)
    }
}

fn is(remembered: &Weak<Directory>, directory: &Arc<Directory>) -> bool {
    std::ptr::eq(remembered.as_ptr(), Arc::as_ptr(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_are_remembered_within_a_bound_until_the_directory_changes() {
        let keys = UnknownKeys::default();
        let (first, second) = (Arc::new(Directory::default()), Arc::new(Directory::default()));
        let secret = |index: usize| {
            let mut secret = [0; 32];
            secret[..8].copy_from_slice(&index.to_be_bytes());
            secret
        };
        assert!(!keys.has(&first, &secret(0)));
        keys.remember(&first, secret(0));
        assert!(keys.has(&first, &secret(0)) && !keys.has(&first, &secret(1)));
        assert!(!keys.has(&second, &secret(0)), "it may be in another directory");
        for index in 0..10 * REMEMBERED {
            keys.remember(&second, secret(index));
            assert!(keys.has(&second, &secret(index)));
        }
        assert!(keys.remembered.lock().unwrap().1.len() <= REMEMBERED);
        assert!(!keys.has(&first, &secret(0)));
    }
}
