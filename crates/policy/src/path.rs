//! Where in the arguments a matcher looks: `to.iban`, `files[0]`, `files[*].path`, a JSON pointer, or everywhere (`**`).

use serde_json::{Map, Value};

use crate::{
    glob::Name,
    work::{Tri, Trouble, WorkBudget},
};

/// Most steps in one path.
pub(crate) const STEPS: usize = 32;

/// One step from a value to a value inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// A key of an object.
    Key(Box<str>),
    /// A place in a list.
    Index(usize),
    /// A step of a JSON pointer: a key, and of lists a place.
    Token(Box<str>, Option<usize>),
    /// Every element of a list.
    Each,
}

/// A path, split once when the policy is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    steps: Vec<Step>,
    /// `**`: every value that has none inside it, under keys of these names in lower case, or under any.
    deep: Option<Vec<Name>>,
}

/// What `[*]` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Each {
    /// Every element must match: what an allow rule needs.
    Every,
    /// One is enough: so that a hold or deny rule is not escaped by adding an element.
    Any,
}

impl Path {
    /// Reads a path; the error says what is wrong with it.
    pub(crate) fn read(text: &str) -> Result<Self, &'static str> {
        if let Some(names) = text.strip_prefix("**") {
            let names = match names.strip_prefix('.') {
                None if names.is_empty() => Vec::new(),
                None => return Err("after `**` stands nothing, or a dot and names of keys"),
                Some(names) => names
                    .split('|')
                    .map(|name| Name::read(name).map(|name| name.to_lower()))
                    .collect::<Result<_, _>>()?,
            };
            return Ok(Self { steps: Vec::new(), deep: Some(names) });
        }
        let steps = if text.starts_with('/') { pointer(text)? } else { dotted(text)? };
        if steps.len() > STEPS { Err("it has more than 32 steps") } else { Ok(Self { steps, deep: None }) }
    }

    /// Reads a JSON pointer to a single value.
    pub(crate) fn read_pointer(text: &str) -> Result<Self, &'static str> {
        if !text.starts_with('/') {
            return Err("a JSON pointer starts with `/`");
        }
        let path = Self::read(text)?;
        if path.steps.contains(&Step::Each) { Err("it must name one value, not `[*]`") } else { Ok(path) }
    }

    /// Whether it looks everywhere.
    pub(crate) const fn is_deep(&self) -> bool {
        self.deep.is_some()
    }

    /// The name of the argument that it leads into.
    pub(crate) fn first(&self) -> Option<&str> {
        match self.steps.first()? {
            Step::Key(key) | Step::Token(key, _) => Some(key),
            Step::Index(_) | Step::Each => None,
        }
    }

    /// The one value at the path.
    pub(crate) fn find<'a>(&self, arguments: &'a Map<String, Value>) -> Option<&'a Value> {
        let (first, rest) = self.steps.split_first()?;
        rest.iter().try_fold(enter_map(arguments, first)?, |value, step| enter(value, step))
    }

    /// Puts the value or values at the path to a test; `None` stands for nothing there.
    pub(crate) fn test<'a>(
        &self,
        arguments: &'a Map<String, Value>,
        each: Each,
        work: &WorkBudget<'a>,
        test: &impl Fn(Option<&'a Value>) -> Tri,
    ) -> Tri {
        if let Some(names) = &self.deep {
            return everywhere(arguments, names, each, work, test);
        }
        match self.steps.split_first() {
            None => Tri::Error(Trouble::Missing),
            Some((first, rest)) => walk(enter_map(arguments, first), rest, each, work, test),
        }
    }
}

/// Puts every value under such keys to a test, at any depth; a list of words also as a whole. Nothing there matches nothing.
fn everywhere<'a>(
    arguments: &'a Map<String, Value>,
    names: &[Name],
    each: Each,
    work: &WorkBudget<'a>,
    test: &impl Fn(Option<&'a Value>) -> Tri,
) -> Tri {
    let named =
        |key: &str| names.is_empty() || names.iter().any(|name| name.matches(&key.to_ascii_lowercase()));
    let mut left: Vec<(&'a Value, bool)> = arguments.iter().map(|(key, value)| (value, named(key))).collect();
    let mut sum = None;
    while let Some((value, inside)) = left.pop() {
        let is = match work.spend(10) {
            Err(trouble) => return Tri::Error(trouble),
            Ok(()) => match value {
                Value::Object(map) => {
                    left.extend(map.iter().map(|(key, value)| (value, inside || named(key))));
                    continue;
                }
                Value::Array(list) => {
                    left.extend(list.iter().map(|value| (value, inside)));
                    if each == Each::Every || !inside || list.is_empty() || !list.iter().all(Value::is_string)
                    {
                        continue;
                    }
                    test(Some(value))
                }
                _ if !inside => continue,
                _ => test(Some(value)),
            },
        };
        match (each, is, sum) {
            (Each::Any, Tri::Yes, _) => return Tri::Yes,
            (Each::Every, Tri::No, _) => return Tri::No,
            (_, Tri::Error(_), None | Some(Tri::Yes | Tri::No)) | (_, _, None) => sum = Some(is),
            _ => {}
        }
    }
    match (each, sum) {
        (_, Some(sum)) => sum,
        (Each::Any, None) => Tri::No,
        (Each::Every, None) => Tri::Error(Trouble::EmptyList),
    }
}

fn enter_map<'a>(map: &'a Map<String, Value>, step: &Step) -> Option<&'a Value> {
    match step {
        Step::Key(key) | Step::Token(key, _) => map.get(&**key),
        Step::Index(_) | Step::Each => None,
    }
}

fn enter<'a>(value: &'a Value, step: &Step) -> Option<&'a Value> {
    match (value, step) {
        (Value::Object(map), step) => enter_map(map, step),
        (Value::Array(list), Step::Index(index) | Step::Token(_, Some(index))) => list.get(*index),
        _ => None,
    }
}

fn walk<'a>(
    mut at: Option<&'a Value>,
    steps: &[Step],
    each: Each,
    work: &WorkBudget<'a>,
    test: &impl Fn(Option<&'a Value>) -> Tri,
) -> Tri {
    let mut steps = steps.iter();
    while let Some(step) = steps.next() {
        if *step != Step::Each {
            at = at.and_then(|value| enter(value, step));
            continue;
        }
        let list = match at {
            Some(Value::Array(list)) if list.is_empty() => return Tri::Error(Trouble::EmptyList),
            Some(Value::Array(list)) => list,
            Some(_) => return Tri::Error(Trouble::Type("a list")),
            None => return Tri::Error(Trouble::Missing),
        };
        let rest = steps.as_slice();
        let elements = list.iter().map(|element| match work.spend(30) {
            Ok(()) => walk(Some(element), rest, each, work, test),
            Err(trouble) => Tri::Error(trouble),
        });
        return match each {
            Each::Every => Tri::every(elements),
            Each::Any => Tri::every(elements.map(Tri::not)).not(),
        };
    }
    test(at)
}

fn pointer(text: &str) -> Result<Vec<Step>, &'static str> {
    text.split('/')
        .skip(1)
        .map(|token| {
            if token == "[*]" {
                return Ok(Step::Each);
            }
            let mut rest = token.split('~');
            rest.next();
            if rest.any(|after| !after.starts_with(['0', '1'])) {
                return Err("in a JSON pointer `~` is written `~0` and `/` is written `~1`");
            }
            let key = token.replace("~1", "/").replace("~0", "~");
            let index = number(&key);
            Ok(Step::Token(key.into(), index))
        })
        .collect()
}

fn dotted(text: &str) -> Result<Vec<Step>, &'static str> {
    let mut steps = Vec::new();
    for part in text.split('.') {
        let (key, mut rest) = part.split_once('[').map_or((part, None), |(key, rest)| (key, Some(rest)));
        if key.is_empty() {
            return Err("it has an empty key; a key that holds a dot needs a JSON pointer, such as `/a.b`");
        }
        if key.contains(']') {
            return Err("a `]` without `[`; use a JSON pointer for unusual keys");
        }
        steps.push(Step::Key(key.into()));
        while let Some(bracket) = rest {
            let (inside, after) = bracket.split_once(']').ok_or("a `[` is not closed")?;
            steps.push(match inside {
                "*" => Step::Each,
                inside => {
                    Step::Index(number(inside).ok_or("in brackets stands `*` or a place counted from 0")?)
                }
            });
            rest = match after {
                "" => None,
                after => Some(after.strip_prefix('[').ok_or("after `]` comes `.` or `[`")?),
            };
        }
    }
    Ok(steps)
}

/// A place in a list, as JSON pointers write it: no sign, no leading zero.
fn number(text: &str) -> Option<usize> {
    let plain = text == "0" || (!text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()));
    plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn find(path: &str, value: &Value) -> Option<Value> {
        Path::read(path).unwrap().find(value.as_object().unwrap()).cloned()
    }

    fn all_ones(path: &str, value: &Value, each: Each) -> Tri {
        Path::read(path).unwrap().test(value.as_object().unwrap(), each, &WorkBudget::new(), &|at| {
            at.map_or(Tri::Error(Trouble::Missing), |at| Tri::of(*at == json!(1)))
        })
    }

    #[test]
    fn dotted_paths_and_pointers_lead_to_the_same_place() {
        let value = json!({"a": {"b": [{"c": 1}]}, "x.y": 2, "m~n/o": 3, "0": 4});
        assert_eq!(find("a.b[0].c", &value), Some(json!(1)));
        assert_eq!(find("/a/b/0/c", &value), Some(json!(1)));
        assert_eq!(find("/x.y", &value), Some(json!(2)));
        assert_eq!(find("x.y", &value), None);
        assert_eq!(find("/m~0n~1o", &value), Some(json!(3)));
        assert_eq!(find("/0", &value), Some(json!(4)));
        assert_eq!(find("/a/b/00/c", &value), None);
    }

    #[test]
    fn each_element_must_match_or_one_of_them() {
        let value = json!({"l": [1, 1], "m": [1, 2], "n": [2, 2], "e": [], "s": "x", "o": [{"k": 1}, {}]});
        assert_eq!(all_ones("l[*]", &value, Each::Every), Tri::Yes);
        assert_eq!(all_ones("m[*]", &value, Each::Every), Tri::No);
        assert_eq!(all_ones("m[*]", &value, Each::Any), Tri::Yes);
        assert_eq!(all_ones("n[*]", &value, Each::Any), Tri::No);
        for each in [Each::Every, Each::Any] {
            assert_eq!(all_ones("e[*]", &value, each), Tri::Error(Trouble::EmptyList));
            assert_eq!(all_ones("s[*]", &value, each), Tri::Error(Trouble::Type("a list")));
            assert_eq!(all_ones("none[*]", &value, each), Tri::Error(Trouble::Missing));
        }
        assert_eq!(all_ones("o[*].k", &value, Each::Every), Tri::Error(Trouble::Missing));
        assert_eq!(all_ones("/o/[*]/k", &value, Each::Any), Tri::Yes);
    }

    #[test]
    fn two_stars_are_every_value_at_any_depth() {
        let value = json!({"a": {"b": [1, {"Total": 2}]}, "c": [[1]], "s": "x"});
        assert_eq!(all_ones("**", &value, Each::Any), Tri::Yes);
        assert_eq!(all_ones("**", &value, Each::Every), Tri::No);
        assert_eq!(all_ones("**.total", &value, Each::Every), Tri::No);
        assert_eq!(all_ones("**.c|none", &value, Each::Every), Tri::Yes);
        assert_eq!(all_ones("**.b", &value, Each::Any), Tri::Yes, "also what stands inside such a value");
        assert_eq!(all_ones("**.*ot*", &value, Each::Any), Tri::No);
        assert_eq!(all_ones("**.none", &value, Each::Any), Tri::No);
        assert_eq!(all_ones("**.none", &value, Each::Every), Tri::Error(Trouble::EmptyList));
        let large = json!({"l": vec![vec![2; 200]; 200]});
        assert_eq!(all_ones("**", &large, Each::Any), Tri::Error(Trouble::Work));
    }

    #[test]
    fn malformed_paths_are_refused() {
        for bad in [
            "",
            "a..b",
            ".a",
            "a.",
            "a[",
            "a[x]",
            "a[1",
            "a[0]b",
            "a]",
            "[0]",
            "a[01]",
            "/a~2",
            "/a~",
            "**x",
            "**.",
            "**.a||b",
            &"a.".repeat(40),
        ] {
            assert!(Path::read(bad).is_err(), "{bad}");
        }
        assert!(Path::read_pointer("a").is_err());
        assert!(Path::read_pointer("/a/[*]").is_err());
    }

    #[test]
    fn a_walk_over_endless_lists_ends_when_the_budget_does() {
        let value = json!({"l": vec![vec![1; 300]; 300]});
        assert_eq!(all_ones("l[*][*]", &value, Each::Every), Tri::Error(Trouble::Work));
    }

    #[test]
    fn a_path_may_have_32_steps() {
        let dotted = |count: usize| vec!["a"; count].join(".");
        assert!(Path::read(&dotted(STEPS)).is_ok() && Path::read(&dotted(STEPS + 1)).is_err());
        let pointer = |count: usize| "/a".repeat(count);
        assert!(Path::read(&pointer(STEPS)).is_ok() && Path::read(&pointer(STEPS + 1)).is_err());
        assert!(Path::read(&pointer(STEPS + 5)).is_err());
    }
}
