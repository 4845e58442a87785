//! Notes of doors, as the doors see them.

use std::{sync::Arc, time::Duration};

use placet_core::Refusal;
use placet_gate::{Clock as _, NewNote, NoteChange, NoteConflict, NoteExpected, NoteFilter};
use placet_testkit::{Kit, both};

use crate::refusal;

fn note(kit: &Kit, key: &str) -> NewNote {
    NewNote {
        kind: "door.task",
        key: key.to_owned(),
        owner: "bot".to_owned(),
        scope: "s".to_owned(),
        open: true,
        keep_until: kit.clock().now().plus(Duration::from_mins(1)),
        body: "{}".into(),
    }
}

fn new(note: NewNote) -> Vec<NoteChange> {
    vec![NoteChange::Put { note, expected: NoteExpected::Absent }]
}

both! {
    async fn a_note_that_somebody_else_changed_is_a_conflict_and_no_error(kit) {
        let gate = kit.gate();
        assert_eq!(gate.change_notes(new(note(kit, "a"))).await.unwrap(), Ok(vec![1]));
        let conflict = gate.change_notes(new(note(kit, "a"))).await.unwrap();
        assert_eq!(conflict, Err(NoteConflict { kind: "door.task".to_owned(), key: "a".to_owned() }));
        assert_eq!(gate.note("door.task", "a").await.unwrap().unwrap().version, 1);
        assert!(gate.note("door.task", "b").await.unwrap().is_none());
    }

    async fn pages_of_notes_follow_one_another_by_their_cursors(kit) {
        let gate = kit.gate();
        for key in ["a", "b:c", "d"] {
            gate.change_notes(new(note(kit, key))).await.unwrap().unwrap();
        }
        for owner in [None, Some("bot".to_owned())] {
            let filter = NoteFilter { owner, ..NoteFilter::of("door.task") };
            let first = gate.notes(&filter, None, 2).await.unwrap();
            let rest = gate.notes(&filter, first.next.as_deref(), 2).await.unwrap();
            let keys: Vec<_> = first.notes.iter().chain(&rest.notes).map(|note| note.key.as_str()).collect();
            assert_eq!((keys, rest.next), (vec!["a", "b:c", "d"], None));
        }
        let filter = NoteFilter { owner: Some("bot".to_owned()), ..NoteFilter::of("door.task") };
        for bad in ["nonsense", "x:y", "1:\0"] {
            assert!(matches!(refusal(gate.notes(&filter, Some(bad), 2).await), Refusal::Invalid(_)));
        }
    }

    async fn what_is_too_large_or_cannot_be_stored_is_refused_with_a_sentence(kit) {
        let gate = kit.gate();
        let wrong = [
            NewNote { key: "k".repeat(1025), ..note(kit, "") },
            NewNote { key: "zero\0".to_owned(), ..note(kit, "") },
            NewNote { owner: "o".repeat(1025), ..note(kit, "a") },
            NewNote { scope: "\0".to_owned(), ..note(kit, "a") },
            NewNote { body: Arc::from("x".repeat(1024 * 1024 + 1)), ..note(kit, "a") },
        ];
        for note in wrong {
            assert!(matches!(refusal(gate.change_notes(new(note)).await), Refusal::Invalid(_)));
        }
        let mut twice = new(note(kit, "a"));
        twice.extend(new(note(kit, "a")));
        for changes in [vec![], twice] {
            assert!(matches!(refusal(gate.change_notes(changes).await), Refusal::Invalid(_)));
        }
        let largest = NewNote { body: Arc::from(format!("\"{}\"", "x".repeat(1024 * 1024 - 2))), key: "k".repeat(1024), owner: "o".repeat(1024), scope: "s".repeat(1024), ..note(kit, "") };
        gate.change_notes(new(largest)).await.unwrap().unwrap();
        assert!(gate.note("door.task", "zero\0").await.unwrap().is_none());
    }

    async fn notes_are_pruned_when_their_time_is_over(kit) {
        let gate = kit.gate();
        gate.change_notes(new(note(kit, "a"))).await.unwrap().unwrap();
        assert_eq!(gate.prune_notes().await.unwrap(), 0);
        kit.clock().advance(Duration::from_mins(2));
        assert_eq!(gate.prune_notes().await.unwrap(), 1);
        assert!(gate.note("door.task", "a").await.unwrap().is_none());
    }
}
