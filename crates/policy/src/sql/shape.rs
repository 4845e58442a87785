//! Whether a text is SQL that does more than read, where it may as well be a question in plain words.

use super::{
    parse,
    tokens::{Token, tokens},
    words::{BARE, BEFORE_BRACKETS, KINDS_OF, PURE, VERBS},
};

/// Things that are made, changed and dropped, by names that a question seldom has after such a verb.
const THINGS: &[&str] = &[
    "TABLE",
    "DATABASE",
    "SCHEMA",
    "VIEW",
    "INDEX",
    "USER",
    "ROLE",
    "LOGIN",
    "FUNCTION",
    "PROCEDURE",
    "TRIGGER",
    "SEQUENCE",
    "EXTENSION",
    "COLUMN",
    "CONSTRAINT",
    "PARTITION",
    "KEYSPACE",
    "TABLESPACE",
    "OWNED",
    "TYPE",
    "SYSTEM",
];
/// Verbs that begin a statement which changes something, as they are written in one.
const STATEMENTS: &[&str] = &[
    "ALTER", "ATTACH", "BULK", "CALL", "CREATE", "DELETE", "DETACH", "DROP", "EXEC", "EXECUTE", "GRANT",
    "INSERT", "MERGE", "REINDEX", "REPLACE", "REVOKE", "TRUNCATE", "UNLOAD", "UPDATE", "UPSERT", "VACUUM",
];
/// Words between such a verb and the thing, beside those before every kind of thing.
const BETWEEN: &[&str] = &["CONCURRENTLY", "EXTERNAL", "VIRTUAL", "AGGREGATE", "FOREIGN", "ON"];
/// Functions that do more than compute, although a SELECT calls them.
const FUNCTIONS: &[&str] = &[
    "DBLINK",
    "DBLINK_EXEC",
    "LOAD_EXTENSION",
    "LOAD_FILE",
    "LO_EXPORT",
    "LO_IMPORT",
    "LO_UNLINK",
    "NEXTVAL",
    "PG_CANCEL_BACKEND",
    "PG_PROMOTE",
    "PG_READ_FILE",
    "PG_RELOAD_CONF",
    "PG_SLEEP",
    "PG_SWITCH_WAL",
    "PG_TERMINATE_BACKEND",
    "QUERY_TO_XML",
    "SETVAL",
    "SET_CONFIG",
    "SP_EXECUTESQL",
    "SYS_EVAL",
    "SYS_EXEC",
    "WRITEFILE",
    "XP_CMDSHELL",
];

/// Whether a text is SQL that does more than read. `sure`: its name says that it is SQL, so that everything counts which
/// does not surely read. Of any other text this is so only if it begins and goes on like a statement.
pub fn changes(text: &str, sure: bool) -> bool {
    if text.trim().is_empty() {
        return false;
    }
    let bare = without_comments(text);
    let read = [words(text), words(&bare)];
    if read.iter().any(|words| words.iter().any(|word| FUNCTIONS.contains(&word.as_str())))
        && text.contains(['(', '\''])
    {
        return true;
    }
    if sure {
        return parse(text).map_or(true, |parts| parts.changes()) || calls(text);
    }
    // Nobody begins a question so: `DELETE users`, `EXEC dbo.wipe`.
    let mut own = bare
        .split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .filter(|word| !word.is_empty());
    let (first, more) = (own.next().unwrap_or_default(), own.next().is_some());
    if more && STATEMENTS.contains(&first) {
        return true;
    }
    let begins = |words: &Vec<String>| {
        let first = words.first().map_or("", String::as_str);
        VERBS.contains(&first) || BARE.contains(&first)
    };
    let begins = read.iter().any(begins);
    (begins || text.contains(';')) && read.iter().any(|words| goes_on(words, text))
}

/// Whether a text surely is SQL that only reads.
pub fn reads(text: &str) -> bool {
    parse(text).is_ok_and(|parts| !parts.changes()) && !changes(text, true)
}

/// Whether it calls a function that is not known to compute alone: one of the database's own users may do anything.
fn calls(text: &str) -> bool {
    let Some(tokens) = tokens(text) else { return true };
    let called = |at: usize| match tokens.get(at) {
        Some(Token::Name(_)) => true,
        Some(word @ Token::Word(_)) => {
            let dotted = at.checked_sub(1).and_then(|at| tokens.get(at)) == Some(&Token::Sign('.'));
            dotted || (word.among(PURE).is_none() && word.among(BEFORE_BRACKETS).is_none())
        }
        _ => false,
    };
    let brackets = tokens.iter().enumerate().filter(|(_, token)| **token == Token::Sign('('));
    brackets.filter_map(|(at, _)| at.checked_sub(1)).any(called)
}

fn words(text: &str) -> Vec<String> {
    text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_uppercase)
        .collect()
}

/// The text with a blank for every comment, however a database writes them.
fn without_comments(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    loop {
        let starts = [("/*", "*/"), ("--", "\n"), ("#", "\n")];
        let first = starts.iter().filter_map(|(from, to)| Some((rest.find(from)?, from.len(), *to))).min();
        let Some((at, length, end)) = first else {
            out.push_str(rest);
            return out;
        };
        out.push_str(rest.get(..at).unwrap_or_default());
        out.push(' ');
        let inside = rest.get(at.saturating_add(length)..).unwrap_or_default();
        rest = inside.find(end).and_then(|to| inside.get(to.saturating_add(end.len())..)).unwrap_or_default();
    }
}

/// Whether the words go on like a statement that changes something.
fn goes_on(words: &[String], text: &str) -> bool {
    let has = |word: &str| words.iter().any(|each| each == word);
    let first = words.first().map_or("", String::as_str);
    let at = |index: usize| words.get(index).map_or("", String::as_str);
    let whole = match first {
        "SELECT" => {
            let sql = has("FROM") || text.contains(['(', ';']);
            has("INTO") || (sql && (parse(text).map_or(true, |parts| parts.changes()) || calls(text)))
        }
        "WITH" | "EXPLAIN" | "VALUES" if has("SELECT") || first != "WITH" => {
            text.contains('(') && (parse(text).map_or(true, |parts| parts.changes()) || calls(text))
        }
        "TRUNCATE" => words.len() == 2,
        "VACUUM" | "SHUTDOWN" | "REINDEX" => words.len() <= 2,
        "GRANT" => has("TO"),
        "REVOKE" => has("FROM"),
        "CALL" | "EXEC" | "EXECUTE" => {
            text.contains(['(', '@', '\'']) || at(1).starts_with("SP_") || at(1).starts_with("XP_")
        }
        "COPY" => (has("FROM") || has("TO")) && (text.contains(['\'', '(']) || has("STDIN") || has("STDOUT")),
        "LOAD" => at(1) == "DATA",
        "MERGE" => has("USING"),
        "DO" => text.contains("$$"),
        "SET" | "PRAGMA" => text.contains('='),
        "KILL" => {
            words.len() <= 3
                && words.iter().skip(1).any(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
        }
        _ => false,
    };
    let updates = || has("UPDATE") && has("SET") && text.contains('=');
    whole || updates() || (0..words.len()).any(|from| pair(words.get(from..).unwrap_or_default()))
}

/// Whether two words that only a statement has beside each other stand here.
fn pair(words: &[String]) -> bool {
    let at = |index: usize| words.get(index).map_or("", String::as_str);
    let next = at(1);
    match at(0) {
        "DELETE" => next == "FROM" || at(2) == "WHERE" || (at(2) == "FROM" && [at(3), at(4)].contains(&next)),
        "INSERT" => {
            ["INTO", "IGNORE", "OVERWRITE"].contains(&next)
                || (next == "OR" && at(3) == "INTO")
                || at(2) == "VALUES"
        }
        "MERGE" | "REPLACE" => next == "INTO",
        "DROP" | "ALTER" | "CREATE" | "TRUNCATE" | "RENAME" | "LOCK" | "ATTACH" | "DETACH" | "COMMENT" => {
            let between = |word: &str| KINDS_OF.contains(&word) || BETWEEN.contains(&word);
            let thing = words.iter().skip(1).find(|word| !between(word));
            thing.is_some_and(|thing| THINGS.contains(&thing.as_str()))
        }
        "TO" | "FROM" => next == "PROGRAM",
        "INTO" => ["OUTFILE", "DUMPFILE"].contains(&next),
        _ => false,
    }
}
