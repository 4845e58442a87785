//! Keys, people, the ledger and the server's own health.

use placet_core::{KeyId, Role, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Client, Error, http::Call, review::text_or_number};

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
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<Time>,
    /// When it stopped working.
    #[serde(default)]
    pub revoked_at: Option<Time>,
}

/// One page of the ledger.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LedgerPage {
    /// The entries, as they are written.
    #[serde(alias = "entries")]
    pub items: Vec<Value>,
    /// Where the ledger ends.
    #[serde(default, deserialize_with = "optional_position")]
    pub seq: Option<String>,
}

fn optional_position<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    text_or_number(deserializer).map(Some)
}

/// Whether the server is ready, and what it says of itself.
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
        self.send(&Call::post(self.at("/v1/keys"), &body, None)?).await
    }

    /// All keys, without their secrets.
    pub async fn keys(&self) -> Result<Vec<KeyInfo>, Error> {
        let answer: Value = self.send(&Call::get(self.at("/v1/keys"))).await?;
        let items = answer.get("items").cloned().unwrap_or(answer);
        serde_json::from_value(items).map_err(|error| self.protocol(error.to_string()))
    }

    /// Makes a key stop working, at once and everywhere.
    pub async fn revoke_key(&self, id: KeyId) -> Result<(), Error> {
        let call = Call::delete(self.at(&format!("/v1/keys/{id}")));
        self.send::<Value>(&call).await.map(drop)
    }

    /// The people, as the server describes them.
    pub async fn people(&self) -> Result<Value, Error> {
        self.send(&Call::get(self.at("/v1/people"))).await
    }

    /// Ledger entries after a sequence number.
    pub async fn ledger(&self, after: u64) -> Result<LedgerPage, Error> {
        let call = Call::get(self.at("/v1/ledger")).query("after", &after.to_string());
        self.send(&call).await
    }

    /// Whether the server is there and ready.
    pub async fn health(&self) -> Result<Health, Error> {
        let ready = self.send(&Call::get(self.at("/readyz"))).await?;
        Ok(Health { ready })
    }
}
