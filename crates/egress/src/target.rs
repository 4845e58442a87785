//! A URL to call, parsed and checked before it is used.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Uri;

/// Longest address.
const LONGEST: usize = 2048;

/// Why a URL cannot be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadUrl {
    /// It is none.
    #[error("not an address such as `ws://localhost:8765` or `http://localhost:8080/`")]
    NotAUrl,
    /// The scheme is not supported.
    #[error("only `ws://` can be called back: TLS and other schemes are not supported")]
    Scheme,
    /// The scheme is not that of the web.
    #[error("only `http://` and `https://` can be called")]
    WebScheme,
    /// The URL has a user name or a password.
    #[error("an address with a user name or password in it is not called")]
    Userinfo,
    /// The URL has no port, and the scheme has no default one.
    #[error("the port is missing or zero")]
    Port,
}

/// Where to connect, as written. Nothing has been looked up yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    host: String,
    literal: Option<IpAddr>,
    port: u16,
    path: String,
}

impl Target {
    /// Reads a URL such as `ws://localhost:8765/path?query`. `http://` means the same.
    pub fn parse(url: &str) -> Result<Self, BadUrl> {
        Self::read(url, &[("ws", 80), ("http", 80)])
    }

    /// Reads a URL of the web, with or without TLS.
    pub fn parse_web(url: &str) -> Result<Self, BadUrl> {
        Self::read(url, &[("http", 80), ("https", 443)]).map_err(|wrong| match wrong {
            BadUrl::Scheme => BadUrl::WebScheme,
            other => other,
        })
    }

    /// Reads a URL of one of these schemes, each with its default port.
    fn read(url: &str, schemes: &[(&str, u16)]) -> Result<Self, BadUrl> {
        // The parser accepts characters that no URL has, and other parsers would see another host.
        if url.len() > LONGEST || url.bytes().any(|byte| byte <= b' ' || byte == b'\\' || byte >= 0x7f) {
            return Err(BadUrl::NotAUrl);
        }
        let uri: Uri = url.parse().map_err(|_| BadUrl::NotAUrl)?;
        let scheme = uri.scheme_str().ok_or(BadUrl::NotAUrl)?;
        let known = schemes.iter().find(|(name, _)| scheme.eq_ignore_ascii_case(name));
        let (_, usual) = known.ok_or(BadUrl::Scheme)?;
        let authority = uri.authority().ok_or(BadUrl::NotAUrl)?;
        if authority.as_str().contains('@') {
            return Err(BadUrl::Userinfo);
        }
        let host = authority.host().to_ascii_lowercase();
        // `host:` and `host:99999` have a colon and no port.
        let has_colon = authority.as_str().len() > host.len();
        let port = match (authority.port_u16(), has_colon) {
            (Some(port), _) if port > 0 => port,
            (None, false) => *usual,
            _ => return Err(BadUrl::Port),
        };
        let literal = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(inner) => Some(IpAddr::V6(inner.parse::<Ipv6Addr>().map_err(|_| BadUrl::NotAUrl)?)),
            None => host.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        };
        let name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if literal.is_none() && (host.is_empty() || !host.bytes().all(name)) {
            return Err(BadUrl::NotAUrl);
        }
        let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str).to_owned();
        Ok(Self { host, literal, port, path })
    }

    /// The host, in lower case; a literal IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The address, if the host is a literal one.
    pub fn literal(&self) -> Option<IpAddr> {
        self.literal
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The path and query, and the value of the `Host` header.
    pub(crate) fn uri(&self) -> String {
        format!("ws://{}:{}{}", self.host, self.port, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_apart() {
        let target = Target::parse("ws://LocalHost:8765/a?b=c").unwrap();
        assert_eq!((target.host(), target.port(), target.literal()), ("localhost", 8765, None));
        assert_eq!(target.uri(), "ws://localhost:8765/a?b=c");
        assert_eq!(Target::parse("http://127.0.0.1").unwrap().port(), 80);
        let six = Target::parse("ws://[::1]:9").unwrap();
        assert_eq!((six.literal(), six.port()), (Some(IpAddr::V6(Ipv6Addr::LOCALHOST)), 9));
    }

    #[test]
    fn what_is_no_plain_address_is_refused() {
        for (bad, why) in [
            ("", BadUrl::NotAUrl),
            ("localhost:80", BadUrl::NotAUrl),
            ("ws://", BadUrl::NotAUrl),
            ("/path", BadUrl::NotAUrl),
            ("ws://a b:1", BadUrl::NotAUrl),
            ("ws://localhost\\@evil.example:1", BadUrl::NotAUrl),
            ("ws://localhost:1/\r\nx: y", BadUrl::NotAUrl),
            ("ws://[::1%25eth0]:1", BadUrl::NotAUrl),
            ("ws://[not-six]:1", BadUrl::NotAUrl),
            ("wss://localhost:1", BadUrl::Scheme),
            ("file://localhost/etc/passwd", BadUrl::Scheme),
            ("gopher://localhost:1", BadUrl::Scheme),
            ("ws://ann:secret@localhost:1", BadUrl::Userinfo),
            ("ws://localhost@evil.example:1", BadUrl::Userinfo),
            ("ws://localhost:0", BadUrl::Port),
        ] {
            assert_eq!(Target::parse(bad), Err(why), "{bad}");
        }
        for bad in ["ws://localhost:99999", "ws://localhost:", "ws://localhost:x", "ws://ex\u{e4}mple:1"] {
            assert!(Target::parse(bad).is_err(), "{bad}");
        }
        assert!(Target::parse(&format!("ws://localhost:1/{}", "x".repeat(3000))).is_err());
    }
}
