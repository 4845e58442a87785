//! Backup out of Postgres and restore into it, table by table, each in one transaction.

use std::path::Path;

use futures_util::TryStreamExt as _;
use rusqlite::types::Value;
use tokio::sync::mpsc;
use tokio_postgres::{Row, Transaction, types::ToSql};

use super::{
    RESTORING, SETUP_LOCK, SETUP_WAIT, config, plain,
    session::{connect, failed, read},
};
use crate::{
    StoreError,
    restore::{Column, Copy, TABLES, rows_of},
};

/// Copies every table as it stands at one moment, beside running servers.
pub(crate) async fn export(url: &str, copy: &mut Copy) -> Result<(), StoreError> {
    let (mut client, _driver) = connect(&config(url)?).await?;
    let snapshot = client
        .build_transaction()
        .isolation_level(tokio_postgres::IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .await?;
    for (table, columns) in TABLES {
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let rows = snapshot
            .query_raw(&format!("SELECT {} FROM {table}", names.join(", ")), Vec::<i64>::new())
            .await?;
        let mut rows = std::pin::pin!(rows);
        while let Some(row) = rows.try_next().await.map_err(failed)? {
            let values = columns.iter().enumerate().map(|(index, (_, column))| value(&row, index, *column));
            copy.row(table, columns, &values.collect::<Result<Vec<_>, _>>()?)?;
        }
    }
    snapshot.commit().await?;
    Ok(())
}

fn value(row: &Row, index: usize, column: Column) -> Result<Value, StoreError> {
    Ok(match column {
        Column::Text => read::<Option<String>>(row, index)?.map_or(Value::Null, Value::Text),
        Column::Int => read::<Option<i64>>(row, index)?.map_or(Value::Null, Value::Integer),
        Column::Bytes => read::<Option<Vec<u8>>>(row, index)?.map_or(Value::Null, Value::Blob),
    })
}

/// A page of one table of a backup.
type Page = (&'static str, &'static [(&'static str, Column)], Vec<Vec<Value>>);

/// Fills an empty database from a backup. It cannot be served before a new epoch was begun in it.
pub(crate) async fn import(url: &str, file: &Path) -> Result<(), StoreError> {
    let (mut client, _driver) = connect(&config(url)?).await?;
    client.batch_execute(SETUP_WAIT).await?;
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&SETUP_LOCK]).await?;
    if transaction.query_opt("SELECT FROM head", &[]).await?.is_some() {
        return Err(StoreError::File(
            "the database already holds data: restore into an empty one".to_owned(),
        ));
    }
    // The file is read on a thread of its own; the channel keeps it from running ahead.
    let (pages, mut incoming) = mpsc::channel::<Page>(2);
    let file = file.to_owned();
    let reading = tokio::task::spawn_blocking(move || {
        for (table, columns) in TABLES {
            rows_of(&file, table, columns, |page| {
                pages
                    .blocking_send((table, columns, page))
                    .map_err(|_| StoreError::Database("the database did not take the backup".to_owned()))
            })?;
        }
        Ok::<(), StoreError>(())
    });
    let mut written = Ok(());
    while let Some((table, columns, page)) = incoming.recv().await {
        written = write(&transaction, table, columns, page).await;
        if written.is_err() {
            break;
        }
    }
    drop(incoming);
    let read = reading
        .await
        .map_err(|error| StoreError::Database(format!("reading the backup was cut short: {error}")))?;
    written.and(read)?;
    transaction.execute("SELECT setval(pg_get_serial_sequence('idempotency', 'id'), greatest(max(id), 1)) FROM idempotency", &[]).await?;
    transaction.execute("INSERT INTO meta (name, value) VALUES ($1, 'yes')", &[&RESTORING]).await?;
    transaction.commit().await?;
    Ok(())
}

async fn write(
    into: &Transaction<'_>,
    table: &str,
    columns: &[(&str, Column)],
    page: Vec<Vec<Value>>,
) -> Result<(), StoreError> {
    if page.is_empty() {
        return Ok(());
    }
    let mut arrays: Vec<Box<dyn ToSql + Sync + Send>> = Vec::with_capacity(columns.len());
    for (index, (name, column)) in columns.iter().enumerate() {
        let (mut ints, mut texts, mut blobs) = (Vec::new(), Vec::new(), Vec::new());
        for row in &page {
            match (column, row.get(index)) {
                (Column::Int, Some(Value::Null)) => ints.push(None),
                (Column::Int, Some(Value::Integer(int))) => ints.push(Some(*int)),
                (Column::Text, Some(Value::Null)) => texts.push(None),
                (Column::Text, Some(Value::Text(text))) => texts.push(Some(plain(text).into_owned())),
                (Column::Bytes, Some(Value::Null)) => blobs.push(None),
                (Column::Bytes, Some(Value::Blob(bytes))) => blobs.push(Some(bytes.clone())),
                _ => {
                    return Err(StoreError::Damaged(format!(
                        "the backup has a value of the wrong kind in {table}.{name}"
                    )));
                }
            }
        }
        arrays.push(match column {
            Column::Int => Box::new(ints),
            Column::Text => Box::new(texts),
            Column::Bytes => Box::new(blobs),
        });
    }
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let marks = columns.iter().zip(1..).map(|((_, column), place)| match column {
        Column::Int => format!("${place}::bigint[]"),
        Column::Text => format!("${place}::text[]"),
        Column::Bytes => format!("${place}::bytea[]"),
    });
    let sql = format!(
        "INSERT INTO {table} ({}) SELECT * FROM unnest({})",
        names.join(", "),
        marks.collect::<Vec<_>>().join(", ")
    );
    let params: Vec<&(dyn ToSql + Sync)> =
        arrays.iter().map(|array| &**array as &(dyn ToSql + Sync)).collect();
    into.execute(&sql, &params).await.map_err(failed)?;
    Ok(())
}
