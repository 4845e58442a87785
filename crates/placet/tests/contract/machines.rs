//! The server as a process that can be killed, and a stub that answers in its place.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Body,
    http::{Method, Response, Uri},
};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinSet};

use crate::script::{Answer, Route};

/// The key of the first admin.
pub(crate) const BOOTSTRAP: &str = "bootstrap-bootstrap-bootstrap-bootstrap";

/// The real program over a folder of its own; killed when dropped.
pub(crate) struct Server {
    folder: TempDir,
    listen: String,
    child: Option<Child>,
}

impl Server {
    pub(crate) fn start(policy: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("policy.toml"), policy).expect("the policy can be written");
        let mut server = Self { folder, listen: "127.0.0.1:0".to_owned(), child: None };
        server.up();
        server
    }

    /// Starts it, on the port it had before if it had one.
    pub(crate) fn up(&mut self) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_placet"))
            .args(["serve", "--listen", &self.listen, "--set", "limits.requests_per_second=0"])
            .arg("--data")
            .arg(self.folder.path().join("data"))
            .arg("--policy")
            .arg(self.folder.path().join("policy.toml"))
            .env("PLACET_BOOTSTRAP_TOKEN", BOOTSTRAP)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        self.child = Some(child);
        let listen = line.trim().strip_prefix("listening on http://").expect("it listens");
        listen.clone_into(&mut self.listen);
    }

    /// As `kill -9` does.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it can be killed");
            child.wait().expect("it ends");
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.listen)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Answers by a table, and counts.
pub(crate) struct Stub {
    pub(crate) url: String,
    calls: Arc<Mutex<Vec<(Method, String)>>>,
    _task: JoinSet<()>,
}

impl Stub {
    pub(crate) async fn start(routes: Vec<Route>, otherwise: Option<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let calls = Arc::new(Mutex::new(Vec::new()));
        let nothing = Answer { status: 404, r#type: "text/html".to_owned(), body: "".into() };
        let (seen, otherwise) = (calls.clone(), otherwise.unwrap_or(nothing));
        let answer = async move |method: Method, uri: Uri| {
            let route =
                routes.iter().find(|route| route.method == method.as_str() && route.path == uri.path());
            seen.lock().expect("not poisoned").push((method, uri.path().to_owned()));
            let Answer { status, r#type, body } = route.map_or(&otherwise, |route| &route.answer);
            let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
            let answer = Response::builder().status(*status).header("content-type", r#type);
            answer.body(Body::from(body)).expect("an answer")
        };
        let mut task = JoinSet::new();
        task.spawn(
            async move { axum::serve(listener, Router::new().fallback(answer)).await.expect("it serves") },
        );
        Self { url, calls, _task: task }
    }

    pub(crate) fn calls(&self, method: &str, path: &str) -> usize {
        let calls = self.calls.lock().expect("not poisoned");
        calls.iter().filter(|(with, at)| with.as_str() == method && at == path).count()
    }
}
