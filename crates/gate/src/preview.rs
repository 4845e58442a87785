//! What a reviewer sees first: one sentence of what will happen, a typed preview, and what to look at twice.
//!
//! Pure functions of the stored request. A call is recognised by the name of its tool *and* the shape of its
//! arguments; whatever does not fit a known shape exactly is shown as plain fields. A preview adds to the fields and
//! never stands in for them, so a call that is recognised wrongly still shows everything.

mod args;
mod diff;
mod files;
mod out;
mod patch;
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
    Body, Confirmation, Content, DecisionWord, Input, InputType, Plan, PlanStep, Preview, Request, Segment,
    StepDecision, Warning, WarningCode, pointer, show,
};
use serde_json::{Map, Value};
use shown::Claim;
use text::{clip, count, join, quoted, sentence, value};

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
    tool: String,
    known: Known<'a>,
    /// Arguments that this does not account for.
    unknown: Vec<&'a str>,
    /// The values that its preview is to show whole.
    claims: Vec<Claim>,
}

impl<'a> Recognised<'a> {
    fn new(tool: &str, known: Known<'a>, args: Args<'a>) -> Self {
        Self { tool: clip(tool, 60), known, unknown: args.unknown(), claims: args.claims }
    }

    /// What the call does, in one sentence. A verb stands only where tool and arguments are all known; what is not known
    /// comes first, where no list cuts it off.
    fn effect(&self) -> String {
        let limit = match (self.unknown.as_slice(), self.known.opaque()) {
            ([], None) => String::new(),
            ([], Some(_)) => "unclear, cannot be taken apart: ".to_owned(),
            (names, None) => format!("unclear ({}): ", text::names(names)),
            (names, Some(_)) => format!("unclear ({}), cannot be taken apart: ", text::names(names)),
        };
        let does = if self.is_said() {
            self.known.effect()
        } else {
            format!("call {}: {}", self.tool, self.known.facts())
        };
        sentence(&format!("{limit}{does}"))
    }

    /// Whether the verb may be said. What runs a text runs it whatever else it is told; everything else is done in a
    /// way that an unknown argument may turn round.
    fn is_said(&self) -> bool {
        match &self.known {
            Known::Shell(known) => known.is_sure(),
            Known::Sql(known) => known.is_sure(),
            Known::Change(_) => true,
            Known::Files(_) | Known::Message(_) => self.unknown.is_empty(),
            Known::Money(known) => known.is_sure() && self.unknown.is_empty(),
            Known::Email(known) => known.is_sure() && self.unknown.is_empty(),
            Known::Http(known) => known.is_sure() && self.unknown.is_empty(),
        }
    }

    fn preview(self, claimed: Option<&str>) -> (Preview, Vec<Claim>) {
        let said = self.is_said();
        let preview = match self.known {
            Known::Shell(known) => known.preview(claimed.filter(|_| self.unknown.is_empty())),
            Known::Sql(known) => known.preview(),
            Known::Change(known) => known.preview(),
            Known::Money(known) if said => known.preview(),
            Known::Email(known) if said => known.preview(),
            Known::Http(known) if said => known.preview(),
            _ => Preview::Json,
        };
        (preview, self.claims)
    }

    /// What to look at twice in the call itself, each with the argument it is about.
    fn warnings(&self) -> Vec<(WarningCode, String, String)> {
        let mut out = Vec::new();
        match &self.known {
            Known::Shell(known) => out.extend(known.opaque().map(|why| {
                let text = format!("Only a person can say what this command line does: {why}.");
                (WarningCode::OpaqueShell, known.key.to_owned(), text)
            })),
            Known::Sql(known) => {
                out.extend(known.opaque().map(|why| {
                    let text = format!("This SQL cannot be taken apart: {why}.");
                    (WarningCode::Opaque, known.key.to_owned(), text)
                }));
                out.extend(known.rows().map(|rows| {
                    (
                        WarningCode::EveryRow,
                        known.key.to_owned(),
                        format!("Rows are changed or deleted {rows}."),
                    )
                }));
            }
            Known::Change(known) => out.extend(known.opaque().map(|key| {
                let text = "This patch cannot be taken apart: read the text itself.".to_owned();
                (WarningCode::Opaque, key.to_owned(), text)
            })),
            _ => {}
        }
        out
    }

    /// How bad it is among the steps of a plan; less is worse.
    fn rank(&self) -> u8 {
        match &self.known {
            Known::Shell(known) => known.rank().min(2),
            Known::Sql(known) if known.opaque().is_some() || known.rank() < 9 => 0,
            Known::Sql(known) => {
                if known.changes() {
                    1
                } else {
                    3
                }
            }
            Known::Files(known) => u8::from(!known.deletes()),
            Known::Money(_) => 0,
            _ => 1,
        }
    }

    /// What it does beyond reading, in a word or two; nothing where it may well only read.
    fn changes(&self) -> Option<&'static str> {
        match &self.known {
            Known::Shell(_) => Some("runs a command"),
            Known::Sql(known) => known.changes().then_some("changes a database"),
            Known::Http(known) => known.changes().then_some("sends something"),
            Known::Change(_) => Some("changes a file"),
            Known::Files(_) => Some("moves or deletes files"),
            Known::Money(_) => None,
            Known::Email(known) => known.is_sure().then_some("sends an e-mail"),
            Known::Message(_) => Some("sends a message"),
        }
    }
}

/// Names that say that a tool only reads.
const READERS: &[&str] = &[
    "read", "get", "list", "search", "find", "describe", "count", "glob", "grep", "ls", "view", "show",
    "lookup",
];

/// What a call does although the name of its tool says that it only reads.
pub(crate) fn contradiction(tool: &str, arguments: &Map<String, Value>) -> Option<String> {
    let name = Name::new(tool);
    if !name.begins(READERS) {
        return None;
    }
    let call = recognise(tool, arguments)?;
    let does = call.changes()?;
    Some(format!("its name says that it only reads, and it {does}: {}", call.effect()))
}

/// Recognises a call by its tool's name and the shape of its arguments.
fn recognise<'a>(tool: &str, arguments: &'a Map<String, Value>) -> Option<Recognised<'a>> {
    let name = Name::new(tool);
    macro_rules! first {
        ($($variant:ident: $kind:ty),+ $(,)?) => {
            $({
                let mut args = Args::new(arguments);
                if let Some(known) = <$kind>::read(&name, &mut args) {
                    return Some(Recognised::new(tool, Known::$variant(known), args));
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
    let money = out::Money::read_shape(&mut args)?;
    Some(Recognised::new(tool, Known::Money(money), args))
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

    /// What it is about, without what is done to it.
    fn facts(&self) -> String {
        match self {
            Self::Shell(known) => known.facts(),
            Self::Sql(known) => known.facts(),
            Self::Change(known) => known.facts(),
            Self::Files(known) => known.facts(),
            Self::Money(known) => known.facts(),
            Self::Email(known) => known.facts(),
            Self::Message(known) => known.facts(),
            Self::Http(known) => known.facts(),
        }
    }

    /// Something about it that cannot be taken apart.
    fn opaque(&self) -> Option<()> {
        match self {
            Self::Shell(known) => known.opaque().map(drop),
            Self::Sql(known) => known.opaque().map(drop),
            Self::Change(known) => known.opaque().map(drop),
            _ => None,
        }
    }
}

/// What a call does, in one sentence.
fn effect_of(tool: &str, arguments: &Map<String, Value>) -> String {
    effect_from(recognise(tool, arguments).as_ref(), tool, arguments)
}

fn effect_from(known: Option<&Recognised<'_>>, tool: &str, arguments: &Map<String, Value>) -> String {
    match known {
        Some(call) => call.effect(),
        None => sentence(&plain(&format!("Call {}", clip(tool, 100)), arguments)),
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
        sentence(&plain(&quoted(&clip(action, 100)), arguments))
    }
}

/// How bad a step may be; less is worse.
fn step_rank(action: &str, arguments: Option<&Map<String, Value>>) -> u8 {
    let name = Name::new(action);
    let grave = [
        "delete",
        "drop",
        "destroy",
        "remove",
        "purge",
        "truncate",
        "erase",
        "wipe",
        "terminate",
        "kill",
        "revoke",
        "reset",
        "overwrite",
        "shutdown",
        "disable",
        "grant",
        "pay",
        "payment",
        "transfer",
        "refund",
        "charge",
        "deploy",
        "force",
        "publish",
        "exec",
        "execute",
        "run",
        "sudo",
    ];
    let none = Map::new();
    let known = recognise(action, arguments.unwrap_or(&none)).map(|call| call.rank());
    match known {
        _ if name.has(&grave) => known.unwrap_or(0).min(1),
        Some(rank) => rank,
        None if !is_tool(action) => 1,
        None if name.begins(READERS) => 3,
        None => 2,
    }
}

/// Cuts a finished sentence.
fn clip_drawn(drawn: &str, most: usize) -> String {
    if drawn.chars().count() <= most {
        return drawn.to_owned();
    }
    drawn.chars().take(most.saturating_sub(1)).chain(['…']).collect()
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
            Some(tool) => sentence(&format!("Call {}; its arguments were erased", clip(tool, 100))),
            None => "What was asked has been erased".to_owned(),
        },
        Runs::Action { tool, arguments } => effect_of(tool, arguments),
        Runs::Plan { plan, decided } => {
            let mut steps = steps(plan, decided);
            let optional = steps.iter().filter(|(step, _)| step.optional == Some(true)).count();
            let optional = if optional > 0 { format!(" ({optional} optional)") } else { String::new() };
            let what = format!("Carry out a plan of {}{optional}", count(steps.len(), "step", "steps"));
            // The worst first: what stands behind "and more" is never worse than what is named.
            steps.sort_by_key(|(step, arguments)| step_rank(&step.action, *arguments));
            let said: Vec<String> = steps
                .iter()
                .map(|(step, arguments)| match is_tool(&step.action) {
                    true => clip_drawn(&effect_of_step(&step.action, *arguments), 60),
                    false => "a step in the agent's words".to_owned(),
                })
                .collect();
            sentence(&if said.is_empty() { what } else { format!("{what}: {}", join(&said, "; ", 120)) })
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
            let (preview, claims) = call.preview(cwd);
            let shown = shown::verified(&preview, &claims, &format!("{}/arguments", base(request)));
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
    let mut warnings = of_calls(request);
    warnings.extend(warn::look(request, usize::MAX));
    warnings
}

/// The sentence, and how many things there are to look at twice, for a line of a list. Of very much text only the
/// beginning is looked at, which counts as one more.
pub(crate) fn glance(request: &Request) -> (String, usize) {
    (effect(request), warn::look(request, GLANCE).len().saturating_add(of_calls(request).len()))
}

/// What to look at twice in what will run. A plan has the warnings of its steps.
fn of_calls(request: &Request) -> Vec<Warning> {
    let of = |tool: &str, arguments: &Map<String, Value>, at: &str| -> Vec<Warning> {
        let found = recognise(tool, arguments).map(|call| call.warnings()).unwrap_or_default();
        let place = |key: &str| format!("{at}{}", pointer(&[Segment::Key(key)]));
        found.into_iter().map(|(code, key, text)| Warning { code, pointer: place(&key), text }).collect()
    };
    match Runs::of(request) {
        Runs::Action { tool, arguments } => {
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
        Runs::Plan { plan, decided } => {
            let mut out = Vec::new();
            for (index, (step, arguments)) in steps(plan, decided).into_iter().enumerate() {
                let Some(arguments) = arguments.filter(|_| is_tool(&step.action)) else { continue };
                let own = plan.steps.iter().position(|each| each.id == step.id).unwrap_or(index);
                let at = format!("/steps/{own}/arguments");
                let number = index.saturating_add(1);
                let found = of(&step.action, arguments, &at).into_iter();
                out.extend(found.map(|one| Warning { text: format!("Step {number}: {}", one.text), ..one }));
            }
            // A plan is no longer than a request may be; of very many the first say enough.
            out.truncate(20);
            out
        }
        _ => Vec::new(),
    }
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
