//! The ledger as readers saw it: it only grows, has one entry per version, and links every entry to the one before.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::digest::{canonical, sha256};
use crate::node::http::Http;

/// Every entry that any reader saw, by number.
#[derive(Debug, Default)]
pub(super) struct Chain {
    entries: BTreeMap<u64, Value>,
}

/// The entries of a page.
fn items(page: &Value) -> impl Iterator<Item = (u64, &Value)> {
    let entries = page.get("items").and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| Some((entry.get("seq")?.as_u64()?, entry)))
}

/// The number of the last entry of a page.
pub(super) fn last(page: &Value) -> Option<u64> {
    items(page).last().map(|(seq, _)| seq)
}

impl Chain {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds a page. Returns contradictions to earlier pages in words.
    pub(super) fn seen(&mut self, page: &Value) -> Vec<String> {
        let mut wrong = Vec::new();
        for (seq, entry) in items(page) {
            match self.entries.get(&seq) {
                Some(before) if before != entry => {
                    wrong.push(format!("ledger entry {seq} was {before} and is {entry}"));
                }
                Some(_) => {}
                None => {
                    self.entries.insert(seq, entry.clone());
                }
            }
        }
        wrong
    }

    /// Reads the whole ledger: everything seen before must still be there, unchanged and without gaps.
    pub(super) fn read_back(&mut self, http: &mut Http) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        let mut after = 0;
        loop {
            let answer =
                http.get(&format!("/v1/ledger?after={after}&limit=1000"), Duration::from_secs(30))?;
            if answer.status != 200 {
                bail!("GET /v1/ledger answered {}: {}", answer.status, answer.text());
            }
            let page = answer.json()?;
            for (seq, _) in items(&page) {
                if seq != after + 1 {
                    wrong.push(format!("the ledger goes from entry {after} to entry {seq}"));
                }
                after = seq;
            }
            wrong.extend(self.seen(&page));
            if last(&page).is_none() {
                break;
            }
        }
        if let Some((last, entry)) = self.entries.last_key_value()
            && *last > after
        {
            wrong.push(format!(
                "the ledger ends at entry {after}, but entry {last} was shown before: {entry}"
            ));
        }
        wrong.extend(self.linked());
        Ok(wrong)
    }

    /// Every entry's bytes give its hash, and the next entry names that hash.
    fn linked(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut before = format!("sha256:{}", "0".repeat(64));
        for (seq, item) in &self.entries {
            let entry = item.get("entry").unwrap_or(&Value::Null);
            let field = |name: &str| entry.get(name).cloned().unwrap_or_default();
            if field("prev") != json!(before) || field("seq") != json!(seq) {
                wrong.push(format!("ledger entry {seq} comes after {before}, but says {entry}"));
            }
            let text = canonical(entry);
            before =
                text.map(|text| sha256(format!("placet/entry/v1\n{text}").as_bytes())).unwrap_or_default();
            if item.get("hash") != Some(&json!(before)) {
                wrong.push(format!("ledger entry {seq} is {item}, but its bytes give {before}"));
            }
        }
        wrong
    }

    /// Exactly one entry for every version of every request.
    pub(super) fn agrees(&self, records: &BTreeMap<String, Value>) -> Vec<String> {
        let mut versions: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for entry in self.entries.values().filter_map(|item| item.get("entry")) {
            let id = entry.get("request").and_then(Value::as_str);
            let version = entry.get("version").and_then(Value::as_u64);
            if let (Some(id), Some(version)) = (id, version) {
                versions.entry(id).or_default().push(version);
            }
        }
        let mut wrong = Vec::new();
        for (id, record) in records {
            let upto = record.get("version").and_then(Value::as_u64).unwrap_or(0);
            let found = versions.remove(id.as_str()).unwrap_or_default();
            if found != (1..=upto).collect::<Vec<u64>>() {
                wrong.push(format!("{id} is at version {upto}, its ledger entries are {found:?}"));
            }
        }
        wrong.extend(
            versions
                .into_iter()
                .map(|(id, found)| format!("the ledger has {found:?} for {id}, which is not there")),
        );
        wrong
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::super::digest::{canonical, sha256};
    use super::Chain;

    fn entries(length: u64) -> Vec<Value> {
        let mut prev = format!("sha256:{}", "0".repeat(64));
        (1..=length)
            .map(|seq| {
                let entry = json!({"v": 1, "seq": seq, "prev": prev, "request": "req_1", "version": seq});
                prev = sha256(format!("placet/entry/v1\n{}", canonical(&entry).unwrap()).as_bytes());
                json!({"seq": seq, "hash": prev, "entry": entry})
            })
            .collect()
    }

    fn chain(entries: &[Value]) -> (Chain, Vec<String>) {
        let mut chain = Chain::default();
        let wrong = chain.seen(&json!({"items": entries}));
        (chain, wrong)
    }

    #[test]
    fn an_honest_chain_is_linked_and_agrees_with_its_records() {
        let (chain, wrong) = chain(&entries(4));
        assert!(wrong.is_empty() && chain.linked().is_empty());
        assert!(chain.agrees(&BTreeMap::from([("req_1".into(), json!({"version": 4}))])).is_empty());
    }

    #[test]
    fn a_changed_entry_breaks_its_hash_and_a_missing_one_the_link() {
        let mut changed = entries(4);
        changed[2]["entry"]["request"] = json!("req_2");
        assert_eq!(chain(&changed).0.linked().len(), 2, "its own hash, and the link of the next");
        let mut missing = entries(4);
        missing.remove(1);
        assert_eq!(chain(&missing).0.linked().len(), 1);
    }

    #[test]
    fn an_entry_that_reads_differently_later_is_noticed() {
        let (mut chain, _) = chain(&entries(3));
        let mut later = entries(3);
        later[1]["entry"]["version"] = json!(9);
        assert_eq!(chain.seen(&json!({"items": later})).len(), 1);
    }

    #[test]
    fn a_version_without_an_entry_and_an_entry_without_a_request_are_noticed() {
        let (chain, _) = chain(&entries(3));
        assert_eq!(chain.agrees(&BTreeMap::from([("req_1".into(), json!({"version": 4}))])).len(), 1);
        assert_eq!(chain.agrees(&BTreeMap::new()).len(), 1);
    }
}
