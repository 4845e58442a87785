//! Linux's figures of a server process: memory, processor time, and whether it is idle.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::time::Instant;

/// `/proc` counts processor time in these units per second, on every Linux.
const TICKS: f64 = 100.0;

/// Resident memory of a process in bytes.
pub fn resident(pid: u32) -> Result<u64> {
    let status =
        std::fs::read_to_string(format!("/proc/{pid}/status")).context("the server process is gone")?;
    let kib: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok())
        .context("no VmRSS in /proc/PID/status")?;
    Ok(kib * 1024)
}

/// Processor seconds (user and system) a process has used so far.
pub fn cpu_seconds(pid: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).context("the server process is gone")?;
    // The command name may hold anything, so count fields from the last parenthesis.
    let (_, rest) = stat.rsplit_once(')').context("odd /proc/PID/stat")?;
    let mut fields = rest.split_whitespace().skip(11);
    let mut next = || -> Option<f64> { fields.next()?.parse().ok() };
    let user = next().context("no utime")?;
    let system = next().context("no stime")?;
    Ok((user + system) / TICKS)
}

/// Waits until the process uses less than a tenth of a core for half a second.
pub async fn settle(pid: u32, limit: Duration) -> Result<()> {
    let begun = Instant::now();
    let mut quiet = 0;
    let mut before = cpu_seconds(pid)?;
    while quiet < 2 {
        tokio::time::sleep(Duration::from_millis(250)).await;
        let now = cpu_seconds(pid)?;
        quiet = if now - before <= 0.025 { quiet + 1 } else { 0 };
        before = now;
        if begun.elapsed() > limit {
            bail!("the server did not come to rest within {} s", limit.as_secs());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_processor_time() {
        let pid = std::process::id();
        assert!(resident(pid).unwrap() > 100_000);
        assert!(cpu_seconds(pid).unwrap() >= 0.0);
    }
}
