//! Reads whose yes is needed, and who is asked next when nobody answers.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use placet_core::{AllOf, Escalation, Needs, Seat, valid_name};

use super::{
    doc::{Doc, Field},
    shown,
};
use crate::keys;

/// Most alternatives in one `any`, and most seats in one `all`.
pub(crate) const LIST: usize = 16;
/// Most people a seat may ask for.
pub(crate) const PEOPLE: u32 = 20;
/// Longest chain of escalations.
pub(crate) const CHAIN: usize = 8;

/// Needs by name.
pub(super) type Named = HashMap<String, Needs>;

/// Escalations by name, each with the chain that begins there.
pub(super) type Chains = HashMap<String, Vec<Escalation>>;

pub(super) fn named(doc: &mut Doc<'_>, file: &Field<'_>) -> Named {
    let mut named = Named::new();
    let Some(tables) = doc.table(file, "needs") else { return named };
    for (name, span, value) in tables.entries() {
        match Field::of(value) {
            Some(table) => {
                if let Some(needs) = inline(doc, &table, &format!("`[needs.{}]`", shown(name))) {
                    named.insert(name.to_owned(), needs);
                }
            }
            None => doc.problem(
                span,
                format!("`needs.{}` is not a table", shown(name)),
                format!("write `[needs.{}]` and below it `people = 2`", shown(name)),
            ),
        }
    }
    named
}

/// The key `needs` of a table: the name of needs, or needs themselves.
pub(super) fn reference(doc: &mut Doc<'_>, table: &Field<'_>, named: &Named) -> Option<Needs> {
    let value = table.get("needs")?;
    if let Some(inner) = Field::of(value) {
        return inline(doc, &inner, "`needs`");
    }
    let (name, span) = doc.text_at(table, "needs")?;
    let found = named.get(&name).cloned();
    if found.is_none() {
        let close = crate::keys::closest(&name, named.keys().map(String::as_str));
        let fix = close.map_or_else(
            || format!("add a table `[needs.{}]`", shown(&name)),
            |close| format!("did you mean `{close}`?"),
        );
        doc.problem(span, format!("there are no needs named `{}`", shown(&name)), fix);
    }
    found
}

fn inline(doc: &mut Doc<'_>, table: &Field<'_>, place: &str) -> Option<Needs> {
    doc.known_keys(table, place, &[keys::NEEDS]);
    let four_eyes = doc.boolean(table, "four_eyes").unwrap_or(false);
    let step_up = step_up(doc, table);
    let short = table.get("people").or_else(|| table.get("team"));
    let forms = [short.is_some(), table.get("any").is_some(), table.get("all").is_some()];
    if forms.iter().filter(|used| **used).count() > 1 {
        doc.problem(
            table.span(),
            "`people` and `team`, `any`, and `all` are three ways to say it",
            "use one of them",
        );
        return None;
    }
    let any = if table.get("any").is_some() {
        alternatives(doc, table)?
    } else if table.get("all").is_some() {
        vec![AllOf { all: seats(doc, table)? }]
    } else {
        vec![AllOf { all: vec![seat(doc, table)?] }]
    };
    Some(Needs { any, four_eyes, step_up }.normal())
}

fn step_up(doc: &mut Doc<'_>, table: &Field<'_>) -> Option<String> {
    let (word, span) = doc.text_at(table, "step_up")?;
    if word != "code" {
        doc.problem(span, format!("`{}` is not a way to step up", shown(&word)), "write `\"code\"`");
        return None;
    }
    Some(word)
}

fn alternatives(doc: &mut Doc<'_>, table: &Field<'_>) -> Option<Vec<AllOf>> {
    let list = doc.tables(table, "any", "any = [ { all = [ { people = 1, team = \"finance\" } ] } ]");
    bounded(doc, table, "any")?;
    list.iter()
        .map(|alternative| {
            if alternative.get("all").is_some() {
                doc.known_keys(alternative, "an alternative", &[&[("all", "", "")]]);
                Some(AllOf { all: seats(doc, alternative)? })
            } else {
                doc.known_keys(alternative, "an alternative", &[keys::SEAT, &[("all", "", "")]]);
                Some(AllOf { all: vec![seat(doc, alternative)?] })
            }
        })
        .collect()
}

fn seats(doc: &mut Doc<'_>, table: &Field<'_>) -> Option<Vec<Seat>> {
    let list = doc.tables(table, "all", "all = [ { people = 1, team = \"finance\" } ]");
    bounded(doc, table, "all")?;
    list.iter()
        .map(|table| {
            doc.known_keys(table, "a seat", &[keys::SEAT]);
            seat(doc, table)
        })
        .collect()
}

/// An empty list would be met by nobody or by anybody, depending on the reader; it is neither.
fn bounded(doc: &mut Doc<'_>, table: &Field<'_>, key: &str) -> Option<()> {
    let value = table.get(key)?;
    // What is no list has been reported already.
    let length = value.get_ref().as_array()?.len();
    if (1..=LIST).contains(&length) {
        return Some(());
    }
    doc.problem(value.span(), format!("`{key}` has {length} entries"), format!("list from 1 to {LIST}"));
    None
}

fn seat(doc: &mut Doc<'_>, table: &Field<'_>) -> Option<Seat> {
    let people = if table.get("people").is_some() { doc.count(table, "people", 1..=PEOPLE)? } else { 1 };
    let team = match doc.text_at(table, "team") {
        Some((team, span)) if !valid_name(&team) => {
            doc.problem(
                span,
                format!("`{}` cannot name a team", shown(&team)),
                "use letters, digits and . _ @ + - : /, beginning with a letter or digit",
            );
            return None;
        }
        other => other.map(|(team, _)| team),
    };
    if table.get("team").is_some() && team.is_none() {
        return None;
    }
    Some(Seat { people, team })
}

struct Link {
    step: Escalation,
    then: Option<(String, Range<usize>)>,
    span: Range<usize>,
}

pub(super) fn escalations(doc: &mut Doc<'_>, file: &Field<'_>, named: &Named) -> Chains {
    let Some(tables) = doc.table(file, "escalation") else { return Chains::new() };
    let mut links: Vec<(String, Link)> = Vec::new();
    for (name, span, value) in tables.entries() {
        let Some(table) = Field::of(value) else {
            doc.problem(
                span,
                format!("`escalation.{}` is not a table", shown(name)),
                format!("write `[escalation.{}]`", shown(name)),
            );
            continue;
        };
        doc.known_keys(&table, &format!("`[escalation.{}]`", shown(name)), &[keys::ESCALATION]);
        for key in ["needs", "expires_in"] {
            if table.get(key).is_none() {
                doc.problem(
                    span.clone(),
                    format!("`[escalation.{}]` has no `{key}`", shown(name)),
                    format!("add `{key}`"),
                );
            }
        }
        let (needs, expires_in) = (reference(doc, &table, named), doc.duration(&table, "expires_in"));
        let then = doc.text_at(&table, "then");
        if let (Some(needs), Some(expires_in)) = (needs, expires_in) {
            links.push((name.to_owned(), Link { step: Escalation { needs, expires_in }, then, span }));
        }
    }
    let by_name: HashMap<&str, &Link> = links.iter().map(|(name, link)| (name.as_str(), link)).collect();
    let mut chains = Chains::new();
    for (name, link) in &links {
        if let Some(steps) = chain(doc, name, link, &by_name, &tables) {
            chains.insert(name.clone(), steps);
        }
    }
    chains
}

fn chain(
    doc: &mut Doc<'_>,
    name: &str,
    link: &Link,
    by_name: &HashMap<&str, &Link>,
    tables: &Field<'_>,
) -> Option<Vec<Escalation>> {
    let mut path = vec![name];
    let mut steps = vec![link.step.clone()];
    let mut at = link;
    while let Some((next, span)) = &at.then {
        if path.contains(&next.as_str()) {
            // A cycle is reported once, where its first member by name stands.
            let cycle: Vec<&str> = path.iter().copied().skip_while(|step| *step != next).collect();
            if cycle.iter().min() == Some(&name) && cycle.first() == Some(&name) {
                let round = cycle
                    .iter()
                    .chain([&name])
                    .map(|step| format!("`{}`", shown(step)))
                    .collect::<Vec<_>>()
                    .join(" -> ");
                doc.problem(
                    span.clone(),
                    format!("the escalations go in a circle: {round}"),
                    "remove one `then`",
                );
            }
            return None;
        }
        let Some(found) = by_name.get(next.as_str()) else {
            // One that stands in the file but could not be read has been reported already.
            if at.span == link.span && tables.get(next).is_none() {
                doc.problem(
                    span.clone(),
                    format!("there is no escalation named `{}`", shown(next)),
                    format!("add a table `[escalation.{}]`", shown(next)),
                );
            }
            return None;
        };
        path.push(next);
        steps.push(found.step.clone());
        if steps.len() > CHAIN {
            doc.problem(
                link.span.clone(),
                format!("the escalation `{}` has more than {CHAIN} steps", shown(name)),
                "shorten the chain",
            );
            return None;
        }
        at = found;
    }
    Some(steps)
}

/// Named tables that nothing uses are probably misspelt somewhere.
pub(super) fn unused(doc: &mut Doc<'_>, file: &Field<'_>, used: &HashSet<String>) {
    let text_of = |table: &Field<'_>, key: &str| {
        table.get(key).and_then(|value| value.get_ref().as_str().map(str::to_owned))
    };
    let mut needed: Vec<String> = used.iter().cloned().collect();
    if let Some(defaults) = file.get("defaults").and_then(Field::of) {
        needed.extend(text_of(&defaults, "needs").map(|name| format!("needs.{name}")));
    }
    if let Some(escalations) = file.get("escalation").and_then(Field::of) {
        for (_, _, value) in escalations.entries() {
            if let Some(table) = Field::of(value) {
                needed.extend(text_of(&table, "needs").map(|name| format!("needs.{name}")));
                needed.extend(text_of(&table, "then").map(|name| format!("escalation.{name}")));
            }
        }
    }
    for group in ["needs", "escalation"] {
        let Some(tables) = file.get(group).and_then(Field::of) else { continue };
        for (name, span, _) in tables.entries() {
            if !needed.contains(&format!("{group}.{name}")) {
                doc.warning(
                    span,
                    format!("nothing uses `[{group}.{}]`", shown(name)),
                    "use it in a rule, or remove it",
                );
            }
        }
    }
}
