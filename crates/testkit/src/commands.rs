//! Commands as the gate would make them, for tests that use only the store.

use std::{sync::Arc, time::Duration};

use placet_core::{
    Actor, Command, Content, Covered, Create, Effect, Limits, Needs, RequestId, Risk, Spec, Submit, Time,
    Verdict, WeakKey,
};
use placet_gate::Entropy as _;
use placet_ledger::Parts;
use placet_store::{CommandUnit, Idempotency, Outcome, Store, StoreError};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::SeededEntropy;

/// A new request, held for one reviewer. `create` is the body of a create call.
pub fn submit(actor: &Actor, now: Time, create: Value) -> Command {
    let create: Create = serde_json::from_value(create).expect("the body of a create call");
    let Spec { body, context, summary, terms } =
        create.check(&Limits::default()).expect("a create call that fits");
    let mut random = [0_u8; 10];
    SeededEntropy::default().fill(&mut random);
    let id = RequestId::new(now.millis(), random);
    let nonce = id.to_string();
    let parts = Parts {
        id,
        agent: &actor.name,
        session: &terms.session,
        body: &body,
        context: &context,
        summary: summary.as_deref(),
        on_behalf_of: terms.on_behalf_of.as_deref(),
        created_at: now,
        nonce: &nonce,
    };
    let canonical = parts.canonical().expect("a request that can be hashed");
    let content = Content { body, context, summary, nonce };
    let verdict = Verdict {
        effect: Effect::Hold,
        confine: None,
        rule: "test".to_owned(),
        policy: "test".to_owned(),
        reasons: Vec::new(),
    };
    Command::Submit(Box::new(Submit {
        id,
        content: Arc::new(content),
        stored: canonical.payload.into(),
        digest: canonical.digest,
        created_at: now,
        source: "rest".to_owned(),
        roots: Vec::new(),
        covered: Covered::Unknown,
        verdict,
        risk: terms.risk.unwrap_or(Risk::Medium),
        needs: Needs::default(),
        escalation: Vec::new(),
        decisions: None,
        grants: Vec::new(),
        trust: None,
        claim_window: Duration::from_mins(15),
        report_window: Duration::from_hours(1),
        pending_cap: 1_000_000,
        weak: None,
        terms,
    }))
}

/// One command as a unit.
pub fn unit(actor: &Actor, command: Command, idempotency: Option<Idempotency>) -> CommandUnit {
    CommandUnit::one(actor.clone(), command, idempotency)
}

/// An idempotency key with a body.
pub fn idempotency(key: &str, body: &str) -> Idempotency {
    Idempotency { scope: Sha256::digest(key).into(), body: Sha256::digest(body).into() }
}

/// A weak key for what is the same in these words.
pub fn weak_key(key: &str, same: &str) -> WeakKey {
    WeakKey { scope: Sha256::digest(key).into(), same: Sha256::digest(same).into() }
}

/// Gives the store one command.
pub async fn one(
    store: &Store,
    actor: &Actor,
    command: Command,
    idempotency: Option<Idempotency>,
) -> Result<Outcome, StoreError> {
    let mut outcomes = store.commands(unit(actor, command, idempotency)).await?;
    Ok(outcomes.pop().expect("one outcome for one command"))
}
