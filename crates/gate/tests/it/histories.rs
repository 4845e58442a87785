//! A database that lost acknowledged entries: nothing is written and no permit is given until an admin begins a new
//! epoch, in which nothing is guessed.

use std::{sync::Arc, time::Duration};

use placet_core::{Actor, Request, State};
use placet_gate::{GateError, StoreError, Until};
use placet_store::Location;
use placet_testkit::{Backend, Kit, Place, Setup, block_on, both, soon, until};

use crate::{outcome, parked};

fn is_lost<T: std::fmt::Debug>(result: Result<T, GateError>) -> bool {
    match result {
        Err(GateError::Store(StoreError::HistoryLost(_))) => true,
        other => panic!("expected lost history, not {other:?}"),
    }
}

async fn claim(kit: &Kit, bot: &Actor, request: &Request) -> Result<(), GateError> {
    kit.gate().claim(bot, request.id, None, None).await.map(drop)
}

/// A copy of the current database.
struct Copy(Arc<Place>, Option<tempfile::TempDir>);

impl Copy {
    async fn of(place: &Arc<Place>) -> Self {
        match place.backend() {
            Backend::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                let file = folder.path().join("copy.db");
                placet_store::backup(&place.location(), &file).await.unwrap();
                Self(place.clone(), Some(folder))
            }
            Backend::Postgres => {
                place
                    .sql(&format!(
                        "DROP SCHEMA IF EXISTS copy CASCADE; CREATE SCHEMA copy; {}",
                        each("CREATE TABLE copy.{t} AS TABLE public.{t}")
                    ))
                    .await;
                Self(place.clone(), None)
            }
        }
    }

    /// Replaces the database with it, like promoting a standby that lagged.
    async fn put_back(&self) {
        if let Some(folder) = &self.1 {
            // Through SQLite, so that an open database sees it as another commit.
            let file = folder.path().join("copy.db");
            let tables = each("DELETE FROM {t}; INSERT INTO {t} SELECT * FROM old.{t}");
            let open = "DROP TRIGGER ledger_only_grows_delete";
            let put =
                format!("ATTACH '{}' AS old; BEGIN; {open}; {tables}; COMMIT; DETACH old", file.display());
            self.0.sql(&put).await;
        } else {
            let tables = each("DELETE FROM public.{t}; INSERT INTO public.{t} SELECT * FROM copy.{t}");
            self.0.sql(&format!("SET session_replication_role = replica; BEGIN; {tables}; COMMIT")).await;
        }
    }
}

/// A statement for every table with outcomes of requests.
fn each(statement: &str) -> String {
    let tables = ["requests", "payloads", "ledger", "head", "tallies", "idempotency"];
    tables.map(|table| statement.replace("{t}", table)).join("; ")
}

both! {
    async fn a_database_that_went_back_gives_no_second_permit(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let (request, waiting) = (kit.approved(&bot, &ann).await, kit.ask(&bot).await);
        let copy = Copy::of(kit.place()).await;
        claim(kit, &bot, &request).await.unwrap();
        let parked = parked(kit.gate(), &bot, waiting.id, Until::Decided, Duration::from_hours(1)).await;
        let mut feed = kit.gate().feed(None).await.unwrap();
        copy.put_back().await;
        assert!(is_lost(claim(kit, &bot, &request).await), "a second permit");
        assert!(is_lost(kit.approve(&ann, &waiting).await));
        assert!(kit.store().lost().is_some());
        // Waits that may never end are ended, and there are no new ones.
        assert!(is_lost(soon("the wait to end", outcome(kit.gate(), &bot, parked)).await));
        assert!(is_lost(soon("the stream to end", async { feed.next().await.map(drop) }).await));
        assert!(is_lost(kit.gate().wait(&bot, waiting.id, Until::Decided, Duration::from_mins(1)).await));
        assert!(is_lost(kit.gate().feed(None).await));
        kit.gate().get(&bot, request.id).await.expect("it can be read");
    }
}

/// A kit that remembers its acknowledged entries outside its database.
async fn remembering(backend: Backend) -> (Kit, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut setup = Setup::new(backend).await;
    setup.state = Some(folder.path().join("state"));
    (setup.start().await, folder)
}

async fn after_the_loss(backend: Backend) {
    let (mut kit, folder) = remembering(backend).await;
    let state = folder.path().join("state");
    let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
    let (request, waiting, claimed) =
        (kit.approved(&bot, &ann).await, kit.ask(&bot).await, kit.approved(&bot, &ann).await);
    claim(&kit, &bot, &claimed).await.unwrap();
    let copy = Copy::of(kit.place()).await;
    kit.restart().await;
    assert_eq!(kit.store().lost(), None, "nothing is missing");
    claim(&kit, &bot, &request).await.unwrap();
    let (location, clock): (Location, _) = (kit.place().location(), kit.clock().clone());
    let look = async || placet_store::look_for_loss(&location, &state).await.unwrap();
    kit.restart_after(async || {
        assert_eq!(look().await, None);
        copy.put_back().await;
    })
    .await;
    // A restart notices it, and reading changes nothing.
    assert!(kit.store().lost().is_some());
    assert!(is_lost(claim(&kit, &bot, &request).await));
    let done = kit
        .restart_after(async || {
            let loss = look().await.expect("a loss");
            assert!(loss.is_whole());
            assert_eq!(loss.concerned.iter().map(|known| known.request).collect::<Vec<_>>(), [request.id]);
            assert_eq!(loss.concerned[0].events, ["request.claimed"]);
            placet_store::recover(&location, &state, Some(&loss), clock).await.unwrap()
        })
        .await;
    assert_eq!(done.closed, 3);
    assert_eq!(kit.store().lost(), None);
    let states = [
        kit.read(request.id).await.state,
        kit.read(waiting.id).await.state,
        kit.read(claimed.id).await.state,
    ];
    assert_eq!(states, [State::Unknown, State::Cancelled, State::Unknown]);
    // A person resolves what is unknown, and work continues in the new epoch.
    let next = kit.approved(&bot, &ann).await;
    claim(&kit, &bot, &next).await.unwrap();
    // Another machine, which remembers an entry that was lost, knows by the new epoch that somebody dealt with it.
    kit.restart().await;
    assert_eq!(kit.store().lost(), None);
    let epoch = kit.store().head().await.unwrap().0;
    assert_eq!(epoch, done.epoch);
    kit.finish().await;
}

#[test]
fn a_restart_notices_the_loss_and_a_recovery_guesses_nothing_sqlite() {
    block_on(after_the_loss(Backend::Sqlite));
}

#[test]
fn a_restart_notices_the_loss_and_a_recovery_guesses_nothing_postgres() {
    block_on(after_the_loss(Backend::Postgres));
}

#[test]
fn an_idle_node_notices_by_itself() {
    block_on(async {
        let kit = Kit::start(Backend::Postgres).await;
        let bot = kit.agent("bot").await;
        let copy = Copy::of(kit.place()).await;
        kit.ask(&bot).await;
        copy.put_back().await;
        until("the node to notice", async || kit.store().lost().is_some()).await;
        kit.finish().await;
    });
}

#[test]
fn a_folder_that_was_copied_and_started_twice_is_noticed_and_another_ledger_is_not_taken_for_it() {
    block_on(async {
        let (kit, folder) = remembering(Backend::Sqlite).await;
        let bot = kit.agent("bot").await;
        let copy = Copy::of(kit.place()).await;
        kit.ask(&bot).await;
        let state = folder.path().join("state");
        // The copy, beside the original and under the same user.
        let elsewhere = folder.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        std::fs::copy(copy.1.as_ref().unwrap().path().join("copy.db"), elsewhere.join("placet.db")).unwrap();
        kit.finish().await;
        let clock = Arc::new(placet_testkit::FakeClock::new());
        let open = async |data: std::path::PathBuf| {
            let mut options = placet_store::Options::new(Location::Folder(data), clock.clone());
            options.state = Some(state.clone());
            placet_store::Store::open(options).await.unwrap()
        };
        let second = open(elsewhere).await;
        assert!(second.lost().is_some());
        second.close().await;
        let other = open(folder.path().join("other")).await;
        assert_eq!(other.lost(), None);
        other.close().await;
    });
}
