//! A database of version 0.2.0: it verifies as it is, is upgraded, and verifies to the same head.

use std::{fmt::Write as _, path::Path, process::Command, sync::Arc};

use placet_core::{Role, Voided};
use placet_store::Store;
use placet_testkit::{Backend, FakeClock, Place, both};

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/v0.2.0");
const SQLITE_HEAD: &str = "sha256:ce290c82b3179ab032b0f0a36585a26112c8b0148477c6c6412e470abd31fd87";

/// Lays the fixture out at this place.
async fn lay_out(place: &Place) {
    match place.backend() {
        Backend::Sqlite => {
            let folder = place.folder();
            std::fs::create_dir_all(&folder).unwrap();
            let mut tar = Command::new("tar");
            tar.args(["--strip-components=1", "--no-same-owner", "-xzf"]);
            tar.arg(Path::new(FIXTURE).join("sqlite.tar.gz")).arg("-C").arg(folder);
            assert!(tar.status().expect("tar runs").success());
        }
        Backend::Postgres => {
            let dump = Path::new(FIXTURE).join("postgres.sql.gz");
            let output = Command::new("gzip").arg("-dc").arg(dump).output().expect("gzip runs");
            place.sql(&inserts(&String::from_utf8(output.stdout).unwrap())).await;
        }
    }
}

/// A plain dump without what only `psql` understands: rows to copy become rows to insert.
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
            writeln!(sql, "INSERT INTO {into} VALUES ({});", values.join(", ")).unwrap();
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

both! {
    async fn a_database_of_version_0_2_0_is_upgraded_and_verifies_to_the_same_head(backend: Backend) {
        let place = Place::new(backend).await;
        lay_out(&place).await;
        let before = place.verify().await.unwrap();
        assert_eq!(before.entries, 41);
        if backend == Backend::Sqlite {
            assert_eq!(before.head.to_string(), SQLITE_HEAD);
        }
        let store = Store::open(place.options(Arc::new(FakeClock::new()))).await.unwrap();
        let directory = store.directory();
        assert_eq!(directory.owner("billing-bot"), Some("ann"));
        let owned = directory.keys.values().find(|key| key.name == "billing-bot").expect("its key");
        assert_eq!((owned.role, owned.owner.as_deref()), (Role::Agent, Some("ann")), "read from the ledger");
        assert!(directory.people.contains_key("ann") && directory.people.contains_key("Ann"), "both stay");
        assert_eq!(directory.lookalike("ann"), Some("Ann"));
        assert_eq!((directory.grants.len(), directory.voided.len()), (2, 0));
        assert!(!directory.voided.contains_key(&Voided::Person("ann".to_owned())));
        store.close().await;
        let after = place.verify().await.unwrap();
        assert_eq!((after.entries, after.head), (before.entries, before.head));
    }
}
