//! The screen as people see it.

use std::time::Duration;

use placet_core::Record;
use ratatui::{Terminal, backend::TestBackend};

use super::*;
use crate::{output::sample, watch::Update};

fn screen(app: &mut App, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, app, "http://127.0.0.1:4000", sample::now())).unwrap();
    let lines = terminal.backend().to_string();
    lines.lines().map(|line| line.trim_matches('"').trim_end()).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_queue_and_the_selected_request_are_side_by_side() {
    let mut app = App::new(vec![sample::action()]);
    insta::assert_snapshot!(screen(&mut app, 120, 22), @r#"
     placet  1 waiting · http://127.0.0.1:4000
     Queue ───────────────────────────────────────────────  Request ────────────────────────────────────────────────────────
    ▶ g60o30c  3m55s high     billing-bot d…t"] force=true billing-bot wants to run delete_files
                                                             files/0  "report.md"
                                                             files/1  "a b.txt"
                                                             force    true

                                                           Why it waits
                                                             risk           high
                                                             rule           default: every action is held
                                                             needs          one reviewer
                                                             asked          1m05s ago
                                                             decide within  3m55s

                                                           Facts
                                                             id           req_0698d3r3kvtg0i8s0c1g60o30c
                                                             version      1
                                                             digest       sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
                                                                        ┆ aaaaaaaaaaaaaaaaaaaaa
                                                            5 more lines below: space ──────────────────────────────────────

    j/k move · a approve · d deny · e edit · r respond · o detail · ? help · q quit
    "#);
}

#[test]
fn a_lost_connection_and_the_prompt_are_on_the_screen() {
    let mut app = App::new(vec![sample::action()]);
    app.lost = Some("connection refused".to_owned());
    app.mode = Mode::Approve {
        shown: Box::new(sample::action()),
        word: Some("delete_files".to_owned()),
        typed: "del".to_owned(),
    };
    insta::assert_snapshot!(screen(&mut app, 80, 16), @r#"
     placet  1 waiting · http://127.0.0.1:4000
     connection lost (connection refused), trying again: what you see may be old
     Queue ─────────────────────────────────────────────────────────────────────────
    ▶ g60o30c  3m55s high     billing-bot delete_files f…t.md, "a b.txt"] force=true



     Request ───────────────────────────────────────────────────────────────────────
    billing-bot wants to run delete_files
      files/0  "report.md"
      files/1  "a b.txt"
      force    true

     17 more lines below: space ────────────────────────────────────────────────────
    Risk high. To approve g60o30c, type the name `delete_files`:
    > del█
    "#);
}

#[test]
fn a_decided_row_says_who_and_goes_after_a_while() {
    let mut app = App::new(vec![sample::confirmation()]);
    let mut decided = Record { version: 2, state: State::Denied, ..sample::confirmation() };
    decided.decision = serde_json::from_value(serde_json::json!({"decision": "deny", "by": ["ann"], "reason": "not now",
        "arguments": null, "digest": decided.digest, "answer": null, "steps": null, "at": decided.created_at}))
    .unwrap();
    app.hear(
        Update::Changed { id: String::new(), name: String::new(), record: Box::new(decided) },
        sample::now(),
    );
    assert!(screen(&mut app, 80, 16).contains("g60o30c (confirmation) denied by ann: not now"));
    app.tick(sample::now().plus(Duration::from_secs(10)));
    assert!(screen(&mut app, 80, 16).contains("Nothing is waiting for a decision."));
}

#[test]
fn what_was_on_the_screen_is_counted_line_by_line() {
    let record = sample::shown(&"line\nother\n".repeat(20));
    let mut app = App::new(vec![record.clone()]);
    app.wide = true;
    screen(&mut app, 80, 24);
    let left = app.read.left_of(&record).expect("it was drawn");
    assert!(left > 20, "{left}");
    // One jump to the end shows the end, and what lies between was not read.
    app.scroll = usize::MAX;
    screen(&mut app, 80, 24);
    assert_eq!(app.read.left_of(&record), Some(left));
    app.scroll = 0;
    while app.read.left_of(&record) != Some(0) {
        let before = app.read.left_of(&record);
        app.scroll += app.page;
        screen(&mut app, 80, 24);
        assert!(app.read.left_of(&record) < before, "it goes on");
    }
    // A person who has read it all may change the size of the window.
    screen(&mut app, 50, 12);
    assert_eq!(app.read.left_of(&record), Some(0));
}

#[test]
fn padding_of_an_agent_never_begins_a_row_of_the_screen() {
    let record = sample::shown(&format!("ok{}Why it waits", " x".repeat(200)));
    let mut app = App::new(vec![record]);
    app.wide = true;
    let screen = screen(&mut app, 60, 40);
    let ours = screen.lines().filter(|line| line.trim() == "Why it waits").count();
    assert_eq!(ours, 1, "{screen}");
    assert!(screen.contains("  ┆ "), "{screen}");
}

#[test]
fn what_does_not_fit_is_announced() {
    let mut app = App::new(vec![sample::action()]);
    assert!(screen(&mut app, 80, 14).contains("more lines below"));
    assert!(!screen(&mut app, 120, 40).contains(" below: space"));
}

#[test]
fn hostile_text_does_not_reach_the_screen() {
    let mut record = sample::action();
    record.arguments = serde_json::json!({"path": "\u{1b}]0;gone\u{7}\u{202e}txt"}).as_object().cloned();
    let screen = screen(&mut App::new(vec![record]), 120, 30);
    assert!(screen.contains("\\u{001b}]0;gone\\u{0007}\\u{202e}txt"), "{screen}");
}
