//! Errors of the gate. None of them is an approval.

use std::sync::Arc;

use placet_core::{AdminRefusal, Invalid, Refusal, Request};
use placet_policy::PolicyErrors;
use placet_store::StoreError;

/// Why the gate did not do what it was asked to do.
#[derive(Debug, Clone, thiserror::Error)]
pub enum GateError {
    /// A command was refused. The record shows the current state, if the caller may see it.
    #[error("{refusal}")]
    Refused {
        /// Why.
        refusal: Refusal,
        /// How things stand.
        request: Option<Arc<Request>>,
    },
    /// A command about keys or people was refused.
    #[error(transparent)]
    Admin(#[from] AdminRefusal),
    /// A policy has errors: all of them are listed.
    #[error("the policy cannot be used:\n{0}")]
    BadPolicy(Arc<PolicyErrors>),
    /// The caller's role does not include this.
    #[error("the role `{0}` cannot do this")]
    Forbidden(placet_core::Role),
    /// Figures about one person are for that person only.
    #[error(
        "what one person decided is listed for that person and for auditors alone: leave `by` out, name yourself, or let \
         the operator set `insights.people`"
    )]
    AboutAnother,
    /// The key was revoked while it was waiting.
    #[error("the key was revoked")]
    KeyRevoked,
    /// This caller has as many open waits as it may have.
    #[error("too many waits are open: let some end first")]
    TooManyWaits,
    /// The store could not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The gate is closing. Retry in a moment.
    #[error("the server is shutting down: connect again")]
    Closing,
}

impl GateError {
    pub(crate) fn refused(refusal: impl Into<Refusal>) -> Self {
        Self::Refused { refusal: refusal.into(), request: None }
    }

    pub(crate) fn not_found() -> Self {
        Self::refused(Refusal::NotFound)
    }
}

impl From<Invalid> for GateError {
    fn from(invalid: Invalid) -> Self {
        Self::refused(invalid)
    }
}

impl From<placet_ledger::CanonicalError> for GateError {
    fn from(error: placet_ledger::CanonicalError) -> Self {
        Self::refused(Invalid::new("", error.to_string()))
    }
}
