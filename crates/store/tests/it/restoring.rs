//! Backup beside a running server, and restore into a new epoch in which no old permit lives.

use std::{os::unix::fs::PermissionsExt as _, path::PathBuf, sync::Arc};

use placet_core::{DecisionWord, Refusal, State};
use placet_store::{Location, Store, StoreError, VerifyError, backup, restore, verify_file};
use placet_testkit::{Backend, Place, block_on, both, idempotency, unit};

use crate::shop::{Shop, ann, bot, claim, decide, report};

/// A file name in a folder of its own.
fn file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    (folder, file)
}

/// One request of every sort, saved in one database and brought back in another.
async fn there_and_back(from: Backend, to: Backend) {
    let shop = Shop::telling(from, &["slack"]).await;
    let agent = bot("bot");
    let key = Some(idempotency("k", "body"));
    let pending = shop.give(&agent, shop.new_request(&agent), key).await.unwrap().request.unwrap();
    let (approved, claimed) = (shop.approved(&agent).await, shop.claimed(&agent).await);
    let denied = shop.done(&ann(), decide(&*shop.ask(&agent).await, DecisionWord::Deny)).await;
    let done = shop.claimed(&agent).await;
    let done = shop.done(&agent, report(done.id, 1)).await;
    let (_folder, file) = file();
    backup(&shop.place.location(), &file).await.unwrap();
    // Later than the backup: unknown to it.
    let lost = shop.ask(&agent).await;
    let (old_epoch, _) = shop.store.head().await.unwrap();

    let place = Arc::new(Place::new(to).await);
    let said = restore(&file, &place.location(), shop.clock.clone(), |_| {}).await.unwrap();
    let (clock, old) = (shop.clock.clone(), shop);
    place.verify().await.unwrap();
    let store = Store::open(place.options(clock.clone())).await.unwrap();
    let shop = Shop { place, clock, store: Arc::new(store) };

    assert_eq!(said.closed, 3);
    let (epoch, head) = shop.store.head().await.unwrap();
    assert_eq!(epoch, said.epoch);
    assert_ne!(epoch, old_epoch);
    assert_eq!(head, said.verified.entries + 1 + 3);
    for (request, state) in
        [(&pending, State::Cancelled), (&approved, State::Revoked), (&claimed, State::Unknown)]
    {
        assert_eq!(shop.read(request.id).await.state, state);
    }
    for request in [&denied, &done] {
        assert_eq!(shop.read(request.id).await, **request);
    }
    assert!(shop.store.get(lost.id).await.unwrap().is_none());
    // The old yes is worth nothing here, and nothing that was undecided can be decided.
    assert_eq!(
        shop.give(&agent, claim(approved.id, 1), None).await.unwrap().answer,
        Err(Refusal::NotApproved)
    );
    assert_eq!(
        shop.give(&agent, claim(claimed.id, 9), None).await.unwrap().answer,
        Err(Refusal::AlreadyClaimed)
    );
    assert_eq!(
        shop.give(&ann(), decide(&pending, DecisionWord::Approve), None).await.unwrap().answer,
        Err(Refusal::Cancelled)
    );
    // Whoever did the work may still say so; an answer given before is given again.
    assert_eq!(shop.done(&agent, report(claimed.id, 1)).await.state, State::Succeeded);
    let again = shop.give(&agent, shop.new_request(&agent), key).await.unwrap();
    assert_eq!((again.replayed, again.request.unwrap().id), (true, pending.id));
    // And life goes on, also in the new epoch's own files.
    let shop = shop.reopen().await;
    shop.claimed(&agent).await;
    shop.finish().await;
    old.finish().await;
}

#[test]
fn sqlite_into_sqlite() {
    block_on(there_and_back(Backend::Sqlite, Backend::Sqlite));
}

#[test]
fn sqlite_into_postgres() {
    block_on(there_and_back(Backend::Sqlite, Backend::Postgres));
}

#[test]
fn postgres_into_sqlite() {
    block_on(there_and_back(Backend::Postgres, Backend::Sqlite));
}

#[test]
fn postgres_into_postgres() {
    block_on(there_and_back(Backend::Postgres, Backend::Postgres));
}

both! {
    async fn a_backup_beside_a_busy_server_is_whole(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let writing = async {
            for _ in 0..40 {
                let units = (0..5).map(|_| shop.store.commands(unit(&agent, shop.new_request(&agent), None)));
                for done in futures_util::future::join_all(units).await {
                    done.unwrap();
                }
            }
        };
        let (_folder, path) = file();
        let saving = async {
            for number in 0..4 {
                let file = path.with_file_name(format!("{number}.db"));
                backup(&shop.place.location(), &file).await.unwrap();
                let verified = verify_file(&file, |_| {}).await.unwrap();
                assert_eq!(verified.requests + 3, verified.entries, "every request of the backup has its one entry");
                assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
            }
        };
        tokio::join!(writing, saving);
        shop.finish().await;
    }

    async fn a_backup_never_overwrites_a_file(backend: Backend) {
        let shop = Shop::open(backend).await;
        let (_folder, file) = file();
        std::fs::write(&file, "precious").unwrap();
        let error = backup(&shop.place.location(), &file).await.unwrap_err();
        assert!(error.to_string().contains("already there"), "{error}");
        assert_eq!(std::fs::read(&file).unwrap(), b"precious");
        shop.finish().await;
    }

    async fn a_restore_over_data_is_refused(backend: Backend) {
        let shop = Shop::open(backend).await;
        let request = shop.ask(&bot("bot")).await;
        let (_folder, file) = file();
        backup(&shop.place.location(), &file).await.unwrap();
        shop.store.close().await;
        let Shop { place, clock, store } = shop;
        drop(store);
        let error = restore(&file, &place.location(), clock.clone(), |_| {}).await.unwrap_err();
        assert!(error.to_string().contains("already holds"), "{error}");
        let shop = Shop { store: Store::open(place.options(clock.clone())).await.unwrap().into(), place, clock };
        assert_eq!(shop.read(request.id).await.state, State::Pending);
        shop.finish().await;
    }

    async fn a_backup_that_does_not_verify_is_not_restored(backend: Backend) {
        let shop = Shop::open(backend).await;
        shop.ask(&bot("bot")).await;
        let (_folder, file) = file();
        backup(&shop.place.location(), &file).await.unwrap();
        let broken = rusqlite::Connection::open(&file).unwrap();
        broken.execute_batch("UPDATE payloads SET body = replace(body, 'report.md', 'secret.md')").unwrap();
        drop(broken);
        let place = Place::new(backend).await;
        let error = restore(&file, &place.location(), shop.clock.clone(), |_| {}).await.unwrap_err();
        assert!(matches!(&error, VerifyError::Bad(bad) if bad.seq == 4), "{error:?}");
        if let Location::Folder(folder) = place.location() {
            assert!(!folder.join("placet.db").exists());
        }
        // Nothing is there, so a store can be begun.
        Store::open(place.options(shop.clock.clone())).await.unwrap().close().await;
        shop.finish().await;
    }
}

#[test]
fn a_restore_into_a_folder_that_a_server_uses_is_refused() {
    block_on(async {
        let shop = Shop::open(Backend::Sqlite).await;
        let (_folder, file) = file();
        backup(&shop.place.location(), &file).await.unwrap();
        let error = restore(&file, &shop.place.location(), shop.clock.clone(), |_| {}).await.unwrap_err();
        assert!(matches!(error, VerifyError::Store(StoreError::Locked(_))), "{error:?}");
        shop.finish().await;
    });
}

#[test]
fn what_a_restore_that_was_cut_short_left_behind_does_no_harm() {
    block_on(async {
        let shop = Shop::open(Backend::Sqlite).await;
        let (_folder, late) = file();
        let early = late.with_file_name("early.db");
        backup(&shop.place.location(), &early).await.unwrap();
        for _ in 0..20 {
            shop.ask(&bot("bot")).await;
        }
        backup(&shop.place.location(), &late).await.unwrap();
        let place = Place::new(Backend::Sqlite).await;
        // Another backup's restore, cut short in the middle of its transaction: the journal would undo it.
        std::fs::create_dir_all(place.folder()).unwrap();
        let half = place.folder().join("placet.db.restoring");
        std::fs::copy(&early, &half).unwrap();
        let cut = rusqlite::Connection::open(&half).unwrap();
        // Without room in memory, pages are written (and their old form made safe in the journal) before the commit.
        cut.execute_batch("PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE head SET epoch = 'half'; UPDATE principals SET data = data || ' '").unwrap();
        cut.execute_batch("CREATE TABLE filler (bytes); INSERT INTO filler SELECT randomblob(9000) FROM ledger, ledger b, ledger c").unwrap();
        let journal = place.folder().join("placet.db.restoring-journal");
        let (left, half_done) = (std::fs::read(&journal).unwrap(), std::fs::read(&half).unwrap());
        drop(cut);
        std::fs::write(&journal, left).unwrap();
        std::fs::write(&half, half_done).unwrap();
        restore(&late, &place.location(), shop.clock.clone(), |_| {}).await.unwrap();
        assert_eq!(place.verify().await.unwrap().requests, 20);
        shop.finish().await;
    });
}
