//! Keys, people and counts: secrets only as hashes, changes checked at commit, consequences in the same transaction.

use std::{collections::HashSet, time::Duration};

use data_encoding::BASE32_DNSSEC;
use placet_core::{
    Actor, AdminCommand, AdminRefusal, Auth, Command, DecisionWord, KeyId, Refusal, Role, State,
};
use placet_store::AdminOutcome;
use placet_testkit::{Backend, Kit, block_on, both, unit};

use crate::shop::{Shop, ann, bot, cancel, claim, decide, entry, report};

/// Makes an agent's key.
async fn key(shop: &Shop, name: &str, n: u8) -> Actor {
    let id = KeyId::new(1, [n; 10]);
    shop.admin(AdminCommand::CreateKey {
        id,
        role: Role::Agent,
        name: name.to_owned(),
        owner: None,
        secret: [n; 32],
    })
    .await;
    Actor { name: name.to_owned(), role: Role::Agent, key: Some(id), session: None, auth: Auth::Token }
}

async fn revoke(shop: &Shop, actor: &Actor) {
    shop.admin(AdminCommand::RevokeKey { id: actor.key.unwrap(), keep: false }).await;
}

/// A new request of an agent that may have only so many pending.
fn capped(shop: &Shop, agent: &Actor, cap: u64) -> Command {
    match shop.new_request(agent) {
        Command::Submit(mut submit) => {
            submit.pending_cap = cap;
            Command::Submit(submit)
        }
        other => other,
    }
}

both! {
    async fn an_agent_has_at_most_its_cap_of_pending_requests(backend: Backend) {
        let shop = Shop::open(backend).await;
        let (agent, other) = (bot("bot"), bot("other"));
        let first = shop.ask(&other).await;
        let mut units = vec![unit(&other, cancel(first.id), None)];
        units.extend((0..5).map(|_| unit(&agent, capped(&shop, &agent, 3), None)));
        // In one batch: the later ones count the earlier ones.
        let outcomes: Vec<_> = shop.queue_up(units).await.into_iter().skip(1).map(|done| done.unwrap().remove(0)).collect();
        let refused = outcomes.iter().filter(|outcome| outcome.answer == Err(Refusal::PendingCap(3))).count();
        assert_eq!(refused, 2);
        // Over a restart, and for nobody else.
        let shop = shop.reopen().await;
        let over = shop.give(&agent, capped(&shop, &agent, 3), None).await.unwrap();
        assert_eq!(over.answer, Err(Refusal::PendingCap(3)));
        shop.done(&other, capped(&shop, &other, 3)).await;
        // Every way out of pending makes room.
        let mine: Vec<_> = outcomes.iter().filter(|outcome| outcome.answer.is_ok()).map(|outcome| outcome.request.clone().unwrap()).collect();
        shop.done(&ann(), decide(&mine[0], DecisionWord::Approve)).await;
        shop.done(&agent, capped(&shop, &agent, 3)).await;
        shop.done(&agent, cancel(mine[1].id)).await;
        shop.done(&agent, capped(&shop, &agent, 3)).await;
        let over = shop.give(&agent, capped(&shop, &agent, 3), None).await.unwrap();
        assert_eq!(over.answer, Err(Refusal::PendingCap(3)));
        shop.clock.advance(Duration::from_mins(5));
        assert_eq!(shop.give(&ann(), decide(&mine[2], DecisionWord::Approve), None).await.unwrap().answer, Err(Refusal::Expired));
        shop.done(&agent, capped(&shop, &agent, 3)).await;
        shop.finish().await;
    }

    async fn no_secret_is_stored_in_any_table(kit) {
        let (agent, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.approved(&agent, &ann).await;
        let claimed = kit.gate().claim(&agent, request.id, Some("the-claimant-secret"), None).await.unwrap();
        let mut secrets: Vec<Vec<u8>> = vec![b"the-claimant-secret".to_vec(), claimed.permit.clone().into_bytes()];
        for actor in [&agent, &ann, kit.admin()] {
            secrets.push(kit.token(actor).into_bytes());
        }
        // Without its prefix, and as the bytes it stands for.
        for text in [kit.token(&agent), kit.token(&ann), claimed.permit] {
            let random = text.rsplit('_').next().unwrap();
            secrets.push(random.as_bytes().to_vec());
            secrets.push(BASE32_DNSSEC.decode(random.as_bytes()).unwrap());
        }
        let stored = everything(kit).await;
        // No part of one either: sixteen bytes in a row are no accident.
        let parts: HashSet<&[u8]> = stored.windows(16).collect();
        assert!(request.id.to_string().as_bytes().windows(16).all(|part| parts.contains(part)), "the search finds what is there");
        for part in secrets.iter().flat_map(|secret| secret.windows(16)) {
            assert!(!parts.contains(part), "{}", String::from_utf8_lossy(part));
        }
    }

    async fn the_last_key_of_an_agent_takes_its_open_requests_with_it_in_one_transaction(backend: Backend) {
        let shop = Shop::open(backend).await;
        let (agent, second, other) = (key(&shop, "bot", 1).await, key(&shop, "bot", 2).await, key(&shop, "other", 3).await);
        let (pending, approved, claimed) = (shop.ask(&agent).await, shop.approved(&agent).await, shop.claimed(&agent).await);
        let theirs = shop.ask(&other).await;
        revoke(&shop, &agent).await;
        // There is another key: nothing happens to the requests, which belong to the principal.
        assert_eq!(shop.read(pending.id).await.state, State::Pending);
        let before = shop.ledger().await.len();
        shop.clock.tick();
        revoke(&shop, &second).await;
        let states = [shop.read(pending.id).await.state, shop.read(approved.id).await.state, shop.read(claimed.id).await.state];
        assert_eq!(states, [State::Cancelled, State::Revoked, State::Claimed]);
        assert_eq!(shop.read(theirs.id).await.state, State::Pending);
        let entries: Vec<_> = shop.ledger().await[before..].iter().map(entry).collect();
        assert_eq!(entries.iter().map(|entry| entry["data"]["type"].clone()).collect::<Vec<_>>(), ["key.revoked", "request.cancelled", "request.revoked"]);
        assert!(entries.iter().all(|entry| entry["at"] == entries[0]["at"]));
        shop.finish().await;
    }

    async fn a_revoked_key_is_refused_at_commit_whoever_still_holds_it(backend: Backend) {
        let shop = Shop::open(backend).await;
        let (agent, second) = (key(&shop, "bot", 1).await, key(&shop, "bot", 2).await);
        let (request, claimed) = (shop.approved(&second).await, shop.claimed(&second).await);
        revoke(&shop, &agent).await;
        for command in [shop.new_request(&agent), claim(request.id, 1), cancel(request.id), report(claimed.id, 1)] {
            assert_eq!(shop.give(&agent, command, None).await.unwrap().answer, Err(Refusal::Unauthorized));
        }
        shop.done(&second, claim(request.id, 1)).await;
        shop.finish().await;
    }

    async fn keys_and_people_are_the_same_after_a_restart(kit) {
        let (agent, ann) = (kit.agent_of("bot", "ann").await, kit.reviewer_in("ann", &["ops"]).await);
        let gone = kit.agent("gone").await;
        kit.revoke_key(&gone).await;
        let before = kit.store().directory();
        kit.restart().await;
        assert_eq!(*kit.store().directory(), *before);
        for (actor, works) in [(&agent, true), (&ann, true), (&gone, false)] {
            let found = kit.gate().authenticate(&kit.token(actor)).await.unwrap();
            assert_eq!(found.as_ref(), works.then_some(actor));
        }
    }

    async fn a_command_of_an_admin_whose_key_was_revoked_is_refused_at_commit(kit) {
        let other = kit.key(Role::Admin, "root", None).await;
        kit.revoke_key(&other).await;
        let command = AdminCommand::PutPerson { name: "eve".to_owned(), roles: [Role::Reviewer].into(), teams: [].into() };
        let done = kit.store().admin(other, command, None).await.unwrap();
        assert_eq!(done, AdminOutcome::Refused(AdminRefusal::NoKey));
        assert!(!kit.store().directory().people.contains_key("eve"));
    }
}

/// All that is stored, as bytes.
async fn everything(kit: &Kit) -> Vec<u8> {
    let mut bytes = Vec::new();
    match kit.backend() {
        Backend::Sqlite => {
            for file in std::fs::read_dir(kit.place().folder()).unwrap() {
                bytes.extend(std::fs::read(file.unwrap().path()).unwrap());
            }
        }
        Backend::Postgres => {
            let tables = kit
                .place()
                .rows("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
                .await;
            for table in tables {
                let table = table[0].as_str().unwrap();
                for row in kit.place().rows(&format!("SELECT * FROM {table}")).await {
                    for value in row.iter().filter_map(|value| value.as_str()) {
                        // Bytes come as hexadecimal text: both forms are searched.
                        bytes.extend(
                            value
                                .strip_prefix("\\x")
                                .and_then(|hex| data_encoding::HEXLOWER.decode(hex.as_bytes()).ok())
                                .unwrap_or_default(),
                        );
                        bytes.extend(value.as_bytes());
                    }
                }
            }
        }
    }
    bytes
}

#[test]
fn a_key_revoked_on_one_node_is_refused_on_the_other_at_once() {
    block_on(async {
        let shop = Shop::open(Backend::Postgres).await;
        let node = shop.another_node().await;
        let agent = key(&shop, "bot", 1).await;
        // The other node has not heard of the new key; the transaction sees it all the same.
        let request = node.ask(&agent).await;
        revoke(&shop, &agent).await;
        let late = node.give(&agent, node.new_request(&agent), None).await.unwrap();
        assert_eq!(late.answer, Err(Refusal::Unauthorized));
        assert_eq!(node.read(request.id).await.state, State::Cancelled);
        shop.admin(AdminCommand::RemovePerson { name: "ann".to_owned() }).await;
        let other = node.ask(&bot("local")).await;
        let late = node.give(&ann(), decide(&other, DecisionWord::Approve), None).await.unwrap();
        assert_eq!(late.answer, Err(Refusal::Unauthorized));
        node.store.close().await;
        shop.finish().await;
    });
}
