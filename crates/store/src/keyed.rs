//! Keyed digests that say "the same call" for standing yeses, trust and grouping. They never enter the ledger: whoever
//! reads it must not be able to try out arguments.

use hmac::{Hmac, KeyInit as _, Mac as _};
use placet_core::{Content, Request, TrustTerms};
use placet_ledger::{CanonicalError, canonical_string};
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::Sha256;

fn keyed(secret: &[u8], domain: &str, about: &impl Serialize) -> Result<[u8; 32], CanonicalError> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of any length");
    mac.update(domain.as_bytes());
    mac.update(b"\n");
    mac.update(canonical_string(about)?.as_bytes());
    Ok(mac.finalize().into_bytes().into())
}

/// The values that must be equal: the whole arguments, or what is in these places.
#[derive(Serialize)]
#[serde(untagged)]
enum Values<'a> {
    Whole(&'a Map<String, Value>),
    // A place that is not there differs from one that holds nothing.
    Places(Vec<(&'a str, Vec<&'a Value>)>),
}

impl<'a> Values<'a> {
    fn at(places: Option<&'a [String]>, arguments: &'a Map<String, Value>) -> Self {
        match places {
            None => Self::Whole(arguments),
            Some(places) => Self::Places(
                places
                    .iter()
                    .map(|at| (at.as_str(), at_pointer(arguments, at).into_iter().collect()))
                    .collect(),
            ),
        }
    }
}

/// What a JSON pointer into the arguments points at.
fn at_pointer<'a>(arguments: &'a Map<String, Value>, pointer: &str) -> Option<&'a Value> {
    let rest = pointer.strip_prefix('/')?;
    let (first, rest) = rest.find('/').map_or((rest, ""), |end| rest.split_at(end));
    arguments.get(&first.replace("~1", "/").replace("~0", "~"))?.pointer(rest)
}

/// One agent's calls of one tool.
#[derive(Serialize)]
struct Calls<'a> {
    agent: &'a str,
    tool: &'a str,
    values: Values<'a>,
}

/// The same for requests of which a yes would run the same call. One on which somebody put a replacement is never the same as
/// one that is as it was asked.
pub fn same_key(
    secret: &[u8],
    agent: &str,
    tool: &str,
    arguments: &Map<String, Value>,
    replaced: bool,
) -> Result<[u8; 32], CanonicalError> {
    let domain = if replaced { "placet/same-replaced/v1" } else { "placet/same/v1" };
    keyed(secret, domain, &Calls { agent, tool, values: Values::Whole(arguments) })
}

/// The call that a standing yes of the scope `exact` covers.
pub fn grant_key(
    secret: &[u8],
    agent: &str,
    tool: &str,
    arguments: &Map<String, Value>,
) -> Result<[u8; 32], CanonicalError> {
    keyed(secret, "placet/grant/v1", &Calls { agent, tool, values: Values::Whole(arguments) })
}

/// What must be equal for approvals to add up to trust.
pub fn trust_key(
    secret: &[u8],
    policy: &str,
    terms: &TrustTerms,
    agent: &str,
    tool: &str,
    arguments: &Map<String, Value>,
) -> Result<[u8; 32], CanonicalError> {
    #[derive(Serialize)]
    struct Trusted<'a> {
        policy: &'a str,
        rule: &'a str,
        #[serde(flatten)]
        calls: Calls<'a>,
    }
    let values = Values::at(terms.template.as_deref(), arguments);
    let about = Trusted { policy, rule: &terms.rule, calls: Calls { agent, tool, values } };
    keyed(secret, "placet/trust/v1", &about)
}

/// The same, of a request that offers trust and whose content is still there.
pub(crate) fn trust_key_of(secret: &[u8], request: &Request) -> Result<Option<[u8; 32]>, CanonicalError> {
    let (Some(terms), Some(content)) = (&request.trust, &request.content) else { return Ok(None) };
    let Content { body, .. } = &**content;
    let (Some(tool), Some(arguments)) = (body.tool(), body.arguments()) else { return Ok(None) };
    trust_key(secret, &request.verdict.policy, terms, &request.agent, tool, arguments).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn trust(template: Option<&[&str]>, arguments: &Value) -> [u8; 32] {
        let template = template.map(|places| places.iter().map(|at| (*at).to_owned()).collect());
        let terms = TrustTerms { rule: "r".to_owned(), after: 1, template };
        trust_key(b"s", "p", &terms, "bot", "t", arguments.as_object().unwrap()).unwrap()
    }

    #[test]
    fn only_what_is_named_must_be_equal_and_absent_differs_from_null() {
        let (one, two) = (json!({"to": "a", "n": 1}), json!({"to": "a", "n": 2}));
        assert_ne!(trust(None, &one), trust(None, &two));
        assert_eq!(trust(Some(&["/to"]), &one), trust(Some(&["/to"]), &two));
        assert_ne!(trust(Some(&["/to"]), &json!({"to": null})), trust(Some(&["/to"]), &json!({})));
        assert_ne!(trust(Some(&["/to"]), &json!({})), trust(Some(&["/n"]), &json!({})));
    }

    #[test]
    fn everything_that_binds_is_in_the_digest() {
        let arguments = json!({"a": 1});
        let arguments = arguments.as_object().unwrap();
        let base = same_key(b"s", "bot", "t", arguments, false).unwrap();
        assert_eq!(base, same_key(b"s", "bot", "t", arguments, false).unwrap());
        assert_ne!(base, same_key(b"z", "bot", "t", arguments, false).unwrap());
        assert_ne!(base, same_key(b"s", "imp", "t", arguments, false).unwrap());
        assert_ne!(base, same_key(b"s", "bot", "u", arguments, false).unwrap());
        assert_ne!(base, same_key(b"s", "bot", "t", arguments, true).unwrap());
        let exact = grant_key(b"s", "bot", "t", arguments).unwrap();
        assert_ne!(base, exact, "one cannot stand in for the other");
    }

    #[test]
    fn pointers_reach_into_objects_and_lists() {
        let arguments = json!({"a/b": {"~c": [1, {"d": 2}]}});
        let arguments = arguments.as_object().unwrap();
        assert_eq!(at_pointer(arguments, "/a~1b/~0c/1/d"), Some(&json!(2)));
        assert_eq!(at_pointer(arguments, "/a~1b/~0c/2"), None);
        assert_eq!(at_pointer(arguments, ""), None);
        assert_eq!(at_pointer(arguments, "a"), None);
    }
}
