//! Planted bugs: each is switched on in its own process, where a test of the calling binary must fail.

use std::process::Command;

/// Runs each test with its planted bug and without it. The bug must be caught, and the test must pass without it.
#[track_caller]
pub fn each_is_caught(twins: &[(&str, &str)]) {
    if !placet_store::HAS_PLANTED_BUGS {
        // Built without the feature `sabotage`: there is nothing to plant.
        return;
    }
    let here = std::env::current_exe().expect("the path of this test");
    for (bug, test) in twins {
        let run = |plant: bool| {
            let mut command = Command::new(&here);
            command.args(["--exact", test, "--test-threads=1"]);
            // What ships has no planted bugs. Without its name, tests start the program that Cargo built with them.
            command.env_remove("PLACET_BIN");
            if plant {
                command.env("PLACET_SABOTAGE", bug);
            }
            let output = command.output().expect("it runs");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let said = run(true);
        assert!(said.contains("0 passed; 1 failed"), "`{bug}` was not caught by {test}: {said}");
        let said = run(false);
        assert!(said.contains("1 passed; 0 failed"), "{test} fails without a bug: {said}");
    }
}
