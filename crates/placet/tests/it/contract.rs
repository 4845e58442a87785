//! The scenarios of `tests/contract`, played by the Rust client against the real program. The clients of the other
//! languages play the same files.

mod machines;
mod play;
mod script;

use std::{collections::BTreeSet, path::PathBuf};

use self::{play::Play, script::File};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/contract/scenarios")
}

/// Plays every scenario of a file, each with a server of its own.
#[expect(clippy::print_stdout, reason = "says how far it came, for whoever looks at a scenario that fails")]
fn play(name: &str) {
    let text = std::fs::read(folder().join(format!("{name}.json"))).expect("the file is there");
    let file: File = serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{name}.json: {error}"));
    assert!(!file.scenarios.is_empty(), "{name}.json is empty");
    for scenario in file.scenarios {
        println!("{name}: {}", scenario.name);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let mut play = Play::begin(scenario.policy.as_deref()).await;
            for (number, step) in scenario.steps.into_iter().enumerate() {
                println!("  {number}: {step:?}");
                play.step(step).await;
            }
        });
    }
}

macro_rules! files {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            play(stringify!($name));
        })*

        #[test]
        fn every_file_is_played() {
            let names = std::fs::read_dir(folder()).expect("the folder is there").map(|entry| {
                entry.expect("an entry").file_name().to_string_lossy().trim_end_matches(".json").to_owned()
            });
            let played = [$(stringify!($name).to_owned()),*];
            assert_eq!(names.collect::<BTreeSet<String>>(), played.into_iter().collect());
        }
    };
}

files!(decisions duplicates outages restarts strangers);
