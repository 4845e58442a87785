//! Planted bugs, for the tests that must catch them. Compiled in only with the feature `sabotage`.

/// Whether this build has planted bugs that can be switched on.
pub const HAS_PLANTED_BUGS: bool = cfg!(feature = "sabotage");

/// Whether this bug is planted in this run.
#[cfg(feature = "sabotage")]
pub fn planted(bug: &str) -> bool {
    static BUG: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    BUG.get_or_init(|| std::env::var("PLACET_SABOTAGE").ok()).as_deref() == Some(bug)
}

/// Never: this build has no planted bugs.
#[cfg(not(feature = "sabotage"))]
pub const fn planted(_bug: &str) -> bool {
    false
}
