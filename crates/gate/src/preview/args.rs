//! The name of a tool as words, and its arguments as something that is asked for by name, each at most once.

use placet_core::{Segment, pointer, show};
use serde_json::{Map, Value};

use super::shown::ShownValue;

/// The words of a tool's own name: `mcp__files__deleteFile` is `delete`, `file`.
pub(super) struct Name {
    words: Vec<String>,
    /// The whole name with that of its server, in small letters.
    whole: String,
}

impl Name {
    pub(super) fn new(tool: &str) -> Self {
        let own = tool.rsplit(['/', ':', '.']).next().unwrap_or(tool);
        let own = own.rsplit("__").next().unwrap_or(own);
        let mut words: Vec<String> = Vec::new();
        let mut word = String::new();
        let mut lower = false;
        for letter in own.chars() {
            if !letter.is_ascii_alphanumeric() {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                lower = false;
                continue;
            }
            if letter.is_ascii_uppercase() && lower {
                words.push(std::mem::take(&mut word));
            }
            lower = !letter.is_ascii_uppercase();
            word.push(letter.to_ascii_lowercase());
        }
        words.extend((!word.is_empty()).then_some(word));
        Self { words, whole: tool.to_ascii_lowercase() }
    }

    /// Whether this is one of the words of its server's name or of its own.
    pub(super) fn is_of(&self, server: &str) -> bool {
        self.whole.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|word| word == server)
            || self.words.iter().any(|word| word == server)
    }

    /// Whether one of these is among its words.
    pub(super) fn has(&self, any: &[&str]) -> bool {
        self.words.iter().any(|word| any.contains(&word.as_str()))
    }

    /// Whether it is exactly one of these, written with underscores.
    pub(super) fn one_of(&self, names: &[&str]) -> bool {
        let own = self.words.join("_");
        names.contains(&own.as_str())
    }

    /// Whether its first word is one of these.
    pub(super) fn begins(&self, any: &[&str]) -> bool {
        self.words.first().is_some_and(|word| any.contains(&word.as_str()))
    }
}

/// What an argument is; none where that is not clear, which is not the same as an argument that is not there.
pub(super) type Clear<T> = Option<T>;

/// The arguments of a call, and which of them were understood.
#[derive(Clone)]
pub(super) struct Args<'a> {
    map: &'a Map<String, Value>,
    used: Vec<&'a str>,
    /// The values that the preview is to show whole, with their places.
    pub(super) whole: Vec<ShownValue>,
}

impl<'a> Args<'a> {
    pub(super) fn new(map: &'a Map<String, Value>) -> Self {
        Self { map, used: Vec::new(), whole: Vec::new() }
    }

    /// All of them.
    pub(super) fn all(&self) -> &'a Map<String, Value> {
        self.map
    }

    /// The names of those that were not asked for.
    pub(super) fn unknown(&self) -> Vec<&'a str> {
        self.map.keys().map(String::as_str).filter(|key| !self.used.contains(key)).collect()
    }

    /// The argument with one of these names. Two of them are one too many: who knows which one counts?
    pub(super) fn maybe(&mut self, keys: &[&str]) -> Clear<Option<(&'a str, &'a Value)>> {
        let mut found = self.map.iter().filter(|(key, _)| keys.contains(&key.as_str()));
        match (found.next(), found.next()) {
            (None, _) => Some(None),
            (Some((key, value)), None) => {
                self.used.push(key);
                Some((!value.is_null()).then_some((key.as_str(), value)))
            }
            _ => None,
        }
    }

    /// Says that the preview has this text whole. The way begins at the arguments.
    pub(super) fn show_whole(&mut self, way: &[Segment<'_>], text: &str) {
        self.whole.push(ShownValue { pointer: pointer(way), drawn: show(text) });
    }

    /// Text under one of these names, which the preview has whole.
    pub(super) fn text(&mut self, keys: &[&str]) -> Option<&'a str> {
        self.maybe_text(keys)?
    }

    /// Text under one of these names, or nothing there; anything else is not what was meant.
    pub(super) fn maybe_text(&mut self, keys: &[&str]) -> Clear<Option<&'a str>> {
        let Some((key, value)) = self.maybe(keys)? else { return Some(None) };
        let text = value.as_str()?;
        self.show_whole(&[Segment::Key(key)], text);
        Some(Some(text))
    }

    /// One text or a list of texts under one of these names; nothing there is an empty list.
    pub(super) fn texts(&mut self, keys: &[&str]) -> Option<Vec<&'a str>> {
        match self.maybe(keys)? {
            None => Some(Vec::new()),
            Some((key, Value::String(text))) => {
                self.show_whole(&[Segment::Key(key)], text);
                Some(vec![text])
            }
            Some((key, Value::Array(items))) => {
                let texts: Vec<&str> = items.iter().map(Value::as_str).collect::<Option<_>>()?;
                for (index, text) in texts.iter().enumerate() {
                    self.show_whole(&[Segment::Key(key), Segment::Index(index)], text);
                }
                Some(texts)
            }
            Some(_) => None,
        }
    }
}

/// Names under which a call says which file it is about.
pub(super) const PATH: &[&str] =
    &["path", "file_path", "filePath", "filename", "file_name", "file", "target_file", "absolute_path"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_taken_apart_at_every_habit_of_writing_them() {
        for tool in
            ["delete_file", "DeleteFile", "fs.deleteFile", "mcp__files__delete-file", "a/b:delete_file"]
        {
            assert!(Name::new(tool).one_of(&["delete_file"]), "{tool}");
        }
        assert!(Name::new("Bash").one_of(&["bash"]));
        assert!(!Name::new("undelete_profile").has(&["delete", "file"]));
    }

    #[test]
    fn two_names_for_one_thing_are_one_too_many() {
        let both = json!({"path": "a", "file": "b"});
        assert_eq!(Args::new(both.as_object().unwrap()).text(PATH), None);
        let one = json!({"path": "a", "x": 1});
        let mut args = Args::new(one.as_object().unwrap());
        assert_eq!((args.text(PATH), args.unknown()), (Some("a"), vec!["x"]));
    }
}
