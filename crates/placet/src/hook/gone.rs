//! Notices that the agent no longer waits: a signal, a parent that has gone, a closed pipe.

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How often to look.
const LOOK: Duration = Duration::from_millis(500);

/// Ends when the agent no longer waits, and returns the reason.
pub(super) async fn gone() -> &'static str {
    let parent = rustix::process::getppid();
    let mut signals = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()]
        .map(|kind| signal(kind).ok());
    loop {
        let [terminated, interrupted, hung_up] = &mut signals;
        tokio::select! {
            () = heard(terminated) => return "the agent stopped the hook",
            () = heard(interrupted) => return "the agent stopped the hook",
            () = heard(hung_up) => return "the terminal was closed",
            () = tokio::time::sleep(LOOK) => {}
        }
        if rustix::process::getppid() != parent || nobody_reads() {
            return "the agent is gone";
        }
    }
}

async fn heard(signal: &mut Option<Signal>) {
    let received = match signal {
        Some(signal) => signal.recv().await.is_some(),
        None => false,
    };
    if !received {
        std::future::pending::<()>().await;
    }
}

/// Whether the other end of our output was closed. A pipe shows that as an error, a socket as a hang-up.
fn nobody_reads() -> bool {
    let stdout = std::io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut fds, Some(&now)).is_err() {
        return false;
    }
    fds.iter().any(|fd| fd.revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL))
}
