//! What the arguments of tools are about: files, patterns for files, folders to run in, or text.

/// Arguments that name files and folders, in the tools of the agents that are known.
const PATHS: &[&str] = &[
    "file_path",
    "path",
    "paths",
    "absolute_path",
    "target_file",
    "notebook_path",
    "file",
    "files",
    "filename",
    "relative_workspace_path",
    "target_directory",
    "target_notebook",
    "directory",
    "dir_path",
    "dir",
    "folder",
    "source",
    "destination",
    "file_paths",
    "target_directories",
    "uri",
];
/// Words that end the name of an argument for a file, such as `newPath` and `rename_to`.
const PATH_ENDS: &[&str] =
    &["path", "paths", "file", "files", "filename", "dir", "directory", "folder", "uri", "to", "from"];
/// Arguments that hold patterns for names of files.
const GLOBS: &[&str] =
    &["glob", "glob_pattern", "include", "include_pattern", "file_pattern", "include_patterns", "globs"];
/// The same for files that are left out.
const EXCLUDES: &[&str] = &["exclude", "exclude_pattern", "ignore"];
/// Tools whose `pattern` is one for names of files; elsewhere it is one for text.
const GLOB_TOOLS: &[&str] = &["Glob", "glob", "file_search", "list_files", "glob_file_search"];
/// More tools that show names and not what lies in the files.
const LIST_TOOLS: &[&str] = &["LS", "list_directory", "list_dir", "list"];
/// Arguments that hold what is looked for or written, and not where.
const TEXTS: &[&str] = &[
    "pattern",
    "query",
    "q",
    "regex",
    "search",
    "text",
    "content",
    "contents",
    "new_string",
    "old_string",
    "new_str",
    "old_str",
    "new_text",
    "old_text",
    "insert_text",
    "replace",
    "replacement",
    "code",
    "description",
    "explanation",
    "summary",
];
/// Arguments of lists that say what something is, and not where.
const LABELS: &[&str] = &["status", "priority", "id", "type", "cell_type", "step", "activeForm"];
/// Tools that run a command in the folder that an argument names, and what that is called. To every other tool such an argument
/// means nothing, and its command runs elsewhere.
const FOLDERS: &[(&str, &[&str])] = &[
    // Gemini CLI
    ("run_shell_command", &["directory", "dir_path"]),
    // OpenCode
    ("bash", &["workdir"]),
    // Codex
    ("shell", &["workdir"]),
    ("shell_command", &["workdir"]),
    // Cursor
    ("Shell", &["working_directory"]),
    // Cline's relatives
    ("execute_command", &["cwd"]),
];
/// Every name of such an argument.
const ANY_FOLDER: &[&str] = &["working_directory", "workdir", "directory", "dir_path", "cwd", "working_dir"];

/// What an argument is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// Files whose contents the tool reads or changes, by name or by pattern.
    Contents,
    /// Files of which it shows the names, or which it leaves out.
    Names,
    /// What is looked for or written.
    Text,
    Other,
}

impl Key {
    pub(super) fn of(tool: &str, key: &str) -> Self {
        let by_name = GLOB_TOOLS.contains(&tool);
        if listed(EXCLUDES, key) || (by_name && matches!(key, "pattern" | "query")) {
            Self::Names
        } else if listed(PATHS, key) || listed(GLOBS, key) {
            if by_name || LIST_TOOLS.contains(&tool) { Self::Names } else { Self::Contents }
        } else if listed(TEXTS, key) {
            Self::Text
        } else if last_word(key).is_some_and(|word| listed(PATH_ENDS, word)) {
            Self::Contents
        } else {
            Self::Other
        }
    }

    pub(super) fn is_file(self) -> bool {
        matches!(self, Self::Contents | Self::Names)
    }
}

/// The last word of a name: `newPath`, `new_path` and `NEW-PATH` end with `path`.
fn last_word(key: &str) -> Option<&str> {
    let after = key.rfind(|sign: char| !sign.is_ascii_alphanumeric());
    let word = after.map_or(key, |at| key.get(at..).unwrap_or(key).trim_start_matches(['_', '-', '.', ' ']));
    if word.bytes().any(|sign| sign.is_ascii_lowercase()) {
        let hump = word.rfind(|sign: char| sign.is_ascii_uppercase());
        return hump.map_or(Some(word), |at| word.get(at..));
    }
    Some(word)
}

/// Whether a word under this name is no path, also where every other one may be.
pub(super) fn is_label(key: &str) -> bool {
    listed(LABELS, key)
}

/// Whether an argument says, or seems to say, in which folder a command runs.
pub(super) fn is_folder(key: &str) -> bool {
    listed(ANY_FOLDER, key)
}

/// Whether the tool is known to look at it.
pub(super) fn is_folder_of(tool: &str, key: &str) -> bool {
    FOLDERS.iter().any(|(known, keys)| *known == tool && keys.contains(&key))
}

/// Whether an argument is one of these, however it is written: `filePath`, `file_path`, `FILE-PATH`.
pub(super) fn listed(list: &[&str], key: &str) -> bool {
    let plain = |text: &str| -> String {
        text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let key = plain(key);
    list.iter().any(|known| plain(known) == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_about_files_however_it_is_written() {
        for key in
            ["file_path", "filePath", "FILE-PATH", "newPath", "old_path", "renameTo", "NEW_FILE", "glob"]
        {
            assert_eq!(Key::of("Edit", key), Key::Contents, "{key}");
        }
        for key in ["pattern", "oldText", "new_string", "search", "replace"] {
            assert_eq!(Key::of("Edit", key), Key::Text, "{key}");
        }
        for key in ["limit", "status", "profile", "model"] {
            assert_eq!(Key::of("Edit", key), Key::Other, "{key}");
        }
        assert_eq!(Key::of("Glob", "pattern"), Key::Names);
        assert_eq!(Key::of("Grep", "exclude"), Key::Names);
        assert_eq!(Key::of("LS", "path"), Key::Names);
    }
}
