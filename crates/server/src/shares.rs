//! How many connections one address may have, so that none can take them all.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
};

/// Who an address counts as. The lower half of an IPv6 address is the caller's own choice.
pub(crate) fn household(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        address => address,
    }
}

/// The open connections of every address.
#[derive(Debug)]
pub(crate) struct Shares {
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
    each: usize,
    // This machine itself: a proxy, or many agents. More, but not all.
    loopback: usize,
}

impl Shares {
    pub(crate) fn new(connections: usize, each: Option<usize>) -> Self {
        let each = each.unwrap_or(connections / 4).max(1);
        let loopback = each.max(connections - connections / 4).max(1);
        Self { open: Arc::default(), each, loopback }
    }

    /// One more connection from here, unless it is one too many.
    pub(crate) fn take(&self, address: IpAddr) -> Option<Share> {
        let address = household(address);
        // Both loopback addresses are this machine.
        let address = if address.is_loopback() { IpAddr::V6(Ipv6Addr::LOCALHOST) } else { address };
        let most = if address.is_loopback() { self.loopback } else { self.each };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = open.entry(address).or_default();
        if *mine >= most {
            return None;
        }
        *mine += 1;
        Some(Share { open: self.open.clone(), address })
    }
}

/// One connection of an address; given back when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
    address: IpAddr,
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mine) = open.get_mut(&self.address) {
            *mine = mine.saturating_sub(1);
            if *mine == 0 {
                open.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_share_and_gets_it_back() {
        let shares = Shares::new(16, None);
        let at = |text: &str| shares.take(text.parse().unwrap());
        let mut held: Vec<_> = (0..4).map(|_| at("203.0.113.7").unwrap()).collect();
        assert!(at("203.0.113.7").is_none() && at("::ffff:203.0.113.7").is_none());
        let _other = at("203.0.113.8").unwrap();
        held.pop();
        assert!(at("203.0.113.7").is_some());
        // One household has one share, whichever addresses it makes up.
        let _household: Vec<_> = (0..4).map(|index| at(&format!("2a00::{index}")).unwrap()).collect();
        assert!(at("2a00::ffff").is_none() && at("2a00:0:0:1::1").is_some());
        // This machine has more, under both of its addresses, but not all.
        let _own: Vec<_> =
            (0..12).map(|index| at(if index % 2 == 0 { "127.0.0.1" } else { "::1" }).unwrap()).collect();
        assert!(at("127.0.0.1").is_none() && at("::1").is_none());
        drop(held);
        assert!(!shares.open.lock().unwrap().contains_key(&"203.0.113.7".parse::<IpAddr>().unwrap()));
    }

    #[test]
    fn everybody_gets_one_however_few_there_are() {
        assert!(Shares::new(1, None).take([203, 0, 113, 7].into()).is_some());
        let shares = Shares::new(100, Some(2));
        let _held =
            [shares.take([203, 0, 113, 7].into()).unwrap(), shares.take([203, 0, 113, 7].into()).unwrap()];
        assert!(shares.take([203, 0, 113, 7].into()).is_none());
    }
}
