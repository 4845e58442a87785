//! Tool names that look like others, and paths and hosts that mean other places: none of them passes.

use serde_json::json;

use crate::support::{ALLOW, DENY, HOLD, ask, rules};

#[test]
fn no_spelling_of_an_allowed_tool_but_its_own_passes() {
    let policy = rules(&[("a", "allow", "tool = ['Read', 'github/get_issue', 'mcp__files__read_file']")]);
    for tool in ["Read", "github/get_issue", "mcp__files__read_file"] {
        assert_eq!(ask(tool, json!({})).under(&policy).effect, ALLOW, "{tool}");
    }
    for tool in [
        "read",
        "READ",
        "rEad",
        "Read ",
        " Read",
        "Read\t",
        "Read\n",
        "Read\0",
        "\u{feff}Read",
        "Read\u{200b}",
        "Re\u{ad}ad",
        "Ｒead",
        "Rеad",
        "Reаd",
        "Rea\u{64}\u{300}",
        "R%65ad",
        "Read%20",
        "Read%00",
        "./Read",
        "Read/",
        "/Read",
        "Read/.",
        "Read/..",
        "x/../Read",
        "Read.",
        ".Read",
        "Read..",
        "Read:",
        ":Read",
        "Read-",
        "Read_",
        "Read;",
        "Read,Write",
        "Read|Write",
        "Read#",
        "Read?",
        "Read*",
        "\"Read\"",
        "github/Get_Issue",
        "GitHub/get_issue",
        "github//get_issue",
        "github:get_issue",
        "github.get_issue",
        "github/get_issue/",
        "github/./get_issue",
        "github/x/../get_issue",
        "github%2fget_issue",
        "github\\get_issue",
        "ɡithub/get_issue",
        "github/get-issue",
        "github/get_issue2",
        "mcp__files__Read_file",
        "mcp__files_read_file",
        "mcp_files__read_file",
        "MCP__files__read_file",
        "mcp__files__read_file__",
        "mcp__evil__mcp__files__read_file",
        "files/read_file",
        "mcp__files__read_file\u{202e}",
        "ⅿcp__files__read_file",
        "",
        "\u{0}",
        "*",
        "?",
        "rules",
        "default",
    ] {
        assert_eq!(ask(tool, json!({})).under(&policy).effect, HOLD, "{tool:?}");
    }
}

#[test]
fn names_no_tool_can_have_pass_by_no_glob() {
    let policy = rules(&[("a", "allow", "tool = '*'")]);
    assert_eq!(ask("anything", json!({})).under(&policy).effect, ALLOW);
    for tool in
        ["", "a b", "ｒead", "rеad", "a\u{200b}", "a%2fb", "a\nb", "a\\b", "a;b", "tööl", &"x".repeat(201)]
    {
        assert_eq!(ask(tool, json!({})).under(&policy).effect, HOLD, "{tool:?}");
    }
}

#[test]
fn a_guarded_tool_in_another_case_does_not_slip_through_a_glob() {
    let policy = rules(&[
        ("server", "allow", "tool = 'github/*'"),
        ("agent", "allow", "agent = 'trusted'"),
        ("named", "allow", "tool = 'bash'"),
        ("delete", "deny", "tool = ['github/delete_repo', 'Bash']"),
        ("admin", "hold", "tool = 'github/Admin_*'"),
    ]);
    assert_eq!(ask("github/list", json!({})).under(&policy).effect, ALLOW);
    for tool in ["github/Delete_Repo", "github/DELETE_REPO", "github/admin_x", "github/ADMIN_x"] {
        let outcome = ask(tool, json!({})).under(&policy);
        assert_eq!((outcome.effect, outcome.rule.as_str()), (HOLD, "default"), "{tool}");
        assert!(outcome.reasons[0].contains("differs only by upper and lower case"), "{:?}", outcome.reasons);
    }
    // Named by the author as it is written, it is what the author meant.
    assert_eq!(ask("bash", json!({})).under(&policy).effect, ALLOW);
    let mut trusted = ask("BASH", json!({}));
    trusted.agent = "trusted".to_owned();
    assert_eq!(trusted.under(&policy).effect, HOLD);
}

#[test]
fn a_guarded_server_in_another_case_does_not_slip_through_either() {
    let policy =
        rules(&[("agent", "allow", "agent = 'bot'"), ("server", "deny", "server = ['github', 'Bank*']")]);
    assert_eq!(ask("gitlab/x", json!({})).under(&policy).effect, ALLOW);
    assert_eq!(ask("github/x", json!({})).under(&policy).effect, DENY);
    for tool in ["GitHub/x", "mcp__GITHUB__x", "bank-1:x"] {
        assert_eq!(ask(tool, json!({})).under(&policy).effect, HOLD, "{tool}");
    }
    let named = rules(&[("named", "allow", "server = 'GitHub'"), ("server", "deny", "server = 'github'")]);
    assert_eq!(ask("GitHub/x", json!({})).under(&named).effect, ALLOW, "its author wrote it so");
}

#[test]
fn paths_that_leave_the_folder_do_not_pass_and_are_not_missed() {
    let allow = rules(&[("a", "allow", "tool = 't'\n[rule.args]\npath = { under = ['/srv/app', '/tmp'] }")]);
    let deny = rules(&[("d", "deny", "tool = 't'\n[rule.args]\npath = { under = '/etc' }")]);
    assert_eq!(ask("t", json!({"path": "/srv/app/a/b.txt"})).under(&allow).effect, ALLOW);
    assert_eq!(ask("t", json!({"path": "/tmp/x"})).under(&allow).effect, ALLOW);
    for path in [
        "/srv/app/../../etc/passwd",
        "/srv/app/..",
        "/srv/application",
        "/srv/app%2f..%2f..",
        "~/x",
        "/srv/app/~root/x",
        "/srv/app/$HOME",
        "relative",
        "",
        "/",
        "/srv/app\\..\\..",
        "/srv/app/\0",
        "//srv/app",
        "/srv/app/\u{ff0e}\u{ff0e}/x",
        "/SRV/app/x",
        "/srv/app/.. /x",
        "file:///srv/app/x",
    ] {
        assert_eq!(ask("t", json!({"path": path})).under(&allow).effect, HOLD, "{path:?}");
    }
    for path in [
        "/etc/passwd",
        "/etc",
        "/ETC/passwd",
        "/srv/../etc/passwd",
        "/etc/../srv",
        "etc/passwd",
        "/%65tc/passwd",
        "$ETC/passwd",
        "/./etc/./passwd",
        "//etc/passwd",
    ] {
        assert_ne!(ask("t", json!({"path": path})).under(&deny).effect, HOLD, "{path:?}");
    }
    assert_eq!(ask("t", json!({"path": "/srv/etc/x"})).under(&deny).effect, HOLD);
}

#[test]
fn hosts_that_only_look_like_a_listed_one_do_not_pass() {
    let policy = rules(&[(
        "a",
        "allow",
        "tool = 't'\n[rule.args]\nurl = { host_in = ['api.example.com', '*.good.org'] }",
    )]);
    for url in ["https://api.example.com/x", "http://API.example.com:80/", "https://a.b.good.org?x"] {
        assert_eq!(ask("t", json!({"url": url})).under(&policy).effect, ALLOW, "{url}");
    }
    for url in [
        "https://example.com",
        "https://api.example.com.evil.com",
        "https://api.example.com@evil.com",
        "https://evil.com/api.example.com",
        "https://evil.com?https://api.example.com",
        "https://evil.com#api.example.com",
        "https://good.org",
        "https://evilgood.org",
        "ftp://api.example.com",
        "//api.example.com",
        "api.example.com",
        "https:\\\\api.example.com",
        "https://api.example.com\\@evil.com",
        "https://аpi.example.com",
        "https://api。example.com",
        "https://api.example.com%2eevil.com",
        "https://user:pw@api.example.com",
        "https://api.example.com:x/",
        "https://[::1]/",
        "https://2130706433/",
        "https://0x7f.1/",
        "javascript:alert(1)//api.example.com",
        "https://api.example.com\n.evil.com",
        "\thttps://api.example.com",
        "",
    ] {
        assert_eq!(ask("t", json!({"url": url})).under(&policy).effect, HOLD, "{url:?}");
    }
}
