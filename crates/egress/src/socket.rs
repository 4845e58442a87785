//! Sending one text over a WebSocket to an address that was checked.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{self, Message, client::IntoClientRequest as _, protocol::WebSocketConfig},
};

use crate::{EgressError, Resolve, Rules, SystemResolver, Target, lookup::addresses};

/// The timeout of each step.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// To look up a name.
    pub resolve: Duration,
    /// To connect.
    pub connect: Duration,
    /// To shake hands.
    pub handshake: Duration,
    /// To write.
    pub write: Duration,
    /// Timeout for the other side to close, which confirms that it has read the text.
    pub close: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            resolve: Duration::from_secs(3),
            connect: Duration::from_secs(2),
            handshake: Duration::from_secs(3),
            write: Duration::from_secs(3),
            close: Duration::from_millis(500),
        }
    }
}

/// WebSocket clients that follow rules and limits. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sockets {
    rules: Arc<Rules>,
    limits: Limits,
    resolver: Arc<dyn Resolve>,
}

impl Sockets {
    /// With the system's resolver.
    pub fn new(rules: Rules) -> Self {
        Self::with(rules, Limits::default(), Arc::new(SystemResolver))
    }

    /// With other limits and another resolver.
    pub fn with(rules: Rules, limits: Limits, resolver: Arc<dyn Resolve>) -> Self {
        Self { rules: Arc::new(rules), limits, resolver }
    }

    /// The rules, for an early check. Every connection checks again.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Connects, sends one text, waits for the other side to close (with a timeout), and closes.
    pub async fn send_text(&self, url: &str, text: &str) -> Result<(), EgressError> {
        self.connect(url).await?.send_text(text).await
    }

    /// Connects and does the handshake. Tries each address of the host until one speaks WebSocket.
    pub async fn connect(&self, url: &str) -> Result<Connection, EgressError> {
        let target = Target::parse(url)?;
        self.rules.check_host(&target)?;
        let addresses = addresses(&self.rules, &*self.resolver, self.limits.resolve, &target).await?;
        let mut last = None;
        for address in addresses {
            match self.connect_to(address, &target).await {
                Ok(connection) => return Ok(connection),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| EgressError::Unresolved {
            host: target.host().to_owned(),
            error: io::Error::from(io::ErrorKind::NotFound),
        }))
    }

    /// One attempt at exactly this address.
    async fn connect_to(&self, address: SocketAddr, target: &Target) -> Result<Connection, EgressError> {
        let refused = |error| EgressError::Connect { address, error };
        let stream = timeout(self.limits.connect, TcpStream::connect(address)).await;
        let stream = stream.map_err(|_| refused(io::ErrorKind::TimedOut.into()))?.map_err(refused)?;
        let _ = stream.set_nodelay(true);
        let strange = |error: String| EgressError::Handshake { address, error };
        let request = target.uri().into_client_request().map_err(|error| strange(error.to_string()))?;
        // Nothing is expected from the other side but a close.
        let small =
            WebSocketConfig::default().max_message_size(Some(64 * 1024)).max_frame_size(Some(64 * 1024));
        let shaken =
            timeout(self.limits.handshake, client_async_with_config(request, stream, Some(small))).await;
        let (socket, _) = shaken
            .map_err(|_| strange("no answer in time".to_owned()))?
            .map_err(|error| strange(handshake(error)))?;
        Ok(Connection { socket, address, limits: self.limits })
    }
}

/// A connection to a checked address. Sends one text. Dropped without one, it closes.
#[derive(Debug)]
pub struct Connection {
    socket: WebSocketStream<TcpStream>,
    address: SocketAddr,
    limits: Limits,
}

impl Connection {
    /// Sends one text, waits for the other side to close (with a timeout), and closes. If this fails, the text may have arrived
    /// all the same.
    pub async fn send_text(mut self, text: &str) -> Result<(), EgressError> {
        let address = self.address;
        let broken = |error: String| EgressError::Broken { address, error };
        let sent = timeout(self.limits.write, self.socket.send(Message::text(text))).await;
        sent.map_err(|_| broken("not written in time".to_owned()))?
            .map_err(|error| broken(error.to_string()))?;
        self.closed().await.map_err(broken)
    }

    /// Closes without sending, so that the other side knows that nothing will come.
    pub async fn close(mut self) {
        let _ = timeout(self.limits.close, self.socket.close(None)).await;
    }

    /// Waits until the other side has closed, which confirms that it has read the text. Gives up after the timeout.
    async fn closed(self) -> Result<(), String> {
        let Self { mut socket, limits, .. } = self;
        let read = async {
            loop {
                match socket.next().await {
                    Some(Ok(Message::Close(_)) | Err(tungstenite::Error::ConnectionClosed)) => return Ok(()),
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Err(error.to_string()),
                    None => return Err("closed without an answer".to_owned()),
                }
            }
        };
        let done = timeout(limits.close, read).await.unwrap_or(Ok(()));
        // Closes, or answers the close, so that the other side ends cleanly too.
        let _ = timeout(limits.close, socket.close(None)).await;
        done
    }
}

/// The cause of a failure, without text from the other side.
fn handshake(error: tungstenite::Error) -> String {
    match error {
        tungstenite::Error::Http(response) => {
            format!("it answers with status {}", response.status().as_u16())
        }
        other => other.to_string(),
    }
}
