//! Strict JSON in, canonical bytes out.

pub mod canonical;
pub mod ijson;
