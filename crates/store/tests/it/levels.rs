//! Rows of the outbox by level: news raises `wanted`, a delivery sets `told`, and nothing older follows something newer.

use std::{sync::Arc, time::Duration};

use placet_core::{Actor, Command, DecisionWord, Request, door};
use placet_store::{
    AttemptResult, Channels, Clock as _, CommandUnit, Delivery, NewNote, NoteChange, NoteExpected,
    NotesOutcome, Raise, Store, backup, restore,
};
use placet_testkit::{Backend, Place, both};

use crate::shop::{Shop, ann, bot, cancel, decide};

const LEASE: Duration = Duration::from_secs(30);
const CHANNEL: &str = "a2a.push";

async fn lease(shop: &Shop, owner: &str) -> Vec<Delivery> {
    shop.store.lease(owner, Channels::Others(Vec::new()), 100, LEASE).await.unwrap()
}

async fn attempt(shop: &Shop, owner: &str, delivery: &Delivery, result: AttemptResult) {
    shop.store.record_attempt(delivery.clone(), owner, result).await.unwrap();
}

async fn change(shop: &Shop, changes: Vec<NoteChange>) -> NotesOutcome {
    shop.store.change_notes(changes, 100).await.unwrap()
}

async fn prune(shop: &Shop) {
    shop.store.prune(shop.clock.now().plus(Duration::from_hours(1))).await.unwrap();
}

/// The level that a channel is to tell, the one that it told, and the state of the row.
async fn levels(shop: &Shop) -> Vec<(u64, u64, String)> {
    let number = |value: &serde_json::Value| match value.as_str() {
        Some(text) => text.parse().unwrap(),
        None => value.as_u64().unwrap(),
    };
    let rows = shop.place.rows("SELECT wanted, told, state FROM outbox ORDER BY subject").await;
    let row =
        |row: Vec<serde_json::Value>| (number(&row[0]), number(&row[1]), row[2].as_str().unwrap().to_owned());
    rows.into_iter().map(row).collect()
}

fn row(wanted: u64, told: u64, state: &str) -> Vec<(u64, u64, String)> {
    vec![(wanted, told, state.to_owned())]
}

fn failed() -> AttemptResult {
    AttemptResult::Failed("connection refused".to_owned())
}

async fn asked(backend: Backend) -> (Shop, Arc<Request>) {
    let shop = Shop::telling(backend, &["slack"]).await;
    let request = shop.ask(&bot("bot")).await;
    (shop, request)
}

/// Denies the request: its next level.
async fn denied(shop: &Shop, request: &Request) -> u64 {
    shop.done(&ann(), decide(request, DecisionWord::Deny)).await;
    request.seq + 1
}

fn follower(shop: &Shop, key: &str, expected: NoteExpected) -> NoteChange {
    let note = NewNote {
        kind: CHANNEL,
        key: key.to_owned(),
        owner: "bot".to_owned(),
        scope: "task".to_owned(),
        open: false,
        keep_until: shop.clock.now().plus(Duration::from_hours(1_000)),
        body: "{}".into(),
    };
    NoteChange::Put { note, expected }
}

fn raise(wanted: u64) -> NoteChange {
    let body = Some(format!("{{\"level\":{wanted}}}").into());
    NoteChange::Raise(Raise { channel: CHANNEL, scope: "task".to_owned(), wanted, body })
}

both! {
    async fn what_is_raised_during_an_attempt_is_delivered_after_it_and_by_no_second_node_meanwhile(backend: Backend) {
        let (shop, request) = asked(backend).await;
        let first = lease(&shop, "a").await;
        assert_eq!(first[0].wanted, request.seq);
        let newer = denied(&shop, &request).await;
        assert!(lease(&shop, "b").await.is_empty(), "the first node is still sending");
        assert_eq!(levels(&shop).await, row(newer, 0, "waiting"));
        attempt(&shop, "a", &first[0], AttemptResult::Delivered).await;
        assert_eq!(levels(&shop).await, row(newer, request.seq, "waiting"));
        let second = lease(&shop, "b").await;
        assert_eq!(second.iter().map(|delivery| (delivery.wanted, delivery.attempts)).collect::<Vec<_>>(), [(newer, 0)]);
        attempt(&shop, "b", &second[0], AttemptResult::Delivered).await;
        assert_eq!(levels(&shop).await, row(newer, newer, "delivered"));
        assert!(lease(&shop, "a").await.is_empty());
        shop.finish().await;
    }

    async fn the_late_word_of_an_attempt_whose_lease_is_over_lowers_nothing(backend: Backend) {
        let (shop, request) = asked(backend).await;
        let first = lease(&shop, "a").await;
        let newer = denied(&shop, &request).await;
        shop.clock.advance(LEASE);
        let second = lease(&shop, "b").await;
        assert_eq!(second[0].wanted, newer);
        for result in [AttemptResult::Delivered, failed(), AttemptResult::Refused("no".to_owned())] {
            attempt(&shop, "a", &first[0], result).await;
            assert_eq!(levels(&shop).await, row(newer, 0, "waiting"));
        }
        attempt(&shop, "b", &second[0], AttemptResult::Delivered).await;
        attempt(&shop, "a", &first[0], AttemptResult::Delivered).await;
        assert_eq!(levels(&shop).await, row(newer, newer, "delivered"));
        shop.finish().await;
    }

    async fn a_refusal_of_something_older_does_not_end_the_delivery_of_something_newer(backend: Backend) {
        let (shop, request) = asked(backend).await;
        let first = lease(&shop, "a").await;
        let newer = denied(&shop, &request).await;
        attempt(&shop, "a", &first[0], AttemptResult::Refused("it answers 410".to_owned())).await;
        assert_eq!(levels(&shop).await, row(newer, 0, "waiting"));
        let second = lease(&shop, "a").await;
        attempt(&shop, "a", &second[0], AttemptResult::Refused("it answers 410".to_owned())).await;
        assert_eq!(levels(&shop).await, row(newer, 0, "dead"));
        shop.finish().await;
    }

    async fn news_revives_a_delivery_that_was_given_up_and_its_retries_begin_again(backend: Backend) {
        let (shop, request) = asked(backend).await;
        shop.clock.advance(Duration::from_secs(299));
        let first = lease(&shop, "a").await;
        attempt(&shop, "a", &first[0], failed()).await;
        shop.clock.advance(Duration::from_millis(500));
        let newer = denied(&shop, &request).await;
        let again = lease(&shop, "a").await;
        assert_eq!(again.iter().map(|delivery| (delivery.wanted, delivery.attempts)).collect::<Vec<_>>(), [(newer, 0)]);
        attempt(&shop, "a", &again[0], AttemptResult::Refused("no".to_owned())).await;
        assert_eq!(levels(&shop).await, row(newer, 0, "dead"));
        shop.finish().await;
    }

    async fn two_changes_of_one_request_in_one_transaction_are_one_row(backend: Backend) {
        let shop = Shop::telling(backend, &["slack"]).await;
        let agent = bot("bot");
        let request = shop.new_request(&agent);
        let id = request.request();
        let commands = vec![(request, None), (cancel(id), None)];
        let done = shop.store.commands(CommandUnit { actor: agent, commands, atomic: true }).await.unwrap();
        assert!(done.iter().all(|one| one.answer.is_ok()), "{done:?}");
        let made = shop.read(id).await.seq;
        assert_eq!(levels(&shop).await, row(made + 1, 0, "waiting"));
        shop.finish().await;
    }

    async fn what_was_told_outlives_a_restart(backend: Backend) {
        let (shop, request) = asked(backend).await;
        let first = lease(&shop, "a").await;
        let newer = denied(&shop, &request).await;
        attempt(&shop, "a", &first[0], AttemptResult::Delivered).await;
        let shop = shop.reopen().await;
        assert_eq!(levels(&shop).await, row(newer, request.seq, "waiting"));
        assert_eq!(lease(&shop, "b").await[0].wanted, newer);
        shop.finish().await;
    }

    async fn all_who_follow_are_raised_and_never_lowered(backend: Backend) {
        let shop = Shop::open(backend).await;
        let all = vec![follower(&shop, "task/1", NoteExpected::Absent), follower(&shop, "task/2", NoteExpected::Absent), raise(5)];
        assert_eq!(change(&shop, all).await, NotesOutcome::Changed(vec![1, 1, 0]));
        let leased = lease(&shop, "a").await;
        assert_eq!(leased.iter().map(|delivery| delivery.subject.as_str()).collect::<std::collections::BTreeSet<_>>(), ["task/1", "task/2"].into());
        assert!(leased.iter().all(|delivery| delivery.body.as_deref() == Some("{\"level\":5}") && delivery.request().is_none()));
        for delivery in &leased {
            attempt(&shop, "a", delivery, AttemptResult::Delivered).await;
        }
        // Said again, or late: nothing is told twice, nothing older after it.
        for level in [5, 4] {
            change(&shop, vec![raise(level)]).await;
        }
        assert!(lease(&shop, "a").await.is_empty());
        // One more follower hears of what it has not heard of.
        change(&shop, vec![follower(&shop, "task/3", NoteExpected::Absent), raise(5)]).await;
        assert_eq!(lease(&shop, "a").await.iter().map(|delivery| delivery.subject.as_str()).collect::<Vec<_>>(), ["task/3"]);
        shop.finish().await;
    }

    async fn news_is_written_with_the_notes_it_tells_of_or_not_at_all(backend: Backend) {
        let shop = Shop::open(backend).await;
        change(&shop, vec![follower(&shop, "task/1", NoteExpected::Absent)]).await;
        let refused = change(&shop, vec![raise(1), follower(&shop, "task/1", NoteExpected::Version(7))]).await;
        assert!(matches!(refused, NotesOutcome::Conflict { .. }));
        assert_eq!(levels(&shop).await, []);
        shop.finish().await;
    }

    async fn what_a_follower_was_told_is_known_as_long_as_it_follows(backend: Backend) {
        let shop = Shop::open(backend).await;
        change(&shop, vec![follower(&shop, "task/1", NoteExpected::Absent), raise(5)]).await;
        let leased = lease(&shop, "a").await;
        attempt(&shop, "a", &leased[0], AttemptResult::Delivered).await;
        shop.clock.advance(Duration::from_hours(100));
        prune(&shop).await;
        assert_eq!(levels(&shop).await, row(5, 5, "delivered"));
        // Deleted and made again, it is a new one.
        let gone = NoteChange::Delete { kind: CHANNEL, key: "task/1".to_owned(), version: 1 };
        change(&shop, vec![gone]).await;
        assert_eq!(levels(&shop).await, []);
        change(&shop, vec![follower(&shop, "task/1", NoteExpected::Absent), raise(5)]).await;
        assert_eq!(levels(&shop).await, row(5, 0, "waiting"));
        // Of other channels, what is over goes.
        let (other, _) = asked(backend).await;
        let leased = lease(&other, "a").await;
        attempt(&other, "a", &leased[0], AttemptResult::Delivered).await;
        prune(&other).await;
        assert_eq!(levels(&other).await, []);
        other.finish().await;
        shop.finish().await;
    }

    async fn a_change_of_a_task_of_the_desk_raises_its_followers_in_its_own_transaction(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let note = |task: &str| {
            let NoteChange::Put { note, expected } = follower(&shop, task, NoteExpected::Absent) else { unreachable!() };
            NoteChange::Put { note: NewNote { scope: door::desk_task(task), ..note }, expected }
        };
        change(&shop, vec![note("t1"), note("t2")]).await;
        let ask = |source: &str, task: &str| {
            let Command::Submit(mut submit) = shop.new_request(&agent) else { unreachable!() };
            source.clone_into(&mut submit.source);
            submit.terms.group = Some(task.to_owned());
            Command::Submit(submit)
        };
        let request = shop.done(&agent, ask(door::DESK, "t1")).await;
        // A group of the same name at another door is another task.
        shop.done(&agent, ask(door::REST, "t2")).await;
        let leased = lease(&shop, "a").await;
        assert_eq!(leased.iter().map(|delivery| (delivery.subject.as_str(), delivery.wanted)).collect::<Vec<_>>(), [("t1", request.seq)]);
        attempt(&shop, "a", &leased[0], AttemptResult::Delivered).await;
        shop.done(&Actor { name: "bot".to_owned(), ..agent.clone() }, cancel(request.id)).await;
        let last = shop.store.head().await.unwrap().1;
        assert_eq!(levels(&shop).await, row(last, request.seq, "waiting"));
        shop.finish().await;
    }

    async fn a_follower_that_is_pruned_leaves_no_row_behind(backend: Backend) {
        let shop = Shop::open(backend).await;
        change(&shop, vec![follower(&shop, "task/1", NoteExpected::Absent), raise(5)]).await;
        shop.clock.advance(Duration::from_hours(1_001));
        change(&shop, vec![follower(&shop, "task/2", NoteExpected::Absent), raise(4)]).await;
        assert_eq!(shop.store.prune_notes().await.unwrap(), 1);
        assert_eq!(levels(&shop).await, row(4, 0, "waiting"), "the row of the other follower");
        shop.finish().await;
    }

    async fn a_restore_drops_the_rows_of_followers_with_their_notes(backend: Backend) {
        let shop = Shop::open(backend).await;
        change(&shop, vec![follower(&shop, "task/1", NoteExpected::Absent), raise(5)]).await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup.db");
        backup(&shop.place.location(), &file).await.unwrap();
        for to in Backend::ALL {
            let into = Place::new(to).await;
            restore(&file, &into.location(), shop.clock.clone(), |_| {}).await.unwrap();
            Store::open(into.options(shop.clock.clone())).await.unwrap().close().await;
            assert!(into.rows("SELECT subject FROM outbox").await.is_empty());
        }
        shop.finish().await;
    }

    async fn what_is_posted_is_kept_until_it_is_delivered(backend: Backend) {
        let shop = Shop::open(backend).await;
        change(&shop, vec![follower(&shop, "task/1", NoteExpected::Absent), raise(5)]).await;
        let kept = async || shop.place.rows("SELECT 1 FROM outbox WHERE body IS NOT NULL").await.len();
        let first = lease(&shop, "a").await;
        change(&shop, vec![raise(6)]).await;
        attempt(&shop, "a", &first[0], AttemptResult::Delivered).await;
        assert_eq!((levels(&shop).await, kept().await), (row(6, 5, "waiting"), 1));
        let second = lease(&shop, "a").await;
        attempt(&shop, "a", &second[0], AttemptResult::Delivered).await;
        assert_eq!((levels(&shop).await, kept().await), (row(6, 6, "delivered"), 0));
        shop.finish().await;
    }

    async fn the_result_of_an_attempt_for_a_row_that_was_deleted_settles_no_row_that_replaced_it(backend: Backend) {
        let shop = Shop::open(backend).await;
        change(&shop, vec![follower(&shop, "task/1", NoteExpected::Absent), raise(5)]).await;
        let first = lease(&shop, "a").await;
        let gone = NoteChange::Delete { kind: CHANNEL, key: "task/1".to_owned(), version: 1 };
        change(&shop, vec![gone]).await;
        change(&shop, vec![follower(&shop, "task/1", NoteExpected::Absent), raise(1)]).await;
        let second = lease(&shop, "a").await;
        for result in [AttemptResult::Delivered, AttemptResult::Refused("no".to_owned())] {
            attempt(&shop, "a", &first[0], result).await;
            assert_eq!(levels(&shop).await, row(1, 0, "waiting"));
        }
        attempt(&shop, "a", &second[0], AttemptResult::Delivered).await;
        assert_eq!(levels(&shop).await, row(1, 1, "delivered"));
        shop.finish().await;
    }
}
