//! The conformance corpus: with the one rule `git status`, what passes and what must be asked.

use placet_policy::shell::analyse;

use crate::support::{git_status, preset};

const ALLOWED: &[&str] = &[
    "git status",
    "git status -s",
    "git\tstatus",
    "git  status",
    "  git status  ",
    "\"git\" status",
    "git status '$(x)'",
    "git status # ; x",
    "git status 2>/dev/null",
    "git status 2>&1",
    "git status >/dev/null 2>&1",
    "git status\n",
    "git status;",
    "git status && git status -s",
    "git status | git status",
    "git status\ngit status",
    // text that stands in the line and is expanded by nobody
    "git status <<'EOF'\n$(touch f)\nEOF",
    "git status <<\"EOF\"\n`touch f`\nEOF\n",
    "git status <<-EOF\n\tx\nEOF",
    "git status <<A <<B\nA\nB",
    "git status \"a\\\"; x\"",
    "git status \\; touch f",
    "git status \\\n  -s",
    "git status \"a$\"",
    "git status a$",
];

/// Every form that must be asked about. `x` and `touch f` stand for anything else.
pub(crate) const ASKED: &[&str] = &[
    // another command beside it
    "git status; touch f",
    "git status;x",
    "git status && touch f",
    "git status || touch f",
    "git status | touch f",
    "git status\ntouch f",
    "touch f; git status",
    "git status & touch f",
    "git status &",
    "git status&x",
    "git status |& touch f",
    // substitutions
    "git status $(touch f)",
    "git status `touch f`",
    "git status <(touch f)",
    "git status >(touch f)",
    "git status \"$(touch f)\"",
    "git status \"`touch f`\"",
    "git status ${x:-$(touch f)}",
    "git status \"${x:-$(touch f)}\"",
    "git status <<EOF\n$(touch f)\nEOF",
    "git status <<EOF\n\\\nEOF",
    "git status <<EOF\n`x`\nEOF",
    "git status <<'EOF'\nx",
    "git status <<'EOF'\nx\nEOF x",
    "git status <<'EOF'\nx\nEOF\ntouch f",
    "git status <<'EOF'x\nx\nEOF",
    "git status <<$EOF\nx\n$EOF",
    "git status <<'E F'\nx\nE F",
    "git status <<\\EOF\nx\nEOF",
    "git status <<''\nx\n\n",
    "git status <<'EOF' 'a\nb'\nx\nEOF",
    "git status <<'EOF' \\\n x\nEOF",
    "git status <<'EOF' \"a\nEOF\ntouch f\"",
    "git status <<'EOF' $(touch f)\nEOF",
    "git status <<'A' <<'B'\nB\nA\ntouch f",
    "git status <<<x",
    "echo <<<$(x)",
    "git status $\"$(x)\"",
    "git status $((`x`))",
    "git status $[`x`]",
    "arr=($(x)) git status",
    "declare X=$(x)",
    "export X=$(x)",
    "git status > >(x)",
    // redirections
    "git status > f",
    "git status >f",
    "git status >> f",
    "git status 2> f",
    "git status >& f",
    "git status &> f",
    "git status &>> f",
    "git status >| f",
    "git status <> f",
    "git status <1-2> /dev/null",
    "git status <-> /dev/null",
    "git status a<1-9>/dev/null",
    "git status < f",
    ">/dev/null git status",
    "</dev/null git status",
    "git status; >/dev/null",
    "; git status",
    "> f",
    ">f",
    "[[ -n x ]] > f",
    "2>f git status",
    "2>&1 git status",
    "git status {fd}>f",
    "git status 12>f",
    "git status >&f",
    "git status 2>&-",
    "git status 2>&1x",
    "git status >/dev/tcp/127.0.0.1/9",
    // assignments and wrappers
    "FOO=bar git status",
    "PATH=. git status",
    "GIT_EXTERNAL_DIFF=x git status",
    "FOO+=bar git status",
    "a[$(x)]=1 git status",
    "a[0]=1",
    "git -c core.fsmonitor=x status",
    "git --exec-path=. status",
    "timeout 5 git status",
    "nohup git status",
    "command git status",
    "command -p git status",
    "time git status",
    "time -p x",
    "xargs git status",
    "env git status",
    "sudo git status",
    "eval git status",
    "exec git status",
    "bash -c 'git status'",
    "sh -c 'git status'",
    "alias git=x; git status",
    "coproc git status",
    "builtin git status",
    "nice git status",
    "watch git status",
    "source git status",
    ". git status",
    // compound commands
    "(git status)",
    "{ git status; }",
    "if git status; then x; fi",
    "for i in 1; do git status; done",
    "while git status; do x; done",
    "until git status; do x; done",
    "case x in *) git status;; esac",
    "select i in a; do git status; done",
    "git() { x; }; git status",
    "function git { x; }",
    "[[ -n $(x) ]]",
    "(( x ))",
    "! git status",
    "! ! x",
    // words that are not literal
    "g\\it status",
    "git sta\\\ntus",
    "git st\\atus",
    "$GIT status",
    "git $SUB",
    "git status *",
    "git status ?",
    "git status [ab]",
    "git status ~",
    "git status ~root",
    "git status --x=~",
    "git status a:~/b",
    "git status ^x",
    "{git,status}",
    "git status {a,b}",
    "git status {1..3}",
    "git status $'x'",
    "git status $'\\x41'",
    "=git status",
    "git status =x",
    "git status @(a|b)",
    "git status +(a)",
    "git status !(a)",
    "git status !x",
    "git status \"!x\"",
    "!!",
    "^a^b",
    "git status ${x@P}",
    "git status $x",
    "git status \"$x\"",
    "git status 'a\\' ; x",
    // characters
    "git status\rx",
    "git status\r\nx",
    "git status\x0bx",
    "git status\x0cx",
    "git status\0x",
    "git status\x1b[2Kx",
    "git status\x7f",
    "git status\u{2028}x",
    "git status\u{2029}x",
    "git status\u{85}x",
    "git\u{a0}status",
    "git status\u{200b}",
    "git status \u{202e}x",
    "git status \u{feff}",
    "git \u{201c}status\u{201d}",
    "git status \u{2018}x\u{2019}",
    "git status \u{e0041}",
    // not complete, or not a command
    "",
    "   ",
    "\n\n",
    "# git status",
    ";",
    ";;",
    "git status;;",
    "git status; ;",
    "&& git status",
    "| git status",
    "git status &&",
    "git status |",
    "git status ||",
    "git status && ; x",
    "git status 'x",
    "git status \"x",
    "git status $(x",
    "git status `x",
    "git status >",
    "git status > # f",
    "git status )",
    "git status }",
    "''",
    "'' git status",
    // other programs with the same words
    "/usr/bin/git status",
    "./git status",
    "../git status",
    "Git status",
    "git Status",
    "git status --no-such-flag",
    "git stash",
    "git 'status x'",
    "'git status'",
];

#[test]
fn the_forms_that_pass_pass() {
    let rule = git_status();
    for text in ALLOWED {
        let analysis = analyse(text);
        assert!(rule.allows(&analysis), "{text:?}: {:?}", analysis.commands());
        assert!(preset().allows(text), "by the preset: {text:?}");
    }
}

#[test]
fn the_forms_that_must_be_asked_are_asked() {
    let rule = git_status();
    for text in ASKED {
        assert!(!rule.allows(&analyse(text)), "allowed: {text:?}");
    }
}

#[test]
fn the_forms_that_must_be_asked_are_asked_by_the_preset() {
    // The preset knows more read-only commands than the one rule, so these few are fine there.
    let fine = ["git status < f", "git stash"];
    for text in ASKED.iter().filter(|text| !fine.contains(text)) {
        assert!(!preset().allows(text), "allowed: {text:?}");
    }
}

#[test]
fn huge_and_deep_texts_are_asked() {
    let rule = git_status();
    for text in huge() {
        assert!(!rule.allows(&analyse(&text)), "allowed: {}…", &text[..20]);
        assert!(!preset().allows(&text), "allowed by the preset: {}…", &text[..20]);
    }
}

/// Inputs that overflow stacks or take seconds in other parsers.
pub(crate) fn huge() -> Vec<String> {
    vec![
        "(".repeat(10_000),
        "(".repeat(10_000) + "git status" + &")".repeat(10_000),
        "{ ".repeat(5_000) + "git status" + &"; }".repeat(5_000),
        "{".repeat(5_000),
        "if git status; then ".repeat(5_000) + &"fi; ".repeat(5_000),
        "$(".repeat(3_000) + "x" + &")".repeat(3_000),
        "git status ".to_owned() + &"$(".repeat(3_000),
        "git status ".to_owned() + &"\"$(".repeat(3_000),
        "git status ".to_owned() + &"a".repeat(1 << 20),
        "git status ".to_owned() + &";".repeat(20_000),
        "git status;".repeat(20_000),
        "git status;".repeat(51),
        "git status | ".repeat(60) + "git status",
        "`".repeat(9_000),
        "git status ".to_owned() + &"${x:-".repeat(1_900),
        "git status ".to_owned() + &"<(".repeat(4_900),
        "git status ".to_owned() + &"\\".repeat(9_899),
        "git status ".to_owned() + &"'\"".repeat(4_000),
        "sudo ".repeat(2_000),
        "eval 'eval \"".repeat(800),
        "a=xx;".to_owned() + &"a=$a$a;".repeat(1_000),
        "if ".repeat(3_300),
        "git status ".to_owned() + &"<<EOF ".repeat(1_600),
    ]
}
