//! SQL statements: what they do and to which tables. A text that two databases could read differently is not taken apart.

mod rows;
mod tokens;
mod words;

use placet_core::{Preview, Segment, show};
use rows::Rows;
use tokens::{Token, tokens};
use words::{BARE, FILLERS, KINDS_OF, OPENERS, READING, RESERVED, RUNNERS, VERBS};

use super::{
    args::{Args, Name},
    text::{clip, count, join, list, middle, quoted},
};

const NOT_SQL: &str = "databases would not read it alike";

/// One thing that a statement does.
struct Act {
    label: String,
    rank: usize,
    rows: Option<Rows>,
}

/// What a text of SQL says.
pub(super) struct Sql<'a> {
    text: &'a str,
    /// The argument that holds it.
    pub(super) key: &'a str,
    parts: Result<Parts, &'static str>,
    /// Whether the tool is one that runs it.
    runs: bool,
}

#[derive(Default)]
struct Parts {
    statements: usize,
    /// The worst first.
    acts: Vec<Act>,
    /// Those of the worst statement first.
    tables: Vec<(usize, String)>,
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
        args.claim(&[Segment::Key(key)], text);
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
        format!("{rows}{}{on}", parts.labels())
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

impl Parts {
    /// Every kind of act once, the worst first, with how often it is there.
    fn labels(&self) -> String {
        let mut seen: Vec<(&str, usize)> = Vec::new();
        for act in &self.acts {
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

    fn changes(&self) -> bool {
        self.acts.iter().any(|act| !READING.contains(&act.label.as_str()))
    }
}

/// Whether a text is SQL that does more than read. Of a text that may be a question in plain words this is so only if it
/// goes on like a statement.
pub(super) fn changes(text: &str, key: &str) -> bool {
    let words: Vec<String> = text
        .split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_uppercase)
        .collect();
    let begins = words.first().is_some_and(|word| VERBS.contains(&word.as_str()));
    if ["query", "q"].contains(&key) && !begins && !text.contains(';') {
        return false;
    }
    let things =
        ["TABLE", "DATABASE", "SCHEMA", "VIEW", "INDEX", "USER", "ROLE", "FUNCTION", "TRIGGER", "SEQUENCE"];
    let pair = |pair: &[String]| match pair {
        [verb, next] => match verb.as_str() {
            "DELETE" => next == "FROM",
            "INSERT" | "MERGE" | "REPLACE" | "SELECT" => next == "INTO",
            "DROP" | "ALTER" | "CREATE" | "TRUNCATE" => things.contains(&next.as_str()),
            "TO" | "FROM" => next == "PROGRAM",
            "INTO" => next == "OUTFILE" || next == "DUMPFILE",
            _ => false,
        },
        _ => false,
    };
    let updates = || words.contains(&"UPDATE".to_owned()) && words.contains(&"SET".to_owned());
    if words.windows(2).any(pair) || updates() {
        return true;
    }
    // What nobody mistakes for a question is SQL, and then everything but reading counts.
    !["query", "q"].contains(&key) && parse(text).map_or(begins, |parts| parts.changes())
}

fn rank(verb: &str) -> usize {
    VERBS.iter().position(|known| *known == verb).map_or(VERBS.len(), |at| at.saturating_add(1))
}

fn parse(text: &str) -> Result<Parts, &'static str> {
    let tokens = tokens(text).ok_or(NOT_SQL)?;
    let mut parts = Parts::default();
    for statement in tokens.split(|token| *token == Token::Sign(';')).filter(|tokens| !tokens.is_empty()) {
        let acts = acts(statement)?;
        let worst = acts.iter().map(|act| act.rank).min().unwrap_or(usize::MAX);
        parts.statements = parts.statements.saturating_add(1);
        parts.acts.extend(acts);
        for table in names(statement) {
            if !parts.tables.iter().any(|(_, known)| *known == table) {
                parts.tables.push((worst, table));
            }
        }
    }
    if parts.statements == 0 {
        return Err("there is no statement in it");
    }
    parts.acts.sort_by_key(|act| act.rank);
    parts.tables.sort_by_key(|(rank, _)| *rank);
    Ok(parts)
}

/// What one statement does, or why one cannot say where it ends.
fn acts(tokens: &[Token<'_>]) -> Result<Vec<Act>, &'static str> {
    let first = tokens.first().and_then(|token| token.among(VERBS)).ok_or(NOT_SQL)?;
    let mut out: Vec<Act> = Vec::new();
    let mut depth = 0_i32;
    let mut granted = false;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(') => depth = depth.saturating_add(1),
            Token::Sign(')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        granted |= token.is("ON");
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let after = tokens.get(at.saturating_add(1));
        let word =
            |token: Option<&Token<'_>>, words: &[&'static str]| token.and_then(|token| token.among(words));
        let Some(verb) = token.among(VERBS).or_else(|| token.among(BARE)) else { continue };
        let main = first == "WITH" && depth == 0 && before == Some(&Token::Sign(')'));
        let explained = first == "EXPLAIN" && depth == 0 && out.len() == 1 && verb != "ANALYZE";
        let nested =
            before == Some(&Token::Sign('(')) && ["DELETE", "UPDATE", "INSERT", "MERGE"].contains(&verb);
        if at == 0 || main || explained || nested {
            if verb != "WITH" {
                out.push(act(verb, tokens, at));
            }
            continue;
        }
        if word(Some(token), BARE).is_none() || before == Some(&Token::Sign('.')) {
            continue;
        }
        let allowed = match verb {
            _ if ["GRANT", "REVOKE"].contains(&first) => !granted,
            "UPDATE" if word(before, &["FOR", "KEY", "DO", "ON"]).is_some() => true,
            "DELETE" if word(before, &["ON"]).is_some() => true,
            "DELETE" | "UPDATE" | "INSERT" if first == "MERGE" && word(before, &["THEN"]).is_some() => {
                if verb == "DELETE" {
                    out.push(Act { label: "DELETE".to_owned(), rank: rank("DELETE"), rows: None });
                }
                true
            }
            "INSERT" | "TRUNCATE" if after == Some(&Token::Sign('(')) && first != "MERGE" => true,
            "UPDATE" | "DELETE" | "INSERT" | "TRUNCATE" if first == "CREATE" => {
                word(before, &["AFTER", "BEFORE", "OR", "OF"]).is_some()
            }
            "EXECUTE" if first == "CREATE" => word(after, &["FUNCTION", "PROCEDURE"]).is_some(),
            "ALTER" | "ENABLE" | "DISABLE" if first == "ALTER" => {
                word(after, &["TABLE", "DATABASE"]).is_none()
            }
            "DROP" if first == "ALTER" => {
                out.push(Act { label: "DROP".to_owned(), rank: rank("DROP"), rows: None });
                let of_table = [
                    "COLUMN",
                    "CONSTRAINT",
                    "NOT",
                    "DEFAULT",
                    "INDEX",
                    "KEY",
                    "PRIMARY",
                    "FOREIGN",
                    "PARTITION",
                    "IF",
                    "IDENTITY",
                    "EXPRESSION",
                ];
                word(after, &of_table).is_some()
            }
            _ => false,
        };
        if !allowed {
            return Err("some databases find a second statement in the middle of one");
        }
    }
    if out.is_empty() {
        out.push(Act { label: first.to_owned(), rank: rank(first), rows: None });
    }
    Ok(out)
}

/// The act that a verb at this place begins, by its whole name.
fn act(verb: &'static str, tokens: &[Token<'_>], at: usize) -> Act {
    let rest = tokens.get(at..).unwrap_or(&[]);
    let has = |words: &[&'static str]| rest.iter().find_map(|token| token.among(words));
    let plain = || (verb.to_owned(), rank(verb));
    let (label, rank) = match verb {
        "COPY" if has(&["PROGRAM"]).is_some() => ("COPY with PROGRAM".to_owned(), 0),
        "SELECT" if has(&["OUTFILE", "DUMPFILE"]).is_some() => ("SELECT INTO OUTFILE".to_owned(), 0),
        "SELECT" if has(&["INTO"]).is_some() => ("SELECT INTO".to_owned(), rank("CREATE")),
        "DROP" | "CREATE" | "ALTER" => {
            let kind = rest.iter().skip(1).find(|token| token.among(KINDS_OF).is_none());
            match kind {
                Some(Token::Word(kind)) if !kind.eq_ignore_ascii_case("TABLE") => {
                    (format!("{verb} {}", clip(&kind.to_ascii_uppercase(), 24)), rank(verb))
                }
                _ => plain(),
            }
        }
        _ => plain(),
    };
    let rows = ["DELETE", "UPDATE"].contains(&verb).then(|| rows::of(rest));
    Act { label, rank, rows }
}

/// The tables and other things that are named, as far as one can tell.
fn names(tokens: &[Token<'_>]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let first = tokens.first().and_then(|token| token.among(VERBS)).unwrap_or("");
    // Whether each open bracket is one of a function.
    let mut functions: Vec<bool> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        at = at.saturating_add(1);
        match token {
            Token::Sign('(') => {
                let called =
                    matches!(before, Some(Token::Word(_))) && before.and_then(|w| w.among(OPENERS)).is_none();
                let inside = tokens.get(at).and_then(|next| next.among(&["SELECT", "WITH", "VALUES"]));
                functions.push(called && inside.is_none());
            }
            Token::Sign(')') => {
                functions.pop();
            }
            _ => {}
        }
        let starts =
            match token.among(&["FROM", "JOIN", "INTO", "UPDATE", "TABLE", "USING", "TRUNCATE", "VIEW"]) {
                Some("FROM") => {
                    functions.last() != Some(&true) && before.is_none_or(|before| !before.is("DISTINCT"))
                }
                Some("USING") => ["DELETE", "MERGE"].contains(&first),
                Some("UPDATE" | "TRUNCATE") => before
                    .is_none_or(|before| matches!(before, Token::Sign('(' | ')')) || before.is("ANALYZE")),
                Some(_) => true,
                None => {
                    // The thing that goes or comes: `DROP DATABASE prod`.
                    let kind = ["DROP", "CREATE", "ALTER"].contains(&first)
                        && tokens.iter().skip(1).find(|token| token.among(KINDS_OF).is_none()) == Some(token)
                        && tokens.iter().position(|each| std::ptr::eq(each, token))
                            == Some(at.saturating_sub(1));
                    kind && at > 1
                }
            };
        if starts {
            at = read_names(tokens, at, &mut out);
        }
    }
    out
}

/// Reads names from here on, one or several behind commas, and says where they end.
fn read_names(tokens: &[Token<'_>], mut at: usize, found: &mut Vec<String>) -> usize {
    loop {
        while tokens.get(at).is_some_and(|token| token.among(FILLERS).is_some()) {
            at = at.saturating_add(1);
        }
        let mut name = String::new();
        while let Some(part) = tokens.get(at) {
            let text = match part {
                Token::Word(word) if !name.is_empty() || part.among(RESERVED).is_none() => word,
                Token::Name(name) => name,
                _ => break,
            };
            name.push_str(text);
            at = at.saturating_add(1);
            if tokens.get(at) != Some(&Token::Sign('.')) {
                break;
            }
            name.push('.');
            at = at.saturating_add(1);
        }
        if name.is_empty() {
            return at;
        }
        if !found.contains(&name) {
            found.push(name);
        }
        // Another one after a comma, perhaps behind an alias.
        let rest = tokens.get(at..).unwrap_or(&[]);
        let alias = rest.iter().take_while(|token| matches!(token, Token::Word(_) | Token::Name(_))).count();
        if alias > 2 || rest.get(alias) != Some(&Token::Sign(',')) {
            return at;
        }
        at = at.saturating_add(alias).saturating_add(1);
    }
}

#[cfg(test)]
mod tests;
