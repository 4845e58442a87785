//! A rule that lets exactly one call pass, argument for argument, as it was approved again and again.

use serde_json::{Map, Value};

use crate::{shell, trust::carries_command};

/// Most arguments of such a rule.
const ARGUMENTS: usize = 32;
/// Longest rule, in bytes: a longer one is read by nobody.
const LENGTH: usize = 4_096;

/// One call that was approved again and again.
#[derive(Debug, Clone, Copy)]
pub struct LiteralCall<'a> {
    /// Who asked.
    pub agent: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// All of its arguments.
    pub arguments: &'a Map<String, Value>,
    /// Arguments that do not act.
    pub cosmetic: &'a [String],
    /// The tool takes a command, also if only a rule of the policy says so.
    pub free_form: bool,
    /// It happened in the folders of its agent, and the rule is for these alone.
    pub inside: bool,
}

/// An allow rule, as TOML, for this call and no other. None where a rule would say more than the call did, or cannot say it: a
/// command that is not one literal line, a name with wildcards, a value that TOML does not have, a sign that nobody sees.
pub fn literal_rule(name: &str, reason: &str, call: &LiteralCall<'_>) -> Option<String> {
    let wild = |text: &str| text.contains(['*', '?']);
    if wild(call.agent) || wild(call.tool) {
        return None;
    }
    let free_form = call.free_form || carries_command(call.tool, call.arguments);
    let acts = |(name, value): &(&String, &Value)| {
        !call.cosmetic.contains(name) || value.is_object() || value.is_array()
    };
    let mut args = Vec::new();
    for (at, (key, value)) in call.arguments.iter().filter(acts).enumerate() {
        if at >= ARGUMENTS || key.is_empty() || (free_form && !is_literal(value)) {
            return None;
        }
        let path = format!("/{}", key.replace('~', "~0").replace('/', "~1"));
        let value = line(&toml::Value::try_from(value).ok()?)?;
        args.push(format!("{} = {{ equals = {value} }}\n", text(&path)?));
    }
    // Arguments that do not act may differ, and may be missing.
    let mut only: Vec<&String> = call.arguments.keys().chain(call.cosmetic).collect();
    only.sort_unstable();
    only.dedup();
    let only = only.into_iter().map(|name| text(name)).collect::<Option<Vec<_>>>()?;
    let under = if call.inside { "under = \"@workspace\"\n" } else { "" };
    let head = format!(
        "[[rule]]\nname = {}\neffect = \"allow\"\nreason = {}\nagent = {}\ntool = {}\n{under}only = [{}]\n",
        text(name)?,
        text(reason)?,
        text(call.agent)?,
        text(call.tool)?,
        only.join(", ")
    );
    let rule = if args.is_empty() { head } else { format!("{head}[rule.args]\n{}", args.concat()) };
    let readable = rule.chars().all(|c| c == '\n' || placet_core::visible(c));
    (readable && rule.len() <= LENGTH).then_some(rule)
}

/// A text on one line of TOML.
fn text(text: &str) -> Option<String> {
    line(&toml::Value::String(text.to_owned()))
}

/// A value on one line of TOML: over several, text could look like rules.
fn line(value: &toml::Value) -> Option<String> {
    let written = value.to_string();
    (!written.contains('\n')).then_some(written)
}

/// Whether a value of a call that takes a command is one literal line: nothing in it depends on where or when it runs.
fn is_literal(value: &Value) -> bool {
    let line = |text: &str| !text.chars().any(char::is_control);
    match value {
        Value::String(text) => line(text) && (text.is_empty() || !shell::analyse(text).is_opaque()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> =
                words.iter().map(|word| word.as_str().filter(|word| line(word))).collect();
            words.is_some_and(|words| !words.is_empty() && !shell::analyse_argv(&words).is_opaque())
        }
        Value::Number(_) | Value::Bool(_) => true,
        Value::Null | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use placet_core::{Covered, Effect, Kind, Time};
    use serde_json::json;

    use super::*;
    use crate::{Call, Claims, Policy};

    fn rule(tool: &str, arguments: &Value, cosmetic: &[&str], free_form: bool) -> Option<String> {
        let cosmetic: Vec<String> = cosmetic.iter().map(|name| (*name).to_owned()).collect();
        let arguments = arguments.as_object().unwrap();
        let call =
            LiteralCall { agent: "bot", tool, arguments, cosmetic: &cosmetic, free_form, inside: false };
        literal_rule("suggested-1", "approved 3 times", &call)
    }

    fn allows(rule: &str, agent: &str, tool: &str, arguments: &Value) -> bool {
        let policy = Policy::parse(&format!("version = 1\n{rule}")).unwrap();
        let context = Map::new();
        let claims = Claims { session: "s", context: &context, risk: None, on_behalf_of: None, group: None };
        let call = Call {
            kind: Kind::Action,
            tool: Some(tool),
            arguments: arguments.as_object(),
            steps: &[],
            agent,
            source: "rest",
            time: Time::default(),
            claims,
            place: None,
            covered: Covered::Unknown,
        };
        policy.evaluate(&call).effect == Effect::Allow
    }

    #[test]
    fn a_literal_rule_lets_this_call_pass_and_no_other() {
        let call = json!({"to": "a\"b'c", "a/b~c": [1, 2.5, true, {"x": "y"}], "n": 5, "title": "whatever"});
        let rule = rule("mail/send", &call, &["title"], false).unwrap();
        assert!(allows(&rule, "bot", "mail/send", &call), "{rule}");
        let with = |key: &str, value: Value| {
            let mut other = call.clone();
            other[key] = value;
            other
        };
        assert!(allows(&rule, "bot", "mail/send", &with("title", "another".into())), "{rule}");
        for other in [
            with("to", "a".into()),
            with("n", 6.into()),
            with("a/b~c", json!([1, 2.5, true])),
            with("cc", "x".into()),
            json!({"n": 5}),
        ] {
            assert!(!allows(&rule, "bot", "mail/send", &other), "{other}");
        }
        assert!(!allows(&rule, "bots", "mail/send", &call));
        assert!(!allows(&rule, "bot", "mail/sends", &call));
    }

    #[test]
    fn a_call_without_arguments_is_suggested_without_any() {
        let rule = rule("restart", &json!({}), &[], false).unwrap();
        assert!(allows(&rule, "bot", "restart", &json!({})));
        assert!(!allows(&rule, "bot", "restart", &json!({"all": true})));
    }

    #[test]
    fn of_a_command_only_a_literal_line_is_suggested() {
        let bash = |command: &str| rule("Bash", &json!({"command": command}), &[], false);
        let line = bash("npm run build && git status").unwrap();
        assert!(allows(&line, "bot", "Bash", &json!({"command": "npm run build && git status"})));
        assert!(!allows(&line, "bot", "Bash", &json!({"command": "npm run build"})));
        for command in ["echo $HOME", "ls *", "a\nb", "echo `id`", "cat <<EOF\n$x\nEOF", "x=1 $x", "a\u{1b}b"]
        {
            assert!(bash(command).is_none(), "{command}");
        }
        assert!(
            rule("deploy", &json!({"what": "$X"}), &[], true).is_none(),
            "a rule looks at it as a command"
        );
        assert!(rule("deploy", &json!({"what": "$X"}), &[], false).is_some());
        assert!(rule("shell", &json!({"command": ["bash", "-lc", "echo $HOME"]}), &[], false).is_none());
        assert!(rule("shell", &json!({"command": ["make", "test"]}), &[], false).is_some());
        assert!(rule("Bash", &json!({"command": {"x": "y"}}), &[], false).is_none());
    }

    #[test]
    fn what_a_rule_cannot_say_exactly_is_not_suggested() {
        assert!(rule("t", &json!({"x": null}), &[], false).is_none());
        assert!(rule("t", &json!({"x": "y".repeat(5_000)}), &[], false).is_none());
        assert!(rule("t", &json!({"x": "a\u{202e}b"}), &[], false).is_none());
        assert!(rule("t", &json!({"x": "a\nb"}), &[], false).is_none());
        assert!(rule("t*", &json!({"x": 1}), &[], false).is_none());
        let many: Map<String, Value> = (0..33).map(|n| (format!("a{n}"), Value::from(n))).collect();
        assert!(rule("t", &Value::Object(many), &[], false).is_none());
    }
}
