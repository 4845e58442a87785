//! `placet policy show`, `put`, `list` and `shadow`: the policies of a running server.

use std::{io::IsTerminal as _, path::Path};

use anstyle::Style;
use placet_client::{Error, PolicyInfo};
use serde_json::json;

use super::{Source, changes, check, simulate, warning};
use crate::{
    cli::{PutArgs, ShadowArgs},
    exit::usage,
    output::{self, paint, safe, span, table},
    verbs::Context,
};

/// This much of a hash is enough to tell policies apart.
const SHORT: usize = 19;

/// The text of a policy, and where it came from.
pub(super) async fn show(context: &Context, hash: Option<&str>) -> anyhow::Result<u8> {
    let info = match hash {
        None => context.client.policy().await?,
        Some(part) => context.client.policy_version(&whole(context, part).await?).await?,
    };
    if context.json {
        output::json(&info)?;
        return Ok(0);
    }
    output::to_stderr(&paint(output::DIM, &safe(&described(&info))));
    if let Some(broken) = &info.broken {
        output::to_stderr(&paint(
            output::BAD,
            &format!("it cannot be used, so everything waits for two people: {}", safe(broken)),
        ));
    }
    for finding in &info.findings {
        check::say(finding);
    }
    let terminal = std::io::stdout().is_terminal();
    for line in info.text.trim_end().split('\n') {
        // Unchanged into a file. On a terminal nothing in it may hide.
        output::line(&if terminal { safe(line) } else { line.to_owned() })?;
    }
    Ok(0)
}

fn described(info: &PolicyInfo) -> String {
    let name = info.name.as_deref().map(|name| format!("`{name}`, ")).unwrap_or_default();
    let by = match (&info.by, info.at) {
        (Some(by), Some(at)) => format!(", put by {by} {} ago", span(output::now().since(at))),
        _ => String::new(),
    };
    format!("{name}{}, from {}{by}", info.hash, info.source)
}

/// The full hash, from a whole hash or the beginning of one.
async fn whole(context: &Context, part: &str) -> anyhow::Result<String> {
    let digits = part.strip_prefix("sha256:").unwrap_or(part);
    let hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if digits.len() < 4 || digits.len() > 64 || !hexadecimal {
        return Err(usage(format!("`{part}` is not the hash of a policy: see `placet policy list`")));
    }
    let whole = format!("sha256:{digits}");
    if digits.len() == 64 {
        return Ok(whole);
    }
    let info = context.client.policy().await?;
    let mut fits: Vec<String> =
        info.versions.into_iter().map(|version| version.hash).chain([info.hash]).collect();
    fits.retain(|hash| hash.starts_with(&whole));
    fits.sort();
    fits.dedup();
    match fits.as_slice() {
        [one] => Ok(one.clone()),
        [] => {
            Err(usage(format!("no policy has a hash that begins with `{whole}`: see `placet policy list`")))
        }
        several => Err(usage(format!("`{whole}` could be any of {}: write more of it", several.len()))),
    }
}

/// Puts a policy in force.
pub(super) async fn put(context: &Context, args: &PutArgs) -> anyhow::Result<u8> {
    let source = Source::read(&args.file)?;
    // Checked here first, so that errors have the name of the file.
    source.parse()?;
    let before = context.client.policy().await?;
    let expected = match &args.expected {
        None => None,
        Some(part) => Some(whole(context, part).await?),
    };
    let base = Path::new(&source.label).file_name().and_then(|name| name.to_str()).unwrap_or(&source.label);
    let from: String =
        format!("put:{base}").chars().filter(|letter| !letter.is_control()).take(100).collect();
    let put = match context.client.put_policy(&source.text, expected.as_deref(), Some(&from)).await {
        Err(Error::Problem(problem)) if problem.code == "stale_policy" => {
            anyhow::bail!(
                "the policy in force has changed since yours was made, so nothing was put: it is {} now. Read it with `placet policy show`, then put yours with --expected {}",
                safe(&described(&before)),
                before.hash
            );
        }
        put => put?,
    };
    if context.json {
        output::json(&put)?;
        return Ok(0);
    }
    for found in &put.warnings {
        output::to_stderr(&paint(output::WARN, &safe(&warning(&source.label, found))));
    }
    for finding in &put.findings {
        check::say(finding);
    }
    if put.changed {
        output::line(&format!("{} {}", paint(output::GOOD, "in force"), put.hash))?;
        output::to_stderr(&paint(output::DIM, &safe(&changes(&before.text, &source.text))));
    } else {
        output::line(&format!("{} was in force already", put.hash))?;
    }
    Ok(0)
}

/// Every policy that was put.
pub(super) async fn list(context: &Context) -> anyhow::Result<u8> {
    let info = context.client.policy().await?;
    if context.json {
        output::json(&json!({ "items": info.versions }))?;
        return Ok(0);
    }
    if info.versions.is_empty() {
        output::line(&format!("No policy was put: {} is in force", safe(&described(&info))))?;
        return Ok(0);
    }
    let (now, plain) = (output::now(), Style::new());
    let rows: Vec<_> = info
        .versions
        .iter()
        .map(|version| {
            let state = if version.active { ("in force", output::GOOD) } else { ("", plain) };
            vec![
                (version.hash.get(..SHORT).unwrap_or(&version.hash).to_owned(), output::NAME),
                (span(now.since(version.at)), plain),
                (safe(&version.by), plain),
                (state.0.to_owned(), state.1),
                (safe(&version.source), plain),
            ]
        })
        .collect();
    for line in table(&["HASH", "AGE", "BY", "STATE", "SOURCE"], &rows, 110) {
        output::line(&line)?;
    }
    Ok(0)
}

/// Sets, ends or shows the candidate policy.
pub(super) async fn shadow(context: &Context, args: &ShadowArgs) -> anyhow::Result<u8> {
    if args.off {
        context.client.clear_shadow().await?;
        if context.json {
            output::json(&json!({ "shadow": null }))?;
        } else {
            output::line("the candidate was removed")?;
        }
        return Ok(0);
    }
    if let Some(file) = &args.file {
        let source = Source::read(file)?;
        let policy = source.parse()?;
        context.client.set_shadow(&source.text).await?;
        if context.json {
            output::json(&json!({ "shadow": policy.hash() }))?;
        } else {
            output::line(&format!("{} is tried live, without effect", policy.hash()))?;
            output::to_stderr(&paint(output::DIM, "`placet policy shadow` says what it would have done"));
        }
        return Ok(0);
    }
    let shadow = context.client.shadow().await?;
    match shadow {
        None if context.json => output::json(&json!({ "shadow": null }))?,
        None => output::line("there is no candidate: set one with `placet policy shadow FILE`")?,
        Some(shadow) if context.json => output::json(&shadow)?,
        Some(shadow) => {
            let since = span(output::now().since(shadow.since));
            output::line(&format!("{}, tried live for {since} by {}", shadow.hash, safe(&shadow.by)))?;
            simulate::tell(&shadow.report)?;
        }
    }
    Ok(0)
}
