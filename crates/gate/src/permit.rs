//! Permits and step-up codes: derived from the database's secret, stored only as hashes.

use std::sync::Arc;

use data_encoding::BASE32_DNSSEC;
use hmac::{Hmac, KeyInit as _, Mac as _};
use placet_core::{
    Actor, Claim, Command, Digest, Door, Refusal, Report, ReportStatus, Request, RequestId, Role, door,
};
use placet_ledger::hash;
use placet_store::Idempotency;
use sha2::Sha256;

use crate::{Gate, GateError, gate::about};

/// A claimed permit: what may run, and the deadline for the report.
#[derive(Debug, Clone)]
pub struct ClaimedPermit {
    /// The permit itself. Shown only to its claimant.
    pub permit: String,
    /// The request, whose effective arguments are what may run.
    pub request: Arc<Request>,
    /// For a confined call: the folders that it may change.
    pub workspace: Vec<String>,
}

/// The report of a run.
#[derive(Debug, Clone)]
pub struct RunReport {
    /// Whether it worked.
    pub status: ReportStatus,
    /// Digest of its result, as its executor computed it.
    pub result_digest: Option<String>,
    /// In the executor's words.
    pub note: Option<String>,
    /// It was allowed confined, and there is no proof that it ran confined.
    pub unconfined: bool,
}

pub(crate) fn keyed(secret: &[u8], domain: &str, parts: &[&[u8]]) -> [u8; 32] {
    // HMAC takes keys of any length, so the fallback cannot happen.
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of any length");
    mac.update(domain.as_bytes());
    for part in parts {
        mac.update(b"\n");
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// The permit of one claimant on one request. The same claimant can ask again, and it cannot be guessed.
fn permit(secret: &[u8], id: RequestId, salt: &[u8]) -> String {
    let bytes = keyed(secret, "placet/permit/v1", &[id.as_bytes(), salt]);
    format!("prm_{}", BASE32_DNSSEC.encode(&bytes))
}

/// The short code that a reviewer types for a step-up: six digits bound to the digest.
pub(crate) fn code(secret: &[u8], digest: Digest) -> String {
    let bytes = keyed(secret, "placet/code/v1", &[digest.as_bytes()]);
    let number = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) % 1_000_000;
    format!("{number:06}")
}

/// Whether this is the code of that digest.
pub(crate) fn code_matches(secret: &[u8], digest: Digest, given: &str) -> bool {
    use subtle::ConstantTimeEq as _;
    code(secret, digest).as_bytes().ct_eq(given.trim().as_bytes()).into()
}

fn fingerprint(domain: &str, text: &str) -> Digest {
    hash(domain, &[text.as_bytes()])
}

impl Gate {
    /// Claims the permit of an approved request. The same claimant gets the same permit until it reports.
    pub async fn claim(
        &self,
        actor: &Actor,
        id: RequestId,
        claimant: Option<&str>,
        idempotency: Option<Idempotency>,
    ) -> Result<ClaimedPermit, GateError> {
        self.claim_through(door::REST, actor, id, claimant, idempotency).await
    }

    /// The same through a named door. What was allowed confined has a permit only for the hook program.
    pub async fn claim_through(
        &self,
        source: &str,
        actor: &Actor,
        id: RequestId,
        claimant: Option<&str>,
        idempotency: Option<Idempotency>,
    ) -> Result<ClaimedPermit, GateError> {
        about(id);
        let actor = &*self.acting(actor, &[Role::Agent])?;
        let secret = self.store.secret();
        let permit = match (claimant, idempotency) {
            (Some(claimant), _) => permit(&secret, id, claimant.as_bytes()),
            (None, Some(idempotency)) => permit(&secret, id, &idempotency.scope),
            (None, None) => {
                let mut salt = [0_u8; 32];
                self.entropy.fill(&mut salt);
                permit(&secret, id, &salt)
            }
        };
        let held = fingerprint("placet/permit/v1", &permit);
        let claimant = claimant.map(|claimant| fingerprint("placet/claimant/v1", claimant));
        let confines = Door::named(source).resolves_paths();
        let claim = Claim { id, permit: held, claimant, confines };
        let outcome = self.command(actor, Command::Claim(claim), idempotency).await?;
        let request = outcome.request.ok_or_else(GateError::not_found)?;
        // A replayed answer is about the past: its permit is good only if it is still the current one.
        if request.claim.as_ref().is_none_or(|claim| claim.permit != held) {
            return Err(GateError::Refused { refusal: Refusal::AlreadyClaimed, request: Some(request) });
        }
        let workspace = match request.verdict.confine {
            Some(_) => self.store.directory().roots(&request.agent).to_vec(),
            None => Vec::new(),
        };
        Ok(ClaimedPermit { permit, request, workspace })
    }

    /// Reports the result of a claimed action.
    #[expect(clippy::too_many_arguments, reason = "the fields of one call, each used once")]
    pub async fn report(
        &self,
        actor: &Actor,
        id: RequestId,
        permit: &str,
        status: ReportStatus,
        result_digest: Option<String>,
        note: Option<String>,
        idempotency: Option<Idempotency>,
    ) -> Result<Arc<Request>, GateError> {
        let ran = RunReport { status, result_digest, note, unconfined: false };
        self.report_run(actor, id, permit, ran, idempotency).await
    }

    /// The same, also of a call that was allowed confined and ran free. That is an alarm in the ledger, and its agent is not
    /// marked any more.
    pub async fn report_run(
        &self,
        actor: &Actor,
        id: RequestId,
        permit: &str,
        ran: RunReport,
        idempotency: Option<Idempotency>,
    ) -> Result<Arc<Request>, GateError> {
        about(id);
        let actor = &*self.acting(actor, &[Role::Agent])?;
        let permit = fingerprint("placet/permit/v1", permit);
        let RunReport { status, result_digest, note, unconfined } = ran;
        let report = Report { id, permit, status, result_digest, note, unconfined };
        let outcome = self.command(actor, Command::Report(report), idempotency).await?;
        outcome.request.ok_or_else(GateError::not_found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_depends_on_secret_request_and_claimant() {
        let (a, b) = (RequestId::new(1, [1; 10]), RequestId::new(1, [2; 10]));
        let base = permit(b"s", a, b"c");
        assert_eq!(base, permit(b"s", a, b"c"));
        assert_ne!(base, permit(b"t", a, b"c"));
        assert_ne!(base, permit(b"s", b, b"c"));
        assert_ne!(base, permit(b"s", a, b"d"));
    }

    #[test]
    fn a_code_belongs_to_one_digest() {
        let digest = Digest::new([7; 32]);
        assert!(code_matches(b"s", digest, &code(b"s", digest)));
        assert!(!code_matches(b"s", Digest::new([8; 32]), &code(b"s", digest)));
        assert!(!code_matches(b"s", digest, ""));
    }
}
