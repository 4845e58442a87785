//! Feeds: a stream that is resumed anywhere sees every entry once, in order.

use std::time::Duration;

use placet_core::{Actor, Command, Reassign, RequestId};
use placet_gate::{Feed, Until};
use placet_testkit::{Backend, Kit, block_on, both, soon};

use crate::{outcome, parked};

async fn next(feed: &mut Feed, count: u64) -> Vec<u64> {
    let mut seqs = Vec::new();
    for _ in 0..count {
        let news = soon("the next entry", feed.next()).await.unwrap();
        assert_eq!(news.seq, feed.cursor());
        seqs.push(news.seq);
    }
    seqs
}

/// Nothing more was to come: what is committed now comes next.
async fn silent(kit: &Kit, agent: &Actor, feeds: impl IntoIterator<Item = &mut Feed>) {
    let fence = kit.ask(agent).await;
    for feed in feeds {
        let last = feed.cursor();
        let news = soon("the next entry", feed.next()).await.unwrap();
        assert_eq!(news.request.map(|request| request.id), Some(fence.id), "{} came instead", news.name);
        assert_eq!(news.seq, last + 1);
    }
}

/// This many entries about one request, in few transactions.
async fn entries(kit: &Kit, reviewer: &Actor, id: RequestId, count: usize) {
    for chunk in (0..count).collect::<Vec<_>>().chunks(250) {
        let reassign =
            || (Command::Reassign(Reassign { id, to: vec![reviewer.name.clone()], reason: None }), None);
        let commands = chunk.iter().map(|_| reassign()).collect();
        let unit = placet_store::CommandUnit { actor: reviewer.clone(), commands, atomic: false };
        assert!(kit.store().commands(unit).await.unwrap().iter().all(|outcome| outcome.answer.is_ok()));
    }
}

both! {
    async fn a_feed_from_now_and_one_from_before_meet(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.ask(&bot).await;
        let head = kit.store().head().await.unwrap().1;
        let (mut now, mut all) = (kit.gate().feed(None).await.unwrap(), kit.gate().feed(Some(0)).await.unwrap());
        assert_eq!(next(&mut all, head).await, (1..=head).collect::<Vec<_>>());
        kit.deny(&ann, &request).await.unwrap();
        for feed in [&mut now, &mut all] {
            assert_eq!(next(feed, 1).await, [head + 1]);
        }
        silent(kit, &bot, [&mut now, &mut all]).await;
    }

    async fn a_feed_is_resumed_without_a_gap_or_a_repetition(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.ask(&bot).await;
        let mut feed = kit.gate().feed(Some(0)).await.unwrap();
        let mut seen = next(&mut feed, 2).await;
        // Cut off, and resumed on a server that was restarted, more than a page later.
        let cursor = feed.cursor();
        drop(feed);
        entries(kit, &ann, request.id, 300).await;
        kit.restart().await;
        let mut feed = kit.gate().feed(Some(cursor)).await.unwrap();
        seen.extend(next(&mut feed, 100).await);
        entries(kit, &ann, request.id, 10).await;
        let head = kit.store().head().await.unwrap().1;
        let rest = head - feed.cursor();
        seen.extend(next(&mut feed, rest).await);
        assert_eq!(seen, (1..=head).collect::<Vec<_>>());
        silent(kit, &bot, [&mut feed]).await;
    }

    async fn a_stream_too_slow_for_the_memory_misses_nothing(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let (request, last) = (kit.ask(&bot).await, kit.ask(&bot).await);
        let mut feed = kit.gate().feed(None).await.unwrap();
        let start = feed.cursor();
        entries(kit, &ann, request.id, 1).await;
        assert_eq!(next(&mut feed, 1).await, [start + 1]);
        // More entries than a stream may lag behind.
        entries(kit, &ann, request.id, 4200).await;
        // Entries are passed on in order: when a waiter learns of the last entry, the stream has missed the others.
        let waiting = parked(kit.gate(), &bot, last.id, Until::Decided, Duration::from_mins(1)).await;
        kit.deny(&ann, &last).await.unwrap();
        assert!(outcome(kit.gate(), &bot, waiting).await.unwrap().met);
        let seen = next(&mut feed, 4201).await;
        assert_eq!(seen, (start + 2..=start + 4202).collect::<Vec<_>>());
        entries(kit, &ann, request.id, 1).await;
        assert_eq!(next(&mut feed, 1).await, [start + 4203]);
        silent(kit, &bot, [&mut feed]).await;
    }

    async fn a_feed_of_the_doors_has_what_concerns_them_and_nothing_else(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let (plain, last) = (kit.ask(&bot).await, kit.ask(&bot).await);
        let mut feed = kit.gate().door_feed().await.unwrap();
        entries(kit, &ann, plain.id, 1).await;
        let other = kit.agent("other").await;
        let news = soon("the key", feed.next()).await.unwrap();
        assert_eq!((news.name, news.request.is_none()), ("key.created", true));
        // From here on it follows the hub, not the database.
        entries(kit, &ann, plain.id, 1).await;
        let asked = kit.ask_from("a2a", &other).await;
        let news = soon("a request of a door", feed.next()).await.unwrap();
        assert_eq!((news.name, news.request.as_ref().map(|request| request.id)), ("request.created", Some(asked.id)));
        // Too slow for the buffer: entries from the database are filtered in the same way.
        entries(kit, &ann, asked.id, 4200).await;
        entries(kit, &ann, plain.id, 300).await;
        kit.agent("third").await;
        // Entries are passed on in order, as above.
        let waiting = parked(kit.gate(), &bot, last.id, Until::Decided, Duration::from_mins(1)).await;
        kit.deny(&ann, &last).await.unwrap();
        assert!(outcome(kit.gate(), &bot, waiting).await.unwrap().met);
        for count in 0..4200 {
            let news = soon("the next entry", feed.next()).await.unwrap();
            assert_eq!(news.request.as_ref().map(|request| request.id), Some(asked.id), "{count}");
        }
        assert_eq!(soon("the key", feed.next()).await.unwrap().name, "key.created");
    }

    async fn a_feed_tells_of_keys_and_requests_and_knows_who_may_see_them(kit) {
        let mut feed = kit.gate().feed(None).await.unwrap();
        let (bot, other) = (kit.agent("bot").await, kit.agent("other").await);
        let request = kit.ask(&bot).await;
        let mut names = Vec::new();
        for _ in 0..3 {
            names.push(soon("the next entry", feed.next()).await.unwrap());
        }
        assert_eq!(names.iter().map(|news| news.name).collect::<Vec<_>>(), ["key.created", "key.created", "request.created"]);
        assert!(names[0].admin.is_some() && names[0].request.is_none());
        let told = names[2].request.as_ref().unwrap();
        assert_eq!(told.id, request.id);
        for (actor, sees) in [(&bot, true), (&other, false), (kit.admin(), false)] {
            assert_eq!(placet_gate::Gate::may_see(actor, told), sees);
        }
    }
}

#[test]
fn feeds_of_two_nodes_are_the_same() {
    block_on(async {
        let kit = Kit::start(Backend::Postgres).await;
        let node = kit.another_node().await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let mut feeds = [kit.gate().feed(Some(0)).await.unwrap(), node.gate().feed(Some(0)).await.unwrap()];
        for here in [&kit, &node, &kit, &node] {
            let request = here.ask(&bot).await;
            here.deny(&ann, &request).await.unwrap();
        }
        let head = kit.store().head().await.unwrap().1;
        for feed in &mut feeds {
            assert_eq!(next(feed, head).await, (1..=head).collect::<Vec<_>>());
        }
        silent(&kit, &bot, &mut feeds).await;
        node.finish().await;
        kit.finish().await;
    });
}
