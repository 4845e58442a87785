//! The server: configuration, wiring, start and stop.

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use crate::cli::ServeArgs;

/// How to start a server inside this process.
pub(crate) struct StartOptions {
    pub(crate) data: PathBuf,
    pub(crate) listen: SocketAddr,
    pub(crate) bootstrap_token: String,
}

/// A server that runs inside this process.
pub(crate) struct Running {
    pub(crate) url: String,
}

impl Running {
    pub(crate) async fn stop(self) {}
}

pub(crate) async fn start(_options: StartOptions) -> anyhow::Result<Running> {
    anyhow::bail!("not built yet")
}

pub(crate) async fn run(_args: ServeArgs) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not built yet")
}
