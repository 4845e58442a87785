//! What a matcher asks of one value: equals, in, prefix, ranges, under, host_in, matches, shell, exists, not.

mod host;
mod under;

use std::{cmp::Ordering, collections::HashSet};

use serde_json::Value;

pub(crate) use host::Hosts;
pub use host::host_of;
pub(crate) use under::Roots;

use crate::{
    pattern::Pattern,
    shell::Patterns,
    work::{Tri, Trouble, WorkBudget},
};

/// Everything one matcher asks; all of it must hold.
#[derive(Debug)]
pub(crate) struct Matcher {
    pub(crate) tests: Vec<Test>,
}

/// One question about a value.
#[derive(Debug)]
pub(crate) enum Test {
    Equals(Value),
    In(Among),
    Prefix(Box<str>),
    Range(Bound, f64),
    Under(Roots),
    HostIn(Hosts),
    Matches(Box<Pattern>),
    /// In a place that permits (an allow rule): every command must match.
    ShellAllows(Box<Patterns>),
    /// In a place that restricts (a hold or deny rule): any command may.
    ShellMentions(Box<Patterns>),
    Exists(bool),
    /// So many bytes at most; of a list of words, all together.
    MaxLength(usize),
    Not(Matcher),
}

/// Which side of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    Min,
    Max,
    Above,
    Below,
}

/// A list of values, with the common types in a set.
#[derive(Debug, Default)]
pub(crate) struct Among {
    texts: HashSet<Box<str>>,
    others: Vec<Value>,
}

impl Matcher {
    /// What it says of the value; `None` stands for nothing there.
    pub(crate) fn test<'a>(&self, value: Option<&'a Value>, work: &WorkBudget<'a>) -> Tri {
        if let Err(trouble) = work.spend(20) {
            return Tri::Error(trouble);
        }
        Tri::every(self.tests.iter().map(|test| test.run(value, work)))
    }

    /// Whether it lets commands go to other folders.
    pub(crate) fn moves(&self) -> bool {
        self.tests.iter().any(|test| matches!(test, Test::ShellAllows(patterns) if patterns.moves()))
    }

    /// What in a command keeps it from passing.
    pub(crate) fn obstacle<'a>(&self, value: &'a Value, work: &WorkBudget<'a>) -> Option<String> {
        self.tests.iter().find_map(|test| match test {
            Test::ShellAllows(patterns) => patterns.obstacle(&*work.analysis(value).ok()?),
            _ => None,
        })
    }

    /// Whether it asks about texts, and this is none, or one that cannot match. Only `**` passes over such values: it meets
    /// many, and most of them are not what the rule is about.
    pub(crate) fn passes_over<'a>(
        &self,
        value: Option<&'a Value>,
        work: &WorkBudget<'a>,
    ) -> Result<bool, Trouble> {
        let mut mentions = None;
        for test in &self.tests {
            match (test, value) {
                (Test::MaxLength(most), Some(value)) if length(value) > *most => return Ok(true),
                (Test::ShellMentions(patterns), _) => mentions = Some(patterns),
                (
                    Test::Prefix(_)
                    | Test::Under(_)
                    | Test::HostIn(_)
                    | Test::Matches(_)
                    | Test::ShellAllows(_)
                    | Test::MaxLength(_),
                    _,
                ) => {}
                _ => return Ok(false),
            }
        }
        match value {
            Some(Value::String(text)) => {
                work.spend(text.len())?;
                Ok(mentions.is_some_and(|patterns| !patterns.could_mention(text)))
            }
            // A command may be a list of words.
            Some(Value::Array(_)) => Ok(!self.looks_at_commands()),
            _ => Ok(true),
        }
    }

    /// Whether it asks no more than whether there is a value.
    pub(crate) fn asks_only_presence(&self) -> bool {
        self.tests.iter().all(|test| match test {
            Test::Exists(_) => true,
            Test::Not(inner) => inner.asks_only_presence(),
            _ => false,
        })
    }

    /// Whether it takes the value for a command line.
    pub(crate) fn looks_at_commands(&self) -> bool {
        self.tests.iter().any(|test| match test {
            Test::ShellAllows(_) | Test::ShellMentions(_) => true,
            Test::Not(inner) => inner.looks_at_commands(),
            _ => false,
        })
    }
}

impl Test {
    fn run<'a>(&self, value: Option<&'a Value>, work: &WorkBudget<'a>) -> Tri {
        match (self, value) {
            (Self::Exists(wanted), value) => Tri::of(value.is_some() == *wanted),
            (Self::Not(matcher), value) => matcher.test(value, work).not(),
            (_, None) => Tri::Error(Trouble::Missing),
            (test, Some(value)) => Tri::from_result(test.value(value, work)),
        }
    }

    fn value<'a>(&self, value: &'a Value, work: &WorkBudget<'a>) -> Result<bool, Trouble> {
        match self {
            Self::Equals(wanted) => {
                work.spend(size(wanted))?;
                equal(value, wanted)
            }
            Self::In(among) => among.holds(value, work),
            Self::Prefix(prefix) => Ok(text(value)?.starts_with(&**prefix)),
            Self::Range(bound, limit) => {
                let number = value.as_f64().ok_or(Trouble::Type("a number"))?;
                Ok(match bound {
                    Bound::Min => number >= *limit,
                    Bound::Max => number <= *limit,
                    Bound::Above => number > *limit,
                    Bound::Below => number < *limit,
                })
            }
            Self::Under(roots) => roots.hold(text(value)?, work),
            Self::HostIn(hosts) => hosts.hold(text(value)?, work),
            Self::Matches(pattern) => pattern.matches(text(value)?, work),
            Self::ShellAllows(patterns) => {
                let analysis = work.analysis(value)?;
                work.spend(length(value))?;
                Ok(patterns.allows(&analysis))
            }
            Self::ShellMentions(patterns) => {
                let analysis = work.analysis(value)?;
                work.spend(length(value))?;
                Ok(patterns.mentions(&analysis))
            }
            Self::MaxLength(most) => match value {
                Value::String(_) | Value::Array(_) => Ok(length(value) <= *most),
                _ => Err(Trouble::Type("a text")),
            },
            Self::Exists(_) | Self::Not(_) => Err(Trouble::Missing),
        }
    }
}

impl Among {
    pub(crate) fn new(values: Vec<Value>) -> Self {
        let mut among = Self::default();
        for value in values {
            match value {
                Value::String(text) => {
                    among.texts.insert(text.into());
                }
                other => among.others.push(other),
            }
        }
        among
    }

    fn holds(&self, value: &Value, work: &WorkBudget<'_>) -> Result<bool, Trouble> {
        let mut comparable = false;
        if let Value::String(text) = value {
            work.spend(text.len() / 16)?;
            comparable = !self.texts.is_empty();
            if self.texts.contains(text.as_str()) {
                return Ok(true);
            }
        }
        for other in &self.others {
            work.spend(size(other))?;
            match equal(value, other) {
                Ok(true) => return Ok(true),
                Ok(false) => comparable = true,
                Err(_) => {}
            }
        }
        // A value of a type that is not in the list at all cannot be said to be missing from it.
        if comparable { Ok(false) } else { Err(Trouble::Type("of a type that the list has")) }
    }
}

fn text(value: &Value) -> Result<&str, Trouble> {
    value.as_str().ok_or(Trouble::Type("a text"))
}

/// How long a command is, as text or as words.
fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(words) => words.iter().filter_map(Value::as_str).map(str::len).sum(),
        _ => 0,
    }
}

/// What comparing with a value of the policy can cost; the policy's side bounds it.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() / 16,
        Value::Array(list) => list.iter().map(size).sum::<usize>().saturating_add(5),
        Value::Object(map) => map.values().map(size).sum::<usize>().saturating_add(10),
        _ => 5,
    }
}

/// Whether two JSON values are the same; 1 and 1.0 are. Different types are an error, not a difference.
pub(crate) fn equal(left: &Value, right: &Value) -> Result<bool, Trouble> {
    match (left, right) {
        (Value::Null, Value::Null) => Ok(true),
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        (Value::String(left), Value::String(right)) => Ok(left == right),
        (Value::Number(left), Value::Number(right)) => Ok(number_equal(left, right)),
        (Value::Array(left), Value::Array(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            all(left.iter().zip(right))
        }
        (Value::Object(left), Value::Object(right)) => {
            if left.len() != right.len() || left.keys().any(|key| !right.contains_key(key)) {
                return Ok(false);
            }
            all(left.iter().filter_map(|(key, value)| Some((value, right.get(key)?))))
        }
        _ => Err(Trouble::Type("of the type it is compared with")),
    }
}

/// A difference anywhere decides; an error only where there is none.
fn all<'a>(pairs: impl Iterator<Item = (&'a Value, &'a Value)>) -> Result<bool, Trouble> {
    let mut trouble = None;
    for (left, right) in pairs {
        match equal(left, right) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => trouble = Some(error),
        }
    }
    trouble.map_or(Ok(true), Err)
}

fn number_equal(left: &serde_json::Number, right: &serde_json::Number) -> bool {
    match (left.as_i64(), right.as_i64()) {
        (Some(left), Some(right)) => left == right,
        _ => left
            .as_f64()
            .zip(right.as_f64())
            .is_some_and(|(left, right)| left.partial_cmp(&right) == Some(Ordering::Equal)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ask(test: Test, value: Option<Value>) -> Tri {
        // The budget borrows what it looks at for as long as it lives.
        let value: Option<&'static Value> = value.map(|value| &*Box::leak(Box::new(value)));
        Matcher { tests: vec![test] }.test(value, &WorkBudget::new())
    }

    fn is_error(tri: Tri) -> bool {
        matches!(tri, Tri::Error(_))
    }

    #[test]
    fn equals_compares_numbers_by_value_and_refuses_other_types() {
        let equals = |wanted: Value, is: Value| ask(Test::Equals(wanted), Some(is));
        assert_eq!(equals(json!(1), json!(1.0)), Tri::Yes);
        assert_eq!(equals(json!(1), json!(2)), Tri::No);
        assert_eq!(equals(json!({"a": [1, "x"]}), json!({"a": [1.0, "x"]})), Tri::Yes);
        assert_eq!(equals(json!({"a": 1}), json!({"a": 1, "b": 2})), Tri::No);
        assert_eq!(equals(json!([1, 2]), json!([1])), Tri::No);
        assert_eq!(equals(json!([1, "x"]), json!([2, 3])), Tri::No, "one difference decides");
        for other in [json!("1"), json!(true), json!(null), json!([1]), json!({})] {
            assert!(is_error(equals(json!(1), other)));
        }
        assert!(is_error(ask(Test::Equals(json!(1)), None)));
    }

    #[test]
    fn in_needs_a_value_of_a_type_the_list_has() {
        let among = || Test::In(Among::new(vec![json!("a"), json!("b"), json!(3)]));
        assert_eq!(ask(among(), Some(json!("a"))), Tri::Yes);
        assert_eq!(ask(among(), Some(json!("c"))), Tri::No);
        assert_eq!(ask(among(), Some(json!(3.0))), Tri::Yes);
        assert_eq!(ask(among(), Some(json!(4))), Tri::No);
        assert!(is_error(ask(among(), Some(json!(["a"])))));
        assert!(is_error(ask(Test::In(Among::new(vec![json!("a")])), Some(json!(1)))));
    }

    #[test]
    fn ranges_have_open_and_closed_ends() {
        let range = |bound, value: Value| ask(Test::Range(bound, 10.0), Some(value));
        assert_eq!(range(Bound::Min, json!(10)), Tri::Yes);
        assert_eq!(range(Bound::Above, json!(10)), Tri::No);
        assert_eq!(range(Bound::Max, json!(10.0)), Tri::Yes);
        assert_eq!(range(Bound::Below, json!(10)), Tri::No);
        assert_eq!(range(Bound::Below, json!(9.99)), Tri::Yes);
        assert_eq!(range(Bound::Min, json!(-1)), Tri::No);
        assert!(is_error(range(Bound::Min, json!("11"))));
    }

    #[test]
    fn not_turns_yes_and_no_around_and_leaves_errors() {
        let not = |value| ask(Test::Not(Matcher { tests: vec![Test::Prefix("a".into())] }), value);
        assert_eq!(not(Some(json!("b"))), Tri::Yes);
        assert_eq!(not(Some(json!("ab"))), Tri::No);
        assert!(is_error(not(Some(json!(1)))));
        assert!(is_error(not(None)));
    }

    #[test]
    fn exists_is_about_the_key_and_null_is_there() {
        assert_eq!(ask(Test::Exists(true), Some(json!(null))), Tri::Yes);
        assert_eq!(ask(Test::Exists(true), None), Tri::No);
        assert_eq!(ask(Test::Exists(false), None), Tri::Yes);
    }

    #[test]
    fn a_no_is_stronger_than_an_error_beside_it() {
        let matcher = Matcher { tests: vec![Test::Range(Bound::Above, 5.0), Test::Exists(true)] };
        assert_eq!(matcher.test(None, &WorkBudget::new()), Tri::No);
    }

    #[test]
    fn a_shell_matcher_reads_texts_and_lists_of_words() {
        let patterns = || -> Box<Patterns> {
            toml::from_str("allow = [ { program = \"git\", subcommand = \"status\", operands = \"any\" } ]")
                .unwrap()
        };
        assert_eq!(ask(Test::ShellAllows(patterns()), Some(json!("git status"))), Tri::Yes);
        assert_eq!(ask(Test::ShellAllows(patterns()), Some(json!(["git", "status"]))), Tri::Yes);
        assert_eq!(ask(Test::ShellAllows(patterns()), Some(json!("git status; rm x"))), Tri::No);
        assert!(is_error(ask(Test::ShellAllows(patterns()), Some(json!({"c": 1})))));
        assert!(is_error(ask(Test::ShellAllows(patterns()), Some(json!(["git", 1])))));
    }

    #[test]
    fn equals_tells_values_of_every_type_apart() {
        let equals = |wanted: Value, is: Value| ask(Test::Equals(wanted), Some(is));
        let pairs = [
            (json!(true), json!(false)),
            (json!("a"), json!("b")),
            (json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992_i64)),
            (json!(1.5), json!(1.25)),
            (json!([1, 2]), json!([2, 1])),
            (json!({"a": 1}), json!({"b": 1})),
            (json!({"a": 1}), json!({"a": 1, "b": 2})),
            (json!({"a": 1, "b": 2}), json!({"a": 1})),
            (json!({"a": {"b": true}}), json!({"a": {"b": false}})),
        ];
        for (left, right) in pairs {
            assert_eq!(equals(left.clone(), right.clone()), Tri::No, "{left} {right}");
            assert_eq!(equals(right.clone(), left.clone()), Tri::No, "{right} {left}");
            assert_eq!(equals(left.clone(), left.clone()), Tri::Yes, "{left}");
            assert_eq!(equals(right.clone(), right.clone()), Tri::Yes, "{right}");
        }
        assert_eq!(equals(json!(null), json!(null)), Tri::Yes);
        assert!(
            is_error(equals(json!([1, 1]), json!([1, "1"]))),
            "no difference, and one part of another type"
        );
    }

    /// What the test costs beyond the fixed price of a matcher.
    fn cost(test: Test, value: Value) -> u32 {
        let value: &'static Value = Box::leak(Box::new(value));
        let work = WorkBudget::new();
        Matcher { tests: vec![test] }.test(Some(value), &work);
        work.spent() - 20
    }

    #[test]
    fn a_comparison_costs_what_the_policy_wrote_and_not_what_the_agent_sent() {
        let long = "x".repeat(165);
        assert_eq!(cost(Test::Equals(json!(1)), json!(long)), 5);
        assert_eq!(cost(Test::Equals(json!(long)), json!(1)), 10);
        assert_eq!(cost(Test::Equals(json!([1, long])), json!(1)), 5 + 5 + 10);
        assert_eq!(cost(Test::Equals(json!({"a": 1, "b": [null]})), json!(1)), 10 + 5 + 10);
        assert_eq!(cost(Test::In(Among::new(vec![json!(1), json!({})])), json!(3)), 5 + 10);
    }

    #[test]
    fn a_text_and_a_command_cost_by_their_length() {
        assert_eq!(cost(Test::In(Among::new(vec![json!("a")])), json!("x".repeat(165))), 10);
        let patterns = || -> Box<Patterns> {
            toml::from_str("allow = [ { program = \"git\", subcommand = \"log\", operands = \"any\" } ]")
                .unwrap()
        };
        // Reading a command costs 20, and 20 for each byte and each word; looking at it 1 for each byte.
        for test in [Test::ShellAllows(patterns()), Test::ShellMentions(patterns())] {
            assert_eq!(cost(test, json!("git log")), 20 + 7 * 20 + 7);
        }
        for test in [Test::ShellAllows(patterns()), Test::ShellMentions(patterns())] {
            assert_eq!(cost(test, json!(["git", "log"])), 20 + 2 * 20 + 6 * 20 + 6);
        }
    }

    #[test]
    fn only_shell_tests_look_at_commands_also_inside_not() {
        let shell = || Test::ShellMentions(toml::from_str("opaque = true").unwrap());
        let looks = |tests| Matcher { tests }.looks_at_commands();
        assert!(looks(vec![Test::Exists(true), shell()]));
        assert!(looks(vec![Test::Not(Matcher { tests: vec![shell()] })]));
        assert!(!looks(vec![Test::Prefix("git".into())]));
        assert!(!looks(vec![Test::Not(Matcher { tests: vec![Test::Exists(true)] })]));
        assert!(!looks(vec![]));
    }
}
