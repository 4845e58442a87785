//! A data folder that lost entries while the server was stopped: noticed, inspected, recovered.

use placet_testkit::{Program, command_line, printed_json};
use serde_json::{Value, json};

use crate::program::binary;

/// One call, without a client library.
fn call(server: &Program, method: &str, path: &str, key: &str, body: &Value) -> (u16, Value) {
    use std::io::{Read as _, Write as _};
    let (address, body) = (server.address(), body.to_string());
    let mut stream = std::net::TcpStream::connect(address).expect("it listens");
    let key = if key.is_empty() { String::new() } else { format!("Authorization: Bearer {key}\r\n") };
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\n{key}Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let status = text.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("a status");
    let body = text.split_once("\r\n\r\n").expect("a body").1;
    (status, serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {text}")))
}

pub(crate) fn ready(server: &Program) -> (u16, Value) {
    call(server, "GET", "/readyz", "", &json!({}))
}

#[test]
fn a_folder_that_went_back_is_noticed_and_recovered_without_a_second_permit() {
    let folder = tempfile::tempdir().expect("a folder");
    let (data, old) = (folder.path().join("data"), folder.path().join("old.db"));
    let path = |path: &std::path::Path| path.display().to_string();
    let (data_arg, old_arg, state) = (path(&data), path(&old), path(&folder.path().join("data.state")));
    let server = Program::serve(binary(), &data, |_| {});
    let (bot, ann) = (server.key("agent", "bot"), server.key("reviewer", "ann"));
    let action = json!({"kind": "action", "session": "s", "tool": "t", "arguments": {}, "expires_in": "1h"});
    let (status, made) = call(&server, "POST", "/v1/requests", &bot, &action);
    assert_eq!(status, 201, "{made}");
    let id = made["id"].as_str().expect("an id").to_owned();
    let claim = format!("/v1/requests/{id}/claim");
    printed_json(server.command(&ann, &["--json", "approve", &id, "--yes"]));
    printed_json(server.command("", &["--json", "backup", &old_arg, "--data", &data_arg]));
    let (status, claimed) = call(&server, "POST", &claim, &bot, &json!({}));
    assert_eq!(status, 200, "{claimed}");
    // Remembered outside the database a moment later.
    crate::program::found("it to be remembered", || {
        let files = std::fs::read_dir(&state).ok()?;
        let text = |file: std::fs::DirEntry| std::fs::read_to_string(file.path()).unwrap_or_default();
        files.flatten().any(|file| text(file).contains("request.claimed")).then_some(())
    });
    drop(server);

    // Restored by copying the file, as a careless operator does.
    for left in ["placet.db", "placet.db-wal", "placet.db-shm"] {
        let _ = std::fs::remove_file(data.join(left));
    }
    std::fs::copy(&old, data.join("placet.db")).expect("copied");
    let mut server = Program::serve(binary(), &data, |_| {});
    let (status, said) = ready(&server);
    assert_eq!((status, &said["code"]), (503, &json!("history_lost")), "{said}");
    let (status, again) = call(&server, "POST", &claim, &bot, &json!({}));
    assert_eq!((status, &again["code"]), (503, &json!("history_lost")), "a second permit: {again}");
    // It stops on request, although its ledger cannot be followed.
    server.stop();

    let recover = |more: &[&str]| {
        let args = [&["--json", "recover", "--data", &data_arg, "--state", &state], more].concat();
        printed_json(command_line(binary(), "http://127.0.0.1:1", "", &args))
    };
    let looked = recover(&["--dry-run"]);
    assert_eq!((&looked["lost"], &looked["complete"]), (&json!(true), &json!(true)), "{looked}");
    assert_eq!(looked["concerned"], json!([{"request": id, "events": ["request.claimed"]}]));
    assert_eq!(recover(&[])["recovered"], true);
    assert_eq!(recover(&["--dry-run"])["lost"], false);
    let server = Program::serve(binary(), &data, |_| {});
    assert_eq!(ready(&server).0, 200);
    let record = printed_json(server.command(&ann, &["--json", "show", &id]));
    assert_eq!(record["state"], "unknown", "somebody may have run it");
}
