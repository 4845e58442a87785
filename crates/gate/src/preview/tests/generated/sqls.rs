//! SQL, judged by how it was put together, and by Postgres where there is one.

use std::process::Command;

use serde_json::json;

use super::{
    super::{super::effect_of, object},
    Dice, size,
};

/// Statements, what each is called in a sentence, and the tag that Postgres answers with.
const STATEMENTS: &[(&str, &str, &str)] = &[
    ("DELETE FROM users", "DELETE", "DELETE"),
    ("delete from users where id = 1", "DELETE", "DELETE"),
    ("DELETE FROM orders WHERE id = 1 OR 1=1", "DELETE", "DELETE"),
    ("UPDATE users SET name = 'x'", "UPDATE", "UPDATE"),
    ("UPDATE users SET name = 'a;b' WHERE id = 2", "UPDATE", "UPDATE"),
    ("DROP TABLE gone", "DROP", "DROP"),
    ("TRUNCATE orders", "TRUNCATE", "TRUNCATE"),
    ("INSERT INTO users (id) VALUES (3)", "INSERT", "INSERT"),
    ("SELECT count(*) FROM users", "SELECT", "1"),
    ("SELECT count(*) FROM users WHERE name = 'DROP TABLE users'", "SELECT", "1"),
    ("CREATE TABLE fresh (id int)", "CREATE", "CREATE"),
    ("ALTER TABLE users ADD COLUMN more text", "ALTER", "ALTER"),
    ("WITH d AS (DELETE FROM orders RETURNING *) SELECT count(*) FROM d", "DELETE", "1"),
    ("GRANT SELECT ON users TO public", "GRANT", "GRANT"),
    ("CREATE INDEX ON users (id)", "CREATE", "CREATE"),
    ("COMMENT ON TABLE users IS 'x'", "", "COMMENT"),
];
/// What may stand between and around statements, and whether all databases read it alike.
const BETWEEN: &[(&str, bool)] = &[
    ("; ", true),
    (";\n", true),
    (";;", true),
    ("; -- note\n", true),
    ("; /* DROP TABLE users; */ ", true),
    (" -- x\r; ", false),
    ("; --x\n", false),
    ("; /*! DROP TABLE users */ ", false),
    ("; # x\n", false),
    ("\u{2028}; ", false),
];
const AFTER: &[(&str, bool)] =
    &[("", true), (";", true), (" -- end", true), (" /* x */", true), ("; $$", false), (" \\gexec", false)];

struct Case {
    text: String,
    kinds: Vec<(&'static str, &'static str)>,
    clear: bool,
}

fn case(dice: &mut Dice) -> Case {
    let (mut text, mut kinds, mut clear) = (String::new(), Vec::new(), true);
    for index in 0..=dice.below(4) {
        if index > 0 {
            let (between, alike) = BETWEEN[dice.below(BETWEEN.len())];
            text.push_str(between);
            clear &= alike;
        }
        let (statement, kind, tag) = STATEMENTS[dice.below(STATEMENTS.len())];
        // Another case, and other blanks.
        match dice.below(4) {
            0 => text.push_str(&statement.replacen(' ', "\n\t", 1)),
            1 => text.push_str(&statement.replacen("FROM", "FrOm", 1)),
            _ => text.push_str(statement),
        }
        clear &= !kind.is_empty();
        kinds.push((kind, tag));
    }
    let (after, alike) = AFTER[dice.below(AFTER.len())];
    text.push_str(after);
    Case { text, kinds, clear: clear && alike }
}

#[test]
fn every_statement_is_counted_and_the_worst_is_named_first() {
    let mut dice = Dice(11);
    let (mut wrong, mut read, mut opaque) = (Vec::new(), 0, 0);
    for _ in 0..super::ALL {
        let case = case(&mut dice);
        let said = effect_of("execute_sql", &object(json!({ "query": case.text })));
        let unclear = said.starts_with("Unclear, cannot be taken apart");
        if unclear == case.clear {
            wrong.push(format!("{:?} reads {said}", case.text));
            continue;
        }
        if unclear {
            opaque += 1;
            continue;
        }
        read += 1;
        let count = case.kinds.len();
        let counted = if count == 1 { "Run SQL".to_owned() } else { format!("Run {count} SQL statements") };
        if !said.starts_with(&counted) {
            wrong.push(format!("{:?} has {count} statements, and reads {said}", case.text));
        }
        for (kind, _) in &case.kinds {
            if !said.contains(kind) {
                wrong.push(format!("{:?} has {kind}, and reads {said}", case.text));
            }
        }
        if case.kinds.iter().any(|(kind, _)| *kind == "DROP") && count > 1 && !said.contains(": DROP") {
            wrong.push(format!("DROP does not come first: {said}"));
        }
    }
    println!("SQL: {read} taken apart, {opaque} not");
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), super::ALL, wrong.join("\n"));
    assert!(read > super::ALL / 5 && opaque > super::ALL / 5, "{read} read, {opaque} opaque");
}

const SETUP: &str = "DROP SCHEMA IF EXISTS words CASCADE; CREATE SCHEMA words; SET search_path = words; \
    CREATE TABLE users (id int, name text); CREATE TABLE orders (id int); CREATE TABLE gone (id int); \
    SET client_min_messages = error";

/// The lines that `psql` answers with, one for each statement; none where Postgres refuses the text.
fn answers(url: &str, text: &str) -> Option<Vec<String>> {
    let out = Command::new("psql")
        .args([
            url,
            "-X",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-c",
            "\\o /dev/null",
            "-c",
            SETUP,
            "-c",
            "\\o",
            "-c",
            text,
        ])
        .output()
        .ok()?;
    let lines = String::from_utf8(out.stdout).ok()?;
    out.status.success().then(|| lines.lines().map(str::to_owned).collect())
}

#[test]
fn postgres_counts_the_statements_alike() {
    let (Ok(url), true) = (std::env::var("PLACET_TEST_POSTGRES"), super::size() == super::ALL) else {
        println!("SQL: no Postgres in this run");
        return;
    };
    let mut dice = Dice(13);
    let (mut judged, mut refused, mut wrong) = (0, 0, Vec::new());
    for _ in 0..size() {
        let case = case(&mut dice);
        let said = effect_of("execute_sql", &object(json!({ "query": case.text })));
        let Some(lines) = answers(&url, &case.text) else {
            refused += 1;
            continue;
        };
        judged += 1;
        if said.starts_with("Unclear") {
            continue;
        }
        let tag = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
        let is = |line: &str, kind: &str| {
            tag(line) == kind || (kind == "1" && line.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let alike = lines.len() == case.kinds.len()
            && lines.iter().zip(&case.kinds).all(|(line, (_, kind))| is(line, kind));
        let count = lines.len();
        let counted = if count == 1 { "Run SQL".to_owned() } else { format!("Run {count} SQL statements") };
        if !alike || !said.starts_with(&counted) {
            wrong.push(format!("{:?}: Postgres answers {lines:?}, and it reads {said}", case.text));
        }
    }
    println!("SQL in Postgres: {judged} run, {refused} refused");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(judged * 3 >= size(), "{judged} of {}", size());
}
