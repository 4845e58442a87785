//! One HTTP/1.1 keep-alive connection that reads only what it needs of an answer.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A connection with at most one request in flight.
#[derive(Debug)]
pub struct Conn {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// Status and body of one answer; the body is borrowed from the connection's buffer.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// The HTTP status.
    pub status: u16,
    /// The body, whole.
    pub body: &'a [u8],
}

impl Answer<'_> {
    /// Fails with the beginning of the body if the status is another one.
    pub fn expect(&self, status: u16, what: &str) -> Result<()> {
        if self.status == status {
            return Ok(());
        }
        let body = String::from_utf8_lossy(self.body);
        let shown: String = body.chars().take(300).collect();
        bail!("{what}: expected status {status}, got {}: {shown}", self.status)
    }
}

impl Conn {
    /// Connects, with Nagle's algorithm off as real clients have it.
    pub async fn open(addr: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(addr).await.with_context(|| format!("cannot connect to {addr}"))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// Writes one request.
    pub async fn send(&mut self, request: &[u8]) -> Result<()> {
        self.stream.write_all(request).await.context("the connection broke while sending")
    }

    /// Reads one answer.
    pub async fn receive(&mut self) -> Result<Answer<'_>> {
        self.buffer.clear();
        let mut head: Option<Head> = None;
        loop {
            // Records are about 1 KiB, so one read is usually enough.
            self.buffer.reserve(2048);
            let read = self.stream.read_buf(&mut self.buffer).await.context("the connection broke")?;
            if read == 0 {
                bail!("the server closed the connection before answering");
            }
            if head.is_none() {
                head = Head::parse(&self.buffer)?;
            }
            if let Some(head) = &head {
                let end = head.length + head.content_length;
                if self.buffer.len() > end {
                    bail!("the answer is longer than its content-length");
                }
                if self.buffer.len() == end {
                    return Ok(Answer { status: head.status, body: &self.buffer[head.length..end] });
                }
            }
        }
    }

    /// Sends one request and reads its answer.
    pub async fn call(&mut self, request: &[u8]) -> Result<Answer<'_>> {
        self.send(request).await?;
        self.receive().await
    }
}

/// The three facts about a response head that are needed to find its body.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    length: usize,
    content_length: usize,
}

impl Head {
    /// `None` while the head is still incomplete.
    fn parse(bytes: &[u8]) -> Result<Option<Self>> {
        let Some(at) = find(bytes, b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = std::str::from_utf8(&bytes[..at]).context("the response head is not text")?;
        let status = head
            .get(9..12)
            .and_then(|code| code.parse().ok())
            .with_context(|| format!("no status in {:?}", head.lines().next()))?;
        let content_length = head
            .lines()
            .skip(1)
            .find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            })
            .context("the answer has no content-length")?;
        Ok(Some(Self { status, length: at + 4, content_length }))
    }
}

/// Where `needle` first occurs in `haystack`.
pub(crate) fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(haystack, needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_found_once_it_is_complete() {
        let whole = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\nx: y\r\n\r\n{}";
        assert_eq!(Head::parse(&whole[..30]).unwrap(), None);
        let head = Head::parse(whole).unwrap().unwrap();
        assert_eq!((head.status, head.content_length), (201, 2));
        assert_eq!(&whole[head.length..], b"{}");
    }

    #[test]
    fn an_answer_without_a_length_is_refused() {
        assert!(Head::parse(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").is_err());
    }
}
