//! What each key leads to, without a terminal.

use serde_json::{Value, json};

use super::*;
use crate::{output::sample, watch::Update};

/// A screen on which all of this record was shown.
fn app(record: Record) -> App {
    let record = if record.view.is_some() { record } else { sample::carded(record, Vec::new(), &[]) };
    let mut app = App::new(vec![record.clone()]);
    app.read.on_screen(&record, 80, 10, (0, 10));
    app
}

fn press(app: &mut App, keys: &str) -> Action {
    let mut action = Action::Stay;
    for key in keys.chars() {
        let code = match key {
            '\n' => KeyCode::Enter,
            '\u{1b}' => KeyCode::Esc,
            other => KeyCode::Char(other),
        };
        action = app.press(KeyEvent::new(code, KeyModifiers::NONE), sample::now());
    }
    action
}

fn sent(app: &mut App, keys: &str) -> Option<Value> {
    match press(app, keys) {
        Action::Send(_, decide) => serde_json::to_value(decide).ok(),
        _ => None,
    }
}

fn notice(app: &App) -> &str {
    app.notice.as_ref().map_or("", |(text, ..)| text)
}

#[test]
fn medium_risk_takes_a_y_and_anything_else_sends_nothing() {
    let decide = sent(&mut app(sample::plan()), "ay").unwrap();
    assert_eq!((&decide["decision"], &decide["version"]), (&json!("approve"), &json!(1)));
    assert_eq!(decide["digest"], json!(sample::plan().digest));
    for other in ["an", "aY", "a\u{1b}", "a\u{1b}y"] {
        assert_eq!(sent(&mut app(sample::plan()), other), None, "{other:?}");
    }
}

#[test]
fn high_risk_takes_the_name_of_the_tool() {
    assert!(sent(&mut app(sample::action()), "adelete_files\n").is_some());
    let mut wrong = app(sample::action());
    assert_eq!(sent(&mut wrong, "ay\n"), None);
    assert!(notice(&wrong).contains("nothing was sent"));
}

#[test]
fn the_decision_is_on_the_record_that_was_on_the_screen() {
    let mut app = app(sample::plan());
    press(&mut app, "a");
    let newer = Record { version: 7, ..sample::plan() };
    app.hear(
        Update::Changed { id: String::new(), name: String::new(), record: Box::new(newer) },
        sample::now(),
    );
    let decide = sent(&mut app, "y").unwrap();
    assert_eq!(decide["version"], json!(1), "the server must be able to see that it is stale");
}

#[test]
fn a_proposal_on_the_table_is_what_is_approved() {
    let digest = format!("sha256:{}", "b".repeat(64));
    let mut record = sample::plan();
    record.proposal = serde_json::from_value(json!({"by": "ann", "decision": "approve", "digest": digest,
        "at": record.created_at, "arguments": null, "answer": null, "steps": []}))
    .unwrap();
    assert_eq!(sent(&mut app(record), "ay").unwrap()["digest"], json!(digest));
}

#[test]
fn a_denial_carries_its_reason() {
    let decide = sent(&mut app(sample::action()), "dtoo many files\n").unwrap();
    assert_eq!((&decide["decision"], &decide["reason"]), (&json!("deny"), &json!("too many files")));
}

#[test]
fn an_answer_is_read_by_its_type_and_may_be_corrected() {
    let mut app = app(sample::input(json!({"type": "number", "max": 10})));
    assert_eq!(sent(&mut app, "rten\n"), None);
    assert!(notice(&app).contains("not a number"), "{}", notice(&app));
    assert!(matches!(&app.mode, Mode::Answer { typed, .. } if typed == "ten"));
    app.press(KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE), sample::now());
    press(&mut app, "\u{1b}");
    assert_eq!(sent(&mut app, "r7\n").unwrap()["answer"], json!(7));
}

#[test]
fn keys_that_do_not_fit_the_kind_say_so() {
    let mut question = app(sample::input(json!({"type": "text"})));
    assert!(matches!(press(&mut question, "a"), Action::Stay));
    assert!(notice(&question).contains("press r"));
    let mut plan = app(sample::plan());
    press(&mut plan, "e");
    assert!(notice(&plan).contains("only an action"));
    assert!(matches!(press(&mut app(sample::action()), "e"), Action::Edit(_)));
}

#[test]
fn nothing_is_approved_before_all_of_it_was_on_the_screen() {
    let record = sample::shown(&"line\nother\n".repeat(30));
    for key in ["a", "e"] {
        let mut app = App::new(vec![record.clone()]);
        press(&mut app, key);
        assert!(
            matches!(app.mode, Mode::Browse) && notice(&app).contains("not shown yet"),
            "{}",
            notice(&app)
        );
        app.read.on_screen(&record, 80, 30, (0, 10));
        press(&mut app, key);
        assert!(notice(&app).contains("20 lines are not shown yet: press space"), "{}", notice(&app));
        // A jump to the end shows the end, and not what lies between.
        app.read.on_screen(&record, 80, 30, (20, 30));
        press(&mut app, key);
        assert!(matches!(app.mode, Mode::Browse));
        app.read.on_screen(&record, 80, 30, (10, 20));
        app.read.on_screen(&record, 80, 30, (20, 30));
        assert!(
            !matches!(press(&mut app, key), Action::Stay) || matches!(app.mode, Mode::Approve { .. }),
            "{key}"
        );
    }
    let mut app = App::new(vec![record.clone()]);
    assert_eq!(sent(&mut app, "dno\n").unwrap()["decision"], "deny", "a no needs no look");
}

#[test]
fn what_changed_after_it_was_shown_is_shown_again() {
    let record = sample::shown("one");
    let mut app = app(record.clone());
    let mut newer = sample::shown("two");
    newer.version = 2;
    if let Some(placet_core::RecordCard::Whole(card)) = &mut newer.view {
        card.digest = format!("sha256:{}", "d".repeat(64)).parse().unwrap();
    }
    app.update(newer, sample::now());
    press(&mut app, "a");
    assert!(matches!(app.mode, Mode::Browse) && notice(&app).contains("not shown yet"), "{}", notice(&app));
}

#[test]
fn a_row_alone_is_not_approved_and_what_a_terminal_cannot_show_neither() {
    let mut line = sample::action();
    line.view = Some(placet_core::RecordCard::Line(placet_core::CardLine::default()));
    let mut app = App::new(vec![line]);
    press(&mut app, "a");
    assert!(
        matches!(app.mode, Mode::Browse) && notice(&app).contains("still being read"),
        "{}",
        notice(&app)
    );
    let picture = placet_core::CardSection {
        body: placet_core::SectionBody::Image {
            media_type: "image/png".to_owned(),
            bytes: 3,
            data: "AAAA".to_owned(),
        },
        title: None,
        step: None,
        pointers: vec!["/arguments/data".to_owned()],
    };
    let mut app = self::app(sample::carded(sample::action(), vec![picture], &[]));
    press(&mut app, "a");
    assert!(notice(&app).contains("1 value of it cannot be shown in a terminal"), "{}", notice(&app));
}

#[test]
fn a_yes_carries_the_digest_of_the_card_that_was_on_the_screen() {
    let decide = sent(&mut app(sample::plan()), "ay").unwrap();
    assert_eq!(decide["view"], json!(format!("sha256:{}", "c".repeat(64))));
}

#[test]
fn a_decided_row_cannot_be_decided_again() {
    let mut app = app(sample::plan());
    let decided = Record { version: 2, state: State::Denied, ..sample::plan() };
    app.hear(
        Update::Changed { id: String::new(), name: String::new(), record: Box::new(decided) },
        sample::now(),
    );
    assert_eq!(sent(&mut app, "ay"), None);
    assert!(notice(&app).contains("decided"));
}

#[test]
fn a_step_up_is_for_a_browser_and_a_no_needs_none() {
    let mut record = sample::plan();
    record.needs.step_up = Some("code".to_owned());
    for keys in ["ay", "ey", "a4711\n"] {
        let mut app = app(record.clone());
        assert_eq!(sent(&mut app, keys), None, "{keys}");
        assert!(notice(&app).contains(&record.url), "{}", notice(&app));
    }
    assert_eq!(sent(&mut app(record), "dno\n").unwrap()["decision"], "deny");
}
