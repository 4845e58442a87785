//! Facts about policies as a whole, told through the public surface alone.
#![expect(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "texts of test policies, written to be read"
)]

mod claims;
mod confined;
mod corpus;
mod cosmetic;
mod effects;
mod errors;
mod hostile;
mod import_edges;
mod imports;
mod limits;
mod network_reads;
mod outcomes;
mod people;
#[path = "../common/place.rs"]
mod place;
mod plans;
mod presets;
mod properties;
mod support;
mod unnamed;
mod workspace;
