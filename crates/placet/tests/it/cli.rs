//! The command line from outside: help, bad input, and an unreachable server.

use std::process::{Command, Output};

use crate::program::binary;

/// Runs the real binary, with an address where nothing listens.
fn placet(args: &[&str]) -> Output {
    Command::new(binary())
        .args(args)
        .env("PLACET_URL", "http://127.0.0.1:1")
        .env_remove("PLACET_TOKEN")
        .env_remove("PLACET_DATABASE")
        .output()
        .expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// Exit code and standard error.
fn failed(args: &[&str]) -> String {
    let output = placet(args);
    assert!(output.stdout.is_empty(), "nothing on standard output");
    format!("{}: {}", output.status.code().unwrap_or(-1), text(&output.stderr))
}

const ID: &str = "req_0698d3r3kvtg0i8s0c1g60o30c";

#[test]
fn help_shows_every_command_and_the_exit_codes() {
    let output = placet(&["--help"]);
    assert!(output.status.success());
    insta::assert_snapshot!(text(&output.stdout), @"
    Holds what an AI agent is about to do until the right person has said yes

    Usage: placet [OPTIONS] <COMMAND>

    Commands:
      up           Start Placet for yourself, and open the dashboard signed in
      serve        Run the server, as an operator
      demo         Try it out: a server, and an agent that makes one request of each kind
      key          Make, list and revoke keys
      request      Ask for approval from a shell, and wait for the decision
      cancel       Cancel a request you made
      inbox        List pending requests, or watch and decide live
      show         Show one request in full
      approve      Approve exactly what is shown
      edit         Approve with other arguments
      deny         Deny a request
      answer       Answer a question
      revoke       Revoke an approval that is not yet claimed
      reassign     Ask other people; the needs stay the same
      resolve      Resolve an unknown outcome
      stats        Show how often people were asked, and what passed without them
      session      Show what happened in one session of an agent
      freeze       Freeze an agent, a tool or everything: nothing of it is approved or run
      unfreeze     Lift a freeze (needs an admin key)
      policy       Write, check, try and put policies
      person       List people, and set their roles and teams
      agent        List agents, and open folders to them
      grant        List and revoke grants
      ledger       Check the ledger
      backup       Write a consistent copy of the database to a file
      restore      Restore a backup, in a new epoch: old permits become invalid
      recover      Recover after a database lost entries, or after a wrong clock
      hook         Gate a coding agent: answer its hooks, or write them into its settings
      run          Run a command confined: it can change only the workspace, and has no network
      doctor       Check that everything works, and that a deny really blocks
      completions  Print completions for a shell
      help         Print this message or the help of the given subcommand(s)

    Options:
          --json          Print JSON for programs instead of text for people
          --url <URL>     Where the server is
          --color <WHEN>  When to use colour: auto, always or never [default: auto]
      -h, --help          Print help
      -V, --version       Print version

    Environment:
      PLACET_URL    where the server is [default: http://127.0.0.1:4000]
      PLACET_TOKEN  your key, as `placet key new` printed it
      NO_COLOR      set to anything for plain text

    Exit codes:
      0  done; for `request`: approved or answered
      1  an error, such as an unreachable server or a decision that came too late
      2  bad input: the message names the field and the fix, and nothing was written
      3  denied; for `policy simulate`: the change is dangerous
      4  expired: no decision in time
      5  cancelled, revoked or lapsed
      6  still pending when the wait ended

    Begin with `placet up`. Look around with `placet demo`: a server, and an agent that makes one
    request of each kind.
    ");
}

#[test]
fn a_server_that_is_not_there_is_1_and_says_what_to_try() {
    insta::assert_snapshot!(failed(&["inbox"]), @"1: error: cannot reach Placet at http://127.0.0.1:1: Connection refused (os error 111). Set PLACET_URL if it runs elsewhere; start it with: placet serve --listen 127.0.0.1:1");
    for args in [
        vec!["show", ID],
        vec!["approve", ID],
        vec!["request", "--tool", "t", "--args", "{}"],
        vec!["inbox", "--watch"],
    ] {
        assert!(failed(&args).starts_with("1: error: cannot reach Placet at http://127.0.0.1:1"), "{args:?}");
    }
}

#[test]
fn certificates_are_read_for_https_alone() {
    for (url, read) in [("http://127.0.0.1:1", false), ("https://127.0.0.1:1", true)] {
        let mut command = Command::new(binary());
        command.arg("inbox").env("PLACET_URL", url).env_remove("PLACET_TOKEN");
        command.env("SSL_CERT_FILE", "/dev/null").env("SSL_CERT_DIR", "/dev/null");
        let said = text(&command.output().expect("it runs").stderr);
        assert_eq!(said.contains("no HTTP client"), read, "{said}");
        assert_eq!(said.contains("Connection refused"), !read, "{said}");
    }
}

#[test]
fn bad_input_is_2_and_names_the_field_and_the_fix() {
    insta::assert_snapshot!(failed(&["request", "--tool", "pay", "--args", "{\"a\":1,"]), @"2: error: `--args`: the text ends before the document does; send the whole document (byte 7)");
    insta::assert_snapshot!(failed(&["request", "--args", "{}"]), @"2: error: `--tool` is missing: an action is a tool and its arguments");
    insta::assert_snapshot!(failed(&["show", "nonsense!"]), @"2: error: `nonsense!` is not the id of a request: write the whole of it (req_ and 26 characters), or at least 3 characters of its beginning or end");
    insta::assert_snapshot!(failed(&["inbox", "--url", "localhost:4000"]), @"2: error: `localhost:4000` is not the address of a server: expected http:// or https:// and a host");
    insta::assert_snapshot!(failed(&["inbox", "--state", "open"]), @"
    2: error: invalid value 'open' for '--state <STATE>': unknown word `open`, expected one of: pending, approved, denied, answered, expired, cancelled, claimed, lapsed, revoked, succeeded, failed, unknown

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(failed(&["request", "--tool", "t", "--args", "{}", "--wait", "soon"]), @"
    2: error: invalid value 'soon' for '--wait <DURATION>': `soon` is not a duration: write 30s, 5m or 2h

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(failed(&["key", "new", "--role", "boss", "--name", "ann"]), @"
    2: error: invalid value 'boss' for '--role <ROLE>': unknown word `boss`, expected one of: agent, reviewer, admin, auditor

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(failed(&["serve", "--set", "doors.open_decide=true"]), @"2: error: doors.open_decide lets any program on this machine decide without a key, so it is for development only: start with --dev as well, or leave it out and give reviewers keys");
    insta::assert_snapshot!(failed(&["frobnicate"]), @"
    2: error: unrecognized subcommand 'frobnicate'

    Usage: placet [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn errors_for_programs_are_json() {
    insta::assert_snapshot!(failed(&["--json", "show", ID]), @r#"1: {"error":{"code":"unreachable","detail":"cannot reach Placet at http://127.0.0.1:1: Connection refused (os error 111). Set PLACET_URL if it runs elsewhere; start it with: placet serve --listen 127.0.0.1:1"}}"#);
    insta::assert_snapshot!(failed(&["--json", "cancel", "x"]), @r#"2: {"error":{"code":"usage","detail":"`x` is not the id of a request: write the whole of it (req_ and 26 characters)"}}"#);
}

#[test]
fn control_characters_in_bad_input_do_not_reach_the_terminal() {
    let output = placet(&["show", "\u{1b}]0;title\u{7}\u{202e}"]);
    assert!(!output.stderr.contains(&0x1b) && !output.stderr.contains(&7), "{}", text(&output.stderr));
}

#[test]
fn completions_exist_for_the_three_shells() {
    for shell in ["bash", "zsh", "fish"] {
        let output = placet(&["completions", shell]);
        assert!(output.status.success());
        let script = text(&output.stdout);
        assert!(
            ["inbox", "approve", "ledger", "demo", "policy", "simulate", "grant"]
                .iter()
                .all(|verb| script.contains(verb)),
            "{shell}"
        );
    }
}

#[test]
fn every_command_has_help() {
    let top = text(&placet(&["--help"]).stdout);
    let commands =
        top.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() >= 19, "{names:?}");
    for name in names.into_iter().filter(|name| *name != "help") {
        let help = placet(&[name, "--help"]);
        assert!(help.status.success(), "{name}");
        let other = placet(&["help", name]);
        assert!(other.status.success() && other.stdout == help.stdout, "{name}");
    }
    assert_eq!(text(&placet(&["help"]).stdout), top);
    for name in
        ["check", "show", "put", "list", "simulate", "explain", "import", "shadow", "suggest", "presets"]
    {
        let help = placet(&["policy", name, "--help"]);
        assert!(help.status.success(), "{name}");
        let plain = ["list", "presets"].contains(&name);
        assert!(plain || text(&help.stdout).contains("Examples:"), "{name} shows examples");
    }
}

#[test]
fn colour_is_off_without_a_terminal_and_on_when_asked_for() {
    assert!(!placet(&["inbox"]).stderr.contains(&0x1b));
    assert!(placet(&["--color", "always", "inbox"]).stderr.contains(&0x1b));
}

#[test]
fn a_key_in_a_new_database_is_said_to_be_of_that_one_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data").display().to_string();
    let made = |name: &str| {
        let output = placet(&["key", "new", "--role", "agent", "--name", name, "--data", &data]);
        assert!(output.status.success(), "{output:?}");
        text(&output.stderr)
    };
    assert!(made("bot").contains("There was no data in"));
    assert!(!made("other").contains("There was no data in"), "it is there now");
}
