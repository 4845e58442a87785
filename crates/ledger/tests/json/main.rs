//! The strict reader and the canonical form, held to published vectors, to a corpus that other languages
//! share, to other implementations and to properties.

mod corpus;
mod corpus_tables;
mod differential;
mod properties;
mod rfc8785;
mod speed;
mod vectors;
