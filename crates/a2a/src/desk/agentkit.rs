//! AgentKit's data part, in both its forms: flat, with the arguments beside `action`, and as its four types are encoded.

use placet_core::{Create, DecisionWord, InputSpec, InputType, Kind, Risk, Step};
use serde_json::{Map, Value, json};

use crate::{
    Fault,
    desk::{Asking, Dialect, Item, object, tool},
    fields::Fields,
};

/// The fields of a flat request that are about the request; the others are the call's arguments.
const OWN: [&str; 15] = [
    "type",
    "id",
    "action",
    "message",
    "description",
    "summary",
    "risk",
    "timeout",
    "timeout_s",
    "options",
    "parameters",
    "args",
    "arguments",
    "idempotency_key",
    "on_behalf_of",
];

/// The types of its data parts, by which its messages are known.
pub(super) const TYPES: [&str; 5] =
    ["approval_request", "approval_response", "input_request", "plan_request", "confirmation_request"];

/// A request of either form. Data of another type asks for nothing.
pub(crate) fn read(data: &Map<String, Value>, place: &str) -> Result<Option<Asking>, Fault> {
    // `{"action": {"_0": {…}}}`: how an enumeration of that language is encoded.
    let encoded = ["action", "plan", "input", "confirmation"]
        .into_iter()
        .find_map(|kind| Some((kind, data.get(kind)?.get("_0")?)));
    let said = data.get("type").and_then(Value::as_str);
    let (kind, fields) = match (encoded, said) {
        (Some((kind, inner)), None | Some("approval_request")) => {
            (Some(kind), Fields::of(Some(inner), place)?)
        }
        (None, Some("approval_request")) => (None, Fields::whole(data, place)),
        (None, Some("input_request")) => (Some("input"), Fields::whole(data, place)),
        (None, Some("plan_request")) => (Some("plan"), Fields::whole(data, place)),
        (None, Some("confirmation_request")) => (Some("confirmation"), Fields::whole(data, place)),
        _ => return Ok(None),
    };
    let kind = kind.unwrap_or_else(|| guessed(&fields));
    let mut create = match kind {
        "plan" => plan(&fields)?,
        "input" => input(&fields)?,
        "confirmation" => confirmation(&fields)?,
        _ => action(&fields, place)?,
    };
    create.risk = risk(&fields)?;
    create.expires_in = timeout(&fields)?;
    create.on_behalf_of = fields.text("on_behalf_of")?.map(str::to_owned);
    let id = fields.text("id")?.map(str::to_owned);
    let key = fields.text("idempotency_key")?.map(str::to_owned).or_else(|| id.clone());
    Ok(Some(Asking { dialect: Dialect::AgentKit, items: vec![Item { id, create }], key }))
}

/// The kind by the fields that only it has.
fn guessed(fields: &Fields<'_>) -> &'static str {
    if fields.get("steps").is_some() {
        "plan"
    } else if fields.get("question").is_some() {
        "input"
    } else if fields.get("action").is_none() && fields.get("message").is_some() {
        "confirmation"
    } else {
        "action"
    }
}

fn action(fields: &Fields<'_>, place: &str) -> Result<Create, Fault> {
    let mut create = Create::new(Kind::Action, "a2a");
    create.tool = Some(tool(fields.word("action")?));
    let named = ["parameters", "args", "arguments"].into_iter().filter(|name| fields.get(name).is_some());
    let named: Vec<&str> = named.collect();
    let beside: Map<String, Value> =
        fields.map_all().into_iter().filter(|(name, _)| !OWN.contains(&name.as_str())).collect();
    create.arguments = Some(match named.as_slice() {
        [] => beside,
        // Fields beside the named arguments would be seen by nobody, and may matter to whoever runs the call.
        [name] if beside.is_empty() => object(fields.get(name), &format!("{place}.{name}"))?,
        _ => return Err(fields.fault("parameters", "must be the only place with arguments")),
    });
    let said = [fields.text("description")?, fields.text("summary")?, fields.text("message")?];
    create.summary = said.into_iter().flatten().next().map(str::to_owned);
    let options = fields.words("options")?;
    if !options.is_empty() {
        let mut allowed = vec![DecisionWord::Deny];
        let word = |word: &String| match word.as_str() {
            "approve" | "accept" => Some(DecisionWord::Approve),
            "modify" | "edit" => Some(DecisionWord::Edit),
            "respond" | "response" => Some(DecisionWord::Respond),
            _ => None,
        };
        allowed.extend(options.iter().filter_map(word));
        allowed.dedup();
        create.allowed = Some(allowed);
    }
    Ok(create)
}

fn plan(fields: &Fields<'_>) -> Result<Create, Fault> {
    let mut create = Create::new(Kind::Plan, "a2a");
    create.title = Some(fields.word("title")?.to_owned());
    create.can_modify = either(fields, "can_modify", "canModify", |name| fields.flag(name))?;
    let estimate =
        either(fields, "estimated_duration", "estimatedDuration", |name| Ok(fields.get(name).cloned()))?;
    create.estimated_duration = estimate.map(|value| match value {
        Value::String(text) => text,
        other => format!("{other} s"),
    });
    let mut steps = Vec::new();
    for (index, step) in fields.objects("steps")?.iter().enumerate() {
        let id = match (step.get("id"), step.get("order")) {
            (Some(Value::String(id)), _) => id.clone(),
            (_, Some(order)) => order.to_string(),
            _ => (index + 1).to_string(),
        };
        let arguments = step.get("arguments").or_else(|| step.get("parameters"));
        steps.push(Step {
            id,
            action: step.word("action")?.to_owned(),
            description: step.text("description")?.unwrap_or("").to_owned(),
            arguments: arguments.map(|value| object(Some(value), "steps.arguments")).transpose()?,
            optional: either(step, "optional", "isOptional", |name| step.flag(name))?,
        });
    }
    create.steps = Some(steps);
    Ok(create)
}

fn input(fields: &Fields<'_>) -> Result<Create, Fault> {
    let mut create = Create::new(Kind::Input, "a2a");
    create.question = Some(fields.word("question")?.to_owned());
    let wanted = either(fields, "input_type", "inputType", |name| Ok(fields.get(name).cloned()))?;
    create.input = Some(input_type(wanted.as_ref(), fields)?);
    create.required = fields.flag("required")?;
    create.default = either(fields, "default", "defaultValue", |name| Ok(fields.get(name).cloned()))?;
    Ok(create)
}

/// `"text"`, `{"choice": {"options": […]}}` as encoded, or `{"type": "choice", "options": […]}`.
fn input_type(wanted: Option<&Value>, fields: &Fields<'_>) -> Result<InputSpec, Fault> {
    let (name, more) = match wanted {
        None => ("text".to_owned(), json!({})),
        Some(Value::String(name)) => (name.clone(), json!({"options": fields.get("options")})),
        Some(Value::Object(object)) => {
            match (object.get("type").and_then(Value::as_str), object.iter().next()) {
                (Some(name), _) => (name.to_owned(), Value::Object(object.clone())),
                (None, Some((name, inner))) => (name.clone(), inner.clone()),
                (None, None) => return Err(fields.fault("inputType", "is empty")),
            }
        }
        Some(_) => return Err(fields.fault("inputType", "is neither text nor an object")),
    };
    let kind = match name.as_str() {
        "text" => InputType::Text,
        "number" => InputType::Number,
        "choice" => InputType::Choice,
        "multiChoice" | "multi_choice" => InputType::MultiChoice,
        "date" => InputType::Date,
        "file" => InputType::File,
        _ => return Err(fields.fault("inputType", "is not a type of input")),
    };
    let more = Fields::of(Some(&more), "inputType")?;
    let number = |name| Ok::<_, Fault>(more.get(name).and_then(Value::as_number).cloned());
    let options = more.words("options")?;
    Ok(InputSpec {
        kind,
        min: number("min")?,
        max: number("max")?,
        options: (!options.is_empty()).then_some(options),
    })
}

fn confirmation(fields: &Fields<'_>) -> Result<Create, Fault> {
    let mut create = Create::new(Kind::Confirmation, "a2a");
    create.message = Some(fields.word("message")?.to_owned());
    create.details = fields.text("details")?.map(str::to_owned);
    let text = |name: &str| Ok(fields.text(name)?.map(str::to_owned));
    create.confirm_label = either(fields, "confirm_label", "confirmLabel", text)?;
    create.cancel_label = either(fields, "cancel_label", "cancelLabel", text)?;
    Ok(create)
}

/// An unknown word is the highest risk: what an agent claims can only make things stricter.
fn risk(fields: &Fields<'_>) -> Result<Option<Risk>, Fault> {
    Ok(fields.text("risk")?.map(|word| match word {
        "low" => Risk::Low,
        "medium" => Risk::Medium,
        "high" => Risk::High,
        _ => Risk::Critical,
    }))
}

/// Seconds, or text such as `5m`.
fn timeout(fields: &Fields<'_>) -> Result<Option<String>, Fault> {
    match fields.get("timeout_s").or_else(|| fields.get("timeout")) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Number(seconds)) if seconds.as_u64().is_some_and(|seconds| seconds > 0) => {
            Ok(Some(format!("{seconds}s")))
        }
        Some(_) => Err(fields.fault("timeout", "is neither a number of seconds nor text such as `5m`")),
    }
}

/// A field under our spelling or under theirs.
fn either<T>(
    fields: &Fields<'_>,
    ours: &str,
    theirs: &str,
    read: impl Fn(&str) -> Result<Option<T>, Fault>,
) -> Result<Option<T>, Fault> {
    if fields.get(ours).is_some() { read(ours) } else { read(theirs) }
}
