//! `placet grant`: lists and revokes grants; and the options of `--remember`.

use std::collections::BTreeMap;

use anstyle::Style;
use placet_client::{EndedAtUpgrade, Remember};
use placet_core::{Scope, show};
use serde_json::{Value, json};

use super::{Context, json_argument};
use crate::{
    cli::{RememberArgs, RememberScope, RememberWithin},
    exit::usage,
    output::{self, paint, safe, span, table, until},
};

/// Lists grants.
pub(crate) async fn list(context: &Context) -> anyhow::Result<u8> {
    let all = context.client.all_grants().await?;
    if context.json {
        output::json(&all)?;
        return Ok(0);
    }
    let (grants, ended) = (&all.items, &all.ended_at_upgrade);
    if grants.is_empty() {
        output::line(&paint(output::DIM, "There are no grants."))?;
        return outgrown(ended);
    }
    let (now, plain) = (output::now(), Style::new());
    let rows: Vec<_> = grants
        .iter()
        .map(|info| {
            let grant = &info.grant;
            let scope = match &grant.scope {
                Scope::Exact { .. } => "exact",
                Scope::Pattern { .. } => "pattern",
                Scope::Session { .. } => "session",
                Scope::Template { .. } => "template",
            };
            vec![
                (grant.id.to_string(), output::NAME),
                (span(now.since(grant.created_at)), plain),
                (until(grant.expires_at, now), plain),
                (format!("{}/{}", info.used, grant.uses), plain),
                (show(&grant.by), plain),
                (show(&grant.agent), plain),
                (scope.to_owned(), output::STRONG),
                (safe(&info.covers), plain),
            ]
        })
        .collect();
    for line in table(&["ID", "AGE", "LEFT", "USED", "BY", "AGENT", "SCOPE", "COVERS"], &rows, usize::MAX) {
        output::line(&line)?;
    }
    outgrown(ended)
}

/// The grants that an upgrade ended.
fn outgrown(ended: &EndedAtUpgrade) -> anyhow::Result<u8> {
    if !ended.items.is_empty() {
        output::line(&paint(output::STRONG, "Ended at the upgrade:"))?;
    }
    for one in &ended.items {
        let grant = &one.info.grant;
        let whose = format!("{}, for {}", show(&grant.by), show(&grant.agent));
        output::line(&format!(
            "  {} ({whose}): {}",
            paint(output::NAME, &grant.id.to_string()),
            safe(&one.info.covers)
        ))?;
        output::line(&format!("    {}", safe(&one.why)))?;
    }
    if ended.trust > 0 {
        output::line(&format!(
            "Trust in {} kinds of calls is counted from zero since the upgrade.",
            ended.trust
        ))?;
    }
    Ok(0)
}

/// Takes one back.
pub(crate) async fn revoke(context: &Context, id: &str) -> anyhow::Result<u8> {
    let wrong = || {
        usage(format!("`{id}` is not the id of a grant (grt_ and 26 characters): see `placet grant list`"))
    };
    let id = id.parse().map_err(|_| wrong())?;
    context.client.revoke_grant(id).await?;
    if context.json {
        output::json(&json!({ "id": id, "revoked": true }))?;
    } else {
        output::line(&format!("{} no longer counts", paint(output::NAME, &id.to_string())))?;
    }
    Ok(0)
}

/// What should be remembered, if anything.
pub(crate) fn remember(args: &RememberArgs) -> anyhow::Result<Option<Remember>> {
    let Some(scope) = args.remember else { return Ok(None) };
    if scope != RememberScope::Pattern && !args.matching.is_empty() {
        return Err(usage("`--match` goes with `--remember pattern`; the other scopes need no pattern"));
    }
    if scope != RememberScope::Template && args.within.is_some() {
        return Err(usage("`--within` goes with `--remember template`"));
    }
    let mut remember = match scope {
        RememberScope::Exact => Remember::exact(),
        RememberScope::Session => Remember::session(),
        RememberScope::Pattern if args.matching.is_empty() => {
            return Err(usage(
                "`--remember pattern` needs `--match PATH=JSON` for every argument that matters, such as --match 'amount={\"max\":100}'",
            ));
        }
        RememberScope::Pattern => Remember::pattern(pattern(&args.matching)?),
        RememberScope::Template => {
            let within = args.within.ok_or_else(|| {
                usage("`--remember template` needs `--within session` or `--within project`")
            })?;
            Remember::template(within == RememberWithin::Session)
        }
    };
    if let Some(uses) = args.uses {
        remember = remember.uses(uses);
    }
    if let Some(lasts) = args.lasts {
        remember = remember.expires_in(format!("{}s", lasts.as_secs()));
    }
    Ok(Some(remember))
}

/// `PATH=JSON`: a matcher, or a plain value that must be equal.
fn pattern(pairs: &[String]) -> anyhow::Result<BTreeMap<String, Value>> {
    let mut arguments = BTreeMap::new();
    for pair in pairs {
        let (path, text) = pair.split_once('=').filter(|(path, _)| !path.is_empty()).ok_or_else(|| {
            usage(format!(
                "`--match {pair}`: write PATH=JSON, such as 'amount={{\"max\":100}}' or 'to=\"acme\"'"
            ))
        })?;
        let value = json_argument(&format!("--match {path}"), text)?;
        let matcher = if value.is_object() { value } else { json!({ "equals": value }) };
        if arguments.insert(path.to_owned(), matcher).is_some() {
            return Err(usage(format!("`--match`: `{path}` is given twice")));
        }
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn args(scope: RememberScope, matching: &[&str]) -> RememberArgs {
        RememberArgs {
            remember: Some(scope),
            within: None,
            uses: Some(3),
            lasts: Some(Duration::from_mins(90)),
            matching: matching.iter().map(|text| (*text).to_owned()).collect(),
        }
    }

    #[test]
    fn a_pattern_is_made_of_matchers_and_plain_values() {
        let made =
            remember(&args(RememberScope::Pattern, &["amount={\"max\":5}", "to=\"acme\"", "/x/y=true"]))
                .unwrap();
        assert_eq!(
            json!(made),
            json!({"scope": "pattern", "arguments": {"amount": {"max": 5}, "to": {"equals": "acme"}, "/x/y": {"equals": true}},
                "expires_in": "5400s", "uses": 3})
        );
        assert_eq!(json!(remember(&RememberArgs::default()).unwrap()), Value::Null);
    }

    #[test]
    fn a_pattern_without_places_and_places_without_a_pattern_are_refused() {
        let refused = |scope, matching: &[&str]| remember(&args(scope, matching)).unwrap_err().to_string();
        assert!(refused(RememberScope::Pattern, &[]).contains("--match PATH=JSON"));
        assert!(refused(RememberScope::Exact, &["a=1"]).contains("--remember pattern"));
        assert!(refused(RememberScope::Template, &[]).contains("--within session"));
        assert!(refused(RememberScope::Pattern, &["a"]).contains("PATH=JSON"));
        assert!(refused(RememberScope::Pattern, &["a=acme"]).contains("--match a"));
        assert!(refused(RememberScope::Pattern, &["a=1", "a=2"]).contains("twice"));
    }
}
