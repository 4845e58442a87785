//! The tail: every committed entry once, in order, from any cursor, whoever committed it.

use placet_core::{Actor, DecisionWord};
use placet_store::{News, Tail};
use placet_testkit::{Backend, block_on, both, soon, unit};

use crate::shop::{Shop, ann, bot, decide, expire};

/// The next entries, as many as asked for. Waits for them.
async fn next(tail: &mut Tail, count: usize) -> Vec<News> {
    let mut news = Vec::with_capacity(count);
    while news.len() < count {
        let one = soon("the next entry", tail.next()).await.unwrap();
        assert_eq!(tail.cursor(), one.seq);
        news.push(one);
    }
    news
}

/// Nothing more was to come: what is committed now comes next.
async fn silent(shop: &Shop, tail: &mut Tail) {
    let (last, request) = (tail.cursor(), shop.ask(&bot("fence")).await);
    let fence = next(tail, 1).await.remove(0);
    assert_eq!(fence.request.map(|request| request.id), Some(request.id), "{} came instead", fence.name);
    assert_eq!(fence.seq, last + 1);
}

fn seqs(news: &[News]) -> Vec<u64> {
    news.iter().map(|news| news.seq).collect()
}

both! {
    async fn a_tail_from_now_hands_out_every_later_entry_once_and_in_order(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        shop.ask(&agent).await;
        let mut tail = shop.store.tail(None).await.unwrap();
        silent(&shop, &mut tail).await;
        let head = shop.store.head().await.unwrap().1;
        let request = shop.ask(&agent).await;
        shop.done(&ann(), decide(&request, DecisionWord::Deny)).await;
        let news = next(&mut tail, 2).await;
        assert_eq!(seqs(&news), [head + 1, head + 2]);
        assert_eq!(news.iter().map(|news| news.name).collect::<Vec<_>>(), ["request.created", "request.decided"]);
        assert_eq!(news[1].request.as_ref().unwrap().id, request.id);
        silent(&shop, &mut tail).await;
        shop.finish().await;
    }

    async fn a_tail_from_a_cursor_catches_up_and_then_follows(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        // More than one page of the past.
        let units = (0..300).map(|_| unit(&agent, shop.new_request(&agent), None)).collect();
        shop.queue_up(units).await;
        let head = shop.store.head().await.unwrap().1;
        let mut tail = shop.store.tail(Some(2)).await.unwrap();
        let past = usize::try_from(head - 2).unwrap();
        let mut news = next(&mut tail, past / 2).await;
        // Committed while the reader is in the middle of the past.
        shop.ask(&agent).await;
        shop.ask(&agent).await;
        news.extend(next(&mut tail, past - past / 2 + 2).await);
        assert_eq!(seqs(&news), (3..=head + 2).collect::<Vec<_>>());
        silent(&shop, &mut tail).await;
        shop.finish().await;
    }

    async fn a_reader_that_lags_behind_the_memory_reads_the_database_and_misses_nothing(backend: Backend) {
        let shop = Shop::with(backend, |options| options.handover = 16).await;
        let agent = bot("bot");
        let mut tail = shop.store.tail(None).await.unwrap();
        let head = tail.cursor();
        // More commits than the hand-over holds: one command each, because each waits for the one before.
        let request = shop.ask(&agent).await;
        for to in ["ann", "bob"].into_iter().cycle().take(40) {
            let reassign = placet_core::Reassign { id: request.id, to: vec![to.to_owned()], reason: None };
            shop.done(&ann(), placet_core::Command::Reassign(reassign)).await;
        }
        let news = next(&mut tail, 41).await;
        assert_eq!(seqs(&news), (head + 1..=head + 41).collect::<Vec<_>>());
        shop.ask(&agent).await;
        assert_eq!(seqs(&next(&mut tail, 1).await), [head + 42]);
        silent(&shop, &mut tail).await;
        shop.finish().await;
    }

    async fn a_cursor_outlives_a_restart(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let mut tail = shop.store.tail(None).await.unwrap();
        shop.ask(&agent).await;
        next(&mut tail, 1).await;
        let cursor = tail.cursor();
        shop.ask(&agent).await;
        drop(tail);
        let shop = shop.reopen().await;
        let mut tail = shop.store.tail(Some(cursor)).await.unwrap();
        assert_eq!(seqs(&next(&mut tail, 1).await), [cursor + 1]);
        shop.ask(&agent).await;
        assert_eq!(seqs(&next(&mut tail, 1).await), [cursor + 2]);
        shop.finish().await;
    }

    async fn a_command_that_changes_nothing_makes_no_entry(backend: Backend) {
        let shop = Shop::open(backend).await;
        let request = shop.ask(&bot("bot")).await;
        let mut tail = shop.store.tail(None).await.unwrap();
        shop.done(&Actor::system(), expire(request.id)).await;
        silent(&shop, &mut tail).await;
        shop.finish().await;
    }
}

#[test]
fn two_nodes_hand_out_the_same_entries_in_the_same_order() {
    block_on(async {
        let shop = Shop::open(Backend::Postgres).await;
        let node = shop.another_node().await;
        let mut tails = [shop.store.tail(None).await.unwrap(), node.store.tail(None).await.unwrap()];
        let head = tails[0].cursor();
        let agent = bot("bot");
        let writing = |shop: &Shop| {
            let (store, units) = (
                shop.store.clone(),
                (0..150).map(|_| unit(&agent, shop.new_request(&agent), None)).collect::<Vec<_>>(),
            );
            async move {
                for unit in units {
                    store.commands(unit).await.unwrap();
                }
            }
        };
        tokio::join!(writing(&shop), writing(&node));
        let fence = shop.ask(&agent).await;
        for tail in &mut tails {
            let news = next(tail, 301).await;
            assert_eq!(seqs(&news), (head + 1..=head + 301).collect::<Vec<_>>());
            assert_eq!(news[300].request.as_ref().unwrap().id, fence.id, "nothing comes twice");
        }
        node.store.close().await;
        shop.finish().await;
    });
}

#[test]
fn a_node_hears_of_another_nodes_commit_without_looking() {
    block_on(async {
        let shop = Shop::open(Backend::Postgres).await;
        let node = shop.another_node().await;
        let mut tail = node.store.tail(None).await.unwrap();
        // The other node does not look by itself for an hour: what comes was heard of. More than one, because the
        // first may be found when the listener connects.
        for _ in 0..5 {
            shop.ask(&bot("bot")).await;
            next(&mut tail, 1).await;
        }
        node.store.close().await;
        shop.finish().await;
    });
}
