//! Sessions: opened once by a link, valid on every node, checked again in the transaction, and ended by a restore.

use std::{sync::Arc, time::Duration};

use placet_core::{Actor, AdminRefusal, AllOf, Needs, Refusal, Role, Seat, State};
use placet_gate::{GateError, OpenedSession, PersonSpec, SignedIn, Until};
use placet_store::{Store, backup, restore};
use placet_testkit::{Backend, Kit, Place, block_on, both, soon};
use tokio::task::JoinSet;

use crate::{outcome, parked, refusal};

/// A browser's key; nothing here signs with it.
const KEY: [u8; 64] = [7; 64];

async fn person(kit: &Kit, name: &str, roles: &[Role]) {
    let person =
        PersonSpec { roles: roles.iter().copied().collect(), teams: std::collections::BTreeSet::new() };
    kit.gate().put_person(kit.admin(), name.to_owned(), person, None).await.unwrap();
}

async fn open(kit: &Kit, name: &str) -> OpenedSession {
    let link = token(kit.gate().create_link(kit.admin(), name, None).await.unwrap());
    kit.gate().sign_in_with_link(&link, "test", KEY).await.unwrap()
}

async fn signed_in(kit: &Kit, opened: &OpenedSession) -> Option<SignedIn> {
    used(kit, &opened.secret).await.map(|(signed_in, _)| signed_in)
}

/// The person, and the new secret if there is one.
async fn used(kit: &Kit, secret: &str) -> Option<(SignedIn, Option<String>)> {
    let mut signed_in = kit.gate().session(secret).await.unwrap()?;
    let renewed = kit.gate().use_session(&mut signed_in, secret, true).await;
    Some((signed_in, renewed))
}

fn token(link: placet_gate::MadeLink) -> String {
    link.token.expect("it is shown")
}

fn admin_refusal<T: std::fmt::Debug>(result: Result<T, GateError>) -> AdminRefusal {
    match result {
        Err(GateError::Admin(refusal)) => refusal,
        other => panic!("expected a refusal, not {other:?}"),
    }
}

/// The ledger's entries about sign-ins: type and reason.
async fn story(kit: &Kit) -> Vec<String> {
    let rows = kit.store().ledger(0, 1000).await.unwrap();
    let entries = rows.iter().map(|row| serde_json::from_str::<serde_json::Value>(&row.text).unwrap());
    entries
        .map(|entry| entry["data"].clone())
        .filter(|data| {
            ["session.", "link.", "person.password"]
                .iter()
                .any(|kind| data["type"].as_str().unwrap_or("").starts_with(kind))
        })
        .map(|data| {
            format!(
                "{}{}",
                data["type"].as_str().unwrap(),
                data["why"]
                    .as_str()
                    .or(data["via"].as_str())
                    .map(|word| format!(" {word}"))
                    .unwrap_or_default()
            )
        })
        .collect()
}

both! {
    async fn a_vote_by_password_alone_counts_no_more_once_the_password_is_another(backend: Backend) {
        let any = vec![AllOf { all: vec![Seat { people: 2, team: None }] }];
        let kit = Kit::with(backend, |settings| settings.needs = Needs { any, ..Needs::default() }).await;
        let (bot, ben) = (kit.agent("bot").await, kit.reviewer("ben").await);
        person(&kit, "ann", &[Role::Reviewer]).await;
        let gate = kit.gate();
        gate.reset_password(&Actor::system(), "ann", "a stolen password").await.unwrap();
        let ann = gate.by_password("ann", "a stolen password").await.unwrap();
        assert!(gate.by_password("ann", "another password").await.is_err());
        let (void, good) = (kit.ask(&bot).await, kit.ask(&bot).await);
        kit.approve(&ann, &void).await.unwrap();
        kit.clock().advance(Duration::from_secs(1));
        gate.reset_password(&Actor::system(), "ann", "a new password").await.unwrap();
        assert_eq!(kit.approve(&ben, &void).await.unwrap().state, State::Pending, "one of two");
        kit.clock().advance(Duration::from_secs(1));
        let ann = gate.by_password("ann", "a new password").await.unwrap();
        kit.approve(&ann, &good).await.unwrap();
        // A key of the same person is independent of it.
        let key = kit.reviewer("ann").await.key.expect("a key");
        gate.revoke_key(kit.admin(), key, false).await.unwrap();
        assert_eq!(kit.approve(&ben, &good).await.unwrap().state, State::Approved);
        kit.finish().await;
    }

    async fn a_made_up_secret_costs_no_look_at_the_database(backend: Backend) {
        let kit = Kit::start(backend).await;
        person(&kit, "ann", &[Role::Reviewer]).await;
        let opened = open(&kit, "ann").await;
        assert!(signed_in(&kit, &opened).await.is_some());
        kit.place().sql("ALTER TABLE sessions RENAME TO nowhere").await;
        assert!(kit.gate().session(&opened.secret).await.is_err(), "a real one is looked up");
        let first = if opened.secret.starts_with('0') { "1" } else { "0" };
        let bent = format!("{first}{}", &opened.secret[1..]);
        for made_up in ["", "x", "0".repeat(52).as_str(), bent.as_str(), "%00", "plk_agent_x"] {
            assert!(kit.gate().session(made_up).await.unwrap().is_none(), "{made_up:?}");
        }
        kit.place().sql("ALTER TABLE nowhere RENAME TO sessions").await;
        kit.finish().await;
    }

    async fn sessions_of_version_0_2_are_over_at_the_first_start(backend: Backend) {
        let mut kit = Kit::start(backend).await;
        person(&kit, "ann", &[Role::Reviewer]).await;
        let (old, new) = (open(&kit, "ann").await, open(&kit, "ann").await);
        let id = old.signed_in.session.id;
        kit.place().sql(&format!("UPDATE sessions SET bound = NULL WHERE id = '{id}'")).await;
        kit.restart().await;
        // Until they end, they have no key for proofs.
        assert_eq!(kit.gate().session(&old.secret).await.unwrap().expect("it is there").key, None);
        assert_eq!(kit.gate().end_unbound().await.unwrap(), 1);
        assert!(signed_in(&kit, &old).await.is_none());
        assert_eq!(signed_in(&kit, &new).await.and_then(|new| new.key), Some(KEY));
        assert_eq!(kit.gate().end_unbound().await.unwrap(), 0);
        assert_eq!(story(&kit).await.last().map(String::as_str), Some("session.ended expired"));
        kit.abandon().await;
    }

    async fn of_many_who_use_one_link_one_gets_in(kit) {
        person(kit, "ann", &[Role::Reviewer]).await;
        let link = token(kit.gate().create_link(kit.admin(), "ann", None).await.unwrap());
        let mut tries = JoinSet::new();
        for _ in 0..8 {
            let (gate, token) = (kit.gate().clone(), link.clone());
            tries.spawn(async move { gate.sign_in_with_link(&token, "", KEY).await });
        }
        let (good, bad): (Vec<_>, Vec<_>) = tries.join_all().await.into_iter().partition(Result::is_ok);
        assert_eq!((good.len(), bad.len()), (1, 7));
        for refused in bad {
            assert_eq!(admin_refusal(refused), AdminRefusal::BadLink);
        }
        assert_eq!(story(kit).await, ["link.created", "session.opened link"]);
    }

    async fn a_password_is_set_by_its_person_or_by_the_owner_of_the_data_and_by_nobody_else(kit) {
        person(kit, "ann", &[Role::Reviewer]).await;
        let opened = open(kit, "ann").await;
        let (bot, bob) = (kit.agent("bot").await, kit.reviewer("bob").await);
        for actor in [&bot, &bob, kit.admin()] {
            let refused = kit.gate().reset_password(actor, "ann", "correct horse battery").await;
            assert_eq!(admin_refusal(refused), AdminRefusal::NoSession);
        }
        assert!(kit.gate().sign_in_with_password("ann", "correct horse battery", "", KEY).await.is_err());
        assert!(signed_in(kit, &opened).await.is_some());
        kit.gate().reset_password(&Actor::system(), "ann", "correct horse battery").await.unwrap();
        assert!(signed_in(kit, &opened).await.is_none(), "all sessions end");
        kit.gate().sign_in_with_password("ann", "correct horse battery", "", KEY).await.unwrap();
        let nobody = kit.gate().reset_password(&Actor::system(), "nobody", "correct horse battery").await;
        assert_eq!(admin_refusal(nobody), AdminRefusal::NoPerson);
    }

    async fn only_admins_make_links_and_only_for_people(kit) {
        let (bot, ann, eve) = (kit.agent("bot").await, kit.reviewer("ann").await, kit.auditor("eve").await);
        for actor in [&bot, &ann, &eve] {
            assert!(matches!(kit.gate().create_link(actor, "ann", None).await, Err(GateError::Forbidden(_))));
        }
        for nobody in ["bot", "nobody"] {
            assert_eq!(admin_refusal(kit.gate().create_link(kit.admin(), nobody, None).await), AdminRefusal::NoPerson);
        }
        assert!(story(kit).await.is_empty());
    }

    async fn a_session_that_ended_in_between_decides_nothing(kit) {
        person(kit, "ann", &[Role::Reviewer, Role::Admin]).await;
        let bot = kit.agent("bot").await;
        let opened = open(kit, "ann").await;
        let ann = signed_in(kit, &opened).await.expect("a session").actor;
        let request = kit.ask(&bot).await;
        kit.gate().end_session(&ann, opened.signed_in.session.id, true).await.unwrap();
        assert_eq!(refusal(kit.approve(&ann, &request).await), Refusal::Unauthorized);
        assert_eq!(admin_refusal(kit.gate().create_link(&ann, "ann", None).await), AdminRefusal::NoKey);
        assert!(signed_in(kit, &opened).await.is_none());

        // Nor does an expired session, or one of a person who lost the role, whatever this node knew a moment ago.
        let opened = open(kit, "ann").await;
        let ann = opened.signed_in.actor.clone();
        kit.clock().advance(Duration::from_hours(7 * 24));
        let request = kit.ask(&bot).await;
        assert_eq!(refusal(kit.approve(&ann, &request).await), Refusal::Unauthorized);
        let opened = open(kit, "ann").await;
        let ann = opened.signed_in.actor.clone();
        assert_eq!(ann.role, Role::Reviewer);
        let forged = [
            Actor { name: "bob".to_owned(), ..ann.clone() },
            Actor { key: kit.admin().key, ..ann.clone() },
        ];
        for forged in forged {
            assert!(kit.approve(&forged, &request).await.is_err(), "{forged:?}");
        }
        kit.approve(&ann, &request).await.unwrap();
    }

    async fn a_role_that_was_taken_away_ends_the_waits_that_rest_on_it(kit) {
        person(kit, "ann", &[Role::Reviewer, Role::Admin]).await;
        let bot = kit.agent("bot").await;
        let ann = open(kit, "ann").await.signed_in.actor;
        let request = kit.ask(&bot).await;
        let wait = parked(kit.gate(), &ann, request.id, Until::Decided, Duration::from_mins(1)).await;
        person(kit, "ann", &[Role::Admin]).await;
        let ended = soon("the end of the wait", outcome(kit.gate(), &ann, wait)).await;
        assert!(matches!(ended, Err(GateError::KeyRevoked)), "{ended:?}");
        assert!(!kit.gate().still_works(&ann) && kit.gate().still_works(&Actor { role: Role::Admin, ..ann }));
    }

    async fn what_happens_to_sessions_is_in_the_ledger(kit) {
        person(kit, "ann", &[Role::Reviewer]).await;
        let (first, second) = (open(kit, "ann").await, open(kit, "ann").await);
        kit.gate().set_password(&second.signed_in, None, "correct horse battery").await.unwrap();
        assert!(signed_in(kit, &first).await.is_none());
        let third = kit.gate().sign_in_with_password("ann", "correct horse battery", "", KEY).await.unwrap();
        let bad = kit.gate().sign_in_with_password("ann", "incorrect horse", "", KEY).await;
        assert_eq!(admin_refusal(bad), AdminRefusal::BadCredentials);
        kit.gate().end_session(&third.signed_in.actor, third.signed_in.session.id, true).await.unwrap();
        kit.gate().remove_person(kit.admin(), "ann".to_owned()).await.unwrap();
        let gone = kit.gate().sign_in_with_password("ann", "correct horse battery", "", KEY).await;
        assert_eq!(admin_refusal(gone), AdminRefusal::BadCredentials);
        assert_eq!(
            story(kit).await,
            [
                "link.created", "session.opened link", "link.created", "session.opened link",
                "session.ended revoked", "person.password_set", "session.opened password",
                "session.ended signed_out", "session.ended person_removed",
            ]
        );
    }

    async fn a_removed_person_who_is_added_again_has_neither_session_nor_link_nor_password(kit) {
        person(kit, "ann", &[Role::Reviewer]).await;
        let opened = open(kit, "ann").await;
        kit.gate().set_password(&opened.signed_in, None, "correct horse battery").await.unwrap();
        let link = token(kit.gate().create_link(kit.admin(), "ann", None).await.unwrap());
        kit.gate().remove_person(kit.admin(), "ann".to_owned()).await.unwrap();
        person(kit, "ann", &[Role::Reviewer]).await;
        assert!(signed_in(kit, &opened).await.is_none());
        assert_eq!(admin_refusal(kit.gate().sign_in_with_link(&link, "", KEY).await), AdminRefusal::BadLink);
        let bad = kit.gate().sign_in_with_password("ann", "correct horse battery", "", KEY).await;
        assert_eq!(admin_refusal(bad), AdminRefusal::BadCredentials);
    }

    async fn the_first_start_gives_one_person_a_link_and_later_ones_do_not(backend: Backend) {
        let place = Arc::new(Place::new(backend).await);
        let clock = Arc::new(placet_testkit::FakeClock::new());
        let store = Arc::new(Store::open(place.options(clock.clone())).await.unwrap());
        let entropy = Arc::new(placet_testkit::SeededEntropy::default());
        let gate = placet_gate::Gate::start(store, entropy, placet_gate::Settings::default()).await.unwrap();
        let first = gate.first_link().await.unwrap().expect("a link");
        // Started again before it was used: another link, and the first is void.
        let second = gate.first_link().await.unwrap().expect("a link");
        assert_eq!(admin_refusal(gate.sign_in_with_link(&token(first), "", KEY).await), AdminRefusal::BadLink);
        clock.advance(Duration::from_mins(59));
        let opened = gate.sign_in_with_link(&token(second), "", KEY).await.unwrap();
        assert_eq!(opened.signed_in.name, "admin");
        assert_eq!(opened.signed_in.roles, [Role::Admin, Role::Reviewer].into());
        assert!(gate.first_link().await.unwrap().is_none());
        // The only admin cannot lock everybody out.
        let gone = gate.remove_person(&opened.signed_in.actor, "admin".to_owned()).await;
        assert_eq!(admin_refusal(gone), AdminRefusal::LastAdmin);
        gate.close().await;
        drop(gate);
        place.verify().await.unwrap();
    }

    async fn sessions_and_links_do_not_survive_a_restore_and_passwords_do(backend: Backend) {
        let kit = Kit::start(backend).await;
        person(&kit, "ann", &[Role::Reviewer]).await;
        let opened = open(&kit, "ann").await;
        kit.gate().set_password(&opened.signed_in, None, "correct horse battery").await.unwrap();
        let link = token(kit.gate().create_link(kit.admin(), "ann", None).await.unwrap());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup.db");
        backup(&kit.place().location(), &file).await.unwrap();
        placet_store::verify_file(&file, |_| {}).await.unwrap();
        let place = Place::new(backend).await;
        restore(&file, &place.location(), kit.clock().clone(), |_| {}).await.unwrap();
        place.verify().await.unwrap();
        for table in ["sessions", "links"] {
            assert!(place.rows(&format!("SELECT name FROM {table}")).await.is_empty(), "{table}");
        }
        let store = Arc::new(Store::open(place.options(kit.clock().clone())).await.unwrap());
        let entropy = Arc::new(placet_testkit::SeededEntropy::default());
        let gate = placet_gate::Gate::start(store, entropy, placet_gate::Settings::default()).await.unwrap();
        assert!(gate.session(&opened.secret).await.unwrap().is_none());
        assert_eq!(admin_refusal(gate.sign_in_with_link(&link, "", KEY).await), AdminRefusal::BadLink);
        gate.sign_in_with_password("ann", "correct horse battery", "", KEY).await.unwrap();
        gate.close().await;
        drop(gate);
        assert!(signed_in(&kit, &opened).await.is_some(), "where it was opened it goes on");
        place.verify().await.unwrap();
        kit.finish().await;
    }
}

#[test]
fn a_session_that_ends_on_one_node_is_over_on_the_other() {
    block_on(async {
        let one = Kit::start(Backend::Postgres).await;
        let two = one.another_node().await;
        person(&one, "ann", &[Role::Reviewer]).await;
        let bot = one.agent("bot").await;
        let opened = open(&one, "ann").await;
        let there = signed_in(&two, &opened).await.expect("it works on the other node");
        let request = two.ask(&bot).await;
        one.gate().end_session(&opened.signed_in.actor, opened.signed_in.session.id, true).await.unwrap();
        // At once, even if the other node has not learned of it yet.
        assert_eq!(refusal(two.approve(&there.actor, &request).await), Refusal::Unauthorized);
        assert!(signed_in(&two, &opened).await.is_none());
        // A secret that changed on one node is the session's secret on the other.
        let opened = open(&two, "ann").await;
        one.clock().advance(Duration::from_hours(1));
        let renewed = used(&one, &opened.secret).await.expect("a session").1.expect("another secret");
        assert_eq!(used(&two, &opened.secret).await.expect("a minute more").1.as_ref(), Some(&renewed));
        one.clock().advance(Duration::from_mins(1));
        assert!(signed_in(&two, &opened).await.is_none());
        assert!(used(&two, &renewed).await.is_some_and(|(_, renewed)| renewed.is_none()));
        two.finish().await;
        one.finish().await;
    });
}
