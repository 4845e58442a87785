//! Answers that are lost, statements that fail, connections that end: an outcome is looked up, never guessed.

use std::sync::atomic::AtomicBool;

use placet_testkit::{soon, until};
use tokio::time::sleep;

use super::{
    super::{
        session::{PipelineAnswers, Statement, pipeline},
        writer::verdict,
    },
    wire::{Mode, Wire},
    *,
};
use crate::{NewNote, NoteChange, NoteExpected, NotesOutcome, backend::CommitError, rows::RequestRow};

fn some_error() -> tokio_postgres::Error {
    "nonsense".parse::<Config>().unwrap_err()
}

#[tokio::test]
async fn nothing_is_sent_after_a_statement_that_could_not_be_sent() {
    let committed = AtomicBool::new(false);
    let statements: Vec<Statement<'_>> = vec![
        Box::pin(async {
            tokio::task::yield_now().await;
            Ok(Vec::new())
        }),
        Box::pin(async { Err(some_error()) }),
        Box::pin(async {
            committed.store(true, Ordering::Relaxed);
            Ok(Vec::new())
        }),
    ];
    let sent = pipeline(statements).await;
    assert!(!sent.all);
    assert_eq!(sent.answers.len(), 2);
    assert!(!committed.load(Ordering::Relaxed));
    assert!(matches!(verdict(sent), Err(CommitError::Not(_))));
}

#[test]
fn only_a_commit_after_statements_that_all_succeeded_is_a_yes() {
    let answers = |list: Vec<Result<(), ()>>| PipelineAnswers {
        answers: list
            .into_iter()
            .map(|answer| answer.map(|()| Vec::new()).map_err(|()| some_error()))
            .collect(),
        all: true,
    };
    assert!(verdict(answers(vec![Ok(()), Ok(())])).is_ok());
    // The connection ended: the server may have done everything, or nothing.
    assert!(matches!(verdict(answers(vec![Ok(()), Err(())])), Err(CommitError::Maybe(_))));
    assert!(matches!(verdict(answers(vec![Err(()), Err(())])), Err(CommitError::Maybe(_))));
    assert!(matches!(verdict(answers(vec![Err(()), Ok(())])), Err(CommitError::Maybe(_))));
    assert!(matches!(verdict(answers(vec![])), Err(CommitError::Not(_))));
}

#[tokio::test]
async fn a_commit_behind_a_failed_statement_is_a_no_and_writes_nothing() {
    let database = Database::opened().await;
    let mut writer = writer(&database.url(), "a").await;
    let mut changes = begun(&mut writer, submit("s"), [1; 16]).await;
    // A row to update that does not exist: Postgres answers the COMMIT with a ROLLBACK that is no error.
    for row in &mut changes.requests {
        *row = RequestRow::new(row.request.clone(), false).unwrap();
    }
    let failed = writer.commit(&changes).await.unwrap_err();
    assert!(
        matches!(&failed, CommitError::Not(StoreError::Damaged(what)) if what.contains("requests to update")),
        "{failed:?}"
    );
    writer.rollback().await;
    assert!(!writer.was_committed([1; 16]).await.unwrap());
    assert_eq!(head_seq(&mut writer).await, 1);

    // And the connection is still good.
    let changes = begun(&mut writer, submit("s"), [2; 16]).await;
    writer.commit(&changes).await.unwrap();
    assert!(writer.was_committed([2; 16]).await.unwrap());
    assert_eq!(head_seq(&mut writer).await, 2);
}

#[tokio::test]
async fn a_commit_without_an_open_transaction_is_refused() {
    let database = Database::opened().await;
    let mut writer = writer(&database.url(), "a").await;
    let changes = begun(&mut writer, submit("s"), [1; 16]).await;
    writer.rollback().await;
    // Each statement would be a transaction of its own.
    assert!(matches!(writer.commit(&changes).await, Err(CommitError::Not(_))));
    assert_eq!(head_seq(&mut writer).await, 1);
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_found_to_be_one() {
    let database = Database::opened().await;
    let wire = Wire::to(database.port()).await;
    let mut writer = writer(&database.url_through(wire.port), "a").await;
    let changes = begun(&mut writer, submit("s"), [1; 16]).await;
    wire.set(Mode::Mute);
    let (client, _driver) = database.client().await;
    let cut = async {
        until("the commit that nobody hears of", async || {
            client.query_one("SELECT seq FROM head", &[]).await.unwrap().get::<_, i64>(0) == 2
        })
        .await;
        wire.set(Mode::Down);
    };
    let (done, ()) = tokio::join!(writer.commit(&changes), cut);
    assert!(matches!(done, Err(CommitError::Maybe(_))), "{done:?}");
    assert!(
        matches!(writer.was_committed([1; 16]).await, Err(StoreError::Unavailable(_))),
        "it cannot know while the database is away"
    );
    wire.set(Mode::Open);
    assert!(writer.was_committed([1; 16]).await.unwrap());
    assert!(!writer.was_committed([2; 16]).await.unwrap());
    assert_eq!(head_seq(&mut writer).await, 2);
}

#[tokio::test]
async fn a_change_of_notes_whose_answer_was_lost_is_found_to_be_one() {
    let database = Database::opened().await;
    let wire = Wire::to(database.port()).await;
    let (store, looking) = (store(&database.url_through(wire.port)).await, store(&database.url()).await);
    let put = |expected: NoteExpected| {
        let note = NewNote {
            kind: "door.task",
            key: "a".to_owned(),
            owner: "o".to_owned(),
            scope: String::new(),
            open: true,
            keep_until: Time::from_micros(i64::MAX),
            body: "{}".into(),
        };
        store.change_notes(vec![NoteChange::Put { note, expected }], 9)
    };
    assert!(matches!(put(NoteExpected::Absent).await, Ok(NotesOutcome::Changed(_))));
    // Somebody holds the note, so that writing it waits: answers stop then, and the word of the commit is lost.
    let (client, _driver) = database.client().await;
    client.batch_execute("BEGIN; SELECT FROM notes FOR UPDATE").await.unwrap();
    let cut = async {
        database.blocked().await;
        wire.set(Mode::Mute);
        client.batch_execute("COMMIT").await.unwrap();
        until("the new version of the note", async || {
            looking.note("door.task", "a").await.unwrap().unwrap().version == 2
        })
        .await;
        wire.set(Mode::Down);
        let refused = wire.damage.refused();
        until("a look-up that fails", async || wire.damage.refused() > refused).await;
        wire.set(Mode::Open);
    };
    let (done, ()) = tokio::join!(put(NoteExpected::Version(1)), cut);
    assert!(matches!(&done, Ok(NotesOutcome::Changed(versions)) if versions == &[2]), "{done:?}");
    store.close().await;
    looking.close().await;
}

#[tokio::test]
async fn a_commit_that_never_arrived_is_found_to_be_none_once_its_transaction_is_over() {
    let database = Database::opened().await;
    let wire = Wire::to(database.port()).await;
    let mut writer = writer(&database.url_through(wire.port), "a").await;
    let changes = begun(&mut writer, submit("s"), [1; 16]).await;
    // The test says when the old transaction is over, not the server.
    writer.set("idle_in_transaction_session_timeout", "0").await;
    let orphan = database.idle_in_transaction().await.expect("an open transaction");
    wire.set(Mode::Deaf);
    let cut = async {
        until("a COMMIT that is lost", async || wire.damage.lost() > 0).await;
        wire.set(Mode::Orphan);
        until("the cut", async || wire.damage.orphaned() > 0).await;
        wire.set(Mode::Open);
    };
    let (done, ()) = tokio::join!(writer.commit(&changes), cut);
    assert!(matches!(done, Err(CommitError::Maybe(_))), "{done:?}");
    // The old connection still holds the lock, and its COMMIT could still come: no answer before that is settled.
    let mut asking = Box::pin(writer.was_committed([1; 16]));
    tokio::select! {
        biased;
        answer = &mut asking => panic!("{answer:?} while the old transaction was open"),
        () = database.blocked() => {}
    }
    assert_eq!(database.idle_in_transaction().await, Some(orphan));
    let (client, _driver) = database.client().await;
    client.execute("SELECT pg_terminate_backend($1)", &[&orphan]).await.unwrap();
    assert!(!asking.await.unwrap());
    assert_eq!(head_seq(&mut writer).await, 1);
}

#[tokio::test]
async fn a_connection_that_is_killed_inside_a_batch_commits_nothing_and_is_replaced() {
    let database = Database::opened().await;
    let mut writer = writer(&database.url(), "a").await;
    let (client, _driver) = database.client().await;
    let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE datname = current_database() AND state = 'idle in transaction'";
    for batch in [[1; 16], [2; 16], [3; 16]] {
        let changes = begun(&mut writer, submit("s"), batch).await;
        let killed: i64 = client.query_one(kill, &[]).await.unwrap().get(0);
        assert_eq!(killed, 1);
        match writer.commit(&changes).await {
            Err(CommitError::Not(_)) => writer.rollback().await,
            Err(CommitError::Maybe(_)) => assert!(!writer.was_committed(batch).await.unwrap()),
            Ok(()) => panic!("a killed connection committed"),
        }
    }
    let changes = begun(&mut writer, submit("s"), [4; 16]).await;
    writer.commit(&changes).await.unwrap();
    assert_eq!(head_seq(&mut writer).await, 2);
}

#[tokio::test]
async fn killing_connections_under_load_loses_and_doubles_nothing() {
    let database = Database::opened().await;
    let store = Arc::new(store(&database.url()).await);
    let (client, _driver) = database.client().await;
    let mut senders = tokio::task::JoinSet::new();
    let attempts = Arc::new(AtomicU32::new(0));
    for sender in 0..8_u8 {
        let (store, attempts) = (store.clone(), attempts.clone());
        senders.spawn(async move {
            let (mut yes, mut unknown) = (Vec::new(), 0);
            for _ in 0..60 {
                attempts.fetch_add(1, Ordering::SeqCst);
                let command = submit(&format!("s{sender}"));
                let id = command.request();
                match send(&store, command, None).await {
                    Ok(outcome) => yes.push((id, outcome.answer)),
                    Err(StoreError::Unavailable(_)) => sleep(Duration::from_millis(5)).await,
                    Err(StoreError::Unknown) => unknown += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            (yes, unknown)
        });
    }
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    for kills in 0..12 {
        // Spread over the whole load, however quick it is.
        until("more attempts", async || attempts.load(Ordering::SeqCst) >= 8 + 36 * kills).await;
        client.query(kill, &[]).await.unwrap();
    }
    let (mut acknowledged, mut unknown) = (0, 0);
    while let Some(done) = senders.join_next().await {
        let (yes, lost) = done.unwrap();
        unknown += lost;
        for (id, answer) in yes {
            assert_eq!(answer, Ok(()));
            assert!(store.get(id).await.unwrap().is_some(), "{id} was acknowledged and is gone");
            acknowledged += 1;
        }
    }
    assert!(acknowledged > 0);
    let verified = store.verify(|_| {}).await.unwrap();
    // The first entry opened the ledger. Everything refused as unavailable was not written.
    assert!(
        (acknowledged..=acknowledged + unknown).contains(&verified.requests),
        "{acknowledged} + {unknown}: {verified:?}"
    );
    assert_eq!(verified.entries, verified.requests + 1);
    store.close().await;
}

#[tokio::test]
async fn a_node_survives_a_restart_of_the_database() {
    let database = Database::opened().await;
    let wire = Wire::to(database.port()).await;
    let near = store(&database.url_through(wire.port)).await;
    let other = store(&database.url()).await;
    let mut tail = near.tail(None).await.unwrap();
    let first = sent(&near, submit("before")).await;
    assert_eq!(tail.next().await.unwrap().request.unwrap().id, first.id);

    wire.set(Mode::Down);
    let refused = send(&near, submit("lost"), None).await.unwrap_err();
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
    let unread = near.get(first.id).await.unwrap_err();
    assert!(matches!(unread, StoreError::Unavailable(_)), "{unread:?}");
    // What another node writes meanwhile is not missed.
    let meanwhile = sent(&other, submit("meanwhile")).await;

    wire.set(Mode::Open);
    let after = sent(&near, submit("after")).await;
    assert!(near.get(first.id).await.unwrap().is_some());
    let mut heard = Vec::new();
    while heard.len() < 2 {
        // A tail that fails while the database is away goes on where it was.
        if let Ok(news) = soon("news", tail.next()).await {
            heard.push(news.request.unwrap().id);
        }
    }
    assert_eq!(heard, [meanwhile.id, after.id]);
    assert_eq!(near.verify(|_| {}).await.unwrap().requests, 3);
    near.close().await;
    other.close().await;
}
