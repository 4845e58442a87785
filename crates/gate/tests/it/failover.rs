//! Real streaming replication: a primary fails and a standby is promoted. What was acknowledged is there, or its loss
//! is noticed.

use std::sync::Arc;

use placet_core::{Actor, Refusal, Request, State};
use placet_gate::{GateError, StoreError};
use placet_testkit::{Backend, FakeClock, Front, Kit, Place, Replica, Setup, block_on, found, until};

use crate::refusal;

async fn kit_at(front: &Front, folder: &tempfile::TempDir) -> Kit {
    node_at(front, folder, Arc::new(FakeClock::new())).await
}

/// One of several nodes. Clocks that were set at different moments differ by that time.
async fn node_at(front: &Front, folder: &tempfile::TempDir, clock: Arc<FakeClock>) -> Kit {
    let mut setup = Setup::new(Backend::Sqlite).await;
    setup.clock = clock;
    setup.place = Arc::new(Place::elsewhere(front.url()));
    setup.state = Some(folder.path().join("state"));
    setup.start().await
}

/// The result of a claim once the database answers again.
async fn claimed(kit: &Kit, bot: &Actor, request: &Request) -> Result<(), GateError> {
    found("an answer", async || match kit.gate().claim(bot, request.id, None, None).await {
        Err(GateError::Store(StoreError::Unavailable(_) | StoreError::Unknown)) => None,
        other => Some(other.map(drop)),
    })
    .await
}

fn is_lost<T: std::fmt::Debug>(result: Result<T, GateError>) -> bool {
    match result {
        Err(GateError::Store(StoreError::HistoryLost(_))) => true,
        other => panic!("expected lost history, not {other:?}"),
    }
}

#[test]
fn a_standby_that_lagged_is_noticed_and_so_is_an_old_primary_that_comes_back() {
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let mut primary = Replica::primary().await;
        let mut standby = primary.standby().await;
        let front = Front::to(&primary).await;
        let mut kit = kit_at(&front, &folder).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.approved(&bot, &ann).await;
        standby.caught_up_with(&primary).await;
        standby.kill();
        // Acknowledged, and on the primary alone.
        kit.gate().claim(&bot, request.id, None, None).await.unwrap();
        let other = kit.ask(&bot).await;
        primary.kill();
        standby.start().await;
        standby.promote().await;
        front.switch(&standby);
        assert!(is_lost(claimed(&kit, &bot, &request).await), "a second permit");
        assert!(is_lost(kit.approve(&ann, &other).await));
        let (location, state, clock) =
            (kit.place().location(), folder.path().join("state"), kit.clock().clone());
        let done = kit
            .restart_after(async || {
                let loss = placet_store::look_for_loss(&location, &state).await.unwrap().expect("a loss");
                let concerned: Vec<_> = loss.concerned.iter().map(|known| known.request).collect();
                assert_eq!((concerned, loss.is_whole()), (vec![request.id, other.id], true));
                placet_store::recover(&location, &state, Some(&loss), clock).await.unwrap()
            })
            .await;
        assert_eq!(kit.store().lost(), None);
        assert_eq!(kit.read(request.id).await.state, State::Unknown, "somebody may have run it");
        assert_eq!(kit.store().head().await.unwrap().0, done.epoch);
        // The old primary has entries that the new one lacks, and lacks those that were made since.
        primary.start().await;
        front.switch(&primary);
        until("the node to notice", async || kit.store().lost().is_some()).await;
        kit.restart().await;
        assert!(kit.store().lost().is_some(), "after a restart too");
        front.switch(&standby);
        kit.restart().await;
        assert_eq!(kit.store().lost(), None);
        kit.finish().await;
    });
}

#[test]
fn a_synchronous_standby_has_everything_when_it_is_promoted() {
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let mut primary = Replica::primary().await;
        let standby = primary.standby().await;
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'").await;
        primary.sql("SELECT pg_reload_conf()").await;
        let waits = "SELECT (count(*) FILTER (WHERE sync_state = 'sync') = 1)::text FROM pg_stat_replication";
        until("the standby to be synchronous", async || primary.value(waits).await == "true").await;
        let front = Front::to(&primary).await;
        let kit = kit_at(&front, &folder).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let (request, waiting) = (kit.approved(&bot, &ann).await, kit.ask(&bot).await);
        kit.gate().claim(&bot, request.id, None, None).await.unwrap();
        primary.kill();
        standby.promote().await;
        // It does not wait for a standby: its own setting came with the copy.
        front.switch(&standby);
        assert_eq!(refusal(claimed(&kit, &bot, &request).await), Refusal::AlreadyClaimed);
        assert_eq!(kit.store().lost(), None);
        standby.sql("ALTER SYSTEM RESET synchronous_standby_names").await;
        standby.sql("SELECT pg_reload_conf()").await;
        let approved = found("an answer", async || kit.approve(&ann, &waiting).await.ok()).await;
        assert_eq!(approved.state, State::Approved);
        kit.finish().await;
    });
}

#[test]
fn of_two_nodes_on_two_servers_the_one_whose_history_is_gone_stops() {
    block_on(async {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let primary = Replica::primary().await;
        let mut standby = primary.standby().await;
        let (stays, moves) = (Front::to(&primary).await, Front::to(&primary).await);
        let first = kit_at(&stays, &one).await;
        let second = node_at(&moves, &two, first.clock().clone()).await;
        let (bot, ann) = (first.agent("bot").await, first.reviewer("ann").await);
        let request = first.approved(&bot, &ann).await;
        standby.caught_up_with(&primary).await;
        standby.kill();
        let token = first.token(&bot);
        let same = second.gate().authenticate(&token).await.unwrap().expect("the key works on both");
        second.gate().claim(&same, request.id, None, None).await.unwrap();
        standby.start_cut_off().await;
        standby.promote().await;
        moves.switch(&standby);
        assert!(is_lost(claimed(&second, &same, &request).await));
        // The other node still uses the primary, with every acknowledged entry.
        assert_eq!(refusal(first.gate().claim(&bot, request.id, None, None).await), Refusal::AlreadyClaimed);
        assert_eq!(first.store().lost(), None);
        second.abandon().await;
        first.finish().await;
    });
}
