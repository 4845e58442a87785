//! What works on the database without a server.

use std::process::ExitCode;

use crate::cli::{BackupArgs, KeyNewArgs, LedgerVerifyArgs, RestoreArgs};

pub(crate) async fn key_new(_args: KeyNewArgs) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not built yet")
}

pub(crate) async fn ledger_verify(_args: LedgerVerifyArgs) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not built yet")
}

pub(crate) async fn backup(_args: BackupArgs) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not built yet")
}

pub(crate) async fn restore(_args: RestoreArgs) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not built yet")
}
