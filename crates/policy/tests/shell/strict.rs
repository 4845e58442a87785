//! The strict view: which words come out, and where it stops.

use placet_policy::shell::{MAX_COMMANDS, MAX_LENGTH, Mode, analyse, analyse_argv};

use crate::conformance::huge;
use crate::support::{argvs, preset, sign};

fn one(text: &str) -> Vec<String> {
    let mut all = argvs(text).unwrap_or_else(|| panic!("{text:?} is opaque: {:?}", analyse(text).commands()));
    assert_eq!(all.len(), 1, "{text:?}");
    all.remove(0)
}

#[test]
fn quotes_are_removed_and_nothing_else_changes() {
    assert_eq!(one(r#"a 'b c' "d e" f'g'"h" '' """#), ["a", "b c", "d e", "fgh", "", ""]);
    assert_eq!(one(r#"a '"' "'" '$x' '`x`' '*'"#), ["a", "\"", "'", "$x", "`x`", "*"]);
    assert_eq!(one(r#"grep "a\.b\d" 'c\d'"#), ["grep", "a\\.b\\d", "c\\d"]);
    assert_eq!(one("a 'b\nc' \"d\ne\""), ["a", "b\nc", "d\ne"]);
    assert_eq!(one("a 'é' \"ж\""), ["a", "é", "ж"]);
    assert_eq!(
        one("git diff HEAD~1 HEAD^ a..b x:y @ --format=%H a#b a,b +%Y -- -x"),
        [
            "git",
            "diff",
            "HEAD~1",
            "HEAD^",
            "a..b",
            "x:y",
            "@",
            "--format=%H",
            "a#b",
            "a,b",
            "+%Y",
            "--",
            "-x"
        ]
    );
    assert_eq!(one("a FOO=bar"), ["a", "FOO=bar"]);
    assert_eq!(one("'if' x"), ["if", "x"]);
    assert_eq!(one("echo if then fi"), ["echo", "if", "then", "fi"]);
}

#[test]
fn operators_join_commands_in_order() {
    let analysis = analyse("a 1; b | c && d || e\nf;\ng");
    let commands = analysis.commands().expect("flat");
    let read: Vec<(&str, &str)> = commands.iter().map(|c| (sign(c.operator), c.argv[0].as_str())).collect();
    assert_eq!(read, [("", "a"), (";", "b"), ("|", "c"), ("&&", "d"), ("||", "e"), ("\n", "f"), (";", "g")]);
}

#[test]
fn an_operator_goes_on_over_line_breaks_and_comments() {
    let analysis = analyse("# first\n\na && # why\n\n  b |\nc # last");
    let commands = analysis.commands().expect("flat");
    let read: Vec<(&str, &str)> = commands.iter().map(|c| (sign(c.operator), c.argv[0].as_str())).collect();
    assert_eq!(read, [("", "a"), ("&&", "b"), ("|", "c")]);
}

#[test]
fn a_comment_needs_a_word_of_its_own() {
    assert_eq!(one("a b#c"), ["a", "b#c"]);
    assert_eq!(one("a ''#c"), ["a", "#c"]);
    assert_eq!(one("a #c"), ["a"]);
    assert_eq!(argvs("a;#c\nb").expect("flat").len(), 2);
}

#[test]
fn redirections_are_no_words() {
    let analysis = analyse("a >out b 2>>'err log' <in 2>&1 >&2 0<&1 c");
    let commands = analysis.commands().expect("flat");
    assert_eq!(commands[0].argv, ["a", "b", "c"]);
    let read: Vec<_> = commands[0].redirects.iter().map(|r| (r.fd, r.mode, r.target.as_str())).collect();
    assert_eq!(
        read,
        [(None, Mode::Write, "out"), (Some(2), Mode::Append, "err log"), (None, Mode::Read, "in")]
    );
}

#[test]
fn a_digit_before_a_redirection_is_a_descriptor_only_when_it_stands_alone() {
    for (text, words, fd) in [
        ("a 2>f", vec!["a"], Some(2)),
        ("a 2 >f", vec!["a", "2"], None),
        ("a x2>f", vec!["a", "x2"], None),
        ("a '2'>f", vec!["a", "2"], None),
        ("a \"\"2>f", vec!["a", "2"], None),
    ] {
        let analysis = analyse(text);
        let commands = analysis.commands().expect(text);
        assert_eq!(commands[0].argv, words, "{text}");
        assert_eq!(commands[0].redirects[0].fd, fd, "{text}");
    }
}

#[test]
fn a_here_document_is_what_the_command_reads_and_no_word_of_it() {
    let analysis = analyse("a <<'E' b | c <<-F\n$(x)\nE\n\ty\n\tF\nd");
    let commands = analysis.commands().expect("flat");
    let read: Vec<_> = commands
        .iter()
        .map(|c| (c.argv.clone(), c.redirects.iter().map(|r| r.target.as_str()).collect::<Vec<_>>()))
        .collect();
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        read,
        [(words(&["a", "b"]), vec!["$(x)\n"]), (words(&["c"]), vec!["y\n"]), (words(&["d"]), vec![])]
    );
    assert!(commands[0].redirects[0].is_free());
}

#[test]
fn the_reason_names_the_place() {
    for (text, at, reason) in [
        ("git status $(x)", 11, "the word is not literal: `$`"),
        ("git status; (x)", 12, "there is a parenthesis outside quotes"),
        ("a 'b", 2, "a quote is not closed"),
        ("a & b", 2, "`&` runs it in the background or joins outputs"),
        ("a\rb", 1, "there is a control character"),
        ("a ; ; b", 4, "there is no command before the operator"),
        ("a 'x' \"y$z\"", 8, "the word is not literal: `$`"),
        ("a \"b\\`c\"", 4, "a backslash that the shell removes"),
        ("a \"b\\\nc\"", 4, "a backslash that the shell removes"),
        ("a b\\\nc", 3, "a backslash outside quotes"),
        ("a \\n", 2, "a backslash outside quotes"),
        ("a 'b\u{85}c'", 4, "there is a control character"),
        ("a \"\x1b\"", 3, "there is a control character"),
        ("a; alias b=c; b", 3, "the command changes how the rest is read"),
        ("set -k; a", 0, "the command changes how the rest is read"),
        ("'hash' -p x a", 0, "the command changes how the rest is read"),
        ("a >|f", 2, "the redirection is of a special kind"),
        ("a <<E", 2, "a here-document has no end"),
        ("a <<E\nb", 2, "a here-document has no end"),
        ("a <<E\n$b\nE", 6, "a here-document is not literal"),
        ("a <<<b", 2, "a here-document with an unusual end, or a here-string"),
        ("a <<'E' 'b\nc'\nE", 10, "a line break in quotes after a here-document was announced"),
        ("a <(b)", 2, "there is a process substitution"),
        ("a > ''", 4, "the redirection has no target"),
        ("a > # b", 4, "the redirection has no target"),
        ("a >/dev/tcp/b/1", 3, "the redirection opens a network connection"),
        ("a </dev/udp/b/1", 3, "the redirection opens a network connection"),
        ("FOO=1 a", 0, "the command begins with an assignment"),
        ("a; if b", 3, "it is a compound command"),
        ("a\u{2028}b", 1, "there is an invisible character outside quotes"),
        ("a é", 2, "there is a character outside ASCII and outside quotes"),
    ] {
        let analysis = analyse(text);
        let opaque = analysis.commands().expect_err(text);
        assert_eq!((opaque.at, opaque.reason), (at, reason), "{text:?}");
    }
}

#[test]
fn the_limits_are_exact() {
    let longest = format!("a {}", "b".repeat(MAX_LENGTH - 2));
    assert!(!analyse(&longest).is_opaque());
    assert!(analyse(&format!("{longest}b")).is_opaque());
    let most = vec!["a"; MAX_COMMANDS].join(";");
    assert!(!analyse(&most).is_opaque());
    assert!(analyse(&format!("{most};a")).is_opaque());
    assert!(analyse(&format!("{most};b # x")).is_opaque());
}

#[test]
fn a_word_list_is_taken_as_it_is_and_a_shell_in_it_is_read() {
    let analysis = analyse_argv(&["git", "status", "$(x)", "a b"]);
    assert_eq!(analysis.commands().expect("literal")[0].argv, ["git", "status", "$(x)", "a b"]);
    assert_eq!(analyse_argv(&["bash", "-lc", "git status && ls"]), analyse("git status && ls"));
    assert_eq!(analyse_argv(&["/bin/sh", "-c", "x $y"]), analyse("x $y"));
    assert!(preset().would_allow(&analyse("git status")));
    for words in [
        vec![],
        vec![""],
        vec!["bash", "-c"],
        vec!["bash", "-c", "git status", "x"],
        vec!["./bash", "-c", "git status"],
        vec!["bash", "-ic", "git status"],
        vec!["bash", "-c", "git status; x"],
        vec!["git", "status\rx"],
    ] {
        let analysis = analyse_argv(&words);
        assert!(!preset().allow[0].allows(&analysis), "{words:?}");
    }
    assert!(analyse_argv::<&str>(&[]).is_opaque());
}

#[test]
fn hostile_texts_are_read_and_never_allowed() {
    for text in huge() {
        let analysis = analyse(&text);
        let _ = preset().says(&text);
        let _ = analysis.decomposition();
        assert!(analysis.is_opaque() || !preset().allow[0].allows(&analysis));
    }
}
