//! Data that version 0.2.0 left behind, for tests of the upgrade.

use std::{fmt::Write as _, path::Path, process::Command};

use crate::{Backend, Place};

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../store/tests/fixtures/v0.2.0");

/// Gives a database the outbox of version 0.2.0, empty, in place of its own.
pub const OUTBOX_OF_0_2: &str = "DROP TABLE outbox;
    CREATE TABLE outbox (id TEXT PRIMARY KEY, seq BIGINT NOT NULL, request TEXT NOT NULL, channel TEXT NOT NULL, state TEXT NOT NULL,
        attempts BIGINT NOT NULL, next_at BIGINT NOT NULL, lease_until BIGINT NOT NULL, lease_owner TEXT, give_up_at BIGINT NOT NULL,
        last_error TEXT);
    CREATE INDEX outbox_due ON outbox (next_at) WHERE state = 'waiting';";

/// Lays out the data that version 0.2.0 left behind when it was killed.
pub async fn lay_out_version_0_2(place: &Place) {
    match place.backend() {
        Backend::Sqlite => {
            let folder = place.folder();
            std::fs::create_dir_all(&folder).expect("a folder can be made");
            let mut tar = Command::new("tar");
            tar.args(["--strip-components=1", "--no-same-owner", "-xzf"]);
            tar.arg(Path::new(FIXTURE).join("sqlite.tar.gz")).arg("-C").arg(folder);
            assert!(tar.status().expect("tar runs").success());
        }
        Backend::Postgres => {
            let dump = Path::new(FIXTURE).join("postgres.sql.gz");
            let output = Command::new("gzip").arg("-dc").arg(dump).output().expect("gzip runs");
            place.sql(&inserts(&String::from_utf8(output.stdout).expect("the dump is text"))).await;
        }
    }
}

/// A plain dump without the parts that only `psql` understands: copied rows become inserted rows.
fn inserts(dump: &str) -> String {
    let mut sql = String::new();
    let mut lines =
        dump.lines().filter(|line| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict"));
    while let Some(line) = lines.next() {
        let Some(into) = line.strip_prefix("COPY ").and_then(|rest| rest.strip_suffix(" FROM stdin;")) else {
            sql.push_str(line);
            sql.push('\n');
            continue;
        };
        for row in lines.by_ref().take_while(|row| *row != "\\.") {
            let values: Vec<String> = row.split('\t').map(literal).collect();
            let _ = writeln!(sql, "INSERT INTO {into} VALUES ({});", values.join(", "));
        }
    }
    // The dump leaves the search path empty.
    sql + "SET search_path = public;\n"
}

fn literal(field: &str) -> String {
    if field == "\\N" {
        return "NULL".to_owned();
    }
    let mut text = String::new();
    let mut characters = field.chars();
    while let Some(character) = characters.next() {
        text.push(match (character, character == '\\') {
            (_, true) => match characters.next().expect("an escape") {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            },
            (plain, false) => plain,
        });
    }
    format!("'{}'", text.replace('\'', "''"))
}
