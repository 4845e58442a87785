//! Keys, people, the ledger and the server's own health.

use placet_core::{Covered, Digest, Freeze, FreezeId, KeyId, Part, Role, Time};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Client, Error, http::Call};

/// A key that was just made. Shown once.
#[derive(Clone, Serialize, Deserialize)]
pub struct NewKey {
    /// Its identifier.
    pub id: KeyId,
    /// What it is for.
    pub role: Role,
    /// Whose it is.
    pub name: String,
    /// The secret.
    pub key: String,
}

impl std::fmt::Debug for NewKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewKey")
            .field("id", &self.id)
            .field("role", &self.role)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A key as it is listed: without its secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeyInfo {
    /// Its identifier.
    pub id: KeyId,
    /// What it is for.
    pub role: Role,
    /// Whose it is.
    pub name: String,
    /// The person who answers for an agent.
    #[serde(default)]
    pub owner: Option<String>,
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<Time>,
    /// When it stopped working.
    #[serde(default)]
    pub revoked_at: Option<Time>,
}

/// An agent, and the folders that are open to it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AgentInfo {
    /// Its name.
    pub name: String,
    /// The person who answers for it.
    #[serde(default)]
    pub owner: Option<String>,
    /// The folders.
    #[serde(default)]
    pub roots: Vec<String>,
    /// Whether its hook program may be told to run calls confined.
    #[serde(default)]
    pub confine: bool,
    /// Its coverage: `complete`, `partial` or `unknown`.
    #[serde(default = "unknown")]
    pub covered: Covered,
    /// The reports of its programs.
    #[serde(default)]
    pub coverage: Vec<CoverageReport>,
}

/// The report of one program.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CoverageReport {
    /// The framework.
    pub framework: String,
    /// The program's outermost agent.
    pub agent: String,
    /// What it can do.
    pub parts: Vec<Part>,
}

/// The coverage from a server that knows no reports.
const fn unknown() -> Covered {
    Covered::Unknown
}

/// One page of the ledger.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LedgerPage {
    /// The entries, in order.
    pub items: Vec<LedgerItem>,
    /// The cursor for the next page. None at the end.
    #[serde(default)]
    pub next_after: Option<u64>,
}

/// One entry of the ledger.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LedgerItem {
    /// Its number.
    pub seq: u64,
    /// Its hash.
    pub hash: Digest,
    /// What it says.
    pub entry: Value,
}

/// A one-time sign-in link.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SignInLink {
    /// Its whole address, to be opened in a browser.
    pub url: String,
    /// Until when it works.
    pub expires_at: Time,
}

/// Whether the server is ready, and its description of itself.
#[derive(Debug, Clone)]
pub struct Health {
    /// What `/readyz` answered.
    pub ready: Value,
}

impl Client {
    /// Makes a key. An agent's key may name its owner.
    pub async fn create_key(&self, role: Role, name: &str, owner: Option<&str>) -> Result<NewKey, Error> {
        let mut body = serde_json::json!({ "role": role, "name": name });
        if let Some(owner) = owner {
            body["owner"] = owner.into();
        }
        let made: Value = self.send(&Call::post(self.at("/v1/keys"), &body, None)?).await?;
        if made.get("key").is_some_and(Value::is_null) {
            // The first answer was lost, and a key is shown only once: this key is useless.
            return Err(
                self.protocol("the key was made, but the answer that showed it was lost: make another")
            );
        }
        serde_json::from_value(made).map_err(|error| self.protocol(error.to_string()))
    }

    /// All agents, with their folders.
    pub async fn agents(&self) -> Result<Vec<AgentInfo>, Error> {
        let answer: Value = self.send(&Call::get(self.at("/v1/agents"))).await?;
        let items = answer.get("items").cloned().unwrap_or(answer);
        serde_json::from_value(items).map_err(|error| self.protocol(error.to_string()))
    }

    /// Opens these folders to an agent, and closes all others.
    pub async fn put_roots(&self, agent: &str, roots: &[String]) -> Result<AgentInfo, Error> {
        let mut url = self.at("/v1/agents");
        if let Ok(mut path) = url.path_segments_mut() {
            path.extend([agent, "roots"]);
        }
        self.send(&Call::put(url, &json!({ "roots": roots }))?).await
    }

    /// Sets whether an agent's hook program may be told to run calls confined.
    pub async fn put_confine(&self, agent: &str, confine: bool) -> Result<AgentInfo, Error> {
        let mut url = self.at("/v1/agents");
        if let Ok(mut path) = url.path_segments_mut() {
            path.extend([agent, "confine"]);
        }
        self.send(&Call::put(url, &json!({ "confine": confine }))?).await
    }

    /// As an agent: reports what Placet sees of a program.
    pub async fn put_coverage(&self, report: &CoverageReport) -> Result<AgentInfo, Error> {
        self.send(&Call::put(self.at("/v1/coverage"), report)?).await
    }

    /// Forgets the reports of an agent.
    pub async fn forget_coverage(&self, agent: &str) -> Result<AgentInfo, Error> {
        let mut url = self.at("/v1/agents");
        if let Ok(mut path) = url.path_segments_mut() {
            path.extend([agent, "coverage"]);
        }
        self.send(&Call::delete(url)).await
    }

    /// All keys, without their secrets.
    pub async fn keys(&self) -> Result<Vec<KeyInfo>, Error> {
        let answer: Value = self.send(&Call::get(self.at("/v1/keys"))).await?;
        let items = answer.get("items").cloned().unwrap_or(answer);
        serde_json::from_value(items).map_err(|error| self.protocol(error.to_string()))
    }

    /// Makes a key stop working, at once and everywhere. Live votes and grants given with it become void, unless
    /// `keep_votes` is set, as after a rotation.
    pub async fn revoke_key(&self, id: KeyId, keep_votes: bool) -> Result<(), Error> {
        let call = Call::delete(self.at(&format!("/v1/keys/{id}")));
        let call = if keep_votes { call.query("keep_votes", "true") } else { call };
        self.send::<Value>(&call).await.map(drop)
    }

    /// Freezes an agent, a tool or, without either, everything.
    pub async fn freeze(
        &self,
        agent: Option<&str>,
        tool: Option<&str>,
        reason: &str,
    ) -> Result<Freeze, Error> {
        let mut body = json!({ "reason": reason });
        match (agent, tool) {
            (None, None) => body["all"] = json!(true),
            (agent, tool) => {
                body["agent"] = json!(agent);
                body["tool"] = json!(tool);
            }
        }
        self.send(&Call::post(self.at("/v1/freeze"), &body, None)?).await
    }

    /// What is stopped.
    pub async fn freezes(&self) -> Result<Vec<Freeze>, Error> {
        let answer: Value = self.send(&Call::get(self.at("/v1/freeze"))).await?;
        let items = answer.get("items").cloned().unwrap_or(answer);
        serde_json::from_value(items).map_err(|error| self.protocol(error.to_string()))
    }

    /// Lets it go on.
    pub async fn unfreeze(&self, id: FreezeId) -> Result<(), Error> {
        let call = Call::delete(self.at(&format!("/v1/freeze/{id}")));
        self.send::<Value>(&call).await.map(drop)
    }

    /// Confirms that keys, people and policy were checked after a restore or a recovery.
    pub async fn confirm_restore(&self) -> Result<(), Error> {
        let call = Call::post(self.at("/v1/restore/confirm"), &json!({}), None)?;
        self.send::<Value>(&call).await.map(drop)
    }

    /// The people, as the server describes them.
    pub async fn people(&self) -> Result<Value, Error> {
        self.send(&Call::get(self.at("/v1/people"))).await
    }

    /// Sets the roles and teams of a person: all of them, not only new ones.
    pub async fn put_person(&self, name: &str, roles: &[Role], teams: &[String]) -> Result<Value, Error> {
        let body = serde_json::json!({ "roles": roles, "teams": teams });
        self.send(&Call::put(self.at(&format!("/v1/people/{name}")), &body)?).await
    }

    /// Removes a person; their keys stop at once.
    pub async fn remove_person(&self, name: &str) -> Result<(), Error> {
        self.send::<Value>(&Call::delete(self.at(&format!("/v1/people/{name}")))).await.map(drop)
    }

    /// Makes a one-time sign-in link for a browser.
    pub async fn person_link(&self, name: &str) -> Result<SignInLink, Error> {
        let call = Call::post(self.at(&format!("/v1/people/{name}/link")), &serde_json::json!({}), None)?;
        let made: SignInLink = self.send(&call).await?;
        Ok(SignInLink { url: format!("{}{}", self.url(), made.url), ..made })
    }

    /// Ledger entries after a sequence number.
    pub async fn ledger(&self, after: u64) -> Result<LedgerPage, Error> {
        let call = Call::get(self.at("/v1/ledger")).query("after", &after.to_string());
        self.send(&call).await
    }

    /// Whether the server has a dashboard.
    pub async fn has_dashboard(&self) -> Result<bool, Error> {
        let page = self.text(&Call::get(self.at("/"))).await?;
        Ok(page.contains("/assets/"))
    }

    /// Whether the server is up and ready.
    pub async fn health(&self) -> Result<Health, Error> {
        let ready = self.send(&Call::get(self.at("/readyz"))).await?;
        Ok(Health { ready })
    }
}
