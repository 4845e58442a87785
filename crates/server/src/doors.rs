//! Doors for protocols that are not ours. Each translates and does nothing else; none knows another.

pub(crate) mod events;
