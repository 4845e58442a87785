//! Passwords: hashed with Argon2id on threads for slow work, a few at once. The only file that uses `argon2`.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _};
use placet_core::Invalid;
use placet_store::StoreError;
use tokio::sync::Semaphore;

use crate::{GateError, policies::off_thread};

/// The number of hashes at once. Each takes 19 MiB and a core.
const AT_ONCE: usize = 2;
/// The number of hashes that run or wait.
const WAITING: usize = 32;
/// Shortest and longest password, in bytes.
const LENGTH: std::ops::RangeInclusive<usize> = 12..=1024;

/// Compared with if no hash is stored, so that the time is the same. No password fits it.
const NOBODY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$cGxhY2V0LW5vYm9keQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The bounded hasher of passwords.
#[derive(Debug)]
pub(crate) struct Passwords {
    turns: Arc<Semaphore>,
    // Beyond this many, callers are refused at once instead of queueing without end.
    seats: Arc<Semaphore>,
    // Every comparison takes equally long. Tests use this to see that there was one.
    compared: AtomicU64,
}

impl Default for Passwords {
    fn default() -> Self {
        Self {
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            seats: Arc::new(Semaphore::new(WAITING)),
            compared: AtomicU64::new(0),
        }
    }
}

impl Passwords {
    async fn turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, GateError> {
        let seat = self.seats.clone().try_acquire_owned().map_err(|_| StoreError::Busy)?;
        let turn = self.turns.clone().acquire_owned().await.map_err(|_| GateError::Closing)?;
        // The permits move into the work: a caller that leaves does not make room before the work is done.
        off_thread(move || {
            let _kept = (seat, turn);
            work()
        })
        .await
    }

    /// Whether a password fits. Without a stored hash none does, after the same time.
    pub(crate) async fn fits(&self, password: &str, stored: Option<Arc<str>>) -> Result<bool, GateError> {
        let known = stored.is_some();
        let password = password.to_owned();
        let fits = self
            .turn(move || {
                let against = stored.as_deref().unwrap_or(NOBODY);
                Argon2::default().verify_password(password.as_bytes(), against).is_ok()
            })
            .await?;
        self.compared.fetch_add(1, Ordering::Relaxed);
        Ok(fits && known)
    }

    /// How many passwords were compared, with or without a stored hash.
    pub(crate) fn compared(&self) -> u64 {
        self.compared.load(Ordering::Relaxed)
    }

    /// The hash of a new password.
    pub(crate) async fn hash(&self, password: &str, salt: [u8; 16]) -> Result<Arc<str>, GateError> {
        if !LENGTH.contains(&password.len()) {
            let said = format!("a password has {} to {} bytes", LENGTH.start(), LENGTH.end());
            return Err(Invalid::new("/new", said).into());
        }
        let password = password.to_owned();
        let hashed =
            self.turn(move || Argon2::default().hash_password_with_salt(password.as_bytes(), &salt)).await?;
        let hashed = hashed.map_err(|error| StoreError::Damaged(format!("no password hash: {error}")))?;
        Ok(hashed.to_string().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_fits_its_own_hash_and_nothing_else() {
        let passwords = Passwords::default();
        let hash = passwords.hash("correct horse battery", [7; 16]).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert!(passwords.fits("correct horse battery", Some(hash.clone())).await.unwrap());
        assert!(!passwords.fits("correct horse batter", Some(hash.clone())).await.unwrap());
        assert!(!passwords.fits("correct horse battery", None).await.unwrap());
        assert!(!passwords.fits("correct horse battery", Some("nonsense".into())).await.unwrap());
        assert!(!passwords.fits("", Some("".into())).await.unwrap());
        assert_ne!(passwords.hash("correct horse battery", [8; 16]).await.unwrap(), hash);
    }

    #[tokio::test]
    async fn short_and_endless_passwords_are_refused() {
        let passwords = Passwords::default();
        for bad in ["", "elevenchars", &"x".repeat(1025)] {
            assert!(passwords.hash(bad, [7; 16]).await.is_err(), "{} bytes", bad.len());
        }
    }

    #[tokio::test]
    async fn what_nobody_is_compared_with_costs_what_a_stored_password_costs() {
        let real = Passwords::default().hash("correct horse battery", [7; 16]).await.unwrap();
        let shape = |text: &str| text.split('$').map(str::to_owned).take(4).collect::<Vec<_>>();
        assert_eq!(shape(NOBODY), shape(&real));
        let unfit = Argon2::default().verify_password(b"anything at all", NOBODY);
        assert_eq!(unfit, Err(argon2::password_hash::Error::PasswordInvalid), "it is parsed and compared");
    }
}
