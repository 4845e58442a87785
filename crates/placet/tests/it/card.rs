//! The card on the command line: every value can be found on it, and a yes is a yes to what was printed.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Command, Output},
    sync::{Arc, Mutex},
};

use placet_client::{Client, CreateOptions, Decide};
use placet_core::Record;
use placet_testkit::{
    Program, command_line,
    drawn::{Drawn, replacements, requests},
};
use serde_json::{Value, json};

use crate::program::binary;

/// What an agent writes and a yes runs.
const PARTS: [&str; 13] = [
    "tool",
    "arguments",
    "context",
    "session",
    "title",
    "steps",
    "question",
    "input/options",
    "message",
    "details",
    "confirm_label",
    "cancel_label",
    "on_behalf_of",
];

struct Server {
    program: Program,
    agent: String,
    reviewer: String,
    data: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let data = tempfile::tempdir().expect("a folder");
        let policy = data.path().join("policy.toml");
        let two = "version = 1\n[needs.two]\npeople = 2\n[[rule]]\nname = \"all\"\neffect = \"hold\"\nneeds = \"two\"\n";
        std::fs::write(&policy, two).expect("written");
        let program = Program::serve(binary(), &data.path().join("data"), |command| {
            command.args(["--policy", &policy.display().to_string()]);
        });
        let (agent, reviewer) = (program.key("agent", "bot"), program.key("reviewer", "ann"));
        Self { program, agent, reviewer, data }
    }

    fn client(&self, key: &str) -> Client {
        Client::new(&self.program.url, key).expect("an address")
    }

    /// Asks for these. What the server refuses, such as a title that is too long, is left out.
    fn asked(&self, bodies: Vec<Value>) -> Vec<(Value, Record)> {
        let agent = self.client(&self.agent);
        let runtime = runtime();
        let all = bodies.len();
        let ask = |body: Value| {
            let create = serde_json::from_value(body.clone()).ok()?;
            Some((body, runtime.block_on(agent.create(&create, CreateOptions::default())).ok()?))
        };
        let asked: Vec<_> = bodies.into_iter().filter_map(ask).collect();
        assert!(asked.len() * 10 >= all * 7, "only {} of {all} were asked", asked.len());
        asked
    }

    fn reviewer(&self, args: &[&str]) -> Output {
        self.program.command(&self.reviewer, args).output().expect("it runs")
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn many(standard: usize, long: usize) -> usize {
    if std::env::var("PLACET_LONG").is_ok_and(|is| is == "1") { long } else { standard }
}

#[test]
fn every_value_is_found_on_a_terminal() {
    let server = Server::start();
    let mut kinds = std::collections::BTreeSet::new();
    for (body, record) in server.asked(requests(many(40, 400), 23)) {
        let shown = server.reviewer(&["show", &record.id.to_string()]);
        let drawn = text(&shown.stdout);
        let missing = Drawn::terminal(&drawn).missing(&body, &PARTS);
        assert!(missing.is_empty(), "{missing:#?} of {body:#} in\n{drawn}");
        kinds.insert(record.kind.to_string());
    }
    assert_eq!(kinds.len(), 4, "{kinds:?}");
}

#[test]
fn every_value_of_a_replacement_is_found_on_a_terminal() {
    let server = Server::start();
    let ben = server.client(&server.program.key("reviewer", "ben"));
    let runtime = runtime();
    let action = json!({"kind": "action", "session": "s", "tool": "x.do", "arguments": {"old": "value"}});
    let replaced = replacements(many(8, 80), 5);
    let asked = server.asked(vec![action; replaced.len()]);
    for ((_, record), arguments) in asked.into_iter().zip(replaced) {
        let edit = Decide::edit(&record, arguments.as_object().cloned().expect("an object"));
        let Ok(_) = runtime.block_on(ben.decide(record.id, &edit)) else { continue };
        let drawn = text(&server.reviewer(&["show", &record.id.to_string()]).stdout);
        let body = json!({"proposal": {"arguments": arguments}, "tool": "x.do"});
        let missing = Drawn::terminal(&drawn).missing(&body, &["proposal/arguments", "tool"]);
        assert!(missing.is_empty(), "{missing:#?} of {body:#} in\n{drawn}");
        let (card, history) = drawn.split_once("What was asked before it was replaced").expect("history");
        assert!(card.contains("ben put this in place of what was asked"), "{drawn}");
        assert!(!card.contains("/arguments/old") && history.contains("old"), "{drawn}");
        let line = text(&server.reviewer(&["inbox", "--tool", "x.do"]).stdout);
        assert!(line.contains("[replaced by ben]"), "{line}");
    }
}

#[test]
fn without_a_terminal_the_card_is_printed_and_the_yes_is_to_it() {
    let server = Server::start();
    let body =
        json!({"kind": "action", "session": "s", "tool": "x.do", "arguments": {"to": "ann", "note": "a\nb"}});
    for (body, record) in server.asked(vec![body]) {
        let id = record.id.to_string();
        let output = server.reviewer(&["approve", &id]);
        let drawn = text(&output.stderr);
        assert!(output.status.success(), "{drawn}");
        assert!(Drawn::terminal(&drawn).missing(&body, &PARTS).is_empty(), "{drawn}");
        let silent = server.reviewer(&["approve", &id, "--yes"]);
        assert!(
            silent.status.success() && !text(&silent.stderr).contains("/arguments"),
            "{}",
            text(&silent.stderr)
        );
    }
    let _ = &server.data;
}

#[test]
fn a_picture_is_not_approved_where_it_cannot_be_seen() {
    let server = Server::start();
    let png =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let body = json!({"kind": "action", "session": "s", "tool": "x.do",
        "arguments": {"image": {"mime_type": "image/png", "data": png}}});
    for (_, record) in server.asked(vec![body]) {
        let id = record.id.to_string();
        let output = server.reviewer(&["approve", &id]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("1 value of it cannot be shown in a terminal") && said.contains("/r/req_"),
            "{said}"
        );
        assert!(text(&server.reviewer(&["show", &id]).stdout).contains("image/png"));
        assert!(server.reviewer(&["deny", &id]).status.success(), "a no needs no look");
    }
}

/// A server that says once that the card has changed.
struct Changing {
    url: String,
    decisions: Arc<Mutex<Vec<Value>>>,
}

impl Changing {
    fn start(records: [Value; 2]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let decisions = Arc::new(Mutex::new(Vec::new()));
        let seen = decisions.clone();
        std::thread::Builder::new()
            .name("changing".to_owned())
            .spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    // A client that goes away in the middle is no matter here.
                    let _ = answer(stream, &records, &seen);
                }
            })
            .expect("a thread");
        Self { url, decisions }
    }

    fn decisions(&self) -> Vec<Value> {
        self.decisions.lock().expect("no panic").clone()
    }
}

fn answer(stream: TcpStream, records: &[Value; 2], seen: &Mutex<Vec<Value>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    reader.read_line(&mut head)?;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? <= 2 {
            break;
        }
        if let Some(bytes) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = bytes.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut seen = seen.lock().expect("no panic");
    let (status, document) = if head.starts_with("POST") {
        seen.push(serde_json::from_slice(&body).unwrap_or_default());
        if seen.len() == 1 {
            let problem = json!({"type": "about:blank", "title": "changed", "status": 409, "code": "stale_display",
                "detail": "what was shown is not what a yes would run"});
            ("409 Conflict", problem)
        } else {
            let mut done = records[1].clone();
            done["state"] = json!("approved");
            ("200 OK", done)
        }
    } else {
        ("200 OK", records[usize::from(!seen.is_empty())].clone())
    };
    drop(seen);
    let document = document.to_string();
    let kind = if status.starts_with('2') { "application/json" } else { "application/problem+json" };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{document}",
        document.len()
    )
}

/// A record with a card for each of two moments.
fn changing() -> (Changing, String) {
    let server = Server::start();
    let body = json!({"kind": "action", "session": "s", "tool": "x.do", "arguments": {"to": "ann"}});
    let (_, record) = server.asked(vec![body]).remove(0);
    let id = record.id.to_string();
    let read = text(&server.reviewer(&["--json", "show", &id]).stdout);
    let before: Value = serde_json::from_str(&read).expect("a record");
    let mut after = before.clone();
    after["view"]["sentence"] = json!("Something else entirely");
    after["view"]["digest"] = json!(format!("sha256:{}", "e".repeat(64)));
    (Changing::start([before, after]), id)
}

#[test]
fn a_card_that_changed_meanwhile_ends_the_command_where_nobody_can_be_asked() {
    let (server, id) = changing();
    let output = command_line(binary(), &server.url, "key", &["approve", &id]).output().expect("it runs");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("has changed since it was shown, so nothing was sent"), "{said}");
    assert_eq!(server.decisions().len(), 1);
    assert!(server.decisions()[0]["view"].is_string(), "{:?}", server.decisions());
}

/// Types at a terminal made by `script`, which has this many rows of 60 columns. Returns the exit code and the screen.
#[cfg(target_os = "linux")]
fn typed(url: &str, key: &str, rows: usize, command: &str, typed: &str) -> (Option<i32>, String) {
    let line = format!("stty rows {rows} cols 60 && '{}' {command}", binary());
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env("PLACET_URL", url).env("PLACET_TOKEN", key);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("`script`, of util-linux, runs");
    child.stdin.take().expect("a pipe").write_all(typed.as_bytes()).expect("typed");
    let output = child.wait_with_output().expect("it ends");
    (output.status.code(), text(&output.stdout))
}

#[cfg(target_os = "linux")]
#[test]
fn a_card_that_is_longer_than_the_terminal_is_shown_in_parts_and_can_be_stopped() {
    let server = Server::start();
    let lines: Vec<String> = (0..60).map(|at| format!("line {at}{}", " and on".repeat(12))).collect();
    let body =
        json!({"kind": "action", "session": "s", "tool": "x.do", "arguments": {"note": lines.join("\n")}});
    let (_, record) = server.asked(vec![body]).remove(0);
    let command = format!("approve {}", record.id);
    let at = |rows, keys| typed(&server.program.url, &server.reviewer, rows, &command, keys);
    let (code, screen) = at(20, "\nq\n");
    assert!(code == Some(1) && screen.contains("Nothing was sent."), "{screen}");
    assert_eq!(screen.matches("Enter shows them, q stops").count(), 2, "{screen}");
    assert!(screen.contains("line 3") && !screen.contains("line 59"), "{screen}");
    // No row is wider than the terminal, so no text of the agent begins one.
    let plain = anstream::adapter::strip_str(&screen).to_string();
    let wide = plain.lines().find(|line| line.chars().count() > 60 && !line.contains("more lines"));
    assert_eq!(wide, None);
    assert!(plain.contains("  ┆ "), "{plain}");
    // One Enter for each further part of 17 rows, then the answer.
    let left = screen.split("-- ").nth(1).and_then(|said| said.split(' ').next()?.parse::<usize>().ok());
    let parts = left.expect("a number").div_ceil(17);
    let (code, screen) = at(20, &format!("{}y\n", "\n".repeat(parts)));
    assert!(code == Some(0) && screen.contains("line 59"), "{screen}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_card_that_changed_meanwhile_is_shown_again_and_asked_about() {
    let (server, id) = changing();
    let (code, said) = typed(&server.url, "key", 500, &format!("approve {id}"), "y\ny\n");
    assert_eq!(code, Some(0), "{said}");
    let (before, after) = said.split_once("has changed since it was shown").expect("it says so");
    assert!(
        !before.contains("Something else entirely") && after.contains("Something else entirely"),
        "{said}"
    );
    let decisions = server.decisions();
    assert_eq!(decisions.len(), 2, "{decisions:?}");
    assert_ne!(decisions[0]["view"], decisions[1]["view"]);
    assert_eq!(decisions[1]["view"], json!(format!("sha256:{}", "e".repeat(64))));
}
