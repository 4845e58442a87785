//! Planted bugs, and the tests that must catch them.

#[test]
fn each_planted_bug_is_caught() {
    placet_testkit::each_is_caught(&[("terminal-drops-a-value", "card::every_value_is_found_on_a_terminal")]);
}
