//! Calls by session are signed by the browser: a cookie goes to every port of its host, a key that cannot be exported does
//! not. Every call is proved in one place, before its body is parsed; whoever has only the cookie is nobody.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, ParsedPublicKey, UnparsedPublicKey};
use axum::{
    body::Body,
    extract::{MatchedPath, Request, State as AxumState, WebSocketUpgrade},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use http::{HeaderMap, Method, StatusCode, header, request::Parts};
use placet_core::Auth;
use placet_gate::{Gate, SignedIn, TicketFor, planted};
use placet_ledger::ijson::Limits;
use sha2::{Digest as _, Sha256};

use crate::{State, call, problem::Problem, session};

/// The header with the signature.
const PROOF: &str = "placet-proof";

/// The half of a signature that tells it from others: the other half can be turned round without the key.
const HALF: usize = 32;

/// The person whose browser proved this very call.
#[derive(Debug, Clone)]
pub(crate) struct BrowserProof {
    pub(crate) signed_in: SignedIn,
    /// The signature, where there is one.
    proof: Option<[u8; 64]>,
}

impl BrowserProof {
    /// What tells this call from every other one: a copy of it does nothing again.
    pub(crate) fn once(&self) -> Option<String> {
        self.proof.map(|proof| BASE64URL_NOPAD.encode(&proof[..HALF]))
    }
}

/// A public key as a page sends it.
#[derive(Debug, Clone, serde::Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PublicKey {
    /// The first coordinate on P-256, base64url without padding.
    #[schema(pattern = "^[A-Za-z0-9_-]{43}$")]
    x: String,
    /// The second one.
    #[schema(pattern = "^[A-Za-z0-9_-]{43}$")]
    y: String,
}

impl PublicKey {
    /// Both coordinates.
    pub(crate) fn point(&self) -> Result<[u8; 64], Problem> {
        let wrong = |name: &str| {
            let detail =
                "expected a coordinate of a public key on P-256: 32 bytes as base64url without padding";
            Problem::unprocessable("invalid", format!("/key/{name}"), detail)
        };
        let mut point = [0; 64];
        for (name, text, part) in [("x", &self.x, 0..32), ("y", &self.y, 32..64)] {
            let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| wrong(name))?;
            if bytes.len() != 32 {
                return Err(wrong(name));
            }
            point[part].copy_from_slice(&bytes);
        }
        if ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, on_curve(&point)).is_err() {
            let detail = "that is no point of P-256";
            return Err(Problem::unprocessable("invalid", "/key", detail));
        }
        Ok(point)
    }
}

/// What proves a call: a signature, or for what a browser cannot sign a ticket.
enum CallProof {
    /// Nothing at all; a planted bug.
    Cookie,
    Signature,
    Ticket(TicketFor, String),
}

/// What a call shows, if it comes with a session's cookie at all.
fn shown(parts: &Parts) -> Option<CallProof> {
    if !session::has_cookie(&parts.headers) {
        return None;
    }
    if parts.headers.contains_key(PROOF) {
        return Some(CallProof::Signature);
    }
    match parts.uri.path() {
        "/v1/ws" | "/stream" => {
            let ticket = offered(&parts.headers).find(|protocol| Gate::is_ticket(protocol))?;
            Some(CallProof::Ticket(TicketFor::Stream, ticket.to_owned()))
        }
        "/v1/requests/export" => {
            let query = parts.uri.query()?.split('&').find_map(|pair| pair.strip_prefix("ticket="))?;
            Some(CallProof::Ticket(TicketFor::Export, query.to_owned()))
        }
        _ => planted("cookie-is-enough").then_some(CallProof::Cookie),
    }
}

/// The protocols that a WebSocket's handshake offers.
fn offered(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lists =
        headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).map(str::trim)
}

/// What to answer a handshake with that shows a ticket: browsers insist on one of the protocols that they offered.
pub(crate) fn answered(upgrade: WebSocketUpgrade, headers: &HeaderMap) -> WebSocketUpgrade {
    if !offered(headers).any(Gate::is_ticket) {
        return upgrade;
    }
    let others: Vec<String> =
        offered(headers).filter(|protocol| !Gate::is_ticket(protocol)).map(str::to_owned).collect();
    upgrade.protocols(others)
}

/// Checks what proves a call that comes with a session's cookie. Without a proof the call goes on as nobody's.
pub(crate) async fn prove(AxumState(state): AxumState<State>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let Some(shown) = shown(&parts) else { return next.run(Request::from_parts(parts, body)).await };
    match proved(&parts, body, &state, shown).await {
        Ok((signed_in, body)) => {
            parts.extensions.insert(signed_in);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(problem) => problem.into_response(),
    }
}

async fn proved(
    parts: &Parts,
    body: Body,
    state: &State,
    shown: CallProof,
) -> Result<(BrowserProof, Body), Problem> {
    let Some(mut signed_in) = session::of_cookie(parts, state).await? else {
        return Err(Problem::unauthorized("the session is over: sign in again"));
    };
    let nonces = state.gate.nonces(signed_in.session.id);
    session::Renewal::nonce(parts, &nonces[0]);
    let (body, proof) = match shown {
        CallProof::Cookie => (body, None),
        CallProof::Signature => {
            let proof = signature(&parts.headers).ok_or_else(|| {
                let detail = "send one header `Placet-Proof: v1.SIGNATURE`, r and s of ECDSA as base64url";
                Problem::new(StatusCode::UNAUTHORIZED, "proof_needed", detail)
            })?;
            let bytes = call::read(body, &Limits::default(), state).await?;
            let fits = signed_in.key.is_some_and(|key| {
                nonces.iter().any(|nonce| fits(&key, &proof, &said(parts, &bytes, &signed_in, nonce)))
            });
            if !fits {
                // The cookie alone may not keep the server busy.
                call::unknown(state, session::peer(parts))?;
                let detail = "the proof does not fit this call: sign it again with the nonce of this answer's `Placet-Nonce`";
                return Err(Problem::new(StatusCode::UNAUTHORIZED, "proof_nonce", detail));
            }
            if works_once(parts) {
                let first = state.gate.use_proof(signed_in.session.id, &proof[..HALF], is_keyed(parts)).await;
                if !first.map_err(|error| Problem::gate(error, state.gate.now()))? {
                    let detail = "this very call was made before: sign it again to make it once more";
                    return Err(Problem::new(StatusCode::UNAUTHORIZED, "proof_nonce", detail));
                }
            }
            (Body::from(bytes), Some(proof))
        }
        CallProof::Ticket(what, ticket) => {
            let used = state.gate.use_ticket(signed_in.session.id, what, &ticket).await;
            if signed_in.key.is_none() || !used.map_err(|error| Problem::gate(error, state.gate.now()))? {
                let detail = "the ticket was used before or is over: ask for another one";
                return Err(Problem::new(StatusCode::UNAUTHORIZED, "proof_needed", detail));
            }
            (body, None)
        }
    };
    session::used(parts, state, &mut signed_in).await;
    signed_in.actor.auth = Auth::Bound;
    Ok((BrowserProof { signed_in, proof }, body))
}

/// Whether a signature counts once: a copy of a change could undo what came after it, and a copied stream stays open.
fn works_once(parts: &Parts) -> bool {
    parts.uri.path() == "/v1/stream" || ![Method::GET, Method::HEAD].contains(&parts.method)
}

/// Whether a call takes its signature for its idempotency key, and so answers a copy of it by itself.
fn is_keyed(parts: &Parts) -> bool {
    let route = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
    parts.method == Method::POST
        && ["/v1/keys", "/v1/people/{name}/link"].contains(&route)
        && !parts.headers.contains_key("idempotency-key")
}

/// The one signature of a call, r and s together.
fn signature(headers: &HeaderMap) -> Option<[u8; 64]> {
    let mut all = headers.get_all(PROOF).iter();
    let (Some(text), None) = (all.next(), all.next()) else { return None };
    let text = text.to_str().ok()?.strip_prefix("v1.")?;
    BASE64URL_NOPAD.decode(text.as_bytes()).ok()?.try_into().ok()
}

/// What is signed: the address as it was sent, before any decoding.
fn said(parts: &Parts, body: &[u8], signed_in: &SignedIn, nonce: &str) -> String {
    let address = parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let body = HEXLOWER.encode(&Sha256::digest(body));
    format!("placet/proof/v1\n{}\n{address}\n{body}\n{}\n{nonce}", parts.method, signed_in.session.id)
}

fn fits(point: &[u8; 64], signature: &[u8; 64], message: &str) -> bool {
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, on_curve(point))
        .verify(message.as_bytes(), signature)
        .is_ok()
}

/// A point as libraries write it: uncompressed.
fn on_curve(point: &[u8; 64]) -> [u8; 65] {
    let mut key = [4_u8; 65];
    key[1..].copy_from_slice(point);
    key
}
