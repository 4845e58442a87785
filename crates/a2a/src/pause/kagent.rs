//! The answers of kagent's releases: one data part with `decision_type`, keyed by the ids of the original calls.

use serde_json::{Map, Value, json};

use super::{Call, Reply, Word, call};
use crate::Part;

/// What can be said at once. kagent takes a call that an answer does not name for approved, and one that has answers to
/// questions for approved as well, whatever else it says; so where those would let through what was rejected, all is rejected.
pub(super) fn settle(calls: &[Call], words: Vec<Word>) -> Vec<Word> {
    let rejected = |word: &Word| matches!(word, Word::Rejected(_));
    if !words.iter().any(rejected) {
        return words;
    }
    // A no inside a batch does not reach the agent behind the agent behind the agent, which would then go ahead.
    let unheard = calls.iter().zip(&words).any(|(call, word)| call.nested && call.relayed && rejected(word));
    words
        .into_iter()
        .map(|word| match word {
            Word::Approved if unheard => Word::Rejected(Some(
                "approved, but not run: another call of this pause was rejected, and only a no to all of them reaches it"
                    .to_owned(),
            )),
            Word::Answered(_) => Word::Rejected(Some(
                "answered, but not told: another call of this pause was rejected, and answers would let it run".to_owned(),
            )),
            other => other,
        })
        .collect()
}

/// `approve` or `reject` when all of it is; otherwise `batch`, which names every call.
pub(super) fn reply(calls: &[Call], words: &[Word]) -> Reply {
    let rejected = words.iter().filter(|word| matches!(word, Word::Rejected(_))).count();
    let answered = words.iter().find_map(|word| match word {
        Word::Answered(answers) => Some(answers),
        _ => None,
    });
    // One word for all has one reason for all, but it is the only no that agents behind agents are sure to hear.
    let alike = words.windows(2).all(|pair| pair.first() == pair.last());
    let data = if rejected == words.len() && (alike || calls.iter().any(|call| call.nested)) {
        match reasons(calls, words) {
            Some(reason) => json!({"decision_type": "reject", "rejection_reason": reason}),
            None => json!({"decision_type": "reject"}),
        }
    } else if rejected > 0 {
        batch(calls, words)
    } else if let Some(answers) = answered {
        json!({"decision_type": "approve", "ask_user_answers": call::answers(answers)})
    } else {
        json!({"decision_type": "approve"})
    };
    Reply { parts: vec![Part::data(data)], ..Reply::default() }
}

fn batch(calls: &[Call], words: &[Word]) -> Value {
    let (mut decisions, mut reasons) = (Map::new(), Map::new());
    for (call, word) in calls.iter().zip(words) {
        let said = if *word == Word::Approved { "approve" } else { "reject" };
        decisions.insert(call.id.clone(), json!(said));
        if let Word::Rejected(Some(reason)) = word {
            reasons.insert(call.id.clone(), json!(reason));
        }
    }
    let mut data = json!({"decision_type": "batch", "decisions": decisions});
    if let (Some(data), false) = (data.as_object_mut(), reasons.is_empty()) {
        data.insert("rejection_reasons".to_owned(), Value::Object(reasons));
    }
    data
}

/// One reason for all: the one that all have, or each with its tool.
pub(super) fn reasons(calls: &[Call], words: &[Word]) -> Option<String> {
    let each: Vec<(&str, Option<&str>)> = calls
        .iter()
        .zip(words)
        .map(|(call, word)| match word {
            Word::Rejected(reason) => (call.tool.as_str(), reason.as_deref()),
            _ => (call.tool.as_str(), None),
        })
        .collect();
    match each.as_slice() {
        [] => None,
        [(_, first), rest @ ..] if rest.iter().all(|(_, reason)| reason == first) => first.map(str::to_owned),
        several => {
            let said = several.iter().filter_map(|(tool, reason)| Some(format!("{tool}: {}", (*reason)?)));
            Some(said.collect::<Vec<_>>().join("; "))
        }
    }
}
