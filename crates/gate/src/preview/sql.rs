//! SQL statements: what they do and to which tables. A text that two databases could read differently is not taken apart.

mod words;

use placet_core::{Preview, Segment, show};
use placet_policy::sql::{Act, Parts, Rows, VERBS, changes, parse};
use words::{MIGRATORS, RUNNERS};

use super::{
    args::{Args, Name},
    text::{clip, count, join, list, middle, quoted, value},
};

/// What a text of SQL says.
pub(super) struct Sql<'a> {
    text: &'a str,
    /// The argument that holds it.
    pub(super) key: &'a str,
    parts: Result<Parts, &'static str>,
    /// Whether the tool is one that runs it.
    runs: bool,
    /// Where it runs, as the arguments name it.
    places: Vec<(&'static str, &'a str)>,
    /// The name of a migration.
    migration: Option<&'a str>,
}

/// Arguments that say where a statement runs.
const PLACES: &[(&str, &[&str])] = &[
    ("", &["database", "db", "database_name", "databaseName", "dbname", "database_id"]),
    ("schema ", &["schema"]),
    ("project ", &["project", "project_id", "projectId", "project_ref"]),
    ("branch ", &["branch", "branch_id", "branchId"]),
    ("", &["host", "connection", "connection_name", "connection_id", "datasource"]),
    ("cluster ", &["cluster", "warehouse"]),
];

/// Statements that are about rights, settings and programs, and about no table.
const TOLD: &[&str] = &[
    "GRANT",
    "REVOKE",
    "COPY with PROGRAM",
    "CALL",
    "DO",
    "EXEC",
    "EXECUTE",
    "SET",
    "RESET",
    "LOAD",
    "PRAGMA",
    "ATTACH",
    "DETACH",
    "RENAME",
];

/// What a text of SQL does that a program is given, if it can be taken apart.
pub(super) fn said(text: &str) -> Option<String> {
    let parts = parse(text).ok()?;
    let sql = Sql { text, key: "", parts: Ok(parts), runs: true, places: Vec::new(), migration: None };
    Some(sql.effect())
}

impl<'a> Sql<'a> {
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        let databases =
            ["sql", "database", "db", "postgres", "postgresql", "mysql", "sqlite", "bigquery", "snowflake"];
        let keys: &[&str] = match () {
            () if name.has(&databases) || name.one_of(MIGRATORS) => {
                &["sql", "query", "statement", "sql_query", "migrationSql", "migration_sql", "sqlStatement"]
            }
            // Many things are queries, and many sentences begin like a statement.
            () if name.one_of(RUNNERS) => &["sql", "sql_query", "query"],
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
        for aside in [&["params", "parameters"][..], &["timeout", "timeout_ms"]] {
            args.maybe(aside)?;
        }
        let mut places = Vec::new();
        for (kind, keys) in PLACES {
            if let Some((_, place)) = args.maybe(keys)? {
                places.push((*kind, place.as_str()?));
            }
        }
        let migrates = name.one_of(MIGRATORS);
        let migration = if migrates { args.maybe(&["name", "migration_name"])? } else { None };
        let migration = migration.and_then(|(_, name)| name.as_str());
        Some(Self { text, key, parts, runs: migrates || name.one_of(RUNNERS), places, migration })
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
        let parts = self.parts.as_ref().ok().filter(|_| !self.explains())?;
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

    /// Whether it only says how another statement would be run.
    fn explains(&self) -> bool {
        let upper = || self.text.to_ascii_uppercase();
        self.parts.as_ref().is_ok_and(|parts| {
            parts.statements == 1
                && parts.acts.iter().any(|act| act.label == "EXPLAIN")
                && !upper().contains("ANALY")
        })
    }

    /// Whether it looks as if it only read, and calls functions that may change something.
    fn calls_more(&self) -> bool {
        self.parts.as_ref().is_ok_and(|parts| !parts.changes()) && changes(self.text, true)
    }

    /// What it does, without who does it.
    pub(super) fn facts(&self) -> String {
        let Ok(parts) = &self.parts else { return quoted(&middle(self.text, 140)) };
        if self.explains() {
            return format!("EXPLAIN of {}", quoted(&middle(self.text, 100)));
        }
        let told = |act: &&Act| TOLD.contains(&act.label.as_str());
        if parts.acts.iter().any(|act| told(&act)) {
            // What it is about is no table, so that only the text says it.
            let what = match parts.statements {
                1 => quoted(&middle(self.text, 120)),
                _ => labels(parts),
            };
            return self.rows().map(|rows| format!("{rows}: ")).unwrap_or_default() + &what;
        }
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
        // Where it runs is said first: behind a long list of tables it would be cut off.
        let place = self.places.iter().fold(String::new(), |out, (kind, place)| {
            format!(
                "{out}{}{kind}{}",
                if out.is_empty() { " in " } else { ", " },
                value(&middle(place, 40), 50)
            )
        });
        let run = match self.migration {
            Some(name) => format!("apply the migration {}: {statements}", value(&middle(name, 50), 60)),
            None => format!("run {statements}"),
        };
        let place = if self.calls_more() {
            format!("{place} with functions that may change something")
        } else {
            place
        };
        match self.rows() {
            Some(rows) if !rows.starts_with(|c: char| c.is_ascii_digit()) => {
                format!("{run}{place} {}", self.facts())
            }
            _ if self.parts.is_err() => format!("{run}{place} {}", self.facts()),
            _ => format!("{run}{place}: {}", self.facts()),
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
