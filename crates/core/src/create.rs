//! What an agent sends to ask, and the checks that turn it into a [`Spec`].

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Action, Body, Confirmation, DecisionWord, Input, InputSpec, InputType, Invalid, Kind, Plan, Risk, Step,
    answer::check_answer,
    names::{valid_name, valid_tool},
};

/// The fields of a context that say whose call it is, and in which turn. An approval counts only where they are
/// equal.
pub const IDENTITY: &[&str] = &["user", "tenant", "app", "cwd", "lineage", "turn"];

/// The body of a create call: common fields, and those of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Create {
    /// What is asked for.
    pub kind: Kind,
    /// The agent's session; groups requests for people.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub session: String,
    /// The agent's own words, shown as untrusted text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 8192))]
    pub summary: Option<String>,
    /// What the agent thinks of the risk; may raise it, never lower it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// Where the call comes from: working directory, call id, lineage and so on. Covered by the digest. `user`, `tenant`,
    /// `app`, `cwd`, `lineage` and `turn` say whose call it is: a weak key finds only requests where they are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Map<String, Value>>,
    /// Which decisions the agent can use. `deny` is always possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<DecisionWord>>,
    /// How long deciding may take, such as `5m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "5m"))]
    pub expires_in: Option<String>,
    /// The person on whose behalf the agent acts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(min_length = 1, max_length = 128, pattern = "^[A-Za-z0-9][A-Za-z0-9._@+:/-]*$")
    )]
    pub on_behalf_of: Option<String>,
    /// The pause this request belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 200))]
    pub group: Option<String>,
    /// `false` when the protocol has no claim: then `approved` is final.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permit: Option<bool>,

    /// action: name of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(min_length = 1, max_length = 200, pattern = "^[A-Za-z0-9_./:-]+$")
    )]
    pub tool: Option<String>,
    /// action: what it is called with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// action: JSON Schema that replacement arguments must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Value))]
    pub arguments_schema: Option<Value>,

    /// plan: what it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 8192))]
    pub title: Option<String>,
    /// plan: the steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 200))]
    pub steps: Option<Vec<Step>>,
    /// plan: whether reviewers may edit and reorder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub can_modify: Option<bool>,
    /// plan: the agent's estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 200))]
    pub estimated_duration: Option<String>,

    /// input: the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 8192))]
    pub question: Option<String>,
    /// input: the type of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<InputSpec>,
    /// input: whether an empty answer is refused; yes unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// input: a suggestion for the reviewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Value))]
    pub default: Option<Value>,

    /// confirmation: what is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 8192))]
    pub message: Option<String>,
    /// confirmation: more about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 8192))]
    pub details: Option<String>,
    /// confirmation: the word on the yes button.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub confirm_label: Option<String>,
    /// confirmation: the word on the no button.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub cancel_label: Option<String>,
}

/// Bounds on what an agent may ask for.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Time for deciding when the agent names none.
    pub expires_in: Duration,
    /// Longest time for deciding.
    pub expires_in_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { expires_in: Duration::from_mins(5), expires_in_max: Duration::from_hours(30 * 24) }
    }
}

/// A checked request, not yet submitted: its content, and the terms on which it is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// The kind's own fields.
    pub body: Body,
    /// Where the call comes from.
    pub context: Map<String, Value>,
    /// The agent's words.
    pub summary: Option<String>,
    /// The rest.
    pub terms: Terms,
}

/// The terms of a request: all that an agent says of it beside its content.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// The agent's session.
    pub session: String,
    /// The agent's opinion of the risk.
    pub risk: Option<Risk>,
    /// Decisions that are offered, `deny` among them.
    pub allowed: Vec<DecisionWord>,
    /// Time for deciding.
    pub expires_in: Duration,
    /// The person behind the agent.
    pub on_behalf_of: Option<String>,
    /// The pause this belongs to.
    pub group: Option<String>,
    /// Whether approval gives a permit to claim.
    pub permit: bool,
}

/// The fields of one kind alone, and whether it must have them.
const OF_KIND: [(Kind, &str, bool); 15] = [
    (Kind::Action, "tool", true),
    (Kind::Action, "arguments", true),
    (Kind::Action, "arguments_schema", false),
    (Kind::Plan, "title", true),
    (Kind::Plan, "steps", true),
    (Kind::Plan, "can_modify", false),
    (Kind::Plan, "estimated_duration", false),
    (Kind::Input, "question", true),
    (Kind::Input, "input", true),
    (Kind::Input, "required", false),
    (Kind::Input, "default", false),
    (Kind::Confirmation, "message", true),
    (Kind::Confirmation, "details", false),
    (Kind::Confirmation, "confirm_label", false),
    (Kind::Confirmation, "cancel_label", false),
];

const TEXT: usize = 8_192;
const LABEL: usize = 200;
const STEPS: usize = 200;
const OPTIONS: usize = 200;

impl Create {
    /// What must be equal in another create that asks for the same. The agent's words, group and most of the context
    /// may differ after a restart. The identity fields may not.
    #[must_use]
    pub fn same(&self) -> Self {
        let mut context = self.context.clone().unwrap_or_default();
        context.retain(|key, _| IDENTITY.contains(&key.as_str()));
        let context = (!context.is_empty()).then_some(context);
        Self { context, summary: None, group: None, ..self.clone() }
    }

    /// An empty create of one kind, to be filled in.
    pub fn new(kind: Kind, session: impl Into<String>) -> Self {
        Self {
            kind,
            session: session.into(),
            summary: None,
            risk: None,
            context: None,
            allowed: None,
            expires_in: None,
            on_behalf_of: None,
            group: None,
            permit: None,
            tool: None,
            arguments: None,
            arguments_schema: None,
            title: None,
            steps: None,
            can_modify: None,
            estimated_duration: None,
            question: None,
            input: None,
            required: None,
            default: None,
            message: None,
            details: None,
            confirm_label: None,
            cancel_label: None,
        }
    }

    /// Checks every field, and that no field of another kind is there.
    pub fn check(self, limits: &Limits) -> Result<Spec, Invalid> {
        self.foreign_fields()?;
        bounded("/session", &self.session, 1, LABEL)?;
        optional("/summary", self.summary.as_deref(), TEXT)?;
        optional("/group", self.group.as_deref(), LABEL)?;
        if let Some(name) = &self.on_behalf_of
            && !valid_name(name)
        {
            return Err(Invalid::new(
                "/on_behalf_of",
                "expected the name of a person: 1 to 128 of letters, digits and ._@+-:/",
            ));
        }
        let expires_in = expires_in(self.expires_in.as_deref(), limits)?;
        let (kind, permit) = (self.kind, self.permit);
        if kind != Kind::Action && permit == Some(true) {
            return Err(Invalid::new("/permit", "only an action has a permit"));
        }
        let (session, summary, risk, group, on_behalf_of) =
            (self.session, self.summary, self.risk, self.group, self.on_behalf_of);
        let (context, allowed) = (self.context.unwrap_or_default(), self.allowed);
        let body = match kind {
            Kind::Action => action(self.tool, self.arguments, self.arguments_schema)?,
            Kind::Plan => plan(self.title, self.steps, self.can_modify, self.estimated_duration)?,
            Kind::Input => input(self.question, self.input, self.required, self.default)?,
            Kind::Confirmation => {
                confirmation(self.message, self.details, self.confirm_label, self.cancel_label)?
            }
        };
        let allowed = allowed_words(&body, allowed)?;
        let permit = kind == Kind::Action && permit.unwrap_or(true);
        let terms = Terms { session, risk, allowed, expires_in, on_behalf_of, group, permit };
        Ok(Spec { body, context, summary, terms })
    }

    /// The kind that a field belongs to. None if every kind has it.
    #[must_use]
    pub fn kind_of(field: &str) -> Option<Kind> {
        OF_KIND.iter().find(|(_, name, _)| *name == field).map(|(kind, ..)| *kind)
    }

    /// The fields that a create of this kind needs in addition to the common ones.
    pub fn needed(kind: Kind) -> impl Iterator<Item = &'static str> {
        OF_KIND.iter().filter(move |(of, _, needed)| *of == kind && *needed).map(|(_, name, _)| *name)
    }

    fn foreign_fields(&self) -> Result<(), Invalid> {
        let there = [
            ("tool", self.tool.is_some()),
            ("arguments", self.arguments.is_some()),
            ("arguments_schema", self.arguments_schema.is_some()),
            ("title", self.title.is_some()),
            ("steps", self.steps.is_some()),
            ("can_modify", self.can_modify.is_some()),
            ("estimated_duration", self.estimated_duration.is_some()),
            ("question", self.question.is_some()),
            ("input", self.input.is_some()),
            ("required", self.required.is_some()),
            ("default", self.default.is_some()),
            ("message", self.message.is_some()),
            ("details", self.details.is_some()),
            ("confirm_label", self.confirm_label.is_some()),
            ("cancel_label", self.cancel_label.is_some()),
        ];
        let foreign = there.into_iter().filter(|(_, there)| *there).find_map(|(field, _)| {
            Self::kind_of(field).filter(|kind| *kind != self.kind).map(|kind| (kind, field))
        });
        match foreign {
            Some((kind, field)) => Err(Invalid::new(
                format!("/{field}"),
                format!("`{field}` belongs to the kind `{kind}`, and this is `{}`", self.kind),
            )),
            None => Ok(()),
        }
    }
}

fn missing(field: &str, kind: Kind) -> Invalid {
    Invalid::new(format!("/{field}"), format!("the kind `{kind}` needs `{field}`"))
}

fn bounded(pointer: &str, text: &str, least: usize, most: usize) -> Result<(), Invalid> {
    if (least..=most).contains(&text.len()) {
        return Ok(());
    }
    Err(Invalid::new(pointer, format!("expected text of {least} to {most} bytes, this has {}", text.len())))
}

fn optional(pointer: &str, text: Option<&str>, most: usize) -> Result<(), Invalid> {
    text.map_or(Ok(()), |text| bounded(pointer, text, 0, most))
}

/// Reads a duration such as `30s`, `5m` or `2h`.
pub fn duration(text: &str) -> Result<Duration, &'static str> {
    let span: jiff::SignedDuration =
        text.parse().map_err(|_| "expected a duration such as `30s`, `5m` or `2h`")?;
    Duration::try_from(span).map_err(|_| "a duration cannot be negative")
}

fn expires_in(text: Option<&str>, limits: &Limits) -> Result<Duration, Invalid> {
    let Some(text) = text else { return Ok(limits.expires_in) };
    let wrong = |message: String| Invalid::new("/expires_in", message);
    let duration = duration(text).map_err(|message| wrong(message.to_owned()))?;
    if duration < Duration::from_secs(1) || duration > limits.expires_in_max {
        return Err(wrong(format!("expected between 1 s and {} s", limits.expires_in_max.as_secs())));
    }
    Ok(duration)
}

fn action(
    tool: Option<String>,
    arguments: Option<Map<String, Value>>,
    arguments_schema: Option<Value>,
) -> Result<Body, Invalid> {
    let tool = tool.ok_or_else(|| missing("tool", Kind::Action))?;
    if !valid_tool(&tool) {
        return Err(Invalid::new(
            "/tool",
            "a tool is named by 1 to 200 of the characters A-Z a-z 0-9 _ . / : -",
        ));
    }
    let arguments = arguments.ok_or_else(|| missing("arguments", Kind::Action))?;
    match &arguments_schema {
        None | Some(Value::Object(_) | Value::Bool(_)) => {}
        Some(_) => return Err(Invalid::new("/arguments_schema", "a JSON Schema is an object")),
    }
    Ok(Body::Action(Action { tool, arguments, arguments_schema }))
}

fn plan(
    title: Option<String>,
    steps: Option<Vec<Step>>,
    can_modify: Option<bool>,
    estimated_duration: Option<String>,
) -> Result<Body, Invalid> {
    let title = title.ok_or_else(|| missing("title", Kind::Plan))?;
    bounded("/title", &title, 1, TEXT)?;
    optional("/estimated_duration", estimated_duration.as_deref(), LABEL)?;
    let steps = steps.ok_or_else(|| missing("steps", Kind::Plan))?;
    if !(1..=STEPS).contains(&steps.len()) {
        return Err(Invalid::new("/steps", format!("a plan has 1 to {STEPS} steps")));
    }
    for (index, step) in steps.iter().enumerate() {
        bounded(&format!("/steps/{index}/id"), &step.id, 1, LABEL)?;
        bounded(&format!("/steps/{index}/action"), &step.action, 1, LABEL)?;
        bounded(&format!("/steps/{index}/description"), &step.description, 0, TEXT)?;
        if steps.iter().take(index).any(|earlier| earlier.id == step.id) {
            return Err(Invalid::new(format!("/steps/{index}/id"), "two steps have this id"));
        }
    }
    Ok(Body::Plan(Plan { title, steps, can_modify: can_modify.unwrap_or(false), estimated_duration }))
}

fn input(
    question: Option<String>,
    spec: Option<InputSpec>,
    required: Option<bool>,
    default: Option<Value>,
) -> Result<Body, Invalid> {
    let question = question.ok_or_else(|| missing("question", Kind::Input))?;
    bounded("/question", &question, 1, TEXT)?;
    let spec = spec.ok_or_else(|| missing("input", Kind::Input))?;
    let choice = matches!(spec.kind, InputType::Choice | InputType::MultiChoice);
    match (&spec.options, choice) {
        (None, true) => return Err(Invalid::new("/input/options", "a choice needs its options")),
        (Some(_), false) => return Err(Invalid::new("/input/options", "only a choice has options")),
        (Some(options), true) => {
            if !(1..=OPTIONS).contains(&options.len()) {
                return Err(Invalid::new("/input/options", format!("a choice has 1 to {OPTIONS} options")));
            }
            for (index, option) in options.iter().enumerate() {
                bounded(&format!("/input/options/{index}"), option, 1, LABEL)?;
                if options.iter().take(index).any(|earlier| earlier == option) {
                    return Err(Invalid::new(
                        format!("/input/options/{index}"),
                        "the option is listed twice",
                    ));
                }
            }
        }
        (None, false) => {}
    }
    if spec.kind != InputType::Number
        && let Some(field) =
            [("min", &spec.min), ("max", &spec.max)].iter().find(|(_, bound)| bound.is_some())
    {
        return Err(Invalid::new(format!("/input/{}", field.0), "only a number has bounds"));
    }
    if let (Some(min), Some(max)) = (&spec.min, &spec.max)
        && min.as_f64() > max.as_f64()
    {
        return Err(Invalid::new("/input/min", "the minimum is above the maximum"));
    }
    let input = Input { question, input: spec, required: required.unwrap_or(true), default };
    if let Some(default) = &input.default {
        check_answer(&input, default, "/default")?;
    }
    Ok(Body::Input(input))
}

fn confirmation(
    message: Option<String>,
    details: Option<String>,
    confirm: Option<String>,
    cancel: Option<String>,
) -> Result<Body, Invalid> {
    let message = message.ok_or_else(|| missing("message", Kind::Confirmation))?;
    bounded("/message", &message, 1, TEXT)?;
    optional("/details", details.as_deref(), TEXT)?;
    let confirm_label = confirm.unwrap_or_else(|| "Confirm".to_owned());
    let cancel_label = cancel.unwrap_or_else(|| "Cancel".to_owned());
    bounded("/confirm_label", &confirm_label, 1, LABEL)?;
    bounded("/cancel_label", &cancel_label, 1, LABEL)?;
    Ok(Body::Confirmation(Confirmation { message, details, confirm_label, cancel_label }))
}

/// The decisions on offer: those that the agent can use and the kind can have, and always a deny.
fn allowed_words(body: &Body, asked: Option<Vec<DecisionWord>>) -> Result<Vec<DecisionWord>, Invalid> {
    use DecisionWord::{Approve, Deny, Edit, Respond};
    let (possible, usual): (&[DecisionWord], &[DecisionWord]) = match body {
        Body::Action(_) => (&[Approve, Edit, Deny, Respond], &[Approve, Edit, Deny]),
        Body::Plan(plan) if plan.can_modify => (&[Approve, Edit, Deny], &[Approve, Edit, Deny]),
        Body::Input(_) => (&[Respond, Deny], &[Respond, Deny]),
        Body::Plan(_) | Body::Confirmation(_) => (&[Approve, Deny], &[Approve, Deny]),
    };
    let asked = asked.unwrap_or_else(|| usual.to_vec());
    if let Some(index) = asked.iter().position(|word| !possible.contains(word)) {
        return Err(Invalid::new(
            format!("/allowed/{index}"),
            format!("a request of the kind `{}` cannot be decided that way", body.kind()),
        ));
    }
    Ok(possible.iter().copied().filter(|word| *word == Deny || asked.contains(word)).collect())
}

#[cfg(test)]
mod tests;
