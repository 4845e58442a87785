//! A workspace for tests: paths are resolved by their letters alone, as on a file system without links.

use placet_policy::named;
use serde_json::{Map, Value, json};

/// The agent's folder, in which every call of the tests happens.
pub(crate) const ROOT: &str = "/srv/app";

/// What the hook program would say of a call in a folder.
pub(crate) fn context(tool: &str, arguments: &Value, folder: &str) -> Map<String, Value> {
    let Some(named) = arguments.as_object().and_then(|arguments| named(tool, arguments)) else {
        return Map::from_iter([("cwd".to_owned(), json!(folder))]);
    };
    let moved = named.folder.clone().filter(|_| named.moved);
    let folder = named.folder.map_or_else(|| folder.to_owned(), |other| resolved(&other, folder));
    let paths = named.texts.iter().map(|text| (text.clone(), json!(resolved(text, &folder))));
    let paths = paths.collect::<Map<_, _>>();
    let git = json!({"repository": ROOT, "runs": []});
    Map::from_iter([
        ("cwd".to_owned(), json!(folder)),
        ("paths".to_owned(), Value::Object(paths)),
        ("git".to_owned(), git),
        ("moved".to_owned(), json!(moved)),
    ])
}

fn resolved(text: &str, folder: &str) -> String {
    let text = text.strip_prefix('~').map_or_else(|| text.to_owned(), |rest| format!("/home/ann{rest}"));
    let whole = if text.starts_with('/') { text } else { format!("{folder}/{text}") };
    let mut path: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    format!("/{}", path.join("/"))
}
