//! Rate limits: calls per principal, and unknown keys per address.

use std::{net::IpAddr, num::NonZeroU32, time::Duration};

use governor::{Quota, RateLimiter, clock::DefaultClock, state::keyed::HashMapStateStore};

use crate::shares::household;

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

/// Unknown keys that one address may show in a row.
const UNKNOWN_BURST: NonZeroU32 = NonZeroU32::new(200).unwrap();

/// A token bucket for every address that shows keys which nobody knows: each costs a look at the database.
pub(crate) struct UnknownKeyLimit(
    RateLimiter<Option<IpAddr>, HashMapStateStore<Option<IpAddr>>, DefaultClock>,
);

impl UnknownKeyLimit {
    /// One more after each such time.
    pub(crate) fn new(refill: Duration) -> Self {
        let quota = Quota::with_period(refill).unwrap_or(Quota::per_second(UNKNOWN_BURST));
        Self(RateLimiter::hashmap(quota.allow_burst(UNKNOWN_BURST)))
    }

    /// Whether this address may show one more unknown key now.
    pub(crate) fn allows(&self, peer: Option<IpAddr>) -> bool {
        self.0.check_key(&peer.map(household)).is_ok()
    }

    /// Forgets addresses that have been quiet.
    pub(crate) fn tidy(&self) {
        self.0.retain_recent();
        self.0.shrink_to_fit();
    }
}

impl std::fmt::Debug for UnknownKeyLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UnknownKeyLimit").field("addresses", &self.0.len()).finish()
    }
}

impl std::fmt::Debug for RateLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RateLimit").field("on", &self.limiter.is_some()).finish()
    }
}
