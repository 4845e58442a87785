//! Notes in the embedded database.

use placet_core::Time;
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};

use super::{
    number,
    readers::{SqliteReaders, values},
    writer::raise,
};
use crate::{
    Note, NoteChange, NoteFilter, NotePage, NotePlace, NotesOutcome, Raise, StoreError,
    notes::{COLUMNS, PRUNED, StoredNote, StoredNotes, count_sql, counted, judge, page, page_sql},
    rows::int,
};

fn note(row: &Row<'_>) -> rusqlite::Result<Note> {
    Ok(Note {
        kind: row.get(0)?,
        key: row.get(1)?,
        owner: row.get(2)?,
        scope: row.get(3)?,
        open: row.get(4)?,
        version: number(row, 5)?,
        at: Time::from_micros(row.get(6)?),
        keep_until: Time::from_micros(row.get(7)?),
        body: row.get::<_, String>(8)?.into(),
    })
}

/// What is there of the notes that are to be changed.
fn look(db: &Connection, changes: &[NoteChange], most: u64) -> Result<StoredNotes, StoreError> {
    let mut found = StoredNotes::default();
    for change in changes {
        let (kind, key) = change.name();
        let there = db
            .prepare_cached("SELECT version, owner, open FROM notes WHERE kind = ?1 AND key = ?2")?
            .query_row([kind, key], |row| {
                Ok(StoredNote { version: number(row, 0)?, owner: row.get(1)?, open: row.get(2)? })
            })
            .optional()?;
        found.notes.extend(there.map(|there| ((kind.to_owned(), key.to_owned()), there)));
    }
    for (kind, owner) in counted(changes) {
        let count = db
            .prepare_cached(
                "SELECT count(*) FROM (SELECT 1 FROM notes WHERE kind = ?1 AND owner = ?2 AND open = 1 LIMIT ?3)",
            )?
            .query_row(params![kind, owner, int(most)], |row| number(row, 0))?;
        found.open.insert((kind, owner), count);
    }
    Ok(found)
}

pub(super) fn change(
    db: &Connection,
    changes: &[NoteChange],
    most: u64,
    now: Time,
) -> Result<NotesOutcome, StoreError> {
    let done = judge(changes, look(db, changes, most)?, most);
    let NotesOutcome::Changed(versions) = &done else { return Ok(done) };
    for (change, version) in changes.iter().zip(versions) {
        match change {
            NoteChange::Put { note, .. } => {
                db.prepare_cached(&format!(
                    "INSERT INTO notes ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                     ON CONFLICT (kind, key) DO UPDATE SET owner = excluded.owner, scope = excluded.scope, open = excluded.open,
                         version = excluded.version, at = excluded.at, keep_until = excluded.keep_until, body = excluded.body"
                ))?
                .execute(params![
                    note.kind,
                    note.key,
                    note.owner,
                    note.scope,
                    note.open,
                    int(*version),
                    now.micros(),
                    note.keep_until.micros(),
                    &*note.body,
                ])?;
            }
            NoteChange::Delete { kind, key, .. } => {
                cut_row(db, kind, key)?;
                db.prepare_cached("DELETE FROM notes WHERE kind = ?1 AND key = ?2")?.execute([*kind, key])?;
            }
            NoteChange::Raise(news) => raise(db, news, now)?,
            NoteChange::Retry { kind, key } => {
                db.prepare_cached(
                    "UPDATE outbox SET state = 'waiting', attempts = 0, next_at = ?3, give_up_at = ?4, last_error = NULL
                     WHERE channel = ?1 AND subject = ?2 AND told < wanted",
                )?
                .execute(params![kind, key, now.micros(), Raise::give_up_at(now).micros()])?;
            }
        }
    }
    Ok(done)
}

/// Deletes what a follower still had to be told, and what it was told: one of the same name is a new one.
fn cut_row(db: &Connection, kind: &str, key: &str) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM outbox WHERE channel = ?1 AND subject = ?2")?.execute([kind, key])?;
    Ok(())
}

pub(super) fn prune(db: &Connection, now: Time) -> Result<u64, StoreError> {
    let mut delete = db.prepare_cached(
        "DELETE FROM notes WHERE rowid IN (SELECT rowid FROM notes WHERE keep_until < ?1 ORDER BY keep_until LIMIT ?2)
         RETURNING kind, key",
    )?;
    let deleted = delete
        .query_map(params![now.micros(), PRUNED], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<Vec<(String, String)>, _>>()?;
    for (kind, key) in &deleted {
        cut_row(db, kind, key)?;
    }
    Ok(deleted.len() as u64)
}

impl SqliteReaders {
    pub(crate) async fn note(&self, kind: &str, key: &str) -> Result<Option<Note>, StoreError> {
        self.short(|db| {
            let mut find =
                db.prepare_cached(&format!("SELECT {COLUMNS} FROM notes WHERE kind = ?1 AND key = ?2"))?;
            Ok(find.query_row([kind, key], note).optional()?)
        })
        .await
    }

    pub(crate) async fn notes(
        &self,
        filter: &NoteFilter,
        after: Option<&NotePlace>,
        limit: u32,
    ) -> Result<NotePage, StoreError> {
        let (sql, binds) = page_sql(filter, after, limit, '?');
        let notes = self
            .long(move |db| {
                let mut find = db.prepare_cached(&sql)?;
                let rows = find.query_map(params_from_iter(values(&binds)), note)?;
                Ok(rows.collect::<Result<Vec<_>, _>>()?)
            })
            .await?;
        Ok(page(notes, filter, limit))
    }

    pub(crate) async fn count_notes(&self, filter: &NoteFilter) -> Result<u64, StoreError> {
        let (sql, binds) = count_sql(filter, '?');
        self.long(move |db| {
            let mut count = db.prepare_cached(&sql)?;
            Ok(count.query_row(params_from_iter(values(&binds)), |row| number(row, 0))?)
        })
        .await
    }
}
