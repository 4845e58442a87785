//! The live stream across broken connections: nothing twice, nothing old, nothing lost.

use placet_client::{EventStream, StreamItem};
use serde_json::json;

use crate::fake::{Call, Fake, Reply, record};

fn event(id: &str, name: &str, state: &str, version: u32) -> String {
    format!("id: {id}\nevent: {name}\ndata: {}\n\n", record(state, version))
}

async fn events(stream: &mut EventStream, count: usize) -> Vec<String> {
    let mut seen = Vec::new();
    while seen.len() < count {
        match stream.next().await.unwrap() {
            StreamItem::Event(event) => {
                seen.push(format!("{} {} v{}", event.id, event.name, event.record.version));
            }
            StreamItem::Reset => seen.push("reset".to_owned()),
            StreamItem::Connected | StreamItem::Lost { .. } => {}
        }
    }
    seen
}

#[tokio::test]
async fn a_broken_stream_resumes_where_it_was_without_repetitions() {
    let fake = Fake::start(|number, _: &Call| match number {
        // A heartbeat moves the cursor; half an event at the end is not an event.
        0 => Reply::Events(
            event("1.5", "request.created", "pending", 1)
                + "id: 1.6\nevent: heartbeat\ndata: {}\n\nid: 1.7\nevent: req",
        ),
        1 => Reply::With(503, "retry-after", "0", json!({})),
        _ => Reply::Events(
            event("1.5", "request.created", "pending", 1)
                + &event("1.7", "request.decided", "approved", 2)
                + &event("1.8", "request.voted", "pending", 1),
        ),
    })
    .await;
    let mut stream = fake.client().stream(Some("1.4".to_owned()));
    assert_eq!(events(&mut stream, 2).await, ["1.5 request.created v1", "1.7 request.decided v2"]);
    let cursors: Vec<_> = fake.calls().into_iter().take(3).map(|call| call.cursor.unwrap()).collect();
    assert_eq!(cursors, ["1.4", "1.6", "1.6"]);
}

#[tokio::test]
async fn a_pruned_cursor_is_told_as_a_reset() {
    let fake = Fake::start(|_, _: &Call| {
        Reply::Events(
            "id: 2.1\nevent: reset\ndata: {}\n\n".to_owned() + &event("2.2", "request.created", "pending", 1),
        )
    })
    .await;
    let mut stream = fake.client().stream(Some("1.999".to_owned()));
    assert_eq!(events(&mut stream, 2).await, ["reset", "2.2 request.created v1"]);
    assert_eq!(stream.cursor(), Some("2.2"));
}

#[tokio::test]
async fn nonsense_and_refusals_end_the_stream() {
    let nonsense = Fake::start(|_, _: &Call| {
        Reply::Events("event: request.decided\ndata: {\"state\":\"yes\"}\n\n".to_owned())
    })
    .await;
    let mut stream = nonsense.client().stream(None);
    assert!(matches!(stream.next().await, Ok(StreamItem::Connected)));
    assert!(stream.next().await.is_err());
    let refused =
        Fake::start(|_, _: &Call| Reply::Json(401, json!({"code": "unauthorized", "detail": "no"}))).await;
    assert!(refused.client().stream(None).next().await.is_err());
}
