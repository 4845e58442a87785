//! Runs steps side by side in two lanes, each as soon as its needs have passed, with a log for each.
//!
//! Cargo builds one thing at a time, so one lane has the builds. The other lane takes every other step that is ready.
//! A step whose need failed is left out; all other steps still run.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::junit::{self, TestCase};
use crate::process::{elapsed, log_to, say};

/// How often the run reports what it is doing.
const PROGRESS: Duration = Duration::from_secs(30);

/// How much of its log a failed step prints.
const SHOWN: usize = 150;

/// Which lane may run a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lane {
    /// The lane of the builds: cargo has one lock.
    Cargo,
    /// Whichever is free.
    Any,
}

/// One step of a run.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: String,
    /// Steps that must have passed before. A step that is not part of the run does not count.
    pub(crate) needs: Vec<&'static str>,
    pub(crate) lane: Lane,
}

/// How a step ended.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Outcome {
    Passed,
    Failed(String),
    /// Left out, because the named step failed or was left out.
    NotRun(&'static str),
}

/// The result of a step.
pub(crate) struct Finished {
    pub(crate) name: &'static str,
    pub(crate) outcome: Outcome,
    pub(crate) time: Duration,
    /// Its tests, if the runner names them.
    pub(crate) tests: Vec<TestCase>,
}

/// The files of a step: its log, and the folder for JUnit files.
pub(crate) struct Place {
    log: PathBuf,
    pub(crate) reports: PathBuf,
}

impl Place {
    fn of(folder: &Path, step: &str) -> Self {
        Self { log: folder.join(format!("{step}.log")), reports: folder.join(step) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Running(Instant),
    Ended,
}

struct Shared<'a> {
    steps: &'a [Step],
    folder: &'a Path,
    progress: Mutex<Progress>,
    /// Rung whenever a step ends.
    ended: Condvar,
}

struct Progress {
    states: Vec<State>,
    finished: Vec<Finished>,
    /// A lane has panicked: its step will never end, so the other lane must not wait for it.
    broken: bool,
}

/// Marks the run as broken if the lane panics.
struct Working<'a>(&'a Shared<'a>);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().broken = true;
            self.0.ended.notify_all();
        }
    }
}

/// Runs every step; the logs and reports of the last run are in `folder`.
pub(crate) fn run(
    steps: &[Step],
    folder: &Path,
    work: impl Fn(&'static str, &Place) -> Result<()> + Sync,
    each: impl Fn(&Finished) + Sync,
) -> Result<Vec<Finished>> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let progress =
        Progress { states: vec![State::Waiting; steps.len()], finished: Vec::new(), broken: false };
    let shared = Shared { steps, folder, progress: Mutex::new(progress), ended: Condvar::new() };
    thread::scope(|scope| {
        scope.spawn(|| shared.lane(Lane::Cargo, &work, &each));
        scope.spawn(|| shared.lane(Lane::Any, &work, &each));
        scope.spawn(|| shared.tell());
    });
    let finished = shared.progress.into_inner().unwrap_or_else(PoisonError::into_inner).finished;
    Ok(finished)
}

impl Shared<'_> {
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one step after another until none is left for this lane.
    fn lane(
        &self,
        lane: Lane,
        work: &(impl Fn(&'static str, &Place) -> Result<()> + Sync),
        each: &(impl Fn(&Finished) + Sync),
    ) {
        let _working = Working(self);
        while let Some(index) = self.take(lane) {
            let step = &self.steps[index];
            say(format!("== {}: {}", step.name, step.about));
            let begin = Instant::now();
            let place = Place::of(self.folder, step.name);
            let result = logged(&place, || work(step.name, &place));
            let tests = junit::read_folder(&place.reports).unwrap_or_default();
            let outcome =
                result.map_or_else(|error| Outcome::Failed(format!("{error:#}")), |()| Outcome::Passed);
            let finished = Finished { name: step.name, outcome, time: begin.elapsed(), tests };
            each(&finished);
            self.end(index, finished, &place);
        }
    }

    /// The next step for this lane, in the order of the run. Waits for one. None when all are taken.
    fn take(&self, lane: Lane) -> Option<usize> {
        let mut progress = self.lock();
        loop {
            self.leave_out(&mut progress);
            let waiting: Vec<usize> =
                (0..self.steps.len()).filter(|index| progress.states[*index] == State::Waiting).collect();
            if let Some(index) = self.next(lane, &waiting, &progress) {
                progress.states[index] = State::Running(Instant::now());
                return Some(index);
            }
            if waiting.is_empty() || progress.broken {
                return None;
            }
            progress = self.ended.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The build lane takes these first and in order, because much waits for them. It runs what the next build needs,
    /// or waits while that runs, instead of starting a later build that takes minutes.
    fn next(&self, lane: Lane, waiting: &[usize], progress: &Progress) -> Option<usize> {
        let of =
            |wanted: Lane| waiting.iter().copied().filter(move |index| self.steps[*index].lane == wanted);
        let ready = |index: &usize| self.is_ready(*index, progress);
        if lane == Lane::Any {
            return of(Lane::Any).find(ready);
        }
        if let Some(first) = of(Lane::Cargo).next()
            && !ready(&first)
        {
            let needed = |index: &usize| self.steps[first].needs.contains(&self.steps[*index].name);
            let running = |(step, state): (&Step, &State)| {
                matches!(state, State::Running(_)) && self.steps[first].needs.contains(&step.name)
            };
            if let Some(need) = of(Lane::Any).find(|index| needed(index) && ready(index)) {
                return Some(need);
            }
            if self.steps.iter().zip(&progress.states).any(running) {
                return None;
            }
        }
        of(Lane::Cargo).find(ready).or_else(|| of(Lane::Any).find(ready))
    }

    /// The outcome of a need. None while it runs. A step that is not part of the run counts as passed.
    fn outcome<'p>(&self, need: &str, progress: &'p Progress) -> Option<&'p Outcome> {
        if !self.steps.iter().any(|step| step.name == need) {
            return Some(&Outcome::Passed);
        }
        progress.finished.iter().find(|finished| finished.name == need).map(|finished| &finished.outcome)
    }

    fn is_ready(&self, index: usize, progress: &Progress) -> bool {
        self.steps[index].needs.iter().all(|need| self.outcome(need, progress) == Some(&Outcome::Passed))
    }

    /// Leaves out every waiting step whose need did not pass, and the steps that need those.
    fn leave_out(&self, progress: &mut Progress) {
        while let Some((index, need)) = self.hopeless(progress) {
            let step = &self.steps[index];
            say(format!("== {}: not run, it needs `{need}`", step.name));
            progress.states[index] = State::Ended;
            let outcome = Outcome::NotRun(need);
            progress.finished.push(Finished {
                name: step.name,
                outcome,
                time: Duration::ZERO,
                tests: Vec::new(),
            });
            // The other lane may wait only for this.
            self.ended.notify_all();
        }
    }

    /// A waiting step with a need that did not pass, and that need.
    fn hopeless(&self, progress: &Progress) -> Option<(usize, &'static str)> {
        self.steps.iter().enumerate().find_map(|(index, step)| {
            let failed =
                |need: &&str| self.outcome(need, progress).is_some_and(|outcome| *outcome != Outcome::Passed);
            let need = step.needs.iter().copied().find(failed)?;
            (progress.states[index] == State::Waiting).then_some((index, need))
        })
    }

    fn end(&self, index: usize, finished: Finished, place: &Place) {
        let mut progress = self.lock();
        let count = progress.finished.len() + 1;
        let tests = if finished.tests.is_empty() {
            String::new()
        } else {
            format!(", {} tests", finished.tests.len())
        };
        let time = elapsed(finished.time);
        match &finished.outcome {
            Outcome::Failed(why) => {
                say(format!("== {}: FAILED after {time}: {why}", finished.name));
                say(format!("   the end of {}:", place.log.display()));
                for line in last_lines(&place.log, SHOWN) {
                    say(format!("   | {line}"));
                }
            }
            _ => say(format!(
                "== {}: passed in {time}{tests} ({count} of {})",
                finished.name,
                self.steps.len()
            )),
        }
        progress.states[index] = State::Ended;
        progress.finished.push(finished);
        self.ended.notify_all();
    }

    /// Reports from time to time what is running and its last line, until everything has ended.
    fn tell(&self) {
        let begin = Instant::now();
        let mut progress = self.lock();
        while progress.finished.len() < self.steps.len() && !progress.broken {
            let (next, waited) =
                self.ended.wait_timeout(progress, PROGRESS).unwrap_or_else(PoisonError::into_inner);
            progress = next;
            if !waited.timed_out() {
                continue;
            }
            let running = progress.states.iter().zip(self.steps).filter_map(|(state, step)| {
                let State::Running(since) = state else { return None };
                let log = Place::of(self.folder, step.name).log;
                let last = last_lines(&log, 1).pop().unwrap_or_default();
                let last: String = last.trim().chars().take(90).collect();
                Some(format!("{} ({}) {last}", step.name, elapsed(since.elapsed())))
            });
            say(format!("   {}: {}", elapsed(begin.elapsed()), running.collect::<Vec<_>>().join(" · ")));
        }
    }
}

/// Runs a step with its output in its log. A panic is a failure of that step alone.
fn logged(place: &Place, step: impl FnOnce() -> Result<()>) -> Result<()> {
    if place.reports.exists() {
        fs::remove_dir_all(&place.reports)?;
    }
    fs::create_dir_all(&place.reports)?;
    log_to(Some(Arc::new(File::create(&place.log)?)));
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(step));
    log_to(None);
    result.unwrap_or_else(|_| Err(anyhow::anyhow!("it panicked; the message is above")))
}

/// The last lines of a log, without terminal colours.
fn last_lines(log: &Path, count: usize) -> Vec<String> {
    let Ok(file) = File::open(log) else { return Vec::new() };
    let mut lines = std::collections::VecDeque::new();
    for line in BufReader::new(file).split(b'\n').map_while(Result::ok) {
        let line = plain(&String::from_utf8_lossy(&line));
        if !line.trim().is_empty() {
            lines.push_back(line);
        }
        if lines.len() > count {
            lines.pop_front();
        }
    }
    lines.into()
}

/// Removes escape sequences and what a carriage return overwrote.
fn plain(line: &str) -> String {
    let line = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
    let mut parts = line.split('\u{1b}');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|char: char| char.is_ascii_alphabetic()).map_or(part.len(), |at| at + 1);
        text.push_str(part.get(end..).unwrap_or_default());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &'static str, needs: &[&'static str], lane: Lane) -> Step {
        Step { name, about: String::new(), needs: needs.to_vec(), lane }
    }

    /// Runs the steps; the named ones fail. Returns what ran, in order, and how each step ended.
    fn played(steps: &[Step], failing: &[&str]) -> (Vec<&'static str>, Vec<(&'static str, Outcome)>) {
        static RUNS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let run_number = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("placet-schedule-{}-{run_number}", std::process::id()));
        let ran = Mutex::new(Vec::new());
        let work = |name, _: &Place| {
            ran.lock().unwrap().push(name);
            if failing.contains(&name) {
                anyhow::bail!("no luck")
            }
            Ok(())
        };
        let finished = run(steps, &folder, work, |_| ()).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let mut ended: Vec<_> = finished.into_iter().map(|step| (step.name, step.outcome)).collect();
        ended.sort_by_key(|(name, _)| *name);
        (ran.into_inner().unwrap(), ended)
    }

    #[test]
    fn a_step_runs_after_what_it_needs_whichever_lane_has_it() {
        let steps = [
            step("last", &["build", "other"], Lane::Any),
            step("build", &["first"], Lane::Cargo),
            step("other", &["first"], Lane::Any),
            step("first", &[], Lane::Any),
        ];
        let (ran, _) = played(&steps, &[]);
        assert_eq!((ran.first(), ran.last(), ran.len()), (Some(&"first"), Some(&"last"), 4));
    }

    #[test]
    fn builds_keep_their_order_where_one_needs_something_quick() {
        let steps = [
            step("tools", &[], Lane::Any),
            step("web", &["tools"], Lane::Any),
            step("release", &["web"], Lane::Cargo),
            step("clippy", &["tools"], Lane::Cargo),
        ];
        let (ran, _) = played(&steps, &[]);
        assert_eq!(ran, ["tools", "web", "release", "clippy"]);
    }

    #[test]
    fn what_does_not_depend_on_a_failed_step_still_runs() {
        let steps = [
            step("a", &[], Lane::Cargo),
            step("b", &["a"], Lane::Any),
            step("c", &["b"], Lane::Cargo),
            step("d", &[], Lane::Any),
        ];
        let (mut ran, ended) = played(&steps, &["a"]);
        ran.sort_unstable();
        assert_eq!(ran, ["a", "d"]);
        let expected = [
            ("a", Outcome::Failed("no luck".to_owned())),
            ("b", Outcome::NotRun("a")),
            ("c", Outcome::NotRun("b")),
            ("d", Outcome::Passed),
        ];
        assert_eq!(ended, expected);
    }

    #[test]
    fn a_need_that_was_not_asked_for_does_not_hold_a_step_up() {
        let (ran, _) = played(&[step("tests", &["postgres"], Lane::Any)], &[]);
        assert_eq!(ran, ["tests"]);
    }

    #[test]
    fn a_lane_that_breaks_down_ends_the_run_and_nobody_waits_for_it() {
        let steps = [step("a", &[], Lane::Cargo), step("b", &["a"], Lane::Any), step("c", &[], Lane::Any)];
        let folder = std::env::temp_dir().join(format!("placet-schedule-broken-{}", std::process::id()));
        let each = |finished: &Finished| assert_ne!(finished.name, "a", "the report of this step breaks");
        let broken = std::panic::catch_unwind(|| run(&steps, &folder, |_, _| Ok(()), each).is_ok());
        fs::remove_dir_all(&folder).unwrap();
        assert!(broken.is_err());
    }

    #[test]
    fn the_last_line_is_shown_without_colours_and_without_what_was_overwritten() {
        assert_eq!(plain("old\r\u{1b}[32mnew\u{1b}[0m text\r"), "new text");
    }
}
