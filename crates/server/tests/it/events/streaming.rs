//! The stream of this door: what there is, then every event and every answer, each once.

use placet_testkit::both;

use super::*;
use crate::support::{decide, with_settings};

both! {
    async fn a_stream_begins_with_what_there_is_and_goes_on_with_every_event_and_answer(backend: Backend) {
        let server = open(backend).await;
        let (local, ann) = (server.nobody(), server.reviewer("ann").await);
        let (plain, asked) = (told(&local, event()).await, ask(&local, "permission", "").await);
        let mut socket = Socket::open(&local, "/stream").await;
        assert_eq!(frame(&mut socket).await, json!({"type": "initial", "data": [plain, asked]}));
        let new = told(&local, event_with(json!({"odd": 1}))).await;
        assert_eq!(frame(&mut socket).await, json!({"type": "event", "data": new}));
        // A decision made elsewhere is told here too, as the updated event.
        let record = ann.get(&format!("/v1/requests/{}", asked["placetRequest"].as_str().expect("an id"))).await.expect(200);
        decide(&ann, &record, "approve").await.expect(200);
        let told_here = frame(&mut socket).await;
        assert_eq!(told_here, json!({"type": "event", "data": read(&local, &asked).await}));
        assert_eq!(told_here["data"]["humanInTheLoopStatus"]["response"]["respondedBy"], json!("ann"));
        told_everything(&local, &mut socket).await;
        server.finish().await;
    }
}

#[test]
fn an_answer_is_told_once_and_other_changes_are_not() {
    on_sqlite(async |server| {
        let local = server.nobody();
        let mut socket = Socket::open(&local, "/stream").await;
        assert_eq!(frame(&mut socket).await, json!({"type": "initial", "data": []}));
        let asked = told(&local, question("permission", &Value::Null, json!({"timeout": 5}))).await;
        assert_eq!(frame(&mut socket).await["data"]["id"], asked["id"]);
        server.kit.clock().advance(Duration::from_secs(6));
        server.kit.gate().sweep().await.expect("deadlines can take effect");
        told_everything(&local, &mut socket).await;
        let answered = ask(&local, "permission", "").await;
        assert_eq!(frame(&mut socket).await["data"]["humanInTheLoopStatus"]["status"], json!("pending"));
        respond(&local, &answered, json!({"permission": true})).await.expect(200);
        assert_eq!(respond(&local, &answered, json!({"permission": true})).await.status, 409);
        assert_eq!(frame(&mut socket).await["data"]["humanInTheLoopStatus"]["status"], json!("responded"));
        told_everything(&local, &mut socket).await;
        // Who comes later is told how things stand, and no more.
        let mut later = Socket::open(&local, "/stream").await;
        let initial = frame(&mut later).await;
        let statuses: Vec<_> = initial["data"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|event| &event["humanInTheLoopStatus"]["status"])
            .collect();
        let responded = json!("responded");
        assert_eq!(statuses, [&json!("timeout"), &responded, &responded, &responded]);
        told_everything(&local, &mut later).await;
    });
}

#[test]
fn a_stream_ends_when_its_key_is_revoked_and_what_readers_say_is_ignored() {
    with_settings(
        |_| {},
        async |server| {
            let ann = server.kit.reviewer("ann").await;
            let bot = server.agent("bot").await;
            let mut socket = Socket::open(&server.actor(&ann), "/stream").await;
            frame(&mut socket).await;
            futures_util::SinkExt::send(&mut socket.0, Message::text("{\"permission\":true}"))
                .await
                .expect("sent");
            told(&bot, event()).await;
            assert_eq!(frame(&mut socket).await["type"], json!("event"));
            server.kit.revoke_key(&ann).await;
            let closed = soon("the end of the stream", async {
                loop {
                    match socket.0.next().await {
                        Some(Ok(Message::Close(frame))) => return frame.map(|frame| u16::from(frame.code)),
                        Some(Ok(_)) => {}
                        _ => return None,
                    }
                }
            });
            assert_eq!(closed.await, Some(1008));
        },
    );
}

#[test]
fn many_readers_hear_every_event_of_many_agents_once() {
    on_sqlite(async |server| {
        let local = server.nobody();
        let mut sockets = Vec::new();
        for _ in 0..5 {
            let mut socket = Socket::open(&local, "/stream").await;
            frame(&mut socket).await;
            sockets.push(socket);
        }
        let mut posting = JoinSet::new();
        for n in 0..40 {
            let local = local.clone();
            posting.spawn(async move { told(&local, event_with(json!({"n": n}))).await });
        }
        posting.join_all().await;
        for socket in &mut sockets {
            let mut ids = Vec::new();
            for _ in 0..40 {
                ids.push(frame(socket).await["data"]["id"].as_u64().expect("a number"));
            }
            assert_eq!(ids, (1..=40).collect::<Vec<_>>());
        }
    });
}
