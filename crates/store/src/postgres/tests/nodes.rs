//! Several nodes on one database: one order, one lock, nothing twice.

use std::collections::HashSet;

use placet_core::WeakKey;
use placet_testkit::soon;
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{AttemptResult, Channels, Filter, backend::CommitError, migrations::KNOWN};

#[tokio::test]
async fn nodes_that_start_at_once_agree_on_one_new_database() {
    let database = Database::new().await;
    let url = database.url();
    let opened = futures_util::future::join_all((0..6).map(|_| Store::open(options(&url)))).await;
    let mut seen = HashSet::new();
    for store in opened {
        let store = store.unwrap();
        assert_eq!(store.head().await.unwrap().1, 1);
        seen.insert((store.head().await.unwrap(), store.secret()));
        store.close().await;
    }
    assert_eq!(seen.len(), 1);
}

#[tokio::test]
async fn nodes_in_parallel_never_skip_or_double_a_number() {
    let database = Database::opened().await;
    let nodes = [
        Arc::new(store(&database.url()).await),
        Arc::new(store(&database.url()).await),
        Arc::new(store(&database.url()).await),
    ];
    let mut tail = nodes[0].tail(None).await.unwrap();
    let mut senders = JoinSet::new();
    for sender in 0..12 {
        let node = nodes[sender % nodes.len()].clone();
        senders.spawn(async move {
            for _ in 0..25 {
                sent(&node, submit("s")).await;
            }
        });
    }
    for expected in 2..=301 {
        let news = soon("the next entry", tail.next()).await.unwrap();
        assert_eq!(news.seq, expected);
    }
    while let Some(done) = senders.join_next().await {
        done.unwrap();
    }
    let verified = nodes[1].verify(|_| {}).await.unwrap();
    assert_eq!((verified.entries, verified.requests), (301, 300));
    for node in nodes {
        node.close().await;
    }
}

#[tokio::test]
async fn a_node_that_stops_inside_a_batch_delays_the_others_by_no_more_than_its_idle_time() {
    let database = Database::opened().await;
    let mut paused = writer(&database.url(), "paused").await;
    // The others wait for longer than a node may idle, and so get their turn instead of an error.
    for (limit, shipped) in
        [("idle_in_transaction_session_timeout", "3s"), ("lock_timeout", "6s"), ("statement_timeout", "10s")]
    {
        assert_eq!(paused.setting(limit).await, shipped, "{limit}");
    }
    let other = store(&database.url()).await;
    let changes = begun(&mut paused, submit("s"), [1; 16]).await;
    let stopped = database.idle_in_transaction().await.expect("a node inside its batch");
    let cut_short = async {
        database.blocked().await;
        assert_eq!(database.idle_in_transaction().await, Some(stopped), "the other waits for this node");
        paused.set("idle_in_transaction_session_timeout", "100ms").await;
    };
    tokio::join!(sent(&other, submit("s")), cut_short);
    assert_eq!(database.idle_in_transaction().await, None, "the other did not wait for its end");
    // It wakes up, and its batch is not written over the other's.
    match paused.commit(&changes).await.unwrap_err() {
        CommitError::Not(_) => paused.rollback().await,
        CommitError::Maybe(_) => assert!(!paused.was_committed([1; 16]).await.unwrap()),
    }
    assert_eq!(head_seq(&mut paused).await, 2);
    other.close().await;
}

#[tokio::test]
async fn the_same_idempotency_key_on_two_nodes_makes_one_request() {
    let database = Database::opened().await;
    let (a, b) = (store(&database.url()).await, store(&database.url()).await);
    for n in 0..20 {
        let key = Idempotency { scope: [n; 32], body: [1; 32] };
        let (first, second) =
            tokio::join!(send(&a, submit("s"), Some(key)), send(&b, submit("s"), Some(key)));
        let (first, second) = (first.unwrap(), second.unwrap());
        assert_eq!(first.request.unwrap().id, second.request.unwrap().id);
        assert_ne!(first.replayed, second.replayed);
        let other = send(&a, submit("s"), Some(Idempotency { scope: [n; 32], body: [2; 32] })).await;
        assert!(matches!(other, Err(StoreError::KeyReused)));
    }
    assert_eq!(a.verify(|_| {}).await.unwrap().requests, 20);
    a.close().await;
    b.close().await;
}

#[tokio::test]
async fn the_same_weak_key_on_two_nodes_makes_one_request_and_moves_on_both() {
    let database = Database::opened().await;
    let (a, b) = (store(&database.url()).await, store(&database.url()).await);
    // Under one weak key, for one of two things, with an idempotency key that nobody else has.
    let ask = async |store: &Store, same: u8, strong: u8| {
        let Command::Submit(mut submit) = submit("s") else { panic!("a new request") };
        submit.weak = Some(WeakKey { scope: [255; 32], same: [same; 32] });
        let strong = Idempotency { scope: [strong; 32], body: [1; 32] };
        let outcome = send(store, Command::Submit(submit), Some(strong)).await.unwrap();
        (outcome.request.unwrap().id, outcome.replayed)
    };
    for round in 0..20 {
        let (first, second) = tokio::join!(ask(&a, round % 2, 4 * round), ask(&b, round % 2, 4 * round + 1));
        assert_eq!(first.0, second.0);
        assert_ne!(first.1, second.1);
        // Whichever node made it, both find it, and both replay either key.
        assert_eq!(ask(&b, round % 2, 4 * round + 2).await, (first.0, true));
        assert_eq!(ask(&a, 9, 4 * round + 1).await, (first.0, true));
    }
    assert_eq!(a.verify(|_| {}).await.unwrap().requests, 20);
    a.close().await;
    b.close().await;
}

#[tokio::test]
async fn a_notification_raises_the_hint_of_every_listener() {
    let database = Database::opened().await;
    let (hint, mut heard) = watch::channel(crate::follow::Hint::default());
    let cancel = CancellationToken::new();
    let mut tasks = JoinSet::new();
    tasks.spawn(super::super::listen(database.url(), 1, hint, cancel.clone()));
    // Once for the connection, then once for the commit.
    soon("a connection", heard.changed()).await.unwrap();
    let mut writer = writer(&database.url(), "a").await;
    let changes = begun(&mut writer, submit("s"), [1; 16]).await;
    assert!(!heard.has_changed().unwrap());
    writer.commit(&changes).await.unwrap();
    soon("a notification", heard.changed()).await.unwrap();
    cancel.cancel();
    soon("the end that it was told of", tasks.join_next()).await;
}

#[tokio::test]
async fn two_nodes_never_lease_the_same_delivery() {
    let database = Database::opened().await;
    let telling =
        Store::open(Options { channels: vec!["hook".to_owned()], ..options(&database.url()) }).await.unwrap();
    for _ in 0..40 {
        sent(&telling, submit("s")).await;
    }
    let (url, clock) = (database.url(), Arc::new(Ahead::default()));
    let mut a = writer_at(&url, "a", clock.clone()).await;
    let mut b = writer_at(&url, "b", clock.clone()).await;
    let (mut leased, all) = (Vec::new(), Channels::Others(Vec::new()));
    for _ in 0..4 {
        let (one, two) = tokio::join!(
            a.lease("a", &all, 7, Duration::from_mins(1)),
            b.lease("b", &all, 7, Duration::from_mins(1))
        );
        leased.extend(one.unwrap().into_iter().map(|delivery| ("a", delivery)));
        leased.extend(two.unwrap().into_iter().map(|delivery| ("b", delivery)));
    }
    assert_eq!(leased.len(), 40);
    assert_eq!(leased.iter().map(|(_, delivery)| delivery.subject.clone()).collect::<HashSet<_>>().len(), 40);

    // Only the holder's word counts; a failure is due again after its gap, a success never.
    let (owner, delivery) = leased.pop().unwrap();
    let stranger = if owner == "a" { "b" } else { "a" };
    a.attempt(&delivery, stranger, &AttemptResult::Delivered).await.unwrap();
    b.attempt(&delivery, owner, &AttemptResult::Failed("zero \0 byte".to_owned())).await.unwrap();
    for (owner, delivery) in leased {
        a.attempt(&delivery, owner, &AttemptResult::Delivered).await.unwrap();
    }
    assert!(a.lease("a", &all, 100, Duration::from_mins(1)).await.unwrap().is_empty());
    clock.advance(Duration::from_millis(1100));
    let again = b.lease("b", &all, 100, Duration::from_mins(1)).await.unwrap();
    assert_eq!(
        again.iter().map(|again| (&again.subject, again.attempts)).collect::<Vec<_>>(),
        [(&delivery.subject, 1)]
    );
    a.prune(Time::from_micros(i64::MAX)).await.unwrap();
    let (client, _driver) = database.client().await;
    let left: i64 = client.query_one("SELECT count(*) FROM outbox", &[]).await.unwrap().get(0);
    assert_eq!(left, 1);
    telling.close().await;
}

#[tokio::test]
async fn text_with_the_character_zero_is_stored_and_found() {
    let database = Database::opened().await;
    let store = store(&database.url()).await;
    let stored = sent(&store, submit("a\0b")).await;
    sent(&store, submit("ab")).await;
    assert_eq!(store.get(stored.id).await.unwrap().unwrap(), stored);
    let filter = Filter { session: Some("a\0b".to_owned()), ..Filter::default() };
    let listed = store.list(&filter, 10, Time::from_micros(0)).await.unwrap();
    assert_eq!(listed.items.iter().map(|request| request.id).collect::<Vec<_>>(), [stored.id]);
    assert_eq!(listed.seq, 3);
    store.verify(|_| {}).await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn a_newer_format_is_refused_everywhere() {
    let database = Database::opened().await;
    let (client, _driver) = database.client().await;
    client.execute("UPDATE placet_format SET version = $1", &[&(KNOWN + 1)]).await.unwrap();
    let newer = |error: &StoreError| matches!(error, StoreError::Newer { found, .. } if *found == KNOWN + 1);
    assert!(newer(&Store::open(options(&database.url())).await.unwrap_err()));
    assert!(newer(
        &super::super::PostgresReaders::connect(&database.url()).unwrap().head().await.unwrap_err()
    ));
    let clock = Arc::new(Timeline::new(Arc::new(SystemClock::new())));
    let writer =
        PostgresWriter::connect(&database.url(), "a".to_owned(), clock, Arc::default(), LOCK_WAIT).await;
    assert!(newer(&writer.err().unwrap()));
}

#[tokio::test]
async fn the_ledger_refuses_to_shrink_or_change() {
    let database = Database::opened().await;
    let (client, _driver) = database.client().await;
    for statement in ["UPDATE ledger SET entry = ''", "DELETE FROM ledger", "TRUNCATE ledger"] {
        let refused = client.batch_execute(statement).await.unwrap_err();
        assert!(refused.as_db_error().unwrap().message().contains("only grows"), "{statement}");
    }
}

#[tokio::test]
async fn an_asynchronous_commit_is_not_accepted() {
    let database = Database::opened().await;
    let (client, _driver) = database.client().await;
    client
        .batch_execute(&format!("ALTER DATABASE {} SET synchronous_commit = off", database.name))
        .await
        .unwrap();
    let mut writer = writer(&database.url(), "a").await;
    assert_eq!(writer.setting("synchronous_commit").await, "on");
    client
        .batch_execute(&format!("ALTER DATABASE {} SET synchronous_commit = remote_apply", database.name))
        .await
        .unwrap();
    let mut writer = super::writer(&database.url(), "a").await;
    assert_eq!(writer.setting("synchronous_commit").await, "remote_apply");
    assert!(
        super::super::durability(&database.url())
            .await
            .unwrap()
            .0
            .starts_with("synchronous_commit=remote_apply, ")
    );
}

#[tokio::test]
async fn an_address_that_asks_for_tls_is_refused_with_a_way_out() {
    for url in
        ["postgres://u@127.0.0.1:1/d?sslmode=require", "postgres://u@127.0.0.1:1/d?sslmode=verify-full"]
    {
        let error = super::super::prepare(url).await.unwrap_err().to_string();
        assert!(error.contains("sslmode") && error.contains("TLS proxy"), "{error}");
    }
    let error = super::super::prepare("postgres://u:secret@127.0.0.1:1/d").await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    assert!(!error.to_string().contains("secret"));
}

#[tokio::test]
async fn a_restore_that_was_cut_short_is_never_served() {
    let (from, into) = (Database::opened().await, Database::new().await);
    let store = store(&from.url()).await;
    let open = sent(&store, submit("s")).await;
    store.close().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    crate::restore::backup(&Location::Postgres(from.url()), &file).await.unwrap();

    super::super::prepare(&into.url()).await.unwrap();
    super::super::import(&into.url(), &file).await.unwrap();
    let refused = Store::open(options(&into.url())).await.unwrap_err();
    assert!(refused.to_string().contains("cut short"), "{refused}");
    let refused = super::super::import(&into.url(), &file).await.unwrap_err();
    assert!(refused.to_string().contains("empty"), "{refused}");

    let into = Database::new().await;
    let clock = Arc::new(SystemClock::new());
    let report =
        crate::restore::restore(&file, &Location::Postgres(into.url()), clock, |_| {}).await.unwrap();
    assert_eq!(report.closed, 1);
    let restored = super::store(&into.url()).await;
    assert_eq!(restored.head().await.unwrap().0, report.epoch);
    assert_eq!(restored.get(open.id).await.unwrap().unwrap().state, placet_core::State::Cancelled);
    let key = Idempotency { scope: [1; 32], body: [1; 32] };
    assert!(send(&restored, submit("s"), Some(key)).await.unwrap().answer.is_ok());
    restored.verify(|_| {}).await.unwrap();
    restored.close().await;
}
