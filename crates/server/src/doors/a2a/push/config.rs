//! A push notification config as it is kept: where news of a task goes, and what is shown there.

use std::time::Duration;

use placet_a2a::{PushConfig, Version};
use placet_gate::{Gate, NewNote, Note, Post};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::KIND;

/// How long a config is kept after news of its task was posted, and after the end of the task was.
const KEEP: Duration = Duration::from_hours(60 * 24);
const KEEP_ENDED: Duration = Duration::from_hours(24);

/// A config as it is kept. What its receiver is still to be told stands in the outbox.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct StoredConfig {
    version: String,
    task: String,
    id: String,
    url: String,
    token: Option<String>,
    scheme: Option<String>,
    credentials: Option<String>,
    /// The generation of the task when it was set: its owner knows that one.
    #[serde(rename = "told")]
    pub(super) known: u64,
    /// Whether the end of the task was posted: nothing comes after it.
    pub(super) ended: bool,
}

// It holds secrets: neither they nor the address, which may have one in it, are printed.
impl std::fmt::Debug for StoredConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredConfig").field("task", &self.task).field("id", &self.id).finish_non_exhaustive()
    }
}

impl StoredConfig {
    pub(super) fn new(version: Version, task: &str, id: &str, config: &PushConfig, known: u64) -> Self {
        Self {
            version: version.as_str().to_owned(),
            task: task.to_owned(),
            id: id.to_owned(),
            url: config.url.clone(),
            token: config.token.clone(),
            scheme: config.scheme.clone(),
            credentials: config.credentials.clone(),
            known,
            ended: false,
        }
    }

    pub(super) fn of(note: &Note) -> Option<Self> {
        serde_json::from_str(&note.body).ok()
    }

    /// As it is stored, under its task.
    pub(super) fn note(&self, gate: &Gate, task: &str, owner: &str) -> NewNote {
        let keep = if self.ended { KEEP_ENDED } else { KEEP };
        NewNote {
            kind: KIND,
            key: super::name(task, &self.id),
            owner: owner.to_owned(),
            scope: task.to_owned(),
            open: false,
            keep_until: gate.now().plus(keep),
            body: serde_json::to_string(self).unwrap_or_default().into(),
        }
    }

    pub(super) fn version(&self) -> Version {
        if self.version == Version::V03.as_str() { Version::V03 } else { Version::V10 }
    }

    /// As its owner reads it.
    pub(super) fn shown(&self, version: Version) -> Value {
        version.push_config(&self.task, &self.id, &self.url, self.scheme.as_deref())
    }

    /// The message that tells its receiver how the task is.
    pub(super) fn post(&self, task: Value, last: bool) -> Post {
        let (body, media) = self.version().pushed(task);
        Post { url: self.url.clone(), headers: self.headers(), media, body: body.to_string(), last }
    }

    /// Whether a message was made by this config, and not by one of the same name before it.
    pub(super) fn sends(&self, post: &Post) -> bool {
        self.url == post.url && self.headers() == post.headers
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let token = self.token.clone().map(|token| ("x-a2a-notification-token", token));
        // A scheme without credentials says what the receiver takes: there is nothing to show.
        let shown = self.scheme.as_ref().zip(self.credentials.as_ref());
        let shown = shown.map(|(scheme, credentials)| ("authorization", format!("{scheme} {credentials}")));
        token.into_iter().chain(shown).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_not_printed() {
        let params = json!({"taskId": "t", "url": "http://localhost:1/?k=hush", "token": "hush", "authentication": {"scheme": "Bearer", "credentials": "hush"}});
        let config = placet_a2a::SetPush::read(Version::V10, &params).unwrap().config;
        let stored = StoredConfig::new(Version::V10, "t", "c", &config, 0);
        let post = stored.post(json!({"id": "t"}), true);
        assert_eq!(post.headers.len(), 2);
        assert!(!format!("{stored:?} {post:?}").contains("hush"));
    }

    #[test]
    fn a_config_of_version_0_2_0_is_read_whatever_it_had_to_tell() {
        let body = json!({"version": "1.0", "task": "t", "id": "c", "url": "http://localhost:1/", "token": null, "scheme": null,
            "credentials": null, "told": 3, "ended": false, "given_up": null,
            "pending": {"generation": 4, "ended": true, "task": {}, "since": 1, "attempts": 2, "next": 5}, "lease": {"by": "n", "until": 9}});
        let stored: StoredConfig = serde_json::from_value(body).unwrap();
        assert_eq!((stored.known, stored.ended), (3, false));
        let again = serde_json::to_value(&stored).unwrap();
        assert_eq!(
            (&again["told"], again.get("pending")),
            (&json!(3), None),
            "names stay, what the outbox has goes"
        );
    }
}
