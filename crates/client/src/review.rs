//! What a reviewer does: list, decide, revoke, reassign, resolve.

use placet_core::{
    DecisionWord, Digest, Record, RecordCard, ReportStatus, RequestId, Risk, State, StepDecision,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{Client, Error, Problem, Remember, http::Call};

/// A decision on exactly what one record showed. Made from the record, it carries its digest and version.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decide {
    decision: DecisionWord,
    digest: Digest,
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<StepDecision>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remember: Option<Remember>,
    #[serde(skip_serializing_if = "Option::is_none")]
    view: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    display: Option<Digest>,
}

impl Decide {
    fn on(record: &Record, decision: DecisionWord) -> Self {
        // If there is a proposal, the decision is about the proposal.
        let digest = record.proposal.as_ref().map_or(record.digest, |proposal| proposal.digest);
        Self {
            decision,
            digest,
            version: record.version,
            reason: None,
            arguments: None,
            answer: None,
            steps: None,
            remember: None,
            view: None,
            display: None,
        }
    }

    /// Yes, exactly as shown.
    pub fn approve(record: &Record) -> Self {
        Self::on(record, DecisionWord::Approve)
    }

    /// Approves with these whole arguments instead.
    pub fn edit(record: &Record, arguments: Map<String, Value>) -> Self {
        Self { arguments: Some(arguments), ..Self::on(record, DecisionWord::Edit) }
    }

    /// No.
    pub fn deny(record: &Record, reason: impl Into<String>) -> Self {
        Self::on(record, DecisionWord::Deny).with_reason(reason)
    }

    /// Here is the answer.
    pub fn respond(record: &Record, answer: Value) -> Self {
        Self { answer: Some(answer), ..Self::on(record, DecisionWord::Respond) }
    }

    /// Decides every step of a plan, in the order to be approved.
    pub fn steps(record: &Record, steps: Vec<StepDecision>) -> Self {
        Self { steps: Some(steps), ..Self::on(record, DecisionWord::Approve) }
    }

    /// Says why.
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into()).filter(|reason| !reason.is_empty());
        self
    }

    /// Gives a grant with it.
    #[must_use]
    pub fn with_remember(mut self, remember: Remember) -> Self {
        self.remember = Some(remember);
        self
    }

    /// Confirms that the person saw the card of the record, or from older servers their drawing of it.
    #[must_use]
    pub fn as_shown(mut self, record: &Record) -> Self {
        self.view = record.view.as_ref().and_then(RecordCard::whole).map(|card| card.digest);
        self.display = match self.view {
            Some(_) => None,
            None => record.display.as_ref().map(|display| display.digest),
        };
        self
    }

    /// What is said.
    pub fn word(&self) -> DecisionWord {
        self.decision
    }
}

/// Which requests to list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListQuery {
    /// In this state.
    pub state: Option<State>,
    /// By this agent.
    pub agent: Option<String>,
    /// For this tool.
    pub tool: Option<String>,
    /// In this session.
    pub session: Option<String>,
    /// Of this risk.
    pub risk: Option<Risk>,
    /// Of this pause.
    pub group: Option<String>,
    /// With this text.
    pub q: Option<String>,
    /// The cursor of the page before.
    pub cursor: Option<String>,
    /// So many at most.
    pub limit: Option<u32>,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// The requests.
    pub items: Vec<Record>,
    /// Where the next page starts, if there is one.
    #[serde(default)]
    pub next_cursor: Option<String>,
    /// The last ledger entry that this page includes.
    pub seq: u64,
    /// The same as an event id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
}

impl Page {
    /// The cursor for a stream that misses nothing between this list and its start.
    pub fn position(&self) -> String {
        self.event_id.clone().unwrap_or_else(|| self.seq.to_string())
    }
}

/// One decision of a batch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BatchItem {
    /// On which request.
    pub id: RequestId,
    /// What.
    #[serde(flatten)]
    pub decide: Decide,
}

/// The result of one decision of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchResult {
    /// Of which request.
    pub id: RequestId,
    /// The record afterwards, or the refusal.
    pub result: Result<Box<Record>, Problem>,
}

impl Client {
    /// One page of requests.
    pub async fn list(&self, query: &ListQuery) -> Result<Page, Error> {
        let mut call = Call::get(self.at("/v1/requests"));
        let limit = query.limit.map(|limit| limit.to_string());
        let pairs = [
            ("state", query.state.map(State::as_str)),
            ("agent", query.agent.as_deref()),
            ("tool", query.tool.as_deref()),
            ("session", query.session.as_deref()),
            ("risk", query.risk.map(Risk::as_str)),
            ("group", query.group.as_deref()),
            ("q", query.q.as_deref()),
            ("cursor", query.cursor.as_deref()),
            ("limit", limit.as_deref()),
        ];
        for (name, value) in pairs {
            if let Some(value) = value {
                call = call.query(name, value);
            }
        }
        self.send(&call).await
    }

    /// Decides one request.
    pub async fn decide(&self, id: RequestId, decide: &Decide) -> Result<Record, Error> {
        let call = Call::post(self.at(&format!("/v1/requests/{id}/decision")), decide, None)?;
        self.send(&call).await
    }

    /// Decides several requests: each separately, or with `atomic` all or none.
    pub async fn decide_batch(&self, items: &[BatchItem], atomic: bool) -> Result<Vec<BatchResult>, Error> {
        let mut call = Call::post(self.at("/v1/decisions"), &items, None)?;
        if atomic {
            call = call.query("atomic", "true");
        }
        // A refused atomic batch answers 409, and still has a result for every decision.
        let answer: Value = match self.send(&call).await {
            Err(Error::Problem(problem)) if problem.document.get("results").is_some() => problem.document,
            answer => answer?,
        };
        let results = batch(&answer).map_err(|reason| self.protocol(reason))?;
        // Results are matched by id, never by position. A missing one must not count as a success.
        let complete = items.len() == results.len()
            && items.iter().all(|item| results.iter().any(|result| result.id == item.id));
        if complete {
            Ok(results)
        } else {
            Err(self.protocol("the results are not those of the decisions sent"))
        }
    }

    /// Revokes an approval that is not yet claimed.
    pub async fn revoke(&self, id: RequestId, reason: Option<&str>) -> Result<Record, Error> {
        self.reasoned(id, "revoke", reason).await
    }

    /// Changes who is asked: people by name, teams as `team:NAME`. The needs stay the same.
    pub async fn reassign(
        &self,
        id: RequestId,
        to: &[String],
        reason: Option<&str>,
    ) -> Result<Record, Error> {
        let mut body = json!({ "to": to });
        if let Some(reason) = reason {
            body["reason"] = json!(reason);
        }
        let call = Call::post(self.at(&format!("/v1/requests/{id}/reassign")), &body, None)?;
        self.send(&call).await
    }

    /// Resolves an unknown outcome.
    pub async fn resolve(&self, id: RequestId, status: ReportStatus, reason: &str) -> Result<Record, Error> {
        let body = json!({ "status": status, "reason": reason });
        let call = Call::post(self.at(&format!("/v1/requests/{id}/resolve")), &body, None)?;
        self.send(&call).await
    }
}

/// Reads the results of a batch: a list, or an object with the list under `results`.
fn batch(answer: &Value) -> Result<Vec<BatchResult>, String> {
    let list = answer.get("results").unwrap_or(answer).as_array();
    list.ok_or("expected a list of results")?.iter().map(one).collect()
}

fn one(item: &Value) -> Result<BatchResult, String> {
    let id = item.get("id").and_then(Value::as_str).and_then(|id| id.parse().ok());
    let id = id.ok_or("a result has no id")?;
    let status = item.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
    // A success is a 2xx with a record; anything else is a refusal.
    if status.is_none_or(|status| (200..300).contains(&status))
        && let Some(record) = item.get("record").filter(|_| item.get("problem").is_none())
    {
        let record: Record = serde_json::from_value(record.clone()).map_err(|error| error.to_string())?;
        return Ok(BatchResult { id, result: Ok(Box::new(record)) });
    }
    let problem = item.get("problem").unwrap_or(item).clone();
    Ok(BatchResult { id, result: Err(Problem::from_value(status.unwrap_or(409), problem)) })
}
