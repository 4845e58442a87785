//! The binary under test, and how tests wait for it.

use std::{process::Child, sync::OnceLock, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;

/// The limit of every wait. It only ends a failing test.
pub(crate) const MINUTE: Duration = Duration::from_mins(1);

/// The program under test: `PLACET_BIN` if it is set, otherwise the one that Cargo built with the tests. The whole
/// path, as the program itself sees it.
pub(crate) fn binary() -> &'static str {
    static BINARY: OnceLock<String> = OnceLock::new();
    BINARY.get_or_init(|| {
        let named = shipped().unwrap_or_else(|| env!("CARGO_BIN_EXE_placet").to_owned());
        let path = std::fs::canonicalize(&named);
        let path = path.unwrap_or_else(|error| panic!("PLACET_BIN={named}: {error}"));
        // Help, pages and the settings of agents contain this name.
        assert!(path.ends_with("placet"), "PLACET_BIN={named}: the file must be called `placet`");
        path.into_os_string().into_string().expect("a path that is text")
    })
}

/// The binary of `PLACET_BIN`: the one that ships. Cargo's own binary may have planted bugs; this one never has.
pub(crate) fn shipped() -> Option<String> {
    std::env::var("PLACET_BIN").ok().filter(|named| !named.is_empty())
}

/// Polls until there is a value. The minute only ends a failing test.
#[track_caller]
pub(crate) fn found<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(value) = look() {
            return value;
        }
        assert!(began.elapsed() < MINUTE, "waited a minute for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until the program handles this signal, which would end it before.
#[track_caller]
pub(crate) fn handles(child: &Child, signal: Signal) {
    let file = format!("/proc/{}/status", child.id());
    let bit = 1_u64 << (signal.as_raw() - 1);
    found(&format!("a handler of {signal:?}"), || {
        let status = std::fs::read_to_string(&file).expect("it runs");
        let caught =
            status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("the line of handlers");
        let caught = u64::from_str_radix(caught.trim(), 16).expect("a number");
        (caught & bit != 0).then_some(())
    });
}

/// Sends a signal.
#[track_caller]
pub(crate) fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it runs");
}
