//! A browser's key, as the dashboard makes it: every call of a session is signed with it.

use std::sync::{Mutex, PoisonError};

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use http::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// A key and what it signs next.
#[derive(Debug)]
pub struct Signer {
    pair: EcdsaKeyPair,
    said: Mutex<SignerState>,
}

#[derive(Debug, Clone, Default)]
struct SignerState {
    session: String,
    nonce: String,
}

impl Default for Signer {
    fn default() -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key can be made");
        Self { pair, said: Mutex::default() }
    }
}

impl Signer {
    /// The public part, as it is sent to sign in.
    pub fn key(&self) -> Value {
        let point = self.pair.public_key().as_ref();
        json!({"x": BASE64URL_NOPAD.encode(&point[1..33]), "y": BASE64URL_NOPAD.encode(&point[33..])})
    }

    /// Takes over the session from the answer to a sign-in.
    pub fn signed_in(&self, record: &Value) {
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) =
            SignerState { session: text(&record["session"]["id"]), nonce: text(&record["nonce"]) };
    }

    /// The session and nonce that sign the next call.
    pub fn nonce(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).nonce.clone()
    }

    /// Takes over a newer nonce. Returns whether it differs.
    pub fn renew(&self, nonce: &str) -> bool {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut said.nonce, nonce.to_owned()) != nonce
    }

    /// The session it belongs to.
    pub fn session(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).session.clone()
    }

    /// The header that proves a call.
    pub fn proof(&self, method: &Method, path: &str, body: &[u8]) -> String {
        self.proof_of(&said(method.as_str(), path, body, &self.session(), &self.nonce()))
    }

    /// The same for any words.
    pub fn proof_of(&self, words: &str) -> String {
        format!("v1.{}", BASE64URL_NOPAD.encode(&self.sign(words)))
    }

    /// r and s over any words.
    pub fn sign(&self, words: &str) -> Vec<u8> {
        let signed = self.pair.sign(&SystemRandom::new(), words.as_bytes()).expect("it signs");
        signed.as_ref().to_vec()
    }
}

/// What is signed of a call.
pub fn said(method: &str, path: &str, body: &[u8], session: &str, nonce: &str) -> String {
    let body = HEXLOWER.encode(&Sha256::digest(body));
    format!("placet/proof/v1\n{method}\n{path}\n{body}\n{session}\n{nonce}")
}
