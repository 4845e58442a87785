//! The place of a call: its folder, and where each of its paths leads, with links followed.
//!
//! Only a program on the agent's own machine can find this out. The result can satisfy `under = "@workspace"`.

use std::{
    io::ErrorKind,
    path::{Component, Path, PathBuf},
};

use placet_hooks::Call;
use placet_policy::named;
use serde_json::{Map, Value, json};

use super::git;

/// Longest path, in bytes: what Linux takes.
const LONGEST: usize = 4096;
/// Most bytes of all paths of a call together. With more of them the call could not be judged.
const MOST: usize = 32 * 1024;

/// The call with its folder and its paths resolved.
pub(super) fn placed(call: &Call) -> Call {
    Call { context: context(&call.tool, &call.input, &call.context), ..call.clone() }
}

/// The context of a call, with its folder and its paths resolved. What cannot be resolved is left out, and then the
/// call waits.
pub(crate) fn context(
    tool: &str,
    input: &Map<String, Value>,
    said: &Map<String, Value>,
) -> Map<String, Value> {
    let mut context = said.clone();
    // The agent's own statement about it does not count.
    for ours in ["paths", "files", "git", "moved", "confines"] {
        context.remove(ours);
    }
    let Some(folder) = said.get("cwd").and_then(Value::as_str) else { return context };
    if !folder.starts_with('/') || own_to_a_process(Path::new(folder)) {
        return context;
    }
    let Ok(folder) = std::fs::canonicalize(folder) else { return context };
    let named = named(tool, input);
    // It names folders that `cd` searches first.
    let moves = named.as_ref().is_some_and(|named| named.moved);
    if moves && std::env::var_os("CDPATH").is_some_and(|path| !path.is_empty()) {
        return context;
    }
    let moved = named.as_ref().and_then(|named| named.folder.as_deref());
    let folder = match moved {
        None => folder,
        // Nothing can run in a folder that does not exist.
        Some(moved) => match resolved(moved, &folder).filter(|folder| folder.is_dir()) {
            Some(folder) => folder,
            None => return context,
        },
    };
    let Some(text) = folder.to_str() else { return context };
    context.insert("cwd".to_owned(), json!(text));
    if moves {
        context.insert("moved".to_owned(), json!(moved));
    }
    let Some(named) = named else { return context };
    // It names a file with more options, which may include a program.
    if named.programs.contains("rg") && std::env::var_os("RIPGREP_CONFIG_PATH").is_some() {
        return context;
    }
    let command = !named.programs.is_empty();
    if command && own_programs(&folder, std::env::var_os("PATH").as_deref()) {
        return context;
    }
    let mut paths = Map::new();
    let mut files = Vec::new();
    let mut size = 0_usize;
    for text in &named.texts {
        // Some agents read such a path as another one.
        let read_otherwise = !command && (text.trim() != text || is_address(text));
        let path = resolved(text, &folder)
            .filter(|_| !read_otherwise)
            .filter(|path| !(named.files.contains(text) && path.is_dir()));
        let path = path.and_then(|path| path.into_os_string().into_string().ok());
        size += text.len() + path.as_ref().map_or(0, String::len);
        if let Some(path) = path {
            if command && text.contains(['/', '.']) && Path::new(&path).exists() {
                size += text.len();
                files.push(Value::String(text.clone()));
            }
            paths.insert(text.clone(), Value::String(path));
        }
    }
    if size > MOST {
        return context;
    }
    context.insert("paths".to_owned(), Value::Object(paths));
    // Only existing files may stand for other files when the command is remembered.
    if !files.is_empty() {
        context.insert("files".to_owned(), Value::Array(files));
    }
    if named.asks_git() {
        let git = git::look(&folder, &|name| std::env::var_os(name));
        context.insert("git".to_owned(), json!(git));
    }
    context
}

/// Whether a text begins like a URL, such as `file:`.
fn is_address(text: &str) -> bool {
    text.split('/').next().is_some_and(|first| first.contains(':'))
}

/// Whether a program may come from the project itself, where an edit could have put it. Programs in folders that edits
/// may not change are fine.
fn own_programs(folder: &Path, path: Option<&std::ffi::OsStr>) -> bool {
    const HELD: [&str; 3] = [".venv", "venv", "node_modules"];
    let top = folder.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(folder);
    std::env::split_paths(path.unwrap_or_default()).any(|entry| {
        let inside = std::fs::canonicalize(&entry).unwrap_or_else(|_| entry.clone()).starts_with(top);
        let held = entry.iter().any(|part| HELD.iter().any(|name| part == *name));
        entry.is_relative() || (inside && !held)
    })
}

fn own_to_a_process(path: &Path) -> bool {
    // Memory that is shared as files exists for all of them.
    path.starts_with("/proc")
        || (path.starts_with("/dev") && path != Path::new("/dev") && !path.starts_with("/dev/shm"))
}

/// Where a text leads from a resolved folder. None if that depends on more than the current files.
fn resolved(text: &str, folder: &Path) -> Option<PathBuf> {
    let wild = text.contains(['*', '?', '[', '{', '(']);
    let climbs = text.contains("..") || text.contains("[.");
    let odd = text.len() > LONGEST || text.chars().any(char::is_control) || text.contains("://");
    // Some programs read it as a home folder, others as a folder of that name.
    if odd || text.starts_with('~') || (wild && climbs) {
        return None;
    }
    let text = Path::new(text);
    let mut at = folder.to_owned();
    for part in text.components() {
        match part {
            Component::RootDir => at = PathBuf::from("/"),
            Component::CurDir => {}
            Component::ParentDir => {
                at.pop();
            }
            Component::Normal(name) => {
                at.push(name);
                // The content differs from process to process.
                if own_to_a_process(&at) {
                    return None;
                }
                match std::fs::symlink_metadata(&at) {
                    // The target of a dangling link can be created anywhere later.
                    Ok(found) if found.is_symlink() => at = std::fs::canonicalize(&at).ok()?,
                    Ok(_) => {}
                    Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                    Err(_) => return None,
                }
            }
            Component::Prefix(_) => return None,
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use placet_hooks::Event;

    use super::*;

    fn call(folder: &Path, tool: &str, input: &Value) -> Call {
        let context = Map::from_iter([
            ("cwd".to_owned(), json!(folder)),
            ("paths".to_owned(), json!({"x": "/said/by/the/agent"})),
            ("git".to_owned(), json!({"runs": []})),
            ("moved".to_owned(), json!("sub")),
        ]);
        Call {
            event: Event::ClaudePreToolUse,
            session: "s".to_owned(),
            tool: tool.to_owned(),
            input: input.as_object().unwrap().clone(),
            call_id: None,
            turn: None,
            permission_mode: None,
            context,
        }
    }

    fn said(folder: &Path, tool: &str, input: &Value) -> Value {
        Value::Object(placed(&call(folder, tool, input)).context)
    }

    #[test]
    fn links_are_followed_and_what_is_not_there_yet_stays_where_it_would_be() {
        let home = tempfile::tempdir().unwrap();
        let top = std::fs::canonicalize(home.path()).unwrap();
        std::fs::create_dir_all(top.join("app/src")).unwrap();
        std::fs::create_dir_all(top.join("secret")).unwrap();
        symlink(top.join("secret"), top.join("app/out")).unwrap();
        symlink(top.join("nowhere"), top.join("app/dangling")).unwrap();
        symlink("loop", top.join("app/loop")).unwrap();
        symlink(top.join("app"), top.join("alias")).unwrap();
        let app = top.join("app");
        let path = |text: &str| {
            let said = said(&top.join("alias"), "Read", &json!({"file_path": text}));
            assert_eq!(said["cwd"], json!(app));
            said["paths"].get(text).cloned()
        };
        assert_eq!(path("src/new/x.rs"), Some(json!(app.join("src/new/x.rs"))));
        assert_eq!(path("out/key"), Some(json!(top.join("secret/key"))));
        assert_eq!(path("src/../../secret"), Some(json!(top.join("secret"))));
        // The folder above where a link leads, and not above the link.
        assert_eq!(path("out/.."), Some(json!(top)));
        assert_eq!(path("dangling"), None);
        assert_eq!(path("loop/x"), None);
        assert_eq!(path("file:///etc/passwd"), None);
        assert_eq!(path("*/../x"), None);
        assert_eq!(path("{..,src}/x"), None);
        assert_eq!(path("[.][.]/x"), None);
        assert_eq!(path("~/app/a"), None);
        assert_eq!(path("/dev/fd/../cwd/x"), None);
        assert_eq!(path("/proc/self/cwd/x"), None);
        assert_eq!(path(""), Some(json!(app)));
    }

    #[test]
    fn paths_that_agents_read_otherwise_are_not_resolved() {
        let home = tempfile::tempdir().unwrap();
        let top = std::fs::canonicalize(home.path()).unwrap();
        for text in [" /etc/hosts", "x ", "\u{a0}x", "file:/etc/hosts", "FILE:x", "vscode-x:/y"] {
            for tool in ["Read", "Write"] {
                let said = said(&top, tool, &json!({"file_path": text, "content": ""}));
                assert_eq!(said["paths"].get(text), None, "{tool} {text:?}");
            }
        }
        let said = said(&top, "Bash", &json!({"command": "git show HEAD:x"}));
        assert_eq!(said["paths"]["HEAD:x"], json!(top.join("HEAD:x")));
    }

    #[test]
    fn a_path_with_programs_of_the_project_is_noticed() {
        let home = tempfile::tempdir().unwrap();
        let top = std::fs::canonicalize(home.path()).unwrap();
        std::fs::create_dir_all(top.join("app/.git")).unwrap();
        std::fs::create_dir_all(top.join("app/src")).unwrap();
        let noticed = |path: &str| own_programs(&top.join("app/src"), Some(path.as_ref()));
        let app = top.join("app").display().to_string();
        assert!(!noticed(&format!("/usr/bin:/bin:{app}/.venv/bin:{app}/node_modules/.bin")));
        for own in [format!("/bin:{app}/bin"), app.clone(), "/bin:".to_owned(), "bin:/bin".to_owned()] {
            assert!(noticed(&own), "{own}");
        }
    }

    #[test]
    fn a_command_runs_where_its_argument_sends_it() {
        let home = tempfile::tempdir().unwrap();
        let top = std::fs::canonicalize(home.path()).unwrap();
        std::fs::create_dir_all(top.join("app/sub")).unwrap();
        let said = |input: Value| said(&top.join("app"), "bash", &input);
        let sub = said(json!({"command": "cat x", "workdir": "sub"}));
        assert_eq!(
            (&sub["cwd"], &sub["paths"]["x"]),
            (&json!(top.join("app/sub")), &json!(top.join("app/sub/x")))
        );
        let above = said(json!({"command": "ls", "workdir": ".."}));
        assert_eq!(above["cwd"], json!(top));
        let moved = said(json!({"command": "cd sub && cat x"}));
        assert_eq!(
            (&moved["cwd"], &moved["moved"], &moved["paths"]["x"]),
            (&json!(top.join("app/sub")), &json!("sub"), &json!(top.join("app/sub/x")))
        );
        assert_eq!(said(json!({"command": "ls", "workdir": "sub"})).get("moved"), None);
        for unknown in [
            json!({"command": "ls", "workdir": "none"}),
            // An argument that the tool does not look at.
            json!({"command": "ls", "cwd": "sub"}),
            json!({"command": "ls $X"}),
            json!({"command": "cd none && ls"}),
            json!({"command": "cd sub; cat x"}),
            json!({"command": "cd sub && ls", "workdir": "sub"}),
        ] {
            let said = said(unknown.clone());
            assert_eq!((said.get("paths"), said.get("git")), (None, None), "{unknown}");
        }
        assert_eq!(said(json!({"command": "ls"})).get("git"), None);
        assert_eq!(said(json!({"command": "git status"}))["git"], json!({"repository": null, "runs": []}));
        // It runs git to find the repository.
        assert_eq!(said(json!({"command": "gh pr view 1"}))["git"], json!({"repository": null, "runs": []}));
    }
}
