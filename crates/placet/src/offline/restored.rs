//! The state after a restore: the keys, people and policy of the backup. Later changes to them are undone.

use std::sync::Arc;

use placet_core::{Actor, Key, Person, Role};
use placet_gate::{Gate, NewKey, PolicyView, Settings, SystemClock, SystemEntropy};
use placet_store::{Location, Options, RestoreReport, Store};
use serde_json::{Value, json};

use crate::output::{self, STRONG, paint, safe};

/// Who can do what after a restore, with dates.
pub(super) struct RestoredAccess {
    as_of: String,
    keys: Vec<Arc<Key>>,
    people: Vec<(String, Person, Option<String>)>,
    policy: PolicyView,
    revoked: Option<RevokedKeys>,
}

/// All keys of the backup were revoked.
struct RevokedKeys {
    keys: usize,
    // A new admin key, if the last one was revoked: name and key.
    admin: Option<(String, String)>,
}

impl RestoredAccess {
    /// Reads it from the restored data, and revokes all keys there if asked to.
    pub(super) async fn after(
        report: &RestoreReport,
        location: Location,
        revoke_keys: bool,
    ) -> anyhow::Result<Self> {
        let clock = Arc::new(SystemClock::new());
        let store = Arc::new(Store::open(Options::new(location, clock)).await?);
        let gate = Gate::start(store, Arc::new(SystemEntropy), Settings::default()).await?;
        let standing = Self::read(&gate, report, revoke_keys).await;
        gate.close().await;
        standing
    }

    async fn read(gate: &Gate, report: &RestoreReport, revoke_keys: bool) -> anyhow::Result<Self> {
        let directory = gate.store().directory();
        let working = directory.keys.keys().filter_map(|id| directory.live_key(*id));
        let mut keys: Vec<Arc<Key>> = working.cloned().collect();
        keys.sort_by_key(|key| (key.created_at, key.id));
        let changed = |name: &str| report.people.get(name).cloned();
        let people = directory.people.iter();
        let people = people.map(|(name, person)| (name.clone(), person.clone(), changed(name))).collect();
        let policy = gate.policy(&Actor::system()).await?;
        let revoked = if revoke_keys { Some(RevokedKeys::all(gate, &keys).await?) } else { None };
        let as_of = report.as_of.clone().unwrap_or_default();
        Ok(Self { as_of, keys, people, policy, revoked })
    }

    /// For programs.
    pub(super) fn add_to(&self, said: &mut Value) {
        let keys = self.keys.iter().map(|key| {
            json!({"id": key.id, "role": key.role, "name": key.name, "owner": key.owner, "created_at": key.created_at})
        });
        let people = self.people.iter().map(|(name, person, changed)| {
            json!({"name": name, "roles": person.roles, "teams": person.teams, "changed_at": changed})
        });
        said["as_of"] = json!(self.as_of);
        said["keys"] = keys.collect();
        said["people"] = people.collect();
        said["policy"] = json!({
            "name": self.policy.name, "hash": self.policy.hash, "source": self.policy.source, "by": self.policy.by,
            "at": self.policy.at,
        });
        said["revoked_keys"] = json!(self.revoked.as_ref().map(|revoked| revoked.keys));
        let admin = self.revoked.as_ref().and_then(|revoked| revoked.admin.as_ref());
        said["admin_key"] = json!(admin.map(|(name, key)| json!({"name": name, "key": key})));
    }

    /// For people.
    pub(super) fn say(&self) -> anyhow::Result<()> {
        output::line(&format!(
            "\nEverything stands as it did at {}. Whatever was revoked, removed or tightened after that is undone.\n\
             Look through these lists, and do it again where it was.",
            safe(&self.as_of)
        ))?;
        let ended = if self.revoked.is_some() { ", all of them ended now" } else { "" };
        output::line(&paint(STRONG, &format!("\nKeys that work in the backup{ended}:")))?;
        for key in &self.keys {
            let owner =
                key.owner.as_ref().map_or_else(String::new, |owner| format!(", owner {}", safe(owner)));
            output::line(&format!(
                "  {}  {} {}{owner}, made {}",
                key.id,
                key.role,
                safe(&key.name),
                key.created_at
            ))?;
        }
        output::line(&paint(STRONG, "\nPeople:"))?;
        for (name, person, changed) in &self.people {
            let roles: Vec<String> = person.roles.iter().map(ToString::to_string).collect();
            let teams: Vec<String> =
                person.teams.iter().map(|team| format!(", team {}", safe(team))).collect();
            let teams = teams.concat();
            let changed =
                changed.as_deref().map_or_else(String::new, |at| format!(", last changed {}", safe(at)));
            output::line(&format!("  {}: {}{teams}{changed}", safe(name), roles.join(", ")))?;
        }
        let name = self.policy.name.as_deref().unwrap_or("-");
        let put = match (&self.policy.by, &self.policy.at) {
            (Some(by), Some(at)) => format!(", put by {} at {at}", safe(by)),
            _ => ", which is built in".to_owned(),
        };
        output::line(&format!("\n{} {} {}{put}", paint(STRONG, "Policy:"), safe(name), self.policy.hash))?;
        match &self.revoked {
            None => output::line(
                "\n`--revoke-keys` would have ended all keys. One by one: `placet key revoke ID`.",
            )?,
            Some(RevokedKeys { keys, admin: None }) => output::line(&format!("\n{keys} keys were ended."))?,
            Some(RevokedKeys { keys, admin: Some((name, key)) }) => output::line(&format!(
                "\n{keys} keys were ended. This is a new key of the admin {}; it is shown once:\n  {key}",
                safe(name)
            ))?,
        }
        Ok(())
    }
}

impl RevokedKeys {
    /// Revokes these keys as `placet key revoke` does. An admin gets a new one first, because at least one must
    /// remain.
    async fn all(gate: &Gate, keys: &[Arc<Key>]) -> anyhow::Result<Self> {
        let mut admin = None;
        if let Some(first) = keys.iter().find(|key| key.role == Role::Admin) {
            let new = NewKey { role: Role::Admin, name: first.name.clone(), owner: None };
            let made = gate.create_key(&Actor::system(), new, None).await?;
            admin = made.secret.map(|key| (first.name.clone(), key));
        }
        for key in keys {
            gate.revoke_key(&Actor::system(), key.id, false).await?;
        }
        Ok(Self { keys: keys.len(), admin })
    }
}
