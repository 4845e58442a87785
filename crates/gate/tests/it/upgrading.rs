//! A database of version 0.2.0 under the gate: which grants stay valid, and who sees them.

use std::sync::Arc;

use placet_core::{Actor, Auth, Role, Scope};
use placet_gate::{Gate, Settings};
use placet_store::Store;
use placet_testkit::{Backend, FakeClock, Place, SeededEntropy, both, lay_out_version_0_2};

const SQLITE_HEAD: &str = "sha256:ce290c82b3179ab032b0f0a36585a26112c8b0148477c6c6412e470abd31fd87";

async fn open(place: &Place) -> Gate {
    let store = Store::open(place.options(Arc::new(FakeClock::new()))).await.unwrap();
    Gate::start(Arc::new(store), Arc::new(SeededEntropy::default()), Settings::default()).await.unwrap()
}

fn person(role: Role, name: &str) -> Actor {
    Actor { name: name.to_owned(), role, key: None, session: None, auth: Auth::Token }
}

both! {
    async fn standing_approvals_of_version_0_2_0_on_commands_end_with_an_entry_each_and_are_listed(backend: Backend) {
        let place = Place::new(backend).await;
        lay_out_version_0_2(&place).await;
        let before = place.verify().await.unwrap();
        let gate = open(&place).await;
        assert_eq!(gate.store().directory().grants.len(), 2);
        assert_eq!(gate.end_outgrown().await.unwrap(), 1);
        assert_eq!(gate.end_outgrown().await.unwrap(), 0, "once");
        let left: Vec<_> = gate.store().directory().grants.values().cloned().collect();
        assert!(matches!(&left[..], [edit] if edit.tool == "Edit" && matches!(edit.scope, Scope::Session { .. })), "{left:?}");
        // What has expired by now has entries of its own.
        let entries = gate.store().ledger(before.entries, 100).await.unwrap();
        let ended: Vec<_> = entries.iter().filter(|row| row.text.contains("grant.revoked")).collect();
        assert_eq!(ended.len(), 1);
        let entry: serde_json::Value = serde_json::from_str(&ended[0].text).unwrap();
        assert_eq!((&entry["data"]["type"], &entry["data"]["why"]), (&"grant.revoked".into(), &"upgrade".into()));
        assert_eq!(entry["by"]["name"], Actor::system().name);
        // Only ann and the admins see what it was.
        for (role, name, seen) in [(Role::Reviewer, "ann", 1), (Role::Admin, "root", 1), (Role::Reviewer, "bob", 0)] {
            let ended = gate.outgrown(&person(role, name)).await.unwrap();
            assert_eq!((ended.grants.len(), ended.trust), (seen, 0), "{name}");
            for one in &ended.grants {
                assert_eq!((one.grant.by.as_str(), one.grant.tool.as_str(), one.used), ("ann", "Bash", 0));
                assert!(one.covered.contains("in whatever folder") && one.covered.contains("npm test"), "{}", one.covered);
            }
        }
        gate.close().await;
        drop(gate);
        let gate = open(&place).await;
        assert_eq!(gate.outgrown(&person(Role::Admin, "root")).await.unwrap().grants.len(), 1, "after a restart too");
        gate.close().await;
        let after = place.verify().await.unwrap();
        assert!(after.entries > before.entries);
        if backend == Backend::Sqlite {
            assert_eq!(before.head.to_string(), SQLITE_HEAD);
            assert!(entries[0].text.contains(SQLITE_HEAD), "it stands on what version 0.2.0 wrote: {}", entries[0].text);
        }
    }
}
