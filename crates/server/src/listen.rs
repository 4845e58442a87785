//! Where the server listens. A loopback address always means both of this machine's: 127.0.0.1 and [::1].
//!
//! Browsers take `http://localhost:PORT` to either address. A program that holds the other one would be the same origin
//! as Placet, so Placet takes both addresses or does not start.

use std::{
    future::poll_fn,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
    task::{Context, Poll},
};

use tokio::net::{TcpListener, TcpStream};

/// How often a free port is looked for that is free on both addresses.
const TRIES: usize = 64;

/// An address to listen on, such as `127.0.0.1:4000`, `[::1]:4000`, `localhost:4000` or `0.0.0.0:4000`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenAddress(SocketAddr);

/// A text that is no address to listen on.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is no address to listen on: write an address and a port, such as 127.0.0.1:4000 or localhost:4000"
)]
pub struct NoAddress(String);

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another program is in the way.
    #[error(
        "cannot listen on {taken}: another program has that address. Placet takes 127.0.0.1 and [::1] or does not start: browsers would take http://localhost:{} to either. Stop that program, or choose another port with --listen", taken.port()
    )]
    Taken {
        /// The address that is taken.
        taken: SocketAddr,
    },
    /// The address cannot be had for another reason.
    #[error("cannot listen on {address}: {source}")]
    Refused {
        /// Which one.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// No port is free on both addresses.
    #[error("cannot listen: none of {TRIES} free ports of {address} was free on {other} as well")]
    NoPort {
        /// The address that was asked for.
        address: IpAddr,
        /// The one that belongs to it.
        other: IpAddr,
    },
}

impl ListenError {
    /// Whether another program has the address, so that another port may work.
    pub fn is_taken(&self) -> bool {
        match self {
            Self::Taken { .. } | Self::NoPort { .. } => true,
            Self::Refused { source, .. } => source.kind() == io::ErrorKind::AddrInUse,
        }
    }
}

impl FromStr for ListenAddress {
    type Err = NoAddress;

    fn from_str(text: &str) -> Result<Self, NoAddress> {
        let named = text.rsplit_once(':').filter(|(host, _)| host.eq_ignore_ascii_case("localhost"));
        let address = match named {
            Some((_, port)) => port.parse().ok().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
            None => text.parse().ok(),
        };
        address.map(Self::from).ok_or_else(|| NoAddress(text.to_owned()))
    }
}

impl From<SocketAddr> for ListenAddress {
    fn from(address: SocketAddr) -> Self {
        // `::ffff:127.0.0.1` is 127.0.0.1, and is treated like it.
        match address.ip().to_canonical() {
            v4 @ IpAddr::V4(_) => Self(SocketAddr::from((v4, address.port()))),
            IpAddr::V6(_) => Self(address),
        }
    }
}

impl std::fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl ListenAddress {
    /// A port on both loopback addresses; any free one when zero.
    pub fn loopback(port: u16) -> Self {
        Self(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    }

    /// Whether only this machine can reach it.
    pub fn is_loopback(&self) -> bool {
        self.0.ip().is_loopback()
    }

    /// The address that `localhost` means as well, if this is one of the two. No name leads to 127.0.0.2 and its like.
    fn other(self) -> Option<IpAddr> {
        match self.0.ip() {
            IpAddr::V4(Ipv4Addr::LOCALHOST) => Some(Ipv6Addr::LOCALHOST.into()),
            IpAddr::V6(Ipv6Addr::LOCALHOST) => Some(Ipv4Addr::LOCALHOST.into()),
            _ => None,
        }
    }

    /// Listens there.
    pub async fn bind(self) -> Result<Listeners, ListenError> {
        let (bound, other) =
            bind_all(self, async |address| TcpListener::bind(address).await, TcpListener::local_addr).await?;
        Ok(Listeners { bound, other, turn: 0 })
    }
}

/// Binds the address and the one that belongs to it, at the same port.
async fn bind_all<L>(
    listen: ListenAddress,
    mut bind: impl AsyncFnMut(SocketAddr) -> io::Result<L>,
    local: impl Fn(&L) -> io::Result<SocketAddr>,
) -> Result<(L, Option<L>), ListenError> {
    let address = listen.0;
    let refused = |address: SocketAddr| {
        move |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse if listen.other().is_some() => ListenError::Taken { taken: address },
            _ => ListenError::Refused { address, source },
        }
    };
    let Some(other) = listen.other() else {
        return Ok((bind(address).await.map_err(refused(address))?, None));
    };
    // Ports that are free on one address only are held until the end, so that no try gets the same port again.
    let mut half = Vec::new();
    for _ in 0..TRIES {
        let bound = bind(address).await.map_err(refused(address))?;
        let port = local(&bound).map_err(refused(address))?.port();
        let other = SocketAddr::from((other, port));
        match bind(other).await {
            Ok(second) => return Ok((bound, Some(second))),
            Err(error) if is_missing(&error) => return Ok((bound, None)),
            Err(error) if address.port() == 0 && error.kind() == io::ErrorKind::AddrInUse => half.push(bound),
            Err(error) => return Err(refused(other)(error)),
        }
    }
    Err(ListenError::NoPort { address: address.ip(), other })
}

/// Whether this machine has no such address at all: then no other program can have it either.
fn is_missing(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let code = error.raw_os_error();
    [Errno::ADDRNOTAVAIL, Errno::AFNOSUPPORT].iter().any(|errno| code == Some(errno.raw_os_error()))
}

/// The one or two sockets of a server. Dropping them frees the addresses.
#[derive(Debug)]
pub struct Listeners {
    bound: TcpListener,
    other: Option<TcpListener>,
    // Which of the two is asked first, so that calls on one never keep those on the other waiting.
    turn: u8,
}

impl From<TcpListener> for Listeners {
    fn from(bound: TcpListener) -> Self {
        Self { bound, other: None, turn: 0 }
    }
}

impl Listeners {
    /// The address that was asked for, with its port.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.bound.local_addr()
    }

    /// The next connection on either.
    pub(crate) async fn accept(&mut self) -> io::Result<(TcpStream, SocketAddr)> {
        poll_fn(|cx| self.poll_accept(cx)).await
    }

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let Some(other) = &self.other else { return self.bound.poll_accept(cx) };
        self.turn ^= 1;
        let (first, second) = if self.turn == 0 { (&self.bound, other) } else { (other, &self.bound) };
        match first.poll_accept(cx) {
            Poll::Pending => second.poll_accept(cx),
            accepted @ Poll::Ready(_) => accepted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> ListenAddress {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    /// What a machine would say: sockets are plain addresses here.
    async fn on(
        listen: &str,
        mut says: impl FnMut(SocketAddr) -> io::Result<u16>,
    ) -> Result<(SocketAddr, Option<SocketAddr>), ListenError> {
        let bind = async |mut address: SocketAddr| {
            address.set_port(says(address)?);
            Ok(address)
        };
        bind_all(parsed(listen), bind, |bound| Ok(*bound)).await
    }

    fn errno(errno: rustix::io::Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.raw_os_error())
    }

    #[tokio::test]
    async fn every_way_to_write_loopback_means_both_addresses_and_others_mean_themselves() {
        for (text, first, second) in [
            ("127.0.0.1:7", "127.0.0.1:7", Some("[::1]:7")),
            ("[::1]:7", "[::1]:7", Some("127.0.0.1:7")),
            ("localhost:7", "127.0.0.1:7", Some("[::1]:7")),
            ("LOCALHOST:7", "127.0.0.1:7", Some("[::1]:7")),
            ("[::ffff:127.0.0.1]:7", "127.0.0.1:7", Some("[::1]:7")),
            ("127.0.0.2:7", "127.0.0.2:7", None),
            ("0.0.0.0:7", "0.0.0.0:7", None),
            ("[::]:7", "[::]:7", None),
            ("192.0.2.1:7", "192.0.2.1:7", None),
        ] {
            let (bound, other) = on(text, |address| Ok(address.port())).await.unwrap();
            assert_eq!(bound.to_string(), first, "{text}");
            assert_eq!(other.map(|other| other.to_string()).as_deref(), second, "{text}");
        }
        for text in ["", "localhost", "localhost:", "localhost:x", "example.com:7", "127.0.0.1", "7"] {
            let error = text.parse::<ListenAddress>().unwrap_err().to_string();
            assert!(error.contains("localhost:4000"), "{text}: {error}");
        }
    }

    #[tokio::test]
    async fn an_address_that_is_taken_is_named() {
        for taken in ["127.0.0.1:7", "[::1]:7"] {
            for listen in ["127.0.0.1:7", "[::1]:7", "localhost:7"] {
                let says = |address: SocketAddr| {
                    if address.to_string() == taken {
                        Err(errno(rustix::io::Errno::ADDRINUSE))
                    } else {
                        Ok(address.port())
                    }
                };
                let error = on(listen, says).await.unwrap_err();
                assert!(error.is_taken());
                assert!(error.to_string().contains(&format!("cannot listen on {taken}:")), "{error}");
            }
        }
    }

    #[tokio::test]
    async fn an_address_that_this_machine_does_not_have_is_not_needed() {
        for missing in [rustix::io::Errno::ADDRNOTAVAIL, rustix::io::Errno::AFNOSUPPORT] {
            let says = |address: SocketAddr| {
                if address.is_ipv6() { Err(errno(missing)) } else { Ok(address.port()) }
            };
            let (bound, other) = on("localhost:7", says).await.unwrap();
            assert_eq!((bound.to_string().as_str(), other), ("127.0.0.1:7", None));
            // The one that was asked for is needed.
            assert!(on("[::1]:7", says).await.is_err());
        }
        // Any other trouble is trouble.
        let denied = |address: SocketAddr| {
            if address.is_ipv6() { Err(errno(rustix::io::Errno::ACCESS)) } else { Ok(address.port()) }
        };
        let error = on("127.0.0.1:7", denied).await.unwrap_err().to_string();
        assert!(error.contains("[::1]:7"), "{error}");
    }

    #[tokio::test]
    async fn a_free_port_is_looked_for_until_it_is_free_on_both() {
        let mut next = 100;
        let says = |address: SocketAddr| match address.port() {
            0 => {
                next += 1;
                Ok(next)
            }
            port if port < 105 => Err(errno(rustix::io::Errno::ADDRINUSE)),
            port => Ok(port),
        };
        let (bound, other) = on("127.0.0.1:0", says).await.unwrap();
        assert_eq!(
            (bound.to_string().as_str(), other.unwrap().to_string().as_str()),
            ("127.0.0.1:105", "[::1]:105")
        );
        let never = |address: SocketAddr| {
            if address.is_ipv6() { Err(errno(rustix::io::Errno::ADDRINUSE)) } else { Ok(9) }
        };
        let error = on("127.0.0.1:0", never).await.unwrap_err();
        assert!(matches!(error, ListenError::NoPort { .. }), "{error}");
    }
}
