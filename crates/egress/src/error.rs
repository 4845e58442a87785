//! Errors of outgoing connections.

use std::{io, net::SocketAddr};

use crate::{BadUrl, Forbidden};

/// Why nothing was sent, or why it is unknown whether the text arrived.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// The address cannot be called.
    #[error(transparent)]
    BadUrl(#[from] BadUrl),
    /// The address must not be called.
    #[error(transparent)]
    Forbidden(#[from] Forbidden),
    /// The name has no address.
    #[error("`{host}` has no address: {error}")]
    Unresolved {
        /// The name.
        host: String,
        /// What the resolver says.
        error: io::Error,
    },
    /// Nobody answers there.
    #[error("cannot connect to {address}: {error}")]
    Connect {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// The other side answers, but does not speak WebSocket. A redirect ends here: it is never followed.
    #[error("{address} does not speak WebSocket: {error}")]
    Handshake {
        /// Where.
        address: SocketAddr,
        /// What went wrong.
        error: String,
    },
    /// The connection broke while the text was being sent.
    #[error("the connection to {address} broke: {error}")]
    Broken {
        /// Where.
        address: SocketAddr,
        /// What went wrong.
        error: String,
    },
    /// The other side does not answer, or does not speak HTTP.
    #[error("cannot reach `{host}`: {error}")]
    Unreachable {
        /// The name.
        host: String,
        /// What went wrong.
        error: String,
    },
    /// The call was sent and the answer is incomplete: the outcome is unknown.
    #[error("the answer of `{host}` broke off: {error}")]
    BrokenOff {
        /// The name.
        host: String,
        /// What went wrong.
        error: String,
    },
    /// The answer is larger than the limit.
    #[error("`{host}` answers with more than {limit} bytes")]
    TooLarge {
        /// The name.
        host: String,
        /// What is taken at most.
        limit: usize,
    },
}

impl EgressError {
    /// Whether a retry cannot help.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::BadUrl(_) | Self::Forbidden(_))
    }

    /// Whether the text cannot have arrived.
    pub fn is_unsent(&self) -> bool {
        matches!(
            self,
            Self::BadUrl(_)
                | Self::Forbidden(_)
                | Self::Unresolved { .. }
                | Self::Connect { .. }
                | Self::Unreachable { .. }
        )
    }
}
