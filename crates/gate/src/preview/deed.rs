//! Calls of well-known tools, by the whole name of the tool and all of its arguments.

mod cloud;
mod cluster;
mod code;
mod desk;
mod local;
mod pay;

use placet_core::Segment;
use serde_json::{Map, Value};

use super::{
    args::{Args, Clear, Name},
    kube::Kubernetes,
    say::{fill, listed, slots, word},
    sum::Sum,
    text::{middle, quoted},
};

/// What a call does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Reads,
    Acts,
    /// It deletes, moves money, or gives rights away.
    Grave,
}

/// One shape of a tool: its names, what it does, and further arguments of which nothing is said.
pub(super) struct Shape {
    /// Whole names, in words joined by underscores.
    pub(super) tools: &'static [&'static str],
    pub(super) weight: Weight,
    /// A template; see `say`. A slot has the names of one argument: `{id|issue_id}`. With `"` it is a text in quotes.
    /// `{$}` is an amount of money; `{$minor}` is one too, of a tool that only Stripe has.
    pub(super) says: &'static str,
    /// Arguments that do not change what is done.
    pub(super) aside: &'static [&'static str],
}

/// Every shape.
pub(super) fn shapes() -> impl Iterator<Item = &'static Shape> {
    [cloud::SHAPES, code::SHAPES, cluster::SHAPES, desk::SHAPES, local::SHAPES, pay::SHAPES]
        .into_iter()
        .flatten()
}

/// A call of a known shape.
pub(super) struct Deed<'a> {
    shape: &'static Shape,
    says: String,
    arguments: &'a Map<String, Value>,
    /// Those that the sentence names and their values.
    pub(super) named: Vec<(&'a str, &'a Value)>,
}

impl<'a> Deed<'a> {
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        let mut best: Option<(usize, Self, Args<'a>)> = None;
        for shape in shapes().filter(|shape| name.one_of(shape.tools)) {
            let mut own = args.clone();
            let Some(deed) = Self::of(shape, name, &mut own) else { continue };
            let unknown = own.unknown().len();
            // The shape that leaves the fewest arguments unknown, and the first of those.
            if best.as_ref().is_none_or(|(fewest, ..)| unknown < *fewest) {
                best = Some((unknown, deed, own));
            }
        }
        let (_, deed, own) = best?;
        *args = own;
        Some(deed)
    }

    fn of(shape: &'static Shape, name: &Name, args: &mut Args<'a>) -> Option<Self> {
        let mut found: Vec<(&str, Option<String>)> = Vec::new();
        let mut named = Vec::new();
        for slot in slots(shape.says) {
            let slot = slot.trim_start_matches(['?', '!']);
            if found.iter().any(|(known, _)| *known == slot) {
                continue;
            }
            if let Some(unit) = slot.strip_prefix('$') {
                let minor = name.is_of("stripe");
                if unit == "minor" && !minor {
                    return None;
                }
                found.push((slot, Sum::read(args, minor)?.map(|sum| sum.said())));
                continue;
            }
            let (quotes, names) = slot.strip_prefix('"').map_or((false, slot), |names| (true, names));
            let names: Vec<&str> = names.split('|').collect();
            let flag = slots(shape.says).any(|each| each.strip_prefix(['?', '!']) == Some(slot));
            let text = match args.maybe(&names)? {
                None => None,
                Some((key, value)) => {
                    let text = if flag { switch(value)? } else { Some(said(value, quotes)?) };
                    named.extend(text.is_some().then_some((key, value)));
                    text
                }
            };
            found.push((slot, text));
        }
        let look =
            |slot: &str| found.iter().find(|(known, _)| *known == slot).and_then(|(_, text)| text.clone());
        let says = fill(shape.says, &look)?;
        for aside in shape.aside {
            args.maybe(&aside.split('|').collect::<Vec<_>>())?;
        }
        Some(Self { shape, says, arguments: args.all(), named })
    }

    pub(super) fn weight(&self) -> Weight {
        self.shape.weight
    }

    pub(super) fn effect(&self) -> String {
        self.says.clone()
    }

    pub(super) fn facts(&self) -> String {
        super::plain::facts(self.arguments)
    }

    /// The change to a cluster, if it is one.
    pub(super) fn kubernetes(&self) -> Option<Kubernetes> {
        let verb = cluster::verb(self.shape)?;
        Kubernetes::of_arguments(verb, &self.named)
    }
}

/// A switch that is on, off, or no switch at all.
fn switch(value: &Value) -> Clear<Option<String>> {
    match value {
        Value::Bool(on) => Some(on.then(|| "true".to_owned())),
        _ => None,
    }
}

/// A value in a sentence. Objects, and lists of them, have no place in one.
fn said(value: &Value, quotes: bool) -> Option<String> {
    match value {
        Value::String(text) if quotes => Some(quoted(&middle(text, 90))),
        // The words of a command.
        Value::Array(items) if quotes => {
            let words: Vec<&str> = items.iter().map(Value::as_str).collect::<Option<_>>()?;
            (!words.is_empty()).then(|| quoted(&middle(&words.join(" "), 90)))
        }
        Value::String(text) => Some(word(text)),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(on) => Some(on.to_string()),
        Value::Array(items) if !items.is_empty() => {
            let texts: Vec<String> = items.iter().map(scalar).collect::<Option<_>>()?;
            Some(listed(&texts, 70))
        }
        _ => None,
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Names the place of a value below the arguments.
pub(super) fn at(key: &str) -> String {
    placet_core::pointer(&[Segment::Key(key)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_can_be_filled_and_names_each_slot_once() {
        for shape in shapes() {
            let full = fill(shape.says, &|slot: &str| Some(slot.to_owned()));
            let none_set = shape.says.contains("{!");
            assert!(full.is_some() || none_set, "{}", shape.says);
            let first = shape.says.chars().next();
            assert!(first.is_some_and(|first| first.is_ascii_lowercase() || "{[".contains(first)));
            assert_eq!(shape.says.matches('[').count(), shape.says.matches(']').count(), "{}", shape.says);
            for tool in shape.tools {
                assert!(Name::new(tool).one_of(&[tool]), "{tool} is not written in words");
            }
        }
    }

    #[test]
    fn no_tool_is_described_in_two_ways_with_the_same_arguments() {
        let mut seen = Vec::new();
        for shape in shapes() {
            for tool in shape.tools {
                let key = (*tool, shape.says);
                assert!(!seen.contains(&key), "{key:?}");
                seen.push(key);
            }
        }
    }
}
