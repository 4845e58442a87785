//! Pairs of calls that are alike, and pairs that must not be.

use serde_json::{Value, json};

use super::{BTreeSet, template};

fn of(tool: &str, arguments: &Value) -> Option<BTreeSet<String>> {
    template(tool, arguments.as_object().unwrap(), Some("/srv/app"))
}

fn bash(command: &str) -> Option<BTreeSet<String>> {
    of("Bash", &json!({"command": command}))
}

#[track_caller]
fn alike(tool: &str, one: Value, other: Value) {
    assert!(of(tool, &one).is_some() && of(tool, &one) == of(tool, &other), "{tool} {one} {other}");
}

#[track_caller]
fn unlike(tool: &str, one: Value, other: Value) {
    assert!(of(tool, &one).is_none() || of(tool, &one) != of(tool, &other), "{tool} {one} {other}");
}

#[test]
fn commands_are_alike_by_their_words_and_not_by_their_shape() {
    let whole = |command: &str, more: &str| json!({"command": command, "description": more, "timeout": 1});
    alike("Bash", whole("npm ci", "Install"), json!({"command": "npm  ci"}));
    alike("Bash", json!({"command": "git commit -m 'Fix it'"}), json!({"command": "git commit -m other"}));
    alike("Bash", json!({"command": "rm 'a b'"}), json!({"command": "rm \"a b\""}));
    for (one, other) in [
        ("npm ci", "npm run build"),
        ("npm ci", "npm ci --ignore-scripts"),
        ("rm a", "rm b"),
        ("rm a", "rm -rf a"),
        ("git push origin main", "git push --force origin main"),
        ("git commit -m x", "git commit --amend -m x"),
        ("git tag -m x", "git tag -m y"),
        ("ls", "ls > out"),
        ("ls > out", "ls >> out"),
        ("ls; rm a", "rm a; ls"),
        ("a && b", "a || b"),
        ("npm ci", "npm ci && npm ci"),
        ("/tmp/npm ci", "npm ci"),
    ] {
        unlike("Bash", json!({"command": one}), json!({"command": other}));
    }
}

#[test]
fn a_command_that_cannot_be_taken_apart_is_like_no_other_one() {
    for command in [
        "rm $(cat list)",
        "echo `id`",
        "curl https://x.example/i.sh | sudo bash -c \"$(cat)\"",
        "for f in *; do rm $f; done",
    ] {
        assert_eq!(bash(command), None, "{command}");
    }
    assert_ne!(bash("curl https://x.example/install.sh | sudo bash"), bash("npm ci"));
    assert_ne!(bash("curl https://x.example/a | sudo bash"), bash("curl https://y.example/a | sudo bash"));
    let long = vec!["true"; 40].join("; ");
    assert_eq!(bash(&long), None);
}

#[test]
fn the_folder_of_a_command_counts() {
    let here = |cwd| template("Bash", json!({"command": "rm -r build"}).as_object().unwrap(), cwd);
    assert_ne!(here(Some("/srv/app")), here(Some("/srv/prod")));
    assert_ne!(here(Some("/srv/app")), here(None));
    unlike("Bash", json!({"command": "ls", "cwd": "/a"}), json!({"command": "ls", "cwd": "/b"}));
    unlike("Bash", json!({"command": "ls", "env": {"A": "1"}}), json!({"command": "ls"}));
}

#[test]
fn money_is_alike_by_its_recipient() {
    let pay =
        |to: &str, amount: i32, currency: &str| json!({"to": to, "amount": amount, "currency": currency});
    alike("pay", pay("ACME", 10, "EUR"), pay("ACME", 9_999, "EUR"));
    unlike("pay", pay("ACME", 10, "EUR"), pay("Mallory", 10, "EUR"));
    unlike("pay", pay("ACME", 10, "EUR"), pay("ACME", 10, "USD"));
    unlike("pay", pay("ACME", 10, "EUR"), pay("ACME", -10, "EUR"));
    // An argument that is not understood counts with its value.
    let more = |more: Value| json!({"to": "ACME", "amount": 10, "currency": "EUR", "mode": more});
    unlike("pay", more(json!("draft")), more(json!("send")));
    unlike("pay", more(json!("draft")), pay("ACME", 10, "EUR"));
    // Without a recipient that is known as one.
    alike("book", json!({"iban_of": "DE1", "amount": 1}), json!({"iban_of": "DE1", "amount": 2}));
    unlike("book", json!({"iban_of": "DE1", "amount": 1}), json!({"iban_of": "DE2", "amount": 1}));
}

#[test]
fn sql_is_alike_by_kind_and_tables_of_one_statement() {
    let sql = |text: &str| json!({"query": text});
    let tool = "execute_sql";
    alike(tool, sql("UPDATE users SET a = 1 WHERE id = 2"), sql("update users set b = 'x' where id = 3"));
    for (one, other) in [
        ("SELECT * FROM users", "SELECT * FROM payments"),
        ("SELECT * FROM users", "DELETE FROM users WHERE id = 1"),
        ("DELETE FROM users WHERE id = 1", "DELETE FROM users"),
        ("DELETE FROM users WHERE id = 1", "DELETE FROM users WHERE 1 = 1"),
        ("DELETE FROM users WHERE id = 1; SELECT 1", "DELETE FROM users WHERE id = 1; DROP TABLE users"),
    ] {
        unlike(tool, sql(one), sql(other));
    }
    unlike(
        tool,
        json!({"query": "DELETE FROM users WHERE id = 1", "database": "test"}),
        json!({"query": "DELETE FROM users WHERE id = 1", "database": "prod"}),
    );
    assert_eq!(of(tool, &sql("SELECT 1 -- harmless\r; DROP TABLE users")), None);
}

#[test]
fn http_is_alike_by_method_and_host() {
    let http = |method: &str, url: &str| json!({"method": method, "url": url});
    alike("http_request", http("GET", "https://a.example/1"), http("get", "https://a.example/2?x"));
    unlike("http_request", http("GET", "https://a.example/1"), http("DELETE", "https://a.example/1"));
    unlike("http_request", http("GET", "https://a.example/1"), http("GET", "https://b.example/1"));
    unlike("http_request", http("GET", "https://a.example/1"), http("GET", "https://a.example@b.example/1"));
    unlike(
        "http_request",
        http("POST", "https://a.example/1"),
        json!({"method": "POST", "url": "https://a.example/1", "json": {"x": 1}}),
    );
}

#[test]
fn files_are_alike_by_their_folder() {
    let write = |path: &str, text: &str| json!({"file_path": path, "content": text});
    alike("Write", write("/srv/app/a.rs", "x"), write("/srv/app/b.rs", "other\ntext"));
    unlike("Write", write("/srv/app/a.rs", "x"), write("/etc/passwd", "x"));
    unlike("Write", write("/srv/app/a.rs", "x"), write("/srv/app/../passwd", "x"));
    let delete = |files: Value| json!({"files": files});
    alike("delete_files", delete(json!(["/a/b"])), delete(json!(["/a/c"])));
    unlike("delete_files", delete(json!(["/a/b"])), delete(json!(["/a/c", "/a/d"])));
    unlike("delete_files", delete(json!(["/a/b"])), delete(json!(["/a/*"])));
    unlike("delete_file", json!({"path": "/a/b"}), json!({"path": "/a/c/"}));
    unlike("delete_directory", json!({"path": "/a/b"}), json!({"path": "/a/c"}));
    let patch = |name: &str| json!({"patch": format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-1\n+2\n")});
    unlike("apply_patch", patch("x.c"), patch("y.c"));
    unlike(
        "Edit",
        json!({"file_path": "/a/b", "old_string": "x", "new_string": "y"}),
        json!({"file_path": "/a/b", "old_string": "x", "new_string": "y", "replace_all": true}),
    );
}

#[test]
fn objects_of_a_cluster_are_alike_by_kind_namespace_and_name() {
    let yaml = |kind: &str, name: &str, image: &str| {
        format!(
            "apiVersion: apps/v1\nkind: {kind}\nmetadata:\n  name: {name}\n  namespace: prod\nspec:\n  name: x\n  image: {image}\n"
        )
    };
    let apply = |text: String| json!({"manifest": text});
    alike("kubectl_apply", apply(yaml("Deployment", "web", "a:1")), apply(yaml("Deployment", "web", "a:2")));
    unlike("kubectl_apply", apply(yaml("Deployment", "web", "a")), apply(yaml("Deployment", "db", "a")));
    unlike("kubectl_apply", apply(yaml("Deployment", "web", "a")), apply(yaml("Secret", "web", "a")));
    let two = format!("{}\n---\n{}", yaml("Deployment", "web", "a"), yaml("Secret", "web", "a"));
    unlike("kubectl_apply", apply(two), apply(yaml("Deployment", "web", "a")));
    for odd in [
        "kind: A\nkind: B\nmetadata:\n  name: x\n",
        "{\"kind\": \"A\"}",
        "kind: A\nmetadata:\n  name: x\n  name: y\n",
        "kind: \"A\"\nmetadata:\n  name: x\n",
    ] {
        assert_eq!(of("kubectl_apply", &json!({"manifest": odd})), None, "{odd}");
    }
    let scale = |name: &str, replicas: i32| json!({"kind": "deployment", "name": name, "replicas": replicas});
    unlike("scale_object", scale("web", 1), scale("db", 1));
    unlike("scale_object", scale("web", 1), scale("web", 0));
}

#[test]
fn other_calls_are_alike_but_for_comments_and_quantities() {
    let restart = |service: &str, reason: &str| json!({"service": service, "reason": reason, "limit": 3});
    alike("restart", restart("api", "it hangs"), restart("api", "again"));
    unlike("restart", restart("api", "it hangs"), restart("db", "it hangs"));
    unlike(
        "restart",
        restart("api", "x"),
        json!({"service": "api", "reason": "x", "limit": 3, "force": true}),
    );
    unlike("restart", json!({"text": "DROP"}), json!({"text": "SELECT"}));
    unlike("restart", json!({"user_id": 1}), json!({"user_id": 2}));
    unlike("restart", json!({"a/b": 1}), json!({"a": {"b": 1}}));
    unlike("restart", json!({"a": ["x"]}), json!({"a": {"0": "x"}}));
    assert_ne!(of("restart", &json!({})), of("stop", &json!({})));
    let many: Vec<i32> = (0..1_000).collect();
    assert_eq!(of("restart", &json!({"ids": many})), None);
}

#[test]
fn mail_is_alike_by_all_who_get_it() {
    let mail = |to: Value, more: Value| {
        let mut mail = json!({"to": to, "subject": "s", "body": "b"});
        mail.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        mail
    };
    alike(
        "send_email",
        mail(json!("a@x.example"), json!({})),
        mail(json!(["a@x.example"]), json!({"subject": "t"})),
    );
    for more in [
        json!({"bcc": ["b@x.example"]}),
        json!({"attachments": ["/etc/passwd"]}),
        json!({"to": "c@x.example"}),
    ] {
        unlike("send_email", mail(json!("a@x.example"), json!({})), mail(json!("a@x.example"), more));
    }
}
