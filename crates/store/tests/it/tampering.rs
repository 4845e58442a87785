//! Verification: whatever somebody with access to the database changes, it is found, and the first bad entry is named.

use data_encoding::HEXLOWER;
use placet_core::{AdminEvent, DecisionWord, Time};
use placet_ledger::Entry;
use placet_store::{Verified, VerifyError};
use placet_testkit::{Backend, Place, both};

use crate::shop::{Shop, ann, bot, claim, decide, report};

const TABLES: [&str; 10] = [
    "ledger",
    "payloads",
    "requests",
    "decided_by",
    "head",
    "tallies",
    "principals",
    "keys",
    "policies",
    "grants",
];

/// A closed database with a known history, whose ledger can be written to.
async fn history(backend: Backend) -> Place {
    let shop = Shop::open(backend).await;
    // Entries: 1 opened, 2 and 3 people, 4 to 7 one whole life, 8 pending, 9 and 10 denied.
    let agent = bot("bot");
    let first = shop.ask(&agent).await;
    shop.done(&ann(), decide(&first, DecisionWord::Approve)).await;
    shop.done(&agent, claim(first.id, 1)).await;
    shop.done(&agent, report(first.id, 1)).await;
    shop.ask(&agent).await;
    let third = shop.ask(&agent).await;
    shop.done(&ann(), decide(&third, DecisionWord::Deny)).await;
    closed(backend, shop).await
}

/// The same with a policy, and a yes in advance that was used once.
async fn standing_history(backend: Backend) -> Place {
    let (shop, policy) = crate::standing::granted(backend, 5).await;
    shop.done(&bot("bot"), crate::standing::with_grant(&shop, &policy)).await;
    closed(backend, shop).await
}

/// The database of a shop that is closed, ready to be tampered with.
async fn closed(backend: Backend, shop: Shop) -> Place {
    shop.store.close().await;
    let Shop { place, store, .. } = shop;
    drop(store);
    let place = std::sync::Arc::into_inner(place).unwrap();
    let refused = match backend {
        Backend::Sqlite => "DROP TRIGGER ledger_only_grows_update; DROP TRIGGER ledger_only_grows_delete;",
        Backend::Postgres => "DROP TRIGGER ledger_only_grows ON ledger;",
    };
    place.sql(refused).await;
    for table in TABLES {
        place.sql(&format!("CREATE TABLE kept_{table} AS SELECT * FROM {table}")).await;
    }
    place
}

/// What verification says after a change, which is taken back afterwards.
async fn after(place: &Place, change: &str) -> Result<Verified, VerifyError> {
    place.sql(change).await;
    let said = place.verify().await;
    for table in TABLES {
        place.sql(&format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM kept_{table}")).await;
    }
    said
}

/// The entry that is named as the first bad one.
async fn first_bad(place: &Place, change: &str) -> u64 {
    match after(place, change).await {
        Err(VerifyError::Bad(bad)) => bad.seq,
        other => panic!("{change}: {other:?}"),
    }
}

/// What is said about tables that differ.
async fn differs(place: &Place, change: &str) -> String {
    match after(place, change).await {
        Err(VerifyError::Differs(what)) => what,
        other => panic!("{change}: {other:?}"),
    }
}

both! {
    async fn an_untouched_history_verifies_and_is_counted(backend: Backend) {
        let place = history(backend).await;
        let verified = place.verify().await.unwrap();
        assert_eq!((verified.entries, verified.requests, verified.erased), (10, 3, 0));
        // Every create, both reasons and the note.
        assert_eq!(verified.payloads, 6);
    }

    async fn a_changed_entry_is_named(backend: Backend) {
        let place = history(backend).await;
        assert_eq!(first_bad(&place, "UPDATE ledger SET entry = replace(entry, 'approve', 'Approve') WHERE seq = 5").await, 5);
        assert_eq!(first_bad(&place, "UPDATE ledger SET entry = entry || ' ' WHERE seq = 1").await, 1);
        assert_eq!(first_bad(&place, "UPDATE ledger SET hash = (SELECT hash FROM ledger WHERE seq = 3) WHERE seq = 6").await, 6);
        // The first of several.
        assert_eq!(first_bad(&place, "UPDATE ledger SET entry = entry || ' ' WHERE seq IN (9, 4, 7)").await, 4);
        place.verify().await.unwrap();
    }

    async fn a_forged_entry_with_a_fitting_hash_breaks_the_chain_behind_it(backend: Backend) {
        let place = history(backend).await;
        let text = place.value("SELECT entry FROM ledger WHERE seq = 5").await;
        let mut entry: Entry = serde_json::from_str(text.as_str().unwrap()).unwrap();
        "bob".clone_into(&mut entry.by.name);
        let forged = entry.seal().unwrap();
        let hash = HEXLOWER.encode(forged.hash.as_bytes());
        let hash = if backend == Backend::Sqlite { format!("x'{hash}'") } else { format!("'\\x{hash}'") };
        let forge = format!("UPDATE ledger SET entry = '{}', hash = {hash} WHERE seq = 5", forged.text);
        assert_eq!(first_bad(&place, &forge).await, 6);
    }

    async fn an_entry_that_is_older_than_the_one_before_is_reported(backend: Backend) {
        let place = history(backend).await;
        // One more entry, which changes nothing and is an hour older than the one before it.
        let text = place.value("SELECT entry FROM ledger WHERE seq = 10").await;
        let mut entry: Entry = serde_json::from_str(text.as_str().unwrap()).unwrap();
        let nothing = AdminEvent::GrantRevoked { id: placet_core::GrantId::new(1, [0; 10]), why: None };
        (entry.prev, entry.seq) = (entry.seal().unwrap().hash, 11);
        (entry.request, entry.version, entry.payload) = (None, None, None);
        entry.data = placet_ledger::Data::Admin(nothing);
        entry.at = Time::from_micros(entry.at.micros() - 3_600_000_000);
        let sealed = entry.seal().unwrap();
        let hash = HEXLOWER.encode(sealed.hash.as_bytes());
        let hash = if backend == Backend::Sqlite { format!("x'{hash}'") } else { format!("'\\x{hash}'") };
        let add = format!(
            "INSERT INTO ledger (seq, entry, hash) VALUES (11, '{}', {hash}); UPDATE head SET seq = 11, hash = {hash}",
            sealed.text
        );
        assert_eq!(after(&place, &add).await.unwrap().older, [11]);
        assert_eq!(place.verify().await.unwrap().older, [] as [u64; 0]);
    }

    async fn a_missing_entry_is_named(backend: Backend) {
        let place = history(backend).await;
        assert_eq!(first_bad(&place, "DELETE FROM ledger WHERE seq = 10").await, 10);
        assert_eq!(first_bad(&place, "DELETE FROM ledger WHERE seq = 1").await, 1);
        assert_eq!(first_bad(&place, "DELETE FROM ledger WHERE seq = 6").await, 6);
        assert_eq!(first_bad(&place, "DELETE FROM ledger WHERE seq >= 7").await, 7);
    }

    async fn swapped_entries_are_named(backend: Backend) {
        let place = history(backend).await;
        let swap = "UPDATE ledger SET seq = 99 WHERE seq = 8; UPDATE ledger SET seq = 8 WHERE seq = 9; UPDATE ledger SET seq = 9 WHERE seq = 99";
        assert_eq!(first_bad(&place, swap).await, 8);
    }

    async fn a_ledger_that_was_cut_off_differs_from_its_tables(backend: Backend) {
        let place = history(backend).await;
        // With the head set back as well, the chain alone would hold.
        let cut = "DELETE FROM ledger WHERE seq = 10;
                   UPDATE head SET seq = 9, hash = (SELECT hash FROM ledger WHERE seq = 9);
                   DELETE FROM payloads WHERE seq = 10";
        differs(&place, cut).await;
        differs(&place, "UPDATE head SET hash = (SELECT hash FROM ledger WHERE seq = 9)").await;
        differs(&place, "UPDATE head SET seq = 9").await;
    }

    async fn a_changed_payload_is_named_and_an_erased_one_is_counted(backend: Backend) {
        let place = history(backend).await;
        assert_eq!(first_bad(&place, "UPDATE payloads SET body = replace(body, 'report.md', 'secret.md') WHERE seq = 4").await, 4);
        assert_eq!(first_bad(&place, "UPDATE payloads SET body = replace(body, 'done', 'gone') WHERE seq = 7").await, 7);
        let added = first_bad(&place, "INSERT INTO payloads (seq, request, version, body) SELECT 6, request, 3, body FROM payloads WHERE seq = 7").await;
        assert_eq!(added, 6);
        let erased = after(&place, "DELETE FROM payloads WHERE request = 4").await.unwrap();
        assert_eq!((erased.payloads, erased.erased), (3, 3));
    }

    async fn a_changed_row_of_a_request_is_found(backend: Backend) {
        let place = history(backend).await;
        let id = place.value("SELECT id FROM requests WHERE seq = 8").await;
        let says = differs(&place, "UPDATE requests SET state = 'approved' WHERE seq = 8").await;
        assert!(says.contains(id.as_str().unwrap()), "{says}");
        differs(&place, "UPDATE requests SET meta = replace(meta, '\"state\":\"pending\"', '\"state\":\"approved\"') WHERE seq = 8").await;
        differs(&place, "UPDATE requests SET version = 2 WHERE seq = 8").await;
        differs(&place, "DELETE FROM requests WHERE seq = 8").await;
        differs(&place, "UPDATE requests SET seq = 5 WHERE seq = 4").await;
    }

    async fn a_changed_column_that_lists_go_by_is_found(backend: Backend) {
        let place = history(backend).await;
        for (column, value) in [
            ("id", "'req_0698d3r3kvtg0i8s0c1g60o30c'"), ("kind", "'input'"), ("agent", "'other'"), ("session", "'other'"),
            ("tool", "NULL"), ("risk", "'low'"), ("grp", "'g'"), ("created_at", "1"), ("deadline", "deadline + 1"),
            ("deadline", "NULL"), ("source", "'events'"),
        ] {
            let says = differs(&place, &format!("UPDATE requests SET {column} = {value} WHERE seq = 8")).await;
            assert!(says.contains(&format!("`{column}`")), "{column}: {says}");
        }
        // What was decided has no deadline.
        differs(&place, "UPDATE requests SET deadline = 1 WHERE seq = 4").await;
    }

    async fn a_count_below_zero_is_damage_and_does_not_pass_for_none(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        shop.ask(&agent).await;
        shop.place.sql("UPDATE tallies SET pending = -1 WHERE agent = 'bot'").await;
        let refused = shop.give(&agent, shop.new_request(&agent), None).await;
        assert!(matches!(refused, Err(placet_store::StoreError::Damaged(_))), "{refused:?}");
        shop.place.sql("UPDATE tallies SET pending = 1 WHERE agent = 'bot'").await;
        shop.ask(&agent).await;
        shop.finish().await;
    }

    async fn a_changed_table_of_deciders_is_found(backend: Backend) {
        let place = history(backend).await;
        for change in [
            "DELETE FROM decided_by WHERE request = 4",
            "UPDATE decided_by SET name = 'bob' WHERE request = 9",
            "INSERT INTO decided_by (name, request) VALUES ('bob', 4)",
            "INSERT INTO decided_by (name, request) VALUES ('ann', 8)",
        ] {
            let says = differs(&place, change).await;
            assert!(says.contains("decide") || says.contains("decision"), "{change}: {says}");
        }
    }

    async fn changed_policies_and_standing_yeses_are_found(backend: Backend) {
        let place = standing_history(backend).await;
        place.verify().await.unwrap();
        for change in [
            "UPDATE policies SET text = 'version = 1 '",
            "UPDATE policies SET source = 'elsewhere'",
            "UPDATE policies SET who = 'eve'",
            "UPDATE policies SET seq = seq + 1000",
            "DELETE FROM policies",
            "UPDATE grants SET used = 0",
            "UPDATE grants SET data = replace(data, '\"uses\":5', '\"uses\":50')",
            "UPDATE grants SET ended_at = 1",
            "DELETE FROM grants",
        ] {
            differs(&place, change).await;
        }
    }

    async fn changed_keys_people_and_counts_are_found(backend: Backend) {
        let place = history(backend).await;
        differs(&place, "UPDATE tallies SET pending = 0").await;
        differs(&place, "INSERT INTO tallies (agent, pending) VALUES ('other', 3)").await;
        differs(&place, "UPDATE principals SET data = replace(data, 'reviewer', 'admin') WHERE name = 'ann'").await;
        differs(&place, "DELETE FROM principals WHERE name = 'bob'").await;
        differs(&place, "INSERT INTO principals (name, kind, data) VALUES ('eve', 'person', '{\"roles\":[\"reviewer\"],\"teams\":[]}')").await;
    }
}

both! {
    async fn the_database_itself_refuses_to_change_the_ledger(kit) {
        let place = kit.place().clone();
        for change in ["UPDATE ledger SET entry = '' WHERE seq = 1", "DELETE FROM ledger WHERE seq = 1"] {
            assert!(place.try_sql(change).await.unwrap_err().contains("the ledger only grows"), "{change}");
        }
    }
}

both! {
    async fn verifying_beside_a_busy_server_raises_no_false_alarm(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let done = std::sync::atomic::AtomicBool::new(false);
        let writing = async {
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                let request = shop.ask(&agent).await;
                shop.done(&ann(), decide(&request, DecisionWord::Approve)).await;
                shop.done(&agent, claim(request.id, 1)).await;
            }
        };
        let verifying = async {
            for _ in 0..40 {
                shop.store.verify(|_| {}).await.unwrap();
            }
            done.store(true, std::sync::atomic::Ordering::SeqCst);
        };
        tokio::join!(writing, verifying);
        shop.finish().await;
    }
}
