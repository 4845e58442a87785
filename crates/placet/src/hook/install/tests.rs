//! Settings before and after.
