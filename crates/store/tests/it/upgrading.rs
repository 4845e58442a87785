//! A database of version 0.2.0: it verifies as it is, is upgraded, and verifies to the same head.

use std::sync::Arc;

use placet_core::{Role, Voided};
use placet_store::Store;
use placet_testkit::{Backend, FakeClock, Place, both, lay_out_version_0_2};

const SQLITE_HEAD: &str = "sha256:ce290c82b3179ab032b0f0a36585a26112c8b0148477c6c6412e470abd31fd87";

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
        assert!(!directory.voided.contains_key(&Voided::Person("ann".to_owned())));
        store.close().await;
        let after = place.verify().await.unwrap();
        assert_eq!((after.entries, after.head), (before.entries, before.head));
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
}
