//! Which words events can be filtered by: a small table beside the events, so that a filter need not read all events.

use std::collections::HashMap;

use super::EventRow;

/// One word to be written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WordRow {
    pub(crate) kind: u8,
    pub(crate) word: String,
    pub(crate) seen: u64,
}

/// How old the mark of a word may get before it is written again. Old events are deleted without looking at words; a word
/// goes when its mark is this much older than the oldest event.
pub(crate) const MARK_EVERY: u64 = 1000;
/// How many words are remembered; beyond that all are forgotten, and written again when they come.
const REMEMBERED: usize = 20_000;

/// What this node's writer knows to be in the table.
#[derive(Debug, Default)]
pub(crate) struct Words {
    known: [HashMap<String, u64>; 3],
}

impl Words {
    /// The words of these events that are not known to be in the table, or were written long ago.
    pub(crate) fn missing(&self, events: &[EventRow]) -> Vec<WordRow> {
        let mut missing: HashMap<(u8, &str), u64> = HashMap::new();
        for event in events {
            let words = [&event.source_app, &event.session_id, &event.hook_event_type];
            for ((kind, known), word) in (0..).zip(&self.known).zip(words) {
                if known.get(word).is_none_or(|mark| mark + MARK_EVERY <= event.id) {
                    missing.insert((kind, word), event.id);
                }
            }
        }
        let row = |((kind, word), seen): ((u8, &str), u64)| WordRow { kind, word: word.to_owned(), seen };
        let mut rows: Vec<WordRow> = missing.into_iter().map(row).collect();
        // Several nodes write them: in one order, so that none waits for another that waits for it.
        rows.sort_unstable_by(|a, b| (a.kind, &a.word).cmp(&(b.kind, &b.word)));
        rows
    }

    /// They are in the table now.
    pub(crate) fn written(&mut self, rows: Vec<WordRow>) {
        for row in rows {
            if let Some(known) = self.known.get_mut(usize::from(row.kind)) {
                if known.len() >= REMEMBERED {
                    known.clear();
                }
                known.insert(row.word, row.seen);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use placet_core::Time;

    use super::*;

    fn event(id: u64, app: &str) -> EventRow {
        EventRow {
            id,
            at: Time::default(),
            agent: "bot".to_owned(),
            request: None,
            source_app: app.to_owned(),
            session_id: "s".to_owned(),
            hook_event_type: "Stop".to_owned(),
            timestamp: 0,
            body: "{}".into(),
        }
    }

    #[test]
    fn a_word_is_written_once_and_again_when_its_mark_is_old() {
        let mut words = Words::default();
        let first = words.missing(&[event(1, "a"), event(2, "a"), event(3, "b")]);
        assert_eq!(first.len(), 4);
        assert_eq!(first[0], WordRow { kind: 0, word: "a".to_owned(), seen: 2 });
        words.written(first);
        assert!(words.missing(&[event(4, "a"), event(1001, "b")]).is_empty());
        assert_eq!(words.missing(&[event(1002, "a")]).len(), 1, "only the oldest mark is old enough");
    }
}
