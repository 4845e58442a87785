//! Strict JSON in, canonical bytes out; digests, the hash chain over them, and its offline verification.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::unreachable
    )
)]

pub mod canonical;
mod chain;
mod digests;
pub mod ijson;
mod permit;

pub use canonical::{CanonicalError, canonical, canonical_string};
pub use chain::{BadEntry, Chain, Data, Entry, EntryAuthor, Head, SealedEntry};
pub use digests::{
    Canonical, Parts, display_digest, edit_digest, hash, payload_digest, proposal_digest, thumbprint,
    view_digest,
};
pub use permit::{ClaimAnswer, IntendedCall, PermitMismatch, action_digest, check_permit};
