//! Calls over HTTP to addresses that were checked, with and without TLS.

use std::{error::Error, io, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, StatusCode};
use reqwest::dns::{Addrs, Name, Resolving};

use crate::{EgressError, Resolve, Rules, SystemResolver, Target, lookup::addresses};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
const RESOLVE: Duration = Duration::from_secs(3);
/// How long an unused connection is kept. Servers close theirs after 2 s (gunicorn) or 5 s (Node, uvicorn, Apache),
/// so ours is shorter. If the server closes the connection while we send, the outcome is unknown.
const IDLE: Duration = Duration::from_millis(1500);

/// An HTTP client that follows the rules. Cheap to clone; connections are reused.
#[derive(Debug, Clone)]
pub struct Http {
    client: reqwest::Client,
    rules: Arc<Rules>,
}

/// The resolver of the client. It is the only source of addresses, and returns checked ones only.
#[derive(Debug)]
struct CheckedResolver {
    rules: Arc<Rules>,
    resolver: Arc<dyn Resolve>,
}

impl reqwest::dns::Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (rules, resolver) = (self.rules.clone(), self.resolver.clone());
        Box::pin(async move {
            let target = Target::parse_web(&format!("http://{}", name.as_str()))?;
            rules.check_host(&target)?;
            let found = addresses(&rules, &*resolver, RESOLVE, &target).await?;
            // The client adds the port itself.
            let found = found.into_iter().map(|mut address| {
                address.set_port(0);
                address
            });
            Ok(Box::new(found) as Addrs)
        })
    }
}

impl Http {
    /// With the system's resolver.
    pub fn new(rules: Rules) -> io::Result<Self> {
        Self::with(rules, Arc::new(SystemResolver))
    }

    /// With another resolver.
    pub fn with(rules: Rules, resolver: Arc<dyn Resolve>) -> io::Result<Self> {
        Self::keeping(rules, resolver, IDLE)
    }

    /// With another limit for unused connections.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the other constructor: every call of it has limits of its own"
    )]
    pub fn keeping(rules: Rules, resolver: Arc<dyn Resolve>, idle: Duration) -> io::Result<Self> {
        let rules = Arc::new(rules);
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .pool_idle_timeout(idle)
            .tcp_nodelay(true)
            // A proxy would connect in our place, without our checks.
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .dns_resolver(Arc::new(CheckedResolver { rules: rules.clone(), resolver }))
            .build()
            .map_err(io::Error::other)?;
        Ok(Self { client, rules })
    }

    /// The rules, for an early check. Every connection checks again.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Makes a call and returns when the headers have arrived. The body is read on request.
    pub async fn call(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
        patience: Duration,
    ) -> Result<Answer, EgressError> {
        let target = Target::parse_web(url)?;
        // Literal addresses are connected to without a lookup.
        self.rules.check_host(&target)?;
        let host = target.host().to_owned();
        let sent = self.client.request(method, url).headers(headers).body(body).send();
        match tokio::time::timeout(patience, sent).await {
            Ok(Ok(response)) => Ok(Answer { response, host }),
            Ok(Err(error)) => Err(wrong(error, host)),
            Err(_) => Err(EgressError::BrokenOff { host, error: "no answer in time".to_owned() }),
        }
    }
}

/// The cause of a failure. One of our own refusals keeps its type.
fn wrong(error: reqwest::Error, host: String) -> EgressError {
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    let mut last = String::new();
    while let Some(inner) = cause {
        if let Some(EgressError::Forbidden(why)) = inner.downcast_ref() {
            return EgressError::Forbidden(why.clone());
        }
        if let Some(why) = inner.downcast_ref::<crate::Forbidden>() {
            return EgressError::Forbidden(why.clone());
        }
        last = inner.to_string();
        cause = inner.source();
    }
    if error.is_connect() {
        EgressError::Unreachable { host, error: last }
    } else {
        EgressError::BrokenOff { host, error: last }
    }
}

/// An answer whose body has not been read yet.
#[derive(Debug)]
pub struct Answer {
    response: reqwest::Response,
    host: String,
}

impl Answer {
    /// The status. A redirect is an answer like any other: it is never followed.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// Its headers.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The next piece of the body. None at the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, EgressError> {
        let chunk = self.response.chunk().await;
        chunk.map_err(|error| EgressError::BrokenOff { host: self.host.clone(), error: cause(&error) })
    }

    /// The whole body, if it is within the limit and in time.
    pub async fn whole(mut self, limit: usize, patience: Duration) -> Result<Bytes, EgressError> {
        let host = self.host.clone();
        let read = async {
            let mut whole = BytesMut::new();
            while let Some(chunk) = self.chunk().await? {
                if whole.len() + chunk.len() > limit {
                    return Err(EgressError::TooLarge { host: self.host.clone(), limit });
                }
                whole.extend_from_slice(&chunk);
            }
            Ok(whole.freeze())
        };
        let late = |_| EgressError::BrokenOff { host, error: "not whole in time".to_owned() };
        tokio::time::timeout(patience, read).await.map_err(late)?
    }
}

fn cause(error: &reqwest::Error) -> String {
    let mut inner: &dyn Error = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    inner.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_connections_are_dropped_before_the_quickest_server_drops_them() {
        assert!(IDLE < Duration::from_secs(2), "gunicorn keeps a connection for 2 s");
    }
}
