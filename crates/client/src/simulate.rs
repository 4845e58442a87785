//! What-if: what a candidate policy would have done with all requests on record, or would do with live ones.

use std::time::Duration;

use placet_core::{Confine, Effect, Time};
use reqwest::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::{
    Client, Error, Problem,
    http::{Call, Failure, again},
    retry::Outage,
};

/// The longest time between two lines of progress. After it the connection counts as lost.
const SILENCE: Duration = Duration::from_mins(2);
/// The largest line: a report with all its examples is far smaller.
const LINE: usize = 16 * 1024 * 1024;

/// What a candidate would have done, the most important first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Simulation {
    /// Requests a person denied that the candidate would allow.
    pub denied_now_allowed: Vec<Example>,
    /// The total number of those.
    pub denied_now_allowed_count: u64,
    /// Changes of effect.
    pub changes: Vec<Change>,
    /// How many requests were looked at.
    pub total: u64,
    /// How many keep their effect.
    pub unchanged: u64,
    /// How many keep their effect and get another risk.
    pub risk_changed: u64,
    /// How many keep their effect and get it from another rule.
    pub rule_changed: u64,
    /// How many held requests would no longer need a person.
    pub prompts_saved: u64,
    /// How many requests would be held that were not.
    pub prompts_added: u64,
    /// The median time of the decisions on record, in seconds.
    pub median_decision_seconds: Option<f64>,
    /// Minutes of people's time that would have been saved. Negative if it costs more.
    pub human_minutes_saved: Option<f64>,
}

/// Requests whose effect would change in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The effect then.
    pub from: Effect,
    /// How it had to be confined then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_confine: Option<Confine>,
    /// The effect now.
    pub to: Effect,
    /// How it has to be confined now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_confine: Option<Confine>,
    /// How many.
    pub count: u64,
    /// Some of them.
    pub examples: Vec<Example>,
}

impl Change {
    /// Whether more passes than before, or passes less confined. Allow is the least effect.
    pub fn loosens(&self) -> bool {
        (self.to, self.to_confine) < (self.from, self.from_confine)
    }
}

/// One request that would be judged differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// Its identifier.
    pub id: String,
    /// Who asked.
    pub agent: String,
    /// The tool of an action.
    pub tool: Option<String>,
    /// The rule that decided then.
    pub before: String,
    /// The rule that would decide now.
    pub after: String,
}

/// How far a simulation has come, in entries of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimulationProgress {
    /// Looked at so far.
    pub done: u64,
    /// There were when it began.
    pub of: u64,
    /// Requests among them.
    pub requests: u64,
}

/// A candidate that is evaluated on live requests without effect, and its results so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shadow {
    /// Its hash.
    pub hash: String,
    /// Since when.
    pub since: Time,
    /// Who set it.
    pub by: String,
    /// What it would have done with the requests since then.
    pub report: Simulation,
}

/// One line of the answer.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Line {
    Report { report: Box<Simulation> },
    Problem { problem: Value },
    Progress(SimulationProgress),
}

impl Client {
    /// What a candidate would have done with all requests on record. `progress` is called with the progress.
    pub async fn simulate(
        &self,
        policy: &str,
        mut progress: impl FnMut(SimulationProgress),
    ) -> Result<Simulation, Error> {
        let call = Call::post(self.at("/v1/policy/simulate"), &json!({ "policy": policy }), None)?
            .query("progress", "true")
            .without_end();
        let mut outage = Outage::default();
        loop {
            let failure = match self.open(&call).await {
                Ok(response) => match self.follow(response, &mut progress).await {
                    Ok(simulation) => return Ok(simulation),
                    Err(failure) => failure,
                },
                Err(failure) => failure,
            };
            // It changes nothing, so it may simply start again.
            sleep(self.after(failure, &mut outage)?).await;
        }
    }

    async fn follow(
        &self,
        mut response: Response,
        progress: &mut impl FnMut(SimulationProgress),
    ) -> Result<Simulation, Failure> {
        let wrong = |reason: &str| Failure::Final(self.protocol(reason));
        let quiet = || Failure::Again {
            reason: "the server sent nothing for too long".to_owned(),
            after: None,
            problem: None,
        };
        let mut buffer: Vec<u8> = Vec::new();
        loop {
            let chunk = timeout(SILENCE, response.chunk()).await.map_err(|_| quiet())?;
            let Some(chunk) = chunk.map_err(|error| again(&error))? else {
                let reason = "the simulation broke off".to_owned();
                return Err(Failure::Again { reason, after: None, problem: None });
            };
            buffer.extend_from_slice(&chunk);
            while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = buffer.drain(..=end).collect();
                match serde_json::from_slice(&line) {
                    Ok(Line::Progress(at)) => progress(at),
                    Ok(Line::Report { report }) => return Ok(*report),
                    Ok(Line::Problem { problem }) => {
                        let status = problem.get("status").and_then(Value::as_u64).unwrap_or(500);
                        let status = u16::try_from(status).unwrap_or(500);
                        let problem = Problem::from_value(status, problem);
                        return Err(Failure::Final(Error::Problem(Box::new(problem))));
                    }
                    Err(error) => return Err(wrong(&error.to_string())),
                }
            }
            if buffer.len() > LINE {
                return Err(wrong("a line is too long"));
            }
        }
    }

    /// The candidate of this server, if it has one.
    pub async fn shadow(&self) -> Result<Option<Shadow>, Error> {
        match self.send(&Call::get(self.at("/v1/policy/shadow"))).await {
            Ok(shadow) => Ok(Some(shadow)),
            Err(Error::Problem(problem)) if problem.status == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sets a candidate that is evaluated beside the policy in force, without effect.
    pub async fn set_shadow(&self, policy: &str) -> Result<(), Error> {
        let call = Call::put(self.at("/v1/policy/shadow"), &json!({ "policy": policy }))?;
        self.send::<Value>(&call).await.map(drop)
    }

    /// Ends the candidate.
    pub async fn clear_shadow(&self) -> Result<(), Error> {
        self.send::<Value>(&Call::delete(self.at("/v1/policy/shadow"))).await.map(drop)
    }
}
