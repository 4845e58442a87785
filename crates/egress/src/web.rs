//! Calls over HTTP to addresses that were checked, with and without TLS.

use std::{error::Error, io, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, StatusCode};
use reqwest::dns::{Addrs, Name, Resolving};

use crate::{EgressError, Resolve, Rules, SystemResolver, Target, lookup::addresses};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
const RESOLVE: Duration = Duration::from_secs(3);
/// How long an unused connection is kept: shorter than servers keep one (gunicorn 2 s; Node, uvicorn and Apache 5 s). A
/// call that meets the close on its way is one of which nobody knows what became of it.
const IDLE: Duration = Duration::from_millis(1500);

/// HTTP clients within rules. Cheap to clone; connections are kept and used again.
#[derive(Debug, Clone)]
pub struct Http {
    client: reqwest::Client,
    rules: Arc<Rules>,
}

/// The resolver that the client asks: there is no other way for it to learn an address, and what it learns was checked.
#[derive(Debug)]
struct Checked {
    rules: Arc<Rules>,
    resolver: Arc<dyn Resolve>,
}

impl reqwest::dns::Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (rules, resolver) = (self.rules.clone(), self.resolver.clone());
        Box::pin(async move {
            let target = Target::parse_web(&format!("http://{}", name.as_str()))?;
            rules.check_host(&target)?;
            let found = addresses(&rules, &*resolver, RESOLVE, &target).await?;
            // The client puts in the port of the address it was given.
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

    /// With a resolver of one's own.
    pub fn with(rules: Rules, resolver: Arc<dyn Resolve>) -> io::Result<Self> {
        Self::keeping(rules, resolver, IDLE)
    }

    /// The same, with how long an unused connection is kept.
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
            // A proxy would connect in our place, to wherever it likes.
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .dns_resolver(Arc::new(Checked { rules: rules.clone(), resolver }))
            .build()
            .map_err(io::Error::other)?;
        Ok(Self { client, rules })
    }

    /// The rules, for whoever wants to say no early. Every connection checks again.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Makes a call and returns when its headers are there. The body comes when it is asked for.
    pub async fn call(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
        patience: Duration,
    ) -> Result<Answer, EgressError> {
        let target = Target::parse_web(url)?;
        // Addresses that are written out are connected to without a lookup.
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

/// What went wrong; a refusal of ours comes back as what it is.
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

/// An answer whose body is still on its way.
#[derive(Debug)]
pub struct Answer {
    response: reqwest::Response,
    host: String,
}

impl Answer {
    /// Its status. A redirect is an answer like any other: it is never followed.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// Its headers.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The next piece of the body; nothing when it is whole.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, EgressError> {
        let chunk = self.response.chunk().await;
        chunk.map_err(|error| EgressError::BrokenOff { host: self.host.clone(), error: cause(&error) })
    }

    /// The whole body, if it is no larger than that and comes in time.
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
