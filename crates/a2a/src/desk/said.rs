//! What a message on a waiting task says about its items, in every dialect that answers come in.
//!
//! An unknown word is refused, never taken for a yes or a no; text is chatter, whatever it says.

use placet_core::DecisionWord;
use serde_json::{Map, Value};

use crate::{
    Content, Fault, Message,
    desk::{AGENTSTACK, DIGESTED, DIGESTED_KEY, KAGENT, KAGENTI, OWN, object},
    fields::Fields,
};

/// A word on one item, or on the only one there is.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemAnswer {
    /// Which item: the asker's name for it, or the id of its request. Nothing means all that wait.
    pub item: Option<String>,
    /// What is said.
    pub word: DecisionWord,
    /// Why.
    pub reason: Option<String>,
    /// Other arguments.
    pub arguments: Option<Map<String, Value>>,
    /// The answer to a question.
    pub answer: Option<Value>,
    /// The digest the speaker saw.
    pub digest: Option<String>,
    /// The version the speaker saw.
    pub version: Option<u32>,
}

impl ItemAnswer {
    fn new(item: Option<String>, word: DecisionWord) -> Self {
        Self { item, word, reason: None, arguments: None, answer: None, digest: None, version: None }
    }
}

/// Every word of the message; none if it is chatter.
pub fn said(message: &Message) -> Result<Vec<ItemAnswer>, Fault> {
    let mut all = Vec::new();
    for (key, words) in &message.metadata {
        match key.as_str() {
            KAGENT => all.extend(kagent(&Fields::of(Some(words), "hitl/v1")?)?),
            OWN => all.push(plain(&Fields::of(Some(words), "decision")?)?),
            AGENTSTACK | KAGENTI => all.push(plain(&Fields::of(Some(words), "agentstack approval")?)?),
            DIGESTED | DIGESTED_KEY => all.push(plain(&Fields::of(Some(words), "approval")?)?),
            _ => {}
        }
    }
    for (index, part) in message.parts.iter().enumerate() {
        let Content::Data(Value::Object(data)) = &part.content else { continue };
        let fields = Fields::whole(data, &format!("message.parts[{index}].data"));
        match data.get("type").and_then(Value::as_str) {
            Some("approval_response") => all.push(plain(&fields)?),
            Some("tool_approval_response" | "ask_user_response") => all.extend(kagent(&fields)?),
            _ if data.contains_key("decision_type") => all.extend(typed(&fields)?),
            _ if data.get("name").and_then(Value::as_str) == Some("adk_request_confirmation") => {
                all.extend(confirmed(&fields)?);
            }
            _ => {}
        }
    }
    Ok(all)
}

/// `decision` with whatever goes with it.
fn plain(fields: &Fields<'_>) -> Result<ItemAnswer, Fault> {
    let mut item = None;
    for name in ["approval_id", "id", "requestId", "request_id"] {
        item = item.or(fields.text(name)?.map(str::to_owned));
    }
    let mut said = ItemAnswer::new(item, word(fields, "decision")?);
    for name in ["reason", "comment", "rejection_reason"] {
        said.reason = said.reason.or(fields.text(name)?.map(str::to_owned));
    }
    for name in ["arguments", "args", "modified_args"] {
        if said.arguments.is_none() && fields.get(name).is_some() {
            said.arguments = Some(object(fields.get(name), name)?);
        }
    }
    // A yes with other arguments is not a yes to what was asked.
    if said.arguments.is_some() && said.word == DecisionWord::Approve {
        said.word = DecisionWord::Edit;
    }
    said.answer = fields.get("answer").cloned();
    said.digest = fields.text("digest")?.map(str::to_owned);
    said.version = fields.count("version")?;
    Ok(said)
}

fn word(fields: &Fields<'_>, name: &str) -> Result<DecisionWord, Fault> {
    match fields.word(name)? {
        "approve" => Ok(DecisionWord::Approve),
        "edit" | "modify" => Ok(DecisionWord::Edit),
        "deny" | "reject" => Ok(DecisionWord::Deny),
        "respond" | "answer" => Ok(DecisionWord::Respond),
        _ => Err(fields.fault(name, "is none of approve, edit, deny and respond")),
    }
}

fn kagent(fields: &Fields<'_>) -> Result<Vec<ItemAnswer>, Fault> {
    match fields.text("type")? {
        Some("tool_approval_response") => fields
            .objects("approvals")?
            .iter()
            .map(|approval| {
                let approved = approval.flag("approved")?;
                let approved = approved.ok_or_else(|| approval.fault("approved", "is missing"))?;
                let word = if approved { DecisionWord::Approve } else { DecisionWord::Deny };
                let mut said = ItemAnswer::new(Some(approval.word("id")?.to_owned()), word);
                said.reason = approval.text("rejection_reason")?.map(str::to_owned);
                Ok(said)
            })
            .collect(),
        Some("ask_user_response") => {
            let id = fields.word("id")?;
            answers(fields, "answers", id)
        }
        _ => Ok(Vec::new()),
    }
}

/// The answers to questions, in their order. One word in a list is that word; several are a choice of several.
fn answers(fields: &Fields<'_>, name: &str, id: &str) -> Result<Vec<ItemAnswer>, Fault> {
    let each = fields.objects(name)?.into_iter().enumerate();
    each.map(|(index, answer)| {
        let mut said = ItemAnswer::new(Some(format!("{id}#{index}")), DecisionWord::Respond);
        said.answer = Some(match answer.list("answer")? {
            [one] => one.clone(),
            several => Value::Array(several.to_vec()),
        });
        Ok(said)
    })
    .collect()
}

/// The words of kagent's releases and of the proposal before them: `decision_type`, one for all or one for each call.
fn typed(fields: &Fields<'_>) -> Result<Vec<ItemAnswer>, Fault> {
    let reason = fields.text("rejection_reason")?.map(str::to_owned);
    if fields.get("ask_user_answers").is_some() {
        // A question is named by its place; a no beside answers would be heard as a yes.
        return match fields.word("decision_type")? {
            "approve" => answers(fields, "ask_user_answers", ""),
            _ => Err(fields.fault("ask_user_answers", "stands beside something else than `approve`")),
        };
    }
    match fields.word("decision_type")? {
        "batch" => {
            let reasons = fields.below("rejection_reasons")?;
            let decisions = fields.needed("decisions")?;
            decisions
                .map_all()
                .keys()
                .map(|id| {
                    let mut said = ItemAnswer::new(Some(id.clone()), word(&decisions, id)?);
                    if let Some(reasons) = &reasons {
                        said.reason = reasons.text(id)?.map(str::to_owned);
                    }
                    Ok(said)
                })
                .collect()
        }
        _ => Ok(vec![ItemAnswer { reason, ..ItemAnswer::new(None, word(fields, "decision_type")?) }]),
    }
}

/// The answer of google-adk to one confirmation, as an object or as the text of one.
fn confirmed(fields: &Fields<'_>) -> Result<Vec<ItemAnswer>, Fault> {
    let Some(response) = fields.below("response")? else { return Ok(Vec::new()) };
    let inner: Option<Value> = match response.get("response") {
        Some(Value::String(text)) => Some(
            serde_json::from_str(text)
                .map_err(|_| response.fault("response", "is not the text of an object"))?,
        ),
        _ => None,
    };
    let response = match &inner {
        Some(inner) => Fields::of(Some(inner), "response")?,
        None => response,
    };
    let id = fields.word("id")?;
    let confirmed = response.flag("confirmed")?;
    let confirmed = confirmed.ok_or_else(|| response.fault("confirmed", "is missing"))?;
    let payload = match response.get("payload") {
        Some(Value::Object(_)) => Some(response.needed("payload")?),
        _ => None,
    };
    if let (true, Some(payload)) = (confirmed, &payload)
        && payload.get("answers").is_some()
    {
        return answers(payload, "answers", id);
    }
    let word = if confirmed { DecisionWord::Approve } else { DecisionWord::Deny };
    let mut said = ItemAnswer::new(Some(id.to_owned()), word);
    if let Some(payload) = payload {
        said.reason = payload.text("rejection_reason")?.map(str::to_owned);
    }
    Ok(vec![said])
}
