//! The requests of kagent's extension `hitl/v1`: agents pause with them, and the desk is asked with them.

use serde_json::{Map, Value};

use crate::{Fault, fields::Fields};

/// What is asked for, and by whom.
pub(crate) struct HitlRequest<'a> {
    /// The agent's words on all of it.
    pub(crate) hint: Option<&'a str>,
    /// The agent behind the agent, if it is the one that waits.
    pub(crate) subagent: Option<&'a str>,
    pub(crate) what: What<'a>,
}

pub(crate) enum What<'a> {
    /// Calls to approve.
    Calls(Vec<Call<'a>>),
    /// Questions, in the field `questions` of these.
    Questions {
        /// What the answer is keyed by.
        id: &'a str,
        /// Where they stand.
        fields: Fields<'a>,
    },
}

/// One call.
pub(crate) struct Call<'a> {
    /// What the answer is keyed by.
    pub(crate) id: &'a str,
    /// What the model calls it.
    pub(crate) model_id: Option<&'a str>,
    pub(crate) name: &'a str,
    pub(crate) arguments: Map<String, Value>,
    /// For faults.
    pub(crate) fields: Fields<'a>,
}

/// A request; nothing if the words are a response or something else.
pub(crate) fn read(words: &Value) -> Result<Option<HitlRequest<'_>>, Fault> {
    let fields = Fields::of(Some(words), "hitl/v1")?;
    // What a sub-agent waits for is what will run; the outer call only passes it on.
    let nested = match fields.below("nested")? {
        Some(nested) if !nested.list("tools")?.is_empty() => Some(nested),
        _ => None,
    };
    let subagent = nested.as_ref().map(|nested| nested.text("subagent_name")).transpose()?.flatten();
    let what = match fields.text("type")? {
        Some("tool_approval_request") => match &nested {
            // The agent can pass on one answer only, and fails when others wait beside it.
            Some(_) if fields.list("tools")?.len() > 1 => {
                return Err(fields
                    .fault("nested", "stands beside calls of the agent's own, which nothing can answer"));
            }
            Some(nested) => What::Calls(calls(nested)?),
            None => What::Calls(calls(&fields)?),
        },
        Some("ask_user_request") => {
            let inner = nested.as_ref().map(|nested| nested.objects("tools")).transpose()?;
            let id = match inner.as_deref() {
                None => fields.word("id")?,
                Some([one]) if one.text("name")? == Some("ask_user") => one.word("id")?,
                Some(_) => return Err(fields.fault("nested.tools", "is not one call of `ask_user`")),
            };
            What::Questions { id, fields: fields.clone() }
        }
        _ => return Ok(None),
    };
    Ok(Some(HitlRequest { hint: fields.text("hint")?, subagent, what }))
}

fn calls<'a>(fields: &Fields<'a>) -> Result<Vec<Call<'a>>, Fault> {
    let call = |call: Fields<'a>| {
        Ok(Call {
            id: call.word("id")?,
            model_id: call.text("call_id")?,
            name: call.word("name")?,
            arguments: call.map("args")?,
            fields: call,
        })
    };
    fields.objects("tools")?.into_iter().map(call).collect()
}
