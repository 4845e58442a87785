//! The crash loop: load on the real binary, SIGKILL at random moments, and a second process that judges the result.

mod board;
mod book;
mod chain;
mod client;
mod digest;
mod lines;
mod oracle;
mod rules;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Parser, Subcommand};
use tokio::time::Instant;

use self::board::Board;
use self::client::{Caller, World};
use self::lines::{Line, Oracle, Verdict};
use crate::node::rng::Rng;
use crate::node::{Node, NodeOptions, default_bin, new_key, print, say, verify};

/// Options of the crash loop.
#[derive(Debug, Parser)]
#[command(
    name = "crash",
    about = "Kills the real binary under load, over and over, and checks what it remembers"
)]
pub struct Command {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    hidden: Option<Hidden>,
}

#[derive(Debug, Subcommand)]
enum Hidden {
    /// The process with the independent ledger.
    #[command(hide = true)]
    Oracle { file: PathBuf },
}

/// The options of a run.
#[derive(Debug, Clone, Args)]
struct Options {
    /// The placet binary (default: the one beside this program).
    #[arg(long)]
    bin: Option<PathBuf>,
    /// How often the server is killed (default 1000, with --short 200).
    #[arg(long)]
    cycles: Option<u32>,
    /// Shorter cycles, for the tests.
    #[arg(long)]
    short: bool,
    /// The seed of every choice; the operating system's timing is not part of it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run a binary with a planted bug (ack-before-commit); finding it is success. Killing a process cannot show a
    /// missing sync: `powercut` finds that one.
    #[arg(long)]
    sabotage: Option<String>,
    /// Keep the folder of a failing run and print its path.
    #[arg(long)]
    keep: bool,
    /// Cycles on one data folder before a fresh one is started.
    #[arg(long, default_value_t = 25)]
    life: u32,
    /// Where the data folders live.
    #[arg(long)]
    scratch: Option<PathBuf>,
}

impl Options {
    fn cycles(&self) -> u32 {
        let usual = match (&self.sabotage, self.short) {
            (Some(_), _) => 60,
            (None, true) => 200,
            (None, false) => 1000,
        };
        self.cycles.unwrap_or(usual)
    }
}

/// The keys of one data folder.
#[derive(Debug, Clone)]
struct Keys {
    agents: Vec<(String, String)>,
    reviewers: Vec<(String, String)>,
    auditor: String,
}

/// A whole run.
struct Run<'a> {
    options: &'a Options,
    bin: PathBuf,
    oracle: &'a Oracle,
    counter: AtomicU64,
    rng: Rng,
    kills: u32,
    early: u32,
    judged: u32,
    verified: u32,
    most: usize,
    last: Verdict,
}

/// Waiters across the kills of one life: request numbers by waiter.
type Waiting = Vec<Option<(u64, String)>>;

const WAITERS: usize = 6;

/// Runs the program. True means that no promise was broken.
pub fn main(command: Command) -> Result<bool> {
    if let Some(Hidden::Oracle { file }) = command.hidden {
        oracle::run(&file)?;
        return Ok(true);
    }
    let options = command.options;
    let bin = default_bin(options.bin.clone())?;
    let parent = options.scratch.clone().unwrap_or_else(std::env::temp_dir);
    let scratch = tempfile::Builder::new().prefix("placet-crash-").tempdir_in(parent)?;
    let oracle = Oracle::start(&scratch.path().join("oracle.jsonl"))?;
    let begun = Instant::now();
    let mut run = Run {
        options: &options,
        bin,
        oracle: &oracle,
        counter: AtomicU64::new(1),
        rng: Rng::new(options.seed),
        kills: 0,
        early: 0,
        judged: 0,
        verified: 0,
        most: 0,
        last: Verdict::default(),
    };
    let found = run.lives(scratch.path(), begun);
    if options.keep && !matches!(&found, Ok(violations) if violations.is_empty()) {
        say(format!("kept: {}", scratch.keep().display()));
    }
    let found = found?;
    for violation in found.iter().take(10) {
        print(format!("violation: {violation}"));
    }
    run.print(begun.elapsed(), found.len());
    match (&options.sabotage, found.first()) {
        // A short run may miss a rare event by chance; a long one may not.
        (None, None) if run.kills >= 100 && run.last.rare.missing() => {
            bail!("nothing broke, but not everything happened that should have: {:?}", run.last.rare);
        }
        (None, None) => {
            print(format!("crash: {} kills, no promise broken", run.kills));
            Ok(true)
        }
        (None, Some(_)) => bail!("{} violations after {} kills", found.len(), run.kills),
        (Some(name), Some(_)) => {
            print(format!("caught: the sabotage `{name}` was found after {} kills", run.kills));
            Ok(true)
        }
        (Some(name), None) => bail!(
            "the sabotage `{name}` was NOT caught in {} kills: is the binary built with `--features sabotage`?",
            run.kills
        ),
    }
}

impl Run<'_> {
    fn print(&self, time: Duration, violations: usize) {
        print(
            "kills  at start-up  judgements  chains verified  answers  effects  waiters  most requests  violations     time",
        );
        print(format!(
            "{:>5}  {:>11}  {:>10}  {:>15}  {:>7}  {:>7}  {:>7}  {:>13}  {:>10}  {:>5.0} s",
            self.kills,
            self.early,
            self.judged,
            self.verified,
            self.last.answers,
            self.last.effects,
            self.last.learned,
            self.most,
            violations,
            time.as_secs_f64()
        ));
        let rare = self.last.rare;
        print(format!(
            "among them: {} waiters learned across a kill, {} creates nobody had heard of were found by their key, {} permits \
             were asked for again, {} requests expired",
            rare.across, rare.found, rare.again, rare.expired
        ));
    }

    /// Runs life after life until all kills are done or a violation is found.
    fn lives(&mut self, scratch: &Path, begun: Instant) -> Result<Vec<String>> {
        let mut life = 0;
        while self.kills < self.options.cycles() {
            life += 1;
            let data = scratch.join(format!("life-{life}"));
            std::fs::create_dir(&data)?;
            let cycles = self.options.life.min(self.options.cycles() - self.kills).max(1);
            let found = self
                .life(life, &data, cycles)
                .with_context(|| format!("life {life}, after {} kills", self.kills))?;
            if !found.is_empty() {
                return Ok(found);
            }
            say(format!(
                "  {} of {} kills, {} answers, {} effects, no violation ({:.0} s)",
                self.kills,
                self.options.cycles(),
                self.last.answers,
                self.last.effects,
                begun.elapsed().as_secs_f64()
            ));
            std::fs::remove_dir_all(&data)?;
        }
        Ok(Vec::new())
    }

    fn node(&self, data: &Path) -> NodeOptions {
        let mut node = NodeOptions::new(&self.bin, data);
        if let Some(name) = &self.options.sabotage {
            node.env.push(("PLACET_SABOTAGE".into(), name.clone()));
        }
        node
    }

    /// Starts the server. Sometimes it is killed before it is ready, once or twice.
    fn start(&mut self, data: &Path) -> Result<Node> {
        while self.rng.percent(12) {
            let node = Node::spawn(&self.node(data))?;
            std::thread::sleep(Duration::from_micros(self.rng.below(120_000)));
            node.kill()?;
            self.early += 1;
        }
        Node::start(&self.node(data), Duration::from_secs(30))
    }

    /// One data folder: killed again and again, judged after every restart, and settled at its end.
    fn life(&mut self, life: u32, data: &Path, cycles: u32) -> Result<Vec<String>> {
        self.oracle.note(&Line::Life { life })?;
        let mut node = self.start(data)?;
        let keys = Keys::make(&node)?;
        let board = Mutex::new(Board::default());
        let mut waiting: Waiting = vec![None; WAITERS];
        for _ in 0..cycles {
            self.load(node, &keys, &board, &mut waiting)?;
            node = self.start(data)?;
            // Sometimes the callers come back at once, and the judge only after the next kill.
            if self.rng.percent(85) {
                let found = self.judge(&node, &keys, false)?;
                if !found.is_empty() {
                    return Ok(found);
                }
            }
        }
        self.settle(&node, &keys, &board, &mut waiting)?;
        let found = self.judge(&node, &keys, true)?;
        if !found.is_empty() {
            return Ok(found);
        }
        node.kill()?;
        let (good, _, words) = verify(&self.bin, data)?;
        self.verified += 1;
        Ok(if good { Vec::new() } else { vec![format!("ledger verify: {words}")] })
    }

    fn judge(&mut self, node: &Node, keys: &Keys, end: bool) -> Result<Vec<String>> {
        let line = Line::Judge { addr: node.addr()?.to_string(), auditor: keys.auditor.clone(), end };
        let verdict = self.oracle.judge(&line)?;
        self.judged += 1;
        self.most = self.most.max(verdict.requests);
        let mut violations = verdict.violations.clone();
        // A planted bug may show itself in other ways first. The lost acknowledgement is what must be caught.
        if self.options.sabotage.is_some() && verdict.lost == 0 {
            violations.clear();
        }
        // Lost acknowledgements first: they matter most.
        violations.sort_by_key(|words| !words.contains("acknowledged"));
        self.last = verdict;
        Ok(violations)
    }

    /// All callers at once, until the kill.
    fn load(&mut self, node: Node, keys: &Keys, board: &Mutex<Board>, waiting: &mut Waiting) -> Result<()> {
        let stop = AtomicBool::new(false);
        let world =
            World { addr: node.addr()?, oracle: self.oracle, board, counter: &self.counter, stop: &stop };
        if let Ok(mut board) = board.lock() {
            board.creates_left = if self.options.short { 40 } else { 60 };
        }
        let mut delay =
            Duration::from_millis(self.rng.between(20, if self.options.short { 400 } else { 800 }));
        delay += Duration::from_micros(self.rng.below(1000));
        let seed = self.rng.next();
        let kills = &mut self.kills;
        std::thread::scope(|scope| -> Result<()> {
            let mut callers = Vec::new();
            let (world, rng) = (&world, Rng::new(seed));
            for (index, (name, key)) in keys.agents.iter().chain(&keys.agents).enumerate() {
                let mut caller = Caller::new(world, name, key, rng.fork(index as u64));
                callers.push(scope.spawn(move || caller.agent()));
            }
            for (index, (name, key)) in keys.reviewers.iter().enumerate() {
                let mut caller = Caller::new(world, name, key, rng.fork(100 + index as u64));
                callers.push(scope.spawn(move || caller.reviewer()));
            }
            for (index, (slot, (name, key))) in waiting.iter_mut().zip(keys.agents.iter().cycle()).enumerate()
            {
                let mut caller = Caller::new(world, name, key, rng.fork(200 + index as u64));
                callers.push(scope.spawn(move || caller.waiter(slot)));
            }
            std::thread::sleep(delay);
            // Killed first, told to stop second: callers in the middle of an operation stay there.
            node.kill()?;
            *kills += 1;
            stop.store(true, Ordering::Relaxed);
            self.oracle.note(&Line::Killed { cycle: *kills })?;
            callers
                .into_iter()
                .try_for_each(|caller| caller.join().map_err(|_| anyhow::anyhow!("a caller panicked"))?)
        })
    }

    /// The end of a life: every open operation is repeated, everything is decided, every waiter learns its outcome.
    fn settle(
        &mut self,
        node: &Node,
        keys: &Keys,
        board: &Mutex<Board>,
        waiting: &mut Waiting,
    ) -> Result<()> {
        let stop = AtomicBool::new(false);
        let world =
            World { addr: node.addr()?, oracle: self.oracle, board, counter: &self.counter, stop: &stop };
        let world = &world;
        let rng = Rng::new(self.rng.next());
        std::thread::scope(|scope| -> Result<()> {
            let mut waiters = Vec::new();
            for (slot, (name, key)) in waiting.iter_mut().zip(keys.agents.iter().cycle()) {
                let mut caller = Caller::new(world, name, key, rng.fork(1));
                waiters.push(scope.spawn(move || caller.wait_out(slot)));
            }
            for (name, key) in keys.agents.iter().chain(&keys.reviewers) {
                Caller::new(world, name, key, rng.fork(2)).settle()?;
            }
            let (name, key) = keys.reviewers.first().context("a reviewer")?;
            let mut reviewer = Caller::new(world, name, key, rng.fork(3));
            let deadline = Instant::now() + Duration::from_mins(1);
            while reviewer.decide_all()? {
                if Instant::now() > deadline {
                    bail!("requests are still pending after a minute of deciding");
                }
            }
            waiters
                .into_iter()
                .try_for_each(|waiter| waiter.join().map_err(|_| anyhow::anyhow!("a waiter panicked"))?)
        })
    }
}

impl Keys {
    fn make(node: &Node) -> Result<Self> {
        let addr = node.addr()?;
        let make = |role: &str, name: &str| new_key(addr, role, name).map(|key| (name.to_owned(), key));
        Ok(Self {
            agents: vec![make("agent", "bot-a")?, make("agent", "bot-b")?],
            reviewers: vec![make("reviewer", "ann")?, make("reviewer", "ben")?],
            auditor: make("auditor", "eve")?.1,
        })
    }
}
