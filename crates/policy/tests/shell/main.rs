//! The shell analyser against corpora, real shells, two other parsers and random text.

mod abuses;
mod bash;
mod boundaries;
mod compositions;
mod conformance;
mod display;
mod fuzz;
mod loose;
mod oracle;
mod ordinary;
mod parsers;
mod patterns;
#[path = "../common/place.rs"]
mod place;
mod presets;
mod strict;
mod support;
