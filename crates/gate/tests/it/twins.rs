//! Planted bugs: each is switched on in a process of its own, and a test of this binary must fail there.

use std::process::Command;

/// The bug, and the test that must catch it.
const TWINS: [(&str, &str); 3] = [
    (
        "agent-skips-a-tier",
        "escalating::an_agents_own_deadline_does_not_shorten_the_time_of_the_first_tier::sqlite",
    ),
    (
        "stolen-votes-count",
        "stolen::a_vote_of_a_revoked_key_counts_no_more_unless_the_admin_keeps_it::sqlite",
    ),
    ("batch-earns-trust", "standing::three_that_were_looked_at_once_earn_trust_once::sqlite"),
];

#[test]
fn each_planted_bug_is_caught() {
    if !placet_store::HAS_PLANTED_BUGS {
        println!("built without the feature `sabotage`: there is nothing to plant");
        return;
    }
    let here = std::env::current_exe().expect("the path of this test");
    for (bug, test) in TWINS {
        let run = |plant: bool| {
            let mut command = Command::new(&here);
            command.args(["--exact", test, "--test-threads=1"]);
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
