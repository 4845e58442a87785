//! Looks for the built dashboard, and builds nothing: `cargo xtask web` does that.

use std::path::Path;

fn main() {
    // A file that is not there would count as changed every time, so it is watched only once it is. `cargo xtask web`
    // touches this script when it builds the dashboard, which is how the first build is noticed.
    println!("cargo::rerun-if-changed=build.rs");
    if Path::new("../../web/dist/index.html").is_file() {
        println!("cargo::rerun-if-changed=../../web/dist/index.html");
    } else if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!(
            "cargo::warning=the dashboard is not built and will not be part of the program: `cargo xtask web` builds it"
        );
    }
}
