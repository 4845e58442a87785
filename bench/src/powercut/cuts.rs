//! Makes the cuts: walks the recording, builds an image at each chosen place, opens it and compares it with the
//! promises.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::time::Instant;

use super::Options;
use super::disk::{Disk, Event, Image, Step, TimedEvent, steps};
use super::image::build;
use super::promise::{Promises, Rows, lost};
use crate::node::http::{Answer, Parser};
use crate::node::rng::Rng;
use crate::node::{print, say};

/// The result of opening an image.
#[derive(Debug, Clone)]
pub(super) enum OpenedImage {
    /// It opened, and holds these requests.
    Rows(Arc<Rows>),
    /// It did not open, or not whole.
    Corrupt(String),
    /// It opened, but its chain or its tables do not agree.
    Mismatch(String),
}

/// The program whose disks are cut.
pub(super) trait Subject: Sync {
    /// Notes what an answer to a caller promises.
    fn learn(&self, answer: &Answer, promises: &mut Promises);
    /// Opens an image. `fresh` says that no caller had an answer yet; `number` counts the distinct images.
    fn open(&self, folder: &Path, fresh: bool, number: usize) -> Result<OpenedImage>;
}

/// The figures of a run.
#[derive(Debug, Default, Clone)]
pub(super) struct Report {
    pub(super) cuts: usize,
    pub(super) distinct: usize,
    pub(super) lost: usize,
    pub(super) corrupt: usize,
    pub(super) mismatches: usize,
    pub(super) answers: usize,
    pub(super) steps: usize,
    pub(super) time: Duration,
    pub(super) examples: Vec<String>,
}

impl Report {
    /// Cuts that broke something.
    pub(super) fn violations(&self) -> usize {
        self.lost + self.corrupt + self.mismatches
    }

    pub(super) fn print(&self) {
        for example in &self.examples {
            print(format!("violation: {example}"));
        }
        print(
            "     cuts  images distinct  lost acks  corrupt  mismatches  answers recorded  steps recorded    time",
        );
        print(format!(
            "{:>9}  {:>15}  {:>9}  {:>7}  {:>10}  {:>16}  {:>14}  {:>5.1} s",
            self.cuts,
            self.distinct,
            self.lost,
            self.corrupt,
            self.mismatches,
            self.answers,
            self.steps,
            self.time.as_secs_f64()
        ));
    }
}

/// The answers that each send completed, by event.
pub(super) fn answers(events: &[TimedEvent]) -> Result<HashMap<usize, Vec<Answer>>> {
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_by_key(|index| events.get(*index).map(|timed| timed.end));
    let mut parsers: HashMap<&str, Parser> = HashMap::new();
    let mut found: HashMap<usize, Vec<Answer>> = HashMap::new();
    for index in order {
        let Some(TimedEvent { event: Event::Send(socket, bytes), .. }) = events.get(index) else {
            continue;
        };
        let parser = parsers.entry(socket).or_default();
        parser.feed(bytes);
        while let Some(answer) = parser.take().with_context(|| format!("what was sent on {socket}"))? {
            found.entry(index).or_default().push(answer);
        }
    }
    Ok(found)
}

/// Where the cuts are: half of them anywhere, half right after an answer, when a promise is newest.
fn plan(all: &[Step], answers: &HashMap<usize, Vec<Answer>>, options: &Options) -> Vec<(usize, u64)> {
    let mut rng = Rng::new(options.seed);
    let behind: Vec<usize> = all
        .iter()
        .enumerate()
        .filter(|(_, step)| matches!(step, Step::End(index) if answers.contains_key(index)))
        .map(|(place, _)| place + 1)
        .collect();
    let mut cuts: Vec<(usize, u64)> = (0..options.cuts)
        .map(|_| {
            let place = if rng.percent(50) { rng.pick(&behind).copied() } else { None };
            (place.unwrap_or_else(|| rng.index(all.len() + 1)), rng.next())
        })
        .collect();
    cuts.sort_unstable();
    cuts
}

/// What the workers share.
struct Shared<'a, S> {
    subject: &'a S,
    events: &'a [TimedEvent],
    all: &'a [Step],
    answers: &'a HashMap<usize, Vec<Answer>>,
    scratch: &'a Path,
    options: &'a Options,
    /// Images already opened: the same bytes need not be opened twice, but are judged against every cut's promises.
    opened: Mutex<HashMap<u64, OpenedImage>>,
    /// One copy of equal rows: many images recover to the same requests.
    interned: Mutex<HashMap<u64, Arc<Rows>>>,
    report: Mutex<Report>,
    made: AtomicUsize,
    numbers: AtomicUsize,
    stop: AtomicBool,
}

/// Makes all cuts.
pub(super) fn run<S: Subject>(
    subject: &S,
    events: &[TimedEvent],
    options: &Options,
    scratch: &Path,
) -> Result<Report> {
    let begun = Instant::now();
    let answers = answers(events)?;
    let all = steps(events);
    let cuts = plan(&all, &answers, options);
    let shared = Shared {
        subject,
        events,
        all: &all,
        answers: &answers,
        scratch,
        options,
        opened: Mutex::default(),
        interned: Mutex::default(),
        report: Mutex::default(),
        made: AtomicUsize::new(0),
        numbers: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
    };
    let workers = options.workers.max(1);
    std::thread::scope(|scope| -> Result<()> {
        let mut handles = Vec::new();
        for worker in 0..workers {
            let mine: Vec<(usize, u64)> = cuts.iter().skip(worker).step_by(workers).copied().collect();
            let shared = &shared;
            handles.push(std::thread::Builder::new().name(format!("cut-{worker}")).spawn_scoped(
                scope,
                move || {
                    let result = shared.work(worker, &mine);
                    if result.is_err() {
                        shared.stop.store(true, Ordering::Relaxed);
                    }
                    result
                },
            )?);
        }
        let mut said = Instant::now();
        while handles.iter().any(|handle| !handle.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            if said.elapsed() > Duration::from_secs(5) {
                said = Instant::now();
                let report = lock(&shared.report).clone();
                say(format!(
                    "  {} of {} cuts, {} distinct images, {} violations",
                    shared.made.load(Ordering::Relaxed),
                    cuts.len(),
                    lock(&shared.opened).len(),
                    report.violations()
                ));
            }
        }
        for handle in handles {
            handle.join().map_err(|_| anyhow::anyhow!("a worker panicked"))??;
        }
        Ok(())
    })?;
    let distinct = lock(&shared.opened).len();
    let mut report = shared.report.into_inner().unwrap_or_else(PoisonError::into_inner);
    report.cuts = shared.made.into_inner();
    report.distinct = distinct;
    report.answers = answers.values().map(Vec::len).sum();
    report.steps = all.len();
    report.time = begun.elapsed();
    Ok(report)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: Subject> Shared<'_, S> {
    fn work(&self, worker: usize, cuts: &[(usize, u64)]) -> Result<()> {
        let mut disk = Disk::default();
        let mut promises = Promises::new();
        let mut fresh = true;
        let mut at = 0;
        for (place, seed) in cuts {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            while at < *place {
                let Some(step) = self.all.get(at).copied() else {
                    break;
                };
                disk.step(step, self.events);
                if let Step::End(index) = step {
                    for answer in self.answers.get(&index).into_iter().flatten() {
                        fresh = false;
                        self.subject.learn(answer, &mut promises);
                    }
                }
                at += 1;
            }
            let image = build(&disk, &mut Rng::new(*seed));
            self.judge(worker, *place, *seed, &image, &promises, fresh)?;
            self.made.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn judge(
        &self,
        worker: usize,
        place: usize,
        seed: u64,
        image: &Image,
        promises: &Promises,
        fresh: bool,
    ) -> Result<()> {
        let mut hasher = DefaultHasher::new();
        image.hash(&mut hasher);
        fresh.hash(&mut hasher);
        let key = hasher.finish();
        let known = lock(&self.opened).get(&key).cloned();
        let mut folder = None;
        let opened = if let Some(opened) = known {
            opened
        } else {
            let number = self.numbers.fetch_add(1, Ordering::Relaxed);
            let path = self.scratch.join(format!("image-{worker}-{number}"));
            write(&path, image)?;
            let opened = self
                .subject
                .open(&path, fresh, number)
                .with_context(|| format!("open the image of cut {place} (seed {seed})"))?;
            folder = Some(path);
            let opened = self.intern(opened);
            lock(&self.opened).insert(key, opened.clone());
            opened
        };
        let (kind, words) = match &opened {
            OpenedImage::Rows(rows) => ("lost", lost(promises, rows)),
            OpenedImage::Corrupt(words) => ("corrupt", vec![words.clone()]),
            OpenedImage::Mismatch(words) => ("mismatch", vec![words.clone()]),
        };
        if !words.is_empty() {
            self.broken(kind, place, seed, &words, image)?;
        }
        if let Some(folder) = folder {
            std::fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
        }
        Ok(())
    }

    fn intern(&self, opened: OpenedImage) -> OpenedImage {
        let OpenedImage::Rows(rows) = opened else { return opened };
        let mut hasher = DefaultHasher::new();
        rows.hash(&mut hasher);
        OpenedImage::Rows(Arc::clone(lock(&self.interned).entry(hasher.finish()).or_insert(rows)))
    }

    fn broken(&self, kind: &str, place: usize, seed: u64, words: &[String], image: &Image) -> Result<()> {
        let mut report = lock(&self.report);
        match kind {
            "lost" => report.lost += 1,
            "corrupt" => report.corrupt += 1,
            _ => report.mismatches += 1,
        }
        let first = words.first().map_or("", String::as_str);
        if report.examples.len() < 5 {
            let mut example = format!("{kind} at step {place} of {} (seed {seed}): {first}", self.all.len());
            if words.len() > 1 {
                let _ = write!(example, " (and {} more)", words.len() - 1);
            }
            if self.options.keep && self.options.sabotage.is_none() {
                // Written again, as the disk was before it was opened.
                let kept = self.scratch.join(format!("broken-{place}-{seed}"));
                write(&kept, image)?;
                let _ = write!(example, " [{}]", kept.display());
            }
            if self.options.enough < usize::MAX {
                say(format!("  violation: {example}"));
            }
            report.examples.push(example);
        }
        // A caught bug needs no more examples, and an honest run has failed already.
        if report.violations() >= self.options.enough {
            self.stop.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Writes an image as a folder.
fn write(folder: &PathBuf, image: &Image) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for (name, bytes) in image {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, bytes).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}
