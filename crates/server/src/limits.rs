//! Rate limits per principal, and on signing in.

use std::{
    net::{IpAddr, Ipv6Addr},
    num::NonZeroU32,
    time::Duration,
};

use governor::{
    Quota, RateLimiter,
    clock::{Clock as _, DefaultClock},
    state::keyed::HashMapStateStore,
};
use placet_core::valid_name;

/// A token bucket for every principal, refilled once a second, with as much again for bursts.
pub(crate) struct RateLimit {
    limiter: Option<RateLimiter<String, HashMapStateStore<String>, DefaultClock>>,
}

impl RateLimit {
    /// So many calls a second; none at all when zero.
    pub(crate) fn new(per_second: u32) -> Self {
        let quota = NonZeroU32::new(per_second).map(Quota::per_second);
        Self { limiter: quota.map(RateLimiter::hashmap) }
    }

    /// Whether this principal may make one more call now.
    pub(crate) fn allows(&self, principal: &str) -> bool {
        self.limiter.as_ref().is_none_or(|limiter| limiter.check_key(&principal.to_owned()).is_ok())
    }

    /// Forgets principals that have been quiet long enough to have a full bucket.
    pub(crate) fn tidy(&self) {
        if let Some(limiter) = &self.limiter {
            limiter.retain_recent();
            limiter.shrink_to_fit();
        }
    }
}

/// How often a name may be tried in a row, and how long one more try takes to come back after that.
const NAME_BURST: u32 = 10;
const NAME_EVERY: Duration = Duration::from_secs(30);
/// The same for one address, behind which there may be a whole office.
const PEER_BURST: u32 = 60;
const PEER_EVERY: Duration = Duration::from_secs(2);

/// Token buckets for tries to sign in: by name, whoever tries, and by address, whatever the name.
pub(crate) struct SignInLimits {
    names: Limiter<String>,
    peers: Limiter<Option<IpAddr>>,
}

type Limiter<K> = RateLimiter<K, HashMapStateStore<K>, DefaultClock>;

fn limiter<K: std::hash::Hash + Eq + Clone>(burst: u32, every: Duration) -> Option<Limiter<K>> {
    let quota = Quota::with_period(every)?.allow_burst(NonZeroU32::new(burst)?);
    Some(RateLimiter::hashmap(quota))
}

/// How many seconds until the next try, if this one comes too soon.
fn wait<K: std::hash::Hash + Eq + Clone>(limiter: &Limiter<K>, key: &K) -> Option<u32> {
    let too_soon = limiter.check_key(key).err()?;
    let wait = too_soon.wait_time_from(limiter.clock().now());
    Some(u32::try_from(wait.as_secs()).unwrap_or(u32::MAX).saturating_add(1))
}

impl SignInLimits {
    pub(crate) fn new() -> Self {
        // Both numbers are above zero, which is all that is asked of them.
        let names = limiter(NAME_BURST, NAME_EVERY).expect("a limit of more than nothing");
        let peers = limiter(PEER_BURST, PEER_EVERY).expect("a limit of more than nothing");
        Self { names, peers }
    }

    /// One more try for this name: how many seconds it comes too soon, if it does.
    pub(crate) fn name(&self, name: &str) -> Option<u32> {
        // What cannot be a name shares one bucket: long ones would fill the memory.
        let name = if valid_name(name) { name } else { "" };
        wait(&self.names, &name.to_owned())
    }

    /// One more try from this address. The lower half of an IPv6 address is the caller's own choice.
    pub(crate) fn peer(&self, peer: Option<IpAddr>) -> Option<u32> {
        let peer = peer.map(|peer| match peer.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
            v4 @ IpAddr::V4(_) => v4,
        });
        wait(&self.peers, &peer)
    }

    /// Forgets names and addresses that have been quiet.
    pub(crate) fn tidy(&self) {
        self.names.retain_recent();
        self.names.shrink_to_fit();
        self.peers.retain_recent();
        self.peers.shrink_to_fit();
    }
}

impl std::fmt::Debug for SignInLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignInLimits").field("names", &self.names.len()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for RateLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RateLimit").field("on", &self.limiter.is_some()).finish()
    }
}
