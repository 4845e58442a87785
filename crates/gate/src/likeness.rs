//! Whether two calls are alike: the template of what they would do, without what may differ between calls of one kind.
//!
//! It decides nothing. In doubt two calls are not alike: a precedent that is missing does no harm, a false one does.

use std::collections::BTreeSet;

use placet_core::{Preview, ShellCommand};
use serde_json::{Map, Value};

use crate::preview::taken_apart;

/// Most values of a call that are looked at. A call with more is like no other one.
const VALUES: usize = 256;
/// Most commands of a line.
const COMMANDS: usize = 32;

/// Names of arguments that comment on a call and change nothing of it.
const COMMENTS: &[&str] = &[
    "reason",
    "note",
    "notes",
    "comment",
    "description",
    "summary",
    "explanation",
    "justification",
    "rationale",
    "thought",
    "memo",
    "reference",
    "idempotency_key",
    "request_id",
    "trace_id",
];
/// Names of arguments that say how much or how long. Only their sign counts.
const QUANTITIES: &[&str] = &[
    "amount",
    "total",
    "price",
    "quantity",
    "timeout",
    "timeout_ms",
    "timeout_seconds",
    "limit",
    "head_limit",
    "offset",
    "page",
    "page_size",
    "line",
    "lines",
];
/// Names of arguments that name a file if the tool is about files.
const PATHS: &[&str] = &[
    "path",
    "paths",
    "file",
    "files",
    "file_path",
    "file_paths",
    "filePath",
    "filename",
    "filenames",
    "file_name",
    "target_file",
    "absolute_path",
    "source",
    "destination",
];
/// Names of arguments that say where a command or a statement runs.
const PLACES: &[&str] = &[
    "cwd",
    "workdir",
    "working_directory",
    "workingDirectory",
    "dir_path",
    "database",
    "db",
    "schema",
    "replace_all",
    "replaceAll",
    "attachments",
];
/// Names of arguments with objects of a cluster, as YAML.
const MANIFESTS: &[&str] = &["manifest", "manifests", "yaml"];

/// The template of a call. None if it cannot be taken apart: then only the very same call is like it.
///
/// Commands: programs, subcommands, options and targets in their order, and the folder. SQL: the kind and the
/// tables of one statement. Money: the recipient and the currency. HTTP: method and host. Files: their folder.
/// Objects of a cluster: kind, namespace and name. Other calls: every argument but comments and quantities.
pub(crate) fn template(
    tool: &str,
    arguments: &Map<String, Value>,
    cwd: Option<&str>,
) -> Option<BTreeSet<String>> {
    let (preview, unknown) = taken_apart(tool, arguments)?;
    let mut walk = Walk { tool, parts: BTreeSet::from([format!("tool {tool}")]), left: VALUES };
    let also = |name: &str| unknown.contains(&name) || PLACES.contains(&name);
    match preview {
        Preview::Shell { commands, .. } => {
            if commands.is_empty() || commands.len() > COMMANDS {
                return None;
            }
            for (index, command) in commands.iter().enumerate() {
                walk.parts.insert(format!("command {index} {}", of_command(command)));
            }
            // Most targets are relative to the folder.
            walk.parts.insert(format!("folder {cwd:?}"));
            walk.some(arguments, also)?;
        }
        Preview::Sql { kind, tables, filtered, statements, .. } => {
            // What several statements do together is in none of these words.
            if statements != 1 {
                return None;
            }
            let tables: BTreeSet<String> = tables.into_iter().collect();
            walk.parts.insert(format!("sql {kind} {tables:?} {filtered}"));
            walk.some(arguments, also)?;
        }
        Preview::Diff { path, .. } => {
            let one = arguments.iter().find_map(|(name, value)| {
                value
                    .as_str()
                    .filter(|text| PATHS.contains(&name.as_str()) && placet_core::show(text) == path)
            });
            // A patch can do something else to each file.
            walk.parts.insert(folder(one?));
            walk.parts.insert(format!("folder {cwd:?}"));
            walk.some(arguments, also)?;
        }
        Preview::Http { method, host, body, .. } => {
            let body = body.is_some()
                || ["body", "data", "json", "payload"].iter().any(|name| arguments.contains_key(*name));
            walk.parts.insert(format!("http {} {host} {body}", method.to_ascii_uppercase()));
        }
        Preview::Email { to, cc, bcc, .. } => {
            walk.parts.insert(format!("email {to:?} {cc:?} {bcc:?}"));
            walk.some(arguments, also)?;
        }
        Preview::Money { to, accounts, currency, .. } => {
            walk.parts.insert(format!("money {to:?} {accounts:?} {currency:?}"));
            walk.some(arguments, |name| name == "amount")?;
        }
        _ => walk.some(arguments, |_| true)?,
    }
    Some(walk.parts)
}

/// The words of a command. The message of a commit is a comment.
fn of_command(command: &ShellCommand) -> String {
    let mut words: Vec<&str> = command.words.iter().map(String::as_str).collect();
    if let ["git", "commit", rest @ ..] = words.as_mut_slice() {
        let mut message = false;
        for word in rest {
            if message {
                *word = "…";
            } else if word.starts_with("--message=") {
                *word = "--message=…";
            }
            message = ["-m", "-am", "--message"].contains(word);
        }
    }
    let files: Vec<String> =
        command.redirects.iter().map(|file| format!("{} {}", file.op, file.target)).collect();
    format!("{:?} {words:?} {files:?}", command.joined)
}

struct Walk<'a> {
    tool: &'a str,
    parts: BTreeSet<String>,
    left: usize,
}

impl Walk<'_> {
    /// Adds the arguments with these names.
    fn some(&mut self, arguments: &Map<String, Value>, wanted: impl Fn(&str) -> bool) -> Option<()> {
        for (name, value) in arguments.iter().filter(|(name, _)| wanted(name)) {
            self.visit(&format!("{name:?}"), name, value)?;
        }
        Some(())
    }

    fn visit(&mut self, path: &str, name: &str, value: &Value) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        let part = match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.visit(&format!("{path}/{index}"), name, item)?;
                }
                format!("{} items", items.len())
            }
            Value::Object(map) => {
                for (name, value) in map {
                    self.visit(&format!("{path}/{name:?}"), name, value)?;
                }
                "object".to_owned()
            }
            Value::String(_) if COMMENTS.contains(&name) => "comment".to_owned(),
            Value::String(text) if QUANTITIES.contains(&name) => match text.parse::<f64>() {
                Ok(number) => format!("text, {}", sign(number)),
                Err(_) => format!("{text:?}"),
            },
            Value::Number(number) if QUANTITIES.contains(&name) => sign(number.as_f64()?),
            Value::String(text) if MANIFESTS.contains(&name) => objects(text)?,
            Value::String(text) if self.names_a_file(name) => folder(text),
            other => other.to_string(),
        };
        self.parts.insert(format!("{path} {part}"));
        Some(())
    }

    /// Whether the argument is the path of a file, and not of a folder.
    fn names_a_file(&self, name: &str) -> bool {
        let about = |text: &str| text.to_ascii_lowercase().contains("file");
        PATHS.contains(&name) && (about(self.tool) || about(name))
    }
}

fn sign(number: f64) -> String {
    match number.total_cmp(&0.0) {
        std::cmp::Ordering::Less => "less than zero",
        std::cmp::Ordering::Equal => "zero",
        std::cmp::Ordering::Greater => "more than zero",
    }
    .to_owned()
}

/// The folder of a file. A name that may mean several files, or another one, stays whole.
fn folder(path: &str) -> String {
    let odd = path.contains(['*', '?', '[', '{', '$', '%', '`', '~'])
        || path.split(['/', '\\']).any(|part| matches!(part, "." | ".."));
    match path.rsplit_once(['/', '\\']) {
        _ if odd || path.trim().is_empty() => format!("file {path:?}"),
        Some((_, "")) => format!("file {path:?}"),
        Some((folder, _)) => format!("a file in {folder:?}"),
        None => "a file without a folder".to_owned(),
    }
}

/// Kind, namespace and name of each object of a manifest. None unless each says them once, in the plainest form.
fn objects(yaml: &str) -> Option<String> {
    let mut out = Vec::new();
    for document in yaml.split("\n---") {
        let (mut kind, mut name, mut space) = (None, None, None);
        let mut inside = false;
        for line in document.lines().filter(|line| !line.trim().is_empty() && *line != "---") {
            if line.contains('\t') || line.starts_with('{') {
                return None;
            }
            let once = |slot: &mut Option<String>, value: &str| {
                let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
                let value = value.trim();
                let fits = slot.is_none() && !value.is_empty() && value.chars().all(plain);
                *slot = Some(value.to_owned());
                fits.then_some(())
            };
            if !line.starts_with(' ') {
                inside = line.trim_end() == "metadata:";
            }
            if let Some(value) = line.strip_prefix("kind:") {
                once(&mut kind, value)?;
            } else if inside && let Some(value) = line.strip_prefix("  name:") {
                once(&mut name, value)?;
            } else if inside && let Some(value) = line.strip_prefix("  namespace:") {
                once(&mut space, value)?;
            }
        }
        out.push(format!("{} {:?} {}", kind?, space, name?));
    }
    Some(out.join("; "))
}

#[cfg(test)]
mod tests;
