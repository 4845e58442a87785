//! Reads for people who look back: the entries of one request, figures, and times found without an index.

use std::time::Duration;

use placet_core::{DecisionWord, Risk, State};
use placet_ledger::Entry;
use placet_store::{Clock as _, Filter};
use placet_testkit::{Backend, both, submit};
use serde_json::json;

use crate::shop::{Shop, ann, bot, claim, decide, report};

both! {
    async fn groups_are_counted_once_each_among_the_newest_requests(backend: Backend) {
        let shop = Shop::open(backend).await;
        for (agent, group) in [("bot", "a"), ("bot", "b"), ("other", "c"), ("bot", "b"), ("bot", ""), ("bot", "d")] {
            let agent = bot(agent);
            let mut body = json!({"kind": "confirmation", "session": "s", "message": "may I?"});
            if !group.is_empty() {
                body["group"] = group.into();
            }
            shop.done(&agent, submit(&agent, shop.clock.now(), body)).await;
        }
        let of_bot = Filter { agent: Some("bot".to_owned()), newest: true, ..Filter::default() };
        let count = async |filter: &Filter, newest| shop.store.groups(filter, newest, shop.clock.now()).await.unwrap();
        assert_eq!((count(&of_bot, 100).await, count(&Filter::default(), 100).await), (3, 4));
        // The newest three are of the groups d, none and b.
        assert_eq!((count(&of_bot, 3).await, count(&of_bot, 1).await), (2, 1));
        let none = Filter { source: Some("a2a".to_owned()), ..of_bot };
        assert_eq!(count(&none, 100).await, 0);
        shop.finish().await;
    }

    async fn lists_by_door_and_by_decider_show_those_requests_and_no_others(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let mut made = Vec::new();
        for number in 0..12 {
            let mut command = shop.new_request(&agent);
            if let placet_core::Command::Submit(submit) = &mut command {
                // A word that passes for a door, in a text of the agent's.
                r#""source":"a2a","by":["ann"]"#.clone_into(&mut submit.terms.session);
                ["rest", "events", "a2a"][number % 3].clone_into(&mut submit.source);
            }
            let request = shop.done(&agent, command).await;
            match number % 4 {
                0 => drop(shop.done(&ann(), decide(&request, DecisionWord::Approve)).await),
                1 => drop(shop.done(&crate::shop::person("bob"), decide(&request, DecisionWord::Deny)).await),
                _ => {}
            }
            made.push(request.seq);
        }
        let listed = async |filter: &Filter| {
            let mut seqs = Vec::new();
            let mut filter = filter.clone();
            loop {
                let page = shop.store.list(&filter, 2, shop.clock.now()).await.unwrap();
                seqs.extend(page.items.iter().map(|request| request.seq));
                filter.after = page.next;
                if filter.after.is_none() {
                    return seqs;
                }
            }
        };
        let expected = |keep: fn(usize) -> bool| -> Vec<u64> {
            made.iter().enumerate().rev().filter(|(number, _)| keep(*number)).map(|(_, seq)| *seq).collect()
        };
        let door = |name: &str| Filter { source: Some(name.to_owned()), ..Filter::default() };
        assert_eq!(listed(&door("rest")).await, expected(|number| number % 3 == 0));
        assert_eq!(listed(&door("events")).await, expected(|number| number % 3 == 1));
        assert_eq!(listed(&door("a2a")).await, expected(|number| number % 3 == 2));
        assert!(listed(&door("a")).await.is_empty());
        let by = |name: &str| Filter { by: Some(name.to_owned()), ..Filter::default() };
        assert_eq!(listed(&by("ann")).await, expected(|number| number % 4 == 0));
        assert_eq!(listed(&by("bob")).await, expected(|number| number % 4 == 1));
        assert!(listed(&by("an")).await.is_empty());
        let both = Filter { since: Some(shop.clock.now()), ..Filter { source: Some("events".to_owned()), ..by("ann") } };
        assert_eq!(listed(&both).await, expected(|number| number % 4 == 0 && number % 3 == 1));
        if backend == Backend::Sqlite {
            for (query, index) in [
                ("SELECT seq FROM requests WHERE source = 'a2a' ORDER BY seq DESC LIMIT 9", "requests_source"),
                ("SELECT seq FROM decided_by JOIN requests ON seq = request WHERE name = 'ann' ORDER BY request DESC LIMIT 9", "PRIMARY KEY (name=?)"),
            ] {
                let plan = format!("{:?}", shop.place.rows(&format!("EXPLAIN QUERY PLAN {query}")).await);
                assert!(plan.contains(index) && !plan.contains("SCAN") && !plan.contains("B-TREE"), "{plan}");
            }
        }
        shop.finish().await;
    }

    async fn the_entries_of_a_request_are_those_about_it_and_no_others(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let (one, other) = (shop.ask(&agent).await, shop.ask(&agent).await);
        for request in [&one, &other] {
            shop.done(&ann(), decide(request, DecisionWord::Approve)).await;
        }
        for (number, request) in [&other, &one].into_iter().enumerate() {
            let secret = u8::try_from(number).unwrap() + 1;
            shop.done(&agent, claim(request.id, secret)).await;
            shop.done(&agent, report(request.id, secret)).await;
        }
        for request in [&one, &other] {
            let rows = shop.store.entries_of(request.seq, 100).await.unwrap();
            let entries: Vec<Entry> = rows.iter().map(|row| serde_json::from_str(&row.text).unwrap()).collect();
            let told: Vec<_> = entries.iter().map(|entry| (entry.request, entry.version.unwrap())).collect();
            assert_eq!(told, (1..=4).map(|version| (Some(request.id), version)).collect::<Vec<_>>());
            assert_eq!(shop.store.entries_of(request.seq, 2).await.unwrap().len(), 2);
        }
        if backend == Backend::Sqlite {
            let plan = "EXPLAIN QUERY PLAN SELECT seq FROM ledger WHERE request = 1 AND request <> seq";
            let plan = format!("{:?}", shop.place.rows(plan).await);
            assert!(plan.contains("ledger_later"), "{plan}");
        }
        shop.finish().await;
    }

    async fn figures_are_read_in_pages_from_a_time_on(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let mut made = Vec::new();
        for number in 0..30 {
            let request = shop.ask(&agent).await;
            if number % 2 == 0 {
                shop.done(&ann(), decide(&request, DecisionWord::Deny)).await;
            }
            made.push(request);
            shop.clock.advance(Duration::from_hours(12));
        }
        let store = &shop.store;
        // Found by halving: the first one a day before the time asked for.
        let from = store.figures_from(made[20].created_at).await.unwrap();
        assert!(from > made[17].seq && from <= made[18].seq, "{from}");
        assert_eq!(store.figures_from(made[0].created_at).await.unwrap(), 0);
        let head = store.head().await.unwrap().1;
        assert_eq!(store.figures_from(shop.clock.now().plus(Duration::from_hours(48))).await.unwrap(), head + 1);
        let mut before = head + 1;
        let mut seen = Vec::new();
        loop {
            let page = store.figures(from, before, 5).await.unwrap();
            let Some(last) = page.last() else { break };
            before = last.seq;
            seen.extend(page);
        }
        let expected: Vec<u64> = made[18..].iter().rev().map(|request| request.seq).collect();
        assert_eq!(seen.iter().map(|figure| figure.seq).collect::<Vec<_>>(), expected);
        let denied = seen.iter().find(|figure| figure.seq == made[20].seq).unwrap();
        let decision = denied.request.decision.as_ref().unwrap();
        assert_eq!((denied.request.state, decision.word, decision.by.as_slice()), (State::Denied, DecisionWord::Deny, &["ann".to_owned()][..]));
        assert_eq!((decision.at, denied.changed_at, denied.request.created_at), (made[20].created_at, made[20].created_at, made[20].created_at));
        // All that is not decided is long past its deadline: nothing waits.
        assert!(store.waiting(shop.clock.now()).await.unwrap().is_empty());
        let fresh = [shop.ask(&agent).await, shop.ask(&agent).await];
        let waiting = store.waiting(shop.clock.now()).await.unwrap();
        assert_eq!((waiting.len(), waiting[0].count, waiting[0].oldest), (1, 2, fresh[0].created_at));
        assert!(Risk::ALL.contains(&waiting[0].risk));
        shop.finish().await;
    }

    async fn a_clock_that_was_a_little_off_hides_nothing_from_a_list_by_time(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        // Another server's clock is behind: made later, dated earlier.
        let mut made = Vec::new();
        for number in 0..20_u64 {
            let mut command = shop.new_request(&agent);
            if let placet_core::Command::Submit(submit) = &mut command {
                submit.created_at = shop.clock.now().plus(Duration::from_mins(if number % 2 == 0 { 0 } else { 30 }));
            }
            made.push(shop.done(&agent, command).await);
            shop.clock.advance(Duration::from_mins(7));
        }
        for pivot in &made {
            let filter = Filter { since: Some(pivot.created_at), ..Filter::default() };
            let listed = shop.store.list(&filter, 100, shop.clock.now()).await.unwrap();
            let expected = made.iter().filter(|request| request.created_at >= pivot.created_at).count();
            assert_eq!(listed.items.len(), expected);
            let filter = Filter { until: Some(pivot.created_at), ..Filter::default() };
            let listed = shop.store.list(&filter, 100, shop.clock.now()).await.unwrap();
            assert_eq!(listed.items.len(), made.len() - expected);
        }
        shop.finish().await;
    }
}
