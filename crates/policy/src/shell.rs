//! Splits a shell command line into simple commands with literal words, or calls it opaque.
