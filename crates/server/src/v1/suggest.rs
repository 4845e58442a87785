//! Rules that history suggests. Nothing is put in force.

use axum::{extract::State as AxumState, response::Response};
use http::StatusCode;
use placet_core::{RequestId, Time};
use placet_gate::Suggestions;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::{
    State,
    call::{Caller, Params},
    problem::{Problem, ProblemDocument},
    v1::{json, refuse},
};

/// For which calls.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SuggestParams {
    /// How often people must have approved a call; 3 unless told.
    #[param(minimum = 2, maximum = 1000)]
    least: Option<u64>,
    /// Calls of this agent alone.
    agent: Option<String>,
}

/// Rules that history suggests, for the policy in force. None of them covers anything that was ever refused or risky.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SuggestionsRecord {
    /// The hash of the policy in force, to which the rules would be added.
    policy: String,
    /// At most 50, those that save most first.
    items: Vec<SuggestionRecord>,
    /// All of them as TOML, to be added at the end of the policy.
    text: String,
    /// What the policy with these rules would have done with everything on record, as `POST /v1/policy/simulate` says it.
    #[schema(value_type = Object)]
    report: Value,
    left_out: LeftOutRecord,
}

/// One rule: it lets one exact call of one agent pass.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SuggestionRecord {
    /// Its name.
    rule: String,
    /// The rule, TOML.
    text: String,
    agent: String,
    tool: String,
    /// What the call does, in a sentence.
    effect: String,
    /// How often people approved it.
    approvals: u64,
    /// How many prompts the rule would have saved.
    saved: u64,
    #[schema(value_type = String, format = DateTime)]
    last_at: Time,
    /// The request that was approved last.
    request: RequestId,
}

/// Kinds of calls that were approved as often, for which nothing is suggested.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LeftOutRecord {
    /// Refused once, by a person or by policy, or an approval was taken back; or they run confined by now.
    refused: u64,
    /// Of high or critical risk once.
    risky: u64,
    /// No rule can say exactly this, such as a command that is not one literal line.
    not_literal: u64,
    /// Commands that ran outside of the agent's workspace.
    outside: u64,
    /// The policy holds them all the same, by a rule that says so, or lets them pass by now.
    held: u64,
}

impl From<Suggestions> for SuggestionsRecord {
    fn from(suggestions: Suggestions) -> Self {
        let texts: Vec<&str> = suggestions.items.iter().map(|item| item.text.as_str()).collect();
        let text = texts.join("\n");
        let left_out = suggestions.left_out;
        let items = suggestions.items.into_iter().map(|item| SuggestionRecord {
            rule: item.rule,
            text: item.text,
            agent: item.agent,
            tool: item.tool,
            effect: item.effect,
            approvals: item.approvals,
            saved: item.saved,
            last_at: item.last_at,
            request: item.request,
        });
        Self {
            policy: suggestions.policy,
            items: items.collect(),
            text,
            report: serde_json::to_value(&suggestions.report).unwrap_or_default(),
            left_out: LeftOutRecord {
                refused: left_out.refused,
                risky: left_out.risky,
                not_literal: left_out.not_literal,
                outside: left_out.outside,
                held: left_out.held,
            },
        }
    }
}

/// Rules for calls that people approved again and again, tried against everything on record. Nothing is put in force.
#[utoipa::path(get, path = "/v1/policy/suggestions", operation_id = "suggest_policy", tag = "policy", params(SuggestParams), responses(
    (status = 200, description = "reviewers and admins; it may take a while", body = SuggestionsRecord),
    (status = 422, description = "the policy in force cannot be added to", body = ProblemDocument),
    (status = 503, description = "another look over history is going on", body = ProblemDocument),
))]
pub(crate) async fn suggest(
    AxumState(state): AxumState<State>,
    Caller(actor): Caller,
    Params(params): Params<SuggestParams>,
) -> Result<Response, Problem> {
    let least = params.least.unwrap_or(3);
    if !(2..=1000).contains(&least) {
        return Err(Problem::unprocessable("invalid_query", "", "`least` must be 2 to 1000"));
    }
    let suggestions = state.gate.suggest(&actor, least, params.agent.as_deref()).await;
    let suggestions = suggestions.map_err(|error| refuse(&state, error))?;
    Ok(json(StatusCode::OK, &SuggestionsRecord::from(suggestions)))
}
