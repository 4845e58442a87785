//! The result table: every figure with its baseline of the same run, for people and as JSON.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::json;

use crate::load::figures::Spread;

/// The goal of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// At least this share of the baseline.
    ShareOfBaseline(f64),
    /// At most this many times the baseline.
    TimesBaseline(f64),
    /// At most this, in the row's unit.
    AtMost(f64),
    /// At least this, in the row's unit.
    AtLeast(f64),
    /// Reported, not judged.
    None,
}

/// One line of the table.
#[derive(Debug, Clone)]
pub struct Row {
    /// The part of the run, by its name for `--only`.
    pub part: &'static str,
    /// What was measured.
    pub what: String,
    /// Its unit.
    pub unit: &'static str,
    /// The figure, or the reason why there is none.
    pub value: Result<Spread, String>,
    /// The baseline's name and figure.
    pub baseline: Option<(&'static str, Spread)>,
    /// What it has to reach.
    pub goal: Goal,
    /// Anything a reader needs beside the figure.
    pub note: String,
}

impl Row {
    /// A row with no baseline yet.
    pub fn new(part: &'static str, what: impl Into<String>, unit: &'static str, rounds: &[f64]) -> Self {
        Self {
            part,
            what: what.into(),
            unit,
            value: Spread::of(rounds.iter().copied()).ok_or_else(|| "no round gave a figure".to_owned()),
            baseline: None,
            goal: Goal::None,
            note: String::new(),
        }
    }

    /// A row that could not be measured.
    pub fn missing(part: &'static str, what: impl Into<String>, why: impl Into<String>) -> Self {
        let mut row = Self::new(part, what, "", &[]);
        row.value = Err(why.into());
        row
    }

    /// Adds the baseline of the same run.
    #[must_use]
    pub fn against(mut self, name: &'static str, rounds: &[f64]) -> Self {
        self.baseline = Spread::of(rounds.iter().copied()).map(|spread| (name, spread));
        self
    }

    /// Adds what it has to reach.
    #[must_use]
    pub fn goal(mut self, goal: Goal) -> Self {
        self.goal = goal;
        self
    }

    /// Adds a remark.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Figure over baseline.
    pub fn ratio(&self) -> Option<f64> {
        let value = self.value.as_ref().ok()?;
        let (_, baseline) = self.baseline.as_ref()?;
        (baseline.median > 0.0).then(|| value.median / baseline.median)
    }

    /// Whether it reached its goal; `None` without one, or without a figure to judge.
    pub fn met(&self) -> Option<bool> {
        let value = self.value.as_ref().ok()?;
        match self.goal {
            Goal::ShareOfBaseline(share) => Some(self.ratio()? >= share),
            Goal::TimesBaseline(times) => Some(self.ratio()? <= times),
            Goal::AtMost(most) => Some(value.median <= most),
            Goal::AtLeast(least) => Some(value.median >= least),
            Goal::None => None,
        }
    }

    fn goal_words(&self) -> String {
        match self.goal {
            Goal::ShareOfBaseline(share) if share > 1.0 => format!(">= {share:.0}x"),
            Goal::ShareOfBaseline(share) => format!(">= {:.0} %", share * 100.0),
            Goal::TimesBaseline(times) => format!("<= {times:.0}x"),
            Goal::AtMost(most) => format!("<= {} {}", figure(most), self.unit),
            Goal::AtLeast(least) => format!(">= {} {}", figure(least), self.unit),
            Goal::None => String::new(),
        }
    }

    fn ratio_words(&self) -> String {
        match (self.ratio(), self.goal) {
            (None, _) => String::new(),
            (Some(ratio), Goal::ShareOfBaseline(share)) if share <= 1.0 => format!("{:.1} %", ratio * 100.0),
            (Some(ratio), _) => format!("{ratio:.2}x"),
        }
    }
}

/// All rows of one run.
#[derive(Debug, Default)]
pub struct Report {
    rows: Vec<Row>,
    /// Parts left out on purpose, each with the reason.
    skipped: Vec<(&'static str, String)>,
}

impl Report {
    /// Adds rows, or one row with the reason why they are missing.
    pub fn take(&mut self, part: &'static str, what: &str, rows: anyhow::Result<Vec<Row>>) {
        match rows {
            Ok(rows) => self.rows.extend(rows),
            Err(error) => self.rows.push(Row::missing(part, what, format!("{error:#}"))),
        }
    }

    /// Notes a part that was left out on purpose.
    pub fn skip(&mut self, part: &'static str, why: impl Into<String>) {
        self.skipped.push((part, why.into()));
    }

    /// Removes the goals: the run is too short to judge.
    pub fn unjudged(&mut self) {
        for row in &mut self.rows {
            row.goal = Goal::None;
        }
    }

    /// Rows that could not be measured.
    pub fn missing(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.value.is_err())
    }

    /// Rows that were measured and missed their goal.
    pub fn misses(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.met() == Some(false))
    }

    /// The table as text.
    pub fn table(&self) -> String {
        let head = ["what", "value", "range", "baseline", "ratio", "target", "met"].map(str::to_owned);
        let mut lines = vec![head];
        for row in &self.rows {
            let (value, range) = match &row.value {
                Ok(spread) => (
                    format!("{} {}", figure(spread.median), row.unit),
                    format!("{}-{}", figure(spread.low), figure(spread.high)),
                ),
                Err(_) => ("not measured".to_owned(), String::new()),
            };
            let baseline = row
                .baseline
                .as_ref()
                .map_or_else(String::new, |(name, spread)| format!("{} {name}", figure(spread.median)));
            let met = match row.met() {
                Some(true) => "yes",
                Some(false) => "NO",
                None => "",
            };
            lines.push([
                row.what.clone(),
                value,
                range,
                baseline,
                row.ratio_words(),
                row.goal_words(),
                met.to_owned(),
            ]);
        }
        let mut widths = [0; 7];
        for line in &lines {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut text = String::new();
        for (number, line) in lines.iter().enumerate() {
            let cells: Vec<String> =
                line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            text.push_str(cells.join("  ").trim_end());
            text.push('\n');
            if number == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
                text.push_str(&rule.join("  "));
                text.push('\n');
            }
        }
        self.remarks(&mut text);
        text
    }

    fn remarks(&self, text: &mut String) {
        // Writing to a String cannot fail.
        for row in self.rows.iter().filter(|row| !row.note.is_empty()) {
            let _ = write!(text, "\n  {}: {}", row.what, row.note);
        }
        for (part, why) in &self.skipped {
            let _ = write!(text, "\n  left out, {part}: {why}");
        }
        text.push('\n');
        for row in &self.rows {
            if let Err(why) = &row.value {
                let _ = write!(text, "\nNOT MEASURED  {}: {why}", row.what);
            }
        }
        for row in self.misses() {
            let value = row.value.as_ref().map_or(f64::NAN, |spread| spread.median);
            let _ = write!(
                text,
                "\nMISSED  {}: {} {} {} against {}",
                row.what,
                figure(value),
                row.unit,
                row.ratio_words(),
                row.goal_words()
            );
        }
        let judged = self.rows.iter().filter(|row| row.met().is_some()).count();
        if judged > 0 {
            let _ = write!(text, "\n{} of {judged} targets met", judged - self.misses().count());
        }
    }

    /// The same as JSON.
    pub fn json(&self, run: &serde_json::Value) -> serde_json::Value {
        #[derive(Serialize)]
        struct Line<'a> {
            part: &'a str,
            what: &'a str,
            unit: &'a str,
            value: Option<Spread>,
            baseline: Option<serde_json::Value>,
            ratio: Option<f64>,
            target: String,
            met: Option<bool>,
            note: &'a str,
            not_measured: Option<&'a str>,
        }
        let rows: Vec<Line<'_>> = self
            .rows
            .iter()
            .map(|row| Line {
                part: row.part,
                what: &row.what,
                unit: row.unit,
                value: row.value.as_ref().ok().copied(),
                baseline: row.baseline.as_ref().map(|(name, spread)| json!({"name": name, "value": spread})),
                ratio: row.ratio(),
                target: row.goal_words(),
                met: row.met(),
                note: &row.note,
                not_measured: row.value.as_ref().err().map(String::as_str),
            })
            .collect();
        let skipped: Vec<_> =
            self.skipped.iter().map(|(part, why)| json!({"part": part, "why": why})).collect();
        json!({"run": run, "rows": rows, "left_out": skipped})
    }
}

/// Three significant digits for small figures, whole numbers with separators for large ones.
fn figure(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => thousands(value),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_below_its_goal_is_a_miss_and_is_listed() {
        let row = Row::new("creates", "creates, 64 clients", "/s", &[1900.0])
            .against("bare", &[10_000.0])
            .goal(Goal::ShareOfBaseline(0.2));
        assert_eq!(row.met(), Some(false));
        let mut report = Report::default();
        report.take("creates", "", Ok(vec![row]));
        let table = report.table();
        assert!(table.contains("MISSED  creates, 64 clients: 1,900 /s 19.0 %"), "{table}");
        assert!(table.contains("0 of 1 targets met"));
    }

    #[test]
    fn what_could_not_be_measured_says_why_and_has_no_figure() {
        let mut report = Report::default();
        report.take("wake", "wake", Err(anyhow::anyhow!("the server closed the connection")));
        assert_eq!(report.missing().count(), 1);
        assert!(report.table().contains("NOT MEASURED  wake: the server closed the connection"));
        let json = report.json(&serde_json::Value::Null);
        assert!(json["rows"][0]["value"].is_null());
        assert_eq!(json["rows"][0]["met"], serde_json::Value::Null);
    }

    #[test]
    fn figures_keep_three_digits() {
        assert_eq!(figure(1_234_567.8), "1,234,568");
        assert_eq!((figure(123.4).as_str(), figure(0.0954).as_str()), ("123", "0.095"));
    }
}
