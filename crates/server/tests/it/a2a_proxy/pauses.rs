//! Pauses: held, decided item by item, and answered whole.

use std::time::Duration;

use placet_server::{Generic, Mode};
use placet_testkit::both;
use serde_json::{Value, json};

use super::{
    agent::{Agent, Manner},
    front::{
        Scene, Talk, decide, delivered, front, id, in_time, paused, pending, proxied, ran, record, state,
        until, until_record,
    },
};
use crate::support::until_so;

/// A policy that asks nobody about files that are called so.
const ALLOWS_TMP: &str = r#"
version = 1

[[rule]]
name = "tmp"
tool = "delete_file"
when = 'args.path == "tmp"'
effect = "allow"
"#;

both! {
    async fn a_pause_is_held_and_one_complete_answer_is_sent_when_all_is_decided(backend: Backend) {
        for talk in [Talk::Old, Talk::New] {
            let agent = Agent::start().await;
            let server = front(backend, &agent, |_| {}).await;
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            let task = talk.send(&bot, "delete a,b,c", json!({})).await.unwrap();
            assert_eq!(state(&task), "working", "{talk:?}: {task}");
            let waiting = pending(&ann).await;
            assert_eq!(waiting.len(), 3);
            let a2a = &waiting[1]["context"]["a2a"];
            assert_eq!((&a2a["namespace"], &a2a["agent"], &a2a["task"], &a2a["items"]), (&json!("demo"), &json!("ops"), &task["id"], &json!(3)));
            assert_eq!(waiting[1]["arguments"], json!({"path": "b", "size": 9_007_199_254_740_991_i64}));
            assert_eq!((&waiting[1]["tool"], &waiting[1]["agent"]), (&json!("delete_file"), &json!("bot")));
            decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
            decide(&ann, &waiting[2], json!({"decision": "approve"})).await;
            delivered(&server).await;
            assert!(agent.answers().is_empty(), "half an answer was sent");
            decide(&ann, &waiting[1], json!({"decision": "deny", "reason": "keep it"})).await;
            let done = until(talk, &bot, id(&task), "completed").await;
            assert_eq!(done["artifacts"][0]["artifactId"], "a1");
            assert_eq!(agent.ran(), ran(&["a", "c"]));
            let answers = agent.answers();
            assert_eq!(answers.len(), 1);
            assert_eq!(answers[0]["parts"].as_array().unwrap().len(), 3, "every id is covered");
            assert_eq!((answers[0]["taskId"].as_str(), answers[0]["contextId"].as_str()), (task["id"].as_str(), task["contextId"].as_str()));
            let used = until_record(&ann, &waiting[0], "succeeded").await;
            assert!(used["outcome"]["note"].as_str().unwrap().contains("demo/ops"), "{used}");
            server.finish().await;
        }
    }

    async fn a_deadline_fills_in_rejections_and_nothing_runs(backend: Backend) {
        let agent = Agent::start().await;
        let server = front(backend, &agent, |upstream| upstream.expires_in = Some("2s".to_owned())).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let task = Talk::New.send(&bot, "delete a,b", json!({})).await.unwrap();
        let waiting = pending(&ann).await;
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        server.kit.clock().advance(Duration::from_secs(3));
        server.kit.gate().sweep().await.unwrap();
        until(Talk::New, &bot, id(&task), "completed").await;
        assert_eq!(agent.ran(), ran(&["a"]));
        assert_eq!(agent.answers()[0]["parts"].as_array().unwrap().len(), 2);
        server.finish().await;
    }
}

#[test]
fn every_other_dialect_is_answered_in_its_own_words() {
    const AGENTSTACK: &str = "https://a2a-extensions.agentstack.beeai.dev/interactions/approval/v1";
    let call = json!({"name": "delete_file", "args": {"path": "/a"}, "id": "c1"});
    let agentstack = |words: Value| json!({"metadata": {AGENTSTACK: words}});
    let digested = json!({"requestId": "r1", "summary": "Pay 5", "digest": "sha256:00"});
    let part = |data: Value| json!({"parts": [{"data": data}]});
    // What it pauses with, where its answer is, and what a yes and a no are there.
    let cases = [
        (
            agentstack(json!({"action": "tool-call", "name": "delete_file", "input": {"path": "/a"}})),
            vec!["metadata", AGENTSTACK],
            [json!({"decision": "approve"}), json!({"decision": "reject"})],
        ),
        (
            agentstack(json!({"action": "generic", "title": "Go on?"})),
            vec!["metadata", AGENTSTACK],
            [json!({"decision": "approve"}), json!({"decision": "reject"})],
        ),
        (
            json!({"metadata": {"a2a-rust.com/approval": digested}}),
            vec!["metadata", "a2a-rust.com/approval"],
            ["approve", "deny"]
                .map(|word| json!({"requestId": "r1", "decision": word, "digest": "sha256:00"})),
        ),
        (
            part(json!({"interrupt_type": "tool_approval", "action_requests": [call]})),
            vec!["parts", "0", "data"],
            ["approve", "deny"].map(|word| json!({"decision_type": word})),
        ),
        (
            part(json!({"type": "approval_request", "action": "delete_file", "path": "/a"})),
            vec!["parts", "0", "data"],
            ["approve", "deny"].map(|word| json!({"type": "approval_response", "decision": word})),
        ),
    ];
    proxied(
        |_| {},
        async |server, agent| {
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            let talk = Talk::New;
            for (words, place, wanted) in cases {
                for (decision, wanted) in ["approve", "deny"].into_iter().zip(wanted) {
                    let task = talk.send(&bot, &format!("pause {words}"), json!({})).await.unwrap();
                    let asked = pending(&ann).await;
                    assert_eq!(asked.len(), 1, "{words}");
                    decide(&ann, &asked[0], json!({"decision": decision})).await;
                    until(talk, &bot, id(&task), "completed").await;
                    let answers = agent.answers();
                    let answer = answers.last().expect("an answer");
                    let said = place.iter().fold(answer, |value, name| match name.parse::<usize>() {
                        Ok(index) => &value[index],
                        Err(_) => &value[*name],
                    });
                    assert_eq!(said, &wanted, "{decision} to {words}: {answer}");
                    let ended = if decision == "approve" { "succeeded" } else { "denied" };
                    until_record(&ann, &asked[0], ended).await;
                }
            }
        },
    );
}

#[test]
fn in_mirror_mode_a_reviewers_message_decides_and_an_agents_does_not() {
    proxied(
        |upstream| upstream.mode = Mode::Mirror,
        async |server, agent| {
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            let talk = Talk::New;
            let task = talk.send(&bot, "delete a,b", json!({})).await.unwrap();
            assert_eq!(state(&task), "input-required", "the client sees the pause as it is");
            let batch = json!({"data": {"decision_type": "batch", "decisions": {"call-1-0": "approve", "call-1-1": "reject"}, "rejection_reasons": {"call-1-1": "no"}}});
            let more = json!({"taskId": task["id"], "contextId": task["contextId"], "parts": [batch]});
            assert_eq!(talk.send(&bot, "", more.clone()).await.unwrap_err()["code"], -32004);
            talk.send(&ann, "", more).await.unwrap();
            until(talk, &bot, id(&task), "completed").await;
            assert_eq!((agent.ran(), agent.answers().len()), (ran(&["a"]), 1));
        },
    );
}

#[test]
fn a_plain_question_is_answered_by_a_person_and_a_no_withdraws_the_task() {
    paused("ask", async |Scene { agent, bot, ann, task, .. }| {
        let talk = Talk::New;
        assert_eq!(state(&task), "working");
        let waiting = pending(&ann).await;
        assert_eq!((&waiting[0]["kind"], &waiting[0]["question"]), (&json!("input"), &json!("Which city?")));
        decide(&ann, &waiting[0], json!({"decision": "respond", "answer": "Kyoto"})).await;
        until(talk, &bot, id(&task), "completed").await;
        assert_eq!(agent.answers()[0]["parts"][0]["text"], "Kyoto");
        let task = talk.send(&bot, "ask", json!({})).await.unwrap();
        let mut stream = talk.stream(&bot, "SubscribeToTask", json!({"id": id(&task)})).await;
        decide(&ann, &pending(&ann).await[0], json!({"decision": "deny", "reason": "Not our city."})).await;
        let ended = until(talk, &bot, id(&task), "canceled").await;
        assert_eq!(agent.answers().len(), 1);
        // The agent knows of no reason: its client hears it from us, however it listens.
        let why = "The agent's question was not answered: Not our city.";
        assert_eq!(ended["status"]["message"]["parts"][0]["text"], why);
        assert_eq!(ended["status"]["message"]["parts"][1]["data"]["reason"], "Not our city");
        let mut last = Value::Null;
        while let Some(event) = stream.next().await {
            last = event;
        }
        assert_eq!(last["statusUpdate"]["status"]["message"]["parts"][0]["text"], why, "{last}");
    });
}

#[test]
fn a_refused_question_of_an_agent_that_cannot_withdraw_it_is_not_asked_again() {
    paused("ask", async |Scene { server, agent, bot, ann, task, waiting }| {
        agent.behave(Manner::RefusesCancel);
        decide(&ann, &waiting[0], json!({"decision": "deny", "reason": "not our city"})).await;
        let ended = until(Talk::New, &bot, id(&task), "failed").await;
        assert!(ended.to_string().contains("not our city"), "{ended}");
        server.kit.clock().advance(std::time::Duration::from_mins(5));
        assert_eq!(state(&Talk::New.get(&bot, id(&task)).await.unwrap()), "failed");
        assert_eq!(pending(&ann).await, Vec::<Value>::new());
    });
}

#[test]
fn a_refused_question_of_an_agent_that_went_away_is_not_taken_for_withdrawn() {
    paused("ask", async |Scene { server, agent, bot, ann, task, waiting }| {
        agent.behave(Manner::RefusesCancelAndGoes);
        decide(&ann, &waiting[0], json!({"decision": "deny", "reason": "not our city"})).await;
        until_so("an agent that refused to withdraw", async || agent.manner() == Manner::Html).await;
        assert_eq!(state(&Talk::New.get(&bot, id(&task)).await.unwrap()), "working");
        agent.behave(Manner::RefusesCancel);
        let mut ended = Value::Null;
        in_time(server, async || {
            ended = Talk::New.get(&bot, id(&task)).await.unwrap();
            assert_eq!(pending(&ann).await, Vec::<Value>::new(), "nobody is asked again");
            state(&ended) == "failed"
        })
        .await;
        assert!(ended.to_string().contains("not our city"), "{ended}");
    });
}

#[test]
fn whoever_follows_a_task_stays_while_a_question_is_the_clients_own() {
    proxied(
        |upstream| upstream.generic = Generic::Pass,
        async |server, agent| {
            let bot = server.agent("bot").await;
            let talk = Talk::New;
            // It was at work when the stream began.
            agent.behave(Manner::ClosesEarly);
            let task = talk.send(&bot, "hello", json!({})).await.unwrap();
            let mut stream = talk.stream(&bot, "SubscribeToTask", json!({"id": id(&task)})).await;
            assert_eq!(state(&stream.next().await.unwrap()["task"]), "working");
            agent.ask(id(&task));
            assert_eq!(state(&stream.next().await.unwrap()["statusUpdate"]), "input-required");
            agent.behave(Manner::Well);
            talk.send(&bot, "this one", json!({"taskId": task["id"]})).await.unwrap();
            assert_eq!(stream.states().await, ["completed"], "the stream has not ended at the pause");
            // It waited when the stream began.
            let task = talk.send(&bot, "ask", json!({})).await.unwrap();
            let mut stream = talk.stream(&bot, "SubscribeToTask", json!({"id": id(&task)})).await;
            assert_eq!(state(&stream.next().await.unwrap()["task"]), "input-required");
            talk.send(&bot, "Kyoto", json!({"taskId": task["id"]})).await.unwrap();
            assert_eq!(stream.states().await, ["completed"], "the pause is not told twice");
            // Streams of the message itself, and those of 0.3, end where the client has to say something.
            let mut stream = talk.stream(&bot, "SendStreamingMessage", talk.text("ask", json!({}))).await;
            assert_eq!(stream.states().await.last().unwrap(), "input-required");
            let old = Talk::Old.send(&bot, "ask", json!({})).await.unwrap();
            let mut stream = Talk::Old.stream(&bot, "SubscribeToTask", json!({"id": id(&old)})).await;
            assert_eq!(state(&stream.next().await.unwrap()), "input-required");
        },
    );
}

#[test]
fn a_plain_question_is_left_to_the_client_if_the_operator_says_so() {
    proxied(
        |upstream| upstream.generic = Generic::Pass,
        async |server, agent| {
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            let task = Talk::New.send(&bot, "ask", json!({})).await.unwrap();
            assert_eq!(state(&task), "input-required");
            assert_eq!(pending(&ann).await, Vec::<Value>::new());
            let done = Talk::New.send(&bot, "Kyoto", json!({"taskId": task["id"]})).await.unwrap();
            assert_eq!(state(&done), "completed");
            assert_eq!(agent.answers()[0]["contextId"], task["contextId"], "the conversation is filled in");
        },
    );
}

#[test]
fn policy_decides_items_on_its_own_and_people_only_the_rest() {
    proxied(
        |_| {},
        async |server, agent| {
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            server
                .kit
                .put_policy(
                    r#"version = 1

[[rule]]
name = "root"
source = "a2a/demo/*"
tool = "*"
when = 'args.path == "root"'
effect = "deny"

[[rule]]
name = "tmp"
source = "a2a/demo/ops"
tool = "delete_file"
when = 'args.path == "tmp"'
effect = "allow"
"#,
                )
                .await;
            let talk = Talk::New;
            let task = talk.send(&bot, "delete tmp,root,a", json!({})).await.unwrap();
            let waiting = pending(&ann).await;
            assert_eq!(waiting.len(), 1, "{waiting:?}");
            assert_eq!(waiting[0]["arguments"]["path"], "a");
            decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
            until(talk, &bot, id(&task), "completed").await;
            assert_eq!(agent.ran(), ran(&["a", "tmp"]));
            // Nobody is asked, and the answer goes out all the same.
            let task = talk.send(&bot, "delete tmp,root", json!({})).await.unwrap();
            until(talk, &bot, id(&task), "completed").await;
            assert_eq!(
                (agent.ran(), agent.answers().len()),
                (vec![("a".to_owned(), 1), ("tmp".to_owned(), 2)], 2)
            );
        },
    );
}

#[test]
fn an_approval_that_was_taken_back_before_the_last_decision_is_a_no() {
    paused("delete a,b", async |Scene { agent, bot, ann, task, waiting, .. }| {
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        let path = format!("/v1/requests/{}/revoke", waiting[0]["id"].as_str().unwrap());
        ann.post(&path, json!({"reason": "a mistake"})).await.expect(200);
        decide(&ann, &waiting[1], json!({"decision": "approve"})).await;
        until(Talk::New, &bot, id(&task), "completed").await;
        assert_eq!(agent.ran(), ran(&["b"]));
        assert_eq!(agent.answers()[0]["parts"].as_array().unwrap().len(), 2);
    });
}

#[test]
fn a_permit_that_its_agent_took_for_itself_is_not_sent_as_a_yes() {
    paused("delete a,b", async |Scene { agent, bot, ann, task, waiting, .. }| {
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        let path = format!("/v1/requests/{}/claim", waiting[0]["id"].as_str().unwrap());
        bot.post(&path, json!({})).await.expect(200);
        decide(&ann, &waiting[1], json!({"decision": "approve"})).await;
        until(Talk::New, &bot, id(&task), "completed").await;
        assert_eq!(agent.ran(), ran(&["b"]));
    });
}

#[test]
fn when_the_callers_last_key_is_revoked_nothing_of_its_runs() {
    proxied(
        |_| {},
        async |server, agent| {
            let bot = server.kit.agent("bot").await;
            let ann = server.reviewer("ann").await;
            Talk::New.send(&server.actor(&bot), "delete a,b", json!({})).await.unwrap();
            let waiting = pending(&ann).await;
            decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
            server.kit.revoke_key(&bot).await;
            until_so("an answer at the agent", async || !agent.answers().is_empty()).await;
            assert_eq!(agent.ran(), [], "{:?}", agent.answers());
            assert_eq!(agent.answers()[0]["parts"].as_array().unwrap().len(), 2, "told no to both");
        },
    );
}

#[test]
fn a_pause_of_many_bytes_is_given_up_and_nobody_can_decide_it_elsewhere() {
    proxied(
        |_| {},
        async |server, agent| {
            let bot = server.agent("bot").await;
            let name = "x".repeat(700 * 1024);
            let body = Talk::New.send(&bot, "delete a", json!({})).await.unwrap();
            agent.rewrite(id(&body), &name);
            assert_eq!(state(&Talk::New.get(&bot, id(&body)).await.unwrap()), "failed");
            let late = Talk::New.send(&bot, "approve", json!({"taskId": body["id"]})).await.unwrap_err();
            assert_eq!(late["code"], -32004);
            assert_eq!((agent.called("SendMessage"), agent.ran()), (1, vec![]));
        },
    );
}

#[test]
fn cancelling_withdraws_what_waits_and_nothing_runs() {
    paused("delete a,b", async |Scene { server, agent, bot, ann, task, waiting }| {
        let talk = Talk::New;
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        let gone = talk.call(&bot, "CancelTask", json!({"id": task["id"]})).await.unwrap();
        assert_eq!(state(&gone), "canceled");
        for asked in &waiting {
            assert_eq!(record(&ann, asked).await["state"], "cancelled");
        }
        delivered(server).await;
        assert_eq!((agent.ran(), agent.answers().len()), (vec![], 0));
    });
}

#[test]
fn cancelling_withdraws_whatever_the_agent_makes_of_it() {
    paused("delete a", async |Scene { agent, bot, ann, task, waiting, .. }| {
        agent.behave(Manner::IgnoresCancel);
        Talk::New.call(&bot, "CancelTask", json!({"id": task["id"]})).await.unwrap();
        assert_eq!(record(&ann, &waiting[0]).await["state"], "cancelled");
        until_so("an answer at the agent", async || !agent.answers().is_empty()).await;
        assert_eq!(agent.ran(), [], "it still waited, and was told no");
    });
}

#[test]
fn an_early_yes_waits_for_the_other_items_however_long_people_take() {
    proxied(
        |upstream| upstream.expires_in = Some("2h".to_owned()),
        async |server, agent| {
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            server.kit.put_policy(ALLOWS_TMP).await;
            let task = Talk::New.send(&bot, "delete tmp,a,b", json!({})).await.unwrap();
            let waiting = pending(&ann).await;
            decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
            server.kit.clock().advance(Duration::from_mins(90));
            decide(&ann, &waiting[1], json!({"decision": "approve"})).await;
            until(Talk::New, &bot, id(&task), "completed").await;
            assert_eq!((agent.ran(), agent.answers().len()), (ran(&["a", "b", "tmp"]), 1));
        },
    );
}

#[test]
fn a_task_in_our_words_says_how_often_it_changed() {
    proxied(
        |_| {},
        async |server, agent| {
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            let talk = Talk::New;
            let generation = |task: &Value| task["metadata"]["placet"]["generation"].as_u64();
            let task = talk.send(&bot, "delete a", json!({})).await.unwrap();
            let first = talk.get(&bot, id(&task)).await.unwrap();
            assert_eq!(generation(&first), generation(&talk.get(&bot, id(&task)).await.unwrap()));
            agent.rewrite(id(&task), "b");
            let second = talk.get(&bot, id(&task)).await.unwrap();
            assert!(
                generation(&first) > Some(0) && generation(&second) > generation(&first),
                "{first} {second}"
            );
            let waiting = pending(&ann).await;
            assert_eq!((waiting.len(), &waiting[0]["arguments"]["path"]), (1, &json!("b")), "{waiting:?}");
            decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
            let done = until(talk, &bot, id(&task), "completed").await;
            assert_eq!(generation(&done), None, "what the agent says is as it came: {done}");
        },
    );
}

#[test]
fn a_pause_that_nobody_can_decide_any_more_takes_back_what_people_were_asked() {
    paused("delete a", async |Scene { agent, bot, ann, task, waiting, .. }| {
        agent.rewrite(id(&task), &"x".repeat(600 * 1024));
        let broken = Talk::New.get(&bot, id(&task)).await.unwrap();
        assert_eq!(state(&broken), "failed");
        assert_eq!(record(&ann, &waiting[0]).await["state"], "cancelled");
        assert_eq!(agent.answers(), Vec::<Value>::new());
    });
}

#[test]
fn a_yes_beside_a_no_is_not_used_where_the_agent_can_be_told_only_one_word() {
    proxied(
        |_| {},
        async |server, agent| {
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            let calls = ["c1", "c2"].map(|id| json!({"id": id, "name": "delete_file", "args": {"path": id}}));
            let data = json!({"interrupt_type": "tool_approval", "action_requests": calls});
            let words = json!({"parts": [{"data": data}]});
            let task = Talk::New.send(&bot, &format!("pause {words}"), json!({})).await.unwrap();
            let waiting = pending(&ann).await;
            decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
            decide(&ann, &waiting[1], json!({"decision": "deny", "reason": "keep it"})).await;
            until(Talk::New, &bot, id(&task), "completed").await;
            assert_eq!(
                agent.answers()[0]["parts"][0]["data"]["decision_type"],
                "deny",
                "{:?}",
                agent.answers()
            );
            let unused = until_record(&ann, &waiting[0], "failed").await;
            assert!(unused["outcome"]["note"].as_str().unwrap().contains("told no"), "{unused}");
        },
    );
}
