//! Resolves a name once, and checks all its addresses.

use std::{
    future::Future,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
    time::Duration,
};

use tokio::time::timeout;

use crate::{EgressError, Rules, Target};

/// The addresses of a name, when they are known.
pub type ResolveFuture<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Resolves names. Tests use their own resolver.
pub trait Resolve: std::fmt::Debug + Send + Sync {
    /// Every address of a name.
    fn resolve<'a>(&'a self, host: &'a str) -> ResolveFuture<'a>;
}

/// The system's resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> ResolveFuture<'a> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Every address of the host, all of them checked. One forbidden address refuses all of them: a name that leads to
/// this machine and elsewhere is not trusted.
pub(crate) async fn addresses(
    rules: &Rules,
    resolver: &dyn Resolve,
    patience: Duration,
    target: &Target,
) -> Result<Vec<SocketAddr>, EgressError> {
    let found = match target.literal() {
        Some(address) => vec![address],
        // Agents listen on IPv4, IPv6 or both. `localhost` is never looked up.
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
