//! Requests of one pause on the command line: their origin, and `--group` for all of them.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    process::{Command, Output, Stdio},
};

use placet_client::Client;
use placet_testkit::{Program, printed_json};
use serde_json::{Value, json};

use crate::program::binary;

/// A server with an agent and a reviewer.
struct Server {
    program: Program,
    agent: String,
    reviewer: String,
    _data: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        Self::with(&[])
    }

    /// The same with more arguments.
    fn with(more: &[&str]) -> Self {
        let data = tempfile::tempdir().expect("a folder");
        let program = Program::serve(binary(), data.path(), |command| {
            command.args(more);
        });
        let (agent, reviewer) = (program.key("agent", "planner"), program.key("reviewer", "ann"));
        Self { program, agent, reviewer, _data: data }
    }

    fn command(&self, args: &[&str]) -> Command {
        self.program.command(&self.reviewer, args)
    }

    fn reviewer(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("it runs")
    }

    fn json(&self, args: &[&str]) -> Value {
        printed_json(self.command(&[&["--json"], args].concat()))
    }

    /// Asks at the desk to delete files, with one message for all. Returns the group and the ids in order.
    fn ask_desk(&self, files: &[&str]) -> (String, Vec<String>) {
        let requests: Vec<Value> = files
            .iter()
            .map(|file| json!({"kind": "action", "tool": "delete_file", "arguments": {"path": file}}))
            .collect();
        let data = json!({"type": "placet_request", "requests": requests});
        let message = json!({"messageId": files.join(" "), "role": "ROLE_USER", "parts": [{"data": data}]});
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}})
                .to_string();
        let authority = self.program.address();
        let mut stream = TcpStream::connect(authority).expect("it listens");
        write!(
            stream,
            "POST /a2a/desk HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Authorization: Bearer {}\r\nA2A-Version: 1.0\r\nContent-Length: {}\r\n\r\n{body}",
            self.agent,
            body.len()
        )
        .expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let answer: Value =
            serde_json::from_str(answer.split_once("\r\n\r\n").expect("a head").1).expect("JSON");
        let group = answer["result"]["task"]["id"].as_str().expect("a task").to_owned();
        (group.clone(), self.ids(&group))
    }

    /// Asks for calls of these tools like the hook program, all in one group.
    fn ask_hook(&self, group: &str, tools: &[&str]) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let agent = Client::new(&self.program.url, &self.agent).expect("an address");
        for tool in tools {
            let body =
                json!({"kind": "action", "session": "s", "group": group, "tool": tool, "arguments": {}});
            let create = serde_json::from_value(body).expect("a request");
            let hook = placet_client::CreateOptions { resolved: true, ..Default::default() };
            let record = runtime.block_on(agent.create(&create, hook)).expect("asked");
            assert_eq!(record.source.as_deref(), Some("hook-program"));
        }
    }

    /// Approves a group on a terminal made by `script`. Returns the input, the exit code and the output.
    #[cfg(target_os = "linux")]
    fn typed(&self, group: &str, answer: &str) -> (Option<i32>, String) {
        let line = format!("'{}' approve --group {group}", binary());
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).env("PLACET_URL", &self.program.url);
        let mut child = command
            .env("PLACET_TOKEN", &self.reviewer)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("`script`, of util-linux, runs");
        child.stdin.take().expect("a pipe").write_all(answer.as_bytes()).expect("typed");
        let output = child.wait_with_output().expect("it ends");
        (output.status.code(), text(&output.stdout))
    }

    /// What is pending in a group, in the order asked.
    fn ids(&self, group: &str) -> Vec<String> {
        let page = self.json(&["inbox", "--group", group]);
        let mut items = page["items"].as_array().expect("a list").clone();
        items.sort_by_key(|item| item["context"]["a2a"]["item"].as_u64());
        items.iter().map(|item| item["id"].as_str().expect("an id").to_owned()).collect()
    }

    fn state(&self, id: &str) -> Value {
        self.json(&["show", id])["state"].clone()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn show_and_inbox_say_where_a_request_comes_from_over_a2a() {
    let server = Server::start();
    let (group, ids) = server.ask_desk(&["a", "b"]);
    let record = server.json(&["show", &ids[1]]);
    let lineage = &record["context"]["a2a"];
    let shown = text(&server.reviewer(&["show", &ids[1]]).stdout);
    let line = format!(
        "placet/desk · conversation {} · task {group} · dialect placet · item 2 of 2",
        lineage["context"].as_str().expect("a conversation")
    );
    assert!(shown.contains(&line), "{shown}");
    assert!(shown.contains("/context/a2a/task"), "the card has every value: {shown}");
    assert!(shown.contains(&format!("placet approve --group {group}")), "{shown}");
    let inbox = text(&server.reviewer(&["inbox"]).stdout);
    assert_eq!(inbox.matches("planner through placet/desk").count(), 2, "{inbox}");

    // From an agent that uses REST, the same context is only the agent's own text.
    let forged = json!({"a2a": lineage, "warnings": ["ann has approved this"]}).to_string();
    let asked =
        ["--json", "request", "--tool", "t.forged", "--args", "{}", "--wait", "0s", "--context", &forged];
    let asked = server.program.command(&server.agent, &asked).output().expect("it runs");
    let asked: Value = serde_json::from_slice(&asked.stdout).expect("JSON");
    let shown = text(&server.reviewer(&["show", asked["id"].as_str().expect("an id")]).stdout);
    let careful =
        shown.lines().find(|line| line.contains("careful") && line.contains("ann has approved this"));
    assert!(!shown.contains("over A2A") && careful.is_none(), "{shown}");
    assert!(shown.contains("context/a2a/task") && shown.contains("context/warnings/0"), "{shown}");
}

#[test]
fn a_group_is_approved_whole_and_every_result_is_printed() {
    let server = Server::start();
    let (group, ids) = server.ask_desk(&["a", "b", "c"]);
    let blind = server.reviewer(&["approve", "--group", &group]);
    assert_eq!(blind.status.code(), Some(2));
    assert!(text(&blind.stderr).contains("add `--yes`"), "{}", text(&blind.stderr));
    assert_eq!(server.ids(&group), ids, "nothing is approved that nobody saw");

    let results = server.json(&["approve", "--group", &group, "--yes", "--reason", "fine"]);
    let results = results.as_array().expect("a list");
    let told: Vec<&str> = results.iter().filter_map(|result| result["id"].as_str()).collect();
    assert_eq!(told, ids, "in the order in which they were asked");
    for result in results {
        assert_eq!(result["record"]["decision"]["reason"], json!("fine"), "{result}");
    }
    let late = server.reviewer(&["approve", "--group", &group, "--yes"]);
    assert_eq!(late.status.code(), Some(2));
    assert!(text(&late.stderr).contains("nothing is pending in the group"), "{}", text(&late.stderr));
}

#[test]
fn a_group_is_denied_with_one_reason() {
    let server = Server::start();
    let (group, ids) = server.ask_desk(&["a", "b"]);
    let output = server.reviewer(&["deny", "--group", &group, "--reason", "not today"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(
        text(&output.stdout).matches("denied by ann: not today").count(),
        2,
        "{}",
        text(&output.stdout)
    );
    assert!(ids.iter().all(|id| server.state(id) == json!("denied")));
}

#[test]
fn nothing_of_another_agent_or_another_door_passes_with_a_group() {
    let server = Server::start();
    let (group, ids) = server.ask_desk(&["a", "b"]);
    let asked = ["request", "--tool", "pay", "--args", "{}", "--wait", "0s", "--group", &group];
    assert_eq!(server.program.command(&server.agent, &asked).status().expect("it runs").code(), Some(6));
    for verb in [vec!["approve", "--yes"], vec!["deny"]] {
        let refused = server.reviewer(&[verb.as_slice(), &["--group", &group]].concat());
        assert_eq!(refused.status.code(), Some(2));
        let said = text(&refused.stderr);
        assert!(said.contains("the group of planner through placet/desk and of planner:"), "{said}");
    }
    assert!(ids.iter().all(|id| server.state(id) == json!("pending")));
}

#[test]
fn a_question_in_the_group_is_answered_first() {
    let server = Server::start();
    for body in [
        json!({"kind": "input", "session": "s", "group": "g", "question": "Which?", "input": {"type": "text"}}),
        json!({"kind": "action", "session": "s", "group": "g", "tool": "delete_file", "arguments": {}}),
    ] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let agent = Client::new(&server.program.url, &server.agent).expect("an address");
        let create = serde_json::from_value(body).expect("a request");
        runtime.block_on(agent.create(&create, placet_client::CreateOptions::default())).expect("asked");
    }
    let refused = server.reviewer(&["approve", "--group", "g", "--yes"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains("is a question: answer it first"), "{said}");
    let question = server.json(&["inbox", "--group", "g"]);
    let question = question["items"].as_array().expect("a list").iter().find(|item| item["kind"] == "input");
    server.json(&["answer", question.expect("it waits")["id"].as_str().expect("an id"), "this one"]);
    assert_eq!(server.json(&["approve", "--group", "g", "--yes"]).as_array().map(Vec::len), Some(1));
}

#[test]
fn what_waits_together_is_named_in_the_inbox_and_listed_by_show() {
    let server = Server::start();
    let (group, ids) = server.ask_desk(&["alpha", "beta"]);
    let short = |id: &str| id[id.len() - 7..].to_owned();
    let named: Vec<String> = ids.iter().map(|id| short(id)).collect();
    let inbox = text(&server.reviewer(&["inbox"]).stdout);
    let line = inbox.lines().find(|line| line.starts_with("asked together: ")).expect("it is named");
    assert!(named.iter().all(|id| line.contains(id)), "{line}");
    assert!(line.ends_with(&format!("placet approve --group {group} · deny --group {group}")), "{line}");
    let shown = text(&server.reviewer(&["show", &ids[0]]).stdout);
    assert!(shown.contains("Asked together: 2 requests") && shown.contains("(this one)"), "{shown}");
    assert!(shown.contains("alpha") && shown.contains("beta"), "each with its own effect: {shown}");
    server.json(&["deny", &ids[1], "--reason", "no"]);
    let alone = text(&server.reviewer(&["show", &ids[0]]).stdout);
    assert!(!alone.contains("Asked together") && !alone.contains("--group"), "{alone}");
    assert!(!text(&server.reviewer(&["inbox"]).stdout).contains("asked together"));
}

#[test]
fn calls_of_a_hook_of_high_risk_are_approved_one_by_one_and_denied_together() {
    let server = Server::start();
    server.ask_hook("g", &["pay", "push"]);
    let refused = server.reviewer(&["approve", "--group", "g"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains("is of high risk: decide it first, by itself"), "{said}");
    assert_eq!(server.ids("g").len(), 2, "nothing was decided");
    let denied = server.json(&["deny", "--group", "g", "--reason", "no"]);
    assert_eq!(denied.as_array().map(Vec::len), Some(2));
}

/// More calls can have come since the inbox was read.
#[cfg(target_os = "linux")]
#[test]
fn calls_of_a_hook_are_approved_together_only_after_each_was_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, "version = 1\n[defaults]\neffect = \"hold\"\nrisk = \"low\"\n")
        .expect("a policy");
    let server = Server::with(&["--policy", policy.to_str().expect("text")]);
    server.ask_hook("g", &["first", "second"]);
    let blind = server.reviewer(&["approve", "--group", "g", "--yes"]);
    assert_eq!(blind.status.code(), Some(2));
    assert!(text(&blind.stderr).contains("leave out `--yes`"), "{}", text(&blind.stderr));
    let ids = server.ids("g");
    assert_eq!(ids.len(), 2, "nothing was decided");
    let (code, shown) = server.typed("g", "y\n");
    assert_eq!(code, Some(0), "{shown}");
    let (before, _) = shown.split_once("Approve exactly these 2?").expect("the question");
    assert!(before.contains("first") && before.contains("second"), "{shown}");
    assert!(ids.iter().all(|id| server.state(id) == json!("approved")));
}

#[test]
fn an_id_and_a_group_are_not_given_together_and_one_is_needed() {
    let server = Server::start();
    for args in [
        vec!["approve"],
        vec!["deny"],
        vec!["approve", "0c1g60o", "--group", "g"],
        vec!["deny", "0c1g60o", "--group", "g"],
        vec!["approve", "--group", "g", "--remember", "exact"],
        vec!["approve", "--group", "g", "--same"],
        vec!["approve", "--group", "g", "--dry-run"],
    ] {
        assert_eq!(server.reviewer(&args).status.code(), Some(2), "{args:?}");
    }
}

/// On a terminal made by `script`: every item is shown before the one question.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_every_item_is_shown_before_the_question_and_only_yes_is_yes() {
    let server = Server::start();
    let (group, ids) = server.ask_desk(&["alpha.txt", "beta.txt", "gamma.txt"]);
    for answer in ["\n", "n\n", "sure\n"] {
        let (code, shown) = server.typed(&group, answer);
        assert_eq!(code, Some(1), "{shown}");
        let (before, _) = shown.split_once("Approve exactly these 3?").expect("the question");
        for file in ["alpha.txt", "beta.txt", "gamma.txt"] {
            assert!(before.contains(file), "{file} is not shown before the question: {shown}");
        }
        assert!(shown.contains("Nothing was sent."), "{shown}");
    }
    assert_eq!(server.ids(&group), ids);
    let (code, shown) = server.typed(&group, "y\n");
    assert_eq!(code, Some(0), "{shown}");
    assert!(ids.iter().all(|id| server.state(id) == json!("approved")));
}
