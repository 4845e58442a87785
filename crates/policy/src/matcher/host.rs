//! The host of an http or https URL, compared exactly; a URL that two programs could read differently is an error.

use crate::work::{Trouble, WorkBudget};

/// Longest URL, in bytes.
const LONGEST: usize = 8192;

/// Hosts, and `*.` domains whose subdomains count.
#[derive(Debug)]
pub(crate) struct Hosts {
    exact: Vec<Box<str>>,
    /// With the leading dot.
    below: Vec<Box<str>>,
}

impl Hosts {
    pub(crate) fn new<'t>(hosts: impl Iterator<Item = &'t str>) -> Result<Self, &'static str> {
        let mut list = Self { exact: Vec::new(), below: Vec::new() };
        for text in hosts {
            let (domain, below) = text.strip_prefix("*.").map_or((text, false), |domain| (domain, true));
            let domain = host(domain)?;
            if below && !domain.contains('.') {
                return Err("a `*.` pattern needs a domain of at least two labels");
            }
            if below && is_number(&domain) {
                return Err("an address has no subdomains");
            }
            if below { list.below.push(format!(".{domain}").into()) } else { list.exact.push(domain.into()) }
        }
        Ok(list)
    }

    pub(crate) fn hold(&self, url: &str, work: &WorkBudget<'_>) -> Result<bool, Trouble> {
        work.spend(
            url.len()
                .min(LONGEST)
                .saturating_mul(2)
                .saturating_add(self.exact.len().saturating_add(self.below.len()).saturating_mul(4)),
        )?;
        let host = host_of(url).map_err(Trouble::Doubtful)?;
        Ok(self.exact.iter().any(|exact| **exact == *host)
            || self.below.iter().any(|below| host.len() > below.len() && host.ends_with(&**below)))
    }
}

/// The host of a URL that every reader takes apart in the same way.
pub fn host_of(url: &str) -> Result<String, &'static str> {
    if url.len() > LONGEST {
        return Err("the URL is longer than 8 KiB");
    }
    if url.chars().any(|letter| letter.is_control() || letter.is_whitespace() || letter == '\\') {
        return Err("the URL holds a space, a control character or a backslash");
    }
    let (scheme, rest) = url.split_once("://").ok_or("it is not a URL with `://`")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err("the URL is neither http nor https");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    if authority.contains('@') {
        return Err("the URL holds a user name");
    }
    let (name, port) = authority.split_once(':').map_or((authority, None), |(name, port)| (name, Some(port)));
    if port.is_some_and(|port| port.len() > 5 || !port.bytes().all(|byte| byte.is_ascii_digit())) {
        return Err("the URL's port is not a number");
    }
    host(name)
}

/// A host name or address in the one form that is compared: lower case, without the root's dot.
fn host(name: &str) -> Result<String, &'static str> {
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() || name.len() > 253 {
        return Err("the host is empty or longer than 253 characters");
    }
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)) {
        return Err("the host holds a character that is not a-z, 0-9, `.`, `-` or `_`");
    }
    if name.split('.').any(|label| label.is_empty() || label.len() > 63) {
        return Err("the host has an empty or overlong label");
    }
    let name = name.to_ascii_lowercase();
    if is_number(&name) && !is_dotted_quad(&name) {
        return Err("the host is an address in an unusual notation");
    }
    Ok(name)
}

/// Whether some readers would take it for an IPv4 address: its last label is a number, in any notation.
fn is_number(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or(host);
    last.bytes().all(|byte| byte.is_ascii_digit())
        || last.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn is_dotted_quad(host: &str) -> bool {
    let parts = host.split('.').filter(|part| {
        (*part == "0" || !part.starts_with('0')) && part.len() <= 3 && part.parse::<u8>().is_ok()
    });
    parts.count() == 4 && host.split('.').count() == 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> Hosts {
        Hosts::new(["example.com", "*.good.org", "10.0.0.1"].into_iter()).unwrap()
    }

    fn hold(url: &str) -> Result<bool, Trouble> {
        hosts().hold(url, &WorkBudget::new())
    }

    #[test]
    fn a_host_is_compared_whole_and_without_regard_to_case() {
        for url in [
            "https://example.com",
            "https://EXAMPLE.com/x?y#z",
            "http://example.com:8080/",
            "https://example.com./x",
            "https://a.good.org",
            "https://a.b.GOOD.org/",
            "https://10.0.0.1/",
            "https://example.com?x=https://evil.com",
            "https://example.com#@evil.com",
        ] {
            assert_eq!(hold(url), Ok(true), "{url}");
        }
        for url in [
            "https://example.com.evil.com",
            "https://evilexample.com",
            "https://good.org",
            "https://xgood.org",
            "https://evil.com/example.com",
            "https://10.0.0.10/",
            "https://sub.example.com",
        ] {
            assert_eq!(hold(url), Ok(false), "{url}");
        }
    }

    #[test]
    fn no_url_trick_reaches_a_listed_host() {
        for url in [
            "https://example.com@evil.com",
            "https://example.com:pw@evil.com/",
            "https://evil.com\\@example.com",
            "https://example.com\\.evil.com",
            "//example.com",
            "https:/example.com",
            "https:example.com",
            "https:///example.com",
            "example.com",
            "ftp://example.com",
            "file://example.com/x",
            "javascript://example.com/%0aalert(1)",
            "https://example%2ecom",
            "https://example.com%00.evil.com",
            "https://еxample.com",
            "https://example。com",
            "https://example.com\t.evil.com",
            "https://exa\nmple.com",
            " https://example.com",
            "https://example.com ",
            "https://0x0a.0.0.1",
            "https://167772161",
            "https://012.0.0.1",
            "https://10.1",
            "https://0xa000001",
            "https://10.0.0.1.",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://example.com:80:80/",
            "https://example.com:/x:y@evil",
            "https://..",
            "https://example..com",
            "https://",
            "",
            "https://10.0.0.01",
            "https://example.com:٨٠",
            "https://ｅxample.com",
            "https://10.0.0.0x1",
            "data:text/html,https://example.com",
            "https://example.com,evil.com/",
            "https://example.com;evil.com",
            "HTTPS ://example.com",
        ] {
            let said = hold(url);
            let harmless = ["https://10.0.0.1.", "https://example.com:/x:y@evil"].contains(&url);
            assert!(said.is_err() || harmless, "{url:?} gave {said:?}");
        }
        // A trailing dot and an empty port name the same host for every reader.
        assert_eq!(hold("https://10.0.0.1."), Ok(true));
    }

    #[test]
    fn the_error_says_what_is_doubtful_about_a_url() {
        for (url, why) in [
            ("https://a@example.com", "user name"),
            ("ftp://example.com", "neither http"),
            ("https://0x1", "notation"),
            ("https://a b", "space"),
        ] {
            assert!(hold(url).unwrap_err().to_string().contains(why), "{url}");
        }
    }

    #[test]
    fn a_host_list_is_checked_when_it_is_read() {
        for bad in [
            "*.com",
            "https://example.com",
            "exa mple.com",
            "",
            "*",
            "*.*.com",
            "a*.com",
            "*.10.0.0.1",
            "010.0.0.1",
            "bücher.de",
            "example.com:443",
        ] {
            assert!(Hosts::new([bad].into_iter()).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_parts_of_a_url_have_longest_forms() {
        let path = |length: usize| {
            let start = "https://example.com/";
            format!("{start}{}", "x".repeat(length - start.len()))
        };
        assert_eq!(host_of(&path(LONGEST)).as_deref(), Ok("example.com"));
        assert_eq!(host_of(&path(LONGEST + 1)), Err("the URL is longer than 8 KiB"));
        assert_eq!(host_of(&path(LONGEST * 2)), Err("the URL is longer than 8 KiB"));

        assert!(host_of("https://example.com:12345/").is_ok());
        assert_eq!(host_of("https://example.com:123456/"), Err("the URL's port is not a number"));
        assert_eq!(host_of("https://example.com:1234567/"), Err("the URL's port is not a number"));

        let label = |length: usize| format!("https://{}.org", "a".repeat(length));
        assert!(host_of(&label(63)).is_ok());
        assert_eq!(host_of(&label(64)), Err("the host has an empty or overlong label"));
        assert_eq!(host_of(&label(65)), Err("the host has an empty or overlong label"));

        // Labels of 50 letters and a dot, then what is left.
        let name = |length: usize| {
            let many = format!("{}.", "a".repeat(50)).repeat(4);
            format!("https://{many}{}", "b".repeat(length - many.len()))
        };
        assert_eq!(host_of(&name(253)).map(|host| host.len()), Ok(253));
        let long = Err("the host is empty or longer than 253 characters");
        assert_eq!(host_of(&name(254)), long);
        assert_eq!(host_of(&name(260)), long);
        assert_eq!(host_of("https:///x"), long);
    }

    #[test]
    fn a_name_needs_a_label_below_a_domain() {
        assert_eq!(hold("https://x.good.org"), Ok(true));
        assert!(hold("https://.good.org").is_err());
    }
}
