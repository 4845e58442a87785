//! The state of the load: requests to work on, permits held, and operations without an answer.

use std::collections::HashMap;

use serde_json::Value;

use crate::node::rng::Rng;

/// One request, as in its last answer.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) id: String,
    pub(super) agent: String,
    pub(super) digest: String,
    pub(super) version: i64,
    pub(super) state: String,
    pub(super) number: i64,
    /// The secret of the claimant, after the first attempt to claim.
    pub(super) claimant: Option<String>,
    pub(super) permit: Option<String>,
    pub(super) waited: bool,
}

/// An operation that was sent and not answered.
#[derive(Debug, Clone)]
pub(super) struct UnansweredCall {
    pub(super) who: String,
    pub(super) path: String,
    pub(super) key: String,
    pub(super) body: Value,
    pub(super) target: Target,
}

/// The target of an operation.
#[derive(Debug, Clone)]
pub(super) enum Target {
    /// A new request; true if it asks to be claimed in the same call.
    Create(bool),
    /// A command on a request.
    Act { id: String, verb: String },
}

/// The load's view of one data folder.
#[derive(Debug, Default)]
pub(super) struct Board {
    items: Vec<Item>,
    places: HashMap<String, usize>,
    pub(super) unanswered: Vec<UnansweredCall>,
    pub(super) creates_left: u32,
}

impl Board {
    /// Adds a record. Older versions are ignored.
    pub(super) fn learn(&mut self, record: &Value) {
        let text = |name: &str| record.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (id, version) = (text("id"), record.get("version").and_then(Value::as_i64).unwrap_or(0));
        if id.is_empty() || version == 0 {
            return;
        }
        if let Some(item) = self.places.get(&id).and_then(|place| self.items.get_mut(*place)) {
            if version >= item.version {
                item.version = version;
                item.state = text("state");
            }
            return;
        }
        self.places.insert(id.clone(), self.items.len());
        self.items.push(Item {
            id,
            agent: text("agent"),
            digest: text("digest"),
            version,
            state: text("state"),
            number: super::book::marker(record.get("arguments")).unwrap_or(0),
            claimant: None,
            permit: None,
            waited: false,
        });
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Item> {
        self.places.get(id).and_then(|place| self.items.get_mut(*place))
    }

    /// A random request that fits; the newest one that fits in a third of the calls, so that callers meet.
    pub(super) fn pick(&self, rng: &mut Rng, fits: impl Fn(&Item) -> bool) -> Option<Item> {
        if self.items.is_empty() {
            return None;
        }
        if rng.percent(33) {
            return self.items.iter().rev().find(|item| fits(item)).cloned();
        }
        let from = rng.index(self.items.len());
        let (before, after) = self.items.split_at_checked(from)?;
        after.iter().chain(before).find(|item| fits(item)).cloned()
    }

    /// An operation of this principal without an answer.
    pub(super) fn take_unanswered(&mut self, who: &str) -> Option<UnansweredCall> {
        let place = self.unanswered.iter().position(|one| one.who == who)?;
        Some(self.unanswered.swap_remove(place))
    }
}
