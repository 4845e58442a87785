//! For any pause in any dialect: the answer covers exactly what waits, and lets through exactly what was approved.
//!
//! Each answer is read the way its agent reads it, mistakes included: what an agent takes for a yes counts as one.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::desk::{AGENTSTACK, DIGESTED_KEY, said};

/// What the agent would do with one call.
#[derive(Debug, Clone, PartialEq)]
enum CallOutcome {
    Run,
    Refuse,
}

/// How an agent pauses, and how it reads the answer: what becomes of each of its calls.
#[derive(Debug, Clone, Copy)]
enum Agent {
    Hitl,
    Kagent,
    Adk,
    First,
    Kit,
    Agentstack,
    Digested,
}

const AGENTS: [Agent; 7] =
    [Agent::Hitl, Agent::Kagent, Agent::Adk, Agent::First, Agent::Kit, Agent::Agentstack, Agent::Digested];

fn id(index: usize) -> String {
    format!("call-{index}")
}

impl Agent {
    /// How many calls it can pause on at once.
    fn most(self) -> usize {
        if matches!(self, Self::Agentstack | Self::Digested) { 1 } else { 6 }
    }

    fn status(self, calls: usize) -> Value {
        let args = json!({"path": "/x", "n": 9_007_199_254_740_991_i64});
        let (mut parts, mut metadata) = (Vec::new(), json!({}));
        match self {
            Self::Hitl => {
                let tools: Vec<Value> = (0..calls)
                    .map(|n| json!({"id": id(n), "call_id": "c", "name": "rm", "args": args}))
                    .collect();
                metadata[KAGENT] = json!({"type": "tool_approval_request", "tools": tools});
            }
            Self::Agentstack => {
                metadata[AGENTSTACK] = json!({"action": "tool-call", "name": "rm", "input": args});
            }
            Self::Digested => {
                metadata[DIGESTED_KEY] = json!({"requestId": id(0), "summary": "s", "digest": "sha256:00"});
            }
            Self::Kagent | Self::Adk => {
                let prefix = if matches!(self, Self::Adk) { "adk_" } else { "kagent_" };
                parts.extend((0..calls).map(|n| {
                    json!({"data": {"name": "adk_request_confirmation", "id": format!("confirm-{n}"),
                        "args": {"originalFunctionCall": {"id": id(n), "name": "rm", "args": args}}},
                        "metadata": {format!("{prefix}type"): "function_call"}})
                }));
            }
            Self::First => {
                let calls: Vec<Value> =
                    (0..calls).map(|n| json!({"id": id(n), "name": "rm", "args": args})).collect();
                parts.push(json!({"data": {"interrupt_type": "tool_approval", "action_requests": calls}}));
            }
            Self::Kit => parts.extend((0..calls).map(|n| {
                json!({"data": {"type": "approval_request", "id": id(n), "action": "rm", "parameters": args}})
            })),
        }
        json!({"state": "TASK_STATE_INPUT_REQUIRED",
            "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": parts, "metadata": metadata}})
    }

    /// What becomes of each call; an answer that would end the task or be taken for chatter is none at all.
    fn hears(self, answer: &Value, calls: usize) -> Option<Vec<CallOutcome>> {
        // Without both ids the agent opens another conversation.
        answer["taskId"].as_str().filter(|id| !id.is_empty())?;
        answer["contextId"].as_str().filter(|id| !id.is_empty())?;
        let data: Vec<&Value> =
            answer["parts"].as_array()?.iter().filter_map(|part| part.get("data")).collect();
        let word = |yes: bool| if yes { CallOutcome::Run } else { CallOutcome::Refuse };
        match self {
            Self::Hitl => {
                let words = &answer["metadata"][KAGENT];
                let found: BTreeMap<&str, bool> = words["approvals"]
                    .as_array()?
                    .iter()
                    .map(|one| Some((one["id"].as_str()?, one["approved"].as_bool()?)))
                    .collect::<Option<_>>()?;
                // A missing, a doubled and an unknown id all fail the task.
                let exact = words["approvals"].as_array()?.len() == calls && found.len() == calls;
                let each: Option<Vec<_>> =
                    (0..calls).map(|n| found.get(id(n).as_str()).map(|yes| word(*yes))).collect();
                each.filter(|_| exact)
            }
            Self::Kagent => {
                let words = data.first()?;
                let all = |heard: CallOutcome| Some(vec![heard; calls]);
                match words["decision_type"].as_str()? {
                    "approve" => all(CallOutcome::Run),
                    "reject" => all(CallOutcome::Refuse),
                    // A call that is not named is approved.
                    "batch" => {
                        Some((0..calls).map(|n| word(words["decisions"][id(n)] != json!("reject"))).collect())
                    }
                    _ => None,
                }
            }
            Self::Adk => {
                let known: BTreeSet<String> = (0..calls).map(|n| format!("confirm-{n}")).collect();
                let named: BTreeMap<String, bool> = data
                    .iter()
                    .map(|one| {
                        Some((one["id"].as_str()?.to_owned(), one["response"]["confirmed"].as_bool()?))
                    })
                    .collect::<Option<_>>()?;
                // An unknown id fails the task; one that is missing never runs, and the task is over.
                let exact = data.len() == calls && named.keys().cloned().collect::<BTreeSet<_>>() == known;
                exact.then(|| (0..calls).map(|n| word(named[&format!("confirm-{n}")])).collect())
            }
            Self::First => match data.first()?["decision_type"].as_str()? {
                "approve" => Some(vec![CallOutcome::Run; calls]),
                "deny" => Some(vec![CallOutcome::Refuse; calls]),
                _ => None,
            },
            Self::Kit => {
                let named: BTreeMap<&str, bool> = data
                    .iter()
                    .map(|one| Some((one["id"].as_str()?, one["decision"] == json!("approve"))))
                    .collect::<Option<_>>()?;
                let each: Option<Vec<_>> =
                    (0..calls).map(|n| named.get(id(n).as_str()).map(|yes| word(*yes))).collect();
                each.filter(|_| data.len() == calls)
            }
            Self::Agentstack => match answer["metadata"][AGENTSTACK]["decision"].as_str()? {
                "approve" => Some(vec![CallOutcome::Run]),
                "reject" => Some(vec![CallOutcome::Refuse]),
                _ => None,
            },
            Self::Digested => {
                let words = &answer["metadata"][DIGESTED_KEY];
                let same = words["requestId"] == json!(id(0)) && words["digest"] == json!("sha256:00");
                match words["decision"].as_str().filter(|_| same)? {
                    "approve" => Some(vec![CallOutcome::Run]),
                    "deny" => Some(vec![CallOutcome::Refuse]),
                    _ => None,
                }
            }
        }
    }
}

fn decided() -> impl Strategy<Value = Decided> {
    prop_oneof![
        Just(Decided::Approved),
        proptest::option::of("(approve|[a-z]{1,6})").prop_map(|reason| Decided::Rejected { reason }),
    ]
}

proptest! {
    #[test]
    fn what_was_approved_runs_and_nothing_else(
        (agent, decisions) in (0..AGENTS.len()).prop_flat_map(|at| {
            let agent = AGENTS[at];
            (Just(agent), proptest::collection::vec(decided(), 1..=agent.most()))
        }),
        old in any::<bool>(),
    ) {
        let version = if old { Version::V03 } else { Version::V10 };
        let pause = detect(&agent.status(decisions.len())).unwrap().unwrap();
        prop_assert_eq!(pause.items.len(), decisions.len());
        // Only an action has a permit, and only a permit is used once.
        prop_assert!(pause.items.iter().all(|item| item.create.kind == Kind::Action));
        let answer = pause.answer(version, "a", "t", "c", &decisions).unwrap();
        let heard = agent.hears(&answer, decisions.len()).expect("the agent understands the answer");
        // The answer says what it says it says.
        let settled = pause.settled(&decisions).unwrap();
        for (heard, settled) in heard.iter().zip(&settled) {
            prop_assert_eq!(heard == &CallOutcome::Run, settled == &Decided::Approved);
        }
        // A no is always a no; a yes is a yes wherever the dialect can say it of one and not of the other.
        let same = decisions.iter().all(|one| (one == &Decided::Approved) == (decisions[0] == Decided::Approved));
        for (heard, decided) in heard.iter().zip(&decisions) {
            if decided == &Decided::Approved {
                prop_assert!(heard == &CallOutcome::Run || (matches!(agent, Agent::First) && !same));
            } else {
                prop_assert_eq!(heard, &CallOutcome::Refuse);
            }
        }
    }

    #[test]
    fn an_answer_that_comes_from_a_client_is_understood_as_it_was_meant(
        (agent, decisions) in (0..AGENTS.len()).prop_flat_map(|at| {
            let agent = AGENTS[at];
            (Just(agent), proptest::collection::vec(decided(), 1..=agent.most()))
        }),
    ) {
        let pause = detect(&agent.status(decisions.len())).unwrap().unwrap();
        let answer = pause.answer(Version::V10, "a", "t", "c", &decisions).unwrap();
        let message = Version::V10.read_message(Some(&answer), "message").unwrap();
        let read = pause.decided(&said(&message).unwrap()).unwrap();
        let yes = |decisions: &[Decided]| decisions.iter().map(|one| one == &Decided::Approved).collect::<Vec<_>>();
        prop_assert_eq!(yes(&read), yes(&pause.settled(&decisions).unwrap()));
    }

    #[test]
    fn every_question_gets_its_own_answer(answers in proptest::collection::vec("[a-z]{1,6}", 1..6)) {
        let questions: Vec<Value> = answers.iter().map(|_| json!({"question": "?"})).collect();
        let words = json!({"type": "ask_user_request", "id": "q", "questions": questions});
        let decisions: Vec<Decided> = answers.iter().map(|text| Decided::Answered(json!(text))).collect();
        let told: Vec<Value> = answers.iter().map(|text| json!({"answer": [text]})).collect();
        let hitl = json!({"state": "input-required",
            "message": {"messageId": "m", "role": "agent", "parts": [], "metadata": {KAGENT: words}}});
        let asked = json!({"originalFunctionCall": {"id": "q", "name": "ask_user", "args": {"questions": questions}}});
        let part = json!({"data": {"name": "adk_request_confirmation", "id": "q", "args": asked},
            "metadata": {"kagent_type": "function_call"}});
        let first = json!({"state": "input-required",
            "message": {"messageId": "m", "role": "agent", "parts": [part]}});
        for (status, place) in [(hitl, "/metadata/https:~1~1kagent.dev~1extensions~1hitl~1v1/answers"),
                                (first, "/parts/0/data/ask_user_answers")] {
            let pause = detect(&status).unwrap().unwrap();
            let answer = pause.answer(Version::V10, "a", "t", "c", &decisions).unwrap();
            prop_assert_eq!(answer.pointer(place), Some(&json!(told)));
            let message = Version::V10.read_message(Some(&answer), "message").unwrap();
            prop_assert_eq!(pause.decided(&said(&message).unwrap()).unwrap(), decisions.clone());
        }
    }

    #[test]
    fn no_status_however_strange_breaks_the_reader(text in r#"[\[\]{}":,a-z0-9 ]{0,60}"#) {
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            let message = json!({"messageId": "m", "parts": [{"data": value}], "metadata": {KAGENT: value}});
            let _ = detect(&value);
            let _ = detect(&json!({"state": "input-required", "message": message}));
            let _ = detect(&json!({"state": "input-required", "message": value}));
        }
    }
}
