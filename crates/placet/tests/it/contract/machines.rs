//! The server as a process that can be killed, and a stub that answers instead of it.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::Body,
    http::{Method, Response, Uri},
};
use placet_testkit::Program;
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinSet};

use super::script::{Answer, Route};
use crate::program::binary;

/// The real program over a folder of its own; killed when dropped.
pub(crate) struct Server {
    folder: TempDir,
    program: Program,
}

impl Server {
    pub(crate) fn start(policy: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("policy.toml"), policy).expect("the policy can be written");
        let program = serve(&folder, "127.0.0.1:0");
        Self { folder, program }
    }

    /// Starts it again, on the port it had before.
    pub(crate) fn up(&mut self) {
        self.program = serve(&self.folder, self.program.address());
    }

    /// As `kill -9` does.
    pub(crate) fn kill(&mut self) {
        self.program.kill();
    }

    pub(crate) fn url(&self) -> String {
        self.program.url.clone()
    }
}

fn serve(folder: &TempDir, listen: &str) -> Program {
    let data = folder.path().join("data");
    Program::serve_at(listen, binary(), &data, |command| {
        command
            .args(["--set", "limits.requests_per_second=0", "--policy"])
            .arg(folder.path().join("policy.toml"));
    })
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
