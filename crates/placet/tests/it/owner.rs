//! The owner's socket in the data folder exists when the server says that it listens, or the log explains why not.

use std::{
    io::{BufRead as _, BufReader},
    os::unix::net::UnixStream,
    process::{Command, Stdio},
};

use placet_testkit::Program;

use crate::program::binary;

#[test]
fn a_server_that_says_it_listens_answers_on_its_socket() {
    let data = tempfile::tempdir().expect("a folder");
    for round in 0..3 {
        // It is killed each time, so the next one finds the old socket file.
        let server = Program::serve(binary(), data.path(), |_| {});
        UnixStream::connect(data.path().join("placet.sock")).expect("it takes connections");
        server.key("agent", &format!("bot-{round}"));
    }
}

#[test]
fn a_server_without_its_socket_says_why_before_it_listens_and_key_new_says_what_to_do() {
    let data = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(data.path().join("placet.sock/in-the-way")).expect("a folder");
    let (said, output) = std::io::pipe().expect("a pipe");
    let mut server = Command::new(binary());
    let mut server = server
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(data.path())
        .env_remove("PLACET_DATABASE")
        .env_remove("PLACET_LOG")
        .stdin(Stdio::null())
        // One pipe for both, so that the order is seen.
        .stdout(output.try_clone().expect("a pipe"))
        .stderr(output)
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(said).lines().map_while(Result::ok);
    let before: Vec<String> = lines.by_ref().take_while(|line| !line.starts_with("listening on ")).collect();
    assert!(before.iter().any(|line| line.contains("no socket for `placet key new`")), "{before:?}");

    let made = Command::new(binary())
        .args(["key", "new", "--role", "agent", "--name", "bot", "--data"])
        .arg(data.path())
        .output()
        .expect("it runs");
    let error = String::from_utf8_lossy(&made.stderr).into_owned();
    assert_eq!((made.status.code(), made.stdout.as_slice()), (Some(1), &b""[..]), "{error}");
    assert!(
        error.contains("no server answers on placet.sock there") && error.contains("log says why"),
        "{error}"
    );
    assert!(!error.contains("run this as the user"), "the user is the right one: {error}");
    server.kill().expect("it runs");
    server.wait().expect("it ends");
}
