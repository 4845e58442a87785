//! AgentKit's data parts: `approval_request` in both its forms, answered with `approval_response`.

use placet_core::{Create, Kind};
use serde_json::{Value, json};

use super::{
    Decided, Form, Item, Reply,
    call::{as_action, fit, named},
    status::{Held, Status},
};
use crate::{Fault, Part, desk::agentkit, fields::Fields};

/// The requests among the parts; nothing if there are none.
pub(super) fn read(status: &Status<'_>) -> Result<Option<(Form, Vec<Item>)>, Fault> {
    let (mut found, mut strange) = (Vec::new(), None);
    for (index, part) in status.parts.iter().enumerate() {
        let place = format!("status.message.parts[{index}]");
        let asking = match &part.held {
            Held::Text(_) => continue,
            Held::Data(data) => agentkit::read(&data.map_all(), data.place())?.map(|asking| (data, asking)),
            Held::Other => None,
        };
        match asking {
            Some((data, asking)) => found.extend(asking.items.into_iter().map(|item| (data, item))),
            None => strange = Some(place),
        }
    }
    if found.is_empty() {
        return Ok(None);
    }
    if let Some(place) = strange {
        let why = "stands beside requests for approval, and is none";
        return Err(Fault::InvalidParams(format!("`{place}` {why}")));
    }
    let alone = found.len() == 1;
    let (mut ids, mut items) = (Vec::new(), Vec::new());
    for (data, item) in found {
        let id = match &item.id {
            Some(id) => id.clone(),
            None if alone => "approval".to_owned(),
            None => return Err(data.fault("id", "is missing, and more than one request waits")),
        };
        items.push(Item { id, create: request(data, item.create)? });
        ids.push(item.id);
    }
    Ok(Some((Form::AgentKit { ids, mixed: status.mixed }, items)))
}

/// The request without what its answer cannot say.
fn request(data: &Fields<'_>, mut create: Create) -> Result<Create, Fault> {
    match create.kind {
        Kind::Action => {
            // Flat, or as that language encodes an enumeration.
            let raw = data.get("action").and_then(|action| match action {
                Value::String(name) => Some(name.as_str()),
                encoded => encoded.get("_0")?.get("action")?.as_str(),
            });
            named(data, "action", raw.unwrap_or(""))?;
        }
        // A plan can be approved in part, and the answer cannot say so; so it is one thing, as it came.
        Kind::Plan => {
            let mut whole = Create::new(Kind::Action, "a2a");
            whole.tool = Some("plan".to_owned());
            whole.summary = create.title.take();
            whole.arguments = Some(data.map_all());
            (whole.risk, whole.expires_in) = (create.risk, create.expires_in.take());
            create = whole;
        }
        Kind::Confirmation => create = as_action(create, "confirmation"),
        Kind::Input => {}
    }
    // Whose behalf the call is made on is not for the agent behind the proxy to say.
    create.on_behalf_of = None;
    fit(&mut create);
    Ok(create)
}

/// One response for each request.
pub(super) fn reply(ids: &[Option<String>], decisions: &[Decided]) -> Reply {
    let part = |(id, decided): (&Option<String>, &Decided)| {
        let (word, more) = match decided {
            Decided::Approved => ("approve", None),
            Decided::Answered(answer) => ("approve", Some(("answer", answer.clone()))),
            Decided::Rejected { reason } => ("deny", reason.as_ref().map(|reason| ("reason", json!(reason)))),
        };
        let mut data = json!({"type": "approval_response", "decision": word});
        if let Some(data) = data.as_object_mut() {
            data.extend(id.iter().map(|id| ("id".to_owned(), json!(id))));
            data.extend(more.map(|(name, value)| (name.to_owned(), value)));
        }
        Part::data(data)
    };
    Reply { parts: ids.iter().zip(decisions).map(part).collect(), ..Reply::default() }
}
