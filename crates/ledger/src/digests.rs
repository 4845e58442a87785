//! What is hashed, and how. Every digest has its own domain, so that none can replace another.

use data_encoding::BASE64URL_NOPAD;
use placet_core::{
    Body, CardSection, Content, Digest, DisplayField, Kind, ProposalContent, Request, RequestId, Time,
};
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::canonical::{CanonicalError, canonical_string};

/// SHA-256 over a domain and the parts that follow it.
pub fn hash(domain: &str, parts: &[&[u8]]) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(domain.as_bytes());
    hasher.update(b"\n");
    for part in parts {
        hasher.update(part);
    }
    Digest::new(hasher.finalize().into())
}

/// The thumbprint of a public key on P-256 (RFC 7638), by which the ledger knows it.
pub fn thumbprint(point: &[u8; 64]) -> String {
    let (x, y) = point.split_at(32);
    let text = |part: &[u8]| BASE64URL_NOPAD.encode(part);
    let key = format!(r#"{{"crv":"P-256","kty":"EC","x":"{}","y":"{}"}}"#, text(x), text(y));
    BASE64URL_NOPAD.encode(&Sha256::digest(key.as_bytes()))
}

/// Everything that the digest of a request covers.
#[derive(Debug)]
pub struct Parts<'a> {
    /// Its identifier.
    pub id: RequestId,
    /// Who asks.
    pub agent: &'a str,
    /// The agent's session.
    pub session: &'a str,
    /// The kind's own fields, whole.
    pub body: &'a Body,
    /// Where the call comes from.
    pub context: &'a Map<String, Value>,
    /// The agent's words: stored, not part of the digest.
    pub summary: Option<&'a str>,
    /// The person behind the agent.
    pub on_behalf_of: Option<&'a str>,
    /// When it was made.
    pub created_at: Time,
    /// The salt.
    pub nonce: &'a str,
}

/// A request in canonical form: the digest, and the payload text that is stored.
#[derive(Debug)]
pub struct Canonical {
    /// SHA-256 over `placet/request/v1` and the canonical request.
    pub digest: Digest,
    /// The canonical payload: body, context, nonce and summary.
    pub payload: String,
}

impl Parts<'_> {
    /// Puts the request into canonical form; the body is written once and used for both.
    pub fn canonical(&self) -> Result<Canonical, CanonicalError> {
        let body = canonical_string(self.body)?;
        let context = canonical_string(self.context)?;
        let nonce = canonical_string(self.nonce)?;
        let digest = self.digest(self.body.kind(), &body, &context, &nonce)?;
        let mut payload = String::with_capacity(body.len() + context.len() + nonce.len() + 64);
        payload.push_str("{\"body\":");
        payload.push_str(&body);
        payload.push_str(",\"context\":");
        payload.push_str(&context);
        payload.push_str(",\"nonce\":");
        payload.push_str(&nonce);
        if let Some(summary) = self.summary {
            payload.push_str(",\"summary\":");
            payload.push_str(&canonical_string(summary)?);
        }
        payload.push('}');
        Ok(Canonical { digest, payload })
    }

    /// The members in canonical order: agent, body, context, created_at, id, kind, nonce, on_behalf_of, session, space.
    fn digest(&self, kind: Kind, body: &str, context: &str, nonce: &str) -> Result<Digest, CanonicalError> {
        let agent = canonical_string(self.agent)?;
        let session = canonical_string(self.session)?;
        let on_behalf_of = canonical_string(&self.on_behalf_of)?;
        let tail = format!(
            ",\"created_at\":\"{}\",\"id\":\"{}\",\"kind\":\"{kind}\",\"nonce\":{nonce},\"on_behalf_of\":{on_behalf_of},\"session\":{session},\"space\":\"main\"}}",
            self.created_at, self.id,
        );
        Ok(hash(
            "placet/request/v1",
            &[
                b"{\"agent\":",
                agent.as_bytes(),
                b",\"body\":",
                body.as_bytes(),
                b",\"context\":",
                context.as_bytes(),
                tail.as_bytes(),
            ],
        ))
    }
}

fn parts<'a>(request: &'a Request, content: &'a Content, body: &'a Body) -> Parts<'a> {
    Parts {
        id: request.id,
        agent: &request.agent,
        session: &request.session,
        body,
        context: &content.context,
        summary: content.summary.as_deref(),
        on_behalf_of: request.on_behalf_of.as_deref(),
        created_at: request.created_at,
        nonce: &content.nonce,
    }
}

/// The digest of a stored request with other arguments: an edit is a vote on it.
pub fn edit_digest(
    request: &Request,
    content: &Content,
    arguments: &Map<String, Value>,
) -> Result<Digest, CanonicalError> {
    let mut body = content.body.clone();
    if let Body::Action(action) = &mut body {
        action.arguments.clone_from(arguments);
    }
    Ok(parts(request, content, &body).canonical()?.digest)
}

/// The digest of an answer or of step decisions, for votes on them.
pub fn proposal_digest(request: Digest, proposal: &ProposalContent) -> Result<Digest, CanonicalError> {
    let text = canonical_string(proposal)?;
    Ok(hash("placet/proposal/v1", &[request.to_string().as_bytes(), b"\n", text.as_bytes()]))
}

/// The digest of a payload, salted so that erased content cannot be guessed.
pub fn payload_digest(nonce: &str, payload: &str) -> Digest {
    hash("placet/payload/v1", &[nonce.as_bytes(), b"\n", payload.as_bytes()])
}

/// The digest of a card: what it says will happen, its sections, and the leaves that no section shows. What is flagged
/// and what happened before are not part of it.
pub fn view_digest(
    sentence: &str,
    sections: &[CardSection],
    rest: &[DisplayField],
) -> Result<Digest, CanonicalError> {
    #[derive(Serialize)]
    struct Covered<'a> {
        sentence: &'a str,
        sections: &'a [CardSection],
        rest: &'a [DisplayField],
    }
    let text = canonical_string(&Covered { sentence, sections, rest })?;
    Ok(hash("placet/view/v1", &[text.as_bytes()]))
}

/// The digest of what a page showed.
pub fn display_digest(fields: &[DisplayField]) -> Result<Digest, CanonicalError> {
    Ok(hash("placet/display/v1", &[canonical_string(fields)?.as_bytes()]))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use placet_core::{Action, Needs, SectionBody};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_digest_is_sha256_over_the_named_object_in_canonical_form() {
        let body = Body::Action(Action {
            tool: "delete_files".into(),
            arguments: json!({"z":1.0,"files":["a"],"é":null}).as_object().unwrap().clone(),
            arguments_schema: None,
        });
        let context = json!({"cwd":"/srv"}).as_object().unwrap().clone();
        let parts = Parts {
            id: RequestId::new(1, [2; 10]),
            agent: "bot",
            session: "s\"1",
            body: &body,
            context: &context,
            summary: Some("hi"),
            on_behalf_of: None,
            created_at: Time::from_micros(0),
            nonce: "n",
        };
        // The slow, obvious way: build the whole object and canonicalise it at once.
        let whole = json!({
            "space":"main","id":parts.id.to_string(),"agent":"bot","session":"s\"1","kind":"action",
            "body":{"tool":"delete_files","arguments":{"z":1,"files":["a"],"é":null}},
            "context":{"cwd":"/srv"},"on_behalf_of":null,"created_at":"1970-01-01T00:00:00.000000Z","nonce":"n"});
        let made = parts.canonical().unwrap();
        assert_eq!(made.digest, hash("placet/request/v1", &[canonical_string(&whole).unwrap().as_bytes()]));
        let payload: Value = serde_json::from_str(&made.payload).unwrap();
        assert_eq!(made.payload, canonical_string(&payload).unwrap());
    }

    #[test]
    fn the_digest_of_an_edit_is_that_of_the_same_request_with_its_arguments() {
        let request: Request = serde_json::from_value(json!({
            "id": RequestId::new(1, [2; 10]), "seq": 1, "version": 1, "material": 1,
            "state": "pending", "kind": "action", "agent": "bot", "session": "s",
            "tool": "delete_files", "group": null, "on_behalf_of": "ann", "risk": "low",
            "verdict": {"effect": "hold", "rule": "r", "policy": "p", "reasons": []},
            "needs": Needs::default(), "allowed": ["approve", "edit", "deny"], "permit": true,
            "digest": Digest::default(), "votes": [], "proposal": null, "decision": null, "asked": [],
            "created_at": Time::from_micros(7), "expires_at": Time::from_micros(8),
            "claim_window": Duration::ZERO, "report_window": Duration::ZERO,
            "claim_by": null, "report_by": null, "claim": null, "outcome": null,
        }))
        .unwrap();
        let arguments = |file: &str| json!({"files": [file]}).as_object().unwrap().clone();
        let content = |file: &str| Content {
            body: Body::Action(Action {
                tool: "delete_files".into(),
                arguments: arguments(file),
                arguments_schema: Some(json!({"type": "object"})),
            }),
            context: json!({"cwd": "/srv"}).as_object().unwrap().clone(),
            summary: Some("hi".into()),
            nonce: "n".into(),
        };
        let own = |content: &Content| parts(&request, content, &content.body).canonical().unwrap().digest;
        let (asked, other) = (content("a"), content("b"));
        let edited = edit_digest(&request, &asked, &arguments("b")).unwrap();
        assert_eq!(edited, own(&other));
        assert_ne!(edited, own(&asked));
        assert_eq!(edit_digest(&request, &asked, &arguments("a")).unwrap(), own(&asked), "nothing changed");
    }

    #[test]
    fn domains_keep_digests_apart() {
        assert_ne!(hash("placet/payload/v1", &[b"x"]), hash("placet/display/v1", &[b"x"]));
        assert_ne!(payload_digest("a", "b"), payload_digest("b", "b"));
    }

    #[test]
    fn the_digest_of_a_card_is_over_what_is_on_the_wire_and_over_all_of_it() {
        let section = |title: Option<&str>, step, text: &str, pointer: &str| CardSection {
            body: SectionBody::Text { text: text.into() },
            title: title.map(str::to_owned),
            step,
            pointers: vec![pointer.into()],
        };
        let field =
            |text: &str, keys: Vec<usize>| DisplayField { pointer: "/a/0".into(), text: text.into(), keys };
        let one = (vec![section(None, None, "x", "/x")], vec![field("1", vec![])]);
        let digest = |sentence: &str, (sections, rest): &(Vec<CardSection>, Vec<DisplayField>)| {
            view_digest(sentence, sections, rest).unwrap()
        };
        let whole = json!({"sentence": "Do it", "sections": one.0, "rest": one.1});
        assert_eq!(
            digest("Do it", &one),
            hash("placet/view/v1", &[canonical_string(&whole).unwrap().as_bytes()])
        );
        let others = [
            (vec![section(Some("t"), None, "x", "/x")], one.1.clone()),
            (vec![section(None, Some(1), "x", "/x")], one.1.clone()),
            (vec![section(None, None, "y", "/x")], one.1.clone()),
            (vec![section(None, None, "x", "/y")], one.1.clone()),
            (one.0.clone(), vec![field("2", vec![])]),
            (one.0.clone(), vec![field("1", vec![1])]),
            (one.0.clone(), vec![]),
            (vec![], one.1.clone()),
        ];
        for other in &others {
            assert_ne!(digest("Do it", other), digest("Do it", &one), "{other:?}");
        }
        assert_ne!(digest("Do that", &one), digest("Do it", &one));
    }
}
