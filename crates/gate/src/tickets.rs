//! Tickets: a browser cannot sign some calls, such as a WebSocket or a download, so it announces them with a signed
//! call. A ticket works once, on any node, for one session and one purpose.

use std::{sync::Arc, time::Duration};

use data_encoding::BASE32_DNSSEC;
use placet_core::{SessionId, Time};
use placet_store::{NewNote, NoteChange, NoteExpected, planted};
use subtle::ConstantTimeEq as _;

use crate::{Gate, GateError, permit::keyed};

/// How long a ticket works.
const LIVES: Duration = Duration::from_secs(30);
/// How every ticket begins.
const PREFIX: &str = "plt_";
/// How long a signature is remembered: two lifetimes of a nonce, plus one.
const PROOF_LIVES: Duration = Duration::from_mins(15);

/// What a ticket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TicketFor {
    /// A WebSocket.
    Stream,
    /// A download.
    Export,
}

impl TicketFor {
    fn word(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Export => "export",
        }
    }
}

/// A ticket that was just made.
#[derive(Debug, Clone)]
pub struct Ticket {
    /// The ticket.
    pub text: String,
    /// Until when it works.
    pub expires_at: Time,
}

impl Gate {
    /// Makes a ticket for a session.
    pub fn ticket(&self, session: SessionId, what: TicketFor) -> Ticket {
        let expires_at = self.now().plus(LIVES);
        let mut bytes = [0_u8; 34];
        bytes[..8].copy_from_slice(&expires_at.micros().to_be_bytes());
        self.entropy.fill(&mut bytes[8..18]);
        let mac = self.ticket_mac(session, what, &bytes[..18]);
        bytes[18..].copy_from_slice(&mac);
        Ticket { text: format!("{PREFIX}{}", BASE32_DNSSEC.encode(&bytes)), expires_at }
    }

    fn ticket_mac(&self, session: SessionId, what: TicketFor, said: &[u8]) -> [u8; 16] {
        let parts: [&[u8]; 3] = [session.as_bytes(), what.word().as_bytes(), said];
        let mac = keyed(&self.store.secret(), "placet/ticket/v1", &parts);
        std::array::from_fn(|index| mac[index])
    }

    /// Whether a text has the form of a ticket.
    pub fn is_ticket(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// Uses a ticket up. False if it is for another session or purpose, has expired, or was used before.
    pub async fn use_ticket(
        &self,
        session: SessionId,
        what: TicketFor,
        text: &str,
    ) -> Result<bool, GateError> {
        let bytes = text.strip_prefix(PREFIX).and_then(|text| BASE32_DNSSEC.decode(text.as_bytes()).ok());
        let Some(bytes): Option<[u8; 34]> = bytes.and_then(|bytes| bytes.try_into().ok()) else {
            return Ok(false);
        };
        let (said, mac) = bytes.split_at(18);
        let fits: bool = self.ticket_mac(session, what, said).ct_eq(mac).into();
        let expires_at =
            said.first_chunk().map_or(Time::default(), |at| Time::from_micros(i64::from_be_bytes(*at)));
        if !fits || self.now() >= expires_at {
            return Ok(false);
        }
        if planted("tickets-work-twice") {
            return Ok(true);
        }
        self.first_time("ticket", mac, session, "", expires_at.plus(LIVES)).await
    }

    /// Whether a signature is new: a copy of a signed call must not repeat what was undone since. A call that uses
    /// its signature as idempotency key (`keyed`) may come again.
    pub async fn use_proof(&self, session: SessionId, proof: &[u8], keyed: bool) -> Result<bool, GateError> {
        if planted("proofs-work-twice") {
            return Ok(true);
        }
        let scope = if keyed { "keyed" } else { "" };
        if self.first_time("proof", proof, session, scope, self.now().plus(PROOF_LIVES)).await? {
            return Ok(true);
        }
        // A copy. The first call was answered under the same key.
        let first = self.note("proof", &name(session, proof)).await?;
        Ok(keyed && first.is_some_and(|first| first.scope == scope))
    }

    /// Remembers something for at least as long as it works, whatever the clocks of the nodes say. False if it is
    /// known already.
    async fn first_time(
        &self,
        kind: &'static str,
        what: &[u8],
        session: SessionId,
        scope: &str,
        keep_until: Time,
    ) -> Result<bool, GateError> {
        let note = NewNote {
            kind,
            key: name(session, what),
            owner: session.to_string(),
            scope: scope.to_owned(),
            open: false,
            keep_until,
            body: Arc::from("{}"),
        };
        let used = self.change_notes(vec![NoteChange::Put { note, expected: NoteExpected::Absent }]).await?;
        Ok(used.is_ok())
    }
}

fn name(session: SessionId, what: &[u8]) -> String {
    format!("{session}/{}", BASE32_DNSSEC.encode(what))
}
