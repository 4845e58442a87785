//! The pauses of real agents, as they came over the wire, and the answers that those agents took well or badly.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{fs, path::PathBuf};

use placet_a2a::{
    Version,
    pause::{self, Decided, Pause},
};
use placet_core::Kind;
use serde_json::{Value, json};

const HITL: &str = "https://kagent.dev/extensions/hitl/v1";

fn seen(name: &str) -> Value {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(format!("{name}.json"));
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

fn paused(seen: &Value) -> Pause {
    pause::detect(&seen["pause"]["status"]).unwrap().unwrap()
}

fn version(seen: &Value) -> Version {
    if seen["pause"]["status"]["state"] == "input-required" { Version::V03 } else { Version::V10 }
}

/// What an answer says, without what is decoration: its data parts, and the words of the extension.
fn said(message: &Value) -> (Vec<Value>, Value) {
    let data = message["parts"].as_array().unwrap().iter().filter(|part| part.get("data").is_some()).cloned();
    (data.collect(), message["metadata"][HITL].clone())
}

fn answered(seen: &Value, decisions: &[Decided]) -> (Vec<Value>, Value) {
    let task = &seen["pause"];
    let (id, context) = (task["id"].as_str().unwrap(), task["contextId"].as_str().unwrap());
    said(&paused(seen).answer(version(seen), "m", id, context, decisions).unwrap())
}

fn no(reason: &str) -> Decided {
    Decided::Rejected { reason: Some(reason.to_owned()) }
}

const MIXED: &str = "the first approved, the second rejected";
const YES: Decided = Decided::Approved;
const SILENT: Decided = Decided::Rejected { reason: None };

/// The answer that was taken as it was meant.
#[track_caller]
fn is_the_answer(name: &str, means: &str, decisions: &[Decided]) {
    let seen = seen(name);
    let answers = seen["answers"].as_array().unwrap();
    let taken = answers.iter().find(|answer| answer["means"] == means).unwrap();
    assert_eq!(taken["ends"], "completed", "{name}: {means}");
    assert_eq!(answered(&seen, decisions), said(&taken["message"]), "{name}: {means}");
}

#[test]
fn answers_are_spelled_as_google_adk_took_them() {
    for one in ["adk-2.13-one", "adk-2.13-one-0.3", "adk-2.13-local-sub-agent"] {
        is_the_answer(one, "approve", &[YES]);
    }
    is_the_answer("adk-2.13-one", "reject", &[no("keep it")]);
    is_the_answer("adk-2.13-one-0.3", "reject", &[SILENT]);
    is_the_answer("adk-2.13-payload", "approve", &[YES]);
    is_the_answer("adk-2.13-payload", "reject", &[no("not now")]);
    for several in ["adk-2.13-batch", "adk-2.13-remote-sub-agent"] {
        is_the_answer(several, MIXED, &[YES, SILENT]);
    }
}

#[test]
fn answers_are_spelled_as_kagent_took_them() {
    let answers = [Decided::Answered(json!("pg")), Decided::Answered(json!("it scales"))];
    is_the_answer("kagent-0.10.4-one", "approve", &[YES]);
    is_the_answer("kagent-0.10.4-one", "reject", &[no("keep it")]);
    is_the_answer("kagent-0.10.4-batch", MIXED, &[YES, no("too much")]);
    is_the_answer("kagent-0.10.4-sub-agent", MIXED, &[YES, no("not eve")]);
    is_the_answer("kagent-0.10.4-ask-user", "answer", &answers);
    is_the_answer("kagent-0.10.4-sub-agent-ask-user", "answer", &answers);
    let outer = "approve, reject, and the outer call rejected";
    is_the_answer("kagent-0.10.4-sub-agent-and-tool", outer, &[YES, no("no"), no("no")]);
    is_the_answer("kagent-main-batch", MIXED, &[YES, no("no")]);
    is_the_answer("kagent-main-ask-user", "answer", &answers);
}

/// Every way to decide on so many items: each approved (or answered), or rejected.
fn every_way(pause: &Pause) -> Vec<Vec<Decided>> {
    let ways = 0..1_u32 << pause.items.len();
    let decide = |way: u32| {
        let each = pause.items.iter().enumerate().map(|(index, item)| match way >> index & 1 {
            0 => no("no"),
            _ if item.create.kind == Kind::Input => Decided::Answered(json!("pg")),
            _ => YES,
        });
        each.collect()
    };
    ways.map(decide).collect()
}

#[test]
fn no_decision_is_spelled_as_one_of_the_mistakes_that_agents_punish() {
    let mistakes = [
        ("adk-2.13-batch", "one id left out"),
        ("kagent-0.10.4-batch", "one id left out: it runs"),
        ("kagent-0.10.4-sub-agent", "decided by the outer id: all inner calls run"),
        ("kagent-0.10.4-ask-user-and-tool", "an approved question without answers"),
        ("kagent-main-batch", "one id left out"),
    ];
    for (name, means) in mistakes {
        let seen = seen(name);
        let answers = seen["answers"].as_array().unwrap();
        let mistake = said(&answers.iter().find(|answer| answer["means"] == means).unwrap()["message"]);
        for decisions in every_way(&paused(&seen)) {
            assert_ne!(answered(&seen, &decisions), mistake, "{name}: {means}: {decisions:?}");
        }
    }
}

#[test]
fn answers_to_a_question_never_go_out_beside_a_rejected_call() {
    let seen = seen("kagent-0.10.4-ask-user-and-tool");
    let pause = paused(&seen);
    for decisions in every_way(&pause) {
        let (parts, _) = answered(&seen, &decisions);
        let rejects = decisions.iter().any(|decided| matches!(decided, Decided::Rejected { .. }));
        assert_eq!(parts[0]["data"].get("ask_user_answers").is_some(), !rejects, "{decisions:?}");
    }
}

#[test]
fn a_pause_that_no_answer_fits_is_refused() {
    let seen = seen("kagent-main-sub-agent-and-tool");
    let refused = pause::detect(&seen["pause"]["status"]);
    assert!(refused.is_err(), "{refused:?}");
}

#[test]
fn a_number_that_the_agent_shows_wrong_is_kept_as_text() {
    for name in ["adk-2.13-batch", "kagent-0.10.4-one", "kagent-main-batch"] {
        let pause = paused(&seen(name));
        let arguments = pause.items[0].create.arguments.clone().unwrap();
        assert!(arguments.keys().eq(["arguments_json"]), "{name}: {arguments:?}");
    }
    // The largest that is exact stays a number.
    let payment = paused(&seen("kagent-0.10.4-batch")).items[1].create.arguments.clone().unwrap();
    assert_eq!(payment["amount"], json!(9_007_199_254_740_991_u64));
}
