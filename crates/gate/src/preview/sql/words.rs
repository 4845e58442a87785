//! Names of tools that run SQL.

/// Tools that run a statement and do nothing else.
pub(super) const RUNNERS: &[&str] = &[
    "sql",
    "query",
    "execute_sql",
    "run_sql",
    "exec_sql",
    "query_sql",
    "sql_query",
    "execute_query",
    "run_query",
    "query_database",
    "query_db",
    "database_query",
    "db_query",
    "execute_statement",
    "run_statement",
    "execute_postgresql",
    "postgres_query",
    "mysql_query",
    "sqlite_query",
    "write_query",
    "read_query",
    "execute_sql_query",
    "run_sql_query",
    "d1_database_query",
    "bigquery_query",
    "snowflake_query",
    "run_snowflake_query",
    "run_select_query",
    "write_db",
    "query_postgres",
    "sql_db_query",
];
/// Tools that apply a migration.
pub(super) const MIGRATORS: &[&str] = &["apply_migration", "run_migration", "execute_migration"];
