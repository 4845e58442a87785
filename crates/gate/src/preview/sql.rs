//! SQL statements: what they do and to which tables. A text that two databases could read differently is not taken apart.

mod words;

use placet_core::{Preview, Segment, show};
use placet_policy::sql::{Parts, Rows, VERBS, parse};
use words::RUNNERS;

use super::{
    args::{Args, Name},
    text::{clip, count, join, list, middle, quoted},
};

/// What a text of SQL says.
pub(super) struct Sql<'a> {
    text: &'a str,
    /// The argument that holds it.
    pub(super) key: &'a str,
    parts: Result<Parts, &'static str>,
    /// Whether the tool is one that runs it.
    runs: bool,
}

impl<'a> Sql<'a> {
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        let databases =
            ["sql", "database", "db", "postgres", "postgresql", "mysql", "sqlite", "bigquery", "snowflake"];
        let keys: &[&str] = match () {
            () if name.has(&databases) => &["sql", "query", "statement", "sql_query"],
            // Many things are queries, and many sentences begin like a statement.
            () if name.has(&["query"]) => &["sql", "sql_query"],
            () => return None,
        };
        let (key, value) = args.maybe(keys)??;
        let text = value.as_str()?;
        let parts = parse(text);
        // A question in plain words is no SQL that could not be read.
        let begins = text.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or("");
        let sql = key != "query"
            || name.has(&["sql"])
            || VERBS.iter().any(|verb| verb.eq_ignore_ascii_case(begins));
        if text.trim().is_empty() || (parts.is_err() && !sql) {
            return None;
        }
        args.show_whole(&[Segment::Key(key)], text);
        for aside in
            [&["database", "db", "schema"][..], &["params", "parameters"], &["timeout", "timeout_ms"]]
        {
            args.maybe(aside)?;
        }
        Some(Self { text, key, parts, runs: name.one_of(RUNNERS) })
    }

    pub(super) fn is_sure(&self) -> bool {
        self.runs
    }

    /// Why it cannot be taken apart.
    pub(super) fn opaque(&self) -> Option<&'static str> {
        self.parts.as_ref().err().copied()
    }

    /// Whether it does more than read, as far as one can tell.
    pub(super) fn changes(&self) -> bool {
        self.parts.as_ref().map_or(true, Parts::changes)
    }

    /// How bad the worst of it is; less is worse.
    pub(super) fn rank(&self) -> usize {
        self.parts.as_ref().ok().and_then(|parts| parts.acts.first()).map_or(0, |act| act.rank)
    }

    /// What is to be said of the rows: only what is true of every statement that changes some, or how many it is true of.
    pub(super) fn rows(&self) -> Option<String> {
        let parts = self.parts.as_ref().ok()?;
        let rows: Vec<Rows> = parts.acts.iter().filter_map(|act| act.rows).collect();
        let said = [
            (Rows::Every, "without a WHERE"),
            (Rows::True, "with a WHERE that is always true"),
            (Rows::Constant, "with a WHERE that names no column"),
        ];
        let words =
            said.iter().filter_map(|(which, words)| match rows.iter().filter(|row| *row == which).count() {
                0 => None,
                all if all == rows.len() => Some((*words).to_owned()),
                some => Some(format!("{some} of {} {words}", rows.len())),
            });
        let words = words.collect::<Vec<_>>().join(", ");
        (!words.is_empty()).then_some(words)
    }

    /// What it does, without who does it.
    pub(super) fn facts(&self) -> String {
        let Ok(parts) = &self.parts else { return quoted(&middle(self.text, 140)) };
        let rows = self.rows().map(|rows| format!("{rows}: ")).unwrap_or_default();
        let tables: Vec<&str> = parts.tables.iter().map(|(_, table)| table.as_str()).collect();
        let on =
            if tables.is_empty() { String::new() } else { format!(" on {}", list(tables.into_iter(), 70)) };
        format!("{rows}{}{on}", labels(parts))
    }

    pub(super) fn effect(&self) -> String {
        let statements = match &self.parts {
            Ok(parts) if parts.statements > 1 => count(parts.statements, "SQL statement", "SQL statements"),
            _ => "SQL".to_owned(),
        };
        match self.rows() {
            Some(rows) if !rows.starts_with(|c: char| c.is_ascii_digit()) => {
                format!("run {statements} {}", self.facts())
            }
            _ if self.parts.is_err() => format!("run {statements} {}", self.facts()),
            _ => format!("run {statements}: {}", self.facts()),
        }
    }

    pub(super) fn preview(&self) -> Preview {
        let Ok(parts) = &self.parts else { return Preview::Json };
        Preview::Sql {
            statement: show(self.text),
            kind: parts.acts.first().map(|act| act.label.clone()).unwrap_or_default(),
            tables: parts.tables.iter().map(|(_, table)| clip(table, 200)).collect(),
            filtered: self.rows().is_none(),
            statements: u32::try_from(parts.statements).unwrap_or(u32::MAX),
        }
    }
}

/// Every kind of act once, the worst first, with how often it is there.
fn labels(parts: &Parts) -> String {
    let mut seen: Vec<(&str, usize)> = Vec::new();
    for act in &parts.acts {
        match seen.iter_mut().find(|(label, _)| *label == act.label) {
            Some((_, times)) => *times = times.saturating_add(1),
            None => seen.push((&act.label, 1)),
        }
    }
    let one = |(label, times): &(&str, usize)| match times {
        1 => (*label).to_owned(),
        times => format!("{label} ({times})"),
    };
    let labels: Vec<String> = seen.iter().map(one).collect();
    join(&labels, ", ", 90)
}

#[cfg(test)]
mod tests;
