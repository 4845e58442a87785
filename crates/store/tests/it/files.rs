//! Files, formats and locks: what a data folder looks like, and what is refused.

use std::{collections::BTreeSet, os::unix::fs::PermissionsExt as _};

use placet_store::{CommandUnit, Store, StoreError, backed_up, backup};
use placet_testkit::{Backend, Place, block_on, both};

use crate::shop::{Shop, bot};

/// Table, column and kind of everything, in the words of one database.
async fn columns(place: &Place) -> BTreeSet<(String, String, String)> {
    let query = match place.backend() {
        Backend::Sqlite => {
            "SELECT m.name, c.name, lower(c.type) FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'"
        }
        Backend::Postgres => {
            "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'"
        }
    };
    let rows = place.rows(query).await.into_iter().map(|row| {
        let [table, column, kind] = [0, 1, 2].map(|index| row[index].as_str().unwrap().to_owned());
        let kind = match kind.as_str() {
            "integer" | "bigint" => "number",
            "text" => "text",
            "blob" | "bytea" => "bytes",
            other => panic!("{table}.{column} is a {other}"),
        };
        (table, column, kind.to_owned())
    });
    // SQLite keeps its format in the file's header.
    rows.filter(|(table, ..)| table != "placet_format").collect()
}

#[test]
fn both_databases_have_the_same_columns() {
    block_on(async {
        let (sqlite, postgres) = (Shop::open(Backend::Sqlite).await, Shop::open(Backend::Postgres).await);
        let (one, other) = (columns(&sqlite.place).await, columns(&postgres.place).await);
        assert!(one.len() > 50, "{}", one.len());
        assert_eq!(one, other);
        // A backup carries all of them, but for what is void afterwards.
        let void = ["notes", "writers"];
        let kept = one.iter().map(|(table, column, _)| (table.as_str(), column.as_str()));
        let kept: BTreeSet<_> = kept.filter(|(table, _)| !void.contains(table)).collect();
        assert_eq!(kept, backed_up().collect());
        sqlite.finish().await;
        postgres.finish().await;
    });
}

both! {
    async fn a_database_of_a_newer_format_is_refused_and_left_alone(backend: Backend) {
        let shop = Shop::open(backend).await;
        shop.store.close().await;
        let Shop { place, clock, store } = shop;
        drop(store);
        let (format, set) = match backend {
            Backend::Sqlite => ("SELECT user_version FROM pragma_user_version", "PRAGMA user_version ="),
            Backend::Postgres => ("SELECT version FROM placet_format", "UPDATE placet_format SET version ="),
        };
        let format = place.value(format).await;
        let format = format.as_str().map_or_else(|| format.to_string(), str::to_owned);
        place.sql(&format!("{set} 99")).await;
        let error = Store::open(place.options(clock.clone())).await.unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error:?}");
        assert!(error.to_string().contains("use a newer placet"), "{error}");
        place.sql(&format!("{set} {format}")).await;
        Shop { store: Store::open(place.options(clock.clone())).await.unwrap().into(), place, clock }.finish().await;
    }

    async fn what_is_stored_is_there_after_a_restart(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let requests = [shop.ask(&agent).await, shop.approved(&agent).await, shop.claimed(&agent).await];
        let (head, secret) = (shop.store.head().await.unwrap(), shop.store.secret());
        let shop = shop.reopen().await;
        for request in requests {
            assert_eq!(shop.read(request.id).await, *request);
        }
        assert_eq!((shop.store.head().await.unwrap(), shop.store.secret()), (head, secret));
        shop.finish().await;
    }
}

#[test]
fn a_second_server_on_the_same_folder_is_refused_with_one_clear_sentence() {
    block_on(async {
        let shop = Shop::open(Backend::Sqlite).await;
        let error = Store::open(shop.place.options(shop.clock.clone())).await.unwrap_err();
        assert!(matches!(error, StoreError::Locked(_)), "{error:?}");
        assert!(error.to_string().starts_with("another placet server is using "), "{error}");
        // The first one is not disturbed, and the folder is free when it is closed.
        shop.ask(&bot("bot")).await;
        shop.reopen().await.finish().await;
    });
}

#[test]
fn the_data_folder_is_for_its_owner_only() {
    block_on(async {
        let shop = Shop::open(Backend::Sqlite).await;
        shop.ask(&bot("bot")).await;
        let file = shop.place.folder().join("backup.db");
        backup(&shop.place.location(), &file).await.unwrap();
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&shop.place.folder()), 0o700);
        for name in ["placet.db", "placet.db-wal", "placet.db-shm", "backup.db"] {
            assert_eq!(mode(&shop.place.folder().join(name)), 0o600, "{name}");
        }
        shop.finish().await;
    });
}

#[test]
fn an_address_that_cannot_be_used_is_named_in_one_sentence() {
    block_on(async {
        let clock = std::sync::Arc::new(placet_testkit::FakeClock::new());
        for (url, says) in
            [("postgres://x@127.0.0.1:1/none", "cannot be reached"), ("nonsense", "postgres://user@host")]
        {
            let options =
                placet_store::Options::new(placet_store::Location::Postgres(url.to_owned()), clock.clone());
            let error = Store::open(options).await.unwrap_err().to_string();
            assert!(error.contains(says) && !error.contains('\n'), "{error}");
        }
    });
}

type Deed = fn(&std::path::Path);

/// What can happen to the folder of a running server.
const DEEDS: [(&str, Deed); 4] = [
    ("moved", |data| std::fs::rename(data, data.with_extension("moved")).unwrap()),
    ("removed", |data| std::fs::remove_dir_all(data).unwrap()),
    ("replaced", |data| {
        std::fs::copy(data.join("placet.db"), data.join("other.db")).unwrap();
        std::fs::rename(data.join("other.db"), data.join("placet.db")).unwrap();
    }),
    ("without its log", |data| std::fs::remove_file(data.join("placet.db-wal")).unwrap()),
];

#[test]
fn nothing_is_acknowledged_once_the_data_folder_is_not_the_one_that_was_opened() {
    block_on(async {
        for (what, deed) in DEEDS {
            let shop = Shop::open(Backend::Sqlite).await;
            shop.ask(&bot("bot")).await;
            deed(&shop.place.folder());
            let unit = CommandUnit {
                actor: bot("bot"),
                commands: vec![(shop.new_request(&bot("bot")), None)],
                atomic: false,
            };
            let refused = shop.store.commands(unit).await;
            assert!(matches!(refused, Err(StoreError::Stopped(_))), "{what}: {refused:?}");
            let why = placet_testkit::soon("the store to stop", shop.store.until_stopped()).await;
            assert!(why.contains("moved, removed or replaced"), "{what}: {why}");
            shop.store.close().await;
        }
    });
}

#[test]
fn a_data_folder_that_goes_is_noticed_although_nobody_writes() {
    block_on(async {
        let shop = Shop::open(Backend::Sqlite).await;
        shop.ask(&bot("bot")).await;
        std::fs::remove_dir_all(shop.place.folder()).unwrap();
        let why = placet_testkit::soon("the store to stop", shop.store.until_stopped()).await;
        assert!(why.contains("put the folder back"), "{why}");
        shop.store.close().await;
    });
}

#[test]
fn a_data_folder_that_others_can_look_into_is_named_with_the_remedy() {
    block_on(async {
        let shop = Shop::open(Backend::Sqlite).await;
        assert_eq!(shop.store.warnings(), Vec::<String>::new());
        let folder = shop.place.folder();
        for (mode, warned) in [(0o755, true), (0o710, true), (0o701, true), (0o700, false)] {
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(shop.store.warnings().len(), usize::from(warned), "{mode:o}");
        }
        shop.finish().await;
    });
}

#[test]
fn a_folder_whose_first_start_did_not_finish_is_said_to_have_no_ledger() {
    block_on(async {
        let place = Place::new(Backend::Sqlite).await;
        std::fs::create_dir_all(place.folder()).unwrap();
        std::fs::write(place.file(), "").unwrap();
        let error = place.verify().await.unwrap_err().to_string();
        assert!(error.contains("has no ledger: its first start did not finish"), "{error}");
        // Its tables are there, and nothing in them.
        let shop = Shop::open(Backend::Sqlite).await;
        shop.store.close().await;
        shop.place.sql("DELETE FROM head").await;
        let error = shop.place.verify().await.unwrap_err().to_string();
        assert!(error.contains("nothing was ever recorded"), "{error}");
    });
}

#[test]
fn a_server_that_does_not_look_at_its_folder_is_caught() {
    placet_testkit::each_is_caught(&[(
        "folder-is-not-looked-at",
        "files::nothing_is_acknowledged_once_the_data_folder_is_not_the_one_that_was_opened",
    )]);
}
