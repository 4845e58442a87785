//! What the agent behind sees, and what it may answer.

use placet_server::{AgentProblem, RootCard, Settings, Upstream, check_agents};
use placet_testkit::{Backend, Kit, Server};
use serde_json::{Value, json};

use super::{
    agent::{Agent, Manner},
    front::{PATH, Scene, Talk, decide, front, id, paused, pending, proxied, ran, state, until},
};
use crate::support::until_so;

#[test]
fn an_agent_that_answers_html_or_too_much_is_refused_in_the_protocols_words() {
    proxied(
        |_| {},
        async |server, agent| {
            let bot = server.agent("bot").await;
            Talk::New.send(&bot, "hello", json!({})).await.unwrap();
            for manner in [Manner::Html, Manner::Huge] {
                agent.behave(manner);
                for talk in [Talk::Old, Talk::New] {
                    let refused = talk.send(&bot, "hello", json!({})).await.unwrap_err();
                    assert_eq!(refused["code"], -32006, "{manner:?}: {refused}");
                }
                let refused =
                    Talk::New.call(&bot, "SendStreamingMessage", Talk::New.text("hello", json!({}))).await;
                assert_eq!(refused.unwrap_err()["code"], -32006, "{manner:?}");
            }
        },
    );
}

#[test]
fn the_card_has_our_address_and_only_what_the_agent_speaks() {
    proxied(
        |_| {},
        async |server, agent| {
            let path = format!("{PATH}/.well-known/agent-card.json");
            let card = server.nobody().get(&path).await.expect(200);
            assert!(!card.to_string().contains("evil.example"), "{card}");
            assert_eq!(card["url"], format!("{}{PATH}", server.url()));
            agent.show(json!("not a card"));
            assert_eq!(server.nobody().get("/a2a/demo/none/.well-known/agent-card.json").await.status, 404);
        },
    );
}

#[test]
fn a_version_that_the_agent_does_not_speak_is_refused_with_those_it_does() {
    proxied(
        |_| {},
        async |server, agent| {
            agent.show(json!({"name": "old", "url": "http://x/", "protocolVersion": "0.3.0", "skills": []}));
            let bot = server.agent("bot").await;
            let refused = Talk::New.send(&bot, "hello", json!({})).await.unwrap_err();
            assert_eq!(refused["code"], -32009, "{refused}");
            assert!(refused["message"].as_str().unwrap().contains("speaks 0.3"), "{refused}");
            assert_eq!(agent.called("SendMessage"), 0);
            Talk::Old.send(&bot, "hello", json!({})).await.unwrap();
        },
    );
}

#[test]
fn the_agent_sees_listed_headers_our_credential_and_never_the_callers_key() {
    proxied(
        |upstream| upstream.token = Some("service-token".to_owned()),
        async |server, agent| {
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            let bot = bot.with("x-user-id", "alice").with("x-secret", "s").with("cookie", "c=1");
            let bot = bot
                .with("x-kagent-source", "ui")
                .with("x-forwarded-user", "root")
                .with("remote-user", "root");
            let task = Talk::New.send(&bot, "delete a", json!({})).await.unwrap();
            let headers = agent.headers("SendMessage");
            let value = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
            assert_eq!(value("authorization").as_deref(), Some("Bearer service-token"));
            assert_eq!(
                value("x-user-id").as_deref(),
                Some("bot"),
                "who calls, not who the caller says it is"
            );
            for name in ["x-secret", "cookie", "x-kagent-source", "x-forwarded-user", "remote-user"] {
                assert_eq!(value(name), None, "{name}");
            }
            assert!(value("a2a-extensions").unwrap().contains("kagent.dev/extensions/hitl/v1"));
            decide(&ann, &pending(&ann).await[0], json!({"decision": "approve"})).await;
            until(Talk::New, &bot, id(&task), "completed").await;
            let resumed = agent.headers("SendStreamingMessage");
            assert_eq!(resumed["x-user-id"], "bot", "the requester's identity, not the approver's");
            assert_eq!(resumed["authorization"], "Bearer service-token");
        },
    );
}

#[test]
fn the_callers_key_is_not_passed_on_even_if_it_is_listed() {
    proxied(
        |upstream| upstream.forward.push(http::header::AUTHORIZATION),
        async |server, agent| {
            let bot = server.agent("bot").await;
            Talk::New.send(&bot, "hello", json!({})).await.unwrap();
            assert_eq!(agent.headers("SendMessage").get("authorization"), None);
        },
    );
}

#[test]
fn a_callers_own_identity_passes_only_if_the_operator_lists_it_and_tells_the_agent_nothing_else() {
    let user = http::HeaderName::from_static("x-user-id");
    for (listed, told, seen) in [(true, true, Some("bot")), (true, false, Some("root")), (false, false, None)]
    {
        let user = user.clone();
        proxied(
            move |upstream| {
                upstream.identify = told.then(|| user.clone());
                if listed {
                    upstream.forward.push(user);
                }
            },
            async move |server, agent| {
                let bot = server.agent("bot").await.with("x-user-id", "root");
                Talk::New.send(&bot, "hello", json!({})).await.unwrap();
                let headers = agent.headers("SendMessage");
                assert_eq!(headers.get("x-user-id").map(|value| value.to_str().unwrap()), seen);
            },
        );
    }
}

#[test]
fn a_task_that_people_decide_on_can_be_read_while_its_agent_is_away() {
    paused("delete a", async |Scene { agent, bot, ann, task, .. }| {
        agent.behave(Manner::Html);
        let read = Talk::New.get(&bot, id(&task)).await.unwrap();
        assert_eq!((&read["id"], &read["contextId"]), (&task["id"], &task["contextId"]));
        assert!(read["status"].to_string().contains("Awaiting approval"), "{read}");
        let chatter = Talk::New.send(&bot, "and?", json!({"taskId": task["id"]})).await.unwrap_err();
        assert!(chatter["message"].as_str().unwrap().contains("approval pending"), "{chatter}");
        agent.behave(Manner::Well);
        decide(&ann, &pending(&ann).await[0], json!({"decision": "approve"})).await;
        until(Talk::New, &bot, id(&task), "completed").await;
        assert_eq!(agent.ran(), ran(&["a"]));
    });
}

#[test]
fn a_task_that_has_ended_is_not_shown_as_waiting_while_its_agent_is_away() {
    paused("delete a", async |Scene { agent, bot, ann, task, waiting, .. }| {
        agent.behave(Manner::SaysNothingAndWaits);
        decide(&ann, &waiting[0], json!({"decision": "approve"})).await;
        until_so("an answer at the agent", async || !agent.answers().is_empty()).await;
        // Its end is seen before anybody knows that the answer arrived.
        agent.finish(id(&task));
        assert_eq!(state(&Talk::New.get(&bot, id(&task)).await.unwrap()), "completed");
        agent.behave(Manner::Html);
        assert_eq!(Talk::New.get(&bot, id(&task)).await.unwrap_err()["code"], -32006);
    });
}

/// A card that names this address.
fn card(url: &str) -> Value {
    json!({
        "name": "elsewhere", "skills": [], "capabilities": {"streaming": true},
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
    })
}

/// Whether a call through us reaches the agent that is configured like this.
async fn reached(agent: &Agent, change: impl FnOnce(&mut Upstream)) -> bool {
    let server = front(Backend::Sqlite, agent, change).await;
    let sent = Talk::New.send(&server.agent("bot").await, "hello", json!({})).await;
    server.finish().await;
    sent.is_ok()
}

#[test]
fn calls_go_where_the_card_says_if_that_is_on_the_operators_origin() {
    placet_testkit::block_on(async {
        let agent = Agent::start_at("/a2a/jsonrpc").await;
        let rpc = format!("{}a2a/jsonrpc", agent.url);
        agent.show(card(&rpc));
        assert!(reached(&agent, |_| {}).await, "by the folder of its card");
        assert!(reached(&agent, |upstream| upstream.url = rpc.clone()).await, "by the address itself");
        // A name of this machine is as good as another.
        agent.show(card(&rpc.replace("127.0.0.1", "localhost")));
        assert!(reached(&agent, |_| {}).await);
        // A card that leads elsewhere is not followed; the operator may say where both are.
        agent.show(card("http://evil.example/rpc"));
        assert!(!reached(&agent, |_| {}).await);
        let told = |upstream: &mut Upstream| {
            upstream.card = Some(format!("{}.well-known/agent-card.json", agent.url));
            upstream.url.clone_from(&rpc);
        };
        assert!(reached(&agent, told).await);
    });
}

#[test]
fn the_card_of_another_agent_at_the_same_origin_is_not_taken_for_its_own() {
    placet_testkit::block_on(async {
        let agent = Agent::start().await;
        agent.show(card(&agent.url));
        let missing = |upstream: &mut Upstream| upstream.url = format!("{}agents/gone", agent.url);
        assert!(!reached(&agent, missing).await);
        assert_eq!(agent.called("SendMessage"), 0);
    });
}

#[test]
fn an_agent_that_cannot_be_used_is_found_before_anything_is_started() {
    placet_testkit::block_on(async {
        let agent = Agent::start_at("/a2a/jsonrpc").await;
        let found = async |change: &dyn Fn(&mut Upstream)| {
            let mut upstream = Upstream::new("demo", "ops", &agent.url);
            change(&mut upstream);
            check_agents(&[upstream]).await.unwrap().pop().map(|(name, problem)| {
                assert_eq!(name, "demo/ops");
                problem
            })
        };
        let wrong = |found: Option<AgentProblem>| match found {
            Some(AgentProblem::Wrong(why)) => why,
            other => panic!("{other:?}"),
        };
        agent.show(card(&format!("{}a2a/jsonrpc", agent.url)));
        assert_eq!(found(&|_| {}).await, None);
        agent.show(card("http://elsewhere.example/"));
        let why = wrong(found(&|_| {}).await);
        assert!(why.contains("does not speak JSON-RPC (it answers with status 404)"), "{why}");
        assert!(why.contains("`url` is the address of JSON-RPC, and `card` that of the card"), "{why}");
        let why = wrong(found(&|upstream| upstream.url.push_str("nowhere/")).await);
        assert!(why.contains("there is no card at") && why.contains("`card` says where it is"), "{why}");
        agent.show(json!("no card"));
        let why = wrong(found(&|_| {}).await);
        assert!(why.contains("is not a JSON object"), "{why}");
        agent.show(json!({"name": "x", "supportedInterfaces": [{"url": agent.url, "protocolBinding": "GRPC", "protocolVersion": "1.0"}]}));
        let why = wrong(found(&|_| {}).await);
        assert!(why.contains("its card offers GRPC, and no JSON-RPC"), "{why}");
        // One that is not there yet may come.
        let away = found(&|upstream| upstream.url = "http://127.0.0.1:1/".to_owned()).await;
        assert!(matches!(away, Some(AgentProblem::Away(_))), "{away:?}");
    });
}

#[test]
fn a_stream_of_an_agent_that_has_none_begins_with_its_answer_and_goes_on() {
    proxied(
        |_| {},
        async |server, agent| {
            let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
            let mut streamless = card("http://x/");
            streamless["capabilities"] = json!({});
            agent.show(streamless);
            agent.behave(Manner::Streamless);
            let card = server.nobody().get(&format!("{PATH}/.well-known/agent-card.json")).await.expect(200);
            assert_eq!(card["capabilities"]["streaming"], true, "what the card offers is true");
            let mut stream =
                Talk::New.stream(&bot, "SendStreamingMessage", Talk::New.text("delete a", json!({}))).await;
            assert_eq!(state(&stream.next().await.unwrap()["task"]), "working");
            decide(&ann, &pending(&ann).await[0], json!({"decision": "approve"})).await;
            assert_eq!(stream.states().await.last().unwrap(), "completed");
            assert_eq!(agent.ran(), ran(&["a"]));
        },
    );
}

#[test]
fn the_card_at_the_root_is_the_desks_unless_the_operator_says_whose() {
    placet_testkit::block_on(async {
        let agent = Agent::start().await;
        let shown = async |root_card: RootCard| {
            let upstreams = vec![Upstream::new("demo", "ops", &agent.url)];
            let settings = Settings { upstreams, root_card, ..Settings::default() };
            let server = Server::over(Kit::start(Backend::Sqlite).await, settings).await;
            let one = server.nobody().get("/.well-known/agent-card.json").await;
            let other = server.nobody().get("/.well-known/agent.json").await;
            assert_eq!((one.status, &one.body), (other.status, &other.body));
            let url = server.url();
            server.finish().await;
            (
                one.status,
                one.body["name"].clone(),
                one.body["url"].as_str().map(|text| text.replace(&url, "")),
            )
        };
        let desk = shown(RootCard::Desk).await;
        assert_eq!(desk, (200, json!("Placet approval desk"), Some("/a2a/desk".to_owned())));
        let root = RootCard::Agent { namespace: "demo".to_owned(), agent: "ops".to_owned() };
        assert_eq!(shown(root).await, (200, json!("fake"), Some(PATH.to_owned())));
        assert_eq!(shown(RootCard::None).await.0, 404);
    });
}
