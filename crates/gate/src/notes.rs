//! Notes of doors: what a protocol has to remember beside requests. They decide nothing.

use placet_core::Invalid;
use placet_store::{Note, NoteChange, NoteFilter, NotePlace, NotesOutcome, Store, StoreError};

use crate::{Gate, GateError};

/// Largest body of a note.
const BODY: usize = 1024 * 1024;
/// Longest key, owner and scope.
const NAME: usize = 1024;
/// Longest kind.
const KIND: usize = 64;
/// Most changes at once.
const CHANGES: usize = 256;
/// Most notes in a page.
const PAGE: u32 = 200;

/// Another change was faster: read the note again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the note `{key}` ({kind}) is not what was expected: read it again")]
pub struct NoteConflict {
    /// The note's kind.
    pub kind: String,
    /// Its key.
    pub key: String,
}

/// A page of notes.
#[derive(Debug, Clone)]
pub struct Notes {
    /// The notes.
    pub notes: Vec<Note>,
    /// Names the next page, if there is one.
    pub next: Option<String>,
}

impl Gate {
    /// Changes notes, all of them or none, and answers when that is durable: with the new version of each, 0 for one
    /// that was deleted.
    pub async fn change_notes(
        &self,
        changes: Vec<NoteChange>,
    ) -> Result<Result<Vec<u64>, NoteConflict>, GateError> {
        check(&changes)?;
        let most = self.settings.notes_per_owner;
        let raises =
            changes.iter().any(|change| matches!(change, NoteChange::Raise(_) | NoteChange::Retry { .. }));
        match self.store.change_notes(changes, most).await? {
            NotesOutcome::Changed(versions) => {
                if raises {
                    self.raised.notify_one();
                }
                Ok(Ok(versions))
            }
            NotesOutcome::Conflict { kind, key } => Ok(Err(NoteConflict { kind, key })),
            NotesOutcome::TooMany { kind, owner } => {
                let message = format!(
                    "`{owner}` has {most} open notes of the kind {kind}, which is its limit: wait until some are closed"
                );
                Err(Invalid::new("", message).into())
            }
        }
    }

    /// One note. It may still be there for a while when its time is over.
    pub async fn note(&self, kind: &str, key: &str) -> Result<Option<Note>, GateError> {
        if names([("kind", kind, KIND), ("key", key, NAME)]).is_err() {
            return Ok(None);
        }
        Ok(self.store.note(kind, key).await?)
    }

    /// A page of notes: the last changed first if an owner is named, otherwise in the order of their keys.
    pub async fn notes(
        &self,
        filter: &NoteFilter,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Notes, GateError> {
        let nowhere = || Invalid::new("", "the cursor is not one that a page of notes gave out");
        let after = match after {
            Some(text) if text.contains('\0') => return Err(nowhere().into()),
            Some(text) => Some(NotePlace::parse(text, filter).ok_or_else(nowhere)?),
            None => None,
        };
        if !can_match(filter) {
            return Ok(Notes { notes: Vec::new(), next: None });
        }
        let page = self.store.notes(filter, after.as_ref(), limit.clamp(1, PAGE)).await?;
        Ok(Notes { notes: page.notes, next: page.next.map(|place| place.to_string()) })
    }

    /// How many notes all pages have together.
    pub async fn count_notes(&self, filter: &NoteFilter) -> Result<u64, GateError> {
        if can_match(filter) { Ok(self.store.count_notes(filter).await?) } else { Ok(0) }
    }

    /// Deletes notes whose time is over. Returns how many there were.
    pub async fn prune_notes(&self) -> Result<u64, GateError> {
        Ok(prune(&self.store).await?)
    }
}

/// Whether a note can have the names that a filter asks for.
fn can_match(filter: &NoteFilter) -> bool {
    let wanted = [
        ("kind", &*filter.kind, KIND),
        ("owner", filter.owner.as_deref().unwrap_or_default(), NAME),
        ("scope", filter.scope.as_deref().unwrap_or_default(), NAME),
        ("key", filter.under.as_deref().unwrap_or_default(), NAME),
    ];
    names(wanted).is_ok()
}

/// Deletes notes whose time is over, a bounded number in each transaction.
pub(crate) async fn prune(store: &Store) -> Result<u64, StoreError> {
    let mut all = 0;
    loop {
        match store.prune_notes().await? {
            0 => return Ok(all),
            some => all += some,
        }
    }
}

/// Names of bounded length, which either database can store.
fn names<const N: usize>(names: [(&str, &str, usize); N]) -> Result<(), Invalid> {
    for (what, name, longest) in names {
        if name.len() > longest {
            return Err(Invalid::new("", format!("the {what} of a note has at most {longest} bytes")));
        }
        if name.contains('\0') {
            return Err(Invalid::new("", format!("the {what} of a note cannot have the character zero")));
        }
    }
    Ok(())
}

fn check(changes: &[NoteChange]) -> Result<(), Invalid> {
    if changes.is_empty() || changes.len() > CHANGES {
        return Err(Invalid::new("", format!("change at least one and at most {CHANGES} notes at once")));
    }
    let mut seen = std::collections::HashSet::new();
    for change in changes {
        let (kind, key) = change.name();
        names([("kind", kind, KIND), ("key", key, NAME)])?;
        let is_retry = matches!(change, NoteChange::Retry { .. });
        if !is_retry && !seen.insert((kind, key)) {
            return Err(Invalid::new("", format!("the note `{key}` ({kind}) is changed twice at once")));
        }
        let body = match change {
            NoteChange::Put { note, .. } => {
                names([("owner", &note.owner, NAME), ("scope", &note.scope, NAME)])?;
                &*note.body
            }
            NoteChange::Raise(news) => news.body.as_deref().unwrap_or_default(),
            NoteChange::Delete { .. } | NoteChange::Retry { .. } => "",
        };
        if body.len() > BODY {
            return Err(Invalid::new("", format!("the body of a note has at most {BODY} bytes")));
        }
        if body.contains('\0') {
            return Err(Invalid::new("", "the body of a note is JSON"));
        }
    }
    Ok(())
}
