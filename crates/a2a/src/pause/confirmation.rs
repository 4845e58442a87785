//! Calls of `adk_request_confirmation`: how google-adk and the releases of kagent pause, nested agents included.

use serde_json::{Map, Value, json};

use super::{
    Form, Item,
    call::{Call, action, outsized, questions, warn},
    status::{Held, Piece, Status},
};
use crate::{Fault, fields::Fields};

/// The name of the call that asks for a yes to another call.
pub(super) const CONFIRMATION: &str = "adk_request_confirmation";
/// The tool whose calls are questions.
const ASK_USER: &str = "ask_user";

/// The calls of `adk_request_confirmation` among the parts; nothing if there are none.
pub(super) fn read(status: &Status<'_>) -> Result<Option<(Form, Vec<Item>)>, Fault> {
    let is_one = |data: &Fields<'_>| data.get("name").and_then(Value::as_str) == Some(CONFIRMATION);
    if !status.data().any(|(data, _)| is_one(data)) {
        return Ok(None);
    }
    let (mut pending, mut kagent, mut adk) = (Vec::new(), false, false);
    for (index, Piece { held, metadata }) in status.parts.iter().enumerate() {
        let place = format!("status.message.parts[{index}]");
        let data = match held {
            Held::Text(_) => continue,
            Held::Data(data) if is_one(data) => data,
            _ => return Err(fault(&place, "stands beside calls that wait for a yes, and is none")),
        };
        let said = |prefix: &str| metadata.get(&format!("{prefix}type")).map(|kind| kind == "function_call");
        match (said("kagent_"), said("adk_")) {
            (Some(true), None) => kagent = true,
            (None, Some(true)) => adk = true,
            _ => {
                return Err(fault(
                    &place,
                    "has no `kagent_type` or `adk_type` that says `function_call`, or both",
                ));
            }
        }
        pending.push(Pending::read(data)?);
    }
    if kagent && adk {
        return Err(fault("status.message.parts", "are in two spellings, `kagent_` and `adk_`"));
    }
    // Only kagent asks for the calls of an agent behind the agent, whichever library spelled it.
    let kagent = kagent || pending.iter().any(|pending| pending.inner.is_some());
    let (mut calls, mut items) = (Vec::new(), Vec::new());
    for pending in &pending {
        for asked in pending.asked() {
            let id = match (kagent, asked.call_id) {
                (true, Some(id)) => id,
                (true, None) => {
                    return Err(fault(&pending.place, "has a call without an id, which its answer needs"));
                }
                (false, _) => pending.id,
            };
            let call = asked.call(id, kagent, pending, &mut items)?;
            calls.push(call);
        }
    }
    // kagent hands one set of answers to every call that waits, so a second set of questions would get the first one's.
    if kagent && calls.iter().filter(|call| call.questions > 0).count() > 1 {
        return Err(fault("status.message.parts", "ask two sets of questions, and an answer can hold one"));
    }
    Ok(Some((if kagent { Form::Kagent(calls) } else { Form::Adk(calls) }, items)))
}

fn fault(place: &str, why: &str) -> Fault {
    Fault::InvalidParams(format!("`{place}` {why}"))
}

/// One part: a call that waits for a yes, or the calls of an agent behind it.
struct Pending<'a> {
    place: String,
    id: &'a str,
    hint: Option<&'a str>,
    subagent: Option<&'a str>,
    payload: Option<Map<String, Value>>,
    outer: ModelCall<'a>,
    inner: Option<Vec<ModelCall<'a>>>,
}

/// The call as the model made it.
struct ModelCall<'a> {
    call_id: Option<&'a str>,
    confirmation_id: Option<&'a str>,
    name: &'a str,
    arguments: Map<String, Value>,
    fields: Fields<'a>,
}

impl<'a> Pending<'a> {
    fn read(data: &Fields<'a>) -> Result<Self, Fault> {
        let id = data.word("id")?;
        let args = data.needed("args")?;
        let confirmation = args.below("toolConfirmation")?;
        let hint = confirmation.as_ref().map(|fields| fields.text("hint")).transpose()?.flatten();
        let payload = match confirmation.as_ref().and_then(|fields| fields.get("payload")) {
            Some(Value::Object(_)) => {
                confirmation.as_ref().map(|fields| fields.needed("payload")).transpose()?
            }
            _ => None,
        };
        let subagent = payload.as_ref().map(|payload| payload.text("subagent_name")).transpose()?.flatten();
        let inner = match payload.as_ref().map(|payload| payload.objects("hitl_parts")).transpose()? {
            Some(parts) if !parts.is_empty() => {
                Some(parts.iter().map(ModelCall::inner).collect::<Result<_, _>>()?)
            }
            _ => None,
        };
        let payload = payload.map(|payload| payload.map_all());
        if payload.as_ref().is_some_and(|payload| payload.values().any(outsized)) {
            return Err(data
                .fault("args.toolConfirmation.payload", "holds a number too large to hand back unchanged"));
        }
        let outer = ModelCall::read(&args, Some(id))?;
        Ok(Self { place: data.place().to_owned(), id, hint, subagent, payload, outer, inner })
    }

    /// What will run: the calls of the agent behind, if one waits; the outer call only passes the word on.
    fn asked(&self) -> &[ModelCall<'a>] {
        self.inner.as_deref().unwrap_or(std::slice::from_ref(&self.outer))
    }
}

impl<'a> ModelCall<'a> {
    fn read(fields: &Fields<'a>, confirmation_id: Option<&'a str>) -> Result<Self, Fault> {
        let call = fields.needed("originalFunctionCall")?;
        let call_id = call.text("id")?.filter(|id| !id.is_empty());
        Ok(Self {
            call_id,
            confirmation_id,
            name: call.word("name")?,
            arguments: call.map("args")?,
            fields: call,
        })
    }

    fn inner(fields: &Fields<'a>) -> Result<Self, Fault> {
        Self::read(fields, fields.text("id")?)
    }

    /// The call, with its items put to the others.
    fn call(
        &self,
        id: &str,
        kagent: bool,
        pending: &Pending<'_>,
        items: &mut Vec<Item>,
    ) -> Result<Call, Fault> {
        let mut context = Map::new();
        let mut keep = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                context.insert(name.to_owned(), json!(value));
            }
        };
        keep("call_id", self.call_id);
        keep("confirmation_id", self.confirmation_id);
        if let Some(subagent) = pending.subagent {
            context.insert("lineage".to_owned(), json!([subagent]));
        }
        let nested = pending.inner.is_some();
        if let (Some(payload), false) = (&pending.payload, nested) {
            context.insert("payload".to_owned(), json!(payload));
        }
        let asks = self.name == ASK_USER && self.arguments.contains_key("questions");
        let relayed =
            self.arguments.len() == 1 && self.arguments.get("request").is_some_and(Value::is_string);
        let before = items.len();
        if asks {
            items.extend(questions(&self.fields.needed("args")?, id, &context)?);
        } else {
            let mut create = action(&self.fields, self.name, self.arguments.clone(), pending.hint, context)?;
            if relayed && pending.subagent.is_some() {
                // The agent does not pass on what an agent behind the agent behind it waits for.
                warn(
                    &mut create,
                    "this calls yet another agent: a yes is a yes to all that it waits for, which is not shown",
                );
            }
            items.push(Item { id: id.to_owned(), create });
        }
        Ok(Call {
            id: id.to_owned(),
            tool: self.name.to_owned(),
            questions: if asks { items.len() - before } else { 0 },
            payload: (!kagent).then(|| pending.payload.clone()).flatten(),
            nested,
            relayed,
        })
    }
}
