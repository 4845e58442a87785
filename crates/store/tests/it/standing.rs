//! Policies, standing yeses and trust: kept, counted in the transaction, and found again by whoever rebuilds them.

use std::{sync::Arc, time::Duration};

use placet_core::{
    Actor, AdminCommand, AdminRefusal, Command, Decide, DecisionWord, ExpectedPolicy, GrantId, GrantKey,
    NewGrant, Refusal, Request, Revoke, Role, Scope, State, Submit, TrustOffer, TrustTerms,
};
use placet_ledger::hash;
use placet_store::{AdminOutcome, Clock as _, CommandUnit, Store, backup, restore, trust_key, verify_file};
use placet_testkit::{Backend, OUTBOX_OF_0_2, Place, both, unit};

use crate::shop::{Shop, ann, bot, decide, person};

fn named(text: &str) -> String {
    hash("placet/policy/v1", &[text.as_bytes()]).to_string()
}

fn put(text: &str, expected: ExpectedPolicy) -> AdminCommand {
    AdminCommand::PutPolicy { hash: named(text), text: text.into(), source: "test".to_owned(), expected }
}

async fn said(shop: &Shop, actor: Actor, command: AdminCommand) -> Result<(), AdminRefusal> {
    match shop.store.admin(actor, command, None).await.unwrap() {
        AdminOutcome::Applied => Ok(()),
        AdminOutcome::Refused(refusal) => Err(refusal),
        AdminOutcome::Replayed(_) => panic!("a command without a key was replayed"),
    }
}

/// A new request under this policy, changed before it is given to the store.
fn asked(shop: &Shop, agent: &Actor, policy: &str, change: impl FnOnce(&mut Submit)) -> Command {
    let Command::Submit(mut submit) = shop.new_request(agent) else { unreachable!() };
    policy.clone_into(&mut submit.verdict.policy);
    change(&mut submit);
    Command::Submit(submit)
}

fn grant_id(n: u8) -> GrantId {
    GrantId::new(1, [n; 10])
}

/// A yes that is to stand for the same call, so many times.
fn remembering(request: &Request, n: u8, uses: u32) -> Command {
    let Command::Decide(plain) = decide(request, DecisionWord::Approve) else { unreachable!() };
    let (id, expires_in) = (grant_id(n), Duration::from_mins(10));
    let new = NewGrant {
        id,
        scope: Scope::Exact { bound: true },
        uses,
        expires_in,
        key: Some(GrantKey::Same([n; 32])),
    };
    Command::Decide(Box::new(Decide { remember: Some(Box::new(new)), ..*plain }))
}

/// A shop with a policy in force, under which `ann` said yes to `bot` in advance.
pub(crate) async fn granted(backend: Backend, uses: u32) -> (Shop, String) {
    let shop = Shop::open(backend).await;
    shop.admin(put("version = 1", ExpectedPolicy::BuiltIn)).await;
    let policy = named("version = 1");
    let request = shop.done(&bot("bot"), asked(&shop, &bot("bot"), &policy, |_| {})).await;
    shop.done(&ann(), remembering(&request, 1, uses)).await;
    (shop, policy)
}

pub(crate) fn with_grant(shop: &Shop, policy: &str) -> Command {
    asked(shop, &bot("bot"), policy, |submit| submit.grants = vec![grant_id(1)])
}

async fn used(shop: &Shop) -> u32 {
    shop.store.grants().await.unwrap().first().map_or(0, |row| row.used)
}

both! {
    async fn every_policy_that_was_put_is_kept_and_the_last_one_is_in_force(backend: Backend) {
        let shop = Shop::open(backend).await;
        assert_eq!(shop.store.directory().policy, None);
        for text in ["one", "two", "one"] {
            shop.admin(put(text, ExpectedPolicy::Anything)).await;
        }
        let shop = shop.reopen().await;
        assert_eq!(shop.store.directory().policy, Some(named("one")));
        let versions = shop.store.policies(10).await.unwrap();
        let hashes: Vec<&str> = versions.iter().map(|version| version.hash.as_str()).collect();
        assert_eq!(hashes, [named("one"), named("two"), named("one")]);
        assert_eq!((versions[0].source.as_str(), versions[0].by.as_str()), ("test", "placet"));
        assert_eq!(shop.store.policy_text(&named("two")).await.unwrap().as_deref(), Some("two"));
        assert_eq!(shop.store.policy_text(&named("none")).await.unwrap(), None);
        shop.finish().await;
    }

    async fn of_two_who_put_a_policy_made_from_the_same_one_only_the_first_is_heard(backend: Backend) {
        let shop = Shop::open(backend).await;
        shop.admin(put("base", ExpectedPolicy::BuiltIn)).await;
        let putting = |text| said(&shop, Actor::system(), put(text, ExpectedPolicy::Hash(named("base"))));
        let (left, right) = tokio::join!(putting("left"), putting("right"));
        let answers = [left, right];
        let active = shop.store.directory().policy.clone();
        assert_eq!(answers.iter().filter(|said| said.is_ok()).count(), 1);
        assert!(answers.contains(&Err(AdminRefusal::StalePolicy { active: active.clone() })), "{answers:?}");
        assert!(active == Some(named("left")) || active == Some(named("right")));
        shop.finish().await;
    }

    async fn a_verdict_of_another_policy_is_refused_in_the_transaction(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let old = asked(&shop, &agent, &named("old"), |_| {});
        shop.admin(put("new", ExpectedPolicy::Anything)).await;
        let outcome = shop.give(&agent, old, None).await.unwrap();
        assert_eq!((outcome.answer, outcome.request), (Err(Refusal::PolicyChanged), None));
        shop.done(&agent, asked(&shop, &agent, &named("new"), |_| {})).await;
        shop.finish().await;
    }

    async fn a_yes_in_advance_is_given_with_the_vote_and_used_as_often_as_it_says(backend: Backend) {
        let (shop, policy) = granted(backend, 2).await;
        let agent = bot("bot");
        for n in 1..=2 {
            let request = shop.done(&agent, with_grant(&shop, &policy)).await;
            assert_eq!((request.state, request.grant), (State::Approved, Some(grant_id(1))));
            assert_eq!(request.verdict.rule, format!("grant:{}", grant_id(1)));
            assert_eq!(used(&shop).await, n);
        }
        let held = shop.done(&agent, with_grant(&shop, &policy)).await;
        assert_eq!((held.state, held.grant), (State::Pending, None));
        let shop = shop.reopen().await;
        assert_eq!(used(&shop).await, 2);
        assert_eq!(shop.store.directory().grant_keys[&grant_id(1)], GrantKey::Same([1; 32]));
        assert_eq!(shop.done(&agent, with_grant(&shop, &policy)).await.state, State::Pending);
        shop.finish().await;
    }

    async fn sixty_four_at_once_never_use_a_yes_more_often_than_it_says(backend: Backend) {
        let (shop, policy) = granted(backend, 10).await;
        let agent = bot("bot");
        let units: Vec<_> = (0..64).map(|_| shop.store.commands(unit(&agent, with_grant(&shop, &policy), None))).collect();
        let mut approved = 0;
        for done in futures_util::future::join_all(units).await {
            let outcome = done.unwrap().pop().unwrap();
            approved += u32::from(outcome.request.unwrap().state == State::Approved);
        }
        assert_eq!((approved, used(&shop).await), (10, 10));
        shop.finish().await;
    }

    async fn a_yes_in_advance_ends_when_it_is_taken_back_or_another_policy_comes(backend: Backend) {
        let (shop, policy) = granted(backend, 5).await;
        let agent = bot("bot");
        let revoke = || AdminCommand::RevokeGrant { id: grant_id(1) };
        // Somebody else's is not there for a reviewer, and an agent has none.
        assert_eq!(said(&shop, person("bob"), revoke()).await, Err(AdminRefusal::NoGrant));
        assert_eq!(said(&shop, agent.clone(), revoke()).await, Err(AdminRefusal::NoGrant));
        assert_eq!(said(&shop, ann(), revoke()).await, Ok(()));
        assert_eq!(shop.done(&agent, with_grant(&shop, &policy)).await.state, State::Pending);
        let request = shop.done(&agent, asked(&shop, &agent, &policy, |_| {})).await;
        shop.done(&ann(), remembering(&request, 2, 5)).await;
        shop.admin(put("another", ExpectedPolicy::Anything)).await;
        shop.admin(put("version = 1", ExpectedPolicy::Anything)).await;
        let again = asked(&shop, &agent, &policy, |submit| submit.grants = vec![grant_id(2)]);
        assert_eq!(shop.done(&agent, again).await.state, State::Pending, "void is void, also when the old policy is back");
        assert!(shop.store.grants().await.unwrap().is_empty());
        shop.finish().await;
    }

    async fn an_atomic_batch_that_is_refused_leaves_no_yes_behind(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let (one, two) = (shop.ask(&agent).await, shop.ask(&agent).await);
        shop.done(&ann(), decide(&two, DecisionWord::Deny)).await;
        let commands = vec![(remembering(&one, 1, 5), None), (decide(&two, DecisionWord::Approve), None)];
        let done = shop.store.commands(CommandUnit { actor: ann(), commands, atomic: true }).await.unwrap();
        let answers: Vec<_> = done.into_iter().map(|outcome| outcome.answer).collect();
        assert_eq!(answers, [Err(Refusal::NotApplied), Err(Refusal::AlreadyDecided)]);
        assert_eq!(shop.read(one.id).await.state, State::Pending);
        assert!(shop.store.grants().await.unwrap().is_empty() && shop.store.directory().grants.is_empty());
        shop.finish().await;
    }
}

/// A request that may claim trust after two approvals.
fn trusting(shop: &Shop, agent: &Actor) -> Command {
    asked(shop, agent, "p", |submit| {
        let terms =
            TrustTerms { rule: "r".to_owned(), after: 2, template: None, cosmetic: Vec::new(), bound: true };
        let (tool, arguments) =
            (submit.content.body.tool().unwrap(), submit.content.body.arguments().unwrap());
        let key = trust_key(&shop.store.secret(), "p", &terms, &agent.name, tool, arguments, None).unwrap();
        submit.trust = Some(TrustOffer { terms, key, usable: true });
    })
}

async fn trusted(shop: &Shop, agent: &Actor) -> Arc<Request> {
    shop.done(agent, trusting(shop, agent)).await
}

async fn approve(shop: &Shop, request: &Request) {
    shop.done(&ann(), decide(request, DecisionWord::Approve)).await;
}

both! {
    async fn what_people_approved_often_enough_is_trusted_until_somebody_says_no(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        for _ in 0..2 {
            let request = trusted(&shop, &agent).await;
            assert_eq!(request.state, State::Pending);
            approve(&shop, &request).await;
        }
        let shop = shop.reopen().await;
        let request = trusted(&shop, &agent).await;
        assert_eq!((request.state, request.verdict.rule.as_str()), (State::Approved, "test"));
        assert_eq!(trusted(&shop, &bot("other")).await.state, State::Pending, "another agent earns its own");
        // Taken back before it ran: that is a no.
        shop.done(&ann(), Command::Revoke(Revoke { id: request.id, reason: None })).await;
        let request = trusted(&shop, &agent).await;
        assert_eq!(request.state, State::Pending);
        approve(&shop, &request).await;
        let request = trusted(&shop, &agent).await;
        shop.done(&ann(), decide(&request, DecisionWord::Deny)).await;
        for _ in 0..2 {
            let request = trusted(&shop, &agent).await;
            assert_eq!(request.state, State::Pending, "counted from nothing again");
            approve(&shop, &request).await;
        }
        assert_eq!(trusted(&shop, &agent).await.state, State::Approved);
        shop.finish().await;
    }

    async fn trust_that_nobody_renewed_for_thirty_days_is_gone(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        let day = Duration::from_hours(24);
        for _ in 0..2 {
            let request = trusted(&shop, &agent).await;
            approve(&shop, &request).await;
        }
        shop.clock.advance(29 * day);
        assert_eq!(trusted(&shop, &agent).await.state, State::Approved);
        // A use is no approval: the time since the last one counts.
        shop.clock.advance(day);
        let request = trusted(&shop, &agent).await;
        assert_eq!(request.state, State::Pending);
        approve(&shop, &request).await;
        assert_eq!(trusted(&shop, &agent).await.state, State::Pending, "one is one, not three");
        shop.clock.advance(60 * day);
        let before = placet_core::Time::from_micros(shop.clock.now().micros());
        shop.store.prune(before).await.unwrap();
        assert_eq!(shop.place.value("SELECT count(*) FROM trust").await, "0");
        shop.finish().await;
    }

    async fn a_no_in_the_same_batch_is_seen_by_whoever_comes_after_it(backend: Backend) {
        let shop = Shop::open(backend).await;
        let agent = bot("bot");
        for _ in 0..2 {
            let request = trusted(&shop, &agent).await;
            approve(&shop, &request).await;
        }
        let pending = shop.done(&agent, asked(&shop, &agent, "p", |submit| {
            let Command::Submit(other) = trusting(&shop, &agent) else { unreachable!() };
            submit.trust = other.trust;
            // More than one person is needed, so that it waits although it is trusted.
            submit.trust.as_mut().unwrap().terms.after = 100;
        })).await;
        let submits = || unit(&agent, trusting(&shop, &agent), None);
        let deny = unit(&ann(), decide(&pending, DecisionWord::Deny), None);
        // The first unit is in the writer's hands; the no goes before the new requests that queued with it.
        let done = shop.queue_up(vec![submits(), submits(), deny, submits()]).await;
        let states: Vec<_> = done.into_iter().map(|done| done.unwrap().pop().unwrap().request.unwrap().state).collect();
        assert_eq!(states, [State::Approved, State::Pending, State::Denied, State::Pending]);
        shop.finish().await;
    }

    async fn keyed_digests_are_not_in_the_ledger(backend: Backend) {
        let (shop, _) = granted(backend, 2).await;
        let request = trusted_under(&shop).await;
        approve(&shop, &request).await;
        let keys = shop.place.rows(match backend {
            Backend::Sqlite => "SELECT lower(hex(digest)) FROM trust UNION SELECT lower(hex(digest)) FROM grants",
            Backend::Postgres => "SELECT encode(digest, 'hex') FROM trust UNION SELECT encode(digest, 'hex') FROM grants",
        }).await;
        assert_eq!(keys.len(), 2);
        for row in shop.ledger().await {
            for key in &keys {
                assert!(!row.text.contains(key[0].as_str().unwrap()), "{}", row.text);
            }
            assert!(!row.text.contains("report.md"), "arguments are not in the ledger: {}", row.text);
        }
        shop.finish().await;
    }
}

async fn trusted_under(shop: &Shop) -> Arc<Request> {
    let agent = bot("bot");
    let Command::Submit(mut submit) = trusting(shop, &agent) else { unreachable!() };
    submit.verdict.policy = named("version = 1");
    shop.done(&agent, Command::Submit(submit)).await
}

/// What was said in advance and what was learned stay behind; the policy comes along.
async fn there_and_back(from: Backend, to: Backend) {
    let (shop, policy) = granted(from, 9).await;
    shop.done(&bot("bot"), with_grant(&shop, &policy)).await;
    let request = trusted_under(&shop).await;
    approve(&shop, &request).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    backup(&shop.place.location(), &file).await.unwrap();
    let place = Arc::new(Place::new(to).await);
    restore(&file, &place.location(), shop.clock.clone(), |_| {}).await.unwrap();
    place.verify().await.unwrap();
    let clock = shop.clock.clone();
    let store = Arc::new(Store::open(place.options(clock.clone())).await.unwrap());
    let restored = Shop { place, clock, store };
    assert_eq!(restored.store.directory().policy.as_ref(), Some(&policy));
    assert_eq!(restored.store.policy_text(&policy).await.unwrap().as_deref(), Some("version = 1"));
    assert!(restored.store.directory().grants.is_empty());
    assert!(restored.store.grants().await.unwrap().is_empty());
    assert_eq!(restored.place.value("SELECT count(*) FROM trust").await, "0");
    let held = restored.done(&bot("bot"), with_grant(&restored, &policy)).await;
    assert_eq!(held.state, State::Pending);
    restored.finish().await;
    shop.finish().await;
}

#[test]
fn a_restore_ends_every_yes_in_advance_and_all_trust() {
    placet_testkit::block_on(async {
        there_and_back(Backend::Sqlite, Backend::Postgres).await;
        there_and_back(Backend::Postgres, Backend::Sqlite).await;
    });
}

/// What takes a database back to the format before policies.
const EARLIER: &str = "DROP INDEX requests_source; ALTER TABLE requests DROP COLUMN source; DROP TABLE decided_by; ALTER TABLE head DROP COLUMN at; ALTER TABLE keys DROP COLUMN owner; DROP TABLE voided; DROP TABLE freezes; DROP TABLE notes; DROP TABLE events; DROP TABLE event_words; DROP TABLE documents; DROP TABLE sessions; DROP TABLE links; DROP TABLE passwords; DROP TABLE policies; DROP TABLE grants; DROP TABLE trust; DROP INDEX ledger_later;";

#[test]
fn a_backup_of_the_format_before_policies_verifies_and_can_be_restored() {
    placet_testkit::block_on(async {
        for to in Backend::ALL {
            let shop = Shop::open(Backend::Sqlite).await;
            let request = shop.ask(&bot("bot")).await;
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("backup.db");
            backup(&shop.place.location(), &file).await.unwrap();
            let old = rusqlite::Connection::open(&file).unwrap();
            old.execute_batch(&format!("{OUTBOX_OF_0_2} {EARLIER} PRAGMA user_version = 1;")).unwrap();
            drop(old);
            verify_file(&file, |_| {}).await.unwrap();
            let place = Arc::new(Place::new(to).await);
            restore(&file, &place.location(), shop.clock.clone(), |_| {}).await.unwrap();
            let clock = shop.clock.clone();
            let store = Arc::new(Store::open(place.options(clock.clone())).await.unwrap());
            let restored = Shop { place, clock, store };
            assert_eq!(restored.read(request.id).await.state, State::Cancelled);
            restored.admin(put("new", ExpectedPolicy::BuiltIn)).await;
            restored.finish().await;
            shop.finish().await;
        }
    });
}

both! {
    async fn a_database_of_the_format_before_policies_is_upgraded_where_it_is(backend: Backend) {
        let shop = Shop::open(backend).await;
        let request = shop.approved(&bot("bot")).await;
        shop.store.close().await;
        let Shop { place, clock, store } = shop;
        drop(store);
        let format = match backend {
            Backend::Sqlite => "PRAGMA user_version = 1;",
            Backend::Postgres => "UPDATE placet_format SET version = 1;",
        };
        place.sql(&format!("{OUTBOX_OF_0_2} {EARLIER} {format}")).await;
        place.verify().await.unwrap();
        let store = Store::open(place.options(clock.clone())).await.unwrap().into();
        let shop = Shop { place, clock, store };
        assert_eq!(shop.read(request.id).await, *request);
        shop.admin(put("new", ExpectedPolicy::BuiltIn)).await;
        shop.finish().await;
    }

    async fn what_was_put_and_given_reaches_other_nodes(backend: Backend) {
        if backend == Backend::Sqlite {
            return;
        }
        let (shop, policy) = granted(backend, 2).await;
        let other = shop.another_node().await;
        assert_eq!(other.store.directory().policy.as_ref(), Some(&policy));
        assert_eq!(other.done(&bot("bot"), with_grant(&other, &policy)).await.state, State::Approved);
        assert_eq!(said(&other, Actor { role: Role::Admin, ..ann() }, AdminCommand::RevokeGrant { id: grant_id(1) }).await, Ok(()));
        // This node has not looked since; the transaction has.
        assert_eq!(shop.done(&bot("bot"), with_grant(&shop, &policy)).await.state, State::Pending);
        other.store.close().await;
        shop.finish().await;
    }
}
