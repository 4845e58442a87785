//! What a pattern of a policy file accepts, and what the reader says of a bad one.

use placet_policy::shell::analyse;

use crate::support::{mention, patterns, refusal};

fn allows(pattern: &str, text: &str) -> bool {
    patterns(&format!("allow = [{pattern}]")).allows(&analyse(text))
}

#[test]
fn a_value_is_attached_only_where_the_pattern_says_that_the_program_reads_it_so() {
    let apart = r#"{ program = "tree", flags = ["-a"], values = ["-L", "--filelimit"], operands = "any" }"#;
    for text in ["tree -L 2", "tree -a -L 2 src", "tree --filelimit=9", "tree --filelimit 9"] {
        assert!(allows(apart, text), "{text}");
    }
    for text in ["tree -L2", "tree -aL 2", "tree -aL2", "tree -La 2", "tree -Lo 1 x", "tree -LL 1 2"] {
        assert!(!allows(apart, text), "{text}");
    }
    let said = refusal(r#"allow = [{ program = "ls", values = ["--width"], attached = true }]"#);
    assert!(said.contains("one letter"), "{said}");
    let said = refusal(r#"allow = [{ exact = ["ls"], attached = true }]"#);
    assert!(said.contains("leave the other keys out"), "{said}");
}

#[test]
fn only_listed_flags_pass() {
    let log = r#"{ program = "git", subcommand = "log", flags = ["-p", "-z", "--oneline", "-#"], values = ["-n", "--since"], attached = true, optional = ["--color", "-U"] }"#;
    for text in [
        "git log",
        "git log -p",
        "git log -pz",
        "git log -zp --oneline",
        "git log -n 5",
        "git log -n5",
        "git log -pn5",
        "git log -pzn 5",
        "git log --since=yesterday",
        "git log --since yesterday",
        "git log --color",
        "git log --color=always",
        "git log -U3",
        "git log -U",
        "git log -20",
    ] {
        assert!(allows(log, text), "{text}");
    }
    for text in [
        "git log -x",
        "git log -px",
        "git log -xp",
        "git log --output=x",
        "git log --onelin",
        "git log --oneline=x",
        "git log -n",
        "git log --since",
        "git log -n -p",
        "git log --since --output=x",
        "git log -n -- x",
        "git log operand",
        "git log -- operand",
        "git log -",
        "git log --color always",
        "git log -#",
        "git log -2x",
        "git log -p2",
        "git -p log",
        "git",
        "git status",
        "log",
    ] {
        assert!(!allows(log, text), "{text}");
    }
}

#[test]
fn what_looks_like_a_flag_is_never_an_operand() {
    let cat = r#"{ program = "cat", flags = ["-n"], operands = "any" }"#;
    assert!(allows(cat, "cat -n a - b"));
    assert!(allows(cat, "cat -- a b"));
    assert!(!allows(cat, "cat -- -x"));
    assert!(!allows(cat, "cat a -x"));
    assert!(!allows(cat, "cat -- --x"));
}

#[test]
fn long_flags_with_one_dash_switch_clusters_off() {
    let find =
        r#"{ program = "find", flags = ["-L", "-a", "-print"], values = ["-name"], operands = "any" }"#;
    assert!(allows(find, "find . -name x -print"));
    assert!(allows(find, "find -L . -a -print"));
    assert!(!allows(find, "find -La ."));
    assert!(!allows(find, "find . -exec x"));
    assert!(!allows(find, "find . -name -delete"));
    assert!(!allows(find, "find . -name=x"));
    assert!(!allows(find, "find -- . -delete"));
}

#[test]
fn operands_under_a_root_are_compared_by_segments() {
    let absolute = r#"{ program = "cat", operands = { under = ["/srv/app"] } }"#;
    for text in ["cat /srv/app", "cat /srv/app/x", "cat //srv/./app//x", "cat /srv/app/.../x"] {
        assert!(allows(absolute, text), "{text}");
    }
    for text in [
        "cat /srv/application",
        "cat /srv/app/../x",
        "cat /srv",
        "cat srv/app/x",
        "cat ./srv/app/x",
        "cat x",
        "cat '~/x'",
        "cat '/srv/app/$x'",
        "cat '/srv/app\\x'",
        "cat '/srv/app/%2e%2e/x'",
        "cat ''",
        "cat /srv/app/x /etc/passwd",
    ] {
        assert!(!allows(absolute, text), "{text}");
    }
    let relative = r#"{ program = "cat", operands = { under = ["src"] } }"#;
    assert!(allows(relative, "cat src/a ./src/b"));
    for text in ["cat a", "cat ../src/a", "cat src/../a", "cat /src/a", "cat srcs/a"] {
        assert!(!allows(relative, text), "{text}");
    }
    assert!(allows(r#"{ program = "cat", operands = { under = ["."] } }"#, "cat a b/c"));
}

#[test]
fn operands_like_a_glob_never_climb() {
    let like = r#"{ program = "cat", operands = { like = ["src/*", "+?"] } }"#;
    assert!(allows(like, "cat src/a/b +1"));
    for text in ["cat src/../../etc/passwd", "cat 'src/..\\x'", "cat +12", "cat lib/a", "cat src"] {
        assert!(!allows(like, text), "{text}");
    }
}

#[test]
fn operands_can_be_counted() {
    let uniq = r#"{ program = "uniq", operands = "any", max_operands = 1 }"#;
    assert!(allows(uniq, "uniq a"));
    assert!(!allows(uniq, "uniq a b"));
}

#[test]
fn redirections_have_rules_of_their_own() {
    let rule = patterns(
        r#"
        allow = [{ program = "ls" }]
        writes = { under = ["/tmp/out"] }
        reads = { like = ["*.txt"] }
        "#,
    );
    for text in
        ["ls > /tmp/out/x", "ls >> /tmp/out/x 2>/tmp/out/y", "ls < a.txt", "ls </dev/null >/dev/null 2>&1"]
    {
        assert!(rule.allows(&analyse(text)), "{text}");
    }
    for text in [
        "ls > a.txt",
        "ls > /tmp/x",
        "ls > /tmp/out/../x",
        "ls < /tmp/out/x",
        "ls > /dev/nulls",
        "ls > /dev/zero",
    ] {
        assert!(!rule.allows(&analyse(text)), "{text}");
    }
    assert!(!allows(r#"{ program = "ls" }"#, "ls > x"));
    assert!(!allows(r#"{ program = "ls" }"#, "ls < x"));
}

#[test]
fn a_path_is_another_program_than_its_name() {
    assert!(!allows(r#"{ program = "ls" }"#, "/bin/ls"));
    assert!(!allows(r#"{ program = "ls" }"#, "./ls"));
    assert!(allows(r#"{ program = "/bin/ls" }"#, "/bin/ls"));
    assert!(!allows(r#"{ program = "/bin/ls" }"#, "ls"));
    assert!(!allows(r#"{ program = "/bin/ls" }"#, "/bin//ls"));
}

#[test]
fn exact_means_every_word() {
    let exact = r#"{ exact = ["bash", "-c", "make test"] }"#;
    assert!(allows(exact, "bash -c 'make test'"));
    assert!(allows(exact, "bash -c \"make test\""));
    for text in ["bash -c 'make test;x'", "bash -c 'make test' x", "bash -c", "bash -c make test"] {
        assert!(!allows(exact, text), "{text}");
    }
}

#[test]
fn interpreters_and_wrappers_can_only_be_spelled_out() {
    for program in [
        "sh",
        "bash",
        "zsh",
        "env",
        "sudo",
        "xargs",
        "eval",
        "exec",
        "source",
        ".",
        "trap",
        "command",
        "nice",
        "watch",
        "ssh",
        "npx",
        "python",
        "python3",
        "python3.12",
        "perl",
        "node",
        "awk",
        "time",
        "timeout",
        "nohup",
        "busybox",
        "/usr/bin/env",
        "/bin/bash",
        "BASH",
        "vim",
        "less",
        "man",
        "export",
        "test",
        "[",
        "printf",
        "unset",
        "read",
    ] {
        let message = refusal(&format!(r#"allow = [{{ program = "{program}", operands = "any" }}]"#));
        assert!(message.contains("exact"), "{program}: {message}");
    }
    for (program, word) in [
        ("find", "-exec"),
        ("find", "-delete"),
        ("rg", "--pre"),
        ("sort", "-o"),
        ("git", "--output"),
        ("date", "-s"),
        ("fd", "-x"),
    ] {
        let sub = if program == "git" { r#"subcommand = "log", "# } else { "" };
        let message = refusal(&format!(r#"allow = [{{ program = "{program}", {sub}values = ["{word}"] }}]"#));
        assert!(message.contains(word) && message.contains("exact"), "{message}");
    }
    for (program, sub) in
        [("docker", "exec"), ("docker", "run"), ("kubectl", "exec"), ("npm", "exec"), ("uv", "run")]
    {
        assert!(
            refusal(&format!(r#"allow = [{{ program = "{program}", subcommand = "{sub}" }}]"#))
                .contains("exact")
        );
        assert!(!allows(
            &format!(r#"{{ program = "{program}", operands = "any" }}"#),
            &format!("{program} {sub} x")
        ));
    }
    assert!(refusal(r#"allow = [{ program = "git", operands = "any" }]"#).contains("subcommand"));
}

#[test]
fn sed_may_only_print_lines() {
    let sed = r#"{ program = "sed", flags = ["-n"], operands = "any" }"#;
    for text in ["sed -n 1,20p a", "sed -n '5p' a b", "sed -n '1,$p' a", "sed -n '1p;3,4p'"] {
        assert!(allows(sed, text), "{text}");
    }
    for text in [
        "sed -n 1,20w a",
        "sed -n '1e x' a",
        "sed 1p a",
        "sed -n '1p;w x' a",
        "sed -n 's/a/b/e' a",
        "sed -n p a",
        "sed -n '1,20p' -i a",
        "sed -n 1p -e 1e",
        "sed -n '1p\nw x' a",
        "sed -n",
        "sed",
        "sed -n 1,p a",
        "sed -n ,1p a",
    ] {
        assert!(!allows(sed, text), "{text}");
    }
}

#[test]
fn bad_patterns_are_refused_with_the_reason() {
    for (text, part) in [
        ("", "empty"),
        ("allow = []", "empty"),
        ("alow = []", "alow"),
        (
            r#"allow = [{ program = "ls" }]
            mention = [{ program = "rm" }]"#,
            "two rules",
        ),
        (
            r#"allow = [{ program = "ls" }]
            opaque = true"#,
            "two rules",
        ),
        (
            r#"mention = [{ program = "rm" }]
            writes = "any""#,
            "`words`",
        ),
        (r#"allow = [{ flags = ["-l"] }]"#, "name a `program`"),
        (r#"allow = [{ program = "ls -l" }]"#, "exact name"),
        (r#"allow = [{ program = "l*" }]"#, "exact name"),
        (r#"allow = [{ program = "" }]"#, "exact name"),
        (r#"allow = [{ program = "ls", flag = ["-l"] }]"#, "flag"),
        (r#"allow = [{ program = "ls", flags = ["l"] }]"#, "not a flag"),
        (r#"allow = [{ program = "ls", flags = ["--"] }]"#, "not a flag"),
        (r#"allow = [{ program = "ls", flags = ["--a=b"] }]"#, "not a flag"),
        (r#"allow = [{ program = "ls", flags = ["-l"], values = ["-l"] }]"#, "twice"),
        (r#"allow = [{ program = "ls", subcommand = "a -b" }]"#, "subcommand"),
        (r#"allow = [{ program = "ls", operands = "all" }]"#, "\"any\""),
        (r#"allow = [{ program = "ls", operands = {} }]"#, "\"none\""),
        (r#"allow = [{ program = "ls", operands = { under = ["../x"] } }]"#, "plain path"),
        (r#"allow = [{ program = "ls", operands = { below = ["x"] } }]"#, "expected `under` or `like`"),
        (r#"allow = [{ program = "ls", operands = 3 }]"#, "a path rule"),
        ("allow = [{ program = 3 }]", "a word or a list of words"),
        ("allow = [{ exact = [] }]", "first word"),
        (r#"allow = [{ exact = ["a"], program = "a" }]"#, "whole argument list"),
        (r#"allow = [{ program = "ls" }, { program = "sh" }]"#, "allow pattern 2"),
        (r#"mention = [{ flags = ["-f"] }]"#, "name a `program`"),
        (r#"mention = [{ words = ["x"], flags = ["-f"] }]"#, "name it"),
        (r#"mention = [{ program = "/bin/rm" }]"#, "without path"),
        (r#"mention = [{ program = "rm", flags = ["f"] }]"#, "not a flag"),
        (r#"mention = [{ program = "rm", flags = ["-f|x"] }]"#, "not a flag"),
        (r#"mention = [{ program = "rm", args = [""] }]"#, "empty"),
        (r#"mention = [{ words = ["/"] }]"#, "names no path"),
        (r#"mention = [{ program = "rm", flag = ["-f"] }]"#, "flag"),
    ] {
        let message = refusal(text);
        assert!(message.contains(part), "{text}\n{message}");
    }
}

#[test]
fn patterns_of_one_kind_do_not_answer_the_other_question() {
    let rm = mention(r#"{ program = "rm" }"#);
    assert!(rm.is_for_mention() && !rm.is_for_allow());
    assert!(!rm.allows(&analyse("rm x")));
    let ls = patterns(r#"allow = [{ program = "ls" }]"#);
    assert!(ls.is_for_allow() && !ls.is_for_mention());
    assert!(!ls.mentions(&analyse("ls")));
    let opaque = patterns("opaque = true");
    assert!(opaque.mentions(&analyse("a $x")) && !opaque.mentions(&analyse("a b")));
}
