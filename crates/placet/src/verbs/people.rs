//! `placet person`: people, their roles and their teams.

use anstyle::Style;
use placet_client::SignInLink;
use placet_core::{Role, show, valid_name};
use serde_json::{Value, json};

use super::Context;
use crate::{
    exit::usage,
    output::{self, paint, table},
};

/// Lists people.
pub(crate) async fn list(context: &Context) -> anyhow::Result<u8> {
    let people = context.client.people().await?;
    if context.json {
        output::json(&people)?;
        return Ok(0);
    }
    let plain = Style::new();
    let words = |person: &Value, field: &str| {
        let items = person[field].as_array().into_iter().flatten().filter_map(Value::as_str);
        items.map(show).collect::<Vec<_>>().join(", ")
    };
    let rows: Vec<_> = people["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|person| {
            vec![
                (show(person["name"].as_str().unwrap_or_default()), output::STRONG),
                (words(person, "roles"), plain),
                (words(person, "teams"), plain),
            ]
        })
        .collect();
    for line in table(&["NAME", "ROLES", "TEAMS"], &rows, 110) {
        output::line(&line)?;
    }
    Ok(0)
}

/// Sets all roles and teams of a person.
pub(crate) async fn set(
    context: &Context,
    name: &str,
    roles: &[Role],
    teams: &[String],
) -> anyhow::Result<u8> {
    let person = context.client.put_person(checked(name)?, roles, teams).await?;
    if context.json {
        output::json(&person)?;
        return Ok(0);
    }
    let roles: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
    let teams = if teams.is_empty() { "no team".to_owned() } else { teams.join(", ") };
    output::line(&format!("{}: {}; {teams}", paint(output::STRONG, name), roles.join(", ")))?;
    Ok(0)
}

/// Makes a one-time sign-in link.
pub(crate) async fn link(context: &Context, name: &str) -> anyhow::Result<u8> {
    let link = context.client.person_link(checked(name)?).await?;
    say_link(name, &link, context.json)?;
    Ok(0)
}

/// Shows a link, which works once.
pub(crate) fn say_link(name: &str, link: &SignInLink, json: bool) -> anyhow::Result<()> {
    if json {
        return Ok(output::json(&json!({ "name": name, "url": link.url, "expires_at": link.expires_at }))?);
    }
    output::line(&link.url)?;
    output::to_stderr(&format!(
        "This link signs in as `{}`. It works once, until {}.",
        show(name),
        link.expires_at
    ));
    Ok(())
}

/// Removes a person.
pub(crate) async fn remove(context: &Context, name: &str) -> anyhow::Result<u8> {
    context.client.remove_person(checked(name)?).await?;
    if context.json {
        output::json(&json!({ "name": name, "removed": true }))?;
    } else {
        output::line(&format!(
            "{} was removed; their keys and sessions no longer work",
            paint(output::STRONG, name)
        ))?;
    }
    Ok(0)
}

/// The name becomes part of a URL, so it must be valid.
fn checked(name: &str) -> anyhow::Result<&str> {
    if valid_name(name) && !name.contains('/') {
        Ok(name)
    } else {
        Err(usage(format!(
            "`{}` is not a name: 1 to 128 of letters, digits and ._@+-:, beginning with a letter or digit",
            name.escape_debug()
        )))
    }
}
