//! Tickets: a call that a browser cannot sign, such as a WebSocket or a download, is announced by one that it signs. A ticket
//! works once, on any node, for one session and one purpose.

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
/// What is kept of a ticket that was used.
const KIND: &str = "ticket";

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

    /// Whether a text looks like a ticket at all.
    pub fn is_ticket(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// Uses a ticket up. False if it is not one of this session for this purpose, is over, or was used before.
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
        let note = NewNote {
            kind: KIND,
            key: BASE32_DNSSEC.encode(mac),
            owner: session.to_string(),
            scope: what.word().to_owned(),
            open: false,
            // Longer than it works, whatever the clocks of the nodes say.
            keep_until: expires_at.plus(LIVES),
            body: Arc::from("{}"),
        };
        if planted("tickets-work-twice") {
            return Ok(true);
        }
        let used = self.change_notes(vec![NoteChange::Put { note, expected: NoteExpected::Absent }]).await?;
        Ok(used.is_ok())
    }
}
