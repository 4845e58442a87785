//! How much of an ordinary day still asks: about 200 command lines as developers and agents write them.

use placet_policy::shell::analyse;

use crate::support::{ShellVerdict, preset};

/// Lines that only look: a person would not want to be asked.
const LOOKING: &[&str] = &[
    "git status",
    "git status -s",
    "git status --short --branch",
    "git status --porcelain",
    "git diff",
    "git diff --stat",
    "git diff --cached",
    "git diff --staged --stat",
    "git diff HEAD",
    "git diff HEAD~1 HEAD",
    "git diff main...HEAD",
    "git diff main...HEAD --name-only",
    "git diff -- src/main.rs",
    "git diff --no-color -U10 src/lib.rs",
    "git log --oneline",
    "git log --oneline -10",
    "git log --oneline -n 20",
    "git log -5 --stat",
    "git log --oneline --graph --all --decorate",
    "git log -p -1",
    "git log --since='2 weeks ago' --author=ann --oneline",
    "git log --format='%h %s' -20",
    "git log --pretty=format:'%h %an %s' --no-merges main..HEAD",
    "git log -S 'fn parse' --oneline -- src",
    "git log --follow -p -- src/main.rs",
    "git show HEAD",
    "git show --stat HEAD~2",
    "git show HEAD:src/main.rs",
    "git show abc123 --name-only",
    "git branch",
    "git branch -a",
    "git branch -vv",
    "git branch --show-current",
    "git remote -v",
    "git rev-parse HEAD",
    "git rev-parse --show-toplevel",
    "git rev-parse --abbrev-ref HEAD",
    "git ls-files",
    "git ls-files src",
    "git blame src/main.rs",
    "git blame -L 10,30 src/main.rs",
    "git stash list",
    "git tag",
    "git describe --tags --always",
    "git merge-base main HEAD",
    "git grep -n 'TODO'",
    "git config user.name",
    "git --version",
    "git status && git diff --stat",
    "git status; git log --oneline -5",
    "git log --oneline | head -20",
    "git diff | head -100",
    "git diff --name-only | wc -l",
    "git log --oneline | grep -i fix | head",
    "git branch -a | grep feature",
    "ls",
    "ls -la",
    "ls -la src",
    "ls -lah target 2>/dev/null",
    "ls -R src | head -50",
    "ls src tests docs",
    "ls -1 | wc -l",
    "pwd",
    "pwd && ls -la",
    "cat Cargo.toml",
    "cat src/main.rs",
    "cat package.json | head -40",
    "cat src/a.rs src/b.rs",
    "cat -n src/main.rs | sed -n '100,150p'",
    "head -50 src/main.rs",
    "head -n 100 README.md",
    "tail -20 server.log",
    "tail -f server.log",
    "tail -n 200 server.log | grep ERROR",
    "sed -n '1,120p' src/main.rs",
    "sed -n 40,80p src/lib.rs",
    "wc -l src/main.rs",
    "wc -l src/a.rs src/b.rs",
    "grep -n 'fn main' src/main.rs",
    "grep -in 'error' server.log | tail -5",
    "grep -c TODO src/main.rs",
    "grep -A 5 -B 2 'struct Foo' src/lib.rs",
    "grep -rn 'foo' src",
    "grep -r --include='*.rs' 'unwrap()' .",
    "rg foo",
    "rg -n 'fn parse' src",
    "rg -l TODO",
    "rg -n --type rust 'unwrap\\(' crates",
    "rg --files | head -100",
    "rg -n foo -g '*.ts'",
    "rg 'a|b' -A3 src | head -40",
    "find . -name '*.rs'",
    "find . -name '*.rs' | head -20",
    "find . -type f -name '*.toml' -not -path './target/*'",
    "find src -type d -maxdepth 2",
    "find . -name '*.rs' | xargs wc -l",
    "find . -name \"*.py\" | wc -l",
    "find . -newer Cargo.toml -type f",
    "tree -L 2",
    "tree -L 3 -I 'node_modules|target'",
    "which cargo",
    "which node npm python3",
    "node --version",
    "python3 --version",
    "date",
    "date +%s",
    "date -u +%Y-%m-%dT%H:%M:%SZ",
    "whoami",
    "uname -a",
    "df -h",
    "du -sh target",
    "du -sh *",
    "ps aux | grep node",
    "free -h",
    "file target/debug/app",
    "stat Cargo.lock",
    "diff -u a.txt b.txt",
    "sort names.txt | uniq -c | sort -rn | head",
    "cut -d: -f1 /etc/passwd",
    "echo hello",
    "echo \"done\"",
    "echo $PATH",
    "echo $?",
    "md5sum a.bin",
    "basename \"$PWD\"",
    "jq '.scripts' package.json",
    "cat package.json | jq .dependencies",
    "env | grep NODE",
    "printenv PATH",
    "ls *.rs",
    "ls ~/projects",
    "cat src/*.rs | wc -l",
    "cd src && ls",
    "cd /srv/app && git status",
    "for f in src/*.rs; do wc -l \"$f\"; done",
    "test -f Cargo.toml && echo yes",
    "[ -d target ] && du -sh target",
    "awk '{print $1}' access.log | sort | uniq -c",
    "command -v cargo",
    "docker ps",
    "docker images",
    "docker logs app --tail 50",
    "kubectl get pods",
    "gh pr list",
    "gh pr view 12",
];

/// Lines that change something or run the project's code: asking is right.
const DOING: &[&str] = &[
    // A file of the folder names the program that runs.
    "rustc --version",
    "cargo --version",
    "go version",
    // Writes a log.
    "node --version && npm --version",
    "cargo check",
    "cargo build",
    "cargo build --release",
    "cargo test",
    "cargo test -p core --lib",
    "cargo test 2>&1 | tail -20",
    "cargo clippy --all-targets",
    "cargo fmt",
    "cargo run -- --help",
    "cargo add serde",
    "npm test",
    "npm install",
    "npm run build",
    "npm run lint -- --fix",
    "pnpm install && pnpm test",
    "yarn dev",
    "npx tsc --noEmit",
    "npx prettier --write src",
    "pytest",
    "pytest -x tests/test_a.py",
    "python3 -m venv .venv",
    "pip install -r requirements.txt",
    "python3 script.py",
    "go test ./...",
    "go build ./cmd/app",
    "make",
    "make test",
    "git add .",
    "git add src/main.rs",
    "git commit -m 'fix parser'",
    "git commit -am \"fix parser\"",
    "git checkout -b feature",
    "git switch main",
    "git pull --rebase",
    "git fetch origin",
    "git push origin HEAD",
    "git push -u origin feature",
    "git merge main",
    "git rebase main",
    "git stash",
    "git stash pop",
    "git cherry-pick abc123",
    "mkdir -p src/new",
    "touch src/new/mod.rs",
    "cp a.txt b.txt",
    "mv a.txt b.txt",
    "rm a.txt",
    "rm -rf node_modules",
    "chmod +x run.sh",
    "curl -s http://localhost:3000/health",
    "docker compose up -d",
    "docker build -t app .",
    "kill 1234",
    "sed -i 's/a/b/' src/main.rs",
    "echo 'x' > notes.txt",
    "cat > a.txt <<'EOF'\nhello\nEOF",
    "tar czf a.tgz src",
    "ln -s a b",
];

#[test]
fn the_share_of_ordinary_commands_that_still_asks_is_printed() {
    let asks = |list: &[&'static str]| {
        list.iter().copied().filter(|text| !preset().allows(text)).collect::<Vec<_>>()
    };
    let looking = asks(LOOKING);
    let doing = asks(DOING);
    let total = LOOKING.len() + DOING.len();
    let share = |part: usize, of: usize| 100.0 * part as f64 / of as f64;
    println!("ordinary command lines:         {total}");
    println!(
        "  that only look:               {} of {} still ask ({:.1} %)",
        looking.len(),
        LOOKING.len(),
        share(looking.len(), LOOKING.len())
    );
    for text in &looking {
        println!(
            "      {text:?}  {}",
            analyse(text).commands().err().map_or("not on the list", |opaque| opaque.reason)
        );
    }
    println!("  that change or run something: {} of {} ask", doing.len(), DOING.len());
    println!(
        "  together:                     {} of {total} ask ({:.1} %)",
        looking.len() + doing.len(),
        share(looking.len() + doing.len(), total)
    );
    assert!(total >= 200, "{total}");
    assert_eq!(
        doing.len(),
        DOING.len(),
        "{:?}",
        DOING.iter().filter(|text| preset().allows(text)).collect::<Vec<_>>()
    );
    assert!(share(looking.len(), LOOKING.len()) < 25.0, "{looking:#?}");
}

#[test]
fn no_ordinary_line_is_called_critical_and_few_are_called_high() {
    let high: Vec<_> = LOOKING
        .iter()
        .filter(|text| matches!(preset().says(text), ShellVerdict::Hold(risk) if risk != "medium"))
        .collect();
    assert!(high.is_empty(), "{high:#?}");
    for text in DOING {
        assert_ne!(preset().says(text), ShellVerdict::Hold("critical".to_owned()), "{text}");
    }
}
