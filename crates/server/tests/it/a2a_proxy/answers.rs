//! The answer to a pause: sent once, whatever happens on its way.

use std::time::Duration;

use placet_testkit::{Backend, Server, both};
use serde_json::{Value, json};

use super::{
    agent::{Agent, Manner},
    front::{
        Scene, Talk, decide, front, id, in_time, looking, paused, pending, proxied, ran, record, state,
        until, until_record,
    },
};
use crate::support::until_so;

both! {
    async fn a_restart_while_people_decide_loses_nothing_and_sends_once(backend: Backend) {
        let agent = Agent::start().await;
        let server = front(backend, &agent, |_| {}).await;
        let bot = server.kit.agent("bot").await;
        let ann = server.kit.reviewer("ann").await;
        let task = Talk::New.send(&server.actor(&bot), "delete a,b", json!({})).await.unwrap();
        let server = server.restart().await;
        let (bot, ann) = (server.actor(&bot), server.actor(&ann));
        assert_eq!(state(&Talk::New.get(&bot, id(&task)).await.unwrap()), "working");
        let mut stream = Talk::New.stream(&bot, "SubscribeToTask", json!({"id": task["id"]})).await;
        for waiting in pending(&ann).await {
            decide(&ann, &waiting, json!({"decision": "approve"})).await;
        }
        assert_eq!(stream.states().await, ["working", "completed"]);
        assert_eq!(agent.ran(), ran(&["a", "b"]));
        assert_eq!(agent.answers().len(), 1);
        server.finish().await;
    }

    async fn an_agent_that_lost_the_task_is_shown_as_such_and_never_as_success(backend: Backend) {
        let agent = Agent::start().await;
        let server = front(backend, &agent, |_| {}).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let mut stream = Talk::New.stream(&bot, "SendStreamingMessage", Talk::New.text("delete a", json!({}))).await;
        let first = stream.next().await.unwrap();
        let task = first["task"].clone();
        until_so("a question for people", async || !pending(&ann).await.is_empty()).await;
        agent.forget();
        let waiting = pending(&ann).await;
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        let failed = until_record(&ann, &waiting[0], "failed").await;
        assert!(failed["outcome"]["note"].as_str().unwrap().contains("upstream_lost"), "{failed}");
        assert_eq!(stream.states().await.last().map(String::as_str), Some("failed"));
        assert_eq!(state(&Talk::New.get(&bot, id(&task)).await.unwrap()), "failed");
        assert_eq!(agent.ran(), []);
        server.finish().await;
    }

    async fn an_answer_whose_fate_is_unknown_is_not_sent_again_blindly(backend: Backend) {
        let agent = Agent::start().await;
        let server = front(backend, &agent, |_| {}).await;
        let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
        let task = Talk::New.send(&bot, "delete a", json!({})).await.unwrap();
        agent.behave(Manner::BreaksAfterAnswer);
        let waiting = pending(&ann).await;
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        until_so("an answer at the agent", async || !agent.answers().is_empty()).await;
        agent.behave(Manner::Well);
        in_time(&server, async || record(&ann, &waiting[0]).await["state"] == "succeeded").await;
        assert_eq!((agent.ran(), agent.answers().len()), (ran(&["a"]), 1));
        until(Talk::New, &bot, id(&task), "completed").await;
        server.finish().await;
    }
}

#[test]
fn a_task_that_went_on_elsewhere_gets_no_answer() {
    paused("delete a", async |Scene { agent, ann, task, waiting, .. }| {
        agent.finish(id(&task));
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        until_record(&ann, &waiting[0], "cancelled").await;
        assert_eq!((agent.ran(), agent.answers().len()), (vec![], 0));
    });
}

#[test]
fn a_refused_answer_is_tried_again_until_it_is_taken() {
    paused("delete a", async |Scene { server, agent, bot, ann, task, .. }| {
        agent.behave(Manner::RefusesAnswer);
        let waiting = pending(&ann).await;
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        until_record(&ann, &waiting[0], "claimed").await;
        agent.behave(Manner::Well);
        in_time(server, async || record(&ann, &waiting[0]).await["state"] == "succeeded").await;
        until(Talk::New, &bot, id(&task), "completed").await;
        assert_eq!((agent.ran(), agent.answers().len()), (ran(&["a"]), 1));
    });
}

#[test]
fn many_who_decide_at_once_send_one_answer() {
    paused("delete a,b,c,d", async |Scene { agent, bot, ann, task, waiting, .. }| {
        let say = |asked: &Value| {
            let (ann, asked) = (ann.clone(), asked.clone());
            async move {
                let body =
                    json!({"digest": asked["digest"], "version": asked["version"], "decision": "approve"});
                ann.post(&format!("/v1/requests/{}/decision", asked["id"].as_str().unwrap()), body)
                    .await
                    .status
            }
        };
        let all = waiting.iter().chain(&waiting).chain(&waiting).map(say);
        futures_util::future::join_all(all).await;
        until(Talk::New, &bot, id(&task), "completed").await;
        assert_eq!((agent.ran(), agent.answers().len()), (ran(&["a", "b", "c", "d"]), 1));
    });
}

#[test]
fn a_pause_that_changed_while_people_decided_is_asked_anew_and_the_old_yes_is_not_sent() {
    paused("delete a", async |Scene { agent, bot, ann, task, .. }| {
        let talk = Talk::New;
        let shown = pending(&ann).await;
        // The same message, the same ids, and another file.
        agent.rewrite(id(&task), "everything");
        decide(&ann, &shown[0], json!({"decision": "approve"})).await;
        until_record(&ann, &shown[0], "cancelled").await;
        assert_eq!((agent.ran(), agent.answers().len()), (vec![], 0));
        until_so("the new question", async || {
            talk.get(&bot, id(&task)).await.unwrap();
            !pending(&ann).await.is_empty()
        })
        .await;
        let anew = pending(&ann).await;
        assert_eq!((anew.len(), anew[0]["arguments"]["path"].as_str()), (1, Some("everything")));
        decide(&ann, &anew[0], json!({"decision": "deny", "reason": "no"})).await;
        until(talk, &bot, id(&task), "completed").await;
        assert_eq!(agent.ran(), []);
    });
}

/// Waits until so many attempts at the one delivery have failed.
async fn tried(server: &Server, attempts: u32) {
    let failed = format!("SELECT 1 FROM outbox WHERE state = 'waiting' AND attempts = {attempts}");
    until_so(&format!("failed attempt {attempts}"), async || {
        !server.kit.place().rows(&failed).await.is_empty()
    })
    .await;
}

#[test]
fn an_answer_that_may_have_arrived_is_not_sent_again_while_the_agent_may_be_at_it() {
    paused("delete a", async |Scene { server, agent, ann, task, .. }| {
        agent.behave(Manner::SaysNothingAndWaits);
        let waiting = pending(&ann).await;
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        until_so("an answer at the agent", async || !agent.answers().is_empty()).await;
        for attempts in 1..=4 {
            tried(server, attempts).await;
            server.kit.clock().advance(Duration::from_secs(5));
        }
        tried(server, 5).await;
        assert_eq!(agent.answers().len(), 1, "twenty seconds are not enough to believe that it was lost");
        agent.behave(Manner::Well);
        agent.finish(id(&task));
        in_time(server, async || record(&ann, &waiting[0]).await["state"] == "succeeded").await;
        assert_eq!(agent.answers().len(), 1);
    });
}

#[test]
fn an_answer_that_may_have_arrived_at_an_agent_that_lost_the_task_has_no_known_outcome() {
    paused("delete a", async |Scene { server, agent, bot, ann, task, .. }| {
        agent.behave(Manner::BreaksAfterAnswer);
        let waiting = pending(&ann).await;
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        until_so("a run at the agent", async || !agent.ran().is_empty()).await;
        agent.forget();
        agent.behave(Manner::Well);
        in_time(server, async || {
            Talk::New.get(&bot, id(&task)).await.is_ok_and(|task| state(&task) == "failed")
        })
        .await;
        let now = record(&ann, &waiting[0]).await;
        assert_eq!(
            (&now["state"], &now["outcome"]),
            (&json!("claimed"), &Value::Null),
            "neither yes nor no: {now}"
        );
    });
}

#[test]
fn a_yes_that_could_not_be_brought_in_time_is_a_no() {
    paused("delete a", async |Scene { server, agent, bot, ann, task, waiting }| {
        agent.behave(Manner::Html);
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        let asked = agent.called("GetTask");
        in_time(server, async || agent.called("GetTask") > asked).await;
        server.kit.clock().advance(Duration::from_mins(14));
        assert_eq!(record(&ann, &waiting[0]).await["state"], "approved");
        server.kit.clock().advance(Duration::from_mins(2));
        in_time(server, async || record(&ann, &waiting[0]).await["state"] == "cancelled").await;
        agent.behave(Manner::Well);
        in_time(server, async || !agent.answers().is_empty()).await;
        until(Talk::New, &bot, id(&task), "completed").await;
        assert_eq!(agent.ran(), [], "{:?}", agent.answers());
    });
}

#[test]
fn an_agent_that_does_not_know_its_task_for_a_moment_has_not_lost_it() {
    paused("delete a", async |Scene { agent, bot, ann, task, waiting, .. }| {
        agent.miss_once();
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        until_record(&ann, &waiting[0], "succeeded").await;
        until(Talk::New, &bot, id(&task), "completed").await;
        assert_eq!((agent.ran(), agent.answers().len()), (ran(&["a"]), 1));
    });
}

#[test]
fn a_task_that_ends_badly_with_the_answer_is_not_a_success() {
    paused("delete a", async |Scene { agent, bot, ann, task, waiting, .. }| {
        agent.behave(Manner::FailsWithAnswer);
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        let failed = until_record(&ann, &waiting[0], "failed").await;
        assert!(failed["outcome"]["note"].as_str().unwrap().contains("without going on"), "{failed}");
        until(Talk::New, &bot, id(&task), "failed").await;
    });
}

#[test]
fn a_task_that_ended_badly_after_an_answer_of_unknown_fate_has_no_known_outcome() {
    paused("delete a", async |Scene { server, agent, ann, task, waiting, .. }| {
        agent.behave(Manner::SaysNothingAndWaits);
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        until_so("an answer at the agent", async || !agent.answers().is_empty()).await;
        agent.behave(Manner::Well);
        agent.end(id(&task), "failed");
        // The reader of a task that went on is the last thing that happens to an answer.
        in_time(server, async || agent.called("SubscribeToTask") > 0).await;
        let now = record(&ann, &waiting[0]).await;
        assert_eq!((now["state"].as_str(), &now["outcome"]), (Some("claimed"), &Value::Null));
        assert_eq!(agent.answers().len(), 1);
    });
}

#[test]
fn a_task_that_was_lost_with_the_answer_has_no_known_outcome_even_if_nobody_reads_it() {
    paused("delete a", async |Scene { server, agent, bot, ann, task, waiting }| {
        agent.behave(Manner::SaysNothingAndWaits);
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        until_so("an answer at the agent", async || !agent.answers().is_empty()).await;
        agent.forget();
        let asked = agent.called("GetTask");
        in_time(server, async || agent.called("GetTask") >= asked + 2).await;
        in_time(server, async || {
            let asked = agent.called("GetTask");
            let lost = Talk::New.get(&bot, id(&task)).await.is_ok_and(|task| state(&task) == "failed");
            // What is known to be lost is not asked for.
            lost && agent.called("GetTask") == asked
        })
        .await;
        assert_eq!(record(&ann, &waiting[0]).await["state"], "claimed");
    });
}

#[test]
fn a_task_that_looks_paused_while_it_carries_out_the_answer_hears_no_chatter_until_it_is_at_work() {
    paused("delete a", async |Scene { agent, bot, ann, task, waiting, .. }| {
        agent.behave(Manner::LooksPausedAtWork);
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        until_record(&ann, &waiting[0], "succeeded").await;
        let more = json!({"taskId": task["id"]});
        let chatter = Talk::New.send(&bot, "and?", more).await.unwrap_err();
        assert!(chatter["message"].as_str().unwrap().contains("approval pending"), "{chatter}");
        assert_eq!(agent.answers().len(), 1);
        assert!(pending(&ann).await.is_empty(), "nobody is asked again");
        agent.behave(Manner::Well);
        agent.end(id(&task), "working");
        // The pause is over a moment after its request is: until then a message is still refused.
        until_so("a message that the task takes", async || {
            Talk::New.send(&bot, "and now?", json!({"taskId": task["id"]})).await.is_ok()
        })
        .await;
        assert_eq!(agent.answers().len(), 2);
    });
}

#[test]
fn what_waits_for_people_is_withdrawn_as_soon_as_its_task_is_seen_to_have_ended() {
    paused("delete a,b", async |Scene { agent, bot, ann, task, waiting, .. }| {
        agent.finish(id(&task));
        assert_eq!(state(&Talk::New.get(&bot, id(&task)).await.unwrap()), "completed");
        for asked in &waiting {
            assert_eq!(record(&ann, asked).await["state"], "cancelled");
        }
    });
}

#[test]
fn a_task_that_went_on_while_the_server_was_away_takes_back_what_people_were_asked() {
    placet_testkit::block_on(async {
        let agent = Agent::start().await;
        let server = front(Backend::Sqlite, &agent, |_| {}).await;
        let (bot, ann) = (server.kit.agent("bot").await, server.kit.reviewer("ann").await);
        let task = Talk::New.send(&server.actor(&bot), "delete a", json!({})).await.unwrap();
        agent.end(id(&task), "working");
        let server = server.restart().await;
        let ann = server.actor(&ann);
        let all = ann.get("/v1/requests").await.expect(200);
        until_record(&ann, &all["items"][0], "cancelled").await;
        assert_eq!(agent.answers(), Vec::<Value>::new());
        server.finish().await;
    });
}

#[test]
fn an_answer_that_the_agent_refuses_for_good_is_tried_some_times_and_then_given_up() {
    paused("delete a", async |Scene { server, agent, bot, ann, task, waiting }| {
        agent.behave(Manner::RefusesForGood);
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        in_time(server, async || record(&ann, &waiting[0]).await["state"] == "failed").await;
        let note = record(&ann, &waiting[0]).await["outcome"]["note"].to_string();
        assert!(note.contains("refuses the answer: not like that"), "{note}");
        assert!(agent.called("SendStreamingMessage") > 3, "{}", agent.called("SendStreamingMessage"));
        // The task is given up a moment after its request is.
        until(Talk::New, &bot, id(&task), "failed").await;
        assert_eq!(agent.ran(), []);
    });
}

#[test]
fn an_agent_that_has_the_answer_and_is_about_to_go_on_asks_nothing_new() {
    for talk in [Talk::Old, Talk::New] {
        proxied(
            |_| {},
            async |server, agent| {
                let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
                let task = talk.send(&bot, "delete a", json!({})).await.unwrap();
                let waiting = pending(&ann).await;
                agent.behave(Manner::EmptiesStatus);
                decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
                let at_agent = async || agent.task(id(&task))["status"].get("message").is_none();
                until_so("the answer at the agent", at_agent).await;
                for _ in 0..5 {
                    assert_eq!(state(&talk.get(&bot, id(&task)).await.unwrap()), "working", "{talk:?}");
                }
                agent.behave(Manner::Well);
                until(talk, &bot, id(&task), "completed").await;
                until_record(&ann, &waiting[0], "succeeded").await;
                let asked = ann.get("/v1/requests").await.expect(200);
                assert_eq!(asked["items"].as_array().unwrap().len(), 1, "{talk:?}: {asked}");
                assert_eq!((agent.ran(), agent.answers().len()), (ran(&["a"]), 1));
            },
        );
    }
}

#[test]
fn a_status_that_nobody_can_read_while_the_answer_is_on_its_way_does_not_end_the_task() {
    paused("delete a", async |Scene { agent, bot, ann, task, waiting, .. }| {
        let talk = Talk::New;
        agent.behave(Manner::GarblesStatus);
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        let garbled = async || agent.task(id(&task)).to_string().contains("\"args\":\"?\"");
        until_so("the answer at the agent", garbled).await;
        for _ in 0..5 {
            assert_eq!(state(&talk.get(&bot, id(&task)).await.unwrap()), "working");
        }
        agent.behave(Manner::Well);
        until(talk, &bot, id(&task), "completed").await;
        until_record(&ann, &waiting[0], "succeeded").await;
        assert_eq!((agent.ran(), agent.answers().len()), (ran(&["a"]), 1));
    });
}

#[test]
fn a_pause_that_nobody_can_read_and_nobody_has_answered_ends_the_task() {
    paused("delete a", async |Scene { agent, bot, ann, task, waiting, .. }| {
        agent.garble(id(&task));
        let shown = Talk::New.get(&bot, id(&task)).await.unwrap();
        assert_eq!(state(&shown), "failed");
        assert!(shown.to_string().contains("cannot be decided here"), "{shown}");
        until_record(&ann, &waiting[0], "cancelled").await;
        assert!(agent.ran().is_empty());
    });
}

#[test]
fn a_pause_that_is_answered_behind_our_back_is_withdrawn_and_nothing_new_is_asked() {
    paused("delete a", async |Scene { agent, bot, ann, task, waiting, .. }| {
        agent.hush(id(&task));
        assert_eq!(state(&Talk::New.get(&bot, id(&task)).await.unwrap()), "working");
        agent.finish(id(&task));
        until(Talk::New, &bot, id(&task), "completed").await;
        until_record(&ann, &waiting[0], "cancelled").await;
        let asked = ann.get("/v1/requests").await.expect(200);
        assert_eq!(asked["items"].as_array().unwrap().len(), 1, "{asked}");
    });
}

#[test]
fn a_task_that_stays_paused_without_a_word_is_put_to_people_in_the_end() {
    paused("delete a", async |Scene { server, agent, bot, ann, task, waiting }| {
        agent.behave(Manner::LooksPausedAtWork);
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        until_record(&ann, &waiting[0], "succeeded").await;
        agent.hush(id(&task));
        Talk::New.get(&bot, id(&task)).await.unwrap();
        assert_eq!(pending(&ann).await, Vec::<Value>::new(), "it may be about to go on");
        until_so("the question in the end", async || {
            server.kit.clock().advance(Duration::from_mins(2));
            Talk::New.get(&bot, id(&task)).await.unwrap();
            pending(&ann).await.len() == 1
        })
        .await;
    });
}

#[test]
fn whoever_looked_before_the_answer_left_and_sees_another_pause_replaces_nothing() {
    paused("delete a", async |Scene { agent, bot, ann, task, waiting, .. }| {
        let mut other = agent.task(id(&task));
        other["status"]["message"]["parts"][0]["data"]["args"]["originalFunctionCall"]["args"]["path"] =
            json!("b");
        agent.answer_late();
        let behind = async { Talk::New.get(&bot, id(&task)).await.unwrap() };
        let meanwhile = async {
            until_so("a question for the task", async || agent.is_asked()).await;
            agent.behave(Manner::EmptiesStatus);
            decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
            until_so("the answer at the agent", async || {
                agent.task(id(&task))["status"].get("message").is_none()
            })
            .await;
            agent.answer_now(other);
        };
        let (shown, ()) = tokio::join!(behind, meanwhile);
        assert_eq!(state(&shown), "working");
        agent.behave(Manner::Well);
        until(Talk::New, &bot, id(&task), "completed").await;
        until_record(&ann, &waiting[0], "succeeded").await;
        let asked = ann.get("/v1/requests").await.expect(200);
        assert_eq!(asked["items"].as_array().unwrap().len(), 1, "{asked}");
        assert_eq!((agent.ran(), agent.answers().len()), (ran(&["a"]), 1));
    });
}

#[test]
fn whoever_looked_before_the_answer_left_and_cannot_read_the_pause_gives_nothing_up() {
    // While the answer is on its way, and when it has arrived.
    for (manner, ended) in [(Manner::EmptiesStatus, "claimed"), (Manner::LooksPausedAtWork, "succeeded")] {
        paused("delete a", async |Scene { agent, bot, ann, task, waiting, .. }| {
            let mut other = agent.task(id(&task));
            other["status"]["message"]["parts"][0]["data"]["args"] = json!("?");
            agent.answer_late();
            let behind = async { Talk::New.get(&bot, id(&task)).await.unwrap() };
            let meanwhile = async {
                until_so("a question for the task", async || agent.is_asked()).await;
                agent.behave(manner);
                decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
                until_record(&ann, &waiting[0], ended).await;
                let at_agent = async || {
                    manner != Manner::EmptiesStatus
                        || agent.task(id(&task))["status"].get("message").is_none()
                };
                until_so("the answer at the agent", at_agent).await;
                agent.answer_now(other);
            };
            let (shown, ()) = tokio::join!(behind, meanwhile);
            assert_eq!(state(&shown), "working", "{manner:?}: {shown}");
            agent.behave(Manner::Well);
            if ended == "succeeded" {
                agent.finish(id(&task));
            }
            until(Talk::New, &bot, id(&task), "completed").await;
            until_record(&ann, &waiting[0], "succeeded").await;
            assert_eq!(agent.answers().len(), 1, "{manner:?}");
        });
    }
}

#[test]
fn a_look_that_began_before_the_answer_takes_nothing_back_that_was_asked_after_it() {
    placet_testkit::block_on(async {
        let agent = Agent::start().await;
        let server = looking(Backend::Sqlite, &agent).await;
        let (bot, ann) = (server.kit.agent("bot").await, server.kit.reviewer("ann").await);
        let task = Talk::New.send(&server.actor(&bot), "delete a", json!({})).await.unwrap();
        // The look at every open task when the server starts.
        agent.answer_late();
        let server = server.restart().await;
        let (bot, ann) = (server.actor(&bot), server.actor(&ann));
        until_so("a question for the task", async || agent.is_asked()).await;
        agent.behave(Manner::LooksPausedAtWork);
        let first = pending(&ann).await.remove(0);
        decide(&ann, &first, json!({"decision": "approve"})).await;
        until_record(&ann, &first, "succeeded").await;
        let mut at_work = agent.task(id(&task));
        at_work["status"] = json!({"state": "TASK_STATE_WORKING"});
        agent.behave(Manner::Well);
        agent.pause(id(&task), "b");
        until_so("the second question", async || {
            Talk::New.get(&bot, id(&task)).await.unwrap();
            pending(&ann).await.len() == 1
        })
        .await;
        agent.answer_now(at_work);
        // A look begins when the one before it is over, and asks for the task once.
        let looked = agent.called("GetTask");
        until_so("looks after the late one", async || agent.called("GetTask") > looked + 2).await;
        decide(&ann, &pending(&ann).await[0], json!({"decision": "approve"})).await;
        until(Talk::New, &bot, id(&task), "completed").await;
        assert_eq!(agent.ran(), ran(&["b"]));
        server.finish().await;
    });
}
