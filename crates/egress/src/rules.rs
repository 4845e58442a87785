//! Which addresses may be connected to. Plain functions over plain addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Target;

/// Why an address is not connected to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    /// The host is neither this machine nor on the list.
    #[error("`{0}` is neither this machine nor listed in `doors.callback_hosts`")]
    Host(String),
    /// The address is never allowed, or is not one of this machine.
    #[error("`{host}` is {address}, and connections to that address are not allowed")]
    Address {
        /// The name that was asked for.
        host: String,
        /// What it is.
        address: IpAddr,
    },
}

/// Who may be called: this machine, and hosts that an admin listed.
#[derive(Debug, Clone)]
pub struct Rules {
    hosts: Vec<String>,
    /// Whether this machine may be called without being listed.
    own: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self { hosts: Vec::new(), own: true }
    }
}

impl Rules {
    /// This machine, and these hosts: names or literal addresses, without ports.
    pub fn new(hosts: impl IntoIterator<Item = String>) -> Self {
        Self { hosts: hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect(), own: true }
    }

    /// These hosts and no others: this machine only if it is one of them.
    pub fn listed_only(hosts: impl IntoIterator<Item = String>) -> Self {
        Self { own: false, ..Self::new(hosts) }
    }

    fn listed(&self, host: &str) -> bool {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        self.hosts.iter().any(|listed| listed == host || listed == bare)
    }

    /// Whether this host may be called at all. The addresses are checked separately.
    pub fn check_host(&self, target: &Target) -> Result<(), Forbidden> {
        let host = target.host();
        match target.literal() {
            Some(address) => self.check_address(target, address),
            None if self.listed(host) || (self.own && host == "localhost") => Ok(()),
            None => Err(Forbidden::Host(host.to_owned())),
        }
    }

    /// Whether this address of the host may be connected to.
    pub fn check_address(&self, target: &Target, address: IpAddr) -> Result<(), Forbidden> {
        let host = target.host();
        let allowed = if self.listed(host) { !never(address) } else { self.own && own(address) };
        if allowed {
            return Ok(());
        }
        Err(Forbidden::Address { host: host.to_owned(), address })
    }
}

/// The IPv4 address inside the IPv6 forms that can hold one.
fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address else { return address };
    if let Some(four) = six.to_ipv4_mapped() {
        return IpAddr::V4(four);
    }
    let segments = six.segments();
    let last = || Ipv4Addr::from_bits((u32::from(segments[6]) << 16) | u32::from(segments[7]));
    match segments {
        // NAT64, and the old form of embedding; `::1` and `::` are themselves.
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => IpAddr::V4(last()),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 || low > 1 => IpAddr::V4(last()),
        // 6to4 carries the address in the middle.
        [0x2002, high, low, ..] => IpAddr::V4(Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low))),
        _ => address,
    }
}

/// This machine itself, written plainly. Other spellings have no honest use.
fn own(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => four.is_loopback(),
        IpAddr::V6(six) => six == Ipv6Addr::LOCALHOST,
    }
}

/// Addresses that no list can allow: link-local, where clouds keep credentials; unspecified; broadcast and multicast.
fn never(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(four) => {
            let [first, second, third, _] = four.octets();
            four.is_link_local()
                || four.is_unspecified()
                || four.is_multicast()
                || four.is_broadcast()
                || first == 0
                || first >= 240
                // Metadata of some clouds lives in the shared address space.
                || (first == 100 && second == 100 && third == 100)
        }
        IpAddr::V6(six) => {
            let [first, ..] = six.segments();
            six.is_unspecified()
                || six.is_multicast()
                || (first & 0xffc0) == 0xfe80
                // Metadata of a large cloud.
                || six.segments()[..3] == [0xfd00, 0x0ec2, 0]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn target(host: &str) -> Target {
        Target::parse(&format!("ws://{host}:8765")).unwrap()
    }

    #[test]
    fn without_a_list_only_this_machine_is_called() {
        let rules = Rules::default();
        for good in ["localhost", "127.0.0.1", "127.8.8.8", "[::1]"] {
            assert_eq!(rules.check_host(&target(good)), Ok(()), "{good}");
        }
        for bad in [
            "10.0.0.1",
            "192.168.1.1",
            "172.16.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "8.8.8.8",
            "255.255.255.255",
            "224.0.0.1",
            "[::]",
            "[::2]",
            "[fe80::1]",
            "[fd00:ec2::254]",
            "[fc00::1]",
            "[2001:db8::1]",
            // Other spellings of this machine and of the metadata service.
            "[::ffff:127.0.0.1]",
            "[::ffff:169.254.169.254]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "[::7f00:1]",
        ] {
            assert!(matches!(rules.check_host(&target(bad)), Err(Forbidden::Address { .. })), "{bad}");
        }
        for bad in [
            "evil.example",
            "localhost.evil.example",
            "2130706433",
            "0x7f.1",
            "127.1",
            "localhost.",
            "metadata",
        ] {
            assert!(matches!(rules.check_host(&target(bad)), Err(Forbidden::Host(_))), "{bad}");
        }
    }

    #[test]
    fn a_listed_host_may_be_elsewhere_but_never_where_credentials_are() {
        let rules =
            Rules::new(["Agents.Example".to_owned(), "10.0.0.9".to_owned(), "2001:db8::2".to_owned()]);
        let listed = target("agents.example");
        assert_eq!(rules.check_host(&listed), Ok(()));
        for good in ["10.0.0.1", "192.168.7.7", "203.0.113.5", "127.0.0.1", "::1", "2001:db8::1"] {
            assert_eq!(rules.check_address(&listed, address(good)), Ok(()), "{good}");
        }
        for bad in [
            "169.254.169.254",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::1",
            "::a9fe:a9fe",
            "fe80::1",
            "fd00:ec2::254",
            "100.100.100.200",
            "0.0.0.0",
            "::",
            "224.0.0.1",
            "255.255.255.255",
            "ff02::1",
        ] {
            assert!(rules.check_address(&listed, address(bad)).is_err(), "{bad}");
        }
        assert_eq!(rules.check_host(&target("10.0.0.9")), Ok(()));
        assert_eq!(rules.check_host(&target("[2001:db8::2]")), Ok(()));
        assert!(rules.check_host(&target("10.0.0.8")).is_err());
        // The list names hosts; it does not open their addresses to other names.
        assert!(rules.check_host(&target("other.example")).is_err());
    }

    #[test]
    fn this_machine_must_be_listed_where_only_what_is_listed_counts() {
        let rules = Rules::listed_only(["agents.example".to_owned()]);
        assert_eq!(rules.check_host(&target("agents.example")), Ok(()));
        for own in ["localhost", "127.0.0.1", "[::1]"] {
            assert!(rules.check_host(&target(own)).is_err(), "{own}");
        }
        let rules = Rules::listed_only(["127.0.0.1".to_owned(), "localhost".to_owned()]);
        assert_eq!(rules.check_host(&target("127.0.0.1")), Ok(()));
        assert_eq!(rules.check_host(&target("localhost")), Ok(()));
        assert!(rules.check_host(&target("[::1]")).is_err());
    }

    #[test]
    fn a_name_that_turns_out_to_be_elsewhere_is_not_this_machine() {
        let rules = Rules::default();
        assert!(rules.check_address(&target("localhost"), address("10.0.0.1")).is_err());
        assert_eq!(rules.check_address(&target("localhost"), address("127.0.0.1")), Ok(()));
    }
}
