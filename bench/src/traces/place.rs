//! Where a call happened, from its text alone. `placet hook` would look at the files, which are not available here.

use placet_policy::named;
use serde_json::{Map, Value, json};

/// The context that `placet hook` would send if there were no links.
pub(super) fn context(
    tool: &str,
    input: &Map<String, Value>,
    folder: &str,
    roots: &[String],
) -> Map<String, Value> {
    let mut context = Map::new();
    context.insert("cwd".to_owned(), json!(folder));
    let Some(named) = named(tool, input) else { return context };
    let folder = match &named.folder {
        Some(moved) => resolved(moved, folder),
        None => Some(folder.to_owned()),
    };
    let Some(folder) = folder else { return context };
    let paths: Map<String, Value> = named
        .texts
        .iter()
        .filter_map(|text| Some((text.clone(), Value::String(resolved(text, &folder)?))))
        .collect();
    context.insert("cwd".to_owned(), Value::String(folder));
    if named.moved {
        context.insert("moved".to_owned(), json!(named.folder));
    }
    context.insert("paths".to_owned(), Value::Object(paths));
    if named.asks_git() {
        let root = context.get("cwd").and_then(Value::as_str).and_then(|cwd| holding(roots, cwd));
        context.insert("git".to_owned(), json!({"repository": root, "runs": []}));
    }
    context
}

/// The nearest of these folders that holds this one.
fn holding<'r>(roots: &'r [String], folder: &str) -> Option<&'r str> {
    let holds = |root: &&String| {
        folder.strip_prefix(root.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    roots.iter().filter(holds).max_by_key(|root| root.len()).map(String::as_str)
}

/// The same as the hook does, without what only the files could tell.
fn resolved(text: &str, folder: &str) -> Option<String> {
    let wild = text.contains(['*', '?', '[', '{', '(']);
    let climbs = text.contains("..") || text.contains("[.");
    if text.chars().any(char::is_control)
        || text.contains("://")
        || text.starts_with('~')
        || (wild && climbs)
        || text.starts_with("/proc")
    {
        return None;
    }
    let mut at: Vec<&str> = Vec::new();
    if !text.starts_with('/') {
        at.extend(folder.split('/').filter(|part| !part.is_empty()));
    }
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                at.pop();
            }
            part => at.push(part),
        }
    }
    Some(format!("/{}", at.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_from_the_folder_of_the_call() {
        let input = json!({"command": "cat ../x /etc/hosts ./a/./b", "workdir": "sub"});
        let made = context("bash", input.as_object().unwrap(), "/w", &["/w".to_owned()]);
        assert_eq!(made["cwd"], json!("/w/sub"));
        assert_eq!(
            made["paths"],
            json!({"../x": "/w/x", "/etc/hosts": "/etc/hosts", "./a/./b": "/w/sub/a/b"})
        );
        assert_eq!(resolved("~/x", "/w"), None);
    }
}
