//! Signing in, as an operator sets it up: the link of a first start, `placet person link` and `password`, and the
//! demo's link.

use std::{
    cell::RefCell,
    io::{BufRead, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::mpsc::{self, Receiver},
};

use placet_testkit::Signer;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{MINUTE, binary, send};

/// A running program whose lines are read as they come. Stops when dropped.
struct RunningServer {
    child: Child,
    lines: Receiver<String>,
    // The lines so far. The two pipes come in any order.
    seen: RefCell<Vec<String>>,
}

impl RunningServer {
    fn start(args: &[&str]) -> Self {
        let mut child = placet(args)
            .env_remove("PLACET_BOOTSTRAP_TOKEN")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let (send, lines) = mpsc::channel();
        let out: [Box<dyn std::io::Read + Send>; 2] =
            [Box::new(child.stdout.take().expect("a pipe")), Box::new(child.stderr.take().expect("a pipe"))];
        for pipe in out {
            let send = send.clone();
            // Read to the end, so that the program never blocks on it.
            std::thread::Builder::new()
                .spawn(move || {
                    for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                        let _ = send.send(line);
                    }
                })
                .expect("a thread");
        }
        Self { child, lines, seen: RefCell::default() }
    }

    /// The first line that holds this, once it is there.
    fn line(&self, with: &str) -> String {
        let mut seen = self.seen.borrow_mut();
        loop {
            if let Some(line) = seen.iter().find(|line| line.contains(with)) {
                return line.clone();
            }
            seen.push(self.lines.recv_timeout(MINUTE).expect(with));
        }
    }

    /// Whether any line so far holds this.
    fn said(&self, what: &str) -> bool {
        let mut seen = self.seen.borrow_mut();
        seen.extend(self.lines.try_iter());
        seen.iter().any(|line| line.contains(what))
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn placet(args: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command
        .args(args)
        .env_remove("PLACET_TOKEN")
        .env_remove("PLACET_URL")
        .env_remove("PLACET_DATABASE")
        .stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    placet(args).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// One call: status, head and body.
fn call(url: &str, method: &str, path: &str, headers: &str, body: &Value) -> (u16, String, Value) {
    let authority = url.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(authority).expect("the server listens");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
    .expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, head.to_owned(), serde_json::from_str(body).unwrap_or_default())
}

/// A browser's sign-in, with the public part of a key that is used once.
fn with_key(mut body: Value) -> Value {
    body["key"] = Signer::default().key();
    body
}

/// Uses a link, and returns who is signed in by it.
fn use_link(link: &str) -> Option<Value> {
    let (url, token) = link.trim().split_once("/sign-in/").expect("the address of a link");
    let (status, _, body) = call(url, "POST", "/v1/session/link", "", &with_key(json!({ "token": token })));
    (status == 200).then_some(body)
}

fn serve(data: &Path) -> (RunningServer, String) {
    let server =
        RunningServer::start(&["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().expect("a path")]);
    let url = server.line("listening on ").split(' ').next_back().expect("an address").to_owned();
    (server, url)
}

#[test]
fn the_first_start_prints_a_link_that_works_once_and_still_says_how_to_make_keys() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let (server, url) = serve(&data);
    let link = server.line("/sign-in/");
    assert!(link.trim().starts_with(&url), "{link}");
    server.line("There are no keys yet");
    let admin = use_link(&link).expect("it works");
    assert_eq!((&admin["name"], &admin["roles"]), (&json!("admin"), &json!(["reviewer", "admin"])));
    assert_eq!(use_link(&link), None, "once");
    drop(server);
    let (server, _) = serve(&data);
    server.line("There are no keys yet");
    assert!(!server.said("/sign-in/"), "somebody is signed in");
}

#[test]
fn a_bootstrap_token_keeps_the_first_link_from_being_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = placet(&["serve", "--listen", "127.0.0.1:0", "--data"]);
    let mut child = command
        .arg(folder.path().join("data"))
        .env("PLACET_BOOTSTRAP_TOKEN", "a-bootstrap-token-of-32-characters")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut said).expect("it listens");
    // Signals are handled only after the start has printed everything.
    send(&child, Signal::TERM);
    let output = child.wait_with_output().expect("it ends");
    let said = text(&output.stderr);
    assert!(
        output.status.success() && said.contains("policy in force") && said.contains("stopping"),
        "{said}"
    );
    assert!(!said.contains("/sign-in/"), "{said}");
}

#[test]
fn person_link_asks_the_running_server_or_opens_the_data_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let place = data.to_str().expect("a path");
    let (server, url) = serve(&data);
    server.line("/sign-in/");
    let made = run(&["person", "link", "admin", "--data", place]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let link = text(&made.stdout);
    assert!(link.starts_with(&format!("{url}/sign-in/")), "{link}");
    assert!(text(&made.stderr).contains("works once"), "{}", text(&made.stderr));
    assert_eq!(use_link(&link).expect("it works")["name"], "admin");
    assert_eq!(use_link(&link), None);
    let unknown = run(&["person", "link", "nobody", "--data", place]);
    assert_eq!((unknown.status.code(), text(&unknown.stdout).as_str()), (Some(2), ""));
    assert!(text(&unknown.stderr).contains("no such person"), "{}", text(&unknown.stderr));
    drop(server);
    let made = run(&["--json", "person", "link", "admin", "--data", place]);
    let made: Value = serde_json::from_slice(&made.stdout).expect("JSON");
    let later = made["url"].as_str().expect("an address");
    assert!(later.starts_with("http://127.0.0.1:4000/sign-in/"), "{later}");
    let (_server, url) = serve(&data);
    let token = later.rsplit('/').next().expect("a token");
    assert!(use_link(&format!("{url}/sign-in/{token}")).is_some());
    let nowhere = run(&["person", "link", "admin", "--data", "/nonexistent/placet"]);
    assert_eq!(nowhere.status.code(), Some(2), "{}", text(&nowhere.stderr));
}

/// Runs with one line of standard input.
fn typing(args: &[&str], line: &str) -> Output {
    let mut child = placet(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // It may have refused its arguments and ended.
    let _ = child.stdin.take().expect("a pipe").write_all(line.as_bytes());
    child.wait_with_output().expect("it ends")
}

fn signs_in(url: &str, name: &str, password: &str) -> u16 {
    call(url, "POST", "/v1/session", "", &with_key(json!({"name": name, "password": password}))).0
}

#[test]
fn person_password_is_read_from_standard_input_and_ends_every_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let place = data.to_str().expect("a path");
    let (server, url) = serve(&data);
    let link = server.line("/sign-in/");
    let (_, token) = link.trim().split_once("/sign-in/").expect("a link");
    let (_, head, _) = call(&url, "POST", "/v1/session/link", "", &with_key(json!({ "token": token })));
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().expect("a cookie"));
    assert_eq!(call(&url, "GET", "/v1/session", &cookie, &Value::Null).0, 200);

    let set = typing(&["person", "password", "admin", "--data", place], "correct horse battery\n");
    assert!(set.status.success(), "{}", text(&set.stderr));
    for said in [&set.stdout, &set.stderr] {
        assert!(!text(said).contains("correct horse"), "{}", text(said));
    }
    assert_eq!(call(&url, "GET", "/v1/session", &cookie, &Value::Null).0, 401, "its sessions have ended");
    assert_eq!(signs_in(&url, "admin", "correct horse battery"), 200);
    assert_eq!(signs_in(&url, "admin", "correct horse batter"), 401);

    // Refused, each with a sentence, and the password stays as it was.
    for (name, line, word) in [
        ("admin", "short\n", "12 to 1024"),
        ("admin", "\n", "no password"),
        ("nobody", "correct horse battery\n", "no such person"),
    ] {
        let refused = typing(&["person", "password", name, "--data", place], line);
        assert_eq!(refused.status.code(), Some(2), "{word}: {}", text(&refused.stderr));
        assert!(text(&refused.stderr).contains(word), "{word}: {}", text(&refused.stderr));
    }
    let argument = run(&["person", "password", "admin", "hunter2hunter2", "--data", place]);
    assert_eq!(argument.status.code(), Some(2), "never from an argument");
    assert_eq!(signs_in(&url, "admin", "correct horse battery"), 200);

    // Without a server, on the data itself.
    drop(server);
    let set = typing(&["--json", "person", "password", "admin", "--data", place], "another good one");
    assert_eq!(
        serde_json::from_slice::<Value>(&set.stdout).expect("JSON"),
        json!({"name": "admin", "password_set": true})
    );
    let (_server, url) = serve(&data);
    assert_eq!(signs_in(&url, "admin", "another good one"), 200);
    assert_eq!(signs_in(&url, "admin", "correct horse battery"), 401);
}

#[test]
fn the_demo_signs_its_reviewer_in_and_the_session_administers_and_decides() {
    let demo = RunningServer::start(&["demo", "--port", "0", "--json"]);
    let ready: Value = serde_json::from_str(&demo.line("\"ready\"")).expect("JSON");
    let (url, link) = (ready["url"].as_str().expect("text"), ready["sign_in"].as_str().expect("text"));
    let (_, token) = link.split_once("/sign-in/").expect("a link");
    let signer = Signer::default();
    let (status, head, body) =
        call(url, "POST", "/v1/session/link", "", &json!({"token": token, "key": signer.key()}));
    signer.signed_in(&body);
    assert_eq!((status, &body["name"]), (200, &json!("you")));
    assert_eq!(body["roles"], json!(["reviewer", "admin", "auditor"]));
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    let cookie = cookie.split(';').next().expect("a cookie");
    let headers = format!(
        "Cookie: {cookie}\r\nOrigin: {url}\r\nPlacet-CSRF: {}\r\n",
        body["csrf"].as_str().expect("a token")
    );
    for path in ["/v1/requests", "/v1/keys", "/v1/ledger"] {
        assert_eq!(call(url, "GET", path, &headers, &Value::Null).0, 401, "{path}: a cookie is not enough");
        let proof = signer.proof(&http::Method::GET, path, b"");
        let headers = format!("{headers}Placet-Proof: {proof}\r\n");
        assert_eq!(call(url, "GET", path, &headers, &Value::Null).0, 200, "{path}");
    }
    let made = placet(&["--url", url, "person", "link", "you"])
        .env("PLACET_TOKEN", ready["admin"].as_str().expect("text"))
        .output()
        .expect("it runs");
    assert!(text(&made.stdout).starts_with(&format!("{url}/sign-in/")), "{}", text(&made.stderr));
}
