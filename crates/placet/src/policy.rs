//! `placet policy`: write, check, explain and try policies, with or without a server.

mod changes;
mod check;
mod explain;
mod import;
mod simulate;
mod source;
mod suggest;
mod versions;

pub(crate) use changes::changes;
pub(crate) use source::{Source, warning};

use crate::{
    cli::{Global, PolicyCommand},
    exit::usage,
    output::{self, NAME, paint},
    verbs::Context,
};

/// Runs one of the commands and returns the exit code.
pub(crate) async fn run(command: PolicyCommand, global: &Global) -> anyhow::Result<u8> {
    match command {
        PolicyCommand::Check(args) => check::run(global, &args).await,
        PolicyCommand::Show(args) => versions::show(&Context::new(global)?, args.hash.as_deref()).await,
        PolicyCommand::Put(args) => versions::put(&Context::new(global)?, &args).await,
        PolicyCommand::List => versions::list(&Context::new(global)?).await,
        PolicyCommand::Shadow(args) => versions::shadow(&Context::new(global)?, &args).await,
        PolicyCommand::Suggest(args) => suggest::run(&Context::new(global)?, &args).await,
        PolicyCommand::Simulate(args) => simulate::run(global, args).await,
        PolicyCommand::Explain(args) => explain::run(global, *args).await,
        PolicyCommand::Import(args) => import::run(global.json, &args),
        PolicyCommand::Presets { name } => presets(global.json, name.as_deref()),
    }
}

/// The policies that come with the program: all names, or the text of one.
fn presets(json: bool, name: Option<&str>) -> anyhow::Result<u8> {
    let text = |name: &str| placet_policy::preset(name).unwrap_or_default();
    if let Some(name) = name {
        let name = name.strip_prefix("preset:").unwrap_or(name);
        let text = placet_policy::preset_as_named(name).map_err(usage)?;
        if json {
            output::json(&serde_json::json!({ "name": name, "text": text }))?;
        } else {
            output::line(text.trim_end())?;
        }
        return Ok(0);
    }
    if json {
        let items = placet_policy::names().iter().map(|name| {
            let about = about(text(name));
            serde_json::json!({ "name": name, "about": about, "text": text(name) })
        });
        output::json(&serde_json::json!({ "items": items.collect::<Vec<_>>() }))?;
        return Ok(0);
    }
    let widest = placet_policy::names().iter().map(|name| name.len()).max().unwrap_or(0);
    for name in placet_policy::names() {
        let gap = " ".repeat(widest - name.len() + 2);
        output::line(&format!("{}{gap}{}", paint(NAME, &format!("preset:{name}")), about(text(name))))?;
    }
    output::line("")?;
    output::line(&paint(
        output::DIM,
        "placet serve --policy preset:NAME · with a switch turned on: preset:coding-agent+network-reads · placet policy presets NAME > policy.toml · extends = [\"preset:NAME\"] in a file of yours",
    ))?;
    Ok(0)
}

/// The first sentence of the comment at the top of a policy.
fn about(text: &str) -> String {
    let comment = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
    let words = comment.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    words.split_once(". ").map_or(words.as_str(), |(first, _)| first).trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_says_in_one_sentence_what_it_is_for() {
        for name in placet_policy::names() {
            let about = about(placet_policy::preset(name).unwrap());
            assert!((10..160).contains(&about.len()) && !about.contains('\n'), "{name}: {about}");
        }
        assert_eq!(about("# One. Two.\nversion = 1"), "One");
    }
}
