//! The calls and questions that a pause is about: as requests, and as the words that answer them.

use placet_core::{Create, DecisionWord, InputSpec, InputType, Kind, Risk};
use serde_json::{Map, Value, json};

use super::{Decided, Item};
use crate::{Fault, fields::Fields};

/// One call that waits, as its answer needs it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// What the answer is keyed by.
    pub(super) id: String,
    /// The tool, for reasons.
    pub(super) tool: String,
    /// How many questions it asks; none means that it is a call to be approved.
    pub(super) questions: usize,
    /// What the tool wants to be handed back.
    pub(super) payload: Option<Map<String, Value>>,
    /// Whether an agent behind the agent waits for it.
    pub(super) nested: bool,
    /// Whether it looks like the call of yet another agent, which would be asked in turn.
    pub(super) relayed: bool,
}

/// What is said of one call.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Word {
    Approved,
    Rejected(Option<String>),
    /// One list of answers for each question.
    Answered(Vec<Vec<String>>),
}

impl Word {
    /// One word for each call. A question that was refused refuses its call: there are no answers to some of it.
    pub(super) fn each(calls: &[Call], decisions: &[Decided]) -> Vec<Self> {
        let mut rest = decisions.iter();
        let word = |call: &Call| {
            let own: Vec<&Decided> = rest.by_ref().take(call.questions.max(1)).collect();
            let refused = own.iter().find_map(|decided| match decided {
                Decided::Rejected { reason } => Some(reason.clone()),
                _ => None,
            });
            match refused {
                Some(reason) => Self::Rejected(reason),
                None if call.questions == 0 => Self::Approved,
                None => Self::Answered(own.into_iter().map(answer).collect()),
            }
        };
        calls.iter().map(word).collect()
    }

    /// The words of the calls as decisions on the items; `decisions` has the answers.
    pub(super) fn items(calls: &[Call], words: Vec<Self>, decisions: &[Decided]) -> Vec<Decided> {
        let mut given = decisions.iter();
        let mut all = Vec::with_capacity(decisions.len());
        for (call, word) in calls.iter().zip(words) {
            for decided in given.by_ref().take(call.questions.max(1)) {
                all.push(match &word {
                    Self::Rejected(reason) => Decided::Rejected { reason: reason.clone() },
                    Self::Approved | Self::Answered(_) => decided.clone(),
                });
            }
        }
        all
    }
}

/// An answer as agents take it: a list of texts.
fn answer(decided: &Decided) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match decided {
        Decided::Answered(Value::Null) | Decided::Approved | Decided::Rejected { .. } => Vec::new(),
        Decided::Answered(Value::Array(list)) => list.iter().map(text).collect(),
        Decided::Answered(one) => vec![text(one)],
    }
}

/// The answers as kagent spells them.
pub(super) fn answers(answers: &[Vec<String>]) -> Vec<Value> {
    answers.iter().map(|answer| json!({"answer": answer})).collect()
}

/// A call as a request.
pub(super) fn action(
    fields: &Fields<'_>,
    name: &str,
    arguments: Map<String, Value>,
    hint: Option<&str>,
    context: Map<String, Value>,
) -> Result<Create, Fault> {
    named(fields, "name", name)?;
    let mut create = Create::new(Kind::Action, "a2a");
    create.tool = Some(name.to_owned());
    create.arguments = Some(arguments);
    create.summary = hint.map(str::to_owned);
    create.context = Some(context);
    fit(&mut create);
    Ok(create)
}

/// A yes or no without a call, as a call of this name: so that its yes is a permit as any other, used once.
pub(super) fn as_action(mut create: Create, tool: &str) -> Create {
    if create.kind != Kind::Confirmation {
        return create;
    }
    let shown = [
        ("message", create.message.take()),
        ("details", create.details.take()),
        ("confirm_label", create.confirm_label.take()),
        ("cancel_label", create.cancel_label.take()),
    ];
    let shown = shown.into_iter().filter_map(|(name, text)| Some((name.to_owned(), json!(text?))));
    create.kind = Kind::Action;
    create.tool = Some(tool.to_owned());
    create.arguments = Some(shown.collect());
    create
}

/// The name of a tool is what policy speaks of, so one that does not fit is refused and not bent into another.
pub(super) fn named(fields: &Fields<'_>, field: &str, name: &str) -> Result<(), Fault> {
    if crate::desk::tool(name) == name {
        return Ok(());
    }
    Err(fields.fault(field, "is no name of a tool: 1 to 200 of A-Z a-z 0-9 _ . / : -"))
}

/// Makes a request such that it can be put and answered: with the words that an agent has for its answer, with the agent's
/// own text no longer than it may be, and with numbers that are what they seem.
pub(super) fn fit(create: &mut Create) {
    if create.kind == Kind::Action {
        // None of these languages has a word for other arguments.
        create.allowed = Some(vec![DecisionWord::Approve, DecisionWord::Deny]);
    }
    let context = create.context.get_or_insert_with(Map::new);
    for value in context.values_mut().filter(|value| outsized(value)) {
        *value = json!(value.to_string());
    }
    if let Some(arguments) = create.arguments.as_mut().filter(|arguments| arguments.values().any(outsized)) {
        let text = Value::Object(std::mem::take(arguments)).to_string();
        arguments.insert("arguments_json".to_owned(), json!(text));
        warn(
            create,
            "a number of 2^53 or more, for which some agents run another one than they show: kept as text",
        );
    }
    create.summary = create.summary.as_deref().map(|summary| cut(summary.trim_end()));
}

/// Tells people what to look at, first of all. Such a request is of the highest risk: rules may not see into it either.
pub(super) fn warn(create: &mut Create, warning: &str) {
    let context = create.context.get_or_insert_with(Map::new);
    if let Value::Array(all) = context.entry("warnings").or_insert_with(|| json!([])) {
        all.push(json!(warning));
    }
    let said = create.summary.as_deref().unwrap_or("");
    create.summary = Some(cut(format!("Warning: {warning}.\n{said}").trim_end()));
    create.risk = Some(Risk::Critical);
}

/// The questions of one call, each a request of its own.
pub(crate) fn questions(
    fields: &Fields<'_>,
    id: &str,
    context: &Map<String, Value>,
) -> Result<Vec<Item>, Fault> {
    let asked = fields.objects("questions")?;
    if asked.is_empty() {
        return Err(fields.fault("questions", "is empty"));
    }
    let item = |(index, question): (usize, &Fields<'_>)| {
        let mut create = Create::new(Kind::Input, "a2a");
        let text = question.word("question")?;
        if cut(text) != text {
            return Err(question.fault("question", "is longer than 8192 bytes"));
        }
        create.question = Some(text.to_owned());
        let mut context = context.clone();
        let choices = question.words("choices")?;
        let several = question.flag("multiple")?.unwrap_or(false);
        create.input = Some(input(choices, several, &mut context));
        create.context = Some(context);
        Ok(Item { id: format!("{id}#{index}"), create })
    };
    asked.iter().enumerate().map(item).collect()
}

/// A choice, if the choices are such; otherwise text, with the choices beside it for people to read.
fn input(choices: Vec<String>, several: bool, context: &mut Map<String, Value>) -> InputSpec {
    let distinct =
        |(index, choice): (usize, &String)| !choices.iter().take(index).any(|earlier| earlier == choice);
    let fit = choices.len() <= 200
        && choices.iter().all(|choice| (1..=200).contains(&choice.len()))
        && choices.iter().enumerate().all(distinct);
    let (kind, options) = match (choices.is_empty(), fit, several) {
        (true, ..) => (InputType::Text, None),
        (_, false, _) => {
            context.insert("choices".to_owned(), json!(choices));
            (InputType::Text, None)
        }
        (_, _, false) => (InputType::Choice, Some(choices)),
        (_, _, true) => (InputType::MultiChoice, Some(choices)),
    };
    InputSpec { kind, min: None, max: None, options }
}

/// Whether a number in it is 2^53 or more: from there on, doubles leave out integers, and many agents know only doubles.
pub(super) fn outsized(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_none_or(|float| float.abs() >= 9_007_199_254_740_992.0),
        Value::Array(list) => list.iter().any(outsized),
        Value::Object(map) => map.values().any(outsized),
        _ => false,
    }
}

/// Text as long as a request may hold, cut where it must be; it is the agent's own words, not what runs.
pub(super) fn cut(text: &str) -> String {
    const MOST: usize = 8_192;
    if text.len() <= MOST {
        return text.to_owned();
    }
    let mut kept: String = text
        .chars()
        .scan(0, |bytes, letter| {
            *bytes += letter.len_utf8();
            (*bytes <= MOST - '…'.len_utf8()).then_some(letter)
        })
        .collect();
    kept.push('…');
    kept
}
