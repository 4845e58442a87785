//! What is known about programs: which ones run other programs, and by which of their words.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

/// Programs that run what their arguments say, and built-ins that change what later words mean.
const RUN_OTHERS: &[&str] = &[
    // shells
    "sh",
    "bash",
    "zsh",
    "dash",
    "ash",
    "ksh",
    "mksh",
    "fish",
    "csh",
    "tcsh",
    "rbash",
    "nu",
    "xonsh",
    "elvish",
    "busybox",
    "toybox",
    "pwsh",
    "powershell",
    "cmd",
    "osascript",
    // languages
    "python",
    "pythonw",
    "pypy",
    "ipython",
    "perl",
    "ruby",
    "irb",
    "node",
    "nodejs",
    "deno",
    "bun",
    "ts-node",
    "tsx",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "wish",
    "expect",
    "guile",
    "julia",
    "rscript",
    "r",
    "ghci",
    "runghc",
    "scala",
    "groovy",
    "jshell",
    "java",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "m4",
    "dc",
    "erl",
    "elixir",
    "iex",
    "octave",
    "sbcl",
    "swipl",
    // editors, pagers, debuggers and clients with a shell escape
    "ed",
    "ex",
    "vi",
    "vim",
    "vimdiff",
    "nvim",
    "view",
    "emacs",
    "nano",
    "pico",
    "micro",
    "less",
    "more",
    "most",
    "man",
    "info",
    "pager",
    "gdb",
    "lldb",
    "strace",
    "ltrace",
    "valgrind",
    "perf",
    "sqlite3",
    "psql",
    "mysql",
    "ftp",
    "sftp",
    "telnet",
    "gh-ext",
    // wrappers
    "env",
    "sudo",
    "doas",
    "su",
    "runuser",
    "pkexec",
    "setpriv",
    "chroot",
    "unshare",
    "nsenter",
    "nohup",
    "timeout",
    "gtimeout",
    "nice",
    "ionice",
    "chrt",
    "taskset",
    "stdbuf",
    "unbuffer",
    "setsid",
    "time",
    "xargs",
    "parallel",
    "watch",
    "entr",
    "script",
    "flock",
    "ssh",
    "sshpass",
    "mosh",
    "autossh",
    "scp",
    "rsync",
    "npx",
    "pnpx",
    "bunx",
    "uvx",
    "pipx",
    "tmux",
    "screen",
    "at",
    "batch",
    "crontab",
    "systemd-run",
    "faketime",
    "firejail",
    "bwrap",
    "proot",
    "fakeroot",
    "cpulimit",
    "start-stop-daemon",
    "daemonize",
    "rlwrap",
    "socat",
    "nc",
    "ncat",
    "netcat",
    "nix-shell",
    "nix",
    "run-parts",
    "dbus-run-session",
    "xvfb-run",
    "caffeinate",
    "arch",
    "hyperfine",
    "chronic",
    "ifne",
    "capsh",
    "ld.so",
    "linux64",
    "linux32",
    "setarch",
    "unlink-exec",
    "tini",
    "gosu",
    "su-exec",
    "dumb-init",
    "direnv",
    "gdbserver",
    "multitime",
    // built-ins
    "command",
    "exec",
    "builtin",
    "eval",
    "source",
    ".",
    "trap",
    "alias",
    "unalias",
    "coproc",
    "enable",
    "export",
    "declare",
    "typeset",
    "local",
    "readonly",
    "unset",
    "let",
    "mapfile",
    "readarray",
    "read",
    "complete",
    "compgen",
    "compopt",
    "bind",
    "fc",
    "hash",
    "set",
    "shopt",
    "test",
    "[",
    "[[",
    "getopts",
    "noglob",
    "nocorrect",
    "-",
    "autoload",
    "emulate",
    "zmodload",
    "setopt",
    "unsetopt",
    "vared",
    "print",
    "repeat",
    "sched",
    "printf",
    "jobs",
    "wait",
];

/// Words by which an otherwise ordinary program runs or overwrites something: (program, words).
const FORBIDDEN: &[(&str, &[&str])] = &[
    (
        "find",
        &[
            "-exec",
            "-execdir",
            "-ok",
            "-okdir",
            "-delete",
            "-fprint",
            "-fprint0",
            "-fprintf",
            "-fls",
            "-files0-from",
        ],
    ),
    (
        "git",
        &[
            "-c",
            "--config-env",
            "--exec-path",
            "--upload-pack",
            "--receive-pack",
            "--exec",
            "--ext-diff",
            "--output",
            "--open-files-in-pager",
        ],
    ),
    ("rg", &["--pre", "--hostname-bin"]),
    ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    ("fdfind", &["-x", "-X", "--exec", "--exec-batch"]),
    ("sort", &["-o", "--output", "--compress-program"]),
    (
        "tar",
        &[
            "--to-command",
            "--checkpoint-action",
            "-I",
            "--use-compress-program",
            "-F",
            "--info-script",
            "--new-volume-script",
            "--rmt-command",
            "--rsh-command",
        ],
    ),
    ("docker", &["exec", "run"]),
    ("podman", &["exec", "run"]),
    ("nerdctl", &["exec", "run"]),
    ("kubectl", &["exec", "run", "debug"]),
    ("npm", &["exec", "x", "--script-shell"]),
    ("pnpm", &["exec", "dlx", "--script-shell"]),
    ("yarn", &["exec", "dlx"]),
    ("uv", &["run", "tool"]),
    ("poetry", &["run"]),
    ("pipenv", &["run"]),
    ("conda", &["run"]),
    ("bundle", &["exec"]),
    ("mise", &["exec", "x"]),
    ("asdf", &["exec"]),
    ("make", &["--eval", "-f", "--file", "--makefile"]),
    ("cargo", &["--config"]),
    ("ip", &["exec"]),
    ("date", &["-s", "--set"]),
    ("tree", &["-o"]),
];

static RUNNERS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| RUN_OTHERS.iter().copied().collect());

/// Whether such a program may only be allowed by spelling out its whole argument list.
pub(super) fn runs_others(program: &str) -> bool {
    let name = base_name(program);
    RUNNERS.contains(name.as_ref()) || {
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        plain.len() < name.len() && !plain.is_empty() && RUNNERS.contains(plain)
    }
}

/// Whether such a command runs what its arguments say: the program does, or one of its words makes it do so.
pub(crate) fn may_run(program: &str, words: &[String]) -> bool {
    runs_others(program) || words.iter().any(|word| is_forbidden_word(program, word))
}

/// Whether the loose view looks for further commands among the arguments.
pub(super) fn may_run_arguments<'a>(name: &str, mut arguments: impl Iterator<Item = &'a str>) -> bool {
    runs_others(name)
        || name == "sed"
        || forbidden_words(name).is_some_and(|words| arguments.any(|word| is_among(words, word)))
}

/// Whether a program takes its input for text and never for something to run.
pub(super) fn takes_text(name: &str) -> bool {
    matches!(
        name,
        "cat"
            | "tee"
            | "grep"
            | "egrep"
            | "fgrep"
            | "rg"
            | "head"
            | "tail"
            | "wc"
            | "sort"
            | "uniq"
            | "cut"
            | "tr"
            | "column"
            | "fold"
            | "nl"
            | "jq"
            | "git"
            | "gh"
            | "diff"
            | "md5sum"
            | "sha256sum"
    )
}

/// Whether from this word on a command is given words that are not in the text: `xargs rm`, `find -exec rm`.
pub(super) fn adds_arguments(word: &str) -> bool {
    matches!(
        word,
        "xargs"
            | "parallel"
            | "entr"
            | "-exec"
            | "-execdir"
            | "-ok"
            | "-okdir"
            | "-x"
            | "--exec"
            | "--exec-batch"
    )
}

/// Whether this word makes the program run or overwrite something, so that no pattern may list it.
pub(super) fn is_forbidden_word(program: &str, word: &str) -> bool {
    let name = base_name(program);
    forbidden_words(&name).is_some_and(|words| is_among(words, word))
        || (name == "git" && checks_signatures(word))
        // A time zone is the name of a file.
        || (name == "date" && word.contains("TZ="))
}

/// Placeholders and keys for which git starts the program that checks signatures.
fn checks_signatures(word: &str) -> bool {
    let asks = |rest: &str| rest.trim_start_matches(['+', '-', ' ']).starts_with('G');
    word.starts_with("--") && (word.contains("signature") || word.split('%').skip(1).any(asks))
}

fn forbidden_words(name: &str) -> Option<&'static [&'static str]> {
    FORBIDDEN.iter().find(|(program, _)| *program == name).map(|(_, words)| *words)
}

fn is_among(words: &[&str], word: &str) -> bool {
    let flag = word.split_once('=').map_or(word, |(flag, _)| flag);
    words.contains(&flag)
}

/// Whether `["bash", "-c", script]` means just the script.
pub(super) fn is_plain_shell(program: &str) -> bool {
    let name = program.strip_prefix("/usr/bin/").or_else(|| program.strip_prefix("/bin/")).unwrap_or(program);
    matches!(name, "sh" | "bash" | "dash" | "zsh")
}

/// A `sed` script that only prints lines by number, such as `10,20p`: the one use of `sed` that cannot write or run.
pub(super) fn is_printing_sed(arguments: &[String]) -> bool {
    let Some((flag, rest)) = arguments.split_first() else { return false };
    let Some((script, files)) = rest.split_first() else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    flag == "-n"
        && files.iter().all(|file| !file.starts_with('-'))
        && script.split(';').all(|part| {
            part.strip_suffix('p').is_some_and(|lines| {
                let (from, to) = lines.split_once(',').unwrap_or((lines, "1"));
                is_number(from) && (is_number(to) || to == "$")
            })
        })
}

/// The last path segment in lower case, without `.exe`: file systems that ignore case hide nothing.
pub(super) fn base_name(program: &str) -> Cow<'_, str> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let stem = name.len().checked_sub(4).and_then(|end| name.split_at_checked(end));
    let name = match stem {
        Some((stem, end)) if !stem.is_empty() && end.eq_ignore_ascii_case(".exe") => stem,
        _ => name,
    };
    lower(name)
}

/// The text in lower case; a copy only if that changes it.
pub(crate) fn lower(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|b| b.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}
