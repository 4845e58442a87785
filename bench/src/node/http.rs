//! A blocking HTTP/1.1 client that tells whether an operation may have happened, which a crash test must know.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;
use tokio::time::Instant;

/// What a server answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The body, as it came.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_slice(&self.body).with_context(|| format!("JSON in {:?}", self.text()))
    }

    /// The body as text for an error message.
    pub fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        text.chars().take(600).collect()
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// No byte reached a server: it did not happen.
    #[error("not sent: {0}")]
    NotSent(std::io::Error),
    /// It was sent, and then the connection broke: it may have happened.
    #[error("sent, but not answered: {0}")]
    Maybe(std::io::Error),
}

/// One kept-alive connection with one credential.
#[derive(Debug)]
pub struct Http {
    addr: SocketAddr,
    token: String,
    stream: Option<TcpStream>,
}

impl Http {
    /// A client; it connects when first used.
    pub fn new(addr: SocketAddr, token: &str) -> Self {
        Self { addr, token: token.to_owned(), stream: None }
    }

    /// GET.
    pub fn get(&mut self, path: &str, within: Duration) -> Result<Answer, NoAnswer> {
        self.call("GET", path, None, &[], within)
    }

    /// POST of JSON, with an idempotency key if there is one.
    pub fn post(
        &mut self,
        path: &str,
        key: Option<&str>,
        body: &Value,
        within: Duration,
    ) -> Result<Answer, NoAnswer> {
        self.call("POST", path, key, body.to_string().as_bytes(), within)
    }

    fn call(
        &mut self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: &[u8],
        within: Duration,
    ) -> Result<Answer, NoAnswer> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => connect(self.addr).map_err(NoAnswer::NotSent)?,
        };
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\naccept: application/json\r\n",
            self.addr, self.token
        );
        if method == "POST" {
            let _ = write!(head, "content-type: application/json\r\ncontent-length: {}\r\n", body.len());
        }
        if let Some(key) = key {
            let _ = write!(head, "idempotency-key: {key}\r\n");
        }
        head.push_str("\r\n");
        let mut message = head.into_bytes();
        message.extend_from_slice(body);
        stream.write_all(&message).map_err(NoAnswer::Maybe)?;
        let (answer, keep) = read_answer(&mut stream, within).map_err(NoAnswer::Maybe)?;
        if keep {
            self.stream = Some(stream);
        }
        Ok(answer)
    }
}

fn connect(addr: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&addr, Duration::from_secs(5))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Reads one response. The second value says whether the connection can be used again.
fn read_answer(stream: &mut TcpStream, within: Duration) -> std::io::Result<(Answer, bool)> {
    let deadline = Instant::now() + within;
    let mut parser = Parser::default();
    let mut buffer = [0_u8; 16 * 1024];
    loop {
        if let Some(answer) = parser.take()? {
            return Ok((answer, !parser.close));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(std::io::Error::new(ErrorKind::TimedOut, "no answer in time"));
        }
        stream.set_read_timeout(Some(left))?;
        let count = match stream.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(std::io::Error::new(ErrorKind::TimedOut, "no answer in time"));
            }
            Err(error) => return Err(error),
        };
        if count == 0 {
            return Err(std::io::Error::new(
                ErrorKind::UnexpectedEof,
                "the connection closed before the answer was whole",
            ));
        }
        parser.feed(buffer.get(..count).unwrap_or_default());
    }
}

/// An incremental reader of HTTP/1.1 responses; also reads them out of recorded socket writes.
#[derive(Debug, Default)]
pub struct Parser {
    bytes: Vec<u8>,
    /// The last response asked for the connection to be closed.
    pub close: bool,
}

impl Parser {
    /// Adds bytes from the wire.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole response, if there is one.
    pub fn take(&mut self) -> std::io::Result<Option<Answer>> {
        let bad = |what: &str| {
            std::io::Error::new(ErrorKind::InvalidData, format!("not an HTTP/1.1 response: {what}"))
        };
        let Some(end) = self.bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = String::from_utf8_lossy(self.bytes.get(..end).unwrap_or_default()).to_ascii_lowercase();
        let mut lines = head.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let status = first
            .strip_prefix("http/1.1 ")
            .and_then(|rest| rest.get(..3))
            .and_then(|code| code.parse().ok())
            .ok_or_else(|| bad(first))?;
        let (mut length, mut chunked, mut close) = (None, false, false);
        for line in lines {
            let Some((name, value)) = line.split_once(':') else {
                continue;
            };
            match (name.trim(), value.trim()) {
                ("content-length", value) => length = Some(value.parse::<usize>().map_err(|_| bad(line))?),
                ("transfer-encoding", "chunked") => chunked = true,
                ("connection", "close") => close = true,
                _ => {}
            }
        }
        let rest = self.bytes.get(end + 4..).unwrap_or_default();
        let found = if chunked {
            chunks(rest).map_err(|()| bad("chunk size"))?
        } else {
            let length = if status == 204 || status == 304 || status < 200 { 0 } else { length.unwrap_or(0) };
            rest.get(..length).map(|body| (body.to_vec(), length))
        };
        let Some((body, used)) = found else {
            return Ok(None);
        };
        self.bytes.drain(..end + 4 + used);
        if status < 200 {
            return self.take();
        }
        self.close = close;
        Ok(Some(Answer { status, body }))
    }
}

/// The decoded body and its length in bytes. `None` while it is incomplete.
fn chunks(mut rest: &[u8]) -> Result<Option<(Vec<u8>, usize)>, ()> {
    let (mut body, mut used) = (Vec::new(), 0);
    loop {
        let Some(line) = rest.windows(2).position(|two| two == b"\r\n") else {
            return Ok(None);
        };
        let text = std::str::from_utf8(rest.get(..line).unwrap_or_default()).map_err(|_| ())?;
        let size =
            usize::from_str_radix(text.split(';').next().unwrap_or_default().trim(), 16).map_err(|_| ())?;
        let Some(chunk) = rest.get(line + 2..line + 2 + size) else {
            return Ok(None);
        };
        let Some(after) = rest.get(line + 2 + size + 2..) else {
            return Ok(None);
        };
        used += line + 2 + size + 2;
        if size == 0 {
            return Ok(Some((body, used)));
        }
        body.extend_from_slice(chunk);
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::Parser;

    #[test]
    fn a_response_fed_in_pieces_is_whole_only_at_its_last_byte() {
        let text = b"HTTP/1.1 201 Created\r\nContent-Length: 7\r\n\r\n{\"a\":1}";
        for cut in 1..text.len() {
            let mut parser = Parser::default();
            parser.feed(&text[..cut]);
            assert!(parser.take().unwrap().is_none(), "whole too early at {cut}");
            parser.feed(&text[cut..]);
            let answer = parser.take().unwrap().unwrap();
            assert_eq!((answer.status, answer.body.as_slice()), (201, &b"{\"a\":1}"[..]));
        }
    }

    #[test]
    fn two_responses_in_one_write_and_chunked_bodies_are_both_read() {
        let mut parser = Parser::default();
        parser.feed(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nHTTP/1.1 409 Conflict\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
        assert_eq!(parser.take().unwrap().unwrap().body, b"abcde");
        assert!(!parser.close);
        assert_eq!(parser.take().unwrap().unwrap().status, 409);
        assert!(parser.close);
        assert!(parser.take().unwrap().is_none());
    }

    #[test]
    fn something_else_than_http_is_an_error_not_an_answer() {
        let mut parser = Parser::default();
        parser.feed(b"SSH-2.0-x\r\n\r\n");
        assert!(parser.take().is_err());
    }
}
