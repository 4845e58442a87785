//! Searches of folders and patterns for names: what passes reads source code of the workspace, and every near relative waits.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use placet_policy::shell::analyse;

use crate::support::{ShellVerdict, patterns, preset};

/// Searches that say which files they read, and patterns for names of source code in one folder.
const PASSING: &[&str] = &[
    "grep -rn 'fn main' --include='*.rs' .",
    "grep -r --include='*.rs' --include='*.py' x src",
    "grep -r x --include=\"*_test.go\" | grep -v mock | head -20",
    "grep --recursive --include='*.md' x docs",
    "grep -rl x --include='*.go' --exclude='*_gen.go' --exclude-dir=vendor .",
    "grep -rnA3 x src --include='test_*.py' 2>/dev/null || echo none",
    "egrep -r 'a|b' --include='*.ts' src",
    "cd src && grep -rn x --include='*.rs'",
    "grep -n x src/*.rs",
    "grep -n x src/*.rs docs/*.md | head",
    "grep -rn x src/*_test.rs --include='*.rs'",
    "grep -rn x src/*.rs docs/*.md | head -3",
    "cat src/*.rs | wc -l",
    "wc -l ./*.rs src/a*b*.rs",
    "ls -la /srv/app/src/*.rs",
    "head -n 5 src/*.rs && tail -n 5 src/*.rs",
    "sed -n '1,5p' src/*.rs",
    "nl -ba src/*.rs",
    "rg -n x src/*.rs",
    "cd src && cat ./*.rs",
    "git -C src log --oneline | grep -iv 'merge' | head -5",
    "git -C src show HEAD | grep -A 3 -n x",
    "cd src && ls; echo done | grep x",
    "jq --arg who ann '.[] | select(.user == $who) | .name' x.json",
    "cat x.json | jq -r --argjson n 5 --arg who ann '.[$n]' | head",
];

/// The same with one word that reads a secret, writes, runs, leaves the workspace, or that shells read in several ways.
const HELD: &[&str] = &[
    // folders without a filter, or with one that lets other files through
    "grep -r x",
    "grep -rn x .",
    "grep -nr x src",
    "grep -rx src",
    "grep --recursive x .",
    "grep -r --include='*' x .",
    "grep -r --include='*.*' x .",
    "grep -r --include='*.env' x .",
    "grep -r --include=.env x .",
    "grep -r --include='*.pem' x .",
    "grep -r --include='*.txt' x .",
    "grep -r --include='*.rs*' x .",
    "grep -r --include='*.{rs,env}' x .",
    "grep -r --include='*.[re]*' x .",
    "grep -r --include='*.rs' --include='*' x .",
    "grep -r --include='*.rs' --include=.env x .",
    "grep -r --include '*.rs' x .",
    "grep -r --inc='*.rs' x .",
    "grep -r --include= x .",
    "grep -r --exclude=a x .",
    "grep -r --exclude=a --include='*.rs' x .",
    "grep -r --exclude-from=f --include='*.rs' x .",
    "grep -r --exclude-dir=target x .",
    "grep -r --exclude-dir target --include='*.rs' x .",
    "grep -r -e --include='*.rs' x .",
    "grep -r x . -- --include='*.rs'",
    "grep -rn x src/*.rs src",
    "grep -rn x . src/*.rs",
    "grep -r -e x src/*.rs .",
    "grep -rf x src/*.rs",
    "grep -r src/*.rs",
    "grep -r --exclude=a x src/*.rs",
    "grep -rR x src/*.rs",
    "grep -r x 'src/*.rs'",
    // folders that links lead to
    "grep -R --include='*.rs' x .",
    "grep -Rn --include='*.rs' x .",
    "grep --dereference-recursive --include='*.rs' x .",
    "grep -d recurse --include='*.rs' x .",
    "grep -r --include='*.rs' x ..",
    "grep -r --include='*.rs' x /srv",
    "grep -r --include='*.rs' x ~",
    "grep -r --include='*.rs' -f .env .",
    "grep -r --include='*.rs' x . > out",
    "grep -r --include='*.rs' x . | xargs cat",
    "grep -r --include='*.rs' x . | sh",
    "grep -r --include='*.rs' x $HOME",
    "grep -r --include='*.rs' \"$(cat .env)\" .",
    // patterns for other names
    "cat *",
    "cat *.rs",
    "cat src/*",
    "cat src/.*",
    "cat src/*.env",
    "cat src/.*.rs",
    "cat src/*.pem",
    "cat src/*.txt",
    "cat src/*.r?",
    "cat src/[a-z].rs",
    "cat src/{a,b}.rs",
    "cat src/**/*.rs",
    "cat */a.rs",
    "cat src/*.rs .env",
    "cat .ssh/*.py",
    "cat secrets/*.js",
    // elsewhere
    "cat ../*.rs",
    "cat src/../../*.rs",
    "cat /etc/*.rs",
    "cat /*.rs",
    "cat ~/src/*.rs",
    "cat $HOME/*.rs",
    "grep ../*.rs x",
    "grep /etc/*.rs",
    // where the names would be other than operands that are read
    "src/*.rs",
    "cd src/*.rs && cat x",
    "cd src/*.rs",
    "cat < src/*.rs",
    "cat x > src/*.rs",
    "head -n src/*.rs",
    "tail --lines src/*.rs",
    "grep -e src/*.rs x",
    "grep -f src/*.rs x",
    "cat -x/*.rs",
    "uniq src/*.rs",
    "sort src/*.rs",
    "diff src/*.rs",
    "find src/*.rs -delete",
    "find src/*.rs",
    "tree src/*.rs",
    "jq . src/*.rs",
    "git diff src/*.rs",
    "git -C src/*.rs log",
    "git log -- src/*.rs",
    "sed src/*.rs",
    "sed -i 1d src/*.rs",
    "sed -n '1w f' src/*.rs",
    "sed -n src/*.rs",
    "rg --pre src/*.rs x",
    "rg --pre=x y src/*.rs",
    "tee src/*.rs",
    "touch src/*.rs",
    "rm src/*.rs",
    "chmod +x src/*.rs",
    "python3 src/*.py",
    "bash src/*.rs",
    "xargs cat src/*.rs",
    "cat src/*.rs | sh",
    "cat src/*.rs | tee f",
    "cat src/*.rs; touch f",
    "cat src/*.rs && ./x",
    "cat src/*.rs &",
    "cat src/*.rs $(x)",
    "(cat src/*.rs)",
    "X=1 cat src/*.rs",
    "for f in src/*.rs; do cat $f; done",
    "bash -c 'cat src/*.rs'",
    // variables of `jq` that are more than a word
    "jq --rawfile a .env . x.json",
    "jq --slurpfile a x.json . y.json",
    "jq --arg a b '$ENV' x.json",
    "jq --arg env b . x.json",
    "jq --arg a b -f x.jq",
    "jq --arg a b -L . x.json",
    "jq --arg a b . .env",
    "jq --arg a b '.a' x.json > y",
    "jq --arg a \"$(cat .env)\" . x.json",
    "jq --arg a \"$HOME\" . x.json",
    // a filter that is none
    "git -C src log | grep x a",
    "git -C src log | grep -r x",
    "git -C src log | grep -rn x",
    "git -C src log | grep -R x",
    "git -C src log | grep --recursive x",
    "git -C src log | grep -f a",
    "git -C src log | grep -e x a",
    "git -C src log | grep x > f",
    "git -C src log; grep -r x --include='*.rs'",
    "cd src && ls; grep x a",
    "cd src && ls || grep -r x --include='*.rs'",
];

#[test]
fn searches_that_say_what_they_read_pass_and_their_near_relatives_wait() {
    for text in PASSING {
        assert!(preset().allows(text), "{text}: {:?}", preset().says(text));
    }
    for text in HELD {
        assert!(!preset().allows(text), "{text}");
    }
}

/// Programs that run or write would do so with every name; they are not told apart by what the pattern says.
#[test]
fn a_line_with_a_pattern_stays_opaque_to_every_rule_but_one_that_takes_names() {
    let line = analyse("cat src/*.rs");
    assert!(line.is_opaque() && line.commands().is_err());
    let cat = |more: &str| patterns(&format!(r#"allow = [{{ program = "cat", operands = "any"{more} }}]"#));
    assert!(!cat("").allows(&line));
    assert!(cat(", names = true").allows(&line));
    assert!(cat(", names = true").allows(&analyse("cat a")));
    for whole in [r#"["cat", "src/*.rs"]"#, r#"["cat", "src/a.rs"]"#] {
        assert!(!patterns(&format!("allow = [{{ exact = {whole} }}]")).allows(&line), "{whole}");
    }
    assert_eq!(preset().says("rm -rf src/*.rs"), ShellVerdict::Hold("high".to_owned()));
    assert_eq!(preset().says("rm -rf /*.rs /"), ShellVerdict::Hold("critical".to_owned()));
}

/// What a secret holds, wherever it lies.
const MARK: &str = "MARKER";

fn place(top: &Path) {
    let write = |name: &str| {
        let path = top.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, format!("one\n{MARK}\n")).expect("a file");
    };
    for secret in [
        "work/.env",
        "work/src/.env.local",
        "work/src/prod.env",
        "work/src/key.pem",
        "work/src/credentials",
        "work/.ssh/id_rsa",
        "work/src/secrets.txt",
        "work/src/auth.json",
        "outside/x.rs",
        "outside/deep/y.rs",
    ] {
        write(secret);
    }
    fs::create_dir_all(top.join("work/deep")).expect("a folder");
    for name in ["src/a.rs", "src/b_test.rs", "deep/c.rs", "a.rs"] {
        fs::write(top.join("work").join(name), "one\ntwo\n").expect("a file");
    }
    symlink(top.join("outside/x.rs"), top.join("work/deep/link.rs")).expect("a link");
    symlink(top.join("outside"), top.join("work/deep/folder")).expect("a link");
    symlink(top.join("work/.env"), top.join("work/deep/env.rs")).expect("a link");
}

fn output(top: &Path, line: &str) -> String {
    let ran = Command::new("bash")
        .args(["--norc", "-c", line])
        .current_dir(top.join("work"))
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .expect("bash starts");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

#[test]
fn no_search_that_passes_shows_a_secret_or_follows_a_link() {
    let folder = tempfile::tempdir().expect("a folder");
    place(folder.path());
    let flags = ["-r", "-rn", "-rl", "-rc", "-ra", "-rhA1", "--recursive", "-R", "-n", "-rL", "-rz"];
    let filters = [
        "",
        "--include='*.rs'",
        "--include='*'",
        "--include='*.env'",
        "--include='*.rs' --include='*_test.rs'",
        "--include='*.rs' --exclude='*_test.rs'",
        "--exclude='a*' --include='*.rs'",
        "--exclude='a*'",
        "--include='*.rs' --include='*'",
        "--include='*.rs' --exclude-dir=src",
        "--exclude-dir=src",
        "--include '*.rs'",
        "--exclude-from=a.rs --include='*.rs'",
    ];
    let operands = ["", ".", "src", "deep", "src deep", "src/*.rs", "src/* deep", "./*.rs src", "./.*"];
    let (mut passed, mut shown) = (0, 0);
    for flag in flags {
        for filter in filters {
            for operand in operands {
                for line in [
                    format!("grep {flag} {filter} '{MARK}' {operand}"),
                    format!("grep {filter} '' {operand} {flag}"),
                ] {
                    let passes = preset().allows(&line);
                    let seen = output(folder.path(), &line);
                    let secret = [MARK, ".env", "id_rsa", "key.pem", "credentials", "secrets", "auth.json"];
                    let shows = secret.iter().any(|word| seen.contains(word));
                    assert!(!(passes && shows), "{line}:\n{seen}");
                    passed += usize::from(passes);
                    shown += usize::from(shows);
                }
            }
        }
    }
    println!("{passed} searches pass and show nothing, {shown} others show a secret");
    assert!(passed > 300 && shown > 300, "{passed} {shown}");
}
