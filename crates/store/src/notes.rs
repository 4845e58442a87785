//! Notes: state that a door keeps beside requests, such as a task of its protocol. They never decide anything.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
};

use placet_core::Time;

use crate::{Raise, Store, StoreError, read::Bind};

/// A note as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What it is about: the door and its purpose.
    pub kind: String,
    /// Its name among notes of its kind.
    pub key: String,
    /// Whose it is.
    pub owner: String,
    /// What it belongs to.
    pub scope: String,
    /// Whether something is still to be done with it.
    pub open: bool,
    /// 1 when it is new, one more with every change.
    pub version: u64,
    /// When it last changed.
    pub at: Time,
    /// It is deleted some time after this.
    pub keep_until: Time,
    /// JSON.
    pub body: Arc<str>,
}

/// A note to be stored.
#[derive(Debug, Clone)]
pub struct NewNote {
    /// What it is about: the door and its purpose.
    pub kind: &'static str,
    /// Its name among notes of its kind.
    pub key: String,
    /// Whose it is.
    pub owner: String,
    /// What it belongs to.
    pub scope: String,
    /// Whether something is still to be done with it.
    pub open: bool,
    /// It is deleted some time after this.
    pub keep_until: Time,
    /// JSON.
    pub body: Arc<str>,
}

/// What a change finds, or does not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteExpected {
    /// No such note.
    Absent,
    /// The note in this version.
    Version(u64),
}

/// A change of one note.
#[derive(Debug, Clone)]
pub enum NoteChange {
    /// Stores it, new or in place of what is there.
    Put {
        /// What is stored.
        note: NewNote,
        /// What must be there.
        expected: NoteExpected,
    },
    /// Deletes it.
    Delete {
        /// Its kind.
        kind: &'static str,
        /// Its name.
        key: String,
        /// The version that must be there.
        version: u64,
    },
    /// Has everybody told who follows something, in the same transaction.
    Raise(Raise),
    /// Retries what its follower was not told yet from the beginning, also if that was given up.
    Retry {
        /// Its kind.
        kind: &'static str,
        /// Its name.
        key: String,
    },
}

impl NoteChange {
    /// Which note it is about, or what is followed.
    pub fn name(&self) -> (&'static str, &str) {
        match self {
            Self::Put { note, .. } => (note.kind, &note.key),
            Self::Delete { kind, key, .. } | Self::Retry { kind, key } => (kind, key),
            Self::Raise(news) => (news.channel, &news.scope),
        }
    }
}

/// The result of changes of notes. All of them are made, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotesOutcome {
    /// The new version of each note, in order; 0 for one that was deleted, and for news.
    Changed(Vec<u64>),
    /// Nothing happened: this note is not what one of them expected.
    Conflict {
        /// Its kind.
        kind: String,
        /// Its name.
        key: String,
    },
    /// Nothing happened: the owner would have more open notes of a kind than it may have.
    TooMany {
        /// The kind.
        kind: String,
        /// Whose.
        owner: String,
    },
}

/// Which notes a page shows. Everything given must match.
#[derive(Debug, Clone)]
pub struct NoteFilter {
    /// Of this kind.
    pub kind: String,
    /// Of this owner: the last changed first. Without one they come in the order of their keys.
    pub owner: Option<String>,
    /// Of this scope.
    pub scope: Option<String>,
    /// With a key that begins with this and a slash.
    pub under: Option<String>,
    /// Open or not.
    pub open: Option<bool>,
}

impl NoteFilter {
    /// Every note of a kind.
    pub fn of(kind: &str) -> Self {
        Self { kind: kind.to_owned(), owner: None, scope: None, under: None, open: None }
    }
}

/// A place between two notes of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotePlace {
    /// When the note before it last changed, in the list of one owner.
    pub at: Option<Time>,
    /// The key of the note before it.
    pub key: String,
}

impl NotePlace {
    /// Reads a place in the list that a filter makes.
    pub fn parse(text: &str, filter: &NoteFilter) -> Option<Self> {
        if filter.owner.is_none() {
            return Some(Self { at: None, key: text.to_owned() });
        }
        let (at, key) = text.split_once(':')?;
        Some(Self { at: Some(Time::from_micros(at.parse().ok()?)), key: key.to_owned() })
    }
}

impl fmt::Display for NotePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "{}:{}", at.micros(), self.key),
            None => f.write_str(&self.key),
        }
    }
}

/// A page of notes.
#[derive(Debug, Clone)]
pub struct NotePage {
    /// The notes.
    pub notes: Vec<Note>,
    /// Where the next page begins, if there is one.
    pub next: Option<NotePlace>,
}

/// How many notes are deleted in one go when their time is over.
pub(crate) const PRUNED: u32 = 1000;

/// The columns of a note, in the order that both databases read them.
pub(crate) const COLUMNS: &str = "kind, key, owner, scope, open, version, at, keep_until, body";

/// What is there of the notes that are to be changed.
#[derive(Debug, Default)]
pub(crate) struct StoredNotes {
    pub(crate) notes: HashMap<(String, String), StoredNote>,
    /// Open notes by kind and owner, counted up to what there may be.
    pub(crate) open: HashMap<(String, String), u64>,
}

#[derive(Debug)]
pub(crate) struct StoredNote {
    pub(crate) version: u64,
    pub(crate) owner: String,
    pub(crate) open: bool,
}

/// Kinds and owners whose open notes have to be counted before these changes.
pub(crate) fn counted(changes: &[NoteChange]) -> HashSet<(String, String)> {
    let opened = changes.iter().filter_map(|change| match change {
        NoteChange::Put { note, .. } if note.open => Some((note.kind.to_owned(), note.owner.clone())),
        _ => None,
    });
    opened.collect()
}

/// What becomes of changes, given what is there. Only `Changed` is to be written.
pub(crate) fn judge(changes: &[NoteChange], mut found: StoredNotes, most: u64) -> NotesOutcome {
    let mut versions = Vec::with_capacity(changes.len());
    let mut opened = HashSet::new();
    for change in changes {
        let (kind, key) = change.name();
        let (kind, key) = (kind.to_owned(), key.to_owned());
        let there = found.notes.get(&(kind.clone(), key.clone()));
        let expected = match change {
            NoteChange::Put { expected, .. } => *expected,
            NoteChange::Delete { version, .. } => NoteExpected::Version(*version),
            NoteChange::Raise(_) | NoteChange::Retry { .. } => {
                versions.push(0);
                continue;
            }
        };
        let version = match (expected, there) {
            (NoteExpected::Absent, None) => 0,
            (NoteExpected::Version(version), Some(there)) if there.version == version => version,
            _ => return NotesOutcome::Conflict { kind, key },
        };
        if let Some(there) = there.filter(|there| there.open)
            && let Some(count) = found.open.get_mut(&(kind.clone(), there.owner.clone()))
        {
            *count = count.saturating_sub(1);
        }
        match change {
            NoteChange::Put { note, .. } => {
                versions.push(version + 1);
                let was = there.is_some_and(|there| there.open && there.owner == note.owner);
                if note.open {
                    let owner = (kind, note.owner.clone());
                    *found.open.entry(owner.clone()).or_default() += 1;
                    if !was {
                        opened.insert(owner);
                    }
                }
            }
            NoteChange::Delete { .. } | NoteChange::Raise(_) | NoteChange::Retry { .. } => versions.push(0),
        }
    }
    // Who has too many already, because fewer are allowed now, can still change and close what is there.
    match opened.into_iter().find(|owner| found.open.get(owner).is_some_and(|count| *count > most)) {
        Some((kind, owner)) => NotesOutcome::TooMany { kind, owner },
        None => NotesOutcome::Changed(versions),
    }
}

/// What a filter asks for, in the placeholder style of one database.
fn clauses(filter: &NoteFilter, after: Option<&NotePlace>, mark: char) -> (String, Vec<Bind>) {
    let (mut binds, mut clauses) = (Vec::new(), Vec::new());
    let mut put = |bind: Bind| {
        binds.push(bind);
        format!("{mark}{}", binds.len())
    };
    for (column, value) in
        [("kind", Some(&filter.kind)), ("owner", filter.owner.as_ref()), ("scope", filter.scope.as_ref())]
    {
        if let Some(value) = value {
            clauses.push(format!("{column} = {}", put(Bind::Text(value.clone()))));
        }
    }
    if let Some(under) = &filter.under {
        // Keys are in the order of their bytes, where a zero comes right after a slash.
        let (first, end) = (put(Bind::Text(format!("{under}/"))), put(Bind::Text(format!("{under}0"))));
        clauses.push(format!("key >= {first} AND key < {end}"));
    }
    if let Some(open) = filter.open {
        // Not a parameter, so that the index of open notes can be used.
        clauses.push(format!("open = {}", u8::from(open)));
    }
    if let Some(NotePlace { at, key }) = after {
        let key = put(Bind::Text(key.clone()));
        clauses.push(match at {
            Some(at) => {
                let at = put(Bind::Int(at.micros()));
                format!("at <= {at} AND (at < {at} OR key > {key})")
            }
            None => format!("key > {key}"),
        });
    }
    (clauses.join(" AND "), binds)
}

/// The query of a page.
pub(crate) fn page_sql(
    filter: &NoteFilter,
    after: Option<&NotePlace>,
    limit: u32,
    mark: char,
) -> (String, Vec<Bind>) {
    let (clauses, binds) = clauses(filter, after, mark);
    let order = if filter.owner.is_some() { "at DESC, key" } else { "key" };
    let limit = limit.saturating_add(1);
    (format!("SELECT {COLUMNS} FROM notes WHERE {clauses} ORDER BY {order} LIMIT {limit}"), binds)
}

/// The query of how many there are.
pub(crate) fn count_sql(filter: &NoteFilter, mark: char) -> (String, Vec<Bind>) {
    let (clauses, binds) = clauses(filter, None, mark);
    (format!("SELECT count(*) FROM notes WHERE {clauses}"), binds)
}

/// Cuts a page that was read with one note too many, and says where the next one begins.
pub(crate) fn page(mut notes: Vec<Note>, filter: &NoteFilter, limit: u32) -> NotePage {
    let more = notes.len() > limit as usize;
    notes.truncate(limit as usize);
    let place =
        |note: &Note| NotePlace { at: filter.owner.is_some().then_some(note.at), key: note.key.clone() };
    let next = notes.last().filter(|_| more).map(place);
    NotePage { notes, next }
}

impl Store {
    /// One note.
    pub async fn note(&self, kind: &str, key: &str) -> Result<Option<Note>, StoreError> {
        self.readers().note(kind, key).await
    }

    /// A page of notes.
    pub async fn notes(
        &self,
        filter: &NoteFilter,
        after: Option<&NotePlace>,
        limit: u32,
    ) -> Result<NotePage, StoreError> {
        self.readers().notes(filter, after, limit).await
    }

    /// How many notes all pages have together.
    pub async fn count_notes(&self, filter: &NoteFilter) -> Result<u64, StoreError> {
        self.readers().count_notes(filter).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(key: &str, owner: &str, open: bool, expected: NoteExpected) -> NoteChange {
        let note = NewNote {
            kind: "k",
            key: key.to_owned(),
            owner: owner.to_owned(),
            scope: String::new(),
            open,
            keep_until: Time::default(),
            body: "{}".into(),
        };
        NoteChange::Put { note, expected }
    }

    fn found(notes: &[(&str, &str, bool)], open: &[(&str, u64)]) -> StoredNotes {
        let name = |key: &str| ("k".to_owned(), key.to_owned());
        StoredNotes {
            notes: notes
                .iter()
                .map(|(key, owner, open)| {
                    (name(key), StoredNote { version: 3, owner: (*owner).to_owned(), open: *open })
                })
                .collect(),
            open: open.iter().map(|(owner, count)| (name(owner), *count)).collect(),
        }
    }

    #[test]
    fn who_has_as_many_open_notes_as_allowed_can_exchange_one_for_another() {
        let delete = NoteChange::Delete { kind: "k", key: "a".to_owned(), version: 3 };
        let swap = [delete, put("b", "ann", true, NoteExpected::Absent)];
        let there = || found(&[("a", "ann", true)], &[("ann", 2)]);
        assert_eq!(judge(&swap, there(), 2), NotesOutcome::Changed(vec![0, 1]));
        let more = [put("b", "ann", true, NoteExpected::Absent)];
        assert!(matches!(judge(&more, there(), 2), NotesOutcome::TooMany { .. }));
        // Changing or closing what is there is always possible, also with more than there may be.
        for open in [true, false] {
            let change = [put("a", "ann", open, NoteExpected::Version(3))];
            assert_eq!(
                judge(&change, found(&[("a", "ann", true)], &[("ann", 9)]), 2),
                NotesOutcome::Changed(vec![4])
            );
        }
        // Opening it again, or giving it to somebody else, counts.
        let reopen = [put("a", "ann", true, NoteExpected::Version(3))];
        assert!(matches!(
            judge(&reopen, found(&[("a", "ann", false)], &[("ann", 2)]), 2),
            NotesOutcome::TooMany { .. }
        ));
        assert!(matches!(
            judge(&reopen, found(&[("a", "bob", true)], &[("ann", 2)]), 2),
            NotesOutcome::TooMany { .. }
        ));
    }
}
