//! Random and mutated text: never a panic, never slow, and whatever passes is what bash would execute.
//!
//! `PLACET_FUZZ_ROUNDS=1000000 cargo test -p placet-policy --test shell fuzz -- --nocapture` looks for longer;
//! `PLACET_FUZZ_SEED` changes where it looks.

use std::time::{Duration, Instant};

use placet_policy::shell::{Analysis, analyse, analyse_argv};

use crate::abuses::ABUSES;
use crate::bash::{Sandbox, bash_agrees};
use crate::compositions::PASSING;
use crate::conformance::ASKED;
use crate::support::{Random, preset};

const PIECES: &[&str] = &[
    " ",
    "\t",
    "\n",
    ";",
    "&",
    "&&",
    "|",
    "||",
    "<",
    ">",
    ">>",
    "2>",
    "2>&1",
    ">&",
    "<<",
    "<<<",
    "'",
    "\"",
    "\\",
    "$",
    "$(",
    ")",
    "(",
    "`",
    "{",
    "}",
    "*",
    "?",
    "[",
    "]",
    "~",
    "!",
    "#",
    "=",
    "^",
    "%",
    ":",
    ",",
    "-",
    "--",
    "+",
    "@",
    "\r",
    "\0",
    "\u{b}",
    "\u{a0}",
    "\u{200b}",
    "é",
    "if",
    "then",
    "fi",
    "git",
    "status",
    "ls",
    "-la",
    "rm",
    "-rf",
    "sudo",
    "bash",
    "-c",
    "eval",
    "a",
    "x=1",
    "${x",
    "${IFS}",
    "$'",
    "/dev/null",
    "f",
    "EOF",
    "1",
    "10",
];

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn mutate(random: &mut Random, seed: &str) -> String {
    let mut chars: Vec<char> = seed.chars().collect();
    for _ in 0..=random.below(4) {
        let at = random.below(chars.len() + 1);
        match random.below(5) {
            0 | 1 => {
                let piece: Vec<char> = random.pick(PIECES).chars().collect();
                chars.splice(at..at, piece);
            }
            2 if at < chars.len() => {
                chars.remove(at);
            }
            3 if at < chars.len() => chars.swap(at, 0),
            _ => {
                let end = (at + random.below(6)).min(chars.len());
                let piece: Vec<char> = chars[at..end].to_vec();
                let to = random.below(chars.len() + 1);
                chars.splice(to..to, piece);
            }
        }
    }
    chars.into_iter().collect()
}

fn check(text: &str) -> Analysis {
    let analysis = analyse(text);
    match analysis.commands() {
        Err(opaque) => assert!(text.is_char_boundary(opaque.at.min(text.len())), "{text:?}"),
        Ok(commands) => {
            assert!(
                !commands.is_empty() && commands.iter().all(|command| !command.argv.is_empty()),
                "{text:?}"
            );
            let longest: usize = commands.iter().flat_map(|command| &command.argv).map(String::len).sum();
            assert!(longest <= text.len(), "{text:?}");
        }
    }
    if preset().would_allow(&analysis) {
        for command in analysis.commands().expect("allowed, so literal") {
            let alone = analyse_argv(&command.argv);
            let passes = preset().allow.iter().any(|patterns| patterns.allows(&alone));
            assert!(passes, "{text:?} passes, its part {:?} does not", command.argv);
            assert!(
                command.redirects.iter().all(|r| r.is_free() || r.mode == placet_policy::shell::Mode::Read),
                "{text:?}"
            );
        }
    }
    let _ = analysis.decomposition();
    analysis
}

#[test]
fn mutated_commands_never_panic_and_bash_agrees_with_what_is_read() {
    let rounds = setting("PLACET_FUZZ_ROUNDS", 20_000);
    let mut random = Random(setting("PLACET_FUZZ_SEED", 1));
    let sandbox = Sandbox::new();
    let seeds: Vec<&str> = PASSING.iter().chain(ASKED).chain(ABUSES).copied().collect();
    let (mut literal, mut allowed, mut executed) = (0_u64, 0_u64, 0_u64);
    for _ in 0..rounds {
        // Half of the time begin with something that passes: the neighbourhood that matters.
        let seed = if random.below(2) == 0 { random.pick(PASSING) } else { random.pick(&seeds) };
        let mut text = mutate(&mut random, seed);
        if random.below(8) == 0 {
            text.push_str(random.pick(&seeds));
        }
        let analysis = check(&text);
        if analysis.is_opaque() {
            continue;
        }
        literal += 1;
        allowed += u64::from(preset().would_allow(&analysis));
        // One in sixteen is executed, for time.
        if literal % 16 == 0 && bash_agrees(&sandbox, &text) {
            executed += 1;
        }
    }
    println!("{rounds} mutations: {literal} literal, {allowed} allowed, {executed} executed by bash as read");
    assert!(
        literal > rounds / 20 && allowed > 0 && executed > rounds / 400,
        "{literal} {allowed} {executed}"
    );
}

#[test]
fn random_pieces_never_panic_and_bash_agrees_with_what_is_read() {
    let rounds = setting("PLACET_FUZZ_ROUNDS", 20_000);
    let mut random = Random(setting("PLACET_FUZZ_SEED", 2));
    let sandbox = Sandbox::new();
    let (mut literal, mut executed) = (0_u64, 0_u64);
    for _ in 0..rounds {
        let mut text = String::from("git ");
        for _ in 0..random.below(9) {
            text.push_str(random.pick(PIECES));
        }
        if check(&text).is_opaque() {
            continue;
        }
        literal += 1;
        if literal % 8 == 0 && bash_agrees(&sandbox, &text) {
            executed += 1;
        }
    }
    println!("{rounds} random texts: {literal} literal, {executed} executed by bash as read");
    assert!(literal > rounds / 20 && executed > 50, "{literal} {executed}");
}

/// Random pieces, repeated until the text is as long as may be searched, and beyond.
fn repetitions(rounds: u64) -> impl Iterator<Item = String> {
    let mut random = Random(3);
    (0..rounds).flat_map(move |_| {
        let unit: String = (0..=random.below(4)).map(|_| random.pick(PIECES)).collect();
        [9_000, 32_000].map(|size| unit.repeat(size / unit.len()))
    })
}

#[test]
fn long_repetitions_of_any_pieces_are_read_like_other_texts() {
    for text in repetitions(setting("PLACET_FUZZ_ROUNDS", 20_000) / 100) {
        check(&text);
    }
}

#[test]
#[ignore = "a measurement, of use in release only: `cargo xtask test --only measure`"]
#[expect(clippy::disallowed_methods, reason = "a stopwatch, which decides nothing")]
fn long_and_hostile_texts_are_read_in_less_than_15_ms() {
    let mut slowest = (Duration::ZERO, String::new());
    for text in repetitions(2_000).chain(super::conformance::huge()) {
        let once = |_| {
            let start = Instant::now();
            check(&text);
            start.elapsed()
        };
        // A busy machine holds up any one of them; the quickest time is what the work itself takes.
        let took = (0..20).map(once).min().unwrap();
        if took > slowest.0 {
            slowest = (took, text.chars().take(24).collect());
        }
    }
    println!("slowest: {:?} for {:?}", slowest.0, slowest.1);
    // Work is bounded by fixed budgets; quadratic work on 32 KB would take longer.
    assert!(slowest.0 < Duration::from_millis(15), "{slowest:?}");
}
