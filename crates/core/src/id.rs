//! Time-ordered, typed, readable identifiers: a prefix and 26 characters that sort like the bytes they stand for.

use std::{fmt, str::FromStr};

use data_encoding::BASE32_DNSSEC;
use serde::{Deserialize, Serialize};

/// Text that is not an identifier of the expected kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an identifier of the form `{0}` followed by 26 characters of 0-9 and a-v")]
pub struct IdError(&'static str);

/// Encodes sixteen bytes as base32hex, five bits a letter and three in the last. Every record has many ids, so this
/// loop is hand-written.
fn letters(bytes: [u8; 16]) -> [u8; 26] {
    let mut text = [0; 26];
    let (mut rest, mut bits, mut next) = (0_u32, 0, bytes.into_iter());
    for letter in &mut text {
        if bits < 5 {
            rest = (rest << 8) | u32::from(next.next().unwrap_or_default());
            bits += 8;
        }
        bits -= 5;
        let [.., five] = ((rest >> bits) & 31).to_be_bytes();
        *letter = if five < 10 { b'0' + five } else { b'a' - 10 + five };
    }
    text
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 16]);

        impl $name {
            /// Makes an identifier from a time in milliseconds and ten random bytes (the layout of UUID version 7).
            pub fn new(unix_ms: u64, random: [u8; 10]) -> Self {
                Self(*uuid::Builder::from_unix_timestamp_millis(unix_ms, &random).as_uuid().as_bytes())
            }

            /// The sixteen bytes.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($prefix)?;
                // INVARIANT: the alphabet is ASCII, so this is always valid text.
                f.write_str(std::str::from_utf8(&letters(self.0)).unwrap_or_default())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                let error = IdError($prefix);
                let rest = text.strip_prefix($prefix).ok_or(error)?;
                // One spelling per identifier: upper case would decode too, and give one thing two names.
                if rest.len() != 26 || rest.bytes().any(|b| b.is_ascii_uppercase()) {
                    return Err(error);
                }
                let mut bytes = [0_u8; 16];
                BASE32_DNSSEC.decode_mut(rest.as_bytes(), &mut bytes).map_err(|_| error)?;
                Ok(Self(bytes))
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $name {}

        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                // The last letter has three bits of the sixteen bytes.
                crate::text(concat!("^", $prefix, "[0-9a-v]{25}[048cgkos]$"))
            }
        }
    };
}

id!(
    /// A request.
    RequestId,
    "req_"
);
id!(
    /// An access key (not the secret itself).
    KeyId,
    "key_"
);
id!(
    /// A grant.
    GrantId,
    "grt_"
);
id!(
    /// A person signed in from one browser (not the secret itself).
    SessionId,
    "ses_"
);
id!(
    /// A freeze.
    FreezeId,
    "frz_"
);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_sort_by_time_as_text_and_as_bytes() {
        let early = RequestId::new(1_000, [255; 10]);
        let late = RequestId::new(1_001, [0; 10]);
        assert!(early < late);
        assert!(early.to_string() < late.to_string());
    }

    #[test]
    fn an_id_survives_its_text_form() {
        let id = RequestId::new(1_794_000_000_000, [7; 10]);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id.to_string().len(), 30);
    }

    proptest! {
        #[test]
        fn the_letters_are_those_of_base32hex(bytes: [u8; 16]) {
            let text = letters(bytes);
            prop_assert_eq!(std::str::from_utf8(&text).unwrap(), BASE32_DNSSEC.encode(&bytes));
        }
    }

    #[test]
    fn other_spellings_are_not_ids() {
        let id = RequestId::new(5, [9; 10]).to_string();
        for bad in [
            id.to_uppercase(),
            id.replace("req_", "key_"),
            format!("{id}0"),
            id.get(..29).unwrap_or_default().to_owned(),
            format!("{}{}", &id[..29], "v"),
            String::new(),
        ] {
            if bad != id {
                let parsed = bad.parse::<RequestId>();
                assert!(parsed.is_err() || parsed.map(|p| p.to_string()) == Ok(bad.clone()), "{bad}");
            }
        }
    }
}
