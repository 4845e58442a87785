//! Where news of a task is posted to: what clients say about it, and how it is told back to them.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::{Fault, Version, fields::Fields};

/// Longest id of a wish, and longest token, scheme and credentials.
const ID: usize = 128;
const SECRET: usize = 4096;

/// A wish to be told of a task: an address, and what to show there.
#[derive(Clone, PartialEq, Eq)]
pub struct PushConfig {
    /// What the client calls it, if it does.
    pub id: Option<String>,
    /// Where to post to.
    pub url: String,
    /// What the receiver knows the message by.
    pub token: Option<String>,
    /// How to show who posts.
    pub scheme: Option<String>,
    /// And with what.
    pub credentials: Option<String>,
    /// Where it stood in the call, for faults.
    place: String,
}

// Tokens and credentials are secrets of the client's: they stay out of logs.
impl fmt::Debug for PushConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushConfig").field("id", &self.id).finish_non_exhaustive()
    }
}

impl PushConfig {
    fn read(version: Version, fields: &Fields<'_>) -> Result<Self, Fault> {
        let given =
            |name| Ok::<_, Fault>(fields.text(name)?.filter(|text| !text.is_empty()).map(str::to_owned));
        let id = given("id")?;
        let plain =
            |id: &str| id.len() <= ID && id.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/');
        if id.as_deref().is_some_and(|id| !plain(id)) {
            let why = format!(
                "is longer than {ID} characters, or has a slash, a space or other letters than ASCII"
            );
            return Err(fields.fault("id", &why));
        }
        let token = given("token")?;
        let (mut scheme, mut credentials) = (None, None);
        if let Some(shown) = fields.below("authentication")? {
            let named = match version {
                Version::V10 => shown.text("scheme")?.map(str::to_owned),
                // 0.3 lists what the receiver takes; the first is as good as any.
                Version::V03 => shown.words("schemes")?.into_iter().next(),
            };
            scheme = named.filter(|scheme| !scheme.is_empty());
            credentials = shown.text("credentials")?.filter(|text| !text.is_empty()).map(str::to_owned);
            if scheme.is_none() && credentials.is_some() {
                let name = if version == Version::V10 { "scheme" } else { "schemes" };
                return Err(shown.fault(name, "is missing, and credentials alone say nothing"));
            }
            if scheme.as_deref().is_some_and(|scheme| !is_token(scheme)) {
                return Err(shown.fault("scheme", "is not one word such as Bearer"));
            }
            if credentials.as_deref().is_some_and(|text| !is_header(text)) {
                return Err(shown.fault("credentials", "cannot be sent in a header"));
            }
        }
        if token.as_deref().is_some_and(|token| !is_header(token)) {
            return Err(fields.fault("token", "cannot be sent in a header"));
        }
        let url = fields.word("url")?.to_owned();
        Ok(Self { id, url, token, scheme, credentials, place: fields.at("url") })
    }

    /// The wish inside the parameters of a send, if there is one.
    pub fn of_send(version: Version, params: &Value) -> Result<Option<Self>, Fault> {
        match Fields::of(Some(params), "params")?.below("configuration")? {
            Some(wanted) => Self::inside(version, &wanted),
            None => Ok(None),
        }
    }

    /// The wish inside the configuration of a send.
    pub(crate) fn inside(version: Version, wanted: &Fields<'_>) -> Result<Option<Self>, Fault> {
        let name = match version {
            Version::V03 => "pushNotificationConfig",
            Version::V10 => "taskPushNotificationConfig",
        };
        wanted.below(name)?.map(|fields| Self::read(version, &fields)).transpose()
    }

    /// A fault about its address.
    #[must_use]
    pub fn fault(&self, why: impl fmt::Display) -> Fault {
        Fault::InvalidParams(format!("`{}` cannot be posted to: {why}", self.place))
    }
}

/// One word of a header.
fn is_token(text: &str) -> bool {
    text.len() <= SECRET
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+!#$%&'*^`|".contains(&byte))
}

fn is_header(text: &str) -> bool {
    text.len() <= SECRET && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

/// A call that sets a wish: for which task, and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetPush {
    /// The task's id.
    pub task: String,
    /// The wish.
    pub config: PushConfig,
}

impl SetPush {
    /// Reads the parameters. HTTP+JSON of 0.3 puts them into `config`, or does not.
    pub fn read(version: Version, params: &Value) -> Result<Self, Fault> {
        let fields = Fields::of(Some(params), "params")?;
        let task = fields.word("taskId")?.to_owned();
        let config = match version {
            Version::V10 => PushConfig::read(version, &fields)?,
            Version::V03 => {
                let outer = fields.below("config")?.unwrap_or(fields);
                PushConfig::read(version, &outer.needed("pushNotificationConfig")?)?
            }
        };
        Ok(Self { task, config })
    }
}

/// Which wish of which task; none is named when all are meant, or the only one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushName {
    /// The task's id.
    pub task: String,
    /// The wish's.
    pub config: Option<String>,
}

impl PushName {
    /// Reads the parameters.
    pub fn read(version: Version, params: &Value) -> Result<Self, Fault> {
        let fields = Fields::of(Some(params), "params")?;
        let (task, config) = match version {
            Version::V10 => ("taskId", "id"),
            Version::V03 => ("id", "pushNotificationConfigId"),
        };
        let config = fields.text(config)?.filter(|text| !text.is_empty()).map(str::to_owned);
        Ok(Self { task: fields.word(task)?.to_owned(), config })
    }

    /// The wish's id, where one must be named.
    pub fn one(&self, version: Version) -> Result<&str, Fault> {
        let name = if version == Version::V10 { "id" } else { "pushNotificationConfigId" };
        self.config
            .as_deref()
            .ok_or_else(|| Fault::InvalidParams(format!("`params.{name}` is missing or empty")))
    }
}

impl Version {
    /// A wish as it is told back to whoever set it. What is secret in it is not told to anybody again.
    #[must_use]
    pub fn push_config(self, task: &str, id: &str, url: &str, scheme: Option<&str>) -> Value {
        let mut config = Map::from_iter([("id".to_owned(), json!(id)), ("url".to_owned(), json!(url))]);
        if let Some(scheme) = scheme {
            let shown = match self {
                Self::V10 => json!({"scheme": scheme}),
                Self::V03 => json!({"schemes": [scheme]}),
            };
            config.insert("authentication".to_owned(), shown);
        }
        match self {
            Self::V10 => {
                config.insert("taskId".to_owned(), json!(task));
                Value::Object(config)
            }
            Self::V03 => json!({"taskId": task, "pushNotificationConfig": config}),
        }
    }

    /// Several, as a list answers.
    #[must_use]
    pub fn push_configs(self, configs: Vec<Value>) -> Value {
        match self {
            Self::V10 => json!({"configs": configs, "nextPageToken": ""}),
            Self::V03 => Value::Array(configs),
        }
    }

    /// What taking one back answers: nothing, as each version spells it.
    #[must_use]
    pub fn push_deleted(self) -> Value {
        match self {
            Self::V10 => json!({}),
            Self::V03 => Value::Null,
        }
    }

    /// The body that tells of a task, from the task as this version writes it, and its media type.
    #[must_use]
    pub fn pushed(self, task: Value) -> (Value, &'static str) {
        match self {
            Self::V10 => (json!({"task": task}), "application/a2a+json"),
            Self::V03 => (task, "application/json"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_spells_a_wish_its_own_way_and_both_mean_the_same() {
        let new = json!({"taskId": "t", "id": "c", "url": "http://localhost:1/", "token": "k", "authentication": {"scheme": "Bearer", "credentials": "s"}});
        let old = json!({"taskId": "t", "pushNotificationConfig": {"id": "c", "url": "http://localhost:1/", "token": "k", "authentication": {"schemes": ["Bearer", "Basic"], "credentials": "s"}}});
        let boxed =
            json!({"taskId": "t", "config": {"pushNotificationConfig": old["pushNotificationConfig"]}});
        let read = |version, params: &Value| {
            let SetPush { task, config } = SetPush::read(version, params).unwrap();
            (task, config.id, config.url, config.token, config.scheme, config.credentials)
        };
        assert_eq!(read(Version::V10, &new), read(Version::V03, &old));
        assert_eq!(read(Version::V03, &old), read(Version::V03, &boxed));
    }

    #[test]
    fn secrets_are_neither_told_back_nor_printed() {
        let params = json!({"taskId": "t", "url": "http://localhost:1/?key=hush", "token": "hush", "authentication": {"scheme": "Bearer", "credentials": "hush"}});
        let set = SetPush::read(Version::V10, &params).unwrap();
        assert!(!format!("{set:?}").contains("hush"));
        for version in [Version::V03, Version::V10] {
            let told = version.push_config("t", "c", "http://localhost:1/", set.config.scheme.as_deref());
            assert!(!told.to_string().contains("hush") && told.to_string().contains("Bearer"), "{told}");
        }
    }

    #[test]
    fn what_cannot_be_sent_is_refused_with_the_name_of_the_field() {
        for (more, field) in [
            (json!({"url": ""}), "params.url"),
            (json!({"url": 7}), "params.url"),
            (json!({"token": "a\r\nb: c"}), "params.token"),
            (json!({"id": "a/b"}), "params.id"),
            (json!({"id": "x".repeat(129)}), "params.id"),
            (json!({"authentication": {"scheme": "Bearer x"}}), "params.authentication.scheme"),
            (json!({"authentication": {"credentials": "s"}}), "params.authentication.scheme"),
            (
                json!({"authentication": {"scheme": "Bearer", "credentials": "a\nb"}}),
                "params.authentication.credentials",
            ),
            (json!({"authentication": []}), "params.authentication"),
            (json!({"taskId": ""}), "params.taskId"),
        ] {
            let mut params = json!({"taskId": "t", "url": "http://localhost:1/"});
            for (name, value) in more.as_object().unwrap() {
                params[name] = value.clone();
            }
            let fault = SetPush::read(Version::V10, &params).unwrap_err();
            assert_eq!(fault.code(), -32602, "{params}");
            assert!(fault.message().contains(&format!("`{field}`")), "{}", fault.message());
            assert!(!fault.message().contains("a\r"), "{}", fault.message());
        }
    }
}
