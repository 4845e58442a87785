//! Rate limits per principal.

use std::num::NonZeroU32;

use governor::{Quota, RateLimiter, clock::DefaultClock, state::keyed::HashMapStateStore};

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

impl std::fmt::Debug for RateLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RateLimit").field("on", &self.limiter.is_some()).finish()
    }
}
