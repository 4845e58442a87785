//! The promises of the server to its callers, compared with the requests in an opened image.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::node::life::may_follow;

/// The newest promise about one request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Promise {
    pub(super) version: i64,
    pub(super) state: String,
    pub(super) digest: Option<String>,
    /// The decision, if one was shown: word, people, digest.
    pub(super) decision: Option<String>,
    /// A permit was handed out.
    pub(super) claimed: bool,
}

/// Promises by request id.
pub(super) type Promises = HashMap<String, Promise>;

/// Notes what a record promises to its caller.
pub(super) fn learn(promises: &mut Promises, record: &Value) {
    let text = |name: &str| record.get(name).and_then(Value::as_str).map(str::to_owned);
    let (Some(id), Some(version)) = (text("id"), record.get("version").and_then(Value::as_i64)) else {
        return;
    };
    let promise = promises.entry(id).or_default();
    if version >= promise.version {
        promise.version = version;
        promise.state = text("state").unwrap_or_default();
        promise.digest = text("digest").or(promise.digest.take());
        if let Some(decision) = record.get("decision").filter(|decision| !decision.is_null()) {
            promise.decision = Some(decided(decision, "decision"));
        }
    }
}

/// A decision in one line; `word` names the field that holds its word.
pub(super) fn decided(decision: &Value, word: &str) -> String {
    let field = |name: &str| decision.get(name).unwrap_or(&Value::Null);
    format!("{} by {} on {}", field(word), field("by"), field("digest"))
}

/// One request in an opened image.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Row {
    pub(super) version: i64,
    pub(super) state: String,
    pub(super) digest: Option<String>,
    /// The decision, if there is one: word, people, digest.
    pub(super) decision: Option<String>,
}

/// Rows by request id.
pub(super) type Rows = BTreeMap<String, Row>;

/// Every promise that the rows break.
pub(super) fn lost(promises: &Promises, rows: &Rows) -> Vec<String> {
    let mut out = Vec::new();
    for (id, promise) in promises {
        let Some(row) = rows.get(id) else {
            out.push(format!(
                "{id} was acknowledged at version {} ({}) and is gone",
                promise.version, promise.state
            ));
            continue;
        };
        let told = format!("{id} was acknowledged at version {} as {}", promise.version, promise.state);
        if row.version < promise.version {
            out.push(format!("{told}, the disk has version {} ({})", row.version, row.state));
        } else if row.version == promise.version && row.state != promise.state {
            out.push(format!("{told}, the disk says {} for the same version", row.state));
        } else if !may_follow(&promise.state, &row.state) {
            out.push(format!("{told}, the disk says {}, which cannot follow", row.state));
        }
        if promise.claimed && !may_follow("claimed", &row.state) {
            out.push(format!("{id}: a permit was handed out, the disk says {}", row.state));
        }
        if let (Some(told), Some(has)) = (&promise.digest, &row.digest)
            && told != has
        {
            out.push(format!("{id}: the digest shown was {told}, the disk has {has}"));
        }
        if promise.decision.is_some() && promise.decision != row.decision {
            out.push(format!(
                "{id}: the decision {:?} was acknowledged, the disk has {:?}",
                promise.decision, row.decision
            ));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Promises, Row, Rows, decided, learn, lost};

    fn row(version: i64, state: &str) -> Rows {
        let decision = (state == "denied")
            .then(|| decided(&json!({"word": "deny", "by": ["ann"], "digest": "d"}), "word"));
        Rows::from([("r".to_owned(), Row { version, state: state.to_owned(), digest: None, decision })])
    }

    #[test]
    fn a_missing_older_or_contradicting_row_is_a_loss_and_a_later_one_is_not() {
        let mut promises = Promises::new();
        learn(&mut promises, &json!({"id": "r", "version": 2, "state": "approved", "decision": null}));
        assert_eq!(lost(&promises, &Rows::new()).len(), 1);
        assert_eq!(lost(&promises, &row(1, "pending")).len(), 1);
        assert_eq!(lost(&promises, &row(2, "denied")).len(), 1);
        assert_eq!(lost(&promises, &row(3, "denied")).len(), 1, "a denial cannot follow an approval");
        assert!(lost(&promises, &row(2, "approved")).is_empty());
        assert!(lost(&promises, &row(3, "claimed")).is_empty());
        promises.get_mut("r").unwrap().claimed = true;
        assert_eq!(lost(&promises, &row(2, "approved")).len(), 1, "the permit was handed out");
    }

    #[test]
    fn an_acknowledged_decision_must_be_the_one_on_the_disk() {
        let mut promises = Promises::new();
        learn(
            &mut promises,
            &json!({"id": "r", "version": 2, "state": "denied", "decision": {"decision": "deny", "by": ["ann"], "digest": "d", "at": "now"}}),
        );
        assert!(lost(&promises, &row(2, "denied")).is_empty());
        let mut rows = row(2, "denied");
        rows.get_mut("r").unwrap().decision = None;
        assert_eq!(lost(&promises, &rows).len(), 1);
    }

    #[test]
    fn an_older_answer_that_arrives_late_takes_nothing_back() {
        let mut promises = Promises::new();
        learn(&mut promises, &json!({"id": "r", "version": 3, "state": "claimed"}));
        learn(&mut promises, &json!({"id": "r", "version": 2, "state": "approved"}));
        assert_eq!((promises["r"].version, promises["r"].state.as_str()), (3, "claimed"));
    }
}
