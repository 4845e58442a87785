//! The command line against a real server: the demo's server, command by command.

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
};

use placet_testkit::{Program, command_line, printed_json};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{MINUTE, binary, found, handles, send};

/// A running demo, and its keys. Stops when dropped.
struct Demo {
    child: Child,
    url: String,
    reviewer: String,
    agent: String,
}

impl Demo {
    fn start() -> Self {
        let mut child = Command::new(binary())
            .args(["demo", "--port", "0", "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the demo starts");
        let out = child.stdout.take().expect("its output");
        let (send, lines) = mpsc::channel();
        // The pipe is read to the end, so that the demo never blocks on it.
        std::thread::Builder::new()
            .name("demo output".to_owned())
            .spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    let _ = send.send(line);
                }
            })
            .expect("a thread");
        let next = || {
            let line = lines.recv_timeout(MINUTE).expect("the demo says something");
            serde_json::from_str::<Value>(&line).expect("one JSON document a line")
        };
        let ready = next();
        assert_eq!(ready["event"], json!("ready"));
        let text = |field: &str| ready[field].as_str().expect("text").to_owned();
        let demo = Self { url: text("url"), reviewer: text("reviewer"), agent: text("agent"), child };
        while next()["record"]["input"]["type"] != json!("file") {}
        demo
    }

    fn command(&self, key: &str, args: &[&str]) -> Command {
        command_line(binary(), &self.url, key, args)
    }

    fn reviewer(&self, args: &[&str]) -> Output {
        self.command(&self.reviewer, args).output().expect("it runs")
    }

    /// Runs as the reviewer and reads the JSON.
    fn json(&self, args: &[&str]) -> Value {
        printed_json(self.command(&self.reviewer, &[&["--json"], args].concat()))
    }

    /// Asks as the agent in the background.
    fn ask(&self, args: &[&str]) -> Child {
        let mut command =
            self.command(&self.agent, &[&["--json", "request", "--session", "test"], args].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs")
    }

    /// The id of the one pending request for this tool, once it is there.
    fn pending(&self, tool: &str) -> String {
        found(&format!("a pending request for {tool}"), || {
            let page = self.json(&["inbox", "--tool", tool]);
            page["items"][0]["id"].as_str().map(str::to_owned)
        })
    }

    fn id_of(&self, fits: impl Fn(&Value) -> bool) -> String {
        let page = self.json(&["inbox"]);
        let found = page["items"].as_array().expect("a list").iter().find(|record| fits(record));
        found.expect("the demo asks one of everything")["id"].as_str().expect("an id").to_owned()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The end of a request in the background: exit code and output.
fn ended(child: Child) -> (Option<i32>, Value) {
    let output = child.wait_with_output().expect("it ends");
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or(json!(text(&output.stderr))))
}

#[test]
fn a_request_waits_in_the_shell_until_it_is_decided() {
    let demo = Demo::start();

    let approved = demo.ask(&["--tool", "t.approve", "--args", "{\"a\":1}", "--claim"]);
    let id = demo.pending("t.approve");
    // The end of the id is enough.
    let short = &id[id.len() - 9..];
    assert!(demo.reviewer(&["approve", short, "--reason", "fine"]).status.success());
    let (code, document) = ended(approved);
    assert_eq!((code, &document["arguments"]), (Some(0), &json!({"a": 1})), "{document}");
    assert!(document["permit"].as_str().is_some_and(|permit| permit.len() > 20));

    let edited = demo.ask(&["--tool", "t.edit", "--args", "{\"a\":1}"]);
    let id = demo.pending("t.edit");
    assert!(demo.reviewer(&["edit", &id, "--args", "{\"a\":2}"]).status.success());
    let (code, record) = ended(edited);
    assert_eq!((code, &record["decision"]["arguments"]), (Some(0), &json!({"a": 2})));

    let denied = demo.ask(&["--tool", "t.deny", "--args", "{}"]);
    let id = demo.pending("t.deny");
    assert!(demo.reviewer(&["deny", &id, "--reason", "no"]).status.success());
    let (code, record) = ended(denied);
    assert_eq!((code, &record["decision"]["reason"]), (Some(3), &json!("no")));

    let late = demo.reviewer(&["approve", &id]);
    assert_eq!(late.status.code(), Some(1));
    assert!(
        text(&late.stderr).contains("can no longer be decided: it is denied by you: no"),
        "{}",
        text(&late.stderr)
    );

    let expired = demo.ask(&["--tool", "t.expire", "--args", "{}", "--expires-in", "1s"]);
    assert_eq!(ended(expired).0, Some(4));

    let impatient = demo.ask(&["--tool", "t.wait", "--args", "{}", "--wait", "1s"]);
    assert_eq!(ended(impatient).0, Some(6));
    let id = demo.pending("t.wait");
    let cancelled = demo.command(&demo.agent, &["--json", "cancel", &id]).output().expect("it runs");
    assert_eq!(text(&cancelled.stderr), "");
    assert_eq!(demo.json(&["show", &id])["state"], json!("cancelled"));
}

#[test]
fn with_claim_zero_means_a_permit_and_nothing_else_prints_arguments() {
    let demo = Demo::start();
    let pay = ["--tool", "t.pay", "--args", "{\"amount\":4711}", "--claim", "--idempotency-key", "job-1"];
    let first = demo.ask(&pay);
    assert!(demo.reviewer(&["approve", &demo.pending("t.pay")]).status.success());
    let (code, document) = ended(first);
    assert_eq!((code, &document["arguments"]), (Some(0), &json!({"amount": 4711})), "{document}");

    // A repeated job finds the same request and gets no permit. It must not pay twice.
    for form in [&["--json"][..], &[]] {
        let args = [form, &["request", "--session", "test"], &pay].concat();
        let again = demo.command(&demo.agent, &args).output().expect("it runs");
        assert_eq!(again.status.code(), Some(7), "{}", text(&again.stderr));
        assert!(!text(&again.stdout).contains("4711"), "{}", text(&again.stdout));
    }

    let answered = demo.ask(&["--kind", "action", "--claim", "--body",
        "{\"tool\":\"t.answer\",\"arguments\":{\"amount\":4711},\"allowed\":[\"approve\",\"deny\",\"respond\"]}"]);
    let id = demo.pending("t.answer");
    let answer = demo.reviewer(&["answer", &id, "No! do not run this"]);
    assert!(answer.status.success(), "{}", text(&answer.stderr));
    let (code, document) = ended(answered);
    assert_eq!((code, &document["permit"]), (Some(7), &json!(null)), "{document}");
    assert!(!document.to_string().contains("4711"), "{document}");
}

#[test]
fn every_kind_is_decided_from_the_shell() {
    let demo = Demo::start();
    let of_type = |kind: &'static str| demo.id_of(move |record| record["input"]["type"] == json!(kind));
    let file = tempfile::NamedTempFile::with_suffix(".txt").expect("a file");
    std::fs::write(file.path(), "notes").expect("written");
    let path = format!("@{}", file.path().display());
    let answers = [
        ("text", "Aurora", json!("Aurora")),
        ("number", "15", json!(15)),
        ("choice", "2", json!("Dublin")),
        ("multi_choice", "support,3", json!(["support", "press"])),
        ("date", "2026-12-24", json!("2026-12-24")),
    ];
    for (kind, typed, expected) in answers {
        let record = demo.json(&["answer", &of_type(kind), typed]);
        assert_eq!((&record["state"], &record["decision"]["answer"]), (&json!("answered"), &expected));
    }
    let record = demo.json(&["answer", &of_type("file"), &path]);
    assert_eq!(record["decision"]["answer"]["content_base64"], json!("bm90ZXM="));

    let plan = demo.id_of(|record| record["kind"] == json!("plan"));
    let record = demo.json(&["approve", &plan, "--only", "verify,backup"]);
    let steps: Vec<&Value> =
        record["decision"]["steps"].as_array().expect("steps").iter().map(|step| &step["id"]).collect();
    assert_eq!((&record["state"], json!(steps)), (&json!("approved"), json!(["verify", "switch", "backup"])));

    let question = demo.id_of(|record| record["kind"] == json!("confirmation"));
    assert_eq!(demo.json(&["answer", &question, "Wait"])["state"], json!("denied"));

    let payment = demo.id_of(|record| record["tool"] == json!("payments.transfer"));
    let refused = demo.reviewer(&["edit", &payment, "--args", "{\"amount\":9000,\"to\":\"ACME\"}"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("amount"), "{}", text(&refused.stderr));
}

#[test]
fn nothing_an_agent_wrote_moves_the_cursor() {
    let demo = Demo::start();
    let hostile = demo.id_of(|record| record["tool"] == json!("send_mail"));
    for args in [vec!["show", &hostile], vec!["inbox"], vec!["--json", "show", &hostile]] {
        let shown = text(&demo.reviewer(&args).stdout);
        let hidden = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}');
        let tricks = shown.chars().filter(|c| (c.is_control() && *c != '\n') || hidden(*c));
        assert_eq!(tricks.collect::<String>(), "", "{args:?}");
    }
    let shown = text(&demo.reviewer(&["show", &hostile]).stdout);
    assert!(shown.contains("ann@example.com\\u{202e}moc.live@bob"), "{shown}");
}

#[test]
fn watching_without_a_terminal_prints_a_line_per_event() {
    let demo = Demo::start();
    let mut watch = demo.command(&demo.reviewer, &["--json", "inbox", "--watch"]);
    let mut watch = watch.stdout(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(watch.stdout.take().expect("its output")).lines();
    let mut until = |name: &str, tool: &str| {
        for line in lines.by_ref().map_while(Result::ok) {
            let event: Value = serde_json::from_str(&line).expect("JSON");
            if event["type"] == json!(name) && event["record"]["tool"] == json!(tool) {
                return event["record"]["state"].clone();
            }
        }
        panic!("the stream ended");
    };
    assert_eq!(until("request.pending", "delete_files"), json!("pending"));
    let asked = demo.ask(&["--tool", "t.watch", "--args", "{}"]);
    assert_eq!(until("request.created", "t.watch"), json!("pending"));
    demo.json(&["deny", &demo.pending("t.watch")]);
    assert_eq!(until("request.decided", "t.watch"), json!("denied"));
    assert_eq!(ended(asked).0, Some(3));
    watch.kill().expect("it runs");
    watch.wait().expect("it ends");
}

#[test]
fn the_demo_decides_everything_by_itself_when_told_to() {
    let output = Command::new(binary()).args(["demo", "--auto", "--port", "0"]).output().expect("it runs");
    let story = text(&output.stdout);
    assert!(output.status.success(), "{story}\n{}", text(&output.stderr));
    assert!(story.contains("All 15 requests were decided"), "{story}");
    assert!(story.contains("approved by policy"), "{story}");
    assert!(story.contains("denied by policy"), "{story}");
    assert!(story.contains("approved by ben, you") || story.contains("approved by you, ben"), "{story}");
    assert!(story.contains("approved with changes by you: pay the deposit only"), "{story}");
    assert!(story.contains("payments.transfer({\"amount\":42,"), "{story}");
    assert!(story.contains("denied by you: the address is not what it looks like"), "{story}");
    assert_eq!(story.matches(", reported: succeeded").count(), 5, "{story}");
}

/// Accepts and closes connections at the address of a stopped server, until the waiting and the watching client have
/// both come.
fn nobody_answers_until_both_have_tried(address: &str, id: &str) {
    let listener = found("the address", || TcpListener::bind(address).ok());
    listener.set_nonblocking(true).expect("a listener");
    let (mut asking, mut watching) = (false, false);
    found("both to try again", || {
        if let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(false).expect("a stream");
            stream.set_read_timeout(Some(MINUTE)).expect("a stream");
            let mut line = String::new();
            // A connection that is closed at once says nothing.
            let _ = BufReader::new(stream).read_line(&mut line);
            asking |= line.contains(id);
            watching |= line.contains("/v1/stream");
        }
        (asking && watching).then_some(())
    });
}

#[test]
fn a_request_in_the_shell_and_a_watcher_live_through_a_killed_server() {
    let data = tempfile::tempdir().expect("a folder");
    let serve = |listen: &str| Program::serve_at(listen, binary(), data.path(), |_| {});
    let server = serve("127.0.0.1:0");
    let address = server.address().to_owned();
    let (agent, reviewer) = (server.key("agent", "bot"), server.key("reviewer", "ann"));
    let run = |key: &str, args: &[&str]| {
        let mut command = command_line(binary(), &format!("http://{address}"), key, args);
        command.stdout(Stdio::piped());
        command
    };
    let mut asked = run(&agent, &["request", "--tool", "t", "--args", "{\"a\":1}"]);
    let mut asked = asked.stderr(Stdio::piped()).spawn().expect("it runs");
    let mut first = String::new();
    let mut said = BufReader::new(asked.stderr.take().expect("its words"));
    said.read_line(&mut first).expect("it says what it asked");
    let id = first.split_whitespace().nth(1).expect("the id").to_owned();
    let mut watch = run(&reviewer, &["inbox", "--watch"]).spawn().expect("it runs");
    let mut lines = BufReader::new(watch.stdout.take().expect("its output")).lines();
    assert!(lines.next().expect("a line").expect("text").contains("request.pending"));

    drop(server);
    nobody_answers_until_both_have_tried(&address, &id);
    let _server = serve(&address);

    assert!(run(&reviewer, &["approve", &id]).output().expect("it runs").status.success());
    let decided = lines.next().expect("a line").expect("text");
    assert!(decided.starts_with(&format!("request.decided {id} approved by ann")), "{decided}");
    let output = asked.wait_with_output().expect("it ends");
    assert!(output.status.success());
    assert!(
        text(&output.stdout).ends_with("approved by ann\narguments {\"a\":1}\n"),
        "{}",
        text(&output.stdout)
    );
    watch.kill().expect("it runs");
    watch.wait().expect("it ends");
}

#[test]
fn an_interrupted_request_stays_pending_and_says_so() {
    let demo = Demo::start();
    let asked = demo.ask(&["--tool", "t.interrupt", "--args", "{}"]);
    let id = demo.pending("t.interrupt");
    // The record appears a moment before its program handles the signal.
    let interrupt = |child: &Child| {
        handles(child, Signal::INT);
        send(child, Signal::INT);
    };
    interrupt(&asked);
    let output = asked.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stderr).contains(&format!("{id} is still pending")), "{}", text(&output.stderr));
    assert_eq!(demo.json(&["show", &id])["state"], json!("pending"));

    let asked = demo.ask(&["--tool", "t.withdraw", "--args", "{}", "--cancel-on-interrupt"]);
    let id = demo.pending("t.withdraw");
    interrupt(&asked);
    assert_eq!(asked.wait_with_output().expect("it ends").status.code(), Some(130));
    assert_eq!(demo.json(&["show", &id])["state"], json!("cancelled"));
}
