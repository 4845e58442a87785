//! The text form of a SHA-256 digest; the hashing itself lives in the `ledger` crate.

use std::{fmt, str::FromStr};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

/// A SHA-256 digest, written `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Digest([u8; 32]);

/// The length of `sha256:`.
const PREFIX: usize = 7;

impl Digest {
    /// From the 32 bytes of the hash.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Every entry of the ledger carries several, so the text is made in place.
    fn with_text<T>(&self, take: impl FnOnce(&str) -> T) -> T {
        let mut text = *b"sha256:0000000000000000000000000000000000000000000000000000000000000000";
        let nibbles = self.0.iter().flat_map(|byte| [byte >> 4, byte & 0xF]);
        for (digit, nibble) in text.iter_mut().skip(PREFIX).zip(nibbles) {
            *digit = if nibble < 10 { b'0' + nibble } else { b'a' - 10 + nibble };
        }
        // INVARIANT: all of it is ASCII, so this is always valid text.
        take(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| f.write_str(text))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "a digest is `sha256:` and 64 lower-case hexadecimal digits".to_owned();
        let hex = text.strip_prefix("sha256:").filter(|hex| hex.len() == 64).ok_or_else(wrong)?;
        let mut bytes = [0_u8; 32];
        HEXLOWER.decode_mut(hex.as_bytes(), &mut bytes).map_err(|_| wrong())?;
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.with_text(|text| serializer.serialize_str(text))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Digest {}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Digest {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        crate::text("^sha256:[0-9a-f]{64}$")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_text_is_sha256_and_lower_case_hexadecimal(bytes: [u8; 32]) {
            let digest = Digest::new(bytes);
            let text = format!("sha256:{}", HEXLOWER.encode(&bytes));
            prop_assert_eq!(digest.to_string(), text.as_str());
            prop_assert_eq!(serde_json::to_value(digest).unwrap(), text.as_str());
            prop_assert_eq!(text.parse(), Ok(digest));
        }
    }
}
