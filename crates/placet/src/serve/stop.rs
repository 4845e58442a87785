//! The end of a server: the signals that stop it, and the tasks that end after it.

use std::process::ExitCode;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::RunningServer;
use crate::telemetry;

/// Waits for a signal or a failure of the store, and stops the server.
pub(super) async fn until_stopped(
    running: RunningServer,
    mut signals: Signals,
    exporting: ExportTask,
) -> anyhow::Result<ExitCode> {
    let stopped = tokio::select! {
        signal = signals.next() => { tracing::info!(signal, "stopping: waits end, calls in flight finish"); None }
        why = running.gate.store().until_stopped() => Some(why),
    };
    let stop = async {
        running.stop().await;
        // Last, so that the calls that just ended are exported.
        exporting.stop().await;
    };
    // A second signal means now.
    tokio::select! {
        () = stop => {}
        again = signals.next() => { tracing::warn!(signal = again, "stopped at once"); return Ok(ExitCode::from(130)); }
    }
    match stopped {
        Some(why) => anyhow::bail!("the store stopped because stable storage failed: {why}"),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// The task that sends spans to the collector, if there is one.
pub(super) struct ExportTask {
    tasks: TaskTracker,
    cancel: CancellationToken,
}

impl ExportTask {
    pub(super) fn start(exporter: Option<telemetry::Exporter>) -> Self {
        let (tasks, cancel) = (TaskTracker::new(), CancellationToken::new());
        if let Some(exporter) = exporter {
            tasks.spawn(exporter.run(cancel.clone()));
        }
        Self { tasks, cancel }
    }

    pub(super) async fn stop(self) {
        self.cancel.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// The signals that stop the server.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn listen() -> std::io::Result<Self> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(Self { terminate, interrupt })
    }

    pub(super) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
