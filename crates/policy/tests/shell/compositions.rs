//! Every allowed command in every form of composition with every payload: nothing passes unless each part would.

use placet_policy::shell::analyse;

use crate::abuses::ABUSES;
use crate::support::{argvs, git_status, preset};

/// Commands the preset lets pass.
pub(crate) const PASSING: &[&str] = &[
    "git status -s",
    "git status --porcelain=v2 --branch",
    "git log --oneline",
    "git log --oneline -20 --graph --all",
    "git log -p -n 3 -- src",
    "git diff HEAD~1",
    "git diff --stat --cached",
    "git show HEAD --stat",
    "git branch -a",
    "git rev-parse --abbrev-ref HEAD",
    "git remote -v",
    "git blame -L 1,20 src/main.rs",
    "git grep -n 'fn main'",
    "ls -la",
    "ls -la src 'a b'",
    "cat README.md",
    "head -n 20 README.md",
    "head -5 a",
    "tail -F log",
    "tail -n +5 a",
    "wc -l a b",
    "grep -n 'foo|bar' src/main.rs",
    "grep -in -A3 foo a",
    "rg -n foo src",
    "rg --files",
    "find . -name '*.rs' -type f",
    "find . -maxdepth 2 -not -path '*/target/*'",
    "sed -n '10,20p' a",
    "sort -u a",
    "sort -k2 -n a",
    "uniq -c",
    "cut -d, -f1 a",
    "tr -d x",
    "diff -u a b",
    "stat a",
    "du -sh .",
    "df -h",
    "tree -L 2",
    "pwd",
    "whoami",
    "which cargo",
    "echo 'a; b | c > d $(e)'",
    "date +%Y-%m-%d",
    "date -u",
    "uname -a",
    "true",
    "git --version",
    "basename /a/b",
    "file a",
    "ps aux",
];

/// Things to smuggle in, none of which passes by itself.
const PAYLOADS: &[&str] = &[
    "touch f",
    "x",
    "rm -rf /",
    "sh -c 'x'",
    "git push --force",
    "git -c core.pager=x log",
    "env",
    "./git status",
    "sort -o f g",
    "find . -delete",
    "cat .env",
    "cd /tmp",
];

/// Forms in which both parts are plain commands side by side.
const FLAT: &[&str] = &[
    "{A}; {P}",
    "{P}; {A}",
    "{A};{P}",
    "{A} && {P}",
    "{P} && {A}",
    "{A}&&{P}",
    "{A} || {P}",
    "{A} | {P}",
    "{P} | {A}",
    "{A}|{P}",
    "{A}\n{P}",
    "{P}\n{A}",
    "{A} # c\n{P}",
    "{A};\n\n{P}",
    "{A} &&\n{P}",
    "{A} |\n{P}",
    "{A} ||\t{P}",
    "{A} | {A} && {P}",
    "{A}; {A}; {A}; {P}; {A}",
    "{A} >/dev/null; {P}",
    "{A} 2>&1 | {P}",
    "{A} ; {P} ;",
    "# c\n{A}\n{P}\n",
    "{A} < f && {P}",
    "{A} </dev/null\n{P} 2>/dev/null",
];

/// Forms that are not a flat list of literal commands, whatever the parts are.
const WRAPPED: &[&str] = &[
    "{A} & {P}",
    "{A} &",
    "{P} & {A}",
    "{A} |& {P}",
    "{A} $({P})",
    "{A} \"$({P})\"",
    "{A} `{P}`",
    "{A} \"`{P}`\"",
    "{A} <({P})",
    "{A} >({P})",
    "{A} > >({P})",
    "({A}; {P})",
    "({A})",
    "{ {A}; {P}; }",
    "{ {A}; }",
    "! {A}",
    "time {A}",
    "if {A}; then {P}; fi",
    "while {A}; do {P}; done",
    "until {A}; do {P}; done",
    "for i in 1; do {A}; {P}; done",
    "case x in x) {A}; {P};; esac",
    "f() { {A}; {P}; }; f",
    "function f { {A}; }",
    "coproc {A}",
    "[[ -n x ]] && {A} $({P})",
    "(( 1 )) && {A}",
    "{A} <<EOF\n$({P})\nEOF",
    "{A} <<< $({P})",
    "{A} <<< x",
    "X=$({P}) {A}",
    "X=1 {A}",
    "PATH=. {A}",
    "LD_PRELOAD=./x {A}",
    "{A} ${x:-$({P})}",
    "{A} \"${x:-$({P})}\"",
    "{A} $((`{P}`))",
    "{A} $[`{P}`]",
    "{A} $x",
    "{A} \"$x\"",
    "{A} $'x'",
    "{A} $\"x\"",
    "{A} *",
    "{A} a?",
    "{A} [ab]",
    "{A} {a,b}",
    "{A} ~",
    "{A} ~/x",
    "{A}\\\n; {P}",
    "{A} > f",
    "{A} >> f",
    "{A} >| f",
    "{A} &> f",
    "{A} &>> f",
    "{A} >& f",
    "{A} 2> f",
    "{A} <> f",
    "> f {A}",
    "2>f {A}",
    "2>&1 {A}",
    "{A} {fd}> f",
    "{A} 12> f",
    "{A} > /dev/tcp/h/1",
    "{A}\r{P}",
    "{A}\r\n{P}",
    "{A}\x0b{P}",
    "{A}\x0c{P}",
    "{A}\0{P}",
    "{A}\u{2028}{P}",
    "{A}\u{a0}x",
    "{A} \u{202e}x",
    "{A} \u{201c}x\u{201d}",
    "{A} !x",
    "{A} !!",
    "!{A}",
    "^a^b\n{A}",
    "{A} =x",
    "eval {A}",
    "exec {A}",
    "command {A}",
    "builtin {A}",
    "env {A}",
    "sudo {A}",
    "nohup {A}",
    "timeout 5 {A}",
    "nice {A}",
    "xargs {A}",
    "bash -c '{P}'",
    "sh -c \"{P}\" | {A}",
    "alias a=b; {A}",
    "set -x; {A}",
    "source f; {A}",
    ". ./f; {A}",
    "trap '{P}' EXIT; {A}",
    "export X=1; {A}",
    "unset X; {A}",
    "hash -r; {A}",
    "{A} &&",
    "{A} |",
    "{A} ||",
    "{A};;",
    "{A}; ;{P}",
    "&& {A}",
    "| {A}",
    "; {A}",
    "{A} 'x",
    "{A} \"x",
    "{A} )",
    "{A} }",
    "{A} >",
    "'' {A}",
    "{A}; ''",
    "{A} <",
    "{A} 'x\\' ; {P} 'y'",
    "cd x | {A}",
    "cd .. && {A}",
    "cd && {A}",
    "{A} && cd x",
    "{A} | tee f",
    "{A} | sh",
    "{A} | xargs {P}",
];

/// A third of a large product in a usual run, all of it when `PLACET_FUZZ_ROUNDS` is set.
fn chosen(number: usize) -> bool {
    number.is_multiple_of(3) || std::env::var_os("PLACET_FUZZ_ROUNDS").is_some()
}

fn fill(form: &str, command: &str, payload: &str) -> String {
    form.replace("{A}", command).replace("{P}", payload)
}

#[test]
fn every_listed_command_passes_alone() {
    for text in PASSING {
        assert!(preset().allows(text), "{text}: {:?} {:?}", analyse(text).commands(), preset().says(text));
    }
}

#[test]
fn no_payload_passes_alone() {
    for text in PAYLOADS {
        assert!(!preset().allows(text), "{text}");
    }
}

#[test]
fn no_composition_with_a_payload_passes() {
    let mut count = 0;
    for (c, command) in PASSING.iter().enumerate() {
        for (f, form) in FLAT.iter().chain(WRAPPED).enumerate() {
            for (p, payload) in PAYLOADS.iter().enumerate() {
                if chosen(c + f + p) {
                    let text = fill(form, command, payload);
                    count += 1;
                    assert!(!preset().allows(&text), "{text:?}");
                }
            }
        }
    }
    println!("{count} compositions, none allowed");
    assert!(count > 20_000, "{count}");
}

#[test]
fn no_composition_with_an_abuse_passes() {
    let mut count = 0;
    for (a, abuse) in ABUSES.iter().enumerate() {
        for (f, form) in FLAT.iter().chain(WRAPPED).enumerate() {
            if !chosen(a + f) {
                continue;
            }
            let text = fill(form, "git status -s", abuse);
            // A form without a place for the payload is only a form.
            if form.contains("{P}") || WRAPPED.contains(form) {
                count += 1;
                assert!(!preset().allows(&text), "{text:?}");
            }
        }
    }
    println!("{count} compositions with abuses, none allowed");
    assert!(count > 10_000, "{count}");
}

#[test]
fn a_flat_list_of_allowed_commands_passes() {
    for form in FLAT {
        for command in PASSING {
            for payload in ["git status -s", "ls -la", "head -5"] {
                let text = fill(form, command, payload);
                assert!(preset().allows(&text), "{text:?}: {:?}", analyse(&text).commands());
            }
        }
    }
}

#[test]
fn a_wrapped_form_never_passes_even_if_every_part_would() {
    let rule = git_status();
    for form in WRAPPED {
        for command in PASSING {
            let text = fill(form, command, "git status");
            assert!(!preset().allows(&text), "{text:?}");
        }
        assert!(!rule.allows(&analyse(&fill(form, "git status", "git status"))), "{form:?}");
    }
}

/// What passes as a whole passes in parts: each simple command again, alone and quoted.
#[test]
fn the_parts_of_what_passes_pass() {
    let mut count = 0;
    for form in FLAT {
        for command in PASSING {
            let text = fill(form, command, "ls -la");
            if !preset().allows(&text) {
                continue;
            }
            for argv in argvs(&text).expect("allowed, so literal") {
                let alone = argv.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
                count += 1;
                assert!(preset().allows(&alone), "{alone} of {text:?}");
            }
        }
    }
    assert!(count > 1_000, "{count}");
}
