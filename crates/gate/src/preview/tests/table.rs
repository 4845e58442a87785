//! Which call is described how. A call that looks like a known one but differs in one thing stays a plain one.

use serde_json::{Value, json};

use super::{effect_of, object, recognise};

/// Tool, arguments, effect, type of preview.
pub(super) fn cases() -> Vec<(&'static str, Value, &'static str, &'static str)> {
    vec![
        // --- command lines ---
        ("Bash", json!({"command": "git status"}), "Run git status", "shell"),
        (
            "Bash",
            json!({"command": "git add . && git commit -m 'x' && git push"}),
            "Run git add ., git commit -m x and git push",
            "shell",
        ),
        (
            "bash",
            json!({"command": "rm -rf /srv/data", "description": "harmless", "timeout": 5}),
            "Delete /srv/data",
            "shell",
        ),
        ("run_shell_command", json!({"command": "ls", "cwd": "/srv"}), "Run ls (in /srv)", "shell"),
        ("run_shell_command", json!({"command": "ls", "env": {"A": "b"}}), "Unclear (env): run ls", "shell"),
        ("shell", json!({"command": ["rm", "-r", "a b"]}), "Delete \"a b\"", "shell"),
        ("shell", json!({"command": ["bash", "-lc", "cd x && make test"]}), "Run make test (in x)", "shell"),
        (
            "mcp__box__execute_command",
            json!({"cmd": "echo hi > /etc/motd"}),
            "Run echo hi > /etc/motd",
            "shell",
        ),
        (
            "Bash",
            json!({"command": "cat a | sudo tee /etc/hosts"}),
            "Run cat a | sudo tee /etc/hosts",
            "shell",
        ),
        (
            "Bash",
            json!({"command": "echo x >> ~/.ssh/authorized_keys"}),
            "Unclear, cannot be taken apart: run echo x >> ~/.ssh/authorized_keys",
            "shell",
        ),
        (
            "Bash",
            json!({"command": "rm -rf $DIR"}),
            "Unclear, cannot be taken apart: run rm -rf $DIR",
            "shell",
        ),
        ("Bash", json!({"command": "make && cp a b > log; ls"}), "Run make, cp a b > log and ls", "shell"),
        ("Bash", json!({"command": "/tmp/git push && ls"}), "Run /tmp/git push and ls", "shell"),
        (
            "powershell",
            json!({"command": "Remove-Item x"}),
            "Unclear, cannot be taken apart: run Remove-Item x",
            "shell",
        ),
        (
            "Bash",
            json!({"command": "ls", "cmd": "rm x"}),
            "Call Bash with cmd \"rm x\", command \"ls\"",
            "json",
        ),
        ("Bash", json!({"command": 7}), "Call Bash with command 7", "json"),
        ("Bash", json!({"command": ["ls", 7]}), "Call Bash with command [\"ls\", 7]", "json"),
        ("bash_profile_get", json!({"name": "x"}), "Call bash_profile_get with name \"x\"", "json"),
        ("run_report", json!({"command": "ls"}), "Call run_report with command \"ls\"", "json"),
        // --- SQL ---
        (
            "execute_sql",
            json!({"query": "DELETE FROM users"}),
            "Run SQL without a WHERE: DELETE on users",
            "sql",
        ),
        (
            "execute_sql",
            json!({"query": "DELETE FROM users WHERE id = 7"}),
            "Run SQL: DELETE on users",
            "sql",
        ),
        (
            "db.query",
            json!({"sql": "select a from t1 join t2 using (a)"}),
            "Run SQL: SELECT on t1, t2",
            "sql",
        ),
        (
            "mcp__pg__query",
            json!({"sql": "DROP TABLE a; SELECT 1"}),
            "Run 2 SQL statements: DROP, SELECT on a",
            "sql",
        ),
        (
            "run_sql",
            json!({"statement": "UPDATE t SET a = 1", "database": "prod"}),
            "Run SQL in prod without a WHERE: UPDATE on t",
            "sql",
        ),
        (
            "search_query",
            json!({"query": "cheap flights"}),
            "Call search_query with query \"cheap flights\"",
            "json",
        ),
        (
            "execute_sql",
            json!({"query": "SELECT 'it\\'s'; DROP TABLE t"}),
            "Unclear, cannot be taken apart: run SQL \"SELECT 'it\\\\'s'; DROP TABLE t\"",
            "json",
        ),
        (
            "search_query",
            json!({"query": "select a hotel from the list"}),
            "Call search_query with query \"select a hotel from the list\"",
            "json",
        ),
        ("execute_sql", json!({"query": 1}), "Call execute_sql with query 1", "json"),
        // --- files ---
        (
            "delete_files",
            json!({"files": ["report.md", "draft.md"]}),
            "Delete 2 files: report.md, draft.md",
            "json",
        ),
        ("delete_file", json!({"path": "a.txt"}), "Delete 1 file: a.txt", "json"),
        ("fs.removeDirectory", json!({"path": "/srv"}), "Delete 1 folder: /srv", "json"),
        (
            "delete_files",
            json!({"files": ["report.md, and nothing else"]}),
            "Delete 1 file: \"report.md, and nothing else\"",
            "json",
        ),
        (
            "delete_files",
            json!({"files": ["a"], "force": true}),
            "Unclear (force): call delete_files: a",
            "json",
        ),
        ("delete_files", json!({"files": []}), "Call delete_files with files []", "json"),
        ("delete_files", json!({"files": ["a", 1]}), "Call delete_files with files [\"a\", 1]", "json"),
        (
            "delete_user",
            json!({"id": 1, "hard": true, "note": "x"}),
            "Call delete_user with hard true, id 1, note \"x\"",
            "json",
        ),
        ("move_file", json!({"source": "a", "destination": "b"}), "Move a to b", "json"),
        ("rename_file", json!({"from": "a to b", "to": "c"}), "Rename \"a to b\" to c", "json"),
        ("copy_file", json!({"src": "a"}), "Call copy_file with src \"a\"", "json"),
        // --- changes to files ---
        (
            "Edit",
            json!({"file_path": "/a.rs", "old_string": "x\ny", "new_string": "z"}),
            "Edit /a.rs: replace 2 lines with 1",
            "diff",
        ),
        (
            "Edit",
            json!({"file_path": "/a.rs", "old_string": "x", "new_string": "", "replace_all": true}),
            "Edit /a.rs: remove 1 line, everywhere",
            "diff",
        ),
        (
            "MultiEdit",
            json!({"file_path": "/a.rs", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]}),
            "Edit /a.rs in 2 places",
            "diff",
        ),
        (
            "MultiEdit",
            json!({"file_path": "/a.rs", "edits": [{"old_string": "a", "new_string": "b", "mode": "x"}]}),
            "Call MultiEdit with file_path \"/a.rs\", edits [{mode \"x\", new_string \"b\" and 1 more}]",
            "json",
        ),
        (
            "str_replace_editor",
            json!({"path": "/a", "old_str": "a", "new_str": "b"}),
            "Edit /a: replace 1 line with 1",
            "diff",
        ),
        ("Write", json!({"file_path": "/a.txt", "content": "one\ntwo\n"}), "Write 2 lines to /a.txt", "diff"),
        (
            "write_file",
            json!({"path": "a", "content": "", "mode": "append"}),
            "Unclear (mode): write 0 lines to a",
            "diff",
        ),
        ("create_file", json!({"path": "a", "file_text": "x"}), "Write 1 line to a", "diff"),
        (
            "create_user",
            json!({"path": "a", "text": "x"}),
            "Call create_user with path \"a\", text \"x\"",
            "json",
        ),
        (
            "apply_patch",
            json!({"input": "*** Begin Patch\n*** Update File: src/a.rs\n-x\n+y\n*** End Patch"}),
            "Patch: change src/a.rs",
            "diff",
        ),
        (
            "apply_patch",
            json!({"patch": "--- a/x.c\n+++ b/x.c\n@@ -1 +1 @@\n-1\n+2\n--- /dev/null\n+++ b/y.c\n@@ -0,0 +1 @@\n+3\n"}),
            "Patch: create y.c; change x.c",
            "diff",
        ),
        ("apply_patch", json!({"input": "hello"}), "Unclear, cannot be taken apart: apply \"hello\"", "json"),
        // --- other servers ---
        (
            "http_request",
            json!({"method": "POST", "url": "https://api.example.com/v1/users", "body": {"a": 1}}),
            "Send POST with a body to https://api.example.com/v1/users",
            "http",
        ),
        (
            "WebFetch",
            json!({"url": "https://example.com/", "prompt": "read"}),
            "Send GET to https://example.com/",
            "http",
        ),
        (
            "http_delete",
            json!({"url": "http://10.0.0.1:8080/x"}),
            "Send DELETE to http://10.0.0.1:8080/x",
            "http",
        ),
        (
            "http_request",
            json!({"method": "GET", "url": "https://good.com@evil.com/"}),
            "Send GET to an address that can be read in two ways: https://good.com@evil.com/",
            "json",
        ),
        (
            "http_request",
            json!({"url": "https://a.com", "body": "x"}),
            "Call http_request: https://a.com",
            "json",
        ),
        (
            "fetch",
            json!({"url": "https://a.com", "headers": {"x": 1}}),
            "Call fetch with url \"https://a.com\", headers {x 1}",
            "json",
        ),
        ("open_page", json!({"url": "https://a.com"}), "Call open_page with url \"https://a.com\"", "json"),
        // --- e-mail and messages ---
        (
            "send_email",
            json!({"to": "ann@example.com", "subject": "hi", "body": "x"}),
            "Send an e-mail to ann@example.com: \"hi\"",
            "email",
        ),
        (
            "gmail.sendEmail",
            json!({"to": ["a@x.org", "b@x.org"], "bcc": ["spy@evil.org"], "subject": "s", "body": "b"}),
            "Send an e-mail to spy@evil.org, a@x.org, b@x.org (1 hidden from the others): \"s\"",
            "email",
        ),
        (
            "send_email",
            json!({"to": ["a@x.org"], "subject": "s", "attachments": ["db.sql", "x"]}),
            "Send an e-mail with 2 attachments to a@x.org: \"s\"",
            "email",
        ),
        (
            "send_email",
            json!({"to": [{"address": "a@x.org"}], "subject": "s"}),
            "Call send_email with to [{address \"a@x.org\"}], subject \"s\"",
            "json",
        ),
        ("send_email", json!({"subject": "s"}), "Call send_email with subject \"s\"", "json"),
        (
            "slack_post_message",
            json!({"channel": "#general", "text": "hello"}),
            "Send a message to #general: \"hello\"",
            "json",
        ),
        // --- money ---
        (
            "pay",
            json!({"amount": "1250.00", "currency": "EUR", "to": "ACME GmbH"}),
            "Pay 1,250.00 EUR to ACME GmbH",
            "money",
        ),
        (
            "stripe.create_refund",
            json!({"amount": 1999, "currency": "usd", "customer": "cus_1"}),
            "Refund 19.99 usd (1999 minor units) to cus_1",
            "json",
        ),
        (
            "transfer_funds",
            json!({"amount": 0.1, "currency": "BTC", "to": "bc1q", "memo": "rent"}),
            "Transfer 0.1 BTC to bc1q",
            "money",
        ),
        ("make_payment", json!({"amount": 5, "to": "x"}), "Pay 5 (no currency given) to x", "json"),
        (
            "pay",
            json!({"amount": "1,000", "currency": "EUR", "to": "x"}),
            "Call pay with amount \"1,000\", currency \"EUR\", to \"x\"",
            "json",
        ),
        (
            "pay",
            json!({"amount": 1, "currency": "EUR", "to": "x", "account": "y"}),
            "Pay 1 EUR to x, account y",
            "money",
        ),
        (
            "pay",
            json!({"amount": 1, "currency": "EUR", "to": "x", "payee": "y"}),
            "Call pay with amount 1, currency \"EUR\", payee \"y\", to \"x\"",
            "json",
        ),
        (
            "bank/transfer",
            json!({"amount": "25000.00", "currency": "EUR", "to": "ACME GmbH", "iban": "DE89370400440532013000"}),
            "Transfer 25,000.00 EUR to ACME GmbH, iban DE89370400440532013000",
            "money",
        ),
        (
            "bank/transfer",
            json!({"amount": 5, "currency": "EUR", "iban": "DE89", "execute_at": "now", "from": "main"}),
            "Unclear (execute_at): call bank/transfer: 5 EUR, DE89, from main",
            "json",
        ),
        (
            "bank/transfer",
            json!({"amount": 5, "currency": "EUR", "iban": "DE89", "account": "DE90"}),
            "Call bank/transfer with account \"DE90\", amount 5, currency \"EUR\", iban \"DE89\"",
            "json",
        ),
        (
            "bank/transfer",
            json!({"amount": 5, "currency": "EUR", "to": "x", "iban": 7}),
            "Call bank/transfer with amount 5, currency \"EUR\", iban 7, to \"x\"",
            "json",
        ),
        // By the arguments alone: what the tool does is not said.
        (
            "sepa/credit",
            json!({"amount": "99.90", "currency": "EUR", "iban": "DE89", "memo": "rent"}),
            "Call sepa/credit: 99.90 EUR, DE89",
            "json",
        ),
        (
            "ledger.book",
            json!({"amount": 12, "currency": "usd", "account": "4711", "urgent": true}),
            "Unclear (urgent): call ledger.book: 12 usd, 4711",
            "json",
        ),
        (
            "set_budget",
            json!({"amount": 12, "to": "ann"}),
            "Call set_budget with amount 12, to \"ann\"",
            "json",
        ),
        (
            "convert",
            json!({"amount": 12, "currency": "all of it", "to": "ann"}),
            "Call convert with amount 12, currency \"all of it\", to \"ann\"",
            "json",
        ),
        (
            "send_email",
            json!({"to": "ann@x.org", "subject": "s", "amount": 1, "currency": "EUR"}),
            "Unclear (amount, currency): call send_email: ann@x.org",
            "json",
        ),
        (
            "pay",
            json!({"amount": 1, "currency": "EUR", "to": "x", "urgent": true}),
            "Unclear (urgent): call pay: 1 EUR, x",
            "json",
        ),
        (
            "pay",
            json!({"amount": "100", "currency": "EUR", "to": "ACME\u{202e}"}),
            "Pay 100 EUR to \"ACME\\u{202e}\"",
            "money",
        ),
        // --- anything else ---
        ("frobnicate", json!({}), "Call frobnicate without arguments", "json"),
        ("restart_service", json!({"name": "api"}), "Call restart_service with name \"api\"", "json"),
        ("set_limit", json!({"limit": 1e300}), "Call set_limit with limit 1e+300", "json"),
        ("deploy", json!({"options": {"a": 1}}), "Call deploy with options {a 1}", "json"),
    ]
}

#[test]
fn every_call_of_the_table_is_described_as_it_says() {
    let cases = cases();
    assert!(cases.len() >= 60, "{} cases", cases.len());
    let mut wrong = Vec::new();
    for (tool, arguments, effect, kind) in cases {
        let arguments = object(arguments);
        let said = effect_of(tool, &arguments);
        let shown = recognise(tool, &arguments).map_or("json", |call| call.preview(None).0.kind());
        if (said.as_str(), shown) != (effect, kind) {
            wrong.push(format!("{tool}: {shown} `{said}`, not {kind} `{effect}`"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
