//! The hash chain: what an entry holds, how it is sealed to the one before, and how a reader checks it.

use placet_core::{AdminEvent, Auth, Digest, Event, KeyId, RequestId, Role, SessionId, Time};
use serde::{Deserialize, Serialize};

use crate::{
    canonical::{CanonicalError, canonical_string},
    digests::hash,
};

/// One ledger entry: metadata and digests, never content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Format version.
    pub v: u8,
    /// The epoch of the database. A restore begins a new one.
    pub epoch: String,
    /// Its number, without gaps.
    pub seq: u64,
    /// Hash of the entry before.
    pub prev: Digest,
    /// When.
    pub at: Time,
    /// Who did it.
    pub by: EntryAuthor,
    /// The request it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// The request's version after this entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Salted digest of the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Digest>,
    /// What happened.
    pub data: Data,
}

/// Who did it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryAuthor {
    /// The principal.
    pub name: String,
    /// In which role.
    pub role: Role,
    /// With which key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyId>,
    /// In which session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// How it proved who it is.
    pub auth: Auth,
}

/// What happened: to a request, or to keys, people and the ledger itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every entry is about a request: a box would cost each of them"
)]
pub enum Data {
    /// To a request.
    Request(Event),
    /// To keys, people or the ledger.
    Admin(AdminEvent),
}

impl Data {
    /// The name on the wire.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Request(event) => event.name(),
            Self::Admin(event) => event.name(),
        }
    }
}

/// Where a chain ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The current epoch of the database.
    pub epoch: String,
    /// Number of the last entry.
    pub seq: u64,
    /// Its hash.
    pub hash: Digest,
}

/// An entry as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedEntry {
    /// The canonical text that was hashed.
    pub text: String,
    /// Its hash.
    pub hash: Digest,
}

impl Entry {
    /// The format that this code writes.
    pub const FORMAT: u8 = 1;

    /// Canonicalises and hashes the entry.
    pub fn seal(&self) -> Result<SealedEntry, CanonicalError> {
        let text = canonical_string(self)?;
        let hash = entry_hash(&text);
        Ok(SealedEntry { text, hash })
    }
}

fn entry_hash(text: &str) -> Digest {
    hash("placet/entry/v1", &[text.as_bytes()])
}

/// The fault of the first bad entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("entry {seq} is bad: {what}")]
pub struct BadEntry {
    /// Which entry.
    pub seq: u64,
    /// What is wrong with it.
    pub what: String,
}

/// A reader that checks a chain from its beginning and stops at the first bad entry.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    seq: u64,
    hash: Digest,
    epoch: Option<String>,
}

impl Chain {
    /// Continues after an entry that was checked before.
    pub fn after(head: &Head) -> Self {
        Self { seq: head.seq, hash: head.hash, epoch: Some(head.epoch.clone()) }
    }

    /// Checks the next stored entry and returns what it says.
    pub fn check(&mut self, seq: u64, text: &str, stored: &Digest) -> Result<Entry, BadEntry> {
        let bad = |what: String| BadEntry { seq, what };
        let expected = self.seq.saturating_add(1);
        if seq != expected {
            return Err(bad(format!(
                "entry {expected} should come next, so entries are missing or out of order"
            )));
        }
        let hash = entry_hash(text);
        if hash != *stored {
            return Err(bad(
                "its text does not have the stored hash, so one of the two was changed".to_owned()
            ));
        }
        let entry: Entry =
            serde_json::from_str(text).map_err(|error| bad(format!("it cannot be read: {error}")))?;
        if entry.v != Entry::FORMAT {
            return Err(bad(format!("its format is {} and this program knows {}", entry.v, Entry::FORMAT)));
        }
        if entry.seq != seq {
            return Err(bad(format!("it says it is entry {}", entry.seq)));
        }
        if entry.prev != self.hash {
            return Err(bad(
                "it does not follow from the entry before, so one of the two was changed".to_owned()
            ));
        }
        let opens = match &entry.data {
            Data::Admin(AdminEvent::Opened {}) => seq == 1,
            Data::Admin(AdminEvent::Restored { from } | AdminEvent::Recovered { from, .. }) => {
                self.epoch.as_ref() == Some(from) && self.epoch.as_ref() != Some(&entry.epoch)
            }
            _ => self.epoch.as_ref() == Some(&entry.epoch),
        };
        if !opens {
            return Err(bad("it belongs to another epoch than the entry before".to_owned()));
        }
        self.seq = seq;
        self.hash = hash;
        self.epoch = Some(entry.epoch.clone());
        Ok(entry)
    }

    /// The end of the checked part.
    pub fn head(&self) -> Head {
        Head { epoch: self.epoch.clone().unwrap_or_default(), seq: self.seq, hash: self.hash }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Seals these one after the other, each in its epoch.
    fn sealed(entries: impl IntoIterator<Item = (&'static str, AdminEvent)>) -> Vec<SealedEntry> {
        let mut prev = Digest::default();
        let by = EntryAuthor {
            name: "root".into(),
            role: Role::Admin,
            key: None,
            session: None,
            auth: Auth::Token,
        };
        (1..)
            .zip(entries)
            .map(|(seq, (epoch, event))| {
                let entry = Entry {
                    v: Entry::FORMAT,
                    epoch: epoch.into(),
                    seq,
                    prev,
                    at: Time::from_micros(i64::try_from(seq).unwrap()),
                    by: by.clone(),
                    request: None,
                    version: None,
                    payload: None,
                    data: Data::Admin(event),
                };
                let sealed = entry.seal().unwrap();
                prev = sealed.hash;
                sealed
            })
            .collect()
    }

    fn removed(name: &str) -> AdminEvent {
        AdminEvent::PersonRemoved { name: name.to_owned(), voids: false }
    }

    fn chain(length: u64) -> Vec<SealedEntry> {
        let rest = (2..=length).map(|seq| ("e1", removed(&format!("p{seq}"))));
        sealed(std::iter::once(("e1", AdminEvent::Opened {})).chain(rest))
    }

    fn verify(entries: &[SealedEntry]) -> Result<Head, u64> {
        let mut chain = Chain::default();
        for (index, sealed) in entries.iter().enumerate() {
            chain.check(index as u64 + 1, &sealed.text, &sealed.hash).map_err(|bad| bad.seq)?;
        }
        Ok(chain.head())
    }

    #[test]
    fn an_honest_chain_verifies() {
        assert_eq!(verify(&chain(20)).unwrap().seq, 20);
    }

    #[test]
    fn an_entry_read_back_seals_to_the_same_text() {
        for sealed in chain(3) {
            let entry: Entry = serde_json::from_str(&sealed.text).unwrap();
            assert_eq!(entry.seal().unwrap(), sealed);
        }
    }

    #[test]
    fn an_entry_is_called_what_happened() {
        for (data, expected) in [
            (Data::Request(Event::Expired {}), "request.expired"),
            (Data::Admin(removed("ann")), "person.removed"),
        ] {
            assert_eq!(data.name(), expected);
            assert_eq!(serde_json::to_value(&data).unwrap()["type"], expected);
        }
    }

    #[test]
    fn only_a_restore_of_this_epoch_begins_another_one() {
        let restored = |from: &str| AdminEvent::Restored { from: from.to_owned() };
        let check = |second, third| verify(&sealed([("e1", AdminEvent::Opened {}), second, third]));
        let head = check(("e2", restored("e1")), ("e2", removed("ann"))).unwrap();
        assert_eq!((head.epoch.as_str(), head.seq), ("e2", 3));
        for (second, third, bad, why) in [
            (("e2", restored("e0")), ("e2", removed("ann")), 2, "from another epoch"),
            (("e1", restored("e1")), ("e1", removed("ann")), 2, "into the same epoch"),
            (("e2", restored("e2")), ("e2", removed("ann")), 2, "from the epoch that it begins"),
            (("e2", restored("e1")), ("e1", removed("ann")), 3, "back in the old epoch"),
            (("e2", removed("ann")), ("e2", removed("bob")), 2, "another epoch without a restore"),
            (("e1", AdminEvent::Opened {}), ("e1", removed("ann")), 2, "opened twice"),
        ] {
            assert_eq!(check(second, third), Err(bad), "{why}");
        }
        // A recovery does the same.
        let recovered = |from: &str| AdminEvent::Recovered { from: from.to_owned(), acknowledged: None };
        check(("e2", recovered("e1")), ("e2", removed("ann"))).unwrap();
        assert_eq!(check(("e2", recovered("e0")), ("e2", removed("ann"))), Err(2));
        let unopened = [("e2", restored("e1"))];
        assert_eq!(verify(&sealed(unopened)), Err(1), "no epoch before");
    }

    proptest! {
        #[test]
        fn any_changed_byte_is_found_at_its_entry(at in 0_usize..10, byte in any::<prop::sample::Index>(), flip in 1_u8..128) {
            let mut entries = chain(10);
            let mut text = entries[at].text.clone().into_bytes();
            let position = byte.index(text.len());
            text[position] ^= flip;
            if let Ok(text) = String::from_utf8(text) {
                entries[at].text = text;
                prop_assert_eq!(verify(&entries).unwrap_err(), at as u64 + 1);
            }
        }

        #[test]
        fn a_rewritten_and_resealed_entry_breaks_the_next(at in 1_usize..9) {
            let mut entries = chain(10);
            let mut entry: Entry = serde_json::from_str(&entries[at].text).unwrap();
            entry.by.name = "mallory".into();
            entries[at] = entry.seal().unwrap();
            prop_assert_eq!(verify(&entries).unwrap_err(), at as u64 + 2);
        }

        #[test]
        fn removing_or_swapping_entries_is_found(at in 0_usize..8) {
            let mut removed = chain(10);
            removed.remove(at);
            prop_assert_eq!(verify(&removed).unwrap_err(), at as u64 + 1);
            let mut swapped = chain(10);
            swapped.swap(at, at + 1);
            prop_assert_eq!(verify(&swapped).unwrap_err(), at as u64 + 1);
        }
    }
}
