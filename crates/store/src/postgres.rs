//! The shared database: several servers use one Postgres and share nothing else.

mod copy;
mod events;
mod listen;
mod notes;
mod readers;
mod session;
#[cfg(test)]
mod tests;
mod write;
mod writer;

use std::{borrow::Cow, time::Duration};

pub(crate) use copy::{export, import};
pub(crate) use listen::listen;
pub(crate) use readers::PostgresReaders;
use session::{connect, read};
use tokio_postgres::{Config, config::SslMode};
pub(crate) use writer::{LOCK_WAIT, PostgresWriter};

use crate::{
    StoreError,
    migrations::{KNOWN, POSTGRES},
};

/// Taken by everything that changes the shape of the database or fills it for the first time; "placet" in bytes.
const SETUP_LOCK: i64 = 0x0070_6c61_6365_7400;

/// The class of the locks that every node holds while it listens; "plac" in bytes. The second half is the node.
const NODES: i32 = 0x706c_6163;

/// Waiting for another node's migration takes as long as that migration, but not for ever.
const SETUP_WAIT: &str = "SET lock_timeout = '60s'; SET idle_in_transaction_session_timeout = '60s'";

/// What a row of `meta` is called while a restore has not begun its new epoch.
const RESTORING: &str = "restoring";

/// Reads the address and fills in what it leaves open.
fn config(url: &str) -> Result<Config, StoreError> {
    const TLS: &str = "this build speaks to Postgres without TLS: use a local socket or a TLS proxy beside this server, and sslmode=disable";
    let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
        let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        let hint = if cause.contains("sslmode") {
            TLS
        } else {
            "expected something like postgres://user@host:5432/name"
        };
        StoreError::File(format!("the database address cannot be used ({cause}): {hint}"))
    })?;
    if config.get_ssl_mode() == SslMode::Require {
        return Err(StoreError::File(format!("the database address asks for sslmode=require, but {TLS}")));
    }
    if config.get_application_name().is_none() {
        config.application_name("placet");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(session::CONNECT);
    }
    // A server that vanished without a word is noticed in seconds, not in the system's two hours.
    config.keepalives(true);
    config.keepalives_idle(Duration::from_secs(10));
    config.keepalives_interval(Duration::from_secs(5));
    config.keepalives_retries(3);
    config.tcp_user_timeout(Duration::from_secs(10));
    Ok(config)
}

/// Makes or upgrades the tables. Several nodes may start at once: the first one does it, the others wait.
pub(crate) async fn prepare(url: &str) -> Result<(), StoreError> {
    let (mut client, _driver) = connect(&config(url)?).await?;
    client.batch_execute(SETUP_WAIT).await?;
    let encoding: String = read(&client.query_one("SHOW server_encoding", &[]).await?, 0)?;
    if encoding != "UTF8" {
        return Err(StoreError::File(format!(
            "the database is encoded in {encoding}: make one with ENCODING 'UTF8'"
        )));
    }
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&SETUP_LOCK]).await?;
    transaction.batch_execute("CREATE TABLE IF NOT EXISTS placet_format (version BIGINT NOT NULL)").await?;
    let found: Option<i64> =
        read(&transaction.query_one("SELECT max(version) FROM placet_format", &[]).await?, 0)?;
    let found = known(found)?;
    for (number, sql) in POSTGRES.iter().filter(|(number, _)| *number > found) {
        transaction.batch_execute(sql).await?;
        transaction.batch_execute("DELETE FROM placet_format").await?;
        transaction.execute("INSERT INTO placet_format (version) VALUES ($1)", &[number]).await?;
    }
    transaction.commit().await?;
    Ok(())
}

/// Refuses a format that only a newer program knows.
fn known(found: Option<i64>) -> Result<i64, StoreError> {
    // A database without tables has no format yet.
    let found = found.unwrap_or(0);
    if found > KNOWN { Err(StoreError::Newer { found, known: KNOWN }) } else { Ok(found) }
}

/// Makes head and secret where there are none yet; returns the secret that is there.
pub(crate) async fn initialise(url: &str, epoch: &str, secret: &str) -> Result<String, StoreError> {
    let (mut client, _driver) = connect(&config(url)?).await?;
    client.batch_execute(SETUP_WAIT).await?;
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&SETUP_LOCK]).await?;
    if transaction.query_opt("SELECT FROM meta WHERE name = $1", &[&RESTORING]).await?.is_some() {
        // Its old permits would live again.
        return Err(StoreError::File(
            "a restore into this database was cut short: restore again, into an empty one".to_owned(),
        ));
    }
    let zero = placet_core::Digest::default();
    let head = "INSERT INTO head (one, epoch, seq, hash, principals_seq) VALUES (1, $1, 0, $2, 0) ON CONFLICT DO NOTHING";
    transaction.execute(head, &[&epoch, &&zero.as_bytes()[..]]).await?;
    transaction
        .execute("INSERT INTO meta (name, value) VALUES ('secret', $1) ON CONFLICT DO NOTHING", &[&secret])
        .await?;
    let secret = read(&transaction.query_one("SELECT value FROM meta WHERE name = 'secret'", &[]).await?, 0)?;
    transaction.commit().await?;
    Ok(secret)
}

/// What survives what, as the server is configured, and what its owner should mend.
pub(crate) async fn durability(url: &str) -> Result<(String, Vec<String>), StoreError> {
    let (client, _driver) = connect(&config(url)?).await?;
    let settings = "SELECT current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), current_setting('fsync'),
                           current_setting('full_page_writes'), (SELECT count(*) FROM pg_stat_replication)";
    let row = client.query_one(settings, &[]).await?;
    let (commit, standbys, fsync, pages): (String, String, String, String) =
        (read(&row, 0)?, read(&row, 1)?, read(&row, 2)?, read(&row, 3)?);
    // The writer never uses `off`: see its session.
    let commit = if commit == "off" { "on".to_owned() } else { commit };
    let waits = !standbys.is_empty() && commit != "local";
    let followers: i64 = read(&row, 4)?;
    let mut warnings = Vec::new();
    if fsync == "off" {
        warnings
            .push("Postgres runs with fsync=off: a power cut can lose decisions. Set it to on".to_owned());
    }
    if pages == "off" && fsync != "off" {
        warnings.push("Postgres runs with full_page_writes=off: a power cut can damage the database. Set it to on, unless its disks write whole pages".to_owned());
    }
    if followers > 0 && !waits {
        warnings.push("a standby follows this Postgres, and commits do not wait for it: promoting it can lose what was acknowledged. Set synchronous_standby_names, and synchronous_commit to on".to_owned());
    }
    let survives = match (fsync.as_str(), pages.as_str(), standbys.is_empty() || commit == "local") {
        ("off", _, _) => "a power cut of the database server can lose decisions",
        (_, "off", _) => {
            "a power cut of the database server can damage the database, unless its disks write whole pages"
        }
        (_, _, true) => "survives a crash and a power cut of the database server, not the loss of its disk",
        (_, _, false) => "survives the loss of the database server",
    };
    let standbys = if standbys.is_empty() { "none" } else { &standbys };
    let level = format!(
        "synchronous_commit={commit}, synchronous_standby_names={standbys}, fsync={fsync}: {survives}"
    );
    Ok((level, warnings))
}

/// Text for a column. Postgres cannot store the character zero; the columns are what lists filter by, and the
/// stored JSON, where it is escaped, is the truth.
fn plain(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{2400}").into() } else { text.into() }
}
