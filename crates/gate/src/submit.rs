//! Asking: checks, canonical form, verdict, and one command for the store.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use placet_core::{
    Actor, Body, Cancel, Command, Content, Create, Effect, Request, RequestId, Risk, Role, Submit, Verdict,
};
use placet_ledger::{Parts, hash};
use placet_store::Idempotency;

use crate::{Gate, GateError, gate::require, schema::check_schema};

/// A request that was made, or made before with the same idempotency key.
#[derive(Debug, Clone)]
pub struct Submitted {
    /// As it stands.
    pub request: Arc<Request>,
    /// Whether it was made before.
    pub replayed: bool,
}

impl Gate {
    /// Asks. Answers when the request is durable.
    pub async fn submit(
        &self,
        actor: &Actor,
        create: Create,
        idempotency: Option<Idempotency>,
    ) -> Result<Submitted, GateError> {
        require(actor, &[Role::Agent])?;
        let spec = create.check(&self.settings.limits)?;
        if let Body::Action(action) = &spec.body {
            check_schema(action.arguments_schema.as_ref())?;
        }
        let mut random = [0_u8; 26];
        self.entropy.fill(&mut random);
        let (id_bits, nonce_bits) = random.split_at(10);
        let created_at = self.now();
        let id = RequestId::new(created_at.millis(), id_bits.try_into().unwrap_or_default());
        let nonce = HEXLOWER.encode(nonce_bits);
        let canonical = Parts {
            id,
            agent: &actor.name,
            session: &spec.session,
            body: &spec.body,
            context: &spec.context,
            summary: spec.summary.as_deref(),
            on_behalf_of: spec.on_behalf_of.as_deref(),
            created_at,
            nonce: &nonce,
        }
        .canonical()?;
        let content = Arc::new(Content {
            body: spec.body.clone(),
            context: spec.context.clone(),
            summary: spec.summary.clone(),
            nonce,
        });
        let (verdict, risk) = verdict(spec.risk);
        let submit = Submit {
            id,
            content,
            stored: canonical.payload.into(),
            digest: canonical.digest,
            created_at,
            verdict,
            risk,
            needs: self.settings.needs.clone(),
            claim_window: self.settings.claim_window,
            report_window: self.settings.report_window,
            pending_cap: self.settings.pending_per_agent,
            spec,
        };
        let outcome = self.command(actor, Command::Submit(Box::new(submit)), idempotency).await?;
        let request = outcome.request.ok_or_else(GateError::not_found)?;
        Ok(Submitted { request, replayed: outcome.replayed })
    }

    /// Withdraws a request, as the agent that made it.
    pub async fn cancel(
        &self,
        actor: &Actor,
        id: RequestId,
        reason: Option<String>,
        idempotency: Option<Idempotency>,
    ) -> Result<Arc<Request>, GateError> {
        require(actor, &[Role::Agent])?;
        let outcome = self.command(actor, Command::Cancel(Cancel { id, reason }), idempotency).await?;
        outcome.request.ok_or_else(GateError::not_found)
    }
}

/// What policy says until there is one: a person must look at everything. What the agent claims about the risk may
/// raise it, never lower it.
fn verdict(claimed: Option<Risk>) -> (Verdict, Risk) {
    let verdict = Verdict {
        effect: Effect::Hold,
        rule: "hold-everything".to_owned(),
        policy: hash("placet/policy/v1", &[b"hold-everything"]).to_string(),
        reasons: vec!["no policy is installed, so every request waits for a person".to_owned()],
    };
    (verdict, claimed.unwrap_or(Risk::Medium).max(Risk::Medium))
}
