//! A small HTTP client, so that tests of the server do not depend on our own HTTP code.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{net::TcpStream, task::JoinSet};

use crate::{Signer, contract};

/// A caller of the server, with a key. Every call has its own connection.
#[derive(Debug, Clone)]
pub struct Http {
    /// Host and port.
    pub authority: String,
    /// The key. None for a call without one.
    pub token: Option<String>,
    /// Sent with every call.
    pub headers: Vec<(String, String)>,
    /// The key of a browser that signs every call.
    pub signer: Option<Arc<Signer>>,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as JSON; as a string when it is not JSON, null when there is none.
    pub body: Value,
}

impl Answer {
    /// The stable code of a problem document.
    pub fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or("")
    }

    /// One header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body, if the status is the expected one.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.body
    }
}

impl Http {
    /// The same caller with one more header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same caller, signing every call.
    #[must_use]
    pub fn signed(mut self, signer: &Arc<Signer>) -> Self {
        self.signer = Some(signer.clone());
        self
    }

    /// The same caller with an idempotency key.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.clone().with("idempotency-key", key)
    }

    /// Reads.
    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, Bytes::new()).await
    }

    /// Sends JSON.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, body.to_string().into()).await
    }

    /// Sends JSON.
    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PUT, path, body.to_string().into()).await
    }

    /// Deletes.
    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, Bytes::new()).await
    }

    /// Sends exactly these bytes.
    pub async fn post_bytes(&self, path: &str, body: impl Into<Bytes>) -> Answer {
        self.send(Method::POST, path, body.into()).await
    }

    /// One call.
    pub async fn send(&self, method: Method, path: &str, body: Bytes) -> Answer {
        let called = method.clone();
        let (response, _driver) = self.call(method, path, body).await;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("the whole body arrives").to_bytes();
        contract::holds(&called, path, &parts);
        let body = if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into())
        };
        Answer { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    /// Opens a stream, to be read line by line.
    pub async fn lines(&self, path: &str) -> Lines {
        self.lines_of(Method::GET, path, Bytes::new()).await
    }

    /// The same for a call with a body.
    pub async fn post_lines(&self, path: &str, body: Value) -> Lines {
        self.lines_of(Method::POST, path, body.to_string().into()).await
    }

    async fn lines_of(&self, method: Method, path: &str, body: Bytes) -> Lines {
        let called = method.clone();
        let (response, driver) = self.call(method, path, body).await;
        let (parts, body) = response.into_parts();
        contract::holds(&called, path, &parts);
        Lines {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
            buffer: Vec::new(),
            _driver: driver,
        }
    }

    /// Signs and sends a call, once more if the signed nonce was too old, as the dashboard does.
    async fn call(&self, method: Method, path: &str, body: Bytes) -> (Response<Incoming>, JoinSet<()>) {
        let first = self.call_once(method.clone(), path, body.clone()).await;
        let nonce = first.0.headers().get("placet-nonce").and_then(|nonce| nonce.to_str().ok());
        let newer = self.signer.as_ref().zip(nonce).is_some_and(|(signer, nonce)| signer.renew(nonce));
        if newer && first.0.status() == 401 { self.call_once(method, path, body).await } else { first }
    }

    async fn call_once(&self, method: Method, path: &str, body: Bytes) -> (Response<Incoming>, JoinSet<()>) {
        let stream = TcpStream::connect(&self.authority).await.expect("the server accepts connections");
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .expect("the server speaks HTTP");
        let mut driver = JoinSet::new();
        driver.spawn(async move { drop(connection.await) });
        let mut request = Request::builder().method(method.clone()).uri(path);
        let given = |name: &str| self.headers.iter().any(|(header, _)| header.eq_ignore_ascii_case(name));
        if !given("host") {
            request = request.header(header::HOST, &self.authority);
        }
        if !body.is_empty() && !given("content-type") {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        if let Some(token) = self.token.as_ref().filter(|_| !given("authorization")) {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if let Some(signer) = &self.signer {
            request = request.header("placet-proof", signer.proof(&method, path, &body));
        }
        let request = request.body(Full::new(body)).expect("a request that can be sent");
        (sender.send_request(request).await.expect("the server answers"), driver)
    }
}

/// An open stream; dropping it closes the connection.
#[derive(Debug)]
pub struct Lines {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    body: Incoming,
    buffer: Vec<u8>,
    _driver: JoinSet<()>,
}

impl Lines {
    /// The next line without its end; `None` when the stream has ended.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Some(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned());
            }
            let frame = self.body.frame().await?.ok()?;
            if let Ok(data) = frame.into_data() {
                self.buffer.extend_from_slice(&data);
            }
        }
    }

    /// The fields of the next server-sent event that has any (comments are skipped); `None` when the stream has ended.
    pub async fn event(&mut self) -> Option<Vec<(String, String)>> {
        let mut fields = Vec::new();
        loop {
            let line = self.next().await?;
            match line.split_once(':') {
                _ if line.is_empty() && !fields.is_empty() => return Some(fields),
                Some((name, value)) if !name.is_empty() => {
                    fields.push((name.to_owned(), value.strip_prefix(' ').unwrap_or(value).to_owned()));
                }
                _ => {}
            }
        }
    }
}
