//! `placet policy check`: all errors of a file, what is probably not intended, and whether people can meet its needs.

use placet_client::{Error, PolicyFinding};
use placet_core::{Effect, Kind};
use placet_policy::{Call, Claims, Policy};
use serde_json::{Map, json};

use super::{
    Source,
    source::{problem, warning},
};
use crate::{
    cli::{CheckArgs, Global},
    exit::BadPolicy,
    output::{self, paint, safe},
    verbs::Context,
};

/// Whether the existing people can meet the rules' needs.
enum People {
    /// What the server found.
    Checked(Vec<PolicyFinding>),
    /// Why nobody was asked.
    Unknown(String),
}

/// Checks one file.
pub(super) async fn run(global: &Global, args: &CheckArgs) -> anyhow::Result<u8> {
    let source = Source::read(&args.file)?;
    let policy = match source.parse() {
        Ok(policy) => policy,
        Err(error) if global.json => {
            let Some(bad) = error.downcast_ref::<BadPolicy>() else { return Err(error) };
            output::json(&json!({ "ok": false, "problems": bad.problems }))?;
            return Ok(crate::exit::USAGE);
        }
        Err(error) => return Err(error),
    };
    let people = people(global, &source).await?;
    let findings = match &people {
        People::Checked(findings) => findings.as_slice(),
        People::Unknown(_) => &[],
    };
    let stuck = findings.iter().any(|finding| finding.severity == "error");
    if global.json {
        let warnings: Vec<_> = policy.warnings().iter().map(problem).collect();
        let checked = matches!(people, People::Checked(_)).then_some(findings);
        output::json(&json!({
            "ok": true, "hash": policy.hash(), "name": policy.name(), "rules": policy.rule_names().count(),
            "warnings": warnings, "findings": checked,
        }))?;
        return Ok(u8::from(stuck));
    }
    for found in policy.warnings() {
        output::to_stderr(&paint(output::WARN, &safe(&warning(&source.label, &problem(found)))));
    }
    for finding in findings {
        say(finding);
    }
    if let People::Unknown(why) = &people {
        output::to_stderr(&paint(output::DIM, &safe(why)));
    }
    let name = policy.name().map(|name| format!(" `{name}`")).unwrap_or_default();
    let verdict = if stuck { paint(output::BAD, "nobody can meet it") } else { paint(output::GOOD, "good") };
    output::line(&format!("{verdict}: {}{}, {}", safe(&source.label), safe(&name), counted(&policy)))?;
    output::line(&format!("hash {}", policy.hash()))?;
    Ok(u8::from(stuck))
}

/// One finding about people on the error stream.
pub(super) fn say(finding: &PolicyFinding) {
    let PolicyFinding { severity, rule, message, fix } = finding;
    let style = if severity == "error" { output::BAD } else { output::WARN };
    let text = format!("{severity}: rule {rule}: {message}; fix: {fix}");
    output::to_stderr(&paint(style, &safe(&text)));
}

/// Asks the server about people, if there is a key for it.
async fn people(global: &Global, source: &Source) -> anyhow::Result<People> {
    if std::env::var("PLACET_TOKEN").unwrap_or_default().trim().is_empty() {
        return Ok(People::Unknown(
            "whether people can meet the needs was not checked: set PLACET_TOKEN to ask a server".to_owned(),
        ));
    }
    match Context::new(global)?.client.check_policy(&source.text).await {
        Ok(checked) => Ok(People::Checked(checked.findings)),
        Err(error @ Error::Config(_)) => Err(error.into()),
        Err(error) => {
            Ok(People::Unknown(format!("whether people can meet the needs was not checked: {error}")))
        }
    }
}

/// The number of rules, by effect.
fn counted(policy: &Policy) -> String {
    let context = Map::new();
    let claims = Claims { session: "", context: &context, risk: None, on_behalf_of: None, group: None };
    // Any call will do: an explanation names every rule with its effect.
    let call = Call {
        kind: Kind::Confirmation,
        tool: None,
        arguments: None,
        steps: &[],
        agent: "",
        source: "",
        time: output::now(),
        claims,
        place: None,
        covered: placet_core::Covered::Unknown,
    };
    let rules = policy.explain(&call).rules;
    let own = |name: &str| !name.contains('/');
    let effect =
        |effect: Effect| rules.iter().filter(|rule| own(&rule.rule) && rule.effect == effect).count();
    let (all, presets) = (rules.len(), rules.iter().filter(|rule| !own(&rule.rule)).count());
    let word = if all - presets == 1 { "rule" } else { "rules" };
    let counts = format!(
        "{} {word} ({} allow, {} hold, {} deny)",
        all - presets,
        effect(Effect::Allow),
        effect(Effect::Hold),
        effect(Effect::Deny)
    );
    if presets == 0 { counts } else { format!("{counts} and {presets} of presets") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_counted_by_what_they_do_and_those_of_presets_apart() {
        let rule = "[[rule]]\nname = \"a\"\neffect = \"deny\"\ntool = \"x\"\n";
        let own = Policy::parse(&format!("version = 1\n{rule}")).unwrap();
        assert_eq!(counted(&own), "1 rule (0 allow, 0 hold, 1 deny)");
        let more = Policy::parse(&format!("version = 1\nextends = [\"preset:database\"]\n{rule}")).unwrap();
        assert!(counted(&more).starts_with("1 rule (0 allow, 0 hold, 1 deny) and "), "{}", counted(&more));
    }
}
