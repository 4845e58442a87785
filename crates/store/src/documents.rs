//! Documents: small JSON texts that a door keeps for its clients. They are not requests, and not in the ledger.

use std::sync::Arc;

use crate::{Store, StoreError};

/// A document to be stored.
#[derive(Debug, Clone)]
pub struct NewDocument {
    /// The door and the purpose.
    pub kind: &'static str,
    /// Its name. No other document of its kind has it.
    pub name: String,
    /// JSON.
    pub body: Arc<str>,
}

/// The result of storing a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentOutcome {
    /// It is stored.
    Stored,
    /// Another document has its name.
    NameTaken,
    /// There are as many as there may be.
    TooMany,
}

/// All documents of one kind, the oldest first.
pub(crate) const DOCUMENTS: &str = "SELECT body FROM documents WHERE kind = $1 ORDER BY created_at, name";

impl Store {
    /// The bodies of all documents of a kind, the oldest first.
    pub async fn documents(&self, kind: &'static str) -> Result<Vec<String>, StoreError> {
        self.readers().documents(kind).await
    }
}
