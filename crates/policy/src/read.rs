//! Reads a policy file: every key is known, every value fits, and what does not is reported with its line, all at once.

mod cosmetic;
mod doc;
mod matchers;
mod needs;
mod rule;
mod warn;

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use placet_core::{Effect, Risk};
use toml::de::DeTable;

pub(crate) use self::{
    cosmetic::COSMETIC,
    matchers::ARGUMENTS,
    needs::{CHAIN, LIST, PEOPLE},
    rule::{NAMES, TEMPLATE},
};

use self::doc::{Doc, Field};
use crate::{
    DEFAULT_RULE, PolicyErrors, Problem,
    cosmetic::{Cosmetic, without_looked_at},
    durations,
    evaluate::Defaults,
    files::{ENTRIES, Files},
    keys, presets,
    rule::Rule,
};

/// Largest file, in bytes.
pub(crate) const FILE: usize = 1024 * 1024;
/// Most rules, those of presets included.
pub(crate) const RULES: usize = 5_000;
/// Memory of all patterns together, in bytes.
pub(crate) const PATTERNS: usize = 32 * 1024 * 1024;

/// What stands in a good file.
pub(crate) struct Read {
    pub(crate) name: Option<String>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) cosmetic: Vec<Cosmetic>,
    pub(crate) defaults: Defaults,
    pub(crate) warnings: Vec<Problem>,
}

/// Reads a file whole; a file with any problem gives nothing but its problems.
pub(crate) fn read(text: &str) -> Result<Read, PolicyErrors> {
    let mut doc = Doc::new(text);
    if text.len() > FILE {
        doc.problem(0..0, format!("the file is larger than {FILE} bytes"), "split the policy or use globs");
        return Err(doc.into_errors());
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        doc.problem(
            span,
            format!("this is not TOML: {}", error.message()),
            "mend the syntax; an editor with TOML support shows the place",
        );
    }
    if doc.failed() {
        return Err(doc.into_errors());
    }
    let read = top(&mut doc, &Field::root(&table));
    if doc.failed() { Err(doc.into_errors()) } else { Ok(read) }
}

fn top(doc: &mut Doc<'_>, file: &Field<'_>) -> Read {
    doc.known_keys(file, "the file", &[keys::TOP]);
    let name = doc.text(file, "name", 100);
    match doc.integer(file, "version") {
        Some((1, _)) => {}
        Some((other, span)) => {
            doc.problem(span, format!("version `{other}` is not known"), "write `version = 1`");
        }
        None if file.get("version").is_none() => {
            doc.problem(0..0, "the key `version` is missing", "begin the file with `version = 1`");
        }
        None => {}
    }
    switches(doc, file);
    let named = needs::named(doc, file);
    let defaults = defaults(doc, file, &named);
    let steps = needs::escalations(doc, file, &named);
    let files = files(doc, file);
    let mut context = rule::Context {
        needs: &named,
        escalations: &steps,
        defaults: &defaults,
        files: &files,
        used: HashSet::new(),
        gives_way: Vec::new(),
    };
    let (mut rules, spans) = own_rules(doc, file, &mut context);
    let (used, gives_way) = (context.used, context.gives_way);
    yields_to_a_rule(doc, &rules, &gives_way);
    let own = cosmetic::read(doc, file);
    let mut cosmetic = extend(doc, file, &mut rules, &defaults);
    cosmetic::check(doc, &own, &rules);
    known_switches(doc, file);
    cosmetic.extend(own.into_iter().map(|(list, _)| list));
    let cosmetic = without_looked_at(cosmetic, &rules);
    if rules.len() > RULES {
        doc.problem(
            0..0,
            format!("there are more than {RULES} rules"),
            "use lists and globs to say the same with fewer",
        );
    }
    if !doc.failed() {
        warn::warn(doc, &rules, &spans, &defaults);
        needs::unused(doc, file, &used);
    }
    Read { name, rules, cosmetic, defaults, warnings: doc.take_warnings() }
}

/// What the file turns on.
fn switches(doc: &mut Doc<'_>, file: &Field<'_>) {
    let names: Vec<String> = doc.texts(file, "switches", false).into_iter().map(|(name, _)| name).collect();
    doc.switches.on.extend(names);
}

/// A switch that nothing has is a slip of the pen.
fn known_switches(doc: &mut Doc<'_>, file: &Field<'_>) {
    for (name, span) in doc.texts(file, "switches", false) {
        if doc.switches.known.contains(&name) {
            continue;
        }
        let mut known: Vec<String> = doc.switches.known.iter().map(|name| format!("`{name}`")).collect();
        known.sort();
        let fix = if known.is_empty() {
            "remove it: nothing in this file or its presets can be turned on".to_owned()
        } else {
            format!("use one of {}", known.join(", "))
        };
        doc.problem(span, format!("there is no switch `{}`", shown(&name)), fix);
    }
}

/// A hold rule gives way to an allow rule of the same file, and to none that confines.
fn yields_to_a_rule(doc: &mut Doc<'_>, rules: &[Rule], gives_way: &[(String, Range<usize>)]) {
    for (name, span) in gives_way {
        let is = |rule: &&Rule| rule.name == *name && rule.effect == Effect::Allow && rule.confine.is_none();
        if !rules.iter().any(|rule| is(&rule)) {
            doc.problem(
                span.clone(),
                format!("there is no rule `{}` that lets calls pass without confinement", shown(name)),
                "name an allow rule of this file, or remove `unless_allowed`",
            );
        }
    }
}

fn defaults(doc: &mut Doc<'_>, file: &Field<'_>, named: &needs::Named) -> Defaults {
    let mut defaults = Defaults::default();
    let Some(table) = doc.table(file, "defaults") else { return defaults };
    doc.known_keys(&table, "`[defaults]`", &[keys::DEFAULTS]);
    if let Some((effect, span)) = doc.word::<Effect>(&table, "effect") {
        if effect == Effect::Allow {
            doc.problem(
                span,
                "the default effect cannot be `allow`: calls that no rule speaks of would pass",
                "write `\"hold\"` or `\"deny\"`, and allow what is known by rules",
            );
        }
        defaults.effect = effect;
    }
    if let Some((risk, _)) = doc.word::<Risk>(&table, "risk") {
        defaults.risk = risk;
    }
    if let Some((risk, _)) = doc.word::<Risk>(&table, "hold_at_risk") {
        defaults.hold_at_risk = risk;
    }
    defaults.expires_in = doc.duration(&table, "expires_in");
    defaults.claim_within = doc.duration(&table, "claim_within");
    if let Some(needs) = needs::reference(doc, &table, named) {
        defaults.needs = needs;
    }
    defaults
}

/// The table `[paths]`: lists of files by name.
fn files(doc: &mut Doc<'_>, file: &Field<'_>) -> HashMap<String, Arc<Files>> {
    let Some(table) = doc.table(file, "paths") else { return HashMap::new() };
    let mut all = HashMap::new();
    for (name, span, _) in table.entries() {
        let texts = doc.texts(&table, name, false);
        if texts.len() > ENTRIES {
            doc.problem(
                span,
                format!("`{}` lists more than {ENTRIES} files", shown(name)),
                "use `*`, or split it",
            );
            continue;
        }
        match Files::new(texts.iter().map(|(text, _)| text.as_str())) {
            Ok(files) => {
                all.insert(name.to_owned(), Arc::new(files));
            }
            Err(message) => {
                let (what, fix) = message.split_once("; ").unwrap_or((&message, "name files"));
                doc.problem(span, what, fix);
            }
        }
    }
    all
}

/// The rules that stand in the file, with the place of each.
fn own_rules(
    doc: &mut Doc<'_>,
    file: &Field<'_>,
    context: &mut rule::Context<'_>,
) -> (Vec<Rule>, Vec<Range<usize>>) {
    let (mut rules, mut spans) = (Vec::new(), Vec::new());
    let mut names: HashMap<String, usize> = HashMap::new();
    for table in doc.tables(file, "rule", "[[rule]]") {
        if doc.full() {
            break;
        }
        let Some((name, span)) = rule_name(doc, &table) else {
            doc.rule = None;
            rule::read(doc, &table, String::new(), context);
            continue;
        };
        let (line, _) = doc.place(span.start);
        if let Some(first) = names.insert(name.clone(), line) {
            doc.problem(
                span.clone(),
                format!("the name `{}` is taken by the rule on line {first}", shown(&name)),
                "give every rule a name of its own",
            );
        }
        doc.rule = Some(name.clone());
        if let Some(rule) = rule::read(doc, &table, name, context) {
            rules.push(rule);
            spans.push(span);
        }
        doc.rule = None;
    }
    (rules, spans)
}

fn rule_name(doc: &mut Doc<'_>, table: &Field<'_>) -> Option<(String, Range<usize>)> {
    if table.get("name").is_none() {
        doc.problem(table.span(), "the rule has no name", "add `name = \"…\"`; verdicts and logs use it");
        return None;
    }
    let (name, span) = doc.text_at(table, "name")?;
    let plain = (1..=100).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if !plain {
        doc.problem(
            span,
            format!("`{}` cannot name a rule", shown(&name)),
            "use 1 to 100 of the characters A-Z a-z 0-9 . _ -",
        );
        return None;
    }
    if name == DEFAULT_RULE {
        doc.problem(span, "`default` is what verdicts say when no rule spoke", "choose another name");
        return None;
    }
    Some((name, span))
}

/// The rules of presets come after the file's own, under the preset's name. Gives back their cosmetic arguments.
fn extend(doc: &mut Doc<'_>, file: &Field<'_>, rules: &mut Vec<Rule>, defaults: &Defaults) -> Vec<Cosmetic> {
    let (mut seen, mut cosmetic) = (Vec::new(), Vec::new());
    for (text, span) in doc.texts(file, "extends", false) {
        let known =
            presets::names().iter().map(|name| format!("`preset:{name}`")).collect::<Vec<_>>().join(", ");
        let Some((name, preset)) =
            text.strip_prefix("preset:").and_then(|name| Some((name, presets::preset(name)?)))
        else {
            doc.problem(span, format!("`{}` is not a preset", shown(&text)), format!("use one of {known}"));
            continue;
        };
        if seen.contains(&name.to_owned()) {
            doc.problem(span, format!("`{}` stands here twice", shown(&text)), "remove one of them");
            continue;
        }
        seen.push(name.to_owned());
        match read_preset(preset, defaults, &mut doc.switches) {
            Ok((more, lists)) => {
                let prefixed = |own: String| format!("{name}/{own}");
                let named = |rule: Rule| Rule {
                    name: prefixed(rule.name),
                    unless_allowed: rule.unless_allowed.map(prefixed),
                    ..rule
                };
                rules.extend(more.into_iter().map(named));
                cosmetic.extend(lists);
            }
            Err(errors) => {
                doc.problem(
                    span,
                    format!("the preset `{name}` has problems of its own: {errors}"),
                    "report this",
                );
            }
        }
    }
    cosmetic
}

fn read_preset(
    text: &str,
    defaults: &Defaults,
    switches: &mut doc::Switches,
) -> Result<(Vec<Rule>, Vec<Cosmetic>), PolicyErrors> {
    let mut doc = Doc::new(text);
    doc.switches.on.clone_from(&switches.on);
    let (table, _) = DeTable::parse_recoverable(text);
    let file = Field::root(&table);
    let named = needs::named(&mut doc, &file);
    let steps = needs::escalations(&mut doc, &file, &named);
    let files = files(&mut doc, &file);
    let mut context = rule::Context {
        needs: &named,
        escalations: &steps,
        defaults,
        files: &files,
        used: HashSet::new(),
        gives_way: Vec::new(),
    };
    let (rules, _) = own_rules(&mut doc, &file, &mut context);
    let gives_way = context.gives_way;
    yields_to_a_rule(&mut doc, &rules, &gives_way);
    switches.known.extend(doc.switches.known.drain());
    let cosmetic = cosmetic::read(&mut doc, &file).into_iter().map(|(list, _)| list).collect();
    if doc.failed() { Err(doc.into_errors()) } else { Ok((rules, cosmetic)) }
}

/// User input in a message: escaped, and cut when it is long.
fn shown(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

fn duration_fix() -> String {
    format!(
        "write a text such as `\"90s\"`, `\"5m\"`, `\"1h30m\"` or `\"7d\"`, from {} to {}",
        durations::write(durations::SHORTEST),
        durations::write(durations::LONGEST)
    )
}
