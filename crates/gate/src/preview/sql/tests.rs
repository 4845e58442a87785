use super::*;

fn sql(text: &str) -> Sql<'_> {
    Sql { text, key: "sql", parts: parse(text), runs: true, places: Vec::new(), migration: None }
}

fn says(text: &str, effect: &str) {
    assert_eq!(sql(text).effect(), effect, "{text}");
}

#[test]
fn verbs_tables_and_rows_are_said_and_a_where_is_no_reassurance() {
    for (text, effect) in [
        ("DELETE FROM users", "run SQL without a WHERE: DELETE on users"),
        ("delete from only public.users where id = 1;", "run SQL: DELETE on public.users"),
        ("DELETE FROM a USING (SELECT 1 FROM b WHERE x) c", "run SQL without a WHERE: DELETE on a, b"),
        ("UPDATE \"Us er\" SET a = 'x;y'", "run SQL without a WHERE: UPDATE on Us er"),
        ("SELECT * FROM a, b x JOIN c ON true", "run SQL: SELECT on a, b, c"),
        ("DROP TABLE IF EXISTS a, b", "run SQL: DROP on a, b"),
        ("DROP DATABASE prod", "run SQL: DROP DATABASE on prod"),
        ("DROP SCHEMA IF EXISTS s CASCADE", "run SQL: DROP SCHEMA on s"),
        ("TRUNCATE t -- all of it\n", "run SQL: TRUNCATE on t"),
        ("/* note */ SELECT 1", "run SQL: SELECT"),
        ("SELECT EXTRACT(year FROM created) FROM t WHERE a IS DISTINCT FROM b", "run SQL: SELECT on t"),
        ("SELECT * INTO copy FROM users", "run SQL: SELECT INTO on copy, users"),
        ("COPY t TO PROGRAM 'sh'", "run SQL: \"COPY t TO PROGRAM 'sh'\""),
        ("INSERT INTO t SELECT * FROM u ON CONFLICT (a) DO UPDATE SET b = 1", "run SQL: INSERT on t, u"),
        ("SELECT * FROM t FOR UPDATE", "run SQL: SELECT on t"),
        ("ALTER TABLE t DROP COLUMN c", "run SQL: DROP, ALTER on t"),
        ("GRANT SELECT, DELETE ON t TO ann", "run SQL: \"GRANT SELECT, DELETE ON t TO ann\""),
        ("REVOKE ALL ON accounts FROM ann", "run SQL: \"REVOKE ALL ON accounts FROM ann\""),
        ("EXPLAIN DELETE FROM t", "run SQL: EXPLAIN of \"EXPLAIN DELETE FROM t\""),
        ("SELECT pg_terminate_backend(7)", "run SQL with functions that may change something: SELECT"),
    ] {
        says(text, effect);
    }
}

#[test]
fn the_worst_comes_first_and_every_count_is_true() {
    says(
        "INSERT INTO t (a) VALUES (1); DELETE FROM u",
        "run 2 SQL statements without a WHERE: DELETE, INSERT on u, t",
    );
    says(
        "DELETE FROM t WHERE a; DELETE FROM u",
        "run 2 SQL statements: 1 of 2 without a WHERE: DELETE (2) on t, u",
    );
    let many = format!("{}DROP TABLE users", "SELECT 1 FROM a; ".repeat(12));
    says(&many, "run 13 SQL statements: DROP, SELECT (12) on users, a");
    says("MERGE INTO t USING s ON a WHEN MATCHED THEN DELETE", "run SQL: DELETE, MERGE on t, s");
}

#[test]
fn a_condition_that_always_holds_is_none() {
    for condition in [
        "1=1",
        "true",
        "id=id",
        "a = 2 OR 1=1",
        "(1 = 1)",
        "'a' = 'a'",
        "1",
        "NOT false",
        "x LIKE '%'",
        "1<>2",
    ] {
        says(
            &format!("DELETE FROM t WHERE {condition}"),
            "run SQL with a WHERE that is always true: DELETE on t",
        );
    }
    says("DELETE FROM t WHERE 1 = 2 RETURNING id", "run SQL with a WHERE that names no column: DELETE on t");
    says("DELETE FROM t RETURNING id AS where", "run SQL without a WHERE: DELETE on t");
    says("DELETE FROM t WHERE a AND 1=1", "run SQL: DELETE on t");
}

#[test]
fn what_is_wrapped_in_another_statement_counts() {
    says(
        "WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d WHERE b",
        "run SQL without a WHERE: DELETE, SELECT on t, d",
    );
    says(
        "WITH d AS (DELETE FROM t WHERE a), e AS (DELETE FROM u) SELECT 1",
        "run SQL: 1 of 2 without a WHERE: DELETE (2), SELECT on t, u",
    );
    says("EXPLAIN ANALYZE UPDATE t SET a = 1", "run SQL without a WHERE: UPDATE, EXPLAIN on t");
}

#[test]
fn what_databases_read_differently_is_not_taken_apart() {
    for text in [
        "SELECT 'a\\' ; DROP TABLE t; --'",
        "SELECT 1 /*! ; DROP TABLE t */",
        "SELECT $$x$$",
        "SELECT 1 # ; DROP",
        "SELECT 'unclosed",
        "SELECT 1--1",
        "SELECT 1 -- harmless\r; DROP TABLE users",
        "SELECT 1 -- harmless\u{2028}; DROP TABLE users",
        "SELECT 1 -- harmless\u{b}; DROP TABLE users",
        "SELECT 1 DELETE FROM users",
        "SELECT 1 EXEC('DROP TABLE t')",
        "SELECT 1 SHUTDOWN",
        "ALTER TABLE a ADD x int DROP TABLE b",
        "UPDATE t SET a = 1 DROP TABLE b",
        "find me a flight",
        "",
        ";",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}
