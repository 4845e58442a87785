//! What a reviewer sees first: one sentence about what will happen, a typed preview, and warnings.
//!
//! Pure functions of the stored request. A call is recognised by the name of its tool *and* the shape of its
//! arguments. What does not fit a known shape exactly is shown as plain fields. A preview adds to the fields and
//! never replaces them, so even a wrongly recognised call still shows everything.

mod args;
mod call;
pub(crate) mod card;
mod deed;
mod diff;
mod files;
mod kube;
mod money;
mod out;
mod patch;
mod plain;
mod reader;
mod say;
mod script;
mod shell;
mod shown;
mod sql;
mod sum;
#[cfg(test)]
mod tests;
mod text;
mod warn;

use call::{clip_drawn, effect_of, effect_of_step, is_tool, recognise, step_rank};
use placet_core::{
    Body, Confirmation, Content, Input, InputType, Plan, PlanStep, Preview, Request, Segment, StepDecision,
    Warning, WarningCode, pointer, show,
};
pub(crate) use reader::{contradiction, says, says_more};
use serde_json::{Map, Value};
use shown::ShownValue;
use text::{clip, count, join, middle, quoted, sentence};

/// What will run: the approved or proposed replacement, or else what the agent asked.
enum EffectiveContent<'a> {
    Erased,
    Action { tool: &'a str, arguments: &'a Map<String, Value> },
    Plan { plan: &'a Plan, decided: Option<&'a [StepDecision]> },
    Input(&'a Input),
    Confirmation(&'a Confirmation),
}

impl<'a> EffectiveContent<'a> {
    fn of(request: &'a Request) -> Self {
        let Some(content) = request.content.as_deref() else { return Self::Erased };
        // After the decision, only the decision says what runs.
        let (replaced, replacement) = match (&request.decision, &request.proposal) {
            (Some(decision), _) => (decision.content_version.is_some(), decision.content.as_deref()),
            (None, Some(proposal)) => (true, proposal.content.as_deref()),
            (None, None) => (false, None),
        };
        if replaced && replacement.is_none() {
            // If the replacement is erased, the original must not be shown instead.
            return Self::Erased;
        }
        match &content.body {
            Body::Action(action) => {
                let arguments = replacement.and_then(|content| content.arguments.as_ref());
                Self::Action { tool: &action.tool, arguments: arguments.unwrap_or(&action.arguments) }
            }
            Body::Plan(plan) => {
                Self::Plan { plan, decided: replacement.and_then(|content| content.steps.as_deref()) }
            }
            Body::Input(input) => Self::Input(input),
            Body::Confirmation(confirmation) => Self::Confirmation(confirmation),
        }
    }
}

/// The steps that will run, in order, each with its arguments.
fn steps<'a>(
    plan: &'a Plan,
    decided: Option<&'a [StepDecision]>,
) -> Vec<(&'a placet_core::Step, Option<&'a Map<String, Value>>)> {
    match decided {
        None => plan.steps.iter().map(|step| (step, step.arguments.as_ref())).collect(),
        Some(decided) => decided
            .iter()
            .filter(|decided| decided.decision.is_yes())
            .filter_map(|decided| {
                let step = plan.steps.iter().find(|step| step.id == decided.id)?;
                Some((step, decided.arguments.as_ref().or(step.arguments.as_ref())))
            })
            .collect(),
    }
}

/// The longest question in a sentence.
const QUESTION: usize = 140;

/// What will happen, in one sentence of at most 200 characters, made from tool and arguments alone.
pub(crate) fn effect(request: &Request) -> String {
    match EffectiveContent::of(request) {
        EffectiveContent::Erased => match &request.tool {
            Some(tool) => sentence(&format!("Call {}; its arguments were erased", clip(tool, 100))),
            None => "What was asked has been erased".to_owned(),
        },
        EffectiveContent::Action { tool, arguments } => effect_of(tool, arguments),
        EffectiveContent::Plan { plan, decided } => {
            let mut steps = steps(plan, decided);
            let optional = steps.iter().filter(|(step, _)| step.optional == Some(true)).count();
            let optional = if optional > 0 { format!(" ({optional} optional)") } else { String::new() };
            let what = format!("Carry out a plan of {}{optional}", count(steps.len(), "step", "steps"));
            // The worst first: what "and more" hides is never worse than what is named.
            steps.sort_by_key(|(step, arguments)| step_rank(&step.action, *arguments));
            let said: Vec<String> = steps
                .iter()
                .map(|(step, arguments)| {
                    if is_tool(&step.action) {
                        clip_drawn(&effect_of_step(&step.action, *arguments), 60)
                    } else {
                        "a step in the agent's words".to_owned()
                    }
                })
                .collect();
            sentence(&if said.is_empty() { what } else { format!("{what}: {}", join(&said, "; ", 120)) })
        }
        EffectiveContent::Input(input) => {
            let options = input.input.options.as_ref().map_or(0, Vec::len);
            let answer = match input.input.kind {
                InputType::Text => "text".to_owned(),
                InputType::Number => "a number".to_owned(),
                InputType::Choice => format!("one of {}", count(options, "option", "options")),
                InputType::MultiChoice => format!("any of {}", count(options, "option", "options")),
                InputType::Date => "a date".to_owned(),
                InputType::File => "a file".to_owned(),
            };
            sentence(&format!("Answer with {answer}: {}", quoted(&middle(&input.question, QUESTION))))
        }
        EffectiveContent::Confirmation(confirmation) => {
            sentence(&format!("Say yes or no: {}", quoted(&middle(&confirmation.message, QUESTION))))
        }
    }
}

/// A preview in the form that suits the call, and the fields that can be read whole in it.
pub(crate) fn preview(request: &Request) -> (Preview, Vec<String>) {
    let preview = match EffectiveContent::of(request) {
        EffectiveContent::Erased => Preview::Json,
        EffectiveContent::Action { tool, arguments } => {
            let context = request.content.as_deref().map(|content: &Content| &content.context);
            let cwd = context.and_then(|context| context.get("cwd")).and_then(Value::as_str);
            let Some(call) = recognise(tool, arguments) else { return (Preview::Json, Vec::new()) };
            let (preview, values) = call.preview(cwd);
            let shown = shown::verified(&preview, &values, &format!("{}/arguments", base(request)));
            return (preview, shown);
        }
        EffectiveContent::Plan { plan, decided } => Preview::Plan {
            steps: steps(plan, decided)
                .into_iter()
                .map(|(step, arguments)| PlanStep {
                    id: show(&step.id),
                    action: show(&step.action),
                    description: show(&step.description),
                    effect: effect_of_step(&step.action, arguments),
                    optional: step.optional == Some(true),
                })
                .collect(),
        },
        EffectiveContent::Input(input) => Preview::Question { question: show(&input.question) },
        EffectiveContent::Confirmation(confirmation) => Preview::Confirmation {
            message: show(&confirmation.message),
            details: confirmation.details.as_deref().map(show),
        },
    };
    // A plan is drawn step by step, each with its own list of values.
    let whole = |pointer: &str, text: &str| ShownValue { pointer: pointer.to_owned(), drawn: show(text) };
    let values = match request.content.as_deref().map(|content| &content.body) {
        Some(Body::Input(input)) => vec![whole("/question", &input.question)],
        Some(Body::Confirmation(confirmation)) => {
            let details = confirmation.details.as_deref().map(|details| whole("/details", details));
            std::iter::once(whole("/message", &confirmation.message)).chain(details).collect()
        }
        _ => Vec::new(),
    };
    let shown = shown::verified(&preview, &values, "");
    (preview, shown)
}

/// The change to a Kubernetes cluster that a call makes, and the arguments that are whole in it, as pointers below the
/// arguments. Only if the tool and all of its arguments are known.
pub(crate) fn kubernetes(
    tool: &str,
    arguments: &Map<String, Value>,
) -> Option<(kube::Kubernetes, Vec<String>)> {
    let change = recognise(tool, arguments)?.kubernetes()?;
    let mut texts: Vec<&String> = change.texts().collect();
    let mut held = |drawn: &String| {
        let at = texts.iter().position(|text| *text == drawn);
        at.map(|at| texts.swap_remove(at)).is_some()
    };
    let shown = change.whole.iter().filter(|value| value.is_readable() && held(&value.drawn));
    let shown = shown.map(|value| value.pointer.clone()).collect();
    Some((change, shown))
}

/// The place of what will run on the record.
fn base(request: &Request) -> &'static str {
    match (&request.decision, &request.proposal) {
        (Some(decision), _) if decision.content_version.is_some() => "/decision",
        (None, Some(_)) => "/proposal",
        _ => "",
    }
}

/// Most text, in bytes, that is read for a line of a list.
const GLANCE: usize = 32 * 1024;

/// What to look at twice.
pub(crate) fn warnings(request: &Request) -> Vec<Warning> {
    let mut warnings = of_calls(request);
    warnings.extend(warn::look(request, usize::MAX));
    warnings
}

/// The sentence and the number of warnings for a line of a list. If there is very much text, only its beginning is
/// read, which counts as one more warning.
pub(crate) fn glance(request: &Request) -> (String, usize) {
    (effect(request), warn::look(request, GLANCE).len().saturating_add(of_calls(request).len()))
}

/// The warnings of what will run. A plan has the warnings of its steps.
fn of_calls(request: &Request) -> Vec<Warning> {
    let of = |tool: &str, arguments: &Map<String, Value>, at: &str| -> Vec<Warning> {
        let found = recognise(tool, arguments).map(|call| call.warnings()).unwrap_or_default();
        let place = |key: &str| format!("{at}{}", pointer(&[Segment::Key(key)]));
        found.into_iter().map(|(code, key, text)| Warning { code, pointer: place(&key), text }).collect()
    };
    match EffectiveContent::of(request) {
        EffectiveContent::Action { tool, arguments } => {
            let mut out: Vec<Warning> = contradiction(tool, arguments)
                .map(|text| Warning {
                    code: WarningCode::Contradiction,
                    pointer: "/tool".to_owned(),
                    text: sentence(&text),
                })
                .into_iter()
                .collect();
            out.extend(of(tool, arguments, &format!("{}/arguments", base(request))));
            out
        }
        EffectiveContent::Plan { plan, decided } => {
            let mut out = Vec::new();
            for (index, (step, arguments)) in steps(plan, decided).into_iter().enumerate() {
                let Some(arguments) = arguments.filter(|_| is_tool(&step.action)) else { continue };
                let own = plan.steps.iter().position(|each| each.id == step.id).unwrap_or(index);
                let at = format!("/steps/{own}/arguments");
                let number = index.saturating_add(1);
                let found = of(&step.action, arguments, &at).into_iter();
                out.extend(found.map(|one| Warning { text: format!("Step {number}: {}", one.text), ..one }));
            }
            // A plan is no longer than a request may be. If it has very many steps, the first ones are enough.
            out.truncate(20);
            out
        }
        _ => Vec::new(),
    }
}

/// A call as far as it is recognised, with the names of the arguments that are not understood. None if it cannot be
/// taken apart.
pub(crate) fn taken_apart<'a>(
    tool: &str,
    arguments: &'a Map<String, Value>,
) -> Option<(Preview, Vec<&'a str>)> {
    let Some(call) = recognise(tool, arguments) else { return Some((Preview::Json, Vec::new())) };
    let opaque = [WarningCode::Opaque, WarningCode::OpaqueShell];
    if call.warnings().iter().any(|(code, ..)| opaque.contains(code)) {
        return None;
    }
    let unknown = call.unknown().to_vec();
    Some((call.preview(None).0, unknown))
}

/// The agents above the one that asks, as it states them.
pub(crate) fn lineage(request: &Request) -> Vec<String> {
    let context = request.content.as_deref().map(|content| &content.context);
    match context.and_then(|context| context.get("lineage")) {
        Some(Value::Array(names)) => {
            names.iter().take(16).filter_map(Value::as_str).map(|name| clip(name, 100)).collect()
        }
        Some(Value::String(name)) => vec![clip(name, 100)],
        _ => Vec::new(),
    }
}
