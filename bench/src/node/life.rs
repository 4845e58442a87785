//! The life of a request, written down a second time, independently of the product, as its allowed edges.

/// The next states of each state. A state that is not here is final.
const EDGES: &[(&str, &[&str])] = &[
    ("pending", &["approved", "denied", "answered", "expired", "cancelled"]),
    ("approved", &["claimed", "lapsed", "revoked", "cancelled"]),
    ("claimed", &["succeeded", "failed", "unknown"]),
    ("unknown", &["succeeded", "failed"]),
];

fn next(state: &str) -> &'static [&'static str] {
    EDGES.iter().find(|(from, _)| *from == state).map_or(&[], |(_, to)| to)
}

/// True if a request seen in `from` may later be seen in `to` (or still in `from`).
pub fn may_follow(from: &str, to: &str) -> bool {
    from == to || next(from).iter().any(|step| may_follow(step, to))
}

/// True if the request cannot change any more.
pub fn is_final(state: &str) -> bool {
    next(state).is_empty()
}

/// True if a state may only be reached through a claim.
pub fn was_claimed(state: &str) -> bool {
    matches!(state, "claimed" | "unknown" | "succeeded" | "failed")
}

#[cfg(test)]
mod tests {
    use super::{is_final, may_follow, was_claimed};

    #[test]
    fn the_edges_are_those_of_the_design() {
        assert!(may_follow("pending", "succeeded") && may_follow("approved", "revoked"));
        assert!(!may_follow("denied", "approved") && !may_follow("claimed", "cancelled"));
        assert!(!may_follow("approved", "denied") && !may_follow("expired", "pending"));
        assert!(is_final("lapsed") && is_final("denied") && !is_final("unknown") && !is_final("approved"));
        assert!(was_claimed("unknown") && !was_claimed("lapsed"));
    }
}
