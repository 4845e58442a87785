//! What the addresses of a name are, looked up once and all of them checked.

use std::{
    future::Future,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
    time::Duration,
};

use tokio::time::timeout;

use crate::{EgressError, Rules, Target};

/// What the addresses of a name are.
pub type Resolved<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// How names are looked up; tests bring their own.
pub trait Resolve: std::fmt::Debug + Send + Sync {
    /// Every address of a name.
    fn resolve<'a>(&'a self, host: &'a str) -> Resolved<'a>;
}

/// The system's resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolved<'a> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Every address of the host, all of them checked. One bad one spoils them all: a name that leads to this machine and
/// somewhere else is a trap.
pub(crate) async fn addresses(
    rules: &Rules,
    resolver: &dyn Resolve,
    patience: Duration,
    target: &Target,
) -> Result<Vec<SocketAddr>, EgressError> {
    let found = match target.literal() {
        Some(address) => vec![address],
        // Agents listen on one of the two or on both. No resolver is asked what this machine is.
        None if target.host() == "localhost" => {
            vec![IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::LOCALHOST)]
        }
        None => {
            let wrong = |error| EgressError::Unresolved { host: target.host().to_owned(), error };
            let resolved = timeout(patience, resolver.resolve(target.host())).await;
            resolved.map_err(|_| wrong(io::ErrorKind::TimedOut.into()))?.map_err(wrong)?
        }
    };
    for address in &found {
        rules.check_address(target, *address)?;
    }
    Ok(found.into_iter().map(|address| SocketAddr::new(address, target.port())).collect())
}
