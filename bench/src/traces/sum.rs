//! The counts, and their tables.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use placet_core::{Effect, Risk};
use placet_policy::Outcome;
use serde_json::json;

use super::{List, read::RecordedCall, shape};
use crate::node::say;

/// A longer pause than this does not count as work, in seconds.
const IDLE: u64 = 300;
/// Tools that run commands.
const SHELLS: [&str; 5] = ["Bash", "shell", "shell_command", "exec_command", "local_shell"];

#[derive(Default)]
pub(super) struct Sum {
    calls: usize,
    asked: usize,
    questions: usize,
    covered: usize,
    loud: usize,
    commands: usize,
    commands_asked: usize,
    confined: usize,
    commands_loud: usize,
    sessions: BTreeMap<String, Clock>,
    tools: BTreeMap<String, (usize, usize)>,
    rules: BTreeMap<String, usize>,
    shapes: BTreeMap<String, Shape>,
    listed: BTreeSet<String>,
}

/// How long somebody worked in a session.
#[derive(Default)]
struct Clock {
    last: u64,
    active: u64,
}

struct Shape {
    times: usize,
    why: String,
    example: String,
}

impl Sum {
    pub(super) const fn calls(&self) -> usize {
        self.calls
    }

    /// A folder was asked about.
    pub(super) const fn add_question(&mut self) {
        self.questions += 1;
    }

    /// A call that a remembered form allows.
    pub(super) fn add_covered(&mut self, session: &str, made: &RecordedCall) {
        self.covered += 1;
        self.calls += 1;
        self.commands += usize::from(SHELLS.contains(&made.tool.as_str()));
        self.clock(session, made.at);
    }

    fn clock(&mut self, session: &str, at: u64) {
        let clock = self.sessions.entry(session.to_owned()).or_default();
        if clock.last > 0 && at > clock.last {
            clock.active += (at - clock.last).min(IDLE);
        }
        clock.last = clock.last.max(at);
    }

    pub(super) fn add(&mut self, session: &str, made: &RecordedCall, outcome: &Outcome) {
        let asks = outcome.effect != Effect::Allow;
        self.calls += 1;
        self.asked += usize::from(asks);
        self.loud += usize::from(asks && outcome.risk >= Risk::High);
        if SHELLS.contains(&made.tool.as_str()) {
            self.commands += 1;
            self.commands_asked += usize::from(asks);
            self.commands_loud += usize::from(asks && outcome.risk >= Risk::High);
            self.confined += usize::from(outcome.confine.is_some());
        }
        self.clock(session, made.at);
        let tool = self.tools.entry(made.tool.clone()).or_default();
        tool.0 += 1;
        tool.1 += usize::from(asks);
        if asks {
            *self.rules.entry(format!("{} ({})", outcome.rule, outcome.risk)).or_default() += 1;
            let shape = self.shapes.entry(shape::of(&made.tool, &made.input)).or_insert_with(|| Shape {
                times: 0,
                why: outcome.reasons.first().cloned().unwrap_or_default(),
                example: example(made),
            });
            shape.times += 1;
        }
    }

    /// Prints a call, if it is selected and was not printed before.
    pub(super) fn list(&mut self, wanted: List, made: &RecordedCall, outcome: &Outcome) {
        let is = match (outcome.effect, outcome.confine) {
            (Effect::Allow, None) => List::Allowed,
            (Effect::Allow, Some(_)) => List::Confined,
            (Effect::Hold | Effect::Deny, _) => List::Asked,
        };
        if is != wanted {
            return;
        }
        let line = json!({"tool": made.tool, "input": made.input, "cwd": made.folder, "rule": outcome.rule, "risk": outcome.risk, "reasons": outcome.reasons});
        let line = line.to_string();
        if self.listed.insert(line.clone()) {
            say(line);
        }
    }

    pub(super) fn table(&self, top: usize) -> String {
        let mut out = String::new();
        let hours = self.sessions.values().map(|clock| clock.active).sum::<u64>() as f64 / 3600.0;
        let line = |out: &mut String, what: &str, value: String| {
            let _ = writeln!(out, "{what:<44} {value:>10}");
        };
        line(&mut out, "calls", self.calls.to_string());
        line(&mut out, "sessions", self.sessions.len().to_string());
        line(&mut out, "calls that ask a person", share(self.asked, self.calls));
        if self.questions > 0 {
            line(&mut out, "questions about a folder", self.questions.to_string());
            line(&mut out, "  with them", share(self.asked + self.questions, self.calls));
        }
        if hours > 0.0 {
            line(&mut out, "active hours", format!("{hours:.1}"));
            line(
                &mut out,
                "prompts per active hour",
                format!("{:.1}", (self.asked + self.questions) as f64 / hours),
            );
        }
        line(&mut out, "calls that ask as high or critical", share(self.loud, self.calls));
        line(&mut out, "commands", self.commands.to_string());
        let pass = self.commands - self.commands_asked;
        line(&mut out, "commands without a person", share(pass, self.commands));
        line(&mut out, "  of them confined", share(self.confined, self.commands));
        line(&mut out, "  of them free", share(pass - self.confined - self.covered, self.commands));
        if self.covered > 0 {
            line(&mut out, "  of them by a remembered form", share(self.covered, self.commands));
        }
        line(&mut out, "commands that ask as high or critical", share(self.commands_loud, self.commands));
        let _ = writeln!(out, "\ntool: calls, of which ask");
        for (tool, (calls, asked)) in by_count(&self.tools, |(_, asked)| *asked).into_iter().take(12) {
            line(&mut out, &format!("  {tool}: {calls}"), asked.to_string());
        }
        let _ = writeln!(out, "\nrule (risk): calls that ask");
        for (rule, times) in by_count(&self.rules, |times| *times).into_iter().take(20) {
            line(&mut out, &format!("  {rule}"), times.to_string());
        }
        for (name, shape) in by_count(&self.shapes, |shape| shape.times).into_iter().take(top) {
            let _ = writeln!(out, "\n{} × {name}\n    {}\n    {}", shape.times, shape.example, shape.why);
        }
        out
    }
}

fn by_count<V>(map: &BTreeMap<String, V>, count: impl Fn(&V) -> usize) -> Vec<(&String, &V)> {
    let mut list: Vec<(&String, &V)> = map.iter().collect();
    list.sort_by_key(|(_, value)| std::cmp::Reverse(count(value)));
    list
}

fn share(part: usize, whole: usize) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// One line of a call, cut.
fn example(made: &RecordedCall) -> String {
    let text = match made.input.get("command").and_then(|command| command.as_str()) {
        Some(command) => command.to_owned(),
        None => json!(made.input).to_string(),
    };
    placet_policy::shell::escaped(&text).chars().take(160).collect()
}
