//! The wish to have news of a task posted to an address.

use serde_json::{Map, Value, json};

use crate::{Fault, Version, fields::Fields};

/// Where and how to post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushConfig {
    /// Its id; the task's own where the caller chose none.
    pub id: Option<String>,
    /// The address.
    pub url: String,
    /// Repeated in a header of every post, so that the receiver knows it.
    pub token: Option<String>,
    /// Scheme and credentials of the `Authorization` header.
    pub authorization: Option<(String, String)>,
}

impl PushConfig {
    /// Reads the parameters of the call that sets one, and the task it is for.
    pub fn of_call(version: Version, params: &Value) -> Result<(String, Self), Fault> {
        let fields = Fields::of(Some(params), "params")?;
        let task = fields.word("taskId")?.to_owned();
        let config = match version {
            Version::V03 => Self::read(&fields.needed("pushNotificationConfig")?)?,
            // Before 1.0 was final the wish stood one level down; some clients still put it there.
            Version::V10 => Self::read(&fields.below("config")?.unwrap_or(fields))?,
        };
        Ok((task, config))
    }

    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Fault> {
        let given =
            |name| Ok::<_, Fault>(fields.text(name)?.filter(|text| !text.is_empty()).map(str::to_owned));
        let authorization = match fields.below("authentication")? {
            None => None,
            Some(wanted) => {
                // 0.3 names several schemes, 1.0 one.
                let scheme = match wanted.text("scheme")? {
                    Some(scheme) if !scheme.is_empty() => Some(scheme.to_owned()),
                    _ => wanted.words("schemes")?.into_iter().next(),
                };
                let credentials = wanted.text("credentials")?.unwrap_or("").to_owned();
                scheme.map(|scheme| (scheme, credentials))
            }
        };
        Ok(Self {
            id: given("id")?,
            url: fields.word("url")?.to_owned(),
            token: given("token")?,
            authorization,
        })
    }

    /// Writes it for a task. Credentials are not told again.
    #[must_use]
    pub fn write(&self, version: Version, task: &str) -> Value {
        let mut config = Map::new();
        if let Some(id) = &self.id {
            config.insert("id".to_owned(), json!(id));
        }
        config.insert("url".to_owned(), json!(self.url));
        if let Some(token) = &self.token {
            config.insert("token".to_owned(), json!(token));
        }
        if let Some((scheme, _)) = &self.authorization {
            let named = match version {
                Version::V03 => json!({"schemes": [scheme]}),
                Version::V10 => json!({"scheme": scheme}),
            };
            config.insert("authentication".to_owned(), named);
        }
        match version {
            Version::V03 => json!({"taskId": task, "pushNotificationConfig": config}),
            Version::V10 => {
                config.insert("taskId".to_owned(), json!(task));
                Value::Object(config)
            }
        }
    }
}
