//! `placet policy explain`: a table of the rules that match a request, and why. With a file also without a server.

use std::{fs, path::Path};

use anstyle::Style;
use placet_client::{CallExplanation, ExplainAnswer, RuleResult};
use placet_core::{Create, Effect, HOOK_PROGRAM, Kind, Limits, show};
use placet_policy::{Call, Claims, Place};
use serde_json::{Map, Value, json};

use super::Source;
use crate::{
    cli::{ExplainArgs, Global},
    exit::usage,
    hook::place,
    output::{self, oneline, paint, safe, table},
    verbs::{Context, find, object_argument},
};

/// The agent of a call that does not exist, if none is named.
const NOBODY: &str = "nobody";

/// Explains one request.
pub(super) async fn run(global: &Global, args: ExplainArgs) -> anyhow::Result<u8> {
    let answer = if let Some(id) = &args.id {
        let client = Context::new(global)?.client;
        let id = find::id(&client, id).await?;
        client.explain(id).await?
    } else {
        let create = create(&args)?;
        match &args.file {
            Some(file) => {
                let agent = args.agent.as_deref().unwrap_or(NOBODY);
                offline(&Source::read(file)?, create, agent, args.folder.as_deref(), args.confined)?
            }
            None => Context::new(global)?.client.explain_create(&create, args.agent.as_deref()).await?,
        }
    };
    if global.json {
        output::json(&answer)?;
        return Ok(0);
    }
    if let Some(record) = &answer.request {
        let tool = record.tool.as_deref().map_or_else(|| record.kind.to_string(), show);
        output::line(&format!(
            "{} {tool}: {}",
            paint(output::NAME, &record.id.to_string()),
            oneline(record)
        ))?;
        let verdict = &record.verdict;
        output::line(&format!(
            "was judged {} by rule {} of {}\n",
            verdict.effect,
            safe(&verdict.rule),
            safe(&verdict.policy)
        ))?;
    }
    for (index, explained) in answer.explained.iter().enumerate() {
        if index > 0 {
            output::line("")?;
        }
        let which = match (index, answer.request.is_some(), &args.file) {
            (0, _, None) => "by the policy in force",
            (0, _, Some(_)) => "by this policy",
            _ => "by the request's own policy",
        };
        for line in lines(explained, which, args.all) {
            output::line(&line)?;
        }
    }
    Ok(0)
}

/// The request that does not exist.
fn create(args: &ExplainArgs) -> anyhow::Result<Create> {
    if let Some(text) = &args.body {
        let mut body = object_argument("--body", text)?;
        body.entry("session").or_insert_with(|| json!("explain"));
        return serde_json::from_value(Value::Object(body))
            .map_err(|error| usage(format!("`--body`: {error}")));
    }
    let mut create = Create::new(Kind::Action, args.session.as_deref().unwrap_or("explain"));
    create.tool.clone_from(&args.tool);
    create.arguments = args.args.as_deref().map(|text| object_argument("--args", text)).transpose()?;
    if let Some(text) = &args.context {
        create.context = Some(object_argument("--context", text)?);
    }
    create.risk = args.risk;
    Ok(create)
}

/// The outcome of a file alone. With a folder it is asked as the hook program asks, and the folder is open.
fn offline(
    source: &Source,
    mut create: Create,
    agent: &str,
    folder: Option<&Path>,
    confines: bool,
) -> anyhow::Result<ExplainAnswer> {
    let policy = source.parse()?;
    let mut roots = Vec::new();
    if let Some(folder) = folder {
        let whole = fs::canonicalize(folder)
            .map_err(|error| usage(format!("`--in`: {}: {error}", folder.display())))?;
        let whole = whole.to_str().ok_or_else(|| usage("`--in`: the folder's name is not UTF-8"))?.to_owned();
        let mut said = create.context.take().unwrap_or_default();
        said.insert("cwd".to_owned(), json!(whole));
        let empty = Map::new();
        let (tool, input) =
            (create.tool.as_deref().unwrap_or_default(), create.arguments.as_ref().unwrap_or(&empty));
        create.context = Some(place::context(tool, input, &said));
        roots.push(whole);
    }
    let spec = create.check(&Limits::default()).map_err(|invalid| {
        usage(format!("the request does not fit at `{}`: {}", invalid.pointer, invalid.message))
    })?;
    let claims = Claims {
        session: &spec.terms.session,
        context: &spec.context,
        risk: spec.terms.risk,
        on_behalf_of: spec.terms.on_behalf_of.as_deref(),
        group: spec.terms.group.as_deref(),
    };
    let place = folder.map(|_| Place { roots: &roots, context: &spec.context, confines });
    let door = if folder.is_some() { HOOK_PROGRAM } else { "rest" };
    let call = Call::new(&spec.body, agent, door, output::now(), claims).at(place);
    let explanation = policy.explain(&call);
    let document = json!({ "request": null, "explained": [
        { "policy": policy.hash(), "outcome": explanation.outcome, "explanation": explanation },
    ] });
    Ok(serde_json::from_value(document)?)
}

fn effect_style(effect: Effect) -> Style {
    match effect {
        Effect::Allow => output::GOOD,
        Effect::Hold => output::WARN,
        Effect::Deny => output::BAD,
    }
}

/// The outcome of one policy, with its reasons and rules.
fn lines(explained: &CallExplanation, which: &str, all: bool) -> Vec<String> {
    let outcome = &explained.outcome;
    let effect = paint(effect_style(outcome.effect), outcome.effect.as_str());
    let mut lines = vec![format!("{effect} {which}: rule {}, risk {}", safe(&outcome.rule), outcome.risk)];
    let mut fact = |label: &str, text: String| {
        lines.push(format!("  {}  {text}", paint(output::DIM, &format!("{label:<11}"))));
    };
    for reason in &outcome.reasons {
        fact("because", safe(reason));
    }
    if let Some(confine) = outcome.confine {
        fact(
            "confined",
            format!("to the {confine}, by `placet run`, and only for a marked agent's hook program"),
        );
    }
    if outcome.effect == Effect::Hold {
        fact("needs", output::needs(&outcome.needs));
        if let Some(expires_in) = &outcome.expires_in {
            fact("expires in", safe(expires_in));
        }
        for next in &outcome.escalation {
            let needs = next.get("needs").and_then(|needs| serde_json::from_value(needs.clone()).ok());
            let needs = needs.as_ref().map(output::needs).unwrap_or_default();
            fact(
                "then asks",
                format!(
                    "{needs}, for {}",
                    safe(next.get("expires_in").and_then(Value::as_str).unwrap_or("?"))
                ),
            );
        }
        if let Some(decisions) = &outcome.decisions {
            fact("decisions", decisions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
        }
        if let Some(after) =
            outcome.trust.as_ref().and_then(|trust| trust.get("after")).and_then(Value::as_u64)
        {
            fact("trust after", format!("{after} approvals of the same"));
        }
    }
    fact("policy", safe(&explained.policy));
    let Some(explanation) = &explained.explanation else { return lines };
    let shown: Vec<&RuleResult> = explanation.rules.iter().filter(|rule| all || speaks(rule)).collect();
    let hidden = explanation.rules.len() - shown.len();
    if !shown.is_empty() {
        lines.push(String::new());
        lines.extend(rules(&shown));
    }
    for step in &explanation.steps {
        lines.push(String::new());
        lines.push(paint(output::STRONG, &format!("step {}: {}", show(&step.id), show(&step.action))));
        lines.extend(rules(&step.rules.iter().collect::<Vec<_>>()));
    }
    if hidden > 0 {
        let word = if hidden == 1 { "rule is" } else { "rules are" };
        lines.push(paint(
            output::DIM,
            &format!("{hidden} more {word} about something else; --all lists them"),
        ));
    }
    lines
}

/// Whether a rule is worth showing: it matched, could not decide, or is about this very tool and did not match.
fn speaks(rule: &RuleResult) -> bool {
    rule.said != "not_matched" || !matches!(rule.by.as_str(), "tool" | "server" | "kind")
}

fn rules(rules: &[&RuleResult]) -> Vec<String> {
    let rows: Vec<_> = rules
        .iter()
        .map(|rule| {
            let (said, style) = match rule.said.as_str() {
                "matched" => ("matched", output::STRONG),
                "not_matched" => ("no", output::DIM),
                _ => ("error", output::BAD),
            };
            vec![
                (safe(&rule.rule), output::NAME),
                (rule.effect.to_string(), effect_style(rule.effect)),
                (said.to_owned(), style),
                (safe(&rule.detail), Style::new()),
            ]
        })
        .collect();
    table(&["RULE", "EFFECT", "MATCHED", "WHY"], &rows, usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = r#"version = 1
[[rule]]
name = "look"
effect = "allow"
tool = "bank/read"
[[rule]]
name = "small"
effect = "allow"
tool = "bank/pay"
[rule.args]
"amount" = { max = 10 }
[[rule]]
name = "pay"
effect = "hold"
tool = "bank/*"
reason = "money"
needs = { people = 2, team = "finance" }
expires_in = "10m"
[rule.args]
"currency" = { equals = "EUR" }
"#;

    fn said(arguments: Value, all: bool) -> String {
        let source = Source { label: "x.toml".to_owned(), text: POLICY.to_owned() };
        let mut create = Create::new(Kind::Action, "s");
        create.tool = Some("bank/pay".to_owned());
        create.arguments = arguments.as_object().cloned();
        let answer = offline(&source, create, "bot", None, false).unwrap();
        let text = lines(&answer.explained[0], "by this policy", all).join("\n");
        let text = anstream::adapter::strip_str(&text).to_string();
        text.lines().filter(|line| !line.contains("sha256:")).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_matched_what_did_not_and_what_could_not_tell_stand_in_one_table() {
        insta::assert_snapshot!(said(json!({"amount": 50, "currency": "EUR"}), false), @r"
        hold by this policy: rule pay, risk medium
          because      rule `pay`: money
          needs        2 reviewers of finance
          expires in   10m

        RULE   EFFECT  MATCHED  WHY
        small  allow   no       argument `amount` does not match
        pay    hold    matched  every matcher agrees
        1 more rule is about something else; --all lists them
        ");
        insta::assert_snapshot!(said(json!({"amount": 50}), true), @r"
        hold by this policy: rule pay, risk medium
          because      rule `pay`: money; it could not be evaluated (argument `currency`: it is missing), so it applies
          needs        2 reviewers of finance
          expires in   10m

        RULE   EFFECT  MATCHED  WHY
        look   allow   no       tool does not match
        small  allow   no       argument `amount` does not match
        pay    hold    error    argument `currency` could not be evaluated: it is missing; so the rule applies
        ");
    }
}
