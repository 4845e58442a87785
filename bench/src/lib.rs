//! Evidence about the real binary: benchmarks with their baselines, the crash loop and the power-cut simulator. Also
//! measures the preset on published sessions.

pub mod baseline;
pub mod crash;
pub mod load;
pub mod node;
pub mod powercut;
pub mod report;
pub mod traces;
