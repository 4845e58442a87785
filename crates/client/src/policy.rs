//! Policy over the wire: read, checked, put, tried against the record, explained, and shadowed.

use placet_core::{Confine, Create, DecisionWord, Effect, Needs, Record, RequestId, Risk, Time};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Client, Error, http::Call};

/// One problem of a policy file, or one warning about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyProblem {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The rule it belongs to, if it belongs to one.
    pub rule: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub fix: String,
}

/// Something about the people that a policy's author should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyFinding {
    /// `error`: requests under this rule could never be approved. `warning`: worth knowing.
    pub severity: String,
    /// The rule whose needs these are; `default` for the defaults.
    pub rule: String,
    /// What is the matter.
    pub message: String,
    /// What would mend it.
    pub fix: String,
}

/// A policy that is or was in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyInfo {
    /// Its hash.
    pub hash: String,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Where it came from; `built-in` when nobody put it.
    pub source: String,
    /// When it was put last.
    pub at: Option<Time>,
    /// Who put it last.
    pub by: Option<String>,
    /// Its text.
    pub text: String,
    /// What is allowed but probably not meant.
    #[serde(default)]
    pub warnings: Vec<PolicyProblem>,
    /// What the people who exist can and cannot meet.
    #[serde(default)]
    pub findings: Vec<PolicyFinding>,
    /// Why it cannot be used: everything waits for two people then.
    #[serde(default)]
    pub broken: Option<String>,
    /// Every policy that was put, the newest first; with the policy in force only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<PolicyVersion>,
}

/// A policy that was put, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyVersion {
    /// Its hash.
    pub hash: String,
    /// Where it came from.
    pub source: String,
    /// When it was put.
    pub at: Time,
    /// Who put it.
    pub by: String,
    /// Whether it is in force.
    pub active: bool,
}

/// A policy that was put.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyPut {
    /// Its hash.
    pub hash: String,
    /// Whether anything changed.
    pub changed: bool,
    /// What is allowed but probably not meant.
    #[serde(default)]
    pub warnings: Vec<PolicyProblem>,
    /// What the people who exist can and cannot meet.
    #[serde(default)]
    pub findings: Vec<PolicyFinding>,
}

/// A policy that could be put.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyChecked {
    /// Its hash.
    pub hash: String,
    /// Its name, if it has one.
    #[serde(default)]
    pub name: Option<String>,
    /// What is allowed but probably not meant.
    #[serde(default)]
    pub warnings: Vec<PolicyProblem>,
    /// What the people who exist can and cannot meet.
    #[serde(default)]
    pub findings: Vec<PolicyFinding>,
}

/// What one policy says of one call, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// The policy's hash.
    pub policy: String,
    /// What it says.
    pub outcome: PolicyOutcome,
    /// Every rule's word; nothing when the policy cannot be used.
    pub explanation: Option<Explanation>,
}

/// What policy says of one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PolicyOutcome {
    /// Allow, hold or deny.
    pub effect: Effect,
    /// Of a call that is allowed: it may run only so confined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confine: Option<Confine>,
    /// The first rule that said so; `default` when no rule spoke.
    pub rule: String,
    /// Why.
    pub reasons: Vec<String>,
    /// Computed risk.
    pub risk: Risk,
    /// Whose yes is needed.
    pub needs: Needs,
    /// Time for deciding, if policy sets one.
    #[serde(default)]
    pub expires_in: Option<String>,
    /// Who is asked next when nobody decided in time: a list of `{needs, expires_in}`.
    #[serde(default)]
    pub escalation: Vec<Value>,
    /// Time for claiming, if policy sets one.
    #[serde(default)]
    pub claim_window: Option<String>,
    /// Which decisions are offered, if policy says.
    #[serde(default)]
    pub decisions: Option<Vec<DecisionWord>>,
    /// How many requests of one agent may wait at once, if policy says.
    #[serde(default)]
    pub pending_cap: Option<u64>,
    /// After how many approvals of the same thing nobody is asked any more: `{after, template}`.
    #[serde(default)]
    pub trust: Option<Value>,
}

/// Every rule's word on one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The rules in the order of the file.
    pub rules: Vec<RuleSaid>,
    /// The steps of a plan, each judged as a call of its own.
    #[serde(default)]
    pub steps: Vec<StepSaid>,
}

/// One rule's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleSaid {
    /// Its name.
    pub rule: String,
    /// What it would do.
    pub effect: Effect,
    /// `matched`, `not_matched`, or `error`: a matcher could not tell.
    pub said: String,
    /// The matcher that made it so.
    pub by: String,
    /// What that matcher found, in words.
    pub detail: String,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepSaid {
    /// The step's id.
    pub id: String,
    /// What it does.
    pub action: String,
    /// The rules that matched it or could not tell.
    pub rules: Vec<RuleSaid>,
}

/// What policy says of a request, on record or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExplainAnswer {
    /// The request, if it is on record.
    pub request: Option<Record>,
    /// By the policy in force; then, if it was another, by the one the request came under.
    pub explained: Vec<Explained>,
}

impl Client {
    /// The policy in force, with every version that was.
    pub async fn policy(&self) -> Result<PolicyInfo, Error> {
        self.send(&Call::get(self.at("/v1/policy"))).await
    }

    /// A policy that is or was in force.
    pub async fn policy_version(&self, hash: &str) -> Result<PolicyInfo, Error> {
        // A hash is `sha256:` and digits; anything else is not found, and not a path either.
        if !hash.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b':') {
            return Err(Error::Config(format!("`{}` is not the hash of a policy", hash.escape_debug())));
        }
        self.send(&Call::get(self.at(&format!("/v1/policy/{hash}")))).await
    }

    /// Puts another policy in force. `expected` is the hash it was made from: another one in force is refused with
    /// `stale_policy`, so that nobody overwrites what they have not seen.
    pub async fn put_policy(
        &self,
        policy: &str,
        expected: Option<&str>,
        source: Option<&str>,
    ) -> Result<PolicyPut, Error> {
        let mut body = json!({ "policy": policy });
        if let Some(expected) = expected {
            body["expected"] = expected.into();
        }
        if let Some(source) = source {
            body["source"] = source.into();
        }
        let call = Call::put(self.at("/v1/policy"), &body)?;
        let (answer, attempts) = self.send_counted(&call).await;
        match answer {
            // An earlier attempt, whose answer was lost, may be what is in force now.
            Err(Error::Problem(problem)) if attempts > 1 && problem.code == "stale_policy" => {
                let info = self.policy().await?;
                if info.text == policy {
                    let PolicyInfo { hash, warnings, findings, .. } = info;
                    return Ok(PolicyPut { hash, changed: true, warnings, findings });
                }
                Err(Error::Problem(problem))
            }
            answer => answer,
        }
    }

    /// Looks at a policy without putting it, with the people who exist in mind.
    pub async fn check_policy(&self, policy: &str) -> Result<PolicyChecked, Error> {
        let call = Call::post(self.at("/v1/policy/check"), &json!({ "policy": policy }), None)?;
        self.send(&call).await
    }

    /// Which rules match a request on record, and why.
    pub async fn explain(&self, id: RequestId) -> Result<ExplainAnswer, Error> {
        let call = Call::post(self.at("/v1/policy/explain"), &json!({ "id": id }), None)?;
        self.send(&call).await
    }

    /// What the policy in force would say of a request that nobody made.
    pub async fn explain_create(&self, create: &Create, agent: Option<&str>) -> Result<ExplainAnswer, Error> {
        let mut body = json!({ "request": create });
        if let Some(agent) = agent {
            body["agent"] = agent.into();
        }
        let call = Call::post(self.at("/v1/policy/explain"), &body, None)?;
        self.send(&call).await
    }
}

impl crate::Problem {
    /// Everything that is wrong with a policy that was refused with `bad_policy`.
    pub fn policy_problems(&self) -> Vec<PolicyProblem> {
        let list = self.document.get("problems").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|item| serde_json::from_value(item.clone()).ok()).collect()
    }
}
