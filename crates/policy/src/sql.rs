//! SQL statements: what they do and to which tables. A text that two databases could read differently is not taken apart.

mod rows;
mod shape;
#[cfg(test)]
mod tests;
mod tokens;
mod words;

pub use rows::Rows;
pub use shape::{changes, reads};
use tokens::{Token, tokens};
pub use words::VERBS;
use words::{BARE, FILLERS, KINDS_OF, OPENERS, READING, RESERVED};

const NOT_SQL: &str = "databases would not read it alike";

/// One thing that a statement does.
#[derive(Debug)]
pub struct Act {
    /// What it is called, such as `DROP SCHEMA`.
    pub label: String,
    /// How bad it is; less is worse.
    pub rank: usize,
    /// Which rows it is about, where it changes or deletes some.
    pub rows: Option<Rows>,
}

/// What a text of SQL does.
#[derive(Debug, Default)]
pub struct Parts {
    /// How many statements it has.
    pub statements: usize,
    /// The worst first.
    pub acts: Vec<Act>,
    /// With the rank of the worst statement that names them; those of the worst statement first.
    pub tables: Vec<(usize, String)>,
}

impl Parts {
    /// Whether it does more than read.
    pub fn changes(&self) -> bool {
        self.acts.iter().any(|act| !READING.contains(&act.label.as_str()))
    }
}

fn rank(verb: &str) -> usize {
    VERBS.iter().position(|known| *known == verb).map_or(VERBS.len(), |at| at.saturating_add(1))
}

/// Takes a text of SQL apart, or says why that cannot be done.
pub fn parse(text: &str) -> Result<Parts, &'static str> {
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
                Some(Token::Word(kind)) if !kind.eq_ignore_ascii_case("TABLE") => (
                    format!("{verb} {}", kind.to_ascii_uppercase().chars().take(24).collect::<String>()),
                    rank(verb),
                ),
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
