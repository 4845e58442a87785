//! Notes of doors: changed all or none by whoever read them last, in pages, bounded, and gone when their time is over.

use std::{sync::Arc, time::Duration};

use placet_store::{
    Clock as _, NewNote, Note, NoteChange, NoteExpected, NoteFilter, NotePage, NotesOutcome, Store, backup,
    restore,
};
use placet_testkit::{Backend, Place, block_on, both};

use crate::shop::Shop;

fn note(shop: &Shop, key: &str, owner: &str) -> NewNote {
    NewNote {
        kind: "door.task",
        key: key.to_owned(),
        owner: owner.to_owned(),
        scope: format!("scope of {owner}"),
        open: true,
        keep_until: shop.clock.now().plus(Duration::from_hours(1)),
        body: format!("{{\"of\":\"{key}\",\"zero\":\"\\u0000\"}}").into(),
    }
}

fn put(note: NewNote, expected: NoteExpected) -> NoteChange {
    NoteChange::Put { note, expected }
}

fn delete(key: &str, version: u64) -> NoteChange {
    NoteChange::Delete { kind: "door.task", key: key.to_owned(), version }
}

async fn change(store: &Store, changes: Vec<NoteChange>, most: u64) -> NotesOutcome {
    store.change_notes(changes, most).await.unwrap()
}

/// Stores new notes.
async fn new(shop: &Shop, notes: Vec<NewNote>) {
    let count = notes.len();
    let changes = notes.into_iter().map(|note| put(note, NoteExpected::Absent)).collect();
    assert_eq!(change(&shop.store, changes, 10_000).await, NotesOutcome::Changed(vec![1; count]));
}

async fn read(shop: &Shop, key: &str) -> Option<Note> {
    shop.store.note("door.task", key).await.unwrap()
}

fn conflict(key: &str) -> NotesOutcome {
    NotesOutcome::Conflict { kind: "door.task".to_owned(), key: key.to_owned() }
}

fn all() -> NoteFilter {
    NoteFilter::of("door.task")
}

/// Every key that a filter shows, read in pages of a size.
async fn keys(shop: &Shop, filter: NoteFilter, size: u32) -> Vec<String> {
    let (mut keys, mut after) = (Vec::new(), None);
    loop {
        let NotePage { notes, next } = shop.store.notes(&filter, after.as_ref(), size).await.unwrap();
        assert!(notes.len() <= size as usize);
        keys.extend(notes.into_iter().map(|note| note.key));
        match next {
            // As it goes over the wire and comes back.
            Some(place) => after = placet_store::NotePlace::parse(&place.to_string(), &filter),
            None => return keys,
        }
    }
}

both! {
    async fn a_note_is_stored_whole_and_its_version_counts_its_changes(backend: Backend) {
        let shop = Shop::open(backend).await;
        let first = note(&shop, "ünï/códe", "ann");
        new(&shop, vec![first.clone()]).await;
        let shop = shop.reopen().await;
        let there = read(&shop, "ünï/códe").await.unwrap();
        let expected = Note {
            kind: "door.task".to_owned(), key: first.key.clone(), owner: first.owner.clone(), scope: first.scope.clone(),
            open: true, version: 1, at: shop.clock.now(), keep_until: first.keep_until, body: first.body.clone(),
        };
        assert_eq!(there, expected);
        shop.clock.advance(Duration::from_secs(5));
        let second = NewNote { owner: "bob".to_owned(), scope: "s".to_owned(), open: false, body: "[]".into(), ..first };
        let done = change(&shop.store, vec![put(second, NoteExpected::Version(1))], 9).await;
        assert_eq!(done, NotesOutcome::Changed(vec![2]));
        let there = read(&shop, "ünï/códe").await.unwrap();
        assert_eq!((there.version, there.at, &*there.owner, &*there.scope, there.open, &*there.body), (2, shop.clock.now(), "bob", "s", false, "[]"));
        assert_eq!(change(&shop.store, vec![delete("ünï/códe", 2)], 9).await, NotesOutcome::Changed(vec![0]));
        assert_eq!(read(&shop, "ünï/códe").await, None);
        assert_eq!(shop.store.head().await.unwrap().1, shop.ledger().await.len() as u64, "notes are not in the ledger");
        shop.finish().await;
    }

    async fn of_two_writers_that_read_the_same_version_one_wins(backend: Backend) {
        let shop = Shop::open(backend).await;
        new(&shop, vec![note(&shop, "a", "ann")]).await;
        for round in 1..=8_u64 {
            let racers = (0..6).map(|n| {
                let body: Arc<str> = format!("\"{round}/{n}\"").into();
                let changed = NewNote { body, ..note(&shop, "a", "ann") };
                change(&shop.store, vec![put(changed, NoteExpected::Version(round))], 9)
            });
            let done = futures_util::future::join_all(racers).await;
            let won: Vec<usize> = (0..6).filter(|n| done[*n] == NotesOutcome::Changed(vec![round + 1])).collect();
            assert_eq!(won.len(), 1, "{done:?}");
            assert_eq!(done.iter().filter(|done| **done == conflict("a")).count(), 5);
            assert_eq!(*read(&shop, "a").await.unwrap().body, *format!("\"{round}/{}\"", won[0]));
        }
        let done = change(&shop.store, vec![put(note(&shop, "a", "ann"), NoteExpected::Absent)], 9).await;
        assert_eq!(done, conflict("a"));
        assert_eq!(change(&shop.store, vec![delete("a", 1)], 9).await, conflict("a"));
        assert_eq!(change(&shop.store, vec![delete("nothing", 1)], 9).await, conflict("nothing"));
        shop.finish().await;
    }

    async fn changes_happen_together_or_not_at_all(backend: Backend) {
        let shop = Shop::open(backend).await;
        new(&shop, vec![note(&shop, "a", "ann"), note(&shop, "b", "ann")]).await;
        let last_wrong = vec![
            put(note(&shop, "c", "ann"), NoteExpected::Absent),
            put(NewNote { body: "1".into(), ..note(&shop, "a", "ann") }, NoteExpected::Version(1)),
            delete("b", 7),
        ];
        assert_eq!(change(&shop.store, last_wrong, 9).await, conflict("b"));
        assert_eq!(keys(&shop, all(), 9).await, ["a", "b"]);
        assert_eq!(read(&shop, "a").await.unwrap().version, 1);
        let good = vec![
            put(note(&shop, "c", "ann"), NoteExpected::Absent),
            put(NewNote { body: "1".into(), ..note(&shop, "a", "ann") }, NoteExpected::Version(1)),
            delete("b", 1),
        ];
        assert_eq!(change(&shop.store, good, 9).await, NotesOutcome::Changed(vec![1, 2, 0]));
        assert_eq!(keys(&shop, all(), 9).await, ["a", "c"]);
        shop.finish().await;
    }

    async fn pages_show_every_matching_note_once(backend: Backend) {
        let shop = Shop::open(backend).await;
        for n in 0..23 {
            let owner = if n % 3 == 0 { "ann" } else { "bob" };
            let open = n % 2 == 0;
            new(&shop, vec![NewNote { open, ..note(&shop, &format!("key-{n:02}"), owner) }]).await;
            // Several share a time.
            if n % 4 == 0 {
                shop.clock.advance(Duration::from_millis(1));
            }
        }
        new(&shop, vec![NewNote { kind: "door.other", ..note(&shop, "key-00", "ann") }]).await;
        let some = |keep: &dyn Fn(u32) -> bool| (0..23).filter(|n| keep(*n)).map(|n| format!("key-{n:02}")).collect::<Vec<_>>();
        for size in [1, 2, 5, 100] {
            assert_eq!(keys(&shop, all(), size).await, some(&|_| true));
            let open = NoteFilter { open: Some(true), ..all() };
            assert_eq!(keys(&shop, open, size).await, some(&|n| n % 2 == 0));
            let closed = NoteFilter { scope: Some("scope of ann".to_owned()), open: Some(false), ..all() };
            assert_eq!(keys(&shop, closed, size).await, some(&|n| n % 3 == 0 && n % 2 == 1));
            // One owner's: the last changed first, and by key where that was the same moment.
            let anns = NoteFilter { owner: Some("ann".to_owned()), ..all() };
            let newest = ["key-21", "key-18", "key-15", "key-09", "key-12", "key-06", "key-03", "key-00"];
            assert_eq!(keys(&shop, anns.clone(), size).await, newest);
            let none = NoteFilter { scope: Some("scope of bob".to_owned()), ..anns };
            assert!(keys(&shop, none, size).await.is_empty());
        }
        shop.clock.advance(Duration::from_millis(1));
        change(&shop.store, vec![put(note(&shop, "key-03", "ann"), NoteExpected::Version(1))], 99).await;
        let anns = NoteFilter { owner: Some("ann".to_owned()), ..all() };
        assert_eq!(keys(&shop, anns, 3).await[0], "key-03");
        shop.finish().await;
    }

    async fn notes_under_a_name_are_those_of_its_folder_alone_and_are_counted(backend: Backend) {
        let shop = Shop::open(backend).await;
        for key in ["ops", "ops/2", "ops/1/x", "ops/ü", "ops-2/1", "ops0", "ops2/1", "op/s/1"] {
            new(&shop, vec![note(&shop, key, if key == "ops/2" { "bob" } else { "ann" })]).await;
        }
        new(&shop, vec![NewNote { kind: "door.other", ..note(&shop, "ops/9", "ann") }]).await;
        let ops = NoteFilter { under: Some("ops".to_owned()), ..all() };
        let anns = NoteFilter { owner: Some("ann".to_owned()), ..ops.clone() };
        for size in [1, 9] {
            assert_eq!(keys(&shop, ops.clone(), size).await, ["ops/1/x", "ops/2", "ops/ü"]);
            assert_eq!(keys(&shop, anns.clone(), size).await, ["ops/1/x", "ops/ü"]);
        }
        assert_eq!(shop.store.count_notes(&ops).await.unwrap(), 3);
        assert_eq!(shop.store.count_notes(&anns).await.unwrap(), 2);
        assert_eq!(shop.store.count_notes(&all()).await.unwrap(), 8);
        assert_eq!(shop.store.count_notes(&NoteFilter { open: Some(false), ..all() }).await.unwrap(), 0);
        shop.finish().await;
    }

    async fn an_owner_has_a_bounded_number_of_open_notes_of_a_kind(backend: Backend) {
        let shop = Shop::open(backend).await;
        let one = |key: &str, owner: &str| put(note(&shop, key, owner), NoteExpected::Absent);
        assert_eq!(change(&shop.store, vec![one("a", "ann"), one("b", "ann")], 3).await, NotesOutcome::Changed(vec![1, 1]));
        let too_many = NotesOutcome::TooMany { kind: "door.task".to_owned(), owner: "ann".to_owned() };
        assert_eq!(change(&shop.store, vec![one("c", "ann"), one("d", "ann")], 3).await, too_many);
        assert_eq!(keys(&shop, all(), 9).await, ["a", "b"]);
        assert_eq!(change(&shop.store, vec![one("c", "ann")], 3).await, NotesOutcome::Changed(vec![1]));
        assert_eq!(change(&shop.store, vec![one("d", "ann")], 3).await, too_many);
        // Others, other kinds and closed notes do not count.
        let other = NewNote { kind: "door.other", ..note(&shop, "d", "ann") };
        let closed = NewNote { open: false, ..note(&shop, "e", "ann") };
        let fine = vec![one("d", "bob"), put(other, NoteExpected::Absent), put(closed, NoteExpected::Absent)];
        assert_eq!(change(&shop.store, fine, 3).await, NotesOutcome::Changed(vec![1, 1, 1]));
        let close = NewNote { open: false, ..note(&shop, "a", "ann") };
        assert_eq!(change(&shop.store, vec![put(close, NoteExpected::Version(1)), one("f", "ann")], 3).await, NotesOutcome::Changed(vec![2, 1]));
        shop.finish().await;
    }

    async fn notes_go_when_their_time_is_over(backend: Backend) {
        let shop = Shop::open(backend).await;
        let mut notes: Vec<_> = (0..1005).map(|n| note(&shop, &format!("{n:04}"), "ann")).collect();
        notes[3].keep_until = shop.clock.now().plus(Duration::from_hours(3));
        for some in notes.chunks(250) {
            new(&shop, some.to_vec()).await;
        }
        let prune = async || shop.store.prune_notes().await.unwrap();
        assert_eq!(prune().await, 0);
        shop.clock.advance(Duration::from_hours(2));
        // A bounded number at a time.
        assert_eq!([prune().await, prune().await, prune().await], [1000, 4, 0]);
        assert_eq!(keys(&shop, all(), 9).await, ["0003"]);
        shop.finish().await;
    }

    async fn a_restore_drops_notes(backend: Backend) {
        let shop = Shop::open(backend).await;
        new(&shop, vec![note(&shop, "a", "ann")]).await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup.db");
        backup(&shop.place.location(), &file).await.unwrap();
        for to in Backend::ALL {
            let into = Place::new(to).await;
            restore(&file, &into.location(), shop.clock.clone(), |_| {}).await.unwrap();
            let store = Store::open(into.options(shop.clock.clone())).await.unwrap();
            assert_eq!(store.note("door.task", "a").await.unwrap(), None);
            assert_eq!(store.notes(&all(), None, 9).await.unwrap().notes, []);
            store.close().await;
        }
        shop.finish().await;
    }
}

#[test]
fn of_two_nodes_that_read_the_same_version_one_wins() {
    block_on(async {
        let shop = Shop::open(Backend::Postgres).await;
        let node = shop.another_node().await;
        new(&shop, vec![note(&shop, "a", "ann")]).await;
        for version in 1..=10 {
            let both = [&shop, &node].map(|shop| {
                change(&shop.store, vec![put(note(shop, "a", "ann"), NoteExpected::Version(version))], 9)
            });
            let done = futures_util::future::join_all(both).await;
            let won = done.iter().filter(|done| **done == NotesOutcome::Changed(vec![version + 1])).count();
            let lost = done.iter().filter(|done| **done == conflict("a")).count();
            assert_eq!((won, lost), (1, 1), "{done:?}");
        }
        node.store.close().await;
        shop.finish().await;
    });
}
