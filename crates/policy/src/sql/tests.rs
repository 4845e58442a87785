use super::changes;

#[test]
fn statements_that_write_are_told_from_questions() {
    for text in [
        "DROP TABLE users",
        "drop  table if exists users",
        "DROP/**/TABLE users",
        "DROP -- x\n TABLE users",
        "/* hi */ DELETE FROM users",
        "(DELETE FROM users)",
        "DELETE u FROM users u",
        "INSERT INTO t VALUES (1)",
        "UPDATE users SET admin = 1",
        "ALTER TABLE t ADD x int",
        "TRUNCATE users",
        "TRUNCATE TABLE users",
        "MERGE INTO t USING s ON a",
        "GRANT ALL ON t TO bob",
        "REVOKE ALL ON t FROM bob",
        "CALL wipe()",
        "EXEC sp_wipe",
        "COPY t FROM '/x'",
        "COPY t TO PROGRAM 'sh'",
        "SELECT * INTO copy FROM users",
        "SELECT 1; DROP TABLE users",
        "SELECT 1 DROP TABLE users",
        "SELECT 1; VACUUM",
        "WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d",
        "EXPLAIN ANALYZE DELETE FROM t",
        "SELECT pg_terminate_backend(1)",
        "1; DROP TABLE users",
        "x'; DELETE FROM users; --",
        "CREATE OR REPLACE FUNCTION f() RETURNS int",
        "SELECT 1 -- x\r; DROP TABLE users",
        "BEGIN; DELETE FROM t; COMMIT",
    ] {
        assert!(changes(text, false), "{text}");
        assert!(changes(text, true), "{text}");
    }
    for text in [
        "delete old users",
        "delete old users from last year",
        "update on the project",
        "drop shipping",
        "how to drop table in postgres",
        "select a hotel",
        "create account flow",
        "call John",
        "grant application",
        "copy of the invoice",
        "set alarm",
        "show me all users",
        "with love",
        "SELECT * FROM users",
        "SELECT a, count(*) FROM t GROUP BY a",
        "cheap flights; hotels",
        "",
    ] {
        assert!(!changes(text, false), "{text}");
    }
    for text in ["VACUUM", "SET a = 1", "CALL x", "sp_configure 1", "find me a flight"] {
        assert!(changes(text, true), "what is SQL by its name must surely read: {text}");
    }
    assert!(!changes("SELECT * FROM users WHERE id = 5", true));
}
