//! Reads server-sent events from bytes: incremental and bounded, with input in pieces of any size.

/// The largest event that is kept. A full record fits.
const EVENT: usize = 8 * 1024 * 1024;

/// One message of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// The event's name; `message` when none was given.
    pub(crate) event: String,
    /// Its data, lines joined. Empty for a message that only moves the cursor.
    pub(crate) data: String,
    /// The cursor after this message, if the stream has sent one.
    pub(crate) id: Option<String>,
}

/// An event grew beyond the bound.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// Bytes in, messages out.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    line: Vec<u8>,
    after_cr: bool,
    started: bool,
    event: String,
    data: String,
    id: Option<String>,
    seen: bool,
}

impl Reader {
    /// Reads some bytes and returns the messages that they complete.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Message>, TooLarge> {
        let mut messages = Vec::new();
        for byte in bytes {
            match byte {
                // CR LF is one line end: the LF after a CR ends nothing.
                b'\n' if self.after_cr => {}
                b'\n' | b'\r' => messages.extend(self.end_of_line()),
                _ if self.line.len() + self.data.len() >= EVENT => return Err(TooLarge),
                other => self.line.push(*other),
            }
            self.after_cr = *byte == b'\r';
        }
        Ok(messages)
    }

    fn end_of_line(&mut self) -> Option<Message> {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        let line = if self.started { line.as_str() } else { line.trim_start_matches('\u{feff}') };
        self.started = true;
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event),
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            // An id with a null character in it is ignored, as the standard says.
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            // Comments only keep the connection alive. Unknown fields belong to later versions.
            _ => return None,
        }
        self.seen = true;
        None
    }

    fn dispatch(&mut self) -> Option<Message> {
        if !std::mem::take(&mut self.seen) {
            return None;
        }
        let mut data = std::mem::take(&mut self.data);
        data.pop();
        let event = std::mem::take(&mut self.event);
        let event = if event.is_empty() { "message".to_owned() } else { event };
        Some(Message { event, data, id: self.id.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Message> {
        Reader::default().feed(text.as_bytes()).unwrap()
    }

    fn message(event: &str, data: &str, id: Option<&str>) -> Message {
        Message { event: event.to_owned(), data: data.to_owned(), id: id.map(str::to_owned) }
    }

    #[test]
    fn a_message_has_event_data_and_cursor() {
        let found = read("event: request.created\nid: 1.7\ndata: {\"a\":1}\n\n");
        assert_eq!(found, [message("request.created", "{\"a\":1}", Some("1.7"))]);
    }

    #[test]
    fn bytes_may_come_one_by_one_and_with_any_line_end() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["\u{feff}id: 1", "data: ä", "data:b", "", ": beat", "", "data: c", "", ""].join(end);
            let mut reader = Reader::default();
            let found: Vec<Message> = text
                .as_bytes()
                .iter()
                .flat_map(|byte| reader.feed(std::slice::from_ref(byte)).unwrap())
                .collect();
            assert_eq!(
                found,
                [message("message", "ä\nb", Some("1")), message("message", "c", Some("1"))],
                "{end:?}"
            );
        }
    }

    #[test]
    fn a_heartbeat_with_an_id_moves_the_cursor() {
        assert_eq!(read("id: 1.9\n\n"), [message("message", "", Some("1.9"))]);
        assert_eq!(read(":\n\n"), []);
    }

    #[test]
    fn an_unfinished_message_is_not_given_out() {
        assert_eq!(read("data: {\"half\":"), []);
    }

    #[test]
    fn an_endless_event_is_cut_off() {
        let mut reader = Reader::default();
        let chunk = vec![b'x'; 1024 * 1024];
        reader.feed(b"data: ").unwrap();
        let fed = (0..20).map(|_| reader.feed(&chunk)).find(Result::is_err);
        assert_eq!(fed, Some(Err(TooLarge)));
    }
}
