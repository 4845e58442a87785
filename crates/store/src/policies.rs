//! Policies, standing approvals and trust as both databases store them.

use std::{sync::Arc, time::Duration};

use placet_core::{AdminEvent, Directory, Grant, GrantEnd, GrantId, GrantKey, Time};

use crate::StoreError;

/// One policy that was put in force, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyVersion {
    /// The entry that put it.
    pub seq: u64,
    /// Its hash.
    pub hash: String,
    /// Where it came from.
    pub source: String,
    /// Who put it.
    pub by: String,
    /// When.
    pub at: Time,
}

/// A standing approval and how often it was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantUse {
    /// What was given.
    pub grant: Arc<Grant>,
    /// How often it was used.
    pub used: u32,
}

/// A standing approval that ended without a revocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedGrant {
    /// What was given.
    pub grant: Arc<Grant>,
    /// How often it was used.
    pub used: u32,
    /// When it ended.
    pub at: Time,
}

/// What an upgrade ended: standing approvals, and how many kinds of calls were trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndedAtUpgrade {
    /// Standing approvals, the newest first. Those that ended long ago are not kept.
    pub grants: Vec<EndedGrant>,
    /// Kinds of calls whose approvals had been counted.
    pub trust: u64,
}

/// Standing approvals that ended for this reason, the newest first; and how much trust was dropped.
pub(crate) const ENDED: &str =
    "SELECT data, used, ended_at FROM grants WHERE ended_why = 'upgrade' ORDER BY id DESC LIMIT 1000";
pub(crate) const DROPPED: &str = "SELECT value FROM meta WHERE name = 'dropped_trust'";

impl EndedGrant {
    pub(crate) fn read(data: &str, used: u32, at: i64) -> Result<Self, StoreError> {
        Ok(Self { grant: Arc::new(serde_json::from_str(data)?), used, at: Time::from_micros(at) })
    }
}

/// A policy to be stored.
#[derive(Debug)]
pub(crate) struct PolicyRow {
    pub(crate) version: PolicyVersion,
    pub(crate) text: Arc<str>,
}

/// A standing approval to be stored.
#[derive(Debug)]
pub(crate) struct GrantRow {
    pub(crate) grant: Arc<Grant>,
    pub(crate) key: Option<GrantKey>,
}

impl GrantRow {
    pub(crate) fn digest(&self) -> Option<&[u8]> {
        match &self.key {
            Some(GrantKey::Same(digest)) => Some(digest),
            _ => None,
        }
    }

    pub(crate) fn pattern(&self) -> Option<&str> {
        match &self.key {
            Some(GrantKey::Pattern(pattern)) => Some(pattern),
            _ => None,
        }
    }
}

/// How often people approved the same, as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TrustRow {
    pub(crate) count: u32,
    pub(crate) at: Time,
    /// The entry of the approval that was counted last.
    pub(crate) seq: u64,
}

/// Approvals older than this count no more, unless one was repeated.
pub(crate) const IDLE: Duration = Duration::from_hours(30 * 24);

impl TrustRow {
    /// Without any approval.
    pub(crate) fn none() -> Self {
        Self { count: 0, at: Time::default(), seq: 0 }
    }

    /// How many count now.
    pub(crate) fn standing(self, now: Time) -> u32 {
        if now < self.at.plus(IDLE) { self.count } else { 0 }
    }

    /// The row after a change.
    pub(crate) fn after(self, change: TrustChange, now: Time) -> Self {
        match change {
            TrustChange::Reset => Self::none(),
            TrustChange::Failed => Self { count: self.count.saturating_sub(1), ..self },
            TrustChange::Approved { asked, seq } if asked > self.seq => {
                Self { count: self.standing(now).saturating_add(1), at: now, seq }
            }
            TrustChange::Approved { .. } => self,
        }
    }
}

/// The last moment that is too long ago.
pub(crate) fn idle_before(now: Time) -> Time {
    Time::from_micros(now.micros().saturating_sub(i64::try_from(IDLE.as_micros()).unwrap_or(i64::MAX)))
}

/// What happens to the trust in one kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrustChange {
    /// A no: whatever there was is void, in every folder.
    Reset,
    /// A yes. It counts only if the request was made after the yes that was counted before: three that waited together
    /// were looked at once.
    Approved {
        /// The entry that made the request.
        asked: u64,
        /// The entry of this yes.
        seq: u64,
    },
    /// What was approved failed, or its outcome is unknown: that approval does not count.
    Failed,
}

/// A stored row of a standing approval that is in force: its JSON, and its keyed digest or its pattern.
pub(crate) type StoredGrant = (String, Option<Vec<u8>>, Option<String>);

/// Puts policy and standing approvals into the directory.
pub(crate) fn attach(
    directory: &mut Directory,
    policy: Option<String>,
    grants: impl IntoIterator<Item = StoredGrant>,
) -> Result<(), StoreError> {
    directory.policy = policy;
    for (data, digest, pattern) in grants {
        let grant: Grant = serde_json::from_str(&data)?;
        let key = match (digest, pattern) {
            (Some(digest), _) => Some(GrantKey::Same(crate::rows::bytes32(&digest)?)),
            (None, pattern) => pattern.map(|pattern| GrantKey::Pattern(pattern.into())),
        };
        directory.grant_keys.extend(key.map(|key| (grant.id, key)));
        directory.grants.insert(grant.id, Arc::new(grant));
    }
    Ok(())
}

/// A standing approval that ends, and why if it was not revoked.
pub(crate) type GrantEnding = (GrantId, Option<GrantEnd>);

/// The standing approvals that one event ended, and those that it gave.
pub(crate) fn changed(
    before: &Directory,
    after: &Directory,
    event: &AdminEvent,
) -> (Vec<GrantEnding>, Vec<GrantRow>) {
    let why = match event {
        AdminEvent::GrantRevoked { why, .. } => *why,
        _ => None,
    };
    let ended = before.grants.keys().filter(|id| !after.grants.contains_key(id));
    let ended = ended.map(|id| (*id, why)).collect();
    let new = after.grants.iter().filter(|(id, _)| !before.grants.contains_key(id));
    let new = new
        .map(|(id, grant)| GrantRow { grant: grant.clone(), key: after.grant_keys.get(id).cloned() })
        .collect();
    (ended, new)
}
