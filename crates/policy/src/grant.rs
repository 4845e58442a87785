//! Standing permissions: what exactly a person said yes to in advance, spelled out, and whether a call is covered.

use std::collections::BTreeMap;

use placet_core::{Kind, folder};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Call, Policy, PolicyErrors,
    evaluate::subject,
    matcher, read,
    rule::{Rule, Word},
    shell::escaped,
    trust::carries_command,
    work::WorkBudget,
};

/// Longest value that is spelled out whole.
const SHOWN: usize = 2_000;

/// What a person said yes to in advance. Who may use it, how often, until when and under which policy stands beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "scope", rename_all = "snake_case", deny_unknown_fields)]
pub enum GrantScope {
    /// This call, argument for argument.
    Exact {
        /// The tool.
        tool: String,
        /// All of its arguments.
        arguments: Map<String, Value>,
        /// Arguments that are not compared.
        #[serde(default)]
        cosmetic: Vec<String>,
        /// In which folder; in any when absent.
        #[serde(default)]
        place: Option<Folder>,
    },
    /// Calls of the tool whose arguments match; arguments that are not named may be anything.
    Pattern {
        /// The tool.
        tool: String,
        /// Paths and matchers, as in `args` of a rule that allows.
        arguments: BTreeMap<String, Value>,
    },
    /// Every call of the tool in one session.
    Session {
        /// The tool.
        tool: String,
        /// The session.
        session: String,
    },
}

/// The folder that an exact scope is bound to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Folder(
    /// What the context of a call must say; nothing when absent.
    pub Option<Value>,
);

/// A scope made ready for many calls.
#[derive(Debug)]
pub struct CompiledScope {
    scope: GrantScope,
    rule: Option<Rule>,
}

impl GrantScope {
    /// The tool it is about.
    pub fn tool(&self) -> &str {
        match self {
            Self::Exact { tool, .. } | Self::Pattern { tool, .. } | Self::Session { tool, .. } => tool,
        }
    }

    /// Makes it ready. A pattern is read as the arguments of an allow rule, with the same refusals.
    pub fn compile(&self) -> Result<CompiledScope, PolicyErrors> {
        let rule = match self {
            Self::Pattern { tool, arguments } => Some(compile(tool, arguments)?),
            Self::Exact { .. } | Self::Session { .. } => None,
        };
        Ok(CompiledScope { scope: self.clone(), rule })
    }

    /// Whether this scope may be granted on the strength of this call, or why not.
    pub fn check(&self, policy: &Policy, call: &Call<'_>) -> Result<(), String> {
        let compiled = self.compile().map_err(|errors| {
            errors
                .problems
                .first()
                .map_or_else(String::new, |first| format!("{}; {}", first.message, first.fix))
        })?;
        if !matches!(self, Self::Exact { .. }) && policy.free_form(call) {
            return Err(format!(
                "`{}` takes a free-form command, of which only the exact call can be remembered; choose the scope `exact`",
                escaped(self.tool())
            ));
        }
        if compiled.matches(call) {
            Ok(())
        } else {
            Err("the scope does not cover the call it is made from; widen it or choose the scope `exact`"
                .to_owned())
        }
    }
}

impl CompiledScope {
    /// Whether a call is covered. Free-form commands are covered by the exact call alone.
    pub fn matches(&self, call: &Call<'_>) -> bool {
        let (Some(tool), Some(arguments)) = (call.tool, call.arguments) else { return false };
        if call.kind != Kind::Action || tool != self.scope.tool() {
            return false;
        }
        match (&self.scope, &self.rule) {
            (GrantScope::Exact { arguments: wanted, cosmetic, place, .. }, _) => {
                let here = place
                    .as_ref()
                    .is_none_or(|Folder(wanted)| folder(call.claims.context) == wanted.as_ref());
                here && same(&acting(wanted, cosmetic), &acting(arguments, cosmetic))
            }
            (GrantScope::Session { session, .. }, _) => {
                call.claims.session == session && !carries_command(tool, arguments)
            }
            (GrantScope::Pattern { .. }, Some(rule)) => {
                let work = WorkBudget::new();
                !carries_command(tool, arguments) && rule.says(&subject(call), &work) == Word::Yes
            }
            (GrantScope::Pattern { .. }, None) => false,
        }
    }
}

/// Whether a call is covered by a scope. For many calls, [`GrantScope::compile`] once.
pub fn grant_matches(scope: &GrantScope, call: &Call<'_>) -> bool {
    scope.compile().is_ok_and(|compiled| compiled.matches(call))
}

/// The scope in words, for the person who is about to grant it.
pub fn describe(scope: &GrantScope) -> String {
    match scope {
        GrantScope::Exact { tool, arguments, cosmetic, place } => {
            exact(tool, arguments, cosmetic, place.as_ref())
        }
        GrantScope::Pattern { tool, arguments } => {
            let parts: Vec<String> = arguments
                .iter()
                .map(|(path, matcher)| format!("`{}` {}", escaped(path), question(matcher)))
                .collect();
            format!(
                "every call of `{}` where {}; all other arguments may be anything",
                escaped(tool),
                parts.join(" and ")
            )
        }
        GrantScope::Session { tool, session } => {
            format!(
                "every call of `{}` in the session `{}`, whatever its arguments",
                escaped(tool),
                escaped(session)
            )
        }
    }
}

/// What is compared. A list or table is never cosmetic: nobody reads it to its end.
pub(crate) fn acting(arguments: &Map<String, Value>, cosmetic: &[String]) -> Map<String, Value> {
    let acts =
        |(name, value): &(&String, &Value)| !cosmetic.contains(name) || value.is_object() || value.is_array();
    arguments.iter().filter(acts).map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn exact(tool: &str, arguments: &Map<String, Value>, cosmetic: &[String], place: Option<&Folder>) -> String {
    let place = match place {
        None => ", in whatever folder".to_owned(),
        Some(Folder(Some(Value::String(folder)))) => {
            format!(" in the folder `{}`", clipped(&escaped(folder)))
        }
        Some(Folder(Some(other))) => format!(" in the folder {}", json(other)),
        Some(Folder(None)) if carries_command(tool, arguments) => ", where no folder is named".to_owned(),
        Some(Folder(None)) => String::new(),
    };
    let shown = Value::Object(acting(arguments, cosmetic));
    let cosmetic: Vec<String> = cosmetic.iter().map(|name| format!("`{}`", escaped(name))).collect();
    let whatever = if cosmetic.is_empty() {
        String::new()
    } else {
        format!("; whatever is said in {}", cosmetic.join(", "))
    };
    format!(
        "exactly this call of `{}`{place}, with these arguments and no others: {}{whatever}",
        escaped(tool),
        json(&shown)
    )
}

fn same(left: &Map<String, Value>, right: &Map<String, Value>) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .all(|(key, value)| right.get(key).is_some_and(|other| matcher::equal(value, other) == Ok(true)))
}

/// A pattern becomes an allow rule in a policy of its own, so that it means what it would mean in a file.
fn compile(tool: &str, arguments: &BTreeMap<String, Value>) -> Result<Rule, PolicyErrors> {
    let refuse = |message: String, fix: &str| PolicyErrors {
        problems: vec![crate::Problem { line: 1, column: 1, rule: None, message, fix: fix.to_owned() }],
    };
    if tool.contains(['*', '?']) {
        return Err(refuse(format!("`{}` is not the name of one tool", escaped(tool)), "name one tool"));
    }
    let arguments = toml::Value::try_from(arguments).map_err(|_| {
        refuse(
            "a matcher holds something that a policy cannot say, such as null".to_owned(),
            "compare with texts, numbers and truth values",
        )
    })?;
    let table = |pairs: Vec<(&str, toml::Value)>| {
        toml::Value::Table(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    };
    let rule = table(vec![
        ("name", "grant".into()),
        ("effect", "allow".into()),
        ("tool", tool.into()),
        ("args", arguments),
    ]);
    let file = table(vec![("version", 1.into()), ("rule", toml::Value::Array(vec![rule]))]);
    let text = toml::to_string(&file)
        .map_err(|_| refuse("the pattern cannot be written down".to_owned(), "use plain matchers"))?;
    let read = read::read(&text)?;
    read.rules
        .into_iter()
        .next()
        .ok_or_else(|| refuse("the pattern is empty".to_owned(), "name at least one argument"))
}

fn json(value: &Value) -> String {
    clipped(&escaped(&value.to_string()))
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => {
            format!("{}… ({} characters in all)", text.get(..at).unwrap_or_default(), text.chars().count())
        }
        None => text.to_owned(),
    }
}

/// A matcher in words.
fn question(matcher: &Value) -> String {
    let Value::Object(tests) = matcher else { return json(matcher) };
    let parts: Vec<String> = tests
        .iter()
        .map(|(key, value)| match (key.as_str(), value) {
            ("equals", value) => format!("is {}", json(value)),
            ("in", Value::Array(list)) => {
                format!("is one of {}", list.iter().map(json).collect::<Vec<_>>().join(", "))
            }
            ("prefix", value) => format!("begins with {}", json(value)),
            ("min", value) => format!("is at least {}", json(value)),
            ("max", value) => format!("is at most {}", json(value)),
            ("above", value) => format!("is more than {}", json(value)),
            ("below", value) => format!("is less than {}", json(value)),
            ("under", value) => format!("is a path under {}", json(value)),
            ("host_in", value) => format!("is a URL of the host {}", json(value)),
            ("matches", value) => format!("matches the pattern {}", json(value)),
            ("exists", Value::Bool(true)) => "is there, whatever it is".to_owned(),
            ("exists", Value::Bool(false)) => "is not there".to_owned(),
            ("not", inner) => format!("not ({})", question(inner)),
            (other, value) => format!("{} {}", escaped(other), json(value)),
        })
        .collect();
    parts.join(" and ")
}

#[cfg(test)]
mod tests {
    use placet_core::Time;
    use serde_json::json;

    use super::*;
    use crate::Claims;

    fn covered(scope: &Value, tool: &str, arguments: &Value, session: &str) -> bool {
        let scope: GrantScope = serde_json::from_value(scope.clone()).unwrap();
        with_call(tool, arguments, session, |call| grant_matches(&scope, call))
    }

    fn with_call<T>(tool: &str, arguments: &Value, session: &str, then: impl FnOnce(&Call<'_>) -> T) -> T {
        let context = Map::new();
        then(&Call {
            kind: Kind::Action,
            tool: Some(tool),
            arguments: arguments.as_object(),
            steps: &[],
            agent: "a",
            source: "rest",
            time: Time::default(),
            claims: Claims { session, context: &context, risk: None, on_behalf_of: None, group: None },
            place: None,
            covered: placet_core::Covered::Unknown,
        })
    }

    #[test]
    fn an_exact_grant_covers_the_same_arguments_and_nothing_else() {
        let scope = json!({"scope": "exact", "tool": "pay", "arguments": {"to": "x", "amount": 5}});
        assert!(covered(&scope, "pay", &json!({"amount": 5.0, "to": "x"}), "s"));
        assert!(!covered(&scope, "Pay", &json!({"amount": 5, "to": "x"}), "s"));
        assert!(!covered(&scope, "pay", &json!({"amount": 6, "to": "x"}), "s"));
        assert!(!covered(&scope, "pay", &json!({"amount": 5, "to": "x", "cc": "y"}), "s"));
        assert!(!covered(&scope, "pay", &json!({"amount": 5}), "s"));
        assert!(!covered(&scope, "pay", &json!({"amount": "5", "to": "x"}), "s"));
    }

    #[test]
    fn an_exact_grant_is_bound_to_its_folder_and_looks_past_cosmetic_arguments() {
        let scope = |place: Value| {
            let text = json!({"scope": "exact", "tool": "Bash", "arguments": {"command": "npm test", "description": "a"},
                "cosmetic": ["description", "timeout"]});
            let mut scope: GrantScope = serde_json::from_value(text).unwrap();
            if let GrantScope::Exact { place: bound, .. } = &mut scope {
                *bound = Some(Folder(Some(place).filter(|place| !place.is_null())));
            }
            scope
        };
        let covers = |scope: &GrantScope, arguments: Value, context: Value| {
            let context = context.as_object().unwrap().clone();
            with_call("Bash", &arguments, "s", |call| {
                let claims = Claims { context: &context, ..call.claims };
                grant_matches(scope, &Call { claims, ..*call })
            })
        };
        let here = json!({"cwd": "/srv/app"});
        let bound = scope(json!("/srv/app"));
        assert!(covers(
            &bound,
            json!({"command": "npm test", "description": "b", "timeout": 5}),
            here.clone()
        ));
        assert!(covers(&bound, json!({"command": "npm test"}), here.clone()));
        for (arguments, context) in [
            (json!({"command": "npm test", "run_in_background": true}), here.clone()),
            (json!({"command": "npm test "}), here.clone()),
            (json!({"command": "npm test", "description": {"command": "rm"}}), here.clone()),
            (json!({"command": "npm test"}), json!({"cwd": "/srv/other"})),
            (json!({"command": "npm test"}), json!({"cwd": "/srv/app/"})),
            (json!({"command": "npm test"}), json!({"cwd": ["/srv/app"]})),
            (json!({"command": "npm test"}), json!({"cwd": null})),
            (json!({"command": "npm test"}), json!({})),
        ] {
            assert!(!covers(&bound, arguments.clone(), context.clone()), "{arguments} {context}");
        }
        let nowhere = scope(Value::Null);
        assert!(covers(&nowhere, json!({"command": "npm test"}), json!({})));
        assert!(!covers(&nowhere, json!({"command": "npm test"}), here));
        let said = describe(&bound);
        assert!(said.contains("`Bash` in the folder `/srv/app`, with"), "{said}");
        assert!(said.contains("no others: {\"command\":\"npm test\"}; whatever"), "{said}");
        assert!(said.ends_with("; whatever is said in `description`, `timeout`"), "{said}");
        assert!(describe(&nowhere).contains("where no folder is named"));
        assert!(describe(&scope(json!("/srv/\u{202e}app"))).contains("\\u{202e}"));
    }

    #[test]
    fn a_pattern_grant_is_read_like_an_allow_rule() {
        let scope = json!({"scope": "pattern", "tool": "write", "arguments": {"path": {"under": "/srv/app"}, "size": {"max": 100}}});
        assert!(covered(&scope, "write", &json!({"path": "/srv/app/x", "size": 5, "text": "anything"}), "s"));
        assert!(!covered(&scope, "write", &json!({"path": "/srv/app/../x", "size": 5}), "s"));
        assert!(!covered(&scope, "write", &json!({"path": "/srv/app/x", "size": 500}), "s"));
        assert!(
            !covered(&scope, "write", &json!({"path": "/srv/app/x"}), "s"),
            "what is missing is not covered"
        );
        let every = json!({"scope": "pattern", "tool": "mail", "arguments": {"to[*]": {"in": ["a", "b"]}}});
        assert!(covered(&every, "mail", &json!({"to": ["a", "b"]}), "s"));
        assert!(!covered(&every, "mail", &json!({"to": ["a", "c"]}), "s"));
    }

    #[test]
    fn patterns_that_could_not_stand_in_an_allow_rule_cover_nothing() {
        for arguments in [
            json!({}),
            json!({"a": {"matches": "x"}}),
            json!({"a": {"equals": null}}),
            json!({"a": {"eq": 1}}),
            json!({"a": 1}),
            json!({"a..b": {"equals": 1}}),
            json!({"a": {}}),
            json!({"a": {"not": {"shell": {"mention": [{"program": "rm"}]}}}}),
        ] {
            let scope: GrantScope =
                serde_json::from_value(json!({"scope": "pattern", "tool": "t", "arguments": arguments}))
                    .unwrap();
            assert!(scope.compile().is_err(), "{arguments}");
            assert!(
                !covered(&serde_json::to_value(&scope).unwrap(), "t", &json!({"a": "x"}), "s"),
                "{arguments}"
            );
        }
        assert!(
            serde_json::from_value::<GrantScope>(
                json!({"scope": "pattern", "tool": "t", "arguments": {}, "x": 1})
            )
            .is_err()
        );
    }

    #[test]
    fn a_session_grant_ends_with_the_session() {
        let scope = json!({"scope": "session", "tool": "write", "session": "s1"});
        assert!(covered(&scope, "write", &json!({"a": 1}), "s1"));
        assert!(!covered(&scope, "write", &json!({"a": 1}), "s2"));
        assert!(!covered(&scope, "writes", &json!({"a": 1}), "s1"));
    }

    #[test]
    fn free_form_commands_are_covered_by_the_exact_call_alone() {
        let arguments = json!({"command": "ls"});
        assert!(covered(
            &json!({"scope": "exact", "tool": "Bash", "arguments": {"command": "ls"}}),
            "Bash",
            &arguments,
            "s"
        ));
        for scope in [
            json!({"scope": "session", "tool": "Bash", "session": "s"}),
            json!({"scope": "pattern", "tool": "Bash", "arguments": {"command": {"prefix": "ls"}}}),
        ] {
            assert!(!covered(&scope, "Bash", &arguments, "s"));
        }
        let policy = Policy::parse("version = 1\n[[rule]]\nname = 'r'\neffect = 'hold'\ntool = 'odd'\n[rule.args]\nline = { shell = { mention = [ { program = 'rm' } ] } }\n").unwrap();
        let scope: GrantScope =
            serde_json::from_value(json!({"scope": "session", "tool": "odd", "session": "s"})).unwrap();
        let refused = with_call("odd", &json!({"line": "ls"}), "s", |call| scope.check(&policy, call));
        assert!(refused.unwrap_err().contains("free-form"));
    }

    #[test]
    fn a_scope_must_cover_the_call_it_was_made_from() {
        let policy = Policy::parse("version = 1\n").unwrap();
        let scope: GrantScope = serde_json::from_value(
            json!({"scope": "pattern", "tool": "w", "arguments": {"a": {"equals": 1}}}),
        )
        .unwrap();
        assert!(with_call("w", &json!({"a": 1}), "s", |call| scope.check(&policy, call)).is_ok());
        assert!(with_call("w", &json!({"a": 2}), "s", |call| scope.check(&policy, call)).is_err());
    }

    #[test]
    fn the_words_say_what_is_covered_and_hide_nothing() {
        let said = |scope: Value| describe(&serde_json::from_value(scope).unwrap());
        assert_eq!(
            said(
                json!({"scope": "pattern", "tool": "pay", "arguments": {"amount": {"max": 100}, "to": {"equals": "x"}}})
            ),
            "every call of `pay` where `amount` is at most 100 and `to` is \"x\"; all other arguments may be anything"
        );
        assert_eq!(
            said(json!({"scope": "session", "tool": "w", "session": "s\u{202e}1"})),
            "every call of `w` in the session `s\\u{202e}1`, whatever its arguments"
        );
        assert!(said(json!({"scope": "exact", "tool": "w", "arguments": {"a": 1}})).contains("{\"a\":1}"));
        assert!(
            said(json!({"scope": "exact", "tool": "w", "arguments": {"a": "x".repeat(9_000)}}))
                .contains("characters in all")
        );
    }
}
