//! The load generator against the bare servers: it counts correctly, and notices faults.

use std::path::Path;
use std::time::Duration;

use placet_bench::baseline::bare::{Bare, Mode};
use placet_bench::load::closed::{self, Pace, Workload};
use placet_bench::load::fill;
use placet_bench::load::parked::{Protocol, bytes_per_waiter};
use placet_bench::load::wake;

const PACE: Pace = Pace { warm_up: Duration::from_millis(20), measure: Duration::from_millis(200) };

fn bare(mode: Mode) -> Bare {
    Bare::start_from(Path::new(env!("CARGO_BIN_EXE_bench")), mode).unwrap()
}

#[tokio::test]
async fn creates_and_cycles_are_counted() {
    let server = bare(Mode::Post);
    let targets = [server.target().clone()];
    let creates = closed::run(&targets, 4, Workload::Create { keyed: true }, PACE).await.unwrap();
    // Four times as long with every try in which a busy machine answered nothing.
    let windows = std::iter::successors(Some(PACE), |pace| pace.slower());
    let counted = |pace: Pace| creates.per_second * pace.measure.as_secs_f64();
    assert!(windows.map(counted).any(|count| (creates.latency.len() as f64 - count).abs() < 0.5));
    drop(server);

    let server = bare(Mode::Poll);
    let targets = [server.target().clone()];
    let cycles = closed::run(&targets, 4, Workload::Cycle, PACE).await.unwrap();
    assert!(cycles.per_second > 0.0 && cycles.latency.p50() <= cycles.latency.p99());
}

#[tokio::test]
async fn every_waiter_is_woken_one_by_one_and_at_once() {
    let server = bare(Mode::Poll);
    for wakes in [
        wake::one_by_one(server.target(), 1, 5).await.unwrap(),
        wake::one_by_one(server.target(), 10, 20).await.unwrap(),
        wake::at_once(server.target(), 20).await.unwrap(),
    ] {
        assert_eq!(wakes.sent_to_answered.len(), wakes.acknowledged_to_answered.len());
        assert!(wakes.sent_to_answered.p50() > 0.0);
        assert!(wakes.sent_to_answered.p99() >= wakes.acknowledged_to_answered.p99());
    }
}

#[tokio::test]
async fn parked_waiters_take_memory_on_both_protocols() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let server = bare(Mode::Poll);
        let held = fill::create(server.target(), 400).await.unwrap();
        let bytes = bytes_per_waiter(server.target(), &held, protocol).await.unwrap();
        assert!((100.0..100_000.0).contains(&bytes), "{protocol:?}: {bytes}");
    }
}

#[tokio::test]
async fn a_server_that_refuses_is_an_error_not_a_figure() {
    // The bare server that only parses knows no long poll.
    let server = bare(Mode::Post);
    let error = closed::run(&[server.target().clone()], 2, Workload::Cycle, PACE).await.unwrap_err();
    assert!(format!("{error:#}").contains("404"), "{error:#}");
}
