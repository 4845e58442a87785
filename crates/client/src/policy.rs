//! Policy over the wire: read, checked, put, simulated, explained and shadowed.

use placet_core::{Confine, Create, DecisionWord, Effect, Needs, Record, RequestId, Risk, Time};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Client, Error, http::Call};

/// An error or a warning about a policy file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyProblem {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The rule, if it belongs to one.
    pub rule: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub fix: String,
}

/// A finding about the people that a policy needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyFinding {
    /// `error`: requests under this rule could never be approved. `warning`: worth knowing.
    pub severity: String,
    /// The rule with these needs. `default` for the defaults.
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
    /// Where it came from. `built-in` if none was ever put.
    pub source: String,
    /// When it was put last.
    pub at: Option<Time>,
    /// Who put it last.
    pub by: Option<String>,
    /// Its text.
    pub text: String,
    /// What is allowed but probably not intended.
    #[serde(default)]
    pub warnings: Vec<PolicyProblem>,
    /// Needs that the existing people can or cannot meet.
    #[serde(default)]
    pub findings: Vec<PolicyFinding>,
    /// Why it cannot be used. Then everything waits for two people.
    #[serde(default)]
    pub broken: Option<String>,
    /// Every policy that was put, the newest first. Only with the policy in force.
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
    /// What is allowed but probably not intended.
    #[serde(default)]
    pub warnings: Vec<PolicyProblem>,
    /// Needs that the existing people can or cannot meet.
    #[serde(default)]
    pub findings: Vec<PolicyFinding>,
}

/// A policy that is valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedPolicy {
    /// Its hash.
    pub hash: String,
    /// Its name, if it has one.
    #[serde(default)]
    pub name: Option<String>,
    /// What is allowed but probably not intended.
    #[serde(default)]
    pub warnings: Vec<PolicyProblem>,
    /// Needs that the existing people can or cannot meet.
    #[serde(default)]
    pub findings: Vec<PolicyFinding>,
}

/// The outcome of one policy for one call, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallExplanation {
    /// The policy's hash.
    pub policy: String,
    /// What it says.
    pub outcome: PolicyOutcome,
    /// The result of every rule. None if the policy cannot be used.
    pub explanation: Option<Explanation>,
}

/// The outcome of policy for one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PolicyOutcome {
    /// Allow, hold or deny.
    pub effect: Effect,
    /// For an allowed call: how it must be confined, if it must.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confine: Option<Confine>,
    /// The first rule with this outcome. `default` if no rule matched.
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
    /// Who is asked next when no decision is made in time: a list of `{needs, expires_in}`.
    #[serde(default)]
    pub escalation: Vec<Value>,
    /// Time for claiming, if policy sets one.
    #[serde(default)]
    pub claim_window: Option<String>,
    /// The decisions that policy offers, if it limits them.
    #[serde(default)]
    pub decisions: Option<Vec<DecisionWord>>,
    /// How many requests of one agent may be pending, if policy limits them.
    #[serde(default)]
    pub pending_cap: Option<u64>,
    /// The number of approvals after which the same call passes without a person: `{after, template}`.
    #[serde(default)]
    pub trust: Option<Value>,
}

/// The result of every rule for one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The rules in the order of the file.
    pub rules: Vec<RuleResult>,
    /// The steps of a plan, each judged as a call of its own.
    #[serde(default)]
    pub steps: Vec<StepResult>,
}

/// One rule's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleResult {
    /// Its name.
    pub rule: String,
    /// What it would do.
    pub effect: Effect,
    /// `matched`, `not_matched`, or `error`: a matcher could not decide.
    pub said: String,
    /// The matcher that decided.
    pub by: String,
    /// What that matcher found, in words.
    pub detail: String,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepResult {
    /// The step's id.
    pub id: String,
    /// What it does.
    pub action: String,
    /// The rules that matched it or could not decide.
    pub rules: Vec<RuleResult>,
}

/// The outcome of policy for a request, on record or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExplainAnswer {
    /// The request, if it is on record.
    pub request: Option<Record>,
    /// By the policy in force, then by the request's own policy if it was another one.
    pub explained: Vec<CallExplanation>,
}

impl Client {
    /// The policy in force, with all earlier versions.
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

    /// Puts another policy in force. `expected` is the hash it was made from. If another one is in force, it is
    /// refused with `stale_policy`, so that unseen changes are never overwritten.
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
            // The policy in force may be this one, from an earlier attempt with a lost answer.
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

    /// Checks a policy without putting it, against the existing people.
    pub async fn check_policy(&self, policy: &str) -> Result<CheckedPolicy, Error> {
        let call = Call::post(self.at("/v1/policy/check"), &json!({ "policy": policy }), None)?;
        self.send(&call).await
    }

    /// Which rules match a request on record, and why.
    pub async fn explain(&self, id: RequestId) -> Result<ExplainAnswer, Error> {
        let call = Call::post(self.at("/v1/policy/explain"), &json!({ "id": id }), None)?;
        self.send(&call).await
    }

    /// The outcome of the policy in force for a request that does not exist.
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
    /// Every error of a policy that was refused with `bad_policy`.
    pub fn policy_problems(&self) -> Vec<PolicyProblem> {
        let list = self.document.get("problems").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|item| serde_json::from_value(item.clone()).ok()).collect()
    }
}
