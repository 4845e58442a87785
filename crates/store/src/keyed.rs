//! Keyed digests that say "the same call" for standing approvals, trust and grouping. They never enter the ledger: a
//! reader of the ledger must not be able to try out arguments.

use std::collections::BTreeMap;

use hmac::{Hmac, KeyInit as _, Mac as _};
use placet_core::{Content, Request, TrustTerms, folder};
use placet_ledger::{CanonicalError, canonical_string};
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::Sha256;

use crate::sabotage::planted;

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
    Acting(BTreeMap<&'a str, &'a Value>),
    // A place that is not there differs from one that holds nothing.
    Places(Vec<(&'a str, Vec<&'a Value>)>),
}

impl<'a> Values<'a> {
    /// What acts. A list or table is never cosmetic: nobody reads it to its end.
    fn acting(arguments: &'a Map<String, Value>, cosmetic: &[String]) -> Self {
        let acts = |(name, value): &(&String, &Value)| {
            !cosmetic.contains(name) || value.is_object() || value.is_array()
        };
        Self::Acting(arguments.iter().filter(acts).map(|(name, value)| (name.as_str(), value)).collect())
    }

    fn at(terms: &'a TrustTerms, arguments: &'a Map<String, Value>) -> Self {
        match terms.template.as_deref() {
            None => Self::acting(arguments, &terms.cosmetic),
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

/// Equal for requests that ask for the same call.
pub fn same_key(
    secret: &[u8],
    agent: &str,
    tool: &str,
    arguments: &Map<String, Value>,
) -> Result<[u8; 32], CanonicalError> {
    keyed(secret, "placet/same/v1", &Calls { agent, tool, values: Values::Whole(arguments) })
}

/// The folder of a call: in a list, so that none differs from one that is null.
fn listed(folder: Option<&Value>) -> Vec<&Value> {
    folder.into_iter().collect()
}

/// The call that a standing approval of the scope `exact` covers: what acts, and the folder.
pub fn grant_key(
    secret: &[u8],
    agent: &str,
    tool: &str,
    (arguments, cosmetic): (&Map<String, Value>, &[String]),
    folder: Option<&Value>,
) -> Result<[u8; 32], CanonicalError> {
    #[derive(Serialize)]
    struct InFolder<'a> {
        #[serde(flatten)]
        calls: Calls<'a>,
        folder: Vec<&'a Value>,
    }
    let folder = if planted("grant-forgets-the-folder") { Vec::new() } else { listed(folder) };
    let calls = Calls { agent, tool, values: Values::acting(arguments, cosmetic) };
    keyed(secret, "placet/grant/v2", &InFolder { calls, folder })
}

/// The call that one of version 0.2 covers: all arguments, in whatever folder.
pub fn unbound_grant_key(
    secret: &[u8],
    agent: &str,
    tool: &str,
    arguments: &Map<String, Value>,
) -> Result<[u8; 32], CanonicalError> {
    keyed(secret, "placet/grant/v1", &Calls { agent, tool, values: Values::Whole(arguments) })
}

/// How much of a trust key says which call it is; the rest says where.
const CALL: usize = 16;

/// What must be equal for approvals to add up to trust. Its first half says which call it is and its second half in which
/// folder, so that a no can end it in every folder: what an agent says of its folder must not save it from a no.
pub fn trust_key(
    secret: &[u8],
    policy: &str,
    terms: &TrustTerms,
    agent: &str,
    tool: &str,
    arguments: &Map<String, Value>,
    folder: Option<&Value>,
) -> Result<[u8; 32], CanonicalError> {
    #[derive(Serialize)]
    struct Trusted<'a> {
        policy: &'a str,
        rule: &'a str,
        #[serde(flatten)]
        calls: Calls<'a>,
    }
    let about = || Trusted {
        policy,
        rule: &terms.rule,
        calls: Calls { agent, tool, values: Values::at(terms, arguments) },
    };
    if !terms.bound {
        return keyed(secret, "placet/trust/v1", &about());
    }
    let folder = if planted("trust-forgets-the-folder") { Vec::new() } else { listed(folder) };
    let mut key = keyed(secret, "placet/trust/v2", &about())?;
    let place = keyed(secret, "placet/trust-in/v2", &(about(), folder))?;
    let (_, second) = key.split_at_mut(CALL);
    second.copy_from_slice(&place[..CALL]);
    Ok(key)
}

/// Whether two trust keys are about the same call, wherever it runs.
pub(crate) fn same_call(left: &[u8; 32], right: &[u8; 32]) -> bool {
    left[..CALL] == right[..CALL]
}

/// The first and the last trust key about the same call.
pub(crate) fn of_call(key: &[u8; 32]) -> [[u8; 32]; 2] {
    [0x00, 0xff].map(|rest| {
        let mut end = *key;
        end[CALL..].fill(rest);
        end
    })
}

/// The same, of a request that offers trust and whose content is still there.
pub(crate) fn trust_key_of(secret: &[u8], request: &Request) -> Result<Option<[u8; 32]>, CanonicalError> {
    let (Some(terms), Some(content)) = (&request.trust, &request.content) else { return Ok(None) };
    let Content { body, context, .. } = &**content;
    let (Some(tool), Some(arguments)) = (body.tool(), body.arguments()) else { return Ok(None) };
    let folder = folder(context);
    trust_key(secret, &request.verdict.policy, terms, &request.agent, tool, arguments, folder).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn trust(template: Option<&[&str]>, arguments: &Value) -> [u8; 32] {
        let template = template.map(|places| places.iter().map(|at| (*at).to_owned()).collect());
        let terms =
            TrustTerms { rule: "r".to_owned(), after: 1, template, cosmetic: Vec::new(), bound: true };
        trust_key(b"s", "p", &terms, "bot", "t", arguments.as_object().unwrap(), None).unwrap()
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
        let base = same_key(b"s", "bot", "t", arguments).unwrap();
        assert_eq!(base, same_key(b"s", "bot", "t", arguments).unwrap());
        assert_ne!(base, same_key(b"z", "bot", "t", arguments).unwrap());
        assert_ne!(base, same_key(b"s", "imp", "t", arguments).unwrap());
        assert_ne!(base, same_key(b"s", "bot", "u", arguments).unwrap());
        let exact = grant_key(b"s", "bot", "t", (arguments, &[]), None).unwrap();
        let unbound = unbound_grant_key(b"s", "bot", "t", arguments).unwrap();
        assert_ne!(base, exact, "one cannot stand in for the other");
        assert!(base != unbound && exact != unbound);
    }

    #[test]
    fn grants_and_trust_know_the_folder_and_look_past_what_is_cosmetic() {
        let cosmetic = ["note".to_owned(), "why".to_owned()];
        let terms = TrustTerms {
            rule: "r".to_owned(),
            after: 1,
            template: None,
            cosmetic: cosmetic.to_vec(),
            bound: true,
        };
        let both = |arguments: Value, folder: Option<Value>| {
            let arguments = arguments.as_object().unwrap();
            let grant = grant_key(b"s", "bot", "t", (arguments, &cosmetic), folder.as_ref()).unwrap();
            (grant, trust_key(b"s", "p", &terms, "bot", "t", arguments, folder.as_ref()).unwrap())
        };
        let base = both(json!({"a": 1, "note": "x"}), Some(json!("/srv")));
        assert_eq!(both(json!({"a": 1, "why": 7}), Some(json!("/srv"))), base);
        for (arguments, folder) in [
            (json!({"a": 2}), Some(json!("/srv"))),
            (json!({"a": 1, "b": 1}), Some(json!("/srv"))),
            (json!({"a": 1, "note": ["x"]}), Some(json!("/srv"))),
            (json!({"a": 1}), Some(json!("/srv/x"))),
            (json!({"a": 1}), Some(json!(["/srv"]))),
            (json!({"a": 1}), Some(Value::Null)),
            (json!({"a": 1}), None),
        ] {
            let other = both(arguments.clone(), folder.clone());
            assert!(other.0 != base.0 && other.1 != base.1, "{arguments} {folder:?}");
            assert_eq!(same_call(&other.1, &base.1), arguments == json!({"a": 1}), "{arguments} {folder:?}");
        }
        let [first, last] = of_call(&base.1);
        assert!(first <= base.1 && base.1 <= last && same_call(&first, &last));
        let before = TrustTerms { bound: false, cosmetic: Vec::new(), ..terms.clone() };
        let before =
            trust_key(b"s", "p", &before, "bot", "t", json!({"a": 1}).as_object().unwrap(), None).unwrap();
        assert!(!same_call(&before, &base.1), "what version 0.2 learned is not comparable");
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
