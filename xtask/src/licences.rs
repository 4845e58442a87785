//! Checks the licences of all dependencies against the list in `deny.toml`. Quick, and needs nothing installed.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process::{Workspace, metadata, note};

/// The licences that `deny.toml` allows: for every crate, and for single ones.
struct AllowedLicences {
    everywhere: Vec<String>,
    exceptions: BTreeMap<String, Vec<String>>,
}

impl AllowedLicences {
    /// Reads the two lists. The file is our own, so its format is known: one licence or exception per line.
    fn read(deny: &str) -> Result<Self> {
        let (_, section) = deny.split_once("\n[licenses]\n").context("deny.toml has no [licenses]")?;
        let section = section.split("\n[").next().unwrap_or(section);
        let (_, list) = section.split_once("\nallow = [\n").context("[licenses] has no list `allow`")?;
        let (list, rest) = list.split_once("\n]").context("the list `allow` has no end")?;
        let mut exceptions = BTreeMap::new();
        for line in rest.lines().filter(|line| line.trim_start().starts_with("{ crate")) {
            let mut words = quoted(line);
            if !words.is_empty() {
                exceptions.insert(words.remove(0), words);
            }
        }
        Ok(Self { everywhere: quoted(list), exceptions })
    }

    fn allows(&self, name: &str, licence: &str) -> bool {
        let of_crate = self.exceptions.get(name).into_iter().flatten();
        self.everywhere.iter().chain(of_crate).any(|allowed| allowed == licence)
    }

    /// Whether an expression like `(MIT OR Apache-2.0) AND Unicode-3.0` can be met with the allowed licences.
    fn meets(&self, name: &str, expression: &str) -> bool {
        let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let mut rest = words.as_slice();
        self.any(name, &mut rest) && rest.is_empty()
    }

    fn any(&self, name: &str, words: &mut &[&str]) -> bool {
        let mut met = self.all(name, words);
        while words.first() == Some(&"OR") {
            *words = &words[1..];
            met |= self.all(name, words);
        }
        met
    }

    fn all(&self, name: &str, words: &mut &[&str]) -> bool {
        let mut met = self.one(name, words);
        while words.first() == Some(&"AND") {
            *words = &words[1..];
            met &= self.one(name, words);
        }
        met
    }

    fn one(&self, name: &str, words: &mut &[&str]) -> bool {
        match **words {
            ["(", ref rest @ ..] => {
                *words = rest;
                let met = self.any(name, words);
                let closed = words.first() == Some(&")");
                *words = words.get(1..).unwrap_or_default();
                met && closed
            }
            [licence, "WITH", exception, ref rest @ ..] => {
                *words = rest;
                self.allows(name, &format!("{licence} WITH {exception}"))
            }
            [licence, ref rest @ ..] => {
                *words = rest;
                self.allows(name, licence)
            }
            [] => false,
        }
    }
}

fn quoted(text: &str) -> Vec<String> {
    text.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Fails with every crate whose licence is not allowed.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let deny = fs::read_to_string(workspace.root.join("deny.toml")).context("cannot read deny.toml")?;
    let allowed = AllowedLicences::read(&deny)?;
    let metadata = metadata(&workspace.root, &["--all-features"])?;
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    // Our own crates have no source.
    let foreign = || packages.iter().filter(|package| !package["source"].is_null());
    let wrong: Vec<String> = foreign().filter_map(|package| fault(&allowed, package)).collect();
    note(format!("{} crates, {} licences allowed", foreign().count(), allowed.everywhere.len()));
    if wrong.is_empty() {
        return Ok(());
    }
    bail!("deny.toml does not allow these licences:\n   {}", wrong.join("\n   "))
}

fn fault(allowed: &AllowedLicences, package: &Value) -> Option<String> {
    let name = package["name"].as_str().unwrap_or_default();
    match package["license"].as_str() {
        Some(licence) if allowed.meets(name, licence) => None,
        Some(licence) => Some(format!("{name}: {licence}")),
        None => Some(format!("{name}: it names no licence")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DENY: &str = "[graph]\n\n[licenses]\nother = 1\nallow = [\n  \"MIT\",\n  \"Apache-2.0 WITH LLVM-exception\",\n]\nexceptions = [\n  # why\n  { crate = \"roots\", allow = [\"CDLA-Permissive-2.0\"] },\n]\n\n[bans]\n";

    #[test]
    fn an_expression_is_met_by_allowed_licences_alone() {
        let allowed = AllowedLicences::read(DENY).unwrap();
        for good in ["MIT", "GPL-3.0 OR MIT", "MIT/GPL-2.0", "Apache-2.0 WITH LLVM-exception AND (MIT OR X)"]
        {
            assert!(allowed.meets("any", good), "{good}");
        }
        for bad in
            ["GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "(MIT", "MIT GPL-3.0", "", "(GPL-3.0 OR X) AND MIT"]
        {
            assert!(!allowed.meets("any", bad), "{bad}");
        }
    }

    #[test]
    fn an_exception_is_for_its_crate_alone() {
        let allowed = AllowedLicences::read(DENY).unwrap();
        assert!(allowed.meets("roots", "CDLA-Permissive-2.0"));
        assert!(!allowed.meets("other", "CDLA-Permissive-2.0"));
    }
}
