//! What an agent does: ask, read, claim, report, cancel.

use std::time::Duration;

use placet_core::{Confine, Create, Digest, HOOK_PROGRAM, Record, ReportStatus, RequestId, State, Time};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{Claimant, Client, Error, Permit, http::Call, wait::POLL};

/// How to ask.
#[derive(Debug, Clone, Default)]
pub struct CreateOptions {
    /// The same key gives the same request, however often it is sent. A new one each time by default.
    pub idempotency_key: Option<String>,
    /// The weak key finds an open request of an earlier run, whatever the idempotency key: for programs that may be
    /// restarted. Everything but context, summary and group must be equal too.
    pub weak_key: Option<String>,
    /// The call comes from a program that resolved the folder and the paths in its context, as `placet hook` does.
    pub resolved: bool,
    /// Wait for a decision in the same call, at most 25 s; use [`Client::wait_decided`] for longer.
    pub wait: Option<Duration>,
    /// If it is approved by then, claim it in the same call as this claimant: the record then carries the permit.
    pub claim: Option<Claimant>,
}

/// A claimed permit and what it allows.
#[derive(Debug, Clone, Deserialize)]
pub struct ClaimedPermit {
    /// The right to run it, once.
    pub permit: Permit,
    /// What to run: these arguments and no others.
    pub arguments: Map<String, Value>,
    /// The digest of what was approved.
    pub digest: Digest,
    /// How it must be confined, if it must.
    #[serde(default)]
    pub confine: Option<Confine>,
    /// For a confined call: the folders that it may change.
    #[serde(default)]
    pub workspace: Vec<String>,
    /// The deadline for reporting.
    pub report_by: Option<Time>,
}

/// The result of an execution.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Whether it worked.
    pub status: ReportStatus,
    /// A digest of the result, by the executor's own rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_digest: Option<String>,
    /// In the executor's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// It was allowed confined, and there is no proof that it ran confined.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unconfined: bool,
}

impl Report {
    /// It worked.
    pub fn succeeded() -> Self {
        Self { status: ReportStatus::Succeeded, result_digest: None, note: None, unconfined: false }
    }

    /// It did not.
    pub fn failed(note: impl Into<String>) -> Self {
        Self { status: ReportStatus::Failed, result_digest: None, note: Some(note.into()), unconfined: false }
    }
}

impl Client {
    /// Creates a request. A retry sends the same idempotency key, so a lost answer never makes two requests.
    pub async fn create(&self, create: &Create, options: CreateOptions) -> Result<Record, Error> {
        let call = Call::post(self.at("/v1/requests"), create, options.idempotency_key)?
            .wait(options.wait.map(|wait| wait.min(POLL)))
            .weak_key(options.weak_key)
            .door(options.resolved.then_some(HOOK_PROGRAM));
        let Some(claimant) = options.claim else {
            return self.send(&call).await;
        };
        let call = call.query("claim", "true").claimant(&claimant);
        let mut record: Record = self.send(&call).await?;
        // Claimed, but without a permit in the answer: the first answer was lost, or another claimant was quicker.
        if record.state == State::Claimed && record.permit.is_none() {
            match self.claim_as(record.id, &claimant).await {
                Ok(claimed) => record.permit = Some(claimed.permit.reveal().to_owned()),
                Err(Error::Problem(problem)) if problem.code == "already_claimed" => {}
                Err(error) => return Err(error),
            }
        }
        Ok(record)
    }

    /// The request as it is now.
    pub async fn get(&self, id: RequestId) -> Result<Record, Error> {
        self.get_after(id, None, None).await
    }

    /// The request when its version is no longer `version` (without one: when it is no longer pending), or when the
    /// wait ends.
    pub async fn get_after(
        &self,
        id: RequestId,
        wait: Option<Duration>,
        version: Option<u32>,
    ) -> Result<Record, Error> {
        self.send(&self.get_call(id, wait, version)).await
    }

    pub(crate) fn get_call(&self, id: RequestId, wait: Option<Duration>, version: Option<u32>) -> Call {
        let call = Call::get(self.at(&format!("/v1/requests/{id}"))).wait(wait.map(|wait| wait.min(POLL)));
        match version {
            Some(version) => call.query("version", &version.to_string()),
            None => call,
        }
    }

    /// Claims the permit of an approved action. A retry uses the same claimant, so a lost answer is safe.
    pub async fn claim(&self, id: RequestId) -> Result<ClaimedPermit, Error> {
        self.claim_as(id, &Claimant::new()?).await
    }

    /// Claims the permit with the caller's own claimant, to be able to ask again later.
    pub async fn claim_as(&self, id: RequestId, claimant: &Claimant) -> Result<ClaimedPermit, Error> {
        let body = json!({ "claimant": claimant });
        // The server keeps no permit in clear text, so the claimant makes this repeatable, not the idempotency key.
        let call = Call::post(self.at(&format!("/v1/requests/{id}/claim")), &body, None)?;
        self.send(&call).await
    }

    /// The same as the hook program, which can confine calls.
    pub async fn claim_confined(&self, id: RequestId, claimant: &Claimant) -> Result<ClaimedPermit, Error> {
        let body = json!({ "claimant": claimant });
        let call = Call::post(self.at(&format!("/v1/requests/{id}/claim")), &body, None)?;
        self.send(&call.door(Some(HOOK_PROGRAM))).await
    }

    /// Reports the result of the execution.
    pub async fn report(&self, id: RequestId, permit: &Permit, report: &Report) -> Result<Record, Error> {
        #[derive(Serialize)]
        struct Body<'a> {
            permit: &'a Permit,
            #[serde(flatten)]
            report: &'a Report,
        }
        let call =
            Call::post(self.at(&format!("/v1/requests/{id}/outcome")), &Body { permit, report }, None)?;
        self.send(&call).await
    }

    /// Cancels a request that is pending, or approved and not yet claimed.
    pub async fn cancel(&self, id: RequestId, reason: Option<&str>) -> Result<Record, Error> {
        self.reasoned(id, "cancel", reason).await
    }

    /// A POST whose only field is an optional reason.
    pub(crate) async fn reasoned(
        &self,
        id: RequestId,
        verb: &str,
        reason: Option<&str>,
    ) -> Result<Record, Error> {
        let body = reason.map_or_else(|| json!({}), |reason| json!({ "reason": reason }));
        let call = Call::post(self.at(&format!("/v1/requests/{id}/{verb}")), &body, None)?;
        self.send(&call).await
    }
}
