//! Where an agent is called: the address that its card names, if that is on the operator's origin.
//!
//! The origin is the operator's to say: a card could lead anywhere. Only what comes after it is believed.

use http::Uri;
use placet_a2a::Version;
use serde_json::{Map, Value};

/// Names of this machine, which a card may have in the place of another of them.
const HERE: [&str; 5] = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "[::]"];

/// The addresses of JSON-RPC that a card names, each with its version.
pub(super) fn named(card: &Map<String, Value>) -> Vec<(Version, String)> {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let list = |name: &str| card.get(name).and_then(Value::as_array).into_iter().flatten();
    let mut found = Vec::new();
    for interface in list("supportedInterfaces") {
        let spoken = text(interface, "protocolVersion").as_deref().and_then(spoken);
        let rpc = text(interface, "protocolBinding").as_deref() == Some("JSONRPC");
        if let (Some(version), true, Some(url)) = (spoken, rpc, text(interface, "url")) {
            found.push((version, url));
        }
    }
    // A card of 0.3 has its address at the top; without a version there it is of that one.
    if let Some(url) = card.get("url").and_then(Value::as_str) {
        let word = |name: &str| card.get(name).and_then(Value::as_str);
        let version = spoken(word("protocolVersion").unwrap_or("0.3"));
        let preferred = word("preferredTransport").unwrap_or("JSONRPC") == "JSONRPC";
        let other = list("additionalInterfaces")
            .find(|interface| text(interface, "transport").as_deref() == Some("JSONRPC"))
            .and_then(|interface| text(interface, "url"));
        let url = if preferred { Some(url.to_owned()) } else { other };
        found.extend(version.zip(url));
    }
    found
}

/// The version that a word names. Patches of 0.2 read what 0.3 writes.
fn spoken(word: &str) -> Option<Version> {
    if word.starts_with("0.2") {
        return Some(Version::V03);
    }
    Version::named(Some(word)).ok().filter(|_| !word.is_empty())
}

/// The address that a card names, below the operator's origin; nothing if it is elsewhere.
pub(super) fn followed(operators: &str, named: &str) -> Option<String> {
    let (ours, theirs): (Uri, Uri) = (operators.parse().ok()?, named.parse().ok()?);
    if ours.scheme_str()? != theirs.scheme_str()?.to_ascii_lowercase() {
        return None;
    }
    let usual = if ours.scheme_str() == Some("https") { 443 } else { 80 };
    let port = |uri: &Uri| uri.port_u16().unwrap_or(usual);
    let (host, other) = (ours.host()?.to_ascii_lowercase(), theirs.host()?.to_ascii_lowercase());
    let here = |host: &str| HERE.contains(&host);
    if port(&ours) != port(&theirs) || !(host == other || (here(&host) && here(&other))) {
        return None;
    }
    let path = |uri: &Uri| uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let (own, followed) = (path(&ours), path(&theirs));
    // The operator's spelling of the same place stays.
    if own.trim_end_matches('/') == followed.trim_end_matches('/') {
        return Some(operators.to_owned());
    }
    Some(format!("{}{followed}", origin(operators)?))
}

/// Whether a card says that JSON-RPC is spoken at exactly the operator's address.
pub(super) fn names(card: &Map<String, Value>, operators: &str) -> bool {
    named(card).iter().any(|(_, url)| followed(operators, url).as_deref() == Some(operators))
}

/// Scheme, host and port of an address.
pub(super) fn origin(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    Some(format!("{}://{}", uri.scheme_str()?, uri.authority()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_is_followed_on_the_operators_origin_alone() {
        for (operators, named, wanted) in [
            ("http://10.0.0.1:1/", "http://10.0.0.1:1/a2a/jsonrpc", Some("http://10.0.0.1:1/a2a/jsonrpc")),
            ("http://10.0.0.1:1/x/", "http://10.0.0.1:1/x", Some("http://10.0.0.1:1/x/")),
            ("http://10.0.0.1:1", "http://10.0.0.1:1/", Some("http://10.0.0.1:1")),
            ("http://OPS.kagent/", "http://ops.kagent:80/rpc?v=1", Some("http://OPS.kagent/rpc?v=1")),
            // What an agent calls this machine is what the operator calls it.
            ("http://127.0.0.1:8001/", "http://localhost:8001/rpc", Some("http://127.0.0.1:8001/rpc")),
            ("http://127.0.0.1:8001/", "http://0.0.0.0:8001/", Some("http://127.0.0.1:8001/")),
            ("http://127.0.0.1:8001/", "http://localhost:8002/rpc", None),
            ("http://ops.kagent:80/", "http://localhost/rpc", None),
            ("http://ops/", "https://ops/rpc", None),
            ("https://ops/", "http://ops:443/rpc", None),
            ("http://ops/", "http://ops@evil.example/rpc", None),
            ("http://ops/", "http://169.254.169.254/", None),
            ("http://ops/", "//ops/rpc", None),
            ("http://ops/", "/rpc", None),
            ("http://ops/", "", None),
        ] {
            assert_eq!(followed(operators, named).as_deref(), wanted, "{operators} {named}");
        }
    }

    #[test]
    fn every_version_has_the_address_that_the_card_gives_it() {
        let card = json!({
            "supportedInterfaces": [
                {"url": "http://x/grpc", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
                {"url": "http://x/one", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
                {"url": "http://x/old", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
                {"url": "http://x/next", "protocolBinding": "JSONRPC", "protocolVersion": "2.0"},
            ],
        });
        let found = named(card.as_object().unwrap());
        let wanted = [(Version::V10, "http://x/one"), (Version::V03, "http://x/old")];
        assert_eq!(found, wanted.map(|(version, url)| (version, url.to_owned())));
        let other = json!({"url": "http://x/grpc", "protocolVersion": "0.3.0", "preferredTransport": "GRPC", "additionalInterfaces": [{"url": "http://x/rpc", "transport": "JSONRPC"}]});
        assert_eq!(named(other.as_object().unwrap()), [(Version::V03, "http://x/rpc".to_owned())]);
        let without =
            json!({"url": "http://x/grpc", "protocolVersion": "0.3.0", "preferredTransport": "GRPC"});
        assert_eq!(named(without.as_object().unwrap()), []);
        assert_eq!(
            named(json!({"url": "http://x/"}).as_object().unwrap()),
            [(Version::V03, "http://x/".to_owned())]
        );
    }
}
