//! `bench`: one table of the real binary's figures, each with its baseline of the same run.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::{Parser, Subcommand};
use placet_bench::baseline::bare::{self, Mode};
use placet_bench::load::pairs;
use placet_bench::load::rows::{Bench, Part, Peers, Sizes};
use placet_bench::node::{default_bin, print, say};
use placet_bench::report::Report;
use serde_json::json;

/// Measures the real `placet` binary against baselines taken in the same run.
#[derive(Parser)]
#[command(name = "bench", version)]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// The `placet` binary; by default the one beside this program.
    #[arg(long, value_name = "FILE")]
    bin: Option<PathBuf>,
    /// Where the table goes as JSON.
    #[arg(long, value_name = "FILE", default_value = "target/bench/bench.json")]
    out: PathBuf,
    /// Where data folders go: a folder on the disk that is measured.
    #[arg(long, value_name = "DIR", default_value = "target/bench")]
    dir: PathBuf,
    /// How often everything is repeated; the table shows the median and the range.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=99))]
    rounds: u64,
    /// Seconds of each throughput loop.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Requests of history in the listing rows.
    #[arg(long, default_value_t = 1_000_000)]
    history: usize,
    /// Only these parts, separated by commas.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
    /// A running observability server to compare the events door with, such as http://127.0.0.1:4100.
    #[arg(long, value_name = "URL", value_parser = peer)]
    events_peer: Option<SocketAddr>,
    /// A running community gateway to compare the approvals door with, such as http://127.0.0.1:8000.
    #[arg(long, value_name = "URL", value_parser = peer)]
    approvals_peer: Option<SocketAddr>,
    /// Another build of `placet`, usually an older one: measures only both, in turns. `--only` chooses among creates,
    /// cycles, decide, wake, doors and memory.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// How many pairs then.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=999))]
    pairs: u64,
    /// Tiny counts: checks that every row can be measured, and judges no target.
    #[arg(long)]
    short: bool,
    /// Exit with 1 when a target is missed.
    #[arg(long)]
    strict: bool,
}

#[derive(Subcommand)]
enum Command {
    /// The bare server for the baselines.
    #[command(hide = true)]
    Bare {
        /// What it does.
        mode: Mode,
    },
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if let Some(Command::Bare { mode }) = args.command {
        tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(bare::serve(mode))?;
        return Ok(ExitCode::SUCCESS);
    }
    // One thread for all clients: it shares the cores with the server, and must not outnumber it.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run(args))
}

/// The address of a server of another project.
fn peer(url: &str) -> Result<SocketAddr, String> {
    let address = url.strip_prefix("http://").unwrap_or(url).trim_end_matches('/');
    address.parse().map_err(|_| "expected an address such as http://127.0.0.1:8000".to_owned())
}

async fn run(args: Args) -> Result<ExitCode> {
    if args.history < 1_000 {
        bail!("--history must be at least 1000: that is the short history it is compared with");
    }
    std::fs::create_dir_all(&args.dir).with_context(|| format!("cannot make {}", args.dir.display()))?;
    let bench = Bench {
        bin: default_bin(args.bin)?,
        dir: args.dir.canonicalize()?,
        rounds: if args.short { 1 } else { usize::try_from(args.rounds)? },
        sizes: if args.short { Sizes::short() } else { Sizes::full(args.seconds, args.history) },
        postgres: std::env::var("PLACET_BENCH_POSTGRES").ok().filter(|url| !url.is_empty()),
        peers: Peers { events: args.events_peer, approvals: args.approvals_peer },
    };
    if let Some(old) = &args.against {
        let pairs = usize::try_from(args.pairs)?;
        let rows = pairs::compare(old, &bench.bin, &bench.dir, bench.sizes.pace, pairs, &args.only).await?;
        if let Some(parent) = args.out.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(
            &args.out,
            serde_json::to_vec_pretty(&json!({"machine": machine(&bench), "pairs": rows}))?,
        )?;
        print(pairs::table(&rows));
        return Ok(ExitCode::SUCCESS);
    }
    if args.only.contains(&Part::Postgres) && bench.postgres.is_none() {
        bail!(
            "--only postgres needs PLACET_BENCH_POSTGRES, the URL of a cluster in which databases may be made"
        );
    }
    let parts = if args.only.is_empty() { Part::ALL.to_vec() } else { args.only };
    let run = machine(&bench);
    let mut report = Report::default();
    for part in parts {
        bench.run(part, &mut report).await;
    }
    if args.short {
        report.unjudged();
    }

    if let Some(parent) = args.out.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(&args.out, serde_json::to_vec_pretty(&report.json(&run))?)
        .with_context(|| format!("cannot write {}", args.out.display()))?;
    print(report.table());
    say(format!("written to {}", args.out.display()));
    if args.short {
        say("a short run: it shows that every row can be measured, and no more");
    }
    let failed = report.missing().count() > 0 || (args.strict && report.misses().count() > 0);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The facts about the machine that a reader needs to compare two tables.
fn machine(bench: &Bench) -> serde_json::Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map(|(_, name)| name.trim());
    json!({
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "processor": model,
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "load_before": read("/proc/loadavg").split_whitespace().next(),
        "optimised": !cfg!(debug_assertions),
        "rounds": bench.rounds,
        "sizes": format!("{:?}", bench.sizes),
    })
}
