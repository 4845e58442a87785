//! What a reviewer sees first: one sentence of what will happen, a typed preview, and what to look at twice.
//!
//! Pure functions of the stored request. A call is recognised by the name of its tool *and* the shape of its
//! arguments; whatever does not fit a known shape exactly is shown as plain fields. A preview adds to the fields and
//! never stands in for them, so a call that is recognised wrongly still shows everything.

mod args;
mod diff;
mod files;
mod out;
mod script;
mod shell;
mod shown;
mod sql;
#[cfg(test)]
mod tests;
mod text;
mod warn;

use args::{Args, Name};
use placet_core::{
    Body, Confirmation, Content, DecisionWord, Input, InputType, Plan, PlanStep, Preview, Request,
    StepDecision, Warning, show,
};
use serde_json::{Map, Value};
use shown::Claim;
use text::{clip, count, list, quoted, sentence, value};

/// What will run if nothing changes: the replacement that was approved or is on the table, else what the agent asked.
enum Runs<'a> {
    Erased,
    Action { tool: &'a str, arguments: &'a Map<String, Value> },
    Plan { plan: &'a Plan, decided: Option<&'a [StepDecision]> },
    Input(&'a Input),
    Confirmation(&'a Confirmation),
}

impl<'a> Runs<'a> {
    fn of(request: &'a Request) -> Self {
        let Some(content) = request.content.as_deref() else { return Self::Erased };
        // Once it is decided the decision says what runs, and nothing that was merely proposed.
        let (replaced, replacement) = match (&request.decision, &request.proposal) {
            (Some(decision), _) => (decision.content_version.is_some(), decision.content.as_deref()),
            (None, Some(proposal)) => (true, proposal.content.as_deref()),
            (None, None) => (false, None),
        };
        if replaced && replacement.is_none() {
            // What was erased must not be stood in for by what it replaced.
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

/// A call of which more is known than its name.
enum Known<'a> {
    Shell(shell::Shell<'a>),
    Sql(sql::Sql<'a>),
    Change(diff::Change<'a>),
    Files(files::Files<'a>),
    Money(out::Money<'a>),
    Email(out::Email<'a>),
    Message(out::Message<'a>),
    Http(out::Http<'a>),
}

/// A call that was recognised.
struct Recognised<'a> {
    known: Known<'a>,
    /// Arguments that this does not account for.
    unknown: Vec<&'a str>,
    /// The values that its preview is to show whole.
    claims: Vec<Claim>,
}

impl<'a> Recognised<'a> {
    fn new(known: Known<'a>, args: Args<'a>) -> Self {
        Self { known, unknown: args.unknown(), claims: args.claims }
    }
}

/// Recognises a call by its tool's name and the shape of its arguments.
fn recognise<'a>(tool: &str, arguments: &'a Map<String, Value>) -> Option<Recognised<'a>> {
    let name = Name::new(tool);
    macro_rules! first {
        ($($variant:ident: $kind:ty),+ $(,)?) => {
            $({
                let mut args = Args::new(arguments);
                if let Some(known) = <$kind>::read(&name, &mut args) {
                    return Some(Recognised::new(Known::$variant(known), args));
                }
            })+
        };
    }
    first!(
        Shell: shell::Shell<'a>,
        Sql: sql::Sql<'a>,
        Change: diff::Change<'a>,
        Files: files::Files<'a>,
        Money: out::Money<'a>,
        Email: out::Email<'a>,
        Message: out::Message<'a>,
        Http: out::Http<'a>,
    );
    // Last, so that nothing that is known by its name is taken for a payment.
    let mut args = Args::new(arguments);
    let money = out::Money::read_shape(tool, &mut args)?;
    Some(Recognised::new(Known::Money(money), args))
}

impl Known<'_> {
    fn effect(&self) -> String {
        match self {
            Self::Shell(known) => known.effect(),
            Self::Sql(known) => known.effect(),
            Self::Change(known) => known.effect(),
            Self::Files(known) => known.effect(),
            Self::Money(known) => known.effect(),
            Self::Email(known) => known.effect(),
            Self::Message(known) => known.effect(),
            Self::Http(known) => known.effect(),
        }
    }

    fn preview(self, cwd: Option<&str>) -> Preview {
        match self {
            Self::Shell(known) => known.preview(cwd),
            Self::Sql(known) => known.preview(),
            Self::Change(known) => known.preview(),
            Self::Money(known) => known.preview(),
            Self::Email(known) => known.preview(),
            Self::Http(known) => known.preview(),
            Self::Files(_) | Self::Message(_) => Preview::Json,
        }
    }
}

/// What a call does, in one sentence.
fn effect_of(tool: &str, arguments: &Map<String, Value>) -> String {
    effect_from(recognise(tool, arguments), tool, arguments)
}

fn effect_from(known: Option<Recognised<'_>>, tool: &str, arguments: &Map<String, Value>) -> String {
    match known {
        Some(call) => sentence(call.known.effect(), call.unknown.len()),
        None => sentence(plain(&format!("Call {}", clip(tool, 100)), arguments), 0),
    }
}

/// A call of which nothing is known but its name.
fn plain(call: &str, arguments: &Map<String, Value>) -> String {
    let mut each = arguments.iter();
    match (each.next(), each.next()) {
        (None, _) => format!("{call} without arguments"),
        (Some((key, one)), None) => match one {
            Value::String(text) => format!("{call} with {} {}", value(key, 30), quoted(&clip(text, 60))),
            Value::Number(_) | Value::Bool(_) => format!("{call} with {} {one}", value(key, 30)),
            _ => format!("{call} with 1 argument"),
        },
        _ => format!("{call} with {} arguments", arguments.len()),
    }
}

/// What a step of a plan does. Its action is a tool, or words of the agent, which then stand in quotes.
fn effect_of_step(action: &str, arguments: Option<&Map<String, Value>>) -> String {
    let none = Map::new();
    let arguments = arguments.unwrap_or(&none);
    if is_tool(action) {
        effect_of(action, arguments)
    } else {
        sentence(plain(&quoted(&clip(action, 100)), arguments), 0)
    }
}

fn is_tool(name: &str) -> bool {
    (1..=200).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./:-".contains(&byte))
}

/// The steps that will run, in their order, each with the arguments that will run.
fn steps<'a>(
    plan: &'a Plan,
    decided: Option<&'a [StepDecision]>,
) -> Vec<(&'a placet_core::Step, Option<&'a Map<String, Value>>)> {
    match decided {
        None => plan.steps.iter().map(|step| (step, step.arguments.as_ref())).collect(),
        Some(decided) => decided
            .iter()
            .filter(|decided| decided.decision != DecisionWord::Deny)
            .filter_map(|decided| {
                let step = plan.steps.iter().find(|step| step.id == decided.id)?;
                Some((step, decided.arguments.as_ref().or(step.arguments.as_ref())))
            })
            .collect(),
    }
}

/// What will happen, in one sentence of at most 200 characters, made from tool and arguments alone.
pub(crate) fn effect(request: &Request) -> String {
    match Runs::of(request) {
        Runs::Erased => match &request.tool {
            Some(tool) => sentence(format!("Call {}; its arguments were erased", clip(tool, 100)), 0),
            None => "What was asked has been erased".to_owned(),
        },
        Runs::Action { tool, arguments } => effect_of(tool, arguments),
        Runs::Plan { plan, decided } => {
            let steps = steps(plan, decided);
            let actions: Vec<&str> = steps.iter().map(|(step, _)| step.action.as_str()).collect();
            let optional = steps.iter().filter(|(step, _)| step.optional == Some(true)).count();
            let optional = if optional > 0 { format!(" ({optional} optional)") } else { String::new() };
            let what = format!("Carry out a plan of {}{optional}", count(steps.len(), "step", "steps"));
            let named = actions.iter().all(|action| is_tool(action));
            sentence(if named { format!("{what}: {}", list(actions.into_iter(), 120)) } else { what }, 0)
        }
        Runs::Input(input) => {
            let options = input.input.options.as_ref().map_or(0, Vec::len);
            let answer = match input.input.kind {
                InputType::Text => "text".to_owned(),
                InputType::Number => "a number".to_owned(),
                InputType::Choice => format!("one of {}", count(options, "option", "options")),
                InputType::MultiChoice => format!("any of {}", count(options, "option", "options")),
                InputType::Date => "a date".to_owned(),
                InputType::File => "a file".to_owned(),
            };
            format!("Answer a question with {answer}")
        }
        Runs::Confirmation(_) => "Say yes or no to a question".to_owned(),
    }
}

/// What will happen, in the form that suits it, and the fields that can be read whole in it.
pub(crate) fn preview(request: &Request) -> (Preview, Vec<String>) {
    let preview = match Runs::of(request) {
        Runs::Erased => Preview::Json,
        Runs::Action { tool, arguments } => {
            let context = request.content.as_deref().map(|content: &Content| &content.context);
            let cwd = context.and_then(|context| context.get("cwd")).and_then(Value::as_str);
            let Some(call) = recognise(tool, arguments) else { return (Preview::Json, Vec::new()) };
            let preview = call.known.preview(cwd);
            let shown = shown::verified(&preview, &call.claims, &format!("{}/arguments", base(request)));
            return (preview, shown);
        }
        Runs::Plan { plan, decided } => Preview::Plan {
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
        Runs::Input(input) => Preview::Question { question: show(&input.question) },
        Runs::Confirmation(confirmation) => Preview::Confirmation {
            message: show(&confirmation.message),
            details: confirmation.details.as_deref().map(show),
        },
    };
    // A plan is drawn step by step, each with its own list of values.
    let whole = |pointer: &str, text: &str| Claim { pointer: pointer.to_owned(), drawn: show(text) };
    let claims = match request.content.as_deref().map(|content| &content.body) {
        Some(Body::Input(input)) => vec![whole("/question", &input.question)],
        Some(Body::Confirmation(confirmation)) => {
            let details = confirmation.details.as_deref().map(|details| whole("/details", details));
            std::iter::once(whole("/message", &confirmation.message)).chain(details).collect()
        }
        _ => Vec::new(),
    };
    let shown = shown::verified(&preview, &claims, "");
    (preview, shown)
}

/// Where what will run stands on the record.
fn base(request: &Request) -> &'static str {
    match (&request.decision, &request.proposal) {
        (Some(decision), _) if decision.content_version.is_some() => "/decision",
        (None, Some(_)) => "/proposal",
        _ => "",
    }
}

/// Most text, in bytes, that is looked at for a line of a list.
const GLANCE: usize = 32 * 1024;

/// What to look at twice.
pub(crate) fn warnings(request: &Request) -> Vec<Warning> {
    let mut warnings = warn::look(request, usize::MAX);
    warnings.extend(opaque(request));
    warnings
}

/// The sentence, and how many things there are to look at twice, for a line of a list. Of very much text only the
/// beginning is looked at, which counts as one more.
pub(crate) fn glance(request: &Request) -> (String, usize) {
    let warnings = warn::look(request, GLANCE).len();
    let Runs::Action { tool, arguments } = Runs::of(request) else { return (effect(request), warnings) };
    let known = recognise(tool, arguments);
    let opaque = matches!(&known, Some(Recognised { known: Known::Shell(shell), .. }) if shell.opaque().is_some());
    (effect_from(known, tool, arguments), warnings.saturating_add(usize::from(opaque)))
}

/// A command line that cannot be taken apart, where one will run.
fn opaque(request: &Request) -> Option<Warning> {
    let Runs::Action { tool, arguments } = Runs::of(request) else { return None };
    let Known::Shell(shell) = recognise(tool, arguments)?.known else { return None };
    let why = shell.opaque()?;
    Some(Warning {
        code: placet_core::WarningCode::OpaqueShell,
        pointer: format!("{}/arguments/{}", base(request), shell.key),
        text: format!("Only a person can say what this command line does: {why}."),
    })
}

/// The agents above the one that asks, as it claims.
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
