//! The shipped binary has no planted bugs.

use super::program;

/// The variable that selects a planted bug.
const SWITCH: &str = "PLACET_SABOTAGE";

/// Searched as text, because searching bytes takes ten seconds without optimisation.
fn has_switch(program: &[u8]) -> bool {
    String::from_utf8_lossy(program).contains(SWITCH)
}

#[test]
fn the_switch_of_planted_bugs_is_found_wherever_it_stands() {
    let with = |before: usize, after: usize| {
        [vec![0xff; before], SWITCH.as_bytes().to_vec(), vec![b'P'; after]].concat()
    };
    for (before, after) in [(0, 0), (1, 0), (0, 1), (4_095, 4_097)] {
        assert!(has_switch(&with(before, after)), "{before} bytes before it and {after} after");
    }
    for without in [
        &b""[..],
        b"PLACET_",
        b"PLACET_SABOTAG",
        b"PLACET_SABOTAGF",
        b"PLACET_SAB\0OTAGE",
        b"placet_sabotage",
    ] {
        assert!(!has_switch(without), "{without:?}");
    }
}

/// Shows that the search finds the switch in a real program.
#[test]
fn a_binary_with_planted_bugs_is_noticed() {
    if !cfg!(feature = "sabotage") {
        println!("built without the feature `sabotage`: there is no such binary to look at");
        return;
    }
    let built = std::fs::read(env!("CARGO_BIN_EXE_placet")).expect("the binary beside the tests");
    assert!(has_switch(&built), "the binary beside the tests was built with planted bugs");
}

#[test]
fn what_ships_has_no_switch_for_planted_bugs() {
    let Some(path) = program::shipped() else {
        println!("PLACET_BIN is not set: there is no binary that ships to look at");
        return;
    };
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("PLACET_BIN={path}: {error}"));
    assert!(!has_switch(&bytes), "{path} was built with the feature `sabotage`");
}
