//! SQL statements: what they do and to which tables. A text that two databases could read differently is left alone.

use placet_core::{Preview, show};

use super::{
    args::{Args, Name},
    text::{clip, list},
};

/// Longest text that is read.
const LONGEST: usize = 10_000;
/// Most tables that are named.
const TABLES: usize = 20;

/// The first words of statements, those that change most first.
const VERBS: &[&str] = &[
    "DROP",
    "TRUNCATE",
    "DELETE",
    "ALTER",
    "UPDATE",
    "MERGE",
    "REPLACE",
    "INSERT",
    "REVOKE",
    "GRANT",
    "RENAME",
    "CREATE",
    "COPY",
    "LOAD",
    "CALL",
    "EXECUTE",
    "EXEC",
    "DO",
    "LOCK",
    "VACUUM",
    "REINDEX",
    "REFRESH",
    "ATTACH",
    "DETACH",
    "PRAGMA",
    "SET",
    "RESET",
    "BEGIN",
    "START",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE",
    "USE",
    "ANALYZE",
    "EXPLAIN",
    "SHOW",
    "DESCRIBE",
    "VALUES",
    "WITH",
    "SELECT",
];
/// Statements that may hold another one.
const HOLDERS: &[&str] = &["WITH", "EXPLAIN"];
/// Words between a verb and the name of a table.
const FILLERS: &[&str] =
    &["ONLY", "IF", "NOT", "EXISTS", "LATERAL", "TABLE", "TEMPORARY", "TEMP", "IGNORE", "LOW_PRIORITY"];
/// Words that are no name of a table.
const RESERVED: &[&str] =
    &["SELECT", "SET", "VALUES", "WHERE", "OF", "NOWAIT", "SKIP", "DEFAULT", "ON", "AS", "FROM"];

#[derive(Debug, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    Name(&'a str),
    Text,
    Sign(char),
}

impl Token<'_> {
    fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(text) if text.eq_ignore_ascii_case(word))
    }

    fn among(&self, words: &[&'static str]) -> Option<&'static str> {
        words.iter().copied().find(|word| self.is(word))
    }
}

/// What a text of SQL says.
pub(super) struct Sql<'a> {
    text: &'a str,
    kinds: Vec<&'static str>,
    kind: &'static str,
    tables: Vec<String>,
    filtered: bool,
}

impl<'a> Sql<'a> {
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        let databases =
            ["sql", "database", "db", "postgres", "postgresql", "mysql", "sqlite", "bigquery", "snowflake"];
        let text = if name.has(&databases) {
            args.text(&["sql", "query", "statement", "sql_query"])?
        } else if name.has(&["query"]) {
            // Many things are queries, and many sentences begin like a statement.
            args.text(&["sql", "sql_query"])?
        } else {
            return None;
        };
        Self::parse(text)
    }

    fn parse(text: &'a str) -> Option<Self> {
        let tokens = tokens(text)?;
        let mut sql = Self { text, kinds: Vec::new(), kind: "", tables: Vec::new(), filtered: true };
        let rank = |verb: &str| VERBS.iter().position(|known| *known == verb).unwrap_or(VERBS.len());
        let mut best = VERBS.len();
        for statement in tokens.split(|token| *token == Token::Sign(';')).filter(|tokens| !tokens.is_empty())
        {
            let first = statement.first()?.among(VERBS)?;
            let (at, verb) = if HOLDERS.contains(&first) {
                let verbs = statement.iter().enumerate();
                verbs
                    .filter_map(|(at, token)| Some((at, token.among(VERBS)?)))
                    .min_by_key(|(_, verb)| rank(verb))?
            } else {
                (0, first)
            };
            sql.kinds.push(verb);
            let filtered = has_where(statement, at);
            if rank(verb) < best {
                best = rank(verb);
                (sql.kind, sql.filtered) = (verb, filtered);
            } else if rank(verb) == best {
                sql.filtered &= filtered;
            }
            tables(statement, &mut sql.tables);
        }
        (!sql.kinds.is_empty()).then_some(sql)
    }

    pub(super) fn effect(&self) -> String {
        let on = match self.tables.len() {
            0 => String::new(),
            _ => format!(" on {}", list(self.tables.iter().map(String::as_str), 80)),
        };
        let rows = match (self.kind, self.filtered) {
            ("DELETE" | "UPDATE", false) => ", without a WHERE",
            ("DELETE" | "UPDATE", true) => ", with a WHERE",
            _ => "",
        };
        if self.kinds.len() == 1 {
            return format!("Run SQL: {}{on}{rows}", self.kind);
        }
        let kinds = list(self.kinds.iter().copied(), 60);
        format!("Run {} SQL statements: {kinds}{on}{rows}", self.kinds.len())
    }

    pub(super) fn preview(&self) -> Preview {
        Preview::Sql {
            statement: show(self.text),
            kind: self.kind.to_owned(),
            tables: self.tables.iter().map(|table| clip(table, 200)).collect(),
            filtered: self.filtered,
            statements: u32::try_from(self.kinds.len()).unwrap_or(u32::MAX),
        }
    }
}

/// Whether there is a WHERE for the verb at this place: after it, and as deep in parentheses.
fn has_where(statement: &[Token<'_>], verb: usize) -> bool {
    let mut depth = 0_i32;
    for token in statement.iter().skip(verb.saturating_add(1)) {
        match token {
            Token::Sign('(') => depth = depth.saturating_add(1),
            Token::Sign(')') if depth == 0 => return false,
            Token::Sign(')') => depth = depth.saturating_sub(1),
            token if depth == 0 && token.is("WHERE") => return true,
            _ => {}
        }
    }
    false
}

/// The tables that are named, as far as one can tell.
fn tables(statement: &[Token<'_>], found: &mut Vec<String>) {
    let starts = ["FROM", "JOIN", "INTO", "UPDATE", "TABLE", "USING", "TRUNCATE", "VIEW"];
    let mut rest = statement;
    while let Some((token, after)) = rest.split_first() {
        rest = after;
        if token.among(&starts).is_none() {
            continue;
        }
        loop {
            while let Some((_, after)) =
                rest.split_first().filter(|(token, _)| token.among(FILLERS).is_some())
            {
                rest = after;
            }
            let mut name = String::new();
            while let Some((part, after)) = rest.split_first() {
                let text = match part {
                    Token::Word(word) if !name.is_empty() || part.among(RESERVED).is_none() => word,
                    Token::Name(name) => name,
                    _ => break,
                };
                name.push_str(text);
                rest = after;
                match rest.split_first() {
                    Some((Token::Sign('.'), after)) => {
                        name.push('.');
                        rest = after;
                    }
                    _ => break,
                }
            }
            if name.is_empty() {
                break;
            }
            if found.len() < TABLES && !found.contains(&name) {
                found.push(name);
            }
            // Another one after a comma, perhaps behind an alias.
            let alias =
                rest.iter().take_while(|token| matches!(token, Token::Word(_) | Token::Name(_))).count();
            match rest.get(alias) {
                Some(Token::Sign(',')) if alias <= 2 => {
                    rest = rest.get(alias.saturating_add(1)..).unwrap_or(&[]);
                }
                _ => break,
            }
        }
    }
}

/// The tokens, or nothing where databases would not agree on them.
fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    if text.len() > LONGEST || text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return None;
    }
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            c if c.is_ascii_whitespace() => (None, 1),
            '-' if rest.starts_with("--") => {
                // Some databases want a blank after the two signs.
                rest.get(2..)
                    .and_then(|after| after.chars().next())
                    .is_none_or(|c| c.is_ascii_whitespace())
                    .then_some(())?;
                (None, rest.find('\n').unwrap_or(rest.len()))
            }
            '/' if rest.starts_with("/*") => {
                let end = rest.find("*/")?;
                let inside = rest.get(2..end)?;
                // Some databases run what is inside, others nest.
                if inside.starts_with(['!', '+', 'M']) || inside.contains("/*") {
                    return None;
                }
                (None, end.checked_add(2)?)
            }
            '\'' | '"' | '`' => {
                let (inside, length) = quoted(rest, first)?;
                (Some(if first == '\'' { Token::Text } else { Token::Name(inside) }), length)
            }
            '#' | '$' | '\\' | '[' | ']' => return None,
            c if c.is_alphanumeric() || c == '_' => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                (Some(Token::Word(rest.get(..end)?)), end)
            }
            c => (Some(Token::Sign(c)), c.len_utf8()),
        };
        out.extend(token);
        rest = rest.get(length..)?;
    }
    Some(out)
}

/// What stands in quotes, and its length with them. A doubled quote is one; a backslash means something to some only.
fn quoted(text: &str, quote: char) -> Option<(&str, usize)> {
    let body = text.get(1..)?;
    let mut from = 0;
    loop {
        let end = from + body.get(from..)?.find(quote)?;
        let inside = body.get(..end)?;
        if inside.contains('\\') {
            return None;
        }
        if body.get(end + 1..).is_some_and(|after| after.starts_with(quote)) {
            from = end + 2;
            continue;
        }
        return Some((inside, end + 2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(&'static str, Vec<String>, bool, usize)> {
        let sql = Sql::parse(text)?;
        Some((sql.kind, sql.tables.clone(), sql.filtered, sql.kinds.len()))
    }

    fn is(text: &str, kind: &'static str, tables: &[&str], filtered: bool, statements: usize) {
        let tables = tables.iter().map(|table| (*table).to_owned()).collect();
        assert_eq!(read(text), Some((kind, tables, filtered, statements)), "{text}");
    }

    #[test]
    fn verbs_tables_and_filters_are_found() {
        is("DELETE FROM users", "DELETE", &["users"], false, 1);
        is("delete from only public.users where id = 1;", "DELETE", &["public.users"], true, 1);
        is("DELETE FROM a USING (SELECT 1 FROM b WHERE x) c", "DELETE", &["a", "b"], false, 1);
        is("UPDATE \"Us er\" SET a = 'x;y'", "UPDATE", &["Us er"], false, 1);
        is("SELECT * FROM a, b x JOIN c ON true", "SELECT", &["a", "b", "c"], false, 1);
        is("DROP TABLE IF EXISTS a, b", "DROP", &["a", "b"], false, 1);
        is("INSERT INTO t (a) VALUES (1); DELETE FROM t", "DELETE", &["t"], false, 2);
        is("DELETE FROM t WHERE a; DELETE FROM u", "DELETE", &["t", "u"], false, 2);
        is("TRUNCATE t -- all of it\n", "TRUNCATE", &["t"], false, 1);
        is("/* note */ SELECT 1", "SELECT", &[], false, 1);
    }

    #[test]
    fn what_is_wrapped_in_another_statement_counts() {
        is("WITH d AS (DELETE FROM t WHERE a RETURNING *) SELECT * FROM d", "DELETE", &["t", "d"], true, 1);
        is("WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d WHERE b", "DELETE", &["t", "d"], false, 1);
        is("EXPLAIN ANALYZE UPDATE t SET a = 1", "UPDATE", &["t"], false, 1);
    }

    #[test]
    fn what_databases_read_differently_is_left_alone() {
        for text in [
            "SELECT 'a\\' ; DROP TABLE t; --'",
            "SELECT 1 /*! ; DROP TABLE t */",
            "SELECT $$x$$",
            "SELECT 1 # ; DROP",
            "SELECT 'unclosed",
            "SELECT 1--1",
            "find me a flight",
            "",
            ";",
        ] {
            assert!(read(text).is_none(), "{text}");
        }
    }
}
