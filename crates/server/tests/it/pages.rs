//! Pages for people, as a browser gets them.

use crate::support::on_sqlite;

#[test]
fn the_dashboards_addresses_answer_with_a_page_that_may_run_only_our_own_files() {
    on_sqlite(async |server| {
        for path in ["/", "/queue", "/history", "/policy", "/insights", "/people", "/settings", "/ledger"] {
            let answer = server.nobody().get(path).await;
            assert_eq!(answer.status, 200, "{path}");
            assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
            let policy = answer.header("content-security-policy").unwrap_or_default();
            for part in [
                "default-src 'none'",
                "script-src 'self'",
                "frame-ancestors 'none'",
                "form-action 'self'",
                "require-trusted-types-for 'script'",
            ] {
                assert!(policy.contains(part), "{path}: {policy}");
            }
            assert!(!policy.contains("unsafe"), "{path}: {policy}");
            assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{path}");
            assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        }
    });
}

#[test]
fn addresses_that_are_nobodys_answer_like_every_unknown_one() {
    on_sqlite(async |server| {
        for path in [
            "/index.html",
            "/queues",
            "/v1/nothing",
            "/.env",
            "/assets/none.js",
            "/assets/..%2f..%2fCargo.toml",
        ] {
            let answer = server.nobody().get(path).await;
            assert_eq!(answer.status, 404, "{path}");
            assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{path}");
        }
    });
}
