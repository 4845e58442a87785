//! The card of an agent behind us: what it says of itself, with our addresses and our keys in place of its own.

use placet_a2a::Version;
use serde_json::{Map, Value, json};

use super::settings::Upstream;

/// What an agent says of itself.
#[derive(Debug)]
pub(crate) struct Card {
    whole: Map<String, Value>,
    pub(super) versions: Vec<Version>,
    pub(super) streaming: bool,
}

impl Card {
    pub(super) fn new(card: Value, settings: &Upstream) -> Self {
        let whole = match card {
            Value::Object(whole) => whole,
            _ => Map::new(),
        };
        let versions = settings.versions.clone().unwrap_or_else(|| versions(&whole));
        let streaming = whole.get("capabilities").and_then(|has| has.get("streaming")) == Some(&json!(true));
        Self { whole, versions, streaming }
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

/// The versions that a card names, the newer first.
fn versions(card: &Map<String, Value>) -> Vec<Version> {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let interfaces = card.get("supportedInterfaces").and_then(Value::as_array);
    let listed = interfaces
        .into_iter()
        .flatten()
        .filter(|interface| interface.get("protocolBinding").and_then(Value::as_str) == Some("JSONRPC"));
    let mut named: Vec<String> = listed.filter_map(|interface| text(interface, "protocolVersion")).collect();
    // A card of 0.3 has its address at the top; without a version there it is of that one.
    if card.contains_key("url") {
        let version = card.get("protocolVersion").and_then(Value::as_str).unwrap_or("0.3");
        named.push(version.to_owned());
    }
    let mut versions: Vec<Version> = Vec::new();
    for version in [Version::V10, Version::V03] {
        let speaks = |name: &String| !name.is_empty() && Version::named(Some(name)) == Ok(version);
        // Patches of 0.2 read what 0.3 writes.
        let older = |name: &String| version == Version::V03 && name.starts_with("0.2");
        if named.iter().any(|name| speaks(name) || older(name)) {
            versions.push(version);
        }
    }
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(card: Value) -> Card {
        Card::new(card, &Upstream::new("n", "a", "http://127.0.0.1:1/"))
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
        assert_eq!(shown["url"], "http://placet.example/a2a/n/a");
        assert_eq!(shown["supportedInterfaces"].as_array().unwrap().len(), 4);
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
