//! Evidence about the real binary: benchmarks with their baselines, the crash loop and the power-cut simulator.

pub mod baseline;
pub mod crash;
pub mod load;
pub mod node;
pub mod powercut;
pub mod report;
