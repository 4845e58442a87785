//! An event as it comes in: what it must have, what is left out, and the text that is stored.

use std::sync::Arc;

use placet_gate::NewEvent;
use serde_json::value::RawValue;

use super::{Fault, body::Fields};

/// Longest of the three words that every event has, in bytes.
const WORD: usize = 1024;
/// Largest transcript that is kept; of a longer one the end.
const CHAT: usize = 256 * 1024;
/// Largest event that is kept, after its transcript was cut.
const LARGEST: usize = 1024 * 1024;
/// The same for one that asks a person: its answer carries it, and is read by clients with a limit of their own.
const LARGEST_ASKING: usize = 512 * 1024;

/// A checked event.
#[derive(Debug)]
pub(super) struct Event<'a> {
    pub(super) source_app: String,
    pub(super) session_id: String,
    pub(super) hook_event_type: String,
    pub(super) payload: &'a RawValue,
    pub(super) timestamp: i64,
    /// The question to a person.
    pub(super) asked: Option<&'a RawValue>,
    /// The whole event, without its number and without what only we may say.
    pub(super) body: Arc<str>,
}

impl<'a> Event<'a> {
    /// Checks an event. `now` is the time of one that names none, in milliseconds.
    pub(super) fn parse(bytes: &'a [u8], now: u64) -> Result<Self, Fault> {
        let fields = Fields::parse(bytes)?.ok_or_else(Fault::missing)?;
        let source_app = word(&fields, "source_app")?;
        let session_id = word(&fields, "session_id")?;
        let hook_event_type = word(&fields, "hook_event_type")?;
        let payload = fields.get("payload").filter(|value| truthy(value)).ok_or_else(Fault::missing)?;
        let (timestamp, as_text) = time(&fields, now)?;
        let asked = fields.get("humanInTheLoop").filter(|value| truthy(value));
        let body = stored(&fields, &as_text)?;
        if body.len() > if asked.is_some() { LARGEST_ASKING } else { LARGEST } {
            return Err(Fault::too_large("the event is too large even without its chat"));
        }
        Ok(Self { source_app, session_id, hook_event_type, payload, timestamp, asked, body: body.into() })
    }

    /// What is handed to the gate.
    pub(super) fn into_new(self) -> NewEvent {
        NewEvent {
            body: self.body,
            source_app: self.source_app,
            session_id: self.session_id,
            hook_event_type: self.hook_event_type,
            timestamp: self.timestamp,
        }
    }
}

/// What JavaScript takes for something: the original asked no more.
fn truthy(value: &RawValue) -> bool {
    let text = value.get();
    let zero = text.starts_with(['0', '-']) && text.parse::<f64>().is_ok_and(|number| number == 0.0);
    !zero && !matches!(text, "null" | "false" | "\"\"")
}

fn word(fields: &Fields<'_>, name: &str) -> Result<String, Fault> {
    let value = fields.get(name).filter(|value| truthy(value)).ok_or_else(Fault::missing)?;
    let text: String =
        serde_json::from_str(value.get()).map_err(|_| Fault::bad(format!("{name}: expected text")))?;
    if text.len() > WORD {
        return Err(Fault::bad(format!("{name}: longer than {WORD} bytes")));
    }
    Ok(text)
}

/// When it happened: as a number for the table, and as it was sent. Text is refused: dashboards draw by it.
fn time(fields: &Fields<'_>, now: u64) -> Result<(i64, String), Fault> {
    let Some(value) = fields.get("timestamp").filter(|value| truthy(value)) else {
        return Ok((i64::try_from(now).unwrap_or(i64::MAX), now.to_string()));
    };
    let number: f64 = serde_json::from_str(value.get())
        .map_err(|_| Fault::bad("timestamp: expected a number of milliseconds"))?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float outside the range becomes its end; nothing is ordered by it"
    )]
    let whole = number as i64;
    Ok((whole, value.get().to_owned()))
}

/// The text that is stored: every field as it was sent, but for the number and the status, which are ours to say.
fn stored(fields: &Fields<'_>, timestamp: &str) -> Result<String, Fault> {
    let mut text = String::with_capacity(1024);
    let mut put = |name: &str, value: &str| {
        text.push(if text.is_empty() { '{' } else { ',' });
        // A name was read from JSON, so it can be written as JSON.
        text.push_str(&serde_json::Value::from(name).to_string());
        text.push(':');
        text.push_str(value);
    };
    for (name, value) in &fields.0 {
        match name.as_str() {
            "id" | "humanInTheLoopStatus" | "timestamp" | "chat_left_out" => {}
            "chat" if value.get().len() > CHAT => {
                let (chat, left_out) = end_of(value)?;
                put("chat", &chat);
                put("chat_left_out", &left_out.to_string());
            }
            name => put(name, value.get()),
        }
    }
    put("timestamp", timestamp);
    text.push('}');
    Ok(text)
}

/// The end of a transcript, and how many messages were left out.
fn end_of(chat: &RawValue) -> Result<(String, usize), Fault> {
    let wrong = |_| Fault::bad("chat: a large one must be a list");
    let messages: Vec<&RawValue> = serde_json::from_str(chat.get()).map_err(wrong)?;
    let mut room = CHAT;
    let kept = messages.iter().rev().take_while(|message| {
        let size = message.get().len() + 1;
        let fits = size <= room;
        room = room.saturating_sub(size);
        fits
    });
    let kept = kept.count();
    let left_out = messages.len() - kept;
    let end: Vec<&str> = messages.iter().skip(left_out).map(|message| message.get()).collect();
    Ok((format!("[{}]", end.join(",")), left_out))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn parsed(event: &Value) -> Result<Value, String> {
        let text = event.to_string();
        let event = Event::parse(text.as_bytes(), 7).map_err(|fault| format!("{fault:?}"))?;
        Ok(serde_json::from_str(&event.body).expect("what is stored is JSON"))
    }

    fn event_with(more: Value) -> Value {
        let mut event =
            json!({"source_app": "a", "session_id": "s", "hook_event_type": "Stop", "payload": {}});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    }

    #[test]
    fn everything_is_kept_but_the_number_and_the_status() {
        let more = json!({"id": 9, "humanInTheLoopStatus": {"status": "responded"}, "x": [1, {"y": "\u{0}"}], "timestamp": 5});
        let kept = parsed(&event_with(more)).unwrap();
        assert_eq!(kept, event_with(json!({"x": [1, {"y": "\u{0}"}], "timestamp": 5})));
        assert_eq!(parsed(&event_with(json!({"timestamp": null}))).unwrap()["timestamp"], 7);
    }

    #[test]
    fn what_javascript_takes_for_nothing_is_missing() {
        for field in ["source_app", "session_id", "hook_event_type", "payload"] {
            for nothing in [json!(null), json!(""), json!(0), json!(false), json!(-0.0)] {
                let error = parsed(&event_with(json!({field: nothing}))).unwrap_err();
                assert!(error.contains("Missing required fields"), "{field}: {error}");
            }
        }
        assert!(parsed(&event_with(json!({"payload": "text"}))).is_ok());
        assert!(parsed(&event_with(json!({"payload": []}))).is_ok());
    }

    #[test]
    fn text_where_numbers_belong_is_refused_by_name() {
        for (field, value) in
            [("timestamp", json!("2026")), ("timestamp", json!([1])), ("session_id", json!(5))]
        {
            let error = parsed(&event_with(json!({field: value}))).unwrap_err();
            assert!(error.contains(field), "{error}");
        }
    }

    #[test]
    fn of_a_long_transcript_the_end_is_kept() {
        let message = "x".repeat(1000);
        let chat: Vec<Value> = (0..1000).map(|n| json!({"n": n, "text": message})).collect();
        let kept = parsed(&event_with(json!({"chat": chat}))).unwrap();
        let messages = kept["chat"].as_array().unwrap();
        assert_eq!(messages.len() + usize::try_from(kept["chat_left_out"].as_u64().unwrap()).unwrap(), 1000);
        assert!(messages.len() > 200 && messages.last().unwrap()["n"] == 999);
        assert!(kept.to_string().len() < CHAT + 1000);
        assert!(
            parsed(&event_with(json!({"payload": {"x": "y".repeat(LARGEST)}}))).unwrap_err().contains("413")
        );
    }
}
