//! Reads one rule, and refuses combinations that could not mean what they seem to.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use placet_core::{Confine, Covered, DecisionWord, Effect, Escalation, Kind, Needs, Risk};

use super::{
    doc::{Doc, Field},
    matchers,
    needs::{self, Chains, Named},
    shown,
};
use crate::{
    Trust, WORKSPACE,
    condition::Condition,
    evaluate::Defaults,
    files::{Asks, Files},
    glob::Name,
    keys,
    path::Path,
    rule::Rule,
    trust::is_shell_tool,
};

/// Most names in one list.
pub(crate) const NAMES: usize = 1_000;
/// Most pointers in a template.
pub(crate) const TEMPLATE: usize = 16;

/// What rules refer to.
pub(super) struct Context<'c> {
    pub(super) needs: &'c Named,
    pub(super) escalations: &'c Chains,
    pub(super) defaults: &'c Defaults,
    pub(super) files: &'c HashMap<String, Arc<Files>>,
    /// `needs.NAME` and `escalation.NAME` that some rule uses.
    pub(super) used: HashSet<String>,
    /// The rules that others give way to, and where they say so.
    pub(super) gives_way: Vec<(String, Range<usize>)>,
}

/// Reads a rule; `None` when it has no effect to speak of. Problems go to the document.
pub(super) fn read(
    doc: &mut Doc<'_>,
    table: &Field<'_>,
    name: String,
    context: &mut Context<'_>,
) -> Option<Rule> {
    doc.known_keys(table, "a rule", &[keys::RULE_EFFECT, keys::RULE_MATCH]);
    let Some((effect, _)) = doc.word::<Effect>(table, "effect") else {
        if table.get("effect").is_none() {
            doc.problem(
                table.span(),
                "the rule has no effect",
                "add `effect = \"hold\"`, `\"allow\"` or `\"deny\"`",
            );
        }
        return None;
    };
    only_where_they_mean_something(doc, table, effect);
    let default_risk = if effect == Effect::Allow { Risk::Low } else { context.defaults.risk };
    let risk = doc.word::<Risk>(table, "risk").map_or(default_risk, |(risk, _)| risk);
    let arguments = matchers::arguments(doc, table, effect);
    let tool = names(doc, table, "tool");
    let mut rule = Rule {
        name,
        effect,
        confine: doc.word::<Confine>(table, "confine").map(|(word, _)| word),
        otherwise: flag(doc, table, "otherwise"),
        unless_confined: flag(doc, table, "unless_confined"),
        unless_allowed: unless_allowed(doc, table, context),
        tool_begins: words(doc, table, "tool_begins"),
        tool_has: words(doc, table, "tool_has"),
        server: names(doc, table, "server"),
        agent: names(doc, table, "agent"),
        source: names(doc, table, "source"),
        kind: kinds(doc, table, effect),
        session: names(doc, table, "session"),
        lineage: names(doc, table, "lineage"),
        coverage: coverage(doc, table),
        only: only(doc, table),
        inside: is_in_workspace(table),
        among: among(doc, table, context),
        files: files(doc, table, context),
        when: condition(doc, table, effect),
        reason: doc.text(table, "reason", 500),
        reads_only: reads_only(doc, table, effect),
        needs: rule_needs(doc, table, context),
        expires_in: doc.duration(table, "expires_in"),
        escalation: on_expiry(doc, table, context),
        claim_within: doc.duration(table, "claim_within"),
        decisions: decisions(doc, table),
        pending_cap: doc.count(table, "pending_cap", 1..=10_000).map(u64::from),
        trust: None,
        tool,
        arguments,
        risk,
    };
    rule.trust = trust(doc, table, &rule);
    if rule.otherwise && rule.confine.is_none() {
        let span = table.get("otherwise").map(toml::Spanned::span);
        doc.problem(
            span.unwrap_or_default(),
            "`otherwise` is for what runs confined, and this rule lets it run free",
            "add `confine = \"workspace\"` to the rule, or leave `otherwise` out",
        );
    }
    if rule.unless_allowed.is_some() && rule.claims() {
        let span = table.get("unless_allowed").map(toml::Spanned::span);
        doc.problem(
            span.unwrap_or_default(),
            "`unless_allowed` has no meaning in a rule that looks at what an agent claims",
            "remove it: such a rule holds, whatever else lets the call pass",
        );
    }
    if rule.unless_confined && rule.claims() {
        let span = table.get("unless_confined").map(toml::Spanned::span);
        doc.problem(
            span.unwrap_or_default(),
            "`unless_confined` has no meaning in a rule that looks at what an agent claims",
            "remove it: such a rule holds, however the call would run",
        );
    }
    if !rule.inside && rule.arguments.iter().any(|argument| argument.matcher.moves()) {
        let span = table.entries().into_iter().find(|(key, ..)| *key == "args").map(|(_, span, _)| span);
        doc.problem(
            span.unwrap_or_default(),
            "`moves` lets commands run in other folders, and nothing says in which",
            "add `under = \"@workspace\"` to the rule, or leave `moves` out",
        );
    }
    if effect == Effect::Allow {
        claims_in_allow(doc, table);
    }
    Some(rule)
}

/// Keys that say something only of a certain effect.
fn only_where_they_mean_something(doc: &mut Doc<'_>, table: &Field<'_>, effect: Effect) {
    const HOLD: [&str; 9] = [
        "needs",
        "expires_in",
        "on_expiry",
        "decisions",
        "pending_cap",
        "trust_after",
        "template",
        "unless_confined",
        "unless_allowed",
    ];
    const ALLOW: [&str; 4] = ["only", "under", "confine", "otherwise"];
    const RESTRICT: [&str; 2] = ["touches", "above"];
    for (key, span, _) in table.entries() {
        if effect != Effect::Allow && ALLOW.contains(&key) {
            doc.problem(
                span,
                format!("`{key}` bounds what may pass, and this rule lets nothing pass"),
                "write it in an allow rule; hold what is left over by not allowing it",
            );
        } else if effect == Effect::Allow && RESTRICT.contains(&key) {
            doc.problem(
                span,
                format!("`{key}` finds what must not pass, so it has no place in an allow rule"),
                "write it in a hold or deny rule: that beats every allow rule",
            );
        }
    }
    for (key, span, value) in table.entries() {
        let says_allow = key == "on_expiry" && value.get_ref().as_str() == Some("allow");
        let out_of_place = (effect != Effect::Hold && HOLD.contains(&key))
            || (effect == Effect::Deny && key == "claim_within");
        if out_of_place && !says_allow {
            doc.problem(
                span,
                format!("`{key}` has no meaning in a rule whose effect is `{effect}`: nobody is asked"),
                format!("remove `{key}`, or write `effect = \"hold\"`"),
            );
        }
    }
}

/// The rule whose yes this one gives way to. Whether there is one is known when all have been read.
fn unless_allowed(doc: &mut Doc<'_>, table: &Field<'_>, context: &mut Context<'_>) -> Option<String> {
    let (name, span) = doc.text_at(table, "unless_allowed")?;
    context.gives_way.push((name.clone(), span));
    Some(name)
}

/// The names of the arguments that a call may have; none of them is a list of none.
fn only(doc: &mut Doc<'_>, table: &Field<'_>) -> Option<HashSet<Box<str>>> {
    table.get("only")?;
    let empty =
        table.get("only").is_some_and(|value| value.get_ref().as_array().is_some_and(|list| list.is_empty()));
    if empty {
        return Some(HashSet::new());
    }
    Some(doc.texts(table, "only", false).into_iter().map(|(text, _)| text.into()).collect())
}

fn is_in_workspace(table: &Field<'_>) -> bool {
    table.get("under").is_some_and(|value| value.get_ref().as_str() == Some(WORKSPACE))
}

/// The list whose files the rule lets pass, if it is not the workspace.
fn among(doc: &mut Doc<'_>, table: &Field<'_>, context: &Context<'_>) -> Option<Arc<Files>> {
    let (text, span) = doc.text_at(table, "under").filter(|(text, _)| text != WORKSPACE)?;
    let Some(files) = context.files.get(&text) else {
        doc.problem(
            span,
            format!(
                "a rule is under `{WORKSPACE}` or a list of files, and there is none named `{}`",
                shown(&text)
            ),
            "write `under = \"@workspace\"`; for one argument, `[rule.args] path = { under = \"/srv\" }`",
        );
        return None;
    };
    if !files.is_placed() {
        doc.problem(
            span.clone(),
            format!("the list `{}` does not say where its files are, so it lets nothing pass", shown(&text)),
            "begin each entry with `/` or `~/`",
        );
    }
    if table.get("confine").is_some() {
        doc.problem(span, "what runs confined changes the workspace alone", "write `under = \"@workspace\"`");
    }
    Some(files.clone())
}

fn files(doc: &mut Doc<'_>, table: &Field<'_>, context: &Context<'_>) -> Vec<(Asks, Arc<Files>)> {
    let mut files = Vec::new();
    for (key, asks) in [("touches", Asks::Touches), ("above", Asks::Above)] {
        for (name, span) in doc.texts(table, key, true) {
            match context.files.get(&name) {
                Some(list) => files.push((asks, list.clone())),
                None => doc.problem(
                    span,
                    format!("there is no list of files named `{}`", shown(&name)),
                    format!("add `{} = [\".env\"]` to the table `[paths]`", shown(&name)),
                ),
            }
        }
    }
    files
}

pub(super) fn names(doc: &mut Doc<'_>, table: &Field<'_>, key: &str) -> Vec<Name> {
    let texts = doc.texts(table, key, true);
    if texts.len() > NAMES {
        let span = table.get(key).map_or_else(|| table.span(), toml::Spanned::span);
        doc.problem(span, format!("`{key}` lists more than {NAMES} names"), "use globs, or split the rule");
        return Vec::new();
    }
    let mut names = Vec::new();
    for (text, span) in texts {
        match Name::read(&text) {
            Ok(_) if key == "tool" && !could_be_a_tool(&text) => doc.problem(
                span,
                format!("no tool can be named `{}`", shown(&text)),
                "use the characters A-Z a-z 0-9 _ . / : - and the wildcards * and ?",
            ),
            Ok(name) => names.push(name),
            Err(why) => doc.problem(
                span,
                format!("`{}` is not a glob: {why}", shown(&text)),
                "use `*` for any run of characters and `?` for one; list several names in `[…]`",
            ),
        }
    }
    names
}

/// Words of names, in lower case: letters and digits, and wildcards.
fn words(doc: &mut Doc<'_>, table: &Field<'_>, key: &str) -> Vec<Name> {
    let names = names(doc, table, key);
    for name in &names {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"*?".contains(&byte);
        let wild = name.text().bytes().all(|byte| b"*?".contains(&byte));
        if wild || !name.text().bytes().all(plain) {
            let span = table.get(key).map_or_else(|| table.span(), toml::Spanned::span);
            doc.problem(
                span,
                format!("`{}` is not a word of a name", shown(name.text())),
                "write it in lower case and without signs, such as `delete` or `*delete*`",
            );
        }
    }
    names
}

/// A key that is on or off.
fn flag(doc: &mut Doc<'_>, table: &Field<'_>, key: &str) -> bool {
    let Some(value) = table.get(key) else { return false };
    value.get_ref().as_bool().unwrap_or_else(|| {
        doc.problem(
            value.span(),
            format!("`{key}` is not a boolean"),
            format!("write `{key} = true`, or leave it out"),
        );
        false
    })
}

fn reads_only(doc: &mut Doc<'_>, table: &Field<'_>, effect: Effect) -> bool {
    let Some(value) = table.get("reads_only") else { return false };
    match value.get_ref().as_bool() {
        Some(true) if effect == Effect::Allow => true,
        Some(false) => false,
        Some(true) => {
            doc.problem(
                value.span(),
                format!("`reads_only` has no meaning in a rule whose effect is `{effect}`"),
                "remove it: it says of an allow rule that what it lets pass only reads",
            );
            false
        }
        None => {
            doc.problem(value.span(), "`reads_only` is not a boolean", "write `reads_only = true`");
            false
        }
    }
}

fn could_be_a_tool(text: &str) -> bool {
    text.len() <= 200 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./:-*?".contains(&byte))
}

fn kinds(doc: &mut Doc<'_>, table: &Field<'_>, effect: Effect) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for (text, span) in doc.texts(table, "kind", true) {
        let Some((kind, span)) = doc.read_word::<Kind>(&text, "kind", span) else { continue };
        if effect == Effect::Allow && kind != Kind::Action {
            doc.problem(
                span,
                format!("a request of kind `{kind}` is never allowed without a person"),
                "remove it from this rule, or write `effect = \"hold\"`",
            );
        }
        kinds.push(kind);
    }
    kinds
}

fn coverage(doc: &mut Doc<'_>, table: &Field<'_>) -> Vec<Covered> {
    let texts = doc.texts(table, "coverage", true);
    let mut read = |(text, span): (String, _)| doc.read_word(&text, "coverage", span).map(|(word, _)| word);
    texts.into_iter().filter_map(&mut read).collect()
}

fn condition(doc: &mut Doc<'_>, table: &Field<'_>, effect: Effect) -> Option<Condition> {
    let (source, span) = doc.text_at(table, "when")?;
    match Condition::new(&source) {
        Ok(condition) => {
            let uses = condition.uses();
            if effect == Effect::Allow && uses.claims {
                doc.problem(
                    span.clone(),
                    "the condition looks at `session` or `lineage`, which an agent merely claims",
                    CLAIMS,
                );
            }
            if effect == Effect::Allow && uses.loose_pattern {
                doc.warning(
                    span.clone(),
                    "a pattern in the condition of an allow rule also matches in the middle of a text",
                    "anchor it with `^` and `$`, unless it is there to exclude something",
                );
            }
            matchers::budget(doc, uses.patterns, span);
            Some(condition)
        }
        Err(refused) => {
            let at = inside(doc, &span, refused.at);
            doc.problem(at, format!("the condition cannot be used: {}", refused.message), refused.fix);
            None
        }
    }
}

/// The place inside a text of the file, where text and file agree letter for letter.
fn inside(doc: &Doc<'_>, span: &Range<usize>, offset: usize) -> Range<usize> {
    let source = doc.source(span);
    let plain = !source.contains('\\') && !source.starts_with("'''") && !source.starts_with("\"\"\"");
    let at = if plain { span.start.saturating_add(1).saturating_add(offset) } else { span.start };
    at.min(span.end)..span.end
}

const CLAIMS: &str = "use it in a hold or deny rule, or name the sub-agent as an agent of its own";

fn claims_in_allow(doc: &mut Doc<'_>, table: &Field<'_>) {
    for (key, span, _) in table.entries() {
        if ["session", "lineage", "coverage"].contains(&key) {
            doc.problem(
                span,
                format!("an allow rule cannot look at `{key}`, which an agent merely claims"),
                CLAIMS,
            );
        }
    }
}

fn rule_needs(doc: &mut Doc<'_>, table: &Field<'_>, context: &mut Context<'_>) -> Needs {
    if let Some(name) = table.get("needs").and_then(|value| value.get_ref().as_str()) {
        context.used.insert(format!("needs.{name}"));
    }
    needs::reference(doc, table, context.needs).unwrap_or_else(|| context.defaults.needs.clone())
}

fn on_expiry(doc: &mut Doc<'_>, table: &Field<'_>, context: &mut Context<'_>) -> Vec<Escalation> {
    let Some(value) = table.get("on_expiry") else { return Vec::new() };
    match (value.get_ref().as_str(), Field::of(value)) {
        (Some("deny"), _) => Vec::new(),
        (Some("allow" | "approve"), _) => {
            doc.problem(
                value.span(),
                "expiry never allows: silence is not a yes",
                "write `on_expiry = \"deny\"` or `on_expiry = { escalate = \"…\" }`",
            );
            Vec::new()
        }
        (_, Some(inner)) => {
            doc.known_keys(&inner, "`on_expiry`", &[&[("escalate", "", "")]]);
            let Some((name, span)) = doc.text_at(&inner, "escalate") else {
                if inner.get("escalate").is_none() {
                    doc.problem(
                        inner.span(),
                        "`on_expiry` names no escalation",
                        "write `{ escalate = \"…\" }`",
                    );
                }
                return Vec::new();
            };
            context.used.insert(format!("escalation.{name}"));
            context.escalations.get(&name).cloned().unwrap_or_else(|| {
                let fix = format!("add a table `[escalation.{}]`, or mend the one there is", shown(&name));
                doc.problem(span, format!("there is no usable escalation named `{}`", shown(&name)), fix);
                Vec::new()
            })
        }
        _ => {
            doc.problem(
                value.span(),
                "`on_expiry` is neither `deny` nor an escalation",
                "write `\"deny\"` or `{ escalate = \"…\" }`",
            );
            Vec::new()
        }
    }
}

fn decisions(doc: &mut Doc<'_>, table: &Field<'_>) -> Option<Vec<DecisionWord>> {
    table.get("decisions")?;
    let words: Vec<DecisionWord> = doc
        .texts(table, "decisions", false)
        .into_iter()
        .filter_map(|(text, span)| doc.read_word(&text, "decisions", span).map(|(word, _)| word))
        .collect();
    Some(
        DecisionWord::ALL
            .iter()
            .copied()
            .filter(|word| *word == DecisionWord::Deny || words.contains(word))
            .collect(),
    )
}

fn trust(doc: &mut Doc<'_>, table: &Field<'_>, rule: &Rule) -> Option<Trust> {
    let Some(value) = table.get("trust_after") else {
        if let Some(template) = table.get("template") {
            doc.problem(
                template.span(),
                "`template` says nothing without `trust_after`",
                "add `trust_after = 3`, or remove `template`",
            );
        }
        return None;
    };
    let after = doc.count(table, "trust_after", 1..=1_000)?;
    if rule.risk >= Risk::High {
        doc.problem(
            value.span(),
            format!("`trust_after` on a rule of risk `{}`: such calls always need a person", rule.risk),
            "remove `trust_after`, or lower `risk` to `medium` if that is true",
        );
    }
    let template = table.get("template").map(|value| {
        let span = value.span();
        let texts = doc.texts(table, "template", false);
        if texts.len() > TEMPLATE {
            doc.problem(
                span.clone(),
                format!("`template` lists more than {TEMPLATE} pointers"),
                "leave it out to compare all arguments",
            );
        }
        for (text, span) in &texts {
            if let Err(why) = Path::read_pointer(text) {
                doc.problem(
                    span.clone(),
                    format!("`{}` is not a JSON pointer: {why}", shown(text)),
                    "write it as `/to/iban`",
                );
            }
        }
        let shell = rule.tool.iter().find(|name| is_shell_tool(name.text()));
        let free =
            shell.map(|name| format!("`{}` takes a free-form command", shown(name.text()))).or_else(|| {
                rule.arguments
                    .iter()
                    .any(|argument| !argument.path.is_deep() && argument.matcher.looks_at_commands())
                    .then(|| "the rule looks at a free-form command".to_owned())
            });
        if let Some(why) = free {
            doc.problem(
                span,
                format!("{why}, of which only the whole can be trusted"),
                "remove `template`: then the same arguments, all of them, count as the same",
            );
        }
        let mut texts: Vec<String> = texts.into_iter().map(|(text, _)| text).collect();
        texts.sort();
        texts.dedup();
        texts
    });
    Some(Trust { after, template })
}
