//! Secrets and random values: one place that asks the operating system for them, and types that do not print them.

use std::fmt;

use data_encoding::BASE32_DNSSEC;
use serde::{Deserialize, Serialize};

use crate::Error;

/// Random text of 160 bits: idempotency keys and claimants.
pub(crate) fn random() -> Result<String, Error> {
    let mut bytes = [0_u8; 20];
    fill(&mut bytes)?;
    Ok(BASE32_DNSSEC.encode(&bytes))
}

/// A number from 0 to 1, for the jitter of retries. Without randomness there is no jitter, which does no harm.
pub(crate) fn fraction() -> f64 {
    let mut bytes = [0_u8; 4];
    match fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_le_bytes(bytes)) / (f64::from(u32::MAX) + 1.0),
        Err(_) => 0.5,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the client runs in other people's programs and has no gate to take entropy from"
)]
fn fill(bytes: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(bytes)
        .map_err(|error| Error::Config(format!("the operating system gave no randomness: {error}")))
}

macro_rules! secret {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The secret itself. Keep it out of logs.
            pub fn reveal(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }

        impl From<String> for $name {
            fn from(secret: String) -> Self {
                Self(secret)
            }
        }
    };
}

secret!(
    /// The single-use right to execute one approved action.
    Permit
);
secret!(
    /// Names the claimant. Only the same claimant can ask again for a lost answer to a claim.
    Claimant
);

impl Claimant {
    /// A new claimant. Keep it in memory until the outcome is reported.
    pub fn new() -> Result<Self, Error> {
        random().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_print_themselves() {
        assert_eq!(format!("{:?}", Permit::from("hush".to_owned())), "Permit(…)");
    }

    #[test]
    fn two_random_values_differ() {
        assert_ne!(random().unwrap(), random().unwrap());
        assert!((0.0..1.0).contains(&fraction()));
    }
}
