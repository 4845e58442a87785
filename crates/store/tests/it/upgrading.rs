//! A database of version 0.2.0: it verifies as it is, is upgraded, and verifies to the same head.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use placet_core::{Role, VoidedCredential};
use placet_store::{Clock as _, Filter, Store, SystemClock, backup, restore};
use placet_testkit::{Backend, FakeClock, Place, both, lay_out_version_0_2};

const SQLITE_HEAD: &str = "sha256:ce290c82b3179ab032b0f0a36585a26112c8b0148477c6c6412e470abd31fd87";

/// Every request of version 0.2.0 is in the list of its door and in those of the people who decided it, and in no other.
async fn found_by_lists(store: &Store) {
    let requests = store.history(0, 1000).await.unwrap();
    let (mut doors, mut people) = (BTreeMap::<_, BTreeSet<_>>::new(), BTreeMap::<_, BTreeSet<_>>::new());
    for request in &requests {
        doors.entry(request.source.clone()).or_default().insert(request.id);
        for name in request.decision.iter().flat_map(|decision| &decision.by) {
            people.entry(name.clone()).or_default().insert(request.id);
        }
    }
    assert!(doors.len() > 1 && !people.is_empty(), "{doors:?} {people:?}");
    let list = async |filter: Filter| {
        let listed = store.list(&filter, 1000, placet_core::Time::default()).await.unwrap();
        listed.items.iter().map(|request| request.id).collect::<BTreeSet<_>>()
    };
    for (door, expected) in doors {
        assert_eq!(list(Filter { source: Some(door), ..Filter::default() }).await, expected);
    }
    for (name, expected) in people {
        assert_eq!(list(Filter { by: Some(name), ..Filter::default() }).await, expected);
    }
}

/// The time of this machine, which is the one of its databases.
fn micros() -> u64 {
    u64::try_from(SystemClock::new().now().micros()).unwrap()
}

both! {
    async fn a_database_of_version_0_2_0_is_upgraded_and_verifies_to_the_same_head(backend: Backend) {
        let place = Place::new(backend).await;
        lay_out_version_0_2(&place).await;
        let before = place.verify().await.unwrap();
        assert_eq!(before.entries, 41);
        if backend == Backend::Sqlite {
            assert_eq!(before.head.to_string(), SQLITE_HEAD);
        }
        let store = Store::open(place.options(Arc::new(FakeClock::new()))).await.unwrap();
        let directory = store.directory();
        assert_eq!(directory.owner("billing-bot"), Some("ann"));
        let owned = directory.keys.values().find(|key| key.name == "billing-bot").expect("its key");
        assert_eq!((owned.role, owned.owner.as_deref()), (Role::Agent, Some("ann")), "read from the ledger");
        assert!(directory.people.contains_key("ann") && directory.people.contains_key("Ann"), "both stay");
        assert_eq!(directory.lookalike("ann"), Some("Ann"));
        assert_eq!((directory.grants.len(), directory.voided.len()), (2, 0));
        let unbound = |grant: &&Arc<placet_core::Grant>| grant.scope == placet_core::Scope::Exact { bound: false };
        assert_eq!(directory.grants.values().filter(unbound).count(), 1, "it says nothing of a folder");
        assert!(!directory.voided.contains_key(&VoidedCredential::Person("ann".to_owned())));
        found_by_lists(&store).await;
        store.close().await;
        let after = place.verify().await.unwrap();
        assert_eq!((after.entries, after.head), (before.entries, before.head));
    }

    async fn a_backup_of_version_0_2_0_is_restored_with_what_lists_go_by(backend: Backend) {
        let (old, clock) = (Place::new(Backend::Sqlite).await, Arc::new(FakeClock::new()));
        lay_out_version_0_2(&old).await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup.db");
        backup(&old.location(), &file).await.unwrap();
        let into = Place::new(backend).await;
        restore(&file, &into.location(), clock.clone(), |_| {}).await.unwrap();
        let store = Store::open(into.options(clock)).await.unwrap();
        found_by_lists(&store).await;
        store.close().await;
        into.verify().await.unwrap();
    }

    async fn what_version_0_2_0_had_learned_is_dropped_and_counted(backend: Backend) {
        let place = Place::new(backend).await;
        lay_out_version_0_2(&place).await;
        let digest = |n: u8| match backend {
            Backend::Sqlite => format!("x'{}'", format!("{n:02x}").repeat(32)),
            Backend::Postgres => format!("'\\x{}'", format!("{n:02x}").repeat(32)),
        };
        for n in 1..=3 {
            place.sql(&format!("INSERT INTO trust (digest, count, at) VALUES ({}, 5, 1)", digest(n))).await;
        }
        for _ in 0..2 {
            let store = Store::open(place.options(Arc::new(FakeClock::new()))).await.unwrap();
            let ended = store.ended_at_upgrade().await.unwrap();
            assert_eq!((ended.trust, ended.grants.len()), (3, 0), "nothing is ended by opening the store");
            assert_eq!(place.value("SELECT count(*) FROM trust").await, "0");
            store.close().await;
        }
    }

    async fn what_version_0_2_0_had_left_to_deliver_waits_as_one_row_for_each_subject(backend: Backend) {
        let place = Place::new(backend).await;
        lay_out_version_0_2(&place).await;
        let answer = place.rows("SELECT request, channel, seq, attempts FROM outbox WHERE state = 'waiting'").await;
        assert_eq!(answer.len(), 1, "the answer for an agent that does not listen");
        let outbox = |id: &str, seq: u64, request: &str, state: &str| {
            format!("INSERT INTO outbox (id, seq, request, channel, state, attempts, next_at, lease_until, give_up_at)
                 VALUES ('{id}', {seq}, '{request}', 'a2a', '{state}', {seq}, 5, 0, 9);")
        };
        let waiting = |generation: u64| format!(r#"{{"generation":{generation},"ended":true,"task":{{"id":"t","text":"\u0000"}},"since":1,"attempts":3,"next":2}}"#);
        let note = |key: &str, told: u64, ended: bool, given_up: &str, pending: &str| {
            let (scope, _) = key.rsplit_once('/').unwrap();
            let open = u8::from(pending != "null");
            let body = format!(r#"{{"version":"1.0","task":"t","id":"c","url":"http://localhost:1/","told":{told},"ended":{ended},"given_up":{given_up},"pending":{pending},"lease":null}}"#);
            format!("INSERT INTO notes (kind, key, owner, scope, open, version, at, keep_until, body)
                 VALUES ('a2a.push', '{key}', 'bot', '{scope}', {open}, 1, 3, 4, '{body}');")
        };
        let tried = r#"{"generation":1,"ended":false}"#;
        let rows = [
            outbox("out_1", 3, "two ends", "waiting"),
            outbox("out_2", 7, "two ends", "waiting"),
            outbox("out_3", 8, "one end", "delivered"),
            outbox("out_4", 9, "no end", "dead"),
            note("demo/ops/a/waits", 2, false, "null", &waiting(4)),
            note("demo/ops/b/told", 4, false, "null", "null"),
            note("placet/desk/c/waits", 2, false, "null", &waiting(4)),
            // The task may have changed when no server looked.
            note("placet/desk/d/told", 4, false, "null", "null"),
            note("placet/desk/e/given up", 0, false, tried, "null"),
            note("placet/desk/f/ended", 4, true, "null", "null"),
            // Given up before the end, there was more to tell later.
            note("placet/desk/g/waits again", 0, false, tried, &waiting(4)),
            note("placet/desk/h/end given up", 0, false, r#"{"generation":4,"ended":true}"#, "null"),
        ];
        place.sql(&rows.concat()).await;
        let earliest = micros();
        let store = Store::open(place.options(Arc::new(FakeClock::new()))).await.unwrap();
        let latest = micros();
        let query = "SELECT subject, wanted, told, attempts, coalesce(body, '-') FROM outbox WHERE channel = '{}' AND state = 'waiting' ORDER BY subject";
        let of = async |channel: &str| {
            let rows = place.rows(&query.replace("{}", channel)).await;
            let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(of("a2a").await, ["two ends 7 0 7 -"]);
        // Postgres cannot read the character zero out of JSON.
        let zero = if backend == Backend::Sqlite { "\\u0000" } else { "\\u2400" };
        let body = format!(r#"{{"id":"t","text":"{zero}"}}"#);
        assert_eq!(of("a2a.push").await, [
            format!("demo/ops/a/waits 4 0 0 {body}"), "placet/desk/c/waits 1 0 0 -".to_owned(), "placet/desk/d/told 1 0 0 -".to_owned(),
            "placet/desk/e/given up 1 0 0 -".to_owned(), "placet/desk/g/waits again 1 0 0 -".to_owned(),
        ]);
        let day = 24 * 3_600_000_000_u64;
        let (from, to) = (earliest / 1_000_000 * 1_000_000 + day, latest + day);
        let in_a_day = format!("SELECT 1 FROM outbox WHERE channel = 'a2a.push' AND give_up_at BETWEEN {from} AND {to}");
        assert_eq!(place.rows(&in_a_day).await.len(), 5, "retries have a day from the upgrade");
        assert_eq!(of("callback").await.len(), 1);
        assert_eq!(place.value("SELECT count(*) FROM outbox").await, "7", "what was over is dropped");
        assert_eq!(place.value("SELECT count(*) FROM notes WHERE open = 1").await, "0");
        store.close().await;
    }
}
