//! Random turns against slow, obvious models: a table of stages, and what the whole story of a pause must look like.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// One turn of a story, and what came of it.
#[derive(Debug)]
struct Step {
    before: TaskRecord,
    turn: PauseTurn,
    answer: Result<Option<Withdrawal>, NotNow>,
    after: TaskRecord,
}

fn facts() -> TaskRecord {
    let facts = json!({
        "version": "1.0", "context": "c", "identity": {}, "extensions": [], "ended": false, "pause": null, "lost": null,
    });
    serde_json::from_value(facts).expect("facts of an earlier version")
}

fn new_pause(group: &str) -> NewPause {
    let [group, source, print, secret] = [group, "a2a/demo/ops", "p", "s"].map(str::to_owned);
    NewPause { group, source, print, round: 0, status: json!({"message": {}}), secret }
}

fn standing(facts: &TaskRecord) -> Option<PauseStanding> {
    facts.pause.as_ref().map(Paused::standing)
}

fn sent_at(at: u64) -> SentAnswer {
    SentAnswer { used: vec![0], at }
}

fn text(facts: &TaskRecord) -> String {
    serde_json::to_string(facts).expect("plain data")
}

/// A story: which turn, and three dice for what is in it.
fn scripts() -> impl Strategy<Value = Vec<(u8, [u8; 3])>> {
    prop::collection::vec((0..14_u8, any::<[u8; 3]>()), 1..60)
}

fn play(script: &[(u8, [u8; 3])]) -> Vec<Step> {
    let mut facts = facts();
    let mut looks = vec![None];
    let (mut now, mut story) = (1_000, Vec::new());
    for &(kind, [one, two, three]) in script {
        now += u64::from(three) * 500;
        let current = facts.pause.as_ref().map_or("none", |pause| pause.group.as_str());
        let group = if two % 4 == 0 { format!("g{}", one % 4) } else { current.to_owned() };
        // Most looks are of this moment; some began long ago.
        let late = looks[usize::from(one) % looks.len()].clone();
        let known = if two % 4 == 0 { late } else { standing(&facts) };
        let by = if one % 3 == 0 { "two" } else { "one" }.to_owned();
        let why = "it has no words".to_owned();
        let turn = match kind {
            0..3 => PauseTurn::Seen { known, pause: new_pause(&format!("g{}", one % 4)) },
            3..5 => PauseTurn::TakeOver { group, by, now, shared: two % 3 > 0 },
            5..7 => PauseTurn::Leaves { by, sent: sent_at(now) },
            7 => PauseTurn::Stays { by },
            8 => PauseTurn::Settled { at: now },
            9 => PauseTurn::Overtaken { at: now },
            10 => PauseTurn::WentOn { group },
            11 => PauseTurn::Broken { known, why },
            12 if two % 2 == 0 => PauseTurn::Asked { group },
            12 => PauseTurn::Lost { loss: Loss::UpstreamLost, why },
            _ if two % 2 == 0 => PauseTurn::Lost { loss: Loss::Failed, why },
            _ => PauseTurn::Ended,
        };
        let before = facts.clone();
        let answer = super::turn(&mut facts, &turn);
        looks.push(standing(&facts));
        story.push(Step { before, turn, answer, after: facts.clone() });
    }
    story
}

const STAGES: [&str; 8] = ["none", "held", "resuming", "sent", "resumed", "stale", "upstream_lost", "failed"];

/// What each stage becomes by a turn that is meant for it; `-` if it stays.
const TABLE: [(&str, [&str; 8]); 12] = [
    ("Seen", ["held", "held", "-", "-", "held", "held", "held", "held"]),
    ("Asked", ["-", "-", "-", "-", "-", "-", "-", "-"]),
    ("TakeOver", ["-", "resuming", "-", "-", "-", "-", "-", "-"]),
    ("Leaves", ["-", "-", "sent", "-", "-", "-", "-", "-"]),
    ("Stays", ["-", "-", "-", "resuming", "-", "-", "-", "-"]),
    ("Settled", ["-", "-", "resumed", "resumed", "-", "-", "-", "-"]),
    ("Overtaken", ["-", "-", "stale", "-", "-", "-", "-", "-"]),
    ("WentOn", ["-", "stale", "-", "-", "-", "-", "-", "-"]),
    ("Broken", ["-", "failed", "-", "-", "-", "-", "-", "-"]),
    ("Lost UpstreamLost", ["-", "upstream_lost", "upstream_lost", "upstream_lost", "-", "-", "-", "-"]),
    ("Lost Failed", ["-", "failed", "failed", "failed", "-", "-", "-", "-"]),
    ("Ended", ["-", "stale", "-", "-", "-", "-", "-", "-"]),
];

fn stage(facts: &TaskRecord) -> &'static str {
    match facts.pause.as_ref().map(Paused::stage) {
        None => "none",
        Some(Stage::Held) => "held",
        Some(Stage::Resuming { sent: None, .. }) => "resuming",
        Some(Stage::Resuming { sent: Some(_), .. }) => "sent",
        Some(Stage::Resumed) => "resumed",
        Some(Stage::Stale) => "stale",
        Some(Stage::UpstreamLost) => "upstream_lost",
        Some(Stage::Failed) => "failed",
    }
}

/// The turn's row in the table, and whether it is meant for the pause as it is.
fn row(step: &Step) -> (&'static str, bool) {
    let group = step.before.pause.as_ref().map_or("none", |pause| pause.group.as_str());
    let holder = match step.before.pause.as_ref().map(Paused::stage) {
        Some(Stage::Resuming { by, since, .. }) => Some((by, *since)),
        _ => None,
    };
    let is_current = |known: &Option<PauseStanding>| *known == standing(&step.before);
    match &step.turn {
        PauseTurn::Seen { known, pause } => ("Seen", is_current(known) && pause.group != group),
        PauseTurn::Asked { group: asked } => ("Asked", asked == group),
        PauseTurn::TakeOver { group: taken, by, now, shared } => {
            let busy = holder.is_some_and(|(holder, since)| *shared && holder != by && now - since < 60_000);
            ("TakeOver", taken == group && !busy)
        }
        PauseTurn::Leaves { by, .. } => ("Leaves", holder.is_some_and(|(holder, _)| holder == by)),
        PauseTurn::Stays { by } => ("Stays", holder.is_some_and(|(holder, _)| holder == by)),
        PauseTurn::Settled { .. } => ("Settled", true),
        PauseTurn::Overtaken { .. } => ("Overtaken", true),
        PauseTurn::WentOn { group: held } => ("WentOn", held == group),
        PauseTurn::Broken { known, .. } => ("Broken", is_current(known)),
        PauseTurn::Lost { loss: Loss::UpstreamLost, .. } => ("Lost UpstreamLost", true),
        PauseTurn::Lost { loss: Loss::Failed, .. } => ("Lost Failed", true),
        PauseTurn::Ended => ("Ended", true),
    }
}

const ENDS: [&str; 4] = ["resumed", "stale", "upstream_lost", "failed"];

/// Whether this step put another pause in the place of the last one.
fn is_seen(step: &Step) -> bool {
    matches!(step.turn, PauseTurn::Seen { .. }) && step.answer.is_ok()
}

/// The steps of each pause: from the one after it was seen to the one that replaced it.
fn pauses(story: &[Step]) -> Vec<&[Step]> {
    let first = story.iter().position(is_seen).map_or(story.len(), |at| at + 1);
    story[first..].split_inclusive(is_seen).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn the_stages_follow_each_other_as_the_table_says(script in scripts()) {
        for step in play(&script) {
            let (name, is_meant) = row(&step);
            let from = stage(&step.before);
            let (_, row) = TABLE.iter().find(|(turn, _)| *turn == name).expect("a row for each turn");
            let to = row[STAGES.iter().position(|word| *word == from).expect("a column for each stage")];
            let wanted = if is_meant && to != "-" { to } else { from };
            prop_assert_eq!(stage(&step.after), wanted, "{:?}", step);
            if step.answer.is_err() {
                prop_assert_eq!(text(&step.before), text(&step.after), "it says that nothing changed");
            } else {
                prop_assert!(is_meant, "{:?}", step);
            }
        }
    }

    #[test]
    fn an_end_is_left_only_by_a_pause_seen_anew(script in scripts()) {
        for step in play(&script) {
            if ENDS.contains(&stage(&step.before)) && stage(&step.after) != stage(&step.before) {
                let (before, after) = (step.before.pause.as_ref(), step.after.pause.as_ref());
                prop_assert!(is_seen(&step), "{:?}", step);
                prop_assert_ne!(before.map(|pause| &pause.group), after.map(|pause| &pause.group));
                prop_assert_eq!(stage(&step.after), "held");
            }
        }
    }

    #[test]
    fn an_answer_is_settled_only_while_it_is_on_its_way(script in scripts()) {
        for step in play(&script) {
            if matches!(step.turn, PauseTurn::Settled { .. }) {
                prop_assert_eq!(step.answer.is_ok(), ["resuming", "sent"].contains(&stage(&step.before)), "{:?}", step);
            } else {
                prop_assert!(stage(&step.before) == "resumed" || stage(&step.after) != "resumed", "{:?}", step);
            }
        }
    }

    #[test]
    fn a_pause_whose_answer_left_is_never_held_again(script in scripts()) {
        let story = play(&script);
        for pause in pauses(&story) {
            let left = pause.iter().position(|step| stage(&step.after) == "sent");
            for step in pause.iter().skip(left.unwrap_or(pause.len())).filter(|step| !is_seen(step)) {
                prop_assert_ne!(stage(&step.after), "held", "{:?}", step);
            }
            // Who takes over knows that it may have left; only its node can say that it did not.
            for step in pause.iter().filter(|step| stage(&step.before) == "sent") {
                let stays = matches!(step.turn, PauseTurn::Stays { .. });
                prop_assert!(stays || stage(&step.after) != "resuming", "{:?}", step);
            }
        }
    }

    #[test]
    fn a_pause_that_ends_unsent_and_undecided_is_withdrawn_once(script in scripts()) {
        let story = play(&script);
        for pause in pauses(&story) {
            let group = &pause[0].before.pause.as_ref().expect("it was seen").group;
            let ordered: Vec<_> = pause.iter().filter_map(|step| step.answer.clone().ok().flatten()).collect();
            let is_open = |facts: &TaskRecord| ["held", "resuming", "sent"].contains(&stage(facts));
            // The one step after which it is not open, or not there any more.
            let end = pause.iter().find(|step| is_open(&step.before) && (!is_open(&step.after) || is_seen(step)));
            match end {
                Some(step) if stage(&step.after) != "resumed" => {
                    prop_assert_eq!(ordered.len(), 1, "{:?}", pause);
                    prop_assert_eq!(&ordered[0].group, group);
                    prop_assert!(step.answer.as_ref().is_ok_and(Option::is_some), "with its end: {:?}", step);
                }
                _ => prop_assert_eq!(ordered, vec![], "{:?}", pause),
            }
        }
    }

    #[test]
    fn a_pause_that_cannot_be_read_takes_nothing_from_an_answer(script in scripts()) {
        for step in play(&script) {
            let PauseTurn::Broken { known, .. } = &step.turn else { continue };
            if ["resuming", "sent", "resumed"].contains(&stage(&step.before)) {
                prop_assert_eq!(standing(&step.before), standing(&step.after), "{:?}", step);
            }
            if ["resuming", "sent"].contains(&stage(&step.before)) || *known != standing(&step.before) {
                prop_assert_eq!(text(&step.before), text(&step.after), "{:?}", step);
            }
        }
    }
}

/// A pause whose answer left, and the look at it before that.
fn answered() -> (TaskRecord, Option<PauseStanding>) {
    let mut facts = facts();
    let (group, by) = ("g".to_owned(), "one".to_owned());
    let take =
        |facts: &mut TaskRecord, turn: PauseTurn| super::turn(facts, &turn).expect("a turn that applies");
    take(&mut facts, PauseTurn::Seen { known: None, pause: new_pause("g") });
    let look = standing(&facts);
    take(&mut facts, PauseTurn::Asked { group: group.clone() });
    take(&mut facts, PauseTurn::TakeOver { group, by: by.clone(), now: 1, shared: true });
    take(&mut facts, PauseTurn::Leaves { by, sent: sent_at(2) });
    (facts, look)
}

#[test]
fn a_look_from_before_the_answer_left_gives_nothing_up() {
    let (mut facts, known) = answered();
    let broken = PauseTurn::Broken { known, why: "it has no words".to_owned() };
    assert_eq!(turn(&mut facts, &broken), Err(NotNow));
    turn(&mut facts, &PauseTurn::Settled { at: 3 }).unwrap();
    assert_eq!(turn(&mut facts, &broken), Err(NotNow));
    assert_eq!((stage(&facts), &facts.lost), ("resumed", &None));
    // What is seen after that is of another pause: the task is given up, and the answer stays delivered.
    let broken = PauseTurn::Broken { known: standing(&facts), why: "it has no words".to_owned() };
    assert_eq!(turn(&mut facts, &broken), Ok(None));
    assert_eq!((stage(&facts), facts.lost.as_deref()), ("resumed", Some("it has no words")));
}

#[test]
fn every_stage_is_written_as_earlier_versions_wrote_it() {
    let resuming = |sent: Option<SentAnswer>| Stage::Resuming { by: "one".to_owned(), since: 7, sent };
    let cases = [
        (Stage::Held, r#""held""#),
        (resuming(None), r#"{"resuming":{"by":"one","since":7,"sent":null}}"#),
        (resuming(Some(sent_at(8))), r#"{"resuming":{"by":"one","since":7,"sent":{"used":[0],"at":8}}}"#),
        (Stage::Resumed, r#""resumed""#),
        (Stage::Stale, r#""stale""#),
        (Stage::UpstreamLost, r#""upstream_lost""#),
        (Stage::Failed, r#""failed""#),
    ];
    for (stage, written) in cases {
        let pause = Paused { stage, asked: true, settled_at: 9, ..Paused::new(new_pause("g")) };
        let whole = format!(
            r#"{{"group":"g","source":"a2a/demo/ops","print":"p","round":0,"status":{{"message":{{}}}},"asked":true,"stage":{written},"settled_at":9,"secret":"s"}}"#
        );
        assert_eq!(serde_json::to_string(&pause).unwrap(), whole);
        assert_eq!(serde_json::from_str::<Paused>(&whole).unwrap(), pause);
        // Before there was a time in it.
        let old = whole.replace(r#","settled_at":9"#, "");
        assert_eq!(serde_json::from_str::<Paused>(&old).unwrap(), Paused { settled_at: 0, ..pause });
    }
}
