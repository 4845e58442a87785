//! Notes in Postgres: the reads, and the statements of a change.

use placet_core::Time;
use tokio_postgres::{Client, Row};

use super::{
    plain,
    readers::{PostgresReaders, params, typed, within},
    session::{Statement, number, read},
    write::{Statements, send},
};
use crate::{
    Note, NoteChange, NoteFilter, NotePage, NotePlace, Raise, StoreError,
    notes::{COLUMNS, StoredNote, StoredNotes, count_sql, counted, page, page_sql},
    rows::int,
};

fn note(row: &Row) -> Result<Note, StoreError> {
    Ok(Note {
        kind: read(row, 0)?,
        key: read(row, 1)?,
        owner: read(row, 2)?,
        scope: read(row, 3)?,
        open: read::<i64>(row, 4)? == 1,
        version: number(row, 5)?,
        at: Time::from_micros(read(row, 6)?),
        keep_until: Time::from_micros(read(row, 7)?),
        body: read::<&str>(row, 8)?.into(),
    })
}

/// Looks at the notes that are to be changed, under the lock of the writers: no other node changes them meanwhile.
pub(super) fn look<'a>(
    client: &'a Client,
    statements: &'a Statements,
    changes: &[NoteChange],
    most: u64,
) -> Vec<Statement<'a>> {
    let (kinds, keys): (Vec<&'static str>, Vec<String>) =
        changes.iter().map(NoteChange::name).map(|(kind, key)| (kind, key.to_owned())).unzip();
    let (of, owners): (Vec<String>, Vec<String>) = counted(changes).into_iter().unzip();
    let most = int(most);
    vec![
        send!(client, &statements.head,),
        send!(client, &statements.find_notes, kinds, keys),
        send!(client, &statements.count_notes, of, owners, most),
    ]
}

/// What [`look`] saw.
pub(super) fn found(rows: &[Vec<Row>]) -> Result<StoredNotes, StoreError> {
    let of = |place: usize| rows.get(place).map(Vec::as_slice).unwrap_or_default();
    let mut found = StoredNotes::default();
    for row in of(1) {
        let there =
            StoredNote { version: number(row, 2)?, owner: read(row, 3)?, open: read::<i64>(row, 4)? == 1 };
        found.notes.insert((read(row, 0)?, read(row, 1)?), there);
    }
    for row in of(2) {
        found.open.insert((read(row, 0)?, read(row, 1)?), number(row, 2)?);
    }
    Ok(found)
}

/// Writes changes that were found good, each note in the version that it gets.
pub(super) fn write<'a>(
    client: &'a Client,
    statements: &'a Statements,
    changes: &'a [NoteChange],
    versions: &[u64],
    now: Time,
) -> Vec<Statement<'a>> {
    let mut all = Vec::with_capacity(changes.len());
    for (change, version) in changes.iter().zip(versions) {
        all.push(match change {
            NoteChange::Put { note, .. } => {
                let (open, version) = (i64::from(note.open), int(*version));
                let (now, keep_until) = (now.micros(), note.keep_until.micros());
                send!(
                    client,
                    &statements.put_note,
                    note.kind,
                    note.key,
                    note.owner,
                    note.scope,
                    open,
                    version,
                    now,
                    keep_until,
                    &*note.body,
                )
            }
            NoteChange::Delete { kind, key, .. } => send!(client, &statements.cut_note, kind, key),
            NoteChange::Raise(news) => raise(client, statements, news, now),
            NoteChange::Retry { kind, key } => {
                let (give_up_at, now) = (Raise::give_up_at(now).micros(), now.micros());
                send!(client, &statements.retry, kind, key, now, give_up_at)
            }
        });
    }
    all
}

/// Raises the rows of all who follow something.
pub(super) fn raise<'a>(
    client: &'a Client,
    statements: &'a Statements,
    news: &'a Raise,
    now: Time,
) -> Statement<'a> {
    let (wanted, give_up_at, now) = (int(news.wanted), Raise::give_up_at(now).micros(), now.micros());
    let scope = plain(&news.scope);
    send!(client, &statements.raise, news.channel, scope, wanted, news.body.as_deref(), now, give_up_at)
}

impl PostgresReaders {
    pub(crate) async fn note(&self, kind: &str, key: &str) -> Result<Option<Note>, StoreError> {
        let find = format!("SELECT {COLUMNS} FROM notes WHERE kind = $1 AND key = $2");
        self.query(&find, &[&kind, &key]).await?.first().map(note).transpose()
    }

    pub(crate) async fn notes(
        &self,
        filter: &NoteFilter,
        after: Option<&NotePlace>,
        limit: u32,
    ) -> Result<NotePage, StoreError> {
        let (sql, binds) = page_sql(filter, after, limit, '$');
        let client = self.client().await?;
        let rows = within(typed(&client, &sql, params(binds))).await?;
        let notes = rows.iter().map(note).collect::<Result<Vec<_>, _>>()?;
        Ok(page(notes, filter, limit))
    }

    pub(crate) async fn count_notes(&self, filter: &NoteFilter) -> Result<u64, StoreError> {
        let (sql, binds) = count_sql(filter, '$');
        let client = self.client().await?;
        let rows = within(typed(&client, &sql, params(binds))).await?;
        rows.first().map_or(Ok(0), |row| number(row, 0))
    }
}
