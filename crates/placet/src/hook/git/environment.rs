//! Variables of the environment that start a program, write a file, or change what git reads.

use std::{ffi::OsString, os::unix::ffi::OsStrExt as _, path::Path};

use super::{Env, Report, config::Setting};

const SOURCE: &str = "environment";

/// Each of these is an entry, whatever its value.
const ALWAYS: &[&str] = &[
    // They select another repository, or other files of it.
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_NAMESPACE",
    "GIT_REFERENCE_BACKEND",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_ATTR_SOURCE",
    "GIT_TEMPLATE_DIR",
    "GIT_TEXTDOMAINDIR",
    // Other configuration.
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    // Programs.
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_TEST_FSMONITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_PROXY_COMMAND",
    // Files that are written.
    "GIT_REDIRECT_STDOUT",
    "GIT_REDIRECT_STDERR",
];
// No entries: `GIT_EDITOR`, `EDITOR`, `VISUAL` and `GIT_SEQUENCE_EDITOR`, because read-only commands never open an
// editor (Claude Code itself sets `GIT_EDITOR=true`); `GIT_ASKPASS` and `SSH_ASKPASS`, because they run only when git
// connects to a server, and what makes it connect is an entry of its own (the terminal of VS Code always sets
// `GIT_ASKPASS`).

/// With an absolute path git writes its trace there, with a digit above 2 into an open file.
pub(super) const TRACES: &[&str] = &[
    "GIT_TRACE",
    "GIT_TRACE_BARE",
    "GIT_TRACE_CURL",
    "GIT_TRACE_FSMONITOR",
    "GIT_TRACE_PACKET",
    "GIT_TRACE_PACKFILE",
    "GIT_TRACE_PACK_ACCESS",
    "GIT_TRACE_PERFORMANCE",
    "GIT_TRACE_REFS",
    "GIT_TRACE_SETUP",
    "GIT_TRACE_SHALLOW",
    "GIT_TRACE_WORKING_TREE_ENCODING",
    "GIT_TRACE2",
    "GIT_TRACE2_EVENT",
    "GIT_TRACE2_PERF",
];

/// Reports what the environment changes.
pub(super) fn look(env: Env<'_>, report: &mut Report) {
    let mut entry =
        |name: &str, value: &OsString| report.setting(name, Some(&value.to_string_lossy()), SOURCE);
    for name in ALWAYS {
        if let Some(value) = env(name) {
            entry(name, &value);
        }
    }
    for name in TRACES {
        if let Some(value) = env(name).filter(|value| traces_to_a_file(value.as_bytes())) {
            entry(name, &value);
        }
    }
    for name in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
        // Reading no file is a usual way to be independent of the machine, and starts nothing.
        if let Some(value) = env(name).filter(|value| !value.is_empty() && value != "/dev/null") {
            entry(name, &value);
        }
    }
    // Git uses a pager only on a terminal, but some agents give their commands one. The usual pagers only show.
    for name in ["GIT_PAGER", "PAGER"] {
        if let Some(value) = env(name).filter(|value| !usual_pager(&value.to_string_lossy())) {
            entry(name, &value);
        }
    }
}

/// Whether the target of a trace is anything but off or standard error.
pub(super) fn traces_to_a_file(value: &[u8]) -> bool {
    let value = value.to_ascii_lowercase();
    !matches!(value.as_slice(), b"" | b"0" | b"1" | b"2" | b"true" | b"false")
}

/// `cat`, `less` and `more`, with options that neither name a file nor take a value.
fn usual_pager(value: &str) -> bool {
    let mut words = value.split(' ').filter(|word| !word.is_empty());
    let known = words.next().is_none_or(|program| {
        matches!(program.trim_start_matches("/usr").trim_start_matches("/bin/"), "cat" | "less" | "more")
    });
    let plain = |word: &str| {
        word.strip_prefix('-')
            .is_some_and(|flags| flags.bytes().all(|flag| b"FRXSKMJQEWeinqrw".contains(&flag)))
    };
    known && words.all(plain)
}

/// The settings of `GIT_CONFIG_COUNT` and its pairs.
pub(super) fn settings(env: Env<'_>, report: &mut Report) -> Vec<Setting> {
    let Some(count) = env("GIT_CONFIG_COUNT").filter(|count| !count.is_empty()) else { return Vec::new() };
    let Some(number) =
        count.to_str().and_then(|count| count.parse::<usize>().ok()).filter(|count| *count <= 100)
    else {
        report.setting("GIT_CONFIG_COUNT", Some(&count.to_string_lossy()), SOURCE);
        return Vec::new();
    };
    let mut settings = Vec::new();
    for n in 0..number {
        let (Some(key), Some(value)) =
            (env(&format!("GIT_CONFIG_KEY_{n}")), env(&format!("GIT_CONFIG_VALUE_{n}")))
        else {
            report.unreadable(Path::new(&format!("GIT_CONFIG_KEY_{n}")), "not set");
            continue;
        };
        settings.push(Setting { key: lower(key.as_bytes()), value: Some(value.as_bytes().to_vec()) });
    }
    settings
}

/// A key with section and name in lower case. A subsection keeps its case.
fn lower(key: &[u8]) -> Vec<u8> {
    let first = key.iter().position(|byte| *byte == b'.').unwrap_or(key.len());
    let last = key.iter().rposition(|byte| *byte == b'.').unwrap_or(0);
    let small =
        |(at, byte): (usize, &u8)| if at < first || at > last { byte.to_ascii_lowercase() } else { *byte };
    key.iter().enumerate().map(small).collect()
}
