//! A server under load: its address, keys and process.

use std::net::SocketAddr;

/// One server, baseline or subject.
#[derive(Debug, Clone)]
pub struct Target {
    /// Where it listens.
    pub addr: SocketAddr,
    /// An agent's key.
    pub agent: String,
    /// A reviewer's key.
    pub reviewer: String,
    /// Its process, for memory and processor time.
    pub pid: u32,
}
