//! Which crate may depend on which: the rule, checked against cargo's metadata.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// From the binary down to the vocabulary. A crate may depend on everything below it in this order.
const ORDER: [(&str, &[&str]); 13] = [
    // The command line speaks to a server through the client like any other program.
    ("placet", &["placet-server", "placet-notify", "placet-client", "placet-hooks", "placet-confine"]),
    ("placet-server", &["placet-gate", "placet-egress", "placet-hooks", "placet-a2a"]),
    ("placet-notify", &["placet-gate", "placet-egress"]),
    ("placet-gate", &["placet-store", "placet-policy"]),
    ("placet-store", &["placet-ledger"]),
    ("placet-hooks", &["placet-ledger"]),
    ("placet-a2a", &["placet-core"]),
    ("placet-ledger", &["placet-core"]),
    ("placet-policy", &["placet-core"]),
    // A client computes digests itself: it does not trust a server about what was approved.
    ("placet-client", &["placet-ledger"]),
    ("placet-egress", &[]),
    // The runner of commands knows nothing about requests, so it stays small.
    ("placet-confine", &[]),
    ("placet-core", &[]),
];

/// Tools around the product: they may use anything, and nothing in the product may use them.
const OUTSIDE: [&str; 3] = ["placet-testkit", "placet-bench", "xtask"];

/// Pure crates: no I/O, so no async runtime either, not even indirectly.
const PURE: [&str; 5] = ["placet-core", "placet-policy", "placet-ledger", "placet-hooks", "placet-a2a"];

/// Package name to the names of its normal dependencies (tests and build scripts are exempt).
type Graph = BTreeMap<String, BTreeSet<String>>;

fn below(name: &str) -> Option<BTreeSet<&'static str>> {
    let (_, direct) = ORDER.iter().find(|(layer, _)| *layer == name)?;
    Some(direct.iter().flat_map(|next| below(next).unwrap_or_default().into_iter().chain([*next])).collect())
}

/// One sentence for every dependency of a workspace crate that the order does not have.
fn wrong_edges(workspace: &Graph) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, dependencies) in workspace.iter().filter(|(name, _)| !OUTSIDE.contains(&name.as_str())) {
        let Some(allowed) = below(name) else {
            wrong.push(format!("`{name}` has no place in the order: give it one in xtask/tests/layers.rs"));
            continue;
        };
        for dependency in dependencies.iter().filter(|name| workspace.contains_key(*name)) {
            if !allowed.contains(dependency.as_str()) {
                wrong.push(format!("`{name}` must not depend on `{dependency}`"));
            }
        }
    }
    wrong
}

/// One sentence for every pure crate that depends on tokio, with the path to it.
fn impure(all: &Graph) -> Vec<String> {
    PURE.iter().filter_map(|name| way_to_tokio(all, name)).collect()
}

fn way_to_tokio(all: &Graph, from: &str) -> Option<String> {
    let mut ways = vec![vec![from]];
    let mut seen = BTreeSet::from([from]);
    while let Some(way) = ways.pop() {
        let last = way.last()?;
        if *last == "tokio" {
            return Some(format!("`{from}` must build without tokio: {}", way.join(" -> ")));
        }
        for next in all.get(*last).into_iter().flatten().filter(|next| seen.insert(next.as_str())) {
            ways.push(way.iter().copied().chain([next.as_str()]).collect());
        }
    }
    None
}

/// The dependency graph of this machine's platform.
fn metadata(args: &[&str]) -> Value {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["metadata", "--format-version", "1", "--manifest-path"]).arg(manifest).args(args);
    let output = command.output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata writes JSON")
}

fn text(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

/// The crates of the workspace and what their manifests name under `[dependencies]`.
fn workspace_graph() -> Graph {
    let metadata = metadata(&["--no-deps"]);
    let packages = list(&metadata["packages"]).iter();
    packages
        .map(|package| {
            let normal =
                list(&package["dependencies"]).iter().filter(|dependency| dependency["kind"].is_null());
            (text(&package["name"]), normal.map(|dependency| text(&dependency["name"])).collect())
        })
        .collect()
}

/// Every crate that is built, and what it is linked with.
fn whole_graph() -> Graph {
    let rustc = Command::new("rustc").arg("-vV").output().expect("rustc starts");
    let version = String::from_utf8_lossy(&rustc.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host");
    let metadata = metadata(&["--filter-platform", host]);
    let packages = list(&metadata["packages"]).iter();
    let names: BTreeMap<String, String> =
        packages.map(|package| (text(&package["id"]), text(&package["name"]))).collect();
    let mut graph = Graph::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        // Two versions of a crate count as one.
        let dependencies = graph.entry(names[&text(&node["id"])].clone()).or_default();
        for dependency in list(&node["deps"]) {
            if list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null()) {
                dependencies.insert(names[&text(&dependency["pkg"])].clone());
            }
        }
    }
    graph
}

fn graph(edges: &[(&str, &[&str])]) -> Graph {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    edges.iter().map(|(name, dependencies)| ((*name).to_owned(), owned(dependencies))).collect()
}

#[test]
fn every_crate_knows_only_what_is_below_it() {
    let workspace = workspace_graph();
    assert!(workspace.len() > 5, "cargo names too few crates: {:?}", workspace.keys());
    let wrong = wrong_edges(&workspace);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn core_policy_and_ledger_build_without_tokio() {
    let all = whole_graph();
    assert!(all.contains_key("placet-core") && all.contains_key("tokio"), "the graph is not whole");
    let impure = impure(&all);
    assert!(impure.is_empty(), "{}", impure.join("\n"));
}

/// Features that change what the product does; only the builds that want them turn them on.
const NEVER_RELEASED: [&str; 1] = ["sabotage"];

/// One sentence for every way in which such a feature could get into a build by accident.
fn leaking(packages: &[Value]) -> Vec<String> {
    let mut leaks = Vec::new();
    for package in packages {
        let name = text(&package["name"]);
        for (feature, turns_on) in package["features"].as_object().into_iter().flatten() {
            for on in list(turns_on).iter().map(text) {
                let last = on.rsplit('/').next().unwrap_or_default();
                if NEVER_RELEASED.contains(&last) && last != feature {
                    leaks.push(format!("the feature `{feature}` of `{name}` turns on `{on}`"));
                }
            }
        }
        for dependency in list(&package["dependencies"]) {
            for feature in list(&dependency["features"]).iter().map(text) {
                if NEVER_RELEASED.contains(&feature.as_str()) {
                    leaks.push(format!("`{name}` wants {} with `{feature}`", dependency["name"]));
                }
            }
        }
    }
    leaks
}

#[test]
fn what_is_never_released_is_turned_on_by_nothing_else() {
    let metadata = metadata(&["--no-deps"]);
    let packages = list(&metadata["packages"]);
    let has = |name: &str| packages.iter().any(|package| package["features"].get(name).is_some());
    assert!(NEVER_RELEASED.into_iter().all(has), "a feature was renamed: name it in xtask/tests/layers.rs");
    assert_eq!(leaking(packages), Vec::<String>::new());
    let default =
        serde_json::json!([{"name": "placet", "features": {"default": ["sabotage"]}, "dependencies": []}]);
    assert_eq!(leaking(list(&default)), ["the feature `default` of `placet` turns on `sabotage`"]);
}

#[test]
fn a_dependency_over_several_layers_downwards_is_right() {
    let workspace = graph(&[
        ("placet", &["placet-core", "placet-client", "anyhow"]),
        ("placet-client", &["placet-core"]),
        ("placet-gate", &["placet-policy", "placet-ledger"]),
        ("placet-core", &[]),
        ("placet-ledger", &[]),
        ("placet-policy", &[]),
        ("placet-testkit", &["placet"]),
    ]);
    assert_eq!(wrong_edges(&workspace), Vec::<String>::new());
}

#[test]
fn a_dependency_upwards_or_sideways_is_named() {
    let workspace = graph(&[
        ("placet-core", &["placet-ledger"]),
        ("placet-ledger", &["placet-policy"]),
        ("placet-policy", &[]),
        ("placet-gate", &["placet-egress"]),
        ("placet-egress", &[]),
        // The runner of commands knows nothing of requests: it is small enough to read in one sitting.
        ("placet-confine", &[]),
    ]);
    let expected = [
        "`placet-core` must not depend on `placet-ledger`",
        "`placet-gate` must not depend on `placet-egress`",
        "`placet-ledger` must not depend on `placet-policy`",
    ];
    assert_eq!(wrong_edges(&workspace), expected);
}

#[test]
fn a_product_crate_with_the_testkit_in_it_is_named() {
    let workspace = graph(&[("placet-server", &["placet-testkit"]), ("placet-testkit", &["placet-server"])]);
    assert_eq!(wrong_edges(&workspace), ["`placet-server` must not depend on `placet-testkit`"]);
}

#[test]
fn a_crate_without_a_place_in_the_order_is_named() {
    let found = wrong_edges(&graph(&[("placet-new", &[])]));
    assert_eq!(found, ["`placet-new` has no place in the order: give it one in xtask/tests/layers.rs"]);
}

#[test]
fn tokio_behind_another_crate_is_found_with_the_way_to_it() {
    let all = graph(&[
        ("placet-core", &["serde", "clever"]),
        ("placet-hooks", &["placet-ledger"]),
        ("placet-ledger", &["placet-core"]),
        ("clever", &["tokio"]),
        ("serde", &[]),
        ("tokio", &[]),
    ]);
    let expected = [
        "`placet-core` must build without tokio: placet-core -> clever -> tokio",
        "`placet-ledger` must build without tokio: placet-ledger -> placet-core -> clever -> tokio",
        "`placet-hooks` must build without tokio: placet-hooks -> placet-ledger -> placet-core -> clever -> tokio",
    ];
    assert_eq!(impure(&all), expected);
}
