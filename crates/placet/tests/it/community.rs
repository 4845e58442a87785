//! The example for moving from the community gateway works as documented: the real binary, and plain Python.

use std::{path::Path, process::Command};

use crate::program::binary;

#[test]
fn the_example_runs_what_was_approved_and_nothing_else() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/community/try.sh");
    let output = Command::new(&script)
        .env("PLACET_BIN", binary())
        .env_remove("PLACET_TOKEN")
        .output()
        .expect("the example starts: it needs sh and python3");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.matches("credited").count(), 1, "{said}");
    assert!(said.contains("credited 500 to acc-7"), "{said}");
    assert!(said.contains("not run: rejected: too much"), "{said}");
    assert!(said.contains("decided: approved by open-reviewer (said to be dashboard_admin), arguments {'account_id': 'acc-7', 'amount': 50}"), "{said}");
    assert!(said.contains("Ask again with {\"account_id\":\"acc-7\",\"amount\":50}."), "{said}");
    assert_eq!(said.matches("(exit 3: the tool did not run)").count(), 2, "{said}");
}
