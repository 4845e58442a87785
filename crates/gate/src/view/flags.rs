//! What to look at twice: what may deceive, and what policy stumbled over, each with its place on the card.

use placet_core::{CardFlag, DisplayField, Effect, Request, show, visible};

use super::subject::Subject;
use crate::preview;

/// The flags of a request. They are not part of the digest: the sentence of a warning may change with the server.
pub(super) fn flagged(request: &Request, subject: &Subject<'_>, leaves: &[DisplayField]) -> Vec<CardFlag> {
    let mut out = Vec::new();
    for warning in preview::warnings(request) {
        if let Some(flag) = placed(&warning.pointer, warning.text, subject, leaves) {
            out.push(flag);
        }
    }
    if matches!(request.verdict.effect, Effect::Hold | Effect::Deny) {
        let reasons = request.verdict.reasons.iter();
        out.extend(reasons.map(|reason| CardFlag { pointer: argument(reason, leaves), why: drawn(reason) }));
    }
    out
}

/// A warning at its leaf. Warnings about what was replaced are left out.
fn placed(pointer: &str, why: String, subject: &Subject<'_>, leaves: &[DisplayField]) -> Option<CardFlag> {
    if pointer.is_empty() {
        return Some(CardFlag { pointer: String::new(), why });
    }
    let moved = moved(pointer, subject);
    if let Some(pointer) = leaf(moved.as_deref().unwrap_or(pointer), leaves) {
        return Some(CardFlag { pointer, why });
    }
    let aside = [
        ("/summary", "In the agent's summary"),
        ("/group", "In the name of the group"),
        ("/arguments_schema", "In the schema for edits"),
    ];
    let (_, place) = aside.iter().find(|(at, _)| is_below(pointer, at))?;
    Some(CardFlag { pointer: String::new(), why: format!("{place}: {why}") })
}

/// The place of the arguments that replace those of a step.
fn moved(pointer: &str, subject: &Subject<'_>) -> Option<String> {
    let (index, rest) = pointer.strip_prefix("/steps/")?.split_once("/arguments")?;
    Some(format!("{}{rest}", subject.replaced_step(index.parse().ok()?)?))
}

/// The leaf at a place, or the first one below it.
fn leaf(pointer: &str, leaves: &[DisplayField]) -> Option<String> {
    leaves.iter().find(|leaf| is_below(&leaf.pointer, pointer)).map(|leaf| leaf.pointer.clone())
}

fn is_below(pointer: &str, at: &str) -> bool {
    pointer.strip_prefix(at).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The argument that a reason of policy names; empty if it names none.
fn argument(reason: &str, leaves: &[DisplayField]) -> String {
    let named = ["argument `", "which does not list `"].iter().find_map(|before| {
        let (_, rest) = reason.split_once(before)?;
        rest.split_once('`').map(|(name, _)| name)
    });
    let Some(name) = named.filter(|name| !name.is_empty()) else { return String::new() };
    let places = ["/arguments", "/proposal/arguments", "/decision/arguments"];
    let of = |leaf: &&DisplayField| {
        places.iter().any(|at| {
            let Some(rest) = leaf.pointer.strip_prefix(at).and_then(|rest| rest.strip_prefix('/')) else {
                return false;
            };
            let key = rest.split('/').next().unwrap_or(rest);
            // A reason has at most so much of a name that an agent chose.
            key == name || (name.chars().count() == 60 && key.starts_with(name))
        })
    };
    leaves.iter().find(of).map(|leaf| leaf.pointer.clone()).unwrap_or_default()
}

/// A reason is written by policy, which has drawn what it took from the call.
fn drawn(reason: &str) -> String {
    if reason.chars().all(visible) { reason.to_owned() } else { show(reason) }
}
