//! What reading and writing one ordinary request costs.

use std::hint::black_box;
use std::time::{Duration, Instant};

use placet_ledger::canonical::canonical;
use placet_ledger::ijson::{Limits, parse};

/// A request body of about 600 bytes, as an agent sends it.
const BODY: &str = r#"{"kind":"action","tool":"delete_files","arguments":{"files":["report.md","notes/2026-11-03.md","draft (final).docx"],"recursive":false,"older_than_days":30,"threshold":0.75},
 "session":"sess-1f0c2d","summary":"remove the three drafts that were superseded by \"report-final.md\"\nand free the space","risk":"high",
 "context":{"cwd":"/srv/projects/billing","call_id":"adk-7d2f6c1e-9f1b-4d7e-8a55-0c6d1c6f2b11","invocation_id":"e-1234567890","lineage":["planner","worker"]},
 "allowed":["approve","edit","deny"],"expires_in":"5m","on_behalf_of":"ann","group":"g-42","permit":true}"#;

#[expect(clippy::disallowed_methods, reason = "a stopwatch, which decides nothing")]
fn quickest(mut work: impl FnMut()) -> Duration {
    const ROUNDS: u32 = 2_000;
    (0..20)
        .map(|_| {
            let start = Instant::now();
            (0..ROUNDS).for_each(|_| work());
            start.elapsed() / ROUNDS
        })
        .min()
        .unwrap_or_default()
}

#[test]
#[ignore = "a measurement, of use in release only: `cargo xtask test --only measure`"]
fn a_body_of_600_bytes_is_read_in_under_20_us_and_written_in_under_10_us() {
    assert!((550..700).contains(&BODY.len()), "{}", BODY.len());
    let limits = Limits::default();
    let value = parse(BODY.as_bytes(), &limits).expect("a document");
    let reading = quickest(|| {
        black_box(parse(black_box(BODY.as_bytes()), &limits).expect("a document"));
    });
    let writing = quickest(|| {
        black_box(canonical(black_box(&value)).expect("a form"));
    });
    let lenient = quickest(|| {
        black_box(
            serde_json::from_slice::<serde_json::Value>(black_box(BODY.as_bytes())).expect("a document"),
        );
    });
    let witness = quickest(|| {
        black_box(serde_json_canonicalizer::to_vec(black_box(&value)).expect("a form"));
    });
    let plain = quickest(|| {
        black_box(serde_json::to_vec(black_box(&value)).expect("a form"));
    });
    eprintln!(
        "read: {reading:?} (serde_json {lenient:?}); write: {writing:?} (serde_json, not canonical {plain:?}; serde_json_canonicalizer {witness:?})"
    );
    assert!(reading < Duration::from_micros(20) && writing < Duration::from_micros(10));
}
