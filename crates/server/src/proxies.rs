//! Who really calls when a proxy is in between: trusted proxies by configuration, and one header.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, HeaderName, header};
use ipnet::IpNet;

/// The header in which proxies say for whom they call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProxyHeader {
    /// `Forwarded`, RFC 7239.
    Forwarded,
    /// `X-Forwarded-For`.
    #[default]
    XForwardedFor,
}

/// The proxies whose word is taken, and where they say it.
#[derive(Debug, Clone, Default)]
pub struct Proxies {
    networks: Vec<IpNet>,
    header: ProxyHeader,
}

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadProxies {
    /// Not a network.
    #[error("`{0}` is no address and no network: write 10.0.0.7 or 10.0.0.0/8")]
    NoNetwork(String),
    /// Bits after the prefix: which network is meant?
    #[error("`{written}` has bits after its prefix: write {meant} for the network, or the address alone")]
    Bits {
        /// As it was written.
        written: String,
        /// The network.
        meant: IpNet,
    },
    /// Everybody.
    #[error("`{0}` trusts every caller to say who they are: list the addresses of the proxies")]
    Everybody(String),
    /// Not a header that is known.
    #[error("`{0}` is no header of proxies: write \"forwarded\" or \"x-forwarded-for\"")]
    NoHeader(String),
}

impl std::str::FromStr for ProxyHeader {
    type Err = BadProxies;

    fn from_str(text: &str) -> Result<Self, BadProxies> {
        match text.to_ascii_lowercase().as_str() {
            "forwarded" => Ok(Self::Forwarded),
            "x-forwarded-for" => Ok(Self::XForwardedFor),
            _ => Err(BadProxies::NoHeader(text.to_owned())),
        }
    }
}

impl Proxies {
    /// These networks, such as `10.0.0.0/8` or `127.0.0.1`, and the header they all use.
    pub fn new<'a>(
        networks: impl IntoIterator<Item = &'a str>,
        header: ProxyHeader,
    ) -> Result<Self, BadProxies> {
        let networks = networks.into_iter().map(network).collect::<Result<_, _>>()?;
        Ok(Self { networks, header })
    }

    /// Whether a connection from here is a trusted proxy's.
    pub fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.contains(&address))
    }

    /// Who calls: the other end of the connection, or whoever its proxies say, read from the right to the first address
    /// that is not one of theirs.
    pub(crate) fn client(&self, peer: SocketAddr, headers: &HeaderMap) -> IpAddr {
        let mut address = peer.ip().to_canonical();
        if !self.trusts(address) {
            return address;
        }
        let name = match self.header {
            ProxyHeader::Forwarded => header::FORWARDED,
            ProxyHeader::XForwardedFor => HeaderName::from_static("x-forwarded-for"),
        };
        for line in headers.get_all(name).iter().rev() {
            // What cannot be read was not written by a proxy of ours, and nothing left of it counts.
            let Ok(line) = line.to_str() else { return address };
            for element in elements(line).into_iter().rev() {
                let Some(next) = self.named(element) else { return address };
                address = next;
                if !self.trusts(address) {
                    return address;
                }
            }
        }
        address
    }

    fn named(&self, element: &str) -> Option<IpAddr> {
        match self.header {
            ProxyHeader::XForwardedFor => node(element),
            ProxyHeader::Forwarded => {
                let mut pairs = element.split(';').filter_map(|pair| pair.trim().split_once('='));
                let mut named = pairs.by_ref().filter(|(name, _)| name.trim().eq_ignore_ascii_case("for"));
                let (Some((_, value)), None) = (named.next(), named.next()) else { return None };
                node(value)
            }
        }
    }
}

/// The parts between commas, except for those inside quotation marks.
fn elements(line: &str) -> Vec<&str> {
    let mut quoted = false;
    line.split(|letter| {
        quoted ^= letter == '"';
        letter == ',' && !quoted
    })
    .map(str::trim)
    .filter(|element| !element.is_empty())
    .collect()
}

/// `192.0.2.1`, `192.0.2.1:47011`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:47011`, in quotation marks or not.
fn node(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse::<IpAddr>().ok();
    address.or_else(|| Some(text.parse::<SocketAddr>().ok()?.ip())).map(|address| address.to_canonical())
}

fn network(text: &str) -> Result<IpNet, BadProxies> {
    let address = text.parse::<IpAddr>().map(IpNet::from);
    let network: IpNet =
        address.or_else(|_| text.parse()).map_err(|_| BadProxies::NoNetwork(text.to_owned()))?;
    if network.trunc() != network {
        return Err(BadProxies::Bits { written: text.to_owned(), meant: network.trunc() });
    }
    if network.prefix_len() == 0 {
        return Err(BadProxies::Everybody(text.to_owned()));
    }
    Ok(network)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn client(header: ProxyHeader, peer: &str, lines: &[(&'static str, &str)]) -> String {
        let proxies = Proxies::new(["10.0.0.0/8", "127.0.0.1", "2001:db8::/32"], header).unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        proxies.client(SocketAddr::new(peer.parse().unwrap(), 47_011), &headers).to_string()
    }

    #[test]
    fn the_first_address_from_the_right_that_is_no_proxy_calls() {
        let xff = |value: &str| client(ProxyHeader::XForwardedFor, "10.0.0.1", &[("x-forwarded-for", value)]);
        for (value, calls) in [
            ("203.0.113.7", "203.0.113.7"),
            ("198.51.100.1, 203.0.113.7", "203.0.113.7"),
            ("127.0.0.1, 203.0.113.7, 10.2.3.4", "203.0.113.7"),
            ("203.0.113.7:4711", "203.0.113.7"),
            ("2a00::7", "2a00::7"),
            ("[2a00::7]:4711", "2a00::7"),
            ("::ffff:203.0.113.7", "203.0.113.7"),
            ("2a00::7, 2001:db8::1,10.9.9.9", "2a00::7"),
            // All of them proxies: the outermost one calls for itself.
            ("10.9.9.9, 10.8.8.8", "10.9.9.9"),
            // Nothing that can be read: the proxy itself counts.
            ("", "10.0.0.1"),
            ("unknown", "10.0.0.1"),
            ("203.0.113.7, nonsense", "10.0.0.1"),
            ("203.0.113.7, unknown, 10.2.3.4", "10.2.3.4"),
        ] {
            assert_eq!(xff(value), calls, "{value}");
        }
        let forwarded = |value: &str| client(ProxyHeader::Forwarded, "127.0.0.1", &[("forwarded", value)]);
        for (value, calls) in [
            ("for=203.0.113.7", "203.0.113.7"),
            ("for=198.51.100.1, For=\"203.0.113.7:80\";proto=https;by=10.0.0.1", "203.0.113.7"),
            ("for=\"[2a00::7]:4711\"", "2a00::7"),
            ("proto=https;for=203.0.113.7, for=10.1.1.1", "203.0.113.7"),
            ("for=_hidden", "127.0.0.1"),
            ("for=203.0.113.7;for=127.0.0.1", "127.0.0.1"),
            ("proto=https", "127.0.0.1"),
        ] {
            assert_eq!(forwarded(value), calls, "{value}");
        }
    }

    #[test]
    fn several_lines_are_one_list() {
        let lines = [("x-forwarded-for", "198.51.100.1"), ("x-forwarded-for", "203.0.113.7, 10.1.1.1")];
        assert_eq!(client(ProxyHeader::XForwardedFor, "10.0.0.1", &lines), "203.0.113.7");
    }

    #[test]
    fn nobody_else_and_no_other_header_is_believed() {
        let lines = [("x-forwarded-for", "127.0.0.1"), ("forwarded", "for=127.0.0.1")];
        for header in [ProxyHeader::Forwarded, ProxyHeader::XForwardedFor] {
            assert_eq!(client(header, "203.0.113.9", &lines), "203.0.113.9");
            assert_eq!(client(header, "::ffff:203.0.113.9", &lines), "203.0.113.9");
        }
        let other = [("forwarded", "for=203.0.113.7")];
        assert_eq!(client(ProxyHeader::XForwardedFor, "10.0.0.1", &other), "10.0.0.1");
        assert_eq!(
            client(ProxyHeader::XForwardedFor, "::ffff:10.0.0.1", &[("x-forwarded-for", "203.0.113.7")]),
            "203.0.113.7"
        );
    }

    #[test]
    fn networks_that_make_no_sense_are_refused_with_what_to_write() {
        for (text, word) in [
            ("10.0.0.1/8", "10.0.0.0/8"),
            ("10.0.0.0/33", "10.0.0.0/33"),
            ("example.com", "example.com"),
            ("", "10.0.0.7"),
            ("0.0.0.0/0", "every caller"),
            ("::/0", "every caller"),
        ] {
            let error = Proxies::new([text], ProxyHeader::default()).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
        assert!("via".parse::<ProxyHeader>().unwrap_err().to_string().contains("x-forwarded-for"));
        assert_eq!("X-Forwarded-For".parse::<ProxyHeader>().unwrap(), ProxyHeader::XForwardedFor);
    }
}
