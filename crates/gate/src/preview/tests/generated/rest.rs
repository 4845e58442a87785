//! Calls of all other families, with one thing changed: what is not known must not be said.

use placet_core::visible;
use serde_json::{Map, Value, json};

use super::{
    super::{
        super::{deed::shapes, effect_of},
        corpus::{Call, calls, counts_arguments, unfounded},
    },
    ALL, Dice,
};

const STRANGE: &[&str] = &[
    "zz_extra",
    "dryRun2",
    "simulate_only",
    "if_then",
    "_meta2",
    "repeat_times",
    "on_behalf",
    "x-mode",
    "and nothing else",
];
const PREFIXES: &[&str] = &["cancel", "undo", "preview", "simulate", "explain", "unschedule", "mock"];
const TROUBLE: &[&str] = &[
    "x, and nothing else",
    "a to b",
    "safe\r; rm -rf /",
    "pay\u{202e}001",
    "zero\u{200b}width",
    "",
    " ",
    "a \"quoted\" one",
    "Delete 1 file: x",
    "(in /tmp)",
    "and 3 more",
    "../../etc/passwd",
    "p\u{430}ypal",
];

/// What was changed.
enum Change {
    /// This argument is unknown.
    More(String),
    /// The tool is another one.
    Tool,
    Other,
}

fn leaf(dice: &mut Dice) -> Value {
    match dice.below(8) {
        0 => json!(true),
        1 => json!(-12.5),
        2 => json!(null),
        3 => json!([]),
        4 => json!({"deep": {"er": [1, {"x": "y"}]}}),
        5 => json!("long ".repeat(1_000)),
        6 => json!(["a", "b, c", 3]),
        _ => json!(dice.one(TROUBLE)),
    }
}

/// The call with one change.
fn change(dice: &mut Dice, call: &Call) -> (String, Map<String, Value>, Change) {
    let (mut tool, mut arguments) = (call.tool.clone(), call.arguments.clone());
    let keys: Vec<String> = arguments.keys().cloned().collect();
    let key = keys.get(dice.below(keys.len())).cloned();
    match (dice.below(6), key) {
        (0 | 1, _) | (_, None) => {
            let name = dice.one(STRANGE).to_owned();
            arguments.insert(name.clone(), leaf(dice));
            (tool, arguments, Change::More(name))
        }
        (2, _) => {
            // Before the last part of its name.
            let at = tool
                .rfind(['/', '.', ':'])
                .map_or(0, |at| at + 1)
                .max(tool.rfind("__").map_or(0, |at| at + 2));
            tool.insert_str(at, &format!("{}_", dice.one(PREFIXES)));
            (tool, arguments, Change::Tool)
        }
        (3, Some(key)) => {
            arguments.insert(key, leaf(dice));
            (tool, arguments, Change::Other)
        }
        (4, Some(key)) => {
            arguments.remove(&key);
            (tool, arguments, Change::Other)
        }
        (_, Some(key)) => {
            arguments.insert(key, json!(dice.one(TROUBLE)));
            (tool, arguments, Change::Other)
        }
    }
}

/// What is wrong with the sentence about a changed call.
fn faults(tool: &str, arguments: &Map<String, Value>, change: &Change) -> Vec<String> {
    let said = effect_of(tool, arguments);
    let mut out = Vec::new();
    if said.chars().count() > 200 || !said.chars().all(visible) {
        out.push("is too long, or hides something".to_owned());
    }
    if counts_arguments(&said) {
        out.push("counts arguments".to_owned());
    }
    let strange = unfounded(tool, arguments, &said);
    if !strange.is_empty() {
        out.push(format!("speaks of {strange:?}"));
    }
    match change {
        Change::More(name) => {
            let named = said.starts_with("Unclear (") && said.contains(name.as_str());
            // A call that is not recognised names its arguments, as many as fit.
            if !named && !said.starts_with("Call ") {
                out.push(format!("does not name {name}"));
            }
        }
        Change::Tool => {
            let named = said.starts_with("Call ") || said.contains(": call ");
            if !named && !said.starts_with("Unclear, cannot be taken apart: call") {
                out.push("has a verb".to_owned());
            }
        }
        Change::Other => {}
    }
    out.into_iter()
        .map(|fault| format!("{tool} {}: {fault}: {said}", Value::Object(arguments.clone())))
        .collect()
}

fn family(files: &[&str], seed: u64) {
    let calls: Vec<Call> = calls().into_iter().filter(|call| files.contains(&call.family.as_str())).collect();
    assert!(calls.len() >= 20, "{files:?}");
    let mut dice = Dice(seed);
    let mut wrong = Vec::new();
    for _ in 0..ALL {
        let call = &calls[dice.below(calls.len())];
        let (tool, arguments, change) = change(&mut dice, call);
        wrong.extend(faults(&tool, &arguments, &change));
    }
    assert!(wrong.is_empty(), "{} of {ALL}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_changed_call_to_a_server_is_said_to_do_what_is_not_known() {
    family(&["http"], 19);
}

#[test]
fn no_changed_payment_is_said_to_do_what_is_not_known() {
    family(&["money"], 23);
}

#[test]
fn no_changed_message_is_said_to_do_what_is_not_known() {
    family(&["talk"], 29);
}

#[test]
fn no_changed_call_for_files_is_said_to_do_what_is_not_known() {
    family(&["files"], 31);
}

#[test]
fn no_changed_call_of_any_other_tool_is_said_to_do_what_is_not_known() {
    family(&["clouds", "hosts", "others"], 37);
}

#[test]
fn no_prefix_makes_another_known_tool() {
    for shape in shapes() {
        for tool in shape.tools {
            let first = tool.split('_').next().unwrap_or_default();
            assert!(
                !PREFIXES.contains(&first) || *tool == "cancel_subscription" || tool.starts_with("cancel_"),
                "{tool}"
            );
        }
    }
}
