//! The client itself: where the server is, who is asking, and how long an outage may last.

use std::{fmt, time::Duration};

use reqwest::{
    Url,
    header::{AUTHORIZATION, HeaderMap, HeaderValue},
};

use crate::{Error, OnOutage};

/// The default address of a server.
pub const DEFAULT_URL: &str = "http://127.0.0.1:4000";

const CONNECT: Duration = Duration::from_secs(5);
const OUTAGE: Duration = Duration::from_secs(30);

/// A connection to one Placet server as one principal. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) base: Url,
    pub(crate) outage: Duration,
    pub(crate) on_outage: OnOutage,
    has_key: bool,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("url", &self.base.as_str()).finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the server at `url`. An empty token sends none, as agents of a `--dev` server do.
    pub fn new(url: &str, token: &str) -> Result<Self, Error> {
        let base = base(url)?;
        let http = build(&base, token)?;
        Ok(Self { http, base, outage: OUTAGE, on_outage: OnOutage::default(), has_key: !token.is_empty() })
    }

    /// A client of the server that `PLACET_URL` names (or the default) with the key in `PLACET_TOKEN`.
    pub fn from_env() -> Result<Self, Error> {
        let read = |name: &str| std::env::var(name).unwrap_or_default();
        let url = Some(read("PLACET_URL")).filter(|url| !url.is_empty());
        Self::new(url.as_deref().unwrap_or(DEFAULT_URL), &read("PLACET_TOKEN"))
    }

    /// How long a server may be away before a call fails. The default is 30 s; zero means a single attempt.
    #[must_use]
    pub fn with_outage_budget(mut self, budget: Duration) -> Self {
        self.outage = budget;
        self
    }

    /// Whether the key goes over a network without encryption: plain http to another machine.
    pub fn sends_key_in_the_clear(&self) -> bool {
        self.has_key && self.base.scheme() == "http" && !loopback(&self.base)
    }

    /// Where the server is.
    pub fn url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// The address of a path below the server's root. Paths are our own and need no escaping.
    pub(crate) fn at(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        url
    }
}

fn base(url: &str) -> Result<Url, Error> {
    let wrong = |reason: &str| {
        Error::Config(format!("`{}` is not the address of a server: {reason}", url.escape_debug()))
    };
    let base = Url::parse(url).map_err(|_| wrong("expected something like http://127.0.0.1:4000"))?;
    if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
        return Err(wrong("expected http:// or https:// and a host"));
    }
    if !base.username().is_empty() || base.password().is_some() {
        return Err(wrong("put the key into PLACET_TOKEN, not into the address"));
    }
    if base.query().is_some() || base.fragment().is_some() {
        return Err(wrong("it ends before any `?` or `#`"));
    }
    Ok(base)
}

/// The only place that builds an HTTP client: bounded connects, no redirects, the key on every call.
#[expect(clippy::disallowed_methods, reason = "this is the constructor that everybody else is sent to")]
fn build(base: &Url, token: &str) -> Result<reqwest::Client, Error> {
    let mut headers = HeaderMap::new();
    if !token.is_empty() {
        let mut bearer = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| Error::Config("the key in PLACET_TOKEN has characters no key has".to_owned()))?;
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
    }
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("placet/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .connect_timeout(CONNECT)
        .tcp_keepalive(Duration::from_secs(30))
        // A redirect would send the key, and the decision, to another host.
        .redirect(reqwest::redirect::Policy::none());
    if loopback(base) {
        builder = builder.no_proxy();
    }
    // Loading every certificate of the machine takes longer than most calls, and this connection is not encrypted.
    if base.scheme() == "http" && (loopback(base) || !proxied()) {
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| Error::Config(format!("no HTTP client: {error}")))
}

/// Whether a proxy may be between this client and the server.
fn proxied() -> bool {
    let names = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
    names.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Whether the server is on this machine, where no proxy is used.
fn loopback(base: &Url) -> bool {
    let host = base.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_cannot_be_meant_are_refused_by_name() {
        for bad in ["", "127.0.0.1:4000", "ftp://x", "http://u:p@x", "http://x/?a=b", "http://"] {
            assert!(matches!(Client::new(bad, ""), Err(Error::Config(_))), "{bad}");
        }
    }

    #[test]
    fn a_path_before_ours_is_kept() {
        let client = Client::new("https://example.com/placet/", "").unwrap();
        assert_eq!(client.at("/v1/requests").as_str(), "https://example.com/placet/v1/requests");
    }

    #[test]
    fn the_key_is_not_printed() {
        let client = Client::new(DEFAULT_URL, "plk_agent_secret").unwrap();
        assert!(!format!("{client:?}").contains("secret"));
    }

    #[test]
    fn a_key_over_plain_http_to_another_machine_is_noticed() {
        let clear = |url: &str, key: &str| Client::new(url, key).unwrap().sends_key_in_the_clear();
        assert!(clear("http://placet.example:4000", "k") && clear("http://10.0.0.1", "k"));
        assert!(!clear("http://placet.example", ""), "no key, nothing to lose");
        for safe in
            ["https://placet.example", "http://127.0.0.1:4000", "http://[::1]:4000", "http://localhost"]
        {
            assert!(!clear(safe, "k"), "{safe}");
        }
    }

    #[test]
    fn this_machine_is_recognised() {
        for here in ["http://127.0.0.1:1", "http://[::1]:1", "http://localhost"] {
            assert!(loopback(&base(here).unwrap()), "{here}");
        }
        assert!(!loopback(&base("http://10.0.0.1").unwrap()));
    }
}
