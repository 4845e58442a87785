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
];
