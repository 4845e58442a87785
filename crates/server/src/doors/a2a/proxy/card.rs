//! The card of an agent behind us: what it says of itself, with our addresses and our keys in place of its own.

use std::sync::OnceLock;

use placet_a2a::Version;
use placet_core::Time;
use serde_json::{Map, Value, json};

use super::{address, settings::Upstream};

/// What an agent says of itself.
#[derive(Debug)]
pub(crate) struct Card {
    whole: Map<String, Value>,
    pub(super) versions: Vec<Version>,
    pub(super) streaming: bool,
    /// Where each version is spoken, below the operator's origin.
    addresses: Vec<(Version, String)>,
    /// Where it is called if the card does not say so.
    usual: String,
    /// When it was first shown to a client.
    pub(super) since: OnceLock<Time>,
}

impl Card {
    pub(super) fn new(whole: Map<String, Value>, settings: &Upstream) -> Self {
        let named = address::named(&whole);
        let versions = settings.versions.clone().unwrap_or_else(|| {
            let speaks = |version: &Version| named.iter().any(|(known, _)| known == version);
            [Version::V10, Version::V03].into_iter().filter(speaks).collect()
        });
        let streaming = whole.get("capabilities").and_then(|has| has.get("streaming")) == Some(&json!(true));
        // An operator who says where the card is says with `url` where calls go.
        let followed = named
            .into_iter()
            .filter(|_| settings.card.is_none())
            .filter_map(|(version, url)| Some((version, address::followed(&settings.url, &url)?)));
        Self {
            versions,
            streaming,
            addresses: followed.collect(),
            usual: settings.url.clone(),
            since: OnceLock::new(),
            whole,
        }
    }

    /// Whether the agent says the same of itself.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.whole == other.whole
    }

    /// Where calls in this version go.
    pub(super) fn address(&self, version: Version) -> &str {
        let found = self.addresses.iter().find(|(known, _)| *known == version).or(self.addresses.first());
        found.map_or(&self.usual, |(_, address)| address)
    }

    /// What the card offers, for people who wonder why it is of no use.
    pub(super) fn bindings(&self) -> String {
        let words = |list: &str, name: &str| {
            let list = self.whole.get(list).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(|one| one.get(name).and_then(Value::as_str).map(str::to_owned))
                .collect::<Vec<_>>()
        };
        let mut all = words("supportedInterfaces", "protocolBinding");
        all.extend(words("additionalInterfaces", "transport"));
        all.extend(self.whole.get("preferredTransport").and_then(Value::as_str).map(str::to_owned));
        all.sort();
        all.dedup();
        all.join(", ").chars().take(80).collect()
    }

    /// Whether it lists an extension.
    pub(super) fn lists(&self, uri: &str) -> bool {
        let extensions = self.whole.get("capabilities").and_then(|has| has.get("extensions"));
        let listed = extensions.and_then(Value::as_array).into_iter().flatten();
        listed.into_iter().any(|extension| extension.get("uri").and_then(Value::as_str) == Some(uri))
    }

    /// The card as clients of ours see it: reached at `url` and nowhere else, with our keys, in the versions the agent
    /// speaks. Its signatures are about another card, so they go.
    pub(super) fn shown(&self, url: &str) -> Value {
        let mut card = self.whole.clone();
        for gone in [
            "signatures",
            "url",
            "preferredTransport",
            "additionalInterfaces",
            "protocolVersion",
            "supportedInterfaces",
            "interfaces",
            "security",
            "securityRequirements",
            "securitySchemes",
            "supportsAuthenticatedExtendedCard",
        ] {
            card.remove(gone);
        }
        let bindings = |version: &Version| {
            ["JSONRPC", "HTTP+JSON"].map(|binding| json!({"url": url, "protocolBinding": binding, "protocolVersion": version.as_str()}))
        };
        let (old, new) = (self.versions.contains(&Version::V03), self.versions.contains(&Version::V10));
        if new {
            let interfaces: Vec<Value> = self.versions.iter().flat_map(bindings).collect();
            card.insert("supportedInterfaces".to_owned(), json!(interfaces));
            card.insert("securityRequirements".to_owned(), json!([{"schemes": {"key": {"list": []}}}]));
        }
        let scheme = match (old, new) {
            (true, true) => {
                json!({"type": "http", "scheme": "bearer", "httpAuthSecurityScheme": {"scheme": "Bearer"}})
            }
            (true, false) => json!({"type": "http", "scheme": "bearer"}),
            _ => json!({"httpAuthSecurityScheme": {"scheme": "Bearer"}}),
        };
        card.insert("securitySchemes".to_owned(), json!({"key": scheme}));
        if old {
            card.insert("url".to_owned(), json!(url));
            card.insert("preferredTransport".to_owned(), json!("JSONRPC"));
            card.insert("protocolVersion".to_owned(), json!("0.3.0"));
            card.insert("additionalInterfaces".to_owned(), json!([{"url": url, "transport": "HTTP+JSON"}]));
            card.insert("security".to_owned(), json!([{"key": []}]));
            card.insert("supportsAuthenticatedExtendedCard".to_owned(), json!(false));
        }
        let capabilities = card.entry("capabilities").or_insert_with(|| json!({}));
        if let Some(capabilities) = capabilities.as_object_mut() {
            // Streams and notifications are ours: they go on across the pauses of the agent.
            capabilities.insert("streaming".to_owned(), json!(true));
            capabilities.insert("pushNotifications".to_owned(), json!(true));
            if new {
                capabilities.insert("extendedAgentCard".to_owned(), json!(false));
            }
        }
        Value::Object(card)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(card: Value) -> Card {
        Card::new(card.as_object().unwrap().clone(), &Upstream::new("n", "a", "http://127.0.0.1:1/"))
    }

    #[test]
    fn a_card_that_lies_about_its_addresses_is_shown_with_ours_only() {
        let card = card(json!({
            "name": "Ops", "skills": [{"id": "s"}], "url": "http://evil.example/", "protocolVersion": "0.3.0",
            "preferredTransport": "GRPC",
            "additionalInterfaces": [{"url": "http://evil.example/", "transport": "GRPC"}],
            "supportedInterfaces": [
                {"url": "http://169.254.169.254/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
                {"url": "http://evil.example/", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
            ],
            "signatures": [{"protected": "x"}], "securitySchemes": {"theirs": {}},
        }));
        let shown = card.shown("http://placet.example/a2a/n/a");
        let text = shown.to_string();
        for gone in ["evil", "169.254", "GRPC", "signatures", "theirs"] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
        assert_eq!(shown["name"], "Ops");
        assert_eq!(shown["skills"][0]["id"], "s");
        // It speaks 0.3 over gRPC alone, which nobody here does.
        assert_eq!(shown.get("url"), None);
        let interfaces = shown["supportedInterfaces"].as_array().unwrap();
        assert_eq!(interfaces.len(), 2);
        assert!(interfaces.iter().all(|one| one["url"] == "http://placet.example/a2a/n/a"), "{text}");
    }

    #[test]
    fn only_versions_the_agent_speaks_are_listed() {
        let old = card(json!({"url": "http://x/", "protocolVersion": "0.3.0"}));
        assert_eq!(old.versions, [Version::V03]);
        assert!(old.shown("u").get("supportedInterfaces").is_none());
        let new = card(
            json!({"supportedInterfaces": [{"url": "x", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]}),
        );
        assert_eq!(new.versions, [Version::V10]);
        assert!(new.shown("u").get("url").is_none());
        let grpc = card(
            json!({"supportedInterfaces": [{"url": "x", "protocolBinding": "GRPC", "protocolVersion": "1.0"}]}),
        );
        assert_eq!(grpc.versions, []);
        let none = card(json!({"url": "http://x/"}));
        assert_eq!(none.versions, [Version::V03]);
    }
}
